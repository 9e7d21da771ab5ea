/* The collectives of one rank's PyTorch trace and nothing else of it: what a run of a thousand ranks has room
 * for. */
#ifndef GT_INPUT_CHROME_KINETO_COLLECTIVES_H
#define GT_INPUT_CHROME_KINETO_COLLECTIVES_H

#include "input/options.h"
#include "stream/stream.h"
#include "trace/events.h"

typedef struct gt_rank_events {
    gt_interner *strings; /* owned */
    gt_store
        *store; /* columns of trace/events.h; a row is a communication kernel that is linked to the host. Of
                   its name only the collective is kept, where the kernel does not tell it otherwise */
    size_t events;  /* in the file, kept or not */
    size_t devices; /* in the trace's deviceProperties; 0 where it has none */
    int64_t rank;   /* that the trace says it is of; GT_EVENT_NONE where it does not say */
} gt_rank_events;

/* Adds to a progress line that the caller has begun. A file that ends early is an error: collectives are
 * matched across ranks by their order, so half a file would be matched wrongly. NULL and a sentence where it
 * cannot be read. */
gt_rank_events *gt_kineto_read_collectives(gt_stream *stream, unsigned threads, gt_error *error);
void gt_rank_events_free(gt_rank_events *events);

/* How many GPUs a trace names in its deviceProperties, where these stand before its events, as PyTorch writes
 * them; else 0. Reads no further than that, from a stream at its beginning. */
size_t gt_kineto_count_devices(gt_stream *stream);

#endif
