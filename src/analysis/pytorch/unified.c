/* Sheets unified_perf_summary and unified_perf_summary_kl_overlap:
 *
 *     name to Concrete Inputs, [is_recompute]    keys; op category and arguments as in ops_unique_args
 *     ex_UID, operation_count                    the first op, and how many
 *     total_duration_us, ..., duration_us_*      time on the host
 *     GFLOPS to TFLOPS/s_*, [roofline], [simulated]    op_rows.h; each only if some op has it
 *     Kernel Time (µs)_*                         time in which at least one of the op's kernels ran
 *     kernel_details_summary, ...                op_groups.h, overlap.h
 *     perf_params                                what the model took from the arguments
 *     has_perf_model                             its own, or that of the op whose gradient it computes
 *     [graph_source]                             graph_sources.h
 *     [entry_point, call_stack_full]             call_stacks.c
 *     Percentage (%), Cumulative Percentage (%)  of the sum of Kernel Time (µs)_sum */
#include "analysis/pytorch/sheets.h"

#include "analysis/pytorch/event_columns.h"
#include "analysis/pytorch/graph_sources.h"
#include "analysis/pytorch/op_category.h"
#include "analysis/pytorch/unified_details.h"
#include "analysis/sheet_parts.h"
#include "trace/pytorch/event_rows.h"
#include "trace/pytorch/gpu_ranges.h"

#include <stdatomic.h>

/* These sheets show some of the five statistics first and the others later. */
#define MEAN_AND_STD(column) GT_AGGREGATE(column, MEAN), GT_AGGREGATE(column, STD)
#define MEDIAN_TO_MAX(column)                                                                                \
    GT_AGGREGATE(column, MEDIAN), GT_AGGREGATE(column, MIN), GT_AGGREGATE(column, MAX)

static const gt_col keys[] = {
    GT_COL_NAME,          GT_COL_OVERLAPPING_KERNEL_NAMES,
    GT_COL_OP_CATEGORY,   GT_COL_PROCESS_NAME,
    GT_COL_PROCESS_LABEL, GT_COL_THREAD_NAME,
    GT_COL_INPUT_DIMS,    GT_COL_INPUT_TYPE,
    GT_COL_INPUT_STRIDES, GT_COL_CONCRETE_INPUTS,
    GT_COL_IS_RECOMPUTE,
};

/* In the order of the sheet; the columns of kernels are between the two lists. */
static const gt_aggregate measures[] = {
    {GT_COL_UID, GT_GROUP_FIRST, GT_COL_EX_UID},
    {GT_COL_UID, GT_GROUP_COUNT, GT_COL_OPERATION_COUNT},
    {GT_COL_DURATION_US, GT_GROUP_SUM, GT_COL_TOTAL_DURATION_US},
    {GT_COL_DURATION_US, GT_GROUP_MEAN, GT_COL_MEAN_DURATION_US},
    {GT_COL_DURATION_US, GT_GROUP_STD, GT_COL_STD_DURATION_US},
    {GT_COL_GFLOPS, GT_GROUP_FIRST, GT_COL_GFLOPS},
    {GT_COL_DATA_MOVED_MB, GT_GROUP_FIRST, GT_COL_DATA_MOVED_MB},
    {GT_COL_FLOPS_PER_BYTE, GT_GROUP_FIRST, GT_COL_FLOPS_PER_BYTE},
    {GT_COL_COMPUTE_SPEC, GT_GROUP_FIRST, GT_COL_COMPUTE_SPEC},
    {GT_COL_ROOFLINE_BOUND, GT_GROUP_FIRST, GT_COL_ROOFLINE_BOUND},
    MEAN_AND_STD(TB_PER_S),
    MEAN_AND_STD(TFLOPS_PER_S),
    MEAN_AND_STD(KERNEL_TIME_US),
    GT_AGGREGATE(KERNEL_TIME_US, SUM),
    MEDIAN_TO_MAX(DURATION_US),
    GT_MEASURE_FIRST(ORIGAMI_TIME_US),
    GT_MEASURE_FIRST(ORIGAMI_TFLOPS_PER_S),
    MEDIAN_TO_MAX(TB_PER_S),
    MEDIAN_TO_MAX(TFLOPS_PER_S),
    GT_MEASURE_FIVE(ORIGAMI_TB_PER_S),
    GT_MEASURE_FIVE(PCT_ORIGAMI),
    GT_MEASURE_FIRST(ROOFLINE_TIME_US),
    GT_MEASURE_FIVE(PCT_ROOFLINE),
    MEDIAN_TO_MAX(KERNEL_TIME_US),
};
static const gt_aggregate last_measures[] = {
    GT_MEASURE_FIVE(OVERLAP_PCT),
    {GT_COL_PERF_PARAMS, GT_GROUP_FIRST, GT_COL_PERF_PARAMS},
    {GT_COL_HAS_PERF_MODEL, GT_GROUP_FIRST, GT_COL_HAS_PERF_MODEL},
};

