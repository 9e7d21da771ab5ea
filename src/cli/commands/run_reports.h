/* The reports of a run: what `gputally report` and its kin would be called with afterwards. */
#ifndef GT_CLI_COMMANDS_RUN_REPORTS_H
#define GT_CLI_COMMANDS_RUN_REPORTS_H

#include "cli/command.h"
#include "run/execute/record.h"

/* Whether --report's text is auto, none, or kinds of reports with commas between them. */
bool gt_run_reports_check(const char *wanted, gt_error *error);

/* Makes the reports; those that fail are warned of, which the run's own status does not show. Workbooks are
 * added to the outcome's files. */
void gt_run_reports_make(const gt_call *call, const gt_plan *plan, gt_outcome *outcome, const char *wanted);

#endif
