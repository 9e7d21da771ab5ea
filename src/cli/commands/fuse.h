/* `gputally fuse`: the traces of several ranks as one. */
#ifndef GT_CLI_COMMANDS_FUSE_H
#define GT_CLI_COMMANDS_FUSE_H

#include "cli/command.h"

extern const gt_syntax gt_fuse_syntax;
gt_exit gt_cmd_fuse(const gt_call *call);

#endif
