/* Aggregations that the user names as in pandas (--agg_metrics), and lists of aggregates built from them. */
#include "analysis/collective/internal.h"

static const struct {
    const char *name;
    gt_group_kind kind;
    bool squared;
} known[] = {
    {"mean", GT_GROUP_MEAN, false}, {"median", GT_GROUP_MEDIAN, false},    {"min", GT_GROUP_MIN, false},
    {"max", GT_GROUP_MAX, false},   {"std", GT_GROUP_STD, false},          {"var", GT_GROUP_STD, true},
    {"sum", GT_GROUP_SUM, false},   {"count", GT_GROUP_COUNT, false},      {"first", GT_GROUP_FIRST, false},
    {"last", GT_GROUP_LAST, false}, {"nunique", GT_GROUP_DISTINCT, false}, {"size", GT_GROUP_SIZE, false},
};
_Static_assert(GT_LENGTH(known) <= GT_AGGREGATIONS_MAX, "a user may request all of them");

bool gt_aggregations_add(gt_aggregations *wanted, const char *name, gt_error *error)
{
    for (size_t i = 0; i < GT_LENGTH(known); i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        for (size_t j = 0; j < wanted->count; j++)
            if (wanted->items[j] == i) return true;
        wanted->items[wanted->count++] = i;
        return true;
    }
    char names[256] = "";
    for (size_t i = 0; i < GT_LENGTH(known); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", known[i].name);
    return gt_fail(error, "argument --agg_metrics: unknown aggregation '%.100s'; known are%s", name, names);
}

static void add_item(gt_aggregate_list *list, gt_aggregate aggregate, bool squared)
{
    size_t count = list->count;
    GT_PUSH(list->squared, count, list->squared_capacity, squared);
    GT_PUSH(list->items, list->count, list->capacity, aggregate);
}

void gt_aggregate_list_add(gt_aggregate_list *list, gt_col column, gt_group_kind kind, gt_col name)
{
    add_item(list, (gt_aggregate){column, kind, name}, false);
}

void gt_aggregate_list_add_wanted(gt_aggregate_list *list, gt_col column, const gt_aggregations *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        char *name = gt_format("%s_%s", column.name, known[wanted->items[i]].name);
        gt_col kept = gt_col_named(gt_arena_bytes(&list->names, name, strlen(name)));
        gt_free(name);
        add_item(list, (gt_aggregate){column, known[wanted->items[i]].kind, kept},
                 known[wanted->items[i]].squared);
    }
}

gt_table *gt_aggregate_list_group(gt_aggregate_list *list, const gt_table *table, const gt_col *keys,
                                  size_t key_count, gt_group_options options)
{
    gt_table *grouped = gt_table_group(table, keys, key_count, list->items, list->count, options);
    for (size_t i = 0; i < list->count; i++) {
        if (!list->squared[i]) continue;
        double *values = grouped->columns[key_count + i].floats;
        for (size_t row = 0; row < grouped->row_count; row++) values[row] *= values[row];
    }
    gt_free_all(list->items, list->squared);
    gt_arena_free(&list->names);
    *list = (gt_aggregate_list){0};
    return grouped;
}
