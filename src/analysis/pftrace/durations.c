/* kernel_summary and hip_summary: durations by name or configuration, the largest total first, equal totals
 * in the order of their first events.
 *
 *     Instances                          events
 *     Total Time, Avg, Med, Min, Max (ns)
 *     StdDev (ns)                        divided by n, as numpy does
 *     Time %                             of the baseline; 0 if that is 0
 *     Time, Total Time, Avg, ...         the same in readable form: "21.9%", "1.500 ms", "312 ns"
 *     GridX, BlockX                      total work-items, as rocprofv3 records them; Y and Z are always 1 */
#include "analysis/pftrace/sheets.h"

#include "analysis/sheet_parts.h"
#include "schema/columns.h"
#include "table/stats.h"

/* The columns by which configurations are grouped. */
static const struct {
    gt_col name;
    size_t column; /* of the trace */
} configuration[] = {
    {GT_COL_GRIDX, GT_CHROME_GRID},      {GT_COL_BLOCKX, GT_CHROME_WORKGROUP},
    {GT_COL_VGPR, GT_CHROME_VGPRS},      {GT_COL_ACCUMVGPR, GT_CHROME_ACCUM_VGPRS},
    {GT_COL_SGPR, GT_CHROME_SGPRS},      {GT_COL_LDS, GT_CHROME_LDS},
    {GT_COL_SCRATCH, GT_CHROME_SCRATCH},
};

static const gt_col columns_by_configuration[] = {
    GT_COL_TIME,         GT_COL_TOTAL_TIME,   GT_COL_INSTANCES,     GT_COL_AVG,     GT_COL_MED,
    GT_COL_MIN_TITLE,    GT_COL_MAX_TITLE,    GT_COL_STDDEV,        GT_COL_GRIDXYZ, GT_COL_BLOCKXYZ,
    GT_COL_VGPR,         GT_COL_ACCUMVGPR,    GT_COL_SGPR,          GT_COL_LDS,     GT_COL_SCRATCH,
    GT_COL_NAME_TITLE,   GT_COL_TIME_PCT,     GT_COL_TOTAL_TIME_NS, GT_COL_AVG_NS,  GT_COL_MED_NS,
    GT_COL_MIN_NS_TITLE, GT_COL_MAX_NS_TITLE, GT_COL_STDDEV_NS,     GT_COL_GRIDX,   GT_COL_GRIDY,
    GT_COL_GRIDZ,        GT_COL_BLOCKX,       GT_COL_BLOCKY,        GT_COL_BLOCKZ,
};
static const gt_col columns_by_name[] = {
    GT_COL_TIME,         GT_COL_TOTAL_TIME,   GT_COL_INSTANCES,     GT_COL_AVG,          GT_COL_MED,
    GT_COL_MIN_TITLE,    GT_COL_MAX_TITLE,    GT_COL_STDDEV,        GT_COL_STREAM_TITLE, GT_COL_OP_TITLE,
    GT_COL_NAME_TITLE,   GT_COL_TIME_PCT,     GT_COL_TOTAL_TIME_NS, GT_COL_AVG_NS,       GT_COL_MED_NS,
    GT_COL_MIN_NS_TITLE, GT_COL_MAX_NS_TITLE, GT_COL_STDDEV_NS,
};

static const struct {
    gt_col ns, shown;
} readable_times[] = {
    {GT_COL_TOTAL_TIME_NS, GT_COL_TOTAL_TIME},
    {GT_COL_AVG_NS, GT_COL_AVG},
    {GT_COL_MED_NS, GT_COL_MED},
    {GT_COL_MIN_NS_TITLE, GT_COL_MIN_TITLE},
    {GT_COL_MAX_NS_TITLE, GT_COL_MAX_TITLE},
    {GT_COL_STDDEV_NS, GT_COL_STDDEV},
};

/* ---- statistics of groups ---- */

typedef struct duration_columns {
    size_t total, count, mean, median, min, max, std;
} duration_columns;

static duration_columns add_columns(gt_table *table)
{
    return (duration_columns){
        .total = gt_table_add_zeroed(table, GT_COL_TOTAL_TIME_NS, GT_TYPE_INT),
        .count = gt_table_add_zeroed(table, GT_COL_INSTANCES, GT_TYPE_INT),
        .mean = gt_table_add_zeroed(table, GT_COL_AVG_NS, GT_TYPE_FLOAT),
        .median = gt_table_add_zeroed(table, GT_COL_MED_NS, GT_TYPE_FLOAT),
        .min = gt_table_add_zeroed(table, GT_COL_MIN_NS_TITLE, GT_TYPE_INT),
        .max = gt_table_add_zeroed(table, GT_COL_MAX_NS_TITLE, GT_TYPE_INT),
        .std = gt_table_add_zeroed(table, GT_COL_STDDEV_NS, GT_TYPE_FLOAT),
    };
}

