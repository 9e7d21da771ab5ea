/* queue_length_summary: how much work waited in each stream's queue?
 *
 * The length grows by one when a call that queues work begins and shrinks by one when that work starts on its
 * stream. Statistics are over the lengths after each change, whatever time they lasted.
 *
 *     duration_at_max_queue_length           µs in which the queue held the given number or more
 *     relative_duration_at_max_queue_length  that over the time of the whole trace */
#include "analysis/hta/hta.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <math.h>
#include <stdlib.h>

typedef struct change {
    double time_us;
    int by;
} change;

/* At one time, launches come first: so no queue is ever shorter than empty. */
static int by_time(const void *a, const void *b)
{
    const change *one = a, *other = b;
    if (one->time_us != other->time_us) return one->time_us < other->time_us ? -1 : 1;
    return other->by - one->by;
}

static size_t list_changes(const gt_hta_events *events, const uint32_t *places, size_t count, change *changes)
{
    size_t listed = 0;
    for (size_t i = 0; i < count; i++) {
        const gt_hta_kernel *kernel = &events->kernels[places[i]];
        if (!kernel->is_queued) continue;
        changes[listed++] = (change){kernel->launch.start_us, 1};
        changes[listed++] = (change){kernel->at.start_us, -1};
    }
    if (listed) qsort(changes, listed, sizeof *changes, by_time);
    return listed;
}

/* Fills the lengths after each change. Returns the time at which the queue was full. */
static double follow(const change *changes, size_t count, int64_t full, double *lengths)
{
    double full_us = 0;
    int64_t length = 0;
    for (size_t i = 0; i < count; i++) {
        length += changes[i].by;
        lengths[i] = (double)length;
        if (length >= full && i + 1 < count) full_us += changes[i + 1].time_us - changes[i].time_us;
    }
    return full_us;
}

gt_table *gt_hta_queue_length_summary(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = gt_table_new(GT_SHEET_QUEUE_LENGTH_SUMMARY, events->strings);
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_STREAM, GT_TYPE_INT);
    size_t statistics = gt_hta_add_statistics(table);
    size_t duration = gt_table_add_column(table, GT_COL_DURATION_AT_MAX_QUEUE_LENGTH,
                                          events->whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    size_t relative = gt_table_add_column(table, GT_COL_RELATIVE_DURATION_AT_MAX_QUEUE_LENGTH, GT_TYPE_FLOAT);

    gt_hta_streams streams = gt_hta_streams_find(events);
    change *changes = gt_alloc(2 * events->count * sizeof *changes);
    double *lengths = gt_alloc(2 * events->count * sizeof *lengths);
    for (size_t i = 0, begin = 0; i < streams.count; begin = streams.ends[i++]) {
        size_t count = list_changes(events, streams.places + begin, streams.ends[i] - begin, changes);
        if (!count) continue;
        double full_us = follow(changes, count, events->options.max_queue_length, lengths);
        size_t row = gt_table_add_row(table);
        gt_table_set_int(table, 0, row, rank);
        gt_table_set_int(table, 1, row, streams.numbers[i]);
        gt_hta_set_statistics(table, statistics, row, lengths, count);
        gt_hta_set_time(table, duration, row, full_us);
        gt_table_set_float(table, relative, row,
                           events->span_us != 0 ? full_us / events->span_us : (double)NAN);
    }
    gt_free(changes);
    gt_free(lengths);
    gt_hta_streams_free(&streams);
    return table;
}
