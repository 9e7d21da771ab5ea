/* The event store: events as columns.
 *
 * A store is a list of segments of a few thousand events. In a segment each column is packed on its own (see
 * store.c), so a store is a small part of the size of the trace file. Readers add events to a
 * gt_store_writer, one per thread; analyses get whole columns as arrays.
 *
 *     reader thread            main thread                          analysis
 *     gt_store_writer_add ...
 *     gt_store_writer_take ──► gt_store_append (in file order) ───► gt_store_ints, _string_ids, _times */
#pragma once

#include "base/base.h"
#include "base/image.h"

typedef enum gt_store_type {
    GT_STORE_INT,    /* int64; absent values are the column's `absent` */
    GT_STORE_STRING, /* an id in the store's strings; GT_STR_NONE if absent */
    GT_STORE_TIME,   /* double, in the unit of the format; NaN if absent */
} gt_store_type;

typedef struct gt_store_column {
    gt_store_type type;
    int64_t absent; /* of INT columns */
} gt_store_column;

typedef struct gt_store gt_store;

/* Copies the columns and borrows `strings`, whose ids the string cells are. */
gt_store *gt_store_new(const gt_store_column *columns, size_t column_count, gt_interner *strings);
void gt_store_free(gt_store *store);

/* ---- writing ---- */

/* A cell to write or as read. The column's type says which member is valid. */
typedef union gt_store_cell {
    int64_t integer;
    uint64_t text; /* a 32-bit id, as wide as the others so that cells can be copied without their type */
    double time;
} gt_store_cell;

enum { GT_STORE_MAX_COLUMNS = 64 };

/* Collects the events of one thread. String ids are those of `strings`: the store's, or an interner of the
 * writer's own (see gt_store_append). Borrows its arguments. */
typedef struct gt_store_writer gt_store_writer;
gt_store_writer *gt_store_writer_new(const gt_store_column *columns, size_t column_count,
                                     gt_interner *strings);
void gt_store_writer_free(gt_store_writer *writer);
/* Adds one event. Bit c of `present` says whether cells[c] has a value for column c. */
void gt_store_writer_add(gt_store_writer *writer, uint64_t present, const gt_store_cell *cells);
/* Skips events. They are only counted, so that the events after them know their position in the file. */
void gt_store_writer_skip(gt_store_writer *writer, size_t count);
/* Sorts the events added since the last gt_store_writer_take by their keys, ascending and stably. No key may
 * be NaN, and no event may have been skipped. */
void gt_store_writer_sort(gt_store_writer *writer, const double *keys);

/* The events added since the last call, packed. The caller owns the piece. */
typedef struct gt_store_piece gt_store_piece;
gt_store_piece *gt_store_writer_take(gt_store_writer *writer);
void gt_store_piece_free(gt_store_piece *piece);
size_t gt_store_piece_records(const gt_store_piece *piece); /* added and skipped */
/* Replaces values of an INT column that were not known while the piece was written: base + i becomes
 * values[i], for i < count; others stay. */
void gt_store_piece_replace(gt_store_piece *piece, size_t column, int64_t base, const int64_t *values,
                            size_t count);
/* Appends a piece, which then belongs to the store. If it was written with strings of its own, call
 * gt_store_adopt_strings for these strings once, after all their pieces are appended and before any column is
 * read. */
void gt_store_append(gt_store *store, gt_store_piece *piece);
void gt_store_adopt_strings(gt_store *store, const gt_interner *strings);
/* The same for several stores, at least one, that share their strings, and the strings of several threads. */
void gt_stores_adopt_strings(gt_store *const *stores, size_t count, const gt_interner *const *lists,
                             size_t list_count);

/* ---- reading ---- */

size_t gt_store_count(const gt_store *store);   /* events added */
size_t gt_store_records(const gt_store *store); /* events added and skipped */

/* What the times of a trace count from, if it says: baseTimeNanoseconds. */
typedef struct gt_base_time {
    bool known;
    int64_t ns; /* since 1970 */
} gt_base_time;
void gt_store_set_base_time(gt_store *store, int64_t ns);
gt_base_time gt_store_base_time(const gt_store *store);
gt_interner *gt_store_strings(const gt_store *store);
/* Replaces the strings. Only for a store without string cells. */
void gt_store_use_strings(gt_store *store, gt_interner *strings);
size_t gt_store_bytes(const gt_store *store); /* memory used, for diagnostics */

