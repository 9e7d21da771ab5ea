/* A file seen through a window that goes anywhere: for formats whose parts are found by following lengths,
 * not by reading from front to back.
 *
 * Of a plain file one block is in memory at a time. What cannot be read in several places (compressed input,
 * a pipe) is held whole, and pages that are done with can be given back. */
#ifndef GT_STREAM_WINDOW_H
#define GT_STREAM_WINDOW_H

#include "base/interner.h"
#include "base/buffer.h"
#include "stream/stream.h"

enum { GT_WINDOW_PAD = 16 }; /* bytes behind what is shown that may be read, whatever they are */

typedef struct gt_window {
    gt_stream *range;     /* NULL where all is held */
    const uint8_t *bytes; /* what is in memory */
    size_t len;
    uint64_t begin; /* where in the file that is */
    uint64_t size;  /* of the whole */
    gt_buffer held;
} gt_window;

/* The stream must outlive the window. With `strict`, compressed input that ends early is an error, else a
 * warning. */
bool gt_window_open(gt_window *window, gt_stream *stream, bool strict, gt_error *error);
void gt_window_close(gt_window *window);

/* All that is at hand from `offset` on: at least `want` bytes, fewer only where the file ends before. They
 * are gone with the next call. False where reading fails. */
bool gt_window_show(gt_window *window, uint64_t offset, size_t want, gt_str *shown, gt_error *error);

/* [begin, end) will not be asked for again. */
void gt_window_forget(gt_window *window, uint64_t begin, uint64_t end);

#endif
