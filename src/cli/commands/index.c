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

/* Says where the index is, or fails if it is not that of the trace: warnings have said why. */
static bool show_index(const gt_call *call, const char *path, const gt_index_policy *policy, gt_error *error)
{
    gt_index *index = gt_index_open(&(gt_index_policy){.mode = GT_INDEX_USE, .place = policy->place}, path);
    const char *file = gt_index_path(index);
    bool is_whole = file && !policy->tally->failed;
    if (!is_whole)
        gt_fail(error, "%s: %s", path, file ? "not all of it is in the index" : "no index was written");
    else if (!gt_arguments_flag(&call->arguments, "quiet"))
        printf("%s %s (%.1f MB)\n", policy->tally->kept ? "wrote" : "up to date:", file,
               (double)gt_path_bytes(file) / 1e6);
    gt_index_close(index);
    return is_whole;
}

static bool make_index(const gt_call *call, const char *path, const gt_read_options *read, gt_error *error)
{
    if (strcmp(path, "-") == 0) return gt_fail(error, "standard input has no index");
    if (gt_path_is_folder(path)) return gt_fail(error, "%s: a folder has no index; name its traces", path);
    *read->index->tally = (gt_index_tally){0};
    return read_all(path, read, gt_arguments_flag(&call->arguments, "python_functions"), error) &&
           show_index(call, path, read->index, error);
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
    gt_index_tally tally;
    gt_index_policy policy = {.mode = GT_INDEX_AUTO, .place = folder, .tally = &tally};
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
