/* `gputally run`: a command under a profiler, with what the context asks for around it. */
#ifndef GT_CLI_COMMANDS_RUN_H
#define GT_CLI_COMMANDS_RUN_H

#include "cli/command.h"

extern const gt_syntax gt_run_syntax;

gt_exit gt_cmd_run(const gt_call *call);

#endif
