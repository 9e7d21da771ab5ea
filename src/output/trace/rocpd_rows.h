/* Rows of a rocpd database, table by table: a value for each column that is filled. */
#ifndef GT_OUTPUT_TRACE_ROCPD_ROWS_H
#define GT_OUTPUT_TRACE_ROCPD_ROWS_H

#include "base/buffer.h"
#include "output/trace/rocpd_schema.h"

typedef enum gt_rocpd_table {
    GT_ROCPD_STRINGS,
    GT_ROCPD_NODES,
    GT_ROCPD_PROCESSES,
    GT_ROCPD_THREADS,
    GT_ROCPD_AGENTS,
    GT_ROCPD_QUEUES,
    GT_ROCPD_STREAMS,
    GT_ROCPD_COUNTERS,
    GT_ROCPD_KERNELS,
    GT_ROCPD_EVENTS,
    GT_ROCPD_VALUES,
    GT_ROCPD_REGIONS,
    GT_ROCPD_DISPATCHES,
    GT_ROCPD_COPIES,
    GT_ROCPD_TABLES
} gt_rocpd_table;

typedef struct gt_rocpd_value {
    enum { GT_ROCPD_NONE, GT_ROCPD_INT, GT_ROCPD_REAL, GT_ROCPD_STRING } kind;
    int64_t integer;
    double real;
    gt_str text;
} gt_rocpd_value;

typedef struct gt_rocpd_rows {
    gt_database database;
    bool failed; /* from then on nothing is written */
    gt_error *error;
    gt_buffer scratch;
} gt_rocpd_rows;

/* The tables of one process. */
typedef struct gt_rocpd_set {
    char guid[GT_ROCPD_GUID + 1];
    sqlite3_stmt *inserts[GT_ROCPD_TABLES];
} gt_rocpd_set;

/* Adds a row; `values` are in the order of the table's columns. */
void gt_rocpd_insert(gt_rocpd_rows *rows, gt_rocpd_set *set, gt_rocpd_table table,
                     const gt_rocpd_value *values, size_t count);
void gt_rocpd_set_free(gt_rocpd_set *set);

#endif
