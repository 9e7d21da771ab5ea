/* Records of the nodes of a job: what each node_N/gputally_run.json says, combined. */
#pragma once

#include "json/values.h"

typedef struct gt_node {
    const char *folder;
    const gt_value *record; /* MISSING: there is none */
    const char *status;     /* of the record; MISSING if there is none */
    const char *reason;     /* why it failed, if known; NULL */
} gt_node;

typedef struct gt_nodes {
    gt_node *items; /* in the arena */
    size_t count;
} gt_nodes;

/* Reads the records of FOLDER/node_0 to FOLDER/node_(count-1). */
gt_nodes gt_nodes_read(gt_arena *arena, const char *folder, size_t count);

bool gt_nodes_all_succeeded(const gt_nodes *nodes);

/* Writes FOLDER/results_summary.json: the job, the nodes, and their figures combined by metric (`status` and
 * `reason` of the job, unless NULL). */
bool gt_nodes_write(gt_arena *arena, const gt_nodes *nodes, const char *folder, const char *job,
                    const char *name, const char *status, const char *reason, gt_error *error);

/* Writes a workbook with the sheet `nodes`: node, status, duration_s, performance, metric, energy_J. */
bool gt_nodes_write_sheet(const gt_nodes *nodes, const char *path, gt_error *error);
