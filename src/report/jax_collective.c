/* Sheets from the single kernel to the kind of collective, and the kinds as a table of fixed width. */
#include "report/jax_collective.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <inttypes.h>

void gt_jax_collective_tables(gt_jax_collectives *collectives, gt_table_list *tables)
{
    gt_table_list_add(tables, gt_jax_collective_events(collectives));
    gt_table_list_add(tables, gt_jax_collective_groups(collectives));
    gt_table_list_add(tables, gt_jax_collective_bandwidths(collectives));
    gt_table_list_add(tables, gt_jax_collective_types(collectives));
}

void gt_jax_collective_print_summary(FILE *out, const gt_table_list *tables)
{
    static const char rule[] = "--------------------------------------------------";
    const gt_table *types = gt_table_list_find(tables, GT_SHEET_COLLECTIVE_TYPES);
    fprintf(out, "COMBINED BANDWIDTH ANALYSIS:\n%s\n%-15s %-4s %-8s %-8s\n%s\n", rule, "Type", "Ops",
            "Alg-Avg", "Bus-Avg", rule);
    for (size_t row = 0; row < types->row_count; row++)
        fprintf(out, "%-15s %-4" PRId64 " %-8.1f %-8.1f\n",
                gt_interner_get(types->strings, gt_table_column(types, GT_COL_TYPE)->texts[row]).bytes,
                gt_table_column(types, GT_COL_NUM_OPERATIONS)->ints[row],
                gt_table_column(types, GT_COL_AVG_BANDWIDTH_GBPS)->floats[row],
                gt_table_column(types, GT_COL_AVG_BUS_BANDWIDTH_GBPS)->floats[row]);
}
