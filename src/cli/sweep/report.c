/* `gputally sweep report`: finds the traces of a sweep, writes all reports and prints a summary. */
#include "cli/common.h"
#include "cli/sweep/sweep.h"
#include "os/paths.h"

static const gt_option report_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the reports into DIR (default: tracelens_analysis in SWEEP)"},
    {"rocprof", GT_OPTION_FLAG, NULL, NULL,
     "report rocprofv3 traces (rocprof_traces) instead of torch.profiler traces (torch_profiler); no "
     "collective reports"},
    {"rank_order", GT_OPTION_STRING, "HOW", "path",
     "assign rocprofv3 processes to ranks by path (byte order of the paths) or pid (order of process ids)",
     .needs = "rocprof", .choices = "path|pid"},
    {"full_kernel_names", GT_OPTION_FLAG, NULL, NULL,
     "show the full names of kernels of rocprofv3, so that kernels with the same short name get rows of "
     "their "
     "own",
     .needs = "rocprof"},
    {"report_layout", GT_OPTION_STRING, "NAME", "head",
     "choose the columns of the sheet GEMM: head, or 2025.12 for scripts that expect the column positions of "
     "that version",
     .needs = "!rocprof", .choices = "head|2025.12"},
    GT_SWEEP_INCLUDE_FAILED,
    GT_SWEEP_FORCE,
};
static const gt_option_group report_group = {"Reports", report_options, GT_LENGTH(report_options)};

const gt_syntax gt_sweep_report_syntax = {
    .groups = {&report_group, &gt_partials_group, &gt_common_group},
    .main_options = {"rocprof", "rank_order", "report_layout", "threads", "quiet"},
    .files = "SWEEP",
    .files_max = 1,
    .folders = true,
    .output_option = "output_dir",
};

static bool has_value(const gt_call *call, const char *option, const char *value)
{
    return strcmp(gt_arguments_value(&call->arguments, option)->text, value) == 0;
}

static void show_counts(size_t reports, size_t collective, bool rocprof)
{
    printf("%zu individual report%s", reports, reports == 1 ? "" : "s");
    if (!rocprof) printf(", %zu collective report%s", collective, collective == 1 ? "" : "s");
    putchar('\n');
}

/* One line per number of threads. */
static void show_threads(const gt_sweep *sweep, const gt_sweep_totals *totals, bool rocprof)
{
    for (size_t i = 0; i < sweep->count;) {
        const char *folder_of = sweep->configs[i].report_folder;
        size_t reports = 0, collective = 0, settings = 0;
        for (; i < sweep->count && strcmp(sweep->configs[i].report_folder, folder_of) == 0; i++, settings++) {
            reports += totals->of_config[i].reports;
            collective += totals->of_config[i].collective;
        }
        printf("%s: %zu channel setting%s, ", folder_of, settings, settings == 1 ? "" : "s");
        show_counts(reports, collective, rocprof);
    }
}

/* One line per run; if there are many, one for all. */
static void show_runs(const gt_sweep *sweep, const gt_sweep_totals *totals, bool rocprof)
{
    enum { RUNS_SHOWN = 16 };
    size_t reports = 0, collective = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        const gt_sweep_report_written *written = &totals->of_config[i];
        reports += written->reports;
        collective += written->collective;
        if (sweep->count > RUNS_SHOWN) continue;
        printf("%s: ", sweep->configs[i].name);
        show_counts(written->reports, written->collective, rocprof);
    }
    if (sweep->count <= RUNS_SHOWN) return;
    printf("%zu runs, ", sweep->count);
    show_counts(reports, collective, rocprof);
}

static void show(const gt_sweep *sweep, const gt_sweep_totals *totals, const char *folder, bool rocprof)
{
    (sweep->is_classic ? show_threads : show_runs)(sweep, totals, rocprof);
    printf("Comparisons across %s: %zu\n\nwrote %s\n", sweep->is_classic ? "threads" : "values of an axis",
           totals->comparisons, folder);
}

static bool make_reports(const gt_call *call, const char *root, const gt_sweep_report_options *options,
                         gt_error *error)
{
    gt_sweep sweep = {0};
    gt_sweep_totals totals = {0};
    char *folder = gt_sweep_analysis_folder(call, "output_dir", root);
    bool made = gt_path_is_folder(root) || gt_fail(error, "Directory not found: %s", root);
    made = made && gt_sweep_may_write(folder, error) && gt_sweep_open_for_step(call, &sweep, root, error);
    gt_sweep_cache *cache = made ? gt_sweep_cache_for_step(call, folder) : NULL;
    gt_sweep_report_options with_cache = *options;
    with_cache.cache = cache;
    made = made && gt_sweep_make_reports(&sweep, root, folder, &with_cache, &totals, error);
    gt_sweep_cache_close(cache);
    if (made && !gt_sweep_is_quiet(call)) show(&sweep, &totals, folder, options->rocprof);
    made = made && gt_sweep_totals_check(&totals, error);
    gt_sweep_totals_free(&totals);
    gt_sweep_free(&sweep);
    gt_free(folder);
    return made;
}

gt_exit gt_cmd_sweep_report(const gt_call *call)
{
    gt_read_options read;
    gt_error error;
    if (!gt_sweep_begin_reading(call, NULL, &read)) return GT_EXIT_USAGE;
    const gt_sweep_report_options options = {.rocprof = gt_arguments_flag(&call->arguments, "rocprof"),
                                             .by_pid = has_value(call, "rank_order", "pid"),
                                             .full_names =
                                                 gt_arguments_flag(&call->arguments, "full_kernel_names"),
                                             .old_layout = has_value(call, "report_layout", "2025.12"),
                                             .strict = read.strict,
                                             .threads = read.threads};
    return make_reports(call, call->arguments.files[0], &options, &error) ? GT_EXIT_DONE
                                                                          : gt_sweep_failed(&error);
}
