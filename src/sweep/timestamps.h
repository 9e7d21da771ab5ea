/* When did the shortest and the longest instance of each GEMM's kernel run? New columns for the rows of
 * `sweep top`, from the traces of the sweep.
 *
 * An instance is an event of the category "kernel" whose name begins with kernel_name. Columns:
 * min_duration_timestamp_ms, max_duration_timestamp_ms, time_between_min_max_ms, min_duration_found_us,
 * max_duration_found_us. */
#ifndef GT_SWEEP_TIMESTAMPS_H
#define GT_SWEEP_TIMESTAMPS_H

#include "table/table.h"

typedef struct gt_timestamps_options {
    const char *root; /* the sweep's folder */
    double tolerance; /* a duration that differs by more than this share from the report's is warned of */
    bool exact;       /* names must be equal, not only begin so */
    bool strict;
    unsigned threads;
} gt_timestamps_options;

/* Adds the columns. Rows whose trace is missing or cannot be read, or that have no instance, are warned of
 * and stay without values. Returns false where the table lacks a column. */
bool gt_sweep_add_timestamps(gt_table *table, const gt_timestamps_options *options, gt_error *error);

#endif
