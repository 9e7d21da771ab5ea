/* Collectives of a JAX run on several nodes: how much did each of them move, and how fast?
 *
 * XLA runs a collective op many times, as one kernel per GPU each time. The kernels of an op are numbered on
 * each GPU in order of their starts; kernels with the same number belong together and are called a slice:
 *
 *     all-reduce.1    GPU 0    |==|      |==|    |==|
 *                     GPU 1      |==|    |==|      |==|
 *     slice                  all-reduce.1_0, ..._1, ..._2
 *
 * In each slice, and each group of n ranks in it, the fastest kernel (d microseconds, D bytes) gives
 *
 *     algorithmic_bytes     all-gather 2 D (n - 1), all-reduce 2 D, reduce-scatter D + D / n,
 *                           all-to-all 2 D (n - 1) / n, collective-permute 2 D, others D
 *     bandwidth_gbps        algorithmic_bytes / 2**30 / (d / 1e6)
 *     bus_bandwidth_gbps    that times 2 (n - 1) / n for all-reduce, 1 for collective-permute and others,
 *                           (n - 1) / n for all-gather, all-to-all and reduce-scatter
 *
 * A slice has the mean of its groups, a collective that of its slices; the statistics of a kind are over the
 * slices of all its collectives. */
#include "analysis/jax/kernels.h"

#include "schema/columns.h"
#include "table/stats.h"

typedef enum collective_kind {
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    COLLECTIVE_PERMUTE,
    OTHER,
    KINDS
} collective_kind;

/* A communication kernel. */
typedef struct collective_event {
    int64_t node, gpu_rank, data_bytes;
    uint64_t correlation;
    double start_us, dur_us;
    uint32_t pid;
    uint32_t name, module, process, id; /* string ids; id: of the slice */
    uint32_t index;                     /* number of the slice among those of its name */
    bool has_correlation;
    const gt_xla_collective *collective; /* NULL: not in any dump */
} collective_event;

/* The events with the same id, in the order of collective_events. */
typedef struct slice {
    uint32_t name, id;
    uint32_t *events;
    size_t count, capacity;
    double bandwidth, bus_bandwidth; /* means over its groups; NaN if it has none */
} slice;

/* Bandwidths in GB/s of several slices or groups. */
typedef struct measures {
    double *bandwidths, *bus_bandwidths;
    size_t count, capacity, bus_capacity;
    int64_t operations;
    double data_bytes;
} measures;

struct gt_jax_collectives {
    int64_t gpus_per_node;
    gt_interner *strings;
    collective_event *events;
    size_t count, capacity;
    slice *slices; /* in the order of their first events */
    size_t slice_count, slice_capacity;
    measures of_kind[KINDS];
    collective_kind seen[KINDS]; /* kinds in the order of their first collectives */
    size_t seen_count;
};

gt_jax_collectives *gt_jax_collectives_new(int64_t gpus_per_node)
{
    gt_jax_collectives *c = gt_alloc_zero(1, sizeof *c);
    c->gpus_per_node = gpus_per_node;
    c->strings = gt_interner_new();
    return c;
}

void gt_jax_collectives_free(gt_jax_collectives *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->slice_count; i++) gt_free(c->slices[i].events);
    for (size_t k = 0; k < KINDS; k++) {
        gt_free_all(c->of_kind[k].bandwidths, c->of_kind[k].bus_bandwidths);
    }
    gt_free_all(c->slices, c->events);
    gt_interner_free(c->strings);
    gt_free(c);
}

gt_interner *gt_jax_collectives_strings(gt_jax_collectives *c)
{
    return c->strings;
}

/* ---- events ---- */

static uint32_t process_name(gt_jax_collectives *c, const char *host, const gt_jax *trace,
                             const gt_jax_gpu *gpu)
{
    char *name = gt_format("%s %s", host, gt_interner_get(trace->strings, gpu->plane).bytes);
    uint32_t id = gt_interner_add_cstr(c->strings, name);
    gt_free(name);
    return id;
}

