/* A zip archive written part by part, deflated as it goes; for workbooks.
 *
 * Memory stays the same however long a part is. Failures are the file's: they are kept there and told when it
 * is closed. */
#ifndef GT_OUTPUT_XLSX_ZIP_H
#define GT_OUTPUT_XLSX_ZIP_H

#include "output/file.h"

#include <stddef.h>
#include <stdint.h>

enum { GT_ZIP_BUFFER = 128 * 1024 };

typedef struct gt_zip {
    char *buffer; /* what was written of the part and not deflated yet */
    size_t used;
    gt_file *file;
    struct gt_zip_deflate *deflate;
    struct gt_zip_part *parts;
    size_t count, capacity;
    uint64_t size; /* of the archive so far */
} gt_zip;

/* The file must be empty and outlive the archive. */
void gt_zip_begin(gt_zip *zip, gt_file *file);

/* Begins a part and ends the one before it. The name is copied. Only a part that may become `huge` can hold
 * 4 GiB or more: old programs do not read such ones. */
void gt_zip_begin_part(gt_zip *zip, const char *name, bool huge);
void gt_zip_write(gt_zip *zip, const void *bytes, size_t len);
void gt_zip_add(gt_zip *zip, const char *text);

/* Ends the last part, writes the directory and frees the archive's memory. False where a part that was not
 * said to become huge did. */
bool gt_zip_end(gt_zip *zip);

/* Room for `need` bytes, at most GT_ZIP_BUFFER; the caller adds what it used of it to zip->used. */
void gt_zip_flush(gt_zip *zip);
static inline char *gt_zip_room(gt_zip *zip, size_t need)
{
    if (GT_ZIP_BUFFER - zip->used < need) gt_zip_flush(zip);
    return zip->buffer + zip->used;
}

#endif
