/* Joins: small tables computed by hand, random ones compared with loops over all pairs of rows. */
#include "test_table_strings.h"
#include "table/operations.h"

static const gt_col key_k[] = {GT_COL("k")};

static void join_and_expect(const char *left_text, const char *right_text, gt_join join, const char *expected)
{
    gt_error error;
    gt_table *left = read_table(strings, left_text), *right = read_table(strings, right_text);
    gt_table *result = gt_table_join(left, right, &join, &error);
    assert_non_null(result);
    expect_table(result, expected);
    gt_table_free(result);
    gt_table_free(left);
    gt_table_free(right);
}

static const char *const left_text = "a:int k:text v:int\n1 y 10\n2 x 20\n3 - 30\n4 y 40\n5 w 50\n";
static const char *const right_text = "v:float k:text b:int\n0.5 z 7\n1.5 y 8\n2.5 - 9\n3.5 y 6\n4.5 x 5\n";

static void inner_keeps_the_order_of_the_left(void **state)
{
    (void)state;
    join_and_expect(left_text, right_text, (gt_join){GT_JOIN_INNER, key_k, 1},
                    "a:int k:text v_x:int v_y:float b:int\n"
                    "1 y 10 1.5 8\n1 y 10 3.5 6\n2 x 20 4.5 5\n3 - 30 2.5 9\n4 y 40 1.5 8\n4 y 40 3.5 6\n");
}

static void left_keeps_every_left_row(void **state)
{
    (void)state;
    join_and_expect(left_text, right_text, (gt_join){GT_JOIN_LEFT, key_k, 1, "_base", "_new"},
                    "a:int k:text v_base:int v_new:float b:int\n"
                    "1 y 10 1.5 8\n1 y 10 3.5 6\n2 x 20 4.5 5\n3 - 30 2.5 9\n4 y 40 1.5 8\n4 y 40 3.5 6\n"
                    "5 w 50 - -\n");
}

static void outer_is_sorted_by_key(void **state)
{
    (void)state;
    join_and_expect(left_text, right_text, (gt_join){GT_JOIN_OUTER, key_k, 1},
                    "a:int k:text v_x:int v_y:float b:int\n"
                    "5 w 50 - -\n2 x 20 4.5 5\n1 y 10 1.5 8\n1 y 10 3.5 6\n4 y 40 1.5 8\n4 y 40 3.5 6\n"
                    "- z - 0.5 7\n3 - 30 2.5 9\n");
}

static void integers_match_floats(void **state)
{
    (void)state;
    join_and_expect("k:int a:int\n2 1\n3 2\n", "k:float b:int\n2 10\n2.5 20\n",
                    (gt_join){GT_JOIN_OUTER, key_k, 1}, "k:float a:int b:int\n2 1 10\n2.5 - 20\n3 2 -\n");
}

static void empty_tables_join(void **state)
{
    (void)state;
    static const char *const header = "k:int a:int b:int\n";
    join_and_expect("k:int a:int\n", "k:int b:int\n", (gt_join){GT_JOIN_OUTER, key_k, 1}, header);
    join_and_expect("k:int a:int\n", "k:int b:int\n1 2\n", (gt_join){GT_JOIN_LEFT, key_k, 1}, header);
    join_and_expect("k:int a:int\n", "k:int b:int\n1 2\n", (gt_join){GT_JOIN_OUTER, key_k, 1},
                    "k:int a:int b:int\n1 - 2\n");
    join_and_expect("k:int a:int\n1 2\n", "k:int b:int\n", (gt_join){GT_JOIN_LEFT, key_k, 1},
                    "k:int a:int b:int\n1 2 -\n");
}

static void strings_of_two_intern_tables_match(void **state)
{
    (void)state;
    gt_error error;
    gt_interner *others = gt_interner_new();
    gt_interner_add_cstr(others, "shifts the ids");
    gt_table *left = read_table(strings, "k:text a:text\nx 1\ny 2\n");
    gt_table *right = read_table(others, "k:text b:text\ny new\nx other\n");
    gt_table *result = gt_table_join(left, right, &(gt_join){GT_JOIN_INNER, key_k, 1}, &error);
    gt_table_free(right);
    gt_interner_free(others);
    expect_table(result, "k:text a:text b:text\nx 1 other\ny 2 new\n");
    gt_table_free(result);
    gt_table_free(left);
}

static void incomparable_keys_are_rejected(void **state)
{
    (void)state;
    gt_error error;
    gt_table *left = read_table(strings, "k:text\nx\n"), *right = read_table(strings, "k:int\n1\n");
    assert_null(gt_table_join(left, right, &(gt_join){GT_JOIN_INNER, key_k, 1}, &error));
    assert_string_equal(error.text, "column 'k' of table 'test' has a different type");
    gt_table_free(left);
    gt_table_free(right);
}

