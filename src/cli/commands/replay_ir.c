/* `gputally replay-ir`: extracts ops of a trace, runs them alone, and compares the times. */
#include "cli/commands/commands.h"
#include "input/chrome/kineto.h"
#include "output/file.h"
#include "replay/replay.h"

#define DEFAULT_FOLDER "replay"
static const char IR_FILE[] = "event_replay_ir.json", PROGRAM_FILE[] = "replay.py",
                  RESULTS_FILE[] = "replay_results.json";

static const gt_option selection_options[] = {
    {"op_regex", GT_OPTION_STRING, "REGEX", NULL,
     "include only ops whose name matches REGEX (Python syntax)"},
    {"kernel_regex", GT_OPTION_STRING, "REGEX", NULL,
     "include only ops of which a kernel's name matches REGEX"},
    {"topk_ops", GT_OPTION_INT, "N", "0", "include only the N ops with the most GPU time; 0: all",
     .minimum = "0"},
    {"schemas", GT_OPTION_STRING, "FILE", NULL,
     "read schemas of further ops from FILE, as `replay.py --schemas` prints them"},
    {"list_type", GT_OPTION_STRING, "TYPE", NULL,
     "use this type for the tensors of lists, such as those of aten::cat: c10::BFloat16, c10::Half, float",
     .choices = "c10::BFloat16|c10::Half|float|"},
};
static const gt_option_group selection_group = {"Ops", selection_options, GT_LENGTH(selection_options)};

static const gt_option run_options[] = {
    {"run", GT_OPTION_FLAG, NULL, NULL, "run the ops now, on the GPU of this machine (needs PyTorch)"},
    {"replay_timeout", GT_OPTION_INT, "SECONDS", "3600", "stop the replay after this time; 0: never",
     .minimum = "0", .needs = "run"},
    {"results", GT_OPTION_STRING, "FILE", NULL,
     "compare the times in FILE, which replay.py wrote; needs no trace"},
};
static const gt_option_group run_group = {"Replay", run_options, GT_LENGTH(run_options)};

static const gt_option output_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", DEFAULT_FOLDER, "write the files into DIR"},
    GT_CSV_SAFE_OPTIONS(NULL),
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

static const gt_short_option short_options[] = {{'o', "output_dir"}, {0}};

const gt_syntax gt_replay_syntax = {
    .groups = {&selection_group, &run_group, &output_group, &gt_common_group},
    .main_options = {"output_dir", "op_regex", "topk_ops", "run", "results"},
    .files = "[TRACE]",
    .file_endings = GT_PYTORCH_ENDINGS,
    .files_max = 1,
    .output_option = "output_dir",
    .short_options = short_options,
};

/* ---- files ---- */

typedef struct replaying {
    const gt_call *call;
    const char *dir;
    bool quiet;
    gt_read_options read;
} replaying;

static bool read_text(const char *path, gt_buffer *text, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    bool done = stream && gt_stream_read_all(stream, text, error);
    gt_stream_close(stream);
    return done;
}

/* Adds a file of the folder to the output. */
static bool add_file(const replaying *r, gt_output *output, const char *name, gt_str text, gt_error *error)
{
    char *path = gt_format("%s/%s", r->dir, name);
    bool added = gt_check_not_input(path, r->call->arguments.files[0], error) &&
                 gt_output_write_file(output, path, text, error);
    gt_free(path);
    return added;
}

/* ---- the ops of a trace ---- */

static gt_schemas *load_schemas(const char *path, gt_error *error)
{
    gt_buffer text = {0};
    gt_schemas *schemas = NULL;
    if (!path || read_text(path, &text, error)) {
        schemas = gt_schemas_new(gt_buffer_str(&text), error);
        if (!schemas) gt_error_prefix(error, path);
    }
    gt_buffer_free(&text);
    return schemas;
}

static void show_list(const gt_replay_list *list, const gt_output *output)
{
    static const gt_terminal_column columns[] = {{GT_COL_NAME, NULL, 0, NULL},
                                                 {GT_COL_OPERATION_COUNT, "count", 0, NULL},
                                                 {GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, "total µs", 1, NULL},
                                                 {GT_COL_NOTE, NULL, 0, NULL}};
    enum { SHOWN = 10 };
    size_t skipped = list->skipped->row_count;
    double all = list->all_us > 0 ? list->all_us : 1;
    printf("%zu %s with %.1f%% of the GPU time of all ops", list->count, gt_noun(list->count, "op", "ops"),
           list->ir_us / all * 100);
    if (skipped) {
        printf("; skipped %zu with %.1f%%:\n", skipped, (list->selected_us - list->ir_us) / all * 100);
        gt_terminal terminal = gt_terminal_for(stdout);
        gt_terminal_rows(&terminal, list->skipped, columns, GT_LENGTH(columns), SHOWN);
        if (skipped > SHOWN) printf("... and %zu more in replay_skipped.csv", skipped - SHOWN);
    }
    if (!skipped || skipped > SHOWN) printf("\n");
    gt_trace_show_files(stdout, output);
}

static bool write_list(const replaying *r, const gt_replay_list *list, gt_error *error)
{
    gt_output *output = gt_output_new();
    char *program = gt_replay_program(NULL);
    bool done = add_file(r, output, IR_FILE, (gt_str){list->ir.bytes, list->ir.len}, error) &&
                add_file(r, output, PROGRAM_FILE, (gt_str){program, strlen(program)}, error) &&
                gt_output_csvs(output, r->dir, &list->skipped, 1, error) && gt_output_commit(output, error);
    if (done && !r->quiet) show_list(list, output);
    gt_output_free(output);
    gt_free(program);
    return done;
}

