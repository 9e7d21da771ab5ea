/* Unions of time spans: sorted once on all threads, then one pass per union. */
#include "analysis/rocprof/spans.h"

#include "base/memory.h"
#include "base/team.h"
#include "table/operations.h"
#include "trace/rocprof/rocprof.h"

#include <string.h>

void gt_spans_free(gt_spans *s)
{
    gt_free(s->starts);
    gt_free(s->ends);
    *s = (gt_spans){0};
}

/* A job on ranges of spans. */
typedef struct span_job {
    const int64_t *starts, *ends;
    const uint32_t *order;
    int64_t *starts_out, *ends_out;
    bool unsorted; /* set by any range */
} span_job;

static void check_order(void *context, size_t begin, size_t end)
{
    span_job *job = context;
    bool unsorted = false;
    for (size_t i = begin ? begin : 1; i < end; i++) unsorted |= job->starts[i] < job->starts[i - 1];
    if (unsorted) __atomic_store_n(&job->unsorted, true, __ATOMIC_RELAXED);
}

static void take_in_order(void *context, size_t begin, size_t end)
{
    span_job *job = context;
    for (size_t i = begin; i < end; i++) {
        job->starts_out[i] = job->starts[job->order[i]];
        job->ends_out[i] = job->ends[job->order[i]];
    }
}

static void copy_back(void *context, size_t begin, size_t end)
{
    span_job *job = context;
    memcpy((int64_t *)job->starts + begin, job->starts_out + begin, (end - begin) * sizeof *job->starts);
    memcpy((int64_t *)job->ends + begin, job->ends_out + begin, (end - begin) * sizeof *job->ends);
}

/* Sorts by start in place, stably. The records of one GPU are nearly always sorted already. */
static void sort_spans(const gt_spans *s)
{
    span_job job = {.starts = s->starts, .ends = s->ends};
    gt_parallel_ranges(s->count, GT_ROCPROF_ROWS, check_order, &job);
    if (!job.unsorted) return;
    uint32_t *order = gt_order_new(s->count);
    gt_order_by_ints(order, s->count, s->starts, NULL, false);
    job.order = order;
    job.starts_out = gt_alloc(s->count * sizeof *job.starts_out);
    job.ends_out = gt_alloc(s->count * sizeof *job.ends_out);
    gt_parallel_ranges(s->count, GT_ROCPROF_ROWS, take_in_order, &job);
    gt_free(order);
    gt_parallel_ranges(s->count, GT_ROCPROF_ROWS, copy_back, &job);
    gt_free(job.starts_out);
    gt_free(job.ends_out);
}

/* A union of spans that come in order of their starts. */
typedef struct span_union {
    gt_wide_ns length;
    int64_t begin, end;
    bool begun;
} span_union;

static inline void add_span(span_union *u, int64_t start, int64_t end)
{
    if (u->begun && start <= u->end) {
        u->end = end > u->end ? end : u->end;
        return;
    }
    u->length += (gt_wide_ns)u->end - u->begin;
    u->begin = start;
    u->end = end;
    u->begun = true;
}

/* The length of the union of two sorted lists; of equal starts, `a` comes first. A span that ends before it
 * starts counts with its negative length, unless another one covers its start. */
static gt_wide_ns covered_ns(const gt_spans *a, const gt_spans *b)
{
    span_union u = {0};
    size_t i = 0, j = 0;
    while (i < a->count && j < b->count) {
        bool first = a->starts[i] <= b->starts[j];
        const gt_spans *next = first ? a : b;
        size_t at = first ? i++ : j++;
        add_span(&u, next->starts[at], next->ends[at]);
    }
    for (; i < a->count; i++) add_span(&u, a->starts[i], a->ends[i]);
    for (; j < b->count; j++) add_span(&u, b->starts[j], b->ends[j]);
    return u.length + ((gt_wide_ns)u.end - u.begin);
}

static void measure_part(void *context, size_t part)
{
    static const gt_spans none = {0};
    gt_activity *of = context;
    if (part == 0)
        of->kernel_ns = covered_ns(&of->kernels, &none);
    else if (part == 1)
        of->copy_ns = covered_ns(&of->copies, &none);
    else
        of->busy_ns = covered_ns(&of->kernels, &of->copies);
}

void gt_activity_measure(gt_activity *of)
{
    sort_spans(&of->kernels);
    sort_spans(&of->copies);
    if (of->copies.count) {
        gt_parallel_each(3, measure_part, of);
    } else {
        measure_part(of, 0);
        of->busy_ns = of->kernel_ns;
    }
}

gt_spans gt_spans_of(const gt_store *events, size_t start_column, size_t end_column)
{
    return (gt_spans){gt_store_ints(events, start_column), gt_store_ints(events, end_column),
                      gt_store_count(events)};
}
