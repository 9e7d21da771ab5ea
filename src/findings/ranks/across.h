/* Internal to src/findings/ranks: what is seen only when all ranks are looked at together. Each file makes
 * the sheets of one question; gt_ranks_find calls them.
 *
 *     clock_offsets                        clocks.c
 *     communication_matrix                 sheets.c
 *     critical_path, critical_path_steps   critical.c
 *     rank_steps, rank_step_times          sheets.c
 *     slack                                slack.c
 *
 * Sheets are in the strings of nccl_long. The caller owns them. */
#pragma once

#include "findings/ranks/chains.h"
#include "findings/ranks/find.h"

/* sheets.c: sets the cell to the name of the rank's node, if that is known. */
void gt_rank_set_node(const gt_rank_findings *found, size_t rank, gt_table *sheet, size_t column, size_t row);

/* ---- clocks.c: by how much do the clocks of ranks differ? ---- */

typedef struct gt_rank_clock {
    bool known;         /* otherwise it shares no collective with another rank */
    uint32_t reference; /* the rank whose clock it is compared with */
    uint32_t hops;      /* comparisons between it and the reference */
    double offset_us;   /* its clock shows this much more than that of the reference, at at_us */
    double error_us;    /* what the offset can be wrong by */
    double drift;       /* by how much the offset grows per time; NaN: none is seen */
    double at_us;       /* time of the reference, as in nccl_long */
    size_t used, own;   /* collectives that were compared, and all that it could have been compared in */
} gt_rank_clock;

/* By rank; the caller frees it. */
gt_rank_clock *gt_rank_clocks_find(const gt_collective_sync *sync, size_t rank_count);
gt_table *gt_rank_clocks_sheet(const gt_rank_findings *found, const gt_rank_clock *clocks,
                               gt_interner *strings);

/* ---- sheets.c: how much do ranks send to each other? ---- */

/* `uncounted`: kernels in the windows that do not say how much they send to whom. */
gt_table *gt_rank_matrix_sheet(const gt_rank_findings *found, const gt_ranks_input *input, size_t *uncounted);

/* ---- sheets.c: how long are steps, and how do ranks differ? ---- */

void gt_rank_steps_add_sheets(const gt_rank_findings *found, gt_interner *strings, gt_table_list *tables);

/* ---- slack.c: by how much could an op be longer before the step is longer? ---- */

/* The recorded run of the model. */
typedef struct gt_rank_times {
    double *ends;      /* by collective */
    uint32_t *last;    /* by collective: the entry that comes last */
    double *window_ns; /* by place in model->ends: when its window ends, with those of the same base */
} gt_rank_times;

/* When an entry is ready and starts. */
double gt_rank_entry_ready(const gt_rank_entry *entry, const double *ends);
double gt_rank_entry_start(const gt_rank_entry *entry, const double *ends);
gt_rank_times gt_rank_times_new(const gt_rank_model *model);
void gt_rank_times_free(gt_rank_times *times);

/* An op or a part of the host's time on one rank, over the window, as far as it is in the chain of a
 * collective. */
typedef struct gt_op_time {
    uint32_t rank, name; /* a string of nccl_long */
    gt_chain_kind kind;  /* compute, host or data */
    double ns, usual_ns; /* per step; on the usual rank */
    double slack_ns;     /* INFINITY: nothing waits for it */
    double critical_ns;  /* per step, of the critical path */
} gt_op_time;

typedef struct gt_op_times {
    gt_op_time *items; /* by name, kind and rank */
    size_t count, capacity;
} gt_op_times;

gt_op_times gt_op_times_new(const gt_rank_findings *found, const gt_ranks_input *input,
                            const gt_rank_model *model, const gt_rank_times *times);
void gt_op_times_free(gt_op_times *times);
/* NULL if there is none. */
gt_op_time *gt_op_times_find(const gt_op_times *times, uint32_t rank, uint32_t name, gt_chain_kind kind);
gt_table *gt_slack_sheet(const gt_rank_findings *found, const gt_op_times *times, gt_interner *strings);

/* ---- critical.c: what decided when the run was done? ---- */

/* A part of the critical path. */
typedef struct gt_path_segment {
    int64_t step; /* number */
    uint32_t rank, name, count;
    gt_chain_kind kind;
    double from_ns, to_ns; /* of the model */
} gt_path_segment;

typedef struct gt_critical_path {
    gt_path_segment *items; /* in order of time; each begins where the one before ends */
    size_t count, capacity;
    double steps;  /* in the window of the rank where it ends */
    bool is_known; /* the steps have numbers */
} gt_critical_path;

gt_critical_path gt_critical_path_find(const gt_ranks_input *input, const gt_rank_model *model,
                                       const gt_rank_times *times);
void gt_critical_path_free(gt_critical_path *path);
/* Adds critical_path and critical_path_steps, sets critical_ns of ops, and the sentence of the findings. */
void gt_critical_path_add_sheets(gt_rank_findings *found, const gt_critical_path *path, gt_op_times *ops,
                                 gt_interner *strings, gt_table_list *tables);
