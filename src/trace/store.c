/* The event store.
 *
 * A writer collects GT_SEGMENT_ROWS events as plain 8-byte cells, few enough to stay in the cache. A full
 * segment is packed column by column into as few bytes as its values need, and the cells are used again.
 * Stores of a few events with many columns are common, so room for cells is made as it is needed. */
#include "trace/store_parts.h"

#include "base/raise.h"
#include "trace/rows.h"

struct gt_store_writer {
    const gt_store_column *columns;
    size_t column_count;
    gt_interner *strings;
    gt_store_piece *piece;
    size_t rows;        /* in the open segment */
    size_t capacity;    /* rows for which there is room, at most GT_SEGMENT_ROWS */
    uint64_t present;   /* bit c: column c has a value in it */
    uint64_t opened;    /* bit c: cells[c] exists */
    int64_t *positions; /* `capacity` of them */
    int64_t *cells[];   /* by column; `capacity` each; times as their bits */
};

/* ---- writing ---- */

static int64_t absent_cell(const gt_store_column *column)
{
    switch (column->type) {
    case GT_STORE_INT:
        return column->absent;
    case GT_STORE_TIME:
        return gt_bits_of_double((double)NAN);
    default:
        return GT_STR_NONE;
    }
}

static void fill_absent(gt_store_writer *w, size_t column, size_t from, size_t to)
{
    int64_t value = absent_cell(&w->columns[column]), *cells = w->cells[column];
    for (size_t i = from; i < to; i++) cells[i] = value;
}

gt_store_writer *gt_store_writer_new(const gt_store_column *columns, size_t column_count,
                                     gt_interner *strings)
{
    gt_store_writer *w = gt_alloc_zero(1, sizeof *w + column_count * sizeof *w->cells);
    w->columns = columns;
    w->column_count = column_count;
    w->strings = strings;
    w->piece = gt_alloc_zero(1, sizeof *w->piece);
    return w;
}

/* Room for a few rows, then for all. Growing in more steps would leave as much free memory behind as the
 * cells need in the end. */
static void add_room(gt_store_writer *w)
{
    enum { FIRST_ROWS = 32 };
    size_t before = w->capacity;
    w->capacity = before ? GT_SEGMENT_ROWS : FIRST_ROWS;
    w->positions = gt_realloc(w->positions, w->capacity * sizeof *w->positions);
    for (uint64_t columns = w->opened; columns; columns &= columns - 1) {
        size_t c = (size_t)__builtin_ctzll(columns);
        w->cells[c] = gt_realloc(w->cells[c], w->capacity * sizeof **w->cells);
        fill_absent(w, c, before, w->capacity);
    }
}

/* Makes room for columns that get their first value: many columns of a format never have one. */
static void open_columns(gt_store_writer *w, uint64_t columns)
{
    w->opened |= columns;
    for (; columns; columns &= columns - 1) {
        size_t c = (size_t)__builtin_ctzll(columns);
        w->cells[c] = gt_alloc(w->capacity * sizeof **w->cells);
        fill_absent(w, c, 0, w->capacity);
    }
}

void gt_store_writer_free(gt_store_writer *w)
{
    if (!w) return;
    gt_store_piece_free(w->piece);
    for (size_t c = 0; c < w->column_count; c++) gt_free(w->cells[c]);
    gt_free_all(w->positions, w);
}

/* Packs the open segment and starts the next one. Columns without a value in the segment are not looked at:
 * most columns of most segments are empty. */
static void close_segment(gt_store_writer *w)
{
    if (!w->rows) return;
    gt_segment *s = gt_alloc_zero(1, sizeof *s + w->column_count * sizeof *s->columns);
    s->rows = (uint32_t)w->rows;
    s->strings = w->strings;
    uint32_t bytes = 0;
    for (size_t c = 0; c < w->column_count; c++) {
        gt_packed *p = &s->columns[c];
        if (w->present >> c & 1)
            *p = gt_plan_packing(w->cells[c], w->rows, w->columns[c].type);
        else
            p->base = absent_cell(&w->columns[c]);
        p->start = bytes;
        bytes += (uint32_t)(p->width * w->rows);
    }
    s->positions = gt_plan_packing(w->positions, w->rows, GT_STORE_INT);
    s->positions.start = bytes;
    s->bytes = bytes + (uint32_t)(s->positions.width * w->rows);
    s->data = gt_alloc(s->bytes);
    s->owns_data = true;
    gt_pack(&s->positions, w->positions, w->rows, s->data);
    for (size_t c = 0; c < w->column_count; c++) {
        if (!(w->present >> c & 1)) continue;
        const gt_packed *p = &s->columns[c];
        gt_pack(p, w->cells[c], w->rows, s->data);
        fill_absent(w, c, 0, w->rows);
    }
    GT_PUSH(w->piece->segments, w->piece->count, w->piece->capacity, s);
    w->piece->rows += w->rows;
    w->rows = 0;
    w->present = 0;
}

