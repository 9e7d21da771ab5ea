/* Which matrix products take most differently long? Of the sheet GEMM of every report of a sweep, the rows
 * whose longest kernel differs most from the shortest.
 *
 * A row of the sheet is one op with its parameters; its times are over all its instances. Columns of the
 * result: threads, channel, rank, kernel_name (the first kernel of the op), kernel_time_min_us,
 * kernel_time_max_us, time_diff_us, and col_<name> for each column of the sheets, in byte order. All are
 * text, printed as Python prints the sheet's cells. */
#ifndef GT_SWEEP_GEMM_TOP_GEMMS_H
#define GT_SWEEP_GEMM_TOP_GEMMS_H

#include "table/table.h"

typedef struct gt_top_gemms_options {
    const int64_t *threads, *channels, *ranks;
    size_t thread_count, channel_count, rank_count;
    int64_t top; /* rows kept of each report; negative: all but the last so many */
    unsigned workers;
} gt_top_gemms_options;

typedef struct gt_top_gemms {
    gt_table *table;    /* by difference, largest first */
    double *difference; /* by row of the table, us */
    size_t files;       /* reports that were read */
} gt_top_gemms;

/* Reads the reports under the folder `analysis`. Those that are missing or cannot be read are warned of and
 * left out. */
gt_top_gemms gt_top_gemms_find(const char *analysis, const gt_top_gemms_options *options,
                               gt_interner *strings);
void gt_top_gemms_free(gt_top_gemms *found);

#endif