static void measure(gt_table *table, const duration_columns *c, size_t row, const int64_t *dur_ns,
                    size_t count)
{
    double *values = gt_alloc(count * sizeof *values);
    int64_t total = 0, min = dur_ns[0], max = dur_ns[0];
    for (size_t i = 0; i < count; i++) {
        values[i] = (double)dur_ns[i];
        total += dur_ns[i];
        min = dur_ns[i] < min ? dur_ns[i] : min;
        max = dur_ns[i] > max ? dur_ns[i] : max;
    }
    table->columns[c->total].ints[row] = total;
    table->columns[c->count].ints[row] = (int64_t)count;
    table->columns[c->mean].floats[row] = gt_mean(values, count);
    table->columns[c->std].floats[row] = gt_std_pairwise(values, count, 0);
    table->columns[c->median].floats[row] = gt_median_in_place(values, count);
    table->columns[c->min].ints[row] = min;
    table->columns[c->max].ints[row] = max;
    gt_free(values);
}

/* One row per group of events, in the order of their first events: the keys and the statistics of dur_ns. */
static gt_table *measure_groups(const gt_table *events, const gt_col *keys, size_t key_count)
{
    gt_groups groups = gt_groups_find(events, keys, key_count, (gt_group_options){.keep_nulls = true});
    gt_group_rows by_group = gt_group_rows_find(&groups);
    gt_table *table = gt_table_copy_rows(events, groups.first_row, groups.count);
    duration_columns columns = add_columns(table);
    const int64_t *dur_ns = gt_table_column(events, GT_COL_DUR_NS)->ints;
    int64_t *in_group = gt_alloc(events->row_count * sizeof *in_group);
    for (size_t g = 0; g < groups.count; g++) {
        size_t begin = by_group.begins[g], count = by_group.begins[g + 1] - begin;
        for (size_t i = 0; i < count; i++) in_group[i] = dur_ns[by_group.rows[begin + i]];
        measure(table, &columns, g, in_group, count);
    }
    gt_free(in_group);
    gt_group_rows_free(&by_group);
    gt_groups_free(&groups);
    return table;
}

/* ---- readable columns ---- */

static uint32_t readable_time(gt_interner *strings, double ns)
{
    char text[64];
    if (ns >= 1e6)
        snprintf(text, sizeof text, "%.3f ms", ns / 1e6);
    else if (ns >= 1e3)
        snprintf(text, sizeof text, "%.3f \xCE\xBCs", ns / 1e3);
    else
        snprintf(text, sizeof text, "%d ns", (int)ns);
    return gt_interner_add_cstr(strings, text);
}

static void add_readable_time(gt_table *table, gt_col ns, gt_col shown)
{
    size_t from = gt_table_find(table, ns), to = gt_table_add_column(table, shown, GT_TYPE_STRING);
    const gt_column *column = &table->columns[from];
    for (size_t row = 0; row < table->row_count; row++)
        table->columns[to].texts[row] = readable_time(table->strings, gt_column_number(column, row));
}

static void add_percent(gt_table *table, int64_t baseline_ns)
{
    size_t percent = gt_table_add_zeroed(table, GT_COL_TIME_PCT, GT_TYPE_FLOAT);
    size_t shown = gt_table_add_column(table, GT_COL_TIME, GT_TYPE_STRING);
    const int64_t *total = gt_table_column(table, GT_COL_TOTAL_TIME_NS)->ints;
    for (size_t row = 0; row < table->row_count; row++) {
        double value = baseline_ns > 0 ? (double)total[row] / (double)baseline_ns * 100.0 : 0.0;
        char text[64];
        snprintf(text, sizeof text, "%.1f%%", value);
        table->columns[percent].floats[row] = value;
        gt_table_set_cstr(table, shown, row, text);
    }
}

static void add_dimensions(gt_table *table, gt_col x, gt_col y, gt_col z, gt_col all)
{
    const size_t ones[] = {gt_table_add_zeroed(table, y, GT_TYPE_INT),
                           gt_table_add_zeroed(table, z, GT_TYPE_INT)};
    size_t shown = gt_table_add_column(table, all, GT_TYPE_STRING), first = gt_table_find(table, x);
    for (size_t row = 0; row < table->row_count; row++) {
        char text[64];
        snprintf(text, sizeof text, "%7lld %4d %4d", (long long)table->columns[first].ints[row], 1, 1);
        gt_table_set_cstr(table, shown, row, text);
        for (size_t i = 0; i < GT_LENGTH(ones); i++) table->columns[ones[i]].ints[row] = 1;
    }
}

static gt_table *finish_sheet(gt_table *table, gt_sheet name, int64_t baseline_ns, const gt_col *columns,
                              size_t count)
{
    static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_TIME_NS, true}};
    gt_table_rename(table, name);
    gt_table_sort(table, longest_first, 1);
    add_percent(table, baseline_ns);
    for (size_t i = 0; i < GT_LENGTH(readable_times); i++)
        add_readable_time(table, readable_times[i].ns, readable_times[i].shown);
    gt_table_select(table, columns, table->row_count ? count : 0);
    return table;
}

