/* Large tables: group, sort, statistics and copies give what plain loops give, with any number of threads.
 *
 * Threads share the aggregates of a group-by. */
#include "test_table_strings.h"
#include "base/memory.h"
#include "base/team.h"
#include "table/operations.h"
#include "table/stats.h"

static const unsigned team_sizes[] = {1, 3};

/* A build with sanitizers would take half a minute for all rows. */
enum { ROWS = GT_ADDRESS_SANITIZER ? 12000 : 60000, TEXTS = 700, KEYS_MAX = 4 };

/* How the keys of a table are distributed. */
typedef enum shape { FEW_KEYS, ONE_KEY_IN_MOST_ROWS, ALMOST_ALL_KEYS_DIFFER, SORTED_KEYS, SHAPES } shape;

static int64_t random_key(shape of, int64_t row)
{
    switch (of) {
    case FEW_KEYS:
        return random_below(300);
    case ONE_KEY_IN_MOST_ROWS:
        return random_below(10) ? 7 : (int64_t)random_below(90000);
    case ALMOST_ALL_KEYS_DIFFER:
        return (int64_t)random_below(1u << 30) << 32 | random_below(1u << 30);
    default:
        return row / 3;
    }
}

/* Column `k` by shape, `wide` with the least and the greatest integer, and others. */
static gt_table *make_table(shape of)
{
    static const gt_column_head heads[] = {
        {GT_COL("k"), GT_TYPE_INT},       {GT_COL("wide"), GT_TYPE_INT},  {GT_COL("f"), GT_TYPE_FLOAT},
        {GT_COL("text"), GT_TYPE_STRING}, {GT_COL("flag"), GT_TYPE_BOOL}, {GT_COL("v"), GT_TYPE_FLOAT},
        {GT_COL("n"), GT_TYPE_INT},
    };
    uint32_t texts[TEXTS];
    char text[32];
    for (int i = 0; i < TEXTS; i++) {
        snprintf(text, sizeof text, "%s%d", i % 3 ? "kernel_with_a_long_name_" : "k", i * 7919 % TEXTS);
        texts[i] = gt_interner_add_cstr(strings, text);
    }
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_rows(table, ROWS);
    for (size_t row = 0; row < ROWS; row++) {
        int64_t key = random_key(of, (int64_t)row);
        table->columns[0].ints[row] = key;
        table->columns[1].ints[row] = random_below(4) ? key : random_below(2) ? INT64_MIN : INT64_MAX;
        table->columns[2].floats[row] = random_below(50) ? (double)(key % 1000) / 8 : -0.0;
        table->columns[3].texts[row] = texts[(uint64_t)key % TEXTS];
        table->columns[4].bools[row] = key % 5 == 0;
        table->columns[5].floats[row] = random_below(1u << 30) / 1e3 - 1e5;
        table->columns[6].ints[row] = (int64_t)random_below(1000) - 500;
        if (random_below(100) == 0) gt_table_set_null(table, random_below(7), row);
    }
    return table;
}

/* ---- the reference: sorts the rows by comparing cells, then walks them ---- */

static const gt_column *compared[KEYS_MAX];
static bool compared_descending[KEYS_MAX];
static size_t compared_count;

static int compare_cells(const gt_column *column, size_t a, size_t b)
{
    switch (column->type) {
    case GT_TYPE_INT:
        return (column->ints[a] > column->ints[b]) - (column->ints[a] < column->ints[b]);
    case GT_TYPE_FLOAT:
        return (column->floats[a] > column->floats[b]) - (column->floats[a] < column->floats[b]);
    case GT_TYPE_BOOL:
        return column->bools[a] - column->bools[b];
    default:
        return strcmp(gt_interner_get(strings, column->texts[a]).bytes,
                      gt_interner_get(strings, column->texts[b]).bytes);
    }
}

static int compare_keys(uint32_t a, uint32_t b)
{
    for (size_t k = 0; k < compared_count; k++) {
        const gt_column *column = compared[k];
        bool a_null = gt_column_is_null(column, a), b_null = gt_column_is_null(column, b);
        if (a_null || b_null) {
            if (a_null != b_null) return a_null ? 1 : -1;
            continue;
        }
        int order = compare_cells(column, a, b);
        if (order) return compared_descending[k] ? -order : order;
    }
    return 0;
}

