/* Slots for ids: each range of items lists the pages of its ids; one thread gives the pages their places. */
#include "trace/id_slots.h"

#include "base/memory.h"
#include "base/team.h"
#include "trace/rows.h"

#include <stdbool.h>
#include <string.h>

enum {
    MIN_IDS_PER_PAGE = 4, /* on average; below that, pages waste memory */
    SEEN = 64             /* pages that a range remembers, so that it lists few of them twice */
};

typedef struct page_list {
    uint64_t *pages;
    size_t count, capacity;
    size_t ids;
} page_list;

typedef struct page_search {
    gt_ids_of_items *ids;
    const void *context;
    unsigned page_bits;
    page_list *ranges;
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
        list.ids += count;
        for (size_t i = 0; i < count; i++) {
            uint64_t page = (uint64_t)ids[i] >> s->page_bits;
            if (seen[page % SEEN] == page) continue;
            seen[page % SEEN] = page;
            GT_PUSH(list.pages, list.count, list.capacity, page);
        }
    }
    s->ranges[begin / GT_ROWS_GRAIN] = list;
}

static void list_all_pages(page_search *s, size_t count, unsigned page_bits)
{
    s->page_bits = page_bits;
    for (size_t i = 0; i < gt_range_count(count, GT_ROWS_GRAIN); i++) gt_free(s->ranges[i].pages);
    gt_parallel_ranges(count, GT_ROWS_GRAIN, list_pages, s);
}

/* A directory for pages that are close together. */
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
    if (!listed || last - first > 4 * listed + 1024) return;
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

gt_id_slots gt_id_slots_new(size_t count, gt_ids_of_items *ids, const void *context)
{
    size_t range_count = gt_range_count(count, GT_ROWS_GRAIN), all_ids = 0;
    page_search search = {
        .ids = ids, .context = context, .ranges = gt_alloc_zero(range_count, sizeof *search.ranges)};
    gt_id_slots slots = {.page_bits = GT_ID_PAGE_BITS};
    list_all_pages(&search, count, GT_ID_PAGE_BITS);
    for (size_t i = 0; i < range_count; i++) all_ids += search.ranges[i].ids;
    size_t pages = place_pages(&slots, search.ranges, range_count);
    if (pages > all_ids / MIN_IDS_PER_PAGE + 1024) {
        gt_id_slots_free(&slots);
        slots = (gt_id_slots){.page_bits = 0};
        list_all_pages(&search, count, 0);
        pages = place_pages(&slots, search.ranges, range_count);
    }
    slots.count = pages << slots.page_bits;
    for (size_t i = 0; i < range_count; i++) gt_free(search.ranges[i].pages);
    gt_free(search.ranges);
    return slots;
}

void gt_id_slots_free(gt_id_slots *slots)
{
    gt_free(slots->directory);
    gt_map_free(&slots->map);
}
