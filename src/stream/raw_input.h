/* The bytes of a trace as they are stored: in a file, in a pipe, or in memory. */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

enum { GT_STORED_HEAD = 4 }; /* bytes that identify the compression */

typedef struct gt_raw_input {
    const char *path;      /* for messages; not owned */
    const uint8_t *memory; /* the bytes if they are in memory, otherwise NULL */
    int fd;                /* otherwise -1 */
    bool regular;          /* a file that can be read anywhere */
    bool owns_fd;
    uint64_t
        base; /* where a regular file begins for us: standard input may be positioned after its beginning */
    uint64_t size;                /* 0 if unknown */
    uint64_t offset;              /* of the next byte to read, relative to base */
    uint8_t head[GT_STORED_HEAD]; /* the first bytes; head_left of them, taken from a pipe, are still to be
                                     read */
    size_t head_len, head_left;
    int stop_pipe[2]; /* written to by gt_raw_input_stop; -1 if reading cannot block for long */
    _Atomic uint64_t consumed;
} gt_raw_input;

/* Opens a path, or standard input for "-", and reads its first bytes. */
bool gt_raw_input_open(gt_raw_input *stored, const char *path, gt_error *error);
void gt_raw_input_memory(gt_raw_input *stored, const void *bytes, size_t len);
/* The same file or memory, from `offset` on. The original must outlive it. */
void gt_raw_input_share(gt_raw_input *stored, const gt_raw_input *original, uint64_t offset);
void gt_raw_input_close(gt_raw_input *stored);

/* Reads until `room` bytes are there or the end is reached, in which case *got < room. */
bool gt_raw_input_read(gt_raw_input *stored, uint8_t *out, size_t room, size_t *got, gt_error *error);

/* Makes a read that waits for a pipe on another thread return as if the end were reached. */
void gt_raw_input_stop(gt_raw_input *stored);
