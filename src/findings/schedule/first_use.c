/* Which calls take long because code is used for the first time?
 *
 * CUDA and HIP load a kernel's code when it is first launched, and HIP may compile it, so that this launch
 * takes milliseconds instead of microseconds. Launches that take long without waiting are such calls, and
 * those that load modules. But code is loaded once: if launches of the same kernel take long again and again,
 * in most steps or most of the times, each launch is slow for another reason. What is launched is known by
 * the first op: a graph by its first kernel.
 *
 * Linear in points, and nothing to do without long launches. */
#include "findings/schedule/build.h"

#include "base/memory.h"

enum { LONG_LAUNCH_NS = 1000000 }; /* usually 3 to 20 us */
/* Long launches that occur in more than half of the steps, but at least in so many, or that are more than
 * half of all launches of a kernel, but at least so many. */
enum { REPEATED_STEPS = 2, REPEATED_LAUNCHES = 3 };

/* The launches of one kernel. */
typedef struct launch_counts {
    uint32_t launches, long_launches;
    uint32_t steps;      /* with long launches */
    uint32_t after_step; /* 1 + the last of them; 0: none */
} launch_counts;

static bool is_long_launch(const gt_host_point *point)
{
    return point->kind == GT_API_LAUNCH && point->wait_ns == 0 &&
           point->end_ns - point->start_ns > LONG_LAUNCH_NS;
}

/* The name of what a launch launches; its own, if that was not recorded. */
static uint32_t launched_name(const gt_schedule *schedule, const gt_host_point *point)
{
    if (!point->op_count) return schedule->events[point->event].name;
    return schedule->ops[schedule->point_ops[point->first_op]].name;
}

static void count_launch(launch_counts *kernel, const gt_host_point *point)
{
    kernel->launches++;
    if (!is_long_launch(point)) return;
    kernel->long_launches++;
    if (point->step < 0 || kernel->after_step == (uint32_t)point->step + 1) return;
    kernel->after_step = (uint32_t)point->step + 1; /* points are in order of time, and so are their steps */
    kernel->steps++;
}

static bool repeats(const launch_counts *kernel, size_t steps)
{
    if (kernel->steps >= REPEATED_STEPS && 2 * (size_t)kernel->steps > steps) return true;
    return kernel->long_launches >= REPEATED_LAUNCHES && kernel->long_launches > kernel->launches / 2;
}

/* Marks those of the long launches that are slow every time, and the others as first use. */
static void mark_long_launches(gt_schedule *schedule)
{
    launch_counts *kernels =
        gt_alloc_zero(gt_interner_count(schedule->strings), sizeof *kernels); /* by name */
    size_t steps = 0;
    int32_t step = -1;
    for (size_t i = 0; i < schedule->point_count; i++) {
        const gt_host_point *point = &schedule->points[i];
        if (point->kind != GT_API_LAUNCH) continue;
        count_launch(&kernels[launched_name(schedule, point)], point);
        if (point->step > step) {
            step = point->step;
            steps++;
        }
    }
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        if (!is_long_launch(point)) continue;
        bool is_slow = repeats(&kernels[launched_name(schedule, point)], steps);
        point->flags |= is_slow ? GT_POINT_SLOW : GT_POINT_FIRST_USE;
    }
    gt_free(kernels);
}

void gt_build_first_use(gt_schedule *schedule)
{
    bool any_long = false;
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        if (point->kind == GT_API_MODULE) point->flags |= GT_POINT_FIRST_USE;
        any_long |= is_long_launch(point);
    }
    if (any_long) mark_long_launches(schedule);
}
