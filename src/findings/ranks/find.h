/* Internal to src/findings/ranks: from late ranks to findings in words (texts.c) and in order (own.c). */
#pragma once

#include "findings/ranks/model.h"

enum { GT_LATE_GROUP_MAX = 8, GT_NAMED_MAX = 4 }; /* described; named one by one */

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
    gt_late_member members[GT_LATE_GROUP_MAX]; /* the first ones */
    size_t count, total;                       /* of `members`, and of the whole group */
    double late_ns, least_late_ns;             /* per step: of the latest one and of the others */
    double gain_ns, alone_ns;                  /* per step: after the repairs before, and without them */
    double blame;                              /* the part of all waiting that they cause, 0 to 1 */
    bool is_certain;                           /* they are late by far more than chance */
    bool depends;   /* others are late by as much: only all repairs together gain */
    bool *has_rank; /* by rank: it is one of the group or on a node of it */
} gt_late_group;

/* ---- hosts.c: hosts that launch slowly, although no rank is late because of that ---- */

/* Ranks whose hosts are slower by about as much. */
typedef struct gt_slow_host_group {
    size_t rank, count;         /* the slowest one; how many there are */
    double slower;              /* by which part: 0.5 is 50 % */
    double launch_ns, usual_ns; /* host time per launch */
    bool *has_rank;             /* by rank; owned */
} gt_slow_host_group;

enum { GT_SLOW_HOSTS_MAX = 4 };
typedef struct gt_slow_hosts {
    gt_slow_host_group items[GT_SLOW_HOSTS_MAX]; /* the slowest first */
    size_t count;
} gt_slow_hosts;

/* `usual_ns` is what a launch usually takes. Ranks with has_finding are skipped. */
void gt_slow_hosts_find(const gt_rank_findings *found, double usual_ns, const bool *has_finding,
                        gt_slow_hosts *list);
void gt_slow_hosts_free(gt_slow_hosts *list);

/* Adds to late ranks and nodes what the names of their nodes share. */
void gt_add_shared_place(gt_rank_findings *found, const bool *is_late);
void gt_add_host_finding(gt_rank_findings *found, const gt_slow_host_group *group, double gain_ns,
                         double alone_ns);

/* ---- links.c ---- */

void gt_add_link_finding(gt_rank_findings *found, const gt_slow_links *links, double gain_ns,
                         double alone_ns);

/* ---- the state of the search, which find.c and suspects.c share ---- */

typedef struct gt_suspect {
    bool is_node;
    size_t index; /* rank or node */
    size_t rank;  /* the rank, or one of the node that is as late as most of them */
    double late_ns;
    gt_late_cause cause; /* the largest */
} gt_suspect;

/* Kernel times of all ranks, sorted so that what is usual of each kernel can be found. */
typedef struct gt_kernel_times gt_kernel_times;
void gt_kernel_times_free(gt_kernel_times *times);

typedef struct gt_late_search {
    const gt_ranks_input *input; /* without the facts of ranks that are left out */
    gt_ranks_input compared;     /* what it points to */
    const gt_rank_facts **facts; /* of that; owned */
    gt_rank_model *model;
    gt_rank_findings *found;
    gt_kernel_times **times; /* by stage */
    double usual_launch_ns;  /* the host time per launch of the usual rank */
    size_t *node_of;
    bool *repaired_ranks, *repaired_nodes;
    bool *late_nodes;          /* suspected */
    bool *shown_nodes;         /* a finding says that they or ranks of them are late */
    bool *slow_hosts;          /* by rank: a finding says that it is late because its host launches slowly */
    const double *transfer_ns; /* of repaired links; NULL: not repaired */
    double *work_factor, *stage_transfer_ns; /* of stages made equal (stages.c); NULL: they are not; owned */
    double *blame_ns;
    double model_ns; /* the step time of the model without repairs */
    double least_ns; /* what is late and not by chance */
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

/* ---- stages.c ---- */

/* Adds the finding of a stage of a pipeline that takes longer than the others, and repairs it. */
void gt_search_stages(gt_late_search *s);

/* ---- texts.c ---- */

void gt_add_late_finding(gt_rank_findings *found, const gt_rank_model *model, const gt_late_group *group);
/* Adds an item of joined evidence, which contains no "; ". */
void gt_rank_add_item(gt_buffer *text, const char *item);
/* "0-3, 5". The caller frees it. */
char *gt_rank_ranges(const bool *has_rank, size_t count);
/* The same; "all" if it is all that are known. */
char *gt_rank_list(const gt_rank_findings *found, const bool *has_rank);

/* The nodes of the ranks: "a", "a and b", "a, b and c". The caller frees it. */
char *gt_rank_list_nodes(const gt_rank_findings *found, const bool *has_rank);
/* The first line. The caller frees it. */
char *gt_rank_findings_verdict(const gt_rank_findings *found);

/* sheets.c: how many nodes have ranks that are compared. */
size_t gt_rank_nodes(const gt_rank_findings *found);

/* left_out.c: sets left_out of ranks that cannot be compared with the others. */
void gt_ranks_leave_out(gt_rank_findings *found);
/* How many ranks are left out for this reason, which ones, and a sentence without a full stop; both are NULL
 * if there are none. The caller frees them. */
size_t gt_ranks_left_out(const gt_rank_findings *found, gt_rank_left_out why, char **ranks, char **text);
/* The sentences of all reasons, joined by "; "; NULL: no rank is left out. The caller frees it. */
char *gt_ranks_all_sentences(const gt_rank_findings *found);
/* Whether the rank did not run together with most others, or may be another one: nothing about it can be
 * trusted. */
bool gt_rank_is_of_other_run(gt_rank_left_out why);
/* The collectives without the ranks of other runs; false if there are no such ranks. The
 * caller frees both. */
bool gt_rank_sync_of_one_run(const gt_rank_findings *found, const gt_collective_sync *sync,
                             gt_collective_sync *own, gt_collective_matches *matches);

/* own.c: findings of the ranks' own traces, put together; and the order of all findings. */
void gt_add_own_findings(gt_rank_findings *found);
void gt_rank_findings_sort(gt_rank_findings *found);
/* Sets severity, gain_pct and score, and appends the finding, which takes over its strings. */
void gt_add_run_finding(gt_rank_findings *found, gt_run_finding finding);
