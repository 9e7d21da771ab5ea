/* `gputally split`: a trace of an inference server cut into traces of its steps. */
#ifndef GT_CLI_COMMANDS_SPLIT_H
#define GT_CLI_COMMANDS_SPLIT_H

#include "cli/command.h"

extern const gt_syntax gt_split_syntax;
gt_exit gt_cmd_split(const gt_call *call);

#endif
