/* The list of a report's tables: adding in order, finding by sheet. */
#include "table/table_list.h"

void gt_table_list_add(gt_table_list *list, gt_table *table)
{
    GT_PUSH(list->items, list->count, list->capacity, table);
}

void gt_table_list_insert_after(gt_table_list *list, gt_sheet name, gt_table *table)
{
    gt_table_list_add(list, table);
    size_t place = list->count - 1;
    for (; place > 1 && !gt_table_is(list->items[place - 1], name); place--)
        list->items[place] = list->items[place - 1];
    list->items[place] = table;
}

const gt_table *gt_table_list_find_any(const gt_table_list *list, gt_sheet name)
{
    for (size_t i = 0; i < list->count; i++)
        if (gt_table_is(list->items[i], name)) return list->items[i];
    return NULL;
}

const gt_table *gt_table_list_find(const gt_table_list *list, gt_sheet name)
{
    const gt_table *found = gt_table_list_find_any(list, name);
    return found && !found->is_foreign ? found : NULL;
}

void gt_table_list_free(gt_table_list *list)
{
    for (size_t i = 0; i < list->count; i++) gt_table_free(list->items[i]);
    gt_free(list->items);
    *list = (gt_table_list){0};
}
