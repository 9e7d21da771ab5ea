/* Plots of the phases of inference, from the sheets of a PyTorch report:
 *
 *     phase_overview             kernel time, launches and op names of each phase, and of ops without one
 *     performance_bottlenecks    the ops with the most kernel time, per phase
 *     operation_frequencies      the ops with the most launches, per phase
 *     detailed_breakdowns        kernel time by categories of kernels, per phase
 *     time_distributions         mean kernel time per launch of each op: a box per phase
 *     phase_steps                GPU time of each step, by its phase; of the method auto */
#pragma once

#include "output/figure/figure.h"

/* Adds the plots to the output, as FOLDER/NAME.FORMAT. Draws nothing, with a warning, if no sheet has an op
 * of a phase. */
bool gt_phase_plots_draw(const gt_table_list *tables, const char *folder, gt_figure_format format,
                         int64_t dots_per_inch, gt_output *output, gt_error *error);
