/* Tables: columns with a common row count, cells set one at a time, rows selected by row lists, and tables
 * appended to others. */
#include "table/column.h"
#include "base/guard.h"

gt_table *gt_table_new(gt_sheet sheet, gt_interner *strings)
{
    gt_table *table = gt_alloc_zero(1, sizeof *table);
    table->name = gt_strdup(sheet.name);
    table->strings = strings;
    return table;
}

void gt_table_free(gt_table *table)
{
    if (!table) return;
    gt_table_drop_source(table);
    for (size_t c = 0; c < table->column_count; c++) gt_column_free(&table->columns[c]);
    gt_arena_free(&table->lent);
    gt_free_all(table->columns, table->name, table);
}

/* ---- columns ---- */

static gt_column *new_column(gt_table *table, gt_col name, gt_type type)
{
    gt_column column;
    gt_column_init(&column, name.name, type);
    gt_column_reserve(&column, table->row_count);
    GT_PUSH(table->columns, table->column_count, table->column_capacity, column);
    return &table->columns[table->column_count - 1];
}

size_t gt_table_add_column(gt_table *table, gt_col name, gt_type type)
{
    gt_column_fill_null(new_column(table, name, type), 0, table->row_count);
    return table->column_count - 1;
}

size_t gt_table_add_lent(gt_table *table, gt_col name, gt_type type)
{
    gt_column column;
    gt_column_init(&column, name.name, type);
    gt_column_lend(&column, table->row_count, &table->lent);
    gt_column_fill_null(&column, 0, table->row_count);
    GT_PUSH(table->columns, table->column_count, table->column_capacity, column);
    return table->column_count - 1;
}

void gt_table_add_columns(gt_table *table, const gt_column_head *heads, size_t count)
{
    for (size_t i = 0; i < count; i++) gt_table_add_column(table, heads[i].name, heads[i].type);
}

size_t gt_table_add_zeroed(gt_table *table, gt_col name, gt_type type)
{
    gt_column_fill_zero(new_column(table, name, type), 0, table->row_count);
    return table->column_count - 1;
}

gt_column *gt_table_add_array(gt_table *table, gt_col name, gt_type type)
{
    size_t column = gt_table_add_zeroed(table, name, type); /* first: it may move the columns */
    return &table->columns[column];
}

gt_column *gt_table_add_unset(gt_table *table, gt_col name, gt_type type)
{
    gt_column *column = new_column(table, name, type);
#ifdef GT_SMALL_GRAINS /* tests notice cells that nobody writes */
    gt_column_fill_junk(column, table->row_count);
#endif
    return column;
}

bool gt_table_is(const gt_table *table, gt_sheet sheet)
{
    return strcmp(table->name, sheet.name) == 0;
}

bool gt_column_is(const gt_column *column, gt_col name)
{
    return strcmp(column->name, name.name) == 0;
}

size_t gt_table_find(const gt_table *table, gt_col name)
{
    for (size_t c = 0; c < table->column_count; c++)
        if (gt_column_is(&table->columns[c], name)) return c;
    return SIZE_MAX;
}

gt_column *gt_table_column(const gt_table *table, gt_col name)
{
    size_t column = gt_table_find(table, name);
    if (column == SIZE_MAX) gt_raise_internal("table '%s' has no column '%s'", table->name, name.name);
    return &table->columns[column];
}

gt_column *gt_table_column_near(const gt_table *table, gt_col name, size_t index)
{
    if (index < table->column_count && gt_column_is(&table->columns[index], name))
        return &table->columns[index];
    return gt_table_column(table, name);
}

gt_column_index gt_column_index_new(const gt_table *table)
{
    gt_column_index index = {gt_interner_new(), NULL};
    size_t capacity = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        uint32_t known = gt_interner_count(index.names);
        uint32_t id = gt_interner_add_cstr(index.names, table->columns[c].name);
        index.columns = gt_grow(index.columns, &capacity, gt_interner_count(index.names), sizeof(size_t));
        if (!c) index.columns[GT_STR_NONE] = index.columns[GT_STR_EMPTY] = SIZE_MAX;
        bool is_new = id >= known || (id == GT_STR_EMPTY && index.columns[id] == SIZE_MAX);
        if (is_new) index.columns[id] = c;
    }
    return index;
}