static const gt_sort_key longest_first[] = {{GT_COL_KERNEL_TIME_US_SUM, true}, {GT_COL_EX_UID, false}};

/* ---- models ----
 *
 * Equal calls of an op share a result, whose parameters are printed once. New strings get their numbers in
 * the order of the ops, whatever thread finds them: each result remembers the first op that has it. */

/* Columns that are filled by all threads. */
typedef struct model_cells {
    const gt_op_rows *ops;
    uint32_t *texts;          /* the parameters */
    const uint32_t *text_of;  /* by result id: its string */
    _Atomic uint32_t *firsts; /* by result id: the first op that has it */
} model_cells;

static const gt_model_result *result_of(const gt_op_rows *ops, size_t op)
{
    const gt_model_result *result = ops->items[op].metrics.result;
    return result && result->parameter_count ? result : NULL;
}

static void find_results(void *context, size_t begin, size_t end)
{
    const model_cells *m = context;
    for (size_t i = begin; i < end; i++) {
        const gt_model_result *result = result_of(m->ops, i);
        if (!result) continue;
        _Atomic uint32_t *first = &m->firsts[result->id];
        uint32_t before = atomic_load_explicit(first, memory_order_relaxed);
        while (i < before && !atomic_compare_exchange_weak(first, &before, (uint32_t)i)) continue;
    }
}

static void fill_texts(void *context, size_t begin, size_t end)
{
    const model_cells *m = context;
    for (size_t i = begin; i < end; i++) {
        const gt_model_result *result = result_of(m->ops, i);
        m->texts[i] = result ? m->text_of[result->id] : GT_STR_NONE;
    }
}

/* The parameters of each result as a string, added in the order of the ops that have them first. */
static uint32_t *print_results(const gt_op_rows *rows, gt_interner *strings, const _Atomic uint32_t *firsts,
                               size_t count)
{
    uint32_t *text_of = gt_alloc_zero(count, sizeof *text_of), *ops = gt_alloc(count * sizeof *ops);
    size_t op_count = 0;
    gt_buffer text = {0};
    for (size_t id = 0; id < count; id++)
        if (firsts[id] != UINT32_MAX) ops[op_count++] = firsts[id];
    qsort(ops, op_count, sizeof *ops, gt_by_u32);
    for (size_t i = 0; i < op_count; i++) {
        const gt_model_result *result = result_of(rows, ops[i]);
        text.len = 0;
        gt_model_print_parameters(&text, result);
        text_of[result->id] = gt_interner_add(strings, text.bytes, text.len);
    }
    gt_buffer_free(&text);
    gt_free(ops);
    return text_of;
}

/* The columns has_perf_model, by op, and perf_params. The results of the ops have ids below `result_count`.
 */
static void add_models(gt_table *table, const uint8_t *has_model, const gt_op_rows *ops, size_t result_count)
{
    model_cells m = {.ops = ops, .firsts = gt_alloc(result_count * sizeof *m.firsts)};
    uint8_t *cells = gt_table_add_unset(table, GT_COL_HAS_PERF_MODEL, GT_TYPE_BOOL)->bools;
    if (ops->count) memcpy(cells, has_model, ops->count);
    for (size_t id = 0; id < result_count; id++) atomic_init(&m.firsts[id], UINT32_MAX);
    gt_parallel_ranges(ops->count, GT_OPS_GRAIN, find_results, &m);
    m.texts = gt_table_add_unset(table, GT_COL_PERF_PARAMS, GT_TYPE_STRING)->texts;
    uint32_t *text_of = print_results(ops, table->strings, m.firsts, result_count);
    m.text_of = text_of;
    gt_parallel_ranges(ops->count, GT_OPS_GRAIN, fill_texts, &m);
    gt_free_all(text_of, m.firsts);
}