void gt_jax_collectives_add(gt_jax_collectives *c, int64_t node, const char *host, const gt_jax *trace,
                            const gt_xla *program)
{
    for (size_t g = 0; g < trace->gpu_count; g++) {
        const gt_jax_gpu *gpu = &trace->gpus[g];
        uint32_t process = process_name(c, host, trace, gpu);
        for (size_t i = gpu->begin; i < gpu->end; i++) {
            if (!gt_jax_is_communication(gt_jax_name(trace, i))) continue;
            const gt_jax_op *op = trace->op[i] == GT_JAX_NONE ? NULL : &trace->ops[trace->op[i]];
            uint32_t name = op ? gt_interner_add_from(c->strings, trace->strings, op->hlo_op) : GT_STR_NONE;
            const gt_xla_collective *found =
                program && name != GT_STR_NONE ? gt_xla_find(program, name) : NULL;
            collective_event e = {
                .node = node,
                .gpu_rank = node * c->gpus_per_node + (int64_t)gpu->pid - 1,
                .data_bytes = found ? found->data_bytes : 0,
                .correlation = trace->correlation[i],
                .has_correlation = trace->flags[i] & GT_JAX_HAS_CORRELATION,
                .start_us = gt_jax_start_us(trace, i),
                .dur_us = gt_jax_dur_us(trace, i),
                .pid = gpu->pid,
                .name = name == GT_STR_NONE ? gt_interner_add_cstr(c->strings, "unknown") : name,
                .module = op ? gt_interner_add_from(c->strings, trace->strings, op->hlo_module) : GT_STR_NONE,
                .process = process,
                .collective = found,
            };
            GT_PUSH(c->events, c->count, c->capacity, e);
        }
    }
}

/* ---- slices ---- */

static int by_gpu_and_start(const void *left, const void *right, void *of)
{
    const gt_jax_collectives *c = of;
    const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
    const collective_event *a = &c->events[x], *b = &c->events[y];
    if (a->name != b->name) return a->name < b->name ? -1 : 1;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    if (a->pid != b->pid) return a->pid < b->pid ? -1 : 1;
    if (a->start_us != b->start_us) return a->start_us < b->start_us ? -1 : 1;
    return (x > y) - (x < y);
}

/* Numbers the events of each name on each GPU by their start. */
static void number_events(gt_jax_collectives *c)
{
    uint32_t *order = gt_order_new(c->count);
    if (c->count) qsort_r(order, c->count, sizeof *order, by_gpu_and_start, c);
    for (size_t i = 0; i < c->count; i++) {
        collective_event *e = &c->events[order[i]];
        const collective_event *before = i ? &c->events[order[i - 1]] : NULL;
        bool is_next = before && before->name == e->name && before->node == e->node && before->pid == e->pid;
        e->index = is_next ? before->index + 1 : 0;
    }
    gt_free(order);
}

static void make_slices(gt_jax_collectives *c)
{
    gt_map index = {0}; /* (name, number) to slice */
    for (uint32_t i = 0; i < c->count; i++) {
        collective_event *e = &c->events[i];
        uint32_t *found = gt_map_put(&index, e->name, e->index);
        if (*found == GT_MAP_NONE) {
            char *id = gt_format("%s_%" PRIu32, gt_interner_get(c->strings, e->name).bytes, e->index);
            *found = (uint32_t)c->slice_count;
            slice new = {
                .name = e->name, .id = gt_interner_add_cstr(c->strings, id), .bandwidth = (double)NAN};
            GT_PUSH(c->slices, c->slice_count, c->slice_capacity, new);
            gt_free(id);
        }
        slice *s = &c->slices[*found];
        e->id = s->id;
        GT_PUSH(s->events, s->count, s->capacity, i);
    }
    gt_map_free(&index);
}

/* ---- collective_events ---- */

enum {
    EVENT_NODE,
    EVENT_RANK,
    EVENT_PID,
    EVENT_START,
    EVENT_DUR,
    EVENT_NAME,
    EVENT_MODULE,
    EVENT_CORRELATION,
    EVENT_REPLICAS,
    EVENT_GROUPS,
    EVENT_BYTES,
    EVENT_PROCESS,
    EVENT_INDEX,
    EVENT_ID,
    EVENT_COLUMNS
};

