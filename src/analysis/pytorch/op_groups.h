/* Ops with the same keys as one row of a sheet: which groups there are, what is measured of them, and which
 * kernels they ran.
 *
 *     gt_op_groups groups = gt_op_groups_find(ops, keys, key_count);
 *     gt_table *sheet = gt_op_groups_measure(&groups, measures, measure_count);
 *     ... sort the sheet, limit its rows ...
 *     gt_op_groups_describe(&groups, sheet, &kernels, summary_column, trunc_column, NULL);
 *
 * For example with the keys name and Input Dims, three calls of aten::mm with [[4, 8], [8, 2]] are one group:
 * one row with operation_count 3, the mean of their times, and statistics of their first kernel, second
 * kernel and so on. The column GT_COL_GROUP says which group a row is; the maker of the sheet drops it at the
 * end. */
#ifndef GT_ANALYSIS_PYTORCH_OP_GROUPS_H
#define GT_ANALYSIS_PYTORCH_OP_GROUPS_H

#include "base/buffer.h"
#include "schema/columns.h"
#include "table/operations.h"

#include <stdbool.h>

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

/* Prints call stacks: the string id of the Python list of a stack. */
typedef struct gt_stack_printer {
    uint32_t (*text)(void *stacks, uint32_t stack);
    void *stacks;
} gt_stack_printer;

typedef struct gt_kernel_stats {
    gt_interner *strings;
    gt_stack_printer printer; /* of the kernels that have a call stack */
    bool hide_call_stacks;    /* do not show them in the cells */
    bool plain; /* keep the order of the lists, and show only count, total, mean and standard deviation */
    gt_kernel_detail *pattern; /* the first list; `integral` of all lists. After gt_kernel_stats_take: the
                                * kernels shown, in the order of the cells */
    size_t kernel_count, kernel_capacity;
    double *dur_us; /* of all lists, one after the other */
    size_t list_count, dur_capacity;
    size_t shown_count;       /* kernels shown by the last gt_kernel_stats_take */
    gt_buffer summary, trunc; /* scratch */
} gt_kernel_stats;            /* {.strings = ...} is empty */

void gt_kernel_stats_add(gt_kernel_stats *stats, const gt_kernel_detail *kernels, size_t count);

/* The cells for the lists added since the last call, as string ids. Without lists: summary "[]" and trunc
 * GT_STR_NONE. In trunc, names are cut to 64 characters plus "...", and only the mean is shown, rounded to
 * 0.01. */
typedef struct gt_kernel_stats_cells {
    uint32_t summary, trunc;
} gt_kernel_stats_cells;
gt_kernel_stats_cells gt_kernel_stats_take(gt_kernel_stats *stats);

void gt_kernel_stats_free(gt_kernel_stats *stats);

/* ---- groups ---- */

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

typedef struct gt_op_groups {
    const gt_table *ops; /* borrowed */
    gt_col *keys;        /* those that the table has */
    size_t key_count;
    gt_groups groups;
    uint32_t *rows, *begin; /* rows of group g, ascending: rows[begin[g]] to rows[begin[g + 1] - 1] */
} gt_op_groups;

/* Groups the rows by keys; null equals null. Ignores keys that the table does not have. */
gt_op_groups gt_op_groups_find(const gt_table *ops, const gt_col *keys, size_t key_count);
void gt_op_groups_free(gt_op_groups *groups);

/* One row per group, in the order first seen: keys, measures, and the number of the group. Ignores measures
 * of columns that the table does not have. */
gt_table *gt_op_groups_measure(const gt_op_groups *groups, const gt_aggregate *measures,
                               size_t measure_count);

/* Adds the cells of gt_kernel_stats_take for the rows that the sheet still has. */
typedef struct gt_op_groups_observe {
    gt_stack_printer printer;     /* as in gt_kernel_stats */
    bool hide_call_stacks, plain; /* as in gt_kernel_stats */
    void (*shown)(void *context, size_t row,
                  const gt_kernel_stats *stats); /* called after each row; may be NULL */
    void *context;
} gt_op_groups_observe;
void gt_op_groups_describe(const gt_op_groups *a, gt_table *sheet, const gt_kernel_lists *lists,
                           gt_col summary, gt_col trunc, const gt_op_groups_observe *observe);

/* Sorts a sheet of overlapping kernels: ops that differ only in the key `apart`, the overlapping kernels,
 * stay together. The largest total `time` first, then the least `uid`; within such ops the same. */
void gt_op_groups_sort(gt_table *sheet, const gt_op_groups *a, gt_col apart, gt_col time, gt_col uid);
/* Rounds overlap_pct_* to 0.01; the standard deviation of a single value becomes 0. */
void gt_op_groups_round_overlap(gt_table *sheet);

#endif
