/* Which rank, node or link makes the others wait, and why?
 *
 * Each rank has a trace of its own. Of each trace little is kept (facts.c), so that many ranks fit in memory:
 *
 *     facts[rank] = gt_rank_facts_new(findings, rows, row_count);     while the trace is in memory
 *     gt_rank_findings *found = gt_ranks_find(&input);                when all ranks are read
 *     gt_ranks_add_sheets(found, strings, &tables);
 *
 * The model (model.c). A rank works, arrives at a collective, and leaves it together with all other ranks
 * when the last one has come and the data has moved. So the ends of collectives are common to all ranks, and
 * what a rank itself needs is the time from the end of the collective on which its work waited (the base)
 * until it is ready for the next one:
 *
 *     rank 0   |coll 1|== work ==|ready  waits ....... |coll 2|
 *     rank 1   |coll 1|== work ============ |ready     |coll 2|
 *                     base                             transfer time: the shortest duration of any rank
 *
 * These are durations within one trace: clocks of ranks need not agree. A rank is late by what its work takes
 * longer than that of the median rank. To see what a repair gains, the collectives are run again with the
 * late rank's work as short as that of the median rank; the gain is the difference in step time. It is not
 * the sum of the waits: if a rank is late once, the others may wait for it in several collectives one after
 * the other.
 *
 * Files: facts and chains (what is kept of a rank), image (in a file, and packed), meet (kernels of several
 * ranks that end together; stages of pipelines), model (collectives of all ranks), stages (which are longer),
 * run (of these, with repairs), late (who is late, by how much, and what is chance), suspects (who is late by
 * more than chance, and what it does longer), links (slow transfers), hosts (slow launches, and what late
 * nodes share), find (the findings), texts (in words), own (findings of single ranks, put together), left_out
 * (ranks that cannot be compared), served (steps of servers), sheets. across.h lists the files that look at
 * all ranks together, chains.h what they know about a rank. */
#pragma once

#include "analysis/collective/sheets.h"

#include "findings/findings.h"

/* ---- what is kept of a rank ---- */

/* One row of gt_collectives_of_rank. Times are those of the rank's schedule. */
typedef struct gt_rank_collective {
    int64_t ready_ns; /* when it could have started if the stream had been free */
    int64_t start_ns, end_ns;
    int64_t exposed_ns; /* how long nothing else ran, in the window */
    uint32_t base;      /* the rank's collective on whose end the work before it waited; GT_NONE */
    uint32_t stream;    /* of the schedule */
    int32_t step;       /* of its launch; -1: none */
    uint32_t in_window; /* 1: it started in the window */
} gt_rank_collective;

/* All kernels of one name. */
typedef struct gt_rank_kernel {
    uint32_t kernel, op; /* string ids of the facts; op: that launches it; may be GT_STR_NONE */
    double ns, count;    /* per step */
} gt_rank_kernel;

/* What decided when a collective was ready (chains.h). */
typedef enum gt_chain_kind {
    GT_CHAIN_COMPUTE,
    GT_CHAIN_HOST,
    GT_CHAIN_DATA,
    GT_CHAIN_COMMUNICATION,
    GT_CHAIN_IDLE,
    GT_CHAIN_KINDS
} gt_chain_kind;

/* What is before a link: nothing that is known, the end of a collective, or the chain of a collective. */
typedef enum gt_chain_joins { GT_JOINS_NOTHING, GT_JOINS_END, GT_JOINS_CHAIN } gt_chain_joins;

typedef struct gt_rank_link {
    int64_t from_ns;
    uint32_t parent; /* the collective that it joins, which starts before its own; GT_NONE */
    uint32_t first_piece;
    uint32_t piece_count;
    uint32_t joins; /* gt_chain_joins */
} gt_rank_link;

/* A step of the window, from its first op to the first op of the next step. */
typedef struct gt_rank_step {
    int64_t number; /* ProfilerStep#5 has 5; its place if the name has no number */
    int64_t start_ns, end_ns;
} gt_rank_step;

/* A finding of the rank's own trace. */
typedef struct gt_own_finding {
    uint32_t id, title, where, advice, evidence; /* string ids of the facts; where may be GT_STR_NONE;
                                                    evidence is joined by "; " */
    gt_confidence confidence;
    uint32_t is_gpu, unused;
    double gain_ns;
} gt_own_finding;