static const gt_column_head event_columns[EVENT_COLUMNS] = {
    [EVENT_NODE] = {GT_COL_NODE, GT_TYPE_INT},
    [EVENT_RANK] = {GT_COL_GPU_RANK, GT_TYPE_INT},
    [EVENT_PID] = {GT_COL_PID, GT_TYPE_INT},
    [EVENT_START] = {GT_COL_TS, GT_TYPE_FLOAT},
    [EVENT_DUR] = {GT_COL_DUR, GT_TYPE_FLOAT},
    [EVENT_NAME] = {GT_COL_JAX_COLLECTIVE_NAME, GT_TYPE_STRING},
    [EVENT_MODULE] = {GT_COL_HLO_MODULE, GT_TYPE_STRING},
    [EVENT_CORRELATION] = {GT_COL_CORRELATION_ID, GT_TYPE_INT},
    [EVENT_REPLICAS] = {GT_COL_REPLICA_STRING, GT_TYPE_STRING},
    [EVENT_GROUPS] = {GT_COL_REPLICA_GROUPS, GT_TYPE_LIST},
    [EVENT_BYTES] = {GT_COL_DATA_BYTES, GT_TYPE_INT},
    [EVENT_PROCESS] = {GT_COL_PROCESS_NAME, GT_TYPE_STRING},
    [EVENT_INDEX] = {GT_COL_INDEX_IN_GROUP, GT_TYPE_INT},
    [EVENT_ID] = {GT_COL_COLLECTIVE_ID, GT_TYPE_STRING},
};

static void add_groups(gt_column *cells, size_t row, const gt_xla_collective *collective)
{
    if (!collective || collective->replicas == GT_STR_NONE) return;
    gt_list_begin(cells, row);
    for (size_t g = 0; g < collective->group_count; g++) {
        gt_column *ranks = gt_list_push_list(cells);
        for (size_t r = 0; r < collective->groups[g].count; r++)
            gt_list_push_int(ranks, collective->groups[g].ranks[r]);
    }
}

static void set_row(gt_table *table, size_t row, const collective_event *e)
{
    gt_table_set_int(table, EVENT_NODE, row, e->node);
    gt_table_set_int(table, EVENT_RANK, row, e->gpu_rank);
    gt_table_set_int(table, EVENT_PID, row, e->pid);
    gt_table_set_float(table, EVENT_START, row, e->start_us);
    gt_table_set_float(table, EVENT_DUR, row, e->dur_us);
    gt_table_set_string(table, EVENT_NAME, row, e->name);
    gt_table_set_string(table, EVENT_MODULE, row, e->module);
    if (e->has_correlation) gt_table_set_int(table, EVENT_CORRELATION, row, (int64_t)e->correlation);
    if (e->collective) gt_table_set_string(table, EVENT_REPLICAS, row, e->collective->replicas);
    if (e->collective) gt_table_set_int(table, EVENT_BYTES, row, e->data_bytes);
    gt_table_set_string(table, EVENT_PROCESS, row, e->process);
    gt_table_set_int(table, EVENT_INDEX, row, e->index);
    gt_table_set_string(table, EVENT_ID, row, e->id);
    add_groups(&table->columns[EVENT_GROUPS], row, e->collective);
}

gt_table *gt_jax_collective_events(gt_jax_collectives *c)
{
    number_events(c);
    make_slices(c);
    gt_table *table = gt_table_new(GT_SHEET_COLLECTIVE_EVENTS, c->strings);
    gt_table_add_columns(table, event_columns, EVENT_COLUMNS);
    gt_list_of(gt_list_of(&table->columns[EVENT_GROUPS], GT_TYPE_LIST), GT_TYPE_INT);
    for (size_t i = 0; i < c->count; i++) set_row(table, gt_table_add_row(table), &c->events[i]);
    gt_table_widen_ints(table);
    return table;
}

/* ---- kinds of collectives ---- */

static const char *const kind_names[KINDS] = {"all-gather",     "all-reduce",         "all-to-all",
                                              "reduce-scatter", "collective-permute", "other"};

static collective_kind kind_of(const gt_jax_collectives *c, uint32_t name)
{
    gt_str text = gt_interner_get(c->strings, name);
    for (collective_kind k = 0; k < OTHER; k++)
        if (strncmp(text.bytes, kind_names[k], strlen(kind_names[k])) == 0) return k;
    return OTHER;
}

