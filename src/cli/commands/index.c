/* `gputally index`: keeps what reports read from a trace, and the sheets of `gputally report`, in an index.
 */
#include "cli/commands/commands.h"

#include "base/progress.h"
#include "input/chrome/kineto.h"
#include "os/paths.h"

static const gt_option index_options[] = {
    {"index_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the indexes into DIR (default: next to each trace, or into ~/.cache/gputally if that folder "
     "cannot "
     "be written to)"},
    {"python_functions", GT_OPTION_FLAG, NULL, NULL,
     "also keep the Python functions of PyTorch traces, for --include_call_stack, --detect_recompute and "
     "diff --add_python_func"},
};
static const gt_option_group index_group = {"Index", index_options, GT_LENGTH(index_options)};

const gt_syntax gt_index_syntax = {
    .groups = {&index_group, &gt_common_group},
    .main_options = {"index_dir", "python_functions", "threads"},
    .files = "TRACE...",
    .file_endings = GT_TRACE_ENDINGS,
    .files_max = SIZE_MAX,
    .output_option = "index_dir",
};

/* ---- one trace ---- */

/* Makes the report, which keeps the events and the sheets, and reads python functions if requested. */
static bool read_all(const char *path, const gt_read_options *read, bool python, gt_error *error)
{
    gt_trace_kind kind;
    gt_stream *stream = gt_stream_open(path, error);
    gt_report report = {.kind = GT_TRACE_ROCPROF};
    gt_report_options options = gt_report_options_best();
    options.read = *read;
    options.page = true; /* as `gputally report` has it; its sheets serve reports without page, too */
    bool made = stream && gt_report_detect(stream, &kind, error) &&
                gt_report_read(&report, kind, stream, path, &options, error) &&
                gt_report_make_tables(&report, error);
    gt_stream_close(stream);
    if (made && python && kind == GT_TRACE_PYTORCH) {
        gt_pytorch_read *events =
            gt_kineto_read(path, (gt_kineto_options){.python_functions = true}, read, error);
        made = events != NULL;
        gt_pytorch_read_free(events);
    }
    gt_report_free(&report);
    gt_report_options_free(&options);
    return made;
}

static struct stat state_of(const char *path)
{
    struct stat status;
    if (!path || stat(path, &status) != 0) status = (struct stat){0};
    return status;
}

static bool make_index(const gt_call *call, const char *path, const gt_read_options *read, gt_error *error)
{
    if (strcmp(path, "-") == 0) return gt_fail(error, "standard input has no index");
    if (gt_path_is_folder(path)) return gt_fail(error, "%s: a folder has no index; name its traces", path);
    gt_index *before = gt_index_open(&(gt_index_policy){GT_INDEX_AUTO, read->index->place, NULL}, path);
    char *target = before ? gt_strdup(gt_index_target(before)) : NULL;
    gt_index_close(before);
    struct stat old = state_of(target);
    bool made = read_all(path, read, gt_arguments_flag(&call->arguments, "python_functions"), error);
    struct stat now = state_of(target);
    if (made && !now.st_size) made = gt_fail(error, "%s: no index was written", path);
    if (made && !gt_arguments_flag(&call->arguments, "quiet")) {
        bool same = old.st_ino == now.st_ino && old.st_size == now.st_size;
        printf("%s %s (%.1f MB)\n", same ? "up to date:" : "wrote", target, (double)now.st_size / 1e6);
    }
    gt_free(target);
    return made;
}

gt_exit gt_cmd_index(const gt_call *call)
{
    gt_error error;
    gt_read_options read;
    gt_exit status = GT_EXIT_DONE;
    if (!gt_common_apply(call, &read, &error)) return gt_usage_error(call->program, "%s", error.text);
    const char *folder = gt_arguments_string(&call->arguments, "index_dir");
    if (folder && !gt_path_is_folder(folder) && !gt_path_make_folder(folder, &error)) {
        fprintf(stderr, "gputally: %s\n", error.text);
        return GT_EXIT_FAILED;
    }
    gt_index_policy policy = {.mode = GT_INDEX_AUTO, .place = folder};
    read.index = &policy;
    size_t count = call->arguments.file_count;
    for (size_t i = 0; i < count; i++) {
        const char *path = call->arguments.files[i];
        const char *about = gt_log_about(count > 1 ? path : NULL);
        if (!make_index(call, path, &read, &error)) {
            gt_progress_end();
            fprintf(stderr, "gputally: %s\n", error.text);
            status = GT_EXIT_FAILED;
        }
        gt_log_about(about);
    }
    return status;
}
