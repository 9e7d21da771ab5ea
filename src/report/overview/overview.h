/* The first sheet of a workbook as displayed: next to the table of facts, the verdict, the most important
 * figures, findings and charts.
 *
 *     A to D    the sheet overview as it is in all documents
 *     F to Q    summary: verdict, trust, figures, where the time goes, findings, kernels
 *     S to U    figures that only the charts need, not printed
 *
 * Everything comes from the other sheets, so it is the same if these come from an index. A sheet as wide as
 * this fits into a window of 1280 pixels at 100 %.
 *
 * Files: overview (the sheet and its texts), charts, kernels (the top ten). */
#pragma once

#include "analysis/categories.h"
#include "output/dashboard.h"

/* NULL if the report has no findings. The tables must outlive it. */
gt_dashboard *gt_overview_dashboard(const gt_table_list *tables);

/* ---- for the files of this folder ---- */

/* Columns of the sheet. */
enum {
    GT_OVERVIEW_FACTS = 0,
    GT_OVERVIEW_FACTS_WIDE = 4,
    GT_OVERVIEW_SUMMARY = 5,
    GT_OVERVIEW_SUMMARY_WIDE = 12,
    GT_OVERVIEW_HELPERS = 18,
};

/* A text from a trace as one line: without characters that control the text around them, and at most `max`
 * characters, of which the middle is replaced by "...". */
char *gt_overview_line(gt_arena *texts, gt_str text, size_t max);
/* The same of such a line with its end replaced. */
char *gt_overview_beginning(gt_arena *texts, const char *line, size_t max);

/* charts.c: each adds a chart at a place, with nothing if there is nothing to show. Returns the rows that it
 * takes. */
size_t gt_overview_add_parts(gt_dashboard *dashboard, const gt_table_list *tables, size_t row);
size_t gt_overview_add_ranks(gt_dashboard *dashboard, const gt_table_list *tables, size_t row);
size_t gt_overview_add_causes(gt_dashboard *dashboard, const gt_table_list *tables, size_t row);
size_t gt_overview_add_blame(gt_dashboard *dashboard, const gt_table_list *tables, size_t row);
size_t gt_overview_add_kernels(gt_dashboard *dashboard, const gt_table_list *tables, size_t row);

/* kernels.c: the kernels with the most time. */
enum { GT_TOP_KERNELS = 10 };
typedef struct gt_top_kernel {
    char *label; /* unique among them */
    double ms;   /* in the whole trace */
    gt_category category;
} gt_top_kernel;
/* Returns how many there are; labels are in `texts`. */
size_t gt_overview_top_kernels(const gt_table_list *tables, gt_arena *texts,
                               gt_top_kernel top[GT_TOP_KERNELS]);
