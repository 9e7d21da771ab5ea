/* The kernels of one phase by op category, op, name and stream: the columns are those of kernel_summary
 * (pytorch_kernels.c), and
 *
 *     Percent of kernels time (%)    sum / durations of the phase's kernels * 100 */
#include "analysis/phases/kernels.h"

#include "base/memory.h"

gt_table *gt_phase_kernel_summary(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                  const uint8_t *kernel_phases, gt_phase phase, gt_sheet sheet)
{
    gt_pytorch_kernels part = *kernels; /* columns are there, and whole numbers, as in kernel_summary */
    part.rows = gt_alloc(kernels->count * sizeof *part.rows);
    part.cpu_ops = gt_alloc(kernels->count * sizeof *part.cpu_ops);
    part.count = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        if (kernel_phases[kernels->rows[i]] != phase) continue;
        part.rows[part.count] = kernels->rows[i];
        part.cpu_ops[part.count++] = kernels->cpu_ops[i];
    }
    gt_table *summary = gt_pytorch_kernel_shares(&part, launchers, sheet);
    gt_pytorch_kernels_free(&part);
    return summary;
}
