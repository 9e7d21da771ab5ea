/* The largest of many numbers, in one pass with a heap of those kept so far, whose top is the smallest. */
#include "page/work_parts.h"

static void sift_down(int64_t *heap, size_t count, int64_t value)
{
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= value) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

static void sift_up(int64_t *heap, size_t at, int64_t value)
{
    for (; at > 0 && heap[(at - 1) / 2] > value; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = value;
}

gt_page_largest gt_page_largest_find(const int64_t *values, size_t count, size_t keep)
{
    gt_page_largest found = {INT64_MIN, keep};
    if (count <= keep || !keep) return found;
    int64_t *heap = gt_alloc(keep * sizeof *heap);
    for (size_t i = 0; i < keep; i++) sift_up(heap, i, values[i]);
    for (size_t i = keep; i < count; i++)
        if (values[i] > heap[0]) sift_down(heap, keep, values[i]);
    found = (gt_page_largest){heap[0], 0};
    for (size_t i = 0; i < keep; i++) found.of_least += heap[i] == heap[0];
    gt_free(heap);
    return found;
}
