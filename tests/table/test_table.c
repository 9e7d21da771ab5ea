/* Tables: cells and nulls, rows in bulk, lists, columns moved and dropped, rows picked and appended. */
#include "test_table_strings.h"

static void cells_are_null_until_set(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET("sheet"), strings);
    assert_int_equal(gt_table_add_column(table, GT_COL("i"), GT_TYPE_INT), 0);
    assert_int_equal(gt_table_add_column(table, GT_COL("f"), GT_TYPE_FLOAT), 1);
    assert_int_equal(gt_table_add_column(table, GT_COL("t"), GT_TYPE_STRING), 2);
    assert_int_equal(gt_table_add_column(table, GT_COL("b"), GT_TYPE_BOOL), 3);
    assert_int_equal(gt_table_add_column(table, GT_COL("l"), GT_TYPE_LIST), 4);
    assert_int_equal(gt_table_add_row(table), 0);
    assert_int_equal(gt_table_add_row(table), 1);
    expect_table(table, "i:int f:float t:text b:bool l:list\n- - - - -\n- - - - -\n");
    gt_table_set_int(table, 0, 1, -7);
    gt_table_set_float(table, 1, 1, 0.1);
    gt_table_set_cstr(table, 2, 1, "");
    gt_table_set_bool(table, 3, 1, false);
    gt_list_begin(&table->columns[4], 1);
    expect_table(table, "i:int f:float t:text b:bool l:list\n- - - - -\n-7 0.1  false []\n");
    gt_table_set_int(table, 1, 0, 3); /* an integer in a FLOAT column */
    for (size_t c = 0; c < 5; c++) gt_table_set_null(table, c, 1);
    expect_table(table, "i:int f:float t:text b:bool l:list\n- 3 - - -\n- - - - -\n");
    assert_string_equal(table->name, "sheet");
    gt_table_free(table);
}

static void bulk_rows_are_filled_directly(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET("sheet"), strings);
    gt_table_add_column(table, GT_COL("i"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("f"), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL("b"), GT_TYPE_BOOL);
    gt_table_add_column(table, GT_COL("l"), GT_TYPE_LIST);
    assert_int_equal(gt_table_add_rows(table, 3), 0);
    for (int i = 0; i < 3; i++) table->columns[0].ints[i] = i * 10;
    assert_false(gt_column_has_nulls(&table->columns[0], 3));
    assert_true(gt_column_has_nulls(&table->columns[1], 3));
    expect_table(table, "i:int f:float b:bool l:list\n0 - false -\n10 - false -\n20 - false -\n");
    gt_table_add_row(table); /* null */
    assert_int_equal(gt_table_add_rows(table, 1), 4);
    expect_table(
        table,
        "i:int f:float b:bool l:list\n0 - false -\n10 - false -\n20 - false -\n- - - -\n0 - false -\n");
    assert_true(gt_column_has_nulls(&table->columns[0], 5));
    assert_false(gt_column_has_nulls(&table->columns[0], 3));
    for (int i = 0; i < 5; i++) table->columns[1].floats[i] = i;
    assert_false(gt_column_has_nulls(&table->columns[1], 5));
    gt_table_rename(table, GT_SHEET("another"));
    assert_string_equal(table->name, "another");
    gt_table_free(table);
}

static void columns_are_added_to_a_table_with_rows(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "a:int\n1\n2\n");
    assert_int_equal(gt_table_add_column(table, GT_COL("null"), GT_TYPE_INT), 1);
    assert_int_equal(gt_table_add_zeroed(table, GT_COL("zero"), GT_TYPE_INT), 2);
    assert_int_equal(gt_table_add_column(table, GT_COL("text"), GT_TYPE_STRING), 3);
    gt_table_set_int(table, 1, 1, 5);
    expect_table(table, "a:int null:int zero:int text:text\n1 - 0 -\n2 5 0 -\n");
    gt_table_free(table);
}

/* Cells in the table's arena are those of other columns until the column grows or changes its type. */
static void lent_columns_are_used_like_others(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_column(table, GT_COL("a"), GT_TYPE_INT);
    gt_table_add_rows(table, 2);
    assert_int_equal(gt_table_add_lent(table, GT_COL("i"), GT_TYPE_INT), 1);
    assert_int_equal(gt_table_add_lent(table, GT_COL("f"), GT_TYPE_FLOAT), 2);
    gt_table_set_int(table, 1, 1, 5);
    gt_table_set_float(table, 2, 0, 0.5);
    expect_table(table, "a:int i:int f:float\n0 - 0.5\n0 5 -\n");
    gt_table_widen_ints(table);
    gt_table_add_rows(table, 100);
    gt_table_set_float(table, 2, 101, 2.5);
    gt_table_head(table, 2);
    gt_table *copy = gt_table_copy(table);
    gt_table_free(table);
    expect_table(copy, "a:int i:float f:float\n0 - 0.5\n0 5 -\n");
    gt_table_free(copy);
}

