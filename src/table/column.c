/* Columns: arrays of cells with null marks, copied by row lists, and the cells of LIST columns. */
#include "table/column.h"
#include "base/guard.h"
#include "base/team.h"

static const size_t cell_bytes[] = {
    [GT_TYPE_INT] = sizeof(int64_t),  [GT_TYPE_FLOAT] = sizeof(double), [GT_TYPE_STRING] = sizeof(uint32_t),
    [GT_TYPE_BOOL] = sizeof(uint8_t), [GT_TYPE_LIST] = sizeof(size_t),
};

void gt_column_init(gt_column *column, const char *name, gt_type type)
{
    *column = (gt_column){.name = name ? gt_strdup(name) : NULL, .type = type};
    if (type == GT_TYPE_LIST) gt_list_of(column, GT_TYPE_INT);
}

void gt_column_free(gt_column *column)
{
    if (column->items) gt_column_free(column->items);
    gt_free(column->items);
    if (!column->is_lent) gt_free(column->ints); /* or whichever array of the union is used */
    gt_free_all(column->nulls, column->shown, column->name, column->over, column->under);
}

void gt_column_reserve(gt_column *column, size_t cells)
{
    size_t before = column->capacity;
    if (cells <= before) return;
    if (column->is_lent) {
        const void *lent = column->ints;
        column->ints = gt_alloc(before * cell_bytes[column->type]);
        memcpy(column->ints, lent, before * cell_bytes[column->type]);
        column->is_lent = false;
    }
    column->ints = gt_grow(column->ints, &column->capacity, cells, cell_bytes[column->type]);
    if (column->nulls) {
        column->nulls = gt_realloc(column->nulls, column->capacity);
        memset(column->nulls + before, 0, column->capacity - before);
    }
    if (column->shown) {
        column->shown = gt_realloc(column->shown, column->capacity);
        memset(column->shown + before, GT_SHOWN_STRING, column->capacity - before);
    }
}

void gt_column_lend(gt_column *column, size_t cells, gt_arena *arena)
{
    if (!cells) return;
    column->ints = gt_arena_alloc(arena, cells * cell_bytes[column->type]);
    column->capacity = cells;
    column->is_lent = true;
}

static uint8_t *null_marks(gt_column *column)
{
    if (!column->nulls) column->nulls = gt_alloc_zero(column->capacity, 1);
    return column->nulls;
}

uint8_t *gt_column_shown(gt_column *column)
{
    if (!column->shown) column->shown = gt_alloc_zero(column->capacity, 1);
    return column->shown;
}

bool gt_column_is_null(const gt_column *column, size_t row)
{
    switch (column->type) {
    case GT_TYPE_FLOAT:
        return isnan(column->floats[row]);
    case GT_TYPE_STRING:
        return column->texts[row] == GT_STR_NONE;
    default:
        return column->nulls && column->nulls[row];
    }
}

bool gt_column_is_number(const gt_column *column)
{
    return column->type == GT_TYPE_INT || column->type == GT_TYPE_FLOAT;
}

double gt_column_number(const gt_column *column, size_t row)
{
    if (column->type == GT_TYPE_FLOAT) return column->floats[row];
    if (column->type != GT_TYPE_INT || gt_column_is_null(column, row)) return (double)NAN;
    return (double)column->ints[row];
}

bool gt_column_has_nulls(const gt_column *column, size_t row_count)
{
    if (column->type != GT_TYPE_FLOAT && column->type != GT_TYPE_STRING)
        return column->nulls && row_count && memchr(column->nulls, 1, row_count);
    for (size_t row = 0; row < row_count; row++)
        if (gt_column_is_null(column, row)) return true;
    return false;
}

/* The content of cells without a value: 0, false, an empty list, NaN, no string. nulls: NULL: no cell is
 * marked. */
static void fill_blank(gt_column *column, size_t from, size_t to, uint8_t *nulls)
{
    if (from >= to) return;
    size_t bytes = cell_bytes[column->type], list_end = 0;
    if (nulls) memset(nulls + from, 1, to - from);
    if (column->type == GT_TYPE_LIST && from) list_end = column->list_ends[from - 1];
    if (column->type == GT_TYPE_FLOAT)
        for (size_t row = from; row < to; row++) column->floats[row] = NAN;
    else if (column->type == GT_TYPE_LIST)
        for (size_t row = from; row < to; row++) column->list_ends[row] = list_end;
    else
        memset((char *)column->ints + from * bytes, 0, (to - from) * bytes);
}

