/* The reports of a rocprofv3 pftrace: their sheets, Markdown and terminal summary.
 *
 * String ids of the tables are those of trace->strings: the tables must be freed before the trace. */
#pragma once

#include "analysis/pftrace/sheets.h"
#include "table/table_list.h"

typedef struct gt_pftrace_activity_options {
    bool merge_kernels;
    int64_t min_tid, max_tid, min_event_ns;
    bool kernel_summary, hip_summary;
    bool include_rccl;              /* in kernel_summary */
    bool of_compute;                /* kernel_summary: percentages of computation instead of all GPU time */
    bool by_name;                   /* rows of kernel_summary */
    bool by_stream, by_operation;   /* rows of hip_summary */
    int64_t top_xla;                /* rows of xla_top; negative: all but that many */
    int64_t top_kernels, top_calls; /* rows in the Markdown */
} gt_pftrace_activity_options;

gt_pftrace_activity_options gt_pftrace_activity_options_default(void);

/* api_kernel_summary; false if options->exclude takes too many steps on one of the names. */
bool gt_pftrace_api_tables(const gt_chrome *trace, const gt_pftrace_api_options *options,
                           gt_table_list *tables, gt_error *error);
/* category_summary, xla_top, kernel_summary, hip_summary; the Markdown is added to `markdown` unless that is
 * NULL. */
void gt_pftrace_activity_tables(const gt_chrome *trace, const gt_pftrace_activity_options *options,
                                gt_table_list *tables, gt_buffer *markdown);
/* memory_copy_by_copy_bytes */
void gt_pftrace_copy_tables(const gt_chrome *trace, bool as_tracelens, gt_table_list *tables);

void gt_pftrace_print_summary(FILE *out, const gt_chrome *trace, const gt_table_list *tables);