static void thousands_of_rows_keep_their_cells(void **state)
{
    (void)state;
    enum { ROWS = 5000 };
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_column(table, GT_COL("i"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("f"), GT_TYPE_FLOAT);
    for (int i = 0; i < ROWS; i++) {
        size_t row = gt_table_add_row(table);
        if (i % 3) gt_table_set_int(table, 0, row, i);
        if (i % 5) gt_table_set_float(table, 1, row, i / 2.0);
    }
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(gt_column_is_null(&table->columns[0], i), i % 3 == 0);
        assert_int_equal(gt_column_is_null(&table->columns[1], i), i % 5 == 0);
        if (i % 3) assert_int_equal(table->columns[0].ints[i], i);
        if (i % 5) assert_true(table->columns[1].floats[i] == i / 2.0);
    }
    gt_table_free(table);
}

/* ---- lists ---- */

static void lists_hold_any_type(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_column(table, GT_COL("ints"), GT_TYPE_LIST);
    gt_table_add_column(table, GT_COL("texts"), GT_TYPE_LIST);
    gt_table_add_column(table, GT_COL("floats"), GT_TYPE_LIST);
    gt_table_add_column(table, GT_COL("bools"), GT_TYPE_LIST);
    gt_column *c = table->columns;
    gt_list_of(&c[1], GT_TYPE_STRING);
    gt_list_of(&c[2], GT_TYPE_FLOAT);
    gt_list_of(&c[3], GT_TYPE_BOOL);
    for (size_t row = 0; row < 3; row++) gt_table_add_row(table);
    gt_list_begin(&c[0], 0);
    gt_list_push_int(&c[0], 4);
    gt_list_push_null(&c[0]);
    gt_list_push_int(&c[0], 8);
    gt_list_begin(&c[0], 2);
    gt_list_push_int(&c[0], 16);
    gt_list_begin(&c[1], 1);
    gt_list_push_string(&c[1], gt_interner_add_cstr(strings, "x"));
    gt_list_push_null(&c[1]);
    gt_list_begin(&c[2], 0);
    gt_list_push_float(&c[2], 0.5);
    gt_list_begin(&c[3], 0);
    gt_list_push_bool(&c[3], true);
    gt_list_push_bool(&c[3], false);
    expect_table(table, "ints:list texts:list floats:list bools:list\n"
                        "[4,-,8] - [0.5] [true,false]\n"
                        "- [x,-] - -\n"
                        "[16] - - -\n");
    gt_table_free(table);
}

/* Shapes of a call's tensors: lists of lists. */
static gt_table *table_of_shapes(void)
{
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    size_t column = gt_table_add_column(table, GT_COL("shapes"), GT_TYPE_LIST);
    gt_column *list = &table->columns[column];
    gt_list_of(gt_list_of(list, GT_TYPE_LIST), GT_TYPE_INT);
    list->items_as_tuple = true;
    for (size_t row = 0; row < 4; row++) gt_table_add_row(table);
    gt_list_begin(list, 0);
    gt_column *shape = gt_list_push_list(list);
    gt_list_push_int(shape, 4);
    gt_list_push_int(shape, 8);
    gt_list_push_list(list);
    gt_list_push_null(list);
    gt_list_begin(list, 2);
    shape = gt_list_push_list(list);
    for (int i = 0; i < 20; i++) gt_list_push_int(shape, i);
    return table;
}

#define LONG_SHAPE "[[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]]"

static void lists_nest(void **state)
{
    (void)state;
    gt_table *table = table_of_shapes();
    expect_table(table, "shapes:list\n[[4,8],[],-]\n-\n" LONG_SHAPE "\n-\n");
    uint32_t rows[] = {2, GT_NO_ROW, 0, 0, 1};
    gt_table *picked = gt_table_copy_rows(table, rows, 5);
    expect_table(picked, "shapes:list\n" LONG_SHAPE "\n-\n[[4,8],[],-]\n[[4,8],[],-]\n-\n");
    assert_true(picked->columns[0].items_as_tuple);
    gt_error error;
    assert_true(gt_table_append(picked, table, &error));
    expect_table(picked, "shapes:list\n" LONG_SHAPE "\n-\n[[4,8],[],-]\n[[4,8],[],-]\n-\n"
                         "[[4,8],[],-]\n-\n" LONG_SHAPE "\n-\n");
    gt_table_free(picked);
    gt_table_free(table);
}

