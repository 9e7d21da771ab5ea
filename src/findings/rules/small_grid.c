/* small_grid: kernels that run alone on a few of the GPU's multiprocessors.
 *
 * Looks at kernels of 20 us and more with at most one block per eight multiprocessors. Kernels of matrices
 * and attention choose their grid themselves and stay on it; those of collectives are small on purpose. The
 * edit makes a kernel as much faster as blocks are missing, with a floor: work on more blocks is not free. */
#include "findings/rules/gpu_rules.h"

#include "findings/chains.h"

static const int64_t long_ns = 20000;
static const double shortest_ns = 5000;
static const double least_share = 0.01; /* of the window */
enum { FEW = 8 };                       /* multiprocessors per block */

static bool chooses_its_grid(const gt_schedule *schedule, uint32_t name)
{
    static const char *const words[] = {"gemm", "Gemm",  "GEMM",  "nvjet", "cutlass",
                                        "fmha", "flash", "Flash", "Cijk",  "triton_mm"};
    gt_str text = gt_interner_get(schedule->strings, name);
    for (size_t i = 0; i < GT_LENGTH(words); i++)
        if (gt_str_contains(text, words[i])) return true;
    return false;
}

double gt_grid_blocks(gt_str grid)
{
    double blocks = 1, number = 0;
    for (size_t i = 0; i < grid.len; i++) {
        char c = grid.bytes[i];
        if (c >= '0' && c <= '9') {
            number = number * 10 + (c - '0');
        } else if (c == ',' || c == ']') {
            blocks *= number;
            number = 0;
        } else if (c != '[' && c != ' ') {
            return 0; /* no whole number */
        }
    }
    return grid.len && grid.bytes[0] == '[' ? blocks : 0;
}

/* Whether an op of another stream runs for half of the time, or more. */
static bool has_company(const gt_schedule *schedule, size_t i)
{
    const gt_gpu_op *op = &schedule->ops[i];
    for (size_t side = 0; side < 2; side++) {
        if (side ? i + 1 == schedule->op_count : i == 0) continue;
        const gt_gpu_op *other = &schedule->ops[side ? i + 1 : i - 1];
        int64_t from = other->start_ns > op->start_ns ? other->start_ns : op->start_ns;
        int64_t until = other->end_ns < op->end_ns ? other->end_ns : op->end_ns;
        if (2 * (until - from) > gt_op_ns(op)) return true;
    }
    return false;
}

/* Blocks of all ops; 0: unknown, or not looked at. The caller frees them. */
static double *find_blocks(const gt_schedule *schedule)
{
    uint32_t *ops = NULL, *rows = NULL;
    size_t count = 0, capacity = 0, row_count = 0, row_capacity = 0;
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (op->kind != GT_KIND_KERNEL || gt_op_ns(op) < long_ns || op->communicates ||
            !gt_op_is_judged(schedule, op))
            continue;
        GT_PUSH(ops, count, capacity, i);
        GT_PUSH(rows, row_count, row_capacity, op->row);
    }
    double *blocks = gt_alloc_zero(schedule->op_count, sizeof *blocks);
    uint32_t *grids = gt_alloc((count + 1) * sizeof *grids);
    if (count) gt_store_string_ids_at(schedule->trace->store, GT_EVENT_GRID, rows, count, grids);
    for (size_t i = 0; i < count; i++)
        if (grids[i] != GT_STR_NONE)
            blocks[ops[i]] = gt_grid_blocks(gt_interner_get(schedule->strings, grids[i]));
    gt_free_all(ops, rows, grids);
    return blocks;
}

static uint32_t site_of(const gt_rule_input *input, size_t op)
{
    const gt_schedule *schedule = input->schedule;
    if (input->facts->op_source[op] == GT_NONE)
        return gt_short_kernel_name(schedule, schedule->ops[op].name, 60);
    return gt_site_of_op(schedule, gt_op_event(input, op));
}

