/* Which kind of file is it? Traces are then read and their report is made in memory; everything else is left
 * to others.c. FIFOs and devices are not opened: reading them takes away what they hold, or never ends. */
#include "doctor/parts.h"

#include "input/chrome/chrome.h"
#include "input/ncu/ncu.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"

/* ---- messages of readers ---- */

static void hear(void *context, gt_message_kind kind, const char *text)
{
    (void)kind;
    gt_diagnosis_warn(context, text);
}

/* ---- traces ---- */

static const struct {
    gt_trace_kind kind;
    const char *id, *what;
    void (*look)(gt_inspection *p);
    void (*conclude)(gt_inspection *p);
} kinds[] = {
    {GT_TRACE_PYTORCH, "pytorch-trace", "PyTorch trace", gt_doctor_pytorch, gt_doctor_pytorch_commands},
    {GT_TRACE_ROCPROF, "rocprofv3-run", "rocprofv3 run", gt_doctor_run, gt_doctor_run_commands},
    {GT_TRACE_NSYS, "nsys-export", "Nsight Systems export (SQLite)", gt_doctor_run, gt_doctor_run_commands},
    {GT_TRACE_JAX, "jax-profile", "JAX profile (XPlane)", gt_doctor_jax, gt_doctor_jax_commands},
};

static size_t row_of(gt_trace_kind kind)
{
    size_t row = 0;
    while (kinds[row].kind != kind) row++;
    return row;
}

static const char *name_of(gt_diagnosis *d, size_t row, gt_trace_format format, bool is_folder)
{
    if (is_folder) return "folder of a rocprofv3 run";
    if (kinds[row].kind == GT_TRACE_PYTORCH)
        return format == GT_FORMAT_PERFETTO ? "PyTorch trace (Perfetto)" : "PyTorch trace (Chrome JSON)";
    if (kinds[row].kind != GT_TRACE_ROCPROF) return kinds[row].what;
    return gt_diagnosis_text(d, "rocprofv3 %s",
                             format == GT_FORMAT_ROCPROF_JSON  ? "JSON file"
                             : format == GT_FORMAT_ROCPROF_CSV ? "CSV file"
                             : format == GT_FORMAT_PERFETTO    ? "Perfetto trace"
                                                               : "database (rocpd)");
}

/* A Chrome trace that rocprofv3's Perfetto trace was converted to: the pftrace commands read it, and reports
 * do not. */
static void try_chrome(gt_inspection *p, const gt_read_options *options)
{
    gt_diagnosis *d = p->d;
    gt_error ignored;
    if (!p->has_rocprof_names || strcmp(d->path, "-") == 0) return;
    gt_stream *stream = gt_stream_open(d->path, &ignored);
    gt_chrome *trace = stream ? gt_chrome_read(stream, options, &ignored) : NULL;
    if (trace && trace->count) {
        gt_diagnosis_is(d, "rocprofv3-chrome-trace", "rocprofv3 trace, converted to Chrome JSON");
        d->usable = true;
        d->problem = NULL;
        d->verdict = NULL;
        d->missing_count = d->check_count = d->command_count = d->sheet_count = d->fact_count = 0;
        d->recording = NULL;
        gt_fact_add_count(d, GT_FACT_CONTENTS, "calls_kernels_and_copies", (double)trace->count);
        gt_supported_command_add(d, "pftrace-hip-activity", true, "GPU time by category, overlap, HIP calls");
        gt_supported_command_add(d, "pftrace-hip-api", true, "call, wait and kernel time of each HIP call");
        gt_supported_command_add(d, "pftrace-memory-copy", true, "copies by size and direction");
        gt_supported_command_add(d, "report", false, "reads rocprofv3's own files; the .pftrace has more");
        d->next = gt_diagnosis_command(d, "gputally pftrace-hip-activity", d->path, NULL);
    }
    gt_chrome_free(trace);
    gt_stream_close(stream);
}

/* Why there is no report. That a truncated or empty trace has no GPU events is expected. */
static const char *problem_of(gt_diagnosis *d, const gt_error *error)
{
    const gt_fact *events = gt_fact_find(d, "events");
    if (gt_missing_exists(d, "end") && gt_missing_exists(d, "gpu_events"))
        return "the file is truncated, and there are no GPU events before its end";
    if (events && events->number == 0) return "the trace has no events";
    return gt_diagnosis_text(d, "%s", error->text);
}

static void add_query(gt_diagnosis *d)
{
    gt_supported_command_add(d, "query", d->usable,
                             d->usable ? "SQL over the sheets of this and other traces" : "needs a report");
}

