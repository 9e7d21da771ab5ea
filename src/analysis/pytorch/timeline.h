/* Sheet gpu_timeline of a PyTorch trace: how much of the time did the GPU compute, communicate, copy, or do
 * nothing? */
#ifndef GT_ANALYSIS_PYTORCH_TIMELINE_H
#define GT_ANALYSIS_PYTORCH_TIMELINE_H

#include "base/error.h"
#include "table/table.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_pytorch_timeline_options {
    bool include_unlinked;     /* count GPU events that no launch in the trace is known for */
    bool split_idle;           /* micro_idle_time and macro_idle_time in the place of idle_time */
    int64_t micro_idle_max_us; /* idle stretches below this are micro idle */
    bool split_recompute;      /* one timeline of what is not recomputed, one of what is */
} gt_pytorch_timeline_options;

/* NULL where no GPU event counts. */
gt_table *gt_pytorch_gpu_timeline(const gt_linked_view *trace, gt_pytorch_timeline_options options,
                                  gt_error *error);

/* The first total_time of a timeline: what other sheets take percentages of. */
double gt_pytorch_total_time_ms(const gt_table *timeline);

#endif