static void lists_can_grow_after_head(void **state)
{
    (void)state;
    gt_table *table = table_of_shapes();
    gt_table_head(table, 1);
    size_t row = gt_table_add_row(table);
    gt_list_begin(&table->columns[0], row);
    gt_list_push_int(gt_list_push_list(&table->columns[0]), 77);
    gt_list_push_list(&table->columns[0]);
    gt_list_push_int(gt_list_push_list(&table->columns[0]), 78);
    expect_table(table, "shapes:list\n[[4,8],[],-]\n[[77],[],[78]]\n");
    gt_table_free(table);
}

/* ---- columns ---- */

static void columns_are_found_moved_and_dropped(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "a:int b:int c:int d:int\n1 2 3 4\n");
    assert_int_equal(gt_table_find(table, GT_COL("c")), 2);
    assert_true(gt_table_find(table, GT_COL("C")) == SIZE_MAX);
    assert_ptr_equal(gt_table_column(table, GT_COL("d")), &table->columns[3]);
    gt_table_move_column(table, 0, 2);
    expect_table(table, "b:int c:int a:int d:int\n2 3 1 4\n");
    gt_table_move_column(table, 3, 0);
    expect_table(table, "d:int b:int c:int a:int\n4 2 3 1\n");
    gt_table_move_column(table, 1, 1);
    gt_table_rename_column(table, 1, GT_COL("bee"));
    gt_table_drop_column(table, 2);
    expect_table(table, "d:int bee:int a:int\n4 2 1\n");
    gt_table_select(table, (gt_col[]){GT_COL("a"), GT_COL("absent"), GT_COL("d")}, 3);
    expect_table(table, "a:int d:int\n1 4\n");
    gt_table_select(table, NULL, 0);
    assert_int_equal(table->column_count, 0);
    gt_table_free(table);
}

static void integers_with_missing_values_become_floats(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "a:int b:int c:bool\n1 2 true\n- 4 false\n");
    gt_table_widen_ints(table);
    expect_table(table, "a:float b:int c:bool\n1 2 true\n- 4 false\n");
    gt_table_make_float(table, 1);
    gt_table_make_float(table, 2);
    expect_table(table, "a:float b:float c:float\n1 2 1\n- 4 0\n");
    gt_table_free(table);
}

/* ---- rows ---- */

static void head_counts_like_pandas(void **state)
{
    (void)state;
    static const struct {
        int64_t count;
        size_t left;
    } cases[] = {{0, 0},  {2, 2},  {3, 3},  {9, 3},         {INT64_MAX, 3},
                 {-1, 2}, {-3, 0}, {-4, 0}, {INT64_MIN, 0}, {-2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_table *table = read_table(strings, "a:int b:text\n1 x\n- y\n3 -\n");
        gt_table_head(table, cases[i].count);
        assert_int_equal(table->row_count, cases[i].left);
        if (table->row_count) assert_int_equal(table->columns[0].ints[0], 1);
        gt_table_free(table);
    }
}

static void rows_added_after_head_are_empty(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "a:int\n1\n-\n-\n");
    gt_table_head(table, 1);
    gt_table_add_rows(table, 2);
    expect_table(table, "a:int\n1\n0\n0\n");
    gt_table_free(table);
}

static void rows_are_picked(void **state)
{
    (void)state;
    gt_table *table =
        read_table(strings, "i:int f:float t:text b:bool\n1 0.5 x true\n- - - -\n3 1.5 z false\n");
    uint32_t rows[] = {2, 0, GT_NO_ROW, 2};
    gt_table *copy = gt_table_copy(table);
    gt_table_take(copy, rows, 4);
    expect_table(copy, "i:int f:float t:text b:bool\n3 1.5 z false\n1 0.5 x true\n- - - -\n3 1.5 z false\n");
    gt_table_keep(copy, (uint8_t[]){0, 1, 1, 0});
    expect_table(copy, "i:int f:float t:text b:bool\n1 0.5 x true\n- - - -\n");
    gt_table_take(copy, NULL, 0);
    expect_table(copy, "i:int f:float t:text b:bool\n");
    expect_table(table, "i:int f:float t:text b:bool\n1 0.5 x true\n- - - -\n3 1.5 z false\n");
    gt_table_free(copy);
    gt_table_free(table);
}

