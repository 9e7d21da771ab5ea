/* Finding lanes: each range of rows numbers the lanes that it has, these are merged in the order of the file,
 * and then the rows get the numbers of the merged lanes. */
#include "trace/pytorch/lanes.h"

#include "trace/events.h"
#include "trace/rows.h"

/* Different lanes, in the order in which they were found. */
typedef struct lane_list {
    gt_lane_ids *ids;
    size_t count, capacity;
    gt_map numbers; /* from process and thread to an index into ids */
} lane_list;

static uint32_t number_of(lane_list *list, gt_lane_ids ids)
{
    uint32_t *number = gt_map_put(&list->numbers, ids.process, ids.thread);
    if (*number == GT_MAP_NONE) {
        *number = (uint32_t)list->count;
        GT_PUSH(list->ids, list->count, list->capacity, ids);
    }
    return *number;
}

/* The bytes of the numbers of so many lanes. */
static uint8_t width_for(size_t lanes)
{
    return lanes <= UINT8_MAX + 1 ? 1 : lanes <= UINT16_MAX + 1 ? 2 : 4;
}

/* ---- reading ---- */

/* The lanes of a range of rows. */
typedef struct range_lanes {
    lane_list list;
    uint32_t *numbers; /* by index in the list: the lane of the trace */
} range_lanes;

typedef struct lane_search {
    const gt_store *store;
    range_lanes *ranges;
    uint16_t *indexes; /* by row: in the list of its range */
    gt_event_lanes found;
} lane_search;
_Static_assert(GT_ROWS_GRAIN <= UINT16_MAX + 1, "the lanes of a range have numbers of 16 bits");

static void find_lanes(void *context, size_t begin, size_t end)
{
    enum { BLOCK = 1024 };
    const lane_search *s = context;
    uint32_t processes[BLOCK], threads[BLOCK], index = 0;
    lane_list list = {0};
    for (size_t at = begin; at < end; at += BLOCK) {
        size_t rows = end - at < BLOCK ? end - at : BLOCK;
        gt_store_read_string_ids(s->store, GT_EVENT_PROCESS, at, at + rows, processes);
        gt_store_read_string_ids(s->store, GT_EVENT_THREAD, at, at + rows, threads);
        for (size_t i = 0; i < rows; i++) { /* neighbours are mostly of the same thread */
            if (i == 0 || processes[i] != processes[i - 1] || threads[i] != threads[i - 1])
                index = number_of(&list, (gt_lane_ids){processes[i], threads[i]});
            s->indexes[at + i] = (uint16_t)index;
        }
    }
    gt_map_free(&list.numbers);
    s->ranges[begin / GT_ROWS_GRAIN].list = list;
}

static void merge_ranges(lane_search *s, size_t range_count)
{
    lane_list all = {0};
    for (size_t i = 0; i < range_count; i++) {
        range_lanes *r = &s->ranges[i];
        r->numbers = gt_alloc(r->list.count * sizeof *r->numbers);
        for (size_t k = 0; k < r->list.count; k++) r->numbers[k] = number_of(&all, r->list.ids[k]);
        gt_free(r->list.ids);
    }
    gt_map_free(&all.numbers);
    s->found.ids = all.ids;
    s->found.count = all.count;
}

#define NUMBER_ROWS(type)                                                                                    \
    for (size_t row = begin; row < end; row++) ((type *)s->found.rows)[row] = (type)numbers[s->indexes[row]]

static void number_rows(void *context, size_t begin, size_t end)
{
    const lane_search *s = context;
    uint32_t *numbers = s->ranges[begin / GT_ROWS_GRAIN].numbers;
    if (s->found.width == 1)
        NUMBER_ROWS(uint8_t);
    else if (s->found.width == 2)
        NUMBER_ROWS(uint16_t);
    else
        NUMBER_ROWS(uint32_t);
    gt_free(numbers);
}

gt_event_lanes gt_event_lanes_read(const gt_store *store)
{
    size_t rows = gt_store_count(store), range_count = gt_range_count(rows, GT_ROWS_GRAIN);
    lane_search s = {.store = store,
                     .ranges = gt_alloc(range_count * sizeof *s.ranges),
                     .indexes = gt_alloc(rows * sizeof *s.indexes)};
    gt_parallel_ranges(rows, GT_ROWS_GRAIN, find_lanes, &s);
    merge_ranges(&s, range_count);
    s.found.width = width_for(s.found.count);
    s.found.rows = gt_alloc(rows * s.found.width);
    gt_parallel_ranges(rows, GT_ROWS_GRAIN, number_rows, &s);
    gt_free_all(s.ranges, s.indexes);
    return s.found;
}

/* ---- more rows ---- */

static void set_lane(gt_event_lanes *lanes, size_t row, uint32_t lane)
{
    if (lanes->width == 1)
        ((uint8_t *)lanes->rows)[row] = (uint8_t)lane;
    else if (lanes->width == 2)
        ((uint16_t *)lanes->rows)[row] = (uint16_t)lane;
    else
        ((uint32_t *)lanes->rows)[row] = lane;
}

/* Makes numbers as wide as `width`, with room for `count` rows. */
static void widen(gt_event_lanes *lanes, size_t rows, size_t count, uint8_t width)
{
    gt_event_lanes wide = {lanes->ids, lanes->count, gt_alloc(count * width), width};
    for (size_t row = 0; row < rows; row++) set_lane(&wide, row, gt_lane_of(lanes, row));
    gt_free(lanes->rows);
    *lanes = wide;
}

void gt_event_lanes_append(gt_event_lanes *lanes, size_t rows, const gt_lane_ids *ids, size_t count)
{
    lane_list list = {0};
    uint32_t *added = gt_alloc(count * sizeof *added);
    for (size_t i = 0; i < lanes->count; i++) number_of(&list, lanes->ids[i]);
    for (size_t i = 0; i < count; i++) added[i] = number_of(&list, ids[i]);
    gt_map_free(&list.numbers);
    gt_free(lanes->ids);
    lanes->ids = list.ids;
    lanes->count = list.count;
    uint8_t width = width_for(lanes->count);
    if (width == lanes->width)
        lanes->rows = gt_realloc(lanes->rows, (rows + count) * width);
    else
        widen(lanes, rows, rows + count, width);
    for (size_t i = 0; i < count; i++) set_lane(lanes, rows + i, added[i]);
    gt_free(added);
}

void gt_event_lanes_free(gt_event_lanes *lanes)
{
    gt_free_all(lanes->ids, lanes->rows);
    *lanes = (gt_event_lanes){0};
}
