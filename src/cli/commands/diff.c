/* `gputally diff`: merges the call trees of two PyTorch traces and writes the differences. */
#include "cli/commands/commands.h"
#include "input/chrome/kineto.h"
#include "input/files.h"
#include "report/diff.h"

#define DEFAULT_FOLDER "rprt_diff"

static const gt_option diff_options[] = {
    {"add_python_func", GT_OPTION_FLAG, NULL, NULL,
     "add Python functions to the call trees, so that modules distinguish ops (needs traces recorded with "
     "stacks)"},
    {"prune_non_gpu", GT_OPTION_FLAG, NULL, NULL,
     "omit root calls without GPU work from merged_tree_output.txt"},
};
static const gt_option_group diff_group = {"Diff", diff_options, GT_LENGTH(diff_options)};

static const gt_option output_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", DEFAULT_FOLDER, "write the files into DIR"},
    GT_CSV_SAFE_OPTIONS(NULL),
    {"output_xlsx_path", GT_OPTION_STRING, "PATH", NULL, "also write the sheets to an Excel workbook",
     .ending = GT_WORKBOOK_ENDING},
    {"output_db", GT_OPTION_STRING, "PATH", NULL, "also write the sheets to an SQLite database",
     .ending = GT_DATABASE_ENDINGS},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_diff_syntax = {
    .groups = {&diff_group, &output_group, &gt_index_group, &gt_common_group},
    .main_options = {"output_dir", "output_xlsx_path", "output_db", "add_python_func", "prune_non_gpu"},
    .files = "TRACE1 TRACE2",
    .file_endings = GT_PYTORCH_ENDINGS,
    .files_max = 2,
    .output_option = "output_dir",
};

/* ---- outputs ---- */

static bool write_all(const gt_diff *diff, gt_output *output, const gt_arguments *arguments, gt_error *error)
{
    const gt_table_list *tables = gt_diff_tables(diff);
    const char *dir = gt_arguments_string(arguments, "output_dir");
    const char *xlsx = gt_arguments_string(arguments, "output_xlsx_path");
    const char *db = gt_arguments_string(arguments, "output_db");
    for (size_t i = 0; i < arguments->file_count; i++)
        if (!gt_check_not_input(xlsx, arguments->files[i], error) ||
            !gt_check_not_input(db, arguments->files[i], error))
            return false;
    return gt_diff_write(diff, output, dir ? dir : DEFAULT_FOLDER, error) &&
           (!xlsx || !tables->count || gt_output_xlsx(output, xlsx, tables->items, tables->count, error)) &&
           (!db || !tables->count || gt_output_sqlite(output, db, tables->items, tables->count, error)) &&
           gt_output_commit(output, error);
}

static void show(const gt_diff *diff, const gt_output *output)
{
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_diff_print_summary(stdout, diff, (int)terminal.width, terminal.utf8);
    gt_trace_show_files(stdout, output);
}

/* ---- comparison ---- */

static bool report(const gt_call *call, gt_pytorch_linked *const traces[2], gt_error *error)
{
    const char *debug = getenv("TRACELENS_DEBUG");
    gt_diff_options options = {.prune_non_gpu = gt_arguments_flag(&call->arguments, "prune_non_gpu"),
                               .explain = debug && strcmp(debug, "1") == 0};
    gt_diff *diff = gt_diff_new(gt_pytorch_view(traces[0]), gt_pytorch_view(traces[1]), &options, error);
    if (!diff) return false;
    gt_output *output = gt_output_new();
    bool written = write_all(diff, output, &call->arguments, error);
    if (written && !gt_arguments_flag(&call->arguments, "quiet")) show(diff, output);
    gt_output_free(output);
    gt_diff_free(diff);
    return written;
}

static bool has_ops(const gt_event_view *trace, const char *path, gt_error *error)
{
    if (!trace->gpu_only) return true;
    return gt_fail(error, "%s: no CPU ops; the diff needs the host side of both traces",
                   gt_trace_title(path));
}

typedef struct reading {
    const gt_call *call;
    gt_read_options read;
    gt_pytorch_linked *traces[2];
    gt_error errors[2];
} reading;

static bool read_trace(void *context, size_t index)
{
    reading *r = context;
    const char *path = r->call->arguments.files[index];
    gt_kineto_options keep = {.python_functions = gt_arguments_flag(&r->call->arguments, "add_python_func")};
    const char *about = gt_log_about(gt_trace_title(path));
    gt_pytorch_read *events = gt_kineto_read(path, keep, &r->read, &r->errors[index]);
    bool valid = events && has_ops(gt_pytorch_read_view(events), path, &r->errors[index]);
    if (valid)
        r->traces[index] = gt_pytorch_link(gt_pytorch_build_tree(events));
    else
        gt_pytorch_read_free(events);
    gt_log_about(about);
    return valid;
}

/* Both traces are read at the same time. */
static bool read_and_report(const gt_call *call, const gt_read_options *read, gt_error *error)
{
    reading r = {.call = call, .read = *read};
    r.read.is_part = true;
    size_t failed = gt_files_work(&(gt_file_work){.paths = (const char *const *)call->arguments.files,
                                                  .count = 2,
                                                  .one = "trace",
                                                  .many = "traces",
                                                  .work = read_trace,
                                                  .context = &r});
    if (failed < 2) {
        *error = r.errors[failed];
        gt_call_explain_format(call, call->arguments.files[failed], error);
    }
    bool valid = failed == 2 && report(call, r.traces, error);
    gt_pytorch_linked_free(r.traces[0]);
    gt_pytorch_linked_free(r.traces[1]);
    return valid;
}

gt_exit gt_cmd_diff(const gt_call *call)
{
    gt_error error = {""};
    gt_read_options read;
    if (call->arguments.file_count != 2)
        return gt_usage_error(call->program, "two arguments are required: TRACE1 TRACE2");
    if (!gt_common_apply(call, &read, &error)) return gt_usage_error(call->program, "%s", error.text);
    if (strcmp(call->arguments.files[0], "-") == 0 && strcmp(call->arguments.files[1], "-") == 0)
        return gt_usage_error(call->program, "only one of the traces can be standard input");
    if (read_and_report(call, &read, &error)) return GT_EXIT_DONE;
    fprintf(stderr, "gputally: %s\n", error.text);
    return GT_EXIT_FAILED;
}