static void tables_are_appended(void **state)
{
    (void)state;
    gt_error error;
    gt_interner *others = gt_interner_new();
    gt_table *table = read_table(strings, "name:text n:int x:float\na 1 0.5\n- - -\n");
    gt_table *more = read_table(others, "x:int n:int name:text\n7 - zzz\n8 2 a\n");
    assert_true(gt_table_append(table, more, &error));
    gt_table_free(more);
    gt_interner_free(others); /* the strings were moved */
    expect_table(table, "name:text n:int x:float\na 1 0.5\n- - -\nzzz - 7\na 2 8\n");
    assert_int_equal(table->columns[0].texts[0], table->columns[0].texts[3]);
    more = read_table(strings, "n:float name:text x:float\n0.25 b 1\n");
    assert_true(gt_table_append(table, more, &error));
    expect_table(table, "name:text n:float x:float\na 1 0.5\n- - -\nzzz - 7\na 2 8\nb 0.25 1\n");
    gt_table_free(more);
    more = read_table(strings, "n:float name:text x:float\n");
    assert_true(gt_table_append(table, more, &error));
    assert_int_equal(table->row_count, 5);
    gt_table_free(more);
    gt_table_free(table);
}

static void tables_with_different_columns_are_not_appended(void **state)
{
    (void)state;
    static const struct {
        const char *more, *why;
    } cases[] = {
        {"a:int\n1\n", "table 'test' has 1 columns where 'test' has 2"},
        {"a:int c:text\n1 x\n", "table 'test' has no column 'b'"},
        {"a:int a:int\n1 1\n", "table 'test' has no column 'b'"},
        {"b:int a:int\n1 1\n", "column 'b' of table 'test' has a different type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_error error;
        gt_table *table = read_table(strings, "a:int b:text\n1 x\n");
        gt_table *more = read_table(strings, cases[i].more);
        assert_false(gt_table_append(table, more, &error));
        assert_string_equal(error.text, cases[i].why);
        expect_table(table, "a:int b:text\n1 x\n");
        gt_table_free(more);
        gt_table_free(table);
    }
}

static void tables_with_other_columns_can_be_merged(void **state)
{
    (void)state;
    gt_error error;
    gt_interner *others = gt_interner_new();
    gt_table *table = gt_table_new(GT_SHEET("test"), strings);
    gt_table *first = read_table(strings, "a:int b:text\n1 x\n");
    gt_table *more = read_table(others, "c:float b:text d:bool\n0.5 y true\n");
    assert_true(gt_table_append_outer(table, first, &error));
    assert_true(gt_table_append_outer(table, more, &error));
    expect_table(more, "c:float b:text d:bool\n0.5 y true\n"); /* it is unchanged */
    gt_table_free(more);
    gt_interner_free(others);
    expect_table(table, "a:int b:text c:float d:bool\n1 x - -\n- y 0.5 true\n");
    more = read_table(strings, "b:int\n7\n");
    assert_false(gt_table_append_outer(table, more, &error));
    assert_string_equal(error.text, "column 'b' of table 'test' has a different type");
    gt_table_free(more);
    gt_table_free(first);
    gt_table_free(table);
}

static gt_cell expect_cell(const gt_table *table, size_t row, gt_type type)
{
    gt_cell cell = gt_table_cell(table, 0, row);
    assert_false(cell.is_null);
    assert_int_equal(cell.type, type);
    return cell;
}

static gt_table *shown_table(const char *first, gt_shown shown)
{
    gt_table *table = read_table(strings, "value:text\nx\ny\n");
    gt_table_set_shown(table, 0, 0, gt_interner_add_cstr(strings, first), shown);
    return table;
}

/* What a string shows stays with its row when rows are picked, appended and added. */
static void shown_values_follow_their_rows(void **state)
{
    (void)state;
    gt_table *table = shown_table("64.0", GT_SHOWN_INT), *more = shown_table("2.5", GT_SHOWN_FLOAT);
    gt_table *plain = read_table(strings, "value:text\n64\n");
    gt_error error;
    assert_true(gt_table_append(table, more, &error)); /* 64 x 2.5 y */
    assert_true(gt_table_append(table, plain, &error));
    assert_true(gt_table_append(plain, table, &error));
    gt_table_take(table, (uint32_t[]){4, GT_NO_ROW, 3, 2, 0}, 5);
    assert_string_equal(expect_cell(table, 0, GT_TYPE_STRING).text.bytes, "64");
    assert_true(gt_table_cell(table, 0, 1).is_null);
    assert_string_equal(expect_cell(table, 2, GT_TYPE_STRING).text.bytes, "y");
    assert_true(expect_cell(table, 3, GT_TYPE_FLOAT).number == 2.5);
    assert_int_equal(expect_cell(table, 4, GT_TYPE_INT).integer, 64);
    for (int i = 0; i < 100; i++) gt_table_add_row(table);
    gt_table_set_cstr(table, 0, 80, "64");
    gt_table_set_cstr(table, 0, 4, "64");
    expect_cell(table, 80, GT_TYPE_STRING);
    expect_cell(table, 4, GT_TYPE_STRING);
    expect_cell(plain, 0, GT_TYPE_STRING);
    expect_cell(plain, 1, GT_TYPE_INT);
    expect_cell(plain, 5, GT_TYPE_STRING);
    gt_table_free(table);
    gt_table_free(more);
    gt_table_free(plain);
}

static void widened_integers_are_integers(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "i:int\n1\n-\n"), *ints = read_table(strings, "i:int\n5\n"),
             *floats = read_table(strings, "i:float\n2\n");
    gt_error error;
    gt_type type;
    gt_table_widen_ints(table);
    assert_int_equal(table->columns[0].type, GT_TYPE_FLOAT);
    assert_true(gt_table_append(table, ints, &error));
    assert_true(gt_column_value_type(&table->columns[0], 3, &type));
    assert_int_equal(type, GT_TYPE_INT);
    assert_int_equal(expect_cell(table, 2, GT_TYPE_INT).integer, 5);
    assert_true(gt_table_cell(table, 0, 1).is_null);
    table->columns[0].floats[0] = 1e300;
    expect_cell(table, 0, GT_TYPE_FLOAT); /* does not fit */
    assert_true(gt_table_append(table, floats, &error));
    assert_true(gt_column_value_type(&table->columns[0], 4, &type));
    assert_int_equal(type, GT_TYPE_FLOAT);
    assert_true(gt_table_append(ints, floats, &error));
    expect_cell(ints, 0, GT_TYPE_FLOAT);
    gt_table_free(table);
    gt_table_free(ints);
    gt_table_free(floats);
}

