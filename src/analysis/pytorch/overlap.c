/* Pairs of kernels that run at the same time.
 *
 * A sweep over the kernels in order of their starts. Kernels that are running and have at least a microsecond
 * left wait in one list per stream. A kernel that starts is paired with all kernels in the lists of other
 * streams: these are exactly its partners, so the cost is that of sorting plus one step per pair.
 *
 *     stream 1   [ a            ]
 *     stream 2        [ b   ]            b starts: paired with a
 *     stream 3                [ c  ]     c starts: paired with a if a has 1 us left, not with b
 *
 * TraceLens lists partners in the iteration order of Python sets. To reproduce that order, the sweep also
 * keeps the running kernels in a set that behaves like Python's. */
#include "analysis/pytorch/overlap.h"

#include "compat/number.h"
#include "compat/python_repr.h"
#include "compat/python_set.h"

/* The pairs that are listed: on s streams, n kernels that do not overlap on their own stream have at most
 * (s - 1) * n pairs, so this is enough for 65 busy streams, and for more if there are few kernels. Without a
 * limit, n kernels that all run at the same time would take quadratic time and memory. */
enum { PAIRS_PER_KERNEL = 64, PAIRS_ALWAYS = 1 << 18 };
static const double least_us = 1.0; /* shorter overlaps are regarded as clock noise */

/* Kernels are numbered; NONE ends a list. */
#define NONE UINT32_MAX

typedef struct pair {
    uint32_t started, running;
} pair;

typedef struct candidate {
    size_t slot;
    uint32_t kernel;
} candidate;

typedef struct stream {
    uint32_t first;  /* waiting kernel */
    uint32_t active; /* index into active_streams; NONE if no kernel waits */
} stream;

typedef struct sweep {
    const gt_linked_view *trace;
    uint32_t *rows; /* the kernels that are compared, in file order; a kernel's number is its index here */
    size_t count, row_capacity;
    double *start_us, *end_us; /* by number */
    uint32_t *stream_of;       /* by number: index into streams; 0 for kernels without a stream */
    uint32_t *next, *before;   /* by number: links in the stream's list of waiting kernels */
    stream *streams;
    size_t stream_count, stream_capacity;
    uint32_t *active_streams; /* those with waiting kernels */
    size_t active_count;
    gt_python_set running; /* uids */
    candidate *met;
    size_t met_count, met_capacity;
    pair *pairs; /* in the order found */
    size_t pair_count, pair_capacity;
} sweep;

static bool is_compared(const gt_linked_view *trace, bool include_unlinked, uint32_t row)
{
    return gt_kind_is_gpu(trace->kind[row]) && (include_unlinked || trace->parent[row] != GT_NO_EVENT) &&
           gt_event_end_us(&trace->events, row) > trace->start_us[row];
}

static void number_kernels(sweep *s, bool include_unlinked)
{
    const gt_linked_view *trace = s->trace;
    for (uint32_t row = 0; row < trace->count; row++)
        if (is_compared(trace, include_unlinked, row)) GT_PUSH(s->rows, s->count, s->row_capacity, row);
    s->start_us = gt_alloc(s->count * sizeof *s->start_us);
    s->end_us = gt_alloc(s->count * sizeof *s->end_us);
    for (size_t i = 0; i < s->count; i++) {
        s->start_us[i] = trace->start_us[s->rows[i]];
        s->end_us[i] = gt_event_end_us(&trace->events, s->rows[i]);
    }
}

static void number_streams(sweep *s)
{
    gt_map numbers = {0};
    uint32_t *texts = gt_store_string_ids(s->trace->store, GT_EVENT_STREAM);
    s->stream_of = gt_alloc(s->count * sizeof *s->stream_of);
    GT_PUSH(s->streams, s->stream_count, s->stream_capacity, ((stream){NONE, NONE}));
    for (size_t i = 0; i < s->count; i++) {
        uint32_t text = texts[s->rows[i]], *number = gt_map_put(&numbers, text, 0);
        if (*number == GT_MAP_NONE) {
            *number = text == GT_STR_NONE ? 0 : (uint32_t)s->stream_count;
            if (*number) GT_PUSH(s->streams, s->stream_count, s->stream_capacity, ((stream){NONE, NONE}));
        }
        s->stream_of[i] = *number;
    }
    s->active_streams = gt_alloc(s->stream_count * sizeof *s->active_streams);
    gt_free(texts);
    gt_map_free(&numbers);
}

