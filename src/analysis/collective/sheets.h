/* All sheets about collectives of PyTorch traces:
 *
 *     nccl_long, nccl_summary_long                      collectives.c
 *     coll_analysis (of one trace)                      collectives.c
 *     clock_offset_us (of nccl_long)                    clocks.c
 *     which process groups have one name                groups.c
 *     which ranks ran, and have equal numbers of them   ranks.c
 *     which traces begin with a later step              shifts.c
 *     nccl_implicit_sync, nccl_summary_implicit_sync    sync.c
 *     straggler_summary                                 stragglers.c
 *     nccl_all2allv, nccl_summary_all2allv              all2allv.c
 *     nccl_all2allv_heatmap                             all2allv.c
 *     communication_matrix                              matrix.c
 *
 * A collective is an operation in which all ranks of a process group take part, such as an all-reduce. Each
 * rank's trace has one kernel for it; the sheets put the kernels of all ranks together:
 *
 *     rows = gt_collectives_of_rank(trace, 0);          one row per kernel; append other ranks' rows
 *     gt_collectives_align(rows, bases, rank_count);    times of all ranks on one clock
 *     in_order = gt_collectives_number(rows);           nccl_long: kernels of one collective share an id
 *     matches = gt_collective_match(rows);              the kernels of each collective, one per rank
 *     gt_collective_sync_find(&sync, &matches, ...);    those in which ranks wait for each other
 *     gt_collective_sync_table(&sync, true);            nccl_implicit_sync
 *
 * Which kernels of different ranks are one collective? No id in the traces says so. But ranks issue the
 * collectives of a process group in the same order, so the n-th kernel of a group on one rank belongs to the
 * n-th kernel of that group on every other rank:
 *
 *     rank 0, group "tp"    allreduce   allgather    allreduce
 *     rank 1, group "tp"    allreduce     allgather     allreduce
 *     collective_id         tp_0        tp_1         tp_2
 *
 * This goes wrong if a trace lacks kernels at its beginning, unless the numbers of steps say how many
 * (shifts.c). Then the ranks usually disagree on the name or the size of a collective, and gt_mismatch says
 * what to do; gt_collectives_find_uneven finds the others.
 *
 * A function returns its sheet as a table that the caller frees. A sheet without rows has no columns. */
#pragma once

#include "table/table.h"
#include "trace/pytorch/pytorch.h"

/* ---- nccl_long ---- */

/* The communication kernels of one rank in file order. Kernels that neither a correlation id nor an external
 * id links to the host are skipped. */
gt_table *gt_collectives_of_rank(const gt_event_view *trace, int64_t rank);
/* The rows of the trace that it has, in the same order; the caller frees them. */
uint32_t *gt_collectives_find(const gt_event_view *trace, size_t *count);
/* The same for a store that contains only those kernels. */
gt_table *gt_collectives_of_store(const gt_store *store, int64_t rank);

/* Whether loaded rows are such as these functions make for that rank: the same columns, and times that are
 * finite. */
bool gt_collectives_are_sound(const gt_table *rows, int64_t rank);

/* Moves the times of all ranks to one clock, that of the first rank with a base time. The times of a trace
 * count from its base time, so ranks with different ones cannot be compared as they are. bases[rank] is that
 * of a rank. If a rank was moved, the column clock_offset_us says by how much: ts - clock_offset_us is the
 * time in the trace. Warns about ranks that cannot be moved because they have no base time. Must come before
 * gt_collectives_number. */
void gt_collectives_align(gt_table *rows, const gt_base_time *bases, size_t rank_count);

/* By rank: how many seconds before (negative) or after most ranks it was recorded, if that is more than
 * clocks can differ; 0: with them. NULL if there is no such rank, or base times are unknown. After
 * gt_collectives_align; the caller frees it. */
double *gt_collectives_find_apart(const gt_table *rows, const gt_base_time *bases, size_t rank_count);

/* The number of ranks that ran, as far as the kernels name them: the largest process group and the highest
 * rank in one; 0 if they name none. Must come before gt_collectives_number, as the next one. */