void gt_store_writer_add(gt_store_writer *w, uint64_t present, const gt_store_cell *cells)
{
    if (w->rows == w->capacity) add_room(w);
    size_t row = w->rows++;
    w->positions[row] = (int64_t)(w->piece->records++ - row);
    w->present |= present;
    if (present & ~w->opened) open_columns(w, present & ~w->opened);
    for (; present; present &= present - 1) {
        int c = __builtin_ctzll(present);
        w->cells[c][row] = cells[c].integer;
    }
    if (w->rows == GT_SEGMENT_ROWS) close_segment(w);
}

void gt_store_writer_skip(gt_store_writer *w, size_t count)
{
    w->piece->records += count;
}

gt_store_piece *gt_store_writer_take(gt_store_writer *w)
{
    close_segment(w);
    gt_store_piece *piece = w->piece;
    w->piece = gt_alloc_zero(1, sizeof *piece);
    return piece;
}

void gt_segment_free_data(gt_segment *s)
{
    if (s->owns_data) gt_free(s->data);
    s->data = NULL;
    s->owns_data = false;
}

static void free_segments(gt_store_piece *piece)
{
    for (size_t i = 0; i < piece->count; i++) {
        gt_segment_free_data(piece->segments[i]);
        gt_free(piece->segments[i]);
    }
    gt_free(piece->segments);
}

void gt_store_piece_free(gt_store_piece *piece)
{
    if (!piece) return;
    free_segments(piece);
    gt_free(piece);
}

size_t gt_store_piece_records(const gt_store_piece *piece)
{
    return piece->records;
}

/* Packs a column of a segment again, at the end of its data if it needs more room than before. */
static void repack(gt_segment *s, gt_packed *p, int64_t *cells, gt_store_type type)
{
    uint32_t start = p->start, width = p->width;
    if (!s->owns_data && s->bytes) gt_raise_internal("a column of a loaded store is packed again");
    *p = gt_plan_packing(cells, s->rows, type);
    p->start = start;
    if (p->width > width) {
        p->start = s->bytes;
        s->bytes += (uint32_t)p->width * s->rows;
        s->data = gt_realloc(s->owns_data ? s->data : NULL, s->bytes);
        s->owns_data = true;
    }
    gt_pack(p, cells, s->rows, s->data);
}

void gt_store_piece_replace(gt_store_piece *piece, size_t column, int64_t base, const int64_t *values,
                            size_t count)
{
    int64_t cells[GT_SEGMENT_ROWS];
    for (size_t i = 0; i < piece->count; i++) {
        gt_segment *s = piece->segments[i];
        gt_packed *p = &s->columns[column];
        bool changed = false;
        gt_unpack(p, s->data, s->rows, cells);
        for (size_t row = 0; row < s->rows; row++) {
            uint64_t number = (uint64_t)cells[row] - (uint64_t)base;
            if (number >= count) continue;
            cells[row] = values[number];
            changed = true;
        }
        if (changed) repack(s, p, cells, GT_STORE_INT);
    }
}

/* ---- the store ---- */

gt_store *gt_store_new(const gt_store_column *columns, size_t column_count, gt_interner *strings)
{
    gt_store *store = gt_alloc_zero(1, sizeof *store);
    store->columns = gt_alloc(column_count * sizeof *columns);
    if (column_count) memcpy(store->columns, columns, column_count * sizeof *columns);
    store->column_count = column_count;
    store->strings = strings;
    return store;
}