size_t gt_column_index_find(const gt_column_index *index, gt_col name)
{
    uint32_t id = gt_interner_find(index->names, name.name, strlen(name.name));
    return id == GT_STR_NONE || !index->columns ? SIZE_MAX : index->columns[id];
}

void gt_column_index_free(gt_column_index *index)
{
    gt_interner_free(index->names);
    gt_free(index->columns);
    *index = (gt_column_index){0};
}

gt_column *gt_table_column_of(const gt_table *table, gt_col name, gt_type type)
{
    gt_column *column = gt_table_column(table, name);
    if (column->type != type)
        gt_raise_internal("column '%s' of table '%s' has another type", name.name, table->name);
    return column;
}

void gt_table_drop_column(gt_table *table, size_t column)
{
    gt_table_move_column(table, column, table->column_count - 1);
    gt_column_free(&table->columns[--table->column_count]);
}

void gt_table_rename(gt_table *table, gt_sheet sheet)
{
    char *before = table->name;
    table->name = gt_strdup(sheet.name);
    gt_free(before);
}

void gt_table_rename_column(gt_table *table, size_t column, gt_col name)
{
    char *before = table->columns[column].name;
    table->columns[column].name = gt_strdup(name.name);
    gt_free(before);
}

void gt_table_set_headings(gt_table *table, size_t column, const char *over, const char *under)
{
    gt_column *headed = &table->columns[column];
    gt_free_all(headed->over, headed->under);
    headed->over = over ? gt_strdup(over) : NULL;
    headed->under = under ? gt_strdup(under) : NULL;
}

void gt_table_move_column(gt_table *table, size_t from, size_t to)
{
    gt_column *columns = table->columns, moved = columns[from];
    GT_CHECK(from < table->column_count && to < table->column_count);
    if (from < to)
        memmove(columns + from, columns + from + 1, (to - from) * sizeof *columns);
    else
        memmove(columns + to + 1, columns + to, (from - to) * sizeof *columns);
    columns[to] = moved;
}

void gt_table_select(gt_table *table, const gt_col *names, size_t count)
{
    size_t kept = 0;
    for (size_t n = 0; n < count; n++) {
        size_t column = kept;
        while (column < table->column_count && !gt_column_is(&table->columns[column], names[n])) column++;
        if (column < table->column_count) gt_table_move_column(table, column, kept++);
    }
    while (table->column_count > kept) gt_table_drop_column(table, table->column_count - 1);
}

void gt_table_arrange(gt_table *table, const size_t *columns, size_t count)
{
    gt_column *arranged = gt_alloc(table->column_count * sizeof *arranged);
    uint8_t *kept = gt_alloc_zero(table->column_count, 1);
    for (size_t i = 0; i < count; i++) {
        GT_CHECK(columns[i] < table->column_count && !kept[columns[i]]);
        arranged[i] = table->columns[columns[i]];
        kept[columns[i]] = 1;
    }
    for (size_t c = 0; c < table->column_count; c++)
        if (!kept[c]) gt_column_free(&table->columns[c]);
    gt_free_all(kept, table->columns);
    table->columns = arranged;
    table->column_capacity = table->column_count;
    table->column_count = count;
}

void gt_table_make_float(gt_table *table, size_t column)
{
    gt_column_make_float(&table->columns[column], table->row_count);
}

static void widen(gt_column *column, size_t row_count)
{
    gt_column_make_float(column, row_count);
    column->widened = true;
}

void gt_table_widen_ints(gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++) {
        gt_column *column = &table->columns[c];
        if (column->type == GT_TYPE_INT && gt_column_has_nulls(column, table->row_count))
            widen(column, table->row_count);
    }
}

/* ---- rows and cells ---- */

void gt_table_reserve(gt_table *table, size_t rows)
{
    for (size_t c = 0; c < table->column_count; c++) gt_column_reserve(&table->columns[c], rows);
}

void gt_table_reserve_together(gt_table *table, size_t rows)
{
    for (size_t c = 0; c < table->column_count; c++) gt_column_lend(&table->columns[c], rows, &table->lent);
}

