/* Sheets about a rocprofv3 run as a whole: on which hardware did it take place, what did its processes do,
 * and what did the hardware count? */
#include "analysis/rocprof/sheets.h"

#include "analysis/rocprof/agents.h"
#include "schema/columns.h"
#include "analysis/sheet_parts.h"

/* ---- agent_info ----
 *
 * The columns are those of rocprofv3's own agent_info.csv. */

/* The processes of a host list the same agents, so that an agent is shown once per host: as its first process
 * lists it. */
static uint8_t *find_shown(const gt_rocprof *run)
{
    gt_agent_list agents = gt_agent_list_new(run);
    uint8_t *shown = gt_alloc_zero(agents.count, 1);
    gt_map nodes = {0}, listed_by = {0};
    for (size_t row = 0; row < agents.count; row++) {
        uint32_t *node =
            gt_map_put(&nodes, gt_rocprof_host_of(run, agents.processes[row]), (uint64_t)agents.nodes[row]);
        if (*node == GT_MAP_NONE) *node = (uint32_t)nodes.count;
        uint32_t *first = gt_map_put(&listed_by, *node, agents.gpus[row]);
        if (*first == GT_MAP_NONE) *first = (uint32_t)row;
        shown[row] = agents.processes[*first] == agents.processes[row];
    }
    gt_map_free(&nodes);
    gt_map_free(&listed_by);
    gt_agent_list_free(&agents);
    return shown;
}

/* Hive ids are 64-bit numbers without sign, kept as strings because the store has none. */
static bool is_hive_id(size_t column)
{
    return strcmp(gt_agent_info_names[column], "Hive_Id") == 0;
}

static bool fits_int64(const gt_rocprof *run, uint32_t id)
{
    gt_str text = gt_interner_get(run->strings, id);
    bool is_number = text.len && strspn(text.bytes, "0123456789") == text.len;
    errno = 0;
    return is_number && strtoll(text.bytes, NULL, 10) >= 0 && errno == 0;
}

gt_table *gt_rocprof_agent_info(gt_rocprof *run)
{
    size_t count = run->agents ? gt_store_count(run->agents) : 0;
    if (!count) return NULL;
    gt_table *sheet = gt_table_new(GT_SHEET_AGENT_INFO, run->strings);
    gt_table_add_rows(sheet, count);
    for (size_t c = 0; c < GT_AGENT_INFO_COLUMNS; c++) {
        size_t column = GT_AGENT_INFO + c;
        if (gt_agent_columns[column].type == GT_STORE_STRING) {
            size_t at = gt_table_add_column(sheet, gt_col_named(gt_agent_info_names[c]), GT_TYPE_STRING);
            uint32_t *ids = gt_store_string_ids(run->agents, column);
            for (size_t row = 0; row < count; row++)
                gt_table_set_shown(sheet, at, row, ids[row],
                                   is_hive_id(c) && fits_int64(run, ids[row]) ? GT_SHOWN_INT
                                                                              : GT_SHOWN_STRING);
            gt_free(ids);
            continue;
        }
        size_t at = gt_table_add_column(sheet, gt_col_named(gt_agent_info_names[c]), GT_TYPE_INT);
        int64_t *ints = gt_store_ints(run->agents, column);
        for (size_t row = 0; row < count; row++)
            if (ints[row] != GT_AGENT_ABSENT) gt_table_set_int(sheet, at, row, ints[row]);
        gt_free(ints);
    }
    uint8_t *keep = find_shown(run);
    gt_table_keep(sheet, keep);
    gt_free(keep);
    return sheet;
}

/* ---- process_summary ----
 *
 *     process                  number in the run, from 0: the rank, if a job has one process per GPU
 *     pid, hostname
 *     Count                    kernel dispatches
 *     Total Kernel Time (ms)   sum of their nanoseconds / 1,000,000
 *     Percentage (%)           of the kernel time of all processes
 *     total_time ms            the profiled time; empty if the format does not record it
 *
 * An export of Nsight Systems is of one host and records no time per process, so hostname and total_time ms
 * are omitted, and so are processes without kernels. */

