/* Tables as CSV, byte for byte what pandas' to_csv(index=False) writes. */
#ifndef GT_OUTPUT_CSV_H
#define GT_OUTPUT_CSV_H

#include "output/file.h"
#include "table/table.h"

/* Writes the table to an open file; gt_output_csvs does so for a folder of them. */
void gt_csv_write(gt_file *file, const gt_table *table);
/* The same with another end of lines: "\r\n", as Python's csv module writes them. */
void gt_csv_write_lines(gt_file *file, const gt_table *table, const char *line_end);

#endif
