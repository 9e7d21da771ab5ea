/* Slots for ids that a profiler gave: each id of a set has a number of its own, so that what is known about
 * ids is kept in plain arrays, which all threads may fill.
 *
 * Profilers count their ids up, so the ids of a trace form a few dense ranges, far from each other. Ids of
 * the same page, GT_ID_PAGE neighbouring ones, have neighbouring slots, and only the page is looked up. So
 * there are more slots than ids, but not many more; where ids are scattered, as in a broken trace, each has a
 * page of its own. */
#ifndef GT_TRACE_ID_SLOTS_H
#define GT_TRACE_ID_SLOTS_H

#include "base/map.h"

#include <stddef.h>
#include <stdint.h>

enum { GT_ID_PAGE_BITS = 6, GT_ID_PAGE = 1 << GT_ID_PAGE_BITS };
#define GT_NO_SLOT UINT32_MAX

typedef struct gt_id_slots {
    size_t count;        /* slots; each is below it */
    unsigned page_bits;  /* GT_ID_PAGE_BITS, or 0 if ids are scattered */
    uint32_t *directory; /* from a page, less first_page, to its place; NULL: the map has the places */
    size_t directory_size;
    uint64_t first_page;
    gt_map map;
} gt_id_slots;

/* Writes the ids of the items [begin, end) to `ids`, in any order, and returns how many there are. An item
 * may have no id. At most GT_ID_BATCH items are asked for at a time, by any thread. */
enum { GT_ID_BATCH = 2048 };
typedef size_t gt_ids_of_items(const void *context, size_t begin, size_t end, int64_t *ids);

/* Slots for the ids of the items 0 .. count-1, found on all threads of the team. */
gt_id_slots gt_id_slots_new(size_t count, gt_ids_of_items *ids, const void *context);
void gt_id_slots_free(gt_id_slots *slots);

/* The slot of an id. GT_NO_SLOT if no item has it; an id near those of items may have a slot, too. */
static inline uint32_t gt_id_slot(const gt_id_slots *slots, int64_t id)
{
    uint64_t page = (uint64_t)id >> slots->page_bits;
    uint32_t place;
    if (slots->directory)
        place = page - slots->first_page < slots->directory_size ? slots->directory[page - slots->first_page]
                                                                 : GT_NO_SLOT;
    else
        place = gt_map_get(&slots->map, page, 0);
    if (place == GT_NO_SLOT) return GT_NO_SLOT;
    return place << slots->page_bits | (uint32_t)((uint64_t)id & ((1u << slots->page_bits) - 1));
}

/* Sets *item to `value` if that is greater, whatever other threads do. 0 is less than all values in use. */
static inline void gt_keep_greatest(uint32_t *item, uint32_t value)
{
    uint32_t old = __atomic_load_n(item, __ATOMIC_RELAXED);
    while (old < value &&
           !__atomic_compare_exchange_n(item, &old, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

#endif
