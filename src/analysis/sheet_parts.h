/* Parts of sheets that several domains share: columns of milliseconds and percentages, the gpu_timeline, the
 * histogram of short kernels, names without digits. */
#pragma once

#include "table/table.h"

/* ---- columns made from a column of numbers ---- */

/* Adds the FLOAT column `ms` = `us` / 1000. The column `us` has no nulls. Returns the index of `ms`. */
size_t gt_table_add_ms(gt_table *table, gt_col us, gt_col ms);

/* Converts a column of nanoseconds to a FLOAT column of microseconds or milliseconds and renames it. */
void gt_table_ns_to_us(gt_table *table, size_t column, gt_col name);
void gt_table_ns_to_ms(gt_table *table, size_t column, gt_col name);

/* Adds the column `name` = cell / total * 100.0 for a number column without nulls. If the total is not above
 * 0, the new column is INT and all its cells are 0. Returns its index. */
size_t gt_table_add_percentage(gt_table *table, size_t column, double total, gt_col name);

/* Adds "Percentage (%)" of the column's own sum, and "Cumulative Percentage (%)": the sum of the percentages
 * from the first row to this one. The table must already be in its final order. */
void gt_table_add_percentages(gt_table *table, size_t column);

/* ---- gpu_timeline ---- */

/* The sheet without rows, with the columns type, time ms and percent. */
gt_table *gt_gpu_timeline_new(gt_interner *strings);
void gt_gpu_timeline_add(gt_table *timeline, const char *type, double time_us, double percent);
/* The same for a time in nanoseconds. */
void gt_gpu_timeline_add_ns(gt_table *timeline, const char *type, double time_ns, double percent);

/* gpu_timeline_by_device without rows: the column device, then those of gpu_timeline. A report that needs
 * more than the device's number to tell devices apart, such as a rank, inserts columns after it. */
gt_table *gt_gpu_timeline_by_device_new(gt_interner *strings);
/* Adds the rows of one device's timeline, which may have further columns; the sheet then has them, too. Cells
 * of columns that only the sheet has are null. Returns the index of the first row added. */
size_t gt_gpu_timeline_add_device(gt_table *by_device, int64_t device, const gt_table *timeline);

/* ---- short_kernel_histogram ---- */

enum { GT_HISTOGRAM_BINS_MAX = 10 * 1000 * 1000 };

/* The number of durations in bins of equal width from the shortest to the longest duration; no rows if there
 * are no durations. The edges are those of numpy.histogram: step = (longest - shortest) / bins, edge i = i *
 * step + shortest, the last edge is the longest duration itself. If all durations are equal, the edges go
 * from 0.5 us below to 0.5 us above. A bin includes its lower edge, the last bin both edges.
 *
 * NULL and an error if `bins` is not 1 to GT_HISTOGRAM_BINS_MAX, or if the durations do not fit numpy's
 * range. */
gt_table *gt_short_kernel_histogram(gt_interner *strings, const double *dur_us, size_t count, int64_t bins,
                                    gt_error *error);

/* ---- names ---- */

/* Interns a name without its digits: loop_add_fusion_12 becomes loop_add_fusion_. Kernels that a compiler
 * numbers are grouped by it. */
uint32_t gt_name_without_digits(gt_interner *strings, gt_str name);
