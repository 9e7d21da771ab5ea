/* The event store. A writer fills a segment of GT_SEGMENT_ROWS events as plain 8-byte cells that stay in the
 * cache; a full one is gt_packed column by column into just as many bytes as its values need and the cells
 * are used again. */
#include "trace/store.h"
#include "base/memory.h"
#include "trace/order.h"
#include "trace/packed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct segment {
    uint32_t rows;
    uint64_t first_row;         /* in the store */
    uint64_t first_place;       /* of the piece in the store; what `places` adds to */
    gt_packed places;           /* each event's place in its piece, less its row */
    const gt_interner *strings; /* whose ids its texts are */
    const uint32_t *text_ids;   /* from those ids to the store's; NULL where they are the same */
    uint8_t *data;
    uint32_t bytes; /* of data */
    gt_packed columns[];
} segment;

struct gt_store_piece {
    segment **segments;
    size_t count, capacity, rows;
    size_t records; /* rows and events passed */
};

typedef struct adopted {
    const gt_interner *strings;
    uint32_t *ids;
} adopted;

struct gt_store {
    gt_store_column *columns;
    size_t column_count;
    gt_interner *strings;
    gt_store_piece all;
    adopted *adopted;
    size_t adopted_count, adopted_capacity;
};

struct gt_store_writer {
    const gt_store_column *columns;
    size_t column_count;
    gt_interner *strings;
    gt_store_piece *piece;
    size_t rows;      /* in the open segment */
    uint64_t present; /* columns that have a value in it */
    int64_t *places;  /* GT_SEGMENT_ROWS */
    int64_t *cells[]; /* by column; GT_SEGMENT_ROWS each; times as their bits */
};

/* ---- writing ---- */

static int64_t absent_cell(const gt_store_column *column)
{
    switch (column->type) {
    case GT_STORE_INT:
        return column->absent;
    case GT_STORE_TIME:
        return gt_time_bits((double)NAN);
    default:
        return GT_STR_NONE;
    }
}

static void fill_absent(gt_store_writer *w, size_t column, size_t rows)
{
    int64_t value = absent_cell(&w->columns[column]), *cells = w->cells[column];
    for (size_t i = 0; i < rows; i++) cells[i] = value;
}

gt_store_writer *gt_store_writer_new(const gt_store_column *columns, size_t column_count,
                                     gt_interner *strings)
{
    gt_store_writer *w = gt_alloc_zero(1, sizeof *w + column_count * sizeof *w->cells);
    w->columns = columns;
    w->column_count = column_count;
    w->strings = strings;
    w->piece = gt_alloc_zero(1, sizeof *w->piece);
    w->places = gt_alloc(GT_SEGMENT_ROWS * sizeof *w->places);
    for (size_t c = 0; c < column_count; c++) {
        w->cells[c] = gt_alloc(GT_SEGMENT_ROWS * sizeof **w->cells);
        fill_absent(w, c, GT_SEGMENT_ROWS);
    }
    return w;
}

void gt_store_writer_free(gt_store_writer *w)
{
    if (!w) return;
    gt_store_piece_free(w->piece);
    for (size_t c = 0; c < w->column_count; c++) gt_free(w->cells[c]);
    gt_free(w->places);
    gt_free(w);
}

/* Packs the open segment and begins the next. */
static void close_segment(gt_store_writer *w)
{
    if (!w->rows) return;
    segment *s = gt_alloc_zero(1, sizeof *s + w->column_count * sizeof *s->columns);
    s->rows = (uint32_t)w->rows;
    s->strings = w->strings;
    uint32_t bytes = 0;
    for (size_t c = 0; c < w->column_count; c++) {
        gt_packed *p = &s->columns[c];
        if (w->present >> c & 1)
            *p = gt_pack_plan(w->cells[c], w->rows, w->columns[c].type);
        else
            p->base = absent_cell(&w->columns[c]);
        p->start = bytes;
        bytes += (uint32_t)(p->width * w->rows);
    }
    s->places = gt_pack_plan(w->places, w->rows, GT_STORE_INT);
    s->places.start = bytes;
    s->bytes = bytes + (uint32_t)(s->places.width * w->rows);
    s->data = gt_alloc(s->bytes);
    gt_pack(&s->places, w->places, w->rows, s->data);
    for (size_t c = 0; c < w->column_count; c++) {
        if (!(w->present >> c & 1)) continue;
        const gt_packed *p = &s->columns[c];
        gt_pack(p, w->cells[c], w->rows, s->data);
        fill_absent(w, c, w->rows);
    }
    GT_PUSH(w->piece->segments, w->piece->count, w->piece->capacity, s);
    w->piece->rows += w->rows;
    w->rows = 0;
    w->present = 0;
}

