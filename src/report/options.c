/* The options of reports: one table of all of them, and what is done with its rows: set from strings, warned
 * about where they have no effect, and described for the index. What an option changes is in the reports. */
#include "report/report.h"

#include "base/memory_limit.h"

#include <assert.h>

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
    NSYS = 1u << GT_TRACE_NSYS,
    ANY = ROCPROF | PYTORCH | JAX | NSYS,
};

static const struct {
    const char *name;
    option_type type;
    size_t at, also;     /* fields that it sets; `also` is 0 if there is only one */
    unsigned kinds;      /* of reports that it has an effect on */
    const char *minimum; /* the smallest valid number; NULL: any */
} known_options[] = {
    {"threads", SPECIAL, 0, 0, ANY},
    {"max_memory", SPECIAL, 0, 0, ANY},
    {"strict", FLAG, AT(read.strict), 0, ANY},
    {"csv_safe", FLAG, AT(csv_safe), 0, ANY},
    {"no_csv_safe", NEGATED_FLAG, AT(csv_safe), 0, ANY},
    {"findings", FLAG, AT(findings), 0, ANY},
    {"no_findings", NEGATED_FLAG, AT(findings), 0, ANY},
    {"page", FLAG, AT(page), 0, ANY},
    {"gpu_arch_json_path", STRING, AT(gpu_arch_json_path), 0, ANY},
    {"gpu_arch_platform", STRING, AT(gpu_arch_platform), 0, ANY},
    {"gpu_peaks", SPECIAL, 0, 0, ANY},
    /* rocprofv3, Nsight Systems and PyTorch */
    {"short_kernel_study", FLAG, AT(rocprof.short_kernel_study), AT(pytorch.short_kernel_study),
     ROCPROF | NSYS | PYTORCH},
    {"short_kernel_threshold_us", INT, AT(rocprof.short_threshold_us), AT(pytorch.short_threshold_us),
     ROCPROF | NSYS | PYTORCH, "0"},
    {"short_kernel_histogram_bins", INT, AT(rocprof.short_bins), AT(pytorch.short_bins),
     ROCPROF | NSYS | PYTORCH, "1"},
    {"no_extra_sheets", NEGATED_FLAG, AT(rocprof.extra_sheets), AT(pytorch.extra_sheets),
     ROCPROF | NSYS | PYTORCH},
    {"comm_kernels", SPECIAL, 0, 0, ROCPROF | NSYS | PYTORCH},
    {"comm_kernel_regex", SPECIAL, 0, 0, ROCPROF | NSYS | PYTORCH},
    {"disable_kernel_summary", NEGATED_FLAG, AT(rocprof.kernel_summary), AT(pytorch.kernel_summary),
     ROCPROF | NSYS | PYTORCH},
    /* rocprofv3 */
    {"kernel_details", FLAG, AT(rocprof.kernel_details), 0, ROCPROF | NSYS},
    {"topk_kernels", SPECIAL, 0, 0, ROCPROF | NSYS, "0"},
    {"all_processes", FLAG, AT(all_processes), 0, ROCPROF},
    {"full_kernel_names", FLAG, AT(rocprof.full_names), 0, ROCPROF | NSYS},
    {"kernel_names", SPECIAL, 0, 0, ROCPROF | NSYS},
    /* PyTorch */
    {"include_unlinked_kernels", FLAG, AT(pytorch.include_unlinked_kernels), 0, PYTORCH},
    {"linked_kernels_only", NEGATED_FLAG, AT(pytorch.include_unlinked_kernels), 0, PYTORCH},
    {"micro_idle_thresh_us", SPECIAL, 0, 0, PYTORCH, "0"},
    {"enable_kernel_summary", FLAG, AT(pytorch.kernel_summary), 0, PYTORCH},
    {"topk_short_kernels", LIMIT, AT(pytorch.topk_short_kernels), 0, PYTORCH, "0"},
    {"disable_coll_analysis", NEGATED_FLAG, AT(pytorch.coll_analysis), 0, PYTORCH},
    {"topk_ops", LIMIT, AT(pytorch.topk_ops), 0, PYTORCH, "0"},
    {"topk_roofline_ops", LIMIT, AT(pytorch.topk_roofline_ops), 0, PYTORCH, "0"},
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
    {"capture_folder", STRING, AT(capture_folder), 0, PYTORCH},
    {"no_captures", NEGATED_FLAG, AT(find_captures), 0, PYTORCH},
    {"comparison_capture_folder", STRING, AT(comparison_capture_folder), 0, PYTORCH},
    {"group_by_parent_module", FLAG, AT(pytorch.by_module), 0, PYTORCH},
    {"extension_file", STRING, AT(extension_file), 0, PYTORCH},
    {"extension_timeout", SPECIAL, 0, 0, PYTORCH},
    {"inference_phase_analysis", FLAG, AT(pytorch.phases), 0, PYTORCH},
    {"phase_detection_method", SPECIAL, 0, 0, PYTORCH},
    {"decode_threshold", INT, AT(pytorch.phase_options.decode_threshold), 0, PYTORCH},
    {"eager_trace", SPECIAL, 0, 0, PYTORCH},
    {"serving", STRING, AT(serving_file), 0, PYTORCH},
    {"no_graph_ops", NEGATED_FLAG, AT(pytorch.graph_ops), 0, PYTORCH},
    {"extra", FLAG, AT(pytorch.extra), 0, PYTORCH},
    {"extra_kernel_delay_us", INT, AT(pytorch.extra_options.kernel_delay_us), 0, PYTORCH, "0"},
    {"extra_max_queue_length", INT, AT(pytorch.extra_options.max_queue_length), 0, PYTORCH, "1"},
    {"extra_last_step", FLAG, AT(pytorch.extra_options.include_last_step), 0, PYTORCH},
    {"extra_hta_times", FLAG, AT(pytorch.extra_options.hta_times), 0, PYTORCH},
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

gt_report_options gt_report_options_inference(void)
{
    gt_report_options options = gt_report_options_default();
    options.pytorch.inference = true;
    options.pytorch.coll_analysis = false;
    options.write_capture_details = true;
    options.check_kernels = true;
    return options;
}

gt_report_options gt_report_options_best(void)
{
    gt_report_options options = gt_report_options_default();
    options.pytorch.include_unlinked_kernels = true;
    options.pytorch.correct_launches = true;
    options.pytorch.kernel_summary = true;
    options.pytorch.serving_sheets = true;
    options.pytorch.graph_ops = true;
    options.rocprof.merge_ranges = true;
    options.rocprof.gpu_window = true;
    options.rocprof.own_categories = true;
    options.rocprof.full_names = true;
    options.all_comm_kernels = true;
    options.findings = true;
    options.detect_gpu = true;
    options.csv_safe = true;
    options.gpu_peaks = GT_PEAKS_PEAK;
    options.pytorch.phase_options.method = GT_PHASES_AUTO;
    options.find_captures = true;
    options.serve_all_launches = true;
    return options;
}

void gt_report_options_free(gt_report_options *options)
{
    gt_free_all((void *)(uintptr_t)options->jax.keywords, options->comm_regexes,
                options->pytorch.eager_traces);
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

static bool add_eager_trace(gt_report_options *options, const char *value)
{
    gt_pytorch_options *pytorch = &options->pytorch;
    GT_PUSH(pytorch->eager_traces, pytorch->eager_trace_count, pytorch->eager_trace_capacity, value);
    return true;
}

static bool set_kernel_names(gt_report_options *options, const char *value)
{
    static const char *const names[GT_KERNEL_NAME_KINDS] = {[GT_KERNEL_NAMES_SHORT] = "short",
                                                            [GT_KERNEL_NAMES_DEMANGLED] = "demangled",
                                                            [GT_KERNEL_NAMES_MANGLED] = "mangled"};
    for (int kind = 0; kind < GT_KERNEL_NAME_KINDS; kind++)
        if (strcmp(names[kind], value) == 0) {
            options->kernel_names = (gt_kernel_name_kind)kind;
            options->rocprof.full_names = kind == GT_KERNEL_NAMES_DEMANGLED;
            return true;
        }
    return false;
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
    if (strcmp(name, "eager_trace") == 0) return add_eager_trace(options, value);
    if (strcmp(name, "kernel_names") == 0) return set_kernel_names(options, value);
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

bool gt_report_option_check(const char *name, const char *value, gt_error *error)
{
    size_t i = find_option(name);
    const char *minimum = i < GT_LENGTH(known_options) ? known_options[i].minimum : NULL;
    int64_t number, least;
    if (minimum && parse_int(minimum, &least) && parse_int(value, &number) && number < least)
        return gt_fail(error, "%s: must be at least %s, got %" PRId64, name, minimum, number);
    return true;
}

void gt_report_options_warn(const gt_report_options *options, unsigned kinds, const char *dashes)
{
    static const char *const names[] = {[GT_TRACE_ROCPROF] = "rocprofv3",
                                        [GT_TRACE_PYTORCH] = "PyTorch",
                                        [GT_TRACE_JAX] = "JAX",
                                        [GT_TRACE_NSYS] = "Nsight Systems"};
    char list[80] = "";
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
    gt_buffer_add_format(
        text,
        " best=%d,%d,%d,%d,%d,%d,%d gpu_peaks=%d phases=%d idle=%d:%lld details=%d:%lld comm=%d names=%d",
        options->pytorch.correct_launches, options->pytorch.gpu_only_kernel_summary, options->detect_gpu,
        options->rocprof.merge_ranges, options->rocprof.gpu_window, options->rocprof.own_categories,
        options->pytorch.inference, (int)options->gpu_peaks, (int)options->pytorch.phase_options.method,
        options->pytorch.split_idle, (long long)options->pytorch.micro_idle_us,
        options->rocprof.limit_details, (long long)options->rocprof.topk_kernels, options->all_comm_kernels,
        (int)options->kernel_names);
    for (size_t i = 0; i < options->comm_regex_count; i++)
        describe_string(text, "regex", options->comm_regexes[i]);
    for (size_t i = 0; i < options->jax.keyword_count; i++)
        describe_string(text, "keyword", options->jax.keywords[i]);
    describe_string(text, "TL_MODEL", getenv("TL_MODEL"));
    describe_string(text, "TL_TP", getenv("TL_TP"));
}

bool gt_report_options_describe(const gt_report_options *options, gt_trace_kind kind, gt_buffer *text)
{
    if (options->comparison_json_path || options->capture_folder || options->extension_file ||
        options->serving_file || options->gpu_arch_json_path || options->check_kernels ||
        options->pytorch.eager_trace_count || options->pytorch.reference_messages ||
        getenv("GEMM_SIMULATOR_PATH"))
        return false;
    gt_buffer_add_format(text, GT_INDEX_REPORT "%d", (int)kind);
    const char *fields = (const char *)options;
    for (size_t i = 0; i < GT_LENGTH(known_options); i++) {
        if (!(known_options[i].kinds & 1u << kind) || strstr(known_options[i].name, "csv_safe")) continue;
        describe_field(text, known_options[i].name, fields + known_options[i].at, known_options[i].type);
        if (known_options[i].also)
            describe_field(text, "also", fields + known_options[i].also, known_options[i].type);
    }
    describe_others(options, text);
    return true;
}
