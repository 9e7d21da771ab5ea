/* agent_info has the columns of rocprofv3's own agent_info.csv. process_summary:
 *
 *     process                  number in the run, from 0: the rank, where a job has a process a GPU
 *     pid, hostname
 *     Count                    kernel dispatches
 *     Total Kernel Time (ms)   sum of their nanoseconds / 1,000,000
 *     Percentage (%)           of the kernel time of all processes
 *     total_time ms            the profiled window; empty where the format does not tell */
#include "analysis/rocprof/sheets.h"

#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <stdlib.h>

/* Processes of one host list the same agents: those of the first count. */
static bool is_first_of_host(const gt_rocprof *run, int64_t process)
{
    if (process <= 0 || (size_t)process >= run->process_count) return process == 0;
    for (int64_t i = 0; i < process; i++)
        if (run->process[i].hostname == run->process[process].hostname) return false;
    return true;
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
            uint32_t *texts = gt_store_string_ids(run->agents, column);
            for (size_t row = 0; row < count; row++) sheet->columns[at].texts[row] = texts[row];
            gt_free(texts);
            continue;
        }
        size_t at = gt_table_add_column(sheet, gt_col_named(gt_agent_info_names[c]), GT_TYPE_INT);
        int64_t *ints = gt_store_ints(run->agents, column);
        for (size_t row = 0; row < count; row++)
            if (ints[row] != GT_AGENT_ABSENT) gt_table_set_int(sheet, at, row, ints[row]);
        gt_free(ints);
    }
    int64_t *processes = gt_store_ints(run->agents, GT_AGENT_PROCESS);
    uint8_t *keep = gt_alloc_zero(count, 1);
    for (size_t row = 0; row < count; row++) keep[row] = is_first_of_host(run, processes[row]);
    gt_table_keep(sheet, keep);
    gt_free(keep);
    gt_free(processes);
    return sheet;
}

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
    gt_table_add_column(sheet, GT_COL_PROCESS, GT_TYPE_INT);
    gt_table_add_column(sheet, GT_COL_PID, GT_TYPE_INT);
    gt_table_add_column(sheet, GT_COL_HOSTNAME, GT_TYPE_STRING);
    gt_table_add_column(sheet, GT_COL_COUNT_TITLE, GT_TYPE_INT);
    gt_table_add_column(sheet, GT_COL_TOTAL_KERNEL_TIME_MS, GT_TYPE_FLOAT);
    gt_table_add_column(sheet, GT_COL_PERCENTAGE_PCT, GT_TYPE_FLOAT);
    gt_table_add_column(sheet, GT_COL_PROCESS_TOTAL_TIME_MS, GT_TYPE_FLOAT);
    for (size_t i = 0; i < run->process_count; i++) {
        const gt_rocprof_process *process = &run->process[i];
        size_t row = gt_table_add_row(sheet);
        gt_table_set_int(sheet, 0, row, (int64_t)i);
        gt_table_set_int(sheet, 1, row, process->pid);
        gt_table_set_string(sheet, 2, row, process->hostname);
        gt_table_set_int(sheet, 3, row, counts[i]);
        gt_table_set_float(sheet, 4, row, (double)totals[i] / 1e6);
        gt_table_set_float(sheet, 5, row, all > 0 ? (double)totals[i] / (double)all * 100.0 : 0.0);
        if (process->fini_ns > process->init_ns)
            gt_table_set_float(sheet, 6, row, ((double)process->fini_ns - (double)process->init_ns) / 1e6);
    }
    gt_free(processes);
    gt_free(counts);
    gt_free(totals);
    return sheet;
}
