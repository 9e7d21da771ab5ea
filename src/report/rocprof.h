/* The report of a rocprofv3 run: which sheets it has, in which order, and what the terminal shows of them.
 *
 * Sheets: gpu_timeline, kernel_summary, kernel_summary_by_category, kernel_details, short_kernels_summary,
 * short_kernel_histogram; then, as extra sheets, hip_api_summary, hsa_api_summary and those of other APIs,
 * memory_copy_summary, counters_by_kernel, agent_info, process_summary. Those that the options leave out, and
 * extra ones that the run has no data for, are absent. */
#ifndef GT_REPORT_ROCPROF_H
#define GT_REPORT_ROCPROF_H

#include "base/error.h"
#include "report/tables.h"
#include "trace/rocprof/rocprof.h"

#include <stdio.h>

typedef struct gt_rocprof_options {
    bool kernel_summary;     /* kernel_summary and kernel_summary_by_category */
    bool kernel_details;     /* one row a dispatch */
    bool short_kernel_study; /* short_kernels_summary and short_kernel_histogram */
    int64_t short_threshold_us;
    int64_t short_bins;
    bool extra_sheets; /* what the Python tool does not have: of the run, all that was wanted when it was read
                        */
    bool limit_details;   /* whether topk_kernels holds */
    int64_t topk_kernels; /* first rows of kernel_details kept; negative: all but that many at the end */
} gt_rocprof_options;

gt_rocprof_options gt_rocprof_options_default(void);

/* What must be read of a run (GT_WANT_...) for the sheets that these options ask for. */
unsigned gt_rocprof_options_wanted(const gt_rocprof_options *options);

/* Adds the sheets to `tables`, whose text ids are those of run->strings: the tables must be freed before the
 * run. On failure nothing has been added. Warns where the run has no kernels or the file held several
 * processes. */
bool gt_rocprof_tables(gt_rocprof *run, const gt_rocprof_options *options, gt_table_list *tables,
                       gt_error *error);

/* A short view of the report for people: the timeline as bars, the categories and the kernels that took
 * longest. */
void gt_rocprof_print_summary(FILE *out, const gt_rocprof *run, const gt_table_list *tables, int width,
                              bool utf8);

#endif
