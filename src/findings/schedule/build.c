/* Builds a schedule from a trace, step by step, and frees it. */
#include "findings/schedule/build.h"

#include "base/memory.h"
#include "findings/schedule/sites.h"

gt_schedule *gt_schedule_new(const gt_event_view *trace)
{
    gt_schedule *schedule = gt_alloc_zero(1, sizeof *schedule);
    schedule->trace = trace;
    schedule->strings = trace->strings;
    gt_frame_threads threads = {0};
    gt_build_ops(schedule, &threads);
    gt_build_host(schedule, &threads);
    gt_free(threads.items);
    gt_map_free(&threads.places);
    gt_build_steps(schedule);
    gt_build_points(schedule);
    gt_build_first_use(schedule);
    gt_build_starts(schedule);
    gt_build_labels(schedule);
    gt_build_overhead(schedule);
    return schedule;
}

void gt_schedule_free(gt_schedule *schedule)
{
    if (!schedule) return;
    gt_sites_free(schedule);
    gt_free(schedule->replay);
    gt_free((void *)schedule->name_bits);
    gt_free(schedule->events);
    gt_free(schedule->threads);
    gt_free(schedule->points);
    gt_free(schedule->point_ops);
    gt_free(schedule->pieces);
    gt_free(schedule->ops);
    gt_free(schedule->steps);
    gt_free(schedule->used_steps);
    gt_free(schedule->trips);
    gt_free(schedule->categories);
    gt_free(schedule->origins);
    gt_free(schedule->others);
    gt_free(schedule->streams);
    gt_free(schedule);
}
