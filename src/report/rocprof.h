/* The report of a rocprofv3 run, or of an Nsight Systems export.
 *
 * Sheets: gpu_timeline, gpu_timeline_by_device (an extra sheet), kernel_summary, kernel_summary_by_category,
 * kernel_details, short_kernels_summary, short_kernel_histogram; then the extra sheets hip_api_summary,
 * hsa_api_summary and those of other APIs (of an export cuda_api_summary, nvtx_summary, nccl_api_summary,
 * osrt_summary), memory_copy_summary, cuda_graph_summary, nccl_messages, counters_by_kernel,
 * pc_sampling_hotspots, agent_info, process_summary. Sheets that the options exclude and extra sheets without
 * data are omitted. */
#pragma once

#include "report/summary.h"
#include "trace/rocprof/rocprof.h"

typedef struct gt_rocprof_options {
    bool kernel_summary;     /* kernel_summary and kernel_summary_by_category */
    bool own_categories;     /* in both: those of analysis/categories.h, not TraceLens's */
    bool kernel_details;     /* one row per dispatch */
    bool short_kernel_study; /* short_kernels_summary and short_kernel_histogram */
    int64_t short_threshold_us;
    int64_t short_bins;
    bool hint_communication; /* warn about communication kernels that are not in the category COMM */
    bool extra_sheets;       /* sheets that TraceLens does not have, from the data that was read */
    bool merge_ranges;       /* ranges that differ only in numbers of PyTorch's ops share a row */
    bool gpu_window;         /* timelines cover the window of GPU work, not the capture */
    bool full_names;         /* the run has full kernel names; categories come from the short ones in them */
    bool limit_details;      /* whether topk_kernels applies */
    int64_t topk_kernels;    /* rows of kernel_details to keep; negative: all but the last ones */
    bool last_use;     /* these are the last sheets of the run: kernel_details may take the columns of its
                          dispatches, which saves memory */
    bool late_details; /* kernel_details may be a late table (gt_table_set_source), which saves more */
} gt_rocprof_options;

gt_rocprof_options gt_rocprof_options_default(void);

/* What must be read (GT_WANT_...) for the sheets of these options. */
unsigned gt_rocprof_options_wanted(const gt_rocprof_options *options);

/* Adds the sheets to `tables`, whose string ids are those of run->strings: the tables must be freed before
 * the run. On failure nothing is added. Warns if the run has no kernels or the file has several processes. */
bool gt_rocprof_tables(gt_rocprof *run, const gt_rocprof_options *options, gt_table_list *tables,
                       gt_error *error);

/* Adds gpu_timeline and, of several GPUs and if it is wanted, gpu_timeline_by_device: of the window of GPU
 * work or of the whole capture. A page always has those of the window, as its first screen. */
void gt_rocprof_add_timelines(const gt_rocprof *run, bool gpu_window, bool by_device, gt_table_list *tables);

/* Kernels whose short names are the same share a row: warns, and names the option that keeps them apart. */
void gt_rocprof_warn_of_short_names(const gt_rocprof *run, const char *option);

/* What the summary shows of the run. */
gt_summary_facts gt_rocprof_find_facts(const gt_rocprof *run);
/* One line: how many dispatches, copies, API calls and processes. */
void gt_rocprof_print_counts(FILE *out, const gt_summary_facts *facts);
/* This line, the timeline as bars, the categories, and the longest kernels. `communication` is that of the
 * run. */
void gt_rocprof_print_summary(FILE *out, const gt_summary_facts *facts, const gt_comm_kernels *communication,
                              const gt_table_list *tables, int width, bool utf8);