static void strings_move_to_another_intern_table(void **state)
{
    (void)state;
    gt_interner *others = gt_interner_new(), *target = gt_interner_new();
    gt_interner_add_cstr(others, "unused");
    gt_interner_add_cstr(target, "in the way");
    gt_table *table = read_table(others, "t:text\na\n-\nb\na\n");
    gt_table_add_column(table, GT_COL("l"), GT_TYPE_LIST);
    gt_list_of(&table->columns[1], GT_TYPE_STRING);
    gt_list_begin(&table->columns[1], 1);
    gt_list_push_string(&table->columns[1], gt_interner_add_cstr(others, "in a list"));
    gt_table_use_strings(table, target);
    gt_interner_free(others);
    expect_table(table, "t:text l:list\na -\n- [in a list]\nb -\na -\n");
    assert_int_equal(gt_interner_find(target, "unused", 6), GT_STR_NONE);
    gt_table_free(table);
    gt_interner_free(target);
}

static void empty_tables_work(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_reserve(table, 10);
    gt_table_head(table, 5);
    gt_table_widen_ints(table);
    gt_table *copy = gt_table_copy(table);
    gt_table_add_column(copy, GT_COL("l"), GT_TYPE_LIST);
    gt_table_head(copy, -1);
    gt_table_keep(copy, NULL);
    gt_table *again = gt_table_copy(copy);
    gt_error error;
    assert_true(gt_table_append(again, copy, &error));
    expect_table(again, "l:list\n");
    assert_string_equal(table->name, "");
    gt_table_free(again);
    gt_table_free(copy);
    gt_table_free(table);
    gt_table_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_null_until_set),
        cmocka_unit_test(bulk_rows_are_filled_directly),
        cmocka_unit_test(columns_are_added_to_a_table_with_rows),
        cmocka_unit_test(thousands_of_rows_keep_their_cells),
        cmocka_unit_test(lists_hold_any_type),
        cmocka_unit_test(lists_nest),
        cmocka_unit_test(lists_can_grow_after_head),
        cmocka_unit_test(columns_are_found_moved_and_dropped),
        cmocka_unit_test(integers_with_missing_values_become_floats),
        cmocka_unit_test(head_counts_like_pandas),
        cmocka_unit_test(rows_added_after_head_are_empty),
        cmocka_unit_test(rows_are_picked),
        cmocka_unit_test(tables_are_appended),
        cmocka_unit_test(tables_with_different_columns_are_not_appended),
        cmocka_unit_test(tables_with_other_columns_can_be_merged),
        cmocka_unit_test(shown_values_follow_their_rows),
        cmocka_unit_test(widened_integers_are_integers),
        cmocka_unit_test(strings_move_to_another_intern_table),
        cmocka_unit_test(lent_columns_are_used_like_others),
        cmocka_unit_test(empty_tables_work),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
