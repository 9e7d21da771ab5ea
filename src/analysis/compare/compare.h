/* What changed between reports? Sheets of a baseline and its variants side by side (compare.c), and
 * conditions on their changes that make a comparison fail (gate.c). */
#pragma once

#include "table/table.h"

/* ---- sheets side by side ----
 *
 *     name    Count__b_diff  Count__b_pct   a::Count  b::Count
 *     gemm                2           20.0        10        12      a is the baseline, b a variant
 *     softmax                                     5                 only in the baseline
 */

/* A sheet of one report, and the tag before its columns: "h100::Count". */
typedef struct gt_compared {
    const char *tag;
    const gt_table *table;
} gt_compared;

enum { GT_COMPARE_KEYS_MAX = 8 }; /* finer ones */

/* How a sheet is compared. */
typedef struct gt_compare_rule {
    const gt_col *keys; /* columns that identify a row; every table has them. The first is the row's name */
    size_t key_count;
    const gt_col *differences; /* columns whose change is shown if they are numbers */
    size_t difference_count;
    /* Several rows may have equal keys. Normally all pairs of them are joined; with is_one_to_one each row
     * has at most one partner in the baseline: first one that agrees in all the finer keys that both reports
     * have, then in fewer of them, and of equal ones the first belongs to the first. */
    bool is_one_to_one;
    const gt_col *finer_keys; /* the last one is given up first */
    size_t finer_key_count;
} gt_compare_rule;

#define GT_KEY_COLUMN SIZE_MAX

/* The joined sheets. Columns: the keys; for each difference column m and each variant t, "m__t_diff" (variant
 * - baseline) and "m__t_pct" (100 * difference / baseline, missing if the baseline is 0); then the columns of
 * each report. Rows ascend by key, missing keys last. */
typedef struct gt_merged {
    gt_table *table;
    const char **tags; /* of the reports, the baseline first; borrowed */
    size_t report_count;
    size_t *report_of_column; /* 0: baseline; for a difference, its variant; GT_KEY_COLUMN: a key */
} gt_merged;

/* reports[0] is the baseline; all tables share one interner. NULL and an error if the join has too many rows.
 */
gt_merged *gt_compare_merge(gt_sheet name, const gt_compared *reports, size_t count,
                            const gt_compare_rule *rule, gt_error *error);
void gt_merged_free(gt_merged *merged); /* accepts NULL */

/* A column of one report by its own name, without the tag; NULL if it has none. */
const gt_column *gt_merged_column(const gt_merged *merged, size_t report, gt_col column);

/* Sorts the rows by a column of one report, descending; missing values last, equal values keep their order.
 */
void gt_merged_sort(gt_merged *merged, size_t report, gt_col column);

/* ---- rows of both reports, or of one only ---- */

typedef enum gt_split_kind {
    GT_SPLIT_INTERSECT,
    GT_SPLIT_ONLY_BASELINE,
    GT_SPLIT_ONLY_VARIANT,
    GT_SPLITS
} gt_split_kind;
extern const char *const gt_split_names[GT_SPLITS]; /* "intersect", "only_baseline", "only_variant" */

/* The rows of this kind. A report has a row if it has a value in `column`, which every report must have. The
 * sheet is sorted by that column, descending, and has only the columns of the reports concerned, without
 * those that are missing in all rows. */
gt_table *gt_compare_split(const gt_merged *merged, gt_sheet name, gt_split_kind kind, size_t variant,
                           gt_col column);

/* ---- the regression gate ----
 *
 * Conditions on the change from the baseline to a variant:
 *
 *     SHEET.ROW[.COLUMN] OP NUMBER[%]        gpu_timeline.busy_time > 5%
 *                                            kernel_summary.'void gemm<4>(float*)'.Count > 0
 *                                            ops_summary.aten::* >= 0.5
 *
 * The change is variant - baseline, in the unit of the column or, with %, in percent of the baseline; a
 * change from 0 is infinitely many percent. OP is one of > >= < <=. ROW is compared with the sheet's first
 * key column; it may contain the wildcards * ? [a-z]. Without COLUMN, the column by which the sheet is sorted
 * is used. A name that contains a dot, < or > must be in quotes, '...' or "..."; a name in quotes has no
 * wildcards, and a quote in it is written twice.
 *
 *     TOTAL OP NUMBER[%]                     step_ms > 5%, idle_data_ms > 0.5
 *
 * is a condition on the waterfall of two traces (report/compare/waterfall.c), which also checks those on its
 * rows. A total ends with _ms, or is the step time of a server's phase, step_ms_decode. */

typedef enum gt_gate_op { GT_GATE_ABOVE, GT_GATE_AT_LEAST, GT_GATE_BELOW, GT_GATE_AT_MOST } gt_gate_op;

typedef struct gt_gate {
    const char *condition;      /* as written; borrowed */
    char *sheet, *row, *column; /* column: NULL for the sheet's main column */
    bool exact_row;             /* the row was in quotes */
    bool is_total;              /* only a name was written: `row` is a total of the sheet waterfall */
    gt_gate_op op;
    double limit;
    bool percent;
    size_t rows_checked;   /* rows with a matching name */
    size_t values_checked; /* those of them with a number in both reports */
} gt_gate;

bool gt_gate_parse(gt_gate *gate, const char *condition, gt_error *error);
/* A condition of the form [ROW.]MEASURE OP NUMBER[%] (sweep/gate); the measure becomes the column, and a
 * condition without a row is on all of them. False if it does not have this form. */
bool gt_gate_parse_measure(gt_gate *gate, const char *condition);
void gt_gate_free(gt_gate *gate);

/* The sheet fail_if without rows: condition, report, sheet, row, column, baseline, variant, diff, pct. */
gt_table *gt_gate_table(gt_interner *strings);

/* Adds to `met` the rows of a merged sheet that meet the condition, for every variant. False and an error if
 * the condition names a column that the sheet does not have as numbers. */
bool gt_gate_check(gt_gate *gate, const gt_merged *merged, const gt_compare_rule *rule, gt_table *met,
                   gt_error *error);

/* The same for values that are not rows of a merged sheet. */
typedef struct gt_gate_values {
    const char *report, *sheet, *row, *column;
    double baseline, variant; /* not NaN */
    double diff;              /* what the condition is about */
    double whole;             /* of which it is a percentage */
} gt_gate_values;
bool gt_gate_matches(const gt_gate *gate, const char *row);
void gt_gate_compare(gt_gate *gate, const gt_gate_values *values, gt_table *met);
