/* Node replay: runs the ops that take most of the time of a group again, one at a time, with PyTorch and
 * with the benchmark program of the library. */
#include "batch/node_replay.h"
#include "os/own.h"
#include "os/paths.h"
#include "os/shell_words.h"
#include "output/file.h"
#include "output/terminal.h"
#include "schema/columns.h"

/* ---- PyTorch ---- */

static const char call_once[] = "prepare(json.loads(sys.argv[2]), 'cuda')()\n"
                                "torch.cuda.synchronize()\n";

/* As the replaced program does: without a pause between the calls. */
static const char measure[] = "steps = 1000\n"
                              "call = prepare(json.loads(sys.argv[2]), 'cuda')\n"
                              "for _ in range(steps):\n"
                              "    call()\n"
                              "torch.cuda.synchronize()\n"
                              "def call_all():\n"
                              "    for _ in range(steps):\n"
                              "        call()\n"
                              "print(event_times(call_all, 1, lambda: None)[0] / steps)\n";

/* Its exit code is not 0 if the op cannot be called. */
static gt_program_result run_torch(const gt_node_replay *replay, const char *mode, const char *program,
                                   const gt_replay_op *op, const char *const *environment)
{
    gt_json_writer entry = {0};
    gt_program_result run = {.exit_code = 1};
    gt_error error;
    gt_json_open(&entry, '{');
    if (gt_replay_add_ir(&entry, replay->schemas, op, NULL, &error)) {
        gt_json_close(&entry, '}');
        char *source = gt_replay_program(program);
        const char *const arguments[] = {mode, gt_buffer_str(&entry.text).bytes, NULL};
        run = gt_program_run_python(source, arguments, environment, replay->timeout_s);
        gt_free(source);
    } else {
        gt_buffer_add_format(&run.errors, "%s\n", error.text);
    }
    gt_json_writer_free(&entry);
    return run;
}

static gt_program_result log_with_torch(const gt_node_replay *replay, const gt_replay_op *op,
                                        const char *log_path)
{
    char *path = gt_format("HIPBLASLT_LOG_FILE=%s", log_path);
    const char *const hipblaslt[] = {"HIPBLASLT_LOG_MASK=32", path, NULL};
    const char *const miopen[] = {"MIOPEN_ENABLE_LOGGING_CMD=1", NULL};
    gt_program_result run =
        run_torch(replay, "log", call_once, op, replay->bench == GT_BENCH_HIPBLASLT ? hipblaslt : miopen);
    gt_free(path);
    return run;
}

/* ---- the sheet ---- */

static const double MOST_OF_THE_TIME = 0.99;
enum { KERNEL_NAME_CHARS = 75, PRINTED_WIDTH = 2000, MOST_LOG_BYTES = 1 << 20 };

/* ---- tools ---- */

static bool is_in_path(const char *program)
{
    gt_arena arena = {0};
    bool found = gt_path_search(&arena, program, getenv("PATH")) != NULL;
    gt_arena_free(&arena);
    return found;
}

static bool report_missing(bool found, const char *label, FILE *out)
{
    if (!found && out) fprintf(out, "Dependency not found: %s\n", label);
    return found;
}

gt_replay_tools gt_replay_tools_find(FILE *out, int64_t timeout_s)
{
    gt_replay_tools tools = {0};
    report_missing(is_in_path("amd-smi"), "ROCm platform", out);
    tools.hipblaslt = report_missing(is_in_path("hipblaslt-bench"), "hipblaslt-bench", out);
    tools.miopen = report_missing(is_in_path("MIOpenDriver"), "MIOpenDriver", out);
    tools.torch = report_missing(gt_program_has_torch(timeout_s), "PyTorch (python3 -c 'import torch')", out);
    return tools;
}

/* ---- choosing rows ---- */

static size_t count_selected(const gt_table *sheet)
{
    const double *shares = gt_table_column(sheet, GT_COL_KERNEL_TIME_SUM_CUM_PCT)->floats;
    size_t count = 0;
    while (count < sheet->row_count && shares[count] < MOST_OF_THE_TIME) count++;
    return count ? count : sheet->row_count;
}

