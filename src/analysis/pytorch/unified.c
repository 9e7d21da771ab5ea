/* The unified sheet.
 *
 *     name to Concrete Inputs, [is_recompute]    keys; op category and arguments as in ops_unique_args
 *     ex_UID, operation_count                    the first op, and how many
 *     total_duration_us, ..., duration_us_*      time on the host
 *     GFLOPS to TFLOPS/s_*, [roofline], [simulated]    op_metrics.h; each only if some op has it
 *     Kernel Time (µs)_*                         time in which at least one of the op's kernels ran
 *     kernel_details_summary, ...                kernel_stats.h, op_overlap.h
 *     perf_params                                what the model read from the arguments
 *     has_perf_model                             its own, or that of the op whose gradient it computes
 *     [entry_point, call_stack_full]             call_stacks.h
 *     Percentage (%), Cumulative Percentage (%)  of the sum of Kernel Time (µs)_sum */
#include "analysis/pytorch/unified.h"

#include "analysis/pytorch/call_stacks.h"
#include "analysis/pytorch/op_category.h"
#include "analysis/pytorch/op_rows.h"
#include "analysis/percentages.h"
#include "analysis/pytorch/unified_events.h"
#include "base/length.h"
#include "base/map.h"
#include "base/memory.h"
#include "table/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OVERLAPPING "overlapping_kernel_names"
#define KERNEL_TIME "Kernel Time (µs)"
/* The unified sheet shows some of the five first and the others later. */
#define MEAN_AND_STD(column)                                                                                 \
    GT_MEASURE(column, GT_GROUP_MEAN, "_mean"), GT_MEASURE(column, GT_GROUP_STD, "_std")
#define MEDIAN_TO_MAX(column)                                                                                \
    GT_MEASURE(column, GT_GROUP_MEDIAN, "_median"), GT_MEASURE(column, GT_GROUP_MIN, "_min"),                \
        GT_MEASURE(column, GT_GROUP_MAX, "_max")

static const char *const keys[] = {
    "name",       OVERLAPPING,  "op category",   "process_name",    "process_label", "thread_name",
    "Input Dims", "Input type", "Input Strides", "Concrete Inputs", "is_recompute",
};

/* In the order of the sheet; the columns of kernels stand between the two lists. */
static const gt_aggregate measures[] = {
    {"UID", GT_GROUP_FIRST, "ex_UID"},
    {"UID", GT_GROUP_COUNT, "operation_count"},
    {"duration_us", GT_GROUP_SUM, "total_duration_us"},
    {"duration_us", GT_GROUP_MEAN, "mean_duration_us"},
    {"duration_us", GT_GROUP_STD, "std_duration_us"},
    {"GFLOPS", GT_GROUP_FIRST, "GFLOPS"},
    {"Data Moved (MB)", GT_GROUP_FIRST, "Data Moved (MB)"},
    {"FLOPS/Byte", GT_GROUP_FIRST, "FLOPS/Byte"},
    {"Compute Spec", GT_GROUP_FIRST, "Compute Spec"},
    {"Roofline Bound", GT_GROUP_FIRST, "Roofline Bound"},
    MEAN_AND_STD("TB/s"),
    MEAN_AND_STD("TFLOPS/s"),
    MEAN_AND_STD(KERNEL_TIME),
    {KERNEL_TIME, GT_GROUP_SUM, KERNEL_TIME "_sum"},
    MEDIAN_TO_MAX("duration_us"),
    GT_MEASURE_FIRST("Origami Time (µs)"),
    GT_MEASURE_FIRST("Origami TFLOPS/s"),
    MEDIAN_TO_MAX("TB/s"),
    MEDIAN_TO_MAX("TFLOPS/s"),
    GT_MEASURE_FIVE("Origami TB/s"),
    GT_MEASURE_FIVE("Pct Origami"),
    GT_MEASURE_FIRST("Roofline Time (µs)"),
    GT_MEASURE_FIVE("Pct Roofline"),
    MEDIAN_TO_MAX(KERNEL_TIME),
};
static const gt_aggregate last_measures[] = {
    GT_MEASURE_FIVE("overlap_pct"),
    {"perf_params", GT_GROUP_FIRST, "perf_params"},
    {"has_perf_model", GT_GROUP_FIRST, "has_perf_model"},
};

