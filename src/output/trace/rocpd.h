/* Writes rocpd, the database of rocprofv3, in version 3 of its schema.
 *
 * Each process has a set of tables whose names end in its guid. A view without that suffix combines all sets,
 * and further views (kernels, memory_copies, top_kernels, ...) answer common questions. */
#pragma once

#include "output/sqlite.h"

/* ---- schema ---- */

enum {
    GT_ROCPD_GUID = 36, /* length of a guid: 8-4-4-4-12 hexadecimal digits */
    GT_ROCPD_SETS = 400 /* maximum; SQLite cannot combine more tables in one view */
};

/* Creates the tables of all sets, without rows except in rocpd_metadata. */
bool gt_rocpd_create_sets(gt_database *database, const char *const *guids, size_t count, gt_error *error);
/* Creates the views over all sets. */
bool gt_rocpd_create_views(gt_database *database, const char *const *guids, size_t count, gt_error *error);

/* ---- rows ---- */

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
    bool failed; /* nothing is written after a failure */
    gt_error *error;
    gt_buffer scratch;
} gt_rocpd_rows;

/* The tables of one process. */
typedef struct gt_rocpd_set {
    char guid[GT_ROCPD_GUID + 1];
    sqlite3_stmt *inserts[GT_ROCPD_TABLES];
} gt_rocpd_set;

/* Adds a row; `values` are in the order of the columns that are filled. */
void gt_rocpd_insert(gt_rocpd_rows *rows, gt_rocpd_set *set, gt_rocpd_table table,
                     const gt_rocpd_value *values, size_t count);
void gt_rocpd_set_free(gt_rocpd_set *set);
