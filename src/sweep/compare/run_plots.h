/* Plots and pages of compared runs. */
#pragma once

#include "output/output.h"
#include "output/text.h"

/* ---- plots (run_plots.c) ----
 *
 * PNG files of fixed names in a folder. The names of those that were drawn are added to `drawn`; what the
 * sheets have no numbers for is not drawn, with a warning. */

/* The thirteen plots of a final report (compare.h). */
bool gt_final_plots_draw(const gt_table_list *final, const char *folder, gt_output *output,
                         gt_name_set *drawn, gt_error *error);
/* The plots of all runs side by side, of which the first label is the baseline. */
bool gt_all_plots_draw(const gt_table_list *together, const char *const *labels, size_t count,
                       const char *folder, gt_output *output, gt_name_set *drawn, gt_error *error);

/* ---- the page with these plots (run_page.c) ---- */

typedef struct gt_run_page {
    const char *plots;        /* folder of the plots */
    const gt_name_set *drawn; /* only these plots; NULL: those that are in the folder */
    const char *const *runs;  /* labels of the runs, the baseline first; none: they are not named */
    size_t run_count;
    const gt_table *table; /* a table at the beginning; NULL: none */
} gt_run_page;

/* Appends an HTML document with the plots embedded. Fails if no plot can be read. */
bool gt_run_page_make(gt_buffer *html, const gt_run_page *page, gt_error *error);
