/* The tables of one report, in the order of its sheets. */
#pragma once

#include "table/table.h"

typedef struct gt_table_list {
    gt_table **items; /* owned, including the tables */
    size_t count, capacity;
} gt_table_list;

void gt_table_list_add(gt_table_list *list, gt_table *table); /* takes ownership */
/* The same, but after the table with that name, which must exist. */
void gt_table_list_insert_after(gt_table_list *list, gt_sheet name, gt_table *table);
/* A sheet that the program made, or one with the same columns; NULL if there is none. */
const gt_table *gt_table_list_find(const gt_table_list *list, gt_sheet name);
/* Any sheet of that name, whatever its columns; NULL if there is none. */
const gt_table *gt_table_list_find_any(const gt_table_list *list, gt_sheet name);
void gt_table_list_free(gt_table_list *list); /* frees the tables, too, and leaves an empty list */
