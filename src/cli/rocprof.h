/* `gputally rocprof`: the report of a rocprofv3 run. */
#ifndef GT_CLI_ROCPROF_H
#define GT_CLI_ROCPROF_H

#include "cli/commands.h"
#include "cli/destinations.h"
#include "input/options.h"

extern const gt_syntax gt_rocprof_syntax;
extern const gt_option_group gt_rocprof_group; /* the report's own options, for commands that make it too */

gt_exit gt_rocprof_run(const gt_call *call);

/* Makes the report of one trace and says on standard output what it holds and where it is. */
bool gt_rocprof_report(const gt_call *call, const char *trace_path, const gt_read_options *read,
                       const gt_destinations *destinations, gt_error *error);

#endif