static int compare_rows(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_keys(a, b);
    return order ? order : (a > b) - (a < b);
}

static uint32_t *order_slowly(const gt_table *table, const gt_sort_key *keys, size_t key_count)
{
    uint32_t *rows = malloc(ROWS * sizeof *rows);
    for (uint32_t row = 0; row < ROWS; row++) rows[row] = row;
    compared_count = key_count;
    for (size_t k = 0; k < key_count; k++) {
        compared[k] = gt_table_column(table, keys[k].column);
        compared_descending[k] = keys[k].descending;
    }
    qsort(rows, ROWS, sizeof *rows, compare_rows);
    return rows;
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* What a group must have, from its rows in order. */
typedef struct expectation {
    uint32_t first_row;
    int64_t size, count, int_sum;
    double sum, median, std, min, max, first, last;
    uint32_t least_text;
} expectation;

static expectation expect_group(const gt_table *table, const uint32_t *rows, size_t count)
{
    const double *v = gt_table_column(table, GT_COL("v"))->floats;
    const gt_column *n = gt_table_column(table, GT_COL("n")), *text = gt_table_column(table, GT_COL("text"));
    expectation e = {.first_row = rows[0], .size = (int64_t)count, .min = NAN, .max = NAN, .first = NAN};
    e.last = e.median = e.std = NAN;
    double carry = 0, mean = 0, squares = 0, *sorted = malloc(count * sizeof *sorted);
    for (size_t i = 0; i < count; i++) {
        if (!gt_column_is_null(n, rows[i])) e.int_sum += n->ints[rows[i]];
        uint32_t id = text->texts[rows[i]];
        if (id && (!e.least_text || strcmp(gt_interner_get(strings, id).bytes,
                                           gt_interner_get(strings, e.least_text).bytes) < 0))
            e.least_text = id;
        double value = v[rows[i]];
        if (isnan(value)) continue;
        double added = value - carry, sum = e.sum + added, before = mean;
        carry = (sum - e.sum) - added;
        e.sum = sum;
        sorted[e.count++] = value;
        mean += (value - before) / (double)e.count;
        squares += (value - mean) * (value - before);
        e.first = e.count == 1 ? value : e.first;
        e.last = value;
    }
    qsort(sorted, (size_t)e.count, sizeof *sorted, compare_numbers);
    if (e.count) {
        e.min = sorted[0], e.max = sorted[e.count - 1];
        e.median = e.count % 2 ? sorted[e.count / 2] : (sorted[e.count / 2 - 1] + sorted[e.count / 2]) / 2;
    }
    if (e.count > 1) e.std = sqrt(squares / (double)(e.count - 1));
    free(sorted);
    return e;
}

static int by_first_row(const void *left, const void *right)
{
    const expectation *a = left, *b = right;
    return (a->first_row > b->first_row) - (a->first_row < b->first_row);
}

typedef struct request {
    const gt_table *table;
    const gt_sort_key *keys; /* also the keys of the groups */
    size_t key_count;
    gt_group_options options;
    uint32_t *order;
    expectation *groups;
    size_t group_count;
} request;

static bool is_dropped(const request *r, uint32_t row)
{
    for (size_t k = 0; k < r->key_count && !r->options.keep_nulls; k++)
        if (gt_column_is_null(gt_table_column(r->table, r->keys[k].column), row)) return true;
    return false;
}

/* Fills in what the request must give. */
static void work_out(request *r)
{
    r->order = order_slowly(r->table, r->keys, r->key_count);
    gt_sort_key ascending[KEYS_MAX];
    for (size_t k = 0; k < r->key_count; k++) ascending[k] = (gt_sort_key){r->keys[k].column, false};
    uint32_t *rows = order_slowly(r->table, ascending, r->key_count);
    r->groups = malloc(ROWS * sizeof *r->groups);
    r->group_count = 0;
    for (size_t begin = 0, end; begin < ROWS; begin = end) {
        for (end = begin + 1; end < ROWS && compare_keys(rows[begin], rows[end]) == 0;) end++;
        if (!is_dropped(r, rows[begin]))
            r->groups[r->group_count++] = expect_group(r->table, rows + begin, end - begin);
    }
    free(rows);
    if (!r->options.sorted) qsort(r->groups, r->group_count, sizeof *r->groups, by_first_row);
}

static const gt_aggregate aggregates[] = {
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL("size")},       {GT_COL("v"), GT_GROUP_COUNT, GT_COL("count")},
    {GT_COL("n"), GT_GROUP_SUM, GT_COL("int_sum")},   {GT_COL("v"), GT_GROUP_SUM, GT_COL("sum")},
    {GT_COL("v"), GT_GROUP_MEDIAN, GT_COL("median")}, {GT_COL("v"), GT_GROUP_STD, GT_COL("std")},
    {GT_COL("v"), GT_GROUP_MIN, GT_COL("min")},       {GT_COL("v"), GT_GROUP_MAX, GT_COL("max")},
    {GT_COL("v"), GT_GROUP_FIRST, GT_COL("first")},   {GT_COL("v"), GT_GROUP_LAST, GT_COL("last")},
    {GT_COL("text"), GT_GROUP_MIN, GT_COL("least")},  {GT_COL("n"), GT_GROUP_MEDIAN, GT_COL("int_median")},
};

