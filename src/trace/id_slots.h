/* Slots for ids that a profiler gave: each id of a set has a number of its own, so that what is known about
 * ids is kept in plain arrays.
 *
 * Profilers count their ids up, but only some ids belong to launches, so the ids of a trace lie in a few
 * ranges, with gaps of 1 to 20 between them and large ones between the ranges. The ids of a page, GT_ID_PAGE
 * neighbouring numbers, are the bits of one word; an id's slot is the first slot of its page plus the number
 * of bits before its own. So there are as many slots as ids. */
#pragma once

#include "base/base.h"

enum { GT_ID_PAGE_BITS = 6, GT_ID_PAGE = 1 << GT_ID_PAGE_BITS };
#define GT_NO_SLOT UINT32_MAX

typedef struct gt_id_page {
    uint64_t ids;        /* bit i: the id i of the page is one of the set */
    uint32_t first_slot; /* of its ids */
} gt_id_page;

typedef struct gt_id_slots {
    size_t count; /* slots; each is below it */
    gt_id_page *pages;
    uint32_t
        *directory; /* from the number of a page, less first_page, to its place in pages; NULL: see map */
    size_t directory_size;
    uint64_t first_page;
    gt_map map; /* the same for pages that are far from each other */
} gt_id_slots;

/* Writes the ids of the items [begin, end) to `ids`, in any order, and returns how many there are. An item
 * may have no id. At most GT_ID_BATCH items are asked for at a time. */
enum { GT_ID_BATCH = 2048 };
typedef size_t gt_ids_of_items(const void *context, size_t begin, size_t end, int64_t *ids);

/* Slots for the ids of the items 0 .. count-1. */
gt_id_slots gt_id_slots_new(size_t count, gt_ids_of_items *ids, const void *context);
void gt_id_slots_free(gt_id_slots *slots);

/* How many bits are set. x86-64 has an instruction for it that not all processors know. */
static inline uint32_t gt_count_bits(uint64_t bits)
{
#ifdef __aarch64__
    return (uint32_t)__builtin_popcountll(bits);
#else
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (uint32_t)(bits * 0x0101010101010101u >> 56);
#endif
}

/* The place of an id's page, GT_NO_SLOT if no id is in it. */
static inline uint32_t gt_id_place(const gt_id_slots *slots, int64_t id)
{
    uint64_t page = (uint64_t)id >> GT_ID_PAGE_BITS;
    if (!slots->directory) return gt_map_get(&slots->map, page, 0);
    return page - slots->first_page < slots->directory_size ? slots->directory[page - slots->first_page]
                                                            : GT_NO_SLOT;
}

/* The slot of an id, GT_NO_SLOT if no item has it. */
static inline uint32_t gt_id_slot(const gt_id_slots *slots, int64_t id)
{
    uint32_t place = gt_id_place(slots, id);
    if (place == GT_NO_SLOT) return GT_NO_SLOT;
    const gt_id_page *page = &slots->pages[place];
    uint64_t bit = UINT64_C(1) << ((uint64_t)id & (GT_ID_PAGE - 1));
    return page->ids & bit ? page->first_slot + gt_count_bits(page->ids & (bit - 1)) : GT_NO_SLOT;
}