/* A step of a server. */
typedef struct gt_served_step {
    int64_t span_ns, busy_ns, comm_ns, experts_ns;
    int64_t requests, tokens, sk_sum; /* -1: unknown */
    uint32_t phase;                   /* gt_serving_phase */
    uint32_t first_comm, comm_count;  /* of served_comms */
    uint32_t unused;
} gt_served_step;

typedef enum gt_served_use {
    GT_SERVED_PLAIN,
    GT_SERVED_DISPATCH,
    GT_SERVED_COMBINE,
    GT_SERVED_USES
} gt_served_use;

/* A kernel of communication in it. */
typedef struct gt_served_comm {
    uint32_t kernel; /* string id of the facts */
    uint32_t use;    /* gt_served_use */
    int64_t ns;
} gt_served_comm;

/* A gt_trust_check that the rank's trace does not pass. */
typedef struct gt_rank_check {
    uint32_t id, text; /* string ids of the facts */
    gt_trust_level level;
    uint32_t unused;
    double value, warn, fail;
} gt_rank_check;

enum { GT_RANK_TIMES = 9 + 2 * GT_CAUSES };

/* Arrays without items may be NULL. image.c lists them all. */
typedef struct gt_rank_facts {
    gt_interner *strings; /* owned */
    gt_rank_collective *collectives;
    size_t collective_count;
    uint32_t *peers; /* by collective: of a send or receive, the other rank (gt_peer_rank); GT_NONE. NULL: all
                        are GT_NONE */
    size_t peer_count;
    size_t steps;      /* in the window: times below are per step */
    bool has_steps;    /* the trace has marked steps */
    uint32_t end_base; /* the collective on whose end the op that ends the window waited; GT_NONE */
    union {
        double times[GT_RANK_TIMES];
        struct {
            double start_ns, end_ns;    /* of the window, on the clock of the collectives */
            double step_ns, compute_ns; /* the window; time in which any op but a collective runs */
            double exposed_ns, idle_ns; /* in which only collectives run; in which nothing runs */
            double launch_ns;           /* host time per launch */
            double launch_error_ns;     /* its standard error */
            double own_gain_ns;         /* of all findings together, per step */
            double cause_ns[GT_CAUSES]; /* idle_ns by cause */
            double gap_ns[GT_CAUSES];   /* step_ns - compute_ns by what the next op waited for */
        };
    };
    gt_rank_step *step_times; /* the steps of the window that have ops; one if none are marked */
    size_t step_count;
    int64_t *step_numbers; /* of all steps, by the step of collectives: ProfilerStep#5 has 5; NULL: not all
                              names have one */
    size_t step_number_count;
    gt_rank_link *links; /* by collective; the last one, more than there are collectives, is the end of the
                            window. NULL: unknown */
    size_t link_count;
    uint64_t *pieces; /* of links, packed (chains.h) */
    size_t piece_count;
    uint32_t *piece_names; /* strings; pieces have places in this list */
    size_t piece_name_count, piece_name_capacity;
    gt_rank_kernel *kernels; /* without collectives */
    size_t kernel_count, kernel_capacity;
    gt_own_finding *findings;
    size_t finding_count;
    gt_trust_level trust; /* the verdict on the trace */
    gt_rank_check *checks;
    size_t check_count, check_capacity;
    gt_served_step *served; /* of a server's trace: its steps, by their starts on the GPU */
    size_t served_count;
    gt_served_comm *served_comms; /* step by step, by start */
    size_t served_comm_count, served_comm_capacity;
    char *device, *node; /* owned; "" if the trace does not say */
} gt_rank_facts;

/* What `peers` has of a kernel that sends to one rank, or receives from one. */
enum { GT_PEER_RECEIVES = 1U << 30 };
static inline uint32_t gt_peer_rank(uint32_t peer)
{
    return peer == GT_NONE ? GT_NONE : peer & ~(uint32_t)GT_PEER_RECEIVES;
}
static inline bool gt_peer_receives(uint32_t peer)
{
    return peer != GT_NONE && (peer & GT_PEER_RECEIVES) != 0;
}

