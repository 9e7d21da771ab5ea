/* Slabs: byte strings of some kilobytes with different lifetimes, packed into large blocks. Columns of
 * events are kept in them: large blocks can go to a temporary file if memory is limited, small ones cannot.
 *
 * A piece keeps its whole slab, so pieces of one gt_slabs should be freed at about the same time. One thread
 * at a time uses a gt_slabs; pieces may be freed by any thread. */
#ifndef GT_BASE_SLABS_H
#define GT_BASE_SLABS_H

#include <stddef.h>
#include <stdint.h>

typedef struct gt_slab gt_slab;

/* Where the next pieces come from. Begins as all zeros. */
typedef struct gt_slabs {
    gt_slab *open;
    size_t used; /* of the open slab */
} gt_slabs;

/* A piece, aligned to 8 bytes and uninitialised, and the slab that it keeps. */
uint8_t *gt_slabs_alloc(gt_slabs *slabs, size_t bytes, gt_slab **slab);
void gt_slab_release(gt_slab *slab);  /* frees a piece; NULL does nothing */
void gt_slabs_close(gt_slabs *slabs); /* the pieces stay */

#endif
