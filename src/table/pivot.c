/* Pivot: groups the rows by index and by column name, then fills one column at a time from its rows. */
#include "table/operations.h"
#include "table/column.h"

/* A cell as text, for a column's name. The caller frees it. */
static char *cell_text(const gt_column *column, size_t row, const gt_interner *strings)
{
    char number[GT_NUMBER_MAX];
    switch (column->type) {
    case GT_TYPE_STRING:
        return gt_strdup(gt_interner_get(strings, column->texts[row]).bytes);
    case GT_TYPE_BOOL:
        return gt_strdup(column->bools[row] ? "True" : "False");
    case GT_TYPE_INT:
        return gt_format("%.*s", (int)gt_print_int(number, column->ints[row]), number);
    default:
        return gt_format("%.*s", (int)gt_print_double(number, column->floats[row]), number);
    }
}

static void fill_nulls(gt_table *table, size_t index, double value)
{
    gt_column *column = &table->columns[index];
    if (column->type != GT_TYPE_INT && column->type != GT_TYPE_FLOAT) return;
    bool whole = value == trunc(value) && fabs(value) < 9007199254740992.0; /* 2^53 */
    if (!whole && gt_column_has_nulls(column, table->row_count)) gt_table_make_float(table, index);
    for (size_t row = 0; row < table->row_count; row++) {
        if (!gt_column_is_null(column, row)) continue;
        if (column->type == GT_TYPE_FLOAT)
            gt_table_set_float(table, index, row, value);
        else
            gt_table_set_int(table, index, row, (int64_t)value);
    }
}

typedef struct work {
    const gt_table *table;
    const gt_pivot *pivot;
    gt_groups index, columns;
    uint32_t *by_column; /* all rows, ordered by result column */
    uint32_t *cells;     /* the source row of each cell of the current column */
    gt_table *result;
} work;

static void add_index(work *w)
{
    for (size_t k = 0; k < w->pivot->index_count; k++) {
        const gt_column *column = gt_table_column(w->table, w->pivot->index[k]);
        gt_column taken = gt_column_take(column, w->index.first_row, w->index.count);
        GT_PUSH(w->result->columns, w->result->column_count, w->result->column_capacity, taken);
    }
    w->result->row_count = w->index.count;
}

/* Adds the column of group `g`, whose rows begin at w->by_column[*next], and moves *next past them. */
static bool add_column(work *w, size_t g, size_t *next, gt_error *error)
{
    const gt_table *table = w->table;
    char *name =
        cell_text(gt_table_column(table, w->pivot->columns), w->columns.first_row[g], table->strings);
    bool clash = false;
    for (size_t i = 0; i < w->index.count; i++) w->cells[i] = GT_NO_ROW;
    for (; *next < table->row_count && w->columns.of_row[w->by_column[*next]] == g; ++*next) {
        uint32_t row = w->by_column[*next], at = w->index.of_row[row];
        clash |= w->cells[at] != GT_NO_ROW;
        w->cells[at] = row;
    }
    if (clash) {
        gt_fail(error, "column '%s' would have two values of '%s' in one cell", name, w->pivot->values.name);
    } else {
        gt_column taken = gt_column_take(gt_table_column(table, w->pivot->values), w->cells, w->index.count);
        gt_free(taken.name);
        taken.name = gt_strdup(name);
        GT_PUSH(w->result->columns, w->result->column_count, w->result->column_capacity, taken);
        if (w->pivot->fill) fill_nulls(w->result, w->result->column_count - 1, w->pivot->fill_value);
    }
    gt_free(name);
    return !clash;
}

static bool add_columns(work *w, gt_error *error)
{
    size_t next = 0, cells;
    if (__builtin_mul_overflow(w->index.count, w->columns.count, &cells) || cells > UINT32_MAX)
        return gt_fail(error, "table '%s' by '%s' would have %zu rows and %zu columns", w->table->name,
                       w->pivot->columns.name, w->index.count, w->columns.count);
    for (size_t g = 0; g < w->columns.count; g++)
        if (!add_column(w, g, &next, error)) return false;
    return true;
}

static bool is_placed(const gt_table *table, const gt_pivot *pivot, size_t row)
{
    for (size_t k = 0; k < pivot->index_count; k++)
        if (gt_column_is_null(gt_table_column(table, pivot->index[k]), row)) return false;
    return !gt_column_is_null(gt_table_column(table, pivot->columns), row);
}

/* A copy without the rows that have a missing index or column name. */
static gt_table *copy_placed(const gt_table *table, const gt_pivot *pivot)
{
    uint32_t *rows = gt_alloc(table->row_count * sizeof *rows);
    size_t count = 0;
    for (size_t row = 0; row < table->row_count; row++)
        if (is_placed(table, pivot, row)) rows[count++] = (uint32_t)row;
    gt_table *placed = gt_table_copy_rows(table, rows, count);
    gt_free(rows);
    return placed;
}

gt_table *gt_table_pivot(const gt_table *table, const gt_pivot *pivot, gt_error *error)
{
    gt_group_options sorted = {.sorted = true};
    gt_table *placed = copy_placed(table, pivot);
    work w = {
        .table = placed, .pivot = pivot, .result = gt_table_new(gt_sheet_named(table->name), table->strings)};
    w.index = gt_groups_find(placed, pivot->index, pivot->index_count, sorted);
    w.columns = gt_groups_find(placed, &pivot->columns, 1, sorted);
    w.by_column = gt_order_by_numbers(w.columns.of_row, w.columns.row_count);
    w.cells = gt_alloc(w.index.count * sizeof *w.cells);
    add_index(&w);
    if (!add_columns(&w, error)) {
        gt_table_free(w.result);
        w.result = NULL;
    }
    gt_groups_free(&w.index);
    gt_groups_free(&w.columns);
    gt_free_all(w.by_column, w.cells);
    gt_table_free(placed);
    return w.result;
}