/* A string of the facts; NULL for GT_STR_NONE. */
static inline const char *gt_rank_text(const gt_rank_facts *facts, uint32_t id)
{
    return id == GT_STR_NONE ? NULL : gt_interner_get(facts->strings, id).bytes;
}

/* `rows` are the rows of the trace from which gt_collectives_of_rank makes its table, in that order
 * (gt_collectives_find). `node` is the name of the machine, which may be NULL. */
gt_rank_facts *gt_rank_facts_new(const gt_findings *findings, const uint32_t *rows, size_t row_count,
                                 const char *node);
void gt_rank_facts_free(gt_rank_facts *facts); /* NULL does nothing */

/* The numbers of the steps of all collectives, by row of nccl_long, whose rows are in order of ranks; see
 * gt_collectives_number_by_steps. NULL if a rank with collectives has no numbered steps. The caller frees it.
 */
int64_t *gt_rank_facts_steps(const gt_rank_facts *const *facts, size_t rank_count, const gt_table *rows);

/* The same facts, packed: they are in the arena and have these strings, which must stay as long, and must not
 * be freed. The facts are taken over. */
gt_rank_facts *gt_rank_facts_pack(gt_rank_facts *facts, gt_arena *arena, gt_interner *strings);

/* The facts as an image (image.c). Their strings are added to `strings`, which the caller saves afterwards;
 * both must stay until the image is freed. */
void gt_rank_facts_save(const gt_rank_facts *facts, gt_interner *strings, gt_image *image);
/* `strings` are those that were loaded from the same image. NULL if it is damaged. */
gt_rank_facts *gt_rank_facts_load(const gt_image *image, const gt_interner *strings);

/* By how much the clock of each rank is ahead, in µs, as far as that is known (clocks.c); NULL if no two of
 * them are known to differ. The caller frees it. */
double *gt_rank_clock_offsets(const gt_collective_sync *sync);

/* ---- findings of all ranks ---- */

typedef struct gt_ranks_input {
    const gt_collective_sync *sync;    /* collectives of all ranks; their rows are in order of ranks */
    const gt_rank_facts *const *facts; /* by rank; NULL: unknown */
    size_t rank_count;
    size_t ran_count;      /* ranks that ran, by the traces: of those after rank_count nothing is known; 0 */
    int64_t gpus_per_node; /* if traces do not name their nodes; 0: unknown */
    double expected_bus_gbps; /* what large collectives should reach; 0: unknown */
    const bool *is_shifted;   /* by rank: its trace begins with another step than most, and its collectives
                                 were matched by the numbers of steps; NULL: none */
    const bool *lacks;        /* by rank: it lacks collectives in a step between others; NULL: none */
    const bool *is_uneven;    /* by rank: it has another number of collectives than most, and nothing says
                                 which ones are missing; NULL: none */
    const double *apart_s;    /* by rank: recorded so many seconds after most ranks, or before if negative; 0:
                                 together with them. NULL: all are */
} gt_ranks_input;

/* Why a rank is not compared with the others (left_out.c). */
typedef enum gt_rank_left_out {
    GT_COMPARED,
    GT_LEFT_OUT_NO_STEPS,    /* most ranks have marked steps */
    GT_LEFT_OUT_STEPS,       /* most ranks have none */
    GT_LEFT_OUT_LOST_STEP,   /* it lacks a mark between its first and its last step */
    GT_LEFT_OUT_MORE_STEPS,  /* it has one that most ranks lack */
    GT_LEFT_OUT_OTHER_STEPS, /* it has no step with the number of a step of others */
    GT_LEFT_OUT_COPY,        /* another rank has the same events */
    GT_LEFT_OUT_OTHER_TIME,  /* it was recorded long before or after most ranks */
    GT_LEFT_OUT_OTHER_RUN,   /* other times pass in it between the same collectives */
    GT_LEFT_OUT_COUNT
} gt_rank_left_out;

