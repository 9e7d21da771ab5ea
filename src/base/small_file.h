/* Files that are read whole: settings and lists, not traces. */
#ifndef GT_BASE_SMALL_FILE_H
#define GT_BASE_SMALL_FILE_H

#include "base/error.h"
#include "base/buffer.h"

/* Adds the file's bytes. False where it cannot be read or holds more than `most` bytes; the sentence begins
 * with the path. */
bool gt_read_small_file(const char *path, size_t most, gt_buffer *text, gt_error *error);

#endif
