/* The table of steps, and the functions that they share. To add a step, add a row here, in the usual order of
 * the steps, its syntax and function in a file of this folder, and their declarations in sweep.h. */
#include "cli/sweep/sweep.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/common.h"
#include "os/paths.h"
#include "output/file.h"

const gt_command gt_sweep_steps[] = {
    {"run", "run_train_various_channels.sh", "run a grid of settings and record each outcome",
     &gt_sweep_run_syntax, gt_cmd_sweep_run,
     "Runs a command once per combination of threads, channels and further settings, one after another. "
     "Settings are passed in environment variables; each run writes to its own folder; a log, a summary and "
     "sweep.json record the outcomes. COMMAND is run without a shell; {threads}, {channels}, the names of "
     "further axes, {output_dir}, {profiler_dir} (its torch_profiler), {config} and {nproc} are replaced; {{ "
     "is a literal brace. Default COMMAND: torchrun --nproc_per_node {nproc} train.py --config {config} "
     "--override profiling.tensorboard=false --override training.output_dir={output_dir}.",
     NULL},
    {"report", "run_tracelens_analysis.sh",
     "write reports on all traces and collectives, and comparisons across thread settings",
     &gt_sweep_report_syntax, gt_cmd_sweep_report,
     "Writes the performance report of every trace of a sweep, the collective report of every setting, and "
     "comparisons of each rank across thread settings, as workbooks in SWEEP/tracelens_analysis. Traces are "
     "read once, several at a time, and are not changed.",
     NULL},
    {"top", "analyze_gemm_reports.py", "find the GEMM rows whose kernel times vary most",
     &gt_sweep_top_syntax, gt_cmd_sweep_top,
     "Reads the sheet GEMM of each report of a sweep and writes a CSV file with the rows whose longest and "
     "shortest kernel differ most, largest difference first.",
     NULL},
    {"yaml", "generate_rocprof_yaml_from_csv.py", "write a rocprofv3 job file for the kernels found by `top`",
     &gt_sweep_yaml_syntax, gt_cmd_sweep_yaml,
     "Writes a rocprofv3 job file that records counters only for the kernels named in a CSV file of "
     "`gputally sweep top`, and next to it a list of their names.",
     NULL},
    {"plot", "plot_gemm_variance.py", "plot the time variance of the `top` rows per setting",
     &gt_sweep_plot_syntax, gt_cmd_sweep_plot,
     "Draws plots of a CSV file of `gputally sweep top` as PNG: box plots by threads, by channels (or by "
     "each "
     "other axis) and by rank, violin plots of all, and the mean per combination of two axes. Prints mean, "
     "median and "
     "maximum of each.",
     NULL},
    {"timestamps", "enhance_gemm_variance_with_timestamps.py",
     "add start times of the shortest and longest instance of each row", &gt_sweep_timestamps_syntax,
     gt_cmd_sweep_timestamps,
     "Looks up the kernels of a CSV file of `gputally sweep top` in the traces and adds the start time and "
     "duration of their shortest and longest instance.",
     NULL},
    {"overlap", "gemm_report_with_collective_overlap.py",
     "add the collectives that overlap the longest instance of each row", &gt_sweep_overlap_syntax,
     gt_cmd_sweep_overlap,
     "Adds to a CSV file of `gputally sweep timestamps` which collectives ran at the same time as the "
     "longest instance of each kernel, and for how long.",
     NULL},
    {"timeline", "process_gpu_timeline.py", "collect the GPU timelines of all settings",
     &gt_sweep_timeline_syntax, gt_cmd_sweep_timeline,
     "Combines the gpu_timeline sheets of all reports of a sweep, as the mean over ranks per setting, in the "
     "workbook gpu_timeline_all_configs_mean.xlsx.",
     NULL},
    {"comms", "process_comms.py", "collect the collectives of all settings", &gt_sweep_comms_syntax,
     gt_cmd_sweep_comms,
     "Combines the nccl_summary_implicit_sync sheets of all collective reports of a sweep in "
     "nccl_master_all_configs.xlsx and .csv.",
     NULL},
    {"decide", NULL, "recommend a setting, with how sure that is and what it is worth",
     &gt_sweep_decide_syntax, gt_cmd_sweep_decide,
     "Reads the traces of a sweep (torch.profiler, rocprofv3 or JAX) and says which setting to use, or which "
     "settings cannot be "
     "told apart. Writes step times with intervals and p-values, effects of the axes, how much collectives "
     "slow down GEMMs at the same time, and bandwidth by message size, as a workbook, CSV files and a page.",
     NULL},
    {"counters", NULL, "collect the rocprofv3 counters per kernel and setting", &gt_sweep_counters_syntax,
     gt_cmd_sweep_counters,
     "Combines the counters that rocprofv3 collected (rocprof_traces in each setting's folder), as the mean "
     "per counter, kernel and setting, in counters_all_configs.xlsx and .csv.",
     NULL},
    {"html", "create_embeded_html_report.py", "write an HTML page with the plots of two or more sweeps",
     &gt_sweep_html_syntax, gt_cmd_sweep_html,
     "Writes one HTML file with embedded images that shows the plots of two or more sweeps side by side. The "
     "plots are those of `gputally sweep plot` in SWEEP/tracelens_analysis/plots.",
     NULL},
    {"compare", "run_full_analysis.py", "compare two sweeps (--fail_if), or runs with a baseline",
     &gt_sweep_compare_syntax, gt_cmd_sweep_compare,
     "With two sweeps, OLD NEW: says which settings became worse or better, with confidence intervals and "
     "p-values, and whether machine or software differ; --fail_if makes it a regression gate. Otherwise "
     "compares the GPU timelines of a baseline and of each other run, per rank and on average, and their "
     "collectives by name, type and size, and shows what improved or regressed. Reads reports of `gputally "
     "sweep report` or of single runs, or writes them first, and writes three workbooks per test, and one of "
     "all runs if there are several tests. --all writes new reports, all workbooks, plots and a page.",
     NULL},
    {"run-tracelens-single-config", "run_tracelens_single_config.sh", "write the reports on one run",
     &gt_sweep_single_reports_syntax, gt_cmd_sweep_single_reports,
     "Writes the performance report of each rank and the collective report of a run that is not in a sweep, "
     "in RUN/tracelens_analysis. RUN is a folder torch_profiler with rank<R>, or the folder above it. "
     "`gputally sweep compare --all` runs this for all its runs.",
     NULL},
    {"combine-reports", "combine_reports.py", "put the sheets of two workbooks below each other",
     &gt_sweep_combine_syntax, gt_cmd_sweep_combine,
     "Writes a workbook with each sheet that two workbooks have in common: the rows of the baseline, those "
     "of the test, and a column source. For the collective reports of two runs, or their "
     "gpu_timeline_summary_mean.xlsx.",
     NULL},
    {"add-comparison-sheets", "add_comparison_sheets.py", "compare combined GPU timelines",
     &gt_sweep_add_comparison_syntax, gt_cmd_sweep_add_timelines,
     "Copies a workbook of combined GPU timelines and adds the sheets Comparison_By_Rank and "
     "Summary_Comparison.",
     NULL},
    {"add-collective-comparison", "add_collective_comparison.py", "compare combined collective reports",
     &gt_sweep_add_comparison_syntax, gt_cmd_sweep_add_collectives,
     "Copies the summary sheets of a workbook of combined collective reports and adds the sheets "
     "nccl_implicit_sync_cmp and nccl_long_cmp.",
     NULL},
    {"create-final-report", "create_final_report.py", "write the final report of two runs",
     &gt_sweep_final_report_syntax, gt_cmd_sweep_final_report,
     "Writes a workbook with a dashboard, the comparisons of timelines and collectives, and, hidden, the "
     "sheets that they were made from; every sheet is a native Excel table.",
     NULL},
    {"create-final-plots", "create_final_plots.py", "draw the plots of a final report",
     &gt_sweep_final_plots_syntax, gt_cmd_sweep_final_plots,
     "Draws the thirteen plots of a final report as PNG files: changes, times, ranks and collectives.", NULL},
    {"create-final-html", "create_final_html.py", "write an HTML page with the plots of a final report",
     &gt_sweep_final_html_syntax, gt_cmd_sweep_final_html,
     "Writes one HTML file with the plots of `gputally sweep create-final-plots` embedded.", NULL},
    {"compare-all-runs", "compare_all_runs.py", "put several runs side by side", &gt_sweep_all_runs_syntax,
     gt_cmd_sweep_all_runs,
     "Reads the reports of several runs and writes a workbook with all of them side by side, plots and an "
     "HTML page. The first run is the baseline.",
     NULL},
    {"merge", "merge_gpu_trace_ranks.py",
     "merge the GPU events of several ranks into one trace, for Perfetto", &gt_sweep_merge_syntax,
     gt_cmd_sweep_merge,
     "Writes the kernels, copies, runtime calls and annotations of the traces DIR/rank<R>/*.json into one "
     "Chrome trace with two processes per rank, GPU and CPU. DIR is the folder torch_profiler of a run. CPU "
     "ops are dropped; `gputally fuse` keeps everything.",
     NULL},
    {"all", NULL, "run all steps on one sweep, except html", &gt_sweep_all_syntax, gt_cmd_sweep_all,
     "Runs the steps report, top, yaml, plot, timestamps, overlap, timeline, comms and decide on a sweep; "
     "with --rocprof the steps report, timeline, decide and counters. The last file is the page "
     "decision.html. "
     "If a step fails, only the steps that need its output are skipped, and the exit status is 1.",
     NULL},
    {0},
};

