/* Builds a schedule from a trace, step by step, and frees it; and the causes of idle time: their names, and
 * the cause of each kind of call. */
#include "findings/schedule/build.h"

#include "findings/schedule/sites.h"

static const char *const cause_names[GT_CAUSES] = {
    [GT_CAUSE_LAUNCH] = "launch",
    [GT_CAUSE_SYNC] = "sync",
    [GT_CAUSE_DATA] = "data",
    [GT_CAUSE_CPU_OP] = "cpu_op",
    [GT_CAUSE_PYTHON] = "python",
    [GT_CAUSE_UNTRACED] = "untraced",
    [GT_CAUSE_WAIT] = "wait",
    [GT_CAUSE_ALLOC] = "alloc",
    [GT_CAUSE_MODULE] = "module",
    [GT_CAUSE_COPY] = "copy",
    [GT_CAUSE_PROFILER] = "profiler",
    [GT_CAUSE_DEVICE_GAP] = "device_gap",
    [GT_CAUSE_DEPENDENCY] = "dependency",
    [GT_CAUSE_DEVICE_WAIT] = "device_wait",
    [GT_CAUSE_COLLECTIVE] = "collective",
    [GT_CAUSE_UNKNOWN] = "unknown",
};

const char *gt_cause_name(gt_cause cause)
{
    return cause_names[cause];
}

gt_cause gt_cause_of_call(uint8_t kind)
{
    switch (kind) {
    case GT_API_SYNC:
        return GT_CAUSE_SYNC;
    case GT_API_FREE:
    case GT_API_ALLOC:
        return GT_CAUSE_ALLOC;
    case GT_API_MODULE:
        return GT_CAUSE_MODULE;
    case GT_API_COPY:
        return GT_CAUSE_COPY;
    default:
        return GT_CAUSE_LAUNCH;
    }
}

/* ---- a schedule from a trace ---- */

gt_schedule *gt_schedule_new(const gt_event_view *trace)
{
    gt_step_list *steps = gt_step_list_find(trace);
    gt_schedule *schedule = gt_schedule_with_steps(trace, steps);
    if (schedule->listed)
        schedule->own_listed = steps;
    else
        gt_step_list_free(steps);
    return schedule;
}

static gt_schedule *schedule_of_device(const gt_event_view *trace, const gt_step_list *steps, size_t place)
{
    gt_schedule *schedule = gt_alloc_zero(1, sizeof *schedule);
    schedule->device_place = place;
    schedule->trace = trace;
    schedule->strings = trace->strings;
    if (gt_step_list_serves(steps)) schedule->listed = steps;
    schedule->is_capture = steps->is_capture;
    gt_frame_threads threads = {0};
    gt_build_ops(schedule, &threads);
    gt_build_host(schedule, &threads);
    gt_free(threads.items);
    gt_map_free(&threads.places);
    gt_build_clocks(schedule);
    gt_build_steps(schedule);
    gt_build_points(schedule);
    gt_build_first_use(schedule);
    gt_build_starts(schedule);
    gt_build_labels(schedule);
    gt_build_overhead(schedule);
    return schedule;
}

gt_schedule *gt_schedule_with_steps(const gt_event_view *trace, const gt_step_list *steps)
{
    return schedule_of_device(trace, steps, 0);
}

size_t gt_schedules_of_others(const gt_schedule *busiest, const gt_step_list *steps,
                              gt_schedule *others[GT_OTHER_DEVICES])
{
    size_t count = 0;
    while (!busiest->listed && count < GT_OTHER_DEVICES && count + 1 < busiest->device_count) {
        others[count] = schedule_of_device(busiest->trace, steps, count + 1);
        count++;
    }
    return count;
}

void gt_schedule_free(gt_schedule *schedule)
{
    if (!schedule) return;
    gt_sites_free(schedule);
    gt_step_list_free(schedule->own_listed);
    gt_pytorch_read_free(schedule->listed_rows);
    gt_free_all(schedule->replay, (void *)schedule->name_bits, schedule->events, schedule->threads,
                schedule->points, schedule->point_ops, schedule->pieces, schedule->background, schedule->ops,
                schedule->steps, schedule->used_steps, schedule->trips, schedule->categories,
                schedule->origins, schedule->others, schedule->streams, schedule);
}
