/* Tables as one sequence of bytes: per table its name and counts, then its columns, each with a head, its
 * names and its arrays. A LIST column is followed by the column of its elements. */
#include "table/image.h"

enum { MAX_DEPTH = 8 }; /* of lists in lists */

typedef struct table_head {
    uint64_t rows, columns;
    uint32_t name; /* string id, like all names here */
    uint32_t foreign;
} table_head;

typedef struct column_head {
    uint64_t rows;
    uint32_t name, over, under; /* GT_STR_NONE: none */
    uint8_t type, has_nulls, has_shown, as_tuple, widened, hidden, unused[6];
} column_head;

static const size_t cell_sizes[] = {
    [GT_TYPE_INT] = sizeof(int64_t),  [GT_TYPE_FLOAT] = sizeof(double),  [GT_TYPE_STRING] = sizeof(uint32_t),
    [GT_TYPE_BOOL] = sizeof(uint8_t), [GT_TYPE_LIST] = sizeof(uint64_t),
};

/* ---- saving ---- */

static uint32_t add_name(gt_interner *strings, const char *name)
{
    return name ? gt_interner_add_cstr(strings, name) : GT_STR_NONE;
}

static void save_texts(const gt_column *column, size_t rows, const gt_interner *from, gt_interner *to,
                       gt_buffer *out)
{
    uint32_t last = GT_STR_NONE, moved = GT_STR_NONE;
    for (size_t row = 0; row < rows; row++) {
        uint32_t id = column->texts[row];
        if (id != last) {
            gt_str text = gt_interner_get(from, id);
            moved = id == GT_STR_NONE ? GT_STR_NONE : gt_interner_add(to, text.bytes, text.len);
            last = id;
        }
        gt_buffer_add(out, &moved, sizeof moved);
    }
}

/* The ends of null cells after the last cell begun may be old ones. Returns the number of elements. */
static size_t save_ends(const gt_column *column, size_t rows, gt_buffer *out)
{
    uint64_t end = 0;
    for (size_t row = 0; row < rows; row++) {
        if (column->list_ends[row] > end) end = column->list_ends[row];
        gt_buffer_add(out, &end, sizeof end);
    }
    return (size_t)end;
}

static void save_column(const gt_column *column, size_t rows, const gt_interner *from, gt_interner *to,
                        gt_buffer *out)
{
    column_head head = {.rows = rows,
                        .name = add_name(to, column->name),
                        .over = add_name(to, column->over),
                        .under = add_name(to, column->under),
                        .type = (uint8_t)column->type,
                        .has_nulls = column->nulls != NULL,
                        .has_shown = column->shown != NULL,
                        .as_tuple = column->items_as_tuple,
                        .widened = column->widened,
                        .hidden = column->hidden};
    gt_buffer_add(out, &head, sizeof head);
    size_t items = 0;
    if (column->type == GT_TYPE_STRING)
        save_texts(column, rows, from, to, out);
    else if (column->type == GT_TYPE_LIST)
        items = save_ends(column, rows, out);
    else if (rows)
        gt_buffer_add(out, column->ints, rows * cell_sizes[column->type]);
    if (column->nulls) gt_buffer_add(out, column->nulls, rows);
    if (column->shown) gt_buffer_add(out, column->shown, rows);
    if (column->type == GT_TYPE_LIST) save_column(column->items, items, from, to, out);
}

void gt_tables_save(gt_table *const *tables, size_t count, gt_interner *strings, gt_image *image)
{
    gt_buffer out = {0};
    for (size_t i = 0; i < count; i++) {
        const gt_table *table = tables[i];
        table_head head = {.rows = table->row_count,
                           .columns = table->column_count,
                           .name = add_name(strings, table->name),
                           .foreign = table->is_foreign};
        gt_buffer_add(&out, &head, sizeof head);
        for (size_t c = 0; c < table->column_count; c++)
            save_column(&table->columns[c], table->row_count, table->strings, strings, &out);
    }
    gt_image_give(image, "tables", "cells", out.bytes, out.len);
}

/* ---- loading ---- */

typedef struct cursor {
    const char *at;
    size_t left;
    gt_interner *strings;
} cursor;

/* The next bytes; NULL if there are not that many items of this size. */
static const void *take(cursor *from, uint64_t count, size_t size)
{
    if (count > from->left / size) return NULL;
    const void *bytes = from->at;
    from->at += count * size;
    from->left -= (size_t)count * size;
    return bytes;
}

static bool is_id(const cursor *from, uint32_t id)
{
    return id < gt_interner_count(from->strings);
}

