/* `gputally convert`: a trace in another format. */
#ifndef GT_CLI_COMMANDS_CONVERT_H
#define GT_CLI_COMMANDS_CONVERT_H

#include "cli/command.h"

extern const gt_syntax gt_convert_syntax;

gt_exit gt_cmd_convert(const gt_call *call);

#endif
