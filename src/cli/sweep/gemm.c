/* The steps about GEMMs whose kernel times vary: `gputally sweep top`, `yaml`, `plot`, `timestamps`,
 * `overlap`. */
#include "cli/sweep/sweep.h"
#include "cli/common.h"
#include "input/sheets/sheets.h"
#include "os/paths.h"
#include "output/figure/figure.h"
#include "schema/columns.h"
#include "sweep/gemm/gemm.h"

/* ---- top ---- */

#define DEFAULT_FILE "top5_gemm_kernels_time_variance.csv"
enum { ROWS_SHOWN = 10, NAME_SHOWN = 100 };

static const gt_option top_options[] = {
    {"base_path", GT_OPTION_STRING, "DIR", NULL,
     "read the reports in this folder tracelens_analysis of a sweep (required)"},
    {"top_k", GT_OPTION_INT, "K", "5", "keep K rows per report"},
    {"output_file", GT_OPTION_STRING, "NAME", DEFAULT_FILE,
     "write the CSV file NAME in the folder of --base_path, or an absolute path"},
    {"threads", GT_OPTION_STRINGS, "N...", NULL,
     "read only these thread settings (default: all with reports)"},
    {"channels", GT_OPTION_STRINGS, "N...", NULL,
     "read only these channel settings (default: all with reports)"},
    {"ranks", GT_OPTION_STRINGS, "N...", NULL, "read only these ranks (default: all with reports)"},
    {"sweep_dir", GT_OPTION_STRING, "DIR", NULL,
     "read sweep.json of this sweep folder, with axes and outcomes (default: the folder above --base_path)"},
    GT_SWEEP_INCLUDE_FAILED,
};
static const gt_option_group top_group = {"Rows", top_options, GT_LENGTH(top_options)};

const gt_syntax gt_sweep_top_syntax = {
    .groups = {&top_group, &gt_sweep_plain_group},
    .main_options = {"base_path", "top_k", "output_file", "threads", "channels"},
    .files = "",
    .files_max = 0,
    .output_option = "output_file",
};

static bool parse_numbers(const gt_call *call, const char *option, gt_number_list *into, gt_error *error)
{
    const gt_option_value *value = gt_arguments_value(&call->arguments, option);
    for (size_t i = 0; i < value->text_count; i++) {
        char *end;
        errno = 0;
        int64_t number = strtoll(value->texts[i], &end, 10);
        if (*end || end == value->texts[i] || errno)
            return gt_fail(error, "argument --%s: invalid int value: '%.200s'", option, value->texts[i]);
        GT_PUSH(into->items, into->count, into->capacity, number);
    }
    return true;
}

static void show_top(const gt_top_gemms *found, const char *path)
{
    const gt_table *table = found->table;
    const gt_interner *strings = table->strings;
    double least = found->difference[table->row_count - 1], most = found->difference[0];
    printf("%zu reports, %zu rows\n\nRows whose kernel times vary most:\n", found->files, table->row_count);
    for (size_t row = 0; row < table->row_count && row < ROWS_SHOWN; row++) {
        gt_str name = gt_interner_get(strings, gt_table_column(table, GT_COL_GEMM_KERNEL_NAME)->texts[row]);
        printf("%zu. ", row + 1);
        for (size_t c = 0; c <= found->rank_column; c++) {
            const char *column =
                strcmp(table->columns[c].name, "channel") == 0 ? "ch" : table->columns[c].name;
            printf("%s=%s, ", column, gt_interner_get(strings, table->columns[c].texts[row]).bytes);
        }
        printf("diff=%.4fus\n   %.*s...\n", found->difference[row], NAME_SHOWN, name.bytes);
    }
    printf("\nUnique kernels: %zu\nAverage time difference: %.4f us\nMax time difference: %.4f us\n"
           "Min time difference: %.4f us\n\nwrote %s\n",
           found->unique_kernels, found->mean, most, least, path);
}

