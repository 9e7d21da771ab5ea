/* Launches that the rules of TraceLens (links.c) get wrong. Two corrections:
 *
 * 1. A GPU event that is linked to several calls with its id keeps those that launch something: ROCm 7 gives
 *    one id to hipArray3DCreate and hipMemsetAsync. Where several processes use the same ids, it keeps the
 *    calls of its own process.
 *
 * 2. A GPU event without a link is linked to the call that launches it and has the same id. It has no link
 *    if its flow events are missing, in whole or in part (memsets of ROCm), if it is one of several that a
 *    call launched, or if the first launch of the trace made TraceLens compare the wrong kind of id. The id
 *    is the correlation. Where one of the two events has no correlation, or 0, it is the external id, which
 *    is that of the op: then all launches of an op have the same id, and the first one that fits is used.
 *
 * Ids are unique in a process only, and GPU events are in a process of their own, the device. In traces with
 * several processes, the calls of a GPU event are those with its rank (traces of `gputally fuse`). Without
 * ranks they are those of the process from which flow events lead to the device, else of the only process
 * that uses the id, else of the process with the device's own process id. If none of that decides, the GPU
 * event is not linked. */
#include "trace/pytorch/gpu_events.h"
#include "trace/pytorch/state.h"

/* The kinds of common ids, each with a number space of its own. */
typedef enum id_kind {
    BY_CORRELATION,
    BY_EXTERNAL,      /* the GPU event has no correlation */
    BY_EXTERNAL_ONLY, /* the call has none */
    ID_KINDS
} id_kind;

/* The calls that fit best, by slot of the id: gt_launch_fit in the upper half, and in the lower half a number
 * that is greater for earlier rows; 0: none. */
typedef struct best_calls {
    uint64_t *by_kind[GT_GPU_KINDS];
} best_calls;

typedef struct finder {
    gt_pytorch_state *trace;
    bool several;                /* calls have several groups; else all are in group 0 */
    uint8_t *launches;           /* by name: see launch_of_name */
    gt_row_list gpu;             /* GPU events without a link */
    uint32_t *found;             /* by index of gpu: the call, GT_NO_EVENT if there is none */
    id_kind kind;                /* for ids_of_kind */
    gt_id_slots slots[ID_KINDS]; /* of the ids that GPU events without a link have */
    best_calls best[ID_KINDS];   /* only if there is one group */

    gt_map group_of;       /* from (id, kind of id) to the only group with such a launch; only if several */
    gt_launch_calls calls; /* by id, and by group and kind of id; only if several */
} finder;

enum { SEVERAL_GROUPS = GT_MAP_NONE - 1, NO_GROUP = GT_MAP_NONE };

static bool is_call(const gt_pytorch_state *trace, size_t row)
{
    return trace->kind[row] == GT_KIND_RUNTIME || trace->kind[row] == GT_KIND_DRIVER;
}

static bool is_id(int64_t value)
{
    return value != GT_EVENT_NONE && value != 0;
}

/* At most GT_ID_BATCH rows at once. */
typedef struct id_batch {
    int64_t correlation[GT_ID_BATCH], external[GT_ID_BATCH];
} id_batch;

static int64_t int_of(const finder *f, size_t column, uint32_t row)
{
    int64_t value;
    gt_store_read_ints(f->trace->store, column, row, (size_t)row + 1, &value);
    return value;
}

static void read_ids(const finder *f, size_t begin, size_t end, id_batch *ids)
{
    gt_store_read_ints(f->trace->store, GT_EVENT_CORRELATION, begin, end, ids->correlation);
    gt_store_read_ints(f->trace->store, GT_EVENT_EXTERNAL_ID, begin, end, ids->external);
}

/* ---- what calls launch ---- */

enum { NOT_KNOWN, LAUNCHES_NOTHING, LAUNCHES_KIND }; /* LAUNCHES_KIND and above: plus a GPU kind from 0 */

/* What a call launches, as its name says. Names are few, so each is looked at once; threads that look at the
 * same one find the same. */
static uint8_t launch_of_name(const finder *f, uint32_t row)
{
    uint8_t *known = &f->launches[f->trace->name[row]], is = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (is != NOT_KNOWN) return is;
    gt_str name = gt_state_name(f->trace, row);
    is = LAUNCHES_NOTHING;
    for (uint8_t kind = 0; kind < GT_GPU_KINDS; kind++)
        if (gt_launch_fit(name, (uint8_t)(GT_KIND_KERNEL + kind)) == 2) is = (uint8_t)(LAUNCHES_KIND + kind);
    __atomic_store_n(known, is, __ATOMIC_RELAXED);
    return is;
}

