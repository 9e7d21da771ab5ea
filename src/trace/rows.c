/* Row numbers sorted by time, and row numbers found by id. */
#include "trace/rows.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

/* NaN comes before all times. */
static bool comes_first(double a, double b)
{
    return a <= b || isnan(a);
}

/* A natural merge sort: merges pairs of neighbouring runs until one run is left. */
void gt_order_rows(uint32_t *rows, size_t count, const double *times)
{
    uint32_t *spare = NULL;
    if (count < 2) return;
    for (;;) {
        size_t runs = 0, out = 0;
        for (size_t begin = 0; begin < count;) {
            size_t middle = begin + 1;
            while (middle < count && comes_first(times[rows[middle - 1]], times[rows[middle]])) middle++;
            if (begin == 0 && middle == count) {
                gt_free(spare);
                return;
            }
            if (!spare) spare = gt_alloc(count * sizeof *spare);
            size_t end = middle < count ? middle + 1 : middle;
            while (end < count && comes_first(times[rows[end - 1]], times[rows[end]])) end++;
            size_t a = begin, b = middle;
            while (a < middle || b < end)
                spare[out++] = b == end || (a < middle && comes_first(times[rows[a]], times[rows[b]]))
                                   ? rows[a++]
                                   : rows[b++];
            begin = end;
            runs++;
        }
        memcpy(rows, spare, count * sizeof *rows);
        if (runs <= 1) break;
    }
    gt_free(spare);
}

int gt_by_row(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* ---- ids ---- */

enum { MIN_IDS_PER_PAGE = 4 }; /* on average; below that, pages waste memory */
#define NO_PAGE UINT64_MAX     /* not a page number: these are GT_ID_PAGE_BITS shorter */

gt_id_table gt_id_table_new(size_t count, size_t runs)
{
    gt_id_table table = {.last_page = NO_PAGE, .last_place = GT_ID_NONE};
    if (runs <= count / MIN_IDS_PER_PAGE + 1024) {
        table.room = runs + 1; /* an upper bound; unused pages are never touched */
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
