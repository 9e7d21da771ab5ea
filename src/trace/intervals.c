/* Sorting, joining and combining intervals.
 *
 * The sort is a merge sort that moves only what is out of order: a merge skips the intervals at the start of
 * the left half and at the end of the right half that are already in place. Traces are almost sorted (each
 * queue is in order, queues interleave), so most merges touch only a few intervals. */
#include "trace/intervals.h"

#include "base/team.h"

enum { INSERTION_MAX = 16 }; /* lists up to this length are sorted by insertion */

void gt_intervals_reserve(gt_intervals *list, size_t count)
{
    list->items = gt_grow(list->items, &list->capacity, count, sizeof *list->items);
}

void gt_intervals_add(gt_intervals *list, double start, double end)
{
    gt_interval interval = {start, end};
    GT_PUSH(list->items, list->count, list->capacity, interval);
}

void gt_intervals_free(gt_intervals *list)
{
    gt_free(list->items);
    *list = (gt_intervals){0};
}

static void insertion_sort(gt_interval *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        gt_interval moving = items[i];
        size_t hole = i;
        for (; hole && items[hole - 1].start > moving.start; hole--) items[hole] = items[hole - 1];
        items[hole] = moving;
    }
}

/* The first index whose start is greater than `start`, in a sorted run. */
static size_t first_after(const gt_interval *items, size_t count, double start)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (items[middle].start > start)
            count = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Merges the sorted runs items[0..left) and items[left..count); `spare` holds at least `left` intervals. */
static void merge_runs(gt_interval *items, size_t left, size_t count, gt_interval *spare)
{
    if (items[left - 1].start <= items[left].start) return;
    size_t in_place = first_after(items, left, items[left].start);
    items += in_place, left -= in_place, count -= in_place;

    memcpy(spare, items, left * sizeof *spare);
    size_t from_left = 0, from_right = left, to = 0;
    while (from_left < left && from_right < count) {
        bool take_right = items[from_right].start < spare[from_left].start;
        items[to++] = take_right ? items[from_right++] : spare[from_left++];
    }
    memcpy(items + to, spare + from_left, (left - from_left) * sizeof *spare);
}

static void sort_runs(gt_interval *items, size_t count, gt_interval *spare)
{
    if (count <= INSERTION_MAX) {
        insertion_sort(items, count);
        return;
    }
    size_t left = count / 2;
    sort_runs(items, left, spare);
    sort_runs(items + left, count - left, spare);
    merge_runs(items, left, count, spare);
}

/* Appends an interval that starts no earlier than any in the list, or joins it to the last one. */
static void append(gt_intervals *list, gt_interval next)
{
    gt_interval *last = list->count ? &list->items[list->count - 1] : NULL;
    if (last && next.start <= last->end)
        last->end = fmax(last->end, next.end);
    else
        GT_PUSH(list->items, list->count, list->capacity, next);
}

/* Joins the intervals of a sorted array in place and returns how many are left. */
static size_t join_sorted(gt_interval *items, size_t count)
{
    gt_intervals list = {items, 0, count}; /* the write position never passes the read position */
    for (size_t i = 0; i < count; i++) append(&list, items[i]);
    return list.count;
}

/* ---- merging on all threads ----
 *
 * Ranges of RANGE intervals are sorted on their own, and neighbours merged, twice as long each time. Then the
 * intervals of each range are joined, and what is left of the ranges is put together: only the first ones of
 * a range can join the last one before it. */

enum { RANGE = GT_GRAIN(16384) };

typedef struct merging {
    gt_interval *items, *spare;
    size_t count, width; /* width: of the runs that are sorted */
    size_t *kept;        /* by range: intervals left after joining */
    bool unsorted, has_nan;
} merging;

static size_t range_end(const merging *m, size_t begin, size_t width)
{
    return m->count - begin < width ? m->count : begin + width;
}

static void check_range(void *context, size_t range)
{
    merging *m = context;
    size_t begin = range * RANGE, end = range_end(m, begin, RANGE), falls = 0, nans = 0;
    for (size_t i = begin; i < end; i++) {
        falls += i && m->items[i].start < m->items[i - 1].start;
        nans += isnan(m->items[i].start) || isnan(m->items[i].end);
    }
    if (falls) __atomic_store_n(&m->unsorted, true, __ATOMIC_RELAXED);
    if (nans) __atomic_store_n(&m->has_nan, true, __ATOMIC_RELAXED);
}

static void sort_range(void *context, size_t range)
{
    const merging *m = context;
    size_t begin = range * RANGE;
    sort_runs(m->items + begin, range_end(m, begin, RANGE) - begin, m->spare + begin);
}

