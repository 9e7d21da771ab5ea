/* Formats, kinds of reports and options: three tables, and what is done with their rows. */
#include "report/report.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/memory_limit.h"
#include "base/raise.h"
#include "base/team.h"
#include "findings/findings.h"
#include "findings/formats/formats.h"
#include "input/chrome/kineto.h"
#include "input/rocprof/rocprof.h"
#include "input/xla/xplane.h"
#include "os/paths.h"
#include "report/collective.h"
#include "report/summary.h"
#include "schema/sheets.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
                                            [GT_TRACE_JAX] = GT_INDEX_JAX};

static bool kind_of_index(const char *path, gt_trace_kind *kind, gt_error *error)
{
    gt_index_kind found;
    if (!gt_index_kind_of(path, &found, error)) return false;
    for (size_t i = 0; i < GT_LENGTH(index_kinds); i++)
        if (index_kinds[i] == found) *kind = (gt_trace_kind)i;
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
        if (format != GT_FORMAT_PERFETTO) return true;
        gt_perfetto_origin origin; /* both profilers can write this format */
        if (!gt_perfetto_find_origin(stream, &origin, error)) return false;
        if (origin == GT_ORIGIN_PYTORCH) *kind = GT_TRACE_PYTORCH;
        return true;
    }
    return gt_fail(error, "%s: unsupported input: %s", gt_stream_path(stream), gt_format_name(format));
}

bool gt_report_find_traces(gt_profile_list *traces, const char *path, gt_error *error)
{
    if (gt_path_is_folder(path) && gt_rocprof_is_folder(path)) {
        GT_PUSH(traces->paths, traces->count, traces->capacity, gt_strdup(path));
        return true;
    }
    return gt_profiles_find(traces, path, error) ||
           gt_fail(error, "%s: no rocprofv3 files or JAX profile in this folder", path);
}

/* ---- options ---- */

typedef enum option_type {
    FLAG,
    NEGATED_FLAG, /* the option turns it off */
    INT,
    LIMIT, /* a gt_row_limit */
    STRING,
    SPECIAL, /* see set_special */
} option_type;

#define AT(field) offsetof(gt_report_options, field)

enum {
    ROCPROF = 1u << GT_TRACE_ROCPROF,
    PYTORCH = 1u << GT_TRACE_PYTORCH,
    JAX = 1u << GT_TRACE_JAX,
    ANY = ROCPROF | PYTORCH | JAX,
};

