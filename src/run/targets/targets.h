/* Where a command runs if not on this machine: as a SLURM job (slurm.c) or as a Kubernetes job
 * (kubernetes/), and the variables of launchers on several nodes (distributed.c). */
#pragma once

#include "run/plan/plan.h"

/* ---- several nodes ---- */

/* Appends shell lines "export NAME=..." for the launcher; they may use NODE_RANK and MASTER_ADDR, which are
 * set before. Returns false if the launcher needs more nodes. */
bool gt_distributed_export(const gt_distributed *distributed, const gt_value *settings, gt_buffer *lines,
                           gt_error *error);

/* ---- SLURM ---- */

/* A job array instead of one run of the plan: each task runs the same line, with its number in
 * SLURM_ARRAY_TASK_ID and the argument of the script in $1. Directives and variables come from the context,
 * but without madengine's defaults for partition, time limit and variables, which would change what is
 * measured. */
typedef struct gt_slurm_array {
    const char *folder; /* absolute: of the script, job.sh, and of the logs, <array>_<task>.out */
    const char *line;   /* shell line */
} gt_slurm_array;

typedef struct gt_slurm_request {
    const gt_plan *plan;
    const gt_slurm_array *array;    /* NULL: one run; the others are not used if it is given */
    const char *gputally;           /* path of this program */
    const char *const *run_options; /* options of `gputally run` on each node, before its "--" */
    size_t run_option_count;
} gt_slurm_request;

/* Makes the script. Returns false if a setting is invalid. */
bool gt_slurm_make(const gt_slurm_request *request, gt_slurm *slurm, gt_error *error);

/* Writes script and context. */
bool gt_slurm_write(const gt_plan *plan, const gt_slurm *slurm, gt_error *error);

/* What a node does before it runs the command of a task on several nodes: exports NODE_RANK and the variables
 * of the launcher. */
bool gt_slurm_node_lines(const gt_distributed *launcher, const gt_value *settings, gt_buffer *lines,
                         gt_error *error);

/* Submits the script, waits for the job and combines the nodes' records in results_summary.json. Prints
 * messages and returns false if the job could not be submitted or did not complete. *folder is where the
 * nodes' results are; NULL if the job was not submitted or not waited for. */
bool gt_slurm_run(const gt_plan *plan, const gt_slurm *slurm, const char **folder);
