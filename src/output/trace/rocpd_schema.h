/* The tables and views of rocpd, rocprofv3's database: version 3 of its schema.
 *
 * Each process has a set of tables whose names end in its guid; a view without that ending shows all sets as
 * one, and further views (kernels, memory_copies, top_kernels, ...) put together what people ask for. */
#ifndef GT_OUTPUT_TRACE_ROCPD_SCHEMA_H
#define GT_OUTPUT_TRACE_ROCPD_SCHEMA_H

#include "output/database.h"

enum {
    GT_ROCPD_GUID = 36, /* characters of a guid: 8-4-4-4-12 hexadecimal digits */
    GT_ROCPD_SETS = 400 /* at most; SQLite joins no more tables in one view */
};

/* The ending of a set's tables: "_" and the guid with "_" for "-". */
void gt_rocpd_suffix(char suffix[GT_ROCPD_GUID + 2], const char *guid);
/* Makes the tables of one set. */
bool gt_rocpd_create_set(gt_database *database, const char *guid, gt_error *error);
/* Makes the views over all sets. */
bool gt_rocpd_create_views(gt_database *database, const char *const *guids, size_t count, gt_error *error);

#endif
