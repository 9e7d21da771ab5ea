/* A growable list of tables that owns them. */
#include "report/tables.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void gt_table_list_add(gt_table_list *list, gt_table *table)
{
    GT_PUSH(list->items, list->count, list->capacity, table);
}

const gt_table *gt_table_list_find(const gt_table_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i]->name, name)) return list->items[i];
    return NULL;
}

void gt_table_list_free(gt_table_list *list)
{
    for (size_t i = 0; i < list->count; i++) gt_table_free(list->items[i]);
    free(list->items);
    *list = (gt_table_list){0};
}
