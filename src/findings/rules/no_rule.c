/* What does no rule explain?
 *
 * Where no finding matters, the largest kernels that none of them changes are named, each with the share of
 * its roofline that it reaches: the time at the GPU's peak rates, by the shapes of its op, over the time that
 * it took. So it is said where the time goes, and whether there is much to gain. */
#include "findings/rules/gpu_rules.h"

static const double important_pct = 5;
enum { NAMED = 3, NAME_BYTES = 40 };

/* By op: whether a shown finding makes it shorter. */
static bool *find_covered(const gt_schedule *schedule, const gt_finding_list *list)
{
    bool *covered = gt_alloc_zero(schedule->op_count, sizeof *covered);
    for (size_t i = 0; i < list->shown; i++)
        for (size_t k = 0; k < list->items[i].edit.op_count; k++)
            if (list->items[i].edit.ops[k].dur_ns < INFINITY) covered[list->items[i].edit.ops[k].op] = true;
    return covered;
}

static bool any_important(const gt_finding_list *list)
{
    for (size_t i = 0; i < list->shown; i++)
        if (list->items[i].gain_pct >= important_pct && !gt_finding_is_hint(&list->items[i])) return true;
    return false;
}

static void name_kernels(const gt_schedule *schedule, gt_tally *kernels, gt_tally *known, gt_tally *peaks,
                         gt_buffer *out)
{
    gt_tally_sort(kernels);
    for (size_t i = 0; i < kernels->item_count && i < NAMED; i++) {
        const gt_tally_item *kernel = &kernels->items[i];
        double known_ns = gt_tally_of(known, kernel->text);
        gt_buffer_add_format(out, "%s%s %.2f ms", i ? ", " : "",
                             gt_interner_get(schedule->strings, kernel->text).bytes,
                             kernel->sum / (double)schedule->window.steps / 1e6);
        if (known_ns > 0.9 * kernel->sum)
            gt_buffer_add_format(out, " (%.0f %% of its roofline)",
                                 fmin(100, 100 * gt_tally_of(peaks, kernel->text) / known_ns));
    }
}

char *gt_no_rule_text(const gt_schedule *schedule, const gt_gpu_facts *facts, const gt_gpu_rates *gpu,
                      const gt_finding_list *list)
{
    if (any_important(list)) return NULL;
    bool *covered = find_covered(schedule, list);
    gt_tally kernels = {0}, known = {0}, peaks = {0};
    gt_arena arena = {0};
    gt_map names = {0}; /* of kernels: as they are shown */
    double all_ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (!gt_window_has(&schedule->window, op->start_ns) || op->communicates) continue;
        all_ns += (double)gt_op_ns(op);
        if (covered[i] || op->kind != GT_KIND_KERNEL) continue;
        double ns = facts->op_source[i] == GT_NONE ? 0 : gt_kernel_peak_ns(facts, schedule, gpu, i, &arena);
        uint32_t *name = gt_map_put(&names, op->name, 0);
        if (*name == GT_MAP_NONE) *name = gt_short_kernel_name(schedule, op->name, NAME_BYTES);
        uint32_t shown = *name; /* kernels that look alike count as one */
        gt_tally_add(&kernels, shown, (double)gt_op_ns(op));
        if (ns > 0) gt_tally_add(&known, shown, (double)gt_op_ns(op));
        if (ns > 0) gt_tally_add(&peaks, shown, ns);
    }
    gt_buffer text = {0};
    if (gt_tally_total(&kernels) > 0) {
        gt_buffer_add_format(&text, "No rule covers %.0f %% of the GPU time; most of it: ",
                             100 * gt_tally_total(&kernels) / all_ns);
        name_kernels(schedule, &kernels, &known, &peaks, &text);
        gt_buffer_add_cstr(&text, ".");
    }
    char *words = text.len ? gt_strdup(gt_buffer_str(&text).bytes) : NULL;
    gt_buffer_free(&text);
    gt_arena_free(&arena);
    gt_map_free(&names);
    gt_tally_free(&kernels);
    gt_tally_free(&known);
    gt_tally_free(&peaks);
    gt_free(covered);
    return words;
}
