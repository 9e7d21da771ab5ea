/* `gputally sweep counters`: what the hardware counted of each kernel under every setting, in one table. */
#include "base/length.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/sweep/sweep.h"
#include "output/csv.h"
#include "sweep/counters.h"

#include <stdio.h>
#include <stdlib.h>

static const gt_option counters_options[] = {
    {"sweep_dir", GT_OPTION_STRING, "DIR", NULL, "read the rocprofv3 traces of this sweep folder (required)"},
};
static const gt_option_group counters_group = {"Counters", counters_options, GT_LENGTH(counters_options)};

const gt_syntax gt_sweep_counters_syntax = {
    .groups = {&counters_group, &gt_common_group},
    .main_options = {"sweep_dir"},
    .files = "",
    .files_max = 0,
};

static bool make(const gt_call *call, const char *root, const gt_read_options *read, gt_interner *strings,
                 gt_error *error)
{
    gt_sweep sweep = {0};
    gt_table_list tables = {0};
    char *stem = gt_format("%s/" GT_SWEEP_ANALYSIS "/counters_all_configs", root);
    bool made = (gt_sweep_has_folder(root) || gt_fail(error, "Sweep directory does not exist: %s", root)) &&
                gt_sweep_open(&sweep, root, error) &&
                gt_sweep_counter_tables(&sweep, read, strings, &tables, error) &&
                gt_sweep_write_both(&tables, stem, error);
    if (made && !gt_sweep_is_quiet(call))
        printf("%zu rows, %zu counters\n\nwrote %s.xlsx\nwrote %s.csv\n", tables.items[0]->row_count,
               tables.count - 1, stem, stem);
    gt_free(stem);
    gt_table_list_free(&tables);
    gt_sweep_free(&sweep);
    return made;
}

gt_exit gt_cmd_sweep_counters(const gt_call *call)
{
    gt_read_options read;
    gt_error error = {""};
    if (!gt_sweep_begin_reading(call, (const char *[]){"sweep_dir", NULL}, &read)) return GT_EXIT_USAGE;
    gt_interner *strings = gt_interner_new();
    bool made = make(call, gt_arguments_value(&call->arguments, "sweep_dir")->text, &read, strings, &error);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
