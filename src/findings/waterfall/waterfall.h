/* Why does a step of one trace take longer than a step of another? The answer adds up:
 *
 *     step time of A = 38.5 ms
 *       idle: data          + 45.0        slower: aten::mm   + 1.2        vanished: aten::cat   - 2.1   ...
 *     step time of B = 82.6 ms
 *
 *     parts.c     the step of one trace as parts whose times add up to it: from the trace, from another
 *                 process or, by category, from the sheet balance of a report
 *     match.c     which parts of both traces belong together, and what each pair contributes
 *     sheets.c    the sheets waterfall and waterfall_parts
 *
 * All times are whole nanoseconds per step, so sums are exact. */
#pragma once

#include "findings/idle.h"
#include "table/table.h"

/* ---- one trace ---- */

typedef enum gt_part_kind {
    GT_PART_KERNEL,
    GT_PART_CATEGORY, /* all kernels of a category: reports do not say more */
    GT_PART_COMMUNICATION,
    GT_PART_COPY,
    GT_PART_IDLE
} gt_part_kind;

/* What the GPU did, or did not do, for a part of the step. */
typedef struct gt_step_part {
    uint8_t kind;         /* gt_part_kind */
    uint32_t op;          /* of kernels: the op that launched it; GT_STR_EMPTY: none is known */
    uint32_t name;        /* kernel, category, collective, copy, or cause of idle time */
    uint32_t normal_name; /* of kernels: without numbers and hashes that differ from run to run */
    uint32_t category;    /* of kernels: "GEMM"; GT_STR_NONE: one that says too little to match by it */
    uint32_t site;        /* of idle time: where in the program most of it is caused; GT_STR_NONE: unknown */
    int64_t ns;           /* exclusive time (exclusive.h) or idle time per step */
    int64_t hidden_ns;    /* per step, in which it ran, but the time counted for another op */
    uint64_t calls;       /* in the window */
    uint64_t op_calls;    /* of kernels: how many of them were the first of their op */
} gt_step_part;

/* The calls of a kernel by the arguments of its op: a kernel that is called for other tensors is not slower.
 */
typedef struct gt_part_shape {
    uint32_t part;  /* index */
    uint32_t shape; /* dims and strides; GT_STR_EMPTY: not recorded */
    uint32_t types; /* of the arguments; likewise */
    int64_t ns;     /* in the window, hidden time included */
    uint64_t calls, op_calls;
} gt_part_shape;

typedef struct gt_step_parts {
    gt_interner *strings; /* owned, so that the trace is no longer needed */
    gt_step_part *items;
    size_t count, capacity;
    gt_part_shape *shapes; /* of kernels */
    size_t shape_count, shape_capacity;
    double *times_ns; /* of the steps of the window, one after the other (gt_step_time_ns) */
    size_t time_count;
    int64_t step_ns; /* the window's length per step, rounded; the sum of all parts */
    size_t steps;    /* in the window */
    bool has_steps;  /* the trace has steps; otherwise all of it is one */
    bool has_calls;  /* calls are counted */
} gt_step_parts;

/* Divides the window of a trace. Times per step are rounded so that they add up; each is off by less than a
 * nanosecond. */
gt_step_parts *gt_step_parts_new(const gt_schedule *schedule, const gt_idle *idle);
/* The same from the sheets balance and overview, which may come from a file. NULL if they are not what
 * findings/sheets.c writes. */
gt_step_parts *gt_step_parts_of_balance(const gt_table *balance, const gt_table *overview);
/* Gives a part or a shape the string ids of another interner. */
void gt_step_part_move(gt_step_part *part, const gt_interner *from, gt_interner *to);
void gt_part_shape_move(gt_part_shape *shape, const gt_interner *from, gt_interner *to);
void gt_step_parts_free(gt_step_parts *parts); /* accepts NULL */

/* The parts as an image, and back. Strings are added to `strings`, which the caller saves;
 * NULL parts add nothing and are loaded as NULL. False if the image is damaged. `strings` of the second are
 * those that were loaded from the image; they need not outlive the parts. */
void gt_step_parts_save(const gt_step_parts *parts, gt_interner *strings, gt_image *image);
bool gt_step_parts_load(const gt_image *image, const gt_interner *strings, gt_step_parts **parts);

/* The name of a kernel without what differs from one build or run to the next: the number at the end of an
 * Inductor name, Triton's specialisation ("_0d1d2de"), a hash, the solution of a Tensile GEMM. A string id.
 */
uint32_t gt_kernel_normal_name(gt_interner *strings, uint32_t name);

/* ---- both traces ---- */

