/* A file seen through a window that can be moved anywhere: for formats whose parts are found by following
 * lengths instead of reading from beginning to end.
 *
 * Of a plain file, one block is in memory at a time. Input that cannot be read at any place (compressed
 * input, a pipe) is held completely in memory, and pages that are no longer needed can be released. */
#pragma once

#include "stream/stream.h"

enum { GT_WINDOW_PAD = 16 }; /* readable bytes after what is shown, with any content */

typedef struct gt_window {
    gt_stream *range;     /* NULL if everything is held */
    const uint8_t *bytes; /* the part that is in memory */
    size_t len;
    uint64_t begin; /* its offset in the file */
    uint64_t size;  /* of the whole file */
    gt_buffer held;
} gt_window;

/* The stream must outlive the window. With `strict`, compressed input that ends early is an error, otherwise
 * a warning. */
bool gt_window_open(gt_window *window, gt_stream *stream, bool strict, gt_error *error);
void gt_window_close(gt_window *window);

/* Everything in memory from `offset` on: at least `want` bytes, fewer only at the end of the file. Valid
 * until the next call. False if reading fails. */
bool gt_window_show(gt_window *window, uint64_t offset, size_t want, gt_str *shown, gt_error *error);

/* [begin, end) will not be needed again. */
void gt_window_forget(gt_window *window, uint64_t begin, uint64_t end);
