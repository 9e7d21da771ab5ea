/* The five plots of a sweep's GEMM variance: boxes by threads, channels and rank, violins of all three, and
 * how threads and channels act together. */
#ifndef GT_SWEEP_COMPARE_VARIANCE_PLOTS_H
#define GT_SWEEP_COMPARE_VARIANCE_PLOTS_H

#include "output/output.h"
#include "sweep/compare/variance_rows.h"

enum { GT_VARIANCE_PLOTS = 5 };
extern const char *const gt_variance_plot_files[GT_VARIANCE_PLOTS]; /* names of the PNG files */

/* Adds the PNG files to the output. `as_reference`: the interaction plot always shows 28, 42, 56 and 70
 * channels, and 0 where there is no row, as the Python script does. */
bool gt_variance_plots_draw(const gt_variance_rows *rows, const char *folder, int64_t dots_per_inch,
                            bool as_reference, gt_output *output, gt_error *error);

#endif
