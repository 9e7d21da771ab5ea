/* Statistics of the kernels of ops with the same keys, and the lists of kernels that they are computed from.
 */
#pragma once

#include "trace/pytorch/pytorch.h"

/* ---- kernels of a group ---- */

/* Statistics of the kernels of one group. The kernel lists of many ops become one list: the durations of all
 * first kernels, of all second kernels, and so on, each summarized. The first list that is not empty is the
 * pattern; lists of another length are ignored. Kernels are matched only by their position in the list, so
 * names and streams are those of the pattern. The cells are Python literals,
 *
 *     [{'name': 'gemm', 'stream': 7, 'count': 4, 'total_duration_us': 26.6, 'mean_duration_us': 6.65, ...}]
 *
 * sorted by total and name, ascending. Totals and means are numpy's (pairwise sums); the standard deviation
 * divides by n. */
typedef struct gt_kernel_detail {
    uint32_t name;       /* string id */
    uint32_t stream;     /* string id of its JSON; GT_STR_NONE: None */
    double dur_us;       /* never NaN */
    double overlap_pct;  /* NaN: not shown */
    uint32_t call_stack; /* number of its stack (unified_details.h) + 1; 0: not shown */
    bool integral;       /* the duration was written as an integer */
} gt_kernel_detail;

/* Without overlap and call stack. */
gt_kernel_detail gt_kernel_detail_of(const gt_event_view *trace, uint32_t gpu_row);

/* Finds and prints call stacks. */
typedef struct gt_stack_printer {
    /* The stack of a GPU event of an op + 1; 0: not shown. NULL: as the kernels themselves say. */
    uint32_t (*of)(void *stacks, size_t op, uint32_t gpu_row);
    uint32_t (*text)(void *stacks, uint32_t stack); /* the string id of the Python list of a stack */
    void *stacks;
} gt_stack_printer;

typedef struct gt_kernel_stats {
    gt_interner *strings;
    gt_stack_printer printer;
    bool hide_call_stacks; /* do not show them in the cells */
    bool plain; /* keep the order of the lists, and show only count, total, mean and standard deviation */
    gt_kernel_detail *pattern; /* the first list; `integral` of all lists. After gt_kernel_stats_print:
                                * the kernels shown, in the order of the cells */
    size_t kernel_count, kernel_capacity;
    size_t pattern_op;     /* whose list it is, after gt_kernel_stats_collect */
    uint32_t *stack_texts; /* by kernel of the pattern: string id of its call stack */
    size_t text_capacity;
    double *dur_us; /* of all lists, one after the other */
    size_t list_count, dur_capacity;
    size_t shown_count;       /* kernels shown by the last gt_kernel_stats_print */
    gt_buffer summary, trunc; /* the printed cells */
} gt_kernel_stats;            /* {.strings = ...} is empty */

/* The cells for the lists added since the last call, as string ids. Without lists: summary "[]" and trunc
 * GT_STR_NONE. In trunc, names are cut to 64 characters plus "...", and only the mean is shown, rounded to
 * 0.01. */
typedef struct gt_kernel_stats_cells {
    uint32_t summary, trunc;
} gt_kernel_stats_cells;
/* Many threads may print at the same time, each its own statistics; the second step changes the strings. */
void gt_kernel_stats_print(gt_kernel_stats *stats);
gt_kernel_stats_cells gt_kernel_stats_keep(gt_kernel_stats *stats);

void gt_kernel_stats_free(gt_kernel_stats *stats);

/* ---- lists of kernels ---- */

/* Lists of kernels: list i is that of row i of the table. */
typedef struct gt_kernel_lists {
    gt_kernel_detail *kernels;
    size_t kernel_count, kernel_capacity;
    size_t *ends; /* by list: its end in `kernels` */
    size_t count, capacity;
} gt_kernel_lists; /* {0} is empty */

void gt_kernel_lists_push(gt_kernel_lists *lists, gt_kernel_detail kernel); /* appends to the open list */
void gt_kernel_lists_close(gt_kernel_lists *lists); /* ends the open list and opens the next */
/* Appends copies of all lists of another. */
void gt_kernel_lists_append(gt_kernel_lists *lists, const gt_kernel_lists *more);
/* Moves names and streams to another interner. */
void gt_kernel_lists_use_strings(gt_kernel_lists *lists, const gt_interner *from, gt_interner *to);
void gt_kernel_lists_free(gt_kernel_lists *lists);

/* Where the lists come from: they are kept, or made each time they are needed. Ops have nothing in common but
 * their number; ops that are nested in each other may have n * n / 2 kernels together, so `count` must not
 * list them. Both functions are called by several threads. */
typedef struct gt_kernel_source {
    const gt_kernel_lists *lists; /* NULL: the following */
    size_t (*count)(const void *context, size_t op);
    void (*add)(const void *context, size_t op, gt_row_list *list); /* appends its GPU events */
    const void *context;
    const gt_event_view *trace;
} gt_kernel_source;

/* Adds the lists of these ops, which are the first ones. */
void gt_kernel_stats_collect(gt_kernel_stats *stats, const gt_kernel_source *source, const uint32_t *ops,
                             size_t count);
/* Finds the call stacks that gt_kernel_stats_print shows. Not for several threads. */
void gt_kernel_stats_find_stacks(gt_kernel_stats *stats, const gt_kernel_source *source);
