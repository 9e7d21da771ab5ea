/* The rows of the CSV file of `sweep top`: their cells, and the run that each belongs to. */
#include "sweep/gemm/gemm.h"
#include "schema/columns.h"

/* ---- cells ---- */

double gt_gemm_number(const gt_table *table, gt_col name, size_t row)
{
    size_t index = gt_table_find(table, name);
    if (index == SIZE_MAX || gt_column_is_null(&table->columns[index], row)) return NAN;
    const gt_column *column = &table->columns[index];
    if (column->type == GT_TYPE_INT) return (double)column->ints[row];
    if (column->type == GT_TYPE_FLOAT) return column->floats[row];
    if (column->type != GT_TYPE_STRING) return NAN;
    char *end;
    gt_str text = gt_interner_get(table->strings, column->texts[row]);
    double number = strtod(text.bytes, &end);
    return text.len && end == text.bytes + text.len ? number : NAN;
}

gt_str gt_gemm_string(const gt_table *table, gt_col name, size_t row)
{
    size_t index = gt_table_find(table, name);
    if (index == SIZE_MAX || table->columns[index].type != GT_TYPE_STRING) return (gt_str){"", 0};
    return gt_interner_get(table->strings, table->columns[index].texts[row]);
}

size_t gt_gemm_new_columns(gt_table *table, const gt_column_head *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t old = gt_table_find(table, columns[i].name);
        if (old != SIZE_MAX) gt_table_drop_column(table, old);
    }
    size_t first = table->column_count;
    for (size_t i = 0; i < count; i++) gt_table_add_column(table, columns[i].name, columns[i].type);
    return first;
}

const char *gt_gemm_axis_column(const gt_sweep_dimension *axis)
{
    return strcmp(axis->name, "channels") == 0 ? GT_COL_CHANNEL.name : axis->column;
}

/* ---- runs of a sweep with any axes ----
 *
 * A run is found by a text of all its values. The CSV file may have been written by a program that reads
 * values as numbers, so numbers are compared as such, and words that such programs take for missing or for
 * truth alike. */

static void add_value(gt_buffer *key, const char *value)
{
    static const char *const missing[] = {"NA",  "N/A", "n/a",  "NULL", "null",
                                          "NaN", "nan", "None", "<NA>", "#N/A"};
    char *end;
    double number = value ? strtod(value, &end) : 0;
    for (size_t i = 0; value && i < GT_LENGTH(missing); i++)
        if (strcmp(value, missing[i]) == 0) value = NULL;
    gt_buffer_add(key, "\n", 1);
    if (!value) return;
    if (end > value && !*end)
        gt_buffer_add_format(key, "%.17g", number);
    else if (strcasecmp(value, "true") == 0 || strcasecmp(value, "false") == 0)
        gt_buffer_add_cstr(key, tolower((unsigned char)*value) == 't' ? "true" : "false");
    else
        gt_buffer_add_cstr(key, value);
}

static void add_cell(gt_buffer *key, const gt_table *table, size_t index, size_t row)
{
    const gt_column *column = &table->columns[index];
    char text[GT_NUMBER_MAX + 1];
    size_t len = 0;
    if (gt_column_is_null(column, row)) {
        add_value(key, NULL);
        return;
    }
    if (column->type == GT_TYPE_STRING) {
        add_value(key, gt_interner_get(table->strings, column->texts[row]).bytes);
        return;
    }
    if (column->type == GT_TYPE_INT) len = gt_print_int(text, column->ints[row]);
    if (column->type == GT_TYPE_FLOAT) len = gt_print_double(text, column->floats[row]);
    text[len] = 0;
    add_value(key, column->type == GT_TYPE_BOOL ? (column->bools[row] ? "true" : "false") : text);
}

/* The columns of the sweep's axes in the table, and that of the repeat; SIZE_MAX: none. */
typedef struct run_columns {
    size_t *axes;
    size_t repeat;
    size_t found; /* how many of the axes the table has */
} run_columns;

static run_columns find_run_columns(const gt_table *table, const gt_sweep *sweep)
{
    run_columns columns = {.axes = gt_alloc((sweep->axis_count + 1) * sizeof *columns.axes)};
    for (size_t i = 0; i < sweep->axis_count; i++) {
        columns.axes[i] = gt_table_find(table, gt_col_named(gt_gemm_axis_column(&sweep->axes[i])));
        columns.found += columns.axes[i] != SIZE_MAX;
    }
    columns.repeat = gt_table_find(table, GT_COL_REPEAT);
    return columns;
}

