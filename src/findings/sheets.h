/* Internal to src/findings: what several sheets need, and sheets with files of their own. The caller owns the
 * tables. */
#pragma once

#include "findings/findings.h"

/* Milliseconds of a replayed time, rounded to whole nanoseconds: more digits mean nothing. */
static inline double gt_replayed_ms(double ns)
{
    return floor(ns + 0.5) / 1e6;
}

/* The overview, without rows. A row has a number with its unit ("" for none) or a text; what is not finite is
 * shown as empty. */
gt_table *gt_overview_new(gt_interner *strings);
void gt_overview_add_text(gt_table *overview, const char *name, const char *text);

/* A row of the sheet findings. Texts are borrowed. */
typedef struct gt_finding_row {
    const char *id, *title, *where, *evidence, *advice; /* where may be NULL */
    gt_severity severity;
    gt_confidence confidence;
    bool is_gpu;
    double gain_ms, gain_pct, score; /* rounded by the caller */
    double error_ms;                 /* of the replay */
} gt_finding_row;

/* The sheet findings, without rows. Adding a finding, in the order of the list, returns its row. */
gt_table *gt_findings_sheet_new(gt_interner *strings);
size_t gt_findings_sheet_add(gt_table *sheet, const gt_finding_row *finding);

/* The sheet trust, without rows. Adding a check returns its row; `text` is its sentence, or what replaces it.
 */
gt_table *gt_trust_sheet_new(gt_interner *strings);
size_t gt_trust_sheet_add(gt_table *sheet, const gt_trust_check *check, const char *text);

/* balance.c: where did the time of the window go?
 *
 *     part   category of ops, "communication", "copies", a cause of idle time, or "remainder"
 *     kind   computation, exposed_communication, exposed_copy, idle, remainder
 *     ns     whole nanoseconds of the window; all rows add up to its length
 *     ms, pct */
gt_table *gt_balance_sheet(const gt_findings *findings);

/* what_if.c: the step time if something were perfect.
 *
 *     case   kernels_at_roofline, no_launch_gaps, ...
 *     step_ms, gain_ms, gain_pct
 *     how    what the replay changes */
gt_table *gt_what_if_sheet(const gt_findings *findings);