static bool make_top(const gt_call *call, gt_top_gemms_options *options, gt_error *error)
{
    const char *base = gt_arguments_value(&call->arguments, "base_path")->text;
    const char *name = gt_arguments_value(&call->arguments, "output_file")->text;
    gt_interner *strings = gt_interner_new();
    gt_top_gemms found = gt_top_gemms_find(base, options, strings);
    char *path = name[0] == '/' ? gt_strdup(name) : gt_format("%s/%s", base, name);
    bool made = found.table->row_count ? gt_sweep_write_csv(found.table, path, "\r\n", error)
                                       : gt_fail(error, "No data extracted!");
    if (made) gt_sweep_note_files("top", (const char *[]){path}, 1);
    if (made && !gt_sweep_is_quiet(call)) show_top(&found, path);
    gt_free(path);
    gt_top_gemms_free(&found);
    gt_interner_free(strings);
    return made;
}

gt_exit gt_cmd_sweep_top(const gt_call *call)
{
    gt_error error;
    gt_exit status = GT_EXIT_USAGE;
    if (!gt_sweep_open_input(call, (const char *[]){"base_path", NULL})) return status;
    const char *base = gt_arguments_value(&call->arguments, "base_path")->text;
    gt_top_gemms_options options = {.top = gt_arguments_int(&call->arguments, "top_k"),
                                    .root = gt_arguments_string(&call->arguments, "sweep_dir"),
                                    .include_failed = gt_arguments_flag(&call->arguments, "include_failed")};
    if (!parse_numbers(call, "threads", &options.threads, &error) ||
        !parse_numbers(call, "channels", &options.channels, &error) ||
        !parse_numbers(call, "ranks", &options.ranks, &error)) {
        gt_usage_error(call->program, "%s", error.text);
    } else {
        bool made = (gt_path_is_folder(base) || gt_fail(&error, "Base path does not exist: %s", base)) &&
                    make_top(call, &options, &error);
        status = made ? GT_EXIT_DONE : gt_sweep_failed(&error);
    }
    gt_free_all(options.threads.items, options.channels.items, options.ranks.items);
    return status;
}

/* ---- yaml ---- */

static const gt_option yaml_options[] = {
    {"input_csv", GT_OPTION_STRING, "FILE", NULL,
     "read this CSV file of `gputally sweep top`, or any with a column kernel_name (required)"},
    {"output_yaml", GT_OPTION_STRING, "FILE", NULL,
     "write the job file to FILE (default: rocprof_top5_kernels.yaml next to the CSV file); the list of "
     "names goes next to it, with the suffix _kernel_list.txt"},
    {"match", GT_OPTION_STRING, "HOW", "exact",
     "match kernels by exact (complete name) or substring (name without templates, arguments and namespaces, "
     "anywhere in the kernel name)",
     .choices = "exact|substring"},
};
static const gt_option_group yaml_group = {"Job file", yaml_options, GT_LENGTH(yaml_options)};

const gt_syntax gt_sweep_yaml_syntax = {
    .groups = {&yaml_group, &gt_sheets_group},
    .main_options = {"input_csv", "output_yaml", "match"},
    .files = "",
    .files_max = 0,
    .output_option = "output_yaml",
};

static bool write_job_files(const gt_kernel_patterns *patterns, const char *csv_path, const char *yaml_path,
                            const char *list_path, gt_error *error)
{
    gt_buffer yaml = {0}, list = {0};
    char *folder = gt_path_folder(csv_path), *yaml_folder = gt_path_folder(yaml_path);
    /* Both in one folder: its name does not matter, and the folder may be moved. */
    const char *source = strcmp(folder, yaml_folder) == 0 ? gt_path_name(csv_path) : csv_path;
    gt_kernel_patterns_job(patterns, source, &yaml);
    gt_kernel_patterns_list(patterns, source, &list);
    bool written = gt_check_not_input(yaml_path, csv_path, error) &&
                   gt_check_not_input(list_path, csv_path, error) &&
                   gt_sweep_write_texts((const char *[]){yaml_path, list_path},
                                        (gt_str[]){gt_buffer_str(&yaml), gt_buffer_str(&list)}, 2, error);
    gt_buffer_free(&yaml);
    gt_buffer_free(&list);
    gt_free_all(folder, yaml_folder);
    return written;
}