void gt_store_free(gt_store *store)
{
    if (!store) return;
    free_segments(&store->all);
    gt_free(store->segment_of_block);
    for (size_t i = 0; i < store->adopted_count; i++) gt_free(store->adopted[i].ids);
    gt_free_all(store->adopted, store->columns, store);
}

/* A segment has at most GT_SEGMENT_ROWS rows, so at most one block begins in it. */
void gt_store_add_segment(gt_store *store, gt_segment *s)
{
    s->first_row = store->all.rows;
    store->all.rows += s->rows;
    if (store->block_count * GT_SEGMENT_ROWS < store->all.rows)
        GT_PUSH(store->segment_of_block, store->block_count, store->block_capacity,
                (uint32_t)store->all.count);
    GT_PUSH(store->all.segments, store->all.count, store->all.capacity, s);
}

void gt_store_append(gt_store *store, gt_store_piece *piece)
{
    for (size_t i = 0; i < piece->count; i++) {
        piece->segments[i]->first_position = store->all.records;
        gt_store_add_segment(store, piece->segments[i]);
    }
    store->all.records += piece->records;
    gt_free_all(piece->segments, piece);
}

/* From the ids of `strings` to those of `to`; the caller frees them. */
static uint32_t *add_strings(gt_interner *to, const gt_interner *strings)
{
    uint32_t count = gt_interner_count(strings);
    uint32_t *ids = gt_alloc(count * sizeof *ids);
    ids[GT_STR_NONE] = GT_STR_NONE;
    for (uint32_t id = 1; id < count; id++) {
        gt_str text = gt_interner_get(strings, id);
        ids[id] = gt_interner_add(to, text.bytes, text.len);
    }
    return ids;
}

/* Takes the ids over. */
static void adopt_ids(gt_store *store, const gt_interner *strings, uint32_t *ids)
{
    gt_adopted_strings from = {strings, ids, gt_interner_count(strings)};
    GT_PUSH(store->adopted, store->adopted_count, store->adopted_capacity, from);
    for (size_t i = 0; i < store->all.count; i++) {
        gt_segment *s = store->all.segments[i];
        if (s->strings != strings) continue;
        s->string_ids = from.ids;
        s->strings = store->strings;
    }
}

void gt_store_adopt_strings(gt_store *store, const gt_interner *strings)
{
    adopt_ids(store, strings, add_strings(store->strings, strings));
}

/* ---- strings of several threads ----
 *
 * Threads that read the same file have mostly the same strings. Those of the first are added; then all others
 * are looked up at the same time, and only those that are missing are added, in order. */

typedef struct string_lists {
    const gt_interner *to;
    const gt_interner *const *lists;
    uint32_t **ids;
} string_lists;

static void find_strings(void *context, size_t index)
{
    const string_lists *s = context;
    const gt_interner *list = s->lists[index];
    uint32_t count = gt_interner_count(list), *ids = s->ids[index];
    ids[GT_STR_NONE] = GT_STR_NONE;
    for (uint32_t id = 1; id < count; id++) {
        gt_str text = gt_interner_get(list, id);
        ids[id] = gt_interner_find(s->to, text.bytes, text.len);
    }
}

static void add_missing_strings(gt_interner *to, const gt_interner *list, uint32_t *ids)
{
    uint32_t count = gt_interner_count(list);
    for (uint32_t id = 1; id < count; id++) {
        if (ids[id] != GT_STR_NONE) continue;
        gt_str text = gt_interner_get(list, id);
        ids[id] = gt_interner_add(to, text.bytes, text.len);
    }
}

void gt_stores_adopt_strings(gt_store *const *stores, size_t count, const gt_interner *const *lists,
                             size_t list_count)
{
    if (!list_count) return;
    gt_interner *to = stores[0]->strings;
    uint32_t **ids = gt_alloc(list_count * sizeof *ids);
    ids[0] = add_strings(to, lists[0]);
    for (size_t i = 1; i < list_count; i++) ids[i] = gt_alloc(gt_interner_count(lists[i]) * sizeof **ids);
    string_lists others = {to, lists + 1, ids + 1};
    gt_parallel_each(list_count - 1, find_strings, &others);
    for (size_t i = 1; i < list_count; i++) add_missing_strings(to, lists[i], ids[i]);
    for (size_t i = 0; i < list_count; i++) {
        size_t bytes = gt_interner_count(lists[i]) * sizeof **ids;
        for (size_t k = 1; k < count; k++)
            adopt_ids(stores[k], lists[i], memcpy(gt_alloc(bytes), ids[i], bytes));
        adopt_ids(stores[0], lists[i], ids[i]);
    }
    gt_free(ids);
}

