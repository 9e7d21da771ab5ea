/* What `gputally query` uses of a trace: its sheets. Another process may have read it. */
#pragma once

#include "report/report.h"

enum { GT_QUERIED_UNKNOWN = -1, GT_QUERIED_NCU = 16 };

typedef struct gt_queried {
    char *error;  /* why there are no sheets; NULL: there are */
    int64_t kind; /* a gt_trace_kind, or one of the above */
    gt_table_list tables;
    gt_interner *strings; /* of the tables */
    gt_interner *saved;   /* of an image of them */
} gt_queried;             /* {0}: nothing was done yet */

/* Reads a trace and makes its sheets; of those that keeps(context, sheet) does not want, only the columns. */
void gt_queried_read(gt_queried *queried, const char *path, const gt_report_options *options,
                     bool (*keeps)(const void *context, const char *sheet), const void *context);
/* "pytorch", "rocprof", ...; NULL: unknown. */
const char *gt_queried_format(const gt_queried *queried);
void gt_queried_free(gt_queried *queried); /* leaves {0} */

/* As an image, which it must outlive, and back; false if the image is damaged. */
void gt_queried_save(gt_queried *queried, gt_image *image);
bool gt_queried_load(gt_queried *queried, const gt_image *image);
bool gt_queried_is_failure(const gt_image *image);
