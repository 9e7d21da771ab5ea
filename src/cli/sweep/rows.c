/* `gputally sweep timestamps` and `gputally sweep overlap`: read a CSV file, add columns, write it under
 * another name. */
#include "base/length.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/destinations.h"
#include "cli/sweep/sweep.h"
#include "input/sheets/csv_table.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "sweep/overlap.h"
#include "sweep/timestamps.h"
#include "table/stats.h"
#include "os/paths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
};
static const gt_option_group timestamps_group = {"Timestamps", timestamps_options,
                                                 GT_LENGTH(timestamps_options)};

const gt_syntax gt_sweep_timestamps_syntax = {
    .groups = {&timestamps_group, &gt_common_group},
    .main_options = {"input_csv", "base_path", "output_csv", "tolerance", "exact_name"},
    .files = "",
    .files_max = 0,
};

static const gt_option overlap_options[] = {
    {"input_csv", GT_OPTION_STRING, "FILE", NULL,
     "read this CSV file of `gputally sweep timestamps` (required)"},
    {"tracelens_path", GT_OPTION_STRING, "DIR", NULL,
     "read the reports in this folder tracelens_analysis of the sweep (required)"},
    {"output_csv", GT_OPTION_STRING, "FILE", NULL,
     "write the new CSV file to FILE (default: next to the input, with the suffix _with_collective_overlap "
     "instead of _with_timestamps)"},
    {"lossless", GT_OPTION_FLAG, NULL, NULL, LOSSLESS_HELP},
};
static const gt_option_group overlap_group = {"Overlap", overlap_options, GT_LENGTH(overlap_options)};

const gt_syntax gt_sweep_overlap_syntax = {
    .groups = {&overlap_group, &gt_common_group},
    .main_options = {"input_csv", "tracelens_path", "output_csv", "lossless"},
    .files = "",
    .files_max = 0,
};

/* ---- around both ---- */

/* Adds columns to the table and says what there is to say; false with a sentence that does not name the file.
 */
typedef bool add_columns(const gt_call *call, const gt_read_options *read, gt_table *table, gt_error *error);

static gt_exit run_step(const gt_call *call, const char *folder_option, const char *old_ending,
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
    char *stem = gt_replace_extension(path, "");
    size_t stem_len = strlen(stem), old_len = strlen(old_ending);
    if (stem_len > old_len && strcmp(stem + stem_len - old_len, old_ending) == 0)
        stem[stem_len - old_len] = 0;
    char *output = given ? gt_strdup(given) : gt_format("%s%s", stem, ending);
    gt_interner *strings = gt_interner_new();
    gt_table *table = NULL;
    if (!gt_sweep_has_file(path))
        gt_fail(&error, "Input CSV not found: %s", path);
    else if (!gt_sweep_has_folder(folder))
        gt_fail(&error, "no such folder: %s", folder);
    else
        table = gt_csv_table_read_as(path, GT_SHEET_ROWS, lossless ? GT_READ_EXACT : GT_READ_PANDAS, strings,
                                     &error);
    bool made = table && add(call, &read, table, &error);
    if (table && !made) gt_error_prefix(&error, path);
    made =
        made && gt_check_not_input(output, path, &error) && gt_sweep_write_csv(table, output, "\n", &error);
    if (made && !gt_sweep_is_quiet(call)) printf("\nwrote %s\n", output);
    gt_table_free(table);
    gt_interner_free(strings);
    gt_free(output);
    gt_free(stem);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- timestamps ---- */

static void show_timestamps(const gt_table *table)
{
    const double *between = gt_table_column(table, GT_COL_TIME_BETWEEN_MIN_MAX_MS)->floats;
    double *values = gt_alloc(table->row_count * sizeof *values), most = 0, least = 0;
    size_t count = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        if (isnan(between[row])) continue;
        values[count++] = between[row];
        most = count == 1 || between[row] > most ? between[row] : most;
        least = count == 1 || between[row] < least ? between[row] : least;
    }
    printf("Total rows: %zu\nRows with timestamps: %zu\n", table->row_count, count);
    if (table->row_count)
        printf("Success rate: %.1f%%\n", 100.0 * (double)count / (double)table->row_count);
    else
        printf("Success rate: nan%%\n");
    if (count)
        printf(
            "Time between shortest and longest instance (ms): mean %.3f, median %.3f, max %.3f, min %.3f\n",
            gt_mean(values, count), gt_median(values, count), most, least);
    gt_free(values);
}

static bool add_timestamps(const gt_call *call, const gt_read_options *read, gt_table *table, gt_error *error)
{
    const gt_timestamps_options options = {
        .root = gt_arguments_value(&call->arguments, "base_path")->text,
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
    return run_step(call, "base_path", "", "_with_timestamps.csv", add_timestamps);
}

/* ---- overlap ---- */

enum { NAMES_SHOWN = 5, HIGH_PERCENT = 50 };

static void show_overlap(const gt_table *table, const gt_overlap_counts *counts)
{
    const int64_t *overlapping = gt_table_column(table, GT_COL_OVERLAPPING_COLLECTIVE_COUNT)->ints;
    const double *percent = gt_table_column(table, GT_COL_MAX_OVERLAP_PERCENTAGE)->floats;
    size_t rows = 0, high = 0, positive = 0;
    double sum = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        rows += overlapping[row] > 0;
        high += percent[row] > HIGH_PERCENT;
        positive += percent[row] > 0;
        sum += percent[row] > 0 ? percent[row] : 0;
    }
    printf("Rows with collectives beside them: %zu of %zu", rows, table->row_count);
    if (table->row_count) printf(" (%.1f%%)", 100.0 * (double)rows / (double)table->row_count);
    puts("");
    for (size_t i = 0; i < counts->count && i < NAMES_SHOWN; i++)
        printf("  %s: %zu\n", gt_interner_get(table->strings, counts->items[i].name).bytes,
               counts->items[i].count);
    printf("Rows with more than %d%% beside one collective: %zu\n", HIGH_PERCENT, high);
    if (positive) printf("Average of the largest overlaps: %.1f%%\n", sum / (double)positive);
}

static bool add_overlap(const gt_call *call, const gt_read_options *read, gt_table *table, gt_error *error)
{
    gt_overlap_counts counts;
    bool made = gt_sweep_add_overlap(table, gt_arguments_value(&call->arguments, "tracelens_path")->text,
                                     read->threads, &counts, error);
    if (made && !gt_sweep_is_quiet(call)) show_overlap(table, &counts);
    gt_free(counts.items);
    return made;
}

gt_exit gt_cmd_sweep_overlap(const gt_call *call)
{
    return run_step(call, "tracelens_path", "_with_timestamps", "_with_collective_overlap.csv", add_overlap);
}
