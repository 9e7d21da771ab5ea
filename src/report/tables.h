/* The tables that make one document, in the order of its sheets. */
#ifndef GT_REPORT_TABLES_H
#define GT_REPORT_TABLES_H

#include "base/error.h"
#include "table/table.h"

typedef struct gt_table_list {
    gt_table **items; /* owned, each of them too */
    size_t count, capacity;
} gt_table_list;

void gt_table_list_add(gt_table_list *list, gt_table *table); /* the list owns the table from here on */
/* The same, behind the table of that name, which must be there. */
void gt_table_list_insert_after(gt_table_list *list, gt_sheet name, gt_table *table);
const gt_table *gt_table_list_find(const gt_table_list *list, gt_sheet name); /* NULL where there is none */
void gt_table_list_free(gt_table_list *list); /* frees the tables and leaves an empty list */

/* Writes a workbook of them, whole or not at all. */
bool gt_table_list_write(const gt_table_list *list, const char *path, gt_error *error);

#endif
