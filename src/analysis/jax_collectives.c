/* Kernels of one collective op are numbered on each GPU by their start: kernels with the same number are one
 * slice. In each slice, and each group of n ranks in it, the fastest kernel (d microseconds, D bytes) gives
 *
 *     algorithmic_bytes     all-gather 2 D (n - 1), all-reduce 2 D, reduce-scatter D + D / n,
 *                           all-to-all 2 D (n - 1) / n, collective-permute 2 D, others D
 *     bandwidth_gbps        algorithmic_bytes / 2**30 / (d / 1e6)
 *     bus_bandwidth_gbps    that times 2 (n - 1) / n for all-reduce, (n - 1) / n for reduce-scatter,
 * all-gather and all-to-all, 1 for others
 *
 * A slice has the mean of its groups, a collective that of its slices; a kind is measured over the slices of
 * all its collectives. */
#include "analysis/jax_collectives.h"
#include "analysis/jax_timeline.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "table/sort.h"
#include "table/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind {
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    COLLECTIVE_PERMUTE,
    OTHER,
    KINDS
} kind;

static const char *const kind_names[KINDS] = {"all-gather",     "all-reduce",         "all-to-all",
                                              "reduce-scatter", "collective-permute", "other"};

typedef struct event {
    int64_t node, gpu_rank, data_bytes;
    uint64_t correlation;
    double start_us, dur_us;
    uint32_t pid, name, module, process, id; /* texts; id: of the slice */
    uint32_t index;                          /* of the slice among those of its name */
    bool has_correlation;
    const gt_xla_collective *collective; /* NULL where no dump has it */
} event;

/* One slice: the events that share an id, in the order of the table. */
typedef struct slice {
    uint32_t name, id;
    uint32_t *events;
    size_t count, capacity;
    double bandwidth, bus_bandwidth; /* means of its groups; NaN where it has none */
} slice;

typedef struct measures {
    double *bandwidths, *bus_bandwidths;
    size_t count, capacity, bus_capacity;
    int64_t operations;
    double data_bytes;
} measures;

struct gt_jax_collectives {
    int64_t gpus_per_node;
    gt_strings *strings;
    event *events;
    size_t count, capacity;
    slice *slices; /* in the order first seen */
    size_t slice_count, slice_capacity;
    measures of_kind[KINDS];
    kind seen[KINDS]; /* kinds in the order first seen */
    size_t seen_count;
};

gt_jax_collectives *gt_jax_collectives_new(int64_t gpus_per_node)
{
    gt_jax_collectives *c = gt_alloc_zero(1, sizeof *c);
    c->gpus_per_node = gpus_per_node;
    c->strings = gt_strings_new();
    return c;
}

void gt_jax_collectives_free(gt_jax_collectives *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->slice_count; i++) free(c->slices[i].events);
    for (size_t k = 0; k < KINDS; k++) {
        free(c->of_kind[k].bandwidths);
        free(c->of_kind[k].bus_bandwidths);
    }
    free(c->slices);
    free(c->events);
    gt_strings_free(c->strings);
    free(c);
}

gt_strings *gt_jax_collectives_strings(gt_jax_collectives *c)
{
    return c->strings;
}

/* ---- events ---- */

static uint32_t copy_text(gt_jax_collectives *c, const gt_jax *trace, uint32_t id)
{
    if (id == GT_TEXT_NONE) return GT_TEXT_NONE;
    gt_text text = gt_strings_get(trace->strings, id);
    return gt_strings_add(c->strings, text.bytes, text.len);
}

