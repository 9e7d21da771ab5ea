/* comm_comp_overlap: how much of the rank's communication was hidden behind computation?
 *
 *     comp_comm_overlap_pctg  100 * time in which both ran / time in which communication ran, two decimals;
 * missing where there was no communication */
#include "analysis/hta/hta.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <math.h>

gt_table *gt_hta_comm_comp_overlap(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = gt_table_new(GT_SHEET_COMM_COMP_OVERLAP, events->strings);
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_COMP_COMM_OVERLAP_PCTG, GT_TYPE_FLOAT);
    if (!events->count) return table;

    gt_intervals communication = gt_hta_running(events, GT_HTA_COMMUNICATION);
    gt_intervals computation = gt_hta_running(events, GT_HTA_COMPUTATION);
    gt_intervals both = gt_intervals_intersect(&communication, &computation);
    double whole_us = gt_intervals_length(&communication), both_us = gt_intervals_length(&both);
    size_t row = gt_table_add_row(table);
    gt_table_set_int(table, 0, row, rank);
    gt_table_set_float(table, 1, row,
                       whole_us != 0 ? gt_hta_hundredths(100 * (both_us / whole_us)) : (double)NAN);
    gt_intervals_free(&communication);
    gt_intervals_free(&computation);
    gt_intervals_free(&both);
    return table;
}
