/* Names of outcomes, as in sweep.json. */
#include "sweep/status.h"

const char *const gt_run_status_names[] = {"PENDING", "SUCCESS",     "FAILED", "TIMEOUT",
                                           "SKIPPED", "INTERRUPTED", "UNKNOWN"};

gt_run_status gt_run_status_named(const char *name)
{
    for (gt_run_status status = GT_RUN_PENDING; name && status < GT_RUN_UNKNOWN; status++)
        if (strcmp(gt_run_status_names[status], name) == 0) return status;
    return GT_RUN_UNKNOWN;
}

bool gt_run_has_failed(gt_run_status status)
{
    return status != GT_RUN_SUCCESS && status != GT_RUN_SKIPPED && status != GT_RUN_UNKNOWN;
}
