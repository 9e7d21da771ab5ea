/* Reading the event store: whole columns on all threads, parts of them, and single events. */
#include "trace/store_parts.h"

#include "base/raise.h"

/* ---- whole columns ---- */

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
        const gt_segment *s = c->store->all.segments[i];
        uint32_t *out = (uint32_t *)c->out + s->first_row;
        GT_EACH_CELL(&s->positions, s->data, s->rows,
                     out[row] = (uint32_t)(s->first_position + (uint64_t)cell + row));
    }
}

static void copy_ints(void *context, size_t begin, size_t end)
{
    const column_copy *c = context;
    for (size_t i = begin; i < end; i++) {
        const gt_segment *s = c->store->all.segments[i];
        gt_unpack(&s->columns[c->column], s->data, s->rows, (int64_t *)c->out + s->first_row);
    }
}

static void copy_small_ints(void *context, size_t begin, size_t end)
{
    const column_copy *c = context;
    for (size_t i = begin; i < end; i++) {
        const gt_segment *s = c->store->all.segments[i];
        uint8_t *out = (uint8_t *)c->out + s->first_row;
        GT_EACH_CELL(&s->columns[c->column], s->data, s->rows, out[row] = (uint8_t)cell);
    }
}

static void copy_string_ids(void *context, size_t begin, size_t end)
{
    const column_copy *c = context;
    for (size_t i = begin; i < end; i++) {
        const gt_segment *s = c->store->all.segments[i];
        gt_unpack_strings(&s->columns[c->column], s->data, s->rows, s->string_ids,
                          (uint32_t *)c->out + s->first_row);
    }
}

