/* JSON values as cells: one pass finds the type that all of them share, a second fills the column. */
#include "analysis/json_column.h"

#include "analysis/python_literal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool read_int(gt_text json, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(json.bytes, &end, 10);
    return json.len && end == json.bytes + json.len && !errno;
}

static bool read_float(gt_text json, double *value)
{
    char *end;
    bool number = json.len && strchr("-0123456789", json.bytes[0]); /* strtod knows words, too */
    *value = number ? strtod(json.bytes, &end) : NAN;
    return number && end == json.bytes + json.len;
}

static gt_type type_of(const gt_table *table, const uint32_t *json)
{
    gt_type type = GT_TYPE_INT;
    for (size_t row = 0; row < table->row_count; row++) {
        gt_text text = gt_strings_get(table->strings, json[row]);
        int64_t whole;
        double number;
        if (json[row] == GT_TEXT_NONE)
            type = GT_TYPE_FLOAT;
        else if (read_int(text, &whole))
            continue;
        else if (read_float(text, &number))
            type = GT_TYPE_FLOAT;
        else
            return GT_TYPE_TEXT;
    }
    return type;
}

static void fill_texts(gt_column *column, const uint32_t *json, size_t rows, gt_strings *strings)
{
    gt_python_literals *literals = gt_python_literals_new(strings, GT_PYTHON_TUPLES);
    for (size_t row = 0; row < rows; row++) column->texts[row] = gt_python_literals_of(literals, json[row]);
    gt_python_literals_free(literals);
}

void gt_table_add_json(gt_table *table, const char *name, const uint32_t *json)
{
    gt_type type = type_of(table, json);
    size_t added = gt_table_add_zeroed(table, name, type);
    gt_column *column = &table->columns[added];
    if (type == GT_TYPE_TEXT) {
        fill_texts(column, json, table->row_count, table->strings);
        return;
    }
    for (size_t row = 0; row < table->row_count; row++) {
        gt_text text = gt_strings_get(table->strings, json[row]);
        if (type == GT_TYPE_INT)
            read_int(text, &column->ints[row]);
        else
            read_float(text, &column->floats[row]); /* NaN, that is null, where there is no text */
    }
}
