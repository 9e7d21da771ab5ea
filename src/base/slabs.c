/* Slabs, with a count of their users. It is not in the slab itself: freeing must not touch memory that may be
 * on the disk. */
#include "base/slabs.h"
#include "base/memory.h"

#include <stdatomic.h>

/* The first slab is small: what is kept of a small trace needs no more, and the pages of a large block that
 * nobody has touched count as memory of the pool. */
enum { FIRST_BYTES = 64 * 1024, GROWTH = 4, SLAB_BYTES = 1024 * 1024 };

struct gt_slab {
    uint8_t *bytes;
    size_t size;
    atomic_size_t users; /* pieces, and the gt_slabs that has it open */
};

void gt_slab_release(gt_slab *slab)
{
    if (!slab || atomic_fetch_sub(&slab->users, 1) != 1) return;
    gt_free(slab->bytes);
    gt_free(slab);
}

static void open_slab(gt_slabs *slabs, size_t size)
{
    uint8_t *bytes = gt_alloc_cold(size);
    gt_slab *slab = gt_alloc(sizeof *slab);
    slab->bytes = bytes;
    slab->size = size;
    atomic_init(&slab->users, 1);
    gt_slab_release(slabs->open);
    *slabs = (gt_slabs){.open = slab};
}

static size_t next_size(const gt_slabs *slabs)
{
    if (!slabs->open) return FIRST_BYTES;
    return slabs->open->size < SLAB_BYTES / GROWTH ? slabs->open->size * GROWTH : SLAB_BYTES;
}

uint8_t *gt_slabs_alloc(gt_slabs *slabs, size_t bytes, gt_slab **slab)
{
    if (!slabs->open || slabs->open->size - slabs->used < bytes) {
        size_t size = next_size(slabs);
        open_slab(slabs, bytes > size ? bytes : size);
    }
    uint8_t *piece = slabs->open->bytes + slabs->used;
    size_t used = slabs->used + (bytes + 7) / 8 * 8;
    slabs->used = used < slabs->open->size ? used : slabs->open->size;
    atomic_fetch_add(&slabs->open->users, 1);
    *slab = slabs->open;
    return piece;
}

void gt_slabs_close(gt_slabs *slabs)
{
    if (slabs->open) gt_trim(slabs->open->bytes, slabs->used); /* most are closed long before they are full */
    gt_slab_release(slabs->open);
    *slabs = (gt_slabs){0};
}