static void expect_number(const gt_column *column, size_t row, double expected)
{
    double actual = gt_column_number(column, row);
    if (actual == expected || (isnan(actual) && isnan(expected))) return;
    fail_msg("%s of group %zu is %.17g instead of %.17g", column->name, row, actual, expected);
}

static void expect_same_cell(const gt_column *a, size_t row, const gt_column *b, size_t other)
{
    bool same = gt_column_is_null(a, row) == gt_column_is_null(b, other);
    if (same && !gt_column_is_null(a, row)) {
        if (a->type == GT_TYPE_INT)
            same = a->ints[row] == b->ints[other];
        else if (a->type == GT_TYPE_FLOAT)
            same = a->floats[row] == b->floats[other];
        else if (a->type == GT_TYPE_STRING)
            same = a->texts[row] == b->texts[other];
        else
            same = a->bools[row] == b->bools[other];
    }
    if (!same) fail_msg("%s of row %zu is not that of row %zu", a->name, row, other);
}

static void check_group_by(const request *r)
{
    gt_col names[KEYS_MAX];
    for (size_t k = 0; k < r->key_count; k++) names[k] = r->keys[k].column;
    gt_table *result =
        gt_table_group(r->table, names, r->key_count, aggregates, GT_LENGTH(aggregates), r->options);
    assert_int_equal(result->row_count, r->group_count);
    const gt_column *column = &result->columns[r->key_count]; /* the first aggregate */
    for (size_t g = 0; g < r->group_count; g++) {
        const expectation *e = &r->groups[g];
        const double numbers[] = {
            (double)e->size, (double)e->count, (double)e->int_sum, e->sum, e->median, e->std,
            e->min,          e->max,           e->first,           e->last};
        for (size_t i = 0; i < GT_LENGTH(numbers); i++) expect_number(&column[i], g, numbers[i]);
        assert_true(column[GT_LENGTH(numbers)].texts[g] == e->least_text);
        for (size_t k = 0; k < r->key_count; k++)
            expect_same_cell(&result->columns[k], g, gt_table_column_near(r->table, names[k], k),
                             e->first_row);
    }
    gt_table_free(result);
}

