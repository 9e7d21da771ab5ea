/* The sheets gpu_timeline of the ranks of one run, and the comparison of those of two runs. */
#include "sweep/compare/compare.h"
#include "base/guard.h"
#include "compat/number.h"
#include "schema/columns.h"
#include "sweep/tables/tables.h"

double gt_percent_less(double baseline, double test)
{
    return baseline != 0 ? (baseline - test) / baseline * 100 : 0;
}

double gt_ratio_of(double baseline, double test)
{
    return baseline != 0 ? test / baseline : 0;
}

/* ---- one run ---- */

static int by_file(const void *a, const void *b)
{
    const gt_setting_report *x = *(const gt_setting_report *const *)a,
                            *y = *(const gt_setting_report *const *)b;
    return strcmp(x->file, y->file);
}

/* type, time ms, percent, rank, in the byte order of the names of files, rank 10 before rank 2: the last
 * digit of a mean depends on the order. NULL if no report has a timeline. */
static gt_table *rank_rows(const gt_setting_reports *reports)
{
    const gt_setting_report **order = gt_alloc((reports->count + 1) * sizeof(*order));
    gt_table *all = NULL;
    for (size_t i = 0; i < reports->count; i++) order[i] = &reports->items[i];
    if (reports->count) qsort(order, reports->count, sizeof(*order), by_file);
    for (size_t i = 0; i < reports->count; i++) {
        gt_table *rows = gt_timeline_rows(order[i]);
        if (!rows) continue;
        size_t rank = gt_table_add_zeroed(rows, GT_COL_RANK, GT_TYPE_INT);
        for (size_t row = 0; row < rows->row_count; row++) rows->columns[rank].ints[row] = order[i]->rank;
        if (!all) {
            all = rows;
            continue;
        }
        gt_table_append_same(all, rows);
        gt_table_free(rows);
    }
    if (all) gt_table_rename(all, GT_SHEET_ALL_RANKS_COMBINED);
    gt_free(order);
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

/* Like pandas, without ranks and types that have no value at all. */
static gt_table *pivot_of(const gt_table *rows, gt_col values, gt_sheet name, gt_error *error)
{
    static const gt_col index[] = {GT_COL_TYPE};
    gt_table *known = gt_table_copy(rows);
    const gt_column *numbers = gt_table_column(rows, values);
    uint8_t *keep = gt_alloc_zero(rows->row_count + 1, 1);
    for (size_t row = 0; row < rows->row_count; row++) keep[row] = !gt_column_is_null(numbers, row);
    gt_table_keep(known, keep);
    gt_free(keep);
    gt_table *pivot = gt_table_pivot(
        known, &(gt_pivot){.index = index, .index_count = 1, .columns = GT_COL_RANK, .values = values},
        error);
    gt_table_free(known);
    if (pivot) gt_table_rename(pivot, name);
    return pivot;
}

bool gt_run_timeline(const gt_setting_reports *reports, bool geometric, const char *name,
                     gt_table_list *tables, gt_error *error)
{
    static const gt_sort_key order[] = {{GT_COL_RANK, false}, {GT_COL_TYPE, false}};
    gt_table *rows = rank_rows(reports);
    if (!rows) return gt_fail(error, "%s: no report has a readable sheet gpu_timeline", name);
    gt_table *summary = summary_of(rows, reports->count, geometric);
    gt_table_sort(rows, order, GT_LENGTH(order));
    gt_table *times = pivot_of(rows, GT_COL_TIME_MS, GT_SHEET_PER_RANK_TIME_MS, error);
    gt_table *percents = times ? pivot_of(rows, GT_COL_PERCENT, GT_SHEET_PER_RANK_PERCENT, error) : NULL;
    gt_table_list_add(tables, summary);
    gt_table_list_add(tables, rows);
    if (times) gt_table_list_add(tables, times);
    if (percents) gt_table_list_add(tables, percents);
    for (size_t i = 0; i < tables->count; i++) gt_report_table_round(tables->items[i]);
    if (!percents) gt_error_prefix(error, name);
    return percents != NULL;
}

/* ---- changes ---- */

typedef struct comparison {
    gt_table *table;
    bool by_rank;
    size_t next; /* column being filled */
    size_t row;
} comparison;

static comparison new_comparison(gt_sheet sheet, bool by_rank, gt_run_labels labels, gt_interner *strings)
{
    const struct {
        const char *before, *name; /* label of a run; NULL: none */
        gt_type type;
        bool only_by_rank;
    } columns[] = {
        {NULL, "rank", GT_TYPE_INT, true},
        {NULL, "type", GT_TYPE_STRING, false},
        {labels.baseline, "_time_ms", GT_TYPE_FLOAT, false},
        {labels.test, "_time_ms", GT_TYPE_FLOAT, false},
        {NULL, "diff_time_ms", GT_TYPE_FLOAT, false},
        {NULL, "percent_change", GT_TYPE_FLOAT, false},
        {NULL, "status", GT_TYPE_STRING, true},
        {NULL, "ratio", GT_TYPE_FLOAT, false},
        {labels.baseline, "_percent", GT_TYPE_FLOAT, false},
        {labels.test, "_percent", GT_TYPE_FLOAT, false},
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

/* ---- sheets of a combination ---- */

/* A copy with numbers where numbers are needed. NULL if the sheet is missing or is not as it should be. */
static gt_table *usable_sheet(const gt_table_list *combined, gt_sheet sheet, bool by_rank, gt_error *error)
{
    static const gt_col numbers[] = {GT_COL_TIME_MS, GT_COL_PERCENT};
    const gt_table *found = gt_table_list_find_any(combined, sheet);
    size_t type = found ? gt_table_find(found, GT_COL_TYPE) : 0;
    size_t rank = found && by_rank ? gt_table_find(found, GT_COL_RANK) : SIZE_MAX;
    bool is_usable = found && type != SIZE_MAX && found->columns[type].type == GT_TYPE_STRING &&
                     (!by_rank || (rank != SIZE_MAX && found->columns[rank].type == GT_TYPE_INT &&
                                   !gt_column_has_nulls(&found->columns[rank], found->row_count)));
    gt_table *copy = is_usable ? gt_table_copy(found) : NULL;
    for (size_t i = 0; is_usable && i < GT_LENGTH(numbers); i++) {
        size_t column = gt_table_find(copy, numbers[i]);
        gt_type held = column == SIZE_MAX ? GT_TYPE_STRING : copy->columns[column].type;
        is_usable = held == GT_TYPE_INT || held == GT_TYPE_FLOAT;
        if (held == GT_TYPE_INT) gt_table_make_float(copy, column);
    }
    if (is_usable) return copy;
    gt_table_free(copy);
    if (found)
        gt_fail(error, "sheet %s: no usable columns type, time ms, percent%s", sheet.name,
                by_rank ? " and rank" : "");
    else
        gt_fail(error, "no sheet %s", sheet.name);
    return NULL;
}

static bool compare_sheet(const gt_table_list *combined, gt_sheet sheet, gt_sheet name, bool by_rank,
                          gt_run_labels labels, gt_table_list *tables, gt_error *error)
{
    static const gt_sort_key order[] = {{GT_COL_RANK, false}};
    gt_table *both = usable_sheet(combined, sheet, by_rank, error);
    gt_run_pair pair = {0};
    bool made = both && gt_run_pair_split(&pair, both, labels, error);
    if (made) {
        comparison c = new_comparison(name, by_rank, labels, both->strings);
        if (by_rank) gt_table_sort(pair.baseline, order, GT_LENGTH(order));
        compare_rows(&c, pair.baseline, pair.test);
        gt_report_table_round(c.table);
        gt_table_list_add(tables, c.table);
    }
    gt_run_pair_free(&pair);
    gt_table_free(both);
    return made;
}

bool gt_compare_timelines(const gt_table_list *combined, gt_run_labels labels, gt_table_list *tables,
                          gt_error *error)
{
    for (size_t i = 0; i < combined->count; i++) gt_table_list_add(tables, gt_table_copy(combined->items[i]));
    return compare_sheet(combined, GT_SHEET_ALL_RANKS_COMBINED, GT_SHEET_COMPARISON_BY_RANK, true, labels,
                         tables, error) &&
           compare_sheet(combined, GT_SHEET_SUMMARY, GT_SHEET_SUMMARY_COMPARISON, false, labels, tables,
                         error);
}

/* ---- dashboard ---- */

/* The columns of Summary_Comparison: type, the times of both runs, percent_change. False if one is missing.
 */
enum { TYPE, BASELINE, TEST, CHANGE, DASHBOARD_COLUMNS };
static bool find_columns(const gt_table *summary, size_t columns[DASHBOARD_COLUMNS])
{
    static const char suffix[] = "_time_ms";
    size_t times = 0;
    columns[TYPE] = gt_table_find(summary, GT_COL_TYPE);
    columns[CHANGE] = gt_table_find(summary, GT_COL_PERCENT_CHANGE);
    for (size_t c = 0; c < summary->column_count && times < 2; c++) {
        const char *name = summary->columns[c].name;
        size_t len = strlen(name);
        bool is_time = len >= strlen(suffix) && strcmp(name + len - strlen(suffix), suffix) == 0;
        /* a label may be "diff", so only the third time is the difference */
        if (is_time) columns[BASELINE + times++] = c;
    }
    return times == 2 && columns[TYPE] != SIZE_MAX && columns[CHANGE] != SIZE_MAX &&
           summary->columns[columns[TYPE]].type == GT_TYPE_STRING;
}

gt_table *gt_run_dashboard(const gt_table *summary, gt_run_labels labels, gt_error *error)
{
    size_t columns[DASHBOARD_COLUMNS];
    if (!find_columns(summary, columns)) {
        gt_fail(error, "sheet %s: no usable columns type, <run>_time_ms and percent_change", summary->name);
        return NULL;
    }
    gt_table *table = gt_table_new(GT_SHEET_SUMMARY_DASHBOARD, summary->strings);
    gt_table_add_column(table, GT_COL_METRIC, GT_TYPE_STRING);
    gt_table_add_column(table, gt_col_named(labels.baseline), GT_TYPE_FLOAT);
    gt_table_add_column(table, gt_col_named(labels.test), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_IMPROVEMENT_PCT, GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_STATUS, GT_TYPE_STRING);
    for (size_t i = 0; i < summary->row_count; i++) {
        uint32_t type = summary->columns[columns[TYPE]].texts[i];
        if (type == GT_STR_NONE) continue;
        size_t row = gt_table_add_row(table);
        double change = gt_column_number(&summary->columns[columns[CHANGE]], i);
        char *metric = gt_format("GPU_%s", gt_interner_get(summary->strings, type).bytes);
        gt_table_set_cstr(table, 0, row, metric);
        for (size_t c = BASELINE; c <= CHANGE; c++)
            gt_table_set_float(table, c, row,
                               gt_python_round2(gt_column_number(&summary->columns[columns[c]], i)));
        gt_table_set_cstr(table, 4, row, status_of(change, 0));
        gt_free(metric);
    }
    return table;
}
