/* The options of the phases of inference (cli/pytorch.c has their rows). */
#ifndef GT_CLI_INPUTS_PHASE_OPTIONS_H
#define GT_CLI_INPUTS_PHASE_OPTIONS_H

#include "analysis/phases/phases.h"
#include "cli/command.h"

/* GT_EXIT_USAGE, and a sentence said, where one of them is none of the choices. */
gt_exit gt_phase_options_check(const gt_call *call);
gt_phase_options gt_phase_options_read(const gt_arguments *arguments);

#endif
