/* What changed between reports: one sheet of a baseline and of variants laid side by side by its keys, with
 * the difference of each variant from the baseline. */
#ifndef GT_ANALYSIS_COMPARE_COMPARE_H
#define GT_ANALYSIS_COMPARE_COMPARE_H

#include "base/error.h"
#include "table/table.h"

/* One report's sheet, and the tag that stands before its columns: "h100::Count". */
typedef struct gt_compared {
    const char *tag;
    const gt_table *table;
} gt_compared;

/* How a sheet is compared. */
typedef struct gt_compare_rule {
    const gt_col *keys; /* columns that every table has; the first names a row */
    size_t key_count;
    const gt_col *differences; /* columns whose change is shown where they hold numbers */
    size_t difference_count;
} gt_compare_rule;

#define GT_KEY_COLUMN SIZE_MAX

/* The sheets side by side. Columns: the keys; for each difference column m and each variant t "m__t_diff" and
 * "m__t_pct" (100 * difference / baseline, missing where the baseline is 0); then each report's columns. Rows
 * are in the order of the keys, missing ones last. */
typedef struct gt_merged {
    gt_table *table;
    const char **tags; /* the baseline's first; borrowed */
    size_t report_count;
    size_t *report_of_column; /* 0 for the baseline; of a difference the variant's; GT_KEY_COLUMN for keys */
} gt_merged;

/* reports[0] is the baseline; all tables share one intern table. NULL where the keys have too many pairs. */
gt_merged *gt_compare_merge(gt_sheet name, const gt_compared *reports, size_t count,
                            const gt_compare_rule *rule, gt_error *error);
void gt_merged_free(gt_merged *merged); /* NULL is fine */

/* A column of one report by its own name; NULL where there is none. */
const gt_column *gt_merged_column(const gt_merged *merged, size_t report, gt_col column);

/* Brings the rows into descending order of a column of one report, missing last, ties as they stand. */
void gt_merged_sort(gt_merged *merged, size_t report, gt_col column);

/* The rows that the baseline and a variant share, or that only one of them has, judged by a column that every
 * report has; with the columns of those reports only, and none that is missing in all rows. In descending
 * order of that column. */
typedef enum gt_split {
    GT_SPLIT_INTERSECT,
    GT_SPLIT_ONLY_BASELINE,
    GT_SPLIT_ONLY_VARIANT,
    GT_SPLITS
} gt_split;
extern const char *const gt_split_names[GT_SPLITS]; /* "intersect", "only_baseline", "only_variant" */

gt_table *gt_compare_split(const gt_merged *merged, gt_sheet name, gt_split split, size_t variant,
                           gt_col column);

#endif
