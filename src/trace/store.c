/* The event store.
 *
 * A writer collects SEGMENT_ROWS events as plain 8-byte cells, few enough to stay in the cache. A full
 * segment is packed column by column into as few bytes as its values need, and the cells are used again. */
#include "trace/store.h"

#include "base/memory.h"
#include "base/slabs.h"
#include "base/raise.h"
#include "base/team.h"
#include "trace/rows.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- packed columns ---- */

enum { SEGMENT_ROWS = 2048 };

/* One column of a segment: value i is base + the unsigned integer of `width` bytes at index i. Times with at
 * most three decimals, as profilers write them, are packed as integer thousandths: one correctly rounded
 * division gives back the exact double. For example the times 1000.250, 1000.500 and 1001.000 become base
 * 1000250 and the differences 0, 250 and 750, in two bytes each. */
typedef struct packed {
    int64_t base;
    int64_t absent; /* in thousandths: the value that stands for an absent time */
    uint32_t start; /* offset in the segment's data */
    uint8_t width;  /* bytes per value: 0 if every value is base, else 1, 2, 4 or 8 */
    bool thousandths;
} packed;

static int64_t time_bits(double time)
{
    int64_t bits;
    memcpy(&bits, &time, sizeof bits);
    return bits;
}

static double bits_time(int64_t bits)
{
    double time;
    memcpy(&time, &bits, sizeof time);
    return time;
}

/* The time of a cell in thousandths. */
static double packed_time(const packed *p, int64_t cell)
{
    return cell == p->absent ? (double)NAN : (double)cell / 1000.0;
}

/* Marks absent times in a column of thousandths until place_absent replaces it. */
static const int64_t ABSENT = INT64_MAX;

/* Turns times into thousandths if that is exact for each of them; otherwise changes nothing. */
static bool to_thousandths(int64_t *cells, size_t rows)
{
    int64_t out[SEGMENT_ROWS];
    int64_t bad = 0;
    for (size_t i = 0; i < rows; i++) {
        double time = bits_time(cells[i]);
        bool small = fabs(time) < 9e12; /* times 1000 stays below 2^53; false for NaN */
        int64_t whole = small ? (int64_t)rint(time * 1000.0) : 0;
        bad |= small ? time_bits((double)whole / 1000.0) != cells[i] : !isnan(time);
        out[i] = small ? whole : ABSENT;
    }
    if (bad) return false;
    memcpy(cells, out, rows * sizeof *cells);
    return true;
}

/* Gives absent times the value after the greatest one, so that they do not make the column wider. */
static int64_t place_absent(int64_t *cells, size_t rows)
{
    int64_t high = INT64_MIN;
    for (size_t i = 0; i < rows; i++)
        if (cells[i] != ABSENT && cells[i] > high) high = cells[i];
    if (high == INT64_MIN) return ABSENT; /* all are absent */
    for (size_t i = 0; i < rows; i++)
        if (cells[i] == ABSENT) cells[i] = high + 1;
    return high + 1;
}

/* Chooses how to pack at most SEGMENT_ROWS cells. Times are given as their bits and become thousandths where
 * that is exact. The caller sets `start`. */
static packed plan_packing(int64_t *cells, size_t rows, gt_store_type type)
{
    packed p = {0};
    if (type == GT_STORE_TIME && to_thousandths(cells, rows)) {
        p.thousandths = true;
        p.absent = place_absent(cells, rows);
    }
    int64_t low = cells[0], high = cells[0];
    for (size_t i = 1; i < rows; i++) {
        low = cells[i] < low ? cells[i] : low;
        high = cells[i] > high ? cells[i] : high;
    }
    uint64_t span = (uint64_t)high - (uint64_t)low;
    p.base = low;
    p.width = span == 0 ? 0 : span <= UINT8_MAX ? 1 : span <= UINT16_MAX ? 2 : span <= UINT32_MAX ? 4 : 8;
    return p;
}

#define PACK(type)                                                                                           \
    for (size_t i = 0; i < rows; i++) {                                                                      \
        type v = (type)((uint64_t)cells[i] - (uint64_t)base);                                                \
        memcpy(out + i * sizeof v, &v, sizeof v);                                                            \
    }

static void pack(const packed *p, const int64_t *cells, size_t rows, uint8_t *data)
{
    int64_t base = p->base;
    unsigned width = p->width;
    uint8_t *out = data + p->start;
    if (width == 1)
        PACK(uint8_t)
    else if (width == 2)
        PACK(uint16_t)
    else if (width == 4)
        PACK(uint32_t)
    else if (width == 8)
        PACK(uint64_t)
}

