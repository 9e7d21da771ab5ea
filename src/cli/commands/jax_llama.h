/* `gputally jax-llama-compare`: stages of a language model on two GPUs. */
#ifndef GT_CLI_COMMANDS_JAX_LLAMA_H
#define GT_CLI_COMMANDS_JAX_LLAMA_H

#include "cli/command.h"

extern const gt_syntax gt_jax_llama_syntax;

gt_exit gt_cmd_jax_llama(const gt_call *call);

#endif
