/* Finding and reading the reports of a sweep: the settings in SWEEP/tracelens_analysis, the reports of each,
 * and their sheets.
 *
 * TraceLens writes numbers with 16 digits, gputally writes all digits. Numbers are rounded to 16 digits when
 * they are read, so that reports of both give the same results. */
#pragma once

#include "input/sheets/sheets.h"
#include "schema/sheets.h"
#include "sweep/layout.h"
#include "table/table_list.h"

/* ---- settings and their reports ---- */

typedef struct gt_setting_report {
    char *path, *file;             /* file: the last part of the path */
    const gt_sweep_config *config; /* the run, in the sweep of the reports; NULL if that is not known */
    int64_t rank;                  /* of the report of one rank; else 0 */
    gt_table *table;               /* the sheet that was read; NULL if it could not be read */
    size_t added;                  /* of the config while reports are searched */
} gt_setting_report;

typedef struct gt_setting_reports {
    gt_setting_report *items;
    size_t count, capacity;
    gt_sweep sweep; /* the settings that have reports */
} gt_setting_reports;

typedef enum gt_report_kind {
    GT_REPORTS_OF_RANKS, /* individual_reports/perf_<C>ch_rank<R>.xlsx, in the order of the sweep's runs, then
                          * by rank
                          */
    GT_REPORTS_COLLECTIVE, /* collective_reports/collective_<C>ch.xlsx, in the order of the sweep's runs; in a
                              classic sweep by folder and file name */
} gt_report_kind;

typedef struct gt_reports_wanted {
    const char *root;     /* folder of the sweep, with sweep.json; NULL: the folder above `analysis` */
    const char *analysis; /* folder of the reports, usually ROOT/tracelens_analysis */
    gt_report_kind kind;
    bool include_failed; /* see gt_sweep_leave_out_failed */
    bool any_status;     /* includes them without a word */
} gt_reports_wanted;

/* Finds the reports. Fails if there are none or if the name of a folder of threads has no number.
 * gt_setting_reports_free in any case. */
bool gt_setting_reports_find(gt_setting_reports *reports, const gt_reports_wanted *wanted, gt_error *error);
/* Reads a sheet of each report, several at a time. Warns about reports that have no such sheet or are
 * unreadable. */
void gt_setting_reports_read(gt_setting_reports *reports, gt_sheet sheet, gt_interner *strings);
void gt_setting_reports_free(gt_setting_reports *reports);

/* Appends the columns that identify a run, with the same values in every row: full_config ("256thread_28ch"),
 * then for each axis its value (threads_num and thread_config, channels_num and channel_config for these
 * two), repeat if something is repeated, and status if runs are included that did not end well. */
void gt_add_setting_columns(gt_table *table, const gt_sweep *sweep, const gt_sweep_config *config);
/* The names of these columns; borrowed from the sweep. At most GT_SETTING_COLUMNS_MAX. */
enum { GT_SETTING_COLUMNS_MAX = 80 };
size_t gt_setting_columns(const gt_sweep *sweep, gt_col *columns);
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

/* All sheets of a workbook in the same way, in their order. */
bool gt_read_report_tables(const char *path, gt_interner *strings, gt_table_list *tables, gt_error *error);
/* Rounds numbers like reading them from a file: for tables that another step would read from a file. */
void gt_report_table_round(gt_table *table);

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