struct gt_unified {
    gt_perf *perf;
    gt_op_rows ops;         /* `items` only until `table` has all of them */
    uint32_t *row_of;       /* by op: the event */
    uint32_t *kernel_of;    /* by op: the only GPU event of a synthetic op; else GT_NO_EVENT */
    uint32_t *root_of;      /* by op: where the path to it began; NULL: there are no stacks */
    gt_table *table;        /* of the ops */
    gt_call_stacks *stacks; /* NULL: the trace has no python functions */
    bool stack_columns;
    uint32_t *gpu_rows; /* of gt_unified_ops_of; NULL: not asked for yet */
    size_t *gpu_ends;
};

/* ---- kernels ---- */

/* The GPU events of an op, in order of their launches. */
static size_t count_kernels(const void *context, size_t op)
{
    const gt_unified *u = context;
    if (u->kernel_of[op] != GT_NO_EVENT) return 1;
    return gt_calls_count_gpu_events(u->perf->calls, u->row_of[op]);
}

static void add_kernels(const void *context, size_t op, gt_row_list *list)
{
    const gt_unified *u = context;
    if (u->kernel_of[op] == GT_NO_EVENT)
        gt_calls_add_gpu_events(u->perf->calls, u->row_of[op], list);
    else
        GT_PUSH(list->items, list->count, list->capacity, u->kernel_of[op]);
}

static gt_kernel_source kernels_of(const gt_unified *u)
{
    return (gt_kernel_source){
        .count = count_kernels, .add = add_kernels, .context = u, .trace = &u->perf->trace->events};
}

/* ---- the ops ---- */

typedef struct builder {
    gt_unified *unified;
    gt_perf *perf;
    gt_unified_events events;
    gt_perf_item *items;     /* by event */
    uint8_t *outcomes;       /* by event */
    uint8_t *has_model;      /* by op: its own, or that of the op whose gradient it computes */
    gt_row_list gradients;   /* the ops without a model that compute the gradient of one op ... */
    uint32_t *forwards;      /* ... which is this one */
    uint32_t *first_kernels; /* by op: the name of the first kernel that it launched itself */
} builder;

/* The model of an event, or that of the op whose gradient it computes. */
static gt_perf_item item_of(gt_perf *p, gt_models **models, const gt_unified_event *event)
{
    if (event->model || event->forward == GT_NO_EVENT)
        return (gt_perf_item){event->model, event->row, event->name, false};
    uint32_t name = p->trace->name[event->forward];
    return (gt_perf_item){gt_perf_model_for_thread(p, models, event->forward, name), event->forward, name,
                          true};
}

/* Makes the event itself the op, and measures its own kernels if its model has no result. */
static void finish_ops(void *context, size_t begin, size_t end)
{
    const builder *b = context;
    gt_row_list gpu = {0};
    gt_intervals spare = {0};
    for (size_t i = begin; i < end; i++) {
        const gt_unified_event *event = &b->events.items[i];
        gt_op_row *op = &b->unified->ops.items[i];
        *op = (gt_op_row){event->row, event->name, event->uid, op->metrics};
        bool measured = event->kernel == GT_NO_EVENT && (event->model || event->forward == GT_NO_EVENT);
        if (b->outcomes[i] != GT_MODEL_FAIL || measured) continue;
        gpu.count = 0;
        if (event->kernel == GT_NO_EVENT)
            gt_calls_add_gpu_events(b->perf->calls, event->row, &gpu);
        else
            GT_PUSH(gpu.items, gpu.count, gpu.capacity, event->kernel);
        gt_op_metrics_set_busy(&op->metrics,
                               gt_busy_time(&b->perf->trace->events, gpu.items, gpu.count, &spare));
    }
    gt_free(gpu.items);
    gt_intervals_free(&spare);
}

static void list_items(void *context, size_t begin, size_t end)
{
    const builder *b = context;
    gt_models *models = NULL;
    for (size_t i = begin; i < end; i++) b->items[i] = item_of(b->perf, &models, &b->events.items[i]);
    gt_models_free(models);
}

static void measure(builder *b)
{
    gt_op_rows *ops = &b->unified->ops;
    size_t count = b->events.count;
    b->items = gt_alloc(count * sizeof *b->items);
    b->outcomes = gt_alloc(count);
    ops->items = gt_grow(ops->items, &ops->capacity, count, sizeof *ops->items);
    ops->count = count;
    gt_parallel_ranges(count, GT_OPS_GRAIN, list_items, b);
    gt_perf_measure_all(b->perf, b->items, count, ops->items, b->outcomes);
    gt_free(b->items);
    gt_parallel_ranges(count, GT_OPS_GRAIN, finish_ops, b);
}