static double moved_bytes(collective_kind k, double data, double n)
{
    switch (k) {
    case ALL_GATHER:
        return 2 * data * (n - 1);
    case ALL_REDUCE:
    case COLLECTIVE_PERMUTE:
        return 2 * data;
    case REDUCE_SCATTER:
        return data + data / n;
    case ALL_TO_ALL:
        return 2 * data * (n - 1) / n;
    case OTHER:
    case KINDS:
        break;
    }
    return data;
}

static double bus_factor(collective_kind k, double n)
{
    if (k == ALL_REDUCE) return 2 * (n - 1) / n;
    return k == REDUCE_SCATTER || k == ALL_GATHER || k == ALL_TO_ALL ? (n - 1) / n : 1.0;
}

/* ---- collective_groups ---- */

enum {
    GROUP_NAME,
    GROUP_ID,
    GROUP_INDEX,
    GROUP_RANKS,
    GROUP_PRESENT,
    GROUP_BANDWIDTH,
    GROUP_BUS,
    GROUP_FACTOR,
    GROUP_DURATION,
    GROUP_FASTEST,
    GROUP_MOVED,
    GROUP_DATA,
    GROUP_SIZE,
    GROUP_KERNELS,
    GROUP_COLUMNS
};

static const gt_column_head group_columns[GROUP_COLUMNS] = {
    [GROUP_NAME] = {GT_COL_JAX_COLLECTIVE_NAME, GT_TYPE_STRING},
    [GROUP_ID] = {GT_COL_COLLECTIVE_ID, GT_TYPE_STRING},
    [GROUP_INDEX] = {GT_COL_GROUP_IDX, GT_TYPE_INT},
    [GROUP_RANKS] = {GT_COL_GPU_GROUP, GT_TYPE_LIST},
    [GROUP_PRESENT] = {GT_COL_GPUS_IN_DATA, GT_TYPE_LIST},
    [GROUP_BANDWIDTH] = {GT_COL_ALGORITHMIC_BANDWIDTH_GBPS, GT_TYPE_FLOAT},
    [GROUP_BUS] = {GT_COL_BUS_BANDWIDTH_GBPS, GT_TYPE_FLOAT},
    [GROUP_FACTOR] = {GT_COL_BUS_BANDWIDTH_SCALER, GT_TYPE_FLOAT},
    [GROUP_DURATION] = {GT_COL_DURATION_US, GT_TYPE_FLOAT},
    [GROUP_FASTEST] = {GT_COL_FASTEST_GPU_RANK, GT_TYPE_INT},
    [GROUP_MOVED] = {GT_COL_ALGORITHMIC_BYTES, GT_TYPE_FLOAT},
    [GROUP_DATA] = {GT_COL_GROUP_DATA_SIZE_BYTES, GT_TYPE_INT},
    [GROUP_SIZE] = {GT_COL_ACTUAL_GROUP_SIZE, GT_TYPE_INT},
    [GROUP_KERNELS] = {GT_COL_PARTICIPANTS_IN_DATA, GT_TYPE_INT},
};

/* The events of a slice by rank: chains of events with the same rank. */
typedef struct rank_index {
    gt_map first;   /* by rank: index of its first event in the slice */
    uint32_t *next; /* by index: the next event of that rank; GT_MAP_NONE: none */
} rank_index;

static rank_index index_ranks(const gt_jax_collectives *c, const slice *s)
{
    rank_index index = {.next = gt_alloc(s->count * sizeof *index.next)};
    for (size_t i = s->count; i-- > 0;) {
        uint32_t *first = gt_map_put(&index.first, (uint64_t)c->events[s->events[i]].gpu_rank, 0);
        index.next[i] = *first;
        *first = (uint32_t)i;
    }
    return index;
}

