/* The store's columns as arrays. */
#include "trace/plain_events.h"

#include "base/length.h"
#include "base/memory.h"

#include <stdlib.h>

gt_plain_events *gt_plain_events_new(gt_store *store, gt_interner *strings)
{
    gt_plain_events *e = gt_alloc_zero(1, sizeof *e);
    e->strings = strings;
    e->count = gt_store_count(store);
    e->phase = gt_store_string_ids(store, GT_PLAIN_PHASE);
    e->category = gt_store_string_ids(store, GT_PLAIN_CATEGORY);
    e->name = gt_store_string_ids(store, GT_PLAIN_NAME);
    e->process = gt_store_string_ids(store, GT_PLAIN_PROCESS);
    e->thread = gt_store_string_ids(store, GT_PLAIN_THREAD);
    e->flow = gt_store_string_ids(store, GT_PLAIN_FLOW);
    e->correlation = gt_store_string_ids(store, GT_PLAIN_CORRELATION);
    e->start_us = gt_store_times(store, GT_PLAIN_START);
    e->dur_us = gt_store_times(store, GT_PLAIN_DURATION);
    int64_t *integral = gt_store_ints(store, GT_PLAIN_INTEGRAL);
    e->integral = gt_alloc(e->count);
    for (size_t i = 0; i < e->count; i++) e->integral[i] = (uint8_t)integral[i];
    gt_free(integral);
    gt_store_free(store);
    return e;
}

void gt_plain_events_free(gt_plain_events *e)
{
    if (!e) return;
    uint32_t *texts[] = {e->phase, e->category, e->name, e->process, e->thread, e->flow, e->correlation};
    for (size_t i = 0; i < GT_LENGTH(texts); i++) gt_free(texts[i]);
    gt_free(e->start_us);
    gt_free(e->dur_us);
    gt_free(e->integral);
    gt_interner_free(e->strings);
    gt_free(e);
}