/* How the parts of a pair were found to belong together, in the order in which it is tried. */
typedef enum gt_part_match {
    GT_MATCH_KERNEL,       /* same op, same kernel; or the same collective, copy or cause */
    GT_MATCH_NORMAL_NAME,  /* same op, same normal name */
    GT_MATCH_OP,           /* same op and category, other kernels: the op's kernels were replaced */
    GT_MATCH_KERNEL_ALONE, /* another op, same kernel */
    GT_MATCH_NORMAL_ALONE, /* another op, same normal name */
    GT_MATCH_CATEGORY,     /* another op of the same category, such as another kind of attention */
    GT_MATCH_NONE,         /* only in one trace */
    GT_PART_MATCHES
} gt_part_match;

/* Parts of both traces that belong together. */
typedef struct gt_part_pair {
    uint8_t kind, match;
    uint32_t what; /* op, category, kernel, collective, copy or cause */
    /* The longest kernel, or the site of idle time; GT_STR_NONE: the trace has none. */
    uint32_t a_detail, b_detail;
    uint32_t a_count, b_count; /* parts */
    int64_t a_ns, b_ns, a_hidden_ns, b_hidden_ns;
    double a_calls, b_calls; /* per step; of replaced kernels, calls of their op */
    /* b_ns - a_ns of kernels that both traces have, divided; 0 for others. Calls for tensors of other sizes
     * count as more or fewer calls if only one trace has such. */
    int64_t calls_ns, speed_ns, overlap_ns;
} gt_part_pair;

typedef struct gt_part_pairs {
    gt_part_pair *items; /* sorted: the largest change first */
    size_t count, capacity;
} gt_part_pairs;

typedef enum gt_contribution_kind {
    GT_CONTRIBUTION_NEW,
    GT_CONTRIBUTION_VANISHED,
    GT_CONTRIBUTION_SLOWER,
    GT_CONTRIBUTION_FASTER,
    GT_CONTRIBUTION_MORE_CALLS,
    GT_CONTRIBUTION_FEWER_CALLS,
    GT_CONTRIBUTION_OVERLAP,
    GT_CONTRIBUTION_COMPUTATION, /* of reports: kernels of a category */
    GT_CONTRIBUTION_COMMUNICATION,
    GT_CONTRIBUTION_COPIES,
    GT_CONTRIBUTION_IDLE,
    GT_CONTRIBUTION_OTHER, /* several small ones */
    GT_CONTRIBUTIONS
} gt_contribution_kind;

/* "new", "more_calls", ... */
const char *gt_contribution_name(gt_contribution_kind kind);

typedef struct gt_contribution {
    uint8_t kind;
    uint32_t what;               /* op, kernel, category, collective, copy or cause */
    uint32_t a_detail, b_detail; /* those of the pair with the largest share */
    size_t pair_count;
    int64_t a_ns, b_ns; /* what it is about takes in either trace */
    double a_calls, b_calls;
    int64_t delta_ns, largest_ns;
} gt_contribution;

typedef struct gt_waterfall {
    gt_interner *strings; /* borrowed */
    int64_t a_ns, b_ns;   /* the step times */
    bool has_steps[2], has_calls;
    gt_part_pairs pairs;
    gt_contribution *items; /* the largest first; none is 0. Their delta_ns add up to b_ns - a_ns */
    size_t count, capacity;
    size_t shown; /* the first of them that are worth a row of their own */
} gt_waterfall;

/* `strings` must outlive the waterfall; `a` and `b` need not. */
gt_waterfall *gt_waterfall_new(const gt_step_parts *a, const gt_step_parts *b, gt_interner *strings);
void gt_waterfall_free(gt_waterfall *waterfall); /* accepts NULL */

/* All contributions that are not shown and make the step longer (sign 1) or shorter (-1), as one. False if
 * there are none. */
bool gt_waterfall_rest(const gt_waterfall *waterfall, int sign, gt_contribution *rest);

/* "slower: aten::mm"; the caller frees it. */
char *gt_contribution_text(const gt_waterfall *waterfall, const gt_contribution *contribution);

/* ---- sheets ---- */

/* Appends the rows of a waterfall: step time of A, contributions, step time of B. `report` names B. */
gt_table *gt_waterfall_sheet_new(gt_interner *strings);
void gt_waterfall_sheet_add(gt_table *sheet, const gt_waterfall *waterfall, const char *baseline,
                            const char *report);
gt_table *gt_waterfall_parts_sheet_new(gt_interner *strings);
void gt_waterfall_parts_sheet_add(gt_table *sheet, const gt_waterfall *waterfall, const char *report);
