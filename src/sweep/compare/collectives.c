/* Compares the summary sheets of two collective reports, which are combined in one. */
#include "sweep/compare/compare.h"
#include "schema/columns.h"

enum { NAME, DTYPE, ELEMENTS, KEYS };
static const gt_col KEY_COLUMNS[KEYS] = {GT_COL_COLLECTIVE_NAME, GT_COL_DTYPE, GT_COL_IN_MSG_NELEMS};

static const struct {
    gt_sheet sheet, comparison;
} COMPARED[] = {{GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC, GT_SHEET_NCCL_IMPLICIT_SYNC_CMP},
                {GT_SHEET_NCCL_SUMMARY_LONG, GT_SHEET_NCCL_LONG_CMP}};

typedef enum good { NEITHER, LESS, MORE } good;
static const struct {
    gt_col column;
    good is_good; /* meaning of a positive percent_change; NEITHER: no such column */
} MEASURES[] = {{GT_COL_COMM_LATENCY_MEAN, LESS},
                {GT_COL_ALGO_BW_GB_PER_S_MEAN, MORE},
                {GT_COL_BUS_BW_GB_PER_S_MEAN, MORE},
                {GT_COL_TOTAL_COMM_LATENCY_MS, LESS},
                {GT_COL_COUNT, NEITHER}};

/* ---- matching rows ---- */

/* How many columns identify a collective: all three, or only the name if the sheet lacks others. 0 if it
 * lacks the name, or if a column has another type than in collective reports. */
static size_t count_keys(const gt_table *baseline, const gt_table *test)
{
    size_t keys = 0;
    for (size_t k = 0; k < KEYS; k++) {
        size_t column = gt_table_find(baseline, KEY_COLUMNS[k]);
        if (column == SIZE_MAX) return keys > 0;
        const gt_column *here = &baseline->columns[column], *there = &test->columns[column];
        bool is_right = k == ELEMENTS ? gt_column_is_number(here) && gt_column_is_number(there)
                                      : here->type == GT_TYPE_STRING;
        if (!is_right) return k == NAME ? 0 : 1;
        keys++;
    }
    return keys;
}

/* The entry for the key of a row; NULL if a part of the key is missing. */
static uint32_t *place_of(gt_map *places, const gt_table *table, size_t row, size_t keys)
{
    uint32_t name = gt_table_column(table, KEY_COLUMNS[NAME])->texts[row], dtype = 0;
    uint64_t bits = 0;
    if (keys == KEYS) {
        dtype = gt_table_column(table, KEY_COLUMNS[DTYPE])->texts[row];
        double elements = gt_column_number(gt_table_column(table, KEY_COLUMNS[ELEMENTS]), row);
        if (isnan(elements)) return NULL;
        memcpy(&bits, &elements, sizeof bits);
    }
    if (name == GT_STR_NONE || dtype == GT_STR_NONE) return NULL;
    return gt_map_put(places, (uint64_t)name << 32 | dtype, bits);
}

/* The first row of each key, in the order of the keys. */
static gt_table *first_rows(const gt_table *table, size_t keys)
{
    static const gt_sort_key order[] = {
        {GT_COL_COLLECTIVE_NAME, false}, {GT_COL_DTYPE, false}, {GT_COL_IN_MSG_NELEMS, false}};
    gt_map places = {0};
    uint8_t *keep = gt_alloc_zero(table->row_count + 1, 1);
    for (size_t row = 0; row < table->row_count; row++) {
        uint32_t *place = place_of(&places, table, row, keys);
        keep[row] = place && *place == GT_MAP_NONE;
        if (place) *place = 0;
    }
    gt_table *firsts = gt_table_copy(table);
    gt_table_keep(firsts, keep);
    gt_table_sort(firsts, order, keys);
    gt_free(keep);
    gt_map_free(&places);
    return firsts;
}

/* Reduces both tables to the rows whose key both have, in the same order. */
static void match_rows(gt_table *baseline, gt_table *test, size_t keys)
{
    gt_map places = {0};
    uint32_t *base_rows = gt_alloc((baseline->row_count + 1) * sizeof *base_rows);
    uint32_t *test_rows = gt_alloc((baseline->row_count + 1) * sizeof *test_rows);
    size_t count = 0;
    for (size_t row = 0; row < test->row_count; row++) *place_of(&places, test, row, keys) = (uint32_t)row;
    for (size_t row = 0; row < baseline->row_count; row++) {
        uint32_t place = *place_of(&places, baseline, row, keys);
        if (place == GT_MAP_NONE) continue;
        base_rows[count] = (uint32_t)row;
        test_rows[count++] = place;
    }
    gt_table_take(baseline, base_rows, count);
    gt_table_take(test, test_rows, count);
    gt_free_all(base_rows, test_rows);
    gt_map_free(&places);
}

