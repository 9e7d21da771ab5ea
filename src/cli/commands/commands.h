/* The commands: command-line syntax and run function of each. The steps of `sweep` are in cli/sweep/sweep.h.
 */
#pragma once

#include "cli/inputs/inputs.h"
#include "cli/traces.h"

extern const gt_syntax gt_batch_syntax, gt_build_syntax, gt_collective_syntax, gt_discover_syntax,
    gt_doctor_syntax, gt_compare_syntax, gt_completion_syntax, gt_convert_syntax, gt_diff_syntax,
    gt_fuse_syntax, gt_genesis_syntax, gt_index_syntax, gt_jax_syntax, gt_jax_analysis_syntax,
    gt_jax_collective_syntax, gt_jax_llama_syntax, gt_links_syntax, gt_match_syntax, gt_merge_syntax,
    gt_model_syntax, gt_ncu_syntax, gt_nsys_syntax, gt_pftrace_activity_syntax, gt_pftrace_api_syntax,
    gt_pftrace_copy_syntax, gt_partial_syntax, gt_pytorch_syntax, gt_pytorch_inference_syntax,
    gt_query_syntax, gt_replay_syntax, gt_report_syntax, gt_rocprof_syntax, gt_run_syntax, gt_split_syntax,
    gt_what_if_syntax;

gt_command_run gt_cmd_batch, gt_cmd_build, gt_cmd_collective, gt_cmd_compare, gt_cmd_completion,
    gt_cmd_convert, gt_cmd_diff, gt_cmd_discover, gt_cmd_doctor, gt_cmd_fuse, gt_cmd_genesis, gt_cmd_index,
    gt_cmd_jax, gt_cmd_jax_analysis, gt_cmd_jax_collective, gt_cmd_jax_llama, gt_cmd_links,
    gt_cmd_match_blocks, gt_cmd_merge, gt_cmd_model, gt_cmd_ncu, gt_cmd_nsys, gt_cmd_partial,
    gt_cmd_pftrace_hip_activity, gt_cmd_pftrace_hip_api, gt_cmd_pftrace_memory_copy, gt_cmd_pytorch,
    gt_cmd_pytorch_inference, gt_cmd_query, gt_cmd_replay_ir, gt_cmd_report, gt_cmd_rocprof, gt_cmd_run,
    gt_cmd_split, gt_cmd_what_if;

/* ---- used by several commands ---- */

/* Options of one report, for commands that write this report among others. */
extern const gt_option_group gt_pytorch_sheets_group, gt_pytorch_roofline_group, gt_report_roofline_group,
    gt_pytorch_comparison_group, gt_pytorch_phases_group, gt_report_phases_group, gt_pytorch_plots_group,
    gt_pytorch_unused_group, gt_report_timeline_group, gt_rocprof_group, gt_nsys_group, gt_jax_group;
extern const gt_option_alias gt_pytorch_aliases[];

/* Prints the lines of TraceLens about the tree of a PyTorch trace. */
void gt_pytorch_note_tree(const gt_report *report);

gt_report_maker gt_pytorch_report, gt_rocprof_report, gt_nsys_report, gt_jax_report, gt_ncu_report;

#define GT_COLLECTIVE_STEM     "nccl_analysis_report"
#define GT_COLLECTIVE_WORKBOOK GT_COLLECTIVE_STEM ".xlsx" /* its default name */
#define GT_COLLECTIVE_PAGE     GT_COLLECTIVE_STEM ".html"

/* Writes the collective report of these ranks with the default options and prints its summary. Ranks that are
 * missing, damaged or disagree give a warning. Without collectives there is no report, which is no error.
 * `path` is the folder in the command line that documents show; `ready` has those of the ranks that need not
 * be read, which are taken, `pages` is that of gt_ranks_page. *is_written says whether there is a report. */
gt_exit gt_collective_of_ranks(const gt_call *call, const char *path, const gt_rank_files *files,
                               gt_rank_collectives **ready, const char *const *pages,
                               const gt_destinations *to, unsigned threads, bool *is_written);

/* The sheets of the collective report: --agg_metrics, --gpus_per_node, ... */
extern const gt_option_group gt_collective_sheets_group;

/* The same report from partials. Borrows everything. */
typedef struct gt_merge_call {
    const gt_call *call;        /* with the options of gt_collective_sheets_group, --world_size,
                                   --allow_missing_ranks, --all_findings and --quiet */
    const gt_rank_files *files; /* the partials */
    gt_rank_collectives *(*load)(const void *context, size_t rank, gt_error *error);
    const void *load_context;
    const char *const *pages;
    const char *command; /* that the page shows */
    const gt_destinations *to;
    bool findings; /* as gt_collective_of_ranks does it; otherwise as `gputally collective` does */
    unsigned threads;
} gt_merge_call;
bool gt_collective_merge(const gt_merge_call *merge, gt_error *error);
/* False if an option of gt_collective_sheets_group has an invalid value: a usage error. */
bool gt_collective_check_sheets(const gt_arguments *arguments, gt_error *error);

/* Prints a usage error and returns GT_EXIT_USAGE if options of the PyTorch report have invalid values or
 * exclude each other. */
gt_exit gt_pytorch_check(const gt_call *call);
