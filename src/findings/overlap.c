/* How long does the GPU only communicate, and what if it did not?
 *
 * The edit shortens each collective to the time in which other work runs at the same time. What waits for it
 * follows from the schedule, with one addition. An op that starts at most 20 us after the one before it, or
 * at most 100 us after its launch, does not depend on another stream (schedule/starts.c). But if a collective
 * ended in that time, the op has waited for it, as between the layers of a model that is split over GPUs:
 *
 *     stream 1     AAAAAAAA       BBBBBBBB       CCCCCCCC
 *     all-reduce           NNNNN          NNNNN
 *
 * B then follows A as closely as it followed N. */
#include "findings/overlap.h"

/* Merged times of the ops that do not communicate, and how much of it lies before each. */
typedef struct busy_span {
    int64_t start_ns, end_ns, before_ns;
} busy_span;

typedef struct busy_spans {
    busy_span *items;
    size_t count;
} busy_spans;

static busy_spans merge_others(const gt_schedule *schedule)
{
    busy_spans spans = {gt_alloc(schedule->op_count * sizeof *spans.items), 0};
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (op->communicates || op->end_ns <= op->start_ns) continue;
        busy_span *last = spans.count ? &spans.items[spans.count - 1] : NULL;
        if (last && op->start_ns <= last->end_ns) {
            if (op->end_ns > last->end_ns) last->end_ns = op->end_ns;
            continue;
        }
        int64_t before_ns = last ? last->before_ns + (last->end_ns - last->start_ns) : 0;
        spans.items[spans.count++] = (busy_span){op->start_ns, op->end_ns, before_ns};
    }
    return spans;
}

/* How much of the spans lies before a time. */
static int64_t busy_until(const busy_spans *spans, int64_t ns)
{
    size_t count; /* of spans that start before `ns` */
    GT_BISECT(count, 0, spans->count, spans->items[count].start_ns < ns);
    if (count == 0) return 0;
    const busy_span *span = &spans->items[count - 1];
    return span->before_ns + ((ns < span->end_ns ? ns : span->end_ns) - span->start_ns);
}

static int64_t busy_between(const busy_spans *spans, int64_t start_ns, int64_t end_ns)
{
    return end_ns > start_ns ? busy_until(spans, end_ns) - busy_until(spans, start_ns) : 0;
}

gt_overlap gt_overlap_find(const gt_schedule *schedule)
{
    gt_overlap overlap = {0};
    size_t i = 0;
    while (i < schedule->op_count && !schedule->ops[i].communicates) i++;
    if (i == schedule->op_count) return overlap;
    overlap.alone_ns = gt_alloc_zero(schedule->op_count, sizeof *overlap.alone_ns);
    overlap.hidden_ns = gt_alloc_zero(schedule->op_count, sizeof *overlap.hidden_ns);
    busy_spans spans = merge_others(schedule);
    int64_t covered_ns = INT64_MIN;
    for (; i < schedule->op_count; i++) { /* sorted by start */
        const gt_gpu_op *op = &schedule->ops[i];
        if (!op->communicates || op->end_ns <= op->start_ns) continue;
        overlap.hidden_ns[i] = busy_between(&spans, op->start_ns, op->end_ns);
        int64_t start_ns = op->start_ns > covered_ns ? op->start_ns : covered_ns;
        if (op->end_ns <= start_ns) continue;
        overlap.alone_ns[i] = op->end_ns - start_ns - busy_between(&spans, start_ns, op->end_ns);
        covered_ns = op->end_ns;
    }
    gt_free(spans.items);
    return overlap;
}

void gt_overlap_free(gt_overlap *overlap)
{
    gt_free_all(overlap->alone_ns, overlap->hidden_ns);
    *overlap = (gt_overlap){0};
}

/* ---- the edit ---- */

/* Collectives by their ends. */
typedef struct ended_collectives {
    uint32_t *order;
    size_t count, next;
    uint32_t last; /* the last that has ended; GT_NONE */
} ended_collectives;

static ended_collectives ended_new(const gt_schedule *schedule)
{
    ended_collectives ended = {.order = gt_alloc(schedule->op_count * sizeof *ended.order), .last = GT_NONE};
    double *ends = gt_alloc(schedule->op_count * sizeof *ends);
    for (size_t i = 0; i < schedule->op_count; i++) {
        ends[i] = (double)schedule->ops[i].end_ns;
        if (schedule->ops[i].communicates) ended.order[ended.count++] = (uint32_t)i;
    }
    gt_order_rows(ended.order, ended.count, ends);
    gt_free(ends);
    return ended;
}

/* The last collective that ended before an op starts; GT_NONE. Asked in order of starts. */
static uint32_t ended_before(ended_collectives *ended, const gt_schedule *schedule, size_t op)
{
    for (; ended->next < ended->count; ended->next++) {
        uint32_t candidate = ended->order[ended->next];
        if (schedule->ops[candidate].end_ns > schedule->ops[op].start_ns + GT_CLOCK_ERROR_NS) break;
        if (candidate < op) ended->last = candidate;
    }
    return ended->last;
}

/* Lets an op no longer wait for a collective of another stream, although it does not depend on it. */
static void follow_closely(const gt_schedule *schedule, uint32_t index, int64_t end_ns, gt_edit *edit)
{
    const gt_gpu_op *op = &schedule->ops[index];
    if (op->begins == GT_START_QUEUE && op->previous != GT_NONE) {
        if (end_ns <= schedule->ops[op->previous].end_ns) return;
        int64_t gap_ns = op->start_ns - end_ns;
        if (gap_ns < op->offset_ns) gt_edit_op_cut_gap(edit, index, gap_ns > 0 ? (double)gap_ns : 0);
    } else if (op->begins == GT_START_HOST && op->point != GT_NONE) {
        if (end_ns > schedule->points[op->point].base_ns + schedule->launch_ns)
            gt_edit_op_start_soon(edit, index);
    }
}

void gt_overlap_edit(const gt_overlap *overlap, const gt_schedule *schedule, gt_edit *edit)
{
    if (!overlap->hidden_ns) return;
    ended_collectives ended = ended_new(schedule);
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        uint32_t last = ended_before(&ended, schedule, i);
        if (op->communicates)
            gt_edit_op_add(edit, (uint32_t)i, (double)overlap->hidden_ns[i]);
        else if (last != GT_NONE && schedule->ops[last].stream != op->stream)
            follow_closely(schedule, (uint32_t)i, schedule->ops[last].end_ns, edit);
    }
    gt_free(ended.order);
}
