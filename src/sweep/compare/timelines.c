/* Compares the sheets gpu_timeline of two runs. */
#include "sweep/compare/compare.h"
#include "base/guard.h"
#include "base/map.h"
#include "base/memory.h"
#include "compat/number.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "sweep/tables/tables.h"
#include "table/operations.h"

#include <stdio.h>
#include <stdlib.h>

double gt_percent_less(double baseline, double test)
{
    return baseline != 0 ? (baseline - test) / baseline * 100 : 0;
}

double gt_ratio_of(double baseline, double test)
{
    return baseline != 0 ? test / baseline : 0;
}

/* ---- one run ---- */

gt_table *gt_run_rank_rows(const gt_setting_reports *reports)
{
    static const gt_sort_key order[] = {{GT_COL_RANK, false}, {GT_COL_TYPE, false}};
    gt_table *all = NULL;
    for (size_t i = 0; i < reports->count; i++) {
        gt_table *rows = gt_timeline_rows(&reports->items[i]);
        if (!rows) continue;
        size_t rank = gt_table_add_zeroed(rows, GT_COL_RANK, GT_TYPE_INT);
        for (size_t row = 0; row < rows->row_count; row++)
            rows->columns[rank].ints[row] = reports->items[i].rank;
        if (!all) {
            all = rows;
            continue;
        }
        gt_table_append_same(all, rows);
        gt_table_free(rows);
    }
    if (all) gt_table_sort(all, order, GT_LENGTH(order));
    if (all) gt_table_rename(all, GT_SHEET_ALL_RANKS_COMBINED);
    return all;
}

static gt_table *summary_of(const gt_table *rows, size_t ranks, bool geometric)
{
    gt_table *summary = gt_timeline_means(rows, geometric);
    size_t column = gt_table_add_zeroed(summary, GT_COL_NUM_RANKS, GT_TYPE_INT);
    for (size_t row = 0; row < summary->row_count; row++) summary->columns[column].ints[row] = (int64_t)ranks;
    gt_table_rename(summary, GT_SHEET_SUMMARY);
    return summary;
}

static gt_table *pivot_of(const gt_table *rows, gt_col values, gt_sheet name, gt_error *error)
{
    static const gt_col index[] = {GT_COL_TYPE};
    gt_table *pivot = gt_table_pivot(
        rows, &(gt_pivot){.index = index, .index_count = 1, .columns = GT_COL_RANK, .values = values}, error);
    if (pivot) gt_table_rename(pivot, name);
    return pivot;
}

enum { SUMMARY, ALL_RANKS, TIMES, PERCENTS, TIMELINE_SHEETS };

static bool make_sheets(const gt_run_side *side, bool geometric, gt_table *sheets[TIMELINE_SHEETS],
                        gt_error *error)
{
    gt_table *rows = sheets[ALL_RANKS] = gt_run_rank_rows(side->reports);
    if (!rows) return gt_fail(error, "%s: no report has a readable sheet gpu_timeline", side->label);
    sheets[SUMMARY] = summary_of(rows, side->reports->count, geometric);
    sheets[TIMES] = pivot_of(rows, GT_COL_TIME_MS, GT_SHEET_PER_RANK_TIME_MS, error);
    sheets[PERCENTS] =
        sheets[TIMES] ? pivot_of(rows, GT_COL_PERCENT, GT_SHEET_PER_RANK_PERCENT, error) : NULL;
    if (sheets[PERCENTS]) return true;
    gt_error_prefix(error, side->label);
    return false;
}

/* ---- both runs ---- */

static void add_missing_columns(gt_table *table, const gt_table *other)
{
    for (size_t c = 0; c < other->column_count; c++)
        if (gt_table_find(table, gt_col_named(other->columns[c].name)) == SIZE_MAX)
            gt_table_add_column(table, gt_col_named(other->columns[c].name), other->columns[c].type);
}

static void add_source(gt_table *table, const char *label)
{
    size_t column = gt_table_add_column(table, GT_COL_SOURCE, GT_TYPE_STRING);
    for (size_t row = 0; row < table->row_count; row++) gt_table_set_cstr(table, column, row, label);
}

