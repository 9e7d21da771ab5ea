/* rocpd databases (`*_results.db`): what rocprofv3 writes by default since ROCm 7, an SQLite file with a set
 * of tables a process.
 *
 * The file is not trusted: it is opened for reading alone, none of its views, triggers or extensions is run,
 * and only plain tables are read. Columns are looked up by name, so newer schemas are read as far as they
 * hold the same. */
#ifndef GT_INPUT_ROCPROF_ROCPD_H
#define GT_INPUT_ROCPROF_ROCPD_H

#include "input/options.h"
#include "trace/rocprof/rocprof.h"

/* Adds all processes of a database to the run. A database that is damaged or was not written to its end is
 * refused. */
bool gt_rocpd_read(gt_rocprof_writers *writers, const char *path, gt_error *error);

#endif