size_t gt_table_add_row(gt_table *table)
{
    size_t row = table->row_count++;
    for (size_t c = 0; c < table->column_count; c++) {
        gt_column *column = &table->columns[c];
        gt_column_reserve(column, row + 1);
        gt_column_fill_null(column, row, row + 1);
    }
    return row;
}

size_t gt_table_add_rows(gt_table *table, size_t count)
{
    size_t first = table->row_count;
    gt_table_reserve(table, first + count);
    for (size_t c = 0; c < table->column_count; c++)
        gt_column_fill_zero(&table->columns[c], first, first + count);
    table->row_count += count;
    return first;
}

void gt_table_set_int(gt_table *table, size_t column, size_t row, int64_t value)
{
    gt_column *cells = &table->columns[column];
    if (cells->type == GT_TYPE_FLOAT) {
        cells->floats[row] = (double)value;
        return;
    }
    GT_CHECK(cells->type == GT_TYPE_INT);
    cells->ints[row] = value;
    if (cells->nulls) cells->nulls[row] = 0;
}

void gt_table_set_float(gt_table *table, size_t column, size_t row, double value)
{
    GT_CHECK(table->columns[column].type == GT_TYPE_FLOAT);
    table->columns[column].floats[row] = value;
}

void gt_table_set_string(gt_table *table, size_t column, size_t row, uint32_t id)
{
    GT_CHECK(table->columns[column].type == GT_TYPE_STRING);
    table->columns[column].texts[row] = id;
    if (table->columns[column].shown) table->columns[column].shown[row] = GT_SHOWN_STRING;
}

void gt_table_set_shown(gt_table *table, size_t column, size_t row, uint32_t id, gt_shown shown)
{
    gt_table_set_string(table, column, row, id);
    if (shown != GT_SHOWN_STRING) gt_column_shown(&table->columns[column])[row] = (uint8_t)shown;
}

void gt_table_show_strings(gt_table *table, size_t column)
{
    gt_free(table->columns[column].shown);
    table->columns[column].shown = NULL;
}

void gt_table_set_cstr(gt_table *table, size_t column, size_t row, const char *text)
{
    gt_table_set_string(table, column, row, gt_interner_add_cstr(table->strings, text));
}

void gt_table_set_bool(gt_table *table, size_t column, size_t row, bool value)
{
    gt_column *cells = &table->columns[column];
    GT_CHECK(cells->type == GT_TYPE_BOOL);
    cells->bools[row] = value;
    if (cells->nulls) cells->nulls[row] = 0;
}

void gt_table_set_null(gt_table *table, size_t column, size_t row)
{
    gt_column_set_null(&table->columns[column], row);
}

/* ---- values of cells ---- */

static const gt_type shown_types[] = {[GT_SHOWN_STRING] = GT_TYPE_STRING,
                                      [GT_SHOWN_INT] = GT_TYPE_INT,
                                      [GT_SHOWN_FLOAT] = GT_TYPE_FLOAT,
                                      [GT_SHOWN_BOOL] = GT_TYPE_BOOL};

/* An integer that is a double; as a float if it has a fraction or does not fit. */
static gt_cell whole_number(double number)
{
    bool fits = number >= -0x1p63 && number < 0x1p63 && number == (double)(int64_t)number;
    return (gt_cell){
        .type = fits ? GT_TYPE_INT : GT_TYPE_FLOAT, .integer = fits ? (int64_t)number : 0, .number = number};
}

static gt_cell integer_cell(gt_type type, int64_t integer)
{
    return (gt_cell){.type = type, .integer = integer, .number = (double)integer};
}

static gt_cell shown_cell(gt_str text, gt_shown shown)
{
    switch (shown) {
    case GT_SHOWN_INT:
        if (strpbrk(text.bytes, ".e")) return whole_number(gt_read_double(text));
        return integer_cell(GT_TYPE_INT, strtoll(text.bytes, NULL, 10));
    case GT_SHOWN_FLOAT:
        return (gt_cell){.type = GT_TYPE_FLOAT, .number = gt_read_double(text)};
    case GT_SHOWN_BOOL:
        return integer_cell(GT_TYPE_BOOL, gt_str_equals(text, "True"));
    case GT_SHOWN_NULL:
        return (gt_cell){.is_null = true, .type = GT_TYPE_STRING};
    case GT_SHOWN_STRING:
        break;
    }
    return (gt_cell){.type = GT_TYPE_STRING, .text = text};
}

