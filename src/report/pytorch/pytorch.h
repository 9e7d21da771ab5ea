/* The report of a PyTorch trace: its sheets in order, and the terminal summary.
 *
 * Sheets: gpu_timeline, gpu_timeline_by_device, ops_summary_by_category, ops_summary, ops_unique_args,
 * ops_unique_args_kl_overlap, unified_perf_summary, diff_stats, unified_perf_summary_kl_overlap,
 * ops_summary_prefill, ops_summary_decode, those of op families (GEMM, SDPA_fwd, ...), kernel_summary,
 * kernel_summary_prefill, kernel_summary_decode, memory_copies, short_kernel_histogram,
 * short_kernels_summary, coll_analysis, and the extra sheets (extra_sheets.h). Sheets that the options
 * exclude and sheets without rows (except the timeline and the two of short kernels) are omitted. A trace
 * without cpu_ops has only the timeline and the kernel sheets. */
#pragma once

#include "analysis/hta/hta.h"
#include "analysis/phases/phases.h"
#include "extension/extension.h"
#include "report/answers.h"
#include "report/summary.h"

/* The number of rows to keep, if given. */
typedef struct gt_row_limit {
    bool given;
    int64_t rows;
} gt_row_limit;

typedef struct gt_pytorch_options {
    bool include_unlinked_kernels;
    bool correct_launches;   /* gt_pytorch_correct_launches */
    bool hint_communication; /* warn about kernels that look like communication but do not count as it */
    bool split_idle;         /* into micro and macro idle, at micro_idle_us */
    int64_t micro_idle_us;
    bool coll_analysis;
    bool kernel_summary;
    bool gpu_only_kernel_summary; /* also without kernel_summary, if the trace has no ops */
    bool short_kernel_study;
    int64_t short_threshold_us, short_bins;
    gt_row_limit topk_short_kernels, topk_ops, topk_roofline_ops;
    bool group_by_num_kernels;
    bool overlap_info;     /* the *_kl_overlap sheets */
    bool detect_recompute; /* is_recompute columns; needs python functions in the trace */
    bool first_occurrence;
    bool call_stack;         /* needs python functions in the trace */
    bool pseudo_ops;         /* recognize ops that the trace does not name */
    bool inference;          /* the sheets of TraceLens' report on inference: none of backward passes */
    bool by_module;          /* group ops by nn.Module; needs python functions in the trace */
    bool captures;           /* captures of graphs are merged into the trace; likewise */
    bool hide_stacks;        /* no call stacks among the details of kernels without call_stack */
    gt_buffer *kernel_check; /* gets the text of gt_kernel_check; NULL: not wanted */
    bool phases;             /* the sheets of prefill and decode */
    gt_phase_options phase_options;
    const gt_gpu_arch *gpu_arch; /* for roofline columns; may be NULL */
    const char *python_path;     /* runs a GEMM simulator; NULL: "python" */
    int64_t python_timeout_s;    /* of the extension, and of one run of the simulator; 0: none */
    bool extra_sheets;           /* sheets that TraceLens does not have */
    bool serving_sheets;         /* those of analysis/serving/sheets.h, which need the list of steps */
    bool graph_ops;              /* kernels of replayed graphs belong to ops (graphs.h) */
    const char **eager_traces;   /* of the same model without graphs; gt_report_options_free frees the list */
    size_t eager_trace_count, eager_trace_capacity;
    const char *capture_folder; /* with captures of the graphs; NULL: none */
    bool needs_captures;        /* a folder without captures is an error */
    bool extra;                 /* the sheets of extra_sheets.h, as rank 0 */
    gt_hta_options extra_options;
    /* A second trace, read with the same options, for diff_stats; may be NULL. */
    gt_pytorch_linked *comparison;
    const gt_extension_source *extension; /* a Python extension to run; may be NULL */
    bool reference_messages; /* the messages of TraceLens, also where they do not fit what is written */
    bool params_as_text;     /* parameters of ops as pandas prints them */
    bool legacy_names;       /* the old names ops_all, short_kernels_histogram, short_kernels_all_details */
} gt_pytorch_options;

gt_pytorch_options gt_pytorch_options_default(void);
/* Whether the traces must be read with their python functions. */
bool gt_pytorch_needs_python(const gt_pytorch_options *options);

/* Adds the sheets to `tables`. Their string ids are those of the trace: free the tables before the trace.
 * With pseudo_ops, detect_recompute or an extension this changes the trace, and with pseudo_ops also the
 * comparison. On failure nothing has been added. */
bool gt_pytorch_tables(gt_pytorch_linked *trace, const gt_pytorch_options *options, gt_table_list *tables,
                       gt_error *error);

/* How much time which family of communication kernels took: what the report counts as communication, or what
 * it does not count but `others` does. */
gt_comm_uses gt_pytorch_find_communication(const gt_linked_view *trace, const gt_comm_kernels *others);

/* What the summary shows of the trace; `options` are those that the tables were made with. */
gt_summary_facts gt_pytorch_find_facts(const gt_pytorch_linked *trace, const gt_pytorch_options *options);
/* A summary of the report for the terminal. */
void gt_pytorch_print_summary(FILE *out, const gt_summary_facts *facts, const gt_pytorch_options *options,
                              const gt_table_list *tables, int width, bool utf8);
/* The same for sheets with findings, which come first: at most 60 lines with those that name the files,
 * unless all findings are shown. */
void gt_pytorch_print_answers(FILE *out, const gt_summary_facts *facts, const gt_answers *answers,
                              bool all_findings, int width, bool utf8);
