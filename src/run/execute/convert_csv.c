/* Converts rocprofv3 output of other formats to rocprofv3's CSV files. Tables here list the columns of
 * each file: their name, and where the value comes from. */
#include "run/execute/execute.h"
#include "base/threads.h"
#include "input/rocprof/rocprof.h"
#include "output/output.h"
#include "schema/columns.h"

typedef struct csv_column {
    gt_col name;
    int column; /* column of the store; negative: FIXED or a computed value */
} csv_column;

enum {
    KIND = -1,
    KERNEL_NAME = -2,
    VGPRS = -3,
    ACCUM_VGPRS = -4,
    SGPRS = -5,
    DIRECTION = -6,
    TEXT_OF = -100
};
#define TEXT(column) (TEXT_OF - (column))

static const csv_column kernel_columns[] = {
    {GT_COL_CSV_KIND, KIND},
    {GT_COL_CSV_AGENT_ID, GT_DISPATCH_AGENT},
    {GT_COL_CSV_QUEUE_ID, GT_DISPATCH_QUEUE},
    {GT_COL_CSV_STREAM_ID, GT_DISPATCH_STREAM},
    {GT_COL_CSV_THREAD_ID, GT_DISPATCH_THREAD},
    {GT_COL_CSV_DISPATCH_ID, GT_DISPATCH_ID},
    {GT_COL_CSV_KERNEL_ID, GT_DISPATCH_KERNEL_ID},
    {GT_COL_CSV_KERNEL_NAME, KERNEL_NAME},
    {GT_COL_CSV_CORRELATION_ID, GT_DISPATCH_CORRELATION},
    {GT_COL_CSV_START_TIMESTAMP, GT_DISPATCH_START},
    {GT_COL_CSV_END_TIMESTAMP, GT_DISPATCH_END},
    {GT_COL_CSV_LDS_BLOCK_SIZE, GT_DISPATCH_LDS_BYTES},
    {GT_COL_CSV_SCRATCH_SIZE, GT_DISPATCH_SCRATCH_BYTES},
    {GT_COL_CSV_VGPR_COUNT, VGPRS},
    {GT_COL_CSV_ACCUM_VGPR_COUNT, ACCUM_VGPRS},
    {GT_COL_CSV_SGPR_COUNT, SGPRS},
    {GT_COL_CSV_WORKGROUP_SIZE_X, GT_DISPATCH_BLOCK_X},
    {GT_COL_CSV_WORKGROUP_SIZE_Y, GT_DISPATCH_BLOCK_Y},
    {GT_COL_CSV_WORKGROUP_SIZE_Z, GT_DISPATCH_BLOCK_Z},
    {GT_COL_CSV_GRID_SIZE_X, GT_DISPATCH_GRID_X},
    {GT_COL_CSV_GRID_SIZE_Y, GT_DISPATCH_GRID_Y},
    {GT_COL_CSV_GRID_SIZE_Z, GT_DISPATCH_GRID_Z},
};
static const csv_column call_columns[] = {
    {GT_COL_CSV_DOMAIN, TEXT(GT_CALL_KIND)},          {GT_COL_CSV_FUNCTION, TEXT(GT_CALL_NAME)},
    {GT_COL_CSV_PROCESS_ID, GT_CALL_PROCESS},         {GT_COL_CSV_THREAD_ID, GT_CALL_THREAD},
    {GT_COL_CSV_CORRELATION_ID, GT_CALL_CORRELATION}, {GT_COL_CSV_START_TIMESTAMP, GT_CALL_START},
    {GT_COL_CSV_END_TIMESTAMP, GT_CALL_END},
};
static const csv_column copy_columns[] = {
    {GT_COL_CSV_KIND, KIND},
    {GT_COL_CSV_DIRECTION, DIRECTION},
    {GT_COL_CSV_STREAM_ID, GT_COPY_STREAM},
    {GT_COL_CSV_SOURCE_AGENT_ID, GT_COPY_SOURCE},
    {GT_COL_CSV_DESTINATION_AGENT_ID, GT_COPY_DESTINATION},
    {GT_COL_CSV_CORRELATION_ID, GT_COPY_CORRELATION},
    {GT_COL_CSV_START_TIMESTAMP, GT_COPY_START},
    {GT_COL_CSV_END_TIMESTAMP, GT_COPY_END},
};

typedef struct maker {
    gt_rocprof *run;
    const gt_store *store;
    const char *kind;
    int64_t *kernels; /* kernel id per dispatch */
    int64_t *directions;
} maker;

static uint32_t *texts_of(maker *m, int column, size_t rows)
{
    if (column <= TEXT_OF) return gt_store_string_ids(m->store, (size_t)(TEXT_OF - column));
    uint32_t *texts = gt_alloc((rows + 1) * sizeof *texts);
    uint32_t kind = gt_interner_add_cstr(m->run->strings, m->kind);
    for (size_t i = 0; i < rows; i++)
        texts[i] = column == KIND ? kind
                   : column == KERNEL_NAME
                       ? gt_rocprof_kernel_name(m->run, m->kernels[i])
                       : gt_interner_add_cstr(m->run->strings,
                                              gt_copy_direction_name((gt_copy_direction)m->directions[i]));
    return texts;
}

