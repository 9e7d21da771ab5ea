/* Internal to src/output: tables as lines of CSV. csv.c makes them, csv_files.c writes the files of a folder.
 */
#ifndef GT_OUTPUT_CSV_H
#define GT_OUTPUT_CSV_H

#include "output/file.h"

void gt_csv_write_header(gt_file *file, const gt_table *table, const char *line_end);
/* The rows [begin, end). */
void gt_csv_write_rows(gt_file *file, const gt_table *table, size_t begin, size_t end, const char *line_end);

#endif
