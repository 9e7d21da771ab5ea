/* `gputally genesis`: the report of a physics simulation from the folder of its capture. */
#ifndef GT_CLI_COMMANDS_GENESIS_H
#define GT_CLI_COMMANDS_GENESIS_H

#include "cli/command.h"

extern const gt_syntax gt_genesis_syntax;

gt_exit gt_cmd_genesis(const gt_call *call);

#endif