enum { GT_COLLECTIVE_RANKS_MAX = 1000000 }; /* larger numbers are damage */
int64_t gt_collectives_ranks_named(const gt_table *rows);

/* The next three give different process groups of one name names of their own: collectives of the ranks [0,
 * 1] and [2, 3] that are both of group "1" are then of groups "1:0" and "1:2".
 *
 * Warns once if the ranks of a process group have different numbers of kernels in it. have_trace[rank]:
 * the rank's trace was read, so that it has none if it has no rows. by_steps: they will be matched by the
 * numbers of steps. */
void gt_collectives_warn_uneven(gt_table *rows, const bool *have_trace, size_t rank_count, bool by_steps);
/* Sets is_uneven of ranks that have another number of kernels in a process group than most of it. */
void gt_collectives_find_uneven(gt_table *rows, const bool *have_trace, size_t rank_count, bool *is_uneven);

/* Turns the rows of all ranks, in order of ranks, into nccl_long: names the groups, numbers the collectives
 * in them, and gives the columns their types and order. True if collectives can be matched by their order
 * alone because no kernel says its process group and each rank has only one stream. */
bool gt_collectives_number(gt_table *rows);
/* The same for traces whose steps are numbered: steps[row] is the step in which a kernel was launched. Traces
 * that begin with different steps, or lack collectives in some, are matched by these numbers. */
#define GT_NO_STEP INT64_MIN
typedef struct gt_collective_unlike {
    bool *is_shifted; /* by rank: set if it begins with another step than most */
    bool *lacks;      /* by rank: set if it lacks collectives in a step between others */
} gt_collective_unlike;
bool gt_collectives_number_by_steps(gt_table *rows, const int64_t *steps, gt_collective_unlike *unlike);

/* nccl_summary_long: how long did the collectives of each kind, group and size take on each rank? The largest
 * sum first, equal sums in order of the keys; kernels that lack a key are dropped. */
gt_table *gt_collectives_summary(const gt_table *long_table);

/* coll_analysis: that summary for a single trace, as rank 0. */
gt_table *gt_coll_analysis(const gt_event_view *trace);

/* ---- kernels of one collective ---- */

typedef struct gt_collective_matches {
    const gt_table *events; /* nccl_long, which must outlive the matches */
    size_t count;           /* collectives, in the order of their first rows */
    size_t *begins;         /* collective i is rows[begins[i]] to rows[begins[i + 1] - 1] */
    uint32_t *rows;         /* rows of nccl_long, one per rank, in order of ranks */
    int64_t ranks;          /* the highest rank + 1 */
} gt_collective_matches;

/* Matches the kernels with the same collective_id. */
gt_collective_matches gt_collective_match(const gt_table *events);
void gt_collective_matches_free(gt_collective_matches *matches);

/* The type by the name that the first rank gives the collective. */
gt_collective_type gt_collective_match_type(const gt_collective_matches *matches, size_t collective);

/* What to do with collectives whose ranks disagree on name, group or size: fail, skip them, or keep them as
 * the first rank describes them. */
typedef enum gt_mismatch { GT_MISMATCH_FAIL, GT_MISMATCH_SKIP, GT_MISMATCH_KEEP } gt_mismatch;

/* ---- aggregations that the user asks for (--agg_metrics mean max) ---- */

enum { GT_AGGREGATIONS_MAX = 16 };

typedef struct gt_aggregations {
    size_t items[GT_AGGREGATIONS_MAX]; /* numbers in the table of aggregations.c, in the order requested */
    size_t count;
} gt_aggregations;

/* Adds an aggregation by its pandas name, unless it is already there. False if there is none of that name. */
bool gt_aggregations_add(gt_aggregations *wanted, const char *name, gt_error *error);

/* ---- nccl_implicit_sync ----
 *
 * Collectives that no rank can leave before all ranks have arrived: who waited for whom, and how fast was the
 * transfer itself? */

