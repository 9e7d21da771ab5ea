/* `gputally query`: SQL over the sheets of any number of traces.
 *
 * Each trace is read by one thread of one process, and what the statement needs of its sheets is kept;
 * process 0 puts the rows into one database, trace by trace in their order, and asks it. */
#include "cli/commands/commands.h"

#include "cli/queried.h"
#include "procs/procs.h"
#include "index/checksum.h"
#include "input/files.h"
#include "os/paths.h"
#include "report/query/query.h"

enum { SQL_MAX = 1 << 20 };

static const gt_option query_options[] = {
    {"sql_file", GT_OPTION_STRING, "FILE", NULL, "read the SQL from FILE"},
    {"timeout", GT_OPTION_INT, "SECONDS", "0",
     "stop the query after SECONDS, which do not include reading the traces; 0: never", .minimum = "0"},
};
static const gt_option output_options[] = {
    {"output", GT_OPTION_STRING, "PATH", NULL,
     "write the answer to PATH: .csv, .json, .jsonl, .md, .txt, .xlsx or .db (default: print it)"},
    {"format", GT_OPTION_STRING, "FORMAT", "table",
     "print or write the answer as table, csv, json (a list of objects), jsonl (an object per line) or md",
     .choices = "table|csv|json|jsonl|md"},
    GT_CSV_SAFE_OPTIONS("output,format=csv"),
    {"output_db", GT_OPTION_STRING, "PATH", NULL,
     "keep the SQLite database that is asked, with all sheets of all traces, in PATH",
     .ending = GT_DATABASE_ENDINGS},
};
static const gt_option_group query_group = {"Query", query_options, GT_LENGTH(query_options)};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_query_syntax = {
    .groups = {&query_group, &output_group, &gt_pytorch_sheets_group, &gt_report_timeline_group,
               &gt_report_phases_group, &gt_report_roofline_group, &gt_pytorch_comparison_group,
               &gt_communication_group, &gt_extra_group, &gt_rocprof_group, &gt_nsys_group, &gt_jax_group,
               &gt_short_kernel_group, &gt_extra_sheets_group, &gt_index_group, &gt_partials_group,
               &gt_common_group},
    .main_options = {"output", "format", "output_db", "sql_file", "timeout"},
    .aliases = gt_pytorch_aliases,
    .files = "[SQL] TRACE...",
    .file_endings = GT_TRACE_ENDINGS,
    .files_max = SIZE_MAX,
    .folders = true,
    .output_option = "output",
    .best_defaults = true,
};

typedef struct job {
    const gt_call *call;
    const char *sql; /* NULL: list the tables */
    gt_buffer sql_text;
    const char **paths; /* as given, without the SQL */
    size_t path_count;
    gt_all_traces traces;
    char **names; /* by trace: the column trace */
    gt_queried *items;
    gt_report_options options;
    gt_read_options read;
    bool keeps_all; /* sheets that the statement does not need, too */
    gt_output *output;
    gt_query *query; /* of process 0, from the first trace on */
    bool failed;     /* the database; `error` says why */
    gt_error error;
    size_t read_count;
    unsigned kinds;
    gt_exit status;
} job;

/* ---- the command line ---- */

static bool exists(const char *path)
{
    return strcmp(path, "-") == 0 || gt_path_is_folder(path) || gt_path_is_file(path);
}

static bool has_blank(const char *text)
{
    while (*text && !gt_is_blank(*text)) text++;
    return *text != 0;
}

static bool read_sql_file(job *j, gt_error *error)
{
    const char *path = gt_arguments_string(&j->call->arguments, "sql_file");
    if (!path) return true;
    if (j->sql) return gt_fail(error, "argument --sql_file: not allowed with SQL on the command line");
    if (!gt_read_small_file(path, SQL_MAX, &j->sql_text, error)) return false;
    j->sql = gt_buffer_str(&j->sql_text).bytes;
    return strlen(j->sql) == j->sql_text.len || gt_fail(error, "%s: not a text file", path);
}

