/* Formats and kinds of reports: two tables, and what is done with their rows. */
#include "report/report.h"

#include "analysis/graphs/memory.h"
#include "base/raise.h"
#include "findings/formats/formats.h"
#include "input/chrome/kineto.h"
#include "input/nsys/nsys.h"
#include "input/rocprof/rocprof.h"
#include "input/sqlite.h"
#include "input/xla/xplane.h"
#include "os/paths.h"
#include "page/work.h"
#include "report/collective.h"
#include "report/pytorch/graphs.h"
#include "report/pytorch/parts.h"

/* ---- which report for which format ---- */

static const struct {
    gt_trace_format format;
    gt_trace_kind kind;
} formats[] = {
    {GT_FORMAT_ROCPROF_JSON, GT_TRACE_ROCPROF}, {GT_FORMAT_ROCPROF_CSV, GT_TRACE_ROCPROF},
    {GT_FORMAT_SQLITE, GT_TRACE_ROCPROF},       {GT_FORMAT_PERFETTO, GT_TRACE_ROCPROF},
    {GT_FORMAT_KINETO_JSON, GT_TRACE_PYTORCH},  {GT_FORMAT_XPLANE, GT_TRACE_JAX},
};

static const gt_index_kind index_kinds[] = {[GT_TRACE_ROCPROF] = GT_INDEX_ROCPROF,
                                            [GT_TRACE_PYTORCH] = GT_INDEX_PYTORCH,
                                            [GT_TRACE_JAX] = GT_INDEX_JAX,
                                            [GT_TRACE_NSYS] = GT_INDEX_NSYS};

static bool kind_of_index(const char *path, gt_trace_kind *kind, gt_error *error)
{
    gt_index_kind found;
    if (!gt_index_kind_of(path, &found, error)) return false;
    for (size_t i = 0; i < GT_LENGTH(index_kinds); i++)
        if (index_kinds[i] == found) *kind = (gt_trace_kind)i;
    return true;
}

/* A database is one of rocprofv3 unless it has other tables; which ones a truncated one had is unknown. */
static bool kind_of_database(const gt_stream *stream, gt_trace_kind *kind, gt_error *error)
{
    if (gt_stream_seekable(stream) && !gt_sqlite_is_complete(gt_stream_path(stream), error)) return false;
    gt_database_kind found =
        gt_stream_seekable(stream) ? gt_database_kind_of(gt_stream_path(stream)) : GT_DATABASE_ROCPD;
    if (found == GT_DATABASE_OTHER)
        return gt_fail(error, "%s: no tables of Nsight Systems and no rocpd tables in this database",
                       gt_stream_path(stream));
    if (found == GT_DATABASE_NVPROF) return gt_fail_nvprof(gt_stream_path(stream), error);
    if (found == GT_DATABASE_NSYS) *kind = GT_TRACE_NSYS;
    return true;
}

bool gt_report_detect(gt_stream *stream, gt_trace_kind *kind, gt_error *error)
{
    gt_trace_format format;
    if (!gt_detect(stream, &format, error)) return false;
    if (format == GT_FORMAT_INDEX) return kind_of_index(gt_stream_path(stream), kind, error);
    for (size_t i = 0; i < GT_LENGTH(formats); i++) {
        if (formats[i].format != format) continue;
        *kind = formats[i].kind;
        if (format == GT_FORMAT_SQLITE) return kind_of_database(stream, kind, error);
        if (format != GT_FORMAT_PERFETTO) return true;
        gt_perfetto_origin origin; /* both profilers can write this format */
        if (!gt_perfetto_find_origin(stream, &origin, error)) return false;
        if (origin == GT_ORIGIN_PYTORCH) *kind = GT_TRACE_PYTORCH;
        return true;
    }
    return gt_detect_fail(stream, format, error);
}

static bool find_exports(gt_profile_list *traces, const char *folder)
{
    gt_nsys_files files;
    gt_nsys_files_find(&files, folder);
    for (size_t i = 0; i < files.count; i++)
        GT_PUSH(traces->paths, traces->count, traces->capacity, gt_strdup(files.paths[i]));
    bool found = files.count > 0;
    gt_nsys_files_free(&files);
    return found;
}

bool gt_report_find_traces(gt_profile_list *traces, const char *path, gt_error *error)
{
    if (gt_path_is_folder(path) && gt_rocprof_is_folder(path)) {
        GT_PUSH(traces->paths, traces->count, traces->capacity, gt_strdup(path));
        return true;
    }
    if (gt_profiles_find(traces, path, error)) return true;
    if (gt_path_is_folder(path) && find_exports(traces, path)) return true;
    if (gt_path_is_folder(path) && gt_nsys_fail_folder(path, error)) return false;
    return gt_fail(error, "%s: no rocprofv3 files, JAX profile or nsys export; name a PyTorch trace itself",
                   path);
}

/* ---- communication kernels ---- */

/* The table, and the expressions; NULL if only the names of TraceLens count. `tracelens` is 0 if other rules
 * of the report find these names. */