/* Runs a statement for each `row` of a packed column, with its `cell` as it was packed: thousandths stay
 * thousandths. The loops are apart by width, and the statement says the type of the result, so that each of
 * them is one pass without a copy in between. */
#define EACH_CELL(p, data, rows, statement)                                                                  \
    do {                                                                                                     \
        const uint8_t *in_ = (data) + (p)->start;                                                            \
        switch ((p)->width) {                                                                                \
        case 0:                                                                                              \
            for (size_t row = 0; row < (rows); row++) {                                                      \
                const int64_t cell = (p)->base;                                                              \
                statement;                                                                                   \
            }                                                                                                \
            break;                                                                                           \
        case 1:                                                                                              \
            EACH_OF_TYPE(uint8_t, p, rows, statement) break;                                                 \
        case 2:                                                                                              \
            EACH_OF_TYPE(uint16_t, p, rows, statement) break;                                                \
        case 4:                                                                                              \
            EACH_OF_TYPE(uint32_t, p, rows, statement) break;                                                \
        default:                                                                                             \
            EACH_OF_TYPE(uint64_t, p, rows, statement)                                                       \
        }                                                                                                    \
    } while (0)
#define EACH_OF_TYPE(type, p, rows, statement)                                                               \
    for (size_t row = 0; row < (rows); row++) {                                                              \
        type v_;                                                                                             \
        memcpy(&v_, in_ + row * sizeof v_, sizeof v_);                                                       \
        const int64_t cell = (int64_t)((uint64_t)(p)->base + v_);                                            \
        statement;                                                                                           \
    }

static void unpack(const packed *p, const uint8_t *data, size_t rows, int64_t *out)
{
    EACH_CELL(p, data, rows, out[row] = cell);
}

static void unpack_times(const packed *p, const uint8_t *data, size_t rows, double *out)
{
    if (p->thousandths)
        EACH_CELL(p, data, rows, out[row] = packed_time(p, cell));
    else
        EACH_CELL(p, data, rows, out[row] = bits_time(cell));
}

/* `ids` translates the ids; NULL: they stay as they are. */
static void unpack_strings(const packed *p, const uint8_t *data, size_t rows, const uint32_t *ids,
                           uint32_t *out)
{
    if (ids)
        EACH_CELL(p, data, rows, out[row] = ids[cell]);
    else
        EACH_CELL(p, data, rows, out[row] = (uint32_t)cell);
}

/* ---- types ---- */

typedef struct segment {
    uint32_t rows;
    uint64_t first_row;      /* in the store */
    uint64_t first_position; /* of the piece in the store; `positions` are relative to it */
    packed positions;        /* each event's position in its piece, minus its row, so that it is mostly 0 */
    const gt_interner *strings; /* the interner of its string ids */
    const uint32_t *string_ids; /* from those ids to the store's; NULL if they are the same */
    uint8_t *data;              /* the packed columns, one after the other */
    gt_slab *slab;         /* that data is in; NULL if an image has it, from which the store was loaded */
    uint32_t bytes;        /* of data */
    uint32_t string_limit; /* of a loaded segment: its string ids are below */
    packed columns[];
} segment;

struct gt_store_piece {
    segment **segments;
    size_t count, capacity, rows;
    size_t records; /* events added and events skipped */
};

typedef struct adopted {
    const gt_interner *strings; /* NULL once the ids are those of the store */
    uint32_t *ids;
    uint32_t count;
} adopted;

struct gt_store {
    gt_store_column *columns;
    size_t column_count;
    gt_interner *strings;
    gt_store_piece all;
    adopted *adopted;
    size_t adopted_count, adopted_capacity;
    gt_base_time base_time;
    gt_slabs slabs; /* for columns that are filled late */
    bool is_taken;  /* by gt_store_take_ints */
};

struct gt_store_writer {
    const gt_store_column *columns;
    size_t column_count;
    gt_interner *strings;
    gt_store_piece *piece;
    gt_slabs slabs;     /* the data of segments */
    size_t rows;        /* in the open segment */
    uint64_t present;   /* bit c: column c has a value in it */
    uint64_t opened;    /* bit c: cells[c] exists */
    int64_t *positions; /* SEGMENT_ROWS */
    int64_t *cells[];   /* by column; SEGMENT_ROWS each; times as their bits */
};

/* ---- writing ---- */

