/* Copying the events of ranks into a text (fuse.c writes the fused trace with it, fuse_parts.c the part of
 * one rank): batches of events are rewritten on the threads of the text's file, and finished in order. */
#pragma once

#include "output/file.h"
#include "trace/store.h"
#include "transform/fuse_event.h"

/* ---- options and results ---- */

typedef struct gt_fuse_parts gt_fuse_parts;

typedef struct gt_fuse_options {
    const char *const *dropped; /* categories of events to drop */
    size_t dropped_count;
    bool ids_of_all_ranks; /* use a power of ten larger than any id of any trace; reads each trace twice */
    bool align_times;      /* by the traces' baseTimeNanoseconds; reads each trace twice */
    bool keep_damaged;     /* keep the events before the damage of a damaged trace */
    unsigned threads;
    const struct gt_fuse_parts *parts; /* of other processes (gt_fuse_parts_make); NULL: none */
} gt_fuse_options;

typedef struct gt_fuse_result {
    size_t ranks, processes;
    uint64_t events_read, events_written;
} gt_fuse_result;

/* ---- how far ids and times are shifted (fuse_plan.c) ---- */

typedef struct gt_fuse_plan {
    gt_fuse_change of_rank_one; /* ids of rank r are shifted r times as far */
    int64_t *shift_ns;          /* by rank; owned; NULL: times are not shifted */
} gt_fuse_plan;

bool gt_fuse_plan_make(gt_fuse_plan *plan, char *const *paths, size_t rank_count,
                       const gt_fuse_options *options, gt_error *error);
gt_fuse_change gt_fuse_plan_of_rank(const gt_fuse_plan *plan, size_t rank);
void gt_fuse_plan_free(gt_fuse_plan *plan);

/* ---- processes of the fused trace ---- */

typedef struct gt_fuse_process {
    size_t rank;
    gt_wide_int id, moved_id;
    bool has_gpu_work;
} gt_fuse_process;

typedef struct gt_fuse_processes {
    gt_fuse_process *items;
    size_t count, capacity;
    gt_map places; /* of the processes of one rank, by id */
} gt_fuse_processes;

/* The process with this id of the rank of the change; it is added if there is none. */
gt_fuse_process *gt_fuse_processes_find(gt_fuse_processes *list, const gt_fuse_change *change,
                                        gt_wide_int id);
void gt_fuse_processes_free(gt_fuse_processes *list);

/* ---- copying ---- */

typedef struct gt_fuse_copier {
    const gt_fuse_options *options;
    char *const *paths;
    gt_text_file *file;
    gt_fuse_change change; /* of the rank being read */
    bool continues;        /* events were written before those of this file */
    struct batch *filling; /* NULL: none */
    struct batch **idle;
    size_t idle_count, idle_capacity;
    gt_fuse_processes processes;

    size_t taken_rank;      /* of the batch finished last; begins as SIZE_MAX */
    uint64_t taken_events;  /* of that rank */
    bool taken_rank_failed; /* the rest of that rank is dropped */
    gt_error error;
    bool has_stopped;
    gt_fuse_result *result;
} gt_fuse_copier;

/* Copies the events of c->change.rank; *base gets the base time of its trace. Failures in the events of a
 * rank are known when its batches are finished, possibly only when the next rank is read. */
void gt_fuse_copy_rank(gt_fuse_copier *c, gt_base_time *base);
void gt_fuse_copier_free(gt_fuse_copier *c); /* not its file */

/* ---- parts that other processes have made (fuse_parts.c) ---- */

/* What a rank's part is, and what else is known of the rank. */
typedef struct gt_fuse_part {
    char *path; /* owned; NULL: none */
    gt_text_part facts;
    bool continues; /* it was made as one that follows other events */
    gt_fuse_result counts;
    gt_base_time base;
    gt_fuse_processes processes;
    gt_error error; /* why there is none; "": nothing is wrong */
} gt_fuse_part;

struct gt_fuse_parts {
    gt_fuse_plan plan;
    gt_fuse_part *ranks;
    size_t count;
};