static gt_comm_kernels *communication_of(const gt_report_options *options, unsigned tracelens)
{
    gt_error error;
    if (!options->all_comm_kernels && !options->comm_regex_count) return NULL;
    gt_comm_kernels *comm =
        gt_comm_kernels_new(options->all_comm_kernels ? GT_COMM_TRACELENS | GT_COMM_OTHERS : tracelens);
    for (size_t i = 0; i < options->comm_regex_count; i++)
        if (!gt_comm_kernels_add(comm, options->comm_regexes[i], &error))
            gt_raise_internal("comm_kernel_regex: %s", error.text); /* checked when it was set */
    return comm;
}

/* ---- reading ---- */

/* Findings and page are both made from a schedule. */
static bool wants_schedule(const gt_report_options *options)
{
    return options->findings || options->page;
}

static bool wants_serving_sheets(const gt_report_options *options)
{
    return options->pytorch.serving_sheets && options->pytorch.extra_sheets;
}

static bool wants_steps(const gt_report_options *options)
{
    return wants_schedule(options) || wants_serving_sheets(options);
}

/* The GPU that the user names. */
static bool choose_gpu(gt_report *report, gt_error *error)
{
    const gt_report_options *options = &report->options;
    return gt_gpu_arch_choose(options->gpu_arch_platform, options->gpu_arch_json_path, options->gpu_peaks,
                              &report->arena, &report->gpu_arch, &report->options.pytorch.gpu_arch, error);
}

/* What a report needs whether the trace is read or not. */
static bool prepare_rocprof(gt_report *report, const char *path, gt_error *error)
{
    (void)path;
    report->communication = communication_of(&report->options, 0);
    return choose_gpu(report, error);
}

/* What to read for the sheets, the findings and the page. */
static void set_wanted(gt_report *report)
{
    gt_read_options *read = &report->options.read;
    read->wanted = gt_rocprof_options_wanted(&report->options.rocprof);
    if (wants_schedule(&report->options)) read->wanted |= GT_WANT_FOR_FINDINGS;
}

static bool read_rocprof(gt_report *report, gt_stream *stream, const char *path, gt_error *error)
{
    gt_read_options *read = &report->options.read;
    set_wanted(report);
    if (report->options.all_processes) read->wanted |= GT_WANT_ALL_PROCESSES;
    if (report->options.kernel_names == GT_KERNEL_NAMES_MANGLED)
        return gt_fail(error,
                       "%s: only exports of Nsight Systems have mangled names; omit --kernel_names mangled",
                       gt_trace_title(path));
    read->full_names = report->options.rocprof.full_names;
    gt_rocprof *run =
        stream ? gt_rocprof_read(stream, path, read, error) : gt_rocprof_read_folder(path, read, error);
    report->trace.rocprof = run;
    if (!run) return false;
    gt_rocprof_leave_out(run);
    gt_rocprof_warn_of_short_names(run, "--full_kernel_names");
    run->communication = report->communication;
    return true;
}

/* Whether the file may be an export: what the first bytes tell. */
static bool may_be_export(gt_stream *stream, gt_error *error)
{
    gt_trace_format format;
    if (!gt_detect(stream, &format, error)) return false;
    if (format == GT_FORMAT_INDEX || (format == GT_FORMAT_SQLITE && gt_stream_seekable(stream))) return true;
    if (format == GT_FORMAT_NSYS_REPORT) return gt_detect_fail(stream, format, error);
    if (format == GT_FORMAT_SQLITE)
        return gt_fail(error, "%s: an export must be an uncompressed file", gt_stream_path(stream));
    return gt_fail(error, "%s: not an SQLite export of Nsight Systems: %s", gt_stream_path(stream),
                   gt_format_name(format));
}

static bool read_nsys(gt_report *report, gt_stream *stream, const char *path, gt_error *error)
{
    if (stream && !may_be_export(stream, error)) return false;
    gt_report_options *options = &report->options;
    set_wanted(report);
    if (options->rocprof.full_names && options->kernel_names == GT_KERNEL_NAMES_SHORT)
        options->kernel_names = GT_KERNEL_NAMES_DEMANGLED;
    options->rocprof.full_names = options->kernel_names == GT_KERNEL_NAMES_DEMANGLED;
    options->read.kernel_names = options->kernel_names;
    gt_rocprof *run = report->trace.rocprof = gt_nsys_read(stream, path, &options->read, error);
    if (!run) return false;
    gt_rocprof_leave_out(run);
    if (options->kernel_names == GT_KERNEL_NAMES_SHORT)
        gt_rocprof_warn_of_short_names(run, "--kernel_names demangled");
    run->communication = report->communication;
    return true;
}

