/* The options that mean the same in every command. */
#ifndef GT_CLI_COMMON_H
#define GT_CLI_COMMON_H

#include "cli/command.h"
#include "input/options.h"

extern const gt_option_group gt_output_group; /* where the report goes */
extern const gt_option_group gt_common_group; /* how the work is done and what is said of it */
/* The study of short kernels, in every report that has one. */
extern const gt_option_group gt_short_kernel_group;

/* Puts --quiet, --no_progress, --threads and --strict into effect. False where one has no sense. */
bool gt_common_apply(const gt_call *call, gt_read_options *options, gt_error *error);

#endif