static const struct {
    const char *name;
    option_type type;
    size_t at, also; /* fields that it sets; `also` is 0 if there is only one */
    unsigned kinds;  /* of reports that it has an effect on */
} known_options[] = {
    {"threads", SPECIAL, 0, 0, ANY},
    {"max_memory", SPECIAL, 0, 0, ANY},
    {"strict", FLAG, AT(read.strict), 0, ANY},
    {"csv_safe", FLAG, AT(csv_safe), 0, ANY},
    {"findings", FLAG, AT(findings), 0, ANY},
    {"no_findings", NEGATED_FLAG, AT(findings), 0, ANY},
    {"gpu_arch_json_path", STRING, AT(gpu_arch_json_path), 0, ANY},
    {"gpu_arch_platform", STRING, AT(gpu_arch_platform), 0, ANY},
    {"gpu_peaks", SPECIAL, 0, 0, ANY},
    /* rocprofv3 and PyTorch */
    {"short_kernel_study", FLAG, AT(rocprof.short_kernel_study), AT(pytorch.short_kernel_study),
     ROCPROF | PYTORCH},
    {"short_kernel_threshold_us", INT, AT(rocprof.short_threshold_us), AT(pytorch.short_threshold_us),
     ROCPROF | PYTORCH},
    {"short_kernel_histogram_bins", INT, AT(rocprof.short_bins), AT(pytorch.short_bins), ROCPROF | PYTORCH},
    {"no_extra_sheets", NEGATED_FLAG, AT(rocprof.extra_sheets), AT(pytorch.extra_sheets), ROCPROF | PYTORCH},
    {"comm_kernels", SPECIAL, 0, 0, ROCPROF | PYTORCH},
    {"comm_kernel_regex", SPECIAL, 0, 0, ROCPROF | PYTORCH},
    {"disable_kernel_summary", NEGATED_FLAG, AT(rocprof.kernel_summary), AT(pytorch.kernel_summary),
     ROCPROF | PYTORCH},
    /* rocprofv3 */
    {"kernel_details", FLAG, AT(rocprof.kernel_details), 0, ROCPROF},
    {"topk_kernels", SPECIAL, 0, 0, ROCPROF},
    {"all_processes", FLAG, AT(all_processes), 0, ROCPROF},
    {"full_kernel_names", FLAG, AT(rocprof.full_names), 0, ROCPROF},
    /* PyTorch */
    {"include_unlinked_kernels", FLAG, AT(pytorch.include_unlinked_kernels), 0, PYTORCH},
    {"linked_kernels_only", NEGATED_FLAG, AT(pytorch.include_unlinked_kernels), 0, PYTORCH},
    {"micro_idle_thresh_us", SPECIAL, 0, 0, PYTORCH},
    {"enable_kernel_summary", FLAG, AT(pytorch.kernel_summary), 0, PYTORCH},
    {"topk_short_kernels", LIMIT, AT(pytorch.topk_short_kernels), 0, PYTORCH},
    {"disable_coll_analysis", NEGATED_FLAG, AT(pytorch.coll_analysis), 0, PYTORCH},
    {"topk_ops", LIMIT, AT(pytorch.topk_ops), 0, PYTORCH},
    {"topk_roofline_ops", LIMIT, AT(pytorch.topk_roofline_ops), 0, PYTORCH},
    {"group_by_num_kernels", FLAG, AT(pytorch.group_by_num_kernels), 0, PYTORCH},
    {"include_overlap_info", FLAG, AT(pytorch.overlap_info), 0, PYTORCH},
    {"detect_recompute", FLAG, AT(pytorch.detect_recompute), 0, PYTORCH},
    {"include_first_occurrence_time", FLAG, AT(pytorch.first_occurrence), 0, PYTORCH},
    {"include_call_stack", FLAG, AT(pytorch.call_stack), 0, PYTORCH},
    {"enable_pseudo_ops", FLAG, AT(pytorch.pseudo_ops), 0, PYTORCH},
    {"legacy_sheet_names", FLAG, AT(pytorch.legacy_names), 0, PYTORCH},
    {"seed_sheet_names", FLAG, AT(pytorch.legacy_names), 0, PYTORCH}, /* its old name */
    {"python_path", STRING, AT(pytorch.python_path), 0, PYTORCH},
    {"comparison_json_path", STRING, AT(comparison_json_path), 0, PYTORCH},
    {"extension_file", STRING, AT(extension_file), 0, PYTORCH},
    {"extension_timeout", SPECIAL, 0, 0, PYTORCH},
    {"inference_phase_analysis", FLAG, AT(pytorch.phases), 0, PYTORCH},
    {"phase_detection_method", SPECIAL, 0, 0, PYTORCH},
    {"decode_threshold", INT, AT(pytorch.phase_options.decode_threshold), 0, PYTORCH},
    {"extra", FLAG, AT(pytorch.extra), 0, PYTORCH},
    {"extra_kernel_delay_us", INT, AT(pytorch.extra_options.kernel_delay_us), 0, PYTORCH},
    {"extra_max_queue_length", INT, AT(pytorch.extra_options.max_queue_length), 0, PYTORCH},
    {"extra_last_step", FLAG, AT(pytorch.extra_options.include_last_step), 0, PYTORCH},
    {"extra_hta_times", FLAG, AT(pytorch.extra_options.hta_times), 0, PYTORCH},
    {"extra_exact_times", NEGATED_FLAG, AT(pytorch.extra_options.hta_times), 0,
     PYTORCH}, /* the default now */
    /* JAX */
    {"kernel_metadata_keyword_filters", SPECIAL, 0, 0, JAX},
};

static_assert(GT_LENGTH(known_options) <= GT_REPORT_OPTIONS_MAX, "gt_report_options.is_set is too small");

enum { THREADS_MAX = 1024 };

gt_report_options gt_report_options_default(void)
{
    gt_report_options options = {.rocprof = gt_rocprof_options_default(),
                                 .pytorch = gt_pytorch_options_default()};
    options.rocprof.extra_sheets = true;
    options.pytorch.extra_sheets = true;
    options.pytorch.gpu_only_kernel_summary = true;
    options.gpu_peaks = GT_PEAKS_TRACELENS;
    options.pytorch.extra_options = gt_hta_options_default();
    return options;
}