static void set_overlap(gt_unified *u, size_t op)
{
    gt_row_list gpu = {0};
    add_kernels(u, op, &gpu);
    gt_op_rows_set_overlap(&u->ops, gt_perf_overlap(u->perf, u->row_of[op], gpu.items, gpu.count));
    gt_free(gpu.items);
}

static bool is_kept(const void *context, size_t i)
{
    const builder *b = context;
    return b->outcomes[i] != GT_MODEL_SKIP;
}

/* Drops the events whose models say so. */
static size_t drop_events(builder *b)
{
    size_t count = b->events.count, kept = 0;
    if (gt_holds_for_all(count, is_kept, b)) return count;
    for (size_t i = 0; i < count; i++) {
        if (!is_kept(b, i)) continue;
        if (kept != i) {
            b->unified->ops.items[kept] = b->unified->ops.items[i];
            b->events.items[kept] = b->events.items[i];
        }
        kept++;
    }
    return kept;
}

static void keep_range(void *context, size_t begin, size_t end)
{
    const builder *b = context;
    gt_unified *u = b->unified;
    for (size_t i = begin; i < end; i++) {
        const gt_unified_event *event = &b->events.items[i];
        u->row_of[i] = event->row;
        u->kernel_of[i] = event->kernel;
        if (u->stacks) u->root_of[i] = event->root;
        b->has_model[i] = event->model || event->forward != GT_NO_EVENT;
    }
}

static bool is_gradient(const void *context, size_t i)
{
    const gt_unified_event *event = &((const builder *)context)->events.items[i];
    return !event->model && event->forward != GT_NO_EVENT;
}

/* The events that are left become ops. The events themselves are freed: the table of the ops is as large. */
static void keep_ops(builder *b)
{
    gt_unified *u = b->unified;
    size_t kept = u->ops.count = drop_events(b);
    u->row_of = gt_alloc(kept * sizeof *u->row_of);
    u->kernel_of = gt_alloc(kept * sizeof *u->kernel_of);
    if (u->stacks) u->root_of = gt_alloc(kept * sizeof *u->root_of);
    b->has_model = gt_alloc(kept);
    gt_parallel_ranges(kept, GT_OPS_GRAIN, keep_range, b);
    b->gradients = gt_rows_where(kept, is_gradient, b);
    b->forwards = gt_alloc(b->gradients.count * sizeof *b->forwards);
    for (size_t g = 0; g < b->gradients.count; g++)
        b->forwards[g] = b->events.items[b->gradients.items[g]].forward;
    gt_unified_events_free(&b->events);
    gt_free(b->outcomes);
    for (size_t i = 0; b->perf->overlaps && i < kept; i++) set_overlap(u, i);
}

/* ---- the table of ops ---- */

static void list_first_kernels(void *context, size_t begin, size_t end)
{
    const builder *b = context;
    for (size_t i = begin; i < end; i++)
        b->first_kernels[i] = gt_perf_first_kernel(b->perf, b->unified->row_of[i]);
}

/* An op without a model that computes the gradient of one op has that gradient's category. */
static void add_categories(builder *b, gt_table *table)
{
    gt_perf *p = b->perf;
    size_t count = b->unified->ops.count;
    uint32_t *cells = gt_table_add_unset(table, GT_COL_OP_CATEGORY, GT_TYPE_STRING)->texts;
    const uint32_t *names = gt_table_column(table, GT_COL_NAME)->texts;
    gt_op_categories *categories = gt_op_categories_new(p->trace->strings, p->extension);
    b->first_kernels = gt_alloc(count * sizeof *b->first_kernels);
    gt_parallel_ranges(count, GT_OPS_GRAIN, list_first_kernels, b);
    gt_op_categories_of_all(categories, names, b->first_kernels, count, cells);
    for (size_t g = 0; g < b->gradients.count; g++) {
        const gt_model *model = gt_perf_model(p, b->forwards[g], p->trace->name[b->forwards[g]]);
        cells[b->gradients.items[g]] = gt_interner_add_cstr(p->trace->strings, model->backward_category);
    }
    gt_free(b->first_kernels);
    gt_op_categories_free(categories);
}

