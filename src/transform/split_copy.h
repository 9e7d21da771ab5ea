/* The texts of chosen events of a trace, and of all that stands beside the events. */
#ifndef GT_TRANSFORM_SPLIT_COPY_H
#define GT_TRANSFORM_SPLIT_COPY_H

#include "base/error.h"
#include "base/buffer.h"
#include "output/temp_store.h"

typedef struct gt_trace_copy {
    gt_temp_store *spool;
    uint64_t *places; /* of the chosen events, in the file's order */
    size_t count, capacity;
    gt_buffer before, behind; /* members of the document before and behind its events: "key": value, ... */
} gt_trace_copy;

/* Sets aside the events whose byte in `chosen` is not 0, near `near_path`. A trace that ends early is copied
 * as far as `count` events go. */
bool gt_trace_copy_make(gt_trace_copy *copy, const char *path, const char *near_path, const uint8_t *chosen,
                        size_t count, gt_error *error);
void gt_trace_copy_free(gt_trace_copy *copy);

#endif
