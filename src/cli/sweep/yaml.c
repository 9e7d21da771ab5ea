/* `gputally sweep yaml`: reads the kernels of a CSV file, writes a rocprofv3 job file and a list of their
 * names. */
#include "base/length.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/destinations.h"
#include "cli/sweep/sweep.h"
#include "input/sheets/csv_table.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "sweep/gemm/kernel_patterns.h"
#include "sweep/run/layout.h"
#include "os/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const gt_option yaml_options[] = {
    {"input_csv", GT_OPTION_STRING, "FILE", NULL,
     "read this CSV file of `gputally sweep top`, or any with a column kernel_name (required)"},
    {"output_yaml", GT_OPTION_STRING, "FILE", NULL,
     "write the job file to FILE (default: rocprof_top5_kernels.yaml next to the CSV file); the list of "
     "names goes next to it, with the suffix _kernel_list.txt"},
    {"match", GT_OPTION_STRING, "HOW", "substring",
     "match kernels by substring (name without templates, arguments and namespaces, anywhere in the kernel "
     "name) or exact (complete name)"},
};
static const gt_option_group yaml_group = {"Job file", yaml_options, GT_LENGTH(yaml_options)};

const gt_syntax gt_sweep_yaml_syntax = {
    .groups = {&yaml_group, &gt_common_group},
    .main_options = {"input_csv", "output_yaml", "match"},
    .files = "",
    .files_max = 0,
};

static bool write_files(const gt_kernel_patterns *patterns, const char *csv_path, const char *yaml_path,
                        const char *list_path, gt_error *error)
{
    gt_buffer yaml = {0}, list = {0};
    gt_kernel_patterns_job(patterns, csv_path, &yaml);
    gt_kernel_patterns_list(patterns, csv_path, &list);
    bool written = gt_check_not_input(yaml_path, csv_path, error) &&
                   gt_check_not_input(list_path, csv_path, error) &&
                   gt_sweep_write_texts((const char *[]){yaml_path, list_path},
                                        (gt_str[]){gt_buffer_str(&yaml), gt_buffer_str(&list)}, 2, error);
    gt_buffer_free(&yaml);
    gt_buffer_free(&list);
    return written;
}

static bool make(const gt_call *call, const gt_table *table, bool exact, gt_error *error)
{
    const char *csv_path = gt_arguments_value(&call->arguments, "input_csv")->text;
    const char *given = gt_arguments_string(&call->arguments, "output_yaml");
    size_t column = gt_table_find(table, GT_COL_GEMM_KERNEL_NAME);
    if (column == SIZE_MAX) return gt_fail(error, "%s: no column kernel_name", csv_path);
    gt_kernel_patterns patterns;
    gt_kernel_patterns_make(&patterns, &table->columns[column], table->row_count, table->strings, exact);
    char *yaml_path = given ? gt_strdup(given) : gt_sweep_sibling_path(csv_path, "rocprof_top5_kernels.yaml");
    char *list_path = gt_replace_extension(yaml_path, "_kernel_list.txt");
    bool made = patterns.count ? write_files(&patterns, csv_path, yaml_path, list_path, error)
                               : gt_fail(error, "%s: no kernel is named in it", csv_path);
    if (made && !gt_sweep_is_quiet(call)) {
        printf("Found %zu unique kernels", patterns.count);
        if (patterns.shortened) printf(", %zu of them by a shortened name", patterns.shortened);
        printf("\nRegex: %zu characters\n\nwrote %s\nwrote %s\n", patterns.regex.len, yaml_path, list_path);
    }
    gt_free(yaml_path);
    gt_free(list_path);
    gt_kernel_patterns_free(&patterns);
    return made;
}

gt_exit gt_cmd_sweep_yaml(const gt_call *call)
{
    if (!gt_sweep_open_input(call, (const char *[]){"input_csv", NULL})) return GT_EXIT_USAGE;
    const char *match = gt_arguments_value(&call->arguments, "match")->text;
    bool exact = strcmp(match, "exact") == 0;
    if (!exact && strcmp(match, "substring") != 0)
        return gt_usage_error(call->program,
                              "argument --match: invalid choice: '%s' (choose from substring, exact)", match);
    const char *path = gt_arguments_value(&call->arguments, "input_csv")->text;
    gt_error error;
    gt_interner *strings = gt_interner_new();
    gt_table *table = NULL;
    if (gt_sweep_has_file(path))
        table = gt_csv_table_read_as(path, GT_SHEET_KERNELS, GT_READ_STRINGS, strings, &error);
    else
        gt_fail(&error, "CSV file not found: %s", path);
    bool made = table && make(call, table, exact, &error);
    gt_table_free(table);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
