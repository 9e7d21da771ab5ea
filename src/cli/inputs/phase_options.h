/* The options of inference phases (their rows are in cli/commands/pytorch.c). */
#ifndef GT_CLI_INPUTS_PHASE_OPTIONS_H
#define GT_CLI_INPUTS_PHASE_OPTIONS_H

#include "analysis/phases/phases.h"
#include "cli/command.h"

/* Prints a usage error and returns GT_EXIT_USAGE if one of them has an invalid value. */
gt_exit gt_phase_options_check(const gt_call *call);
gt_phase_options gt_phase_options_read(const gt_arguments *arguments);

#endif
