/* Of calls with the same id, the last one in the order of threads, starts and, longest first, lengths is the
 * launch. */
#include "input/xla/launches.h"
#include "base/length.h"

#include <math.h>
#include <stdlib.h>

enum { DENSE_IDS = 8 }; /* ids are dense where there are at most so many a call */

typedef struct call {
    uint64_t correlation;
    int64_t start_ps, dur_ps;
    uint32_t tid;
} call;

typedef struct call_list {
    call *items;
    size_t count, capacity;
    size_t line_begin; /* the first call of the line that is being read */
} call_list;

static void take_event(void *context, const xevent *event)
{
    call_list *list = context;
    if (!event->attributes.has_correlation) return;
    call c = {event->attributes.correlation, event->offset_ps, event->dur_ps, 0};
    GT_PUSH(list->items, list->count, list->capacity, c);
}

static void take_line(void *context, const xline *line)
{
    call_list *list = context;
    if (line->is_skipped) list->count = list->line_begin;
    for (size_t i = list->line_begin; i < list->count; i++) {
        list->items[i].start_ps = xline_start_ps(line, list->items[i].start_ps);
        list->items[i].tid = line->tid;
    }
    list->line_begin = list->count;
}

static bool is_later(const call *a, const call *b)
{
    if (a->tid != b->tid) return a->tid > b->tid;
    if (a->start_ps != b->start_ps) return a->start_ps > b->start_ps;
    return a->dur_ps <= b->dur_ps;
}

static void choose(uint32_t *place, const call_list *calls, uint32_t i)
{
    if (*place == GT_MAP_NONE || is_later(&calls->items[i], &calls->items[*place])) *place = i;
}

static double start_us(const call_list *calls, uint32_t place)
{
    return place == GT_MAP_NONE ? (double)NAN : (double)calls->items[place].start_ps / 1e6;
}

static void index_calls(xlaunches *l, const call_list *calls)
{
    uint64_t last = 0, most = (uint64_t)calls->count * DENSE_IDS;
    for (size_t i = 0; i < calls->count; i++) {
        uint64_t id = calls->items[i].correlation;
        if (id < most && id > last) last = id;
    }
    l->us_count = calls->count ? (size_t)last + 1 : 0;
    uint32_t *dense = gt_alloc(l->us_count * sizeof *dense);
    for (size_t i = 0; i < l->us_count; i++) dense[i] = GT_MAP_NONE;
    for (uint32_t i = 0; i < calls->count; i++) {
        uint64_t id = calls->items[i].correlation;
        choose(id < l->us_count ? &dense[id] : gt_map_put(&l->sparse, id, 0), calls, i);
    }
    l->us_of = gt_alloc(l->us_count * sizeof *l->us_of);
    for (size_t i = 0; i < l->us_count; i++) l->us_of[i] = start_us(calls, dense[i]);
    for (size_t i = 0; i < l->sparse.capacity; i++) {
        gt_map_entry *entry = &l->sparse.entries[i];
        if (!entry->used) continue;
        double us = start_us(calls, entry->value);
        entry->value = (uint32_t)l->sparse_count;
        GT_PUSH(l->sparse_us, l->sparse_count, l->sparse_capacity, us);
    }
    gt_free(dense);
}

bool xlaunches_read(xlaunches *l, xplane *host, xfile *file)
{
    static const xstat_role passed[] = {XSTAT_HLO_OP,         XSTAT_HLO_MODULE, XSTAT_PROGRAM,
                                        XSTAT_GROUP,          XSTAT_SCOPE,      XSTAT_GRAPH,
                                        XSTAT_KERNEL_DETAILS, XSTAT_TF_OP,      XSTAT_HLO_PROTO};
    gt_interner *unused = gt_interner_new(); /* names of host events are in no sheet */
    call_list calls = {0};
    bool sound = xplane_open(host, file, unused, true);
    if (sound && host->has_role[XSTAT_CORRELATION]) {
        xplane_pass_over(host, passed, GT_LENGTH(passed));
        sound =
            xplane_visit(host, file, &(xvisitor){&calls, take_event, take_line}) && calls.count < GT_MAP_NONE;
    }
    if (sound) index_calls(l, &calls);
    gt_free(calls.items);
    gt_interner_free(unused);
    return sound;
}

void xlaunches_free(xlaunches *l)
{
    gt_free(l->us_of);
    gt_free(l->sparse_us);
    gt_map_free(&l->sparse);
    *l = (xlaunches){0};
}

double xlaunches_find(const xlaunches *l, uint64_t correlation)
{
    if (correlation < l->us_count) return l->us_of[correlation];
    uint32_t place = gt_map_get(&l->sparse, correlation, 0);
    return place == GT_MAP_NONE ? (double)NAN : l->sparse_us[place];
}
