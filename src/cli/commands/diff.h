/* `gputally diff`. */
#ifndef GT_CLI_COMMANDS_DIFF_H
#define GT_CLI_COMMANDS_DIFF_H

#include "cli/command.h"

extern const gt_syntax gt_diff_syntax;
gt_exit gt_cmd_diff(const gt_call *call);

#endif
