/* The settings that a sweep's folder of reports has, and the reports of each: what the steps that put them
 * together go through. */
#ifndef GT_SWEEP_RUN_SETTINGS_H
#define GT_SWEEP_RUN_SETTINGS_H

#include "table/table.h"

typedef struct gt_setting_report {
    char *path, *file;                    /* file: the last part of the path */
    char *thread_config, *channel_config; /* "256thread", "28ch" */
    int64_t threads, channels;
    int64_t rank;    /* of a report of one rank; else 0 */
    gt_table *table; /* the sheet that was read of it; NULL where it cannot be */
} gt_setting_report;

typedef struct gt_setting_reports {
    gt_setting_report *items;
    size_t count, capacity;
} gt_setting_reports;

typedef enum gt_report_kind {
    GT_REPORTS_OF_RANKS, /* individual_reports/perf_<C>ch_rank<R>.xlsx: by threads' names, channels, ranks */
    GT_REPORTS_COLLECTIVE, /* collective_reports/collective_<C>ch.xlsx: by threads' and files' names */
} gt_report_kind;

/* Finds them under SWEEP/tracelens_analysis. Fails where there are none, or a folder's name holds no number.
 */
bool gt_setting_reports_find(gt_setting_reports *reports, const char *root, gt_report_kind kind,
                             gt_error *error);
/* Reads a sheet of each, several at a time; those that lack it or cannot be read are warned of. */
void gt_setting_reports_read(gt_setting_reports *reports, gt_sheet sheet, gt_interner *strings,
                             unsigned threads);
void gt_setting_reports_free(gt_setting_reports *reports);

/* Which setting rows are of: full_config ("256thread_28ch"), threads_num, thread_config, channels_num,
 * channel_config. */
enum { GT_SETTING_COLUMNS = 5 };
extern const gt_col gt_setting_columns[GT_SETTING_COLUMNS];
/* Adds these columns, the same in every row, behind the others. */
void gt_add_setting_columns(gt_table *table, const char *thread_config, int64_t threads,
                            const char *channel_config, int64_t channels);
/* A new column with the same text in every row. */
void gt_add_string_column(gt_table *table, gt_col name, const char *text);

#endif