static void merge_neighbours(void *context, size_t pair)
{
    const merging *m = context;
    size_t begin = pair * 2 * m->width;
    if (m->count - begin <= m->width) return;
    merge_runs(m->items + begin, m->width, range_end(m, begin, 2 * m->width) - begin, m->spare + begin);
}

static void join_range(void *context, size_t range)
{
    const merging *m = context;
    size_t begin = range * RANGE;
    m->kept[range] = join_sorted(m->items + begin, range_end(m, begin, RANGE) - begin);
}

static void sort_shared(merging *m, size_t ranges)
{
    m->spare = gt_alloc(m->count * sizeof *m->spare);
    gt_parallel_each(ranges, sort_range, m);
    for (m->width = RANGE; m->width < m->count; m->width *= 2)
        gt_parallel_each(gt_range_count(m->count, 2 * m->width), merge_neighbours, m);
    gt_free(m->spare);
}

/* Puts the ranges together. */
static size_t join_ranges(const merging *m, size_t ranges)
{
    gt_intervals list = {m->items, m->kept[0], m->count};
    for (size_t range = 1; range < ranges; range++) {
        const gt_interval *next = m->items + range * RANGE, *end = next + m->kept[range];
        for (size_t before = list.count; next < end && list.count == before; next++) append(&list, *next);
        memmove(list.items + list.count, next, (size_t)(end - next) * sizeof *next);
        list.count += (size_t)(end - next);
    }
    return list.count;
}

/* False if the list has a NaN: then its order depends on the order of comparisons. */
static bool merge_shared(gt_intervals *list)
{
    size_t ranges = gt_range_count(list->count, RANGE);
    merging m = {.items = list->items, .count = list->count};
    gt_parallel_each(ranges, check_range, &m);
    if (m.has_nan) return false;
    if (m.unsorted) sort_shared(&m, ranges);
    m.kept = gt_alloc(ranges * sizeof *m.kept);
    gt_parallel_each(ranges, join_range, &m);
    list->count = join_ranges(&m, ranges);
    gt_free(m.kept);
    return true;
}

static bool is_sorted(const gt_intervals *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (list->items[i].start < list->items[i - 1].start) return false;
    return true;
}

void gt_intervals_merge(gt_intervals *list)
{
    if (list->count > RANGE && gt_team_threads() > 1 && merge_shared(list)) return;
    if (!is_sorted(list)) {
        gt_interval *spare = gt_alloc(list->count / 2 * sizeof *spare);
        sort_runs(list->items, list->count, spare);
        gt_free(spare);
    }
    list->count = join_sorted(list->items, list->count);
}

double gt_intervals_length(const gt_intervals *list)
{
    double length = 0;
    for (size_t i = 0; i < list->count; i++) length += list->items[i].end - list->items[i].start;
    return length;
}

gt_intervals gt_intervals_union(const gt_intervals *a, const gt_intervals *b)
{
    gt_intervals both = {0};
    gt_intervals_reserve(&both, a->count + b->count);
    size_t i = 0, j = 0;
    while (i < a->count || j < b->count) {
        bool take_a = j == b->count || (i < a->count && a->items[i].start <= b->items[j].start);
        append(&both, take_a ? a->items[i++] : b->items[j++]);
    }
    return both;
}

gt_intervals gt_intervals_intersect(const gt_intervals *a, const gt_intervals *b)
{
    gt_intervals common = {0};
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        double start = fmax(a->items[i].start, b->items[j].start);
        double end = fmin(a->items[i].end, b->items[j].end);
        if (start < end) gt_intervals_add(&common, start, end);
        if (a->items[i].end < b->items[j].end)
            i++;
        else
            j++;
    }
    return common;
}

gt_intervals gt_intervals_subtract(const gt_intervals *a, const gt_intervals *b)
{
    gt_intervals rest = {0};
    size_t j = 0;
    for (size_t i = 0; i < a->count; i++) {
        double start = a->items[i].start, end = a->items[i].end;
        while (j < b->count && b->items[j].end <= start) j++;
        for (size_t k = j; k < b->count && b->items[k].start < end; k++) {
            if (b->items[k].end <= b->items[k].start) continue; /* empty: would only split a */
            if (b->items[k].start > start) gt_intervals_add(&rest, start, b->items[k].start);
            start = b->items[k].end;
        }
        if (start < end) gt_intervals_add(&rest, start, end);
    }
    return rest;
}

double gt_intervals_length_without(const gt_intervals *a, const gt_intervals *b)
{
    gt_intervals rest = gt_intervals_subtract(a, b);
    double length = gt_intervals_length(&rest);
    gt_intervals_free(&rest);
    return length;
}
