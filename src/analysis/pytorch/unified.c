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
 *     [entry_point, call_stack_full]             call_stacks.c
 *     Percentage (%), Cumulative Percentage (%)  of the sum of Kernel Time (µs)_sum */
#include "analysis/pytorch/sheets.h"

#include "analysis/sheet_parts.h"
#include "analysis/pytorch/op_category.h"
#include "analysis/pytorch/op_rows.h"
#include "analysis/pytorch/unified_details.h"
#include "base/map.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

struct gt_unified {
    gt_perf *perf;
    gt_op_rows ops;
    gt_row_list gpu;        /* the events in ops.kernels */
    gt_table *table;        /* of the ops */
    gt_call_stacks *stacks; /* NULL: the trace has no python functions */
    bool stack_columns;
};

/* ---- the ops ---- */

typedef struct builder {
    gt_unified *unified;
    gt_perf *perf;
    gt_unified_event *chosen; /* the events that are rows, in the order of unified->ops */
    size_t count;
    gt_row_list gpu; /* GPU events of the current event, in order of their launches */
} builder;

static void list_gpu_events(builder *b, const gt_unified_event *event)
{
    b->gpu.count = 0;
    if (event->kernel == GT_NO_EVENT)
        gt_calls_add_gpu_events(b->perf->calls, event->row, &b->gpu);
    else
        GT_PUSH(b->gpu.items, b->gpu.count, b->gpu.capacity, event->kernel);
}

/* Returns false if the op must not be in the sheet. */
static bool measure(builder *b, const gt_unified_event *event, gt_op_metrics *metrics)
{
    gt_perf *p = b->perf;
    uint32_t row = event->row, name = event->name;
    const gt_model *model = event->model;
    bool backward = !model && event->forward != GT_NO_EVENT;
    if (backward) {
        row = event->forward;
        name = p->trace->name[row];
        model = gt_perf_model(p, row, name);
    }
    gt_model_outcome outcome =
        model ? gt_perf_measure(p, model, row, name, backward, metrics) : GT_MODEL_FAIL;
    if (outcome == GT_MODEL_FAIL) *metrics = gt_perf_measure_time(p, &b->gpu);
    return outcome != GT_MODEL_SKIP;
}

static void add_kernels(builder *b, const gt_unified_event *event)
{
    gt_call_stacks *stacks = event->kernel == GT_NO_EVENT ? b->unified->stacks : NULL;
    gt_kernel_lists *lists = &b->unified->ops.kernels;
    uint32_t stack = stacks ? gt_call_stack_of(stacks, event->row, event->root) : 0;
    for (size_t i = 0; i < b->gpu.count; i++) {
        gt_kernel_detail kernel = gt_perf_detail(b->perf, b->gpu.items[i]);
        if (stacks)
            kernel.call_stack = gt_call_stack_to_kernel(stacks, stack, event->row, b->gpu.items[i]) + 1;
        gt_kernel_lists_push(lists, kernel);
        GT_PUSH(b->unified->gpu.items, b->unified->gpu.count, b->unified->gpu.capacity, b->gpu.items[i]);
    }
    gt_kernel_lists_close(lists);
}

static void add_op(builder *b, const gt_unified_event *event)
{
    gt_op_metrics metrics;
    gt_op_rows *ops = &b->unified->ops;
    list_gpu_events(b, event);
    if (!measure(b, event, &metrics)) return;
    gt_op_rows_push(ops, (gt_op_row){event->row, event->name, event->uid, metrics});
    add_kernels(b, event);
    if (b->perf->overlaps)
        gt_op_rows_set_overlap(ops, gt_perf_overlap(b->perf, event->row, b->gpu.items, b->gpu.count));
    b->chosen[b->count++] = *event;
}

/* ---- the table of ops ---- */

/* An op without a model that computes the gradient of one op has that gradient's category. */
static void add_categories(const builder *b, gt_table *table)
{
    gt_perf *p = b->perf;
    uint32_t *cells = gt_table_add_array(table, GT_COL_OP_CATEGORY, GT_TYPE_STRING)->texts;
    gt_op_categories *categories = gt_op_categories_new(p->trace->strings, p->extension);
    for (size_t i = 0; i < b->count; i++) {
        const gt_unified_event *event = &b->chosen[i];
        if (!event->model && event->forward != GT_NO_EVENT)
            cells[i] = gt_interner_add_cstr(
                p->trace->strings,
                gt_perf_model(p, event->forward, p->trace->name[event->forward])->backward_category);
        else
            cells[i] = gt_op_categories_of(categories, event->name, gt_perf_first_kernel(p, event->row));
    }
    gt_op_categories_free(categories);
}

