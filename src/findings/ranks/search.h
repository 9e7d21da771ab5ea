/* Internal to src/findings/ranks: the state of the search for findings about ranks, which find.c and
 * suspects.c share. */
#ifndef GT_FINDINGS_RANKS_SEARCH_H
#define GT_FINDINGS_RANKS_SEARCH_H

#include "findings/ranks/find.h"

typedef struct gt_suspect {
    bool is_node;
    size_t index; /* rank or node */
    size_t rank;  /* the rank, or one of the node that is as late as most of them */
    double late_ns;
    gt_late_cause cause; /* the largest */
} gt_suspect;

typedef struct gt_late_search {
    const gt_ranks_input *input; /* without the facts of ranks that are left out */
    gt_ranks_input compared;     /* what it points to */
    const gt_rank_facts **facts; /* of that; owned */
    gt_rank_model *model;
    gt_rank_findings *found;
    gt_kernel_times *times;
    size_t *node_of;
    bool *repaired_ranks, *repaired_nodes;
    bool *late_nodes;          /* suspected */
    bool *shown_nodes;         /* a finding says that they or ranks of them are late */
    bool *slow_hosts;          /* by rank: a finding says that it is late because its host launches slowly */
    const double *transfer_ns; /* of repaired links; NULL: not repaired */
    double *blame_ns;
    double model_ns; /* the step time of the model without repairs */
    double least_ns; /* what is late and no chance */
    gt_suspect *suspects;
    size_t suspect_count, suspect_capacity;
} gt_late_search;

/* ---- suspects.c ---- */

/* Finds them, the latest first, and what chance, usual times and late nodes are. */
void gt_search_suspects(gt_late_search *s);
/* Sets the causes of a late rank, the largest until nearly all is explained. */
void gt_search_causes(const gt_late_search *s, gt_late_member *member);
/* How long a rank does anything longer than usual; by what. */
double gt_search_explained_ns(const gt_late_search *s, size_t rank, double differences[GT_RANK_DIFFERENCES]);

#endif
