/* Internal to src/findings/ranks: the collectives of all ranks as one schedule that can be run again.
 *
 * A collective has one entry per rank. In a run
 *
 *     ready of an entry   = end of its base + work - what is repaired of its lateness
 *     start of an entry   = max(ready, end of the collective before it on its stream) + lag
 *     end of a collective = latest start of its entries + transfer time
 *
 * Without repairs this gives back the recorded ends, up to differences between ranks in the end of one
 * collective. One run is linear in entries.
 *
 * Everything is measured over the windows of the traces: from the first op of the first step to the first op
 * of the last step. What comes before the first op, such as loading data, is not recorded in the window, but
 * the same time of the last step is, after the last collective: the tail. So the tail is put before the first
 * op, and the window becomes one from the end of a collective to the end of a collective:
 *
 *     window              |first op ... coll 1|data, first op ... coll 2|data|first op of the last step
 *     as it is run   |data|first op ... coll 1|data, first op ... coll 2|
 *
 * Otherwise the delays of two ranks would count once too often, if one is late before the first op of a step
 * and the other one after it. */
#pragma once

#include "findings/ranks/ranks.h"

typedef struct gt_rank_entry {
    uint32_t rank;
    uint32_t number;     /* among the collectives of its rank */
    uint32_t collective; /* of the model */
    uint32_t base;       /* collective on whose end the work waited; GT_NONE: the start of the window */
    uint32_t reference;  /* collective from whose end on ranks are compared: the base of most ranks */
    uint32_t previous;   /* collective before it on its stream; GT_NONE */
    int32_t step;
    int64_t ready_ns, start_ns, end_ns, exposed_ns; /* as in the facts */
    bool in_window;                                 /* of its rank */
    bool is_measured;                               /* it is in the window that is run */
    bool compared;                                  /* late_ns is known */
    bool is_of_class;   /* it was compared over its class, from the end of the base on */
    bool follows_peers; /* its base is another one, but it is as soon after theirs as they are */
    double work_ns;     /* from the end of the base until it was ready; without base, its ready time on the
                           common clock */
    double compared_ns; /* the same from the end of the reference; without, from the tail that is put before
                           the window */
    double lag_ns;
    double late_ns;      /* of work_ns, more than the median rank's; may be negative */
    double node_late_ns; /* the part that all ranks of its node have; 0 unless the node is slow */
} gt_rank_entry;

typedef struct gt_rank_model {
    size_t rank_count, count; /* collectives */
    size_t *begins;           /* collective i has entries begins[i] to begins[i + 1] - 1, in order of ranks */
    gt_rank_entry *entries;
    uint32_t *order;     /* in which collectives can be run: each after those of its ranks before it */
    double *transfer_ns; /* by collective: the shortest duration */
    uint32_t *rows;      /* by collective: the row of nccl_long of its first entry */
    uint32_t *class_of;  /* by collective: those of one class are at the same place of the program */
    size_t class_count;
    bool *is_pair;          /* by collective: a send and its receive */
    uint32_t *stage_of;     /* by rank: its stage of a pipeline (meet.c); ranks of one do the same work */
    size_t stage_count;     /* 1: there are no pipelines */
    size_t pipeline_stages; /* the first ones, which follow each other; the others are of other ranks; 0 */
    size_t *peers_begins;   /* list i of entries of one class and stage is peers[peers_begins[i]] ... */
    uint32_t *peers;
    size_t peers_count;
    size_t *rank_begins; /* by rank: entries in order of time are rank_entries[rank_begins[rank] ...] */
    uint32_t *rank_entries;
    uint32_t *rank_collectives; /* the collectives of these entries */
    uint32_t *component; /* by rank: the same one for ranks that collectives connect, directly or through
                            others; GT_NONE: it has no collective */
    double *steps;       /* by rank: in its window */
    double *tail_ns;     /* by rank: from the end of `to` to the end of its window */
    double *begin_ns;    /* by rank: when the window with the tail before it begins, on the common clock */
    double start_ns;     /* the earliest start of a window, on the common clock */
    uint32_t *from, *to; /* by rank: the collectives at whose ends the window that is run begins and ends;
                            from: GT_NONE if it begins at begin_ns; to: GT_NONE if the rank has none */
    gt_rank_entry *ends; /* the ends of windows, of ranks that have a base there; by base and rank: the tail
                            is their work */
    size_t end_count;
    uint32_t *end_of; /* by rank: its place in ends; GT_NONE */
    bool has_steps;
    bool by_latest; /* the step time is not the mean over ranks (run.c) */
} gt_rank_model;