static const gt_option plain_options[] = {
    {"quiet", GT_OPTION_FLAG, NULL, NULL, "print only warnings and errors"},
    {"no_progress", GT_OPTION_FLAG, NULL, NULL, "do not show a progress line"},
    {"version", GT_OPTION_FLAG, NULL, NULL, "print the version, and exit"},
};
const gt_option_group gt_sweep_plain_group = {"Common options", plain_options, GT_LENGTH(plain_options)};

gt_exit gt_sweep_failed(const gt_error *error)
{
    const char *reason = strstr(error->text, strerror(EACCES));
    gt_str text = {error->text, strlen(error->text)};
    bool is_denied =
        (gt_str_starts_with(text, "cannot write ") || gt_str_starts_with(text, "cannot create folder ")) &&
        reason && !reason[strlen(strerror(EACCES))];
    fprintf(stderr, "gputally: %s%s\n", error->text, is_denied ? "; write elsewhere with -o" : "");
    return GT_EXIT_FAILED;
}

bool gt_sweep_may_write(const char *folder, gt_error *error)
{
    char *at = gt_strdup(folder);
    while (access(at, F_OK) != 0 && strcmp(at, "/") != 0 && strcmp(at, ".") != 0) {
        char *above = gt_path_folder(at);
        gt_free(at);
        at = above;
    }
    bool may =
        access(at, W_OK) == 0 ||
        gt_fail(error,
                "No write permission for sweep directory: %s; write the analysis elsewhere with -o DIR", at);
    gt_free(at);
    return may;
}