static const gt_sort_key longest_first[] = {{KERNEL_TIME "_sum", true}, {"ex_UID", false}};

struct gt_unified {
    gt_perf *perf;
    gt_op_rows ops;
    gt_row_list gpu;        /* the events in ops.kernels */
    gt_table *table;        /* of the ops */
    gt_call_stacks *stacks; /* NULL: the trace has no python functions */
    bool stack_columns;
};

/* ---- the ops, one by one ---- */

typedef struct builder {
    gt_unified *unified;
    gt_perf *perf;
    gt_unified_event *chosen; /* the events that are rows, in the order of unified->ops */
    size_t count;
    gt_row_list gpu; /* the GPU events of the event at hand, in order of their launches */
} builder;

static void list_gpu_events(builder *b, const gt_unified_event *event)
{
    b->gpu.count = 0;
    if (event->kernel == GT_NO_EVENT)
        gt_calls_add_gpu_events(b->perf->calls, event->row, &b->gpu);
    else
        GT_PUSH(b->gpu.items, b->gpu.count, b->gpu.capacity, event->kernel);
}

/* False where the op is to be left out. */
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
            kernel.call_stack = gt_call_stack_text(
                stacks, gt_call_stack_to_kernel(stacks, stack, event->row, b->gpu.items[i]));
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

/* ---- their table ---- */