gt_rank_model *gt_rank_model_new(const gt_ranks_input *input);
void gt_rank_model_free(gt_rank_model *model);

/* How long a rank was in a collective. */
static inline double gt_rank_entry_dur(const gt_rank_entry *entry)
{
    return (double)(entry->end_ns - entry->start_ns);
}

/* The entries of a rank in order of time. */
static inline size_t gt_rank_entry_count(const gt_rank_model *model, size_t rank)
{
    return model->rank_begins[rank + 1] - model->rank_begins[rank];
}
static inline gt_rank_entry *gt_rank_entry_at(const gt_rank_model *model, size_t rank, size_t i)
{
    return &model->entries[model->rank_entries[model->rank_begins[rank] + i]];
}
/* The entry of a rank in a collective; NULL if it has none. */
const gt_rank_entry *gt_rank_entry_of(const gt_rank_model *model, uint32_t collective, uint32_t rank);
/* Whether all its ranks do the same work: it is no send, and they are of one stage. */
bool gt_rank_is_of_stage(const gt_rank_model *model, size_t collective);
/* The most frequent one, of equally frequent ones the latest; GT_NONE only if more than half have none. Sorts
 * them. */
uint32_t gt_most_frequent_index(uint32_t *indexes, size_t count);

/* ---- run.c ---- */

/* What would be different. {0} changes nothing. */
typedef struct gt_rank_repair {
    const bool *ranks;         /* by rank: not late any more, beyond what its node is; NULL: none */
    const bool *nodes;         /* by node: the same for what all its ranks are late; NULL: none */
    const size_t *node_of;     /* by rank; needed with nodes */
    const double *transfer_ns; /* by collective; NULL: as recorded */
    const double *work_factor; /* by rank: what its works are multiplied by; NULL: 1 */
} gt_rank_repair;

/* The first run, without repairs: the step time in ns. `unfelt_ns` becomes what this is more than the mean
 * over ranks, because not all of them have felt all delays in their windows; 0 if that is little. */
double gt_rank_model_begin(gt_rank_model *model, double *unfelt_ns);

/* The step time in ns, as gt_rank_model_begin defines it. blame_ns[rank], if not NULL, becomes what the other
 * ranks wait in all collectives in which this rank comes last. */
double gt_rank_model_run(const gt_rank_model *model, const gt_rank_repair *repair, double *blame_ns);

/* The part of all ranks that collectives connect with these, 0 to 1. A repair that makes the mean step of all
 * ranks shorter makes that of these ranks shorter by this many times more. */
double gt_rank_model_connected(const gt_rank_model *model, const bool *has_rank);

/* Sets has_rank of ranks for which much more or less time passes between two collectives than
 * for most ranks that take part in both. In one run that is impossible, because ranks leave a collective
 * together. Returns whether there are any. */
bool gt_rank_model_other_runs(const gt_rank_model *model, const gt_ranks_input *input, bool *has_rank);

/* ---- late.c ---- */

/* Lateness of entries, and what each rank has to do with the waiting. */
void gt_rank_late_find(gt_rank_model *model, gt_rank_summary *ranks); /* needs their nodes */
/* The lateness alone, again: after is_unusual of ranks has changed. */
void gt_rank_late_compare(gt_rank_model *model, gt_rank_summary *ranks);
/* The lateness of a rank per step, without what its node is late; may be negative. */
double gt_rank_late_ns(const gt_rank_model *model, size_t rank);
/* The same at the last work after each base, with its node's: clearly negative if the rank is fast. */
double gt_rank_last_late_ns(const gt_rank_model *model, size_t rank);

/* By how much a rank must be late per step so that it is not by chance. */
double gt_rank_least_late(const gt_rank_model *model, const gt_rank_summary *ranks, double step_ns);

/* The lower median: of an even number of values, the smaller one of the two in the middle. Reorders the
 * values; 0 if there are none. */
double gt_rank_median(double *values, size_t count);

