/* In each slice, and each group of n ranks in it, the fastest kernel (d microseconds, D bytes) gives
 *
 *     algorithmic_bytes     all-gather 2 D (n - 1), all-reduce 2 D, reduce-scatter D + D / n,
 *                           all-to-all 2 D (n - 1) / n, collective-permute 2 D, others D
 *     bandwidth_gbps        algorithmic_bytes / 2**30 / (d / 1e6)
 *     bus_bandwidth_gbps    that times 2 (n - 1) / n for all-reduce, 1 for collective-permute and others,
 *                           (n - 1) / n for all-gather, all-to-all and reduce-scatter
 *
 * A slice has the mean of its groups, a collective that of its slices; a kind is measured over the slices of
 * all its collectives. */
#include "analysis/jax/collective_slices.h"
#include "base/length.h"
#include "base/log.h"
#include "base/map.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"
#include "table/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The fastest kernel of a group's ranks, the first of those; NULL where the slice has none of them. */
static const collective_event *fastest_of(const gt_jax_collectives *c, const slice *s,
                                          const rank_index *index, const gt_xla_group *group,
                                          int64_t *kernels)
{
    const collective_event *fastest = NULL;
    uint32_t fastest_place = GT_MAP_NONE;
    *kernels = 0;
    for (size_t r = 0; r < group->count; r++)
        for (uint32_t i = gt_map_get(&index->first, (uint64_t)group->ranks[r], 0); i != GT_MAP_NONE;
             i = index->next[i]) {
            const collective_event *e = &c->events[s->events[i]];
            ++*kernels;
            if (!fastest || e->dur_us < fastest->dur_us ||
                (!(fastest->dur_us < e->dur_us) && i < fastest_place)) {
                fastest = e;
                fastest_place = i;
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

/* Adds the row of a group; its bandwidths, false where none of its ranks are in the slice. */
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

/* The collective of a slice, where all that know it agree who takes part. */
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
        gt_free(means.bandwidths);
        gt_free(means.bus_bandwidths);
        gt_map_free(&index.first);
        gt_free(index.next);
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
    gt_free(bandwidths);
    gt_free(bus);
}

/* Adds a collective, whose slices begin at `begin` of the order, to what is known of its kind. */
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
    gt_free(rows);
    gt_free(begins);
    gt_free(first_slices);
    gt_free(order);
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
