/* The comparison of performance reports.
 *
 * Groups of sheets: gpu_timeline, ops_summary, kernel_summary (one sheet each), ops_all and roofline (three
 * sheets for each source sheet and variant: <name>_intersect_<tag>, _only_baseline_, _only_variant_). */
#ifndef GT_REPORT_COMPARE_H
#define GT_REPORT_COMPARE_H

#include "analysis/compare/compare.h"
#include "input/sheets/sheets.h"
#include "table/table_list.h"

#include <stdio.h>

typedef struct gt_compare_report {
    const char *tag, *path;
    gt_perf_sheets *sheets;
} gt_compare_report;

/* The name of a group; NULL after the last one. */
const char *gt_compare_group(size_t index);

typedef struct gt_compare_options {
    const char *const *groups; /* requested groups: a baseline without their sheets is an error */
    size_t group_count;        /* 0: all that the reports have */
    gt_gate *gates;
    size_t gate_count;
} gt_compare_options;

/* Adds the result sheets in order, with string ids of `strings`; with gates also "fail_if", the rows that met
 * a condition. reports[0] is the baseline. Sheets that a report lacks are skipped with gt_info; it is an
 * error if nothing is left to compare or a gate applies to nothing. */
bool gt_compare_tables(const gt_compare_report *reports, size_t count, const gt_compare_options *options,
                       gt_interner *strings, gt_table_list *tables, gt_error *error);

/* How the longest rows changed. */
void gt_compare_print_summary(FILE *out, const gt_compare_report *reports, size_t count,
                              const gt_table_list *tables);
/* The sheet "fail_if". */
void gt_compare_print_met(FILE *out, const gt_table *met);

#endif
