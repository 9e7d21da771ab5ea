/* Internal to src/findings: the steps of gt_schedule_new, in this order. Each fills the fields that its
 * comment names and relies on all before it. */
#pragma once

#include "findings/schedule/schedule.h"

/* The threads of the trace's frames (Python functions that are no rows) that have a start, in the order in
 * which they occur. */
typedef struct gt_frame_thread {
    uint32_t process, thread; /* string ids */
    uint32_t first_uid;       /* of its first frame in the file */
    uint32_t count;
} gt_frame_thread;

typedef struct gt_frame_threads {
    gt_frame_thread *items;
    size_t count, capacity;
    gt_map places; /* from (process, thread) to the index */
} gt_frame_threads;

/* ops.c: base_us, device_count, name_bits, and the ops of the busiest device: all of them but what launched
 * them and what decides when they start. Also fills `threads`. */
void gt_build_ops(gt_schedule *schedule, gt_frame_threads *threads);
/* Whether a kernel is one of a collective. `known` remembers the answer by name: 0 is unknown, 1 no, 2 yes.
 */
bool gt_build_communicates(const gt_schedule *schedule, uint32_t row, uint8_t *known);
/* The next frames of a block that belong to one thread. */
typedef struct gt_frame_run {
    size_t begin, end;
    uint32_t process, thread;
} gt_frame_run;
gt_frame_run gt_next_frames(const gt_frame_block *block, size_t begin);
/* host.c, host_thread.c: events and threads, with parents, flags, launches and the kinds of calls; points
 * (start, end, event, thread, kind, flags, their ops); and which point and which cpu_op launched each op. */
void gt_build_host(gt_schedule *schedule, const gt_frame_threads *threads);
/* clocks.c: clock_ns; moves the times of the host or of the GPU. */
void gt_build_clocks(gt_schedule *schedule);
/* steps.c: process_count, main_process, steps, the step of each point and op, and the window. Adds the points
 * of the only step (GT_API_STEP). */
void gt_build_steps(gt_schedule *schedule);
/* points.c: base_ns, before_ns, wait_ns, own_ns and awaited of points; previous of ops. */
void gt_build_points(gt_schedule *schedule);
/* A launch that takes longer than this is looked at: it usually takes 3 to 20 us. */
enum { GT_LONG_LAUNCH_NS = 1000000 };
/* points.c: GT_POINT_HELD, GT_POINT_FIRST_USE and GT_POINT_SLOW of points. */
void gt_build_first_use(gt_schedule *schedule);
/* ops.c: begins, offset_ns and dependency of ops; launch_ns. */
void gt_build_starts(gt_schedule *schedule);
/* labels.c: pieces, and then what gt_build_loops adds. */
void gt_build_labels(gt_schedule *schedule);
/* loops.c, called by gt_build_labels: round trips, sync sites, bursts, and the labels of pieces in them. */
void gt_build_loops(gt_schedule *schedule);
/* overhead.c: what recording costs: python_cost_ns, op_cost_ns, profiler_ns, host_ns, and keep_before and
 * keep_own of points. */
void gt_build_overhead(gt_schedule *schedule);

/* ---- calls ---- */

/* host_thread.c: what a call does: by its name, by the first op that it launched (GT_NONE: none), or, of a
 * copy call without its copy, by how long it takes. */
gt_api_kind gt_kind_of_call(const gt_schedule *schedule, uint32_t name, int64_t dur_ns, uint32_t first_op);

/* ---- times ---- */

/* limit_ns of a schedule with so many events: sums over all of them fit in 62 bits, unless there are so many
 * that the limit would be shorter than a long profile (2^44 ns, five hours). At most 2^53, so that doubles
 * hold all times exactly. */
static inline int64_t gt_time_limit_ns(size_t event_count)
{
    const int64_t least = INT64_C(1) << 44, most = INT64_C(1) << 53;
    int64_t limit = (INT64_C(1) << 62) / (int64_t)(event_count + 1);
    return limit < least ? least : limit > most ? most : limit;
}

/* A time of the trace in ns after base_us. Times that are absurdly far away count as the limit. */
static inline int64_t gt_schedule_ns(const gt_schedule *schedule, double us)
{
    double ns = (us - schedule->base_us) * 1000 + 0.5;
    return ns >= (double)schedule->limit_ns ? schedule->limit_ns : ns >= 0 ? (int64_t)ns : 0;
}

/* The end of an event that starts at start_ns. A duration that is absent or negative counts as 0. */
static inline int64_t gt_schedule_end_ns(const gt_schedule *schedule, int64_t start_ns, double dur_us)
{
    double ns = dur_us * 1000 + 0.5;
    int64_t left = schedule->limit_ns - start_ns;
    return start_ns + (ns >= (double)left ? left : ns >= 0 ? (int64_t)ns : 0);
}

/* Labels that a more specific cause may replace. */
static inline bool gt_is_host_work(uint8_t label)
{
    return label == GT_CAUSE_LAUNCH || label == GT_CAUSE_PYTHON || label == GT_CAUSE_UNTRACED;
}
