/* Stored bytes for a decompressor: a window of input that can be looked at, used up and filled again. */
#ifndef GT_STREAM_FEED_H
#define GT_STREAM_FEED_H

#include "stream/raw_input.h"

enum { GT_FEED_BYTES = 64 * 1024 };

typedef struct gt_feed {
    gt_raw_input *stored; /* not owned */
    uint8_t *buffer;
    const uint8_t *next, *end; /* what was read and not used yet */
    bool last;                 /* nothing follows `end` */
    uint64_t end_offset;       /* where `end` is in the stored file */
} gt_feed;

void gt_feed_begin(gt_feed *feed, gt_raw_input *stored);
void gt_feed_end(gt_feed *feed);

/* Reads more behind what is left. False where reading failed. */
bool gt_feed_more(gt_feed *feed, gt_error *error);
/* Makes `need` bytes available, or as many as there are. */
bool gt_feed_ensure(gt_feed *feed, size_t need, gt_error *error);
/* Goes over zero bytes, which some tools pad files with. */
bool gt_feed_skip_zeros(gt_feed *feed, gt_error *error);

size_t gt_feed_len(const gt_feed *feed);
uint64_t gt_feed_offset(const gt_feed *feed); /* of `next` in the stored file */

#endif