/* The names of the kernels in a cell of details, shortened. */
static void add_kernel_names(gt_buffer *out, const char *details)
{
    static const char begin[] = "{'name': ", end[] = ", 'stream': ";
    size_t start = out->len;
    for (const char *at = details; (at = strstr(at, begin));) {
        const char *stop = strstr(at, end);
        if (out->len > start) gt_buffer_add_cstr(out, ", ");
        at += strlen(begin);
        gt_buffer_add(out, at, stop && stop > at ? (size_t)(stop - at) : strlen(at));
        if (!stop) break;
        at = stop;
    }
    if (out->len - start <= KERNEL_NAME_CHARS) return;
    out->len = start + KERNEL_NAME_CHARS - 3;
    gt_buffer_add_cstr(out, "...");
}

static void print_selected(const gt_node_replay *replay, size_t count)
{
    static const gt_col gemm[] = {GT_COL_PARAM_M,         GT_COL_PARAM_N,        GT_COL_PARAM_K,
                                  GT_COL_PARAM_BIAS,      GT_COL_PARAM_STRIDE_A, GT_COL_PARAM_STRIDE_B,
                                  GT_COL_PARAM_DTYPE_A_B, GT_COL_PARAM_TRANSPOSE};
    static const gt_col conv[] = {GT_COL_PARAM_CONVND,
                                  GT_COL_PARAM_INPUT_SHAPE,
                                  GT_COL_PARAM_FILTER_SHAPE,
                                  GT_COL_PARAM_DTYPE_INPUT_WEIGHT,
                                  GT_COL_PARAM_INPUT_STRIDE,
                                  GT_COL_PARAM_WEIGHT_STRIDE,
                                  GT_COL_PARAM_BIAS,
                                  GT_COL_PARAM_STRIDE,
                                  GT_COL_PARAM_PADDING,
                                  GT_COL_PARAM_DILATION,
                                  GT_COL_PARAM_TRANSPOSED_CONV,
                                  GT_COL_PARAM_OUTPUT_PADDING,
                                  GT_COL_PARAM_GROUPS};
    bool of_gemm = replay->bench == GT_BENCH_HIPBLASLT;
    const gt_col *parameters = of_gemm ? gemm : conv;
    size_t parameter_count = of_gemm ? GT_LENGTH(gemm) : GT_LENGTH(conv), columns = 0;
    gt_terminal_column shown[32] = {{GT_COL_NAME, NULL, 0, NULL},
                                    {GT_COL_KERNEL_TIME_US_MEAN, NULL, 6, NULL},
                                    {GT_COL_KERNEL_TIME_SUM_CUM_PCT, NULL, 6, NULL}};
    for (columns = 3; columns < parameter_count + 3; columns++)
        shown[columns] = (gt_terminal_column){parameters[columns - 3], NULL, -1, NULL};
    shown[columns++] = (gt_terminal_column){GT_COL_KERNEL_NAMES, NULL, 0, NULL};

    gt_table *table = gt_table_copy(replay->sheet);
    size_t names = gt_table_add_column(table, GT_COL_KERNEL_NAMES, GT_TYPE_STRING);
    gt_buffer text = {0};
    for (size_t row = 0; row < count; row++) {
        text.len = 0;
        uint32_t details = gt_table_column(table, GT_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS)->texts[row];
        add_kernel_names(&text, gt_interner_get(table->strings, details).bytes);
        gt_table_set_string(table, names, row, gt_interner_add(table->strings, text.bytes, text.len));
    }
    gt_terminal terminal = gt_terminal_for(replay->out);
    terminal.width = PRINTED_WIDTH;
    gt_terminal_rows(&terminal, table, shown, columns, count);
    gt_buffer_free(&text);
    gt_table_free(table);
}

/* ---- commands ---- */

static void print_failure(const gt_node_replay *replay, const char *command, int exit_code)
{
    if (replay->out)
        fprintf(replay->out, "Subprocess error: Command '%s' returned non-zero exit status %d.\n", command,
                exit_code);
}

static void print_torch_failure(const gt_node_replay *replay, const gt_replay_op *op,
                                const gt_program_result *run)
{
    gt_str why = gt_program_last_line(run);
    print_failure(replay, "python3 -c <replay>", run->exit_code);
    gt_warn("%s cannot be replayed: %.*s", op->name, (int)why.len, why.bytes);
}

static void read_log(const char *path, gt_buffer *out)
{
    int file = gt_open(path, O_RDONLY | O_CLOEXEC);
    char part[4096];
    ssize_t got;
    while (file >= 0 && out->len < MOST_LOG_BYTES && (got = read(file, part, sizeof part)) > 0)
        gt_buffer_add(out, part, (size_t)got);
    if (file >= 0) close(file);
}