/* The text of a run: of a row, or of a config if that is not NULL. */
static uint32_t run_key(gt_interner *keys, const gt_sweep *sweep, const run_columns *columns,
                        const gt_table *table, size_t row, const gt_sweep_config *config)
{
    gt_buffer key = {0};
    for (size_t i = 0; i < sweep->axis_count; i++) {
        if (columns->axes[i] == SIZE_MAX) continue;
        if (config)
            add_value(&key, config->values[i].value);
        else
            add_cell(&key, table, columns->axes[i], row);
    }
    double repeat = config ? (double)config->repeat : gt_gemm_number(table, GT_COL_REPEAT, row);
    gt_buffer_add_format(&key, "\n%.17g", columns->repeat == SIZE_MAX || isnan(repeat) ? 1 : repeat);
    uint32_t id = gt_interner_add(keys, key.bytes, key.len);
    gt_buffer_free(&key);
    return id;
}

/* The index of each row's config in the sweep, or SIZE_MAX. */
static size_t *configs_of_rows(const gt_table *table, const gt_sweep *sweep)
{
    gt_interner *keys = gt_interner_new();
    gt_map known = {0};
    run_columns columns = find_run_columns(table, sweep);
    size_t *of_row = gt_alloc((table->row_count + 1) * sizeof *of_row);
    for (size_t i = 0; i < sweep->count; i++) {
        uint32_t *place = gt_map_put(&known, run_key(keys, sweep, &columns, table, 0, &sweep->configs[i]), 0);
        if (*place == GT_MAP_NONE) *place = (uint32_t)i;
    }
    for (size_t row = 0; row < table->row_count; row++) {
        uint32_t found = gt_map_get(&known, run_key(keys, sweep, &columns, table, row, NULL), 0);
        of_row[row] = found == GT_MAP_NONE || !columns.found ? SIZE_MAX : found;
    }
    gt_free(columns.axes);
    gt_map_free(&known);
    gt_interner_free(keys);
    return of_row;
}

/* ---- all rows ---- */

/* Returns false if the number is missing or not an integer. */
static bool read_number(const gt_table *table, gt_col name, size_t row, int64_t *number)
{
    double read = gt_gemm_number(table, name, row);
    if (!(read >= 0 && read <= INT32_MAX) || read != trunc(read)) return false;
    *number = (int64_t)read;
    return true;
}

/* The run of a row; `config` is that of the row in a sweep with other axes. */
static bool read_run(const gt_table *table, size_t row, const gt_sweep_config *config, bool by_config,
                     gt_gemm_run *run)
{
    *run = (gt_gemm_run){.config = config};
    if (!read_number(table, GT_COL_RANK, row, &run->rank)) return false;
    if (by_config) return config != NULL;
    return read_number(table, GT_COL_THREADS, row, &run->threads) &&
           read_number(table, GT_COL_CHANNEL, row, &run->channels);
}

static bool check_columns(const gt_table *table, bool by_config, gt_error *error)
{
    static const gt_col needed[] = {GT_COL_THREADS, GT_COL_CHANNEL, GT_COL_RANK, GT_COL_GEMM_KERNEL_NAME};
    for (size_t i = by_config ? 2 : 0; i < GT_LENGTH(needed); i++)
        if (gt_table_find(table, needed[i]) == SIZE_MAX)
            return gt_fail(error, "no column %s", needed[i].name);
    return true;
}

bool gt_gemm_rows_find(gt_gemm_rows *rows, gt_table *table, const gt_sweep *sweep, gt_error *error)
{
    bool by_config = sweep && !sweep->is_classic;
    *rows = (gt_gemm_rows){.table = table};
    if (!check_columns(table, by_config, error)) return false;
    size_t capacity = 0, *config_of_row = by_config ? configs_of_rows(table, sweep) : NULL;
    gt_map known = {0};
    rows->run_of_row = gt_alloc(table->row_count * sizeof *rows->run_of_row);
    for (size_t row = 0; row < table->row_count; row++) {
        gt_gemm_run run;
        size_t config = by_config ? config_of_row[row] : SIZE_MAX;
        rows->run_of_row[row] = GT_NO_RUN;
        if (!read_run(table, row, config == SIZE_MAX ? NULL : &sweep->configs[config], by_config, &run))
            continue;
        uint64_t setting = by_config ? config : (uint64_t)run.threads << 32 | (uint64_t)run.channels;
        uint32_t *place = gt_map_put(&known, setting, (uint64_t)run.rank);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)rows->run_count;
            GT_PUSH(rows->runs, rows->run_count, capacity, run);
        }
        rows->run_of_row[row] = *place;
    }
    gt_map_free(&known);
    gt_free(config_of_row);
    return true;
}

void gt_gemm_rows_free(gt_gemm_rows *rows)
{
    gt_free_all(rows->runs, rows->run_of_row);
    *rows = (gt_gemm_rows){0};
}