static uint32_t process_name(gt_jax_collectives *c, const char *host, const gt_jax *trace,
                             const gt_jax_gpu *gpu)
{
    char *name = gt_format("%s %s", host, gt_strings_get(trace->strings, gpu->plane).bytes);
    uint32_t id = gt_strings_add_cstr(c->strings, name);
    free(name);
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
            uint32_t name = op ? copy_text(c, trace, op->hlo_op) : GT_TEXT_NONE;
            const gt_xla_collective *found =
                program && name != GT_TEXT_NONE ? gt_xla_find(program, name) : NULL;
            event e = {
                .node = node,
                .gpu_rank = node * c->gpus_per_node + (int64_t)gpu->pid - 1,
                .data_bytes = found ? found->data_bytes : 0,
                .correlation = trace->correlation[i],
                .has_correlation = trace->flags[i] & GT_JAX_HAS_CORRELATION,
                .start_us = gt_jax_start_us(trace, i),
                .dur_us = gt_jax_dur_us(trace, i),
                .pid = gpu->pid,
                .name = name == GT_TEXT_NONE ? gt_strings_add_cstr(c->strings, "unknown") : name,
                .module = op ? copy_text(c, trace, op->hlo_module) : GT_TEXT_NONE,
                .process = process,
                .collective = found,
            };
            GT_PUSH(c->events, c->count, c->capacity, e);
        }
    }
}

/* ---- slices ---- */

static int by_place_and_start(const void *left, const void *right, void *of)
{
    const gt_jax_collectives *c = of;
    const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
    const event *a = &c->events[x], *b = &c->events[y];
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
    if (c->count) qsort_r(order, c->count, sizeof *order, by_place_and_start, c);
    for (size_t i = 0; i < c->count; i++) {
        event *e = &c->events[order[i]];
        const event *before = i ? &c->events[order[i - 1]] : NULL;
        bool goes_on = before && before->name == e->name && before->node == e->node && before->pid == e->pid;
        e->index = goes_on ? before->index + 1 : 0;
    }
    free(order);
}

static void make_slices(gt_jax_collectives *c)
{
    gt_map places = {0};
    for (uint32_t i = 0; i < c->count; i++) {
        event *e = &c->events[i];
        uint32_t *place = gt_map_put(&places, e->name, e->index);
        if (*place == GT_MAP_NONE) {
            char *id = gt_format("%s_%" PRIu32, gt_strings_get(c->strings, e->name).bytes, e->index);
            *place = (uint32_t)c->slice_count;
            slice new = {
                .name = e->name, .id = gt_strings_add_cstr(c->strings, id), .bandwidth = (double)NAN};
            GT_PUSH(c->slices, c->slice_count, c->slice_capacity, new);
            free(id);
        }
        slice *s = &c->slices[*place];
        e->id = s->id;
        GT_PUSH(s->events, s->count, s->capacity, i);
    }
    gt_map_free(&places);
}

/* ---- the long table ---- */

static void add_groups(gt_column *cells, size_t row, const gt_xla_collective *collective)
{
    if (!collective || collective->replicas == GT_TEXT_NONE) return;
    gt_list_begin(cells, row);
    for (size_t g = 0; g < collective->group_count; g++) {
        gt_column *ranks = gt_list_push_list(cells);
        for (size_t r = 0; r < collective->groups[g].count; r++)
            gt_list_push_int(ranks, collective->groups[g].ranks[r]);
    }
}

