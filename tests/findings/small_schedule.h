/* Schedules written by hand, for unit tests. Times are given in whole microseconds.
 *
 * Host events are added thread by thread, in order of their start, and ops in order of theirs. Points are
 * added with their events; `small_sort_points` puts those of several threads in order, before ops refer to
 * them. */
#ifndef GT_TESTS_SMALL_SCHEDULE_H
#define GT_TESTS_SMALL_SCHEDULE_H

#include "base/memory.h"
#include "findings/schedule/build.h"
#include "findings/schedule/names.h"
#include "findings/schedule/sites.h"

#include <stdlib.h>

enum { SMALL_MAX = 256 };

typedef struct small_schedule {
    gt_schedule schedule;
    gt_host_event events[SMALL_MAX];
    gt_host_thread threads[4];
    gt_host_point points[SMALL_MAX];
    uint32_t point_ops[SMALL_MAX];
    gt_gpu_op ops[SMALL_MAX];
    gt_step_times steps[8];
} small_schedule;

static inline small_schedule *small_new(void)
{
    small_schedule *s = gt_alloc_zero(1, sizeof *s);
    s->schedule = (gt_schedule){.strings = gt_interner_new(),
                                .events = s->events,
                                .threads = s->threads,
                                .points = s->points,
                                .point_ops = s->point_ops,
                                .ops = s->ops,
                                .steps = s->steps};
    s->schedule.window = (gt_step_window){.end_op = GT_NONE, .steps = 1};
    return s;
}

static inline void small_free(small_schedule *s)
{
    gt_sites_free(&s->schedule);
    gt_free(s->schedule.pieces);
    gt_free(s->schedule.trips);
    gt_free((void *)s->schedule.name_bits);
    gt_interner_free(s->schedule.strings);
    gt_free(s);
}

static inline uint32_t small_event(small_schedule *s, uint32_t thread, gt_event_kind kind, const char *name,
                                   int64_t start_us, int64_t end_us)
{
    gt_schedule *schedule = &s->schedule;
    uint32_t at = (uint32_t)schedule->event_count++;
    if (schedule->thread_count <= thread) {
        schedule->thread_count = thread + 1;
        s->threads[thread] = (gt_host_thread){.first = at};
    }
    s->threads[thread].end = at + 1;
    gt_host_event *event = &s->events[at];
    *event = (gt_host_event){.start_ns = start_us * 1000,
                             .end_ns = end_us * 1000,
                             .name = gt_interner_add_cstr(schedule->strings, name),
                             .parent = at > s->threads[thread].first ? at - 1 : GT_NONE,
                             .kind = kind & 15u};
    while (event->parent != GT_NONE && s->events[event->parent].end_ns <= event->start_ns)
        event->parent = s->events[event->parent].parent;
    if (event->parent != GT_NONE) event->flags = s->events[event->parent].flags;
    return at;
}

/* A call that is a point. Returns the point. */
static inline uint32_t small_point(small_schedule *s, uint32_t thread, gt_api_kind kind, int64_t start_us,
                                   int64_t end_us)
{
    static const char *const names[GT_API_KINDS] = {
        "cudaGetDevice", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize",
        "cudaFree",      "cudaMalloc",       "cuModuleLoadData"};
    uint32_t event = small_event(s, thread, GT_KIND_RUNTIME, names[kind], start_us, end_us);
    s->events[event].call = kind & 15u;
    s->threads[thread].launches = true;
    uint32_t at = (uint32_t)s->schedule.point_count++;
    s->points[at] = (gt_host_point){.start_ns = start_us * 1000,
                                    .end_ns = end_us * 1000,
                                    .event = event,
                                    .thread = thread,
                                    .keep_before = 1,
                                    .keep_own = 1,
                                    .step = -1,
                                    .kind = (uint8_t)kind,
                                    .flags = s->events[event].flags};
    return at;
}

static inline int small_compare_points(const void *left, const void *right)
{
    const gt_host_point *a = left, *b = right;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

static inline void small_sort_points(small_schedule *s)
{
    qsort(s->points, s->schedule.point_count, sizeof *s->points, small_compare_points);
}

static inline uint32_t small_op(small_schedule *s, uint32_t stream, uint32_t point, int64_t start_us,
                                int64_t end_us)
{
    uint32_t at = (uint32_t)s->schedule.op_count++;
    s->ops[at] = (gt_gpu_op){.start_ns = start_us * 1000,
                             .end_ns = end_us * 1000,
                             .name = gt_interner_add_cstr(s->schedule.strings, "kernel"),
                             .stream = stream,
                             .point = point,
                             .host_op = GT_NONE,
                             .step = -1,
                             .kind = GT_KIND_KERNEL};
    if (s->schedule.stream_count <= stream) s->schedule.stream_count = stream + 1;
    return at;
}

static inline uint32_t small_copy(small_schedule *s, uint32_t stream, uint32_t point, const char *name,
                                  int64_t bytes, int64_t start_us, int64_t end_us)
{
    uint32_t at = small_op(s, stream, point, start_us, end_us);
    s->ops[at].name = gt_interner_add_cstr(s->schedule.strings, name);
    s->ops[at].bytes = bytes;
    s->ops[at].kind = GT_KIND_MEMCPY;
    return at;
}

/* The window from one op to the start of another; GT_NONE: to the last end. */
static inline void small_window(small_schedule *s, uint32_t first_op, uint32_t end_op, size_t steps)
{
    int64_t end = end_op == GT_NONE ? 0 : s->ops[end_op].start_ns;
    for (size_t i = 0; end_op == GT_NONE && i < s->schedule.op_count; i++)
        if (s->ops[i].end_ns > end) end = s->ops[i].end_ns;
    s->schedule.window = (gt_step_window){.start_ns = s->ops[first_op].start_ns,
                                          .end_ns = end,
                                          .first_op = first_op,
                                          .end_op = end_op,
                                          .steps = steps};
}

/* Links points with their ops and builds what follows from the recorded times. */
static inline void small_build(small_schedule *s)
{
    gt_schedule *schedule = &s->schedule;
    schedule->point_op_count = 0;
    for (uint32_t i = 0; i < schedule->point_count; i++) {
        s->points[i].first_op = (uint32_t)schedule->point_op_count;
        s->points[i].op_count = 0;
        for (uint32_t k = 0; k < schedule->op_count; k++) {
            if (s->ops[k].point != i) continue;
            s->point_ops[schedule->point_op_count++] = k;
            s->points[i].op_count++;
        }
    }
    uint8_t seen[SMALL_MAX];
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < schedule->event_count; i++) {
        bool is_op = s->events[i].kind == GT_KIND_CPU_OP,
             is_call = s->events[i].kind != GT_KIND_PYTHON && !is_op;
        seen[s->events[i].name] |= is_op ? GT_NAMES_OP : is_call ? GT_NAMES_CALL : GT_NAMES_PYTHON;
    }
    for (size_t i = 0; i < schedule->op_count; i++) seen[s->ops[i].name] |= GT_NAMES_GPU;
    gt_free((void *)schedule->name_bits);
    gt_find_name_bits(schedule, seen, gt_interner_count(schedule->strings));
    gt_build_points(schedule);
    gt_build_first_use(schedule);
    gt_build_starts(schedule);
}

#endif
