/* Parts that the terminal summaries of several reports share. */
#pragma once

#include "output/terminal.h"
#include "table/table_list.h"

/* What a summary shows of the trace itself, so that it can be printed without the trace. The meaning of the
 * counts depends on the kind of report. */
enum { GT_FACT_COUNTS = 6 };
typedef struct gt_summary_facts {
    int64_t counts[GT_FACT_COUNTS];
    char *communication, *left_out; /* owned; NULL: nothing to say */
} gt_summary_facts;
void gt_summary_facts_free(gt_summary_facts *facts);

/* Whether a row is about recomputed work: of sheets that have it in rows of its own (--detect_recompute). */
bool gt_summary_is_recompute(const gt_table *table, size_t row);

/* A table as bars, with a label, a time in ms and a percentage per row. Labels mark recomputed work. */
void gt_summary_bars(const gt_terminal *terminal, const gt_table *table, gt_col label, gt_col time,
                     gt_col percent);

/* The sheet gpu_timeline as bars. */
void gt_summary_timeline(const gt_terminal *terminal, const gt_table *timeline);
/* The same for a trace of several devices, whose times are those in which any of them ran: the heading says
 * so. */
void gt_summary_timeline_of_devices(const gt_terminal *terminal, const gt_table *timeline,
                                    size_t device_count);

/* The sheet gpu_timeline_by_device as one line per device: what share of its time was it busy and idle? */
void gt_summary_devices(const gt_terminal *terminal, const gt_table *by_device);
void gt_summary_first_devices(const gt_terminal *terminal, const gt_table *by_device, size_t max_devices);

/* One part of a summary: a sheet and how to print it. */
/* The time and percent of one type of gpu_timeline. False if it has no such row. */
bool gt_summary_timeline_cell(const gt_table *timeline, const char *type, double *ms, double *percent);

typedef struct gt_summary_part {
    gt_sheet sheet;
    void (*print)(const gt_terminal *terminal, const gt_table *table);
} gt_summary_part;

/* Prints the parts whose sheets have rows, separated by blank lines. */
void gt_summary_parts(const gt_terminal *terminal, const gt_table_list *tables, const gt_summary_part *parts,
                      size_t count);

/* Prints the first rows, and the number of the remaining rows. */
void gt_summary_rows(const gt_terminal *terminal, const gt_table *table, const gt_terminal_column *columns,
                     size_t column_count, size_t max_rows);
