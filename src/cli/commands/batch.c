/* `gputally batch`: finds the traces below a folder and writes one report per folder that contains some.
 * The lines on standard output are those of the replaced program, because scripts look for them. */
#include "cli/commands/commands.h"
#include "batch/node_replay.h"
#include "procs/procs.h"
#include "input/files.h"
#include "os/clock.h"
#include "os/paths.h"
#include "os/shell_words.h"
#include "output/file.h"
#include "report/batch.h"

static const gt_option input_options[] = {
    {"base_dir", GT_OPTION_STRING, "DIR", NULL, "search DIR recursively for traces (required)"},
    {"rank_pattern", GT_OPTION_STRING, "REGEX", "rank_",
     "match the text before the rank number in the file name (regular expression, Python syntax)"},
    {"extension", GT_OPTION_STRING, "EXT", "json", "read files *.EXT: json or gz", .choices = "json|gz|"},
    {"filters", GT_OPTION_STRINGS, "TEXT...", "rank_0",
     "read only files whose paths contain all of these strings"},
    {"dry_run", GT_OPTION_FLAG, NULL, NULL, "list the traces of each report and exit"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option report_options[] = {
    {"all_kernels", GT_OPTION_FLAG, NULL, NULL, "add a sheet of all kernels per rank, kernels_<rank>",
     .needs = "!dry_run"},
    {"node_replay", GT_OPTION_FLAG, NULL, NULL,
     "rerun the GEMMs and convolutions that make up 99 % of their group's time with PyTorch, hipblaslt-bench "
     "and MIOpenDriver; add the sheets gemm_node_replay and conv_node_replay, and write the commands next to "
     "the traces",
     .needs = "!dry_run"},
    {"replay_timeout", GT_OPTION_INT, "SECONDS", "600",
     "stop a program of --node_replay after SECONDS; 0: never", .needs = "node_replay"},
};
static const gt_option_group report_group = {"Sheets", report_options, GT_LENGTH(report_options)};

static const gt_option output_options[] = {
    {"output_xlsx_path", GT_OPTION_STRING, "PATH", NULL,
     "write the workbook to PATH, if only one folder contains traces (default without any output option: "
     "<folder>_<filters>_performance_report.xlsx in that folder)",
     .ending = GT_WORKBOOK_ENDING},
    {"output_csvs_dir", GT_OPTION_STRING, "DIR", NULL,
     "write one CSV file per sheet into DIR; for several folders of traces, into one subfolder each"},
    GT_CSV_SAFE_OPTIONS("output_csvs_dir"),
    {"output_db", GT_OPTION_STRING, "PATH", NULL,
     "write an SQLite database with one table per sheet, if only one folder contains traces",
     .ending = GT_DATABASE_ENDINGS},
    {"output_html", GT_OPTION_STRING, "PATH", NULL,
     "write an HTML page with charts and all sheets, if only one folder contains traces"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

static const gt_short_option short_options[] = {
    {'b', "base_dir"}, {'p', "rank_pattern"}, {'e', "extension"},   {'f', "filters"},
    {'d', "dry_run"},  {'a', "all_kernels"},  {'r', "node_replay"}, {0}};

const gt_syntax gt_batch_syntax = {
    .groups = {&input_group, &report_group, &output_group, &gt_index_group, &gt_partials_group,
               &gt_common_group},
    .main_options = {"base_dir", "filters", "extension", "output_xlsx_path", "dry_run"},
    .files = "",
    .files_max = 0,
    .output_option = "output_xlsx_path",
    .short_options = short_options,
};

/* What the reports of all folders share. */
typedef struct batch {
    const gt_call *call;
    gt_read_options read;
    gt_batch_search search;
    gt_batch_files files;
    FILE *out; /* NULL: --quiet */
    bool replays;
    gt_replay_tools tools; /* if it does, as the next */
    gt_schemas *schemas;
    int64_t replay_timeout_s;
} batch;

static void print_line(const batch *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print_line(const batch *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (b->out) vfprintf(b->out, format, args);
    va_end(args);
    if (b->out) fputc('\n', b->out);
}

/* ---- destination of a report ---- */

static void add_filters(gt_buffer *out, const batch *b, const char *between)
{
    for (size_t i = 0; i < b->search.filter_count; i++) {
        if (i) gt_buffer_add_cstr(out, between);
        gt_buffer_add_cstr(out, b->search.filters[i]);
    }
}

/* FOLDER/<name of the folder>_<filters>_performance_report.xlsx, as the replaced program names it; a filter
 * may contain '/', a file name may not. The caller frees it. */
static char *default_xlsx(const batch *b, const gt_batch_folder *folder)
{
    gt_buffer filters = {0};
    add_filters(&filters, b, "_");
    for (size_t i = 0; i < filters.len; i++)
        if (filters.bytes[i] == '/') filters.bytes[i] = '_';
    bool at_root = strcmp(folder->path, "/") == 0;
    char *path = gt_format("%s/%s_%s_performance_report.xlsx", at_root ? "" : folder->path,
                           gt_path_name(folder->path), gt_buffer_str(&filters).bytes);
    gt_buffer_free(&filters);
    return path;
}

/* With several folders of traces, CSV files go into a subfolder each, so that reports do not overwrite each
 * other. */
static gt_destinations choose_destinations(const batch *b, const gt_batch_folder *folder)
{
    const gt_arguments *arguments = &b->call->arguments;
    const char *xlsx = gt_arguments_string(arguments, "output_xlsx_path");
    const char *csvs = gt_arguments_string(arguments, "output_csvs_dir");
    const char *db = gt_arguments_string(arguments, "output_db");
    const char *html = gt_arguments_string(arguments, "output_html");
    bool below = b->files.count > 1 && folder->relative[0];
    gt_destinations to = {0};
    if (csvs) to.csvs_dir = below ? gt_format("%s/%s", csvs, folder->relative) : gt_strdup(csvs);
    if (db) to.db_path = gt_strdup(db);
    if (html) to.html_path = gt_strdup(html);
    if (xlsx || (!csvs && !db && !html)) to.xlsx_path = xlsx ? gt_strdup(xlsx) : default_xlsx(b, folder);
    return to;
}

static void print_header(const batch *b, const gt_batch_folder *folder, const gt_destinations *to)
{
    gt_buffer filters = {0};
    add_filters(&filters, b, ", ");
    print_line(b, "==================== Creating performance report ====================");
    print_line(b, "Parent directory: %s", folder->path);
    if (to->xlsx_path) print_line(b, "Excel file: %s", gt_path_name(to->xlsx_path));
    if (to->csvs_dir) print_line(b, "CSV folder: %s", to->csvs_dir);
    if (to->db_path) print_line(b, "Database: %s", to->db_path);
    if (to->html_path) print_line(b, "Page: %s", to->html_path);
    print_line(b, "Filters: %s", gt_buffer_str(&filters).bytes);
    print_line(b, "Rank pattern: %s", b->search.rank_pattern);
    print_line(b, "Traces:");
    for (size_t i = 0; i < folder->count; i++) print_line(b, "%s", gt_path_name(folder->files[i]));
    gt_buffer_free(&filters);
}

/* ---- reports ---- */

static bool add_replay(const batch *b, const char *folder, gt_batch_group group, const gt_batch_ranks *ranks,
                       gt_table_list *tables, gt_error *error)
{
    gt_sheet name = gt_batch_group_sheet(group);
    const gt_table *sheet = gt_table_list_find(tables, name);
    if (!sheet) return true;
    const gt_node_replay replay = {.bench = group == GT_BATCH_GEMM ? GT_BENCH_HIPBLASLT : GT_BENCH_MIOPEN,
                                   .group = name.name,
                                   .sheet = sheet,
                                   .arguments = ranks->arguments[group],
                                   .folder = folder,
                                   .schemas = b->schemas,
                                   .tools = b->tools,
                                   .timeout_s = b->replay_timeout_s,
                                   .out = b->out};
    gt_table *results = gt_node_replay_run(&replay, error);
    if (results) gt_table_list_insert_after(tables, name, results);
    return results != NULL;
}

static void make_tables(const batch *b, gt_batch_ranks *ranks, gt_table_list *tables)
{
    double start = gt_clock_now_s();
    print_line(b, "Processing dataframes");
    ranks->line_per_rank = b->call->by_old_name;
    gt_batch_tables(ranks, b->out, tables);
    print_line(b, "Elapsed time for processing dataframes: %.2f seconds.", gt_clock_now_s() - start);
    if (ranks->count == 1) return;
    start = gt_clock_now_s();
    print_line(b, "Starting NcclAnalyser with world_size %zu", ranks->count);
    gt_batch_collective_tables(ranks, tables);
    print_line(b, "Elapsed time: %.2f seconds.", gt_clock_now_s() - start);
}

static bool check_not_traces(const gt_destinations *to, const gt_batch_folder *folder, gt_error *error)
{
    for (size_t i = 0; i < folder->count; i++)
        if (!gt_check_not_input(to->xlsx_path, folder->files[i], error) ||
            !gt_check_not_input(to->db_path, folder->files[i], error) ||
            !gt_check_not_input(to->html_path, folder->files[i], error))
            return false;
    return true;
}

typedef struct batch_page {
    const batch *b;
    const gt_batch_folder *folder;
    const char *path;
} batch_page;

/* As typed, except for folders that only say where the traces are. The caller frees it. */
static char *describe_call(const batch_page *page)
{
    gt_buffer line = {0};
    gt_buffer_add_cstr(&line, "gputally batch --base_dir ");
    gt_shell_quote(&line, gt_path_name(page->folder->path));
    gt_buffer_add_cstr(&line, " --filters");
    for (size_t i = 0; i < page->b->search.filter_count; i++) {
        gt_buffer_add_cstr(&line, " ");
        gt_shell_quote(&line, page->b->search.filters[i]);
    }
    if (gt_arguments_flag(&page->b->call->arguments, "all_kernels"))
        gt_buffer_add_cstr(&line, " --all_kernels");
    if (page->b->replays) gt_buffer_add_cstr(&line, " --node_replay");
    return gt_buffer_take(&line);
}

static bool write_page(const void *context, const gt_table_list *tables, gt_output *output, gt_error *error)
{
    const batch_page *page = context;
    gt_buffer html = {0};
    char *command = describe_call(page);
    gt_batch_add_page(tables, page->folder->count, gt_path_name(page->folder->path), command, &html);
    bool written = gt_output_write_file(output, page->path, gt_buffer_str(&html), error);
    gt_free(command);
    gt_buffer_free(&html);
    return written;
}

static gt_batch_request request_of(const batch *b, const gt_batch_folder *folder)
{
    return (gt_batch_request){.paths = folder->files,
                              .numbers = folder->ranks,
                              .count = folder->count,
                              .all_kernels = gt_arguments_flag(&b->call->arguments, "all_kernels"),
                              .read = &b->read};
}

static bool make_report(const batch *b, const gt_batch_folder *folder, gt_destinations *to, gt_error *error)
{
    const batch_page page = {b, folder, to->html_path};
    if (page.path) to->write_more = write_page;
    to->more_context = &page;
    gt_batch_ranks ranks;
    double start = gt_clock_now_s();
    if (!check_not_traces(to, folder, error)) return false;
    print_line(b, "Parallel processing traces");
    const gt_batch_request request = request_of(b, folder);
    if (!gt_batch_ranks_read(&ranks, &request, error)) return false;
    print_line(b, "Elapsed time for processing traces: %.2f seconds.", gt_clock_now_s() - start);
    gt_table_list tables = {0};
    gt_output *output = NULL;
    make_tables(b, &ranks, &tables);
    if (!b->replays || (add_replay(b, folder->path, GT_BATCH_GEMM, &ranks, &tables, error) &&
                        add_replay(b, folder->path, GT_BATCH_CONV, &ranks, &tables, error)))
        output = gt_destinations_write(to, folder->files[0], &tables, error);
    if (output && b->out && !b->call->by_old_name) gt_trace_show_files(stdout, output);
    bool made = output != NULL;
    gt_output_free(output);
    gt_table_list_free(&tables);
    gt_batch_ranks_free(&ranks);
    return made;
}

/* Returns false if the command should stop here. */
static bool make_folder(const batch *b, const gt_batch_folder *folder, gt_exit *status)
{
    gt_error error;
    gt_destinations to = choose_destinations(b, folder);
    bool exists = to.xlsx_path && access(to.xlsx_path, F_OK) == 0,
         dry = gt_arguments_flag(&b->call->arguments, "dry_run");
    print_header(b, folder, &to);
    if (dry) {
        print_line(b, "==================== End of dry run ====================");
    } else if (exists) {
        print_line(b, "Excel file already exists: (%s)", to.xlsx_path);
        print_line(b, "Terminating...");
    } else if (!make_report(b, folder, &to, &error)) {
        fprintf(stderr, "gputally: %s\n", error.text);
        *status = GT_EXIT_FAILED;
    }
    gt_destinations_free(&to);
    return dry || !exists;
}

/* The replaced program succeeds without a report; under our name this is an error. */
static gt_exit found_nothing(const batch *b)
{
    if (b->call->by_old_name) {
        print_line(b,
                   "==================== No %s files found, check filters and filepaths ====================",
                   b->search.extension);
        return GT_EXIT_DONE;
    }
    gt_buffer filters = {0};
    add_filters(&filters, b, ", ");
    if (!gt_path_is_folder(b->search.base))
        fprintf(stderr, "gputally: %s: no such folder\n", b->search.base);
    else
        fprintf(stderr,
                "gputally: %s: no *.%s file has %s in its path and a rank in its name; see --extension, "
                "--filters "
                "and --rank_pattern\n",
                b->search.base, b->search.extension, gt_buffer_str(&filters).bytes);
    gt_buffer_free(&filters);
    return GT_EXIT_FAILED;
}

/* Several processes read the ranks of all folders that get a report: those before the first one that has it
 * already. */
static void share_ranks(const batch *b)
{
    gt_batch_request *requests = gt_alloc_zero(b->files.count, sizeof *requests);
    size_t count = 0;
    for (bool exists = false; count < b->files.count;) {
        const gt_batch_folder *folder = &b->files.folders[count];
        gt_destinations to = choose_destinations(b, folder);
        exists = to.xlsx_path && access(to.xlsx_path, F_OK) == 0;
        gt_destinations_free(&to);
        if (exists) break;
        requests[count++] = request_of(b, folder);
    }
    if (count) gt_batch_ranks_prepare(requests, count);
    gt_free(requests);
}

static gt_exit make_all(batch *b)
{
    gt_exit status = GT_EXIT_DONE;
    for (size_t i = 0; i < b->files.without_rank; i++)
        print_line(
            b, "==================== Failed to extract rank number from trace filename ====================");
    if (!b->files.count) return found_nothing(b);
    if (b->files.count > 1 && gt_files_are_packed() && !gt_arguments_flag(&b->call->arguments, "dry_run"))
        share_ranks(b);
    if (b->replays && gt_procs_is_first()) {
        b->tools = gt_replay_tools_find(b->out, b->replay_timeout_s);
        b->schemas = gt_schemas_new((gt_str){"", 0}, NULL);
    }
    for (size_t i = 0; i < b->files.count; i++)
        if (!make_folder(b, &b->files.folders[i], &status)) break;
    gt_schemas_free(b->schemas);
    return status;
}

/* One file cannot contain the reports of several folders. The replaced program ends without an error. */
static bool has_one_folder(const batch *b)
{
    if (b->files.count < 2 || !gt_arguments_string(&b->call->arguments, "output_xlsx_path")) return true;
    print_line(b,
               "Multiple parent directories with traces found, give a more specific base path for the report "
               "with custom "
               "Excel path.");
    return false;
}

/* The option that names one file for all reports, if that is a usage error; otherwise NULL. */
static const char *only_one_file(const batch *b)
{
    const gt_arguments *arguments = &b->call->arguments;
    if (gt_arguments_string(arguments, "output_db")) return "output_db";
    if (gt_arguments_string(arguments, "output_html")) return "output_html";
    return !b->call->by_old_name && gt_arguments_string(arguments, "output_xlsx_path") ? "output_xlsx_path"
                                                                                       : NULL;
}

static gt_exit search_and_make(batch *b)
{
    gt_error error;
    gt_exit status = GT_EXIT_DONE;
    if (strcmp(b->search.extension, "json") != 0 && strcmp(b->search.extension, "gz") != 0) {
        if (!b->call->by_old_name)
            return gt_usage_error(b->call->program,
                                  "argument --extension: invalid choice: '%.200s' (choose from json, gz)",
                                  b->search.extension);
        print_line(
            b, "==================== Invalid extension %s, json and gz are supported ====================",
            b->search.extension);
        return status;
    }
    if (!gt_batch_files_find(&b->files, &b->search, &error))
        return gt_usage_error(b->call->program, "%s", error.text);
    const char *one_file = only_one_file(b);
    if (b->files.count > 1 && one_file)
        status = gt_usage_error(b->call->program,
                                "argument --%s: one output file for %zu folders of traces; use "
                                "--output_csvs_dir, which creates a folder per report",
                                one_file, b->files.count);
    else if (has_one_folder(b))
        status = make_all(b);
    gt_batch_files_free(&b->files);
    return status;
}

gt_exit gt_cmd_batch(const gt_call *call)
{
    gt_error error;
    const gt_arguments *arguments = &call->arguments;
    const gt_option_value *filters = gt_arguments_value(arguments, "filters");
    batch b = {.call = call, .out = gt_arguments_flag(arguments, "quiet") ? NULL : stdout};
    if (!gt_arguments_value(arguments, "base_dir")->given)
        return gt_usage_error(call->program, "the following arguments are required: -b");
    if (!gt_common_apply(call, &b.read, &error)) return gt_usage_error(call->program, "%s", error.text);
    b.replays = gt_arguments_flag(arguments, "node_replay") && !gt_arguments_flag(arguments, "dry_run");
    b.replay_timeout_s = gt_arguments_int(arguments, "replay_timeout");
    if (b.replay_timeout_s < 0)
        return gt_usage_error(call->program, "argument --replay_timeout: must not be negative");
    b.search = (gt_batch_search){
        .base = gt_arguments_value(arguments, "base_dir")->text,
        .extension = gt_arguments_value(arguments, "extension")->text,
        .rank_pattern = gt_arguments_value(arguments, "rank_pattern")->text,
        .filters = filters->given ? filters->texts : &filters->text,
        .filter_count = filters->given ? filters->text_count : 1,
    };
    return search_and_make(&b);
}