gt_report_options gt_report_options_best(void)
{
    gt_report_options options = gt_report_options_default();
    options.pytorch.include_unlinked_kernels = true;
    options.pytorch.correct_launches = true;
    options.pytorch.kernel_summary = true;
    options.all_comm_kernels = true;
    options.findings = true;
    options.detect_gpu = true;
    options.gpu_peaks = GT_PEAKS_PEAK;
    options.pytorch.phase_options.method = GT_PHASES_AUTO;
    return options;
}

void gt_report_options_free(gt_report_options *options)
{
    gt_free((void *)(uintptr_t)options->jax.keywords);
    gt_free(options->comm_regexes);
    *options = (gt_report_options){0};
}

static size_t find_option(const char *name)
{
    size_t i = 0;
    while (i < GT_LENGTH(known_options) && strcmp(known_options[i].name, name) != 0) i++;
    return i;
}

bool gt_report_option_exists(const char *name)
{
    return find_option(name) < GT_LENGTH(known_options);
}

static bool parse_int(const char *value, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(value, &end, 10);
    return end != value && !*end && !errno;
}

static bool parse_flag(const char *value, bool *flag)
{
    *flag = strcmp(value, "true") == 0;
    return *flag || strcmp(value, "false") == 0;
}

static bool set_phase_method(gt_report_options *options, const char *value)
{
    for (int method = 0; method < GT_PHASE_METHODS; method++)
        if (strcmp(gt_phase_method_name((gt_phase_method)method), value) == 0) {
            options->pytorch.phase_options.method = (gt_phase_method)method;
            return true;
        }
    return false;
}

static bool add_keyword(gt_report_options *options, const char *value)
{
    const char **keywords = (const char **)(uintptr_t)options->jax.keywords;
    GT_PUSH(keywords, options->jax.keyword_count, options->keyword_capacity, value);
    options->jax.keywords = keywords;
    return true;
}

static bool set_comm_kernels(gt_report_options *options, const char *value)
{
    options->all_comm_kernels = strcmp(value, "all") == 0;
    return options->all_comm_kernels || strcmp(value, "tracelens") == 0;
}

static bool add_comm_regex(gt_report_options *options, const char *value)
{
    gt_error ignored;
    if (!gt_comm_regex_check(value, &ignored)) return false;
    GT_PUSH(options->comm_regexes, options->comm_regex_count, options->comm_regex_capacity, value);
    return true;
}

/* Options that are more than the value of one field. */
static bool set_special(gt_report_options *options, const char *name, const char *value)
{
    int64_t number;
    if (strcmp(name, "gpu_peaks") == 0) return gt_peak_set_parse(value, &options->gpu_peaks);
    if (strcmp(name, "phase_detection_method") == 0) return set_phase_method(options, value);
    if (strcmp(name, "kernel_metadata_keyword_filters") == 0) return add_keyword(options, value);
    if (strcmp(name, "comm_kernels") == 0) return set_comm_kernels(options, value);
    if (strcmp(name, "comm_kernel_regex") == 0) return add_comm_regex(options, value);
    if (strcmp(name, "max_memory") == 0) return gt_memory_parse_limit(value, &options->max_memory, NULL);
    if (!parse_int(value, &number)) return false;
    if (strcmp(name, "threads") == 0) {
        if (number < 1 || number > THREADS_MAX) return false;
        options->read.threads = (unsigned)number;
    } else if (strcmp(name, "extension_timeout") == 0) {
        if (number < 0) return false;
        options->pytorch.python_timeout_s = number;
    } else if (strcmp(name, "topk_kernels") == 0) {
        options->rocprof.limit_details = true;
        options->rocprof.topk_kernels = number;
    } else {
        options->pytorch.split_idle = true;
        options->pytorch.micro_idle_us = number;
    }
    return true;
}

static bool set_field(char *field, option_type type, const char *value)
{
    int64_t number = 0;
    bool flag = false;
    switch (type) {
    case FLAG:
    case NEGATED_FLAG:
        if (!parse_flag(value, &flag)) return false;
        *(bool *)(void *)field = flag == (type == FLAG);
        return true;
    case INT:
        if (!parse_int(value, &number)) return false;
        *(int64_t *)(void *)field = number;
        return true;
    case LIMIT:
        if (!parse_int(value, &number)) return false;
        *(gt_row_limit *)(void *)field = (gt_row_limit){true, number};
        return true;
    case STRING:
        *(const char **)(void *)field = *value ? value : NULL;
        return true;
    case SPECIAL:
        break;
    }
    return false;
}

