/* Slots for ids: each range of items lists the pages of its ids, one thread gives the pages their places, and
 * all threads mark the ids in them. */
#include "trace/id_slots.h"

#include "base/memory.h"
#include "base/team.h"
#include "trace/rows.h"

#include <stdbool.h>
#include <string.h>

enum { SEEN = 64 }; /* pages that a range remembers, so that it lists few of them twice */

typedef struct page_list {
    uint64_t *pages;
    size_t count, capacity;
} page_list;

typedef struct page_search {
    gt_ids_of_items *ids;
    const void *context;
    page_list *ranges;
    gt_id_slots *slots;
} page_search;

static void list_pages(void *context, size_t begin, size_t end)
{
    const page_search *s = context;
    page_list list = {0};
    uint64_t seen[SEEN];
    int64_t ids[GT_ID_BATCH];
    for (size_t i = 0; i < SEEN; i++) seen[i] = i + 1; /* a page that belongs elsewhere: not seen */
    for (size_t at = begin; at < end; at += GT_ID_BATCH) {
        size_t count = s->ids(s->context, at, end - at < GT_ID_BATCH ? end : at + GT_ID_BATCH, ids);
        for (size_t i = 0; i < count; i++) {
            uint64_t page = (uint64_t)ids[i] >> GT_ID_PAGE_BITS;
            if (seen[page % SEEN] == page) continue;
            seen[page % SEEN] = page;
            GT_PUSH(list.pages, list.count, list.capacity, page);
        }
    }
    s->ranges[begin / GT_ROWS_GRAIN] = list;
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
static void make_directory(gt_id_slots *slots, const page_list *lists, size_t list_count)
{
    uint64_t first = UINT64_MAX, last = 0, listed = 0;
    for (size_t i = 0; i < list_count; i++) {
        listed += lists[i].count;
        for (size_t k = 0; k < lists[i].count; k++) {
            if (lists[i].pages[k] < first) first = lists[i].pages[k];
            if (lists[i].pages[k] > last) last = lists[i].pages[k];
        }
    }
    if (!listed || last - first > directory_limit(listed)) return;
    slots->first_page = first;
    slots->directory_size = (size_t)(last - first + 1);
    slots->directory = gt_alloc(slots->directory_size * sizeof *slots->directory);
    memset(slots->directory, 0xFF, slots->directory_size * sizeof *slots->directory);
}

static size_t place_pages(gt_id_slots *slots, const page_list *lists, size_t list_count)
{
    uint32_t places = 0;
    make_directory(slots, lists, list_count);
    for (size_t i = 0; i < list_count; i++)
        for (size_t k = 0; k < lists[i].count; k++) {
            uint64_t page = lists[i].pages[k];
            uint32_t *place = slots->directory ? &slots->directory[page - slots->first_page]
                                               : gt_map_put(&slots->map, page, 0);
            if (*place == GT_NO_SLOT) *place = places++;
        }
    return places;
}

static void mark_ids(void *context, size_t begin, size_t end)
{
    const page_search *s = context;
    int64_t ids[GT_ID_BATCH];
    for (size_t at = begin; at < end; at += GT_ID_BATCH) {
        size_t count = s->ids(s->context, at, end - at < GT_ID_BATCH ? end : at + GT_ID_BATCH, ids);
        for (size_t i = 0; i < count; i++) {
            uint64_t *page = &s->slots->pages[gt_id_place(s->slots, ids[i])].ids;
            uint64_t bit = UINT64_C(1) << ((uint64_t)ids[i] & (GT_ID_PAGE - 1));
            if (!(__atomic_load_n(page, __ATOMIC_RELAXED) & bit))
                __atomic_fetch_or(page, bit, __ATOMIC_RELAXED);
        }
    }
}

gt_id_slots gt_id_slots_new(size_t count, gt_ids_of_items *ids, const void *context)
{
    size_t range_count = gt_range_count(count, GT_ROWS_GRAIN);
    gt_id_slots slots = {0};
    page_search search = {.ids = ids,
                          .context = context,
                          .ranges = gt_alloc_zero(range_count, sizeof *search.ranges),
                          .slots = &slots};
    gt_parallel_ranges(count, GT_ROWS_GRAIN, list_pages, &search);
    size_t pages = place_pages(&slots, search.ranges, range_count);
    for (size_t i = 0; i < range_count; i++) gt_free(search.ranges[i].pages);
    gt_free(search.ranges);
    slots.pages = gt_alloc_zero(pages, sizeof *slots.pages);
    gt_parallel_ranges(count, GT_ROWS_GRAIN, mark_ids, &search);
    for (size_t i = 0; i < pages; i++) {
        slots.pages[i].first_slot = (uint32_t)slots.count;
        slots.count += gt_count_bits(slots.pages[i].ids);
    }
    return slots;
}

void gt_id_slots_free(gt_id_slots *slots)
{
    gt_free(slots->pages);
    gt_free(slots->directory);
    gt_map_free(&slots->map);
}
