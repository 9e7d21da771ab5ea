/* gpu_timeline and gpu_events_averages: how much of the time was each GPU busy, and with what?
 *
 * A time is the length of the union of the events of a bucket (computation, communication, copies), per GPU:
 *
 *     computation_time     events that are neither communication nor copies
 *     exposed_comm_time    communication without computation at the same time
 *     exposed_memcpy_time  copies and memsets without computation or communication at the same time
 *     busy_time            all events
 *     idle_time            total_time - busy_time
 *     total_time           from the first start to the last end
 *     total_comm_time      communication, with or without other events
 *     total_memcpy_time    copies and memsets, with or without other events */
#include "analysis/jax/kernels.h"

#include "analysis/sheet_parts.h"
#include "compat/python_set.h"
#include "schema/columns.h"
#include "trace/intervals.h"

typedef enum bucket { COMPUTATION, COMMUNICATION, MEMCPY, BUCKETS } bucket;

typedef enum part {
    COMPUTATION_TIME,
    EXPOSED_COMM_TIME,
    EXPOSED_MEMCPY_TIME,
    BUSY_TIME,
    IDLE_TIME,
    TOTAL_TIME,
    TOTAL_COMM_TIME,
    TOTAL_MEMCPY_TIME,
    PARTS
} part;

static const char *const part_names[PARTS] = {
    "computation_time", "exposed_comm_time", "exposed_memcpy_time", "busy_time",
    "idle_time",        "total_time",        "total_comm_time",     "total_memcpy_time",
};

static const char *const copy_prefixes[] = {"copy", "memcpy", "memset"};
static const char *const communication_parts[] = {"nccl", "rccl", "cross_device_reduce"};

/* ---- buckets ---- */

bool gt_jax_is_communication(gt_str name)
{
    for (size_t at = 0; at < name.len; at++)
        for (size_t i = 0; i < GT_LENGTH(communication_parts); i++)
            if (gt_str_starts_with_nocase((gt_str){name.bytes + at, name.len - at}, communication_parts[i]))
                return true;
    return false;
}

static bucket bucket_of(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(copy_prefixes); i++)
        if (gt_str_starts_with_nocase(name, copy_prefixes[i])) return MEMCPY;
    return gt_jax_is_communication(name) ? COMMUNICATION : COMPUTATION;
}

bool gt_jax_is_stream(const gt_jax *trace, size_t event)
{
    const gt_jax_line *line = gt_jax_line_of(trace, event);
    gt_str name = gt_interner_get(trace->strings, line->thread_name);
    if (line->is_counter) return false;
    return name.len ? strncmp(name.bytes, "Stream #", 8) == 0 : line->tid < 100;
}

bool gt_jax_is_computation(const gt_jax *trace, size_t event)
{
    return gt_jax_is_stream(trace, event) && bucket_of(gt_jax_name(trace, event)) == COMPUTATION;
}

/* ---- one GPU ---- */

static void measure(const gt_intervals running[BUCKETS], const gt_intervals *all, double times[PARTS])
{
    gt_intervals uncovered = gt_intervals_subtract(&running[MEMCPY], &running[COMPUTATION]);
    times[COMPUTATION_TIME] = gt_intervals_length(&running[COMPUTATION]);
    times[EXPOSED_COMM_TIME] = gt_intervals_length_without(&running[COMMUNICATION], &running[COMPUTATION]);
    times[EXPOSED_MEMCPY_TIME] = gt_intervals_length_without(&uncovered, &running[COMMUNICATION]);
    times[BUSY_TIME] = gt_intervals_length(all);
    times[TOTAL_TIME] = all->count ? all->items[all->count - 1].end - all->items[0].start : 0;
    times[IDLE_TIME] = times[TOTAL_TIME] - times[BUSY_TIME];
    times[TOTAL_COMM_TIME] = gt_intervals_length(&running[COMMUNICATION]);
    times[TOTAL_MEMCPY_TIME] = gt_intervals_length(&running[MEMCPY]);
    gt_intervals_free(&uncovered);
}

