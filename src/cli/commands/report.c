/* `gputally report`: detects the format of each trace and writes the matching report. Of a folder: the report
 * of the rocprofv3 run, the JAX profiles or the Nsight Systems exports in it, or else of each PyTorch trace;
 * if these are one per rank, also the report on their collectives. */
#include "cli/commands/commands.h"

#include "cli/earlier_sheets.h"
#include "input/nsys/nsys.h"
#include "os/paths.h"

static const gt_option report_options[] = {
    {"linked_kernels_only", GT_OPTION_FLAG, NULL, NULL,
     "count only GPU events with a launch in the timeline of a PyTorch trace, as `gputally pytorch` does"},
    {"eager_trace", GT_OPTION_EACH, "FILE", NULL,
     "find the ops of kernels that CUDA and HIP graphs replay also with FILE, a trace of the same model "
     "without graphs; repeatable",
     .needs = "!no_graph_ops"},
    {"serving", GT_OPTION_STRING, "FILE", NULL,
     "show the times to the first token and per output token in FILE next to the steps of the trace, and "
     "what "
     "explains the difference (docs/serving.md): the JSON of `vllm bench serve --save-result` or SGLang's "
     "bench_serving, or the text of /metrics",
     .needs = "!no_extra_sheets"},
    {"capture_folder", GT_OPTION_STRING, "DIR", NULL,
     "find them with the graph-capture traces of DIR (default: the folder " GT_CAPTURE_FOLDER
     " next to the trace, if there is one)"},
    {"no_captures", GT_OPTION_FLAG, NULL, NULL,
     "do not look for the folder " GT_CAPTURE_FOLDER " next to the trace"},
    {"no_graph_ops", GT_OPTION_FLAG, NULL, NULL,
     "count kernels of graphs for the call that launches the graph, or merge captures as `gputally "
     "pytorch-inference` does"},
    {"group_by_parent_module", GT_OPTION_FLAG, NULL, NULL,
     "group ops of a PyTorch trace also by the nn.Module that called them; implies --no_graph_ops"},
};
static const gt_option findings_options[] = {
    {"output_json", GT_OPTION_STRING, "PATH", NULL,
     "write findings and all sheets as JSON to PATH (docs/json.md); of several traces, one file per trace "
     "into the folder PATH; - is standard output"},
    GT_JSON_SHEETS_OPTION,
    {"output_md", GT_OPTION_STRING, "PATH", NULL,
     "write verdict, findings, idle causes and timeline as Markdown to PATH, or into the folder PATH; - is "
     "standard output"},
    {"output_html", GT_OPTION_STRING, "PATH", NULL,
     "write the page, which opens in any browser, to PATH (docs/page.md), or into the folder PATH (default: "
     "next to each workbook, with the ending .html)"},
    {"no_html", GT_OPTION_FLAG, NULL, NULL, "write no page"},
    {"print", GT_OPTION_FLAG, NULL, NULL, "write no files, only print"},
    {"strict_trust", GT_OPTION_FLAG, NULL, NULL,
     "exit with 4 if a trace gets the verdict \"do not trust\"; its report is written all the same",
     .needs = "!no_findings"},
    {"all_findings", GT_OPTION_FLAG, NULL, NULL,
     "show all findings in the terminal, not only the first three", .needs = "!no_findings"},
    {"expected_bus_gbps", GT_OPTION_INT, "GBPS", NULL,
     "compare large collectives of a folder of ranks with this bus bandwidth, in GB/s as nccl-tests gives it "
     "(default: that of the usual network of the GPU)",
     .needs = "!no_findings"},
    {"no_findings", GT_OPTION_FLAG, NULL, NULL,
     "omit findings, causes of idle time and the verdict on the trace"},
};
static const gt_option_group findings_group = {"Findings", findings_options, GT_LENGTH(findings_options)};
const gt_option_group gt_report_timeline_group = {"PyTorch timeline and graphs", report_options,
                                                  GT_LENGTH(report_options)};

