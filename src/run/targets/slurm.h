/* A run on the nodes of a SLURM cluster: a batch script that starts `gputally run --target local` once a
 * node. */
#ifndef GT_RUN_TARGETS_SLURM_H
#define GT_RUN_TARGETS_SLURM_H

#include "run/execute/record.h"

typedef struct gt_slurm_request {
    const gt_plan *plan;
    const char *gputally;           /* this program */
    const char *const *run_options; /* words for `gputally run` on each node, before its "--" */
    size_t run_option_count;
} gt_slurm_request;

/* Makes the script. False where a setting makes no sense. */
bool gt_slurm_make(const gt_slurm_request *request, gt_slurm *slurm, gt_error *error);

/* Writes script and context. */
bool gt_slurm_write(const gt_plan *plan, const gt_slurm *slurm, gt_error *error);

/* Submits the script, waits for the job and puts the nodes' records together in results_summary.json. False
 * where it could not be submitted or did not complete; what is wrong has been printed. */
bool gt_slurm_run(const gt_plan *plan, const gt_slurm *slurm);

#endif
