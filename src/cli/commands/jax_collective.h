/* `gputally jax-collective`: how fast the collectives of a JAX run were. */
#ifndef GT_CLI_COMMANDS_JAX_COLLECTIVE_H
#define GT_CLI_COMMANDS_JAX_COLLECTIVE_H

#include "cli/command.h"

extern const gt_syntax gt_jax_collective_syntax;

gt_exit gt_cmd_jax_collective(const gt_call *call);

#endif
