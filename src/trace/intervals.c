/* Sorting, joining and combining intervals.
 *
 * The sort is a merge sort that moves only what is out of order: a merge skips the intervals at the start of
 * the left half and at the end of the right half that are already in place. Traces are almost sorted (each
 * queue is in order, queues interleave), so most merges touch only a few intervals. */
#include "trace/intervals.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_sorted(const gt_intervals *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (list->items[i].start < list->items[i - 1].start) return false;
    return true;
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

void gt_intervals_merge(gt_intervals *list)
{
    if (!is_sorted(list)) {
        gt_interval *spare = gt_alloc(list->count / 2 * sizeof *spare);
        sort_runs(list->items, list->count, spare);
        gt_free(spare);
    }
    size_t count = list->count;
    list->count = 0; /* the write position never passes the read position */
    for (size_t i = 0; i < count; i++) append(list, list->items[i]);
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
