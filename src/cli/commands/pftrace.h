/* `gputally pftrace-hip-api`, `pftrace-hip-activity` and `pftrace-memory-copy`: reports of a rocprofv3
 * pftrace. */
#ifndef GT_CLI_COMMANDS_PFTRACE_H
#define GT_CLI_COMMANDS_PFTRACE_H

#include "cli/command.h"

extern const gt_syntax gt_pftrace_api_syntax, gt_pftrace_activity_syntax, gt_pftrace_copy_syntax;

gt_exit gt_cmd_pftrace_hip_api(const gt_call *call);
gt_exit gt_cmd_pftrace_hip_activity(const gt_call *call);
gt_exit gt_cmd_pftrace_memory_copy(const gt_call *call);

#endif