/* Options of one kind of report have no effect on the others; shared options mean the same in each. */
const gt_syntax gt_report_syntax = {
    .groups = {&findings_group, &gt_pytorch_sheets_group, &gt_report_timeline_group, &gt_report_phases_group,
               &gt_pytorch_plots_group, &gt_report_roofline_group, &gt_pytorch_comparison_group,
               &gt_communication_group, &gt_extra_group, &gt_rocprof_group, &gt_nsys_group, &gt_jax_group,
               &gt_short_kernel_group, &gt_extra_sheets_group, &gt_output_group, &gt_pytorch_unused_group,
               &gt_index_group, &gt_partials_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "output_json", "output_md", "strict_trust"},
    .aliases = gt_pytorch_aliases,
    .files = "FILE...",
    .file_endings = GT_TRACE_ENDINGS,
    .files_max = SIZE_MAX,
    .folders = true,
    .output_option = "output_xlsx_path",
    .error_option = "output_json",
    .best_defaults = true,
};

static bool make_matching_report(const gt_trace_call *trace, gt_error *error)
{
    static gt_report_maker *const makers[] = {[GT_TRACE_ROCPROF] = gt_rocprof_report,
                                              [GT_TRACE_PYTORCH] = gt_pytorch_report,
                                              [GT_TRACE_JAX] = gt_jax_report,
                                              [GT_TRACE_NSYS] = gt_nsys_report};
    gt_trace_kind kind = GT_TRACE_ROCPROF; /* of a folder: see gt_report_find_traces */
    gt_trace_format format;
    if (trace->stream && !gt_detect(trace->stream, &format, error)) return false;
    if (trace->stream && format == GT_FORMAT_NCU_CSV) return gt_ncu_report(trace, error);
    if (trace->stream && !gt_report_detect(trace->stream, &kind, error)) return false;
    return makers[kind](trace, error);
}

/* ---- files and folders ---- */

typedef struct inputs {
    gt_trace_item *items; /* the paths belong to the others */
    size_t count, capacity;
    gt_profile_list profiles;
    struct folder {
        const char *path;
        char *name;             /* begins the names of its outputs; NULL: the only folder */
        char *steps;            /* ends those names: "_steps_5-7"; NULL: the only run */
        gt_trace_folder traces; /* of one run, if there are several in the folder */
        gt_kept_print *lines;   /* owned; of its ranks; NULL: it has none */
    } * folders;                /* with PyTorch traces */
    size_t folder_count, folder_capacity;
} inputs;

static void add_item(inputs *in, const char *path, int64_t rank)
{
    gt_trace_item item = {.path = path, .rank = rank};
    GT_PUSH(in->items, in->count, in->capacity, item);
}

static void add_rank(inputs *in, const char *path, int64_t rank, const struct folder *folder)
{
    add_item(in, path, rank);
    in->items[in->count - 1].lines = folder->lines;
}

/* Adds the file itself, the run of a rocprofv3 folder, or the JAX profiles of a folder. */
static bool add_profiles(inputs *in, const char *path, gt_error *error)
{
    size_t first = in->profiles.count;
    if (!gt_report_find_traces(&in->profiles, path, error)) return false;
    for (size_t i = first; i < in->profiles.count; i++) add_item(in, in->profiles.paths[i], -1);
    return true;
}

/* The newest of several JAX profiles is read; the others must be named. */
static void warn_of_skipped(const inputs *in, size_t first, const char *path)
{
    size_t count = in->profiles.skipped_count - first;
    if (count)
        gt_warn(
            "%s: the report covers the last JAX profile by name, %s; the other %zu %s not read; name one: "
            "gputally report %s",
            path, in->profiles.paths[in->profiles.count - 1], count, count == 1 ? "is" : "are",
            in->profiles.skipped[first]);
}

static void warn_of_unreadable(const gt_trace_folder *found)
{
    for (size_t i = 0; i < found->unreadable_count; i++)
        gt_warn("%s; this trace is not in the report", found->unreadable[i].problem);
}

/* The traces of a folder, or of one of several runs in it. */
static void add_run(inputs *in, const char *path, gt_trace_folder traces)
{
    struct folder folder = {.path = path, .traces = traces};
    if (traces.are_ranks) folder.lines = gt_alloc_zero(1, sizeof *folder.lines);
    for (size_t i = 0; i < traces.count; i++)
        add_rank(in, traces.paths[i], traces.are_ranks ? traces.ranks[i] : -1, &folder);
    GT_PUSH(in->folders, in->folder_count, in->folder_capacity, folder);
}