void gt_store_writer_add(gt_store_writer *w, uint64_t present, const gt_store_cell *cells)
{
    size_t row = w->rows++;
    w->places[row] = (int64_t)(w->piece->records++ - row);
    w->present |= present;
    for (; present; present &= present - 1) {
        int c = __builtin_ctzll(present);
        w->cells[c][row] = cells[c].integer;
    }
    if (w->rows == GT_SEGMENT_ROWS) close_segment(w);
}

void gt_store_writer_pass(gt_store_writer *w)
{
    w->piece->records++;
}

gt_store_piece *gt_store_writer_take(gt_store_writer *w)
{
    close_segment(w);
    gt_store_piece *piece = w->piece;
    w->piece = gt_alloc_zero(1, sizeof *piece);
    return piece;
}

static void free_segments(gt_store_piece *piece)
{
    for (size_t i = 0; i < piece->count; i++) {
        gt_free(piece->segments[i]->data);
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
    for (size_t i = 0; i < store->adopted_count; i++) gt_free(store->adopted[i].ids);
    gt_free(store->adopted);
    gt_free(store->columns);
    gt_free(store);
}

void gt_store_append(gt_store *store, gt_store_piece *piece)
{
    for (size_t i = 0; i < piece->count; i++) {
        piece->segments[i]->first_place = store->all.records;
        piece->segments[i]->first_row = store->all.rows;
        store->all.rows += piece->segments[i]->rows;
        GT_PUSH(store->all.segments, store->all.count, store->all.capacity, piece->segments[i]);
    }
    store->all.records += piece->records;
    gt_free(piece->segments);
    gt_free(piece);
}

void gt_store_adopt_strings(gt_store *store, const gt_interner *strings)
{
    uint32_t count = gt_interner_count(strings);
    adopted from = {strings, gt_alloc(count * sizeof *from.ids)};
    from.ids[GT_STR_NONE] = GT_STR_NONE;
    for (uint32_t id = 1; id < count; id++) {
        gt_str text = gt_interner_get(strings, id);
        from.ids[id] = gt_interner_add(store->strings, text.bytes, text.len);
    }
    GT_PUSH(store->adopted, store->adopted_count, store->adopted_capacity, from);
    for (size_t i = 0; i < store->all.count; i++) {
        segment *s = store->all.segments[i];
        if (s->strings != strings) continue;
        s->text_ids = from.ids;
        s->strings = store->strings;
    }
}

size_t gt_store_count(const gt_store *store)
{
    return store->all.rows;
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
        const segment *s = store->all.segments[i];
        bytes += sizeof *s + store->column_count * sizeof *s->columns + s->bytes;
    }
    return bytes;
}

uint32_t *gt_store_row_order(const gt_store *store)
{
    uint32_t *places = gt_alloc(store->all.rows * sizeof *places), *next = places;
    int64_t cells[GT_SEGMENT_ROWS];
    for (size_t i = 0; i < store->all.count; i++) {
        const segment *s = store->all.segments[i];
        gt_unpack(&s->places, s->data, s->rows, cells);
        for (size_t row = 0; row < s->rows; row++)
            *next++ = (uint32_t)(s->first_place + (uint64_t)cells[row] + row);
    }
    return places;
}

int64_t *gt_store_ints(const gt_store *store, size_t column)
{
    int64_t *values = gt_alloc(store->all.rows * sizeof *values), *next = values;
    for (size_t i = 0; i < store->all.count; i++) {
        const segment *s = store->all.segments[i];
        gt_unpack(&s->columns[column], s->data, s->rows, next);
        next += s->rows;
    }
    return values;
}

uint32_t *gt_store_string_ids(const gt_store *store, size_t column)
{
    uint32_t *ids = gt_alloc(store->all.rows * sizeof *ids), *next = ids;
    int64_t cells[GT_SEGMENT_ROWS];
    for (size_t i = 0; i < store->all.count; i++) {
        const segment *s = store->all.segments[i];
        gt_unpack(&s->columns[column], s->data, s->rows, cells);
        for (size_t row = 0; row < s->rows; row++)
            *next++ = s->text_ids ? s->text_ids[cells[row]] : (uint32_t)cells[row];
    }
    return ids;
}

