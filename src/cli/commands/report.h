/* `gputally report`: the report that fits a trace, whatever its format. */
#ifndef GT_CLI_COMMANDS_REPORT_H
#define GT_CLI_COMMANDS_REPORT_H

#include "cli/command.h"

extern const gt_syntax gt_report_syntax;

gt_exit gt_cmd_report(const gt_call *call);

#endif