/* Whether absent cells are marked: those of floats and strings have a value of their own. */
static bool has_marks(const gt_column *column)
{
    return column->type != GT_TYPE_FLOAT && column->type != GT_TYPE_STRING;
}

void gt_column_set_null(gt_column *column, size_t row)
{
    if (column->type != GT_TYPE_LIST) fill_blank(column, row, row + 1, NULL);
    if (has_marks(column)) null_marks(column)[row] = 1;
}

void gt_column_fill_null(gt_column *column, size_t from, size_t to)
{
    if (from >= to) return;
    if (has_marks(column) && !column->nulls && from == 0) { /* all of them are written below */
        column->nulls = gt_alloc(column->capacity);
        memset(column->nulls + to, 0, column->capacity - to);
    }
    fill_blank(column, from, to, has_marks(column) ? null_marks(column) : NULL);
}

void gt_column_fill_zero(gt_column *column, size_t from, size_t to)
{
    if (column->type == GT_TYPE_LIST) {
        gt_column_fill_null(column, from, to);
        return;
    }
    fill_blank(column, from, to, NULL);
    if (from < to && column->nulls) memset(column->nulls + from, 0, to - from);
}

void gt_column_fill_junk(gt_column *column, size_t rows)
{
    if (rows) memset(column->ints, 0x5A, rows * cell_bytes[column->type]);
}

void gt_column_make_float(gt_column *column, size_t rows)
{
    if (column->type == GT_TYPE_FLOAT) return;
    GT_CHECK(column->type == GT_TYPE_INT || column->type == GT_TYPE_BOOL);
    double *floats = gt_alloc(column->capacity * sizeof *floats);
    for (size_t row = 0; row < rows; row++) {
        if (gt_column_is_null(column, row))
            floats[row] = NAN;
        else
            floats[row] =
                column->type == GT_TYPE_INT ? (double)column->ints[row] : (double)column->bools[row];
    }
    if (!column->is_lent) gt_free(column->ints);
    gt_free(column->nulls);
    column->is_lent = false;
    column->floats = floats;
    column->nulls = NULL;
    column->type = GT_TYPE_FLOAT;
}

/* Null cells after the last cell begun may still have old ends: sets them to the current end. Returns the
 * number of items. */
static size_t settle_list_ends(gt_column *list, size_t rows)
{
    size_t end = 0;
    for (size_t row = 0; row < rows; row++) {
        if (list->list_ends[row] > end) end = list->list_ends[row];
        list->list_ends[row] = end;
    }
    return end;
}

void gt_column_move_strings(gt_column *column, size_t rows, const gt_interner *from, gt_interner *to,
                            uint32_t *map)
{
    if (column->type == GT_TYPE_LIST)
        gt_column_move_strings(column->items, settle_list_ends(column, rows), from, to, map);
    if (column->type != GT_TYPE_STRING) return;
    for (size_t row = 0; row < rows; row++) {
        uint32_t id = column->texts[row];
        if (id != GT_STR_NONE && map[id] == 0) {
            gt_str text = gt_interner_get(from, id);
            map[id] = gt_interner_add(to, text.bytes, text.len);
        }
        column->texts[row] = map[id];
    }
}

void gt_column_truncate(gt_column *column, size_t rows, size_t kept)
{
    if (column->nulls) memset(column->nulls + kept, 0, rows - kept);
    if (column->type != GT_TYPE_LIST) return;
    size_t items = settle_list_ends(column, rows);
    gt_column_truncate(column->items, items, kept ? column->list_ends[kept - 1] : 0);
    if (column->list_cells > kept) column->list_cells = kept;
}

/* ---- copies by row list ---- */

#define TAKE(array, blank)                                                                                   \
    for (size_t i = 0; i < count; i++)                                                                       \
    taken->array[i] = rows[i] == GT_NO_ROW ? (blank) : column->array[rows[i]]

/* Copies the cells of the rows; without `rows`, of the first ones. */
static void take_cells(gt_column *taken, const gt_column *column, const uint32_t *rows, size_t count)
{
    if (!rows) {
        if (count) memcpy(taken->ints, column->ints, count * cell_bytes[column->type]);
        return;
    }
    switch (column->type) {
    case GT_TYPE_INT:
        TAKE(ints, 0);
        break;
    case GT_TYPE_FLOAT:
        TAKE(floats, NAN);
        break;
    case GT_TYPE_STRING:
        TAKE(texts, GT_STR_NONE);
        break;
    case GT_TYPE_BOOL:
        TAKE(bools, 0);
        break;
    case GT_TYPE_LIST:
        break;
    }
}

