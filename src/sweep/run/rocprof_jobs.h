/* The job files for rocprofv3 that come with gputally: for `sweep run --rocprof --rocprof-input FILE`. */
#ifndef GT_SWEEP_RUN_ROCPROF_JOBS_H
#define GT_SWEEP_RUN_ROCPROF_JOBS_H

#include "base/error.h"

enum { GT_ROCPROF_JOBS = 2 };

/* Writes all of them into a folder, replacing what is there. */
bool gt_rocprof_jobs_write(const char *folder, gt_error *error);
extern const char *const gt_rocprof_job_names[GT_ROCPROF_JOBS];

#endif
