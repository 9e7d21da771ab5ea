/* Sheets about API calls and memory copies: which functions took the CPU's time, how much was copied, how
 * fast?
 *
 * Both are times by name, the largest total first, equal totals in order of the name.
 *
 *     Count                      calls or copies of that name
 *     Total Time (ms)            sum of nanoseconds / 1,000,000
 *     Mean, Median, Std, Min, Max Time (µs)   as in kernel_summary
 *     Percentage (%), Cumulative Percentage (%)   of the sheet's total
 *     Total Bytes                copies: bytes moved; empty if the format does not record them (CSV)
 *     Bandwidth (GB/s)           copies: Total Bytes / total nanoseconds
 *
 * An Nsight Systems export always has the sheets of CUDA calls and of copies, if need be without rows;
 * launches of its graphs make a sheet like that of calls.
 *
 * A run that was recorded with `--stats` only has no records but statistics by name; the sheets are then made
 * from those. */
#include "analysis/rocprof/sheets.h"

#include "analysis/sheet_parts.h"
#include "schema/columns.h"

static const gt_aggregate aggregates[] = {
    {GT_COL_DUR_NS, GT_GROUP_SIZE, GT_COL_COUNT_TITLE}, {GT_COL_DUR_NS, GT_GROUP_SUM, GT_COL_TOTAL_NS},
    {GT_COL_DUR_NS, GT_GROUP_MEAN, GT_COL_MEAN_NS},     {GT_COL_DUR_NS, GT_GROUP_MEDIAN, GT_COL_MEDIAN_NS},
    {GT_COL_DUR_NS, GT_GROUP_STD, GT_COL_STD_NS},       {GT_COL_DUR_NS, GT_GROUP_MIN, GT_COL_MIN_NS},
    {GT_COL_DUR_NS, GT_GROUP_MAX, GT_COL_MAX_NS},       {GT_COL_BYTES, GT_GROUP_SUM, GT_COL_TOTAL_BYTES},
    {GT_COL_BYTES, GT_GROUP_COUNT, GT_COL_BYTES_KNOWN},
};
enum { CALL_AGGREGATES = 7 }; /* those that need no bytes */

static const struct {
    gt_col ns, us;
} time_columns[] = {
    {GT_COL_MEAN_NS, GT_COL_MEAN_TIME_US}, {GT_COL_MEDIAN_NS, GT_COL_MEDIAN_TIME_US},
    {GT_COL_STD_NS, GT_COL_STD_TIME_US},   {GT_COL_MIN_NS, GT_COL_MIN_TIME_US},
    {GT_COL_MAX_NS, GT_COL_MAX_TIME_US},
};

static const gt_col sheet_columns[] = {
    GT_COL_NAME,
    GT_COL_COUNT_TITLE,
    GT_COL_TOTAL_TIME_MS_TITLE,
    GT_COL_MEAN_TIME_US,
    GT_COL_MEDIAN_TIME_US,
    GT_COL_STD_TIME_US,
    GT_COL_MIN_TIME_US,
    GT_COL_MAX_TIME_US,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
    GT_COL_TOTAL_BYTES,
    GT_COL_BANDWIDTH_GB_PER_S,
};

static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_NS, true}};

/* ---- statistics of the profiler ----
 *
 * Rows with the same name (short names of different kernels, or several processes) are merged. Their common
 * mean follows from the totals; their common standard deviation is unknown. */

