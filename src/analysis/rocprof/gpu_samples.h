/* How much power did each GPU draw, how full was its memory? From the samples that `gputally run` takes. */
#ifndef GT_ANALYSIS_ROCPROF_GPU_SAMPLES_H
#define GT_ANALYSIS_ROCPROF_GPU_SAMPLES_H

#include "table/table.h"

/* Of a table "time, <what> GPU0, <what> GPU1, ...", one row a GPU:
 *
 *     gpu       "GPU0"
 *     samples   cells that hold a number
 *     min, mean, max, p95   of these; in the unit of the samples
 *     energy_J  sum of each sample times the time to the next; only where is_power
 */
gt_table *gt_gpu_samples_summary(const gt_table *samples, gt_sheet name, bool is_power);

#endif
