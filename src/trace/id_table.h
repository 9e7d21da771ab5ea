/* A row for each id. A profiler counts its ids up, so that they lie close together; but there may be several
 * such runs of ids, far from each other, and a broken trace may hold any. */
#ifndef GT_TRACE_ID_TABLE_H
#define GT_TRACE_ID_TABLE_H

#include "base/map.h"

#include <stddef.h>
#include <stdint.h>

enum { GT_ID_PAGE_BITS = 6, GT_ID_PAGE = 1 << GT_ID_PAGE_BITS };
#define GT_ID_NONE UINT32_MAX

typedef struct gt_id_table {
    uint32_t *rows;     /* pages of the rows of GT_ID_PAGE ids; NULL where ids lie too far apart for pages */
    size_t pages, room; /* used; allocated */
    gt_map map; /* where there are pages, from a page's number to its place among them; else from ids */
    uint64_t last_page;  /* the one asked for last ... */
    uint32_t last_place; /* ... and its place */
} gt_id_table;

/* For ids of which no more than `runs` are not followed by one of the same page, among `count` of them. */
gt_id_table gt_id_table_new(size_t count, size_t runs);

/* 1 where an id is not on the page of the one before it, *page, which becomes its own; else 0. Asked for each
 * id in turn, these add up to the runs of gt_id_table_new. */
static inline size_t gt_id_begins_page(int64_t id, uint64_t *page)
{
    uint64_t of = (uint64_t)id >> GT_ID_PAGE_BITS;
    size_t begins = of != *page;
    *page = of;
    return begins;
}

/* The row's place for an id, GT_ID_NONE where it is new; valid until the next call. */
uint32_t *gt_id_put(gt_id_table *table, int64_t id);
/* The row, GT_ID_NONE where there is none. */
uint32_t gt_id_get(gt_id_table *table, int64_t id);
void gt_id_table_free(gt_id_table *table);

#endif