/* All rows of the files; those of another kind have no name and are dropped when grouped. */
static gt_table *stats_records(const gt_rocprof *run, int64_t kind)
{
    static const struct {
        gt_col name;
        size_t column;
    } ints[] = {{GT_COL_COUNT_TITLE, GT_STATS_COUNT},
                {GT_COL_TOTAL_NS, GT_STATS_TOTAL},
                {GT_COL_MIN_NS, GT_STATS_MIN},
                {GT_COL_MAX_NS, GT_STATS_MAX}};
    size_t count = gt_store_count(run->stats);
    int64_t *kinds = gt_store_ints(run->stats, GT_STATS_OF);
    uint32_t *names = gt_store_string_ids(run->stats, GT_STATS_NAME);
    double *stds = gt_store_times(run->stats, GT_STATS_STD);
    gt_table *rows = gt_table_new(GT_SHEET_STATS, run->strings);
    gt_table_add_rows(rows, count);
    size_t name = gt_table_add_column(rows, GT_COL_NAME, GT_TYPE_STRING),
           std = gt_table_add_column(rows, GT_COL_STD_NS, GT_TYPE_FLOAT);
    for (size_t i = 0; i < count; i++) {
        if (kinds[i] == kind) rows->columns[name].texts[i] = names[i];
        rows->columns[std].floats[i] = stds[i];
    }
    for (size_t c = 0; c < GT_LENGTH(ints); c++) {
        size_t at = gt_table_add_zeroed(rows, ints[c].name, GT_TYPE_INT);
        int64_t *values = gt_store_ints(run->stats, ints[c].column);
        for (size_t i = 0; i < count; i++) {
            rows->columns[at].ints[i] = values[i];
            if (values[i] < 0) gt_table_set_null(rows, at, i);
        }
        gt_free(values);
    }
    gt_free_all(kinds, names, stds);
    return rows;
}

gt_table *gt_rocprof_stats_by_name(const gt_rocprof *run, int64_t kind)
{
    static const gt_col keys[] = {GT_COL_NAME};
    static const gt_aggregate sums[] = {
        {GT_COL_COUNT_TITLE, GT_GROUP_SUM, GT_COL_COUNT_TITLE},
        {GT_COL_TOTAL_NS, GT_GROUP_SUM, GT_COL_TOTAL_NS},
        {GT_COL_MIN_NS, GT_GROUP_MIN, GT_COL_MIN_NS},
        {GT_COL_MAX_NS, GT_GROUP_MAX, GT_COL_MAX_NS},
        {GT_COL_STD_NS, GT_GROUP_FIRST, GT_COL_STD_NS},
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_ROWS},
    };
    if (!run->stats) return NULL;
    gt_table *records = stats_records(run, kind);
    gt_table *names =
        gt_table_group(records, keys, 1, sums, GT_LENGTH(sums), (gt_group_options){.sorted = true});
    gt_table_free(records);
    size_t counts = gt_table_find(names, GT_COL_COUNT_TITLE), totals = gt_table_find(names, GT_COL_TOTAL_NS);
    /* Sums that overflow an int64 cannot come from a real run. */
    if (!names->row_count || names->columns[counts].type != GT_TYPE_INT ||
        names->columns[totals].type != GT_TYPE_INT) {
        gt_table_free(names);
        return NULL;
    }
    size_t mean = gt_table_add_column(names, GT_COL_MEAN_NS, GT_TYPE_FLOAT);
    gt_table_add_column(names, GT_COL_MEDIAN_NS, GT_TYPE_FLOAT);
    const int64_t *merged = gt_table_column(names, GT_COL_ROWS)->ints;
    gt_column *std = gt_table_column(names, GT_COL_STD_NS);
    for (size_t row = 0; row < names->row_count; row++) {
        int64_t count = names->columns[counts].ints[row];
        if (count > 0)
            gt_table_set_float(names, mean, row, (double)names->columns[totals].ints[row] / (double)count);
        if (merged[row] > 1 || count < 2) std->floats[row] = (double)NAN;
    }
    return names;
}

/* ---- the sheets ---- */

/* Groups records (name, dur_ns and, for copies, bytes) by name. */
static gt_table *group_by_name(const gt_table *records, size_t aggregate_count)
{
    static const gt_col keys[] = {GT_COL_NAME};
    return gt_table_group(records, keys, 1, aggregates, aggregate_count, (gt_group_options){.sorted = true});
}

