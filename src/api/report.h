/* What the files of the public interface share. */
#ifndef GT_API_REPORT_H
#define GT_API_REPORT_H

#include "base/error.h"
#include "gputally/gputally.h"
#include "report/tables.h"

struct gputally_report {
    gputally_kind kind;
    void *trace; /* owns the tables' texts */
    void (*free_trace)(void *trace);
    gt_table_list tables;
};

/* Hands an error to the caller's buffer, which may be NULL; returns false. */
bool gt_copy_error(const gt_error *from, char *error, size_t error_size);

#endif