static void oversized_joins_are_rejected(void **state)
{
    (void)state;
    gt_error error;
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_column(table, GT_COL("k"), GT_TYPE_INT);
    gt_table_add_rows(table, 70000); /* all 0: 4.9 thousand million pairs */
    assert_null(gt_table_join(table, table, &(gt_join){GT_JOIN_INNER, key_k, 1}, &error));
    assert_string_equal(error.text, "joined tables would have more than 4294967294 rows");
    gt_table_free(table);
    table = read_table(strings, "k:int v:int\n1 1\n1 2\n1 3\n"); /* joined with itself: 9 rows of 4 columns */
    assert_null(gt_table_join(table, table, &(gt_join){GT_JOIN_OUTER, key_k, 1, .most_cells = 35}, &error));
    assert_string_equal(error.text, "joined tables would have more than 8 rows");
    gt_table *result =
        gt_table_join(table, table, &(gt_join){GT_JOIN_OUTER, key_k, 1, .most_cells = 36}, &error);
    assert_int_equal(result->row_count, 9);
    gt_table_free(result);
    gt_table_free(table);
}

/* ---- compared with all pairs ---- */

static gt_table *random_table(const char *value_name, size_t rows)
{
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_column(table, GT_COL("name"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("id"), GT_TYPE_INT);
    gt_table_add_column(table, gt_col_named(value_name), GT_TYPE_INT);
    for (size_t row = 0; row < rows; row++) {
        gt_table_add_row(table);
        if (random_below(5))
            gt_table_set_cstr(table, 0, row, (const char *[]){"a", "b", "ab"}[random_below(3)]);
        if (random_below(5)) gt_table_set_int(table, 1, row, random_below(4));
        gt_table_set_int(table, 2, row, (int64_t)row);
    }
    return table;
}

static bool same_cell(const gt_table *a, size_t row_a, const gt_table *b, size_t row_b, size_t column)
{
    const gt_column *x = &a->columns[column], *y = &b->columns[column];
    if (gt_column_is_null(x, row_a) || gt_column_is_null(y, row_b))
        return gt_column_is_null(x, row_a) && gt_column_is_null(y, row_b);
    return x->type == GT_TYPE_INT ? x->ints[row_a] == y->ints[row_b] : x->texts[row_a] == y->texts[row_b];
}

/* Columns name, id, left, right; null where there is no partner. */
static gt_table *join_slowly(const gt_table *left, const gt_table *right, gt_join_kind kind)
{
    gt_table *result = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_column(result, GT_COL("name"), GT_TYPE_STRING);
    gt_table_add_column(result, GT_COL("id"), GT_TYPE_INT);
    gt_table_add_column(result, GT_COL("left"), GT_TYPE_INT);
    gt_table_add_column(result, GT_COL("right"), GT_TYPE_INT);
    for (size_t l = 0; l <= left->row_count; l++) {
        bool alone = true;
        for (size_t r = 0; r <= right->row_count; r++) {
            bool has_left = l < left->row_count, has_right = r < right->row_count, pair = false;
            if (has_left && has_right) {
                pair = same_cell(left, l, right, r, 0) && same_cell(left, l, right, r, 1);
                alone &= !pair;
            } else if (has_left) {
                pair = alone && kind != GT_JOIN_INNER;
            } else if (has_right && kind == GT_JOIN_OUTER) {
                pair = true;
                for (size_t other = 0; other < left->row_count; other++)
                    pair &= !(same_cell(left, other, right, r, 0) && same_cell(left, other, right, r, 1));
            }
            if (!pair) continue;
            size_t row = gt_table_add_row(result), from = has_left ? l : r;
            const gt_table *keys = has_left ? left : right;
            gt_table_set_string(result, 0, row, keys->columns[0].texts[from]);
            if (!gt_column_is_null(&keys->columns[1], from))
                gt_table_set_int(result, 1, row, keys->columns[1].ints[from]);
            if (has_left) gt_table_set_int(result, 2, row, (int64_t)l);
            if (has_right) gt_table_set_int(result, 3, row, (int64_t)r);
        }
    }
    static const gt_sort_key by_keys[] = {{GT_COL("name"), false}, {GT_COL("id"), false}};
    if (kind == GT_JOIN_OUTER) gt_table_sort(result, by_keys, 2);
    return result;
}

static void random_tables_agree_with_all_pairs(void **state)
{
    (void)state;
    static const gt_col keys[] = {GT_COL("name"), GT_COL("id")};
    for (int repeat = 0; repeat < 300; repeat++) {
        gt_error error;
        gt_table *left = random_table("left", random_below(20)),
                 *right = random_table("right", random_below(20));
        gt_join join = {(gt_join_kind)(repeat % 3), keys, 2, NULL, NULL};
        gt_table *expected = join_slowly(left, right, join.kind);
        gt_table *result = gt_table_join(left, right, &join, &error);
        char *text = print_table(expected);
        expect_table(result, text);
        free(text);
        gt_table_free(result);
        gt_table_free(expected);
        gt_table_free(left);
        gt_table_free(right);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_keeps_the_order_of_the_left),
        cmocka_unit_test(left_keeps_every_left_row),
        cmocka_unit_test(outer_is_sorted_by_key),
        cmocka_unit_test(integers_match_floats),
        cmocka_unit_test(empty_tables_join),
        cmocka_unit_test(strings_of_two_intern_tables_match),
        cmocka_unit_test(incomparable_keys_are_rejected),
        cmocka_unit_test(oversized_joins_are_rejected),
        cmocka_unit_test(random_tables_agree_with_all_pairs),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