static int64_t *ints_of(maker *m, int column, size_t rows)
{
    if (column >= 0) return gt_store_ints(m->store, (size_t)column);
    int64_t *ints = gt_alloc((rows + 1) * sizeof *ints);
    for (size_t i = 0; i < rows; i++) {
        gt_kernel_use use = gt_rocprof_kernel_use(m->run, m->kernels[i]);
        ints[i] = column == VGPRS ? use.vgprs : column == ACCUM_VGPRS ? use.accum_vgprs : use.sgprs;
    }
    return ints;
}

/* Replaces indexes of processes with process ids. */
static void name_processes(const gt_rocprof *run, int64_t *indexes, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        if (indexes[i] >= 0 && (size_t)indexes[i] < run->process_count)
            indexes[i] = run->process[indexes[i]].pid;
}

static gt_table *make_table(maker *m, gt_sheet name, const csv_column *columns, size_t count)
{
    gt_table *table = gt_table_new(name, m->run->strings);
    size_t rows = gt_store_count(m->store);
    for (size_t c = 0; c < count; c++) {
        int column = columns[c].column;
        bool is_text = column <= TEXT_OF || column == KIND || column == KERNEL_NAME || column == DIRECTION;
        gt_table_add_column(table, columns[c].name, is_text ? GT_TYPE_STRING : GT_TYPE_INT);
    }
    gt_table_add_rows(table, rows);
    for (size_t c = 0; c < count && rows; c++) {
        void *cells;
        size_t size;
        if (table->columns[c].type == GT_TYPE_STRING) {
            cells = texts_of(m, columns[c].column, rows);
            size = rows * sizeof(uint32_t);
            memcpy(table->columns[c].texts, cells, size);
        } else {
            cells = ints_of(m, columns[c].column, rows);
            size = rows * sizeof(int64_t);
            if (columns == call_columns && columns[c].column == GT_CALL_PROCESS)
                name_processes(m->run, cells, rows);
            memcpy(table->columns[c].ints, cells, size);
        }
        gt_free(cells);
    }
    return table;
}

static void keep_hip(gt_table *table, const gt_store *calls)
{
    int64_t *domains = gt_store_ints(calls, GT_CALL_DOMAIN);
    uint8_t *keep = gt_alloc(table->row_count + 1);
    for (size_t i = 0; i < table->row_count; i++) keep[i] = domains[i] == GT_CALL_HIP;
    gt_table_keep(table, keep);
    gt_free_all(keep, domains);
}

bool gt_convert_csv(const char *folder, const char *to, size_t *kernels, size_t *counters,
                    gt_arg_list *written, gt_arena *arena, gt_error *error)
{
    gt_read_options options = {.threads = gt_threads_default(),
                               .wanted = GT_WANT_DISPATCH_DETAILS | GT_WANT_COPY_DETAILS | GT_WANT_CALLS |
                                         GT_WANT_ALL_PROCESSES};
    if (counters) options.wanted |= GT_WANT_COUNTERS;
    gt_rocprof *run = gt_rocprof_read_folder(folder, &options, error);
    if (!run) return false;
    *kernels = gt_store_count(run->dispatches);
    if (counters) *counters = gt_store_count(run->counters);
    maker dispatches = {run, run->dispatches, "KERNEL_DISPATCH",
                        gt_store_ints(run->dispatches, GT_DISPATCH_KERNEL_ID), NULL};
    maker copies = {run, run->copies, "MEMORY_COPY", NULL, gt_store_ints(run->copies, GT_COPY_DIRECTION)};
    maker calls = {run, run->calls, "", NULL, NULL};
    gt_table *all[] = {
        make_table(&dispatches, GT_SHEET_KERNEL_TRACE, kernel_columns, GT_LENGTH(kernel_columns)),
        make_table(&copies, GT_SHEET_MEMORY_COPY_TRACE, copy_columns, GT_LENGTH(copy_columns)),
        make_table(&calls, GT_SHEET_HIP_API_TRACE, call_columns, GT_LENGTH(call_columns))};
    keep_hip(all[2], run->calls);
    gt_table *tables[GT_LENGTH(all)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(all); i++)
        if (all[i]->row_count) tables[count++] = all[i];
    gt_output *output = gt_output_new();
    bool ok = !count || (gt_output_csvs(output, to, tables, count, error) && gt_output_commit(output, error));
    for (size_t i = 0; ok && i < gt_output_file_count(output); i++)
        gt_arg_list_add(arena, written, gt_output_file_path(output, i));
    gt_output_free(output);
    for (size_t i = 0; i < GT_LENGTH(all); i++) gt_table_free(all[i]);
    gt_free_all(dispatches.kernels, copies.directions);
    gt_rocprof_free(run);
    return ok;
}
