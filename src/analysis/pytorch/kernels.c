/* Sheets of kernels.
 *
 * kernel_summary has kernels by op category, op, name and stream:
 *
 *     Parent op category             of the nearest cpu_op above; if there is none, "graph" or "runtime" by
 *                                    the name of the call that launched the kernel; empty if no launch is
 *                                    known
 *     Parent cpu_op                  the name of that op or call; no such column if no kernel has a cpu_op
 *     Kernel duration (µs)_sum       and _count, _mean, _min, _max
 *     [graph_source]                 graph_sources.h
 *     Percent of kernels time (%)    sum / durations of all kernels * 100
 *     Percent of total time (%)      sum / total_time of the timeline * 100
 *
 * short_kernels_summary has kernels with a duration strictly below a threshold:
 *
 *     Parent cpu_op                      the nearest cpu_op above, and its arguments as Python tuples
 *     Short Kernel duration (µs) sum     and count and mean
 *       ... percent of total time        sum / total_time of the timeline * 100
 *
 * Kernels without a cpu_op, and kernels of ops recorded without shapes, are not listed there, so the
 * percentages do not add up to all short kernels. A GPU-only trace has only the kernel's name to group by.
 * Equal sums are in order of count, mean and first appearance. short_kernel_histogram counts short kernels by
 * duration. */
#include "analysis/pytorch/sheets.h"

#include "analysis/pytorch/event_columns.h"
#include "analysis/pytorch/graph_sources.h"
#include "analysis/pytorch/op_category.h"
#include "analysis/sheet_parts.h"
#include "compat/python_literal.h"
#include "table/stats.h"
#include "trace/pytorch/event_rows.h"

/* Calls whose names contain one of these, in any case, launch graphs. */
static const char *const graph_launches[] = {"cudagraph", "graphlaunch"};

static const gt_aggregate of_kernel[] = {
    GT_AGGREGATE(KERNEL_DURATION_US, SUM),  GT_AGGREGATE(KERNEL_DURATION_US, COUNT),
    GT_AGGREGATE(KERNEL_DURATION_US, MEAN), GT_AGGREGATE(KERNEL_DURATION_US, MIN),
    GT_AGGREGATE(KERNEL_DURATION_US, MAX),
};

/* ---- the kernels ---- */

typedef struct op_search {
    const gt_linked_view *trace;
    gt_pytorch_kernels *kernels;
} op_search;

static void find_cpu_ops(void *context, size_t begin, size_t end)
{
    const op_search *search = context;
    gt_pytorch_kernels *kernels = search->kernels;
    bool any = false;
    for (size_t i = begin; i < end; i++) {
        kernels->cpu_ops[i] = gt_pytorch_cpu_op_above(search->trace, kernels->rows[i]);
        any |= kernels->cpu_ops[i] != GT_NO_EVENT;
    }
    if (any) __atomic_store_n(&kernels->have_cpu_ops, true, __ATOMIC_RELAXED);
}

gt_pytorch_kernels gt_pytorch_kernels_find(const gt_linked_view *trace, const gt_extension *extension)
{
    gt_pytorch_kernels kernels = {.trace = trace, .extension = extension};
    kernels.rows = gt_rows_of_kinds(trace->kind, trace->count, 1u << GT_KIND_KERNEL, &kernels.count);
    kernels.cpu_ops = gt_alloc(kernels.count * sizeof *kernels.cpu_ops);
    op_search search = {trace, &kernels};
    gt_parallel_ranges(kernels.count, GT_ROWS_GRAIN, find_cpu_ops, &search);
    kernels.whole =
        gt_event_times_are_whole(&trace->events, GT_INTEGRAL_DURATION, kernels.rows, kernels.count);
    return kernels;
}

void gt_pytorch_kernels_free(gt_pytorch_kernels *kernels)
{
    gt_free_all(kernels->rows, kernels->cpu_ops);
    *kernels = (gt_pytorch_kernels){0};
}

/* Adds the FLOAT column cell / total * 100, empty if the total is not above 0. */
static void add_share(gt_table *table, gt_col column, double total_us, gt_col name)
{
    if (total_us > 0)
        gt_table_add_percentage(table, gt_table_find(table, column), total_us, name);
    else
        gt_table_add_column(table, name, GT_TYPE_FLOAT);
}

/* ---- the op of a kernel, and its category ---- */