static char *name_of(const cursor *from, uint32_t id)
{
    return id == GT_STR_NONE ? NULL : gt_strdup(gt_interner_get(from->strings, id).bytes);
}

static bool are_below(const uint8_t *bytes, size_t count, uint8_t limit)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] >= limit) return false;
    return true;
}

/* Copies a byte array whose values are below `limit`. NULL if they are not, or if there are fewer. */
static uint8_t *take_marks(cursor *from, size_t rows, uint8_t limit)
{
    const uint8_t *bytes = take(from, rows, 1);
    if (!bytes || !are_below(bytes, rows, limit)) return NULL;
    uint8_t *copy = gt_alloc_zero(rows + 1, 1);
    memcpy(copy, bytes, rows);
    return copy;
}

/* Whether cells are valid: ids that exist, ends that ascend, 0 or 1 for BOOL. */
static bool cells_are_sound(const cursor *from, const gt_column *column, size_t rows)
{
    if (column->type == GT_TYPE_BOOL) return are_below(column->bools, rows, 2);
    for (size_t row = 0; column->type == GT_TYPE_STRING && row < rows; row++)
        if (!is_id(from, column->texts[row])) return false;
    for (size_t row = 1; column->type == GT_TYPE_LIST && row < rows; row++)
        if (column->list_ends[row] < column->list_ends[row - 1]) return false;
    return true;
}

/* Fills a column that gt_column_init has not seen yet. The caller frees it in any case. */
static bool load_column(cursor *from, gt_column *column, uint64_t rows, unsigned depth)
{
    column_head head;
    const void *bytes = take(from, 1, sizeof head);
    *column = (gt_column){0};
    if (!bytes) return false;
    memcpy(&head, bytes, sizeof head);
    if (head.type > GT_TYPE_LIST || head.rows != rows || !is_id(from, head.name) || !is_id(from, head.over) ||
        !is_id(from, head.under) || depth > MAX_DEPTH)
        return false;
    const void *cells = take(from, rows, cell_sizes[head.type]);
    if (!cells) return false;
    *column = (gt_column){.name = name_of(from, head.name),
                          .type = (gt_type)head.type,
                          .capacity = (size_t)rows,
                          .items_as_tuple = head.as_tuple != 0,
                          .widened = head.widened != 0,
                          .hidden = head.hidden != 0,
                          .over = name_of(from, head.over),
                          .under = name_of(from, head.under)};
    column->ints = rows ? gt_alloc((size_t)rows * cell_sizes[head.type]) : NULL;
    if (rows) memcpy(column->ints, cells, (size_t)rows * cell_sizes[head.type]);
    if (!cells_are_sound(from, column, (size_t)rows)) return false;
    if (head.has_nulls && !(column->nulls = take_marks(from, (size_t)rows, 2))) return false;
    if (head.has_shown && !(column->shown = take_marks(from, (size_t)rows, GT_SHOWN_NULL + 1))) return false;
    if (head.type != GT_TYPE_LIST) return true;
    column->list_cells = (size_t)rows;
    column->items = gt_alloc_zero(1, sizeof *column->items);
    return load_column(from, column->items, rows ? column->list_ends[rows - 1] : 0, depth + 1);
}

static gt_table *load_table(cursor *from)
{
    table_head head;
    const void *bytes = take(from, 1, sizeof head);
    if (!bytes) return NULL;
    memcpy(&head, bytes, sizeof head);
    if (!is_id(from, head.name) || head.name == GT_STR_NONE ||
        head.columns > from->left / sizeof(column_head) || (!head.columns && head.rows))
        return NULL;
    gt_table *table =
        gt_table_new(gt_sheet_named(gt_interner_get(from->strings, head.name).bytes), from->strings);
    table->is_foreign = head.foreign != 0;
    table->row_count = (size_t)head.rows;
    table->columns = gt_alloc_zero((size_t)head.columns, sizeof *table->columns);
    table->column_capacity = (size_t)head.columns;
    bool sound = true;
    while (sound && table->column_count < head.columns) {
        gt_column *column = &table->columns[table->column_count++];
        sound = load_column(from, column, head.rows, 0) && column->name;
    }
    if (sound) return table;
    gt_table_free(table);
    return NULL;
}

bool gt_tables_load(const gt_image *image, gt_interner *strings, void (*add)(void *context, gt_table *table),
                    void *context)
{
    cursor from = {.strings = strings};
    from.at = gt_image_get(image, "tables", "cells", 1, &from.left);
    if (!from.at) return false;
    while (from.left) {
        gt_table *table = load_table(&from);
        if (!table) return false;
        add(context, table);
    }
    return true;
}
