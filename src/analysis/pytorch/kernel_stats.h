/* What did the kernels of alike ops take? Kernel lists of many ops become one list: the durations of all
 * first kernels, of all second kernels, and so on, each measured.
 *
 * The first list that is not empty is the pattern; lists of another length are left out. Kernels are matched
 * by their place in the list alone, so names and streams are those of the pattern. The cells are Python
 * literals:
 *
 *     [{'name': 'gemm', 'stream': 7, 'count': 4, 'total_duration_us': 26.6, 'mean_duration_us': 6.65, ...}]
 *
 * ascending by total and name. Totals and means are numpy's (pairwise sums), the standard deviation is over
 * n. */
#ifndef GT_ANALYSIS_PYTORCH_KERNEL_STATS_H
#define GT_ANALYSIS_PYTORCH_KERNEL_STATS_H

#include "base/buffer.h"

#include <stdbool.h>

typedef struct gt_kernel_detail {
    uint32_t name;       /* text id */
    uint32_t stream;     /* the JSON text's id; GT_STR_NONE: None */
    double dur_us;       /* never NaN */
    double overlap_pct;  /* NaN: the list does not show it */
    uint32_t call_stack; /* text id of a Python list; GT_STR_NONE: the list does not show it */
    bool integral;       /* the duration was written as an integer */
} gt_kernel_detail;

typedef struct gt_kernel_stats {
    gt_interner *strings;
    bool hide_call_stacks; /* the cells leave them out */
    bool plain; /* kernels in the order of the lists, and of the measures mean and deviation alone */
    gt_kernel_detail *pattern; /* integral: all durations at this place are. After a take: what was shown, in
                                * the order of the cells */
    size_t kernel_count, kernel_capacity;
    double *dur_us; /* list after list */
    size_t list_count, dur_capacity;
    size_t shown_count;       /* kernels of the last take */
    gt_buffer summary, trunc; /* and its cells */
} gt_kernel_stats;            /* {.strings = ...} is empty */

void gt_kernel_stats_add(gt_kernel_stats *stats, const gt_kernel_detail *kernels, size_t count);

/* The cells of the lists added since the last take, as text ids. No list: summary "[]" and no trunc
 * (GT_STR_NONE). In trunc, names longer than 64 characters end in "..." and only the mean is given, to 0.01.
 */
typedef struct gt_kernel_stats_cells {
    uint32_t summary, trunc;
} gt_kernel_stats_cells;
gt_kernel_stats_cells gt_kernel_stats_take(gt_kernel_stats *stats);

void gt_kernel_stats_free(gt_kernel_stats *stats);

#endif