static bool add_folder(inputs *in, const char *path, gt_error *error)
{
    size_t skipped = in->profiles.skipped_count;
    if (add_profiles(in, path, error)) {
        warn_of_skipped(in, skipped, path);
        gt_folder_warn_of_others(path);
        return true;
    }
    gt_trace_folder found;
    size_t count;
    gt_trace_folder_find(&found, path, true);
    gt_trace_folder *runs = gt_trace_folder_split(&found, &count);
    warn_of_unreadable(&found);
    bool any = found.count;
    if (runs) {
        char *which = gt_trace_runs_describe(runs, count);
        gt_info("%s: %s", path, which);
        gt_free(which);
        /* Which run the unreadable files belong to is unknown. */
        runs[0].unreadable = found.unreadable;
        runs[0].unreadable_count = found.unreadable_count;
        found.unreadable = NULL;
        found.unreadable_count = 0;
        gt_trace_folder_free(&found);
    }
    for (size_t i = 0; i < count; i++) add_run(in, path, runs[i]);
    if (!runs) add_run(in, path, found);
    gt_free(runs); /* what was in it is now in the list of folders */
    return any || (!gt_nsys_fail_folder(path, error) &&
                   gt_fail(error,
                           "%s: no rocprofv3 files, JAX profile, Nsight Systems export or PyTorch "
                           "traces in this folder",
                           path));
}

static char *rank_label(const char *folder, int64_t rank)
{
    return gt_format("%s%srank%" PRId64, folder ? folder : "", folder ? "_" : "", rank);
}

/* a, a_steps_5-7, or only steps_5-7 if all runs are in one folder. */
static void name_folders(inputs *in)
{
    bool several = false;
    for (size_t f = 1; f < in->folder_count; f++)
        several |= in->folders[f].path != in->folders[0].path; /* the pointer: two arguments may be equal */
    for (size_t f = 0; f < in->folder_count; f++) {
        struct folder *folder = &in->folders[f];
        const char *steps = folder->traces.steps;
        char *own = several ? gt_path_last_name(folder->path) : gt_strdup("");
        if (steps) folder->steps = gt_format("_%s", steps);
        if (steps) folder->steps[strcspn(folder->steps, " ")] = '_';
        if (several || steps) folder->name = gt_format("%s%s", own, !steps ? "" : folder->steps + !several);
        gt_free(own);
    }
}

/* Names the CSV folders of ranks: rank0, or a_rank0 if there are several folders. */
static void label_ranks(inputs *in)
{
    for (size_t f = 0, at = 0; f < in->folder_count; f++) {
        const gt_trace_folder *traces = &in->folders[f].traces;
        const char *name = in->folders[f].name;
        for (size_t i = 0; gt_trace_folder_is_of_ranks(traces) && i < traces->count; i++) {
            while (in->items[at].path != traces->paths[i]) at++; /* both in the order of the arguments */
            in->items[at].label = rank_label(name, traces->ranks[i]);
        }
    }
}

/* Whether two traces without a label would get the same folder of CSV files. */
static bool names_clash(const inputs *in)
{
    char **stems = gt_alloc(in->count * sizeof *stems);
    const char **names = gt_alloc(in->count * sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < in->count; i++) {
        if (in->items[i].label) continue;
        stems[count] = gt_trace_stem(in->items[i].path);
        names[count] = gt_path_name(stems[count]);
        count++;
    }
    if (count) qsort(names, count, sizeof *names, gt_by_cstr);
    bool clash = false;
    for (size_t i = 1; i < count; i++) clash |= strcmp(names[i - 1], names[i]) == 0;
    for (size_t i = 0; i < count; i++) gt_free(stems[i]);
    gt_free_all(names, stems);
    return clash;
}

/* Names the CSV folders of traces that are not one per rank and have the same names: by the path below the
 * folder, such as node1/rank0, after the name of the folder if there are several. */
static void label_by_path(inputs *in)
{
    if (!names_clash(in)) return;
    for (size_t f = 0, at = 0; f < in->folder_count; f++) {
        const gt_trace_folder *traces = &in->folders[f].traces;
        const char *name = in->folders[f].name;
        for (size_t i = 0; !traces->are_ranks && i < traces->count; i++) {
            while (in->items[at].path != traces->paths[i]) at++; /* both in the order of the arguments */
            char *stem = gt_trace_stem(traces->paths[i]);
            const char *below = stem + strlen(in->folders[f].path);
            while (*below == '/') below++;
            in->items[at].label = gt_format("%s%s%s", name ? name : "", name ? "/" : "", below);
            gt_free(stem);
        }
    }
}

