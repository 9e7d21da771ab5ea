/* Unions of time spans: sorted once, then one pass per union. */
#include "analysis/rocprof/spans.h"

#include "table/operations.h"
#include "trace/rocprof/rocprof.h"

void gt_spans_free(gt_spans *s)
{
    gt_free_all(s->starts, s->ends);
    *s = (gt_spans){0};
}

/* Sorts by start, stably. Records are nearly in order: each queue's are, and others come between them. So
 * those that start before one that comes before them, the late ones, are taken out, sorted and put back. A
 * late span with the same start as one that stays came after it: otherwise both would be late. */

static void set_span(const gt_spans *s, size_t to, int64_t start, int64_t end)
{
    s->starts[to] = start;
    s->ends[to] = end;
}

/* Moves the spans that are in order to the front and the others to `late`. */
static size_t take_late(const gt_spans *s, gt_spans *late)
{
    size_t kept = 0;
    int64_t latest = INT64_MIN;
    for (size_t i = 0; i < s->count; i++) {
        int64_t start = s->starts[i], end = s->ends[i];
        bool is_late = start < latest;
        if (is_late)
            set_span(late, late->count++, start, end);
        else
            set_span(s, kept++, latest = start, end);
    }
    return kept;
}

static size_t count_late(const gt_spans *s)
{
    size_t count = 0;
    int64_t latest = INT64_MIN;
    for (size_t i = 0; i < s->count; i++) {
        count += s->starts[i] < latest;
        latest = s->starts[i] > latest ? s->starts[i] : latest;
    }
    return count;
}

/* Puts late spans, in the given order, between the first `kept` ones of `s`, which has room for all. */
static void put_back(const gt_spans *s, size_t kept, const gt_spans *late, const uint32_t *order)
{
    size_t to = s->count;
    for (size_t i = late->count; i-- > 0;) {
        int64_t start = late->starts[order[i]];
        for (; kept && s->starts[kept - 1] > start; kept--)
            set_span(s, --to, s->starts[kept - 1], s->ends[kept - 1]);
        set_span(s, --to, start, late->ends[order[i]]);
    }
}

static void sort_spans(const gt_spans *s)
{
    size_t count = count_late(s);
    if (!count) return;
    gt_spans late = {gt_alloc(count * sizeof *late.starts), gt_alloc(count * sizeof *late.ends), 0};
    size_t kept = take_late(s, &late);
    uint32_t *order = gt_order_new(count);
    gt_order_by_ints(order, count, late.starts, NULL, false);
    put_back(s, kept, &late, order);
    gt_free(order);
    gt_spans_free(&late);
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

/* ---- from the first start to the last end ---- */

typedef struct span_limits {
    int64_t first, last;
} span_limits;

static const span_limits no_limits = {INT64_MAX, INT64_MIN};

static inline void extend_limits(span_limits *limits, int64_t start, int64_t end)
{
    limits->first = start < limits->first ? start : limits->first;
    limits->last = end > limits->last ? end : limits->last;
}

static gt_wide_ns window_of(const span_limits *limits)
{
    return limits->first < limits->last ? (gt_wide_ns)limits->last - limits->first : 0;
}

/* ---- the union of the events of a store, which are not unpacked as a whole ----
 *
 * Two passes over the events, some at a time: the first finds the late ones, as above, and the second takes
 * the others in order, with the late ones in between. */

enum { BATCH = 1024 };

typedef struct span_batch {
    const gt_store *events;
    size_t start_column, end_column, next; /* event */
    int64_t starts[BATCH], ends[BATCH];
} span_batch;

/* The next events; 0 at the end. */
static size_t next_batch(span_batch *b)
{
    size_t left = gt_store_count(b->events) - b->next, count = left < BATCH ? left : BATCH;
    if (!count) return 0;
    gt_store_read_ints(b->events, b->start_column, b->next, b->next + count, b->starts);
    gt_store_read_ints(b->events, b->end_column, b->next, b->next + count, b->ends);
    b->next += count;
    return count;
}

/* Also extends the limits of all events. */
static gt_spans find_late(span_batch *b, span_limits *limits)
{
    gt_spans late = {0};
    size_t starts_capacity = 0, ends_capacity = 0, end_count = 0;
    int64_t latest = INT64_MIN;
    for (size_t count; (count = next_batch(b)) != 0;)
        for (size_t i = 0; i < count; i++) {
            extend_limits(limits, b->starts[i], b->ends[i]);
            if (b->starts[i] >= latest) {
                latest = b->starts[i];
                continue;
            }
            GT_PUSH(late.starts, late.count, starts_capacity, b->starts[i]);
            GT_PUSH(late.ends, end_count, ends_capacity, b->ends[i]);
        }
    return late;
}

gt_activity gt_activity_of(const gt_store *kernels, size_t start_column, size_t end_column)
{
    span_batch b = {.events = kernels, .start_column = start_column, .end_column = end_column};
    span_limits limits = no_limits;
    gt_spans late = find_late(&b, &limits);
    uint32_t *order = gt_order_new(late.count);
    gt_order_by_ints(order, late.count, late.starts, NULL, false);
    span_union u = {0};
    size_t next_late = 0;
    int64_t latest = INT64_MIN;
    b.next = 0;
    for (size_t count; (count = next_batch(&b)) != 0;)
        for (size_t i = 0; i < count; i++) {
            if (b.starts[i] < latest) continue;
            latest = b.starts[i];
            for (; next_late < late.count && late.starts[order[next_late]] < latest; next_late++)
                add_span(&u, late.starts[order[next_late]], late.ends[order[next_late]]);
            add_span(&u, latest, b.ends[i]);
        }
    for (; next_late < late.count; next_late++)
        add_span(&u, late.starts[order[next_late]], late.ends[order[next_late]]);
    gt_free(order);
    gt_spans_free(&late);
    gt_wide_ns covered = u.length + ((gt_wide_ns)u.end - u.begin);
    return (gt_activity){.kernel_ns = covered, .busy_ns = covered, .window_ns = window_of(&limits)};
}

void gt_activity_measure(gt_activity *of)
{
    static const gt_spans none = {0};
    const gt_spans *const parts[] = {&of->kernels, &of->copies};
    span_limits limits = no_limits;
    for (size_t p = 0; p < GT_LENGTH(parts); p++)
        for (size_t i = 0; i < parts[p]->count; i++)
            extend_limits(&limits, parts[p]->starts[i], parts[p]->ends[i]);
    of->window_ns = window_of(&limits);
    sort_spans(&of->kernels);
    sort_spans(&of->copies);
    of->kernel_ns = of->busy_ns = covered_ns(&of->kernels, &none);
    if (!of->copies.count) return;
    of->copy_ns = covered_ns(&of->copies, &none);
    of->busy_ns = covered_ns(&of->kernels, &of->copies);
}

gt_spans gt_spans_of(const gt_store *events, size_t start_column, size_t end_column)
{
    return (gt_spans){gt_store_ints(events, start_column), gt_store_ints(events, end_column),
                      gt_store_count(events)};
}