/* SQL may be anywhere among the traces. A file that exists is a file, whatever its name. */
static bool divide_arguments(job *j, gt_error *error)
{
    const gt_arguments *arguments = &j->call->arguments;
    j->paths = gt_alloc(arguments->file_count * sizeof *j->paths);
    for (size_t i = 0; i < arguments->file_count; i++) {
        const char *text = arguments->files[i];
        if (!*text) return gt_fail(error, "an argument is empty; give SQL or a trace");
        bool is_sql = !exists(text) && gt_query_is_sql(text);
        if (is_sql && j->sql) return gt_fail(error, "two queries; ask one at a time");
        if (!is_sql && !exists(text) && has_blank(text))
            return gt_fail(error,
                           "'%.200s' is neither a file nor a query, which begins with SELECT, WITH or VALUES",
                           text);
        if (is_sql)
            j->sql = text;
        else
            j->paths[j->path_count++] = text;
    }
    if (!read_sql_file(j, error)) return false;
    if (!j->path_count) return gt_fail(error, "the following arguments are required: TRACE");
    return true;
}

/* GT_QUERY_FORMATS: none that is known. */
static gt_query_format choose_format(const gt_arguments *arguments)
{
    const char *path = gt_arguments_string(arguments, "output");
    const gt_option_value *format = gt_arguments_value(arguments, "format");
    return path && !format->given ? gt_query_format_of(path) : gt_query_format_named(format->text);
}

static bool check_arguments(job *j, gt_error *error)
{
    if (!divide_arguments(j, error)) return false;
    const char *path = gt_arguments_string(&j->call->arguments, "output");
    gt_query_format format = choose_format(&j->call->arguments),
                    ending = path ? gt_query_format_of(path) : format;
    if (format == GT_QUERY_FORMATS)
        return gt_fail(
            error,
            "argument --output: %.300s: the name must end in .csv, .json, .jsonl, .md, .txt, .xlsx "
            "or .db, or --format must be given",
            path);
    if (ending != GT_QUERY_FORMATS && ending != format)
        return gt_fail(error, "argument --format: %s does not fit the name %.300s",
                       gt_arguments_string(&j->call->arguments, "format"), path);
    return true;
}

/* ---- names of traces ---- */

