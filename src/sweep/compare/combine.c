/* The sheets of two runs below each other, and apart again; and how the sheets of these workbooks look. */
#include "sweep/compare/compare.h"
#include "output/output.h"
#include "schema/columns.h"

/* ---- columns that have strings in one run and numbers in the other, as pandas allows ---- */

/* The string that shows a cell, and what it shows. */
static gt_shown print_cell(const gt_column *column, size_t row, char text[GT_NUMBER_MAX])
{
    switch (column->type) {
    case GT_TYPE_INT:
        text[gt_print_int(text, column->ints[row])] = 0;
        return GT_SHOWN_INT;
    case GT_TYPE_FLOAT:
        text[gt_print_double(text, column->floats[row])] = 0;
        return GT_SHOWN_FLOAT;
    case GT_TYPE_BOOL:
        strcpy(text, column->bools[row] ? "True" : "False");
        return GT_SHOWN_BOOL;
    default:
        break;
    }
    text[0] = 0;
    return GT_SHOWN_NULL;
}

/* Turns a column of numbers or booleans into one of strings that show them. */
static void make_string(gt_table *table, size_t c)
{
    char *name = gt_strdup(table->columns[c].name);
    size_t shown = gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
    for (size_t row = 0; row < table->row_count; row++) {
        char text[GT_NUMBER_MAX + 1];
        if (gt_column_is_null(&table->columns[c], row)) continue;
        gt_shown what = print_cell(&table->columns[c], row, text);
        gt_table_set_shown(table, shown, row, gt_interner_add_cstr(table->strings, text), what);
    }
    gt_table_drop_column(table, c);
    gt_table_move_column(table, table->column_count - 1, c);
    gt_free(name);
}

/* Gives both tables the same columns with types that can be appended. */
static void match_columns(gt_table *table, gt_table *other)
{
    gt_column_index index = gt_column_index_new(table);
    size_t columns = other->column_count;
    for (size_t c = 0; c < columns; c++) {
        size_t here = gt_column_index_find(&index, gt_col_named(other->columns[c].name));
        if (here == SIZE_MAX) {
            gt_table_add_column(table, gt_col_named(other->columns[c].name), other->columns[c].type);
            continue;
        }
        const gt_column *own = &table->columns[here], *others = &other->columns[c];
        if (own->type == others->type || (gt_column_is_number(own) && gt_column_is_number(others))) continue;
        if (own->type != GT_TYPE_STRING) make_string(table, here);
        if (others->type != GT_TYPE_STRING) make_string(other, c);
    }
    gt_column_index_free(&index);
}

/* ---- combining ---- */

static void add_source(gt_table *table, const char *label)
{
    size_t old = gt_table_find(table, GT_COL_SOURCE);
    if (old != SIZE_MAX) gt_table_drop_column(table, old); /* of an earlier combination: replaced */
    size_t column = gt_table_add_column(table, GT_COL_SOURCE, GT_TYPE_STRING);
    for (size_t row = 0; row < table->row_count; row++) gt_table_set_cstr(table, column, row, label);
}

static gt_table *combine(const gt_table *baseline, const gt_table *test, gt_run_labels labels)
{
    gt_table *all = gt_table_copy(baseline), *more = gt_table_copy(test);
    gt_error error;
    match_columns(all, more);
    match_columns(more, all);
    add_source(all, labels.baseline);
    add_source(more, labels.test);
    if (!gt_table_append(all, more, &error)) gt_warn("sheet %s: %s", all->name, error.text);
    gt_table_free(more);
    gt_report_table_round(all);
    return all;
}

void gt_combine_runs(const gt_table_list *baseline, const gt_table_list *test, gt_run_labels labels,
                     gt_table_list *tables)
{
    for (size_t i = 0; i < baseline->count; i++) {
        const gt_table *table = baseline->items[i];
        const gt_table *other = gt_table_list_find_any(test, gt_sheet_named(table->name));
        if (other)
            gt_table_list_add(tables, combine(table, other, labels));
        else
            gt_info("sheet %s is only in %s", table->name, labels.baseline);
    }
}

/* ---- apart again ---- */

static gt_table *rows_of(const gt_table *combined, size_t source, uint32_t id)
{
    uint8_t *keep = gt_alloc_zero(combined->row_count + 1, 1);
    for (size_t row = 0; row < combined->row_count; row++)
        keep[row] = combined->columns[source].texts[row] == id;
    gt_table *rows = gt_table_copy(combined);
    gt_table_keep(rows, keep);
    gt_free(keep);
    return rows;
}

/* The first two different values of a column; less than two: GT_STR_NONE. */
static void find_sources(const gt_table *combined, size_t source, uint32_t *first, uint32_t *second)
{
    const uint32_t *texts = combined->columns[source].texts;
    *first = *second = GT_STR_NONE;
    for (size_t row = 0; row < combined->row_count && *second == GT_STR_NONE; row++) {
        if (texts[row] == GT_STR_NONE || texts[row] == *first) continue;
        if (*first == GT_STR_NONE)
            *first = texts[row];
        else
            *second = texts[row];
    }
}

bool gt_run_pair_split(gt_run_pair *pair, const gt_table *combined, gt_run_labels labels, gt_error *error)
{
    *pair = (gt_run_pair){.sources = labels};
    size_t source = gt_table_find(combined, GT_COL_SOURCE);
    if (source == SIZE_MAX || combined->columns[source].type == GT_TYPE_LIST)
        return gt_fail(error, "sheet %s: no column source with names of runs", combined->name);
    gt_table *rows = gt_table_copy(combined);
    /* runs called "1" and "2" were read as numbers */
    if (rows->columns[source].type != GT_TYPE_STRING) make_string(rows, source);
    uint32_t first, second;
    find_sources(rows, source, &first, &second);
    if (second == GT_STR_NONE) {
        first = gt_interner_add_cstr(rows->strings, labels.baseline);
        second = gt_interner_add_cstr(rows->strings, labels.test);
    }
    pair->sources = (gt_run_labels){gt_interner_get(rows->strings, first).bytes,
                                    gt_interner_get(rows->strings, second).bytes};
    pair->baseline = rows_of(rows, source, first);
    pair->test = rows_of(rows, source, second);
    gt_table_free(rows);
    return true;
}

void gt_run_pair_free(gt_run_pair *pair)
{
    gt_table_free(pair->baseline);
    gt_table_free(pair->test);
    *pair = (gt_run_pair){0};
}

/* ---- looks ---- */

gt_sheet_style *gt_run_styles(const gt_table_list *tables)
{
    gt_sheet_style *styles = gt_alloc_zero(tables->count + 1, sizeof *styles);
    for (size_t i = 0; i < tables->count; i++) {
        const gt_table *table = tables->items[i];
        bool is_comparison = strstr(table->name, "Comparison") || strstr(table->name, "_cmp");
        styles[i].scale_prefix = is_comparison ? "percent_change" : NULL;
        styles[i].has_number_names =
            gt_table_is(table, GT_SHEET_PER_RANK_TIME_MS) || gt_table_is(table, GT_SHEET_PER_RANK_PERCENT);
    }
    return styles;
}
