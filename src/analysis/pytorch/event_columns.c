/* Columns from events: values of the store, with the narrowest type that fits all of them. */
#include "analysis/pytorch/event_columns.h"

#include "compat/python_literal.h"
#include "table/operations.h"
#include "trace/pytorch/event_rows.h"

static const double EXACT_BELOW = 9007199254740992.0; /* doubles represent every integer up to here */

typedef struct string_copy {
    uint32_t *to;
    const uint32_t *values, *rows;
} string_copy;

static void copy_strings(void *context, size_t begin, size_t end)
{
    const string_copy *c = context;
    for (size_t i = begin; i < end; i++)
        c->to[i] = c->rows[i] != GT_NO_EVENT ? c->values[c->rows[i]] : GT_STR_NONE;
}

void gt_table_add_event_strings(gt_table *table, gt_col name, const gt_event_view *trace, size_t event_column,
                                const uint32_t *rows)
{
    uint32_t *cells = gt_table_add_unset(table, name, GT_TYPE_STRING)->texts;
    if (!table->row_count) return; /* do not unpack the column */
    uint32_t *values = gt_store_string_ids(trace->store, event_column);
    string_copy copy = {cells, values, rows};
    gt_parallel_ranges(table->row_count, GT_ROWS_GRAIN, copy_strings, &copy);
    gt_free(values);
}

/* ---- times ---- */

static const double *times_of(const gt_event_view *trace, unsigned which)
{
    return which == GT_INTEGRAL_START ? trace->start_us : trace->dur_us;
}

/* The times of some rows. */
typedef struct row_times {
    const double *times_us;
    const uint8_t *integral;
    unsigned which;
    const uint32_t *rows;
    gt_column *column;
} row_times;

static bool is_whole(const void *context, size_t i)
{
    const row_times *t = context;
    uint32_t row = t->rows[i];
    return (t->integral[row] & t->which) && fabs(t->times_us[row]) < EXACT_BELOW;
}

bool gt_event_times_are_whole(const gt_event_view *trace, unsigned which, const uint32_t *rows, size_t count)
{
    row_times times = {times_of(trace, which), trace->integral, which, rows, NULL};
    return gt_holds_for_all(count, is_whole, &times);
}

static void copy_times(void *context, size_t begin, size_t end)
{
    const row_times *t = context;
    if (t->column->type == GT_TYPE_INT)
        for (size_t i = begin; i < end; i++) t->column->ints[i] = (int64_t)t->times_us[t->rows[i]];
    else
        for (size_t i = begin; i < end; i++) t->column->floats[i] = t->times_us[t->rows[i]];
}

void gt_table_add_event_times(gt_table *table, gt_col name, const gt_event_view *trace, unsigned which,
                              const uint32_t *rows, bool whole)
{
    row_times times = {times_of(trace, which), trace->integral, which, rows,
                       gt_table_add_unset(table, name, whole ? GT_TYPE_INT : GT_TYPE_FLOAT)};
    gt_parallel_ranges(table->row_count, GT_ROWS_GRAIN, copy_times, &times);
}

typedef struct time_cells {
    gt_time_cell (*of)(const void *context, size_t row);
    const void *context;
    int64_t *whole; /* NULL: the cells are in `us` */
    double *us;
} time_cells;

static bool cell_is_whole(const void *context, size_t row)
{
    const time_cells *cells = context;
    gt_time_cell time = cells->of(cells->context, row);
    return time.integral && fabs(time.us) < EXACT_BELOW;
}

static void fill_cells(void *context, size_t begin, size_t end)
{
    const time_cells *cells = context;
    for (size_t row = begin; row < end; row++) {
        double us = cells->of(cells->context, row).us;
        if (cells->whole)
            cells->whole[row] = (int64_t)us;
        else
            cells->us[row] = us;
    }
}

void gt_table_add_times(gt_table *table, gt_col name, gt_time_cell (*of)(const void *context, size_t row),
                        const void *context)
{
    time_cells cells = {.of = of, .context = context};
    bool whole = gt_holds_for_all(table->row_count, cell_is_whole, &cells);
    gt_column *column = gt_table_add_unset(table, name, whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    if (whole)
        cells.whole = column->ints;
    else
        cells.us = column->floats;
    gt_parallel_ranges(table->row_count, GT_ROWS_GRAIN, fill_cells, &cells);
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

/* Many rows have the same string, so each different one is read once: `groups` are the rows by string. */
static gt_type type_of(const gt_interner *strings, const uint32_t *json, const gt_groups *groups)
{
    gt_type type = GT_TYPE_INT;
    for (size_t g = 0; g < groups->count; g++) {
        uint32_t id = json[groups->first_row[g]];
        gt_str text = gt_interner_get(strings, id);
        int64_t whole;
        double number;
        if (id == GT_STR_NONE || (!read_int(text, &whole) && read_float(text, &number)))
            type = GT_TYPE_FLOAT;
        else if (!read_int(text, &whole))
            return GT_TYPE_STRING;
    }
    return type;
}

static void read_texts(gt_column *by_group, const gt_groups *groups, const uint32_t *json,
                       gt_interner *strings)
{
    gt_python_literals *literals = gt_python_literals_new(strings, GT_PYTHON_TUPLES);
    for (size_t g = 0; g < groups->count; g++)
        by_group->texts[g] = gt_python_literals_of(literals, json[groups->first_row[g]]);
    gt_python_literals_free(literals);
}

static void read_numbers(gt_column *by_group, const gt_groups *groups, const uint32_t *json,
                         const gt_interner *strings)
{
    for (size_t g = 0; g < groups->count; g++) {
        gt_str text = gt_interner_get(strings, json[groups->first_row[g]]);
        if (by_group->type == GT_TYPE_INT)
            read_int(text, &by_group->ints[g]);
        else
            read_float(text, &by_group->floats[g]);
    }
}

typedef struct group_fill {
    gt_column *column;
    const gt_column *by_group;
    const uint32_t *of_row;
} group_fill;

static void fill_range(void *context, size_t begin, size_t end)
{
    const group_fill *f = context;
    for (size_t i = begin; i < end; i++) {
        if (f->column->type == GT_TYPE_INT)
            f->column->ints[i] = f->by_group->ints[f->of_row[i]];
        else if (f->column->type == GT_TYPE_FLOAT)
            f->column->floats[i] = f->by_group->floats[f->of_row[i]];
        else
            f->column->texts[i] = f->by_group->texts[f->of_row[i]];
    }
}

void gt_table_read_json(gt_table *table, gt_col name)
{
    size_t json = gt_table_find(table, name);
    const uint32_t *texts = table->columns[json].texts;
    gt_groups groups = gt_groups_find(table, &name, 1, (gt_group_options){.keep_nulls = true});
    gt_type type = type_of(table->strings, texts, &groups);
    gt_table *values = gt_table_new(gt_sheet_named(table->name), table->strings); /* one row per group */
    gt_table_add_rows(values, groups.count);
    gt_column *by_group = gt_table_add_array(values, name, type);
    if (type == GT_TYPE_STRING)
        read_texts(by_group, &groups, texts, table->strings);
    else
        read_numbers(by_group, &groups, texts, table->strings);
    group_fill fill = {gt_table_add_array(table, name, type), by_group, groups.of_row};
    gt_parallel_ranges(table->row_count, GT_ROWS_GRAIN, fill_range, &fill);
    gt_groups_free(&groups);
    gt_table_free(values);
    gt_table_drop_column(table, json);
    gt_table_move_column(table, table->column_count - 1, json);
}
