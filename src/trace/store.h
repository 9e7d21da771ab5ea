/* The event store: columns, not objects.
 *
 * A store is a list of segments of a few thousand events; in a segment each column is packed on its own
 * (nothing where every event has the same value, else 1, 2, 4 or 8 bytes an event over the least value), so a
 * store is a small part of the trace it was read from. Readers append events to a gt_store_writer, one writer
 * a thread; analyses take whole columns as arrays. */
#ifndef GT_TRACE_STORE_H
#define GT_TRACE_STORE_H

#include "base/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gt_store_type {
    GT_STORE_INT,    /* int64; absent values are the column's `absent` */
    GT_STORE_STRING, /* an id in the store's strings; GT_STR_NONE where absent */
    GT_STORE_TIME,   /* double, in the unit of the format; NaN where absent */
} gt_store_type;

typedef struct gt_store_column {
    gt_store_type type;
    int64_t absent; /* of INT columns */
} gt_store_column;

typedef struct gt_store gt_store;

/* Text cells are ids in `strings`, which the store borrows. */
gt_store *gt_store_new(const gt_store_column *columns, size_t column_count, gt_interner *strings);
void gt_store_free(gt_store *store);

/* A cell on its way into a column: which member counts is the column's type. */
typedef union gt_store_cell {
    int64_t integer;
    uint64_t text; /* an id of 32 bits; as wide as the others, so that cells are copied without asking their
                      type */
    double time;
} gt_store_cell;

enum { GT_STORE_MAX_COLUMNS = 64 };

/* A writer collects events of one thread. Its text ids are those of `strings`, its own or the store's. */
typedef struct gt_store_writer gt_store_writer;
gt_store_writer *gt_store_writer_new(const gt_store_column *columns, size_t column_count,
                                     gt_interner *strings);
void gt_store_writer_free(gt_store_writer *writer);
/* One event: bit c of `present` tells whether cells[c] holds a value for column c. */
void gt_store_writer_add(gt_store_writer *writer, uint64_t present, const gt_store_cell *cells);
/* An event that is not kept: it only counts, so that the events kept know their places in the file. */
void gt_store_writer_pass(gt_store_writer *writer);
/* Puts the events added since a piece was last taken in ascending order of their keys, none of them NaN;
 * those of equal keys keep their order. None of them may have been passed. */
void gt_store_writer_sort(gt_store_writer *writer, const double *keys);

/* What a writer has collected since it was last asked, packed: a piece of the store to come. */
typedef struct gt_store_piece gt_store_piece;
gt_store_piece *gt_store_writer_take(gt_store_writer *writer);
void gt_store_piece_free(gt_store_piece *piece);
size_t gt_store_piece_records(const gt_store_piece *piece); /* kept and passed */
/* Puts a piece at the store's end; the piece is the store's then. Where the piece was written with strings of
 * its own, gt_store_adopt_strings must be called for them once all pieces are in and before any column is
 * asked for. */
void gt_store_append(gt_store *store, gt_store_piece *piece);
void gt_store_adopt_strings(gt_store *store, const gt_interner *strings);

size_t gt_store_count(const gt_store *store);   /* events kept */
size_t gt_store_records(const gt_store *store); /* events seen: kept and passed */
gt_interner *gt_store_strings(const gt_store *store);
/* Puts other strings in their place: only for a store without texts. */
void gt_store_use_strings(gt_store *store, gt_interner *strings);
size_t gt_store_bytes(const gt_store *store); /* memory held, for diagnostics */

/* A whole column, unpacked, one entry an event; the caller frees it. Text ids are those of gt_store_strings.
 */
int64_t *gt_store_ints(const gt_store *store, size_t column);
uint32_t *gt_store_string_ids(const gt_store *store, size_t column);
double *gt_store_times(const gt_store *store, size_t column);
/* All columns, event by event in the store's order, in little memory:
 *
 *     gt_store_scan *scan = gt_store_scan_new(store);
 *     while (gt_store_scan_next(scan, cells)) ...
 *     gt_store_scan_free(scan);
 *
 * Each event gets a cell a column; absent values are as the column says. */
typedef struct gt_store_scan gt_store_scan;
gt_store_scan *gt_store_scan_new(const gt_store *store);
bool gt_store_scan_next(gt_store_scan *scan, gt_store_cell *cells);
void gt_store_scan_free(gt_store_scan *scan);
/* The cells of one event, as a scan gives them: for stores that are taken in another order than their own. */
void gt_store_get(const gt_store *store, size_t row, gt_store_cell *cells);
/* Gives a TIME column that no event had a value in its values, one an event: for what is known only once all
 * events are read. */
void gt_store_fill_times(gt_store *store, size_t column, const double *times);
/* Each kept event's place among all events seen, from 0. */
uint32_t *gt_store_row_order(const gt_store *store);

#endif