gt_table *gt_rocprof_process_summary(gt_rocprof *run, const int64_t *durations)
{
    if (run->process_count < 2 || gt_dispatch_width(run->wanted) <= GT_DISPATCH_PROCESS) return NULL;
    size_t count = gt_store_count(run->dispatches);
    int64_t *processes = gt_store_ints(run->dispatches, GT_DISPATCH_PROCESS);
    int64_t *counts = gt_alloc_zero(run->process_count, sizeof *counts);
    int64_t *totals = gt_alloc_zero(run->process_count, sizeof *totals), all = 0;
    for (size_t i = 0; i < count; i++) {
        if (processes[i] < 0 || (size_t)processes[i] >= run->process_count) continue;
        counts[processes[i]]++;
        totals[processes[i]] += durations[i];
        all += durations[i];
    }
    gt_table *sheet = gt_table_new(GT_SHEET_PROCESS_SUMMARY, run->strings);
    bool of_nsys = run->recorder == GT_RECORDER_NSYS;
    gt_table_add_column(sheet, GT_COL_PROCESS, GT_TYPE_INT);
    gt_table_add_column(sheet, GT_COL_PID, GT_TYPE_INT);
    gt_table_add_column(sheet, GT_COL_HOSTNAME, GT_TYPE_STRING);
    gt_table_add_column(sheet, GT_COL_COUNT_TITLE, GT_TYPE_INT);
    gt_table_add_column(sheet, GT_COL_TOTAL_KERNEL_TIME_MS, GT_TYPE_FLOAT);
    gt_table_add_column(sheet, GT_COL_PERCENTAGE_PCT, GT_TYPE_FLOAT);
    gt_table_add_column(sheet, GT_COL_PROCESS_TOTAL_TIME_MS, GT_TYPE_FLOAT);
    for (size_t i = 0; i < run->process_count; i++) {
        const gt_rocprof_process *process = &run->process[i];
        if (of_nsys && !counts[i]) continue;
        size_t row = gt_table_add_row(sheet);
        gt_table_set_int(sheet, 0, row, (int64_t)i);
        gt_table_set_int(sheet, 1, row, process->pid);
        gt_table_set_string(sheet, 2, row, process->hostname);
        gt_table_set_int(sheet, 3, row, counts[i]);
        gt_table_set_float(sheet, 4, row, (double)totals[i] / 1e6);
        gt_table_set_float(sheet, 5, row, all > 0 ? (double)totals[i] / (double)all * 100.0 : 0.0);
        if (process->fini_ns > process->init_ns)
            gt_table_set_float(sheet, 6, row, (double)((__int128)process->fini_ns - process->init_ns) / 1e6);
    }
    gt_free_all(processes, counts, totals);
    if (!of_nsys) return sheet;
    static const gt_col known[] = {GT_COL_PROCESS, GT_COL_PID, GT_COL_COUNT_TITLE,
                                   GT_COL_TOTAL_KERNEL_TIME_MS, GT_COL_PERCENTAGE_PCT};
    gt_table_select(sheet, known, GT_LENGTH(known));
    if (sheet->row_count > 1) return sheet;
    gt_table_free(sheet);
    return NULL;
}

/* ---- counters_by_kernel ----
 *
 * One row per kernel name and one column per counter, both in order of their names.
 *
 *     name, Count     the kernel, and how many of its dispatches have counters
 *     COUNTER         the mean over the dispatches for which the counter was collected; the value of one
 *                     dispatch is the sum over the hardware's instances. Empty if the counter was not
 *                     collected for this kernel. The reader has already joined counter passes
 *                     (input/rocprof/passes.c)
 *
 * Where nearly all of these cells would be empty, the sheet has one row per kernel and counter instead: name,
 * Count, counter, value. n records of n kernels and n counters would be n^2 cells. */
enum { CELLS_PER_VALUE = 16, CELLS_AT_LEAST = 1 << 16 };

