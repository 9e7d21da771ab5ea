/* Pivots computed by hand: order of rows and columns, missing cells, column names from values, cells with two
 * values. */
#include "test_table_strings.h"
#include "table/operations.h"

static void pivot_and_expect(const char *text, gt_pivot pivot, const char *expected)
{
    gt_error error;
    gt_table *table = read_table(strings, text);
    gt_table *result = gt_table_pivot(table, &pivot, &error);
    assert_non_null(result);
    expect_table(result, expected);
    gt_table_free(result);
    gt_table_free(table);
}

static const gt_col by_name[] = {GT_COL("name")}, by_name_and_cat[] = {GT_COL("name"), GT_COL("cat")};
static const char *const counts = "name:text rank:int count:int\nmul 1 5\nadd 10 6\nmul 2 7\nadd 1 8\n";

static void rows_and_columns_ascend(void **state)
{
    (void)state;
    pivot_and_expect(counts, (gt_pivot){by_name, 1, GT_COL("rank"), GT_COL("count"), false, 0},
                     "name:text 1:int 2:int 10:int\nadd 8 - 6\nmul 5 7 -\n");
}

static void missing_cells_are_filled(void **state)
{
    (void)state;
    pivot_and_expect(counts, (gt_pivot){by_name, 1, GT_COL("rank"), GT_COL("count"), true, 0},
                     "name:text 1:int 2:int 10:int\nadd 8 0 6\nmul 5 7 0\n");
    pivot_and_expect(counts, (gt_pivot){by_name, 1, GT_COL("rank"), GT_COL("count"), true, -0.5},
                     "name:text 1:int 2:float 10:float\nadd 8 -0.5 6\nmul 5 7 -0.5\n");
    pivot_and_expect("name:text rank:int x:float t:text\na 1 0.5 p\nb 2 1.5 q\n",
                     (gt_pivot){by_name, 1, GT_COL("rank"), GT_COL("x"), true, 0},
                     "name:text 1:float 2:float\na 0.5 0\nb 0 1.5\n");
    pivot_and_expect("name:text rank:int t:text\na 1 p\nb 2 q\n",
                     (gt_pivot){by_name, 1, GT_COL("rank"), GT_COL("t"), true, 0},
                     "name:text 1:text 2:text\na p -\nb - q\n");
}

static void columns_are_named_by_any_value(void **state)
{
    (void)state;
    pivot_and_expect("name:text c:text v:int\na y 1\na x 2\n",
                     (gt_pivot){by_name, 1, GT_COL("c"), GT_COL("v"), false, 0},
                     "name:text x:int y:int\na 2 1\n");
    pivot_and_expect("name:text c:bool v:int\na true 1\na false 2\n",
                     (gt_pivot){by_name, 1, GT_COL("c"), GT_COL("v"), false, 0},
                     "name:text False:int True:int\na 2 1\n");
    pivot_and_expect("name:text c:float v:int\na 0.5 1\na -2 2\n",
                     (gt_pivot){by_name, 1, GT_COL("c"), GT_COL("v"), false, 0},
                     "name:text -2.0:int 0.5:int\na 2 1\n");
}

static void several_columns_identify_a_row(void **state)
{
    (void)state;
    pivot_and_expect("cat:text rank:int name:text v:int\nq 0 b 1\np 0 b 2\nq 1 a 3\np 1 b 4\n",
                     (gt_pivot){by_name_and_cat, 2, GT_COL("rank"), GT_COL("v"), false, 0},
                     "name:text cat:text 0:int 1:int\na q - 3\nb p 2 4\nb q 1 -\n");
}

static void rows_without_keys_are_dropped(void **state)
{
    (void)state;
    pivot_and_expect("name:text rank:int v:int\n- 3 1\na - 2\nb 1 3\n",
                     (gt_pivot){by_name, 1, GT_COL("rank"), GT_COL("v"), false, 0}, "name:text 1:int\nb 3\n");
    pivot_and_expect("name:text rank:int v:int\n",
                     (gt_pivot){by_name, 1, GT_COL("rank"), GT_COL("v"), false, 0}, "name:text\n");
}

static void two_values_for_one_cell_are_rejected(void **state)
{
    (void)state;
    gt_error error;
    gt_table *table = read_table(strings, "name:text rank:int v:int\na 7 1\nb 7 1\na 7 1\n");
    assert_null(
        gt_table_pivot(table, &(gt_pivot){by_name, 1, GT_COL("rank"), GT_COL("v"), false, 0}, &error));
    assert_string_equal(error.text, "column '7' would have two values of 'v' in one cell");
    gt_table_free(table);
}

static void oversized_pivots_are_rejected(void **state)
{
    (void)state;
    enum { ROWS = 70000 };
    gt_error error;
    gt_table *table = gt_table_new(GT_SHEET("calls"), strings);
    gt_table_add_column(table, GT_COL("name"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("rank"), GT_TYPE_INT);
    gt_table_add_rows(table, ROWS);
    for (int row = 0; row < ROWS; row++) table->columns[0].ints[row] = table->columns[1].ints[row] = row;
    assert_null(
        gt_table_pivot(table, &(gt_pivot){by_name, 1, GT_COL("rank"), GT_COL("rank"), false, 0}, &error));
    assert_string_equal(error.text, "table 'calls' by 'rank' would have 70000 rows and 70000 columns");
    gt_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_columns_ascend),
        cmocka_unit_test(missing_cells_are_filled),
        cmocka_unit_test(columns_are_named_by_any_value),
        cmocka_unit_test(several_columns_identify_a_row),
        cmocka_unit_test(rows_without_keys_are_dropped),
        cmocka_unit_test(two_values_for_one_cell_are_rejected),
        cmocka_unit_test(oversized_pivots_are_rejected),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