static void free_inputs(inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        gt_free(in->items[i].label);
        gt_rank_collectives_free(in->items[i].collectives);
    }
    for (size_t i = 0; i < in->folder_count; i++) {
        gt_trace_folder_free(&in->folders[i].traces);
        gt_free_all(in->folders[i].name, in->folders[i].steps);
        if (in->folders[i].lines) gt_print_drop(in->folders[i].lines);
        gt_free(in->folders[i].lines);
    }
    gt_free_all(in->folders, in->items);
    gt_profiles_free(&in->profiles);
}

/* ---- the collectives of a folder ---- */

/* The CSV files in their own folder and the JSON and Markdown files next to those of the ranks; without any
 * of them, nccl_analysis_report.xlsx in the folder of the traces. */
static gt_destinations collective_destinations(const gt_call *call, const struct folder *folder)
{
    enum { MANY = 2 }; /* traces: a file in the folder that the option names */
    const char *csvs = gt_arguments_string(&call->arguments, "output_csvs_dir"), *path = folder->path;
    if (gt_arguments_flag(&call->arguments, "print")) return (gt_destinations){0};
    char *label = gt_format("%s%scollective", folder->name ? folder->name : "", folder->name ? "_" : "");
    gt_destinations to = {.json_path =
                              gt_answers_path(call, "output_json", path, label, MANY, ".findings.json"),
                          .md_path = gt_answers_path(call, "output_md", path, label, MANY, ".findings.md"),
                          .with_charts = true,
                          .sheets_optional = true};
    gt_destinations_choose_sheets(&to, &call->arguments);
    to.html_path = gt_answers_path(call, "output_html", path, label, MANY, ".html");
    if (csvs) {
        to.csvs_dir = gt_format("%s/%s", csvs, label);
        to.warn_of_earlier = true;
    } else if (!to.json_path && !to.md_path && !to.html_path) {
        const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
        char *stem =
            gt_format("%s%s" GT_COLLECTIVE_STEM "%s", path, slash, folder->steps ? folder->steps : "");
        to.xlsx_path = gt_format("%s.xlsx", stem);
        if (!gt_arguments_flag(&call->arguments, "no_html")) to.html_path = gt_format("%s.html", stem);
        gt_free(stem);
    }
    gt_free(label);
    return to;
}

/* Why there is no report of all ranks although there are traces of ranks; NULL if that is no failure. */
static char *find_failure(const struct folder *folder)
{
    const gt_trace_folder *traces = &folder->traces;
    if (traces->are_ranks) return NULL;
    if (traces->count > 1 && traces->why_not && gt_trace_folder_has_ranks(traces))
        return gt_format("no collective report, because the traces are not one per rank: %s",
                         traces->why_not);
    return traces->unreadable_count && gt_trace_folder_is_of_ranks(traces)
               ? gt_strdup("no collective report: less than two traces can be read")
               : NULL;
}

/* The JSON file about all ranks of a folder, if it has no report. */
static void write_failure(const gt_call *call, const struct folder *folder)
{
    char *failure = find_failure(folder);
    if (!failure) return;
    gt_destinations to = collective_destinations(call, folder);
    gt_error_write(to.json_path, folder->path, failure, GT_EXIT_FAILED);
    gt_destinations_free(&to);
    gt_free(failure);
}

static bool has_rank(const gt_trace_folder *traces, int64_t rank)
{
    for (size_t i = 0; i < traces->count; i++)
        if (traces->ranks[i] == rank) return true;
    return false;
}

/* The JSON file of a trace that cannot be read, named as if it could. */
static void write_unreadable(const gt_call *call, const inputs *in, const struct folder *folder,
                             const gt_unreadable_trace *trace)
{
    const gt_trace_folder *traces = &folder->traces;
    bool by_rank = gt_trace_folder_is_of_ranks(traces) && trace->rank >= 0 && !has_rank(traces, trace->rank);
    char *label = by_rank ? rank_label(folder->name, trace->rank) : NULL;
    char *path = gt_answers_path(call, "output_json", trace->path, label, in->count, ".findings.json");
    gt_error_write(path, trace->path, trace->problem, GT_EXIT_FAILED);
    gt_free_all(path, label);
}