/* The fastest kernel of a group's ranks, the first one of equally fast ones; NULL if the slice has none. */
static const collective_event *fastest_of(const gt_jax_collectives *c, const slice *s,
                                          const rank_index *index, const gt_xla_group *group,
                                          int64_t *kernels)
{
    const collective_event *fastest = NULL;
    uint32_t fastest_index = GT_MAP_NONE;
    *kernels = 0;
    for (size_t r = 0; r < group->count; r++)
        for (uint32_t i = gt_map_get(&index->first, (uint64_t)group->ranks[r], 0); i != GT_MAP_NONE;
             i = index->next[i]) {
            const collective_event *e = &c->events[s->events[i]];
            ++*kernels;
            if (!fastest || e->dur_us < fastest->dur_us ||
                (!(fastest->dur_us < e->dur_us) && i < fastest_index)) {
                fastest = e;
                fastest_index = i;
            }
        }
    return fastest;
}

static void set_ranks(gt_table *table, size_t row, const rank_index *index, const gt_xla_group *group)
{
    gt_list_begin(&table->columns[GROUP_RANKS], row);
    gt_list_begin(&table->columns[GROUP_PRESENT], row);
    for (size_t r = 0; r < group->count; r++) {
        gt_list_push_int(&table->columns[GROUP_RANKS], group->ranks[r]);
        if (gt_map_get(&index->first, (uint64_t)group->ranks[r], 0) != GT_MAP_NONE)
            gt_list_push_int(&table->columns[GROUP_PRESENT], group->ranks[r]);
    }
}

/* Adds the row of a group and returns its bandwidths; false if none of its ranks is in the slice. */
static bool measure_group(gt_jax_collectives *c, const slice *s, const rank_index *index,
                          const gt_xla_group *group, size_t number, gt_table *table, double bandwidths[2])
{
    int64_t kernels;
    const collective_event *fastest = fastest_of(c, s, index, group, &kernels);
    if (!fastest) return false;
    collective_kind k = kind_of(c, s->name);
    double n = (double)group->count, moved = moved_bytes(k, (double)fastest->data_bytes, n),
           factor = bus_factor(k, n);
    bandwidths[0] = moved / 1073741824.0 / (fastest->dur_us / 1e6);
    bandwidths[1] = bandwidths[0] * factor;
    size_t row = gt_table_add_row(table);
    gt_table_set_string(table, GROUP_NAME, row, s->name);
    gt_table_set_string(table, GROUP_ID, row, s->id);
    gt_table_set_int(table, GROUP_INDEX, row, (int64_t)number);
    set_ranks(table, row, index, group);
    gt_table_set_float(table, GROUP_BANDWIDTH, row, bandwidths[0]);
    gt_table_set_float(table, GROUP_BUS, row, bandwidths[1]);
    gt_table_set_float(table, GROUP_FACTOR, row, factor);
    gt_table_set_float(table, GROUP_DURATION, row, fastest->dur_us);
    gt_table_set_int(table, GROUP_FASTEST, row, fastest->gpu_rank);
    gt_table_set_float(table, GROUP_MOVED, row, moved);
    gt_table_set_int(table, GROUP_DATA, row, fastest->data_bytes);
    gt_table_set_int(table, GROUP_SIZE, row, (int64_t)group->count);
    gt_table_set_int(table, GROUP_KERNELS, row, kernels);
    return true;
}

/* The collective of a slice; NULL if no dump has its groups, or if the dumps of the nodes disagree on them.
 */
static const gt_xla_collective *collective_of(const gt_jax_collectives *c, const slice *s,
                                              size_t *disagreeing)
{
    uint32_t replicas = GT_STR_NONE;
    for (size_t i = 0; i < s->count; i++) {
        const gt_xla_collective *found = c->events[s->events[i]].collective;
        if (!found || found->replicas == GT_STR_NONE) continue;
        if (replicas != GT_STR_NONE && replicas != found->replicas) {
            ++*disagreeing;
            return NULL;
        }
        replicas = found->replicas;
    }
    const gt_xla_collective *first = c->events[s->events[0]].collective;
    return first && first->group_count ? first : NULL;
}

