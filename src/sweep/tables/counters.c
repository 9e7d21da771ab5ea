/* `sweep counters`: the folder of each setting is read as one run, with all its processes and counter passes;
 * the settings side by side. */
#include "sweep/tables/tables.h"
#include "analysis/rocprof/sheets.h"
#include "base/many.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"
#include "schema/columns.h"

typedef struct job {
    const gt_sweep *sweep;
    gt_read_options read;
    gt_interner *strings;
    gt_interner **own; /* by setting: the strings of its table until it is kept */
    gt_table **tables; /* by setting; NULL: no counters */
    bool *uncounted;   /* by setting: was read, and has no counters */
} job;

/* Adds the columns of the setting. */
static void name_setting(gt_table *table, const gt_sweep *sweep, const gt_sweep_config *config)
{
    size_t counted = table->column_count;
    gt_table_rename_column(table, 0, GT_COL_CSV_KERNEL_NAME);
    gt_add_setting_columns(table, sweep, config);
    for (size_t c = 0; counted + c < table->column_count; c++) gt_table_move_column(table, counted + c, c);
}

/* The counters of a run; NULL: none. rocprofv3 may write counters only into CSV files next to JSON files
 * without them. */
static gt_table *read_counters(const char *folder, const gt_read_options *read, gt_interner *strings,
                               bool *is_read, gt_error *error)
{
    gt_read_options again = *read;
    gt_table *table = NULL;
    for (int i = 0; i < 2 && !table; i++) {
        gt_rocprof *run = gt_rocprof_read_folder(folder, &again, error);
        if (i == 0) *is_read = run != NULL;
        if (run && (table = gt_rocprof_counters_by_kernel(run))) gt_table_use_strings(table, strings);
        gt_rocprof_free(run);
        again.wanted |= GT_WANT_CSV;
    }
    return table;
}

/* One column per counter would be too many: nothing can be compared. */
static void skip_listed(job *j, size_t index, const char *folder)
{
    gt_warn("%s: skipped, because it has a counter of its own for nearly every kernel", folder);
    gt_table_free(j->tables[index]);
    j->tables[index] = NULL;
    j->uncounted[index] = true;
}

static bool read_setting(void *context, size_t index)
{
    job *j = context;
    const gt_sweep_config *config = &j->sweep->configs[index];
    char *folder = gt_format("%s/rocprof_traces", config->folder);
    gt_error error = {""};
    bool is_read = true;
    j->own[index] = gt_interner_new();
    if (!gt_path_is_folder(folder))
        gt_warn("Skip %s - no rocprof_traces", config->name);
    else if ((j->tables[index] = read_counters(folder, &j->read, j->own[index], &is_read, &error)) &&
             gt_table_find(j->tables[index], GT_COL_COUNTER) != SIZE_MAX)
        skip_listed(j, index, folder);
    else if (j->tables[index])
        name_setting(j->tables[index], j->sweep, config);
    else if (is_read)
        j->uncounted[index] = true;
    else
        gt_warn("%s: skipped", error.text);
    gt_free(folder);
    return true;
}

/* If no setting has counters, one message about all of them follows. */
static void warn_of_uncounted(const job *j, bool any_counted)
{
    for (size_t i = 0; i < j->sweep->count && any_counted; i++)
        if (j->uncounted[i]) gt_warn("%s/rocprof_traces: no counters", j->sweep->configs[i].folder);
}

static void keep_setting(void *context, size_t index)
{
    job *j = context;
    if (j->tables[index]) gt_table_use_strings(j->tables[index], j->strings);
    gt_interner_free(j->own[index]);
}

static bool add_pivots(const gt_sweep *sweep, const gt_table *all, gt_table_list *tables, gt_error *error)
{
    static const gt_col index[] = {GT_COL_CSV_KERNEL_NAME};
    gt_col columns[GT_SETTING_COLUMNS_MAX];
    size_t own = gt_setting_columns(sweep, columns) + 2; /* Kernel_Name and Count */
    for (size_t c = own; c < all->column_count; c++) {
        const char *counter = all->columns[c].name;
        gt_table *pivot = gt_table_pivot(all,
                                         &(gt_pivot){.index = index,
                                                     .index_count = 1,
                                                     .columns = GT_COL_FULL_CONFIG,
                                                     .values = gt_col_named(counter)},
                                         error);
        if (!pivot) return false;
        char *name = gt_format("Pivot_%s", counter);
        gt_table_rename(pivot, gt_sheet_named(name));
        gt_table_list_add(tables, pivot);
        gt_free(name);
    }
    return true;
}

bool gt_sweep_counter_tables(const gt_sweep *sweep, const gt_read_options *read, gt_interner *strings,
                             gt_table_list *tables, gt_error *error)
{
    job j = {.sweep = sweep, .read = *read, .strings = strings};
    j.read.wanted = GT_WANT_COUNTERS | GT_WANT_ALL_PROCESSES;
    j.read.is_part = true;
    j.read.full_names = true; /* kernels with the same short name are apart */
    j.tables = gt_alloc_zero(sweep->count, sizeof *j.tables);
    j.own = gt_alloc_zero(sweep->count, sizeof *j.own);
    j.uncounted = gt_alloc_zero(sweep->count, sizeof *j.uncounted);
    gt_many_run(
        &(gt_many){.count = sweep->count, .work = read_setting, .finish = keep_setting, .context = &j});
    gt_free(j.own);
    bool any_read = false;
    gt_table *all = gt_table_new(GT_SHEET_ALL_DATA, strings);
    bool ok = true;
    for (size_t i = 0; i < sweep->count; i++) {
        if (j.tables[i] && ok) ok = gt_table_append_outer(all, j.tables[i], error);
        any_read |= j.tables[i] || j.uncounted[i];
        gt_table_free(j.tables[i]);
    }
    warn_of_uncounted(&j, all->row_count > 0);
    gt_free_all(j.tables, j.uncounted);
    gt_table_list_add(tables, all);
    if (ok && !any_read) ok = gt_fail(error, "no setting has output of rocprofv3 that can be read");
    return ok && add_pivots(sweep, all, tables, error);
}
