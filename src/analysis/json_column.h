/* A column of values that the event store keeps as JSON text because they may be of any type, such as
 * streams. */
#ifndef GT_ANALYSIS_JSON_COLUMN_H
#define GT_ANALYSIS_JSON_COLUMN_H

#include "table/table.h"

/* Adds the values of json[row], ids in the table's strings: INT where all are integers, FLOAT where all are
 * numbers or missing, TEXT as Python prints them (python_literal.h) otherwise. */
void gt_table_add_json(gt_table *table, const char *name, const uint32_t *json);

#endif
