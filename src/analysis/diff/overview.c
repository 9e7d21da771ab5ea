/* The overview of a diff: two passes over diff_stats, one to know which traces a common call has GPU work of.
 */
#include "analysis/diff/overview.h"

#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <math.h>
#include <stdlib.h>

enum { SAME, REPLACED, BELOW, ALONE, NOT_COMPARED, PARTS };
static const char *const part_names[PARTS] = {
    [SAME] = "the same kernel in both traces",
    [REPLACED] = "another kernel in its place",
    [BELOW] = "other calls below the same one",
    [ALONE] = "in this trace alone",
    [NOT_COMPARED] = "not compared (under no op, or a memset)",
};

/* The node of a row's common call, GT_NO_EVENT for none. */
static uint32_t node_of(const gt_column *ids, size_t row)
{
    if (gt_column_is_null(ids, row)) return GT_NO_EVENT;
    return ids->type == GT_TYPE_INT ? (uint32_t)ids->ints[row] : (uint32_t)ids->floats[row];
}

/* ---- parts ---- */

static size_t part_of(const gt_diff_tree *tree, uint32_t node, const gt_map *sources)
{
    if (node == GT_NO_EVENT || gt_map_get(sources, node, 0) == GT_MAP_NONE ||
        gt_map_get(sources, node, 1) == GT_MAP_NONE)
        return ALONE;
    const gt_diff_node *n = &tree->nodes[node];
    for (size_t side = 0; side < 2; side++)
        if (!gt_kind_is_gpu(tree->sides[side]->trace->kind[n->rows[side]])) return BELOW;
    gt_str first = gt_event_name(&tree->sides[0]->trace->events, n->rows[0]);
    gt_str second = gt_event_name(&tree->sides[1]->trace->events, n->rows[1]);
    return gt_str_compare(first, second) == 0 ? SAME : REPLACED;
}

static double all_gpu_us(const gt_linked_view *trace)
{
    double sum_us = 0;
    for (size_t row = 0; row < trace->count; row++)
        if (gt_kind_is_gpu(trace->kind[row])) sum_us += trace->dur_us[row];
    return sum_us;
}

static void sum_parts(const gt_diff_tree *tree, const gt_diff_stats *stats, double parts_us[2][PARTS])
{
    if (!stats->table->row_count) return;
    const gt_column *ids = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_ID);
    const gt_column *times = gt_table_column(stats->table, GT_COL_KERNEL_TIME);
    gt_map sources = {0}; /* (node, side): it has GPU work of that side */
    for (size_t row = 0; row < stats->table->row_count; row++)
        *gt_map_put(&sources, node_of(ids, row), stats->sides[row]) = 1;
    for (size_t row = 0; row < stats->table->row_count; row++)
        parts_us[stats->sides[row]][part_of(tree, node_of(ids, row), &sources)] +=
            gt_column_number(times, row);
    gt_map_free(&sources);
}

gt_table *gt_diff_parts(const gt_diff_tree *tree, const gt_diff_stats *stats)
{
    double parts_us[2][PARTS] = {{0}, {0}};
    sum_parts(tree, stats, parts_us);
    gt_table *table = gt_table_new(GT_SHEET_PARTS, stats->table->strings);
    size_t part = gt_table_add_column(table, GT_COL_PART, GT_TYPE_STRING);
    for (size_t i = 0; i < PARTS; i++) gt_table_set_cstr(table, part, gt_table_add_row(table), part_names[i]);
    static const gt_col names[2][2] = {{GT_COL_TRACE1_MS, GT_COL_TRACE1_PERCENT},
                                       {GT_COL_TRACE2_MS, GT_COL_TRACE2_PERCENT}};
    for (size_t side = 0; side < 2; side++) {
        double all_us = all_gpu_us(tree->sides[side]->trace), rest_us = all_us;
        for (size_t i = 0; i < NOT_COMPARED; i++) rest_us -= parts_us[side][i];
        parts_us[side][NOT_COMPARED] = fabs(rest_us) < 1e-9 * all_us ? 0.0 : rest_us;
        size_t ms = gt_table_add_column(table, names[side][0], GT_TYPE_FLOAT);
        size_t percent = gt_table_add_column(table, names[side][1], GT_TYPE_FLOAT);
        for (size_t i = 0; i < PARTS; i++) {
            gt_table_set_float(table, ms, i, parts_us[side][i] / 1000.0);
            gt_table_set_float(table, percent, i, all_us > 0 ? 100.0 * parts_us[side][i] / all_us : 0.0);
        }
    }
    return table;
}

