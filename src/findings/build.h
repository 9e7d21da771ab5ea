/* Internal to src/findings: the steps of gt_schedule_new, in this order. Each fills the fields that its
 * comment names and relies on all before it. */
#ifndef GT_FINDINGS_BUILD_H
#define GT_FINDINGS_BUILD_H

#include "findings/schedule.h"

/* host.c: events and threads, with parents, flags, launches and the kinds of calls. */
void gt_build_host(gt_schedule *schedule);
/* ops.c: the ops of the busiest device, points (start, end, event, thread, kind, flags, their ops), and which
 * point and which cpu_op launched each op. */
void gt_build_ops(gt_schedule *schedule);
/* steps.c: steps, the step of each point and op, and the window. */
void gt_build_steps(gt_schedule *schedule);
/* points.c: base_ns, before_ns, wait_ns, own_ns and awaited of points. */
void gt_build_points(gt_schedule *schedule);
/* starts.c: previous, begins, offset_ns and dependency of ops; launch_ns. */
void gt_build_starts(gt_schedule *schedule);
/* labels.c: pieces, round trips, sync sites and bursts. */
void gt_build_labels(gt_schedule *schedule);
/* overhead.c: what recording costs: python_cost_ns, op_cost_ns, profiler_ns, host_ns, and keep_before and
 * keep_own of points. */
void gt_build_overhead(gt_schedule *schedule);

#endif