gt_table *gt_jax_collective_events(gt_jax_collectives *c)
{
    enum {
        NODE,
        RANK,
        PID,
        START,
        DUR,
        NAME,
        MODULE,
        CORRELATION,
        REPLICAS,
        GROUPS,
        BYTES,
        PROCESS,
        INDEX,
        ID
    };
    static const struct {
        const char *name;
        gt_type type;
    } columns[] = {
        {"node", GT_TYPE_INT},
        {"gpu_rank", GT_TYPE_INT},
        {"pid", GT_TYPE_INT},
        {"ts", GT_TYPE_FLOAT},
        {"dur", GT_TYPE_FLOAT},
        {"collective_name", GT_TYPE_TEXT},
        {"hlo_module", GT_TYPE_TEXT},
        {"correlation_id", GT_TYPE_INT},
        {"replica_string", GT_TYPE_TEXT},
        {"replica_groups", GT_TYPE_LIST},
        {"data(bytes)", GT_TYPE_INT},
        {"process_name", GT_TYPE_TEXT},
        {"index_in_group", GT_TYPE_INT},
        {"collective_id", GT_TYPE_TEXT},
    };
    number_events(c);
    make_slices(c);
    gt_table *table = gt_table_new("collective_events", c->strings);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        gt_table_add_column(table, columns[i].name, columns[i].type);
    gt_list_of(gt_list_of(&table->columns[GROUPS], GT_TYPE_LIST), GT_TYPE_INT);
    for (size_t i = 0; i < c->count; i++) {
        const event *e = &c->events[i];
        size_t row = gt_table_add_row(table);
        gt_table_set_int(table, NODE, row, e->node);
        gt_table_set_int(table, RANK, row, e->gpu_rank);
        gt_table_set_int(table, PID, row, e->pid);
        gt_table_set_float(table, START, row, e->start_us);
        gt_table_set_float(table, DUR, row, e->dur_us);
        gt_table_set_text(table, NAME, row, e->name);
        gt_table_set_text(table, MODULE, row, e->module);
        if (e->has_correlation) gt_table_set_int(table, CORRELATION, row, (int64_t)e->correlation);
        if (e->collective) gt_table_set_text(table, REPLICAS, row, e->collective->replicas);
        if (e->collective) gt_table_set_int(table, BYTES, row, e->data_bytes);
        gt_table_set_text(table, PROCESS, row, e->process);
        gt_table_set_int(table, INDEX, row, e->index);
        gt_table_set_text(table, ID, row, e->id);
        add_groups(&table->columns[GROUPS], row, e->collective);
    }
    gt_table_widen_ints(table);
    return table;
}

/* ---- bandwidths ---- */

static kind kind_of(const gt_jax_collectives *c, uint32_t name)
{
    gt_text text = gt_strings_get(c->strings, name);
    for (kind k = 0; k < OTHER; k++)
        if (strncmp(text.bytes, kind_names[k], strlen(kind_names[k])) == 0) return k;
    return OTHER;
}

static double moved_bytes(kind k, double data, double n)
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

static double bus_factor(kind k, double n)
{
    if (k == ALL_REDUCE) return 2 * (n - 1) / n;
    return k == REDUCE_SCATTER || k == ALL_GATHER || k == ALL_TO_ALL ? (n - 1) / n : 1.0;
}

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

static const struct {
    const char *name;
    gt_type type;
} group_columns[GROUP_COLUMNS] = {
    [GROUP_NAME] = {"collective_name", GT_TYPE_TEXT},
    [GROUP_ID] = {"collective_id", GT_TYPE_TEXT},
    [GROUP_INDEX] = {"group_idx", GT_TYPE_INT},
    [GROUP_RANKS] = {"gpu_group", GT_TYPE_LIST},
    [GROUP_PRESENT] = {"gpus_in_data", GT_TYPE_LIST},
    [GROUP_BANDWIDTH] = {"algorithmic_bandwidth_gbps", GT_TYPE_FLOAT},
    [GROUP_BUS] = {"bus_bandwidth_gbps", GT_TYPE_FLOAT},
    [GROUP_FACTOR] = {"bus_bandwidth_scaler", GT_TYPE_FLOAT},
    [GROUP_DURATION] = {"duration_us", GT_TYPE_FLOAT},
    [GROUP_FASTEST] = {"fastest_gpu_rank", GT_TYPE_INT},
    [GROUP_MOVED] = {"algorithmic_bytes", GT_TYPE_FLOAT},
    [GROUP_DATA] = {"group_data_size_bytes", GT_TYPE_INT},
    [GROUP_SIZE] = {"actual_group_size", GT_TYPE_INT},
    [GROUP_KERNELS] = {"participants_in_data", GT_TYPE_INT},
};