bool gt_report_options_set(gt_report_options *options, const char *name, const char *value, gt_error *error)
{
    size_t i = find_option(name);
    if (i == GT_LENGTH(known_options)) return gt_fail(error, "%.200s: no such option", name);
    option_type type = known_options[i].type;
    char *fields = (char *)options;
    bool valid = type == SPECIAL ? set_special(options, name, value)
                                 : set_field(fields + known_options[i].at, type, value);
    if (valid && known_options[i].also) set_field(fields + known_options[i].also, type, value);
    if (valid) options->is_set[i] = true;
    return valid || gt_fail(error, "%s: invalid value '%.200s'", name, value);
}

void gt_report_options_warn(const gt_report_options *options, unsigned kinds, const char *dashes)
{
    static const char *const names[] = {
        [GT_TRACE_ROCPROF] = "rocprofv3", [GT_TRACE_PYTORCH] = "PyTorch", [GT_TRACE_JAX] = "JAX"};
    char list[64] = "";
    for (size_t kind = 0; kind < GT_LENGTH(names); kind++)
        if (kinds & 1u << kind)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? " and " : "",
                     names[kind]);
    for (size_t i = 0; kinds && i < GT_LENGTH(known_options); i++)
        if (options->is_set[i] && !(known_options[i].kinds & kinds))
            gt_warn("%s%s has no effect on %s traces", dashes, known_options[i].name, list);
}

bool gt_report_options_check(const gt_report_options *options, gt_error *error)
{
    if (options->gpu_arch_json_path && options->gpu_arch_platform)
        return gt_fail(error, "gpu_arch_platform: not allowed with gpu_arch_json_path");
    return true;
}

static void describe_string(gt_buffer *text, const char *name, const char *value)
{
    if (value)
        gt_buffer_add_format(text, " %s=%zu:%s", name, strlen(value), value);
    else
        gt_buffer_add_format(text, " %s=", name);
}

static void describe_field(gt_buffer *text, const char *name, const char *field, option_type type)
{
    const gt_row_limit *limit = (const void *)field;
    switch (type) {
    case FLAG:
    case NEGATED_FLAG:
        gt_buffer_add_format(text, " %s=%d", name, *(const bool *)(const void *)field);
        break;
    case INT:
        gt_buffer_add_format(text, " %s=%lld", name, (long long)*(const int64_t *)(const void *)field);
        break;
    case LIMIT:
        gt_buffer_add_format(text, " %s=%d:%lld", name, limit->given, (long long)limit->rows);
        break;
    case STRING:
        describe_string(text, name, *(const char *const *)(const void *)field);
        break;
    case SPECIAL:
        break;
    }
}

/* What the table of options does not describe: special ones, those that only the program itself sets, and
 * settings of the environment. */
static void describe_others(const gt_report_options *options, gt_buffer *text)
{
    gt_buffer_add_format(text, " best=%d,%d,%d gpu_peaks=%d phases=%d idle=%d:%lld details=%d:%lld comm=%d",
                         options->pytorch.correct_launches, options->pytorch.gpu_only_kernel_summary,
                         options->detect_gpu, (int)options->gpu_peaks,
                         (int)options->pytorch.phase_options.method, options->pytorch.split_idle,
                         (long long)options->pytorch.micro_idle_us, options->rocprof.limit_details,
                         (long long)options->rocprof.topk_kernels, options->all_comm_kernels);
    for (size_t i = 0; i < options->comm_regex_count; i++)
        describe_string(text, "regex", options->comm_regexes[i]);
    for (size_t i = 0; i < options->jax.keyword_count; i++)
        describe_string(text, "keyword", options->jax.keywords[i]);
    describe_string(text, "TL_MODEL", getenv("TL_MODEL"));
    describe_string(text, "TL_TP", getenv("TL_TP"));
}