/* ---- groups: ranks, or processes where there are no ranks ---- */

enum { RANK_BIT = 1 << 30 }; /* string ids are smaller */

static uint32_t process_of(const finder *f, uint32_t row)
{
    return gt_lane_ids_of(&f->trace->lanes, row).process;
}

static uint32_t group_of_call(const finder *f, uint32_t row, int64_t rank)
{
    return rank == GT_EVENT_NONE ? process_of(f, row)
                                 : (uint32_t)RANK_BIT | (uint32_t)(rank & (RANK_BIT - 1));
}

typedef struct group_search {
    const finder *f;
    uint32_t *groups; /* by range: the group of all calls in it, NO_GROUP or SEVERAL_GROUPS */
} group_search;

static void join_group(uint32_t *all, uint32_t group)
{
    if (group != NO_GROUP) *all = *all == NO_GROUP || *all == group ? group : (uint32_t)SEVERAL_GROUPS;
}

static void find_groups(void *context, size_t begin, size_t end)
{
    const group_search *s = context;
    int64_t ranks[GT_ID_BATCH];
    uint32_t all = NO_GROUP;
    for (size_t at = begin; at < end; at += GT_ID_BATCH) {
        size_t stop = end - at < GT_ID_BATCH ? end : at + GT_ID_BATCH;
        gt_store_read_ints(s->f->trace->store, GT_EVENT_RANK, at, stop, ranks);
        for (size_t row = at; row < stop; row++)
            if (is_call(s->f->trace, row))
                join_group(&all, group_of_call(s->f, (uint32_t)row, ranks[row - at]));
    }
    s->groups[begin / GT_ROWS_GRAIN] = all;
}

static bool has_several_groups(const finder *f)
{
    size_t rows = f->trace->count, range_count = gt_range_count(rows, GT_ROWS_GRAIN);
    group_search s = {f, gt_alloc(range_count * sizeof *s.groups)};
    uint32_t all = NO_GROUP;
    gt_parallel_ranges(rows, GT_ROWS_GRAIN, find_groups, &s);
    for (size_t i = 0; i < range_count; i++) join_group(&all, s.groups[i]);
    gt_free(s.groups);
    return all == SEVERAL_GROUPS;
}

/* The group of a GPU event as far as the event itself and flow events tell; NO_GROUP: they do not. */
static uint32_t known_group(const finder *f, uint32_t gpu)
{
    if (!f->several) return 0;
    int64_t rank = int_of(f, GT_EVENT_RANK, gpu);
    if (rank != GT_EVENT_NONE) return group_of_call(f, gpu, rank);
    uint32_t owner = gt_map_get(&f->trace->owners, process_of(f, gpu), 0);
    return owner == GT_MAP_NONE || owner == GT_NO_OWNER ? NO_GROUP : owner;
}

/* ---- 1. links of calls that launch nothing, or in another process ---- */

typedef struct link_filter {
    const finder *f;
    uint8_t *weights; /* by link */
    uint8_t *best;    /* greatest weight, by row of a GPU event */
    gt_row_list kept; /* links */
    uint32_t *runtime, *gpu;
} link_filter;

/* 0: the call launches nothing; 1: it does; 2: and it is in the GPU event's group. */
static uint8_t weight_of(const finder *f, size_t link)
{
    uint32_t call = f->trace->link_runtime[link], gpu = f->trace->link_gpu[link];
    if (launch_of_name(f, call) == LAUNCHES_NOTHING) return 0;
    if (!f->several) return 1;
    uint32_t group = known_group(f, gpu);
    if (group == NO_GROUP) group = process_of(f, gpu);
    return group == group_of_call(f, call, int_of(f, GT_EVENT_RANK, call)) ? 2 : 1;
}