gt_table *gt_combine_runs(gt_table *baseline, gt_table *test, const char *baseline_label,
                          const char *test_label, gt_error *error)
{
    add_missing_columns(baseline, test);
    add_missing_columns(test, baseline);
    add_source(baseline, baseline_label);
    add_source(test, test_label);
    bool combined = gt_table_append(baseline, test, error);
    gt_table_free(test);
    if (combined) return baseline;
    gt_table_free(baseline);
    return NULL;
}

/* ---- changes ---- */

typedef struct comparison {
    gt_table *table;
    bool by_rank;
    size_t next; /* column being filled */
    size_t row;
} comparison;

static comparison new_comparison(gt_sheet sheet, bool by_rank, const gt_run_side *baseline,
                                 const gt_run_side *test, gt_interner *strings)
{
    const struct {
        const char *before, *name; /* label of a run; NULL: none */
        gt_type type;
        bool only_by_rank;
    } columns[] = {
        {NULL, "rank", GT_TYPE_INT, true},
        {NULL, "type", GT_TYPE_STRING, false},
        {baseline->label, "_time_ms", GT_TYPE_FLOAT, false},
        {test->label, "_time_ms", GT_TYPE_FLOAT, false},
        {NULL, "diff_time_ms", GT_TYPE_FLOAT, false},
        {NULL, "percent_change", GT_TYPE_FLOAT, false},
        {NULL, "status", GT_TYPE_STRING, true},
        {NULL, "ratio", GT_TYPE_FLOAT, false},
        {baseline->label, "_percent", GT_TYPE_FLOAT, false},
        {test->label, "_percent", GT_TYPE_FLOAT, false},
        {NULL, "diff_percent", GT_TYPE_FLOAT, false},
    };
    comparison c = {.table = gt_table_new(sheet, strings), .by_rank = by_rank};
    for (size_t i = 0; i < GT_LENGTH(columns); i++) {
        if (columns[i].only_by_rank && !by_rank) continue;
        char *full = gt_format("%s%s", columns[i].before ? columns[i].before : "", columns[i].name);
        gt_table_add_column(c.table, gt_col_named(full), columns[i].type);
        gt_free(full);
    }
    return c;
}

static void put_float(comparison *c, double value)
{
    gt_table_set_float(c->table, c->next++, c->row, value);
}

static const char *status_of(double percent_change, double better)
{
    return percent_change > better ? "Better" : percent_change < -1 ? "Worse" : "Similar";
}

static void add_row(comparison *c, const gt_table *baseline, size_t b, const gt_table *test, size_t t)
{
    const gt_column *base_ms = gt_table_column(baseline, GT_COL_TIME_MS),
                    *test_ms = gt_table_column(test, GT_COL_TIME_MS);
    const gt_column *base_percent = gt_table_column(baseline, GT_COL_PERCENT),
                    *test_percent = gt_table_column(test, GT_COL_PERCENT);
    double before = base_ms->floats[b], after = test_ms->floats[t], change = gt_percent_less(before, after);
    c->row = gt_table_add_row(c->table);
    c->next = 0;
    if (c->by_rank)
        gt_table_set_int(c->table, c->next++, c->row, gt_table_column(baseline, GT_COL_RANK)->ints[b]);
    gt_table_set_string(c->table, c->next++, c->row, gt_table_column(baseline, GT_COL_TYPE)->texts[b]);
    put_float(c, before);
    put_float(c, after);
    put_float(c, after - before);
    put_float(c, change);
    if (c->by_rank) gt_table_set_cstr(c->table, c->next++, c->row, status_of(change, 1));
    put_float(c, gt_ratio_of(before, after));
    put_float(c, base_percent->floats[b]);
    put_float(c, test_percent->floats[t]);
    put_float(c, test_percent->floats[t] - base_percent->floats[b]);
}

