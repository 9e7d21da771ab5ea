/* `gputally jax-analysis`: a short report of a JAX profile, one small file a table. */
#ifndef GT_CLI_COMMANDS_JAX_ANALYSIS_H
#define GT_CLI_COMMANDS_JAX_ANALYSIS_H

#include "cli/command.h"

extern const gt_syntax gt_jax_analysis_syntax;

gt_exit gt_cmd_jax_analysis(const gt_call *call);

#endif
