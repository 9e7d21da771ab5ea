/* A hash table with linear probing and a fixed size. Blocks of different pools and threads are added and
 * removed under one lock; a search takes none. It is correct without, because it only looks for a block that
 * its caller owns, which is neither added nor removed meanwhile, and because an entry that lies before
 * another one on its path is never emptied, only marked as free.
 *
 * The slot of an address is its number of 256 KiB units: neighbouring blocks have neighbouring slots, so that
 * only the used part of the table takes memory. */
#include "base/pages/blocks.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SLOTS = 1 << 16, SLOTS_USED_MAX = SLOTS / 4 * 3, SLOT_SHIFT = 18 };
enum { EMPTY = 0, REMOVED = 1 }; /* values of `address` that no block has */

typedef struct slot {
    gt_page_block block; /* the first member, so that its address is the slot's */
    atomic_uintptr_t address;
} slot;

static slot slots[SLOTS];
static size_t slots_used; /* that are not empty; with the lock */
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t home_of(uintptr_t address)
{
    return address >> SLOT_SHIFT & (SLOTS - 1);
}

static size_t after(size_t at)
{
    return (at + 1) & (SLOTS - 1);
}

bool gt_page_blocks_add(const gt_page_block *block)
{
    uintptr_t address = (uintptr_t)(block->begin + block->offset);
    pthread_mutex_lock(&slots_lock);
    size_t at = home_of(address);
    bool fits = slots_used < SLOTS_USED_MAX;
    if (fits) {
        uintptr_t there;
        while ((there = atomic_load_explicit(&slots[at].address, memory_order_relaxed)) > REMOVED)
            at = after(at);
        slots_used += there == EMPTY;
        slots[at].block = *block;
        atomic_store_explicit(&slots[at].address, address, memory_order_release);
    }
    pthread_mutex_unlock(&slots_lock);
    return fits;
}

gt_page_block *gt_page_blocks_find(const void *address)
{
    uintptr_t wanted = (uintptr_t)address;
    if (wanted % GT_PAGE_BLOCK_ALIGNMENT || !wanted) return NULL;
    for (size_t at = home_of(wanted);; at = after(at)) {
        uintptr_t there = atomic_load_explicit(&slots[at].address, memory_order_acquire);
        if (there == wanted) return &slots[at].block;
        if (there == EMPTY) return NULL;
    }
}

void gt_page_blocks_remove(gt_page_block *block)
{
    pthread_mutex_lock(&slots_lock);
    size_t at = (size_t)((slot *)block - slots);
    atomic_store_explicit(&slots[at].address, REMOVED, memory_order_relaxed);
    /* Removed entries before an empty one are on nobody's path. */
    while (atomic_load_explicit(&slots[after(at)].address, memory_order_relaxed) == EMPTY &&
           atomic_load_explicit(&slots[at].address, memory_order_relaxed) == REMOVED) {
        atomic_store_explicit(&slots[at].address, EMPTY, memory_order_relaxed);
        slots_used--;
        at = (at - 1) & (SLOTS - 1);
    }
    pthread_mutex_unlock(&slots_lock);
}
