/* A trace that the command for another profiler is given: the reader says what it does not find, and this
 * what the file is and which command reads it. Old names keep the sentences of their programs. */

#include "cli/inputs/inputs.h"
#include "report/report.h"

#include <sys/stat.h>

static const struct {
    const char *command, *reads;
    gt_trace_kind kind;
    bool reads_nsys; /* too */
} readers[] = {
    {"pytorch", "a PyTorch trace", GT_TRACE_PYTORCH},
    {"rocprof", "a rocprofv3 run", GT_TRACE_ROCPROF},
    {"jax", "a JAX profile", GT_TRACE_JAX},
    {"nsys", "an SQLite export of Nsight Systems", GT_TRACE_NSYS},
    {"jax-analysis", "a JAX profile", GT_TRACE_JAX},
    {"ncu", "output of `ncu --csv`", (gt_trace_kind)-1},
    {"diff", "a PyTorch trace", GT_TRACE_PYTORCH},
    {"split", "a PyTorch trace", GT_TRACE_PYTORCH, .reads_nsys = true},
};

static void add(gt_error *error, const char *hint)
{
    gt_error reason = *error;
    gt_fail(error, "%.1500s; %s", reason.text, hint);
}

static void explain_folder(const char *path, gt_error *error)
{
    if (strstr(error->text, "is a folder, not a file")) {
        gt_fail(error, "%s: a folder, not a file; `gputally report %s` finds the traces in it", path, path);
        return;
    }
    gt_trace_folder found;
    gt_log_record messages = {0}, *before = gt_log_keep(&messages);
    gt_trace_folder_find(&found, path, true);
    gt_log_keep(before);
    gt_log_forget(&messages);
    char *hint = gt_format("it has PyTorch traces: use gputally report %s", path);
    if (found.count) add(error, hint);
    gt_free(hint);
    gt_trace_folder_free(&found);
}

/* What the file is, if `reader` is not the command for it. */
static void explain_file(gt_stream *stream, size_t reader, gt_error *error)
{
    static const char doctor[] = "`gputally doctor` says what it is";
    gt_trace_format format;
    gt_trace_kind kind = (gt_trace_kind)-1;
    gt_error why;
    if (!gt_detect(stream, &format, &why)) return;
    if (format == GT_FORMAT_EMPTY) {
        gt_fail(error, "%s: not %s: %s", gt_stream_path(stream), readers[reader].reads,
                gt_format_name(format));
        return;
    }
    bool is_known = format == GT_FORMAT_NCU_CSV || gt_report_detect(stream, &kind, &why);
    if (is_known && kind == readers[reader].kind) return;
    if (is_known && kind == GT_TRACE_NSYS && readers[reader].reads_nsys) return;
    for (size_t i = 0; is_known && i < GT_LENGTH(readers); i++) {
        if (readers[i].kind != kind) continue;
        gt_fail(error, "%s: not %s: %s; use gputally %s or gputally report", gt_stream_path(stream),
                readers[reader].reads, kind == GT_TRACE_NSYS ? readers[i].reads : gt_format_name(format),
                readers[i].command);
        return;
    }
    /* The reader may know more about its own format, damaged. */
    bool is_json = format == GT_FORMAT_OTHER_JSON;
    if (is_json || (format == GT_FORMAT_UNKNOWN && !strstr(error->text, "expected a value but found")))
        add(error, doctor);
    else
        *error = why;
}

void gt_call_explain_format(const gt_call *call, const char *path, gt_error *error)
{
    size_t reader = 0;
    struct stat status;
    while (reader < GT_LENGTH(readers) && strcmp(readers[reader].command, call->command->name) != 0) reader++;
    if (call->by_old_name || reader == GT_LENGTH(readers) || stat(path, &status) != 0) return;
    if (S_ISDIR(status.st_mode)) explain_folder(path, error);
    gt_error ignored;
    gt_stream *stream = S_ISREG(status.st_mode) ? gt_stream_open(path, &ignored) : NULL;
    if (stream) explain_file(stream, reader, error);
    gt_stream_close(stream);
}
