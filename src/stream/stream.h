/* The file layer: a file, standard input, gzip or zstd, as one stream of text.
 *
 * What the bytes are is told from the first of them, never from the file's name. Compressed input is inflated
 * on a thread of its own while the caller works on the block before. Blocks come in order in buffers that are
 * used again and again, so memory does not grow with the file. */
#ifndef GT_STREAM_STREAM_H
#define GT_STREAM_STREAM_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    GT_STREAM_PAD = 256,          /* bytes behind each block that may be read: two '"', then zeros */
    GT_STREAM_BLOCK = 512 * 1024, /* the usual size of a block */
};

typedef enum gt_compression { GT_PLAIN, GT_GZIP, GT_ZSTD } gt_compression;

typedef struct gt_stream gt_stream;

/* Opens a path, or standard input for "-". NULL and an error where that fails (a folder is refused by name).
 */
gt_stream *gt_stream_open(const char *path, gt_error *error);
/* The same over bytes in memory, which must outlive the stream: for tests and fuzzing. `block` sets the block
 * size (0 for the usual one), so that a test can put a boundary anywhere. */
gt_stream *gt_stream_memory(const void *bytes, size_t len, size_t block, gt_error *error);
/* A stretch of an open plain file, from offset `begin` on to the end of the file: what each parallel worker
 * reads. `plain` must be seekable (gt_stream_seekable) and must outlive the range. */
gt_stream *gt_stream_range(const gt_stream *plain, uint64_t begin, gt_error *error);
/* Goes on at another offset of a seekable stream or range; its buffer is kept. The block given last is gone.
 */
void gt_stream_move(gt_stream *stream, uint64_t offset);
void gt_stream_close(gt_stream *stream);

/* The next block. Its text begins with the `keep_len` bytes at `keep`, which must lie in the block given
 * last: the unfinished tail that the caller wants to see again in one piece with what follows. The block
 * given last is gone after this call. At the end of the input the block holds no more than the kept bytes,
 * and so does each one after. False where reading failed (not where the input is cut short: see
 * gt_stream_damage). */
bool gt_stream_next(gt_stream *stream, const uint8_t *keep, size_t keep_len, const uint8_t **text,
                    size_t *len, gt_error *error);

/* The first block without taking it: gt_stream_next gives it again. Only before the first gt_stream_next. */
bool gt_stream_peek(gt_stream *stream, const uint8_t **text, size_t *len, gt_error *error);

const char *gt_stream_path(const gt_stream *stream); /* for messages: "standard input" for "-" */
gt_compression gt_stream_compression(const gt_stream *stream);
bool gt_stream_seekable(const gt_stream *stream); /* a plain regular file (or plain memory) */
uint64_t gt_stream_size(const gt_stream *stream); /* of the file as stored; 0 where unknown */
/* Bytes of the stored file that have been read so far: for the progress line. Any thread may ask. */
uint64_t gt_stream_consumed(const gt_stream *stream);

/* After the end: NULL where the input was whole, else what was wrong with its tail in a few words, such as
 * "the gzip data ends early". What came before is sound and has been handed out. A checksum that does not
 * match or compressed data that is invalid is a failure of gt_stream_next, not damage. */
const char *gt_stream_damage(const gt_stream *stream);

#endif
