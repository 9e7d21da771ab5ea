/* The GPU timeline. All of it is computed in microseconds as doubles: a timestamp is its nanoseconds /
 * 1000.0.
 *
 *     total_time  fini_time - init_time of the process
 *     kernel      time in which at least one kernel ran, whatever its GPU and stream
 *     memory      the same of memory copies
 *     busy_time   the same of both together
 *     idle        total_time - busy_time, at least 0
 *
 * time ms = microseconds / 1000.0; percent = time / total_time * 100.0, 0 where total_time is not above 0. */
#include "analysis/rocprof/gpu_timeline.h"

#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "trace/intervals.h"

#include <math.h>
#include <stdlib.h>

enum { TYPE, TIME_MS, PERCENT };

gt_table *gt_gpu_timeline_new(gt_interner *strings)
{
    gt_table *timeline = gt_table_new(GT_SHEET_GPU_TIMELINE, strings);
    gt_table_add_column(timeline, GT_COL_TYPE, GT_TYPE_STRING);
    gt_table_add_column(timeline, GT_COL_TIME_MS, GT_TYPE_FLOAT);
    gt_table_add_column(timeline, GT_COL_PERCENT, GT_TYPE_FLOAT);
    return timeline;
}

void gt_gpu_timeline_add(gt_table *timeline, const char *type, double time_us, double percent)
{
    size_t row = gt_table_add_row(timeline);
    gt_table_set_cstr(timeline, TYPE, row, type);
    gt_table_set_float(timeline, TIME_MS, row, time_us / 1000.0);
    gt_table_set_float(timeline, PERCENT, row, percent);
}

/* When at least one event of the store ran, in microseconds. */
static gt_intervals running(const gt_store *events, size_t start_column, size_t end_column)
{
    size_t count = gt_store_count(events);
    int64_t *starts = gt_store_ints(events, start_column), *ends = gt_store_ints(events, end_column);
    gt_intervals list = {0};
    gt_intervals_reserve(&list, count);
    for (size_t i = 0; i < count; i++)
        gt_intervals_add(&list, (double)starts[i] / 1000.0, (double)ends[i] / 1000.0);
    gt_free(starts);
    gt_free(ends);
    gt_intervals_merge(&list);
    return list;
}

gt_table *gt_rocprof_gpu_timeline(const gt_rocprof *run)
{
    gt_table *timeline = gt_gpu_timeline_new(run->strings);
    if (!gt_store_count(run->dispatches)) return timeline;

    gt_intervals kernels = running(run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END);
    gt_intervals copies = running(run->copies, GT_COPY_START, GT_COPY_END);
    gt_intervals both = gt_intervals_union(&kernels, &copies);

    double total_us = (double)run->fini_ns / 1000.0 - (double)run->init_ns / 1000.0;
    double busy_us = gt_intervals_length(&both);
    const struct {
        const char *type;
        double time_us;
    } parts[] = {
        {"kernel", gt_intervals_length(&kernels)},
        {"memory", gt_intervals_length(&copies)},
        {"busy_time", busy_us},
        {"idle", fmax(0.0, total_us - busy_us)},
    };
    gt_gpu_timeline_add(timeline, "total_time", total_us, 100.0);
    for (size_t i = 0; i < GT_LENGTH(parts); i++) {
        double percent = total_us > 0 ? parts[i].time_us / total_us * 100.0 : 0.0;
        gt_gpu_timeline_add(timeline, parts[i].type, parts[i].time_us, percent);
    }
    gt_intervals_free(&kernels);
    gt_intervals_free(&copies);
    gt_intervals_free(&both);
    return timeline;
}