/* ---- waiting kernels ---- */

/* Shorter kernels cannot have partners. */
static bool is_long_enough(const sweep *s, uint32_t kernel)
{
    return s->end_us[kernel] - s->start_us[kernel] >= least_us;
}

static void start_waiting(sweep *s, uint32_t kernel)
{
    stream *of = &s->streams[s->stream_of[kernel]];
    if (of->active == NONE) {
        of->active = (uint32_t)s->active_count;
        s->active_streams[s->active_count++] = s->stream_of[kernel];
    }
    s->before[kernel] = NONE;
    s->next[kernel] = of->first;
    if (of->first != NONE) s->before[of->first] = kernel;
    of->first = kernel;
}

static void stop_waiting(sweep *s, uint32_t kernel)
{
    stream *of = &s->streams[s->stream_of[kernel]];
    uint32_t before = s->before[kernel], next = s->next[kernel];
    if (next != NONE) s->before[next] = before;
    if (before != NONE)
        s->next[before] = next;
    else
        of->first = next;
    if (of->first != NONE) return;
    uint32_t moved = s->active_streams[--s->active_count];
    s->active_streams[of->active] = moved;
    s->streams[moved].active = of->active;
    of->active = NONE;
}

/* ---- the sweep ---- */

GT_ORDER_BY(by_slot, candidate, GT_UP(slot))

static uint32_t uid_of(const sweep *s, uint32_t kernel)
{
    return gt_event_uid(&s->trace->events, s->rows[kernel]);
}

static void pair_with_running(sweep *s, uint32_t kernel)
{
    uint32_t own = s->stream_of[kernel];
    s->met_count = 0;
    for (size_t i = 0; i < s->active_count; i++) {
        uint32_t other = s->active_streams[i];
        if (other == own && own != 0) continue;
        for (uint32_t k = s->streams[other].first; k != NONE; k = s->next[k]) {
            candidate met = {gt_python_set_slot(&s->running, uid_of(s, k)), k};
            GT_PUSH(s->met, s->met_count, s->met_capacity, met);
        }
    }
    if (s->met_count > 1) qsort(s->met, s->met_count, sizeof *s->met, by_slot);
    for (size_t i = 0; i < s->met_count; i++)
        GT_PUSH(s->pairs, s->pair_count, s->pair_capacity, ((pair){kernel, s->met[i].kernel}));
}

static size_t pairs_max(const sweep *s)
{
    return PAIRS_ALWAYS + PAIRS_PER_KERNEL * s->count;
}

/* Pairs the given kernels, sorted by start and by end. Returns false if there are too many pairs. */
static bool sweep_over(sweep *s, const uint32_t *by_start, const uint32_t *by_end, size_t count)
{
    size_t ended = 0,
           ending = 0; /* counts in by_end: kernels that ended, kernels with less than a microsecond left */
    for (size_t i = 0; i < count; i++) {
        uint32_t kernel = by_start[i];
        double now_us = s->start_us[kernel];
        for (; ended < count && s->end_us[by_end[ended]] <= now_us; ended++)
            gt_python_set_discard(&s->running, uid_of(s, by_end[ended]));
        for (; ending < count && s->end_us[by_end[ending]] - now_us < least_us; ending++)
            if (is_long_enough(s, by_end[ending])) stop_waiting(s, by_end[ending]);
        if (is_long_enough(s, kernel)) {
            pair_with_running(s, kernel);
            start_waiting(s, kernel);
        }
        if (s->pair_count > pairs_max(s)) return false;
        gt_python_set_add(&s->running, uid_of(s, kernel));
    }
    for (; ending < count; ending++)
        if (is_long_enough(s, by_end[ending])) stop_waiting(s, by_end[ending]);
    gt_python_set_clear(&s->running);
    return true;
}

static bool sweep_all(sweep *s)
{
    const uint8_t *recompute = s->trace->recompute;
    uint32_t *by_start = gt_alloc(s->count * sizeof *by_start), *by_end = gt_alloc(s->count * sizeof *by_end);
    s->next = gt_alloc(s->count * sizeof *s->next);
    s->before = gt_alloc(s->count * sizeof *s->before);
    bool fits = true;
    for (uint8_t kind = 0; kind <= (recompute ? 1 : 0) && fits; kind++) {
        size_t count = 0;
        for (uint32_t i = 0; i < s->count; i++)
            if (!recompute || (recompute[s->rows[i]] != 0) == kind) by_start[count++] = i;
        memcpy(by_end, by_start, count * sizeof *by_end);
        gt_order_rows(by_start, count, s->start_us);
        gt_order_rows(by_end, count, s->end_us);
        fits = sweep_over(s, by_start, by_end, count);
    }
    gt_free_all(by_start, by_end);
    return fits;
}