static bool make_yaml(const gt_call *call, const gt_table *table, bool exact, gt_error *error)
{
    const char *csv_path = gt_arguments_value(&call->arguments, "input_csv")->text;
    const char *given = gt_arguments_string(&call->arguments, "output_yaml");
    size_t column = gt_table_find(table, GT_COL_GEMM_KERNEL_NAME),
           longest = gt_table_find(table, GT_COL_LONGEST_KERNEL_NAME); /* kernel_name may be a memset there */
    if (longest != SIZE_MAX) column = longest;
    if (column == SIZE_MAX) return gt_fail(error, "%s: no column kernel_name", csv_path);
    gt_kernel_patterns patterns;
    gt_kernel_patterns_make(&patterns, &table->columns[column], table->row_count, table->strings, exact);
    char *yaml_path = given ? gt_strdup(given) : gt_path_sibling(csv_path, "rocprof_top5_kernels.yaml");
    char *list_path = gt_path_replace_extension(yaml_path, "_kernel_list.txt");
    bool made = patterns.count ? write_job_files(&patterns, csv_path, yaml_path, list_path, error)
                               : gt_fail(error, "%s: no kernel names", csv_path);
    if (made) gt_sweep_note_files("yaml", (const char *[]){yaml_path, list_path}, 2);
    if (made && !gt_sweep_is_quiet(call)) {
        printf("Found %zu unique kernels", patterns.count);
        if (patterns.shortened) printf(", %zu of them with a shortened name", patterns.shortened);
        printf("\nRegex: %zu characters\n\nwrote %s\nwrote %s\n", patterns.regex.len, yaml_path, list_path);
    }
    gt_free_all(yaml_path, list_path);
    gt_kernel_patterns_free(&patterns);
    return made;
}