/* The counter records as a table: name, process, dispatch, counter, value. */
static gt_table *counter_records(gt_rocprof *run)
{
    size_t count = gt_store_count(run->counters);
    int64_t *kernels = gt_store_ints(run->counters, GT_COUNTER_KERNEL_ID);
    int64_t *dispatches = gt_store_ints(run->counters, GT_COUNTER_DISPATCH);
    int64_t *processes = gt_store_ints(run->counters, GT_COUNTER_PROCESS);
    uint32_t *names = gt_store_string_ids(run->counters, GT_COUNTER_NAME);
    double *values = gt_store_times(run->counters, GT_COUNTER_VALUE);
    gt_table *rows = gt_table_new(GT_SHEET_COUNTERS, run->strings);
    gt_table_add_column(rows, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(rows, GT_COL_PROCESS, GT_TYPE_INT);
    gt_table_add_column(rows, GT_COL_DISPATCH, GT_TYPE_INT);
    gt_table_add_column(rows, GT_COL_COUNTER, GT_TYPE_STRING);
    gt_table_add_column(rows, GT_COL_VALUE, GT_TYPE_FLOAT);
    gt_table_add_rows(rows, count);
    for (size_t i = 0; i < count; i++) {
        rows->columns[0].texts[i] = i && kernels[i] == kernels[i - 1]
                                        ? rows->columns[0].texts[i - 1]
                                        : gt_rocprof_kernel_name(run, kernels[i]);
        rows->columns[1].ints[i] = processes[i];
        rows->columns[2].ints[i] = dispatches[i];
        rows->columns[3].texts[i] = names[i];
        rows->columns[4].floats[i] = values[i];
    }
    gt_free_all(kernels, dispatches, processes, names, values);
    return rows;
}

/* Both tables ascend by kernel name, so the counters of a kernel are next to each other in `means`. */
static void add_counter_columns(gt_table *sheet, const gt_table *counters, const gt_table *means)
{
    gt_map column_of = {0};
    for (size_t i = 0; i < counters->row_count; i++) {
        uint32_t id = counters->columns[0].texts[i];
        *gt_map_put(&column_of, id, 0) = (uint32_t)gt_table_add_column(
            sheet, gt_col_named(gt_interner_get(sheet->strings, id).bytes), GT_TYPE_FLOAT);
    }
    for (size_t i = 0, row = 0; i < means->row_count; i++) {
        while (sheet->columns[0].texts[row] != means->columns[0].texts[i]) row++;
        gt_table_set_float(sheet, gt_map_get(&column_of, means->columns[1].texts[i], 0), row,
                           means->columns[2].floats[i]);
    }
    gt_map_free(&column_of);
}

/* The same as rows. */
static gt_table *list_counters(const gt_table *kernels, const gt_table *means)
{
    gt_table *sheet = gt_table_new(GT_SHEET_COUNTERS_BY_KERNEL, kernels->strings);
    gt_table_add_column(sheet, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(sheet, GT_COL_COUNT_TITLE, GT_TYPE_INT);
    gt_table_add_column(sheet, GT_COL_COUNTER, GT_TYPE_STRING);
    gt_table_add_column(sheet, GT_COL_VALUE, GT_TYPE_FLOAT);
    gt_table_add_rows(sheet, means->row_count);
    for (size_t i = 0, row = 0; i < means->row_count; i++) {
        while (kernels->columns[0].texts[row] != means->columns[0].texts[i]) row++;
        gt_table_set_string(sheet, 0, i, means->columns[0].texts[i]);
        gt_table_set_int(sheet, 1, i, kernels->columns[1].ints[row]);
        gt_table_set_string(sheet, 2, i, means->columns[1].texts[i]);
        gt_table_set_float(sheet, 3, i, means->columns[2].floats[i]);
    }
    return sheet;
}

gt_table *gt_rocprof_counters_by_kernel(gt_rocprof *run)
{
    if (!run->counters || !gt_store_count(run->counters)) return NULL;
    static const gt_col by_dispatch_and_counter[] = {GT_COL_NAME, GT_COL_PROCESS, GT_COL_DISPATCH,
                                                     GT_COL_COUNTER};
    static const gt_col by_counter[] = {GT_COL_NAME, GT_COL_COUNTER};
    static const gt_col by_dispatch[] = {GT_COL_NAME, GT_COL_PROCESS, GT_COL_DISPATCH};
    static const gt_col by_kernel[] = {GT_COL_NAME};
    static const gt_aggregate sum[] = {{GT_COL_VALUE, GT_GROUP_SUM, GT_COL_VALUE}};
    static const gt_aggregate mean[] = {{GT_COL_VALUE, GT_GROUP_MEAN, GT_COL_VALUE}};
    static const gt_aggregate size[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNTED}};
    static const gt_aggregate count[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE}};
    gt_group_options sorted = {.sorted = true}, first_seen = {0};

    gt_table *records = counter_records(run);
    gt_table *sums = gt_table_group(records, by_dispatch_and_counter, 4, sum, 1, first_seen);
    gt_table *means = gt_table_group(sums, by_counter, 2, mean, 1, sorted);
    gt_table *dispatches = gt_table_group(sums, by_dispatch, 3, size, 1, first_seen);
    gt_table *sheet = gt_table_group(dispatches, by_kernel, 1, count, 1, sorted);
    gt_table_rename(sheet, GT_SHEET_COUNTERS_BY_KERNEL);

    gt_table *counters = gt_table_group(means, (gt_col[]){GT_COL_COUNTER}, 1, NULL, 0, sorted);
    if (sheet->row_count * counters->row_count <= means->row_count * CELLS_PER_VALUE + CELLS_AT_LEAST) {
        add_counter_columns(sheet, counters, means);
    } else {
        gt_warn(
            "counters_by_kernel has one row per kernel and counter: as one column per counter, nearly all "
            "cells of %zu kernels and %zu counters would be empty",
            sheet->row_count, counters->row_count);
        gt_table *kernels = sheet;
        sheet = list_counters(kernels, means);
        gt_table_free(kernels);
    }
    gt_table *done[] = {records, sums, means, dispatches, counters};
    for (size_t i = 0; i < GT_LENGTH(done); i++) gt_table_free(done[i]);
    return sheet;
}

