/* What do the threads of the host do? Their events, nested; of too many the longest.
 *
 * An event is never shorter than those inside it (annotations aside, which programs may end where they like),
 * so leaving out all events up to some duration never leaves a gap between an event and what is around it.
 * The duration is found with a histogram whose buckets are a 32nd of a power of two wide: one pass to count,
 * one to fill. Depth counts the kept events that are open when an event begins; at one depth no two events
 * overlap. */
#include "page/work_parts.h"

#include "schema/page.h"

/* ---- which events are kept ---- */

enum { PARTS_BITS = 5, BUCKETS = 64 << PARTS_BITS };

/* Durations that share their highest bits share a bucket. */
static size_t bucket_of(int64_t ns)
{
    const int64_t small = INT64_C(1) << PARTS_BITS;
    if (ns < small) return (size_t)ns;
    unsigned power = 63 - (unsigned)__builtin_clzll((uint64_t)ns);
    uint64_t part = (uint64_t)ns >> (power - PARTS_BITS); /* with its highest bit: small ... 2 * small - 1 */
    return ((size_t)(power - PARTS_BITS) << PARTS_BITS) + (size_t)part;
}

/* The longest duration of a bucket. */
static int64_t bucket_end(size_t bucket)
{
    const size_t small = (size_t)1 << PARTS_BITS;
    if (bucket < 2 * small) return (int64_t)bucket;
    size_t power = (bucket >> PARTS_BITS) - 1; /* less PARTS_BITS */
    uint64_t part = (bucket & (small - 1)) + small;
    return (int64_t)(((part + 1) << power) - 1);
}

/* Events of at most this duration are left out; -1: all fit. */
static int64_t find_limit(const gt_page_work *w)
{
    const gt_schedule *s = w->schedule;
    int64_t limit = -1;
    size_t count = 0;
    for (size_t t = 0; t < s->thread_count; t++)
        if (w->thread_lane[t] != GT_NONE) count += s->threads[t].end - s->threads[t].first;
    if (count <= w->limits.host_events) return limit;
    size_t *counts = gt_alloc_zero(BUCKETS, sizeof *counts);
    for (size_t t = 0; t < s->thread_count; t++)
        for (size_t i = s->threads[t].first; w->thread_lane[t] != GT_NONE && i < s->threads[t].end; i++)
            counts[bucket_of(s->events[i].end_ns - s->events[i].start_ns)]++;
    for (size_t b = 0; b < BUCKETS && count > w->limits.host_events; b++) {
        count -= counts[b];
        limit = bucket_end(b);
    }
    gt_free(counts);
    return limit;
}

void gt_page_find_host(gt_page_work *w)
{
    const gt_schedule *s = w->schedule;
    w->host_limit_ns = find_limit(w);
    for (size_t t = 0; t < s->thread_count; t++) {
        if (w->thread_lane[t] == GT_NONE) continue;
        gt_page_lane *lane = &w->lanes[w->thread_lane[t]];
        lane->kept = lane->events;
        for (size_t i = s->threads[t].first; w->host_limit_ns >= 0 && i < s->threads[t].end; i++)
            lane->kept -= s->events[i].end_ns - s->events[i].start_ns <= w->host_limit_ns;
        if (lane->kept < lane->events) lane->shorter_ns = w->host_limit_ns;
    }
}

/* ---- the table ---- */

enum { LANE, START, NS, DEPTH, NAME, KIND };

typedef struct host_filler {
    const gt_page_work *w;
    gt_table *table;
    int64_t *lane, *start, *ns, *depth;
    uint32_t *name, *kind;
    uint32_t kinds[16]; /* by gt_event_kind: string ids */
    int64_t *open;      /* ends of the open events, outermost first */
    size_t open_count, open_capacity;
    size_t row;
} host_filler;

static void add_thread(host_filler *f, const gt_host_thread *thread, uint32_t lane)
{
    const gt_host_event *events = f->w->schedule->events;
    f->open_count = 0;
    for (uint32_t i = thread->first; i < thread->end; i++) {
        const gt_host_event *event = &events[i];
        int64_t ns = event->end_ns - event->start_ns;
        if (ns <= f->w->host_limit_ns) continue;
        while (f->open_count && f->open[f->open_count - 1] <= event->start_ns) f->open_count--;
        size_t row = f->row++;
        f->lane[row] = lane;
        f->start[row] = gt_page_time(f->w, event->start_ns);
        f->ns[row] = ns;
        f->depth[row] = (int64_t)f->open_count;
        f->name[row] = event->name;
        f->kind[row] = f->kinds[event->kind];
        GT_PUSH(f->open, f->open_count, f->open_capacity, event->end_ns);
    }
}

static void name_kinds(host_filler *f)
{
    static const char *const names[] = {[GT_KIND_CPU_OP] = "op",
                                        [GT_KIND_RUNTIME] = "call",
                                        [GT_KIND_DRIVER] = "call",
                                        [GT_KIND_PYTHON] = "python",
                                        [GT_KIND_ANNOTATION] = "annotation"};
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (names[i]) f->kinds[i] = gt_interner_add_cstr(f->table->strings, names[i]);
}

void gt_page_add_host(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        {GT_COL_PAGE_LANE, GT_TYPE_INT},    {GT_COL_PAGE_START, GT_TYPE_INT},
        {GT_COL_PAGE_NS, GT_TYPE_INT},      {GT_COL_PAGE_DEPTH, GT_TYPE_INT},
        {GT_COL_PAGE_NAME, GT_TYPE_STRING}, {GT_COL_PAGE_KIND, GT_TYPE_STRING}};
    const gt_schedule *s = w->schedule;
    if (!s->thread_count) return;
    host_filler f = {.w = w, .table = gt_table_new(GT_SHEET_PAGE_HOST, s->strings)};
    uint32_t *thread_of = gt_no_events(w->lane_count); /* by lane */
    for (uint32_t t = 0; t < s->thread_count; t++)
        if (w->thread_lane[t] != GT_NONE) thread_of[w->thread_lane[t]] = t;
    gt_table_add_columns(f.table, heads, GT_LENGTH(heads));
    gt_table_add_rows(f.table, gt_page_kept(w, false));
    f.lane = f.table->columns[LANE].ints;
    f.start = f.table->columns[START].ints;
    f.ns = f.table->columns[NS].ints;
    f.depth = f.table->columns[DEPTH].ints;
    f.name = f.table->columns[NAME].texts;
    f.kind = f.table->columns[KIND].texts;
    name_kinds(&f);
    for (uint32_t lane = 0; lane < w->lane_count; lane++)
        if (thread_of[lane] != GT_NO_EVENT) add_thread(&f, &s->threads[thread_of[lane]], lane);
    gt_free_all(thread_of, f.open);
    gt_table_list_add(tables, f.table);
}