gt_exit gt_cmd_sweep_yaml(const gt_call *call)
{
    if (!gt_sweep_open_input(call, (const char *[]){"input_csv", NULL})) return GT_EXIT_USAGE;
    const char *match = gt_arguments_value(&call->arguments, "match")->text;
    bool exact = strcmp(match, "exact") == 0;
    const char *path = gt_arguments_value(&call->arguments, "input_csv")->text;
    gt_error error;
    gt_interner *strings = gt_interner_new();
    gt_table *table = NULL;
    if (gt_path_is_file(path))
        table = gt_csv_table_read_as(path, GT_SHEET_KERNELS, GT_READ_STRINGS, strings, &error);
    else
        gt_fail(&error, "CSV file not found: %s", path);
    bool made = table && make_yaml(call, table, exact, &error);
    gt_table_free(table);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- plot ---- */

static const gt_option plot_options[] = {
    {"csv_path", GT_OPTION_STRING, "FILE", NULL,
     "read the CSV file of `gputally sweep top`, also with timestamps or overlap added (required)"},
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the PNG files into DIR (default: plots next to the CSV file)"},
    {"dpi", GT_OPTION_INT, "N", "300", "draw N dots per inch; 100 gives images 1000 to 2000 pixels wide"},
    {"compat", GT_OPTION_FLAG, NULL, NULL,
     "draw the interaction plot like the Python script: always 28, 42, 56 and 70 channels, 0 if there is no "
     "row"},
    GT_SWEEP_FORCE,
};
static const gt_option_group plot_group = {"Plots", plot_options, GT_LENGTH(plot_options)};

const gt_syntax gt_sweep_plot_syntax = {
    .groups = {&plot_group, &gt_sheets_group},
    .main_options = {"csv_path", "output_dir", "dpi", "compat"},
    .files = "",
    .files_max = 0,
    .output_option = "output_dir",
};

/* Drawing takes longer than all that comes before it, so plots of the same rows are not drawn again if this
 * is a folder of analyses in which something is kept (sweep/cache). */
static bool draw(const gt_call *call, const gt_variance_rows *rows, const char *csv, const char *folder,
                 gt_error *error)
{
    int64_t dpi = gt_arguments_int(&call->arguments, "dpi");
    bool compat = gt_arguments_flag(&call->arguments, "compat"), quiet = gt_sweep_is_quiet(call);
    gt_sweep_cache *cache = gt_sweep_cache_beside(csv, gt_arguments_flag(&call->arguments, "force"));
    gt_stamp stamp = gt_stamp_new("plots", folder, 1);
    gt_stamp_add_number(&stamp, dpi);
    gt_stamp_add_number(&stamp, compat);
    gt_stamp_add_file(&stamp, csv);
    bool drawn = gt_stamp_find(&stamp, cache);
    const char *path = NULL;
    if (drawn) {
        gt_captured_repeat(gt_buffer_str(&stamp.messages[0]));
        for (bool first = true; !quiet && (path = gt_stamp_next_output(&stamp, path)); first = false)
            printf("%swrote %s\n", first ? "\n" : "", path);
    } else {
        gt_output *output = gt_output_new();
        gt_captured_messages captured = {0};
        gt_capture_begin(&captured);
        drawn = gt_variance_plots_draw(rows, folder, dpi, compat, output, error) &&
                gt_output_commit(output, error);
        gt_capture_end(&captured);
        stamp.messages[0] = captured.texts;
        for (size_t i = 0; drawn && i < gt_output_file_count(output); i++) {
            if (!quiet) printf("%swrote %s\n", i ? "" : "\n", gt_output_file_path(output, i));
            gt_stamp_add_output(&stamp, gt_output_file_path(output, i));
        }
        if (drawn) gt_stamp_keep(&stamp, cache);
        gt_output_free(output);
    }
    gt_stamp_free(&stamp);
    gt_sweep_cache_close(cache);
    return drawn;
}

static bool plot(const gt_call *call, const char *path, gt_error *error)
{
    const char *given = gt_arguments_string(&call->arguments, "output_dir");
    if (!gt_path_is_file(path)) return gt_fail(error, "CSV file not found: %s", path);
    gt_interner *strings = gt_interner_new();
    gt_table *table = gt_csv_table_read_as(path, GT_SHEET_VARIANCE, GT_READ_STRINGS, strings, error);
    gt_variance_rows rows = {0};
    bool read = table && gt_variance_rows_of(table, path, &rows, error);
    gt_table_free(table);
    gt_interner_free(strings);
    if (read && !gt_sweep_is_quiet(call)) {
        printf("Data points: %zu, of %s\n\n", rows.count, path);
        gt_variance_rows_print(stdout, &rows);
    }
    char *folder = given ? gt_strdup(given) : gt_path_sibling(path, "plots");
    bool drawn = read && draw(call, &rows, path, folder, error);
    gt_free(folder);
    gt_variance_rows_free(&rows);
    return drawn;
}

gt_exit gt_cmd_sweep_plot(const gt_call *call)
{
    gt_error error;
    if (!gt_sweep_open_input(call, (const char *[]){"csv_path", NULL})) return GT_EXIT_USAGE;
    int64_t dpi = gt_arguments_int(&call->arguments, "dpi");
    if (dpi < GT_FIGURE_DPI_MIN || dpi > GT_FIGURE_DPI_MAX)
        return gt_usage_error(call->program, "argument --dpi: must be between %d and %d", GT_FIGURE_DPI_MIN,
                              GT_FIGURE_DPI_MAX);
    const char *path = gt_arguments_value(&call->arguments, "csv_path")->text;
    return plot(call, path, &error) ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- timestamps and overlap ---- */

#define LOSSLESS_HELP                                                                                        \
    "keep all digits of numbers (default: round them as pandas does when it reads the CSV file)"

static const gt_option timestamps_options[] = {
    {"input_csv", GT_OPTION_STRING, "FILE", NULL, "read this CSV file of `gputally sweep top` (required)"},
    {"base_path", GT_OPTION_STRING, "DIR", NULL, "read the traces of this sweep folder (required)"},
    {"output_csv", GT_OPTION_STRING, "FILE", NULL,
     "write the new CSV file to FILE (default: next to the input, with the suffix _with_timestamps)"},
    {"tolerance", GT_OPTION_STRING, "SHARE", "0.01",
     "warn if a duration differs from the file by more than this share"},
    {"exact_name", GT_OPTION_FLAG, NULL, NULL,
     "match the complete kernel name (default: prefix, like the Python script)"},
    {"lossless", GT_OPTION_FLAG, NULL, NULL, LOSSLESS_HELP},
    GT_SWEEP_FORCE,
};
static const gt_option_group timestamps_group = {"Timestamps", timestamps_options,
                                                 GT_LENGTH(timestamps_options)};

const gt_syntax gt_sweep_timestamps_syntax = {
    .groups = {&timestamps_group, &gt_common_group},
    .main_options = {"input_csv", "base_path", "output_csv", "tolerance", "exact_name"},
    .files = "",
    .files_max = 0,
    .output_option = "output_csv",
};

static const gt_option overlap_options[] = {
    {"input_csv", GT_OPTION_STRING, "FILE", NULL,
     "read this CSV file of `gputally sweep timestamps` (required)"},
    {"tracelens_path", GT_OPTION_STRING, "DIR", NULL,
     "read the reports in this folder tracelens_analysis of the sweep (required)"},
    {"output_csv", GT_OPTION_STRING, "FILE", NULL,
     "write the new CSV file to FILE (default: next to the input, with the suffix _with_collective_overlap "
     "instead of _with_timestamps)"},
    {"sweep_dir", GT_OPTION_STRING, "DIR", NULL,
     "read sweep.json of this sweep folder, with the axes (default: the folder above --tracelens_path)"},
    {"lossless", GT_OPTION_FLAG, NULL, NULL, LOSSLESS_HELP},
};
static const gt_option_group overlap_group = {"Overlap", overlap_options, GT_LENGTH(overlap_options)};

const gt_syntax gt_sweep_overlap_syntax = {
    .groups = {&overlap_group, &gt_whole_files_group},
    .main_options = {"input_csv", "tracelens_path", "output_csv", "lossless"},
    .files = "",
    .files_max = 0,
    .output_option = "output_csv",
};

/* Adds columns to the table and prints a summary; the error does not name the file. */
typedef bool add_columns(const gt_call *call, const gt_read_options *read, gt_table *table, gt_error *error);

static gt_exit add_to_rows(const gt_call *call, const char *folder_option, const char *old_ending,
                           const char *ending, add_columns *add)
{
    gt_read_options read;
    gt_error error = {""};
    if (!gt_sweep_begin_reading(call, (const char *[]){"input_csv", folder_option, NULL}, &read))
        return GT_EXIT_USAGE;
    const char *path = gt_arguments_value(&call->arguments, "input_csv")->text;
    const char *given = gt_arguments_string(&call->arguments, "output_csv");
    const char *folder = gt_arguments_value(&call->arguments, folder_option)->text;
    bool lossless = gt_arguments_flag(&call->arguments, "lossless");
    char *stem = gt_path_replace_extension(path, "");
    size_t stem_len = strlen(stem), old_len = strlen(old_ending);
    if (stem_len > old_len && strcmp(stem + stem_len - old_len, old_ending) == 0)
        stem[stem_len - old_len] = 0;
    char *output = given ? gt_strdup(given) : gt_format("%s%s", stem, ending);
    gt_interner *strings = gt_interner_new();
    gt_table *table = NULL;
    if (!gt_path_is_file(path))
        gt_fail(&error, "Input CSV not found: %s", path);
    else if (!gt_path_is_folder(folder))
        gt_fail(&error, "no such folder: %s", folder);
    else
        table = gt_csv_table_read_as(path, GT_SHEET_ROWS, lossless ? GT_READ_EXACT : GT_READ_PANDAS, strings,
                                     &error);
    bool made = table && add(call, &read, table, &error);
    if (table && !made) gt_error_prefix(&error, path);
    made =
        made && gt_check_not_input(output, path, &error) && gt_sweep_write_csv(table, output, "\n", &error);
    if (made) gt_sweep_note_files(call->command->name, (const char *[]){output}, 1);
    if (made && !gt_sweep_is_quiet(call)) printf("\nwrote %s\n", output);
    gt_table_free(table);
    gt_interner_free(strings);
    gt_free_all(output, stem);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

static void show_timestamps(const gt_table *table)
{
    gt_timestamps_summary summary = gt_timestamps_summarize(table);
    printf("Total rows: %zu\nRows with timestamps: %zu\n", summary.rows, summary.found);
    if (summary.rows)
        printf("Success rate: %.1f%%\n", 100.0 * (double)summary.found / (double)summary.rows);
    else
        printf("Success rate: nan%%\n");
    if (summary.found)
        printf(
            "Time between shortest and longest instance (ms): mean %.3f, median %.3f, max %.3f, min %.3f\n",
            summary.mean_ms, summary.median_ms, summary.max_ms, summary.min_ms);
}

static bool add_timestamps(const gt_call *call, const gt_read_options *read, gt_table *table, gt_error *error)
{
    const gt_timestamps_options options = {
        .root = gt_arguments_value(&call->arguments, "base_path")->text,
        .csv = gt_arguments_value(&call->arguments, "input_csv")->text,
        .force = gt_arguments_flag(&call->arguments, "force"),
        .tolerance = strtod(gt_arguments_value(&call->arguments, "tolerance")->text, NULL),
        .exact = gt_arguments_flag(&call->arguments, "exact_name"),
        .strict = read->strict,
        .threads = read->threads,
    };
    if (!gt_sweep_add_timestamps(table, &options, error)) return false;
    if (!gt_sweep_is_quiet(call)) show_timestamps(table);
    return true;
}

gt_exit gt_cmd_sweep_timestamps(const gt_call *call)
{
    const char *tolerance = gt_arguments_value(&call->arguments, "tolerance")->text;
    char *end;
    double share = strtod(tolerance, &end);
    if (end == tolerance || *end || isnan(share))
        return gt_usage_error(call->program, "argument --tolerance: invalid float value: '%s'", tolerance);
    return add_to_rows(call, "base_path", "", "_with_timestamps.csv", add_timestamps);
}

enum { NAMES_SHOWN = 5 };

static void show_overlap(const gt_table *table, const gt_overlap_counts *counts)
{
    gt_overlap_summary summary = gt_overlap_summarize(table);
    printf("Rows overlapped by collectives: %zu of %zu", summary.overlapped, table->row_count);
    if (table->row_count) printf(" (%.1f%%)", 100.0 * (double)summary.overlapped / (double)table->row_count);
    puts("");
    for (size_t i = 0; i < counts->count && i < NAMES_SHOWN; i++)
        printf("  %s: %zu\n", gt_interner_get(table->strings, counts->items[i].name).bytes,
               counts->items[i].count);
    printf("Rows overlapped by more than %d%% by one collective: %zu\n", GT_HIGH_OVERLAP_PERCENT,
           summary.high);
    if (!isnan(summary.mean_percent))
        printf("Average of the largest overlaps: %.1f%%\n", summary.mean_percent);
}

static bool add_overlap(const gt_call *call, const gt_read_options *read, gt_table *table, gt_error *error)
{
    (void)read;
    gt_overlap_counts counts;
    bool made =
        gt_sweep_add_overlap(table, gt_arguments_string(&call->arguments, "sweep_dir"),
                             gt_arguments_value(&call->arguments, "tracelens_path")->text, &counts, error);
    if (made && !gt_sweep_is_quiet(call)) show_overlap(table, &counts);
    gt_free(counts.items);
    return made;
}

gt_exit gt_cmd_sweep_overlap(const gt_call *call)
{
    return add_to_rows(call, "tracelens_path", "_with_timestamps", "_with_collective_overlap.csv",
                       add_overlap);
}