static void weigh_links(void *context, size_t begin, size_t end)
{
    link_filter *l = context;
    for (size_t i = begin; i < end; i++) {
        uint8_t weight = l->weights[i] = weight_of(l->f, i), *best = &l->best[l->f->trace->link_gpu[i]];
        uint8_t old = __atomic_load_n(best, __ATOMIC_RELAXED);
        while (old < weight &&
               !__atomic_compare_exchange_n(best, &old, weight, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
        __atomic_store_n(&l->f->trace->parent[l->f->trace->link_gpu[i]], GT_NO_EVENT, __ATOMIC_RELAXED);
    }
}

static bool is_kept(const void *context, size_t link)
{
    const link_filter *l = context;
    return l->weights[link] == l->best[l->f->trace->link_gpu[link]];
}

static void copy_kept(void *context, size_t begin, size_t end)
{
    link_filter *l = context;
    gt_pytorch_state *trace = l->f->trace;
    for (size_t i = begin; i < end; i++) {
        l->runtime[i] = trace->link_runtime[l->kept.items[i]];
        l->gpu[i] = trace->link_gpu[l->kept.items[i]];
        gt_state_launch(trace, l->runtime[i], l->gpu[i]);
    }
}

static void use_links(gt_pytorch_state *trace, uint32_t *runtime, uint32_t *gpu, size_t count)
{
    gt_free_all(trace->link_runtime, trace->link_gpu);
    trace->link_runtime = runtime;
    trace->link_gpu = gpu;
    trace->link_count = count;
}

/* Whether a GPU event has several links: its parent is only one of the calls. */
static bool is_shared(const void *context, size_t link)
{
    const gt_pytorch_state *trace = context;
    return trace->parent[trace->link_gpu[link]] != trace->link_runtime[link];
}

static bool have_shared_events(const gt_pytorch_state *trace)
{
    gt_row_list shared = gt_rows_where(trace->link_count, is_shared, trace);
    gt_free(shared.items);
    return shared.count != 0;
}

static void drop_links(finder *f)
{
    gt_pytorch_state *trace = f->trace;
    link_filter l = {.f = f, .weights = gt_alloc(trace->link_count), .best = gt_alloc_zero(trace->count, 1)};
    gt_parallel_ranges(trace->link_count, GT_ROWS_GRAIN, weigh_links, &l);
    l.kept = gt_rows_where(trace->link_count, is_kept, &l);
    l.runtime = gt_alloc(l.kept.count * sizeof *l.runtime);
    l.gpu = gt_alloc(l.kept.count * sizeof *l.gpu);
    gt_parallel_ranges(l.kept.count, GT_ROWS_GRAIN, copy_kept, &l);
    use_links(trace, l.runtime, l.gpu, l.kept.count);
    gt_free_all(l.weights, l.best, l.kept.items);
}

/* ---- 2. GPU events without a link ---- */

static bool is_unlinked(const void *context, size_t row)
{
    const gt_pytorch_state *trace = context;
    return gt_kind_is_gpu(trace->kind[row]) && trace->parent[row] == GT_NO_EVENT;
}

/* The id of f->kind that a GPU event has; 0: none. */
static int64_t wanted_id(id_kind kind, int64_t correlation, int64_t external)
{
    if (kind == BY_CORRELATION) return is_id(correlation) ? correlation : 0;
    return is_id(external) && is_id(correlation) == (kind == BY_EXTERNAL_ONLY) ? external : 0;
}

static size_t ids_of_kind(const void *context, size_t begin, size_t end, int64_t *ids)
{
    const finder *f = context;
    size_t count = 0;
    id_batch batch;
    read_ids(f, begin, end, &batch);
    for (size_t row = begin; row < end; row++) {
        if (!is_unlinked(f->trace, row)) continue;
        int64_t id = wanted_id(f->kind, batch.correlation[row - begin], batch.external[row - begin]);
        if (id) ids[count++] = id;
    }
    return count;
}

/* The ids by which a call may be found, 0 where there is none. */
static void ids_of_call(int64_t correlation, int64_t external, int64_t ids[ID_KINDS])
{
    ids[BY_CORRELATION] = is_id(correlation) ? correlation : 0;
    ids[BY_EXTERNAL] = is_id(external) ? external : 0;
    ids[BY_EXTERNAL_ONLY] = is_id(correlation) ? 0 : ids[BY_EXTERNAL];
}

/* Calls use(f, row, ids) for the calls that launch something. */
static void each_launch(finder *f, void (*use)(finder *f, uint32_t row, const int64_t ids[ID_KINDS]))
{
    id_batch batch;
    size_t rows = f->trace->count;
    for (size_t at = 0; at < rows; at += GT_ID_BATCH) {
        size_t stop = rows - at < GT_ID_BATCH ? rows : at + GT_ID_BATCH;
        read_ids(f, at, stop, &batch);
        for (size_t row = at; row < stop; row++) {
            if (!is_call(f->trace, row)) continue;
            int64_t ids[ID_KINDS];
            ids_of_call(batch.correlation[row - at], batch.external[row - at], ids);
            if ((ids[BY_CORRELATION] || ids[BY_EXTERNAL]) &&
                launch_of_name(f, (uint32_t)row) != LAUNCHES_NOTHING)
                use(f, (uint32_t)row, ids);
        }
    }
}

/* ---- 2a. where all calls are in one group ---- */

static void note_call(finder *f, uint32_t row, const int64_t ids[ID_KINDS])
{
    uint8_t launches = (uint8_t)(launch_of_name(f, row) - LAUNCHES_KIND);
    for (size_t k = 0; k < ID_KINDS; k++) {
        uint32_t slot = ids[k] ? gt_id_slot(&f->slots[k], ids[k]) : GT_NO_SLOT;
        if (slot == GT_NO_SLOT) continue;
        for (uint8_t kind = 0; kind < GT_GPU_KINDS; kind++) {
            uint64_t *best = &f->best[k].by_kind[kind][slot];
            uint64_t call = (uint64_t)(launches == kind ? 2 : 1) << 32 | (UINT32_MAX - row);
            if (*best < call) *best = call;
        }
    }
}

static uint32_t best_call(const finder *f, uint32_t gpu, int64_t id, id_kind kind)
{
    if (!id) return GT_NO_EVENT;
    uint32_t slot = gt_id_slot(&f->slots[kind], id);
    if (slot == GT_NO_SLOT) return GT_NO_EVENT;
    uint64_t best = f->best[kind].by_kind[f->trace->kind[gpu] - GT_KIND_KERNEL][slot];
    return best ? UINT32_MAX - (uint32_t)best : GT_NO_EVENT;
}

/* ---- 2b. where calls are in several groups ---- */

static uint64_t key_of(uint32_t group, id_kind kind)
{
    return (uint64_t)group * ID_KINDS + kind;
}

static void add_call(finder *f, uint32_t row, const int64_t ids[ID_KINDS])
{
    uint32_t group = NO_GROUP;
    for (size_t k = 0; k < ID_KINDS; k++) {
        if (!ids[k] || gt_id_slot(&f->slots[k], ids[k]) == GT_NO_SLOT) continue;
        if (group == NO_GROUP) group = group_of_call(f, row, int_of(f, GT_EVENT_RANK, row));
        gt_launch_calls_add(&f->calls, ids[k], key_of(group, (id_kind)k), row, gt_state_name(f->trace, row));
        uint32_t *only = gt_map_put(&f->group_of, (uint64_t)ids[k], k);
        *only = *only == GT_MAP_NONE || *only == group ? group : (uint32_t)SEVERAL_GROUPS;
    }
}

static uint32_t find_call(const finder *f, uint32_t gpu, int64_t id, id_kind kind)
{
    if (!id) return GT_NO_EVENT;
    uint32_t group = known_group(f, gpu);
    if (group == NO_GROUP) {
        group = gt_map_get(&f->group_of, (uint64_t)id, kind);
        if (group == SEVERAL_GROUPS) group = process_of(f, gpu);
    }
    return gt_launch_calls_find(&f->calls, id, key_of(group, kind), f->trace->kind[gpu]);
}

/* ---- 2c. new links ---- */

/* The index of the first row of a list that is not below `row`. */
static size_t first_at(const gt_row_list *list, size_t row)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_launches(void *context, size_t begin, size_t end)
{
    const finder *f = context;
    uint32_t (*find)(const finder *, uint32_t, int64_t, id_kind) = f->several ? find_call : best_call;
    id_batch ids;
    size_t i = first_at(&f->gpu, begin), stop = begin; /* ids has the rows before `stop` */
    for (; i < f->gpu.count && f->gpu.items[i] < end; i++) {
        uint32_t gpu = f->gpu.items[i], call = GT_NO_EVENT;
        while (gpu >= stop) {
            begin = stop;
            stop = end - begin < GT_ID_BATCH ? end : begin + GT_ID_BATCH;
            if (gpu < stop) read_ids(f, begin, stop, &ids);
        }
        for (id_kind kind = 0; kind < ID_KINDS && call == GT_NO_EVENT; kind++)
            call =
                find(f, gpu, wanted_id(kind, ids.correlation[gpu - begin], ids.external[gpu - begin]), kind);
        f->found[i] = call;
        if (call != GT_NO_EVENT) f->trace->parent[gpu] = call;
    }
}

typedef struct link_sort {
    const uint32_t *runtime, *gpu; /* links in any order */
    const uint32_t *order;
    uint32_t *sorted_runtime, *sorted_gpu;
    size_t count;
} link_sort;

static void place_links(void *context, size_t begin, size_t end)
{
    const link_sort *s = context;
    for (size_t i = begin; i < end; i++) {
        s->sorted_runtime[i] = s->runtime[s->order[i]];
        s->sorted_gpu[i] = s->gpu[s->order[i]];
    }
}

/* Sorts the GPU events of each call whose links begin in the range. */
static void sort_gpu_events(void *context, size_t begin, size_t end)
{
    const link_sort *s = context;
    const uint32_t *calls = s->sorted_runtime;
    while (begin && begin < end && calls[begin] == calls[begin - 1]) begin++;
    for (size_t first = begin; first < end;) {
        size_t next = first + 1;
        bool sorted = true;
        for (; next < s->count && calls[next] == calls[first]; next++)
            sorted &= s->sorted_gpu[next - 1] <= s->sorted_gpu[next];
        if (!sorted) qsort(s->sorted_gpu + first, next - first, sizeof *s->sorted_gpu, gt_by_row);
        first = next;
    }
}

/* Adds links, and sorts all by call, and by GPU event where a call has several. */
static void add_links(gt_pytorch_state *trace, const finder *f, size_t added)
{
    size_t count = trace->link_count;
    uint32_t *runtime = gt_realloc(trace->link_runtime, (count + added) * sizeof *runtime);
    uint32_t *gpu = gt_realloc(trace->link_gpu, (count + added) * sizeof *gpu);
    trace->link_runtime = runtime;
    trace->link_gpu = gpu;
    for (size_t i = 0; i < f->gpu.count; i++) {
        if (f->found[i] == GT_NO_EVENT) continue;
        runtime[count] = f->found[i];
        gpu[count++] = f->gpu.items[i];
    }
    double *keys = gt_alloc(count * sizeof *keys);
    uint32_t *order = gt_alloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++) {
        keys[i] = runtime[i];
        order[i] = (uint32_t)i;
    }
    gt_order_rows(order, count, keys);
    gt_free(keys);
    link_sort sort = {runtime,
                      gpu,
                      order,
                      gt_alloc(count * sizeof *sort.sorted_runtime),
                      gt_alloc(count * sizeof *sort.sorted_gpu),
                      count};
    gt_parallel_ranges(count, GT_ROWS_GRAIN, place_links, &sort);
    gt_parallel_ranges(count, GT_ROWS_GRAIN, sort_gpu_events, &sort);
    gt_free(order);
    use_links(trace, sort.sorted_runtime, sort.sorted_gpu, count);
}

static void link_unlinked(finder *f)
{
    gt_pytorch_state *trace = f->trace;
    for (id_kind kind = 0; kind < ID_KINDS; kind++) {
        f->kind = kind;
        f->slots[kind] = gt_id_slots_new(trace->count, ids_of_kind, f);
        for (size_t k = 0; k < GT_GPU_KINDS && !f->several; k++)
            f->best[kind].by_kind[k] = gt_alloc_zero(f->slots[kind].count, sizeof(uint64_t));
    }
    each_launch(f, f->several ? add_call : note_call);
    f->found = gt_alloc(f->gpu.count * sizeof *f->found);
    gt_parallel_ranges(trace->count, GT_ROWS_GRAIN, find_launches, f);
    size_t added = 0;
    for (size_t i = 0; i < f->gpu.count; i++) added += f->found[i] != GT_NO_EVENT;
    if (added) add_links(trace, f, added);
}

static void finder_free(finder *f)
{
    for (size_t kind = 0; kind < ID_KINDS; kind++) {
        gt_id_slots_free(&f->slots[kind]);
        for (size_t k = 0; k < GT_GPU_KINDS; k++) gt_free(f->best[kind].by_kind[k]);
    }
    gt_map_free(&f->group_of);
    gt_launch_calls_free(&f->calls);
    gt_free_all(f->gpu.items, f->found, f->launches);
}

void gt_pytorch_correct_launches(gt_pytorch_linked *linked)
{
    gt_pytorch_state *trace = linked->state;
    bool shared = have_shared_events(trace);
    finder f = {.trace = trace, .gpu = gt_rows_where(trace->count, is_unlinked, trace)};
    if (shared || f.gpu.count) {
        f.launches = gt_alloc_zero(gt_interner_count(trace->strings), 1);
        f.several = has_several_groups(&f);
    }
    if (shared) drop_links(&f);
    if (f.gpu.count) link_unlinked(&f);
    finder_free(&f);
    gt_state_publish(trace);
}