size_t gt_store_count(const gt_store *store)
{
    return store->all.rows;
}

void gt_store_set_base_time(gt_store *store, int64_t ns)
{
    store->base_time = (gt_base_time){true, ns};
}

gt_base_time gt_store_base_time(const gt_store *store)
{
    return store->base_time;
}

size_t gt_store_records(const gt_store *store)
{
    return store->all.records;
}

gt_interner *gt_store_strings(const gt_store *store)
{
    return store->strings;
}

void gt_store_use_strings(gt_store *store, gt_interner *strings)
{
    store->strings = strings;
}

size_t gt_store_bytes(const gt_store *store)
{
    size_t bytes = 0;
    for (size_t i = 0; i < store->all.count; i++) {
        const gt_segment *s = store->all.segments[i];
        bytes += sizeof *s + store->column_count * sizeof *s->columns + s->bytes;
    }
    return bytes;
}

void gt_store_writer_sort(gt_store_writer *w, const double *keys)
{
    gt_store *held = gt_store_new(w->columns, w->column_count, w->strings);
    gt_store_append(held, gt_store_writer_take(w));
    size_t count = gt_store_count(held);
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    for (size_t i = 0; i < count; i++) rows[i] = (uint32_t)i;
    gt_order_rows(rows, count, keys);
    gt_store_cell cells[GT_STORE_MAX_COLUMNS];
    for (size_t i = 0; i < count; i++) {
        gt_store_get(held, rows[i], cells);
        gt_store_writer_add(w, UINT64_MAX >> (64 - w->column_count), cells);
    }
    gt_free(rows);
    gt_store_free(held);
}

/* ---- dropped and late columns ---- */

typedef struct column_drop {
    gt_store *store;
    uint64_t columns;
} column_drop;

/* Moves the bytes of a column to a new place. */
static void move_column(gt_packed *p, const gt_segment *s, uint8_t *data, uint32_t *bytes)
{
    uint32_t size = p->width * s->rows;
    memcpy(data + *bytes, s->data + p->start, size);
    p->start = *bytes;
    *bytes += size;
}

static void drop_from_segments(void *context, size_t begin, size_t end)
{
    const column_drop *drop = context;
    const gt_store *store = drop->store;
    for (size_t i = begin; i < end; i++) {
        gt_segment *s = store->all.segments[i];
        uint32_t bytes = 0, left = s->bytes;
        for (size_t c = 0; c < store->column_count; c++)
            if (drop->columns >> c & 1) left -= s->columns[c].width * s->rows;
        uint8_t *data = s->owns_data ? gt_alloc(left) : NULL;
        for (size_t c = 0; c < store->column_count; c++)
            if (drop->columns >> c & 1)
                s->columns[c] = (gt_packed){.base = absent_cell(&store->columns[c])};
            else if (data)
                move_column(&s->columns[c], s, data, &bytes);
        if (!data) continue; /* an image has the data: it takes no memory of ours */
        move_column(&s->positions, s, data, &bytes);
        gt_free(s->data);
        s->data = data;
        s->bytes = bytes;
    }
}

void gt_store_drop_columns(gt_store *store, uint64_t columns)
{
    column_drop drop = {store, columns};
    gt_parallel_ranges(store->all.count, GT_STORE_GRAIN, drop_from_segments, &drop);
}

void gt_store_release(gt_store *store)
{
    store->is_taken = true;
    for (size_t i = 0; i < store->all.count; i++) gt_segment_free_data(store->all.segments[i]);
}

void gt_store_fill_times(gt_store *store, size_t column, const double *times)
{
    int64_t cells[GT_SEGMENT_ROWS];
    for (size_t i = 0; i < store->all.count; i++) {
        gt_segment *s = store->all.segments[i];
        gt_packed *p = &s->columns[column];
        for (size_t row = 0; row < s->rows; row++) cells[row] = gt_bits_of_double(*times++);
        repack(s, p, cells, GT_STORE_TIME);
    }
}