/* ---- nccl_messages ----
 *
 * Sheet nccl_messages: how much did NCCL send, in messages of which size? From the payloads of its ranges,
 * which Nsight Systems exports only if asked to (`nsys export --include-blobs=true`).
 *
 *     name             the function of NCCL
 *     communicator     its id; empty if it was not recorded
 *     Message Bytes    size of one message
 *     Count            calls with this size
 *     Total Bytes      Message Bytes * Count
 *     Total Time (ms)  how long these calls took on the host
 *
 * The largest Total Bytes first, then by name, communicator and size. */

static gt_table *message_records(const gt_rocprof *run, const int64_t *durations)
{
    size_t count = gt_store_count(run->messages);
    uint32_t *names = gt_store_string_ids(run->messages, GT_MESSAGE_NAME);
    uint32_t *communicators = gt_store_string_ids(run->messages, GT_MESSAGE_COMMUNICATOR);
    int64_t *bytes = gt_store_ints(run->messages, GT_MESSAGE_BYTES);
    gt_table *records = gt_table_new(GT_SHEET_CALLS, run->strings);
    gt_table_add_column(records, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(records, GT_COL_COMMUNICATOR, GT_TYPE_STRING);
    gt_table_add_column(records, GT_COL_MESSAGE_BYTES, GT_TYPE_INT);
    gt_table_add_column(records, GT_COL_DUR_NS, GT_TYPE_INT);
    gt_table_add_rows(records, count);
    for (size_t i = 0; i < count; i++) {
        records->columns[0].texts[i] = names[i];
        records->columns[1].texts[i] = communicators[i] ? communicators[i] : GT_STR_EMPTY;
        records->columns[2].ints[i] = bytes[i];
        records->columns[3].ints[i] = durations[i];
    }
    gt_free_all(names, communicators, bytes);
    return records;
}

gt_table *gt_rocprof_nccl_messages(gt_rocprof *run, bool *failed, gt_error *error)
{
    static const gt_col keys[] = {GT_COL_NAME, GT_COL_COMMUNICATOR, GT_COL_MESSAGE_BYTES};
    static const gt_aggregate sums[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
                                        {GT_COL_MESSAGE_BYTES, GT_GROUP_SUM, GT_COL_TOTAL_BYTES},
                                        {GT_COL_DUR_NS, GT_GROUP_SUM, GT_COL_TOTAL_NS}};
    static const gt_sort_key most_first[] = {{GT_COL_TOTAL_BYTES, true}};
    if (!run->messages || !gt_store_count(run->messages)) return NULL;
    int64_t *durations =
        gt_rocprof_durations(run->messages, GT_MESSAGE_START, GT_MESSAGE_END, "NCCL message", error);
    *failed = !durations;
    if (!durations) return NULL;
    gt_table *records = message_records(run, durations);
    gt_table *sheet = gt_table_group(records, keys, GT_LENGTH(keys), sums, GT_LENGTH(sums),
                                     (gt_group_options){.sorted = true});
    gt_table_free(records);
    gt_free(durations);
    gt_table_rename(sheet, GT_SHEET_NCCL_MESSAGES);
    gt_table_sort(sheet, most_first, GT_LENGTH(most_first));
    gt_table_ns_to_ms(sheet, gt_table_find(sheet, GT_COL_TOTAL_NS), GT_COL_TOTAL_TIME_MS_TITLE);
    return sheet;
}
