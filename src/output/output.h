/* The documents of one report: tables to CSV files, an Excel workbook, an SQLite file.
 *
 * Every document is first written whole beside its final name. gt_output_commit then renames them all; until
 * then, a failure, exit(), SIGINT or SIGTERM leaves nothing behind, neither files nor folders that were made
 * for them:
 *
 *     gt_output *output = gt_output_new();
 *     bool ok = gt_output_csvs(output, "out", tables, count, &error) && gt_output_commit(output, &error);
 *     gt_output_free(output);
 */
#ifndef GT_OUTPUT_OUTPUT_H
#define GT_OUTPUT_OUTPUT_H

#include "base/error.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gt_output gt_output;

gt_output *gt_output_new(void);

/* Each writes the tables in their order; any number of them may be called, in any order. Missing folders are
 * made. After a false return nothing is left to do but free the output. Files of a CSV folder are named
 * "<table>.csv". */
bool gt_output_csvs(gt_output *output, const char *dir, gt_table *const *tables, size_t count,
                    gt_error *error);
bool gt_output_xlsx(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                    gt_error *error);
bool gt_output_sqlite(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                      gt_error *error);

/* Creates an empty file that the commit will rename to `path`, and gives its name, which lives as long as the
 * output; for writers that open files by name. NULL on failure. Missing folders are made. */
const char *gt_output_add_file(gt_output *output, const char *path, gt_error *error);
bool gt_output_add_folder(gt_output *output, const char *path, gt_error *error);

/* "cannot write report.xlsx: No space left on device" */
bool gt_fail_writing(gt_error *error, const char *path, int error_number);

/* Gives every file its final name, or none: false leaves the files that stood there before. */
bool gt_output_commit(gt_output *output, gt_error *error);

/* The final names, in the order they were written, before and after the commit; they live as long as the
 * output. */
size_t gt_output_file_count(const gt_output *output);
const char *gt_output_file_path(const gt_output *output, size_t index);

/* Removes what was not committed and frees the output. NULL is fine. */
void gt_output_free(gt_output *output);

#endif