gt_table *gt_jax_collective_groups(gt_jax_collectives *c)
{
    gt_table *table = gt_table_new(GT_SHEET_COLLECTIVE_GROUPS, c->strings);
    gt_table_add_columns(table, group_columns, GROUP_COLUMNS);
    size_t unknown = 0, disagreeing = 0;
    for (size_t i = 0; i < c->slice_count; i++) {
        slice *s = &c->slices[i];
        const gt_xla_collective *collective = collective_of(c, s, &disagreeing);
        unknown += !collective;
        if (!collective) continue;
        rank_index index = index_ranks(c, s);
        measures means = {0};
        for (size_t g = 0; g < collective->group_count; g++) {
            double bandwidths[2];
            if (!measure_group(c, s, &index, &collective->groups[g], g, table, bandwidths)) continue;
            size_t count = means.count;
            GT_PUSH(means.bandwidths, means.count, means.capacity, bandwidths[0]);
            GT_PUSH(means.bus_bandwidths, count, means.bus_capacity, bandwidths[1]);
        }
        s->bandwidth = gt_mean(means.bandwidths, means.count);
        s->bus_bandwidth = gt_mean(means.bus_bandwidths, means.count);
        gt_free_all(means.bandwidths, means.bus_bandwidths);
        gt_map_free(&index.first);
        gt_free(index.next);
    }
    if (disagreeing)
        gt_warn("bandwidth omitted for %zu collective%s: the dumps of the nodes disagree on the groups",
                disagreeing, disagreeing == 1 ? "" : "s");
    if (unknown > disagreeing)
        gt_warn("bandwidth omitted for %zu collective%s: no dump has the groups", unknown - disagreeing,
                unknown - disagreeing == 1 ? "" : "s");
    return table;
}

/* ---- collective_bandwidths ---- */

static int by_name_and_number(const void *left, const void *right, void *of)
{
    const gt_jax_collectives *c = of;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (c->slices[a].name != c->slices[b].name) return c->slices[a].name < c->slices[b].name ? -1 : 1;
    return (a > b) - (a < b);
}

/* Adds the row of one collective, whose slices are order[begin] to order[end - 1], if any has a bandwidth. */
static void add_collective(gt_jax_collectives *c, gt_table *table, const uint32_t *order, size_t begin,
                           size_t end, int64_t *first_slices, size_t *begins)
{
    double *bandwidths = gt_alloc((end - begin) * sizeof *bandwidths),
           *bus = gt_alloc((end - begin) * sizeof *bus);
    size_t count = 0;
    const slice *first = &c->slices[order[begin]];
    collective_kind k = kind_of(c, first->name);
    for (size_t i = begin; i < end; i++) {
        const slice *s = &c->slices[order[i]];
        if (isnan(s->bandwidth)) continue;
        bandwidths[count] = s->bandwidth;
        bus[count++] = s->bus_bandwidth;
    }
    if (count) {
        size_t row = gt_table_add_row(table);
        int64_t bytes = c->events[first->events[0]].data_bytes;
        gt_table_set_string(table, 0, row, first->name);
        gt_table_set_cstr(table, 1, row, kind_names[k]);
        gt_table_set_int(table, 2, row, (int64_t)count);
        gt_table_set_int(table, 3, row, bytes);
        gt_table_set_float(table, 4, row, gt_mean(bandwidths, count));
        gt_table_set_float(table, 5, row, gt_mean(bus, count));
        first_slices[row] = order[begin];
        begins[row] = begin;
    }
    gt_free_all(bandwidths, bus);
}

/* Adds a collective, whose slices begin at order[begin], to the measures of its kind. */
static void add_to_kind(gt_jax_collectives *c, const uint32_t *order, size_t begin, int64_t data_bytes)
{
    const uint32_t name = c->slices[order[begin]].name;
    collective_kind k = kind_of(c, name);
    measures *m = &c->of_kind[k];
    if (!m->operations++) c->seen[c->seen_count++] = k;
    m->data_bytes += (double)data_bytes;
    for (size_t i = begin; i < c->slice_count && c->slices[order[i]].name == name; i++) {
        const slice *s = &c->slices[order[i]];
        size_t count = m->count;
        if (isnan(s->bandwidth)) continue;
        GT_PUSH(m->bandwidths, m->count, m->capacity, s->bandwidth);
        GT_PUSH(m->bus_bandwidths, count, m->bus_capacity, s->bus_bandwidth);
    }
}

