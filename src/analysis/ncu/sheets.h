/* The sheets of profiled kernel launches of Nsight Compute (input/ncu/ncu.h):
 *
 *     ncu_kernels    one row per kernel, grid and block, the longest total time first (sheets.c)
 *     ncu_launches   one row per launch, in the order of the file (sheets.c)
 *     ncu_details    one row per kernel, grid, block and metric (details.c)
 *
 * Strings of the tables are those of the trace, which must outlive them. */
#ifndef GT_ANALYSIS_NCU_SHEETS_H
#define GT_ANALYSIS_NCU_SHEETS_H

#include "input/ncu/ncu.h"
#include "table/table.h"
#include "table/table_list.h"

/* ---- figures of a launch (figures.c) ---- */

typedef enum gt_ncu_figure {
    GT_NCU_DURATION_US,
    GT_NCU_SM_PCT,
    GT_NCU_MEMORY_PCT,
    GT_NCU_DRAM_PCT,
    GT_NCU_DRAM_BYTES, /* counted, or the rate times the duration */
    GT_NCU_OCCUPANCY_PCT,
    GT_NCU_THEORETICAL_PCT,
    GT_NCU_REGISTERS,
    GT_NCU_SHARED_BYTES, /* static and dynamic shared memory per block */
    GT_NCU_WAVES,
    GT_NCU_FIGURES
} gt_ncu_figure;

/* GT_NCU_FIGURES numbers per launch, NaN where the launch has no such metric. The metrics are known by the
 * names of `--page raw` and by the labels of `--page details`, in any unit of ncu. The caller frees it. */
double *gt_ncu_figures(const gt_ncu *trace);

/* ---- kernels (sheets.c) ---- */

/* Launches of the same kernel with the same grid and block. */
typedef struct gt_ncu_kernels {
    uint32_t *launches; /* indices, kernel by kernel */
    size_t *first;      /* per kernel, and one more: where its launches begin */
    size_t count;
} gt_ncu_kernels;

/* In the order of ncu_kernels. */
gt_ncu_kernels gt_ncu_kernels_find(const gt_ncu *trace, const double *figures);
void gt_ncu_kernels_free(gt_ncu_kernels *kernels);

gt_table *gt_ncu_kernels_sheet(const gt_ncu *trace, const double *figures, const gt_ncu_kernels *kernels);
gt_table *gt_ncu_launches_sheet(const gt_ncu *trace, const double *figures);
gt_table *gt_ncu_details_sheet(const gt_ncu *trace, const gt_ncu_kernels *kernels);

/* All three, in the order above; warns if nothing was profiled. */
void gt_ncu_tables(const gt_ncu *trace, gt_table_list *tables);

#endif
