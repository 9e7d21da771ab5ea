/* Slots for ids: the pages of the ids are listed and get their places, then the ids are marked in them. */
#include "trace/id_slots.h"

enum { SEEN = 64 }; /* pages that are remembered, so that few of them are listed twice */

typedef struct page_list {
    uint64_t *pages;
    size_t count, capacity;
} page_list;

static page_list list_pages(size_t item_count, gt_ids_of_items *ids_of, const void *context)
{
    page_list list = {0};
    uint64_t seen[SEEN];
    int64_t ids[GT_ID_BATCH];
    for (size_t i = 0; i < SEEN; i++) seen[i] = i + 1; /* a page that belongs elsewhere: not seen */
    for (size_t at = 0; at < item_count; at += GT_ID_BATCH) {
        size_t end = item_count - at < GT_ID_BATCH ? item_count : at + GT_ID_BATCH;
        size_t count = ids_of(context, at, end, ids);
        for (size_t i = 0; i < count; i++) {
            uint64_t page = (uint64_t)ids[i] >> GT_ID_PAGE_BITS;
            if (seen[page % SEEN] == page) continue;
            seen[page % SEEN] = page;
            GT_PUSH(list.pages, list.count, list.capacity, page);
        }
    }
    return list;
}

/* How many pages a directory for `listed` ones may have. It is looked up several times as fast as the map, so
 * that up to DIRECTORY_MAX, gaps between ids are worth their memory: traces that `gputally fuse` or a script
 * put together have large ones. */
static uint64_t directory_limit(uint64_t listed)
{
    enum { DIRECTORY_MAX = 1 << 22, GAPS = 128 };
    uint64_t close = 4 * listed + 1024, far = GAPS * listed;
    if (far > DIRECTORY_MAX) far = DIRECTORY_MAX;
    return close > far ? close : far;
}

/* A directory for pages that are not too far from each other. */
static void make_directory(gt_id_slots *slots, const page_list *list)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->pages[i] < first) first = list->pages[i];
        if (list->pages[i] > last) last = list->pages[i];
    }
    if (!list->count || last - first > directory_limit(list->count)) return;
    slots->first_page = first;
    slots->directory_size = (size_t)(last - first + 1);
    slots->directory = gt_alloc(slots->directory_size * sizeof *slots->directory);
    memset(slots->directory, 0xFF, slots->directory_size * sizeof *slots->directory);
}

static size_t place_pages(gt_id_slots *slots, const page_list *list)
{
    uint32_t places = 0;
    make_directory(slots, list);
    for (size_t i = 0; i < list->count; i++) {
        uint64_t page = list->pages[i];
        uint32_t *place =
            slots->directory ? &slots->directory[page - slots->first_page] : gt_map_put(&slots->map, page, 0);
        if (*place == GT_NO_SLOT) *place = places++;
    }
    return places;
}

static void mark_ids(gt_id_slots *slots, size_t item_count, gt_ids_of_items *ids_of, const void *context)
{
    int64_t ids[GT_ID_BATCH];
    for (size_t at = 0; at < item_count; at += GT_ID_BATCH) {
        size_t end = item_count - at < GT_ID_BATCH ? item_count : at + GT_ID_BATCH;
        size_t count = ids_of(context, at, end, ids);
        for (size_t i = 0; i < count; i++)
            slots->pages[gt_id_place(slots, ids[i])].ids |= UINT64_C(1)
                                                            << ((uint64_t)ids[i] & (GT_ID_PAGE - 1));
    }
}

gt_id_slots gt_id_slots_new(size_t count, gt_ids_of_items *ids, const void *context)
{
    gt_id_slots slots = {0};
    page_list list = list_pages(count, ids, context);
    size_t pages = place_pages(&slots, &list);
    gt_free(list.pages);
    slots.pages = gt_alloc_zero(pages, sizeof *slots.pages);
    mark_ids(&slots, count, ids, context);
    for (size_t i = 0; i < pages; i++) {
        slots.pages[i].first_slot = (uint32_t)slots.count;
        slots.count += gt_count_bits(slots.pages[i].ids);
    }
    return slots;
}

void gt_id_slots_free(gt_id_slots *slots)
{
    gt_free_all(slots->pages, slots->directory);
    gt_map_free(&slots->map);
}