static void add_models(const builder *b, gt_table *table)
{
    uint8_t *has_model = gt_table_add_array(table, GT_COL_HAS_PERF_MODEL, GT_TYPE_BOOL)->bools;
    for (size_t i = 0; i < b->count; i++)
        has_model[i] = b->chosen[i].model || b->chosen[i].forward != GT_NO_EVENT;
    uint32_t *cells = gt_table_add_array(table, GT_COL_PERF_PARAMS, GT_TYPE_STRING)->texts;
    gt_map known = {0}; /* from a result to its string */
    gt_buffer text = {0};
    for (size_t i = 0; i < b->count; i++) {
        const gt_model_result *result = b->unified->ops.items[i].metrics.result;
        if (!result || !result->parameter_count) continue;
        uint32_t *id = gt_map_put(&known, result->id, 0);
        if (*id == GT_MAP_NONE) {
            text.len = 0;
            gt_model_print_parameters(&text, result);
            *id = gt_interner_add(table->strings, text.bytes, text.len);
        }
        cells[i] = *id;
    }
    gt_buffer_free(&text);
    gt_map_free(&known);
}

/* INT if all durations were written as integers and none is missing. */
static void add_durations(const builder *b, gt_table *table)
{
    const gt_linked_view *trace = b->perf->trace;
    bool whole = true;
    for (size_t i = 0; i < b->count; i++) {
        uint32_t row = b->chosen[i].row;
        whole &= (trace->integral[row] & GT_INTEGRAL_DURATION) != 0 && fabs(trace->dur_us[row]) < 0x1p53;
    }
    gt_column *column = gt_table_add_array(table, GT_COL_DURATION_US, whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t i = 0; i < b->count; i++) {
        double dur_us = trace->dur_us[b->chosen[i].row];
        if (whole)
            column->ints[i] = (int64_t)dur_us;
        else
            column->floats[i] = dur_us;
    }
}

gt_unified *gt_unified_new(gt_perf *perf, bool call_stacks)
{
    gt_unified *u = gt_alloc_zero(1, sizeof *u);
    u->perf = perf;
    u->stack_columns = call_stacks;
    if (perf->trace->has_python) u->stacks = gt_call_stacks_new(perf->calls);
    gt_unified_events events = gt_unified_events_find(perf);
    builder b = {.unified = u, .perf = perf, .chosen = gt_alloc(events.count * sizeof *b.chosen)};
    for (size_t i = 0; i < events.count; i++) add_op(&b, &events.items[i]);
    u->table = gt_op_rows_table(&u->ops, perf, GT_PYTHON_TUPLES);
    add_categories(&b, u->table);
    add_models(&b, u->table);
    add_durations(&b, u->table);
    gt_free(b.chosen);
    gt_free(b.gpu.items);
    gt_unified_events_free(&events);
    return u;
}

void gt_unified_free(gt_unified *u)
{
    if (!u) return;
    gt_op_rows_free(&u->ops);
    gt_free(u->gpu.items);
    gt_table_free(u->table);
    gt_call_stacks_free(u->stacks);
    gt_free(u);
}

gt_unified_ops gt_unified_ops_of(const gt_unified *u)
{
    return (gt_unified_ops){u->table, u->gpu.items, u->ops.kernels.ends};
}

/* ---- the sheets ---- */

/* Puts the columns in the order of the sheet and drops the others. */
static void arrange(gt_table *sheet)
{
    static const gt_col kernels[] = {GT_COL_KERNEL_DETAILS_SUMMARY, GT_COL_TRUNC_KERNEL_DETAILS,
                                     GT_COL_OVERLAPPING_KERNELS_DETAILS_SUMMARY,
                                     GT_COL_TRUNC_OVERLAPPING_KERNELS_DETAILS};
    static const gt_col last[] = {GT_COL_ENTRY_POINT, GT_COL_CALL_STACK_FULL, GT_COL_PERCENTAGE_PCT,
                                  GT_COL_CUMULATIVE_PERCENTAGE_PCT};
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

static uint32_t print_stack(void *stacks, uint32_t stack)
{
    return gt_call_stack_text(stacks, stack);
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
    gt_op_groups_observe observe = {.printer = {print_stack, u->stacks}};
    stack_columns columns = {.stacks = u->stacks, .sheet = sheet};
    if (u->stacks && u->stack_columns) {
        columns.entry_point = gt_table_add_zeroed(sheet, GT_COL_ENTRY_POINT, GT_TYPE_STRING);
        columns.full = gt_table_add_zeroed(sheet, GT_COL_CALL_STACK_FULL, GT_TYPE_STRING);
        observe.hide_call_stacks = true;
        observe.shown = add_stacks;
        observe.context = &columns;
    }
    gt_op_groups_describe(&groups, sheet, &u->ops.kernels, GT_COL_KERNEL_DETAILS_SUMMARY,
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
    gt_op_groups_describe(&groups, sheet, &u->ops.kernels, GT_COL_KERNEL_DETAILS_SUMMARY,
                          GT_COL_TRUNC_KERNEL_DETAILS,
                          &(gt_op_groups_observe){.printer = {print_stack, u->stacks}});
    gt_op_groups_describe(&groups, sheet, &u->ops.overlapping, GT_COL_OVERLAPPING_KERNELS_DETAILS_SUMMARY,
                          GT_COL_TRUNC_OVERLAPPING_KERNELS_DETAILS, NULL);
    gt_op_groups_round_overlap(sheet);
    gt_table_add_percentages(sheet, gt_table_find(sheet, GT_COL_KERNEL_TIME_US_SUM));
    arrange(sheet);
    gt_op_groups_free(&groups);
    return sheet;
}
