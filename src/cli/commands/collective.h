/* `gputally collective`: the report of the collectives of all ranks of a run. */
#ifndef GT_CLI_COMMANDS_COLLECTIVE_H
#define GT_CLI_COMMANDS_COLLECTIVE_H

#include "cli/command.h"

extern const gt_syntax gt_collective_syntax;

gt_exit gt_cmd_collective(const gt_call *call);

#endif