/* Reads the trace and makes its report; says what was found. */
static void examine_trace(gt_inspection *p, gt_trace_kind kind, const gt_read_options *given)
{
    gt_diagnosis *d = p->d;
    size_t row = row_of(kind);
    gt_run_info run = {.distributed = {GT_EVENT_NONE, GT_EVENT_NONE}};
    gt_trace_members members = {.count = 0};
    gt_report report;
    gt_error error;
    gt_report_options options = gt_report_options_best();
    options.read = *given;
    options.read.index = NULL; /* what an index has is not what the file has */
    options.read.run = &run;
    options.read.members = &members;
    options.memory = true;
    p->report = &report;
    p->run = &run;
    p->members = &members;
    gt_diagnosis_is(d, kinds[row].id, name_of(d, row, p->format, !p->stream));
    bool read = gt_report_read(&report, kind, p->stream, d->path, &options, &error);
    if (read) {
        kinds[row].look(p);
        bool made = gt_report_make_tables(&report, &error);
        gt_doctor_sheets(p);
        d->usable = made;
    }
    if (!d->usable) d->problem = problem_of(d, &error);
    if (read) kinds[row].conclude(p);
    if (read) add_query(d);
    if (!read) gt_supported_command_add(d, "report", false, d->problem);
    if (d->usable && !d->next) d->next = gt_diagnosis_command(d, "gputally report", d->path, NULL);
    gt_report_free(&report);
    gt_report_options_free(&options);
    if (!d->usable && read) try_chrome(p, given);
}

/* ---- other files that gputally reads ---- */

static void examine_ncu(gt_inspection *p)
{
    gt_diagnosis *d = p->d;
    gt_error error;
    gt_diagnosis_is(d, "ncu-csv", "Nsight Compute output (CSV)");
    gt_fact_add_text(d, GT_FACT_MADE, "profiler", "NVIDIA Nsight Compute (ncu)");
    gt_ncu *trace = gt_ncu_read(p->stream, &error);
    d->usable = trace && trace->launch_count;
    if (!d->usable)
        d->problem = trace ? "no profiled launches in this output" : gt_diagnosis_text(d, "%s", error.text);
    gt_supported_command_add(d, "report", d->usable,
                             d->usable ? "metrics per kernel and per launch" : d->problem);
    if (trace) {
        size_t sections = 0;
        for (size_t i = 0; i < trace->value_count; i++) sections += trace->values[i].section != GT_STR_NONE;
        gt_fact_add_text(d, GT_FACT_MADE, "page", sections ? "details" : "raw");
        gt_fact_add_count(d, GT_FACT_CONTENTS, "launches", (double)trace->launch_count);
        gt_fact_add_count(d, GT_FACT_CONTENTS, "metric_values", (double)trace->value_count);
        if (d->usable && sections)
            gt_missing_add(d, "metrics", "metrics that the page details does not print",
                           "the sheet ncu_metrics is short",
                           "ncu --import REPORT.ncu-rep --csv --page raw > raw.csv");
        gt_supported_command_add(d, "compare", d->usable, "sheets of this and other outputs side by side");
        add_query(d);
    }
    if (d->usable) d->next = gt_diagnosis_command(d, "gputally report", d->path, NULL);
    gt_ncu_free(trace);
}

static void examine_index(gt_diagnosis *d, const char *trace)
{
    static const char *const names[] = {[GT_INDEX_PYTORCH] = "PyTorch trace",
                                        [GT_INDEX_ROCPROF] = "rocprofv3 run",
                                        [GT_INDEX_JAX] = "JAX profile",
                                        [GT_INDEX_NSYS] = "Nsight Systems export"};
    gt_index_kind kind;
    gt_error error;
    gt_diagnosis_is(d, "gputally-index", "index of gputally");
    if (trace) {
        gt_fact_add_text(d, GT_FACT_MADE, "index_of", trace);
        d->usable = true;
        d->next = gt_diagnosis_command(d, "gputally doctor", trace, NULL);
        d->next_text = "examines the trace of this index";
        gt_supported_command_add(d, "report", true, "the index is used by itself when its trace is read");
        return;
    }
    d->usable = gt_index_kind_of(d->path, &kind, &error);
    if (!d->usable) {
        d->problem = gt_diagnosis_text(d, "%s", error.text);
        return;
    }
    gt_fact_add_text(d, GT_FACT_MADE, "index_of", names[kind]);
    gt_missing_add(d, "trace", "the trace of this index",
                   "only what is in the index can be reported, and whether "
                   "the trace has changed is unknown",
                   "put the trace next to its index");
    gt_supported_command_add(d, "report", true, "from what the index has");
    d->next = gt_diagnosis_command(d, "gputally report", d->path, NULL);
}

/* ---- opening ---- */

static void add_file_facts(gt_diagnosis *d, gt_stream *stream)
{
    static const char *const names[] = {[GT_PLAIN] = "none", [GT_GZIP] = "gzip", [GT_ZSTD] = "zstd"};
    if (gt_stream_size(stream) || strcmp(d->path, "-") != 0)
        gt_fact_add_count(d, GT_FACT_FILE, "bytes", (double)gt_stream_size(stream));
    gt_fact_add_text(d, GT_FACT_FILE, "compression", names[gt_stream_compression(stream)]);
}