const char *gt_trace_title(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static bool fail_without_ops(const char *path, gt_error *error)
{
    return gt_fail(error, "%s: no CPU ops; the comparison needs the host side of both traces",
                   gt_trace_title(path));
}

static bool read_comparison(gt_report *report, gt_kineto_options keep, gt_error *error)
{
    const char *path = report->options.comparison_json_path;
    if (!path) return true;
    const char *about = gt_log_about(gt_trace_title(path));
    gt_read_options read = report->options.read;
    read.run = NULL; /* that of the other trace */
    gt_pytorch_read *events = gt_kineto_read(path, keep, &read, error);
    /* Captures may have the ops. */
    bool usable =
        events && (!gt_pytorch_read_view(events)->gpu_only || report->options.comparison_capture_folder);
    if (usable) {
        report->options.pytorch.comparison = gt_pytorch_link(gt_pytorch_build_tree(events));
        if (report->options.pytorch.correct_launches)
            gt_pytorch_correct_launches(report->options.pytorch.comparison);
    } else if (events) {
        gt_pytorch_read_free(events);
        fail_without_ops(path, error);
    }
    gt_log_about(about);
    return usable;
}

/* The folder next to a trace in which servers leave their captures. */
static void find_captures(gt_report *report, const char *path)
{
    const gt_report_options *options = &report->options;
    if (!options->find_captures || options->capture_folder || options->extension_file ||
        strcmp(path, "-") == 0)
        return;
    char *folder = gt_path_sibling(path, GT_CAPTURE_FOLDER);
    report->found_captures = gt_path_is_folder(folder);
    if (report->found_captures)
        report->options.capture_folder = gt_arena_bytes(&report->arena, folder, strlen(folder));
    gt_free(folder);
}

static bool read_requests(gt_report *report, gt_error *error)
{
    const char *file = report->options.serving_file;
    if (!file) return true;
    gt_stream *stream = gt_stream_open(file, error);
    bool read = stream && gt_server_run_read(stream, &report->requests, error);
    if (stream) gt_stream_close(stream);
    return read;
}

static bool prepare_pytorch(gt_report *report, const char *path, gt_error *error)
{
    gt_report_options *options = &report->options;
    if (!read_requests(report, error)) return false;
    find_captures(report, path);
    /* Modules need all that a capture has, not only its ops. */
    if (options->pytorch.by_module || options->comparison_capture_folder) options->pytorch.graph_ops = false;
    if (options->pytorch.graph_ops) options->pytorch.capture_folder = options->capture_folder;
    options->pytorch.needs_captures = !report->found_captures || options->read.strict;
    if (options->pytorch.capture_folder && !gt_path_is_folder(options->pytorch.capture_folder))
        return gt_fail(error, "%s: not a folder", options->pytorch.capture_folder);
    options->pytorch.captures =
        (options->capture_folder && !options->pytorch.graph_ops) || options->comparison_capture_folder;
    options->pytorch.hide_stacks =
        options->pytorch.captures && options->serve_all_launches && !options->pytorch.detect_recompute;
    if (options->extension_file && strcmp(path, "-") == 0)
        return gt_fail(error, "extension_file: the extension reads the trace too, so it must be a file");
    if (options->extension_file && options->pytorch.captures)
        return gt_fail(error, "extension_file: not allowed with capture_folder");
    if (!choose_gpu(report, error)) return false;
    report->extension = (gt_extension_source){.file = options->extension_file,
                                              .trace_path = path,
                                              .python = options->pytorch.python_path,
                                              .arch = options->pytorch.gpu_arch,
                                              .timeout_s = options->pytorch.python_timeout_s};
    if (options->extension_file) options->pytorch.extension = &report->extension;
    report->communication = communication_of(options, GT_COMM_TRACELENS);
    return true;
}

static bool open_captures(gt_report *report, const char *folder, gt_captures **captures, gt_error *error)
{
    const gt_report_options *options = &report->options;
    if (!folder) return true;
    *captures = gt_captures_open(folder,
                                 (gt_capture_options){.read = &options->read,
                                                      .writes_details = options->write_capture_details,
                                                      .journal = options->journal,
                                                      .serve_all = options->serve_all_launches},
                                 error);
    return *captures != NULL;
}

static bool merge_captures(gt_report *report, gt_error *error)
{
    const gt_report_options *options = &report->options;
    gt_pytorch_linked *second = options->pytorch.comparison;
    if (report->captures && !gt_captures_merge_into(report->captures, report->trace.pytorch, error))
        return false;
    if (!report->captures && options->pytorch.inference)
        gt_captures_hint(&gt_pytorch_view(report->trace.pytorch)->events);
    if (!second || !options->comparison_capture_folder) return true;
    return open_captures(report, options->comparison_capture_folder, &report->comparison_captures, error) &&
           gt_captures_merge_into(report->comparison_captures, second, error) &&
           (!gt_pytorch_view(second)->gpu_only || fail_without_ops(options->comparison_json_path, error));
}

static bool read_pytorch(gt_report *report, gt_stream *stream, const char *path, gt_error *error)
{
    (void)path;
    gt_report_options *options = &report->options;
    const char *captures = options->pytorch.captures ? options->capture_folder : NULL;
    if (!open_captures(report, captures, &report->captures, error)) {
        if (!report->found_captures || options->read.strict) return false;
        gt_warn("%s; the report is without captures", error->text);
    }
    gt_kineto_options keep = {.python_functions = gt_pytorch_needs_python(&options->pytorch),
                              .frames = wants_schedule(options),
                              .memory = options->page || options->memory};
    gt_pytorch_read *events = gt_kineto_read_stream(stream, keep, &options->read, error);
    if (!events) return false;
    if (!read_comparison(report, keep, error)) {
        gt_pytorch_read_free(events);
        return false;
    }
    report->read = events;
    gt_pytorch_read_use_communication(events, report->communication);
    if (options->pytorch.comparison)
        gt_pytorch_use_communication(options->pytorch.comparison, report->communication);
    return true;
}

static bool prepare_jax(gt_report *report, const char *path, gt_error *error)
{
    (void)path;
    return choose_gpu(report, error);
}

static bool read_jax(gt_report *report, gt_stream *stream, const char *path, gt_error *error)
{
    (void)path;
    if (gt_index_is_alone(report->kept.index))
        return gt_index_fail_alone(report->kept.index, "report with these options", error);
    report->trace.jax = gt_xplane_read_stream(stream, &report->options.read, error);
    return report->trace.jax != NULL;
}

/* ---- kinds of reports ---- */

/* The GPU whose rates findings use: the user's, or the one that the trace names. */
static const gt_gpu_arch *gpu_of(gt_report *report, const char *name)
{
    gt_report_options *options = &report->options;
    const gt_gpu_arch *arch = options->detect_gpu && *name ? gt_gpu_arch_match(name) : NULL;
    gt_error error;
    if (options->pytorch.gpu_arch || !arch) return options->pytorch.gpu_arch;
    if (gt_gpu_arch_use(arch, options->gpu_peaks, &report->arena, &report->gpu_arch, &error))
        return options->pytorch.gpu_arch = &report->gpu_arch;
    gt_warn("%s", error.text);
    return NULL;
}

/* Adds the sheets of findings to `sheets` and the tables of the page to those of the report, if wanted. */
static void add_findings(gt_report *report, const gt_findings *findings, gt_table_list *sheets)
{
    gt_page_limits limits = gt_page_limits_default();
    if (report->options.findings) gt_findings_add_sheets(findings, sheets);
    if (report->options.page) gt_page_add_work(findings, &limits, &report->page);
    report->kernel_categories = gt_kernel_categories(findings->schedule, findings->categories);
}

/* The same of a schedule, which is freed. */
/* The sheets of a server's steps, with the strings of the trace. */
static void add_serving(const gt_schedule *schedule, gt_table_list *tables)
{
    size_t first = tables->count;
    gt_serving_add_sheets(schedule->listed, gt_schedule_listed_rows(schedule), tables);
    for (size_t i = first; i < tables->count; i++) gt_table_use_strings(tables->items[i], schedule->strings);
}

static void add_findings_of(gt_report *report, gt_schedule *schedule, bool is_cut_off,
                            const gt_account *account)
{
    const gt_findings_options options = {.gpu = gpu_of(report, gt_schedule_device_name(schedule)),
                                         .is_cut_off = is_cut_off,
                                         .account = account};
    gt_findings *findings = gt_findings_of_schedule(schedule, &options);
    add_findings(report, findings, &report->tables);
    if (schedule->listed) add_serving(schedule, &report->tables);
    gt_findings_free(findings);
}

static bool make_rocprof_tables(gt_report *report, gt_error *error)
{
    gt_rocprof_options *options = &report->options.rocprof;
    gt_rocprof *run = report->trace.rocprof;
    if (wants_schedule(&report->options))
        add_findings_of(report, gt_schedule_of_rocprof(run, report->options.page), run->is_cut_off,
                        &run->account);
    if (report->options.page && !options->gpu_window)
        gt_rocprof_add_timelines(run, true, true, &report->page);
    options->hint_communication = !report->options.all_comm_kernels;
    options->last_use = true;
    return gt_rocprof_tables(run, options, &report->tables, error);
}

const gt_event_view *gt_report_events(const gt_report *report)
{
    return report->read ? gt_pytorch_read_view(report->read)
                        : &gt_pytorch_view(report->trace.pytorch)->events;
}

/* Uses the rates of the GPU that the trace names. The terminal summary says if they are unknown. */
static void detect_gpu(gt_report *report)
{
    const gt_event_view *trace = gt_report_events(report);
    const gt_trace_facts *facts = trace->facts;
    report->extension.arch = gpu_of(
        report, facts->device_count ? gt_interner_get(trace->strings, facts->devices[0].name).bytes : "");
}

/* ---- sheets of PyTorch traces: the findings and all others ---- */

/* The two halves of a report, which know nothing of each other. */
typedef struct pytorch_halves {
    gt_report *report;
    gt_event_view trace;    /* for the findings: as it was read, with strings of their own */
    gt_step_list *steps;    /* of the trace; NULL: not needed, or not yet found */
    gt_graphs *graphs;      /* that the trace replays; NULL: none, or not wanted */
    gt_store *frames;       /* those of the trace, until the schedule has them; NULL: none */
    gt_table_list findings; /* their sheets */
    gt_table_list serving;
    gt_table_list others;
    bool is_linked; /* the trace, before both halves */
    bool made;      /* the others */
    gt_error *error;
} pytorch_halves;

static void warn_about_capture(const gt_step_list *steps)
{
    char batch[40] = "";
    if (steps->capture_batch != GT_STEP_UNKNOWN)
        snprintf(batch, sizeof batch, " (batch %lld)", (long long)steps->capture_batch);
    gt_warn("this is a graph capture%s: its kernels did not run, so times say nothing; give it with "
            "--capture_folder to the report on a trace that replays the graph",
            batch);
}

/* What the steps read, if the trace was linked before the other half began. */
static void add_memory_sheets(pytorch_halves *halves)
{
    gt_report *report = halves->report;
    const gt_gpu_arch *arch = report->options.pytorch.gpu_arch;
    if (!halves->is_linked || !gt_step_list_serves(halves->steps)) return;
    const gt_linked_view *trace = gt_pytorch_view(report->trace.pytorch);
    gt_memory_reads *reads =
        gt_memory_reads_find(halves->steps, trace, halves->trace.strings, halves->graphs);
    gt_add_if_any(&halves->serving, gt_kv_roofline(reads, arch));
    gt_add_if_any(&halves->serving, gt_decode_bound(halves->steps, halves->trace.strings, arch));
    gt_memory_reads_free(reads);
}

static void add_serving_sheets(pytorch_halves *halves)
{
    if (!wants_serving_sheets(&halves->report->options)) return;
    const gt_report_options *options = &halves->report->options;
    gt_serving_add_sheets(halves->steps, &halves->trace, &halves->serving);
    add_memory_sheets(halves);
    if (options->serving_file)
        gt_serving_add_requests(halves->steps, &halves->trace, &halves->report->requests,
                                options->serving_file, &halves->serving);
    if (halves->graphs) gt_report_add_graph_sheets(halves->graphs, &halves->trace, &halves->serving);
}

static void make_findings(pytorch_halves *halves)
{
    gt_report *report = halves->report;
    if (!wants_steps(&report->options)) return;
    if (!halves->steps) halves->steps = gt_step_list_find(&halves->trace);
    add_serving_sheets(halves);
    if (!wants_schedule(&report->options)) return;
    const gt_findings_options options = {.gpu = report->options.pytorch.gpu_arch,
                                         .is_cut_off = halves->trace.facts->is_cut_off,
                                         .account = &halves->trace.facts->account};
    gt_schedule *schedule = gt_schedule_with_steps(&halves->trace, halves->steps);
    if (halves->graphs) gt_report_set_graph_origins(halves->graphs, schedule);
    gt_schedule *others[GT_OTHER_DEVICES];
    size_t other_count = gt_schedules_of_others(schedule, halves->steps, others);
    halves->trace.frames = NULL;
    gt_store_free(halves->frames); /* their memory is used again by what follows */
    halves->frames = NULL;
    gt_findings *findings = gt_findings_of_schedule(schedule, &options);
    for (size_t i = 0; i < other_count; i++) gt_findings_add_device(findings, others[i], &options);
    add_findings(report, findings, &halves->findings);
    if (report->options.findings && report->collectives)
        gt_rank_collectives_add_facts(report->collectives, &halves->trace, findings);
    gt_findings_free(findings);
}

void gt_report_make_facts(gt_report *report)
{
    detect_gpu(report);
    const gt_event_view *trace = gt_report_events(report);
    gt_findings *findings =
        gt_findings_find(trace, &(gt_findings_options){.gpu = report->options.pytorch.gpu_arch});
    gt_rank_collectives_add_facts(report->collectives, trace, findings);
    gt_findings_free(findings);
}

static void link_trace(gt_report *report)
{
    gt_pytorch_read *events = report->read;
    report->read = NULL;
    report->trace.pytorch = gt_pytorch_link(gt_pytorch_build_tree(events));
    if (report->options.pytorch.correct_launches) gt_pytorch_correct_launches(report->trace.pytorch);
}

static void make_others(pytorch_halves *halves)
{
    gt_report *report = halves->report;
    const gt_pytorch_options *options = &report->options.pytorch;
    if (report->read) link_trace(report);
    halves->made = merge_captures(report, halves->error) &&
                   gt_pytorch_tables(report->trace.pytorch, options, &halves->others, halves->error);
}

static void make_half(void *context, size_t index)
{
    if (index == 0)
        make_findings(context);
    else
        make_others(context);
}

static void make_both(pytorch_halves *halves)
{
    const gt_pytorch_options *options = &halves->report->options.pytorch;
    /* Rows that are added move the arrays that the findings read. */
    bool moves = options->pseudo_ops || options->extension || options->captures;
    if (!moves && wants_steps(&halves->report->options)) {
        gt_parallel_each(2, make_half, halves);
        return;
    }
    make_findings(halves);
    make_others(halves);
}

/* The steps, and the ops of the graphs that they replay, which become part of the trace. So it is linked
 * here, before both halves; and if it is a server's, whose steps are looked up in the call tree. */
static bool find_graphs(pytorch_halves *halves)
{
    gt_report *report = halves->report;
    const gt_pytorch_options *options = &report->options.pytorch;
    halves->steps = gt_step_list_find(&halves->trace);
    bool has_graphs = halves->steps->graph_launches != 0;
    if (!has_graphs && !options->eager_trace_count && !gt_step_list_serves(halves->steps)) return true;
    gt_module_frames modules = {0};
    if (has_graphs) modules = gt_module_frames_find(&halves->trace);
    link_trace(report);
    halves->is_linked = true;
    bool found = gt_report_find_graphs(report->trace.pytorch, halves->steps, &modules, options,
                                       &report->options.read, &halves->graphs, halves->error);
    gt_module_frames_free(&modules);
    halves->trace = gt_pytorch_view(report->trace.pytorch)->events;
    halves->trace.frames = halves->frames;
    return found;
}

/* Whether ops of graphs may become part of the trace, or it may be a server's: where a name says so, or they
 * were asked for. */
static bool may_replay(const pytorch_halves *halves)
{
    const gt_pytorch_options *options = &halves->report->options.pytorch;
    if (!options->graph_ops || !wants_steps(&halves->report->options)) return false;
    bool found = options->eager_trace_count != 0;
    for (uint32_t id = 0; id < gt_interner_count(halves->trace.strings) && !found; id++) {
        gt_str name = gt_interner_get(halves->trace.strings, id);
        gt_step_said said;
        found = gt_is_graph_launch(name) || (gt_step_name_says(name, &said) && said.rank < 2);
    }
    return found;
}

/* Moves the sheets to the report. Those of the findings come first, then those of servers. */
static void join_halves(pytorch_halves *halves, gt_interner *strings)
{
    gt_table_list *tables = &halves->report->tables;
    for (size_t i = 0; i < halves->findings.count; i++) {
        gt_table_use_strings(halves->findings.items[i], strings);
        gt_table_list_add(tables, halves->findings.items[i]);
    }
    for (size_t i = 0; i < halves->serving.count; i++) {
        gt_table_use_strings(halves->serving.items[i], strings);
        gt_table_list_add(tables, halves->serving.items[i]);
    }
    if (halves->report->kernel_categories) gt_table_use_strings(halves->report->kernel_categories, strings);
    for (size_t i = 0; i < halves->others.count; i++) gt_table_list_add(tables, halves->others.items[i]);
    gt_free_all(halves->findings.items, halves->serving.items, halves->others.items);
}

static bool make_pytorch_tables(gt_report *report, gt_error *error)
{
    report->options.pytorch.hint_communication = !report->options.all_comm_kernels;
    if (report->options.check_kernels) report->options.pytorch.kernel_check = &report->kernel_check;
    detect_gpu(report);
    pytorch_halves halves = {.report = report, .trace = *gt_report_events(report), .error = error};
    gt_interner *strings = halves.trace.strings;
    halves.frames = gt_pytorch_read_take_frames(report->read);
    bool found = !may_replay(&halves) || find_graphs(&halves);
    halves.trace.strings = gt_interner_copy(strings);
    if (halves.steps) gt_kernel_classifier_use_strings(halves.steps->kernels, halves.trace.strings);
    if (halves.graphs) gt_graphs_use_strings(halves.graphs, halves.trace.strings);
    if (found) make_both(&halves);
    if (halves.steps && halves.steps->is_capture) warn_about_capture(halves.steps);
    gt_store_free(halves.frames);
    gt_graphs_free(halves.graphs);
    gt_step_list_free(halves.steps);
    join_halves(&halves, strings);
    if (report->page.count)
        report->page_strings = halves.trace.strings;
    else
        gt_interner_free(halves.trace.strings);
    return halves.made;
}

static bool make_jax_tables(gt_report *report, gt_error *error)
{
    if (wants_schedule(&report->options) && report->trace.jax->count)
        add_findings_of(report, gt_schedule_of_jax(report->trace.jax, report->options.page), false,
                        &report->trace.jax->account);
    return gt_jax_tables(report->trace.jax, &report->options.jax, &report->tables, error);
}

static void free_rocprof(gt_report *report)
{
    gt_rocprof_free(report->trace.rocprof);
    gt_arena_free(&report->arena);
}

static void free_pytorch(gt_report *report)
{
    gt_captures_free(report->captures);
    gt_captures_free(report->comparison_captures);
    gt_buffer_free(&report->kernel_check);
    gt_pytorch_linked_free(report->options.pytorch.comparison);
    gt_pytorch_linked_free(report->trace.pytorch);
    gt_pytorch_read_free(report->read);
    gt_arena_free(&report->arena);
}

static void free_jax(gt_report *report)
{
    gt_jax_free(report->trace.jax);
    gt_arena_free(&report->arena);
}

static gt_summary_facts rocprof_facts(const gt_report *report)
{
    return gt_rocprof_find_facts(report->trace.rocprof);
}

static gt_summary_facts pytorch_facts(const gt_report *report)
{
    return gt_pytorch_find_facts(report->trace.pytorch, &report->options.pytorch);
}

static gt_summary_facts jax_facts(const gt_report *report)
{
    return gt_jax_find_facts(report->trace.jax);
}

/* What findings say, before a summary that does not depend on them. */
static void print_answers(FILE *out, const gt_report *report, int width, bool utf8)
{
    enum { FINDINGS_SHOWN = 3, EVIDENCE_SHOWN = 3, CHECKS_SHOWN = 4 };
    if (!gt_answers_exist(&report->tables)) return;
    gt_terminal terminal = gt_terminal_for(out);
    terminal.width = width > 0 ? (size_t)width : 0;
    terminal.utf8 = utf8;
    const gt_answers answers = {.trace = report->title, .tables = &report->tables};
    gt_answers_limits limits = {FINDINGS_SHOWN, EVIDENCE_SHOWN, CHECKS_SHOWN};
    if (report->options.all_findings) limits = (gt_answers_limits){SIZE_MAX, SIZE_MAX, SIZE_MAX};
    gt_answers_print(&answers, &terminal, &limits);
    fputc('\n', out);
}

static void print_rocprof(FILE *out, const gt_report *report, const gt_summary_facts *facts, int width,
                          bool utf8)
{
    print_answers(out, report, width, utf8);
    gt_rocprof_print_summary(out, facts, report->communication, &report->tables, width, utf8);
}

static void print_pytorch(FILE *out, const gt_report *report, const gt_summary_facts *facts, int width,
                          bool utf8)
{
    const gt_answers answers = {.trace = report->title, .tables = &report->tables};
    if (gt_answers_exist(&report->tables))
        gt_pytorch_print_answers(out, facts, &answers, report->options.all_findings, width, utf8);
    else
        gt_pytorch_print_summary(out, facts, &report->options.pytorch, &report->tables, width, utf8);
}

static void print_jax(FILE *out, const gt_report *report, const gt_summary_facts *facts, int width, bool utf8)
{
    print_answers(out, report, width, utf8);
    gt_jax_print_summary(out, facts, &report->tables, width, utf8);
}

static const struct {
    bool (*prepare)(gt_report *report, const char *path, gt_error *error);
    bool (*read)(gt_report *report, gt_stream *stream, const char *path, gt_error *error);
    bool (*make_tables)(gt_report *report, gt_error *error);
    gt_summary_facts (*find_facts)(const gt_report *report);
    void (*print_summary)(FILE *out, const gt_report *report, const gt_summary_facts *facts, int width,
                          bool utf8);
    void (*free)(gt_report *report);
} kinds[] = {
    [GT_TRACE_ROCPROF] = {prepare_rocprof, read_rocprof, make_rocprof_tables, rocprof_facts, print_rocprof,
                          free_rocprof},
    [GT_TRACE_PYTORCH] = {prepare_pytorch, read_pytorch, make_pytorch_tables, pytorch_facts, print_pytorch,
                          free_pytorch},
    [GT_TRACE_JAX] = {prepare_jax, read_jax, make_jax_tables, jax_facts, print_jax, free_jax},
    [GT_TRACE_NSYS] = {prepare_rocprof, read_nsys, make_rocprof_tables, rocprof_facts, print_rocprof,
                       free_rocprof},
};

/* Looks for the report in the index. The readers then use the index that is open. */
static void open_kept(gt_report *report, const char *path)
{
    gt_buffer key = {0};
    const gt_index_policy *policy = report->options.read.index;
    /* Who wants to know more of the trace than the sheets needs the trace. */
    bool has_key = policy && !report->options.read.run &&
                   gt_report_options_describe(&report->options, report->kind, &key);
    /* One with the page has all of this report, too. */
    gt_buffer more = {0};
    gt_report_options with_page = report->options;
    with_page.page = true;
    if (has_key && !report->options.page) gt_report_options_describe(&with_page, report->kind, &more);
    gt_kept_open(&report->kept, policy, path, report->title, has_key ? gt_buffer_str(&key).bytes : NULL,
                 more.len ? gt_buffer_str(&more).bytes : NULL);
    gt_buffer_free(&key);
    gt_buffer_free(&more);
    if (!policy) return;
    report->index = *policy;
    report->index.open = report->kept.index;
    report->options.read.index = &report->index;
}

static void hear(void *context, gt_message_kind kind, const char *text)
{
    gt_report *report = context;
    if (kind != GT_MESSAGE_INFO) gt_buffer_add(&report->messages, text, strlen(text) + 1);
}

/* The page shows messages, too. */
static void listen(gt_report *report)
{
    report->listener = (gt_log_listener){.hear = hear, .context = report};
    gt_log_listen(&report->listener);
}

static bool read_trace(gt_report *report, gt_stream *stream, const char *path, gt_error *error)
{
    if (gt_kept_is_found(&report->kept)) {
        gt_kept_repeat(&report->kept, GT_KEPT_READ);
        return true;
    }
    gt_kept_listen(&report->kept, GT_KEPT_READ);
    bool read = kinds[report->kind].read(report, stream, path, error);
    gt_kept_hush(&report->kept);
    return read;
}

bool gt_report_read(gt_report *report, gt_trace_kind kind, gt_stream *stream, const char *path,
                    const gt_report_options *options, gt_error *error)
{
    *report = (gt_report){.kind = kind, .title = gt_trace_title(path), .options = *options};
    if (!gt_report_options_check(options, error) || !kinds[kind].prepare(report, path, error)) return false;
    open_kept(report, path);
    listen(report);
    bool read = read_trace(report, stream, path, error);
    gt_log_unlisten(&report->listener);
    return read;
}

static void keep_report(gt_report *report)
{
    if (!gt_kept_wants(&report->kept)) return;
    for (size_t i = 0; i < report->tables.count; i++) gt_table_make_rows(report->tables.items[i]);
    gt_summary_facts facts = kinds[report->kind].find_facts(report);
    gt_kept_keep(&report->kept, index_kinds[report->kind], &report->tables, &report->page, &facts);
    gt_summary_facts_free(&facts);
}

static bool make_tables(gt_report *report, gt_error *error)
{
    if (gt_kept_is_found(&report->kept)) {
        gt_kept_repeat(&report->kept, GT_KEPT_MADE);
        report->tables = report->kept.tables;
        report->kept.tables = (gt_table_list){0};
        if (report->options.page) {
            report->page = report->kept.page;
            report->kept.page = (gt_table_list){0};
        }
        return true;
    }
    gt_kept_listen(&report->kept, GT_KEPT_MADE);
    bool made = kinds[report->kind].make_tables(report, error);
    if (report->options.findings) gt_categories_add_to(&report->tables, report->kernel_categories);
    gt_kept_hush(&report->kept);
    if (made)
        keep_report(report);
    else
        gt_error_prefix(error, report->title);
    return made;
}

bool gt_report_make_tables(gt_report *report, gt_error *error)
{
    listen(report);
    bool made = make_tables(report, error);
    gt_log_unlisten(&report->listener);
    return made;
}

void gt_report_free(gt_report *report)
{
    gt_table_free(report->kernel_categories);
    gt_table_list_free(&report->tables);
    gt_table_list_free(&report->page);
    gt_interner_free(report->page_strings);
    gt_buffer_free(&report->messages);
    kinds[report->kind].free(report);
    gt_comm_kernels_free(report->communication);
    gt_kept_close(&report->kept);
    *report = (gt_report){.kind = report->kind};
}

void gt_report_print_summary(FILE *out, const gt_report *report, int width, bool utf8)
{
    if (gt_kept_is_found(&report->kept)) {
        kinds[report->kind].print_summary(out, report, &report->kept.facts, width, utf8);
        return;
    }
    gt_summary_facts facts = kinds[report->kind].find_facts(report);
    kinds[report->kind].print_summary(out, report, &facts, width, utf8);
    gt_summary_facts_free(&facts);
}

void gt_report_print_answers(FILE *out, const gt_report *report, int width, bool utf8)
{
    print_answers(out, report, width, utf8);
    if (report->kind != GT_TRACE_ROCPROF) return;
    bool is_kept = gt_kept_is_found(&report->kept);
    gt_summary_facts facts = is_kept ? report->kept.facts : rocprof_facts(report);
    gt_rocprof_print_counts(out, &facts);
    if (!is_kept) gt_summary_facts_free(&facts);
}

void gt_report_print_line(FILE *out, const gt_report *report)
{
    static const struct {
        const char *type, *shown;
    } parts[] = {{"computation_time", "computation"},
                 {"exposed_comm_time", "exposed communication"},
                 {"exposed_memcpy_time", "exposed copies"},
                 {"idle_time", "idle"}};
    const gt_table *timeline = gt_table_list_find(&report->tables, GT_SHEET_GPU_TIMELINE);
    double total_ms, ms, percent;
    if (!timeline || !gt_summary_timeline_cell(timeline, "total_time", &total_ms, &percent)) {
        fputs("no timeline", out);
        return;
    }
    fprintf(out, "total %.3f ms", total_ms);
    for (size_t i = 0; i < GT_LENGTH(parts); i++)
        if (gt_summary_timeline_cell(timeline, parts[i].type, &ms, &percent))
            fprintf(out, ", %s %.1f %%", parts[i].shown, percent);
}
