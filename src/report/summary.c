/* Parts that the terminal summaries of several reports share. */
#include "report/summary.h"
#include "base/memory.h"
#include "schema/columns.h"

#include <stdlib.h>

void gt_summary_bars(const gt_terminal *terminal, const gt_table *table, gt_col label, gt_col time,
                     gt_col percent)
{
    const gt_column *labels = gt_table_column(table, label), *times = gt_table_column(table, time);
    const gt_column *percents = gt_table_column(table, percent);
    gt_bar *bars = gt_alloc(table->row_count * sizeof *bars);
    for (size_t row = 0; row < table->row_count; row++)
        bars[row] = (gt_bar){
            .label = gt_interner_get(table->strings, labels->texts[row]).bytes,
            .value = times->floats[row],
            .percent = percents->type == GT_TYPE_FLOAT ? percents->floats[row] : 0.0,
        };
    gt_terminal_bars(terminal, bars, table->row_count, "ms");
    gt_free(bars);
}

void gt_summary_timeline(const gt_terminal *terminal, const gt_table *timeline)
{
    gt_terminal_heading(terminal, "GPU timeline");
    gt_summary_bars(terminal, timeline, GT_COL_TYPE, GT_COL_TIME_MS, GT_COL_PERCENT);
}

void gt_summary_parts(const gt_terminal *terminal, const gt_table_list *tables, const gt_summary_part *parts,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const gt_table *table = gt_table_list_find(tables, parts[i].sheet);
        if (!table || !table->row_count) continue;
        fputc('\n', terminal->file);
        parts[i].print(terminal, table);
    }
}

void gt_summary_rows(const gt_terminal *terminal, const gt_table *table, const gt_terminal_column *columns,
                     size_t column_count, size_t max_rows)
{
    gt_terminal_rows(terminal, table, columns, column_count, max_rows);
    if (table->row_count > max_rows) fprintf(terminal->file, "and %zu more\n", table->row_count - max_rows);
}