double *gt_store_times(const gt_store *store, size_t column)
{
    double *times = gt_alloc(store->all.rows * sizeof *times), *next = times;
    int64_t cells[GT_SEGMENT_ROWS];
    for (size_t i = 0; i < store->all.count; i++) {
        const segment *s = store->all.segments[i];
        const gt_packed *p = &s->columns[column];
        gt_unpack(p, s->data, s->rows, cells);
        for (size_t row = 0; row < s->rows; row++) {
            if (!p->thousandths)
                *next++ = gt_bits_time(cells[row]);
            else
                *next++ = gt_packed_time(p, cells[row]);
        }
    }
    return times;
}

/* ---- event by event ---- */

struct gt_store_scan {
    const gt_store *store;
    size_t next_segment, rows, row;
    int64_t *cells; /* GT_SEGMENT_ROWS of each column, of the segment in hand; times as their bits */
};

gt_store_scan *gt_store_scan_new(const gt_store *store)
{
    gt_store_scan *scan = gt_alloc_zero(1, sizeof *scan);
    scan->store = store;
    scan->cells = gt_alloc(store->column_count * GT_SEGMENT_ROWS * sizeof *scan->cells);
    return scan;
}

/* Turns unpacked cells of a column into what a caller is given; times as their bits. */
static void finish_cells(const gt_store *store, const segment *s, size_t column, int64_t *cells, size_t rows)
{
    const gt_packed *p = &s->columns[column];
    if (store->columns[column].type == GT_STORE_STRING && s->text_ids)
        for (size_t row = 0; row < rows; row++) cells[row] = s->text_ids[cells[row]];
    if (p->thousandths)
        for (size_t row = 0; row < rows; row++) cells[row] = gt_time_bits(gt_packed_time(p, cells[row]));
}

static void load_segment(gt_store_scan *scan)
{
    const gt_store *store = scan->store;
    const segment *s = store->all.segments[scan->next_segment++];
    for (size_t c = 0; c < store->column_count; c++) {
        int64_t *cells = scan->cells + c * GT_SEGMENT_ROWS;
        gt_unpack(&s->columns[c], s->data, s->rows, cells);
        finish_cells(store, s, c, cells, s->rows);
    }
    scan->rows = s->rows;
    scan->row = 0;
}

bool gt_store_scan_next(gt_store_scan *scan, gt_store_cell *cells)
{
    while (scan->row == scan->rows) {
        if (scan->next_segment == scan->store->all.count) return false;
        load_segment(scan);
    }
    for (size_t c = 0; c < scan->store->column_count; c++)
        cells[c].integer = scan->cells[c * GT_SEGMENT_ROWS + scan->row];
    scan->row++;
    return true;
}

void gt_store_scan_free(gt_store_scan *scan)
{
    gt_free(scan->cells);
    gt_free(scan);
}

/* ---- one event ---- */

static const segment *segment_of(const gt_store *store, size_t row)
{
    size_t low = 0, high = store->all.count; /* the last segment that begins at the row or before is there */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (store->all.segments[middle]->first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return store->all.segments[low];
}

void gt_store_get(const gt_store *store, size_t row, gt_store_cell *cells)
{
    const segment *s = segment_of(store, row);
    size_t in_segment = row - s->first_row;
    for (size_t c = 0; c < store->column_count; c++) {
        gt_packed one = s->columns[c];
        one.start += (uint32_t)(in_segment * one.width);
        gt_unpack(&one, s->data, 1, &cells[c].integer);
        finish_cells(store, s, c, &cells[c].integer, 1);
    }
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

/* ---- late columns ---- */

void gt_store_fill_times(gt_store *store, size_t column, const double *times)
{
    int64_t cells[GT_SEGMENT_ROWS];
    for (size_t i = 0; i < store->all.count; i++) {
        segment *s = store->all.segments[i];
        gt_packed *p = &s->columns[column];
        for (size_t row = 0; row < s->rows; row++) cells[row] = gt_time_bits(*times++);
        *p = gt_pack_plan(cells, s->rows, GT_STORE_TIME);
        p->start = s->bytes;
        s->bytes += (uint32_t)p->width * s->rows;
        s->data = gt_realloc(s->data, s->bytes);
        gt_pack(p, cells, s->rows, s->data);
    }
}