/* The table of parents: for each kernel, the name of its op and of the first kernel that this op launched
 * itself, or, if there is no op, that of the call that launched the kernel. */
enum { LAUNCHED_BY, PARENT, FIRST_KERNEL };
enum { UNKNOWN, OP, CALL }; /* values of LAUNCHED_BY */
static const gt_column_head parent_columns[] = {
    {GT_COL_KIND, GT_TYPE_INT}, {GT_COL_PARENT_CPU_OP, GT_TYPE_STRING}, {GT_COL_KERNEL_NAME, GT_TYPE_STRING}};

typedef struct parent_search {
    const gt_pytorch_kernels *kernels;
    const gt_launchers *launchers;
    uint32_t *first_kernel; /* by row: the name of the first kernel that an op launched itself */
    gt_table *parents;
    gt_groups groups;            /* of the parents */
    uint32_t *category_of_group; /* by group */
    uint32_t *category, *parent; /* by kernel: the columns to fill; `parent` may be NULL */
} parent_search;

static void name_first_kernels(void *context, size_t begin, size_t end)
{
    const parent_search *s = context;
    for (size_t i = begin; i < end; i++) {
        const gt_launcher *launcher = &s->launchers->items[i];
        s->first_kernel[launcher->row] = s->kernels->trace->name[s->launchers->kernels[launcher->first]];
    }
}

static void name_parents(void *context, size_t begin, size_t end)
{
    const parent_search *s = context;
    const gt_linked_view *trace = s->kernels->trace;
    gt_column *columns = s->parents->columns;
    for (size_t i = begin; i < end; i++) {
        uint32_t op = s->kernels->cpu_ops[i], call = trace->parent[s->kernels->rows[i]];
        if (op == GT_NO_EVENT && call == GT_NO_EVENT) continue;
        columns[LAUNCHED_BY].ints[i] = op != GT_NO_EVENT ? OP : CALL;
        columns[PARENT].texts[i] = trace->name[op != GT_NO_EVENT ? op : call];
        if (op != GT_NO_EVENT) columns[FIRST_KERNEL].texts[i] = s->first_kernel[op];
    }
}

static const char *category_of_call(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(graph_launches); i++)
        if (strcasestr(name.bytes, graph_launches[i])) return "graph";
    return "runtime";
}

/* The category of a group of parents, GT_STR_NONE if no launch is known. */
static uint32_t category_of(const parent_search *s, gt_op_categories *categories, size_t group)
{
    const gt_column *columns = s->parents->columns;
    gt_interner *strings = s->parents->strings;
    uint32_t first = s->groups.first_row[group], name = columns[PARENT].texts[first];
    if (columns[LAUNCHED_BY].ints[first] == OP)
        return gt_op_categories_of(categories, name, columns[FIRST_KERNEL].texts[first]);
    if (columns[LAUNCHED_BY].ints[first] == UNKNOWN) return GT_STR_NONE;
    return gt_interner_add_cstr(strings, category_of_call(gt_interner_get(strings, name)));
}

static void fill_range(void *context, size_t begin, size_t end)
{
    const parent_search *s = context;
    const gt_column *columns = s->parents->columns;
    for (size_t i = begin; i < end; i++) {
        s->category[i] = s->category_of_group[s->groups.of_row[i]];
        if (s->parent) s->parent[i] = columns[PARENT].texts[i];
    }
}

/* Fills the two columns; `parent` may be NULL. Kernels without a known launch stay null. Categories are found
 * once per different parent. */
static void fill_parents(const gt_pytorch_kernels *kernels, const gt_launchers *launchers, uint32_t *category,
                         uint32_t *parent)
{
    const gt_linked_view *trace = kernels->trace;
    parent_search s = {.kernels = kernels, .launchers = launchers, .category = category, .parent = parent};
    s.first_kernel = gt_alloc_zero(trace->count, sizeof *s.first_kernel);
    gt_parallel_ranges(launchers->count, GT_ROWS_GRAIN, name_first_kernels, &s);
    s.parents = gt_table_new(GT_SHEET_KERNELS, trace->strings);
    gt_table_add_columns(s.parents, parent_columns, GT_LENGTH(parent_columns));
    gt_table_add_rows(s.parents, kernels->count);
    gt_parallel_ranges(kernels->count, GT_ROWS_GRAIN, name_parents, &s);
    gt_free(s.first_kernel);
    gt_col keys[GT_LENGTH(parent_columns)];
    for (size_t i = 0; i < GT_LENGTH(keys); i++) keys[i] = parent_columns[i].name;
    s.groups = gt_groups_find(s.parents, keys, GT_LENGTH(keys), (gt_group_options){.keep_nulls = true});
    s.category_of_group = gt_alloc(s.groups.count * sizeof *s.category_of_group);
    gt_op_categories *categories = gt_op_categories_new(trace->strings, kernels->extension);
    for (size_t g = 0; g < s.groups.count; g++) s.category_of_group[g] = category_of(&s, categories, g);
    gt_op_categories_free(categories);
    gt_parallel_ranges(kernels->count, GT_ROWS_GRAIN, fill_range, &s);
    gt_free(s.category_of_group);
    gt_groups_free(&s.groups);
    gt_table_free(s.parents);
}