/* Traces are named by their file names; if two of these are equal, all by their paths. */
static void name_traces(job *j)
{
    size_t count = j->traces.count;
    char **names = gt_alloc(count * sizeof *names);
    bool clash = false;
    for (size_t i = 0; i < count; i++) names[i] = j->names[i] = gt_path_last_name(j->traces.items[i].path);
    qsort(names, count, sizeof *names, gt_by_cstr);
    for (size_t i = 1; i < count; i++) clash |= strcmp(names[i - 1], names[i]) == 0;
    for (size_t i = 0; clash && i < count; i++) {
        gt_free(j->names[i]);
        names[i] = j->names[i] = gt_strdup(j->traces.items[i].path);
    }
    if (clash) qsort(names, count, sizeof *names, gt_by_cstr);
    for (size_t i = 1; clash && i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            gt_warn("%s: given twice, so its rows are there twice", names[i]);
    gt_free(names);
}

/* ---- one trace ---- */

static bool needs_rows(const job *j, const char *sheet)
{
    return !j->sql || gt_arguments_string(&j->call->arguments, "output_db") || gt_query_needs(j->sql, sheet);
}

static bool keeps_rows(const void *context, const char *sheet)
{
    const job *j = context;
    return j->keeps_all || needs_rows(j, sheet);
}

static bool make_item(void *context, size_t index)
{
    job *j = context;
    const struct gt_found_trace *trace = &j->traces.items[index];
    const char *about = gt_log_about(j->traces.count > 1 ? gt_trace_title(trace->path) : NULL);
    if (trace->problem)
        j->items[index] = (gt_queried){.kind = GT_QUERIED_UNKNOWN, .error = gt_strdup(trace->problem)};
    else
        gt_queried_read(&j->items[index], trace->path, &j->options, keeps_rows, j);
    gt_log_about(about);
    return true;
}

static void drop_item(void *context, size_t index)
{
    gt_queried_free(&((job *)context)->items[index]);
}

/* ---- of another process, or an earlier run (input/files.h) ---- */

static bool pack_item(void *context, size_t index, gt_image *image)
{
    gt_queried_save(&((job *)context)->items[index], image);
    return true;
}

static bool unpack_item(void *context, size_t index, const gt_image *image)
{
    return gt_queried_load(&((job *)context)->items[index], image);
}

/* A failure may pass. */
static bool item_is_usable(void *context, size_t index, const gt_image *image)
{
    (void)context, (void)index;
    return !gt_queried_is_failure(image);
}

/* The options that decide what is made, and the statement, which decides what is kept of it; but partials
 * that the user keeps have everything that other statements need. */
static char *key_of(const job *j)
{
    static const char *const others[] = {"sql_file", "timeout",     "output",   "format",
                                         "csv_safe", "no_csv_safe", "output_db"};
    gt_call call = *j->call;
    for (gt_option_walk at = {.syntax = call.arguments.syntax}; gt_option_next(&at);)
        for (size_t i = 0; i < GT_LENGTH(others); i++)
            if (strcmp(at.option->name, others[i]) == 0) call.arguments.values[at.index].given = false;
    char *options = gt_call_key(&call);
    gt_buffer requested = {0};
    if (j->sql) gt_query_request(j->sql, NULL, &requested);
    gt_str names = gt_buffer_str(&requested);
    uint64_t sum = !j->keeps_all ? gt_checksum(j->sql, strlen(j->sql)) : 0;
    char *key = gt_format("%s with %s, %016" PRIx64, options, names.bytes, sum);
    gt_buffer_free(&requested);
    gt_free(options);
    return key;
}

/* ---- all traces ---- */

/* In process 0 only, in the order of the traces. */
static void add_item(void *context, size_t index)
{
    job *j = context;
    gt_queried *it = &j->items[index];
    const char *db = gt_arguments_string(&j->call->arguments, "output_db");
    const gt_query_trace trace = {.name = j->names[index],
                                  .rank = j->traces.items[index].rank,
                                  .path = j->traces.items[index].path,
                                  .format = gt_queried_format(it),
                                  .error = it->error};
    if (!j->query && !j->failed) {
        if (db) j->output = gt_output_new();
        j->query = gt_query_open(j->output, db, !j->sql && !db, &j->error);
        j->failed = !j->query;
    }
    if (it->error) {
        fprintf(stderr, "gputally: %s\n", it->error);
        j->status = GT_EXIT_FAILED;
    } else {
        j->read_count++;
        if (it->kind < GT_QUERIED_NCU) j->kinds |= 1u << it->kind;
    }
    for (size_t i = 0; i < it->tables.count; i++)
        if (!needs_rows(j, it->tables.items[i]->name)) gt_table_head(it->tables.items[i], 0);
    if (!j->failed)
        j->failed = !gt_query_add(j->query, &trace, it->tables.items, it->tables.count, &j->error);
    drop_item(j, index);
}

static void read_traces(job *j)
{
    const char **paths = gt_alloc(j->traces.count * sizeof *paths);
    char *key = key_of(j);
    for (size_t i = 0; i < j->traces.count; i++) paths[i] = j->traces.items[i].path;
    j->read.is_part = true;
    j->options.read = j->read;
    gt_files_work(&(gt_file_work){.paths = paths,
                                  .count = j->traces.count,
                                  .one = "trace",
                                  .many = "traces",
                                  .work = make_item,
                                  .finish = add_item,
                                  .key = key,
                                  .pack = pack_item,
                                  .unpack = unpack_item,
                                  .drop = drop_item,
                                  .is_usable = item_is_usable,
                                  .context = j});
    gt_free_all(key, paths);
}

/* ---- the answer ---- */

/* Lines are cut only for people: what a pipe or a file gets is whole. A launcher may give its processes a
 * terminal of their own, whatever its output is. */
static gt_terminal terminal_of(FILE *file, bool is_file)
{
    enum { WHOLE_LINES = 1 << 30 };
    gt_terminal terminal = gt_terminal_for(file);
    bool is_terminal = isatty(gt_print_descriptor(file)) && !gt_procs_is_several();
    if (is_file || (!is_terminal && !getenv("COLUMNS"))) terminal.width = WHOLE_LINES;
    return terminal;
}

/* Of a statement that does not stop: another thread is inside SQLite, so nothing can be freed. Unfinished
 * files are removed (cleanup.c). */
static void end_process(const gt_query_limit *limit)
{
    gt_error error;
    gt_query_fail_late(limit, &error);
    if (gt_procs_is_several()) gt_procs_fail("%s", error.text);
    fprintf(stderr, "gputally: %s\n", error.text);
    quick_exit(GT_EXIT_FAILED);
}

static bool write_answer(job *j, gt_query_written *written, gt_error *error)
{
    const gt_arguments *arguments = &j->call->arguments;
    const char *path = gt_arguments_string(arguments, "output");
    gt_query_format format = choose_format(arguments);
    if (!j->sql && !path && format == GT_QUERY_TABLE) {
        gt_query_print_tables(j->query, stdout, gt_terminal_for(stdout).width);
        return true;
    }
    if (path && !j->output) j->output = gt_output_new();
    gt_terminal terminal = terminal_of(stdout, path != NULL);
    gt_query_writer *writer = gt_query_writer_open(format, path ? j->output : NULL, path, &terminal, error);
    if (!writer) return false;
    gt_query_sink sink = gt_query_writer_sink(writer);
    const gt_query_limit limit = {gt_arguments_int(arguments, "timeout"), end_process};
    bool ok = j->sql ? gt_query_run(j->query, j->sql, &limit, &sink, error)
                     : gt_query_tables(j->query, &sink, error);
    return gt_query_writer_close(writer, ok, written, error);
}

static void show_files(const job *j, const gt_query_written *written)
{
    const char *path = gt_arguments_string(&j->call->arguments, "output");
    const char *db = gt_arguments_string(&j->call->arguments, "output_db");
    if (written->hidden_columns)
        gt_info("%zu more %s not fit on the terminal; use --format csv or --output", written->hidden_columns,
                written->hidden_columns == 1 ? "column does" : "columns do");
    if (path && !gt_arguments_flag(&j->call->arguments, "quiet"))
        printf("wrote %s (%zu %s)\n", path, written->rows, written->rows == 1 ? "row" : "rows");
    if (!db) return;
    if (!path)
        gt_info("wrote %s", db);
    else if (!gt_arguments_flag(&j->call->arguments, "quiet"))
        printf("wrote %s\n", db);
}

static bool answer(job *j, gt_error *error)
{
    gt_query_written written = {0};
    if (j->failed) {
        *error = j->error;
        return false;
    }
    if (!j->read_count) return gt_fail(error, "no trace could be read, so there is nothing to query");
    bool ok = gt_query_finish(j->query, error) && write_answer(j, &written, error);
    ok = gt_query_close(j->query, ok, error) && ok;
    j->query = NULL;
    ok = ok && (!j->output || gt_output_commit(j->output, error));
    if (ok) show_files(j, &written);
    return ok;
}

static bool check_not_inputs(const job *j, gt_error *error)
{
    const char *path = gt_arguments_string(&j->call->arguments, "output");
    const char *db = gt_arguments_string(&j->call->arguments, "output_db");
    for (size_t i = 0; i < j->traces.count; i++)
        if (!gt_check_not_input(path, j->traces.items[i].path, error) ||
            !gt_check_not_input(db, j->traces.items[i].path, error))
            return false;
    return true;
}

static bool query_traces(job *j, gt_error *error)
{
    if (j->sql && !gt_query_check(j->sql, error)) return false;
    if (!gt_all_traces_find(&j->traces, j->paths, j->path_count, error) || !check_not_inputs(j, error))
        return false;
    j->items = gt_alloc_zero(j->traces.count, sizeof *j->items);
    j->names = gt_alloc_zero(j->traces.count, sizeof *j->names);
    name_traces(j);
    j->keeps_all = !j->sql || gt_arguments_string(&j->call->arguments, "output_db") ||
                   gt_arguments_string(&j->call->arguments, "partials");
    j->options = gt_trace_report_options(j->call);
    if (j->sql) gt_query_request(j->sql, &j->options, NULL);
    read_traces(j);
    gt_report_options given = gt_trace_report_options(j->call);
    gt_report_options_warn(&given, j->kinds, "--");
    gt_report_options_free(&given);
    return answer(j, error);
}

static void free_job(job *j)
{
    gt_error ignored;
    if (j->query) gt_query_close(j->query, false, &ignored);
    gt_output_free(j->output);
    for (size_t i = 0; j->items && i < j->traces.count; i++) {
        drop_item(j, i);
        gt_free(j->names[i]);
    }
    gt_free_all(j->names, j->items);
    gt_all_traces_free(&j->traces);
    gt_report_options_free(&j->options);
    gt_buffer_free(&j->sql_text);
    gt_free(j->paths);
}

gt_exit gt_cmd_query(const gt_call *call)
{
    gt_error error;
    if (gt_pytorch_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    job j = {.call = call, .status = GT_EXIT_DONE};
    if (!gt_common_apply(call, &j.read, &error) || !check_arguments(&j, &error)) {
        j.status = gt_usage_error(call->program, "%s", error.text);
    } else if (!query_traces(&j, &error)) {
        fprintf(stderr, "gputally: %s\n", error.text);
        j.status = GT_EXIT_FAILED;
    }
    free_job(&j);
    return j.status;
}