static void write_errors(const gt_call *call, const inputs *in)
{
    if (gt_output_is_sent(gt_arguments_string(&call->arguments, "output_json"))) return; /* takes one error */
    for (size_t f = 0; (call->has_more_traces || in->count > 1) && f < in->folder_count; f++) {
        const struct folder *folder = &in->folders[f];
        for (size_t i = 0; i < folder->traces.unreadable_count; i++)
            write_unreadable(call, in, folder, &folder->traces.unreadable[i]);
        write_failure(call, folder);
    }
}

/* The path of a page from the folder of another one; NULL if it is not in that folder. */
static char *path_from(const char *from, const char *page)
{
    size_t len = strlen(from) - strlen(gt_path_name(from));
    return page && strncmp(from, page, len) == 0 && page[len] != '/' ? gt_strdup(page + len) : NULL;
}

/* The pages of the ranks of a folder, by rank. */
static char **find_pages(const gt_call *call, const inputs *in, const gt_trace_folder *traces,
                         size_t rank_count, const char *from)
{
    char **pages = gt_alloc_zero(rank_count, sizeof *pages);
    for (size_t i = 0, at = 0; from && i < traces->count; i++) {
        while (in->items[at].path != traces->paths[i]) at++; /* both in the same order */
        gt_error ignored;
        gt_destinations to = {0};
        if (gt_destinations_choose(&to, call, in->items[at].path, in->items[at].label, in->count, &ignored))
            pages[traces->ranks[i]] = path_from(from, to.html_path);
        gt_destinations_free(&to);
    }
    return pages;
}

/* What was kept of the ranks of a folder, by rank, taken from their items. */
static gt_rank_collectives **take_collectives(const inputs *in, const gt_trace_folder *traces,
                                              size_t rank_count)
{
    gt_rank_collectives **ranks = gt_alloc_zero(rank_count, sizeof *ranks);
    for (size_t i = 0, at = 0; i < traces->count; i++) {
        while (in->items[at].path != traces->paths[i]) at++; /* both in the same order */
        ranks[traces->ranks[i]] = in->items[at].collectives;
        in->items[at].collectives = NULL;
    }
    return ranks;
}

static gt_exit report_collectives(const gt_call *call, inputs *in, const struct folder *folder,
                                  unsigned threads)
{
    const char *steps = folder->traces.steps;
    char *own = gt_path_last_name(folder->path);
    char *title = steps ? gt_format("%s, %s", own, steps) : gt_strdup(folder->path);
    gt_free(own);
    gt_rank_files files = gt_trace_folder_ranks(&folder->traces, title);
    gt_destinations to = collective_destinations(call, folder);
    char **pages = find_pages(call, in, &folder->traces, files.count, to.html_path);
    gt_rank_collectives **ready = take_collectives(in, &folder->traces, files.count);
    bool is_written = false, quiet = gt_arguments_flag(&call->arguments, "quiet");
    gt_exit status = gt_collective_of_ranks(call, folder->path, &files, ready, (const char *const *)pages,
                                            &to, threads, &is_written);
    for (size_t i = 0; i < files.count; i++) gt_free(pages[i]);
    gt_free(pages);
    for (size_t i = 0; i < files.count; i++) gt_rank_collectives_free(ready[i]);
    gt_free(ready);
    if (!quiet) putchar('\n');
    gt_print_kept(folder->lines);
    /* The last line names the page to open first. */
    if (!quiet && is_written && to.html_path)
        printf("all ranks%s%s: %s\n", steps ? ", " : "", steps ? steps : "", to.html_path);
    gt_free(title);
    gt_destinations_free(&to);
    gt_rank_files_free(&files);
    return status;
}

/* Whether some of several traces cannot be read. */
static bool has_more_traces(const inputs *in)
{
    size_t unreadable = 0;
    for (size_t i = 0; i < in->folder_count; i++) unreadable += in->folders[i].traces.unreadable_count;
    return unreadable && in->count + unreadable > 1;
}

