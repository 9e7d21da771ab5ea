/* The time and place of every event of an export, for `gputally split`. */
#pragma once

#include "input/nsys/tables.h"
#include "trace/events.h"

typedef enum gt_nsys_rows_of {
    GT_NSYS_OF_HOST,     /* what threads did */
    GT_NSYS_OF_LAUNCHES, /* what their calls launched */
    GT_NSYS_OF_NOTHING,  /* has times, but belongs to no thread and no call */
    GT_NSYS_OF_EXPORT,   /* has no times: describes the export */
} gt_nsys_rows_of;

typedef struct gt_nsys_table {
    const char *name;
    gt_nsys_rows_of kind;
} gt_nsys_table;

/* Which row of which table an event is. */
typedef struct gt_nsys_place {
    uint32_t table;
    int64_t row;
} gt_nsys_place;

typedef struct gt_nsys_export {
    gt_nsys_tables tables;
    gt_nsys_table *list; /* its plain tables */
    size_t count;
    gt_nsys_place *places; /* by event */
    size_t place_count;
} gt_nsys_export;

/* Reads the rows of host and GPU, table by table. The export must not move, and must be closed, also after a
 * failure: NULL with an error that names the file. */
gt_plain_events *gt_nsys_events_read(gt_nsys_export *export, const char *path, gt_error *error);
void gt_nsys_export_close(gt_nsys_export *export);
