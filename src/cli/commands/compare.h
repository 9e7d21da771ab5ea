/* `gputally compare`: what changed between reports. */
#ifndef GT_CLI_COMMANDS_COMPARE_H
#define GT_CLI_COMMANDS_COMPARE_H

#include "cli/command.h"

extern const gt_syntax gt_compare_syntax;

gt_exit gt_cmd_compare(const gt_call *call);

#endif
