/* Which addresses are large blocks, of which pool: one table for the process, so that a block can be freed by
 * code that does not know where it is from. */
#ifndef GT_BASE_PAGES_BLOCKS_H
#define GT_BASE_PAGES_BLOCKS_H

#include "base/pages/types.h"

/* Blocks begin at multiples of this; few blocks of malloc do, and only those are looked up. */
enum { GT_PAGE_BLOCK_ALIGNMENT = 256 };

typedef struct gt_page_block {
    gt_pages *pool;
    char *begin;   /* of its first page */
    size_t bytes;  /* of its pages */
    size_t offset; /* of the block in its first page */
    bool in_file;
} gt_page_block;

/* False if the table is full. */
bool gt_page_blocks_add(const gt_page_block *block);
/* NULL if the address is not that of a large block. The result is valid until the block is freed or moved. */
gt_page_block *gt_page_blocks_find(const void *address);
/* Forgets a block; afterwards its entry is not to be used any more. */
void gt_page_blocks_remove(gt_page_block *block);

#endif
