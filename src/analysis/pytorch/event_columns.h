/* Columns of a table from events of a trace: row i of the table is the event rows[i].
 *
 * Numbers that are integers in the trace are integers in the sheet, if that is so for every value of the
 * column. */
#pragma once

#include "table/table.h"
#include "trace/pytorch/pytorch.h"

/* Adds a string column of the event store; null if the row is GT_NO_EVENT. */
void gt_table_add_event_strings(gt_table *table, gt_col name, const gt_event_view *trace, size_t event_column,
                                const uint32_t *rows);

/* Whether all of these starts or durations (GT_INTEGRAL_START or GT_INTEGRAL_DURATION) were written as
 * integers. */
bool gt_event_times_are_whole(const gt_event_view *trace, unsigned which, const uint32_t *rows, size_t count);
/* Adds these times: INT if `whole`, else FLOAT. */
void gt_table_add_event_times(gt_table *table, gt_col name, const gt_event_view *trace, unsigned which,
                              const uint32_t *rows, bool whole);

typedef struct gt_time_cell {
    double us;
    bool integral; /* as an integer in the trace */
} gt_time_cell;
/* Adds a column with the time of(context, row): INT if all are integers, else FLOAT. Several threads call it.
 */
void gt_table_add_times(gt_table *table, gt_col name, gt_time_cell (*of)(const void *context, size_t row),
                        const void *context);

/* Replaces a column of JSON by the values: INT if all are integers, FLOAT if all are numbers or missing,
 * otherwise STRING as Python prints them (python_literal.h). */
void gt_table_read_json(gt_table *table, gt_col name);