static gt_exit report_folders(const gt_call *call, inputs *in, unsigned threads)
{
    gt_exit worst = GT_EXIT_DONE;
    for (size_t i = 0; i < in->folder_count; i++) {
        const gt_trace_folder *traces = &in->folders[i].traces;
        gt_exit status = traces->unreadable_count ? GT_EXIT_FAILED : GT_EXIT_DONE;
        gt_exit collectives = GT_EXIT_DONE;
        bool has_none = !traces->are_ranks && traces->count > 1 && traces->why_not;
        if (traces->are_ranks)
            collectives = report_collectives(call, in, &in->folders[i], threads);
        else if (traces->count == 1)
            gt_trace_folder_warn_alone(traces, in->folders[i].path);
        else if (has_none)
            gt_warn("%s: no collective report, because the traces are not one per rank: %s",
                    in->folders[i].path, traces->why_not);
        if (has_none && gt_trace_folder_has_ranks(traces)) status = GT_EXIT_FAILED;
        if (collectives > status) status = collectives;
        if (status > worst) worst = status;
    }
    return worst;
}

/* A second run into the same folders may have fewer ranks. */
static void warn_of_earlier_ranks(const gt_call *call, const inputs *in)
{
    static const char *const options[] = {"output_csvs_dir", "output_json", "output_md"};
    if (in->folder_count != 1 || !gt_trace_folder_is_of_ranks(&in->folders[0].traces)) return;
    const char **labels = gt_alloc((in->count + 1) * sizeof *labels);
    size_t count = 0;
    for (size_t i = 0; i < in->count; i++)
        if (in->items[i].label) labels[count++] = in->items[i].label;
    const char *before = NULL;
    for (size_t i = 0; i < GT_LENGTH(options); i++) {
        const char *folder = gt_arguments_string(&call->arguments, options[i]);
        if (!folder || gt_path_is_same_file(folder, before)) continue;
        gt_warn_of_earlier_ranks(folder, labels, count);
        before = folder;
    }
    gt_free(labels);
}

/* --print with the name of a file is a contradiction. */
static gt_exit check_print(const gt_call *call)
{
    static const char *const outputs[] = {"output_xlsx_path", "output_csvs_dir", "output_db",
                                          "output_json",      "output_md",       "output_html"};
    for (size_t i = 0; gt_arguments_flag(&call->arguments, "print") && i < GT_LENGTH(outputs); i++)
        if (gt_arguments_string(&call->arguments, outputs[i]))
            return gt_usage_error(call->program, "argument --print: not allowed with argument --%s",
                                  outputs[i]);
    return GT_EXIT_DONE;
}

gt_exit gt_cmd_report(const gt_call *call)
{
    if (check_print(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (gt_pytorch_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (gt_arguments_flag(&call->arguments, "no_html") &&
        gt_arguments_string(&call->arguments, "output_html"))
        return gt_usage_error(call->program, "argument --no_html: not allowed with argument --output_html");
    const gt_option_value *expected = gt_arguments_value(&call->arguments, "expected_bus_gbps");
    if (expected->given && expected->number < 1)
        return gt_usage_error(call->program,
                              "argument --expected_bus_gbps: must be a positive integer, got %lld",
                              (long long)expected->number);
    gt_error error;
    gt_read_options read; /* applied before files are searched, for --quiet */
    if (!gt_common_apply(call, &read, &error)) return gt_usage_error(call->program, "%s", error.text);
    inputs in = {0};
    gt_exit status = GT_EXIT_FAILED;
    bool found = true;
    for (size_t i = 0; found && i < call->arguments.file_count; i++) {
        const char *path = call->arguments.files[i];
        found = gt_path_is_folder(path) ? add_folder(&in, path, &error) : add_profiles(&in, path, &error);
    }
    gt_call own = *call;
    own.has_more_traces = has_more_traces(&in);
    if (found) {
        name_folders(&in);
        label_ranks(&in);
        label_by_path(&in);
        if (expected->given && !in.folder_count)
            gt_warn("--expected_bus_gbps has no effect without a folder of ranks");
        status = gt_each_item(&own, in.items, in.count, make_matching_report);
        gt_exit folders = status == GT_EXIT_USAGE ? GT_EXIT_DONE : report_folders(&own, &in, read.threads);
        if (status != GT_EXIT_USAGE) {
            write_errors(&own, &in);
            warn_of_earlier_ranks(call, &in);
        }
        if (folders != GT_EXIT_DONE && (status == GT_EXIT_DONE || status == GT_EXIT_TRUST)) status = folders;
    } else {
        fprintf(stderr, "gputally: %s\n", error.text);
        write_errors(&own, &in);
        gt_call_error_write(call, error.text, status);
    }
    free_inputs(&in);
    return status;
}