bool gt_report_options_describe(const gt_report_options *options, gt_trace_kind kind, gt_buffer *text)
{
    if (options->comparison_json_path || options->extension_file || options->gpu_arch_json_path ||
        options->pytorch.reference_messages || getenv("GEMM_SIMULATOR_PATH"))
        return false;
    gt_buffer_add_format(text, GT_INDEX_REPORT "%d", (int)kind);
    const char *fields = (const char *)options;
    for (size_t i = 0; i < GT_LENGTH(known_options); i++) {
        if (!(known_options[i].kinds & 1u << kind) || strcmp(known_options[i].name, "csv_safe") == 0)
            continue;
        describe_field(text, known_options[i].name, fields + known_options[i].at, known_options[i].type);
        if (known_options[i].also)
            describe_field(text, "also", fields + known_options[i].also, known_options[i].type);
    }
    describe_others(options, text);
    return true;
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

static bool read_rocprof(gt_report *report, gt_stream *stream, const char *path, gt_error *error)
{
    gt_read_options *read = &report->options.read;
    read->wanted = gt_rocprof_options_wanted(&report->options.rocprof);
    if (report->options.findings) read->wanted |= GT_WANT_FOR_FINDINGS;
    if (report->options.all_processes) read->wanted |= GT_WANT_ALL_PROCESSES;
    read->full_names = report->options.rocprof.full_names;
    gt_rocprof *run =
        stream ? gt_rocprof_read(stream, path, read, error) : gt_rocprof_read_folder(path, read, error);
    report->trace.rocprof = run;
    if (!run) return false;
    if (run->full_to_short.count > run->short_names.count)
        gt_warn("%zu kernels have only %zu different short names, and those with the same one share a row; "
                "--full_kernel_names keeps them apart",
                run->full_to_short.count, run->short_names.count);
    run->communication = report->communication;
    return true;
}

const char *gt_trace_title(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static bool read_comparison(gt_report *report, gt_kineto_options keep, gt_error *error)
{
    const char *path = report->options.comparison_json_path;
    if (!path) return true;
    const char *about = gt_log_about(gt_trace_title(path));
    gt_read_options read = report->options.read;
    read.run = NULL; /* that of the other trace */
    gt_pytorch_read *events = gt_kineto_read(path, keep, &read, error);
    bool usable = events && !gt_pytorch_read_view(events)->gpu_only;
    if (usable) {
        report->options.pytorch.comparison = gt_pytorch_link(gt_pytorch_build_tree(events));
        if (report->options.pytorch.correct_launches)
            gt_pytorch_correct_launches(report->options.pytorch.comparison);
    } else if (events) {
        gt_pytorch_read_free(events);
        gt_fail(error, "%s: no CPU ops; the comparison needs the host side of both traces",
                gt_trace_title(path));
    }
    gt_log_about(about);
    return usable;
}

static bool prepare_pytorch(gt_report *report, const char *path, gt_error *error)
{
    gt_report_options *options = &report->options;
    if (options->extension_file && strcmp(path, "-") == 0)
        return gt_fail(error, "extension_file: the extension reads the trace too, so it must be a file");
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

static bool read_pytorch(gt_report *report, gt_stream *stream, const char *path, gt_error *error)
{
    (void)path;
    gt_report_options *options = &report->options;
    gt_kineto_options keep = {.python_functions = gt_pytorch_needs_python(&options->pytorch),
                              .frames = options->findings};
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

/* Adds the sheets of findings, and frees the schedule. */
static void add_findings_of(gt_report *report, gt_schedule *schedule)
{
    const gt_findings_options options = {.gpu = gpu_of(report, gt_schedule_device_name(schedule))};
    gt_findings *findings = gt_findings_of_schedule(schedule, &options);
    gt_findings_add_sheets(findings, &report->tables);
    gt_findings_free(findings);
}

static bool make_rocprof_tables(gt_report *report, gt_error *error)
{
    if (report->options.findings) add_findings_of(report, gt_schedule_of_rocprof(report->trace.rocprof));
    report->options.rocprof.hint_communication = !report->options.all_comm_kernels;
    report->options.rocprof.last_use = true;
    return gt_rocprof_tables(report->trace.rocprof, &report->options.rocprof, &report->tables, error);
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
    gt_table_list findings; /* their sheets */
    gt_table_list others;
    bool made; /* the others */
    gt_error *error;
} pytorch_halves;

static void make_findings(pytorch_halves *halves)
{
    const gt_report *report = halves->report;
    if (!report->options.findings) return;
    const gt_findings_options options = {.gpu = report->options.pytorch.gpu_arch};
    gt_findings *findings = gt_findings_find(&halves->trace, &options);
    gt_findings_add_sheets(findings, &halves->findings);
    if (report->collectives) gt_rank_collectives_add_facts(report->collectives, &halves->trace, findings);
    gt_findings_free(findings);
}

static void make_others(pytorch_halves *halves)
{
    gt_report *report = halves->report;
    const gt_pytorch_options *options = &report->options.pytorch;
    gt_pytorch_read *events = report->read;
    report->read = NULL;
    report->trace.pytorch = gt_pytorch_link(gt_pytorch_build_tree(events));
    if (options->correct_launches) gt_pytorch_correct_launches(report->trace.pytorch);
    halves->made = gt_pytorch_tables(report->trace.pytorch, options, &halves->others, halves->error);
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
    bool moves = options->pseudo_ops || options->extension;
    if (!moves) {
        gt_parallel_each(2, make_half, halves);
        return;
    }
    make_findings(halves);
    make_others(halves);
}

/* Moves the sheets to the report. Those of the findings come first. */
static void join_halves(pytorch_halves *halves, gt_interner *strings)
{
    gt_table_list *tables = &halves->report->tables;
    for (size_t i = 0; i < halves->findings.count; i++) {
        gt_table_use_strings(halves->findings.items[i], strings);
        gt_table_list_add(tables, halves->findings.items[i]);
    }
    for (size_t i = 0; i < halves->others.count; i++) gt_table_list_add(tables, halves->others.items[i]);
    gt_free(halves->findings.items);
    gt_free(halves->others.items);
}

static bool make_pytorch_tables(gt_report *report, gt_error *error)
{
    report->options.pytorch.hint_communication = !report->options.all_comm_kernels;
    detect_gpu(report);
    pytorch_halves halves = {.report = report, .trace = *gt_report_events(report), .error = error};
    gt_interner *strings = halves.trace.strings;
    halves.trace.strings = gt_interner_copy(strings);
    make_both(&halves);
    join_halves(&halves, strings);
    gt_interner_free(halves.trace.strings);
    return halves.made;
}

static bool make_jax_tables(gt_report *report, gt_error *error)
{
    if (report->options.findings && report->trace.jax->count)
        add_findings_of(report, gt_schedule_of_jax(report->trace.jax));
    return gt_jax_tables(report->trace.jax, &report->options.jax, &report->tables, error);
}

static void free_rocprof(gt_report *report)
{
    gt_rocprof_free(report->trace.rocprof);
    gt_arena_free(&report->arena);
}

static void free_pytorch(gt_report *report)
{
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
};

/* Looks for the report in the index. The readers then use the index that is open. */
static void open_kept(gt_report *report, const char *path)
{
    gt_buffer key = {0};
    const gt_index_policy *policy = report->options.read.index;
    /* Who wants to know more of the trace than the sheets needs the trace. */
    bool has_key = policy && !report->options.read.run &&
                   gt_report_options_describe(&report->options, report->kind, &key);
    gt_kept_open(&report->kept, policy, path, report->title, has_key ? gt_buffer_str(&key).bytes : NULL);
    gt_buffer_free(&key);
    if (!policy) return;
    report->index = *policy;
    report->index.open = report->kept.index;
    report->options.read.index = &report->index;
}

bool gt_report_read(gt_report *report, gt_trace_kind kind, gt_stream *stream, const char *path,
                    const gt_report_options *options, gt_error *error)
{
    *report = (gt_report){.kind = kind, .title = gt_trace_title(path), .options = *options};
    if (!gt_report_options_check(options, error) || !kinds[kind].prepare(report, path, error)) return false;
    open_kept(report, path);
    if (gt_kept_is_found(&report->kept)) {
        gt_kept_repeat(&report->kept, GT_KEPT_READ);
        return true;
    }
    gt_kept_listen(&report->kept, GT_KEPT_READ);
    bool read = kinds[kind].read(report, stream, path, error);
    gt_kept_hush(&report->kept);
    return read;
}

static void keep_report(gt_report *report)
{
    if (!gt_kept_wants(&report->kept)) return;
    gt_summary_facts facts = kinds[report->kind].find_facts(report);
    gt_kept_keep(&report->kept, index_kinds[report->kind], &report->tables, &facts);
    gt_summary_facts_free(&facts);
}

bool gt_report_make_tables(gt_report *report, gt_error *error)
{
    if (gt_kept_is_found(&report->kept)) {
        gt_kept_repeat(&report->kept, GT_KEPT_MADE);
        report->tables = report->kept.tables;
        report->kept.tables = (gt_table_list){0};
        return true;
    }
    gt_kept_listen(&report->kept, GT_KEPT_MADE);
    bool made = kinds[report->kind].make_tables(report, error);
    gt_kept_hush(&report->kept);
    if (made)
        keep_report(report);
    else
        gt_error_prefix(error, report->title);
    return made;
}

void gt_report_free(gt_report *report)
{
    gt_table_list_free(&report->tables);
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
