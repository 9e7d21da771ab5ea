/* Pieces of the terminal summaries that several reports show. */
#ifndef GT_REPORT_SUMMARY_H
#define GT_REPORT_SUMMARY_H

#include "output/terminal.h"
#include "report/tables.h"

/* A table as bars: a label, a time in ms and a percentage a row. */
void gt_summary_bars(const gt_terminal *terminal, const gt_table *table, gt_col label, gt_col time,
                     gt_col percent);

/* The sheet gpu_timeline. */
void gt_summary_timeline(const gt_terminal *terminal, const gt_table *timeline);

/* One part of a summary: how a sheet is shown. */
typedef struct gt_summary_part {
    gt_sheet sheet;
    void (*print)(const gt_terminal *terminal, const gt_table *table);
} gt_summary_part;

/* Shows the parts whose sheets are there and have rows, a line apart. */
void gt_summary_parts(const gt_terminal *terminal, const gt_table_list *tables, const gt_summary_part *parts,
                      size_t count);

/* The first rows, and how many there are besides. */
void gt_summary_rows(const gt_terminal *terminal, const gt_table *table, const gt_terminal_column *columns,
                     size_t column_count, size_t max_rows);

#endif
