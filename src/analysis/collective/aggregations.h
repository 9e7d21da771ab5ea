/* Aggregations that the user names, such as mean and max: --agg_metrics. */
#ifndef GT_ANALYSIS_COLLECTIVE_AGGREGATIONS_H
#define GT_ANALYSIS_COLLECTIVE_AGGREGATIONS_H

#include "base/memory.h"
#include "table/operations.h"

enum { GT_AGGREGATIONS_MAX = 16 };

typedef struct gt_aggregations {
    size_t items[GT_AGGREGATIONS_MAX]; /* which ones, in the order asked for */
    size_t count;
} gt_aggregations;

/* Adds one by its name in pandas; one that is there already is not added again. False where none has that
 * name. */
bool gt_aggregations_add(gt_aggregations *wanted, const char *name, gt_error *error);

/* What is asked of groups, being put together. {0} is an empty list. */
typedef struct gt_aggregate_list {
    gt_aggregate *items;
    bool *squared; /* by item: the value is squared afterwards (var, from std) */
    size_t count, capacity, squared_capacity;
    gt_arena names;
} gt_aggregate_list;

void gt_aggregate_list_add(gt_aggregate_list *list, gt_col column, gt_group_kind kind, gt_col name);
/* One for each wanted aggregation, named "<column>_<aggregation>". */
void gt_aggregate_list_add_wanted(gt_aggregate_list *list, gt_col column, const gt_aggregations *wanted);
/* As gt_table_group; the list is empty afterwards. */
gt_table *gt_aggregate_list_group(gt_aggregate_list *list, const gt_table *table, const gt_col *keys,
                                  size_t key_count, gt_group_options options);

#endif