static bool apply(const gt_call *call, gt_read_options *read, gt_error *error)
{
    if (gt_syntax_option(call->arguments.syntax, "strict")) return gt_common_apply(call, read, error);
    bool quiet = gt_sweep_is_quiet(call);
    gt_log_quiet(quiet);
    gt_progress_enable(!quiet && !gt_arguments_flag(&call->arguments, "no_progress"));
    *read = (gt_read_options){.threads = gt_threads_default()};
    return true;
}

bool gt_sweep_begin_reading(const gt_call *call, const char *const *required, gt_read_options *read)
{
    gt_error error;
    char missing[256] = "";
    for (; required && *required; required++) {
        size_t used = strlen(missing);
        if (!gt_arguments_value(&call->arguments, *required)->given)
            snprintf(missing + used, sizeof missing - used, "%s--%s", used ? ", " : "", *required);
    }
    if (*missing)
        gt_usage_error(call->program, "the following arguments are required: %s", missing);
    else if (apply(call, read, &error))
        return true;
    else
        gt_usage_error(call->program, "%s", error.text);
    return false;
}

bool gt_sweep_open_input(const gt_call *call, const char *const *required)
{
    gt_read_options read;
    return gt_sweep_begin_reading(call, required, &read);
}

char *gt_sweep_analysis_folder(const gt_call *call, const char *option, const char *root)
{
    const char *given = gt_arguments_string(&call->arguments, option);
    return given ? gt_strdup(given) : gt_format("%s/" GT_SWEEP_ANALYSIS, root);
}

