/* The tables of the analysis report, in the order of their files, with two decimals. */
#include "report/jax_analysis.h"

#include "analysis/jax/breakdown.h"
#include "analysis/jax/products.h"
#include "compat/number.h"

#include <math.h>

/* All numbers with two decimals. */
static void round_floats(gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].type != GT_TYPE_FLOAT) continue;
        double *cells = table->columns[c].floats;
        for (size_t row = 0; row < table->row_count; row++) cells[row] = gt_numpy_round2(cells[row]);
    }
}

bool gt_jax_analysis_tables(const gt_jax *trace, gt_table_list *tables, gt_error *error)
{
    if (!trace->count) return gt_fail(error, "nothing in this profile ran on a GPU");
    gt_jax_breakdown breakdown = gt_jax_breakdown_make(trace);
    gt_table_list_add(tables, breakdown.averages);
    gt_table_list_add(tables, breakdown.categorized);
    gt_table_list_add(tables, breakdown.xla_grouped);
    gt_table_list_add(tables, gt_jax_gemms(trace));
    gt_table_list_add(tables, gt_jax_gemms_detailed(trace));
    for (size_t i = 0; i < tables->count; i++) round_floats(tables->items[i]);
    return true;
}