gt_cell gt_table_cell(const gt_table *table, size_t column, size_t row)
{
    const gt_column *cells = &table->columns[column];
    if (gt_column_is_null(cells, row)) return (gt_cell){.is_null = true, .type = cells->type};
    switch (cells->type) {
    case GT_TYPE_INT:
        return integer_cell(GT_TYPE_INT, cells->ints[row]);
    case GT_TYPE_BOOL:
        return integer_cell(GT_TYPE_BOOL, cells->bools[row] != 0);
    case GT_TYPE_FLOAT:
        if (cells->widened) return whole_number(cells->floats[row]);
        return (gt_cell){.type = GT_TYPE_FLOAT, .number = cells->floats[row]};
    case GT_TYPE_STRING:
        return shown_cell(gt_interner_get(table->strings, cells->texts[row]),
                          cells->shown ? (gt_shown)cells->shown[row] : GT_SHOWN_STRING);
    case GT_TYPE_LIST:
        break;
    }
    return (gt_cell){.type = GT_TYPE_LIST};
}

bool gt_column_value_type(const gt_column *column, size_t row_count, gt_type *type)
{
    *type = column->type == GT_TYPE_FLOAT && column->widened ? GT_TYPE_INT : column->type;
    if (!column->shown) return true;
    gt_shown all = GT_SHOWN_NULL;
    for (size_t row = 0; row < row_count; row++) {
        gt_shown shown = (gt_shown)column->shown[row];
        if (shown == GT_SHOWN_NULL || gt_column_is_null(column, row)) continue;
        if (all != GT_SHOWN_NULL && shown != all) return false;
        all = shown;
    }
    if (all != GT_SHOWN_NULL) *type = shown_types[all];
    return true;
}

/* ---- selecting and appending rows ---- */

gt_table *gt_table_copy_rows(const gt_table *table, const uint32_t *rows, size_t count)
{
    gt_table *copy = gt_table_new(gt_sheet_named(table->name), table->strings);
    for (size_t c = 0; c < table->column_count; c++) {
        gt_column column = gt_column_take(&table->columns[c], rows, count);
        GT_PUSH(copy->columns, copy->column_count, copy->column_capacity, column);
    }
    copy->row_count = count;
    return copy;
}

gt_table *gt_table_copy_columns(const gt_table *table, const gt_col *names, size_t name_count,
                                const uint32_t *rows, size_t count)
{
    gt_table *copy = gt_table_new(gt_sheet_named(table->name), table->strings);
    for (size_t n = 0; n < name_count; n++) {
        size_t c = gt_table_find(table, names[n]);
        if (c == SIZE_MAX) continue;
        gt_column column = gt_column_take(&table->columns[c], rows, count);
        GT_PUSH(copy->columns, copy->column_count, copy->column_capacity, column);
    }
    copy->row_count = count;
    return copy;
}

gt_table *gt_table_copy(const gt_table *table)
{
    return gt_table_copy_rows(table, NULL, table->row_count);
}

void gt_table_take(gt_table *table, const uint32_t *rows, size_t count)
{
    for (size_t c = 0; c < table->column_count; c++) {
        gt_column taken = gt_column_take(&table->columns[c], rows, count);
        gt_column_free(&table->columns[c]);
        table->columns[c] = taken;
    }
    table->row_count = count;
}

void gt_table_keep(gt_table *table, const uint8_t *keep)
{
    if (table->row_count >= GT_NO_ROW) gt_raise_internal("table '%s' has too many rows", table->name);
    size_t count = 0, kept = 0;
    for (size_t row = 0; row < table->row_count; row++) count += keep[row] != 0;
    if (count == table->row_count) return;
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    for (size_t row = 0; kept < count; row++)
        if (keep[row]) rows[kept++] = (uint32_t)row;
    gt_table_take(table, rows, kept);
    gt_free(rows);
}