/* A whole column, one entry per event; the caller frees it. Unpacked by all threads of the team. */
int64_t *gt_store_ints(const gt_store *store, size_t column);
uint8_t *gt_store_small_ints(const gt_store *store, size_t column); /* of values below 256 */
uint32_t *gt_store_string_ids(const gt_store *store, size_t column);
double *gt_store_times(const gt_store *store, size_t column);
/* The cells of some rows of a column: values[i] is that of rows[i]. Several threads may call these. Rows that
 * ascend are found faster. */
void gt_store_ints_at(const gt_store *store, size_t column, const uint32_t *rows, size_t count,
                      int64_t *values);
void gt_store_string_ids_at(const gt_store *store, size_t column, const uint32_t *rows, size_t count,
                            uint32_t *values);
/* Several INT columns at once, as gt_store_ints would give each of them. Memory is given back on the way: the
 * store has only its counts afterwards, and no column may be asked for. */
void gt_store_take_ints(gt_store *store, const size_t *columns, size_t count, int64_t **arrays);

/* INT columns in as few bytes per event as they need, event by event, for events that are read in any order:
 * all cells of an event are in one or two lines of the cache. A cell is base + the unsigned integer of
 * `width` bytes at `at` in its event. */
typedef struct gt_narrow_column {
    int64_t base;
    uint8_t width; /* 0 if every value is base, else 1, 2, 4 or 8 */
    size_t at;
} gt_narrow_column;
typedef struct gt_narrow {
    gt_narrow_column *columns;
    size_t count;
    uint8_t *cells;
    size_t step; /* bytes per event */
} gt_narrow;
gt_narrow gt_store_narrow_ints(const gt_store *store, const size_t *columns, size_t count);
void gt_narrow_free(gt_narrow *narrow);
/* values[i] becomes that of rows[i] in one of the columns. */
void gt_narrow_read(const gt_narrow *narrow, size_t column, const uint32_t *rows, size_t count,
                    int64_t *values);

/* The position of each event among all events of the file, skipped ones included, from 0; the caller frees
 * it. */
uint32_t *gt_store_row_order(const gt_store *store);
/* That of one event. */
uint32_t gt_store_position(const gt_store *store, size_t row);
/* The cell of one event in a STRING column. */
uint32_t gt_store_string_id(const gt_store *store, size_t column, size_t row);
/* The events [begin, end) of a column, or their positions, for loops over ranges of events that need the
 * values only once. */
void gt_store_read_ints(const gt_store *store, size_t column, size_t begin, size_t end, int64_t *out);
void gt_store_read_string_ids(const gt_store *store, size_t column, size_t begin, size_t end, uint32_t *out);
void gt_store_read_times(const gt_store *store, size_t column, size_t begin, size_t end, double *out);
void gt_store_read_row_order(const gt_store *store, size_t begin, size_t end, uint32_t *out);

/* All columns, event by event, without unpacking the whole store:
 *
 *     gt_store_scan *scan = gt_store_scan_new(store);
 *     while (gt_store_scan_next(scan, cells)) ...
 *     gt_store_scan_free(scan);
 *
 * `cells` has one cell per column; absent values are those of the column type. */
typedef struct gt_store_scan gt_store_scan;
gt_store_scan *gt_store_scan_new(const gt_store *store);
bool gt_store_scan_next(gt_store_scan *scan, gt_store_cell *cells);
void gt_store_scan_free(gt_store_scan *scan);
/* The cells of one event, as a scan gives them. For access in another order than the store's. */
void gt_store_get(const gt_store *store, size_t row, gt_store_cell *cells);

/* ---- images (base/image.h) ---- */

/* Adds the store under the name `owner`. The strings are saved separately: a store refers to their ids. */
void gt_store_save(const gt_store *store, gt_image *image, const char *owner);
/* The store of an image, whose packed columns stay where the image has them; NULL if the image is damaged.
 * `allowed` has an entry per column, which says by string id whether a cell may be that string; an entry that
 * is NULL allows every id, as `allowed` NULL does for all columns. */
gt_store *gt_store_load(const gt_image *image, const char *owner, const gt_store_column *columns,
                        size_t column_count, gt_interner *strings, const uint8_t *const *allowed);
/* Whether all values of an INT column are between these two. */
bool gt_store_ints_between(const gt_store *store, size_t column, int64_t low, int64_t high);

/* ---- dropped and late columns ---- */

/* Frees the values of columns, bit c for column c, that nobody will read again: they become absent. */
void gt_store_drop_columns(gt_store *store, uint64_t columns);
/* The same for all columns: the store has only its counts afterwards, and no column may be asked for. */
void gt_store_release(gt_store *store);

/* Sets all values of a TIME column that has none yet: for times that are known only after reading. `times`
 * has one entry per event. */
void gt_store_fill_times(gt_store *store, size_t column, const double *times);