static uint32_t row_at(const uint32_t *rows, size_t i)
{
    return rows ? rows[i] : (uint32_t)i;
}

static void take_lists(gt_column *taken, const gt_column *column, const uint32_t *rows, size_t count)
{
    uint32_t *items = NULL;
    size_t item_count = 0, capacity = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = row_at(rows, i);
        if (row != GT_NO_ROW && !gt_column_is_null(column, row)) {
            size_t begin = gt_list_begin_of(column, row), end = gt_list_end_of(column, row);
            GT_CHECK(end < GT_NO_ROW);
            items = gt_grow(items, &capacity, item_count + (end - begin), sizeof *items);
            for (size_t item = begin; item < end; item++) items[item_count++] = (uint32_t)item;
        }
        taken->list_ends[i] = item_count;
    }
    taken->list_cells = count;
    gt_column_free(taken->items);
    *taken->items = gt_column_take(column->items, items, item_count);
    gt_free(items);
}

static bool is_null_row(const gt_column *column, const uint32_t *rows, size_t i)
{
    uint32_t row = row_at(rows, i);
    return row == GT_NO_ROW || (column->nulls && column->nulls[row]);
}

static void take_nulls(gt_column *taken, const gt_column *column, const uint32_t *rows, size_t count)
{
    size_t first = 0;
    while (first < count && !is_null_row(column, rows, first)) first++;
    if (first == count) return;
    taken->nulls = gt_alloc_zero(count, 1);
    for (size_t i = first; i < count; i++) taken->nulls[i] = is_null_row(column, rows, i);
}

static void take_shown(gt_column *taken, const gt_column *column, const uint32_t *rows, size_t count)
{
    gt_column_shown(taken);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = row_at(rows, i);
        if (row != GT_NO_ROW) taken->shown[i] = column->shown[row];
    }
}

gt_column gt_column_take(const gt_column *column, const uint32_t *rows, size_t count)
{
    gt_column taken;
    gt_column_init(&taken, column->name, column->type);
    taken.items_as_tuple = column->items_as_tuple;
    taken.widened = column->widened;
    if (column->over) taken.over = gt_strdup(column->over);
    if (column->under) taken.under = gt_strdup(column->under);
    if (count) {
        taken.ints = gt_alloc(count * cell_bytes[column->type]);
        taken.capacity = count;
    }
    GT_CHECK(count < GT_NO_ROW);
    if (column->type == GT_TYPE_LIST)
        take_lists(&taken, column, rows, count);
    else
        take_cells(&taken, column, rows, count);
    if (column->type != GT_TYPE_FLOAT && column->type != GT_TYPE_STRING)
        take_nulls(&taken, column, rows, count);
    if (column->shown && count) take_shown(&taken, column, rows, count);
    return taken;
}

/* ---- append ---- */

static void append_lists(gt_column *column, size_t rows, const gt_column *more, size_t more_rows)
{
    gt_column packed = gt_column_take(more, NULL, more_rows); /* complete ends, items in row order */
    size_t items = settle_list_ends(column, rows);
    for (size_t row = 0; row < more_rows; row++)
        column->list_ends[rows + row] = items + packed.list_ends[row];
    gt_column_append(column->items, items, packed.items, more_rows ? packed.list_ends[more_rows - 1] : 0);
    column->list_cells = rows + more_rows;
    gt_column_free(&packed);
}

void gt_column_append(gt_column *column, size_t rows, const gt_column *more, size_t more_rows)
{
    GT_CHECK(column->type == more->type);
    gt_column_reserve(column, rows + more_rows);
    if (!more_rows) return;
    size_t bytes = cell_bytes[column->type];
    if (column->type == GT_TYPE_LIST)
        append_lists(column, rows, more, more_rows);
    else
        memcpy((char *)column->ints + rows * bytes, more->ints, more_rows * bytes);
    if (more->nulls) memcpy(null_marks(column) + rows, more->nulls, more_rows);
    if (more->shown)
        memcpy(gt_column_shown(column) + rows, more->shown, more_rows);
    else if (column->shown)
        memset(column->shown + rows, GT_SHOWN_STRING, more_rows);
    column->widened = more->widened && (column->widened || !rows);
}

/* ---- LIST cells ---- */

