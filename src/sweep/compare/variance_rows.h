/* The rows of a sweep's GEMM variance CSV, grouped by threads, channels and rank: what the plots show.
 *
 * A row counts where threads, channel and rank are whole numbers and time_diff_us is a time; others are
 * skipped with a warning. */
#ifndef GT_SWEEP_COMPARE_VARIANCE_ROWS_H
#define GT_SWEEP_COMPARE_VARIANCE_ROWS_H

#include "table/table.h"

#include <stdio.h>

/* The time differences of the rows with one key, in the order of the file. */
typedef struct gt_variance_group {
    int64_t key;
    const double *values_us;
    size_t count;
} gt_variance_group;

typedef enum gt_variance_key { GT_BY_THREADS, GT_BY_CHANNELS, GT_BY_RANKS, GT_VARIANCE_KEYS } gt_variance_key;

/* All groups of one kind, keys ascending. */
typedef struct gt_variance_groups {
    gt_variance_group *items;
    size_t count, capacity;
    double *values_us; /* of all groups */
} gt_variance_groups;

typedef struct gt_variance_row {
    int64_t keys[GT_VARIANCE_KEYS];
    double time_diff_us;
} gt_variance_row;

typedef struct gt_variance_rows {
    gt_variance_row *items;
    size_t count, capacity;
    gt_variance_groups by[GT_VARIANCE_KEYS];
} gt_variance_rows;

enum { GT_VARIANCE_PAIRS_MAX = 1000000 }; /* of threads and channels */

/* False where a column is missing, no row counts or there are too many pairs of threads and channels; `name`
 * is the file's, for messages. */
bool gt_variance_rows_of(const gt_table *table, const char *name, gt_variance_rows *rows, gt_error *error);
void gt_variance_rows_free(gt_variance_rows *rows);

/* Means of the rows of each pair of threads and channels, NaN where there are none: one array, the channels
 * of the first threads first. The caller frees it. */
double *gt_variance_means(const gt_variance_rows *rows);

/* "  256 threads: mean=21.50us, median=22.88us, max=26.25us, n=8" and so on. */
void gt_variance_rows_print(FILE *file, const gt_variance_rows *rows);

#endif
