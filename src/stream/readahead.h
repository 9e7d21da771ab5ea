/* Read-ahead: blocks of text are unpacked on a thread of their own, ahead of the reader, or by the reader.
 *
 * Three buffers circulate. While the reader works on block n (and may still hold block n - 1, whose tail it
 * wants to keep), the thread fills block n + 1; it waits only if the reader is slower, the reader only if the
 * thread is. */
#ifndef GT_STREAM_READAHEAD_H
#define GT_STREAM_READAHEAD_H

#include "stream/unpack.h"

typedef struct gt_readahead gt_readahead;

/* Blocks of `block` bytes (the last one may be shorter), each with `headroom` bytes before it and `pad` bytes
 * after it that belong to the reader (headroom: at least GT_UNPACK_HISTORY). A block is unpacked by
 * gt_readahead_next, or from gt_readahead_begin on before it, unless the reader is to be `alone`. `stored`
 * must outlive this. */
typedef struct gt_readahead_options {
    size_t block, headroom, pad;
    bool alone;
} gt_readahead_options;
gt_readahead *gt_readahead_new(const gt_unpacker_kind *kind, gt_raw_input *stored,
                               gt_readahead_options options);
/* Stops the thread, whatever it is doing. */
void gt_readahead_free(gt_readahead *ahead);

/* Waits for the next block. At the end *len is 0. The reader may hold two blocks: the previous one, until
 * gt_readahead_release, and this one. */
bool gt_readahead_next(gt_readahead *ahead, uint8_t **block, size_t *len, gt_error *error);
/* After the first block: the reader wants the next ones, too, and a thread begins to unpack them. */
void gt_readahead_begin(gt_readahead *ahead);
/* Returns the oldest block that the reader holds. */
void gt_readahead_release(gt_readahead *ahead);

const char *gt_readahead_damage(gt_readahead *ahead); /* after the end */

#endif