/* What is usual: the lower median over nodes of the lower median of each node. So half of the nodes can be
 * slow, and in the others half of the ranks. Reorders the values; 0 if there are none. */
typedef struct gt_rank_value {
    size_t node;
    double value;
} gt_rank_value;
double gt_rank_usual(gt_rank_value *values, size_t count);

/* ---- suspects.c: what does a rank do longer than the median rank? ---- */

typedef enum gt_late_kind { GT_LATE_UNKNOWN, GT_LATE_HOST, GT_LATE_KERNEL, GT_LATE_ALL_KERNELS } gt_late_kind;

typedef struct gt_late_cause {
    gt_late_kind kind;
    gt_cause cause;          /* of GT_LATE_HOST */
    const char *kernel, *op; /* of GT_LATE_KERNEL; borrowed from the facts; op may be NULL */
    double ns;               /* more than the median rank, per step */
    double own_ns, usual_ns;
    double usual_launch_ns; /* of GT_LATE_HOST: host time per launch of the usual rank */
} gt_late_cause;

enum { GT_LATE_CAUSES_MAX = 4 };

/* What a rank does longer than the usual one, per step: gaps by cause, and kernels. */
enum { GT_RANK_DIFFERENCES = GT_CAUSES + 1 };

/* ---- links.c ---- */

typedef struct gt_slow_links {
    double *transfer_ns;      /* by collective of the model: if the link were not slow; owned */
    bool *has_rank;           /* by rank: it takes part in a slow collective; owned */
    size_t slow_count, count; /* slow collectives, and all that were compared */
    double bus_gbps, usual_gbps;
    double slower; /* by which part transfers take longer: 0.5 is 50 % */
    gt_confidence confidence;
    const char *compared_with; /* "than in other process groups" */
    bool is_of_table;          /* compared with the usual network of the GPU */
    char *what;                /* the slowest: "allreduce of 32.0 MiB"; owned */
} gt_slow_links;

/* False if no link is slow, or if the repair would gain less than `least_ns`, both with late ranks as they
 * are and as `repaired` says; then there is nothing to free. `repaired` also has the nodes of ranks. */
bool gt_slow_links_find(const gt_rank_model *model, const gt_ranks_input *input,
                        const gt_rank_repair *repaired, double least_ns, gt_slow_links *found);
void gt_slow_links_free(gt_slow_links *links);

/* ---- while the model is made ---- */

typedef struct gt_model_maker {
    const gt_ranks_input *input;
    gt_rank_model *model;
    size_t *first_rows;     /* by rank: its first row of nccl_long; rank_count + 1 */
    uint32_t *entry_of_row; /* by row of nccl_long; GT_NONE */
    uint32_t *leaders;      /* by rank: a rank whose clock this one's is known in, or itself */
    double *offsets_ns;     /* by rank: its clock + this = the clock of its leader */
} gt_model_maker;

/* The leader of a rank; *offset becomes what its clock differs from the leader's. */
uint32_t gt_maker_leader(gt_model_maker *m, uint32_t rank, double *offset);
/* A base of a rank as a collective of the model; one that is not in the model has a base in turn. */
uint32_t gt_maker_base(const gt_model_maker *m, uint32_t rank, uint32_t number);
/* Kernels of different ranks that end together (meet.c). */
typedef struct gt_meetings {
    size_t count, capacity;
    size_t collectives; /* the first ones; the others are a send and its receive */
    size_t *ends;       /* meeting i has rows[ends[i - 1]] to rows[ends[i] - 1], in order of ranks */
    uint32_t *rows;     /* of nccl_long */
    size_t row_count, row_capacity;
} gt_meetings;

/* unnamed.c: whether more ranks are in a collective of the matches than in its group, whose ranks are
 * unknown, and adding such collectives of groups that can be told. */
bool gt_maker_is_unnamed(const gt_model_maker *m, size_t collective);
void gt_maker_add_unnamed(const gt_model_maker *m, gt_meetings *meetings);

/* meet.c: also sets the stages of the model. */
gt_meetings gt_maker_find_meetings(gt_model_maker *m);
void gt_meetings_free(gt_meetings *meetings);
/* run.c: sets what the model has by rank, and the work of all entries. */
void gt_maker_find_windows(gt_model_maker *m);