/* The rows of the baseline, in their order, whose type (and rank) the test also has. */
static void compare_rows(comparison *c, const gt_table *baseline, const gt_table *test)
{
    const gt_column *types = gt_table_column(test, GT_COL_TYPE),
                    *base_types = gt_table_column(baseline, GT_COL_TYPE);
    const int64_t *ranks = c->by_rank ? gt_table_column(test, GT_COL_RANK)->ints : NULL;
    const int64_t *base_ranks = c->by_rank ? gt_table_column(baseline, GT_COL_RANK)->ints : NULL;
    gt_map places = {0};
    for (size_t row = 0; row < test->row_count; row++) {
        uint32_t *place = gt_map_put(&places, types->texts[row], ranks ? (uint64_t)ranks[row] : 0);
        if (*place == GT_MAP_NONE) *place = (uint32_t)row;
    }
    for (size_t row = 0; row < baseline->row_count; row++) {
        uint32_t place =
            gt_map_get(&places, base_types->texts[row], base_ranks ? (uint64_t)base_ranks[row] : 0);
        if (place != GT_MAP_NONE && base_types->texts[row] != GT_STR_NONE)
            add_row(c, baseline, row, test, place);
    }
    gt_map_free(&places);
}

gt_table *gt_run_dashboard(const gt_table *summary, const gt_run_side *baseline, const gt_run_side *test)
{
    enum { TYPE, BASELINE, TEST, PERCENT_CHANGE = 4 }; /* columns of the summary */
    gt_table *table = gt_table_new(GT_SHEET_SUMMARY_DASHBOARD, summary->strings);
    gt_table_add_column(table, GT_COL_METRIC, GT_TYPE_STRING);
    gt_table_add_column(table, gt_col_named(baseline->label), GT_TYPE_FLOAT);
    gt_table_add_column(table, gt_col_named(test->label), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_IMPROVEMENT_PCT, GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_STATUS, GT_TYPE_STRING);
    for (size_t i = 0; i < summary->row_count; i++) {
        size_t row = gt_table_add_row(table);
        double change = summary->columns[PERCENT_CHANGE].floats[i];
        char *metric =
            gt_format("GPU_%s", gt_interner_get(summary->strings, summary->columns[TYPE].texts[i]).bytes);
        gt_table_set_cstr(table, 0, row, metric);
        gt_table_set_float(table, 1, row, gt_python_round2(summary->columns[BASELINE].floats[i]));
        gt_table_set_float(table, 2, row, gt_python_round2(summary->columns[TEST].floats[i]));
        gt_table_set_float(table, 3, row, gt_python_round2(change));
        gt_table_set_cstr(table, 4, row, status_of(change, 0));
        gt_free(metric);
    }
    return table;
}

bool gt_run_timelines(const gt_run_side *baseline, const gt_run_side *test, bool geometric,
                      gt_interner *strings, gt_table_list *tables, gt_error *error)
{
    gt_table *before[TIMELINE_SHEETS] = {0}, *after[TIMELINE_SHEETS] = {0};
    bool made = make_sheets(baseline, geometric, before, error) && make_sheets(test, geometric, after, error);
    comparison by_rank = new_comparison(GT_SHEET_COMPARISON_BY_RANK, true, baseline, test, strings);
    comparison summary = new_comparison(GT_SHEET_SUMMARY_COMPARISON, false, baseline, test, strings);
    if (made) {
        compare_rows(&by_rank, before[ALL_RANKS], after[ALL_RANKS]);
        compare_rows(&summary, before[SUMMARY], after[SUMMARY]);
    }
    for (size_t i = 0; i < TIMELINE_SHEETS; i++) {
        if (!made) {
            gt_table_free(before[i]);
            gt_table_free(after[i]);
            continue;
        }
        gt_table *both = gt_combine_runs(before[i], after[i], baseline->label, test->label, error);
        made = both != NULL;
        if (both) gt_table_list_add(tables, both);
    }
    gt_table_list_add(tables, by_rank.table);
    gt_table_list_add(tables, summary.table);
    return made;
}