/* What one rank has to do with the waiting of all. Times are per step. */
typedef struct gt_rank_summary {
    bool known;                        /* it has facts and takes part in a collective */
    bool is_unusual;                   /* it does not show what is usual: it is late, as most ranks are */
    bool is_shifted, is_uneven, lacks; /* as in the input */
    gt_rank_left_out left_out;         /* if it is not GT_COMPARED, the rank is not known */
    double apart_s;                    /* as in the input */
    size_t node;                       /* 0 ... node_count - 1 */
    double late_ns;             /* by how much its work takes longer than the median rank's; never negative */
    double wait_ns;             /* in collectives, for other ranks */
    double exposed_wait_ns;     /* while nothing else ran */
    double last_pct;            /* of its collectives in which it came last */
    double blame_pct;           /* of all waiting that it causes by coming last */
    const gt_rank_facts *facts; /* borrowed */
} gt_rank_summary;

/* One row of the sheet. */
typedef struct gt_run_finding {
    char *id, *title, *where, *ranks, *evidence, *advice; /* owned; where may be NULL */
    gt_severity severity;
    gt_confidence confidence;
    bool is_gpu;
    bool is_of_ranks; /* it compares ranks, otherwise it is one that the traces of single ranks have */
    double gain_ns, gain_pct, score; /* of ranks: after the repairs before it */
    double alone_ns;                 /* the gain if nothing else is repaired */
    double late_ns;                  /* of straggler and slow_node */
    bool depends; /* the next finding is about others that are late by as much: both together gain */
    size_t place; /* in the order of repairs; of others: in the list of the rank whose words it has */
} gt_run_finding;

typedef struct gt_rank_findings {
    gt_run_finding *items; /* ranked: first those that compare ranks */
    size_t count, capacity;
    gt_rank_summary *ranks;
    size_t rank_count;
    size_t ran_count;  /* with those after them of which nothing is known; at least rank_count */
    char **node_names; /* owned */
    size_t node_count;
    bool nodes_known;         /* otherwise there is one */
    bool nodes_named;         /* by the traces; otherwise they are numbered: "node 1" */
    bool few_are_usual;       /* a few ranks need less time than most: the others are compared with these */
    const char *per;          /* "step" or "trace" */
    double step_ns;           /* the mean over ranks, and unfelt_ns */
    double unfelt_ns;         /* per step: delays that some ranks feel only after their windows (run.c) */
    double all_fixed_ns;      /* an estimate of the step time if all findings but hints were repaired */
    double link_gain_ns;      /* the part of it that faster links bring, beyond ranks and nodes */
    double wait_ns;           /* the mean wait of a rank */
    char *verdict;            /* owned; one line */
    char *critical;           /* owned; a sentence about the critical path; NULL: there is none */
    size_t segments_left_out; /* of critical_path_steps */
    size_t uncounted;         /* kernels that communication_matrix lacks */
    gt_table_list across;     /* owned; the sheets of across.h, until they are added to a report */
    size_t disagreeing;       /* collectives that are skipped because their ranks disagree on what they are */
    bool *has_disagreeing;    /* owned; by rank: one of these is its own */
    char *not_compared;       /* owned; communication that the model leaves out: "12 % of the time in
                                 communication (broadcast)"; NULL: hardly any */
    char *other_runs;         /* owned; ranks whose traces may be of another run: "4-7"; NULL: none */
} gt_rank_findings;

/* NULL if there are no facts of at least two ranks that share a collective. */
gt_rank_findings *gt_ranks_find(const gt_ranks_input *input);
/* "24.0 h before" for -86400; the caller frees it. */
char *gt_rank_describe_apart(double apart_s);
/* Why ranks are left out, if that is why there are no findings; NULL otherwise. The caller frees it. */
char *gt_ranks_all_left_out(const gt_ranks_input *input);
void gt_rank_findings_free(gt_rank_findings *findings); /* NULL does nothing */

/* Adds overview, findings, trust, rank_causes and the sheets of across.h, which it takes from the findings.
 * `strings` must be those of the table that gt_ranks_find got. */
void gt_ranks_add_sheets(gt_rank_findings *findings, gt_interner *strings, gt_table_list *tables);

/* serving_rank_steps (served.c); without rows unless two ranks have steps of a server. `facts` are packed, by
 * rank; NULL: unknown. The caller owns the table. */
gt_table *gt_serving_rank_steps(const gt_rank_facts *const *facts, size_t count, gt_interner *strings);
