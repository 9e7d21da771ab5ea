/* The comparison of performance reports: which sheets are compared, by which keys, into which result sheets.
 *
 * Groups: gpu_timeline, ops_summary, kernel_summary (one sheet each), ops_all and roofline (three sheets for
 * each source sheet and variant: <name>_intersect_<tag>, _only_baseline_, _only_variant_). */
#ifndef GT_REPORT_COMPARE_H
#define GT_REPORT_COMPARE_H

#include "analysis/compare/gate.h"
#include "input/sheets/perf_sheets.h"
#include "report/tables.h"

#include <stdio.h>

typedef struct gt_compare_report {
    const char *tag, *path;
    gt_perf_sheets *sheets;
} gt_compare_report;

/* The name of a group, NULL behind the last one. */
const char *gt_compare_group(size_t index);

typedef struct gt_compare_options {
    const char *const *groups; /* those asked for: a baseline without their sheets is an error */
    size_t group_count;        /* 0: all that the reports have */
    gt_gate *gates;
    size_t gate_count;
} gt_compare_options;

/* Adds the result sheets, whose text ids are those of `strings`, in their order; with gates also "fail_if",
 * the rows that met a condition. reports[0] is the baseline. What a report lacks is said with gt_info and
 * left out; where nothing is left to compare, or a gate finds nothing that it speaks of, that is an error. */
bool gt_compare_tables(const gt_compare_report *reports, size_t count, const gt_compare_options *options,
                       gt_interner *strings, gt_table_list *tables, gt_error *error);

/* A short view for people: how the rows that took longest changed. */
void gt_compare_print_summary(FILE *out, const gt_compare_report *reports, size_t count,
                              const gt_table_list *tables);
/* What met a condition: the sheet "fail_if". */
void gt_compare_print_met(FILE *out, const gt_table *met);

#endif
