/* Finding and reading the reports of a sweep: the settings in SWEEP/tracelens_analysis, the reports of each,
 * and their sheets.
 *
 * TraceLens writes numbers with 16 digits, gputally writes all digits. Numbers are rounded to 16 digits when
 * they are read, so that reports of both give the same results. */
#ifndef GT_SWEEP_SETTING_REPORTS_H
#define GT_SWEEP_SETTING_REPORTS_H

#include "input/sheets/sheets.h"
#include "schema/sheets.h"
#include "table/table.h"

/* ---- settings and their reports ---- */

typedef struct gt_setting_report {
    char *path, *file;                    /* file: the last part of the path */
    char *thread_config, *channel_config; /* "256thread", "28ch" */
    int64_t threads, channels;
    int64_t rank;    /* of the report of one rank; else 0 */
    gt_table *table; /* the sheet that was read; NULL if it could not be read */
} gt_setting_report;

typedef struct gt_setting_reports {
    gt_setting_report *items;
    size_t count, capacity;
} gt_setting_reports;

typedef enum gt_report_kind {
    GT_REPORTS_OF_RANKS,   /* individual_reports/perf_<C>ch_rank<R>.xlsx, ordered by thread folder, channels,
                              rank */
    GT_REPORTS_COLLECTIVE, /* collective_reports/collective_<C>ch.xlsx, ordered by thread folder and file name
                            */
} gt_report_kind;

/* Finds the reports in the folder `analysis`, usually ROOT/tracelens_analysis. Fails if there are none or if
 * the name of a folder has no number. */
bool gt_setting_reports_find(gt_setting_reports *reports, const char *root, const char *analysis,
                             gt_report_kind kind, gt_error *error);
/* Reads a sheet of each report, several at a time. Warns about reports that have no such sheet or are
 * unreadable. */
void gt_setting_reports_read(gt_setting_reports *reports, gt_sheet sheet, gt_interner *strings);
void gt_setting_reports_free(gt_setting_reports *reports);

/* The columns that identify a setting: full_config ("256thread_28ch"), threads_num, thread_config,
 * channels_num, channel_config. */
enum { GT_SETTING_COLUMNS = 5 };
extern const gt_col gt_setting_columns[GT_SETTING_COLUMNS];
/* Appends these columns, with the same values in every row. */
void gt_add_setting_columns(gt_table *table, const char *thread_config, int64_t threads,
                            const char *channel_config, int64_t channels);
/* Appends a column with the same string in every row. */
void gt_add_string_column(gt_table *table, gt_col name, const char *text);

/* ---- sheets ---- */

typedef enum gt_sheet_found {
    GT_SHEET_READ,
    GT_SHEET_ABSENT, /* the workbook has no such sheet; the error says so */
    GT_SHEET_BROKEN, /* the workbook cannot be read; the error says why */
} gt_sheet_found;

/* The sheet as pandas.read_excel returns it: one type per column. */
gt_sheet_found gt_read_report_table(const char *path, gt_sheet sheet, gt_interner *strings, gt_table **table,
                                    gt_error *error);

/* The sheet cell by cell. Call gt_report_grid_close in any case. */
typedef struct gt_report_grid {
    gt_workbook *book;
    gt_sheet_grid grid;
} gt_report_grid;
gt_sheet_found gt_read_report_grid(const char *path, gt_sheet sheet, gt_report_grid *grid, gt_error *error);
void gt_report_grid_close(gt_report_grid *grid);

/* The last column with this name in its first cell, or UINT32_MAX. */
uint32_t gt_report_grid_find(const gt_report_grid *grid, gt_col name);

/* A cell as printed by Python's str, interned in `strings`; GT_STR_NONE if it is missing. */
uint32_t gt_sheet_cell_as_string(const gt_sheet_cell *cell, gt_interner *strings);
/* A cell as converted by Python's float; NaN if it is not a number. */
double gt_sheet_cell_as_number(const gt_sheet_cell *cell);

#endif
