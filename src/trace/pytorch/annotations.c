/* Annotations in order of their starts, with the latest end so far: the first that ends behind an event is
 * found by halving, and no other can be the one looked for. */
#include "trace/pytorch/annotations.h"

#include "base/memory.h"
#include "trace/names.h"
#include "trace/order.h"

#include <math.h>
#include <stdlib.h>

typedef struct annotations {
    uint32_t *rows;
    double *latest_end_us; /* of this one and those before it */
    size_t count, capacity;
} annotations;

static annotations list_annotations(const gt_event_view *trace)
{
    annotations a = {0};
    for (uint32_t row = 0; row < trace->count; row++)
        if (trace->kind[row] == GT_KIND_ANNOTATION && isfinite(trace->end_us[row]))
            GT_PUSH(a.rows, a.count, a.capacity, row);
    gt_order_rows(a.rows, a.count, trace->start_us);
    a.latest_end_us = gt_alloc(a.count * sizeof *a.latest_end_us);
    for (size_t i = 0; i < a.count; i++) {
        double end_us = trace->end_us[a.rows[i]];
        a.latest_end_us[i] = i && a.latest_end_us[i - 1] > end_us ? a.latest_end_us[i - 1] : end_us;
    }
    return a;
}

static uint32_t annotation_of(const gt_event_view *trace, const annotations *a, uint32_t row, uint32_t none)
{
    size_t low = 0, high = a->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->latest_end_us[middle] <= trace->end_us[row])
            low = middle + 1;
        else
            high = middle;
    }
    bool around = low < a->count && trace->start_us[a->rows[low]] <= trace->start_us[row];
    return around ? trace->name[a->rows[low]] : none;
}

uint32_t *gt_annotations_find(const gt_event_view *trace, const char *prefix)
{
    uint8_t *wanted = gt_names_with_prefix(trace->strings, prefix);
    if (!wanted) return NULL;
    uint32_t *found = gt_alloc_zero(trace->count, sizeof *found);
    uint32_t none = gt_interner_add_cstr(trace->strings, "NA");
    annotations a = list_annotations(trace);
    for (uint32_t row = 0; row < trace->count; row++)
        if (wanted[trace->name[row]]) found[row] = annotation_of(trace, &a, row, none);
    gt_free(wanted);
    gt_free(a.rows);
    gt_free(a.latest_end_us);
    return found;
}
