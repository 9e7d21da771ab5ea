/* Pages of neighbouring ids, found by the page's number: the map is asked once a run of ids, not once an id.
 * Ids that are scattered, where most pages would hold a single one, go into the map themselves. */
#include "trace/id_table.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ON_A_PAGE = 4 }; /* on average, for pages to be worth their memory */
#define NO_PAGE UINT64_MAX    /* no id has it: page numbers are shorter */

gt_id_table gt_id_table_new(size_t count, size_t runs)
{
    gt_id_table table = {.last_page = NO_PAGE, .last_place = GT_ID_NONE};
    if (runs <= count / LEAST_ON_A_PAGE + 1024) {
        table.room = runs + 1; /* enough for all; what is not needed of it is never touched */
        table.rows = gt_alloc(table.room * GT_ID_PAGE * sizeof *table.rows);
    }
    return table;
}

static uint32_t new_page(gt_id_table *table)
{
    if (table->pages == table->room) {
        table->room += table->room / 2 + 1;
        table->rows = gt_realloc(table->rows, table->room * GT_ID_PAGE * sizeof *table->rows);
    }
    memset(table->rows + table->pages * GT_ID_PAGE, 0xFF, GT_ID_PAGE * sizeof *table->rows);
    return (uint32_t)table->pages++;
}

uint32_t *gt_id_put(gt_id_table *table, int64_t id)
{
    if (!table->rows) return gt_map_put(&table->map, (uint64_t)id, 0);
    uint64_t page = (uint64_t)id >> GT_ID_PAGE_BITS;
    if (page != table->last_page || table->last_place == GT_ID_NONE) {
        uint32_t *place = gt_map_put(&table->map, page, 0);
        if (*place == GT_MAP_NONE) *place = new_page(table);
        table->last_page = page;
        table->last_place = *place;
    }
    return &table->rows[(size_t)table->last_place * GT_ID_PAGE + ((uint64_t)id & (GT_ID_PAGE - 1))];
}

uint32_t gt_id_get(gt_id_table *table, int64_t id)
{
    if (!table->rows) return gt_map_get(&table->map, (uint64_t)id, 0);
    uint64_t page = (uint64_t)id >> GT_ID_PAGE_BITS;
    if (page != table->last_page) {
        table->last_page = page;
        table->last_place = gt_map_get(&table->map, page, 0);
    }
    if (table->last_place == GT_ID_NONE) return GT_ID_NONE;
    return table->rows[(size_t)table->last_place * GT_ID_PAGE + ((uint64_t)id & (GT_ID_PAGE - 1))];
}

void gt_id_table_free(gt_id_table *table)
{
    gt_free(table->rows);
    gt_map_free(&table->map);
}