/* ---- kernel_summary ---- */

static gt_table *kernel_table(const gt_pytorch_kernels *kernels, const gt_launchers *launchers)
{
    const gt_linked_view *trace = kernels->trace;
    gt_table *table = gt_table_new(GT_SHEET_KERNELS, trace->strings);
    gt_table_add_rows(table, kernels->count);
    size_t category = gt_table_add_column(table, GT_COL_PARENT_OP_CATEGORY, GT_TYPE_STRING);
    size_t parent = SIZE_MAX;
    if (kernels->have_cpu_ops) parent = gt_table_add_column(table, GT_COL_PARENT_CPU_OP, GT_TYPE_STRING);
    fill_parents(kernels, launchers, table->columns[category].texts,
                 parent == SIZE_MAX ? NULL : table->columns[parent].texts);
    size_t name = gt_table_add_column(table, GT_COL_KERNEL_NAME, GT_TYPE_STRING);
    gt_gather_u32(table->columns[name].texts, trace->name, kernels->rows, kernels->count);
    gt_table_add_event_strings(table, GT_COL_KERNEL_STREAM, &trace->events, GT_EVENT_STREAM, kernels->rows);
    gt_table_read_json(table, GT_COL_KERNEL_STREAM);
    gt_table_add_event_times(table, GT_COL_KERNEL_DURATION_US, &trace->events, GT_INTEGRAL_DURATION,
                             kernels->rows, kernels->whole);
    if (kernels->have_cpu_ops) gt_table_add_row_sources(table, trace, kernels->cpu_ops);
    return table;
}

static double time_of_all(const gt_pytorch_kernels *kernels)
{
    double *dur_us = gt_alloc(kernels->count * sizeof *dur_us);
    gt_gather_times(dur_us, kernels->trace->dur_us, kernels->rows, kernels->count);
    double sum = gt_sum_pairwise(dur_us, kernels->count);
    gt_free(dur_us);
    return sum;
}

static void add_sources(gt_table *summary, const gt_table *kernels, const gt_col *keys, size_t key_count,
                        gt_group_options options)
{
    if (gt_table_find(kernels, GT_COL_GRAPH_SOURCE) == SIZE_MAX) return;
    gt_groups groups = gt_groups_find(kernels, keys, key_count, options);
    gt_table_add_graph_sources(summary, kernels, &groups, GT_COL_KERNEL_DURATION_US);
    gt_groups_free(&groups);
}

gt_table *gt_pytorch_kernel_shares(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                   gt_sheet sheet)
{
    static const gt_col keys[] = {GT_COL_PARENT_OP_CATEGORY, GT_COL_PARENT_CPU_OP, GT_COL_KERNEL_NAME,
                                  GT_COL_KERNEL_STREAM};
    static const gt_col keys_without_ops[] = {GT_COL_PARENT_OP_CATEGORY, GT_COL_KERNEL_NAME,
                                              GT_COL_KERNEL_STREAM};
    static const gt_sort_key longest_first[] = {{GT_COL_KERNEL_DURATION_US_SUM, true}};

    static const gt_group_options sorted = {.sorted = true, .keep_nulls = true};

    gt_table *table = kernel_table(kernels, launchers);
    const gt_col *used = kernels->have_cpu_ops ? keys : keys_without_ops;
    size_t count = kernels->have_cpu_ops ? GT_LENGTH(keys) : GT_LENGTH(keys_without_ops);
    gt_table *summary = gt_table_group(table, used, count, of_kernel, GT_LENGTH(of_kernel), sorted);
    add_sources(summary, table, used, count, sorted);
    gt_table_free(table);
    gt_table_rename(summary, sheet);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    add_share(summary, GT_COL_KERNEL_DURATION_US_SUM, time_of_all(kernels),
              GT_COL_PERCENT_OF_KERNELS_TIME_PCT);
    return summary;
}

