/* A text's first letter is the type of the value behind it. */
#include "analysis/batch/params.h"

#include "base/map.h"
#include "compat/python_repr.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IS_INT = 'i', IS_FLOAT = 'f', IS_BOOL = 'b', IS_TEXT = 't' };

/* ---- texts of a rank ---- */

static char type_letter(const gt_value *value)
{
    switch (value->type) {
    case GT_VALUE_MISSING:
    case GT_VALUE_NONE:
        return 0;
    case GT_VALUE_INT:
        return IS_INT;
    case GT_VALUE_FLOAT:
        return isnan(value->number) ? 0 : IS_FLOAT;
    case GT_VALUE_BOOL:
        return IS_BOOL;
    default:
        return IS_TEXT;
    }
}

static uint32_t text_of(gt_interner *strings, const gt_value *value, gt_buffer *spare)
{
    char letter = type_letter(value);
    if (!letter) return GT_STR_NONE;
    spare->len = 0;
    gt_buffer_add(spare, &letter, 1);
    gt_value_print(spare, value);
    return gt_interner_add(strings, spare->bytes, spare->len);
}

static size_t column_of(gt_table *table, const char *parameter)
{
    char *name = gt_format(GT_PARAM_PREFIX "%s", parameter);
    size_t column = gt_table_find(table, gt_col_named(name));
    if (column == SIZE_MAX) column = gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
    gt_free(name);
    return column;
}

/* The first row of each result; alike ops share theirs. */
static uint32_t *find_firsts(const gt_model_result *const *results, size_t count)
{
    gt_map rows = {0};
    uint32_t *firsts = gt_alloc(count * sizeof *firsts);
    for (uint32_t row = 0; row < count; row++) {
        uint32_t *first = gt_map_put(&rows, results[row]->id, 0);
        if (*first == GT_MAP_NONE) *first = row;
        firsts[row] = *first;
    }
    gt_map_free(&rows);
    return firsts;
}

void gt_batch_params_add(gt_table *table, const gt_model_result *const *results)
{
    gt_buffer spare = {0};
    size_t before = table->column_count;
    uint32_t *firsts = find_firsts(results, table->row_count);
    for (uint32_t row = 0; row < table->row_count; row++) {
        if (firsts[row] != row) {
            for (size_t c = before; c < table->column_count; c++)
                table->columns[c].texts[row] = table->columns[c].texts[firsts[row]];
            continue;
        }
        for (size_t i = 0; i < results[row]->parameter_count; i++) {
            const gt_parameter *parameter = &results[row]->parameters[i];
            size_t column = column_of(table, parameter->name);
            table->columns[column].texts[row] = text_of(table->strings, &parameter->value, &spare);
        }
    }
    gt_free(firsts);
    gt_buffer_free(&spare);
}

/* ---- columns of all ranks ---- */

static bool is_parameter(const gt_column *column)
{
    return strncmp(column->name, GT_PARAM_PREFIX, strlen(GT_PARAM_PREFIX)) == 0;
}

static gt_type type_of(const gt_table *table, const gt_column *column)
{
    bool has[256] = {0};
    for (size_t row = 0; row < table->row_count; row++)
        has[(unsigned char)gt_interner_get(table->strings, column->texts[row]).bytes[0]] = true;
    if (has[IS_TEXT] || (has[IS_BOOL] && (has[IS_INT] || has[IS_FLOAT]))) return GT_TYPE_STRING;
    if (has[IS_BOOL]) return GT_TYPE_BOOL;
    if (has[IS_INT] && !has[IS_FLOAT] && !has[0]) return GT_TYPE_INT;
    return has[IS_INT] || has[IS_FLOAT] ? GT_TYPE_FLOAT : GT_TYPE_STRING;
}

static void settle_cell(gt_table *table, size_t column, size_t row, gt_str text)
{
    const char *value = text.bytes + 1;
    switch (table->columns[column].type) {
    case GT_TYPE_INT:
        gt_table_set_int(table, column, row, strtoll(value, NULL, 10));
        return;
    case GT_TYPE_FLOAT:
        gt_table_set_float(table, column, row, strtod(value, NULL));
        return;
    case GT_TYPE_BOOL:
        gt_table_set_bool(table, column, row, value[0] == 'T');
        return;
    default:
        gt_table_set_string(table, column, row, gt_interner_add(table->strings, value, text.len - 1));
    }
}

static void settle_column(gt_table *table, size_t column)
{
    size_t settled = gt_table_add_column(table, gt_col_named(table->columns[column].name),
                                         type_of(table, &table->columns[column]));
    for (size_t row = 0; row < table->row_count; row++) {
        uint32_t text = table->columns[column].texts[row];
        if (text != GT_STR_NONE) settle_cell(table, settled, row, gt_interner_get(table->strings, text));
    }
    gt_table_drop_column(table, column);
    gt_table_move_column(table, table->column_count - 1, column);
}

void gt_batch_params_settle(gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++)
        if (is_parameter(&table->columns[c])) settle_column(table, c);
}
