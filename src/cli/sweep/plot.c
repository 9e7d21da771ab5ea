/* `gputally sweep plot`: reads the CSV file of `sweep top`, prints how its times are spread and draws five
 * plots. */
#include "base/length.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/sweep/sweep.h"
#include "input/sheets/csv_table.h"
#include "output/figure/figure.h"
#include "schema/sheets.h"
#include "sweep/compare/variance_plots.h"
#include "os/paths.h"

#include <stdio.h>
#include <stdlib.h>

static const gt_option plot_options[] = {
    {"csv_path", GT_OPTION_STRING, "FILE", NULL,
     "read the CSV file of `gputally sweep top`, also with timestamps or overlap added (required)"},
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the PNG files into DIR (default: plots next to the CSV file)"},
    {"dpi", GT_OPTION_INT, "N", "300", "draw N dots per inch; 100 gives images 1000 to 2000 pixels wide"},
    {"compat", GT_OPTION_FLAG, NULL, NULL,
     "draw the interaction plot like the Python script: always 28, 42, 56 and 70 channels, 0 if there is no "
     "row"},
};
static const gt_option_group plot_group = {"Plots", plot_options, GT_LENGTH(plot_options)};

const gt_syntax gt_sweep_plot_syntax = {
    .groups = {&plot_group, &gt_common_group},
    .main_options = {"csv_path", "output_dir", "dpi", "compat"},
    .files = "",
    .files_max = 0,
    .output_option = "output_dir",
};

static bool draw(const gt_call *call, const gt_variance_rows *rows, const char *folder, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool drawn = gt_variance_plots_draw(rows, folder, gt_arguments_int(&call->arguments, "dpi"),
                                        gt_arguments_flag(&call->arguments, "compat"), output, error) &&
                 gt_output_commit(output, error);
    for (size_t i = 0; drawn && !gt_sweep_is_quiet(call) && i < gt_output_file_count(output); i++)
        printf("%swrote %s\n", i ? "" : "\n", gt_output_file_path(output, i));
    gt_output_free(output);
    return drawn;
}

static bool plot(const gt_call *call, const char *path, gt_error *error)
{
    const char *given = gt_arguments_string(&call->arguments, "output_dir");
    if (!gt_sweep_has_file(path)) return gt_fail(error, "CSV file not found: %s", path);
    gt_interner *strings = gt_interner_new();
    gt_table *table = gt_csv_table_read(path, GT_SHEET_VARIANCE, strings, error);
    gt_variance_rows rows = {0};
    bool read = table && gt_variance_rows_of(table, path, &rows, error);
    gt_table_free(table);
    gt_interner_free(strings);
    if (read && !gt_sweep_is_quiet(call)) {
        printf("Data points: %zu, of %s\n\n", rows.count, path);
        gt_variance_rows_print(stdout, &rows);
    }
    char *folder = given ? gt_strdup(given) : gt_sweep_sibling_path(path, "plots");
    bool drawn = read && draw(call, &rows, folder, error);
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
        return gt_usage_error(call->program, "argument --dpi: must be %d to %d", GT_FIGURE_DPI_MIN,
                              GT_FIGURE_DPI_MAX);
    const char *path = gt_arguments_value(&call->arguments, "csv_path")->text;
    return plot(call, path, &error) ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
