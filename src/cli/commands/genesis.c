/* `gputally genesis`: the report on a simulation, from the files of its capture. */
#include "cli/commands/commands.h"
#include "input/chrome/chrome.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"
#include "report/genesis.h"

static const gt_option input_options[] = {
    {"capture_dir", GT_OPTION_STRING, "DIR", NULL,
     "read this capture folder: rocprofv3 files (also in kernel_trace/), a manifest, run.log (same as DIR)"},
    {"combined_run_dir", GT_OPTION_STRING, "DIR", NULL, "read this capture folder (same as --capture_dir)"},
    {"include_api", GT_OPTION_FLAG, NULL, NULL, "include HIP and HSA calls"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option report_options[] = {
    {"kernel_details", GT_OPTION_FLAG, NULL, NULL, "add the sheet kernel_details: every dispatch"},
    {"no_short_kernel_study", GT_OPTION_FLAG, NULL, NULL,
     "omit the sheets short_kernels_summary and short_kernel_histogram"},
    {"steady_state_gap_ms", GT_OPTION_STRING, "MS", "1000",
     "start the steady state after the longest GPU pause, if it is at least MS milliseconds long"},
    {"steady_state_fallback_s", GT_OPTION_STRING, "S", NULL,
     "use the last S seconds as the steady state if there is no such pause (default: 1.05 times wall_time in "
     "run.log, or else 5)"},
};
static const gt_option_group report_group = {"Sheets", report_options, GT_LENGTH(report_options)};

static const gt_option output_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", "analysis_output",
     "write genesis_perf_report.xlsx and genesis_summary.md into DIR"},
    {"output_csvs_dir", GT_OPTION_STRING, "DIR", NULL, "also write one CSV file per sheet into DIR"},
    GT_CSV_SAFE_OPTIONS("output_csvs_dir"),
    {"output_db", GT_OPTION_STRING, "PATH", NULL, "also write an SQLite database with one table per sheet",
     .ending = GT_DATABASE_ENDINGS},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

static const gt_option unused_options[] = {
    {"traceconv", GT_OPTION_STRING, "PATH", NULL, "set the path of traceconv",
     .unused = "no converter is needed"},
    {"keep_work", GT_OPTION_FLAG, NULL, NULL, "keep temporary files",
     .unused = "there are no temporary files"},
};
static const gt_option_group unused_group = {"Accepted for compatibility, no effect", unused_options,
                                             GT_LENGTH(unused_options)};

const gt_syntax gt_genesis_syntax = {
    .groups = {&input_group, &report_group, &output_group, &unused_group, &gt_index_group, &gt_common_group},
    .main_options = {"capture_dir", "output_dir", "kernel_details", "include_api", "steady_state_gap_ms"},
    .files = "[DIR]",
    .files_max = 1,
    .folders = true,
    .output_option = "output_dir",
};

/* ---- options ---- */

/* A number in the given unit, as nanoseconds; false if it is not a number. */
static bool parse_ns(const char *text, double unit_ns, int64_t *ns)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(fabs(value * unit_ns) < 9e18)) return false;
    *ns = (int64_t)(value * unit_ns);
    return true;
}

static int64_t choose_fallback_ns(const gt_capture *capture)
{
    double seconds =
        capture->wall_time_s >= 0 && capture->wall_time_s < 1e9 ? capture->wall_time_s * 1.05 : 5.0;
    if (capture->wall_time_s >= 0)
        gt_journal_info("Auto-detected benchmark window %.2fs from run.log", seconds);
    return (int64_t)(seconds * 1e9);
}

/* ---- reading ---- */

static gt_rocprof *read_run(const char *path, const gt_read_options *options, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    gt_rocprof *run = stream ? gt_rocprof_read(stream, path, options, error) : NULL;
    gt_stream_close(stream);
    if (run) gt_rocprof_leave_out(run);
    return run;
}

static gt_rocprof *read_kernels(const gt_capture *capture, gt_read_options options, gt_error *error)
{
    options.long_names = true;
    if (!capture->kernels_csv && !capture->json) {
        gt_fail(error, "%s: No kernel CSV or *_results.json found", capture->folder);
        return NULL;
    }
    return read_run(capture->kernels_csv ? capture->kernels_csv : capture->json, &options, error);
}

static uint64_t count_calls(const char *path, const gt_read_options *options)
{
    gt_error ignored;
    gt_rocprof *run = path ? read_run(path, options, &ignored) : NULL;
    uint64_t calls = run ? run->api_calls : 0;
    gt_rocprof_free(run);
    return calls;
}

static bool read_pftrace(const char *path, const gt_read_options *options, gt_chrome **pftrace,
                         gt_error *error)
{
    if (!path) return true;
    gt_stream *stream = gt_stream_open(path, error);
    *pftrace = stream ? gt_chrome_read(stream, options, error) : NULL;
    gt_stream_close(stream);
    return *pftrace != NULL;
}

/* ---- writing ---- */