static void measure_gpu(const gt_jax *trace, const gt_jax_gpu *gpu, const uint8_t *bucket_of_name,
                        double times[PARTS])
{
    gt_intervals running[BUCKETS] = {{0}}, all = {0};
    for (size_t i = gpu->begin; i < gpu->end; i++) {
        if (!gt_jax_is_stream(trace, i)) continue;
        double start = gt_jax_start_us(trace, i), end = start + gt_jax_dur_us(trace, i);
        gt_intervals_add(&running[bucket_of_name[trace->name[i]]], start, end);
        gt_intervals_add(&all, start, end);
    }
    for (size_t b = 0; b < BUCKETS; b++) gt_intervals_merge(&running[b]);
    gt_intervals_merge(&all);
    measure(running, &all, times);
    for (size_t b = 0; b < BUCKETS; b++) gt_intervals_free(&running[b]);
    gt_intervals_free(&all);
}

/* ---- the sheets ---- */

static double percent(double time, double total)
{
    return total > 0 ? time / total * 100.0 : (double)NAN;
}

static void add_rows(gt_table *table, const double times[PARTS])
{
    for (size_t p = 0; p < PARTS; p++)
        gt_gpu_timeline_add(table, part_names[p], times[p], percent(times[p], times[TOTAL_TIME]));
}

typedef struct placed_gpu {
    size_t gpu, slot;
} placed_gpu;

GT_ORDER_BY(by_slot, placed_gpu, GT_UP(slot))

/* GPUs with streams, in the order in which Python iterates over a set of their pids. */
static size_t order_gpus(const gt_jax *trace, size_t *order)
{
    size_t count = 0;
    gt_python_set set = {0};
    placed_gpu *placed = gt_alloc((trace->gpu_count + 1) * sizeof *placed);
    for (size_t g = 0; g < trace->gpu_count; g++) {
        bool has_stream = false;
        for (size_t i = trace->gpus[g].begin; i < trace->gpus[g].end && !has_stream; i++)
            has_stream = gt_jax_is_stream(trace, i);
        if (!has_stream) continue;
        gt_python_set_add(&set, trace->gpus[g].pid);
        placed[count++].gpu = g;
    }
    for (size_t i = 0; i < count; i++)
        placed[i].slot = gt_python_set_slot(&set, trace->gpus[placed[i].gpu].pid);
    qsort(placed, count, sizeof *placed, by_slot);
    for (size_t i = 0; i < count; i++) order[i] = placed[i].gpu;
    gt_free(placed);
    gt_python_set_free(&set);
    return count;
}

static uint8_t classify_bucket(gt_str name)
{
    return (uint8_t)bucket_of(name);
}

gt_jax_timeline gt_jax_timeline_make(const gt_jax *trace, uint32_t last_pid)
{
    gt_jax_timeline timeline = {gt_gpu_timeline_new(trace->strings), gt_gpu_timeline_new(trace->strings)};
    gt_table_rename(timeline.averages, GT_SHEET_GPU_EVENTS_AVERAGES);
    size_t pid_column = gt_table_add_column(timeline.by_gpu, GT_COL_GPU_PID, GT_TYPE_INT);
    size_t *order = gt_alloc((trace->gpu_count + 1) * sizeof *order), count = order_gpus(trace, order);
    uint8_t *buckets = gt_jax_classify_names(trace, false, classify_bucket);
    double sums[PARTS] = {0};
    size_t averaged = 0;
    for (size_t g = 0; g < count; g++) {
        const gt_jax_gpu *gpu = &trace->gpus[order[g]];
        double times[PARTS];
        measure_gpu(trace, gpu, buckets, times);
        add_rows(timeline.by_gpu, times);
        averaged += gpu->pid <= last_pid;
        for (size_t p = 0; p < PARTS; p++) {
            gt_table_set_int(timeline.by_gpu, pid_column, g * PARTS + p, gpu->pid);
            if (gpu->pid <= last_pid) sums[p] += times[p];
        }
    }
    for (size_t p = 0; p < PARTS; p++) sums[p] /= (double)(averaged ? averaged : 1);
    if (averaged) add_rows(timeline.averages, sums);
    gt_free_all(buckets, order);
    return timeline;
}
