/* The options of --extra, which mean the same in every report that has those sheets. */
#ifndef GT_CLI_INPUTS_EXTRA_H
#define GT_CLI_INPUTS_EXTRA_H

#include "analysis/hta/hta.h"
#include "cli/options.h"

extern const gt_option_group gt_extra_group;

/* Whether the sheets are wanted, and how. */
bool gt_extra_wanted(const gt_arguments *arguments, gt_hta_options *options);

#endif