/* The events of a slice by rank: chains of events that have the same. */
typedef struct rank_index {
    gt_map first;   /* by rank: place in the slice */
    uint32_t *next; /* by place: the next one of that rank; GT_MAP_NONE: no more */
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

/* Adds the row of a group; its bandwidths, false where none of its ranks are in the slice. */
static bool measure_group(gt_jax_collectives *c, const slice *s, const rank_index *index,
                          const gt_xla_group *group, size_t number, gt_table *table, double bandwidths[2])
{
    const event *fastest = NULL;
    uint32_t fastest_place = GT_MAP_NONE;
    int64_t kernels = 0;
    for (size_t r = 0; r < group->count; r++)
        for (uint32_t i = gt_map_get(&index->first, (uint64_t)group->ranks[r], 0); i != GT_MAP_NONE;
             i = index->next[i]) {
            const event *e = &c->events[s->events[i]];
            kernels++;
            if (!fastest || e->dur_us < fastest->dur_us ||
                (!(fastest->dur_us < e->dur_us) && i < fastest_place)) {
                fastest = e;
                fastest_place = i;
            }
        }
    if (!fastest) return false;
    kind k = kind_of(c, s->name);
    double n = (double)group->count, moved = moved_bytes(k, (double)fastest->data_bytes, n),
           factor = bus_factor(k, n);
    bandwidths[0] = moved / 1073741824.0 / (fastest->dur_us / 1e6);
    bandwidths[1] = bandwidths[0] * factor;
    size_t row = gt_table_add_row(table);
    gt_table_set_text(table, GROUP_NAME, row, s->name);
    gt_table_set_text(table, GROUP_ID, row, s->id);
    gt_table_set_int(table, GROUP_INDEX, row, (int64_t)number);
    gt_list_begin(&table->columns[GROUP_RANKS], row);
    gt_list_begin(&table->columns[GROUP_PRESENT], row);
    for (size_t r = 0; r < group->count; r++) {
        gt_list_push_int(&table->columns[GROUP_RANKS], group->ranks[r]);
        if (gt_map_get(&index->first, (uint64_t)group->ranks[r], 0) != GT_MAP_NONE)
            gt_list_push_int(&table->columns[GROUP_PRESENT], group->ranks[r]);
    }
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

/* The collective of a slice, where all that know it agree who takes part. */
static const gt_xla_collective *collective_of(const gt_jax_collectives *c, const slice *s,
                                              size_t *disagreeing)
{
    uint32_t replicas = GT_TEXT_NONE;
    for (size_t i = 0; i < s->count; i++) {
        const gt_xla_collective *found = c->events[s->events[i]].collective;
        if (!found || found->replicas == GT_TEXT_NONE) continue;
        if (replicas != GT_TEXT_NONE && replicas != found->replicas) {
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
    gt_table *table = gt_table_new("collective_groups", c->strings);
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        gt_table_add_column(table, group_columns[i].name, group_columns[i].type);
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
        free(means.bandwidths);
        free(means.bus_bandwidths);
        gt_map_free(&index.first);
        free(index.next);
    }
    if (disagreeing)
        gt_warn("%zu collectives have no bandwidth: the nodes' dumps disagree on their groups", disagreeing);
    if (unknown > disagreeing)
        gt_warn("%zu collectives have no bandwidth: no dump names their groups", unknown - disagreeing);
    return table;
}

/* ---- collectives ---- */

static int by_name_and_place(const void *left, const void *right, void *of)
{
    const gt_jax_collectives *c = of;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (c->slices[a].name != c->slices[b].name) return c->slices[a].name < c->slices[b].name ? -1 : 1;
    return (a > b) - (a < b);
}

/* Slices of one name, [begin, end) of the order: a row, if any of them has a bandwidth. */
static void add_collective(gt_jax_collectives *c, gt_table *table, const uint32_t *order, size_t begin,
                           size_t end, int64_t *first_slices, size_t *begins)
{
    double *bandwidths = gt_alloc((end - begin) * sizeof *bandwidths),
           *bus = gt_alloc((end - begin) * sizeof *bus);
    size_t count = 0;
    const slice *first = &c->slices[order[begin]];
    kind k = kind_of(c, first->name);
    for (size_t i = begin; i < end; i++) {
        const slice *s = &c->slices[order[i]];
        if (isnan(s->bandwidth)) continue;
        bandwidths[count] = s->bandwidth;
        bus[count++] = s->bus_bandwidth;
    }
    if (count) {
        size_t row = gt_table_add_row(table);
        int64_t bytes = c->events[first->events[0]].data_bytes;
        gt_table_set_text(table, 0, row, first->name);
        gt_table_set_cstr(table, 1, row, kind_names[k]);
        gt_table_set_int(table, 2, row, (int64_t)count);
        gt_table_set_int(table, 3, row, bytes);
        gt_table_set_float(table, 4, row, gt_mean(bandwidths, count));
        gt_table_set_float(table, 5, row, gt_mean(bus, count));
        first_slices[row] = order[begin];
        begins[row] = begin;
    }
    free(bandwidths);
    free(bus);
}

/* Adds a collective, whose slices begin at `begin` of the order, to what is known of its kind. */
static void add_to_kind(gt_jax_collectives *c, const uint32_t *order, size_t begin, int64_t data_bytes)
{
    const uint32_t name = c->slices[order[begin]].name;
    kind k = kind_of(c, name);
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
    gt_table *table = gt_table_new("collective_bandwidths", c->strings);
    gt_table_add_column(table, "collective_name", GT_TYPE_TEXT);
    gt_table_add_column(table, "type", GT_TYPE_TEXT);
    gt_table_add_column(table, "num_slices", GT_TYPE_INT);
    gt_table_add_column(table, "data_size_bytes", GT_TYPE_INT);
    gt_table_add_column(table, "avg_bandwidth_gbps", GT_TYPE_FLOAT);
    gt_table_add_column(table, "avg_bus_bandwidth_gbps", GT_TYPE_FLOAT);
    uint32_t *order = gt_order_new(c->slice_count);
    int64_t *first_slices = gt_alloc((c->slice_count + 1) * sizeof *first_slices);
    size_t *begins = gt_alloc((c->slice_count + 1) * sizeof *begins); /* of each row's slices in the order */
    if (c->slice_count) qsort_r(order, c->slice_count, sizeof *order, by_name_and_place, c);
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
    free(rows);
    free(begins);
    free(first_slices);
    free(order);
    return table;
}

/* ---- kinds ---- */

static void set_measures(gt_table *table, size_t column, size_t row, double *values, size_t count)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    const double cells[] = {gt_mean(values, count),
                            gt_median(values, count),
                            least,
                            most,
                            gt_std_pairwise(values, count, 0),
                            gt_quantile(values, count, 0.25),
                            gt_quantile(values, count, 0.75)};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        gt_table_set_float(table, column + i, row, cells[i]);
}

gt_table *gt_jax_collective_types(gt_jax_collectives *c)
{
    static const char *const prefixes[] = {"avg", "median", "min", "max", "std", "p25", "p75"};
    enum { TYPE, OPERATIONS, SLICES, MEASUREMENTS, FIRST, MEASURES = sizeof prefixes / sizeof *prefixes };
    static const char *const suffixes[] = {"_bandwidth_gbps", "_bus_bandwidth_gbps"};
    gt_table *table = gt_table_new("collective_types", c->strings);
    gt_table_add_column(table, "type", GT_TYPE_TEXT);
    gt_table_add_column(table, "num_operations", GT_TYPE_INT);
    gt_table_add_column(table, "total_slices", GT_TYPE_INT);
    gt_table_add_column(table, "total_measurements", GT_TYPE_INT);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < MEASURES; i++) {
            char name[48];
            snprintf(name, sizeof name, "%s%s", prefixes[i], suffixes[s]);
            gt_table_add_column(table, name, GT_TYPE_FLOAT);
        }
    size_t size = gt_table_add_column(table, "avg_data_size_mb", GT_TYPE_FLOAT);
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
    gt_table_sort(table, &(gt_sort_key){"avg_bandwidth_gbps", true}, 1);
    return table;
}