static int64_t absent_cell(const gt_store_column *column)
{
    switch (column->type) {
    case GT_STORE_INT:
        return column->absent;
    case GT_STORE_TIME:
        return time_bits((double)NAN);
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
    w->positions = gt_alloc(SEGMENT_ROWS * sizeof *w->positions);
    return w;
}

/* Makes room for columns that get their first value: many columns of a format never have one. */
static void open_columns(gt_store_writer *w, uint64_t columns)
{
    w->opened |= columns;
    for (; columns; columns &= columns - 1) {
        size_t c = (size_t)__builtin_ctzll(columns);
        w->cells[c] = gt_alloc(SEGMENT_ROWS * sizeof **w->cells);
        fill_absent(w, c, SEGMENT_ROWS);
    }
}

void gt_store_writer_free(gt_store_writer *w)
{
    if (!w) return;
    gt_store_piece_free(w->piece);
    gt_slabs_close(&w->slabs);
    for (size_t c = 0; c < w->column_count; c++) gt_free(w->cells[c]);
    gt_free(w->positions);
    gt_free(w);
}

/* Packs the open segment and starts the next one. Columns without a value in the segment are not looked at:
 * most columns of most segments are empty. */
static void close_segment(gt_store_writer *w)
{
    if (!w->rows) return;
    segment *s = gt_alloc_zero(1, sizeof *s + w->column_count * sizeof *s->columns);
    s->rows = (uint32_t)w->rows;
    s->strings = w->strings;
    uint32_t bytes = 0;
    for (size_t c = 0; c < w->column_count; c++) {
        packed *p = &s->columns[c];
        if (w->present >> c & 1)
            *p = plan_packing(w->cells[c], w->rows, w->columns[c].type);
        else
            p->base = absent_cell(&w->columns[c]);
        p->start = bytes;
        bytes += (uint32_t)(p->width * w->rows);
    }
    s->positions = plan_packing(w->positions, w->rows, GT_STORE_INT);
    s->positions.start = bytes;
    s->bytes = bytes + (uint32_t)(s->positions.width * w->rows);
    s->data = gt_slabs_alloc(&w->slabs, s->bytes, &s->slab);
    pack(&s->positions, w->positions, w->rows, s->data);
    for (size_t c = 0; c < w->column_count; c++) {
        if (!(w->present >> c & 1)) continue;
        const packed *p = &s->columns[c];
        pack(p, w->cells[c], w->rows, s->data);
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
    w->positions[row] = (int64_t)(w->piece->records++ - row);
    w->present |= present;
    if (present & ~w->opened) open_columns(w, present & ~w->opened);
    for (; present; present &= present - 1) {
        int c = __builtin_ctzll(present);
        w->cells[c][row] = cells[c].integer;
    }
    if (w->rows == SEGMENT_ROWS) close_segment(w);
}

void gt_store_writer_skip(gt_store_writer *w)
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
        gt_slab_release(piece->segments[i]->slab);
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
static void repack(segment *s, packed *p, int64_t *cells, gt_store_type type, gt_slabs *slabs)
{
    uint32_t start = p->start, width = p->width;
    if (!s->slab && s->bytes) gt_raise_internal("a column of a loaded store is packed again");
    *p = plan_packing(cells, s->rows, type);
    p->start = start;
    if (p->width > width) {
        gt_slab *before = s->slab;
        uint8_t *data = gt_slabs_alloc(slabs, s->bytes + (uint32_t)p->width * s->rows, &s->slab);
        memcpy(data, s->data, s->bytes);
        gt_slab_release(before);
        s->data = data;
        p->start = s->bytes;
        s->bytes += (uint32_t)p->width * s->rows;
    }
    pack(p, cells, s->rows, s->data);
}

void gt_store_piece_replace(gt_store_piece *piece, size_t column, int64_t base, const int64_t *values,
                            size_t count)
{
    int64_t cells[SEGMENT_ROWS];
    gt_slabs slabs = {0};
    for (size_t i = 0; i < piece->count; i++) {
        segment *s = piece->segments[i];
        packed *p = &s->columns[column];
        bool changed = false;
        unpack(p, s->data, s->rows, cells);
        for (size_t row = 0; row < s->rows; row++) {
            uint64_t number = (uint64_t)cells[row] - (uint64_t)base;
            if (number >= count) continue;
            cells[row] = values[number];
            changed = true;
        }
        if (changed) repack(s, p, cells, GT_STORE_INT, &slabs);
    }
    gt_slabs_close(&slabs);
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
    gt_slabs_close(&store->slabs);
    for (size_t i = 0; i < store->adopted_count; i++) gt_free(store->adopted[i].ids);
    gt_free(store->adopted);
    gt_free(store->columns);
    gt_free(store);
}

void gt_store_append(gt_store *store, gt_store_piece *piece)
{
    for (size_t i = 0; i < piece->count; i++) {
        piece->segments[i]->first_position = store->all.records;
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
    adopted from = {strings, gt_alloc(count * sizeof *from.ids), count};
    from.ids[GT_STR_NONE] = GT_STR_NONE;
    for (uint32_t id = 1; id < count; id++) {
        gt_str text = gt_interner_get(strings, id);
        from.ids[id] = gt_interner_add(store->strings, text.bytes, text.len);
    }
    GT_PUSH(store->adopted, store->adopted_count, store->adopted_capacity, from);
    for (size_t i = 0; i < store->all.count; i++) {
        segment *s = store->all.segments[i];
        if (s->strings != strings) continue;
        s->string_ids = from.ids;
        s->strings = store->strings;
    }
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
        const segment *s = store->all.segments[i];
        bytes += sizeof *s + store->column_count * sizeof *s->columns + s->bytes;
    }
    return bytes;
}

/* ---- whole columns ---- */

/* Segments that one thread unpacks at a time, about 30,000 values. */
#ifndef GT_STORE_GRAIN
#define GT_STORE_GRAIN 16
#endif

/* A column, or the positions of the events, to unpack into an array of the type that the result needs. */
typedef struct column_copy {
    const gt_store *store;
    size_t column;
    void *out;
} column_copy;

static void *copy_column(const gt_store *store, size_t column, size_t item_size,
                         void (*segments)(void *copy, size_t begin, size_t end))
{
    if (store->is_taken) gt_raise_internal("a column of a store that was taken");
    column_copy copy = {store, column, gt_alloc(store->all.rows * item_size)};
    gt_parallel_ranges(store->all.count, GT_STORE_GRAIN, segments, &copy);
    return copy.out;
}

static void copy_positions(void *context, size_t begin, size_t end)
{
    const column_copy *c = context;
    for (size_t i = begin; i < end; i++) {
        const segment *s = c->store->all.segments[i];
        uint32_t *out = (uint32_t *)c->out + s->first_row;
        EACH_CELL(&s->positions, s->data, s->rows,
                  out[row] = (uint32_t)(s->first_position + (uint64_t)cell + row));
    }
}

static void copy_ints(void *context, size_t begin, size_t end)
{
    const column_copy *c = context;
    for (size_t i = begin; i < end; i++) {
        const segment *s = c->store->all.segments[i];
        unpack(&s->columns[c->column], s->data, s->rows, (int64_t *)c->out + s->first_row);
    }
}

static void copy_small_ints(void *context, size_t begin, size_t end)
{
    const column_copy *c = context;
    for (size_t i = begin; i < end; i++) {
        const segment *s = c->store->all.segments[i];
        uint8_t *out = (uint8_t *)c->out + s->first_row;
        EACH_CELL(&s->columns[c->column], s->data, s->rows, out[row] = (uint8_t)cell);
    }
}

static void copy_string_ids(void *context, size_t begin, size_t end)
{
    const column_copy *c = context;
    for (size_t i = begin; i < end; i++) {
        const segment *s = c->store->all.segments[i];
        unpack_strings(&s->columns[c->column], s->data, s->rows, s->string_ids,
                       (uint32_t *)c->out + s->first_row);
    }
}

static void copy_times(void *context, size_t begin, size_t end)
{
    const column_copy *c = context;
    for (size_t i = begin; i < end; i++) {
        const segment *s = c->store->all.segments[i];
        unpack_times(&s->columns[c->column], s->data, s->rows, (double *)c->out + s->first_row);
    }
}

uint32_t *gt_store_row_order(const gt_store *store)
{
    return copy_column(store, 0, sizeof(uint32_t), copy_positions);
}

int64_t *gt_store_ints(const gt_store *store, size_t column)
{
    return copy_column(store, column, sizeof(int64_t), copy_ints);
}

/* Segments whose columns are moved out of the store. */
typedef struct column_take {
    gt_store *store;
    size_t first; /* segment of this round */
    const size_t *columns;
    size_t count;
    int64_t **arrays;
} column_take;

static void take_segments(void *context, size_t begin, size_t end)
{
    const column_take *take = context;
    for (size_t i = take->first + begin; i < take->first + end; i++) {
        segment *s = take->store->all.segments[i];
        for (size_t c = 0; c < take->count; c++)
            unpack(&s->columns[take->columns[c]], s->data, s->rows, take->arrays[c] + s->first_row);
        gt_slab_release(s->slab);
        s->slab = NULL;
        s->data = NULL;
    }
}

void gt_store_take_ints(gt_store *store, const size_t *columns, size_t count, int64_t **arrays)
{
    enum { ROUNDS = 4, GRAIN = 2 }; /* after each round, memory goes back to the system */
    size_t segments = store->all.count, round = segments / ROUNDS + 1;
    if (store->is_taken) gt_raise_internal("a column of a store that was taken");
    store->is_taken = true;
    for (size_t c = 0; c < count; c++) arrays[c] = gt_alloc(store->all.rows * sizeof **arrays);
    for (size_t first = 0; first < segments; first += round) {
        column_take take = {store, first, columns, count, arrays};
        size_t left = segments - first;
        gt_parallel_ranges(left < round ? left : round, GRAIN, take_segments, &take);
        gt_memory_trim();
    }
}

uint8_t *gt_store_small_ints(const gt_store *store, size_t column)
{
    return copy_column(store, column, sizeof(uint8_t), copy_small_ints);
}

uint32_t *gt_store_string_ids(const gt_store *store, size_t column)
{
    return copy_column(store, column, sizeof(uint32_t), copy_string_ids);
}

double *gt_store_times(const gt_store *store, size_t column)
{
    return copy_column(store, column, sizeof(double), copy_times);
}

/* ---- parts of columns ---- */

static size_t segment_index(const gt_store *store, size_t row)
{
    size_t low = 0, high = store->all.count; /* the segment is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (store->all.segments[middle]->first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The column as if it began `rows` later. */
static packed skip_rows(packed p, size_t rows)
{
    p.start += (uint32_t)(rows * p.width);
    return p;
}

uint32_t gt_store_string_id(const gt_store *store, size_t column, size_t row)
{
    const segment *s = store->all.segments[segment_index(store, row)];
    packed one = skip_rows(s->columns[column], row - s->first_row);
    uint32_t id;
    unpack_strings(&one, s->data, 1, s->string_ids, &id);
    return id;
}

void gt_store_read_ints(const gt_store *store, size_t column, size_t begin, size_t end, int64_t *out)
{
    for (size_t i = segment_index(store, begin); begin < end; i++) {
        const segment *s = store->all.segments[i];
        size_t from = begin - s->first_row,
               rows = (end < s->first_row + s->rows ? end - s->first_row : s->rows) - from;
        packed part = skip_rows(s->columns[column], from);
        unpack(&part, s->data, rows, out);
        out += rows;
        begin += rows;
    }
}

/* ---- event by event ---- */

struct gt_store_scan {
    const gt_store *store;
    size_t next_segment, rows, row;
    int64_t *cells; /* SEGMENT_ROWS of each column, of the current segment; times as their bits */
};

gt_store_scan *gt_store_scan_new(const gt_store *store)
{
    gt_store_scan *scan = gt_alloc_zero(1, sizeof *scan);
    scan->store = store;
    scan->cells = gt_alloc(store->column_count * SEGMENT_ROWS * sizeof *scan->cells);
    return scan;
}

/* Turns unpacked cells of a column into the caller's values: string ids of the store, times as their bits. */
static void finish_cells(const gt_store *store, const segment *s, size_t column, int64_t *cells, size_t rows)
{
    const packed *p = &s->columns[column];
    if (store->columns[column].type == GT_STORE_STRING && s->string_ids)
        for (size_t row = 0; row < rows; row++) cells[row] = s->string_ids[cells[row]];
    if (p->thousandths)
        for (size_t row = 0; row < rows; row++) cells[row] = time_bits(packed_time(p, cells[row]));
}

static void load_segment(gt_store_scan *scan)
{
    const gt_store *store = scan->store;
    const segment *s = store->all.segments[scan->next_segment++];
    for (size_t c = 0; c < store->column_count; c++) {
        int64_t *cells = scan->cells + c * SEGMENT_ROWS;
        unpack(&s->columns[c], s->data, s->rows, cells);
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
        cells[c].integer = scan->cells[c * SEGMENT_ROWS + scan->row];
    scan->row++;
    return true;
}

void gt_store_scan_free(gt_store_scan *scan)
{
    gt_free(scan->cells);
    gt_free(scan);
}

/* ---- one event ---- */

void gt_store_get(const gt_store *store, size_t row, gt_store_cell *cells)
{
    const segment *s = store->all.segments[segment_index(store, row)];
    for (size_t c = 0; c < store->column_count; c++) {
        packed one = skip_rows(s->columns[c], row - s->first_row);
        unpack(&one, s->data, 1, &cells[c].integer);
        finish_cells(store, s, c, &cells[c].integer, 1);
    }
}

/* ---- some events ---- */

/* The segment of a row; most rows are in the segment of the row before. */
static const segment *segment_near(const gt_store *store, size_t row, const segment *before)
{
    bool inside = before && row >= before->first_row && row - before->first_row < before->rows;
    return inside ? before : store->all.segments[segment_index(store, row)];
}

static int64_t cell_at(const segment *s, size_t column, size_t row)
{
    packed one = skip_rows(s->columns[column], row - s->first_row);
    int64_t cell;
    unpack(&one, s->data, 1, &cell);
    return cell;
}

void gt_store_ints_at(const gt_store *store, size_t column, const uint32_t *rows, size_t count,
                      int64_t *values)
{
    const segment *s = NULL;
    for (size_t i = 0; i < count; i++) {
        s = segment_near(store, rows[i], s);
        values[i] = cell_at(s, column, rows[i]);
    }
}

void gt_store_string_ids_at(const gt_store *store, size_t column, const uint32_t *rows, size_t count,
                            uint32_t *values)
{
    const segment *s = NULL;
    for (size_t i = 0; i < count; i++) {
        s = segment_near(store, rows[i], s);
        int64_t cell = cell_at(s, column, rows[i]);
        values[i] = s->string_ids ? s->string_ids[cell] : (uint32_t)cell;
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

/* ---- dropped and late columns ---- */

typedef struct column_drop {
    gt_store *store;
    uint64_t columns;
} column_drop;

/* Moves the bytes of a column to a new place. */
static void move_column(packed *p, const segment *s, uint8_t *data, uint32_t *bytes)
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
    gt_slabs slabs = {0};
    for (size_t i = begin; i < end; i++) {
        segment *s = store->all.segments[i];
        gt_slab *before = s->slab;
        uint32_t bytes = 0, left = s->bytes;
        for (size_t c = 0; c < store->column_count; c++)
            if (drop->columns >> c & 1) left -= s->columns[c].width * s->rows;
        uint8_t *data = before ? gt_slabs_alloc(&slabs, left, &s->slab) : NULL;
        for (size_t c = 0; c < store->column_count; c++)
            if (drop->columns >> c & 1)
                s->columns[c] = (packed){.base = absent_cell(&store->columns[c])};
            else if (before)
                move_column(&s->columns[c], s, data, &bytes);
        if (!before) continue; /* an image has the data: it takes no memory of ours */
        move_column(&s->positions, s, data, &bytes);
        gt_slab_release(before);
        s->data = data;
        s->bytes = bytes;
    }
    gt_slabs_close(&slabs);
}

void gt_store_drop_columns(gt_store *store, uint64_t columns)
{
    column_drop drop = {store, columns};
    gt_parallel_ranges(store->all.count, GT_STORE_GRAIN, drop_from_segments, &drop);
}

void gt_store_fill_times(gt_store *store, size_t column, const double *times)
{
    int64_t cells[SEGMENT_ROWS];
    for (size_t i = 0; i < store->all.count; i++) {
        segment *s = store->all.segments[i];
        packed *p = &s->columns[column];
        for (size_t row = 0; row < s->rows; row++) cells[row] = time_bits(*times++);
        repack(s, p, cells, GT_STORE_TIME, &store->slabs);
    }
}

/* ---- images ----
 *
 * The arrays of a store: a head per segment, the packing of its columns and of its positions, and the packed
 * data of all segments. Segments that were written with strings of their own refer to one of the lists that
 * gt_store_adopt_strings made; all lists are one array. */

typedef struct image_head {
    uint64_t first_position;
    uint64_t data_start; /* in the data of all segments */
    uint32_t rows, bytes;
    uint32_t list; /* number of the list of string ids; NO_LIST: none */
    uint32_t unused;
} image_head;

typedef struct image_packing {
    int64_t base, absent;
    uint32_t start;
    uint8_t width, thousandths, unused[2];
} image_packing;

#define NO_LIST UINT32_MAX

enum { STORE_RECORDS, STORE_BASE_KNOWN, STORE_BASE_NS, STORE_NUMBERS };

static uint32_t list_of(const gt_store *store, const segment *s)
{
    for (size_t i = 0; s->string_ids && i < store->adopted_count; i++)
        if (store->adopted[i].ids == s->string_ids) return (uint32_t)i;
    return NO_LIST;
}

static image_packing packing_to_image(const packed *p)
{
    return (image_packing){.base = p->base,
                           .absent = p->absent,
                           .start = p->start,
                           .width = p->width,
                           .thousandths = p->thousandths};
}

static void save_lists(const gt_store *store, gt_image *image, const char *owner)
{
    gt_str *pieces = gt_alloc((store->adopted_count + 1) * sizeof *pieces);
    uint64_t *ends = gt_alloc(store->adopted_count * sizeof *ends), end = 0;
    for (size_t i = 0; i < store->adopted_count; i++) {
        const adopted *list = &store->adopted[i];
        pieces[i] = (gt_str){(const char *)list->ids, list->count * sizeof *list->ids};
        ends[i] = end += list->count;
    }
    gt_image_give(image, owner, "list_ends", ends, store->adopted_count * sizeof *ends);
    gt_image_give_pieces(image, owner, "lists", pieces, store->adopted_count);
}

void gt_store_save(const gt_store *store, gt_image *image, const char *owner)
{
    size_t segments = store->all.count, width = store->column_count + 1;
    image_head *heads = gt_alloc_zero(segments, sizeof *heads);
    image_packing *packings = gt_alloc_zero(segments * width, sizeof *packings);
    gt_str *data = gt_alloc((segments + 1) * sizeof *data);
    uint64_t start = 0;
    for (size_t i = 0; i < segments; i++) {
        const segment *s = store->all.segments[i];
        heads[i] = (image_head){.first_position = s->first_position,
                                .data_start = start,
                                .rows = s->rows,
                                .bytes = s->bytes,
                                .list = list_of(store, s)};
        for (size_t c = 0; c < store->column_count; c++)
            packings[i * width + c] = packing_to_image(&s->columns[c]);
        packings[i * width + store->column_count] = packing_to_image(&s->positions);
        data[i] = (gt_str){(const char *)s->data, s->bytes};
        start += s->bytes;
    }
    int64_t numbers[STORE_NUMBERS] = {[STORE_RECORDS] = (int64_t)store->all.records,
                                      [STORE_BASE_KNOWN] = store->base_time.known,
                                      [STORE_BASE_NS] = store->base_time.ns};
    gt_image_add_numbers(image, owner, "numbers", numbers, STORE_NUMBERS);
    gt_image_give(image, owner, "heads", heads, segments * sizeof *heads);
    gt_image_give(image, owner, "packings", packings, segments * width * sizeof *packings);
    gt_image_give_pieces(image, owner, "data", data, segments);
    save_lists(store, image, owner);
}

/* What loading checks the segments with, range by range. */
typedef struct load_job {
    gt_store *store;
    const uint8_t *const *allowed;
    _Atomic bool damaged;
} load_job;

#ifndef GT_STORE_LOAD_GRAIN
#define GT_STORE_LOAD_GRAIN 8
#endif

static bool packing_from_image(const image_packing *from, const image_head *head, gt_store_type type,
                               packed *to)
{
    bool known = from->width <= 2 || from->width == 4 || from->width == 8;
    if (!known || from->thousandths > (type == GT_STORE_TIME)) return false;
    if (from->start + (uint64_t)from->width * head->rows > head->bytes) return false;
    *to = (packed){.base = from->base,
                   .absent = from->absent,
                   .start = from->start,
                   .width = from->width,
                   .thousandths = from->thousandths};
    return true;
}

/* String ids must be in the interner, or in the segment's list of ids, and be allowed in their column. */
static bool strings_are_sound(const segment *s, size_t column, const uint8_t *allowed)
{
    int64_t cells[SEGMENT_ROWS];
    size_t rows = s->columns[column].width ? s->rows : 1; /* all values are the same */
    unpack(&s->columns[column], s->data, rows, cells);
    uint64_t high = 0;
    for (size_t row = 0; row < rows; row++) high = (uint64_t)cells[row] > high ? (uint64_t)cells[row] : high;
    if (high >= s->string_limit) return false;
    for (size_t row = 0; allowed && row < rows; row++)
        if (!allowed[s->string_ids ? s->string_ids[cells[row]] : (uint64_t)cells[row]]) return false;
    return true;
}

static uint64_t first_place(const segment *s)
{
    int64_t cell;
    unpack(&s->positions, s->data, 1, &cell);
    return s->first_position + (uint64_t)cell;
}

/* Positions ascend, and those of the segment end before `end`. */
static bool positions_are_sound(const segment *s, uint64_t end)
{
    int64_t cells[SEGMENT_ROWS];
    unpack(&s->positions, s->data, s->rows, cells);
    uint64_t next = s->first_position;
    for (size_t row = 0; row < s->rows; row++) {
        uint64_t position = s->first_position + (uint64_t)cells[row] + row;
        if (position < next || position >= end) return false;
        next = position + 1;
    }
    return true;
}

static void check_segments(void *context, size_t begin, size_t end)
{
    load_job *job = context;
    const gt_store *store = job->store;
    bool sound = true;
    for (size_t i = begin; sound && i < end; i++) {
        const segment *s = store->all.segments[i];
        bool last = i + 1 == store->all.count;
        sound = positions_are_sound(s, last ? store->all.records : first_place(store->all.segments[i + 1]));
        for (size_t c = 0; sound && c < store->column_count; c++)
            if (store->columns[c].type == GT_STORE_STRING)
                sound = strings_are_sound(s, c, job->allowed ? job->allowed[c] : NULL);
    }
    if (!sound) job->damaged = true;
}

static bool load_lists(gt_store *store, const gt_image *image, const char *owner)
{
    size_t count = 0, all = 0;
    const uint64_t *ends = gt_image_get(image, owner, "list_ends", sizeof *ends, &count);
    const uint32_t *ids = gt_image_get(image, owner, "lists", sizeof *ids, &all);
    if (!ends || !ids || (count ? ends[count - 1] : 0) != all) return false;
    uint32_t strings = gt_interner_count(store->strings);
    for (size_t i = 0; i < all; i++)
        if (ids[i] >= strings) return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = i ? ends[i - 1] : 0;
        if (ends[i] < begin || ends[i] > all || ends[i] - begin > UINT32_MAX) return false;
        adopted list = {NULL, NULL, (uint32_t)(ends[i] - begin)};
        list.ids = gt_alloc(list.count * sizeof *list.ids);
        if (list.count) memcpy(list.ids, ids + begin, list.count * sizeof *list.ids);
        GT_PUSH(store->adopted, store->adopted_count, store->adopted_capacity, list);
    }
    return true;
}

/* A segment from its head, without a look at its data. NULL if they do not fit. */
static segment *load_segment_head(gt_store *store, const image_head *head, const image_packing *packings,
                                  const uint8_t *data, uint64_t data_bytes)
{
    if (!head->rows || head->rows > SEGMENT_ROWS || head->data_start > data_bytes ||
        head->bytes > data_bytes - head->data_start ||
        (head->list != NO_LIST && head->list >= store->adopted_count))
        return NULL;
    segment *s = gt_alloc_zero(1, sizeof *s + store->column_count * sizeof *s->columns);
    s->rows = head->rows;
    s->first_row = store->all.rows;
    s->first_position = head->first_position;
    s->strings = store->strings;
    s->string_ids = head->list == NO_LIST ? NULL : store->adopted[head->list].ids;
    s->string_limit =
        head->list == NO_LIST ? gt_interner_count(store->strings) : store->adopted[head->list].count;
    s->data = (uint8_t *)(uintptr_t)(data + head->data_start); /* never written to: see repack */
    s->bytes = head->bytes;
    bool sound = packing_from_image(&packings[store->column_count], head, GT_STORE_INT, &s->positions);
    for (size_t c = 0; sound && c < store->column_count; c++)
        sound = packing_from_image(&packings[c], head, store->columns[c].type, &s->columns[c]);
    if (sound) return s;
    gt_free(s);
    return NULL;
}

static bool load_segments(gt_store *store, const gt_image *image, const char *owner)
{
    size_t count = 0, data_bytes = 0, width = store->column_count + 1;
    const int64_t *numbers =
        gt_image_get_all(image, owner, "numbers", sizeof *numbers, (size_t)STORE_NUMBERS);
    const image_head *heads = gt_image_get(image, owner, "heads", sizeof *heads, &count);
    const image_packing *packings =
        gt_image_get_all(image, owner, "packings", width * sizeof *packings, count);
    const uint8_t *data = gt_image_get(image, owner, "data", 1, &data_bytes);
    if (!numbers || !heads || !packings || !data) return false;
    if ((uint64_t)numbers[STORE_RECORDS] > UINT32_MAX) return false;
    store->all.records = (size_t)numbers[STORE_RECORDS];
    store->base_time = (gt_base_time){numbers[STORE_BASE_KNOWN] != 0, numbers[STORE_BASE_NS]};
    for (size_t i = 0; i < count; i++) {
        segment *s = load_segment_head(store, &heads[i], packings + i * width, data, data_bytes);
        if (!s) return false;
        store->all.rows += s->rows;
        GT_PUSH(store->all.segments, store->all.count, store->all.capacity, s);
    }
    return true;
}

gt_store *gt_store_load(const gt_image *image, const char *owner, const gt_store_column *columns,
                        size_t column_count, gt_interner *strings, const uint8_t *const *allowed)
{
    load_job job = {.store = gt_store_new(columns, column_count, strings), .allowed = allowed};
    if (load_lists(job.store, image, owner) && load_segments(job.store, image, owner)) {
        gt_parallel_ranges(job.store->all.count, GT_STORE_LOAD_GRAIN, check_segments, &job);
        if (!job.damaged) return job.store;
    }
    gt_store_free(job.store);
    return NULL;
}

bool gt_store_ints_between(const gt_store *store, size_t column, int64_t low, int64_t high)
{
    int64_t cells[SEGMENT_ROWS];
    bool between = true;
    for (size_t i = 0; between && i < store->all.count; i++) {
        const segment *s = store->all.segments[i];
        size_t rows = s->columns[column].width ? s->rows : 1;
        unpack(&s->columns[column], s->data, rows, cells);
        for (size_t row = 0; row < rows; row++) between &= cells[row] >= low && cells[row] <= high;
    }
    return between;
}