/* Each row is in the group of its first row, and the rows of a group are listed in order. */
static void check_groups(const request *r)
{
    gt_col names[KEYS_MAX];
    for (size_t k = 0; k < r->key_count; k++) names[k] = r->keys[k].column;
    gt_groups groups = gt_groups_find(r->table, names, r->key_count, r->options);
    assert_int_equal(groups.count, r->group_count);
    gt_group_rows rows = gt_group_rows_find(&groups);
    assert_int_equal(rows.begins[0], 0);
    for (size_t g = 0; g < groups.count; g++) {
        assert_int_equal(groups.first_row[g], r->groups[g].first_row);
        assert_int_equal(rows.begins[g + 1] - rows.begins[g], r->groups[g].size);
        assert_int_equal(rows.rows[rows.begins[g]], r->groups[g].first_row);
        for (size_t i = rows.begins[g]; i < rows.begins[g + 1]; i++) {
            bool in_order = i == rows.begins[g] || rows.rows[i] > rows.rows[i - 1];
            if (groups.of_row[rows.rows[i]] != g || !in_order)
                fail_msg("row %u is at place %zu", rows.rows[i], i);
        }
    }
    for (uint32_t row = 0; row < ROWS; row++)
        if ((groups.of_row[row] == GT_NO_GROUP) != is_dropped(r, row)) fail_msg("row %u", row);
    gt_group_rows_free(&rows);
    gt_groups_free(&groups);
}

/* A sorted copy has the rows in the order of the reference. */
static void check_order(const request *r)
{
    uint32_t *order = gt_table_order(r->table, r->keys, r->key_count);
    assert_memory_equal(order, r->order, ROWS * sizeof *order);
    gt_table *sorted = gt_table_copy(r->table);
    gt_table_sort(sorted, r->keys, r->key_count);
    for (size_t c = 0; c < sorted->column_count; c++)
        for (size_t row = 0; row < ROWS; row++)
            expect_same_cell(&sorted->columns[c], row, &r->table->columns[c], order[row]);
    gt_table_free(sorted);
    gt_free(order);
}

static void check_all(void *context)
{
    check_groups(context);
    check_group_by(context);
    check_order(context);
}

static void check_on_all_teams(shape of, const gt_sort_key *keys, size_t key_count, gt_group_options options)
{
    gt_table *table = make_table(of);
    request r = {.table = table, .keys = keys, .key_count = key_count, .options = options};
    work_out(&r);
    for (size_t i = 0; i < GT_LENGTH(team_sizes); i++) gt_team_run(team_sizes[i], check_all, &r);
    free(r.order);
    free(r.groups);
    gt_table_free(table);
}

static void one_key(void **state)
{
    (void)state;
    static const gt_sort_key keys[] = {{GT_COL("k"), true}};
    for (shape of = FEW_KEYS; of < SHAPES; of++)
        check_on_all_teams(of, keys, 1,
                           (gt_group_options){.sorted = of % 2 == 1, .keep_nulls = of == FEW_KEYS});
}

static void integers_too_far_apart_for_64_bits(void **state)
{
    (void)state;
    static const gt_sort_key keys[] = {{GT_COL("wide"), false}};
    check_on_all_teams(FEW_KEYS, keys, 1, (gt_group_options){0});
    check_on_all_teams(ALMOST_ALL_KEYS_DIFFER, keys, 1, (gt_group_options){.keep_nulls = true});
}

static void text_and_flag(void **state)
{
    (void)state;
    static const gt_sort_key keys[] = {{GT_COL("text"), false}, {GT_COL("flag"), true}};
    check_on_all_teams(FEW_KEYS, keys, 2, (gt_group_options){0});
    check_on_all_teams(ONE_KEY_IN_MOST_ROWS, keys, 2, (gt_group_options){.sorted = true, .keep_nulls = true});
}

static void keys_that_do_not_fit_together(void **state)
{
    (void)state;
    static const gt_sort_key keys[] = {
        {GT_COL("f"), false}, {GT_COL("wide"), true}, {GT_COL("v"), false}, {GT_COL("text"), true}};
    check_on_all_teams(FEW_KEYS, keys, 2, (gt_group_options){.keep_nulls = true});
    check_on_all_teams(FEW_KEYS, keys, 4, (gt_group_options){0});
    check_on_all_teams(ALMOST_ALL_KEYS_DIFFER, keys, 4, (gt_group_options){.sorted = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_key),
        cmocka_unit_test(integers_too_far_apart_for_64_bits),
        cmocka_unit_test(text_and_flag),
        cmocka_unit_test(keys_that_do_not_fit_together),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
