/* Internal to src/page: one column of a pack (pack.h describes codes and planes). A column needs nothing but
 * its cells and the ranks of strings, so that threads can encode many at a time. */
#ifndef GT_PAGE_PACK_COLUMNS_H
#define GT_PAGE_PACK_COLUMNS_H

#include "base/buffer.h"
#include "table/table.h"

/* Columns of one table, elements of lists included: they follow their list. */
typedef struct gt_packed_column {
    const gt_column *column;
    size_t rows;
    gt_interner *strings; /* of its table */
    uint32_t *numbers; /* STRING, and INT as strings: the number of each cell's string, 0 for null; owned */
    char code;
    unsigned width;
    gt_buffer bytes;
} gt_packed_column;

/* The code of INT cells: 'u', 'f', or 't' if a browser could not compute with one of them. */
char gt_packed_code_of_ints(const gt_packed_column *packed);
/* The code of FLOAT cells: 'u' if all are whole, else 'f'. */
char gt_packed_code_of_floats(const gt_packed_column *packed);

/* Fills width and bytes, and turns the code 'u' into 'd' where differences are shorter. `ranks` has what a
 * cell contains, by the number of its string. */
void gt_packed_encode(gt_packed_column *packed, const uint32_t *ranks);

/* ---- planes ---- */

/* The bytes that the largest of these numbers has. */
unsigned gt_planes_width(const uint64_t *numbers, size_t count);
/* Appends numbers in planes of this width. */
void gt_planes_add(gt_buffer *out, const uint64_t *numbers, size_t count, unsigned width);

#endif
