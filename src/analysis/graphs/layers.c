/* Periods and roles.
 *
 * With period p a kernel has the stem of the one p places later. The longest run of such kernels, with the
 * period after it, is what the layers cover. */
#include "analysis/graphs/layers.h"

#include "analysis/kernel_classifier.h"

enum { SHORTEST_PERIOD = 3, LONGEST_PERIOD = 512 };

/* The longest run of kernels that repeat after `period`, and where it begins. */
static size_t longest_run(const uint32_t *stems, size_t count, size_t period, size_t *first)
{
    size_t run = 0, longest = 0;
    *first = 0;
    for (size_t i = 0; i + period < count; i++) {
        run = stems[i] == stems[i + period] ? run + 1 : 0;
        if (run <= longest) continue;
        longest = run;
        *first = i - run + 1;
    }
    return longest;
}

static gt_layers layers_of(size_t first, size_t period, size_t covered)
{
    return (gt_layers){first, period, (5 * covered + period) / (5 * period)};
}

/* The first period that covers 80 %, else the one that covers most, at least half: a later one must cover 5 %
 * more, since multiples of a period repeat as well. */
bool gt_layers_find(const uint32_t *stems, size_t count, gt_layers *layers)
{
    size_t most = count / 2 < LONGEST_PERIOD ? count / 2 : LONGEST_PERIOD, best = 0;
    for (size_t period = SHORTEST_PERIOD; period <= most; period++) {
        size_t first, run = longest_run(stems, count, period, &first), covered = run + period;
        if (run < period) continue;
        bool is_enough = covered * 5 >= 4 * count;
        if (!is_enough && (covered * 2 < count || covered * 20 <= best * 21)) continue;
        best = covered;
        *layers = layers_of(first, period, covered);
        if (is_enough) break;
    }
    return best > 0;
}

const char *gt_layer_role_name(gt_layer_role role)
{
    static const char *const names[] = {
        [GT_ROLE_NONE] = "",   [GT_ROLE_QKV] = "qkv_proj",    [GT_ROLE_OUTPUT] = "o_proj",
        [GT_ROLE_MLP] = "mlp", [GT_ROLE_EXPERTS] = "experts", [GT_ROLE_ROUTER] = "router"};
    return names[role];
}

/* The kernel at which the walk begins: the last attention of the layer. */
static bool find_attention(const uint8_t *classes, const bool *is_helper, size_t count, size_t *at)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        if (classes[i] == GT_CLASS_ATTENTION && !is_helper[i]) {
            *at = i;
            found = true;
        }
    return found;
}

/* From the attention on: its output, then after one norm the MLP, and after the next norm the projections of
 * the next attention. In a layer with experts the other GEMM at the place of the MLP chooses among them. */
void gt_layer_roles_find(const uint8_t *classes, const bool *is_helper, size_t count, gt_layer_role *roles)
{
    static const gt_layer_role after_norms[] = {GT_ROLE_OUTPUT, GT_ROLE_MLP, GT_ROLE_QKV};
    enum { LAST_NORM = 2 };
    size_t attention = 0, norms = 0;
    bool has_experts = false;
    for (size_t i = 0; i < count; i++) roles[i] = GT_ROLE_NONE;
    if (!find_attention(classes, is_helper, count, &attention)) return;
    for (size_t step = 1; step <= count; step++) {
        size_t i = (attention + step) % count;
        bool is_experts = classes[i] == GT_CLASS_MOE_GEMM;
        if (classes[i] == GT_CLASS_NORM && norms < LAST_NORM) {
            norms++;
        } else if ((is_experts || classes[i] == GT_CLASS_GEMM) && !is_helper[i]) {
            roles[i] = is_experts ? GT_ROLE_EXPERTS : after_norms[norms];
            has_experts |= is_experts;
        } else if (is_helper[i] && i > 0) {
            roles[i] = roles[i - 1];
        }
    }
    for (size_t i = 0; has_experts && i < count; i++)
        if (roles[i] == GT_ROLE_MLP) roles[i] = GT_ROLE_ROUTER;
}
