/* Columns from events: values of the store, with the narrowest type that fits all of them. */
#include "analysis/pytorch/event_columns.h"

#include "base/memory.h"
#include "compat/python_literal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double EXACT_BELOW = 9007199254740992.0; /* doubles represent every integer up to here */

void gt_table_add_event_strings(gt_table *table, gt_col name, const gt_event_view *trace, size_t event_column,
                                const uint32_t *rows)
{
    size_t added = gt_table_add_column(table, name, GT_TYPE_STRING);
    if (!table->row_count) return; /* do not unpack the column */
    uint32_t *values = gt_store_string_ids(trace->store, event_column);
    for (size_t i = 0; i < table->row_count; i++)
        if (rows[i] != GT_NO_EVENT) table->columns[added].texts[i] = values[rows[i]];
    gt_free(values);
}

/* ---- times ---- */

static const double *times_of(const gt_event_view *trace, unsigned which)
{
    return which == GT_INTEGRAL_START ? trace->start_us : trace->dur_us;
}

bool gt_event_times_are_whole(const gt_event_view *trace, unsigned which, const uint32_t *rows, size_t count)
{
    const double *times_us = times_of(trace, which);
    for (size_t i = 0; i < count; i++)
        if (!(trace->integral[rows[i]] & which) || fabs(times_us[rows[i]]) >= EXACT_BELOW) return false;
    return true;
}

void gt_table_add_event_times(gt_table *table, gt_col name, const gt_event_view *trace, unsigned which,
                              const uint32_t *rows, bool whole)
{
    const double *times_us = times_of(trace, which);
    size_t added = gt_table_add_zeroed(table, name, whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    gt_column *column = &table->columns[added];
    for (size_t i = 0; i < table->row_count; i++) {
        if (whole)
            column->ints[i] = (int64_t)times_us[rows[i]];
        else
            column->floats[i] = times_us[rows[i]];
    }
}

/* ---- JSON ---- */

static bool read_int(gt_str json, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(json.bytes, &end, 10);
    return json.len && end == json.bytes + json.len && !errno;
}

/* NaN, that is null, if it is not a number. */
static bool read_float(gt_str json, double *value)
{
    char *end;
    bool number =
        json.len && strchr("-0123456789", json.bytes[0]); /* strtod also accepts words such as nan */
    *value = number ? strtod(json.bytes, &end) : NAN;
    return number && end == json.bytes + json.len;
}

static gt_type type_of(const gt_table *table, const uint32_t *json)
{
    gt_type type = GT_TYPE_INT;
    for (size_t row = 0; row < table->row_count; row++) {
        if (row && json[row] == json[row - 1]) continue; /* the usual case */
        gt_str text = gt_interner_get(table->strings, json[row]);
        int64_t whole;
        double number;
        if (json[row] == GT_STR_NONE || (!read_int(text, &whole) && read_float(text, &number)))
            type = GT_TYPE_FLOAT;
        else if (!read_int(text, &whole))
            return GT_TYPE_STRING;
    }
    return type;
}

static void read_texts(gt_column *column, size_t rows, gt_interner *strings)
{
    gt_python_literals *literals = gt_python_literals_new(strings, GT_PYTHON_TUPLES);
    for (size_t row = 0; row < rows; row++)
        column->texts[row] = gt_python_literals_of(literals, column->texts[row]);
    gt_python_literals_free(literals);
}

void gt_table_read_json(gt_table *table, gt_col name)
{
    size_t json = gt_table_find(table, name);
    const uint32_t *texts = table->columns[json].texts;
    gt_type type = type_of(table, texts);
    if (type == GT_TYPE_STRING) {
        read_texts(&table->columns[json], table->row_count, table->strings);
        return;
    }
    size_t numbers = gt_table_add_zeroed(table, name, type);
    for (size_t row = 0; row < table->row_count; row++) {
        gt_str text = gt_interner_get(table->strings, texts[row]);
        if (type == GT_TYPE_INT)
            read_int(text, &table->columns[numbers].ints[row]);
        else
            read_float(text, &table->columns[numbers].floats[row]);
    }
    gt_table_drop_column(table, json);
    gt_table_move_column(table, table->column_count - 1, json);
}
