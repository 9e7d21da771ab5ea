/* `gputally model`: what the model of an op says, without any trace. */
#ifndef GT_CLI_COMMANDS_MODEL_H
#define GT_CLI_COMMANDS_MODEL_H

#include "cli/command.h"

extern const gt_syntax gt_model_syntax;
gt_exit gt_cmd_model(const gt_call *call);

#endif
