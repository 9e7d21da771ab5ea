/* How runs of a sweep end. */
#pragma once

#include "base/base.h"

typedef enum gt_run_status {
    GT_RUN_PENDING, /* not started, or the sweep was killed during it */
    GT_RUN_SUCCESS,
    GT_RUN_FAILED,
    GT_RUN_TIMEOUT,
    GT_RUN_SKIPPED, /* its folder existed; only in records of older versions */
    GT_RUN_INTERRUPTED,
    GT_RUN_UNKNOWN, /* sweep.json does not name the run */
} gt_run_status;
extern const char *const gt_run_status_names[];
/* The status with this name; UNKNOWN if there is none. */
gt_run_status gt_run_status_named(const char *name);
/* Whether the run is known not to have ended well: its traces may be missing, cut off or wrong. */
bool gt_run_has_failed(gt_run_status status);