static gt_time_cell duration_of(const void *context, size_t i)
{
    const builder *b = context;
    const gt_linked_view *trace = b->perf->trace;
    uint32_t row = b->unified->row_of[i];
    return (gt_time_cell){trace->dur_us[row], (trace->integral[row] & GT_INTEGRAL_DURATION) != 0};
}

gt_unified *gt_unified_new(gt_perf *perf, gt_stacks_shown stacks)
{
    gt_unified *u = gt_alloc_zero(1, sizeof *u);
    u->perf = perf;
    u->stack_columns = stacks == GT_STACKS_IN_COLUMNS;
    if (perf->trace->has_python && stacks != GT_STACKS_HIDDEN) u->stacks = gt_call_stacks_new(perf->calls);
    builder b = {.unified = u, .perf = perf, .events = gt_unified_events_find(perf)};
    measure(&b);
    keep_ops(&b);
    u->table = gt_op_rows_table(&u->ops, perf, GT_PYTHON_TUPLES);
    gt_table_add_row_sources(u->table, perf->trace, u->row_of);
    add_categories(&b, u->table);
    add_models(u->table, b.has_model, &u->ops, gt_models_result_count(perf->models));
    gt_free(u->ops.items);
    u->ops.items = NULL;
    gt_table_add_times(u->table, GT_COL_DURATION_US, duration_of, &b);
    gt_free_all(b.has_model, b.gradients.items, b.forwards);
    return u;
}

void gt_unified_free(gt_unified *u)
{
    if (!u) return;
    gt_op_rows_free(&u->ops);
    gt_free_all(u->row_of, u->kernel_of, u->root_of, u->gpu_rows, u->gpu_ends);
    gt_table_free(u->table);
    gt_call_stacks_free(u->stacks);
    gt_free(u);
}

gt_unified_ops gt_unified_ops_of(gt_unified *u)
{
    if (!u->gpu_ends) {
        gt_row_list gpu = {0};
        u->gpu_ends = gt_alloc(u->ops.count * sizeof *u->gpu_ends);
        for (size_t op = 0; op < u->ops.count; op++) {
            add_kernels(u, op, &gpu);
            u->gpu_ends[op] = gpu.count;
        }
        u->gpu_rows = gpu.items;
    }
    return (gt_unified_ops){u->table, u->gpu_rows, u->gpu_ends};
}

/* ---- the sheets ---- */

/* Puts the columns in the order of the sheet and drops the others. */
static void arrange(gt_table *sheet)
{
    static const gt_col kernels[] = {GT_COL_KERNEL_DETAILS_SUMMARY, GT_COL_TRUNC_KERNEL_DETAILS,
                                     GT_COL_OVERLAPPING_KERNELS_DETAILS_SUMMARY,
                                     GT_COL_TRUNC_OVERLAPPING_KERNELS_DETAILS};
    static const gt_col last[] = {GT_COL_GRAPH_SOURCE, GT_COL_ENTRY_POINT, GT_COL_CALL_STACK_FULL,
                                  GT_COL_PERCENTAGE_PCT, GT_COL_CUMULATIVE_PERCENTAGE_PCT};
    gt_col names[GT_LENGTH(keys) + GT_LENGTH(measures) + GT_LENGTH(kernels) + GT_LENGTH(last_measures) +
                 GT_LENGTH(last)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(keys); i++) names[count++] = keys[i];
    for (size_t i = 0; i < GT_LENGTH(measures); i++) names[count++] = measures[i].name;
    for (size_t i = 0; i < GT_LENGTH(kernels); i++) names[count++] = kernels[i];
    for (size_t i = 0; i < GT_LENGTH(last_measures); i++) names[count++] = last_measures[i].name;
    for (size_t i = 0; i < GT_LENGTH(last); i++) names[count++] = last[i];
    gt_table_select(sheet, names, count);
}

static gt_op_groups find_groups(const gt_unified *u, bool overlap)
{
    gt_col used[GT_LENGTH(keys)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(keys); i++)
        if (overlap || !gt_col_equals(keys[i], GT_COL_OVERLAPPING_KERNEL_NAMES)) used[count++] = keys[i];
    return gt_op_groups_find(u->table, used, count);
}

