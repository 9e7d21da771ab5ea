/* Columns of a table from events of a trace: row i of the table is the event rows[i].
 *
 * An integer in a trace is an integer in a sheet, as long as every value of the column is one. */
#ifndef GT_ANALYSIS_PYTORCH_EVENT_COLUMNS_H
#define GT_ANALYSIS_PYTORCH_EVENT_COLUMNS_H

#include "table/table.h"
#include "trace/pytorch/pytorch.h"

/* Adds a text column of the event store; null where the row is GT_NO_EVENT. */
void gt_table_add_event_strings(gt_table *table, gt_col name, const gt_event_view *trace, size_t event_column,
                                const uint32_t *rows);

/* Whether each of these starts or durations (GT_INTEGRAL_START, GT_INTEGRAL_DURATION) was written as an
 * integer. */
bool gt_event_times_are_whole(const gt_event_view *trace, unsigned which, const uint32_t *rows, size_t count);
/* Adds those times: INT if `whole`, else FLOAT. */
void gt_table_add_event_times(gt_table *table, gt_col name, const gt_event_view *trace, unsigned which,
                              const uint32_t *rows, bool whole);

/* Makes a column of JSON texts one of their values: INT where all are integers, FLOAT where all are numbers
 * or missing, TEXT as Python prints them (python_literal.h) otherwise. */
void gt_table_read_json(gt_table *table, gt_col name);

#endif