static bool has_text(const uint8_t *text, size_t len, const char *wanted)
{
    return memmem(text, len, wanted, strlen(wanted)) != NULL;
}

static void examine_stream(gt_diagnosis *d, gt_stream *stream, const gt_read_options *options)
{
    gt_inspection p = {.d = d, .stream = stream};
    gt_trace_kind kind;
    gt_error error;
    const uint8_t *text;
    size_t len;
    add_file_facts(d, stream);
    if (!gt_detect(stream, &p.format, &error) || !gt_stream_peek(stream, &text, &len, &error)) {
        d->problem = gt_diagnosis_text(d, "%s", error.text);
        gt_diagnosis_is(d, "damaged", "file that cannot be read");
        return;
    }
    if (p.format == GT_FORMAT_KINETO_JSON) {
        p.has_jax_names = has_text(text, len, "/device:GPU:") || has_text(text, len, "/device:TPU:");
        p.has_rocprof_names =
            has_text(text, len, "\"kernel_dispatch\"") || has_text(text, len, "\"hip_api\"");
    }
    if (p.format == GT_FORMAT_NCU_CSV)
        examine_ncu(&p);
    else if (gt_report_detect(stream, &kind, &error))
        examine_trace(&p, kind, options);
    else
        gt_doctor_other(d, (gt_str){(const char *)text, len}, p.format, &error);
}

/* Paths that are neither a file nor a folder: devices, pipes, missing ones. Returns false for all others. */
static bool examine_special(gt_diagnosis *d)
{
    struct stat status;
    if (strcmp(d->path, "-") == 0) return false;
    if (stat(d->path, &status) != 0) {
        gt_diagnosis_is(d, errno == ENOENT || errno == ENOTDIR ? "missing" : "unreadable",
                        errno == ENOENT || errno == ENOTDIR ? "no such file" : "file that cannot be read");
        d->problem = gt_diagnosis_text(d, "%s", strerror(errno));
        return true;
    }
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return false;
    gt_diagnosis_is(d, "special",
                    S_ISFIFO(status.st_mode)   ? "FIFO"
                    : S_ISSOCK(status.st_mode) ? "socket"
                                               : "device");
    d->problem = S_ISFIFO(status.st_mode)
                     ? "not opened, because a FIFO can be read only once; gputally report FILE reads it"
                     : "not opened; gputally reads files";
    return true;
}

static void examine_path(gt_diagnosis *d, const gt_read_options *options)
{
    gt_error error;
    char *trace = NULL;
    if (examine_special(d)) return;
    if (gt_path_is_folder(d->path)) {
        gt_inspection p = {.d = d};
        gt_diagnosis_is(d, "folder", "folder");
        if (gt_rocprof_is_folder(d->path))
            examine_trace(&p, GT_TRACE_ROCPROF, options);
        else
            d->problem = "no rocprofv3 files in this folder";
        return;
    }
    if (strcmp(d->path, "-") != 0 && gt_index_is_index(d->path, &trace)) {
        examine_index(d, trace);
        gt_free(trace);
        return;
    }
    gt_stream *stream = gt_stream_open(d->path, &error);
    if (stream) {
        examine_stream(d, stream, options);
    } else {
        gt_diagnosis_is(d, "unreadable", "file that cannot be read");
        d->problem = gt_diagnosis_text(d, "%s", error.text);
    }
    gt_stream_close(stream);
}

/* The error of a reader begins with the path, which is shown anyway. */
static void shorten(gt_diagnosis *d)
{
    size_t len = strlen(d->path);
    if (d->problem && strncmp(d->problem, d->path, len) == 0 && strncmp(d->problem + len, ": ", 2) == 0)
        d->problem += len + 2;
    for (size_t i = 0; i < d->message_count; i++)
        if (strncmp(d->messages[i], d->path, len) == 0 && strncmp(d->messages[i] + len, ": ", 2) == 0)
            d->messages[i] += len + 2;
    for (size_t i = 0; i < d->command_count; i++)
        if (strncmp(d->commands[i].text, d->path, len) == 0 &&
            strncmp(d->commands[i].text + len, ": ", 2) == 0)
            d->commands[i].text += len + 2;
}

gt_diagnosis *gt_doctor_examine(const char *path, const gt_read_options *options)
{
    gt_diagnosis *d = gt_diagnosis_new(path);
    gt_log_listener listener = {.hear = hear, .context = d};
    gt_log_record record = {0}; /* shown with the rest, not before it */
    gt_log_listen(&listener);
    gt_log_record *before = gt_log_keep(&record);
    examine_path(d, options);
    gt_log_keep(before);
    gt_log_forget(&record);
    gt_log_unlisten(&listener);
    shorten(d);
    if (strcmp(path, "-") == 0 && d->next && !d->next_text)
        d->next_text = "replace FILE by the file that was read from standard input";
    return d;
}
