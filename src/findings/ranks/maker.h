/* Internal to src/findings/ranks: what model.c, bases.c and windows.c share while they make the model. */
#ifndef GT_FINDINGS_RANKS_MAKER_H
#define GT_FINDINGS_RANKS_MAKER_H

#include "findings/ranks/model.h"

typedef struct gt_model_maker {
    const gt_ranks_input *input;
    gt_rank_model *model;
    size_t *first_rows;     /* by rank: its first row of nccl_long; rank_count + 1 */
    uint32_t *entry_of_row; /* by row of nccl_long; GT_NONE */
    uint32_t *leaders;      /* by rank: a rank whose clock this one's is known in, or itself */
    double *offsets_ns;     /* by rank: its clock + this = the clock of its leader */
} gt_model_maker;

/* model.c: the leader of a rank; *offset becomes what its clock differs from the leader's. */
uint32_t gt_maker_leader(gt_model_maker *m, uint32_t rank, double *offset);

/* ---- bases.c ---- */

/* The entry of a rank in a collective; NULL if it has none. */
const gt_rank_entry *gt_rank_entry_of(const gt_rank_model *model, uint32_t collective, uint32_t rank);
/* The most frequent one, of equally frequent ones the latest; GT_NONE only if more than half have none. Sorts
 * them. */
uint32_t gt_most_frequent_index(uint32_t *indexes, size_t count);
/* A base of a rank as a collective of the model; one that is not in the model has a base in turn. */
uint32_t gt_maker_base(const gt_model_maker *m, uint32_t rank, uint32_t number);
/* Sets base, which is a collective of the rank before, reference and previous of all entries. `places` has
 * the place of each collective in the order. */
void gt_maker_choose_bases(gt_model_maker *m, const uint32_t *places);

/* ---- classes.c ---- */

/* Sets the classes of the model. Needs rank_entries. */
void gt_maker_find_classes(gt_model_maker *m);

/* ---- windows.c ---- */

/* Sets what the model has by rank, and the work of all entries. */
void gt_maker_find_windows(gt_model_maker *m);

#endif
