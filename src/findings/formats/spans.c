#include "findings/formats/spans.h"

void gt_device_spans_measure(gt_device_spans *spans, gt_busy_sum *by_device)
{
    size_t count = spans->count;
    uint32_t *order = gt_alloc(count * sizeof *order);
    double *starts = gt_alloc(count * sizeof *starts);
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (spans->items[i].start < first) first = spans->items[i].start;
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
        starts[i] = (double)((uint64_t)spans->items[i].start - (uint64_t)first);
    }
    gt_order_rows(order, count, starts);
    for (size_t i = 0; i < count; i++) {
        const gt_device_span *span = &spans->items[order[i]];
        gt_busy_add(&by_device[span->device], span->start, span->end);
    }
    gt_free_all(order, starts, spans->items);
    *spans = (gt_device_spans){0};
}