static gt_table *measure_groups(const gt_op_groups *groups, bool overlap)
{
    gt_aggregate all[GT_LENGTH(measures) + GT_LENGTH(last_measures)];
    size_t count = GT_LENGTH(measures);
    memcpy(all, measures, sizeof measures);
    for (size_t i = 0; i < GT_LENGTH(last_measures); i++)
        if (overlap || !gt_col_equals(last_measures[i].column, GT_COL_OVERLAP_PCT))
            all[count++] = last_measures[i];
    return gt_op_groups_measure(groups, all, count);
}

typedef struct stack_columns {
    gt_call_stacks *stacks;
    gt_table *sheet;
    size_t entry_point, full;
} stack_columns;

static uint32_t stack_of(void *unified, size_t op, uint32_t gpu_row)
{
    gt_unified *u = unified;
    uint32_t row = u->row_of[op];
    if (!u->stacks || u->kernel_of[op] != GT_NO_EVENT) return 0;
    return gt_call_stack_to_kernel(u->stacks, gt_call_stack_of(u->stacks, row, u->root_of[op]), row,
                                   gpu_row) +
           1;
}

static uint32_t print_stack(void *unified, uint32_t stack)
{
    return gt_call_stack_text(((gt_unified *)unified)->stacks, stack);
}

static void add_stacks(void *context, size_t row, const gt_kernel_stats *stats)
{
    const stack_columns *c = context;
    uint32_t name = gt_table_column(c->sheet, GT_COL_NAME)->texts[row];
    gt_call_stack_paths paths = gt_call_stack_paths_of(c->stacks, name, stats->pattern, stats->shown_count);
    c->sheet->columns[c->entry_point].texts[row] = paths.entry_point;
    c->sheet->columns[c->full].texts[row] = paths.full;
}

gt_table *gt_unified_summary(gt_unified *u)
{
    gt_op_groups groups = find_groups(u, false);
    gt_table *sheet = measure_groups(&groups, false);
    gt_table_rename(sheet, GT_SHEET_UNIFIED_PERF_SUMMARY);
    gt_table_sort(sheet, longest_first, GT_LENGTH(longest_first));
    const gt_kernel_source kernels = kernels_of(u);
    gt_op_groups_observe observe = {.printer = {stack_of, print_stack, u}};
    stack_columns columns = {.stacks = u->stacks, .sheet = sheet};
    if (u->stacks && u->stack_columns) {
        columns.entry_point = gt_table_add_zeroed(sheet, GT_COL_ENTRY_POINT, GT_TYPE_STRING);
        columns.full = gt_table_add_zeroed(sheet, GT_COL_CALL_STACK_FULL, GT_TYPE_STRING);
        observe.hide_call_stacks = true;
        observe.shown = add_stacks;
        observe.context = &columns;
    }
    gt_op_groups_describe(&groups, sheet, &kernels, GT_COL_KERNEL_DETAILS_SUMMARY,
                          GT_COL_TRUNC_KERNEL_DETAILS, &observe);
    gt_table_add_percentages(sheet, gt_table_find(sheet, GT_COL_KERNEL_TIME_US_SUM));
    arrange(sheet);
    gt_op_groups_free(&groups);
    return sheet;
}

gt_table *gt_unified_summary_with_overlap(gt_unified *u)
{
    gt_op_groups groups = find_groups(u, true);
    gt_table *sheet = measure_groups(&groups, true);
    gt_table_rename(sheet, GT_SHEET_UNIFIED_PERF_SUMMARY_KL_OVERLAP);
    gt_op_groups_sort(sheet, &groups, GT_COL_OVERLAPPING_KERNEL_NAMES, GT_COL_KERNEL_TIME_US_SUM,
                      GT_COL_EX_UID);
    const gt_kernel_source kernels = kernels_of(u), overlapping = {.lists = &u->ops.overlapping};
    gt_op_groups_describe(&groups, sheet, &kernels, GT_COL_KERNEL_DETAILS_SUMMARY,
                          GT_COL_TRUNC_KERNEL_DETAILS,
                          &(gt_op_groups_observe){.printer = {stack_of, print_stack, u}});
    gt_op_groups_describe(&groups, sheet, &overlapping, GT_COL_OVERLAPPING_KERNELS_DETAILS_SUMMARY,
                          GT_COL_TRUNC_OVERLAPPING_KERNELS_DETAILS, NULL);
    gt_op_groups_round_overlap(sheet);
    gt_table_add_percentages(sheet, gt_table_find(sheet, GT_COL_KERNEL_TIME_US_SUM));
    arrange(sheet);
    gt_op_groups_free(&groups);
    return sheet;
}
