/* What every command that turns traces into reports does around the report itself: the common options, the
 * names of the outputs, and what is said where a trace fails. */
#ifndef GT_CLI_TRACES_H
#define GT_CLI_TRACES_H

#include "cli/commands.h"
#include "cli/destinations.h"
#include "input/options.h"

/* Makes the report of one trace and says on standard output what it holds and where it is. */
typedef bool gt_report_maker(const gt_call *call, const char *trace_path, const gt_read_options *read,
                             const gt_destinations *destinations, gt_error *error);

/* Makes one report a trace. A trace that fails does not keep the others from theirs. */
gt_exit gt_each_trace(const gt_call *call, const char *const *trace_paths, size_t count,
                      gt_report_maker *make);

/* As messages name a trace: its path, or "standard input". */
const char *gt_trace_title(const char *trace_path);

#endif
