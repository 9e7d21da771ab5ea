/* Which process and thread does each row of a trace belong to?
 *
 * A trace has millions of rows and few threads. So a row has only the number of its lane, mostly one byte,
 * and a table has the process and the thread of each lane:
 *
 *     row   0  1  2  3  4        lane     0      1    2
 *     lane  0  0  1  0  2        process  "100"  "0"  "100"
 *                                thread   "101"  "7"  "102"
 *
 * Lanes are in the order of their first rows, and no two have the same process and thread: rows that have the
 * same lane are of the same thread, and others are not. */
#pragma once

#include "trace/store.h"

/* String ids of the values' JSON, so that 7 and "7" differ. */
typedef struct gt_lane_ids {
    uint32_t process, thread;
} gt_lane_ids;

typedef struct gt_event_lanes {
    gt_lane_ids *ids; /* by lane */
    size_t count;
    void *rows;    /* by row: the number of its lane, an unsigned integer ... */
    uint8_t width; /* ... of 1, 2 or 4 bytes: as few as the numbers of all lanes need */
} gt_event_lanes;

/* The lanes of a store with gt_event_columns. Read by all threads of the team, without an array of all
 * processes or all threads. */
gt_event_lanes gt_event_lanes_read(const gt_store *store);
/* Adds rows after the `rows` rows that there are. */
void gt_event_lanes_append(gt_event_lanes *lanes, size_t rows, const gt_lane_ids *ids, size_t count);
void gt_event_lanes_free(gt_event_lanes *lanes); /* leaves no rows */

static inline uint32_t gt_lane_of(const gt_event_lanes *lanes, size_t row)
{
    if (lanes->width == 1) return ((const uint8_t *)lanes->rows)[row];
    if (lanes->width == 2) return ((const uint16_t *)lanes->rows)[row];
    return ((const uint32_t *)lanes->rows)[row];
}

static inline gt_lane_ids gt_lane_ids_of(const gt_event_lanes *lanes, size_t row)
{
    return lanes->ids[gt_lane_of(lanes, row)];
}
