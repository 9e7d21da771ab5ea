/* `gputally jax`: the report of a JAX profile. */
#ifndef GT_CLI_COMMANDS_JAX_H
#define GT_CLI_COMMANDS_JAX_H

#include "cli/command.h"
#include "cli/traces.h"

extern const gt_syntax gt_jax_syntax;
extern const gt_option_group gt_jax_group; /* options of the report itself, for `report` too */

gt_exit gt_cmd_jax(const gt_call *call);
bool gt_jax_report(const gt_trace_call *trace, gt_error *error);

#endif
