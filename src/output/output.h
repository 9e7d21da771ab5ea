/* The documents of one report: tables as CSV files, an Excel workbook, an SQLite database.
 *
 * Every document is first written completely next to its final name. gt_output_commit then renames them all;
 * gt_output_free, which a guarded call that fails also runs, removes whatever was not committed: files, and
 * folders created for them.
 *
 *     gt_output *output = gt_output_new();
 *     bool ok = gt_output_csvs(output, "out", tables, count, &error) && gt_output_commit(output, &error);
 *     gt_output_free(output);
 *
 * One output is used by one thread. */
#pragma once

#include "table/table_list.h"

typedef struct gt_output gt_output;

gt_output *gt_output_new(void);

/* Whether text in CSV files that a spreadsheet would compute (gt_is_formula) gets a ' before it. Off by
 * default. Of NULL: whether outputs that are made from now on do so. */
void gt_output_set_csv_safe(gt_output *output, bool safe);
bool gt_output_is_csv_safe(const gt_output *output);
/* The same for all outputs that are made from now on; for the command line. */
void gt_output_default_csv_safe(bool safe);

/* From now on the name "-" means this descriptor, such as that of standard output, instead of a file: what is
 * written to it is whole, and sent by the commit, after all files have their names. For the command line. */
void gt_output_send_to(int descriptor);
/* Whether a name means that descriptor. False for NULL. */
bool gt_output_is_sent(const char *path);
/* From now on, files get the mode 0600, whatever they replace: they have secrets. */
void gt_output_set_private(gt_output *output);

/* Each writes the tables in their order; any number of these may be called, in any order. Missing folders are
 * created. After a failure, the output can only be freed. Files in a CSV folder are named "<table>.csv"; a
 * folder that is sent has one table. */
bool gt_output_csvs(gt_output *output, const char *dir, gt_table *const *tables, size_t count,
                    gt_error *error);
bool gt_output_xlsx(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                    gt_error *error);
/* What a sheet of a workbook has beyond its cells. All zero: nothing. */
typedef struct gt_sheet_style {
    bool is_hidden;        /* Excel shows it after "Unhide"; the first sheet that is not hidden is active */
    bool is_table;         /* a native table named after the sheet, with stripes and filters */
    bool has_number_names; /* names of columns that are whole numbers are numbers, as pandas writes them */
    const char *scale_prefix; /* columns whose names begin like this get a colour scale: red, white at 0,
                                 green; NULL: none */
} gt_sheet_style;
/* A workbook with one style per table. Nothing becomes a native table that Excel would not accept as one: a
 * sheet without rows, or with names of columns that are empty, too long, or equal except for case. */
bool gt_output_styled_xlsx(gt_output *output, const char *path, gt_table *const *tables,
                           const gt_sheet_style *styles, size_t count, gt_error *error);
/* A workbook that is the only document: writes and commits it in one call. After a failure, nothing at `path`
 * has changed. */
bool gt_output_workbook(const gt_table_list *list, const char *path, gt_error *error);
bool gt_output_sqlite(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                      gt_error *error);

/* All of them at the same time, on all threads of the team (base/team.h). Failures and warnings are those of
 * writing one document after the other: after a failure, `is_written` says which ones come before it. */
typedef enum gt_document_kind { GT_DOCUMENT_CSVS, GT_DOCUMENT_XLSX, GT_DOCUMENT_SQLITE } gt_document_kind;
typedef struct gt_document {
    gt_document_kind kind;
    const char *path;
    bool is_written;
    const struct gt_dashboard *dashboard; /* of a workbook (output/dashboard.h); NULL: none */
    const gt_sheet_style *styles;         /* of a workbook, one per table; NULL: none */
    const gt_table_list *tables;          /* of this document; NULL: those of all */
} gt_document;
bool gt_output_documents(gt_output *output, gt_document *documents, size_t document_count,
                         gt_table *const *tables, size_t count, gt_error *error);

/* Gives every file its final name, or none: after a failure, the files that existed before are unchanged. */
bool gt_output_commit(gt_output *output, gt_error *error);

/* The final names, in the order they were written, before and after the commit; they belong to the output. */
size_t gt_output_file_count(const gt_output *output);
const char *gt_output_file_path(const gt_output *output, size_t index);

/* Removes what was not committed and frees the output. NULL does nothing. */
void gt_output_free(gt_output *output);

/* ---- tables inside other documents ---- */

struct gt_file;

/* Writes the table as CSV, as gt_output_csvs does for a whole folder, with a line ending of the caller's
 * choice: "\r\n", as in Python's csv module. */
void gt_csv_write_lines(struct gt_file *file, const gt_table *table, const char *line_end);
/* The same without the names of the columns: further rows. */
void gt_csv_write_more_lines(struct gt_file *file, const gt_table *table, const char *line_end);

/* Adds the header, the rule and the first `rows_max` rows as a Markdown table, without a newline after the
 * last line. Numbers are right-aligned at their points, with six digits of a FLOAT; text is left-aligned. */
void gt_markdown_add(gt_buffer *out, const gt_table *table, size_t rows_max);

/* ---- for writers ---- */

/* Creates an empty file that the commit will rename to `path`. Returns its temporary name, which belongs to
 * the output, or NULL. Missing folders are created. */
const char *gt_output_add_file(gt_output *output, const char *path, gt_error *error);
/* The same in two steps, for files that are created while others are written: the first says where the file
 * will be, which decides its place among the files of the output, and returns its number, or SIZE_MAX; the
 * second creates it. Several threads may call the second, as soon as no files are planned or added any more.
 */
size_t gt_output_plan_file(gt_output *output, const char *path, gt_error *error);
const char *gt_output_create_file(gt_output *output, size_t number, gt_error *error);
/* Whoever may read a planned file may also run it. */
void gt_output_make_executable(gt_output *output, size_t number);
/* A symbolic link, which replaces what is at `path`. Both strings of it must stay until the commit. */
bool gt_output_add_link(gt_output *output, const char *path, const char *points_to, gt_error *error);
bool gt_output_add_folder(gt_output *output, const char *path, gt_error *error);

/* "cannot write report.xlsx: No space left on device" */
bool gt_fail_writing(gt_error *error, const char *path, int error_number);
/* Whether a file of this process could not be written because the disk, or the user's part of it, was full.
 */
bool gt_output_ran_out_of_space(void);

/* ---- for programs that remove unfinished files when they end early: the command line ---- */

typedef struct gt_output_watcher {
    const int *signals; /* whose handlers call gt_output_remove_unfinished */
    size_t signal_count;
    void (*first_output)(void); /* called once, before the first output is created; NULL: nothing */
} gt_output_watcher;

/* From now on all outputs are listed; while the list changes, the signals are blocked in the thread that
 * changes it. To be called once, before other threads start. */
void gt_output_watch(const gt_output_watcher *watcher);

/* Removes what the listed outputs have not committed. Async-signal-safe. After this no output creates
 * anything: threads that try wait for the program to end. */
void gt_output_remove_unfinished(void);