typedef struct gt_collective_sync {
    const gt_collective_matches *matches;
    uint32_t *collectives; /* numbers of such collectives in the matches, ascending */
    size_t count;
    size_t disagreeing;    /* collectives whose ranks disagree, skipped or kept */
    bool *has_disagreeing; /* by rank: one of these is its own; owned; NULL: there are none */
} gt_collective_sync;

/* `by_order_alone` is the result of gt_collectives_number; if true, kernels of unknown type are included, and
 * ranks are not checked for agreement. False if ranks disagree and `mismatch` says to fail. */
bool gt_collective_sync_find(gt_collective_sync *sync, const gt_collective_matches *matches,
                             bool by_order_alone, gt_mismatch mismatch, gt_error *error);
void gt_collective_sync_free(gt_collective_sync *sync);

/* The bytes that each link carries in the collective of a row of nccl_long: what bus bandwidth counts. NaN if
 * its type or size is unknown. */
double gt_collective_link_bytes(const gt_table *events, uint32_t row);

/* One row per collective, with columns for each rank on request. */
gt_table *gt_collective_sync_table(const gt_collective_sync *sync, bool rank_columns);
/* That sheet by name, dtype and size; the largest total latency first. */
gt_table *gt_collective_sync_summary(const gt_table *table, const gt_aggregations *wanted);

/* straggler_summary: for which rank do the others wait? One row per rank, the least total wait first.
 * `offsets_us`: by how much the clock of each rank is ahead; NULL: all show the same. */
gt_table *gt_collective_stragglers(const gt_collective_sync *sync, const double *offsets_us);

/* ---- nccl_all2allv ----
 *
 * Exchanges in which each rank sends a different amount to each other rank: how much was sent, how fast, and
 * how evenly? */

/* One row per exchange, the most data first. `disagreeing` counts the exchanges whose ranks disagree. NULL if
 * there are any and `mismatch` says to fail. */
gt_table *gt_collective_all2allv(const gt_collective_matches *matches, bool rank_columns,
                                 gt_mismatch mismatch, size_t *disagreeing, gt_error *error);
/* The exchanges that no rank can leave before all have arrived: each sends something to each other one, as
 * far as their split sizes say. Numbers of the matches; the caller frees them. */
uint32_t *gt_collective_all2allv_full(const gt_collective_matches *matches, size_t *count);
/* That sheet by process group and dtype; the largest total wall time first. */
gt_table *gt_collective_all2allv_summary(const gt_table *table, const gt_aggregations *wanted);
/* nccl_all2allv_heatmap: how much did each rank send to each other rank? Warns about kernels without usable
 * split sizes. */
gt_table *gt_collective_all2allv_heatmap(const gt_table *events, int64_t world_size);

/* ---- communication_matrix ---- */

/* Rows and columns are units: ranks, nodes or blocks of ranks. Borrows everything. */
typedef struct gt_matrix_request {
    const double *weights;     /* by row of nccl_long: what its bytes count times; 0: not at all */
    const uint32_t *receivers; /* by row of nccl_long: the rank that a send goes to; GT_NO_UNIT: unknown */
    const uint32_t *unit_of;   /* by rank; GT_NO_UNIT: it is not shown */
    const char *const *names;  /* by unit */
    size_t rank_count, unit_count;
} gt_matrix_request;
#define GT_NO_UNIT UINT32_MAX

/* MB that each unit sends to each other one; within a unit, what its ranks send to each other. `uncounted`
 * becomes the number of kernels that do not say how much they send to whom. */
gt_table *gt_collective_matrix(const gt_table *events, const gt_matrix_request *request, size_t *uncounted);

/* ---- nodes ---- */

/* On which node is a rank, and does a process group stay on one node? Adds node_id to a table that has rows
 * and the column rank, and node_span to one that has Process Group Ranks. Ranks fill the nodes in order,
 * gpus_per_node each. */
void gt_collective_add_nodes(gt_table *table, int64_t gpus_per_node, int64_t world_size);
