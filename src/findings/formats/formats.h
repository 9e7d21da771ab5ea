/* Schedules of traces of other profilers than PyTorch's.
 *
 * They have the ops of the busiest device and, if calls were recorded, the points that launched them and the
 * calls that waited. They have no ops of a framework, no shapes and no Python functions: rules that need
 * those stay silent. What recording costs the host is unknown, so nothing is taken out of its time. */
#pragma once

#include "findings/schedule/schedule.h"
#include "trace/jax/jax.h"
#include "trace/rocprof/rocprof.h"

/* What must be read of a rocprofv3 run for its findings: GT_WANT_ bits. */
enum {
    GT_WANT_FOR_FINDINGS = GT_WANT_DISPATCH_DETAILS | GT_WANT_COPY_DETAILS | GT_WANT_CALLS | GT_WANT_AGENTS
};

/* Of a run that was read with GT_WANT_FOR_FINDINGS. A device is a GPU of a host, whichever processes use it.
 * `to_show`: also keep what only a page shows: the ops of the other devices, names of streams, and what a
 * compiler says about ops. */
gt_schedule *gt_schedule_of_rocprof(gt_rocprof *run, bool to_show);

/* Of a profile whose kinds are found (gt_jax_find_kinds). */
gt_schedule *gt_schedule_of_jax(const gt_jax *trace, bool to_show);
