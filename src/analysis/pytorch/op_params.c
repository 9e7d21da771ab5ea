/* Parameters of ops as columns; see op_params.h. */
#include "analysis/pytorch/op_params.h"

#include "compat/python_repr.h"

enum { INTEGERS = 1, FLOATS = 2, OTHERS = 4, GAPS = 8 };

typedef struct parameter_column {
    const char *name;
    unsigned holds; /* INTEGERS, FLOATS, OTHERS, GAPS bits */
    size_t values;  /* that are not gaps */
    size_t present; /* results that have the parameter, as None or nan too */
} parameter_column;

struct gt_op_params {
    bool as_text;
    uint32_t *place_of; /* by result id: index in results + 1; 0: not added */
    const gt_model_result **results;
    uint32_t *names;
    size_t count, capacity, name_capacity;
    parameter_column *columns;
    size_t column_count, column_capacity;
    gt_table *table;
    uint32_t *row_of; /* by index in results: row of the table */
};

gt_op_params *gt_op_params_new(const gt_perf *perf)
{
    gt_op_params *p = gt_alloc_zero(1, sizeof *p);
    p->as_text = perf->params_as_text;
    p->place_of = gt_alloc_zero(gt_models_result_count(perf->models), sizeof *p->place_of);
    p->table = gt_table_new(GT_SHEET_PARAMETERS, perf->trace->strings);
    return p;
}

void gt_op_params_free(gt_op_params *p)
{
    if (!p) return;
    gt_free_all(p->place_of, p->results, p->names, p->columns);
    gt_table_free(p->table);
    gt_free_all(p->row_of, p);
}

static parameter_column *column_of(gt_op_params *p, const char *name)
{
    for (size_t i = 0; i < p->column_count; i++)
        if (strcmp(p->columns[i].name, name) == 0) return &p->columns[i];
    GT_PUSH(p->columns, p->column_count, p->column_capacity, (parameter_column){.name = name});
    return &p->columns[p->column_count - 1];
}

static unsigned kind_of(const gt_value *value)
{
    switch (value->type) {
    case GT_VALUE_MISSING:
    case GT_VALUE_NONE:
        return GAPS;
    case GT_VALUE_INT:
        return INTEGERS;
    case GT_VALUE_FLOAT:
        return isnan(value->number) ? GAPS : FLOATS;
    default:
        return OTHERS;
    }
}

void gt_op_params_add(gt_op_params *p, uint32_t name, const gt_model_result *result)
{
    if (p->place_of[result->id]) return;
    p->place_of[result->id] = (uint32_t)p->count + 1;
    size_t count = p->count;
    GT_PUSH(p->results, p->count, p->capacity, result);
    GT_PUSH(p->names, count, p->name_capacity, name);
    for (size_t i = 0; i < result->parameter_count; i++) {
        parameter_column *column = column_of(p, result->parameters[i].name);
        unsigned kind = kind_of(&result->parameters[i].value);
        column->holds |= kind;
        column->values += kind != GAPS;
        column->present++;
    }
}

/* pandas keeps None only in columns of objects: with numbers, or with rows that lack the parameter, which
 * have nan, it becomes nan. */
static const char *gap_text(const gt_op_params *p, const parameter_column *column, const gt_value *value)
{
    bool of_objects = (column->holds & OTHERS) || (!column->values && column->present == p->count);
    return of_objects && value->type == GT_VALUE_NONE ? "None" : "nan";
}

static void set_cell(gt_op_params *p, size_t index, size_t row, const parameter_column *column,
                     const gt_value *value, gt_buffer *spare)
{
    unsigned kind = kind_of(value);
    if (kind == GAPS) {
        if (p->as_text) gt_table_set_cstr(p->table, index, row, gap_text(p, column, value));
        return;
    }
    bool has_floats = column->holds & FLOATS, has_others = column->holds & OTHERS;
    bool as_float = kind == INTEGERS && !has_others && (has_floats || column->values < p->count);
    gt_value number = gt_value_float((double)value->integer);
    gt_python_set_cell(p->table, index, row, as_float ? &number : value, spare);
    if (as_float && !has_floats) p->table->columns[index].shown[row] = GT_SHOWN_INT;
}

static void add_column(gt_op_params *p, const parameter_column *column, gt_buffer *spare)
{
    char *name = gt_format("param: %s", column->name);
    size_t index = gt_table_add_zeroed(p->table, gt_col_named(name), GT_TYPE_STRING);
    gt_free(name);
    for (size_t i = 0; i < p->count; i++)
        set_cell(p, index, i, column, gt_model_parameter(p->results[i], column->name), spare);
    if (p->as_text) gt_table_show_strings(p->table, index);
}

/* Makes results with the same cells one row. */
static void join_equal(gt_op_params *p)
{
    gt_col *keys = gt_alloc(p->table->column_count * sizeof *keys);
    for (size_t i = 0; i < p->table->column_count; i++) keys[i] = gt_col_named(p->table->columns[i].name);
    gt_groups groups =
        gt_groups_find(p->table, keys, p->table->column_count, (gt_group_options){.keep_nulls = true});
    gt_table_take(p->table, groups.first_row, groups.count);
    p->row_of = groups.of_row;
    groups.of_row = NULL;
    gt_groups_free(&groups);
    gt_free(keys);
}

const gt_table *gt_op_params_finish(gt_op_params *p)
{
    gt_buffer spare = {0};
    gt_table_add_rows(p->table, p->count);
    size_t name = gt_table_add_zeroed(p->table, GT_COL_NAME, GT_TYPE_STRING);
    if (p->count) memcpy(p->table->columns[name].texts, p->names, p->count * sizeof *p->names);
    for (size_t i = 0; i < p->column_count; i++) add_column(p, &p->columns[i], &spare);
    gt_buffer_free(&spare);
    join_equal(p);
    return p->table;
}

const gt_table *gt_op_params_table(const gt_op_params *p)
{
    return p->table;
}

uint32_t gt_op_params_row(const gt_op_params *p, const gt_model_result *result)
{
    return p->row_of[p->place_of[result->id] - 1];
}
