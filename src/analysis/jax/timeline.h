/* Sheets gpu_timeline and gpu_events_averages of a JAX profile: how much of the time did each GPU work, and
 * at what? */
#ifndef GT_ANALYSIS_JAX_TIMELINE_H
#define GT_ANALYSIS_JAX_TIMELINE_H

#include "table/table.h"
#include "trace/jax/jax.h"

typedef struct gt_jax_timeline {
    gt_table *by_gpu;   /* type, time ms, percent, gpu_pid */
    gt_table *averages; /* type, time ms, percent: the mean over the GPUs */
} gt_jax_timeline;

/* `last_pid`: GPUs with a greater one are in no average. */
gt_jax_timeline gt_jax_timeline_make(const gt_jax *trace, uint32_t last_pid);

/* Streams of work, as the timeline takes them: their names begin with "Stream #". */
bool gt_jax_is_stream(const gt_jax *trace, size_t event);
/* Whether the timeline counts the event as computation, and not as a copy or as communication. */
bool gt_jax_is_computation(const gt_jax *trace, size_t event);

/* Whether the name of a kernel says communication: nccl, rccl or cross_device_reduce in any case. */
bool gt_jax_is_communication(gt_str name);

#endif