static void show(const gt_call *call, const gt_rocprof *run, const gt_table_list *tables,
                 const gt_output *output, const gt_destinations *to)
{
    if (gt_arguments_flag(&call->arguments, "quiet")) return;
    if (call->by_old_name) {
        char *xlsx = realpath(to->xlsx_path, NULL), *text = realpath(to->text_path, NULL);
        printf("\n=== Done ===\n  Excel   : %s\n  Summary : %s\n", xlsx ? xlsx : to->xlsx_path,
               text ? text : to->text_path);
        gt_free_all(xlsx, text);
        return;
    }
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_summary_facts facts = gt_rocprof_find_facts(run);
    gt_rocprof_print_summary(stdout, &facts, run->communication, tables, (int)terminal.width, terminal.utf8);
    gt_trace_show_files(stdout, output);
}

static bool write_report(const gt_call *call, const gt_capture *capture, const gt_rocprof *run,
                         const gt_table_list *tables, const gt_steady_state *steady, gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    const gt_genesis_capture about = {capture->has_manifest, capture->title, capture->environments,
                                      capture->steps, capture->precision};
    const char *folder = gt_arguments_string(arguments, "output_dir"),
               *csvs = gt_arguments_string(arguments, "output_csvs_dir");
    const char *db = gt_arguments_string(arguments, "output_db");
    gt_buffer summary = {0};
    gt_genesis_summary(&summary, &about, tables, steady);
    char *text_path = gt_path_in(folder ? folder : ".", "genesis_summary.md");
    gt_destinations to = {.xlsx_path = gt_path_in(folder ? folder : ".", "genesis_perf_report.xlsx"),
                          .csvs_dir = csvs ? gt_strdup(csvs) : NULL,
                          .db_path = db ? gt_strdup(db) : NULL,
                          .text_path = text_path,
                          .text = gt_buffer_str(&summary)};
    gt_output *output = gt_destinations_write(
        &to, capture->kernels_csv ? capture->kernels_csv : capture->json, tables, error);
    if (output) show(call, run, tables, output, &to);
    bool written = output != NULL;
    gt_output_free(output);
    gt_destinations_free(&to);
    gt_buffer_free(&summary);
    gt_free(text_path);
    return written;
}

static bool make_report(const gt_call *call, const gt_capture *capture, gt_genesis_options options,
                        const gt_read_options *read, gt_error *error)
{
    gt_chrome *pftrace = NULL;
    gt_table_list tables = {0};
    gt_steady_state steady;
    gt_rocprof *run = read_kernels(capture, *read, error);
    if (!run) return false;
    if (gt_arguments_flag(&call->arguments, "include_api"))
        run->api_calls += count_calls(capture->hip_csv, read) + count_calls(capture->hsa_csv, read);
    gt_journal_info("TraceLens rocprof kernel report");
    options.steady_state = capture->kernels_csv != NULL;
    bool made = read_pftrace(capture->pftrace, read, &pftrace, error) &&
                gt_genesis_tables(run, pftrace, &options, &tables, &steady, error) &&
                write_report(call, capture, run, &tables, &steady, error);
    gt_table_list_free(&tables);
    gt_chrome_free(pftrace);
    gt_rocprof_free(run);
    return made;
}

static const char *capture_folder(const gt_arguments *arguments)
{
    const char *folder = gt_arguments_string(arguments, "capture_dir");
    if (!folder) folder = gt_arguments_string(arguments, "combined_run_dir");
    return folder || !arguments->file_count ? folder : arguments->files[0];
}

gt_exit gt_cmd_genesis(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    const char *folder = capture_folder(arguments),
               *gap = gt_arguments_value(arguments, "steady_state_gap_ms")->text;
    const char *fallback = gt_arguments_string(arguments, "steady_state_fallback_s");
    gt_genesis_options options = {
        .kernel_details = gt_arguments_flag(arguments, "kernel_details"),
        .short_kernel_study = !gt_arguments_flag(arguments, "no_short_kernel_study"),
        .named_agents_unknown = call->by_old_name,
    };
    gt_error error;
    gt_read_options read;
    gt_capture capture;
    if (!folder)
        return gt_usage_error(call->program,
                              "the following arguments are required: --capture-dir/--combined-run-dir");
    if (!parse_ns(gap, 1e6, &options.gap_ns))
        return gt_usage_error(call->program, "argument --steady-state-gap-ms: invalid float value: '%s'",
                              gap);
    if (fallback && !parse_ns(fallback, 1e9, &options.fallback_ns))
        return gt_usage_error(call->program, "argument --steady-state-fallback-s: invalid float value: '%s'",
                              fallback);
    if (!gt_common_apply(call, &read, &error)) return gt_usage_error(call->program, "%s", error.text);
    if (call->by_old_name) gt_journal_start(GT_JOURNAL_LOG, gt_arguments_flag(arguments, "quiet"));
    bool made = gt_capture_find(&capture, folder, &error);
    if (made && !fallback) options.fallback_ns = choose_fallback_ns(&capture);
    made = made && make_report(call, &capture, options, &read, &error);
    gt_capture_free(&capture);
    if (!made) fprintf(stderr, "gputally: %s\n", error.text);
    return made ? GT_EXIT_DONE : GT_EXIT_FAILED;
}
