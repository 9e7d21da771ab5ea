/* Compressed bytes to text: what gzip and zstd have in common. */
#ifndef GT_STREAM_UNPACK_H
#define GT_STREAM_UNPACK_H

#include "stream/raw_input.h"

/* Bytes in front of the output that the unpacker writes to as it likes. */
enum { GT_UNPACK_HISTORY = 32 * 1024 };

typedef struct gt_unpacker gt_unpacker;

/* One kind of compression. */
typedef struct gt_unpacker_kind {
    bool (*recognises)(const uint8_t *head, size_t len); /* by the first bytes of a file */
    gt_unpacker *(*begin)(gt_raw_input *stored);         /* the caller owns it; to be ended */
    /* Writes the next `room` bytes of text; *got < room where the text ends. `out` may be another place each
     * time. False where reading failed or the data is invalid. */
    bool (*fill)(gt_unpacker *unpacker, uint8_t *out, size_t room, size_t *got, gt_error *error);
    const char *(*damage)(const gt_unpacker *unpacker); /* after the end: as gt_stream_damage */
    void (*end)(gt_unpacker *unpacker);
} gt_unpacker_kind;

extern const gt_unpacker_kind gt_unpack_gzip, gt_unpack_zstd;

#endif
