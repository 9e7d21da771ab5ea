/* Reads the tables that the run left and writes them, summed up, as one workbook. */
#include "run/execute/summary.h"
#include "analysis/rocprof/gpu_samples.h"
#include "input/sheets/csv_table.h"
#include "output/output.h"
#include "report/tables.h"
#include "os/paths.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <string.h>
#include <unistd.h>

static bool add_samples(gt_table_list *tables, gt_interner *strings, const gt_sampler_plan *sampler,
                        gt_error *error)
{
    if (access(sampler->file, F_OK) != 0) return true;
    gt_table *samples = gt_csv_table_read(sampler->file, GT_SHEET_SAMPLES, strings, error);
    if (!samples) return false;
    bool is_power = strcmp(sampler->mode, "power") == 0;
    gt_table_list_add(
        tables,
        gt_gpu_samples_summary(samples, is_power ? GT_SHEET_POWER_SUMMARY : GT_SHEET_VRAM_SUMMARY, is_power));
    gt_table_free(samples);
    return true;
}

static bool add_calls(gt_table_list *tables, gt_interner *strings, const char *path, gt_error *error)
{
    static const gt_col columns[] = {GT_COL_LIBRARY, GT_COL_CONFIG, GT_COL_CALLS};
    static const gt_sort_key order[] = {{GT_COL_CALLS, true}};
    gt_table *calls = gt_csv_table_read(path, GT_SHEET_LIBRARY_CALLS, strings, error);
    if (!calls) return false;
    gt_table_select(calls, columns, 3);
    if (calls->row_count) gt_table_sort(calls, order, 1);
    gt_table_list_add(tables, calls);
    return true;
}

bool gt_run_summary_write(const gt_plan *plan, const char **path, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_table_list tables = {0};
    bool sound = true;
    *path = NULL;
    for (size_t i = 0; sound && i < plan->sampler_count; i++)
        sound = add_samples(&tables, strings, &plan->samplers[i], error);
    if (sound && plan->library_modes.count && access(plan->library_file, F_OK) == 0)
        sound = add_calls(&tables, strings, plan->library_file, error);
    if (sound && tables.count) {
        *path = gt_arena_format(plan->arena, "%s/%s_run_summary.xlsx", plan->output_dir, plan->name);
        gt_output *output = gt_output_new();
        sound = gt_output_xlsx(output, *path, tables.items, tables.count, error) &&
                gt_output_commit(output, error);
        gt_output_free(output);
    }
    gt_table_list_free(&tables);
    gt_interner_free(strings);
    return sound;
}