bool gt_sweep_open_for_step(const gt_call *call, gt_sweep *sweep, const char *root, gt_error *error)
{
    if (!gt_sweep_open(sweep, root, error)) return false;
    gt_sweep_leave_out_failed(sweep, gt_arguments_flag(&call->arguments, "include_failed"));
    gt_sweep_leave_out_other_commands(sweep);
    return sweep->count || gt_fail(error, "no run of %s ended well", root);
}

char *gt_sweep_folder_name(const char *path)
{
    char whole[PATH_MAX];
    const char *name = realpath(path, whole) ? whole : path;
    const char *slash = strrchr(name, '/');
    return gt_strdup(slash && slash[1] ? slash + 1 : name);
}

gt_sweep_cache *gt_sweep_cache_for_step(const gt_call *call, const char *folder)
{
    return gt_sweep_cache_open(folder,
                               gt_arguments_flag(&call->arguments, "force") ? GT_CACHE_RENEW : GT_CACHE_KEEP);
}

void gt_sweep_note_files(const char *step, const char *const *paths, size_t count)
{
    gt_sweep_cache *cache = gt_sweep_cache_beside(paths[0], false);
    gt_stamps_note_files(cache, step, gt_path_name(paths[0]), paths, count);
    gt_sweep_cache_close(cache);
}

bool gt_sweep_is_quiet(const gt_call *call)
{
    return gt_arguments_flag(&call->arguments, "quiet");
}

bool gt_sweep_write_texts(const char *const *paths, const gt_str *texts, size_t count, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written = true;
    for (size_t i = 0; i < count && written; i++)
        written = gt_output_write_file(output, paths[i], texts[i], error);
    written = written && gt_output_commit(output, error);
    gt_output_free(output);
    return written;
}

static bool write_table(gt_output *output, const gt_table *table, const char *path, const char *line_end,
                        gt_error *error)
{
    gt_file file;
    if (!gt_file_open(&file, output, path, error)) return false;
    gt_csv_write_lines(&file, table, line_end);
    return gt_file_close(&file, error);
}

bool gt_sweep_write_csv(const gt_table *table, const char *path, const char *line_end, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written = write_table(output, table, path, line_end, error) && gt_output_commit(output, error);
    gt_output_free(output);
    return written;
}

bool gt_sweep_write_sheets(const gt_table_list *tables, const char *folder, const char *stem,
                           const char *page_path, gt_str page, gt_error *error)
{
    gt_output *output = gt_output_new();
    gt_output_set_csv_safe(output, true); /* no other program reads them */
    char *workbook = gt_format("%s/%s.xlsx", folder, stem);
    bool written = gt_output_xlsx(output, workbook, tables->items, tables->count, error);
    for (size_t i = 0; i < tables->count && written; i++) {
        char *path = gt_format("%s/%s.csv", folder, tables->items[i]->name);
        written = write_table(output, tables->items[i], path, "\n", error);
        gt_free(path);
    }
    if (written && page_path) written = gt_output_write_file(output, page_path, page, error);
    written = written && gt_output_commit(output, error);
    gt_output_free(output);
    gt_free(workbook);
    return written;
}

bool gt_sweep_write_both(const gt_table_list *tables, const char *step, const char *stem, gt_error *error)
{
    gt_output *output = gt_output_new();
    gt_output_set_csv_safe(output, strcmp(step, "counters") == 0); /* the other files are those of scripts */
    char *xlsx = gt_format("%s.xlsx", stem), *csv = gt_format("%s.csv", stem);
    bool written = gt_output_xlsx(output, xlsx, tables->items, tables->count, error) &&
                   write_table(output, tables->items[0], csv, "\n", error) && gt_output_commit(output, error);
    gt_output_free(output);
    if (written) gt_sweep_note_files(step, (const char *[]){xlsx, csv}, 2);
    gt_free_all(xlsx, csv);
    return written;
}