/* ---- columns of the comparison ---- */

static void add_column(gt_table *table, const char *before, const char *measure, bool whole,
                       const double *values)
{
    char *name = gt_format("%s_%s", before, measure);
    size_t column = gt_table_add_column(table, gt_col_named(name), whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t row = 0; row < table->row_count; row++) {
        if (whole && !isnan(values[row])) gt_table_set_int(table, column, row, (int64_t)values[row]);
        if (!whole) gt_table_set_float(table, column, row, values[row]);
    }
    gt_free(name);
}

static void add_measure(gt_table *table, size_t measure, const gt_column *base, const gt_column *test,
                        const char *base_label, const char *test_label)
{
    enum { BEFORE, AFTER, DIFFERENCE, CHANGE, RATIO, COLUMNS };
    const char *name = MEASURES[measure].column.name;
    bool whole = base->type == GT_TYPE_INT && test->type == GT_TYPE_INT;
    size_t rows = table->row_count;
    double *values[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) values[i] = gt_alloc((rows + 1) * sizeof **values);
    for (size_t row = 0; row < rows; row++) {
        double before = gt_column_number(base, row), after = gt_column_number(test, row),
               less = gt_percent_less(before, after);
        values[BEFORE][row] = before;
        values[AFTER][row] = after;
        values[DIFFERENCE][row] = after - before;
        values[CHANGE][row] = MEASURES[measure].is_good == LESS ? less
                              : before != 0                     ? (after - before) / before * 100
                                                                : 0;
        values[RATIO][row] = gt_ratio_of(before, after);
    }
    add_column(table, base_label, name, whole, values[BEFORE]);
    add_column(table, test_label, name, whole, values[AFTER]);
    add_column(table, "diff", name, whole, values[DIFFERENCE]);
    if (MEASURES[measure].is_good != NEITHER)
        add_column(table, "percent_change", name, false, values[CHANGE]);
    add_column(table, "ratio", name, false, values[RATIO]);
    for (size_t i = 0; i < COLUMNS; i++) gt_free(values[i]);
}

static gt_table *compare_sheets(const gt_run_pair *pair, size_t keys, gt_sheet name)
{
    gt_table *before = first_rows(pair->baseline, keys), *after = first_rows(pair->test, keys);
    match_rows(before, after, keys);
    gt_table *table = gt_table_copy(before);
    gt_table_select(table, KEY_COLUMNS, keys);
    gt_table_rename(table, name);
    for (size_t m = 0; m < GT_LENGTH(MEASURES); m++) {
        size_t column = gt_table_find(before, MEASURES[m].column);
        if (column == SIZE_MAX || !gt_column_is_number(&before->columns[column])) continue;
        add_measure(table, m, &before->columns[column], &after->columns[column], pair->sources.baseline,
                    pair->sources.test);
    }
    gt_table_free(before);
    gt_table_free(after);
    gt_report_table_round(table);
    return table;
}

/* ---- all sheets ---- */

static bool is_summary(const gt_table *table)
{
    return strcasestr(table->name, "summary") != NULL;
}

/* Nothing is added if one run has no rows. */
static bool compare_sheet(const gt_table *combined, gt_sheet name, gt_run_labels labels,
                          gt_table_list *tables, gt_error *error)
{
    gt_run_pair pair;
    bool split = gt_run_pair_split(&pair, combined, labels, error);
    if (split && pair.baseline->row_count && pair.test->row_count) {
        size_t keys = count_keys(pair.baseline, pair.test);
        if (keys)
            gt_table_list_add(tables, compare_sheets(&pair, keys, name));
        else
            gt_warn("sheet %s not compared: no Collective name", combined->name);
    }
    gt_run_pair_free(&pair);
    return split;
}

bool gt_compare_collectives(const gt_table_list *combined, gt_run_labels labels, gt_table_list *tables,
                            gt_error *error)
{
    bool made = true;
    for (size_t i = 0; i < combined->count; i++)
        if (is_summary(combined->items[i])) gt_table_list_add(tables, gt_table_copy(combined->items[i]));
    for (size_t i = 0; made && i < GT_LENGTH(COMPARED); i++) {
        const gt_table *sheet = gt_table_list_find_any(combined, COMPARED[i].sheet);
        made = !sheet || compare_sheet(sheet, COMPARED[i].comparison, labels, tables, error);
    }
    return made;
}