gt_table *gt_pytorch_kernel_summary(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                    double total_ms)
{
    gt_table *summary = gt_pytorch_kernel_shares(kernels, launchers, GT_SHEET_KERNEL_SUMMARY);
    add_share(summary, GT_COL_KERNEL_DURATION_US_SUM, total_ms * 1e3, GT_COL_PERCENT_OF_TOTAL_TIME_PCT);
    return summary;
}

/* ---- short kernels ---- */

static const struct {
    gt_col name;
    size_t event_column;
} arguments[] = {
    {GT_COL_SHORT_KERNEL_INPUT_DIMS, GT_EVENT_INPUT_DIMS},
    {GT_COL_SHORT_KERNEL_INPUT_STRIDES, GT_EVENT_INPUT_STRIDES},
    {GT_COL_CONCRETE_INPUTS, GT_EVENT_CONCRETE_INPUTS},
};

static const gt_col op_keys[] = {GT_COL_PARENT_CPU_OP, GT_COL_SHORT_KERNEL_INPUT_DIMS,
                                 GT_COL_SHORT_KERNEL_INPUT_STRIDES, GT_COL_CONCRETE_INPUTS,
                                 GT_COL_KERNEL_NAME};
static const gt_col gpu_only_keys[] = {GT_COL_KERNEL_NAME};

static const gt_aggregate of_group[] = {
    {GT_COL_KERNEL_DURATION_US, GT_GROUP_SUM, GT_COL_SHORT_KERNEL_DURATION_US_SUM},
    {GT_COL_KERNEL_DURATION_US, GT_GROUP_COUNT, GT_COL_SHORT_KERNEL_COUNT},
    {GT_COL_KERNEL_DURATION_US, GT_GROUP_MEAN, GT_COL_SHORT_KERNEL_DURATION_US_MEAN},
};

static const gt_sort_key sheet_order[] = {
    {GT_COL_SHORT_KERNEL_DURATION_US_SUM, true},
    {GT_COL_SHORT_KERNEL_COUNT, false},
    {GT_COL_SHORT_KERNEL_DURATION_US_MEAN, false},
};

typedef struct short_search {
    const gt_pytorch_kernels *all;
    double threshold_us;
} short_search;

static bool is_short(const void *context, size_t kernel)
{
    const short_search *s = context;
    return s->all->trace->dur_us[s->all->rows[kernel]] < s->threshold_us;
}

/* The kernels below the threshold; free them with gt_pytorch_kernels_free. */
static gt_pytorch_kernels find_short(const gt_pytorch_kernels *all, int64_t threshold_us)
{
    gt_pytorch_kernels kernels = *all;
    short_search search = {all, (double)threshold_us};
    uint32_t *found = gt_numbers_where(all->count, is_short, &search, &kernels.count);
    kernels.cpu_ops = gt_alloc(kernels.count * sizeof *kernels.cpu_ops);
    gt_gather_u32(kernels.cpu_ops, all->cpu_ops, found, kernels.count);
    kernels.rows = gt_alloc(kernels.count * sizeof *kernels.rows);
    gt_gather_u32(kernels.rows, all->rows, found, kernels.count);
    gt_free(found);
    return kernels;
}

gt_table *gt_pytorch_short_kernel_histogram(const gt_pytorch_kernels *all,
                                            const gt_pytorch_short_options *options, gt_error *error)
{
    gt_pytorch_kernels kernels = find_short(all, options->threshold_us);
    double *dur_us = gt_alloc(kernels.count * sizeof *dur_us);
    gt_gather_times(dur_us, kernels.trace->dur_us, kernels.rows, kernels.count);
    gt_table *histogram =
        gt_short_kernel_histogram(kernels.trace->strings, dur_us, kernels.count, options->bins, error);
    gt_free(dur_us);
    gt_pytorch_kernels_free(&kernels);
    return histogram;
}

typedef struct name_copy {
    uint32_t *to;
    const uint32_t *names, *rows;
} name_copy;

