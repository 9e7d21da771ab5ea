/* Decompression: what gzip and zstd have in common.
 *
 * A decompressor takes stored bytes from a feed, which it can look at, use up and refill, and writes text to
 * wherever its caller wants it. */
#pragma once

#include "stream/raw_input.h"

/* ---- the feed: stored bytes in ---- */

enum { GT_FEED_BYTES = 64 * 1024 };

typedef struct gt_feed {
    gt_raw_input *stored; /* not owned */
    uint8_t *buffer;
    const uint8_t *next, *end; /* bytes that were read and are not used yet */
    bool last;                 /* nothing follows `end` */
    uint64_t end_offset;       /* where `end` is in the stored file */
} gt_feed;

void gt_feed_begin(gt_feed *feed, gt_raw_input *stored);
void gt_feed_end(gt_feed *feed);

/* Reads more after what is left. False if reading failed. */
bool gt_feed_more(gt_feed *feed, gt_error *error);
/* Makes `need` bytes available, or as many as there are. */
bool gt_feed_ensure(gt_feed *feed, size_t need, gt_error *error);
/* Skips zero bytes, with which some tools pad files. */
bool gt_feed_skip_zeros(gt_feed *feed, gt_error *error);

size_t gt_feed_len(const gt_feed *feed);
uint64_t gt_feed_offset(const gt_feed *feed); /* of `next` in the stored file */

/* ---- the unpacker: text out ---- */

/* Bytes before the output that an unpacker may overwrite. */
enum { GT_UNPACK_HISTORY = 32 * 1024 };

typedef struct gt_unpacker gt_unpacker;

/* One kind of compression. */
typedef struct gt_unpacker_kind {
    bool (*recognises)(const uint8_t *head, size_t len); /* by the first bytes of a file */
    gt_unpacker *(*begin)(gt_raw_input *stored);         /* the caller owns it and calls `end` */
    /* Writes the next `room` bytes of text; *got < room only at the end of the text. `out` may be another
     * place each time. False if reading failed or the data is invalid. */
    bool (*fill)(gt_unpacker *unpacker, uint8_t *out, size_t room, size_t *got, gt_error *error);
    const char *(*damage)(const gt_unpacker *unpacker); /* after the end: as gt_stream_damage */
    void (*end)(gt_unpacker *unpacker);
} gt_unpacker_kind;

extern const gt_unpacker_kind gt_unpack_gzip, gt_unpack_zstd;