/* ---- sheets ---- */

/* Adds a column of the trace; 0 if an event has no value. */
static void add_recorded(gt_table *events, const gt_chrome *trace, const uint32_t *rows, gt_col name,
                         size_t recorded)
{
    int64_t *values = gt_chrome_ints(trace, recorded);
    size_t column = gt_table_add_zeroed(events, name, GT_TYPE_INT);
    for (size_t i = 0; i < events->row_count; i++)
        events->columns[column].ints[i] = values[rows[i]] == GT_CHROME_NONE ? 0 : values[rows[i]];
    gt_free(values);
}

/* A table with Name and dur_ns of the events in the lists; `rows` are their indices in the trace. */
static gt_table *table_of_lists(gt_interner *strings, const gt_pftrace_list *const *lists, size_t list_count,
                                bool merge_names, uint32_t **rows)
{
    gt_table *events = gt_table_new(GT_SHEET_EVENTS, strings);
    size_t count = 0, at = 0;
    for (size_t i = 0; i < list_count; i++) count += lists[i]->count;
    gt_table_add_column(events, GT_COL_NAME_TITLE, GT_TYPE_STRING);
    gt_table_add_column(events, GT_COL_DUR_NS, GT_TYPE_INT);
    gt_table_add_rows(events, count);
    *rows = gt_alloc(count * sizeof **rows);
    for (size_t i = 0; i < list_count; i++)
        for (size_t j = 0; j < lists[i]->count; j++, at++) {
            const gt_pftrace_event *event = &lists[i]->items[j];
            events->columns[0].texts[at] =
                merge_names ? gt_name_without_digits(strings, gt_interner_get(strings, event->name))
                            : event->name;
            events->columns[1].ints[at] = event->dur_ns;
            (*rows)[at] = event->row;
        }
    return events;
}

gt_table *gt_pftrace_kernel_summary(const gt_chrome *trace, const gt_pftrace_work *work,
                                    const gt_pftrace_kernel_options *options)
{
    gt_col keys[1 + GT_LENGTH(configuration)] = {GT_COL_NAME_TITLE};
    size_t list_count = 0, key_count = 1;
    const gt_pftrace_list **lists = gt_alloc(2 * (work->agents.count + 1) * sizeof *lists);
    for (size_t gpu = 0; gpu < work->agents.count; gpu++) {
        lists[list_count++] = &work->compute[gpu];
        if (options->with_communication) lists[list_count++] = &work->communication[gpu];
    }
    uint32_t *rows;
    gt_table *events = table_of_lists(trace->strings, lists, list_count, options->merge_names, &rows);
    for (size_t i = 0; i < GT_LENGTH(configuration) && !options->by_name; i++) {
        add_recorded(events, trace, rows, configuration[i].name, configuration[i].column);
        keys[key_count++] = configuration[i].name;
    }
    gt_table *table = measure_groups(events, keys, key_count);
    if (!options->by_name) {
        add_dimensions(table, GT_COL_GRIDX, GT_COL_GRIDY, GT_COL_GRIDZ, GT_COL_GRIDXYZ);
        add_dimensions(table, GT_COL_BLOCKX, GT_COL_BLOCKY, GT_COL_BLOCKZ, GT_COL_BLOCKXYZ);
    }
    gt_table_free(events);
    gt_free_all(lists, rows);
    return finish_sheet(table, GT_SHEET_KERNEL_SUMMARY, options->baseline_ns,
                        options->by_name ? columns_by_name : columns_by_configuration,
                        options->by_name ? GT_LENGTH(columns_by_name) : GT_LENGTH(columns_by_configuration));
}

gt_table *gt_pftrace_hip_summary(const gt_chrome *trace, const gt_pftrace_list *calls, bool by_stream,
                                 bool by_operation)
{
    gt_col keys[] = {GT_COL_NAME_TITLE, GT_NO_COL, GT_NO_COL};
    size_t key_count = 1;
    uint32_t *rows;
    gt_table *events = table_of_lists(trace->strings, &calls, 1, false, &rows);
    int64_t total_ns = 0;
    for (size_t i = 0; i < calls->count; i++) total_ns += calls->items[i].dur_ns;
    if (by_stream)
        add_recorded(events, trace, rows, keys[key_count++] = GT_COL_STREAM_TITLE, GT_CHROME_STREAM);
    if (by_operation)
        add_recorded(events, trace, rows, keys[key_count++] = GT_COL_OP_TITLE, GT_CHROME_OPERATION);
    gt_table *table = measure_groups(events, keys, key_count);
    gt_table_free(events);
    gt_free(rows);
    return finish_sheet(table, GT_SHEET_HIP_SUMMARY, total_ns, columns_by_name, GT_LENGTH(columns_by_name));
}