gt_table *gt_jax_collective_bandwidths(gt_jax_collectives *c)
{
    gt_table *table = gt_table_new(GT_SHEET_COLLECTIVE_BANDWIDTHS, c->strings);
    gt_table_add_column(table, GT_COL_JAX_COLLECTIVE_NAME, GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL_TYPE, GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL_NUM_SLICES, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_DATA_SIZE_BYTES, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_AVG_BANDWIDTH_GBPS, GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_AVG_BUS_BANDWIDTH_GBPS, GT_TYPE_FLOAT);
    uint32_t *order = gt_order_new(c->slice_count);
    int64_t *first_slices = gt_alloc((c->slice_count + 1) * sizeof *first_slices);
    size_t *begins =
        gt_alloc((c->slice_count + 1) * sizeof *begins); /* by row: where its slices begin in `order` */
    if (c->slice_count) qsort_r(order, c->slice_count, sizeof *order, by_name_and_number, c);
    for (size_t begin = 0, end; begin < c->slice_count; begin = end) {
        end = begin + 1;
        while (end < c->slice_count && c->slices[order[end]].name == c->slices[order[begin]].name) end++;
        add_collective(c, table, order, begin, end, first_slices, begins);
    }
    uint32_t *rows = gt_order_new(table->row_count);
    gt_order_by_ints(rows, table->row_count, first_slices, NULL, false);
    gt_table_take(table, rows, table->row_count);
    for (size_t i = 0; i < table->row_count; i++)
        add_to_kind(c, order, begins[rows[i]], table->columns[3].ints[i]);
    gt_free_all(rows, begins, first_slices, order);
    return table;
}

/* ---- collective_types ---- */

static void set_measures(gt_table *table, size_t column, size_t row, double *values, size_t count)
{
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        min = fmin(min, values[i]);
        max = fmax(max, values[i]);
    }
    const double cells[] = {gt_mean(values, count),
                            gt_median(values, count),
                            min,
                            max,
                            gt_std_pairwise(values, count, 0),
                            gt_quantile(values, count, 0.25),
                            gt_quantile(values, count, 0.75)};
    for (size_t i = 0; i < GT_LENGTH(cells); i++) gt_table_set_float(table, column + i, row, cells[i]);
}

gt_table *gt_jax_collective_types(gt_jax_collectives *c)
{
    static const char *const prefixes[] = {"avg", "median", "min", "max", "std", "p25", "p75"};
    enum { TYPE, OPERATIONS, SLICES, MEASUREMENTS, FIRST, MEASURES = GT_LENGTH(prefixes) };
    static const char *const suffixes[] = {"_bandwidth_gbps", "_bus_bandwidth_gbps"};
    gt_table *table = gt_table_new(GT_SHEET_COLLECTIVE_TYPES, c->strings);
    gt_table_add_column(table, GT_COL_TYPE, GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL_NUM_OPERATIONS, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_TOTAL_SLICES, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_TOTAL_MEASUREMENTS, GT_TYPE_INT);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < MEASURES; i++) {
            char name[48];
            snprintf(name, sizeof name, "%s%s", prefixes[i], suffixes[s]);
            gt_table_add_column(table, gt_col_named(name), GT_TYPE_FLOAT);
        }
    size_t size = gt_table_add_column(table, GT_COL_AVG_DATA_SIZE_MB, GT_TYPE_FLOAT);
    for (size_t i = 0; i < c->seen_count; i++) {
        measures *m = &c->of_kind[c->seen[i]];
        size_t row = gt_table_add_row(table);
        gt_table_set_cstr(table, TYPE, row, kind_names[c->seen[i]]);
        gt_table_set_int(table, OPERATIONS, row, m->operations);
        gt_table_set_int(table, SLICES, row, (int64_t)m->count);
        gt_table_set_int(table, MEASUREMENTS, row, (int64_t)m->count);
        set_measures(table, FIRST, row, m->bandwidths, m->count);
        set_measures(table, FIRST + MEASURES, row, m->bus_bandwidths, m->count);
        gt_table_set_float(table, size, row, m->data_bytes / (double)m->operations / 1048576.0);
    }
    gt_table_sort(table, &(gt_sort_key){GT_COL_AVG_BANDWIDTH_GBPS, true}, 1);
    return table;
}