void gt_table_head(gt_table *table, int64_t count)
{
    size_t all = table->row_count, dropped;
    if (count >= 0)
        dropped = (uint64_t)count < all ? all - (size_t)count : 0;
    else
        dropped = -(uint64_t)count < all ? -(uint64_t)count : all;
    if (!dropped) return;
    size_t kept = all - dropped;
    for (size_t c = 0; c < table->column_count; c++) gt_column_truncate(&table->columns[c], all, kept);
    table->row_count = kept;
}

void gt_table_use_strings(gt_table *table, gt_interner *strings)
{
    if (strings == table->strings) return;
    uint32_t *map = gt_alloc_zero(gt_interner_count(table->strings), sizeof *map);
    for (size_t c = 0; c < table->column_count; c++)
        gt_column_move_strings(&table->columns[c], table->row_count, table->strings, strings, map);
    gt_free(map);
    table->strings = strings;
}

static bool same_type(const gt_column *a, const gt_column *b)
{
    for (; a->type == b->type; a = a->items, b = b->items)
        if (a->type != GT_TYPE_LIST) return true;
    return false;
}

/* Whether `more` has the same columns (INT and FLOAT are compatible); reorders them to match. */
static bool match_columns(const gt_table *table, gt_table *more, gt_error *error)
{
    if (more->column_count != table->column_count)
        return gt_fail(error, "table '%s' has %zu columns where '%s' has %zu", more->name, more->column_count,
                       table->name, table->column_count);
    for (size_t c = 0; c < table->column_count; c++) {
        const gt_column *column = &table->columns[c];
        size_t other = c;
        while (other < more->column_count && strcmp(more->columns[other].name, column->name)) other++;
        if (other == more->column_count)
            return gt_fail(error, "table '%s' has no column '%s'", more->name, column->name);
        gt_table_move_column(more, other, c);
        if (!same_type(column, &more->columns[c]) &&
            !(gt_column_is_number(column) && gt_column_is_number(&more->columns[c])))
            return gt_fail(error, "column '%s' of table '%s' has a different type", column->name, more->name);
    }
    return true;
}

static void append_column(gt_table *table, size_t c, gt_table *more)
{
    if (table->columns[c].type == GT_TYPE_FLOAT && more->columns[c].type == GT_TYPE_INT)
        widen(&more->columns[c], more->row_count);
    if (table->columns[c].type == GT_TYPE_INT && more->columns[c].type == GT_TYPE_FLOAT)
        widen(&table->columns[c], table->row_count);
    gt_column_append(&table->columns[c], table->row_count, &more->columns[c], more->row_count);
}

bool gt_table_append(gt_table *table, const gt_table *more, gt_error *error)
{
    gt_table *added = gt_table_copy(more);
    bool matched = match_columns(table, added, error);
    if (matched) {
        gt_table_use_strings(added, table->strings);
        for (size_t c = 0; c < table->column_count; c++) append_column(table, c, added);
        table->row_count += added->row_count;
    }
    gt_table_free(added);
    return matched;
}

void gt_table_append_same(gt_table *table, const gt_table *more)
{
    gt_error error;
    if (!gt_table_append(table, more, &error)) gt_raise_internal("%s", error.text);
}

/* Adds a column of nulls. */
static void add_column_like(gt_table *table, const gt_column *other)
{
    size_t added = gt_table_add_column(table, gt_col_named(other->name), other->type);
    table->columns[added].widened = other->widened;
}

static void add_columns_of(gt_table *table, const gt_table *other)
{
    for (size_t c = 0; c < other->column_count; c++)
        if (gt_table_find(table, gt_col_named(other->columns[c].name)) == SIZE_MAX)
            add_column_like(table, &other->columns[c]);
}

bool gt_table_append_outer(gt_table *table, const gt_table *more, gt_error *error)
{
    gt_table *added = gt_table_copy(more);
    add_columns_of(table, added);
    add_columns_of(added, table);
    bool matched = gt_table_append(table, added, error);
    gt_table_free(added);
    return matched;
}
