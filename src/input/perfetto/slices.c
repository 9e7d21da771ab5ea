/* Pairs the begins and ends of slices, by the rules in record.h. Edges are collected per track; most tracks
 * have one begin and its end, which are paired at once. */
#include "input/perfetto/record.h"

typedef struct edge {
    int64_t time_ns;
    uint32_t row;
    bool is_end;
    size_t order; /* in the file */
} edge;

typedef struct track {
    edge *edges;
    size_t count, capacity;
    size_t begins;
} track;

struct gt_slices {
    track *tracks;
    size_t track_count, track_capacity;
    int64_t *durations; /* by row */
    size_t duration_count, duration_capacity;
    edge *stack;
    size_t stack_count, stack_capacity;
};

gt_slices *gt_slices_new(void)
{
    return gt_alloc_zero(1, sizeof(gt_slices));
}

void gt_slices_free(gt_slices *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->track_count; i++) gt_free(s->tracks[i].edges);
    gt_free_all(s->tracks, s->durations, s->stack, s);
}

static void grow_durations(gt_slices *s, size_t count)
{
    if (count <= s->duration_count) return;
    s->durations = gt_grow(s->durations, &s->duration_capacity, count, sizeof *s->durations);
    while (s->duration_count < count) s->durations[s->duration_count++] = GT_SLICE_OPEN;
}

void gt_slices_complete(gt_slices *s, uint32_t row, int64_t dur_ns)
{
    if (row == GT_SLICE_UNWANTED) return;
    grow_durations(s, (size_t)row + 1);
    s->durations[row] = dur_ns;
}

static void set_duration(gt_slices *s, const edge *begin, int64_t end_ns)
{
    int64_t dur_ns;
    if (__builtin_sub_overflow(end_ns, begin->time_ns, &dur_ns)) dur_ns = GT_SLICE_OPEN;
    gt_slices_complete(s, begin->row, dur_ns);
}

static track *track_at(gt_slices *s, uint32_t at)
{
    if (at >= s->track_count) {
        s->tracks = gt_grow(s->tracks, &s->track_capacity, (size_t)at + 1, sizeof *s->tracks);
        memset(s->tracks + s->track_count, 0, (at + 1 - s->track_count) * sizeof *s->tracks);
        s->track_count = (size_t)at + 1;
    }
    return &s->tracks[at];
}

static bool is_in_order(const track *t)
{
    for (size_t i = 1; i < t->count; i++)
        if (t->edges[i].time_ns < t->edges[i - 1].time_ns) return false;
    return true;
}

/* All begins, then as many ends, none of them before its begin. */
static bool is_by_position(const track *t)
{
    if (t->begins * 2 != t->count) return false;
    for (size_t i = 0; i < t->begins; i++) {
        const edge *begin = &t->edges[i], *end = &t->edges[i + t->begins];
        if (begin->is_end || !end->is_end || end->time_ns < begin->time_ns) return false;
    }
    return true;
}

static int by_time(const void *left, const void *right)
{
    const edge *a = left, *b = right;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    if (a->is_end != b->is_end) return a->is_end ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Pairs and removes empty slices: an end directly after its begin and at the same time. */
static void pair_empty(gt_slices *s, track *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        const edge *edge_at = &t->edges[i];
        bool ends_empty = kept && edge_at->is_end && !t->edges[kept - 1].is_end &&
                          t->edges[kept - 1].order + 1 == edge_at->order &&
                          t->edges[kept - 1].time_ns == edge_at->time_ns;
        if (ends_empty)
            set_duration(s, &t->edges[--kept], edge_at->time_ns);
        else
            t->edges[kept++] = *edge_at;
    }
    t->count = kept;
}

static void pop(gt_slices *s, int64_t time_ns)
{
    set_duration(s, &s->stack[--s->stack_count], time_ns);
}

/* An end without an open slice closes a slice that begins at the same time. */
static void pair_nested(gt_slices *s, const track *t)
{
    size_t early_ends = 0;
    s->stack_count = 0;
    for (size_t i = 0; i < t->count; i++) {
        const edge *at = &t->edges[i];
        if (!at->is_end)
            GT_PUSH(s->stack, s->stack_count, s->stack_capacity, *at);
        else if (s->stack_count)
            pop(s, at->time_ns);
        else
            early_ends++;
        bool is_last = i + 1 == t->count || t->edges[i + 1].time_ns != at->time_ns;
        for (; is_last && early_ends; early_ends--)
            if (s->stack_count && s->stack[s->stack_count - 1].time_ns == at->time_ns) pop(s, at->time_ns);
    }
}

static void pair_track(gt_slices *s, track *t)
{
    if (t->count == 2 && t->begins == 1 && t->edges[1].time_ns >= t->edges[0].time_ns && t->edges[1].is_end)
        set_duration(s, &t->edges[0], t->edges[1].time_ns);
    else if (!is_in_order(t) && is_by_position(t))
        for (size_t i = 0; i < t->begins; i++) set_duration(s, &t->edges[i], t->edges[i + t->begins].time_ns);
    else if (t->count) {
        pair_empty(s, t);
        qsort(t->edges, t->count, sizeof *t->edges, by_time);
        pair_nested(s, t);
    }
    t->count = t->begins = 0;
}

static void add(gt_slices *s, uint32_t at, edge added)
{
    track *t = track_at(s, at);
    if (added.is_end && !t->count) return; /* its begin was not recorded */
    added.order = t->count;
    GT_PUSH(t->edges, t->count, t->capacity, added);
    t->begins += !added.is_end;
    if (t->begins * 2 == t->count) pair_track(s, t);
}

void gt_slices_begin(gt_slices *s, uint32_t at, int64_t time_ns, uint32_t row)
{
    add(s, at, (edge){.time_ns = time_ns, .row = row});
}

void gt_slices_end(gt_slices *s, uint32_t at, int64_t time_ns)
{
    add(s, at, (edge){.time_ns = time_ns, .row = GT_SLICE_UNWANTED, .is_end = true});
}

const int64_t *gt_slices_finish(gt_slices *s, size_t count)
{
    for (size_t i = 0; i < s->track_count; i++) pair_track(s, &s->tracks[i]);
    grow_durations(s, count ? count : 1);
    return s->durations;
}
