/* The options of --extra, with the same meaning in every report that has these sheets. */
#ifndef GT_CLI_INPUTS_EXTRA_H
#define GT_CLI_INPUTS_EXTRA_H

#include "analysis/hta/hta.h"
#include "cli/options.h"

extern const gt_option_group gt_extra_group;

/* Whether the sheets are requested, and their options. */
bool gt_extra_wanted(const gt_arguments *arguments, gt_hta_options *options);

#endif