static void copy_times(void *context, size_t begin, size_t end)
{
    const column_copy *c = context;
    for (size_t i = begin; i < end; i++) {
        const gt_segment *s = c->store->all.segments[i];
        gt_unpack_times(&s->columns[c->column], s->data, s->rows, (double *)c->out + s->first_row);
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
    const size_t *columns;
    size_t count;
    int64_t **arrays;
} column_take;

static void take_segments(void *context, size_t begin, size_t end)
{
    const column_take *take = context;
    for (size_t i = begin; i < end; i++) {
        gt_segment *s = take->store->all.segments[i];
        for (size_t c = 0; c < take->count; c++)
            gt_unpack(&s->columns[take->columns[c]], s->data, s->rows, take->arrays[c] + s->first_row);
        gt_segment_free_data(s);
    }
}

void gt_store_take_ints(gt_store *store, const size_t *columns, size_t count, int64_t **arrays)
{
    enum { GRAIN = 2 };
    if (store->is_taken) gt_raise_internal("a column of a store that was taken");
    store->is_taken = true;
    for (size_t c = 0; c < count; c++) arrays[c] = gt_alloc(store->all.rows * sizeof **arrays);
    column_take take = {store, columns, count, arrays};
    gt_parallel_ranges(store->all.count, GRAIN, take_segments, &take);
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

/* The segment of a row. Most segments are full, so few of them have rows of the same block. */
static size_t segment_index(const gt_store *store, size_t row)
{
    const uint32_t *block = store->segment_of_block + row / GT_SEGMENT_ROWS;
    bool is_last = row / GT_SEGMENT_ROWS + 1 == store->block_count;
    size_t low = block[0], high = is_last ? store->all.count : block[1] + 1, next; /* it is in [low, high) */
    GT_BISECT(next, low + 1, high, store->all.segments[next]->first_row <= row);
    return next - 1;
}

/* The column as if it began `rows` later. */
static gt_packed skip_rows(gt_packed p, size_t rows)
{
    p.start += (uint32_t)(rows * p.width);
    return p;
}

uint32_t gt_store_string_id(const gt_store *store, size_t column, size_t row)
{
    const gt_segment *s = store->all.segments[segment_index(store, row)];
    gt_packed one = skip_rows(s->columns[column], row - s->first_row);
    uint32_t id;
    gt_unpack_strings(&one, s->data, 1, s->string_ids, &id);
    return id;
}

uint32_t gt_store_position(const gt_store *store, size_t row)
{
    const gt_segment *s = store->all.segments[segment_index(store, row)];
    size_t within = row - s->first_row;
    gt_packed one = skip_rows(s->positions, within);
    int64_t cell;
    gt_unpack(&one, s->data, 1, &cell);
    return (uint32_t)(s->first_position + (uint64_t)cell + within);
}

/* The rows [begin, end), segment by segment. */
typedef struct segment_walk {
    const gt_store *store;
    size_t begin, end;         /* what is left */
    size_t next;               /* index of a segment */
    const gt_segment *segment; /* the present one */
    size_t from, rows;         /* in it */
    size_t done;               /* rows before these */
} segment_walk;

static segment_walk walk_segments(const gt_store *store, size_t begin, size_t end)
{
    return (segment_walk){
        .store = store, .begin = begin, .end = end, .next = begin < end ? segment_index(store, begin) : 0};
}

static bool next_segment(segment_walk *w)
{
    w->done += w->rows;
    if (w->begin >= w->end) return false;
    const gt_segment *s = w->segment = w->store->all.segments[w->next++];
    w->from = w->begin - s->first_row;
    w->rows = (w->end < s->first_row + s->rows ? w->end - s->first_row : s->rows) - w->from;
    w->begin += w->rows;
    return true;
}

/* A column of the present segment, from its first row on. */
static gt_packed cells_of(const segment_walk *w, size_t column)
{
    return skip_rows(w->segment->columns[column], w->from);
}

void gt_store_read_ints(const gt_store *store, size_t column, size_t begin, size_t end, int64_t *out)
{
    for (segment_walk w = walk_segments(store, begin, end); next_segment(&w);) {
        gt_packed cells = cells_of(&w, column);
        gt_unpack(&cells, w.segment->data, w.rows, out + w.done);
    }
}

void gt_store_read_string_ids(const gt_store *store, size_t column, size_t begin, size_t end, uint32_t *out)
{
    for (segment_walk w = walk_segments(store, begin, end); next_segment(&w);) {
        gt_packed cells = cells_of(&w, column);
        gt_unpack_strings(&cells, w.segment->data, w.rows, w.segment->string_ids, out + w.done);
    }
}

void gt_store_read_times(const gt_store *store, size_t column, size_t begin, size_t end, double *out)
{
    for (segment_walk w = walk_segments(store, begin, end); next_segment(&w);) {
        gt_packed cells = cells_of(&w, column);
        gt_unpack_times(&cells, w.segment->data, w.rows, out + w.done);
    }
}

void gt_store_read_row_order(const gt_store *store, size_t begin, size_t end, uint32_t *out)
{
    for (segment_walk w = walk_segments(store, begin, end); next_segment(&w);) {
        gt_packed cells = skip_rows(w.segment->positions, w.from);
        uint64_t first = w.segment->first_position + w.from;
        uint32_t *to = out + w.done;
        GT_EACH_CELL(&cells, w.segment->data, w.rows, to[row] = (uint32_t)(first + (uint64_t)cell + row));
    }
}

/* ---- narrow columns ---- */

typedef struct narrow_job {
    const gt_store *store;
    const size_t *columns; /* of the store */
    gt_narrow *narrow;
} narrow_job;

/* The bytes for values up to `most`. */
static uint8_t width_for(uint64_t most)
{
    return most == 0 ? 0 : most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : most <= UINT32_MAX ? 4 : 8;
}

/* Finds the base and the width of a column. */
static void plan_narrow(void *context, size_t index)
{
    const narrow_job *job = context;
    const gt_store *store = job->store;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < store->all.count; i++) {
        const gt_segment *s = store->all.segments[i];
        const gt_packed *p = &s->columns[job->columns[index]];
        size_t rows = p->width ? s->rows : 1;
        GT_EACH_CELL(p, s->data, rows, most = cell > most ? cell : most; least = cell < least ? cell : least);
    }
    gt_narrow_column *column = &job->narrow->columns[index];
    column->base = least;
    column->width = width_for((uint64_t)most - (uint64_t)least);
}

/* Narrows one type of cells. */
#define NARROW_SEGMENT(type)                                                                                 \
    GT_EACH_CELL(p, s->data, s->rows, type v = (type)((uint64_t)cell - base);                                \
                 memcpy(out + row * step, &v, sizeof v))

static void narrow_segments(void *context, size_t begin, size_t end)
{
    const narrow_job *job = context;
    const gt_narrow *n = job->narrow;
    size_t step = n->step;
    for (size_t i = begin; i < end; i++) {
        const gt_segment *s = job->store->all.segments[i];
        for (size_t c = 0; c < n->count; c++) {
            const gt_packed *p = &s->columns[job->columns[c]];
            uint64_t base = (uint64_t)n->columns[c].base;
            if (!n->columns[c].width) continue;
            uint8_t *out = n->cells + s->first_row * step + n->columns[c].at;
            if (n->columns[c].width == 1)
                NARROW_SEGMENT(uint8_t);
            else if (n->columns[c].width == 2)
                NARROW_SEGMENT(uint16_t);
            else if (n->columns[c].width == 4)
                NARROW_SEGMENT(uint32_t);
            else
                NARROW_SEGMENT(uint64_t);
        }
    }
}

gt_narrow gt_store_narrow_ints(const gt_store *store, const size_t *columns, size_t count)
{
    enum { GRAIN = 4 }; /* segments */
    if (store->is_taken) gt_raise_internal("a column of a store that was taken");
    gt_narrow narrow = {.columns = gt_alloc_zero(count, sizeof *narrow.columns), .count = count};
    if (!store->all.rows) return narrow;
    narrow_job job = {store, columns, &narrow};
    gt_parallel_each(count, plan_narrow, &job);
    for (size_t c = 0; c < count; c++) {
        narrow.columns[c].at = narrow.step;
        narrow.step += narrow.columns[c].width;
    }
    narrow.cells = gt_alloc(store->all.rows * narrow.step);
    gt_parallel_ranges(store->all.count, GRAIN, narrow_segments, &job);
    return narrow;
}

void gt_narrow_free(gt_narrow *narrow)
{
    gt_free_all(narrow->columns, narrow->cells);
    *narrow = (gt_narrow){0};
}

#define READ_NARROW(type)                                                                                    \
    for (size_t i = 0; i < count; i++) {                                                                     \
        type v;                                                                                              \
        memcpy(&v, cells + rows[i] * narrow->step, sizeof v);                                                \
        values[i] = (int64_t)((uint64_t)base + v);                                                           \
    }

void gt_narrow_read(const gt_narrow *narrow, size_t column, const uint32_t *rows, size_t count,
                    int64_t *values)
{
    int64_t base = narrow->columns[column].base;
    if (!narrow->columns[column].width) {
        for (size_t i = 0; i < count; i++) values[i] = base;
        return;
    }
    const uint8_t *cells = narrow->cells + narrow->columns[column].at;
    switch (narrow->columns[column].width) {
    case 1:
        READ_NARROW(uint8_t)
        break;
    case 2:
        READ_NARROW(uint16_t)
        break;
    case 4:
        READ_NARROW(uint32_t)
        break;
    default:
        READ_NARROW(uint64_t)
    }
}

/* ---- event by event ---- */

struct gt_store_scan {
    const gt_store *store;
    size_t next_segment, rows, row;
    size_t room;    /* rows of the longest segment */
    int64_t *cells; /* `room` of each column, of the current segment; times as their bits */
};

gt_store_scan *gt_store_scan_new(const gt_store *store)
{
    gt_store_scan *scan = gt_alloc_zero(1, sizeof *scan);
    scan->store = store;
    for (size_t i = 0; i < store->all.count; i++)
        if (store->all.segments[i]->rows > scan->room) scan->room = store->all.segments[i]->rows;
    scan->cells = gt_alloc(store->column_count * scan->room * sizeof *scan->cells);
    return scan;
}

/* Turns unpacked cells of a column into the caller's values: string ids of the store, times as their bits. */
static void finish_cells(const gt_store *store, const gt_segment *s, size_t column, int64_t *cells,
                         size_t rows)
{
    const gt_packed *p = &s->columns[column];
    if (store->columns[column].type == GT_STORE_STRING && s->string_ids)
        for (size_t row = 0; row < rows; row++) cells[row] = s->string_ids[cells[row]];
    if (p->thousandths)
        for (size_t row = 0; row < rows; row++) cells[row] = gt_bits_of_double(gt_packed_time(p, cells[row]));
}

static void load_segment(gt_store_scan *scan)
{
    const gt_store *store = scan->store;
    const gt_segment *s = store->all.segments[scan->next_segment++];
    for (size_t c = 0; c < store->column_count; c++) {
        int64_t *cells = scan->cells + c * scan->room;
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
        cells[c].integer = scan->cells[c * scan->room + scan->row];
    scan->row++;
    return true;
}

void gt_store_scan_free(gt_store_scan *scan)
{
    gt_free_all(scan->cells, scan);
}

/* ---- one event ---- */

void gt_store_get(const gt_store *store, size_t row, gt_store_cell *cells)
{
    const gt_segment *s = store->all.segments[segment_index(store, row)];
    for (size_t c = 0; c < store->column_count; c++) {
        gt_packed one = skip_rows(s->columns[c], row - s->first_row);
        gt_unpack(&one, s->data, 1, &cells[c].integer);
        finish_cells(store, s, c, &cells[c].integer, 1);
    }
}

/* ---- some events ---- */

/* The segment of a row; most rows are in the segment of the row before. */
static const gt_segment *segment_near(const gt_store *store, size_t row, const gt_segment *before)
{
    bool inside = before && row >= before->first_row && row - before->first_row < before->rows;
    return inside ? before : store->all.segments[segment_index(store, row)];
}

static int64_t cell_at(const gt_segment *s, size_t column, size_t row)
{
    gt_packed one = skip_rows(s->columns[column], row - s->first_row);
    int64_t cell;
    gt_unpack(&one, s->data, 1, &cell);
    return cell;
}

void gt_store_ints_at(const gt_store *store, size_t column, const uint32_t *rows, size_t count,
                      int64_t *values)
{
    const gt_segment *s = NULL;
    for (size_t i = 0; i < count; i++) {
        s = segment_near(store, rows[i], s);
        values[i] = cell_at(s, column, rows[i]);
    }
}

void gt_store_string_ids_at(const gt_store *store, size_t column, const uint32_t *rows, size_t count,
                            uint32_t *values)
{
    const gt_segment *s = NULL;
    for (size_t i = 0; i < count; i++) {
        s = segment_near(store, rows[i], s);
        int64_t cell = cell_at(s, column, rows[i]);
        values[i] = s->string_ids ? s->string_ids[cell] : (uint32_t)cell;
    }
}

bool gt_store_ints_between(const gt_store *store, size_t column, int64_t low, int64_t high)
{
    int64_t cells[GT_SEGMENT_ROWS];
    bool between = true;
    for (size_t i = 0; between && i < store->all.count; i++) {
        const gt_segment *s = store->all.segments[i];
        size_t rows = s->columns[column].width ? s->rows : 1;
        gt_unpack(&s->columns[column], s->data, rows, cells);
        for (size_t row = 0; row < rows; row++) between &= cells[row] >= low && cells[row] <= high;
    }
    return between;
}
