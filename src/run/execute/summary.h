/* Tables of what was measured beside the profiler: power, memory, library calls. */
#ifndef GT_RUN_EXECUTE_SUMMARY_H
#define GT_RUN_EXECUTE_SUMMARY_H

#include "run/execute/record.h"

/* Writes OUTPUT_DIR/NAME_run_summary.xlsx with the sheets that the run has files for: power_summary,
 * vram_summary, library_calls (most calls first). Nothing where it has none; *path is then NULL. */
bool gt_run_summary_write(const gt_plan *plan, const char **path, gt_error *error);

#endif
