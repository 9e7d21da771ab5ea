/* Reads what `ncu --csv` prints: metrics of profiled kernel launches of NVIDIA Nsight Compute.
 *
 * There are two layouts. With `--page raw`, a row is a launch and its metrics are columns; the row after the
 * column names has the units. With `--page details` (ncu's default), a row is one metric of a launch. Both
 * may come after lines of ncu ("==PROF== ...") and of the program itself, because ncu prints to the same
 * stream; a second table may follow. */
#pragma once

#include "stream/stream.h"

typedef struct gt_ncu_launch {
    int64_t id;                       /* ncu's number; -1: none */
    uint32_t process, device, stream; /* as printed; ids of strings */
    uint32_t kernel, grid, block;     /* "(128, 1, 1)" */
} gt_ncu_launch;

/* A metric of a launch. */
typedef struct gt_ncu_value {
    uint32_t launch;                /* index */
    uint32_t section, metric, unit; /* section GT_STR_NONE: the layout has none */
    double number;                  /* NaN: not a number */
    uint32_t text;                  /* as printed, if it is not a number; else GT_STR_NONE */
} gt_ncu_value;

typedef struct gt_ncu {
    gt_interner *strings;
    gt_ncu_launch *launches; /* in the order of the file */
    size_t launch_count, launch_capacity;
    gt_ncu_value *values; /* by launch */
    size_t value_count, value_capacity;
} gt_ncu;

/* Whether a text begins with such a table, possibly after other lines. */
bool gt_is_ncu_csv(gt_str text);

/* Says how to export a report (.ncu-rep), which only ncu itself can read. Returns false. */
bool gt_ncu_fail_report(const char *path, gt_error *error);

/* Reads the whole stream. Lines after the first table that are not rows are skipped, with a warning if they
 * look like rows. NULL if there is no table or a quote is not closed; the error names the file. */
gt_ncu *gt_ncu_read(gt_stream *stream, gt_error *error);
void gt_ncu_free(gt_ncu *trace); /* NULL is allowed */

/* A number as ncu prints it, "1,234.5" or "12.5 (1; 2)"; NaN if it is none, such as "n/a". */
double gt_ncu_number(gt_str text);