/* The times of kernels on few blocks, by site and blocks: the tally's texts are places in `keys`. */
typedef struct grid_search {
    gt_tally kernels;
    gt_map keys;
    struct grid_key {
        uint32_t site;
        double blocks;
    } * items;
    size_t count, capacity;
} grid_search;

static void add_kernel(grid_search *search, uint32_t site, double blocks, double ns)
{
    uint32_t *key = gt_map_put(&search->keys, site, (uint64_t)blocks);
    if (*key == GT_MAP_NONE) {
        *key = (uint32_t)search->count;
        GT_PUSH(search->items, search->count, search->capacity, ((struct grid_key){site, blocks}));
    }
    gt_tally_add(&search->kernels, *key, ns);
}

static void describe(const gt_rule_input *input, grid_search *search, gt_finding *finding, double window_ns)
{
    double all = (double)input->gpu->multiprocessors, least = INFINITY, most = 0;
    gt_tally_sort(&search->kernels);
    const struct grid_key *first = &search->items[search->kernels.items[0].text];
    for (size_t i = 0; i < search->count; i++) {
        least = fmin(least, search->items[i].blocks);
        most = fmax(most, search->items[i].blocks);
    }
    gt_buffer range = {0};
    if (least < most) gt_buffer_add_format(&range, "%.0f to ", least);
    gt_buffer_add_cstr(&range, gt_rule_count(most, "block", "blocks").text);
    finding->id = "small_grid";
    finding->is_gpu = true;
    finding->confidence = GT_CONFIDENCE_MEDIUM;
    finding->title = gt_rule_text("Kernels of %s use %.0f%% of the %.0f multiprocessors: %.2f ms per %s",
                                  gt_rule_count(first->blocks, "block", "blocks").text,
                                  100 * first->blocks / all, all, gt_rule_ms(input, window_ns), input->per);
    finding->where = gt_rule_string(input, first->site);
    for (size_t i = 0; i < search->kernels.item_count && i < 3; i++) {
        const struct grid_key *key = &search->items[search->kernels.items[i].text];
        if (gt_rule_shows(gt_rule_ms(input, search->kernels.items[i].sum)))
            gt_rule_evidence(finding, "%s: %.2f ms with %s",
                             gt_interner_get(input->schedule->strings, key->site).bytes,
                             gt_rule_ms(input, search->kernels.items[i].sum),
                             gt_rule_count(key->blocks, "block", "blocks").text);
    }
    finding->advice = gt_rule_text(
        "Give the kernel more independent rows (batch the calls), split the long dimension, or use "
        "an algorithm that works in parallel (a scan or sort over blocks).");
}

bool gt_rule_small_grid(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    double units = (double)input->gpu->multiprocessors, window_ns = 0;
    if (units <= 0 || !schedule->trace) return false;
    double *blocks = find_blocks(schedule), *times = gt_new_times(schedule);
    grid_search search = {0};
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (!(blocks[i] > 0) || blocks[i] * FEW > units ||
            chooses_its_grid(schedule, schedule->ops[i].name) || has_company(schedule, i) ||
            gt_chains_have(input->chains, i) || gt_copy_change_of(input, i) != GT_CHANGE_UNKNOWN)
            continue; /* chains and copies have findings of their own */
        double ns = (double)gt_op_ns(&schedule->ops[i]), fewer = ns * blocks[i] / units;
        times[i] = fewer > shortest_ns ? fewer : shortest_ns;
        if (!gt_window_has(&schedule->window, schedule->ops[i].start_ns)) continue;
        window_ns += ns;
        add_kernel(&search, site_of(input, i), blocks[i], ns);
    }
    bool found = window_ns > 0 && window_ns >= least_share * gt_window_ns(schedule);
    if (found) {
        gt_new_times_apply(times, schedule, finding);
        describe(input, &search, finding, window_ns);
    }
    gt_tally_free(&search.kernels);
    gt_map_free(&search.keys);
    gt_free_all(search.items, blocks, times);
    return found;
}
