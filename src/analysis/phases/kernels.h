/* Sheets kernel_summary_prefill and kernel_summary_decode: which kernels took the time of a phase, and for
 * which ops? */
#ifndef GT_ANALYSIS_PHASES_KERNELS_H
#define GT_ANALYSIS_PHASES_KERNELS_H

#include "analysis/phases/phases.h"
#include "analysis/pytorch/kernels.h"

/* kernel_summary of the kernels of one phase, without the share of the total time. `kernel_phases` is what
 * gt_phases_of_kernels gives. */
gt_table *gt_phase_kernel_summary(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                  const uint8_t *kernel_phases, gt_phase phase, gt_sheet sheet);

#endif