static bool extract(const replaying *r, const gt_linked_view *trace, size_t *count, gt_error *error)
{
    const gt_arguments *arguments = &r->call->arguments;
    const gt_replay_selection selection = {.op_regex = gt_arguments_string(arguments, "op_regex"),
                                           .kernel_regex = gt_arguments_string(arguments, "kernel_regex"),
                                           .most = (size_t)gt_arguments_int(arguments, "topk_ops"),
                                           .list_type = gt_arguments_string(arguments, "list_type")};
    gt_replay_list list;
    gt_schemas *schemas = load_schemas(gt_arguments_string(arguments, "schemas"), error);
    if (!schemas) return false;
    bool done = gt_replay_list_make(&list, trace, schemas, &selection, error);
    gt_schemas_free(schemas);
    if (!done) return false;
    *count = list.count;
    done = write_list(r, &list, error);
    gt_replay_list_free(&list);
    return done;
}

static bool read_and_extract(const replaying *r, size_t *count, gt_error *error)
{
    const char *path = r->call->arguments.files[0];
    gt_pytorch_read *events = gt_kineto_read(path, (gt_kineto_options){0}, &r->read, error);
    if (!events) {
        gt_call_explain_format(r->call, path, error);
        return false;
    }
    gt_pytorch_linked *trace = gt_pytorch_link(gt_pytorch_build_tree(events));
    const gt_linked_view *view = gt_pytorch_view(trace);
    bool done = view->gpu_only ? gt_fail(error, "%s: no CPU ops, of which a replay needs the arguments",
                                         gt_trace_title(path))
                               : extract(r, view, count, error);
    gt_pytorch_linked_free(trace);
    return done;
}

/* ---- replay and results ---- */

static bool run(const replaying *r, const char *results, gt_error *error)
{
    int64_t timeout_s = gt_arguments_int(&r->call->arguments, "replay_timeout");
    if (!gt_program_has_torch(timeout_s))
        return gt_fail(error,
                       "python3 cannot import torch; copy %s to a machine with PyTorch and a GPU, run "
                       "`python3 %s` there, and give %s with --results",
                       r->dir, PROGRAM_FILE, RESULTS_FILE);
    char *source = gt_replay_program(NULL);
    char *ir = gt_format("%s/%s", r->dir, IR_FILE);
    gt_program_result ran =
        gt_program_run_python(source, (const char *const[]){ir, "--output", results, NULL}, NULL, timeout_s);
    bool done = ran.exit_code == 0 || ran.exit_code == 3;
    gt_str last = gt_program_last_line(&ran);
    if (!done) gt_fail(error, "the replay failed: %.*s", (int)last.len, last.bytes);
    gt_program_free(&ran);
    gt_free(ir);
    gt_free(source);
    return done;
}

static void show_results(const gt_table *sheet, const gt_output *output)
{
    static const gt_terminal_column columns[] = {{GT_COL_NAME, NULL, 0, NULL},
                                                 {GT_COL_OPERATION_COUNT, "count", 0, NULL},
                                                 {GT_COL_TRACE_US, "trace µs", 2, NULL},
                                                 {GT_COL_REPLAY_US, "alone µs", 2, NULL},
                                                 {GT_COL_TRACE_PER_REPLAY, "ratio", 2, NULL},
                                                 {GT_COL_LOST_MS, "lost ms", 3, NULL},
                                                 {GT_COL_REPLAYED_KERNELS, NULL, 0, NULL},
                                                 {GT_COL_NOTE, NULL, 0, NULL},
                                                 {GT_COL_INPUT_DIMS, NULL, 0, NULL}};
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_terminal_rows(&terminal, sheet, columns, GT_LENGTH(columns), sheet->row_count);
    gt_trace_show_files(stdout, output);
}

static bool compare(const replaying *r, const char *path, gt_error *error)
{
    gt_buffer text = {0};
    gt_interner *strings = gt_interner_new();
    gt_table *sheet = NULL;
    if (read_text(path, &text, error)) {
        sheet = gt_replay_results(gt_buffer_str(&text), strings, error);
        if (!sheet) gt_error_prefix(error, path);
    }
    gt_output *output = gt_output_new();
    bool done = sheet && gt_output_csvs(output, r->dir, &sheet, 1, error) && gt_output_commit(output, error);
    if (done && !r->quiet) show_results(sheet, output);
    gt_output_free(output);
    gt_table_free(sheet);
    gt_interner_free(strings);
    gt_buffer_free(&text);
    return done;
}

static bool replay(const replaying *r, gt_error *error)
{
    size_t count = 0;
    bool runs = gt_arguments_flag(&r->call->arguments, "run");
    if (!read_and_extract(r, &count, error)) return false;
    if (!runs) return true;
    if (!count)
        return gt_fail(error, "%s: no op can be replayed", gt_trace_title(r->call->arguments.files[0]));
    char *results = gt_format("%s/%s", r->dir, RESULTS_FILE);
    bool done = run(r, results, error) && compare(r, results, error);
    gt_free(results);
    return done;
}

gt_exit gt_cmd_replay_ir(const gt_call *call)
{
    gt_error error = {""};
    const char *results = gt_arguments_string(&call->arguments, "results");
    const char *dir = gt_arguments_string(&call->arguments, "output_dir");
    replaying r = {.call = call,
                   .dir = dir ? dir : DEFAULT_FOLDER,
                   .quiet = gt_arguments_flag(&call->arguments, "quiet")};
    if (!results == !call->arguments.file_count)
        return gt_usage_error(call->program, "either a trace or --results is required");
    if (!gt_common_apply(call, &r.read, &error)) return gt_usage_error(call->program, "%s", error.text);
    if (results ? compare(&r, results, &error) : replay(&r, &error)) return GT_EXIT_DONE;
    fprintf(stderr, "gputally: %s\n", error.text);
    return GT_EXIT_FAILED;
}