/* The log of the library while PyTorch calls the op. */
static void log_command(const gt_node_replay *replay, const gt_replay_op *op, const char *path,
                        gt_buffer *commands)
{
    char *log_path = gt_format("%s.part", path);
    gt_buffer log = {0};
    unlink(log_path); /* the library would append to it */
    gt_program_result run = log_with_torch(replay, op, log_path);
    if (run.exit_code != 0) print_torch_failure(replay, op, &run);
    if (replay->bench == GT_BENCH_HIPBLASLT) read_log(log_path, &log);
    gt_bench_edit_log(replay->bench,
                      replay->bench == GT_BENCH_HIPBLASLT ? gt_buffer_str(&log) : gt_buffer_str(&run.errors),
                      commands);
    unlink(log_path);
    gt_free(log_path);
    gt_buffer_free(&log);
    gt_program_free(&run);
}

static void find_command(const gt_node_replay *replay, const gt_replay_op *op, const char *path,
                         gt_buffer *commands)
{
    if (replay->tools.torch) log_command(replay, op, path, commands);
    if (commands->len) return;
    if (gt_bench_command(replay->bench, op, commands))
        gt_buffer_add_cstr(commands, "\n");
    else
        gt_warn("cannot build a %s command from the arguments of op %s", gt_bench_program(replay->bench),
                op->name);
}

static bool write_command(const char *path, gt_str commands, gt_error *error)
{
    gt_output *output = gt_output_new();
    gt_file file;
    bool written = gt_file_open(&file, output, path, error);
    if (written) {
        gt_file_write(&file, commands.bytes, commands.len);
        written = gt_file_close(&file, error) && gt_output_commit(output, error);
    }
    gt_output_free(output);
    return written;
}

/* ---- measuring ---- */

/* Runs a command line as separate words. NaN if it prints no time. */
static double run_bench(const gt_node_replay *replay, const char *line, const gt_arg_list *words)
{
    const char *program = gt_bench_program(replay->bench);
    if (words->count < 2 || strcmp(words->items[0], program) != 0) return (double)NAN;
    const char **argv = gt_alloc_zero(words->count + 1, sizeof *argv);
    memcpy(argv, words->items, words->count * sizeof *argv);
    gt_program_result run = gt_program_run(argv, NULL, replay->timeout_s);
    gt_free(argv);
    double time_us = (double)NAN;
    if (run.exit_code != 0)
        print_failure(replay, line, run.exit_code);
    else
        time_us = gt_bench_time_us(replay->bench, gt_buffer_str(&run.output));
    if (run.exit_code == 0 && isnan(time_us)) gt_warn("%s: no time recognised in its output", program);
    gt_program_free(&run);
    return time_us;
}

/* The last command line is measured. */
static double bench_time(const gt_node_replay *replay, gt_str commands)
{
    gt_arena arena = {0};
    gt_arg_list words = {0};
    while (commands.len && commands.bytes[commands.len - 1] == '\n') commands.len--;
    const char *line_end = commands.len ? memrchr(commands.bytes, '\n', commands.len) : NULL;
    const char *start = line_end ? line_end + 1 : commands.bytes;
    const char *line = gt_arena_bytes(&arena, start, (size_t)(commands.bytes + commands.len - start));
    double time_us = (double)NAN;
    if (gt_shell_split(&arena, line, &words)) time_us = run_bench(replay, line, &words);
    gt_arena_free(&arena);
    return time_us;
}

static double replay_time(const gt_node_replay *replay, const gt_replay_op *op)
{
    gt_program_result run = run_torch(replay, "time", measure, op, NULL);
    char *end;
    const char *text = gt_buffer_str(&run.output).bytes;
    double time_us = strtod(text, &end);
    if (run.exit_code != 0) print_torch_failure(replay, op, &run);
    if (run.exit_code != 0 || end == text || !isfinite(time_us)) time_us = (double)NAN;
    gt_program_free(&run);
    return time_us;
}

/* ---- columns ---- */

enum { NUMBER, BENCH, REPLAY, PROFILE, REPLAY_DIFF, BENCH_DIFF, REPLAY_PCT, BENCH_PCT, COLUMNS };