/* ---- differences ---- */

typedef struct difference {
    uint32_t name;
    int64_t calls;
    double busy_us[2];
} difference;

typedef struct differences {
    difference *items;
    size_t count, capacity;
} differences;

static int by_size(const void *left, const void *right)
{
    const difference *a = left, *b = right;
    double first = fabs(a->busy_us[1] - a->busy_us[0]), second = fabs(b->busy_us[1] - b->busy_us[0]);
    if (first != second) return first > second ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

/* The busy time of a common call counts once a trace. */
static differences sum_by_name(const gt_diff_stats *stats)
{
    const gt_column *ids = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_ID);
    const gt_column *busy = gt_table_column(stats->table, GT_COL_BUSY_TIME);
    const uint32_t *names = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_NAME)->texts;
    differences list = {0};
    gt_map places = {0}, seen = {0}; /* name to place; (node, side or 2) to 1 */
    for (size_t row = 0; row < stats->table->row_count; row++) {
        uint32_t node = node_of(ids, row), *place = gt_map_put(&places, names[row], 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)list.count;
            GT_PUSH(list.items, list.count, list.capacity, ((difference){.name = names[row]}));
        }
        difference *d = &list.items[*place];
        if (node == GT_NO_EVENT) { /* each counts for itself */
            d->busy_us[stats->sides[row]] +=
                gt_column_number(gt_table_column(stats->table, GT_COL_KERNEL_TIME), row);
            d->calls++;
            continue;
        }
        uint32_t *known = gt_map_put(&seen, node, stats->sides[row]);
        if (*known == GT_MAP_NONE) d->busy_us[stats->sides[row]] += gt_column_number(busy, row);
        *known = 1;
        known = gt_map_put(&seen, node, 2);
        if (*known == GT_MAP_NONE) d->calls++;
        *known = 1;
    }
    gt_map_free(&places);
    gt_map_free(&seen);
    return list;
}

gt_table *gt_diff_differences(const gt_diff_stats *stats)
{
    differences list = sum_by_name(stats);
    qsort(list.items, list.count, sizeof *list.items, by_size);
    gt_table *table = gt_table_new(GT_SHEET_DIFFERENCES, stats->table->strings);
    size_t call = gt_table_add_column(table, GT_COL_CALL, GT_TYPE_STRING);
    size_t count = gt_table_add_column(table, GT_COL_COUNT, GT_TYPE_INT);
    size_t first = gt_table_add_column(table, GT_COL_TRACE1_MS, GT_TYPE_FLOAT);
    size_t second = gt_table_add_column(table, GT_COL_TRACE2_MS, GT_TYPE_FLOAT);
    size_t change = gt_table_add_column(table, GT_COL_DIFFERENCE_MS, GT_TYPE_FLOAT);
    for (size_t i = 0; i < list.count; i++) {
        const difference *d = &list.items[i];
        size_t row = gt_table_add_row(table);
        if (d->name == GT_STR_NONE)
            gt_table_set_cstr(table, call, row, "(no common call)");
        else
            gt_table_set_string(table, call, row, d->name);
        gt_table_set_int(table, count, row, d->calls);
        gt_table_set_float(table, first, row, d->busy_us[0] / 1000.0);
        gt_table_set_float(table, second, row, d->busy_us[1] / 1000.0);
        gt_table_set_float(table, change, row, (d->busy_us[1] - d->busy_us[0]) / 1000.0);
    }
    gt_free(list.items);
    return table;
}
