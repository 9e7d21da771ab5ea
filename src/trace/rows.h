/* Rows of a trace in order of a time, and found by an id that the profiler gave them. */
#ifndef GT_TRACE_ROWS_H
#define GT_TRACE_ROWS_H

#include "base/map.h"

#include <stddef.h>
#include <stdint.h>

/* How many rows one thread of the team takes at a time in loops over all rows. */
#ifndef GT_ROWS_GRAIN
#define GT_ROWS_GRAIN 16384
#endif

/* Sorts rows by times[row], ascending, on all threads of the team. The sort is stable; NaN comes first.
 * Traces are nearly sorted, and runs that are in order are only merged, so sorted rows cost one pass. */
void gt_order_rows(uint32_t *rows, size_t count, const double *times);
/* The same with ranges of `grain` rows instead of GT_ROWS_GRAIN. */
void gt_order_rows_by_ranges(uint32_t *rows, size_t count, const double *times, size_t grain);

/* For qsort and bsearch: row numbers, ascending. */
int gt_by_row(const void *left, const void *right);

/* A list of rows. {0} is empty; the owner frees items. */
typedef struct gt_row_list {
    uint32_t *items;
    size_t count, capacity;
} gt_row_list;

/* ---- a table from ids to rows ---- */

/* Profilers count their ids up, so the ids of a trace form a few dense ranges, far from each other. The table
 * stores rows in pages of GT_ID_PAGE neighbouring ids and finds a page in a map by its number: then a run of
 * ids costs one map lookup, not one per id. Ids that are scattered, as in a broken trace, would leave most
 * pages with a single id; they go into the map directly. */
enum { GT_ID_PAGE_BITS = 6, GT_ID_PAGE = 1 << GT_ID_PAGE_BITS };
#define GT_ID_NONE UINT32_MAX

typedef struct gt_id_table {
    uint32_t *rows;      /* the pages; NULL if ids are too scattered for pages */
    size_t pages, room;  /* used; allocated */
    gt_map map;          /* from page numbers to indexes of pages, or without pages from ids to rows */
    uint64_t last_page;  /* number of the page used last ... */
    uint32_t last_place; /* ... and its index */
} gt_id_table;

/* A table for `count` ids. `runs` is the sum of gt_id_begins_page over all of them. */
gt_id_table gt_id_table_new(size_t count, size_t runs);

/* 1 if an id is on another page than the id before it, else 0. *page is the page of the id before (at first
 * UINT64_MAX) and becomes the page of this id. */
static inline size_t gt_id_begins_page(int64_t id, uint64_t *page)
{
    uint64_t of = (uint64_t)id >> GT_ID_PAGE_BITS;
    size_t begins = of != *page;
    *page = of;
    return begins;
}

/* Where the row of an id is stored, GT_ID_NONE if the id is new; valid until the next call. */
uint32_t *gt_id_put(gt_id_table *table, int64_t id);
/* The row of an id, GT_ID_NONE if there is none. Not const: the table remembers the page. */
uint32_t gt_id_get(gt_id_table *table, int64_t id);
void gt_id_table_free(gt_id_table *table);

#endif