/* ---- partners of each kernel ---- */

/* Groups the pairs by kernel, in the order found. */
static gt_overlaps *group_by_kernel(const sweep *s)
{
    gt_overlaps *o = gt_alloc_zero(1, sizeof *o);
    o->count = s->count;
    o->begin = gt_alloc_zero(s->count + 2, sizeof *o->begin);
    for (size_t i = 0; i < s->pair_count; i++) {
        o->begin[s->pairs[i].started + 2]++;
        o->begin[s->pairs[i].running + 2]++;
    }
    for (size_t i = 2; i < s->count + 2; i++) o->begin[i] += o->begin[i - 1];
    o->partners = gt_alloc(2 * s->pair_count * sizeof *o->partners);
    size_t *next = o->begin + 1; /* filling moves each kernel's begin to its end, which is the next begin */
    for (size_t i = 0; i < s->pair_count; i++) {
        o->partners[next[s->pairs[i].started]++] = s->pairs[i].running;
        o->partners[next[s->pairs[i].running]++] = s->pairs[i].started;
    }
    return o;
}

/* Sorts a kernel's partners into the iteration order of a Python set of their uids. */
static void order_partners(sweep *s, uint32_t *partners, size_t count)
{
    gt_python_set *set = &s->running; /* the sweep is over, so the set is free to use */
    gt_python_set_clear(set);
    s->met = gt_grow(s->met, &s->met_capacity, count, sizeof *s->met);
    for (size_t i = 0; i < count; i++) gt_python_set_add(set, uid_of(s, partners[i]));
    for (size_t i = 0; i < count; i++)
        s->met[i] = (candidate){gt_python_set_slot(set, uid_of(s, partners[i])), partners[i]};
    qsort(s->met, count, sizeof *s->met, by_slot);
    for (size_t i = 0; i < count; i++) partners[i] = s->met[i].kernel;
}

static void use_rows(const sweep *s, gt_overlaps *o)
{
    for (size_t i = 0; i < o->begin[o->count]; i++) o->partners[i] = s->rows[o->partners[i]];
    o->index_of = gt_alloc(s->trace->count * sizeof *o->index_of);
    memset(o->index_of, 0xFF, s->trace->count * sizeof *o->index_of);
    for (uint32_t i = 0; i < s->count; i++) o->index_of[s->rows[i]] = i;
}

static gt_overlaps *finish(sweep *s)
{
    gt_overlaps *o = group_by_kernel(s);
    for (size_t i = 0; i < o->count; i++)
        if (o->begin[i + 1] - o->begin[i] > 1)
            order_partners(s, o->partners + o->begin[i], o->begin[i + 1] - o->begin[i]);
    use_rows(s, o);
    return o;
}

gt_overlaps *gt_overlaps_find(const gt_linked_view *trace, bool include_unlinked, gt_error *error)
{
    sweep s = {.trace = trace};
    number_kernels(&s, include_unlinked);
    number_streams(&s);
    gt_overlaps *overlaps = NULL;
    if (sweep_all(&s))
        overlaps = finish(&s);
    else
        gt_fail(error,
                "more than %zu pairs of %zu kernels overlap: too many to list; omit --include_overlap_info",
                pairs_max(&s), s.count);
    gt_python_set_free(&s.running);
    gt_free_all(s.rows, s.start_us, s.end_us, s.stream_of, s.next, s.before, s.streams, s.active_streams,
                s.met, s.pairs);
    return overlaps;
}

void gt_overlaps_free(gt_overlaps *o)
{
    if (!o) return;
    gt_free_all(o->index_of, o->begin, o->partners, o);
}

const uint32_t *gt_overlaps_of(const gt_overlaps *o, uint32_t row, size_t *count)
{
    uint32_t index = o->index_of[row];
    *count = index == GT_NO_EVENT ? 0 : o->begin[index + 1] - o->begin[index];
    return index == GT_NO_EVENT ? NULL : o->partners + o->begin[index];
}

/* ---- overlap of one op ---- */

