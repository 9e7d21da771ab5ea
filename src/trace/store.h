/* The event store: columns, not objects.
 *
 * A store is a list of segments of a few thousand events; in a segment each column is packed on its own (nothing
 * where every event has the same value, else 1, 2, 4 or 8 bytes an event over the least value), so a store is a
 * small part of the trace it was read from. Readers append events to a gt_store_writer, one writer a thread;
 * analyses take whole columns as arrays. */
#ifndef GT_TRACE_STORE_H
#define GT_TRACE_STORE_H

#include "base/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gt_store_type {
    GT_STORE_INT,  /* int64; absent values are the column's `absent` */
    GT_STORE_TEXT, /* an id in the store's strings; GT_TEXT_NONE where absent */
    GT_STORE_TIME, /* double, in the unit of the format; NaN where absent */
} gt_store_type;

typedef struct gt_store_column {
    gt_store_type type;
    int64_t absent; /* of INT columns */
} gt_store_column;

typedef struct gt_store gt_store;

size_t gt_store_count(const gt_store *store);
const gt_strings *gt_store_strings(const gt_store *store);
size_t gt_store_bytes(const gt_store *store); /* memory held, for diagnostics */

/* A whole column, unpacked, one entry an event; the caller frees it. Text ids are those of gt_store_strings. */
int64_t *gt_store_ints(const gt_store *store, size_t column);
uint32_t *gt_store_texts(const gt_store *store, size_t column);
double *gt_store_times(const gt_store *store, size_t column);

void gt_store_free(gt_store *store);

#endif
