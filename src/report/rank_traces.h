/* The collectives of many ranks: one trace a rank, read on all cores, and only the collectives kept. */
#ifndef GT_REPORT_RANK_TRACES_H
#define GT_REPORT_RANK_TRACES_H

#include "report/extra.h"

typedef struct gt_rank_traces {
    gt_interner *strings; /* owned */
    gt_table
        *rows; /* owned; as gt_collectives_of_rank makes them, of all ranks that could be read, by rank */
    size_t rank_count;
    char **problems;     /* by rank: a sentence where it could not be read, else NULL */
    size_t bad_count;    /* ranks with a problem */
    size_t events;       /* in all files */
    gt_table_list extra; /* owned; the sheets of extra.h of all those ranks, where they were asked for */
    size_t devices;      /* GPUs that the first rank's trace names; 0 where it names none */
} gt_rank_traces;

/* paths[rank] is NULL where the rank has no file: then problems[rank] is "rank N: no trace". With `extra`,
 * each trace is read once more, whole, for the sheets of extra.h; else that is NULL. */
void gt_rank_traces_read(gt_rank_traces *traces, char *const *paths, size_t rank_count,
                         const gt_hta_options *extra, unsigned threads);
void gt_rank_traces_free(gt_rank_traces *traces);

#endif
