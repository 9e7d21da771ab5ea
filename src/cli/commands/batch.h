/* `gputally batch`: one report for each folder of traces below a folder. */
#ifndef GT_CLI_COMMANDS_BATCH_H
#define GT_CLI_COMMANDS_BATCH_H

#include "cli/command.h"

extern const gt_syntax gt_batch_syntax;
gt_exit gt_cmd_batch(const gt_call *call);

#endif