static void copy_names(void *context, size_t begin, size_t end)
{
    const name_copy *c = context;
    for (size_t i = begin; i < end; i++)
        if (c->rows[i] != GT_NO_EVENT) c->to[i] = c->names[c->rows[i]];
}

static void add_names(gt_table *table, gt_col column, const gt_linked_view *trace, const uint32_t *rows)
{
    size_t added = gt_table_add_column(table, column, GT_TYPE_STRING);
    name_copy copy = {table->columns[added].texts, trace->name, rows};
    gt_parallel_ranges(table->row_count, GT_ROWS_GRAIN, copy_names, &copy);
}

/* One row per kernel; arguments are still JSON. */
static gt_table *short_kernel_table(const gt_pytorch_kernels *kernels)
{
    const gt_linked_view *trace = kernels->trace;
    gt_table *table = gt_table_new(GT_SHEET_SHORT_KERNELS, trace->strings);
    gt_table_add_rows(table, kernels->count);
    add_names(table, GT_COL_KERNEL_NAME, trace, kernels->rows);
    add_names(table, GT_COL_PARENT_CPU_OP, trace, kernels->cpu_ops);
    for (size_t i = 0; !trace->gpu_only && i < GT_LENGTH(arguments); i++)
        gt_table_add_event_strings(table, arguments[i].name, &trace->events, arguments[i].event_column,
                                   kernels->cpu_ops);
    gt_table_add_event_times(table, GT_COL_KERNEL_DURATION_US, &trace->events, GT_INTEGRAL_DURATION,
                             kernels->rows, kernels->whole);
    return table;
}

static void write_arguments_as_python(gt_table *summary)
{
    gt_python_literals *literals = gt_python_literals_new(summary->strings, GT_PYTHON_TUPLES);
    for (size_t i = 0; i < GT_LENGTH(arguments); i++) {
        gt_column *column = gt_table_column(summary, arguments[i].name);
        for (size_t row = 0; row < summary->row_count; row++)
            column->texts[row] = gt_python_literals_of(literals, column->texts[row]);
    }
    gt_python_literals_free(literals);
}

/* The sheet if there are short kernels but all of them lack a key: the two lines of headings that pandas
 * writes for a table without rows, because readers of these files expect them. */
static gt_table *headings_only(gt_interner *strings)
{
    static const char *const second_line[] = {"sum", "count", "mean"};
    gt_table *table = gt_table_new(GT_SHEET_SHORT_KERNELS_SUMMARY, strings);
    for (size_t i = 0; i < GT_LENGTH(second_line); i++)
        gt_table_add_column(table, GT_COL_KERNEL_DURATION_US, GT_TYPE_STRING);
    gt_table_add_row(table);
    for (size_t i = 0; i < GT_LENGTH(second_line); i++) gt_table_set_cstr(table, i, 0, second_line[i]);
    return table;
}

gt_table *gt_pytorch_short_kernels_summary(const gt_pytorch_kernels *all,
                                           const gt_pytorch_short_options *options, double total_ms)
{
    bool gpu_only = all->trace->gpu_only;
    gt_interner *strings = all->trace->strings;
    gt_pytorch_kernels kernels = find_short(all, options->threshold_us);
    gt_table *table = short_kernel_table(&kernels);
    gt_pytorch_kernels_free(&kernels);
    if (!table->row_count) {
        gt_table_free(table);
        return gt_table_new(GT_SHEET_SHORT_KERNELS_SUMMARY, strings);
    }
    gt_table *summary = gt_table_group(table, gpu_only ? gpu_only_keys : op_keys,
                                       gpu_only ? GT_LENGTH(gpu_only_keys) : GT_LENGTH(op_keys), of_group,
                                       GT_LENGTH(of_group), (gt_group_options){0});
    gt_table_free(table);
    if (!summary->row_count && all->have_cpu_ops) {
        gt_table_free(summary);
        return headings_only(strings);
    }
    gt_table_rename(summary, GT_SHEET_SHORT_KERNELS_SUMMARY);
    gt_table_sort(summary, sheet_order, GT_LENGTH(sheet_order));
    add_share(summary, GT_COL_SHORT_KERNEL_DURATION_US_SUM, total_ms * 1e3,
              GT_COL_SHORT_KERNEL_DURATION_US_PERCENT_OF_TOTAL_TIME);
    if (options->limited) gt_table_head(summary, options->topk);
    if (!gpu_only) write_arguments_as_python(summary);
    return summary;
}
