/* Deflate data (RFC 1951) to bytes, piece by piece, in constant memory.
 *
 * The caller owns both buffers. What was written before must stay in front of the place that is written next,
 * as far back as a copy may reach (GT_INFLATE_HISTORY); input that was not used is given again with more
 * behind it. */
#ifndef GT_STREAM_INFLATE_H
#define GT_STREAM_INFLATE_H

#include "stream/huffman.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GT_INFLATE_HISTORY = 32 * 1024, /* the farthest that a copy reaches back */
    GT_INFLATE_LOOKAHEAD = 1024,    /* input that must be there for progress, unless it is the last */
};

typedef enum gt_inflate_result {
    GT_INFLATE_FULL,    /* no more room for output */
    GT_INFLATE_HUNGRY,  /* fewer than GT_INFLATE_LOOKAHEAD bytes of input are left, and not the last ones */
    GT_INFLATE_END,     /* the data is whole; the input stands behind it */
    GT_INFLATE_CUT,     /* the last input was given and ends inside the data; all that it holds was written */
    GT_INFLATE_INVALID, /* not deflate data; gt_inflate.why says in what way */
} gt_inflate_result;

/* Where a run stopped. All of it is private but `why`. */
typedef struct gt_inflate {
    const char *why; /* after GT_INFLATE_INVALID: a few words, such as "a copy reaches back too far" */
    uint64_t bits;   /* input bits taken and not used yet: fewer than 8 between runs */
    unsigned bit_count;
    unsigned stage;
    gt_inflate_result result;
    bool final_block;
    uint32_t stored_left;                /* bytes of a stored block still to come */
    uint32_t match_left, match_distance; /* a copy that the output had no room for */
    uint32_t litlen[GT_LITLEN_TABLE_SIZE];
    uint32_t distance[GT_DISTANCE_TABLE_SIZE];
} gt_inflate;

void gt_inflate_begin(gt_inflate *state);

/* Reads from *in, writes to *out, and moves both forward. `last` says that no input follows in_end. `history`
 * is the oldest byte of this data's output that still stands in front of *out (*out itself at the beginning):
 * keep GT_INFLATE_HISTORY bytes. Bytes between the new *out and out_end may have been written to. */
gt_inflate_result gt_inflate_run(gt_inflate *state, const uint8_t **in, const uint8_t *in_end, bool last,
                                 const uint8_t *history, uint8_t **out, uint8_t *out_end);

#endif
