/* nccl_all2allv_heatmap: the split sizes of every all_to_allv, added up by sender and receiver. A receiver is
 * a place in the process group, so the group's ranks say which rank that is; where they are not known, it is
 * the place itself. */
#include "analysis/collective/all2allv.h"
#include "analysis/collective/lists.h"
#include "analysis/collective/collectives.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>

enum { MOST_RANKS = 1024, MANY_RANKS = 256 };

typedef struct pair {
    int64_t from, to;
    double bytes;
    int64_t count;
} pair;

typedef struct heatmap {
    gt_map places; /* (from, to) to a pair */
    pair *pairs;
    size_t count, capacity;
} heatmap;

static void add_bytes(heatmap *map, int64_t from, int64_t to, double bytes)
{
    uint32_t *place = gt_map_put(&map->places, (uint64_t)from, (uint64_t)to);
    if (*place == GT_MAP_NONE) {
        pair new_pair = {from, to, 0, 0};
        *place = (uint32_t)map->count;
        GT_PUSH(map->pairs, map->count, map->capacity, new_pair);
    }
    map->pairs[*place].bytes += bytes;
    map->pairs[*place].count++;
}

static gt_str text_at(const gt_table *events, gt_col name, size_t row)
{
    return gt_interner_get(events->strings, gt_table_column(events, name)->texts[row]);
}

/* False where the event does not tell what it sent to whom. */
static bool add_event(heatmap *map, const gt_table *events, size_t row, gt_int_list *splits,
                      gt_int_list *group)
{
    double size = gt_column_number(gt_table_column(events, GT_COL_GROUP_SIZE), row);
    int bytes = gt_collective_dtype_bytes(text_at(events, GT_COL_DTYPE, row).bytes);
    gt_int_list_read(splits, text_at(events, GT_COL_IN_SPLIT_SIZE, row));
    if (!splits->clean || !bytes || (size == size && size != (double)splits->count)) return false;
    gt_int_list_read(group, text_at(events, GT_COL_PROCESS_GROUP_RANKS, row));
    bool known = group->clean && group->count == splits->count;
    int64_t from = gt_table_column(events, GT_COL_RANK)->ints[row];
    for (size_t i = 0; i < splits->count; i++)
        add_bytes(map, from, known ? group->items[i] : (int64_t)i, (double)splits->items[i] * bytes);
    return true;
}

static gt_table *to_table(const heatmap *map, gt_interner *strings)
{
    static const gt_sort_key by_pair[] = {{GT_COL_SRC_RANK, false}, {GT_COL_DST_RANK, false}};
    gt_table *table = gt_table_new(GT_SHEET_NCCL_ALL2ALLV_HEATMAP, strings);
    if (!map->count) return table;
    size_t from = gt_table_add_column(table, GT_COL_SRC_RANK, GT_TYPE_INT);
    size_t to = gt_table_add_column(table, GT_COL_DST_RANK, GT_TYPE_INT);
    size_t total = gt_table_add_column(table, GT_COL_TOTAL_SENT_MB, GT_TYPE_FLOAT);
    size_t average = gt_table_add_column(table, GT_COL_AVG_SENT_MB, GT_TYPE_FLOAT);
    size_t count = gt_table_add_column(table, GT_COL_COUNT, GT_TYPE_INT);
    gt_table_add_rows(table, map->count);
    for (size_t row = 0; row < map->count; row++) {
        const pair *p = &map->pairs[row];
        double total_mb = p->bytes / 1048576.0;
        table->columns[from].ints[row] = p->from;
        table->columns[to].ints[row] = p->to;
        table->columns[total].floats[row] = total_mb;
        table->columns[average].floats[row] = total_mb / (double)p->count;
        table->columns[count].ints[row] = p->count;
    }
    gt_table_sort(table, by_pair, 2);
    return table;
}

gt_table *gt_collective_all2allv_heatmap(const gt_table *events, int64_t world_size)
{
    heatmap map = {0};
    if (world_size > MOST_RANKS) {
        gt_warn("no heat map of all_to_allv: %lld ranks are more than the %d that one can have",
                (long long)world_size, MOST_RANKS);
        return to_table(&map, events->strings);
    }
    if (world_size > MANY_RANKS)
        gt_warn("the heat map of all_to_allv has up to %lld rows", (long long)(world_size * world_size));
    gt_int_list splits = {0}, group = {0};
    size_t unusable = 0;
    for (size_t row = 0; row < events->row_count; row++)
        if (gt_collective_type_of(text_at(events, GT_COL_COLLECTIVE_NAME, row).bytes) ==
            GT_COLLECTIVE_ALLTOALLV)
            unusable += !add_event(&map, events, row, &splits, &group);
    if (unusable)
        gt_warn("all_to_allv kernels that are not in the heat map: %zu; their split sizes are missing, cut "
                "short or do not fit the group, or their type is unknown",
                unusable);
    gt_table *table = to_table(&map, events->strings);
    gt_int_list_free(&splits);
    gt_int_list_free(&group);
    gt_map_free(&map.places);
    gt_free(map.pairs);
    return table;
}
