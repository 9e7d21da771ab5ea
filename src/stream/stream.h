/* The file layer: a file, standard input or memory, plain or compressed with gzip or zstd, as one stream of
 * text.
 *
 * Compression is recognised by the first bytes, never by the file name. Compressed input is inflated on a
 * thread of its own while the caller works on the previous block (read-ahead). Blocks come in order in
 * buffers that are reused, so memory does not grow with the file. */
#pragma once

#include "base/base.h"

enum {
    GT_STREAM_PAD = 256,          /* readable bytes after each block: two '"', then zeros */
    GT_STREAM_BLOCK = 256 * 1024, /* the usual size of a block: stays in the cache with what is made of it */
};

typedef enum gt_compression { GT_PLAIN, GT_GZIP, GT_ZSTD } gt_compression;

typedef struct gt_stream gt_stream;

/* Opens a path, or standard input for "-". NULL and an error if that fails; a folder is an error too. */
gt_stream *gt_stream_open(const char *path, gt_error *error);
/* The same with blocks of this size (0 for the usual one): a short block is enough to look at a file. */
gt_stream *gt_stream_open_blocks(const char *path, size_t block, gt_error *error);
/* The same over bytes in memory, which must outlive the stream: for tests and fuzzing. `block` sets the block
 * size (0 for the usual one), so that a test can put a boundary anywhere. */
gt_stream *gt_stream_memory(const void *bytes, size_t len, size_t block, gt_error *error);
/* An open plain file from offset `begin` to its end: what each parallel worker reads. `plain` must be
 * seekable (gt_stream_seekable) and must outlive the range. */
gt_stream *gt_stream_range(const gt_stream *plain, uint64_t begin, gt_error *error);
/* Continues at another offset of a seekable stream or range; its buffer is kept. The last block becomes
 * invalid. */
void gt_stream_move(gt_stream *stream, uint64_t offset);
/* Reading will probably end at or soon after this offset of a seekable stream, until the next gt_stream_move:
 * blocks from there on are short, so that little is read that nobody uses. 0: nothing is known. */
void gt_stream_expect_end(gt_stream *stream, uint64_t offset);
void gt_stream_close(gt_stream *stream);

/* Copies up to `len` bytes at an offset of a seekable stream; *got is less only at the end of the input. The
 * stream's own position and blocks stay as they are. */
bool gt_stream_read_at(const gt_stream *plain, uint64_t offset, void *out, size_t len, size_t *got,
                       gt_error *error);

/* The next block. Its text begins with the `keep_len` bytes at `keep`, which must be in the last block: the
 * unfinished tail that the caller wants to see again in one piece with what follows. The last block becomes
 * invalid. At the end of the input, this and every later block holds only the kept bytes. False if reading
 * failed (not if the input is truncated: see gt_stream_damage). */
bool gt_stream_next(gt_stream *stream, const uint8_t *keep, size_t keep_len, const uint8_t **text,
                    size_t *len, gt_error *error);

/* Adds all that is left to the buffer, for formats that are not read from beginning to end. Compressed input
 * may inflate to GT_STREAM_HELD_BYTES, or to GT_STREAM_HELD_RATIO times its size: a file of a few kilobytes
 * may contain gigabytes. False if it is larger, or if reading failed. */
enum { GT_STREAM_HELD_BYTES = 256 << 20, GT_STREAM_HELD_RATIO = 100 };
bool gt_stream_read_all(gt_stream *stream, gt_buffer *text, gt_error *error);

/* The first block without taking it: gt_stream_next gives it again. Only before the first gt_stream_next. */
bool gt_stream_peek(gt_stream *stream, const uint8_t **text, size_t *len, gt_error *error);

const char *gt_stream_path(const gt_stream *stream); /* for messages: "standard input" for "-" */
gt_compression gt_stream_compression(const gt_stream *stream);
bool gt_stream_seekable(const gt_stream *stream); /* a plain regular file (or plain memory) */
uint64_t gt_stream_size(const gt_stream *stream); /* of the file as stored; 0 if unknown */
/* Bytes of the stored file that have been read so far, for the progress line. Any thread may ask. */
uint64_t gt_stream_consumed(const gt_stream *stream);

/* After the end: NULL if the input was complete, otherwise what is wrong with its end in a few words, such as
 * "the gzip data ends early". Everything before that is valid and has been handed out. A wrong checksum or
 * invalid compressed data makes gt_stream_next fail instead. */
const char *gt_stream_damage(const gt_stream *stream);

/* Frees the buffers of a stream that was read to the end of what is wanted, before work that needs memory
 * itself. From then on it has ended, and only questions about the file may be asked. */
void gt_stream_finish(gt_stream *stream);
