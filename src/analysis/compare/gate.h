/* The regression gate: conditions on the change of a variant against the baseline, and what met them.
 *
 *     SHEET.ROW[.COLUMN] OP NUMBER[%]        gpu_timeline.busy_time > 5%
 *                                            kernel_summary.'void gemm<4>(float*)'.Count > 0
 *                                            ops_summary.aten::* >= 0.5
 *
 * The change is variant - baseline, in the column's own unit or, with %, in percent of the baseline; more
 * than 0 against 0 is infinitely many percent. OP is one of > >= < <=. ROW is what stands in the sheet's
 * first key column;
 * * ? [a-z] in it stand for other letters. Without COLUMN it is the one that the sheet is sorted by. Names
 * that hold a dot or < or > stand in quotes, '...' or "...", and then mean themselves, letter by letter. */
#ifndef GT_ANALYSIS_COMPARE_GATE_H
#define GT_ANALYSIS_COMPARE_GATE_H

#include "analysis/compare/compare.h"

typedef enum gt_gate_op { GT_GATE_ABOVE, GT_GATE_AT_LEAST, GT_GATE_BELOW, GT_GATE_AT_MOST } gt_gate_op;

typedef struct gt_gate {
    const char *condition;      /* as written; borrowed */
    char *sheet, *row, *column; /* column: NULL for the sheet's main one */
    bool exact_row;             /* was quoted */
    gt_gate_op op;
    double limit;
    bool percent;
    size_t rows_met, values_met; /* rows that it was held against, and those with numbers on both sides */
} gt_gate;

bool gt_gate_parse(gt_gate *gate, const char *condition, gt_error *error);
void gt_gate_free(gt_gate *gate);

/* The sheet of what met a condition, still empty: condition, report, sheet, row, column, baseline, variant,
 * diff, pct. */
gt_table *gt_gate_table(gt_interner *strings);

/* Adds to `met` the rows of a merged sheet that meet the condition, of every variant. False where the
 * condition names a column that the sheet has not, or not as numbers. */
bool gt_gate_check(gt_gate *gate, const gt_merged *merged, const gt_compare_rule *rule, gt_table *met,
                   gt_error *error);

#endif