gt_column *gt_list_of(gt_column *list, gt_type element)
{
    GT_CHECK(list->type == GT_TYPE_LIST && list->list_cells == 0);
    if (list->items)
        gt_column_free(list->items);
    else
        list->items = gt_alloc(sizeof *list->items);
    gt_column_init(list->items, NULL, element);
    return list->items;
}

size_t gt_list_begin_of(const gt_column *list, size_t row)
{
    return row ? list->list_ends[row - 1] : 0;
}

size_t gt_list_end_of(const gt_column *list, size_t row)
{
    return list->list_ends[row];
}

void gt_list_begin(gt_column *list, size_t row)
{
    GT_CHECK(list->type == GT_TYPE_LIST && row >= list->list_cells);
    gt_column_reserve(list, row + 1);
    fill_blank(list, list->list_cells, row + 1, NULL);
    list->list_cells = row + 1;
    if (list->nulls) list->nulls[row] = 0;
}

/* Makes room for one more element of the last cell begun. Returns its row in list->items. */
static size_t push_item(gt_column *list, gt_type element)
{
    GT_CHECK(list->list_cells && list->items->type == element);
    size_t item = list->list_ends[list->list_cells - 1]++;
    gt_column_reserve(list->items, item + 1);
    return item;
}

void gt_list_push_int(gt_column *list, int64_t value)
{
    size_t item = push_item(list, GT_TYPE_INT); /* first: it may move the array */
    list->items->ints[item] = value;
}

void gt_list_push_float(gt_column *list, double value)
{
    size_t item = push_item(list, GT_TYPE_FLOAT); /* first: it may move the array */
    list->items->floats[item] = value;
}

void gt_list_push_string(gt_column *list, uint32_t id)
{
    size_t item = push_item(list, GT_TYPE_STRING); /* first: it may move the array */
    list->items->texts[item] = id;
}

void gt_list_push_bool(gt_column *list, bool value)
{
    size_t item = push_item(list, GT_TYPE_BOOL); /* first: it may move the array */
    list->items->bools[item] = value;
}

void gt_list_push_null(gt_column *list)
{
    if (list->items->type == GT_TYPE_LIST)
        gt_list_push_list(list);
    else
        push_item(list, list->items->type);
    gt_column_set_null(list->items, list->list_ends[list->list_cells - 1] - 1);
}

gt_column *gt_list_push_list(gt_column *list)
{
    gt_list_begin(list->items, push_item(list, GT_TYPE_LIST));
    return list->items;
}

/* ---- late tables ----
 *
 * Late tables: rows that are made when they are needed (gt_row_source of table.h), and tables in parts. */

void gt_table_set_source(gt_table *table, size_t rows, gt_row_source source)
{
    gt_table_drop_source(table);
    for (size_t c = 0; c < table->column_count; c++) {
        gt_column *column = &table->columns[c], bare;
        gt_column_init(&bare, column->name, column->type);
        gt_column_free(column);
        *column = bare;
    }
    table->source = gt_alloc(sizeof *table->source);
    *table->source = source;
    table->row_count = rows;
}

void gt_table_drop_source(gt_table *table)
{
    gt_row_source *source = table->source;
    if (!source) return;
    table->source = NULL;
    table->row_count = 0;
    source->free(source->context);
    gt_free(source);
}

gt_table *gt_table_new_part(const gt_table *table, size_t rows)
{
    gt_table *part = gt_table_new(gt_sheet_named(table->name), table->strings);
    for (size_t c = 0; c < table->column_count; c++)
        gt_table_add_column(part, gt_col_named(table->columns[c].name), table->columns[c].type);
    gt_table_add_rows(part, rows);
    return part;
}

void gt_table_read_part(const gt_table *table, size_t begin, size_t end, gt_table *part)
{
    part->row_count = end - begin;
    table->source->read(table->source->context, begin, end, part, 0);
}

static void make_range(void *context, size_t begin, size_t end)
{
    gt_table *table = context;
    table->source->read(table->source->context, begin, end, table, begin);
}

/* Rows below which a range is not worth a thread. */
#define MAKE_GRAIN GT_GRAIN((size_t)16384)

void gt_table_make_rows(gt_table *table)
{
    if (!table->source) return;
    for (size_t c = 0; c < table->column_count; c++) gt_column_reserve(&table->columns[c], table->row_count);
    gt_parallel_ranges(table->row_count, MAKE_GRAIN, make_range, table);
    size_t rows = table->row_count;
    gt_table_drop_source(table);
    table->row_count = rows;
}