static gt_table *new_sheet(const gt_node_replay *replay)
{
    const char *group = replay->group;
    char *names[COLUMNS] = {
        [NUMBER] = gt_format("%s no.", group),
        [BENCH] = gt_format("Avg. %s-bench time (us)", group),
        [REPLAY] = gt_strdup("Avg. replay time (us)"),
        [PROFILE] = gt_strdup("Avg. profile time (us)"),
        [REPLAY_DIFF] = gt_strdup("Diff profile vs. replay (us)"),
        [BENCH_DIFF] = gt_format("Diff profile vs. %s-bench (us)", group),
        [REPLAY_PCT] = gt_strdup("Diff profile vs. replay (pct)"),
        [BENCH_PCT] = gt_format("Diff profile vs. %s-bench (pct)", group),
    };
    char *title = gt_format("%s_node_replay", group);
    gt_table *sheet = gt_table_new(gt_sheet_named(title), replay->sheet->strings);
    for (size_t c = 0; c < COLUMNS; c++) {
        gt_table_add_column(sheet, gt_col_named(names[c]), c == NUMBER ? GT_TYPE_INT : GT_TYPE_FLOAT);
        gt_free(names[c]);
    }
    gt_free(title);
    return sheet;
}

static void add_row(gt_table *sheet, double bench_us, double replay_us, double profile_us)
{
    size_t row = gt_table_add_row(sheet);
    gt_table_set_int(sheet, NUMBER, row, (int64_t)row);
    gt_table_set_float(sheet, BENCH, row, bench_us);
    gt_table_set_float(sheet, REPLAY, row, replay_us);
    gt_table_set_float(sheet, PROFILE, row, profile_us);
    gt_table_set_float(sheet, REPLAY_DIFF, row, replay_us - profile_us);
    gt_table_set_float(sheet, BENCH_DIFF, row, bench_us - profile_us);
    gt_table_set_float(sheet, REPLAY_PCT, row, (replay_us - profile_us) / profile_us * 100);
    gt_table_set_float(sheet, BENCH_PCT, row, (bench_us - profile_us) / profile_us * 100);
}

static gt_replay_op op_of(const gt_node_replay *replay, size_t row)
{
    const gt_table *sheet = replay->sheet, *arguments = replay->arguments;
    gt_replay_op op = {
        .name = gt_interner_get(sheet->strings, gt_table_column(sheet, GT_COL_NAME)->texts[row]).bytes};
    gt_str *const texts[] = {&op.dims, &op.types, &op.strides, &op.concrete};
    for (size_t i = 0; i < GT_LENGTH(texts); i++)
        *texts[i] = gt_interner_get(arguments->strings, arguments->columns[i].texts[row]);
    return op;
}

static bool replay_row(const gt_node_replay *replay, size_t row, gt_table *results, gt_error *error)
{
    static const char *const files[] = {
        [GT_BENCH_HIPBLASLT] = "hipblaslt-bench", [GT_BENCH_MIOPEN] = "miopen-driver"};
    gt_replay_op op = op_of(replay, row);
    char *path = gt_format("%s/%s-%zu.log", replay->folder, files[replay->bench], row);
    gt_buffer commands = {0};
    find_command(replay, &op, path, &commands);
    gt_str text = gt_buffer_str(&commands);
    bool written = !commands.len || write_command(path, text, error);
    bool has_bench = replay->bench == GT_BENCH_HIPBLASLT ? replay->tools.hipblaslt : replay->tools.miopen;
    if (written) {
        double bench_us = has_bench && text.len ? bench_time(replay, text) : (double)NAN;
        double replay_us = replay->tools.torch ? replay_time(replay, &op) : (double)NAN;
        add_row(results, bench_us, replay_us,
                gt_table_column(replay->sheet, GT_COL_KERNEL_TIME_US_MEAN)->floats[row]);
    }
    gt_buffer_free(&commands);
    gt_free(path);
    return written;
}

gt_table *gt_node_replay_run(const gt_node_replay *replay, gt_error *error)
{
    size_t count = count_selected(replay->sheet);
    bool runs = replay->tools.torch || replay->tools.hipblaslt || replay->tools.miopen;
    gt_table *results = new_sheet(replay);
    if (replay->out) print_selected(replay, count);
    for (size_t row = 0; row < count; row++) {
        if (row && runs) sleep(1); /* earlier work must not slow down the next measurement */
        if (replay_row(replay, row, results, error)) continue;
        gt_table_free(results);
        return NULL;
    }
    return results;
}
