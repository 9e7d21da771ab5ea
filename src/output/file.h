/* One file of a report, written through a buffer.
 *
 * Writes do not report failures: the first one is kept, later writes do nothing, and gt_file_close returns
 * it. */
#ifndef GT_OUTPUT_FILE_H
#define GT_OUTPUT_FILE_H

#include "output/output.h"

enum { GT_FILE_BUFFER = 256 * 1024 };

typedef struct gt_file {
    char *path; /* the final name, for error messages */
    int descriptor;
    int failure; /* errno of the first failed write, or 0 */
    size_t used;
    char *buffer;
} gt_file;

/* The file must stay where it is until it is closed. */
bool gt_file_open(gt_file *file, gt_output *output, const char *path, gt_error *error);
void gt_file_flush(gt_file *file);
void gt_file_write(gt_file *file, const void *bytes, size_t len);
/* Writes the rest and closes the file. The file is closed and its memory freed even if this fails. */
bool gt_file_close(gt_file *file, gt_error *error);

/* Opens, writes and closes a file. */
bool gt_output_whole_file(gt_output *output, const char *path, gt_str text, gt_error *error);

/* Room for `need` bytes, at most GT_FILE_BUFFER; the caller adds the number of bytes it wrote to file->used.
 */
static inline char *gt_file_room(gt_file *file, size_t need)
{
    if (GT_FILE_BUFFER - file->used < need) gt_file_flush(file);
    return file->buffer + file->used;
}

static inline void gt_file_put(gt_file *file, char byte)
{
    *gt_file_room(file, 1) = byte;
    file->used++;
}

#endif