/* An op without a model of its own that computes a gradient alone is of the gradient's category. */
static void add_categories(const builder *b, gt_table *table)
{
    gt_perf *p = b->perf;
    uint32_t *cells = gt_table_add_array(table, "op category", GT_TYPE_STRING)->texts;
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
    uint8_t *has_model = gt_table_add_array(table, "has_perf_model", GT_TYPE_BOOL)->bools;
    for (size_t i = 0; i < b->count; i++)
        has_model[i] = b->chosen[i].model || b->chosen[i].forward != GT_NO_EVENT;
    uint32_t *cells = gt_table_add_array(table, "perf_params", GT_TYPE_STRING)->texts;
    gt_map known = {0}; /* result to text */
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

/* Integers where all durations were written so and none is missing. */
static void add_durations(const builder *b, gt_table *table)
{
    const gt_linked_view *trace = b->perf->trace;
    bool whole = true;
    for (size_t i = 0; i < b->count; i++) {
        uint32_t row = b->chosen[i].row;
        whole &= (trace->integral[row] & GT_INTEGRAL_DURATION) != 0 && fabs(trace->dur_us[row]) < 0x1p53;
    }
    gt_column *column = gt_table_add_array(table, "duration_us", whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
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

/* Into the order of the sheet; what the sheet does not show goes. */
static void arrange(gt_table *sheet)
{
    static const char *const kernels[] = {"kernel_details_summary", "trunc_kernel_details",
                                          "overlapping_kernels_details_summary",
                                          "trunc_overlapping_kernels_details"};
    static const char *const last[] = {"entry_point", "call_stack_full", "Percentage (%)",
                                       "Cumulative Percentage (%)"};
    const char *names[GT_LENGTH(keys) + GT_LENGTH(measures) + GT_LENGTH(kernels) + GT_LENGTH(last_measures) +
                      GT_LENGTH(last)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(keys); i++) names[count++] = keys[i];
    for (size_t i = 0; i < GT_LENGTH(measures); i++) names[count++] = measures[i].name;
    for (size_t i = 0; i < GT_LENGTH(kernels); i++) names[count++] = kernels[i];
    for (size_t i = 0; i < GT_LENGTH(last_measures); i++) names[count++] = last_measures[i].name;
    for (size_t i = 0; i < GT_LENGTH(last); i++) names[count++] = last[i];
    gt_table_select(sheet, names, count);
}

static gt_op_groups find_alike(const gt_unified *u, bool overlap)
{
    const char *used[GT_LENGTH(keys)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(keys); i++)
        if (overlap || strcmp(keys[i], OVERLAPPING) != 0) used[count++] = keys[i];
    return gt_op_groups_find(u->table, used, count);
}

static gt_table *measure_alike(const gt_op_groups *alike, bool overlap)
{
    gt_aggregate all[GT_LENGTH(measures) + GT_LENGTH(last_measures)];
    size_t count = GT_LENGTH(measures);
    memcpy(all, measures, sizeof measures);
    for (size_t i = 0; i < GT_LENGTH(last_measures); i++)
        if (overlap || strcmp(last_measures[i].column, "overlap_pct") != 0) all[count++] = last_measures[i];
    return gt_op_groups_measure(alike, all, count);
}

typedef struct stack_columns {
    gt_call_stacks *stacks;
    gt_table *sheet;
    size_t entry_point, full;
} stack_columns;

static void add_stacks(void *context, size_t row, const gt_kernel_stats *stats)
{
    const stack_columns *c = context;
    uint32_t name = gt_table_column(c->sheet, "name")->texts[row];
    gt_call_stack_paths paths = gt_call_stack_paths_of(c->stacks, name, stats->pattern, stats->shown_count);
    c->sheet->columns[c->entry_point].texts[row] = paths.entry_point;
    c->sheet->columns[c->full].texts[row] = paths.full;
}

gt_table *gt_unified_summary(gt_unified *u)
{
    gt_op_groups alike = find_alike(u, false);
    gt_table *sheet = measure_alike(&alike, false);
    gt_table_rename(sheet, "unified_perf_summary");
    gt_table_sort(sheet, longest_first, GT_LENGTH(longest_first));
    gt_op_groups_observe watch = {0};
    stack_columns columns = {.stacks = u->stacks, .sheet = sheet};
    if (u->stacks && u->stack_columns) {
        columns.entry_point = gt_table_add_zeroed(sheet, "entry_point", GT_TYPE_STRING);
        columns.full = gt_table_add_zeroed(sheet, "call_stack_full", GT_TYPE_STRING);
        watch = (gt_op_groups_observe){.hide_call_stacks = true, .shown = add_stacks, .context = &columns};
    }
    gt_op_groups_describe(&alike, sheet, &u->ops.kernels, "kernel_details_summary", "trunc_kernel_details",
                          &watch);
    gt_table_add_percentages(sheet, gt_table_find(sheet, KERNEL_TIME "_sum"));
    arrange(sheet);
    gt_op_groups_free(&alike);
    return sheet;
}

gt_table *gt_unified_summary_with_overlap(gt_unified *u)
{
    gt_op_groups alike = find_alike(u, true);
    gt_table *sheet = measure_alike(&alike, true);
    gt_table_rename(sheet, "unified_perf_summary_kl_overlap");
    gt_op_groups_sort(sheet, &alike, OVERLAPPING, KERNEL_TIME "_sum", "ex_UID");
    gt_op_groups_describe(&alike, sheet, &u->ops.kernels, "kernel_details_summary", "trunc_kernel_details",
                          NULL);
    gt_op_groups_describe(&alike, sheet, &u->ops.beside, "overlapping_kernels_details_summary",
                          "trunc_overlapping_kernels_details", NULL);
    gt_op_groups_round_overlap(sheet);
    gt_table_add_percentages(sheet, gt_table_find(sheet, KERNEL_TIME "_sum"));
    arrange(sheet);
    gt_op_groups_free(&alike);
    return sheet;
}