/* Sums over the partners with one name. */
typedef struct sums {
    double dur_us, overlap_pct, count;
} sums;

struct gt_op_overlap_reader {
    const gt_linked_view *trace;
    const gt_overlaps *overlaps;
    uint32_t *streams;  /* by row */
    uint32_t *place_of; /* by name: its index + 1 in the list of this op; 0: not in it */
    gt_kernel_detail *kernels;
    sums *sums; /* as many */
    size_t count, capacity, sums_capacity;
    gt_intervals overlapping;
    gt_buffer names;
};

gt_op_overlap_reader *gt_op_overlap_reader_new(const gt_linked_view *trace, const gt_overlaps *overlaps)
{
    gt_op_overlap_reader *r = gt_alloc_zero(1, sizeof *r);
    r->trace = trace;
    r->overlaps = overlaps;
    r->streams = gt_store_string_ids(trace->store, GT_EVENT_STREAM);
    r->place_of = gt_alloc_zero(gt_interner_count(trace->strings), sizeof *r->place_of);
    return r;
}

static sums *sums_of(gt_op_overlap_reader *r, uint32_t partner)
{
    uint32_t name = r->trace->name[partner], *place = &r->place_of[name];
    if (!*place) {
        gt_kernel_detail kernel = {.name = name, .stream = r->streams[partner]};
        GT_PUSH(r->kernels, r->count, r->capacity, kernel);
        r->sums = gt_grow(r->sums, &r->sums_capacity, r->count, sizeof *r->sums);
        r->sums[r->count - 1] = (sums){0};
        *place = (uint32_t)r->count;
    }
    return &r->sums[*place - 1];
}

/* Adds a kernel's partners to the sums of their names. Returns the time in which any of them runs at the same
 * time as the kernel. */
static double add_kernel(gt_op_overlap_reader *r, uint32_t row, double busy_us)
{
    const gt_linked_view *trace = r->trace;
    size_t count;
    const uint32_t *partners = gt_overlaps_of(r->overlaps, row, &count);
    r->overlapping.count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t partner = partners[i];
        double start_us = fmax(trace->start_us[row], trace->start_us[partner]);
        double end_us = fmin(gt_event_end_us(&trace->events, row), gt_event_end_us(&trace->events, partner));
        sums *s = sums_of(r, partner);
        s->dur_us += trace->dur_us[partner];
        s->overlap_pct += busy_us > 0 ? gt_python_round2((end_us - start_us) / busy_us) : 0.0;
        s->count += 1.0;
        gt_intervals_add(&r->overlapping, start_us, end_us);
    }
    gt_intervals_merge(&r->overlapping);
    return gt_intervals_length(&r->overlapping);
}

static void finish_details(gt_op_overlap_reader *r)
{
    r->names.len = 0;
    for (size_t i = 0; i < r->count; i++) {
        gt_kernel_detail *kernel = &r->kernels[i];
        kernel->dur_us = gt_python_round2(r->sums[i].dur_us / r->sums[i].count);
        kernel->overlap_pct = gt_python_round2(r->sums[i].overlap_pct / r->sums[i].count);
        gt_buffer_add_cstr(&r->names, i ? ", " : "[");
        gt_python_add_repr(&r->names, gt_interner_get(r->trace->strings, kernel->name));
        r->place_of[kernel->name] = 0;
    }
    gt_buffer_add_cstr(&r->names, "]");
}

gt_op_overlap gt_op_overlap_read(gt_op_overlap_reader *r, const uint32_t *rows, size_t count, double busy_us)
{
    double overlap_us = 0.0;
    r->count = 0;
    for (size_t i = 0; i < count; i++) overlap_us += add_kernel(r, rows[i], busy_us);
    if (!r->count) return (gt_op_overlap){.overlap_pct = NAN};
    finish_details(r);
    return (gt_op_overlap){.names = gt_interner_add(r->trace->strings, r->names.bytes, r->names.len),
                           .overlap_pct = busy_us > 0 ? gt_python_round2(overlap_us / busy_us) : 0.0,
                           .kernels = r->kernels,
                           .count = r->count};
}

void gt_op_overlap_reader_free(gt_op_overlap_reader *r)
{
    if (!r) return;
    gt_free_all(r->streams, r->place_of, r->kernels, r->sums);
    gt_intervals_free(&r->overlapping);
    gt_buffer_free(&r->names);
    gt_free(r);
}
