/* Internal to src/findings/ranks: from late ranks to findings in words (texts.c) and in order (own.c). */
#ifndef GT_FINDINGS_RANKS_FIND_H
#define GT_FINDINGS_RANKS_FIND_H

#include "base/buffer.h"
#include "findings/ranks/model.h"

enum { GT_LATE_GROUP_MAX = 8 };

typedef struct gt_late_member {
    size_t index, rank; /* rank or node; the rank itself, or a typical one of the node */
    double late_ns;
    gt_late_cause causes[GT_LATE_CAUSES_MAX];
    size_t cause_count;
    bool in_node; /* its node is late, too: causes are compared with the other ranks of that */
} gt_late_member;

/* Ranks or nodes that are one finding; mostly one. */
typedef struct gt_late_group {
    bool is_node;
    gt_late_member members[GT_LATE_GROUP_MAX];
    size_t count;
    double late_ns, gain_ns; /* per step */
    double blame;            /* the part of all waiting that they cause, 0 to 1 */
} gt_late_group;

/* texts.c */
void gt_add_late_finding(gt_rank_findings *found, const gt_rank_model *model, const gt_late_group *group);
void gt_add_link_finding(gt_rank_findings *found, const gt_slow_links *links);
char *gt_rank_findings_verdict(const gt_rank_findings *found);
/* Adds an item of joined evidence, which contains no "; ". */
void gt_rank_add_item(gt_buffer *text, const char *item);
/* "0-3, 5"; "all" if it is all that are known. The caller frees it. */
char *gt_rank_list(const gt_rank_findings *found, const bool *has_rank);

/* own.c: findings of the ranks' own traces, put together; and the order of all findings. */
void gt_add_own_findings(gt_rank_findings *found);
void gt_rank_findings_sort(gt_rank_findings *found);
/* Sets severity, gain_pct and score, and appends the finding, which takes over its strings. */
void gt_add_run_finding(gt_rank_findings *found, gt_run_finding finding);

#endif