/* Turns a table by name into the sheet. */
static gt_table *make_sheet(gt_table *names, gt_sheet sheet)
{
    gt_table_rename(names, sheet);
    gt_table_sort(names, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(names, gt_table_find(names, GT_COL_TOTAL_NS));
    for (size_t i = 0; i < GT_LENGTH(time_columns); i++)
        gt_table_ns_to_us(names, gt_table_find(names, time_columns[i].ns), time_columns[i].us);
    gt_table_ns_to_ms(names, gt_table_find(names, GT_COL_TOTAL_NS), GT_COL_TOTAL_TIME_MS_TITLE);
    gt_table_select(names, sheet_columns, GT_LENGTH(sheet_columns));
    return names;
}

/* The records of the `count` calls of a domain: name and dur_ns. */
static gt_table *call_records(gt_rocprof *run, const int64_t *domains, gt_call_domain domain,
                              const int64_t *durations, size_t count)
{
    uint32_t *names = gt_store_string_ids(run->calls, GT_CALL_NAME);
    uint32_t unknown = gt_interner_add_cstr(run->strings, "unknown");
    gt_table *records = gt_table_new(GT_SHEET_CALLS, run->strings);
    gt_table_add_column(records, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(records, GT_COL_DUR_NS, GT_TYPE_INT);
    gt_table_add_rows(records, count);
    for (size_t call = 0, row = 0; row < count; call++) {
        if (domains[call] != (int64_t)domain) continue;
        records->columns[0].texts[row] = names[call] ? names[call] : unknown;
        records->columns[1].ints[row++] = durations[call];
    }
    gt_free(names);
    return records;
}

/* A table by name without rows, for sheets that are shown even so. */
static gt_table *nothing_by_name(gt_rocprof *run, size_t aggregate_count)
{
    gt_table *records = gt_table_new(GT_SHEET_CALLS, run->strings);
    gt_table_add_column(records, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(records, GT_COL_DUR_NS, GT_TYPE_INT);
    gt_table_add_column(records, GT_COL_BYTES, GT_TYPE_INT);
    gt_table *names = group_by_name(records, aggregate_count);
    gt_table_free(records);
    return names;
}

/* The calls of a domain by name; NULL if the run has no records of them. */
static gt_table *calls_by_name(gt_rocprof *run, gt_call_domain domain, bool merge_ranges, bool *failed,
                               gt_error *error)
{
    size_t count = run->calls ? gt_store_count(run->calls) : 0, kept = 0;
    if (!count) return NULL;
    int64_t *domains = gt_store_ints(run->calls, GT_CALL_DOMAIN);
    for (size_t i = 0; i < count; i++) kept += domains[i] == (int64_t)domain;
    gt_table *names = NULL;
    int64_t *durations =
        kept ? gt_rocprof_durations(run->calls, GT_CALL_START, GT_CALL_END, "API call", error) : NULL;
    *failed = kept && !durations;
    if (durations) {
        gt_table *records = call_records(run, domains, domain, durations, kept);
        uint32_t *called = records->columns[0].texts;
        for (size_t i = 0; i < kept && merge_ranges && domain == GT_CALL_MARKER; i++)
            called[i] = gt_range_name(run->strings, called[i]);
        names = group_by_name(records, CALL_AGGREGATES);
        gt_table_free(records);
    }
    gt_free_all(durations, domains);
    return names;
}

gt_table *gt_rocprof_call_summary(gt_rocprof *run, gt_call_domain domain, bool merge_ranges, bool *failed,
                                  gt_error *error)
{
    gt_table *names = calls_by_name(run, domain, merge_ranges, failed, error);
    const char *sheet = gt_call_sheet(run->recorder, domain);
    if (!names && !*failed) names = gt_rocprof_stats_by_name(run, domain);
    if (!names && !*failed && run->recorder == GT_RECORDER_NSYS && domain == GT_CALL_HIP)
        names = nothing_by_name(run, CALL_AGGREGATES);
    if (names && sheet) return make_sheet(names, gt_sheet_named(sheet));
    gt_table_free(names);
    return NULL;
}

gt_table *gt_rocprof_graph_summary(gt_rocprof *run, bool *failed, gt_error *error)
{
    size_t count = run->graphs ? gt_store_count(run->graphs) : 0;
    if (!count) return NULL;
    int64_t *durations =
        gt_rocprof_durations(run->graphs, GT_GRAPH_START, GT_GRAPH_END, "graph launch", error);
    *failed = !durations;
    if (!durations) return NULL;
    int64_t *ids = gt_store_ints(run->graphs, GT_GRAPH_ID);
    gt_table *records = gt_table_new(GT_SHEET_CALLS, run->strings);
    gt_table_add_column(records, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(records, GT_COL_DUR_NS, GT_TYPE_INT);
    gt_table_add_rows(records, count);
    for (size_t i = 0; i < count; i++) {
        records->columns[0].texts[i] = gt_graph_name(run->strings, ids[i]);
        records->columns[1].ints[i] = durations[i];
    }
    gt_table *names = group_by_name(records, CALL_AGGREGATES);
    gt_table_free(records);
    gt_free_all(ids, durations);
    return make_sheet(names, GT_SHEET_CUDA_GRAPH_SUMMARY);
}

/* The name of a copy: its direction, or the number of its kind. */
static uint32_t copy_name(gt_rocprof *run, int64_t direction, int64_t kind)
{
    char name[64];
    if (direction < 0 || direction >= GT_COPY_DIRECTIONS) direction = GT_COPY_UNKNOWN;
    const char *known = gt_copy_direction_name((gt_copy_direction)direction);
    if (direction != GT_COPY_OTHER_KIND) return gt_interner_add_cstr(run->strings, known);
    snprintf(name, sizeof name, "%s_%" PRId64, known, kind);
    return gt_interner_add_cstr(run->strings, name);
}

/* The records of all copies: name (the direction), dur_ns and bytes. */
static gt_table *copy_records(gt_rocprof *run, const int64_t *durations)
{
    size_t count = gt_store_count(run->copies);
    int64_t *directions = gt_store_ints(run->copies, GT_COPY_DIRECTION);
    int64_t *bytes = gt_store_ints(run->copies, GT_COPY_BYTES);
    int64_t *kinds = gt_store_ints(run->copies, GT_COPY_KIND);
    gt_table *records = gt_table_new(GT_SHEET_COPIES, run->strings);
    gt_table_add_column(records, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(records, GT_COL_DUR_NS, GT_TYPE_INT);
    gt_table_add_column(records, GT_COL_BYTES, GT_TYPE_INT);
    gt_table_add_rows(records, count);
    for (size_t i = 0; i < count; i++) {
        records->columns[0].texts[i] = copy_name(run, directions[i], kinds[i]);
        records->columns[1].ints[i] = durations[i];
        if (bytes[i] < 0)
            gt_table_set_null(records, 2, i);
        else
            records->columns[2].ints[i] = bytes[i];
    }
    gt_free_all(directions, bytes, kinds);
    return records;
}

/* The sum of bytes is unknown if the bytes of one copy are. */
static void add_bandwidth(gt_table *summary)
{
    size_t total = gt_table_find(summary, GT_COL_TOTAL_NS),
           bytes = gt_table_find(summary, GT_COL_TOTAL_BYTES),
           count = gt_table_find(summary, GT_COL_COUNT_TITLE),
           known = gt_table_find(summary, GT_COL_BYTES_KNOWN);
    size_t bandwidth = gt_table_add_column(summary, GT_COL_BANDWIDTH_GB_PER_S, GT_TYPE_FLOAT);
    for (size_t row = 0; row < summary->row_count; row++) {
        if (summary->columns[known].ints[row] < summary->columns[count].ints[row]) {
            gt_table_set_null(summary, bytes, row);
            continue;
        }
        int64_t ns = summary->columns[total].ints[row];
        const gt_column *column = &summary->columns[bytes];
        double sum = gt_column_number(column, row);
        if (ns > 0) gt_table_set_float(summary, bandwidth, row, sum / (double)ns);
    }
}

gt_table *gt_rocprof_copy_summary(gt_rocprof *run, bool *failed, gt_error *error)
{
    if (!(run->wanted & GT_WANT_COPY_DETAILS)) return NULL;
    gt_table *names = NULL;
    if (gt_store_count(run->copies)) {
        int64_t *durations =
            gt_rocprof_durations(run->copies, GT_COPY_START, GT_COPY_END, "memory copy", error);
        *failed = !durations;
        if (!durations) return NULL;
        gt_table *records = copy_records(run, durations);
        names = group_by_name(records, GT_LENGTH(aggregates));
        add_bandwidth(names);
        gt_table_free(records);
        gt_free(durations);
    } else if (run->recorder == GT_RECORDER_NSYS) {
        names = nothing_by_name(run, GT_LENGTH(aggregates));
        add_bandwidth(names);
    } else {
        names = gt_rocprof_stats_by_name(run, GT_STATS_COPIES);
    }
    return names ? make_sheet(names, GT_SHEET_MEMORY_COPY_SUMMARY) : NULL;
}
