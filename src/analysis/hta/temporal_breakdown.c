/* temporal_breakdown: how much of its time did the rank's GPU compute, do something else, or nothing?
 *
 *     kernel_time(us)       from the first start to the last end of anything on a stream
 *     idle_time(us)         kernel_time - time in which anything ran
 *     compute_time(us)      time in which computation ran
 *     non_compute_time(us)  kernel_time - compute_time - idle_time
 *     *_pctg                100 * time / kernel_time, two decimals */
#include "analysis/hta/hta.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <math.h>

gt_table *gt_hta_temporal_breakdown(const gt_hta_events *events, int64_t rank)
{
    static const gt_col times[] = {GT_COL_IDLE_TIME_US, GT_COL_COMPUTE_TIME_US, GT_COL_NON_COMPUTE_TIME_US,
                                   GT_COL_HTA_KERNEL_TIME_US};
    static const gt_col shares[] = {GT_COL_IDLE_TIME_PCTG, GT_COL_COMPUTE_TIME_PCTG,
                                    GT_COL_NON_COMPUTE_TIME_PCTG};
    gt_table *table = gt_table_new(GT_SHEET_TEMPORAL_BREAKDOWN, events->strings);
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    for (size_t i = 0; i < 4; i++)
        gt_table_add_column(table, times[i], events->whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t i = 0; i < 3; i++) gt_table_add_column(table, shares[i], GT_TYPE_FLOAT);
    if (!events->count) return table;

    gt_intervals busy = gt_hta_running(events, GT_HTA_ANY_TYPE),
                 compute = gt_hta_running(events, GT_HTA_COMPUTATION);
    double kernel_us = busy.items[busy.count - 1].end - busy.items[0].start;
    double idle_us = kernel_us - gt_intervals_length(&busy), compute_us = gt_intervals_length(&compute);
    const double values_us[] = {idle_us, compute_us, kernel_us - compute_us - idle_us, kernel_us};
    size_t row = gt_table_add_row(table);
    gt_table_set_int(table, 0, row, rank);
    for (size_t i = 0; i < 4; i++) gt_hta_set_time(table, 1 + i, row, values_us[i]);
    for (size_t i = 0; i < 3; i++) {
        double share = kernel_us != 0 ? gt_hta_hundredths(100 * (values_us[i] / kernel_us)) : (double)NAN;
        gt_table_set_float(table, 5 + i, row, share);
    }
    gt_intervals_free(&busy);
    gt_intervals_free(&compute);
    return table;
}
