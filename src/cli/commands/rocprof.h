/* `gputally rocprof`: the report of a rocprofv3 run. */
#ifndef GT_CLI_COMMANDS_ROCPROF_H
#define GT_CLI_COMMANDS_ROCPROF_H

#include "cli/traces.h"

extern const gt_syntax gt_rocprof_syntax;
extern const gt_option_group gt_rocprof_group; /* the report's own options, for commands that make it too */

gt_exit gt_cmd_rocprof(const gt_call *call);

gt_report_maker gt_rocprof_report;

#endif
