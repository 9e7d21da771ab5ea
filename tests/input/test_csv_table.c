/* CSV files as tables: types, quotes and missing values as in pandas.read_csv, and invalid files. */
#include "test_table_strings.h"
#include "input/sheets/sheets.h"

static gt_table *read_csv(const char *text)
{
    gt_error error = {""};
    gt_table *table = gt_csv_table((gt_str){text, strlen(text)}, GT_SHEET("t"), strings, &error);
    if (!table) fail_msg("%s", error.text);
    return table;
}

static void expect_csv(const char *text, const char *expected)
{
    gt_table *table = read_csv(text);
    expect_table(table, expected);
    gt_table_free(table);
}

static void expect_refusal(const char *text, const char *message)
{
    gt_error error = {""};
    assert_null(gt_csv_table((gt_str){text, strlen(text)}, GT_SHEET("t"), strings, &error));
    assert_string_equal(error.text, message);
}

static void columns_have_the_types_of_pandas(void **state)
{
    (void)state;
    expect_csv("i,f,b,t\n1,1.5,True,x\n-2,2,False,2\n",
               "i:int f:float b:bool t:text\n1 1.5 true x\n-2 2 false 2\n");
    expect_csv("i,b\n1,True\n,\n", "i:float b:text\n1 True\n- -\n");
    expect_csv("a,b,c\n+3,.5,inf\n4,5.,-Infinity\n", "a:int b:float c:float\n3 0.5 inf\n4 5 -inf\n");
    expect_csv("big,hex,word\n9223372036854775808,0x10,nano\n1,1,nan\n",
               "big:float hex:text word:text\n9.223372036854776e+18 0x10 nano\n1 1 -\n");
    expect_csv("least\n-9223372036854775808\n9223372036854775807\n",
               "least:int\n-9223372036854775808\n9223372036854775807\n");
}

static void pandas_na_tokens_are_missing_values(void **state)
{
    (void)state;
    expect_csv("v\n1.5\nNaN\nnan\nNULL\nnull\nN/A\nn/a\nNA\n<NA>\n#N/A\n#NA\nNone\n-nan\n-NaN\n1.#IND\n",
               "v:float\n1.5\n-\n-\n-\n-\n-\n-\n-\n-\n-\n-\n-\n-\n-\n-\n");
}

static void quotes_hold_commas_lines_and_quotes(void **state)
{
    (void)state;
    gt_table *table =
        read_csv("name,n\n\"a,b\",1\n\"line\nbreak\",2\r\n\"say \"\"x\"\"\",3\nmid\"dle,4\n\"\",5\n");
    static const char *const names[] = {"a,b", "line\nbreak", "say \"x\"", "mid\"dle"};
    assert_int_equal(table->row_count, 5);
    for (size_t row = 0; row < 4; row++) {
        assert_string_equal(gt_interner_get(strings, table->columns[0].texts[row]).bytes, names[row]);
        assert_int_equal(table->columns[1].ints[row], row + 1);
    }
    assert_true(gt_column_is_null(&table->columns[0], 4));
    gt_table_free(table);
}

static void line_ends_and_short_lines_are_accepted(void **state)
{
    (void)state;
    expect_csv("a,b\r\n1,2\r\r\n\n3\n", "a:int b:float\n1 2\n3 -\n");
    expect_csv("\xEF\xBB\xBF"
               "a,b\n1,2",
               "a:int b:int\n1 2\n");
}

static void names_are_made_unique(void **state)
{
    (void)state;
    gt_table *table = read_csv("a,a,,a\n1,2,3,4\n");
    static const char *const names[] = {"a", "a.1", "Unnamed: 2", "a.2"};
    assert_int_equal(table->column_count, 4);
    for (size_t c = 0; c < 4; c++) assert_string_equal(table->columns[c].name, names[c]);
    gt_table_free(table);
}

static void an_empty_file_gives_a_table_without_columns(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "\r\n\n"};
    for (size_t i = 0; i < 3; i++) {
        gt_table *table = read_csv(texts[i]);
        assert_int_equal(table->column_count, 0);
        assert_int_equal(table->row_count, 0);
        gt_table_free(table);
    }
    gt_table *header_only = read_csv("a,b\n");
    assert_int_equal(header_only->column_count, 2);
    assert_int_equal(header_only->row_count, 0);
    gt_table_free(header_only);
}

/* pandas' own reader gives 0.0823297677471561 for the first of these. */
static void numbers_are_exact(void **state)
{
    (void)state;
    gt_table *table = read_csv("v\n0.08232976774715614\n4458677009853.422\n5e-324\n");
    static const double expected[] = {0.08232976774715614, 4458677009853.422, 5e-324};
    for (size_t row = 0; row < 3; row++) assert_true(table->columns[0].floats[row] == expected[row]);
    gt_table_free(table);
}

static void invalid_csv_is_rejected(void **state)
{
    (void)state;
    expect_refusal("a,b\n1,2\n1,2,3\n", "line 3: more fields than the 2 in the first line");
    expect_refusal("a\nx\n\"open\n\n", "line 3: unterminated quote");
}

/* 3,000 columns and as many rows of one field would be a table of 9 million cells. */
static void a_table_much_larger_than_its_file_is_rejected(void **state)
{
    (void)state;
    size_t len = 0;
    char *text = malloc(3000 * 4);
    for (int i = 0; i < 2999; i++) text[len++] = ',';
    text[len++] = '\n';
    for (int i = 0; i < 3000; i++) {
        text[len++] = '1';
        text[len++] = '\n';
    }
    gt_error error = {""};
    gt_table *table = gt_csv_table((gt_str){text, len}, GT_SHEET("t"), strings, &error);
    free(text);
    assert_null(table);
    assert_non_null(strstr(error.text, "too sparse"));
}

static void expect_read_as(const char *text, gt_cell_parsing reading, const char *expected)
{
    gt_error error = {""};
    gt_table *table = gt_csv_table_as((gt_str){text, strlen(text)}, GT_SHEET("t"), reading, strings, &error);
    assert_non_null(table);
    expect_table(table, expected);
    gt_table_free(table);
}

static void fields_are_read_as_the_requested_type(void **state)
{
    (void)state;
    static const char text[] = "n,t,b\n0.01595473156177156,007,True\n3,NA,\n";
    expect_read_as(text, GT_READ_EXACT, "n:float t:float b:text\n0.01595473156177156 7 True\n3 - -\n");
    expect_read_as(text, GT_READ_PANDAS, "n:float t:float b:text\n0.0159547315617715 7 True\n3 - -\n");
    expect_read_as(text, GT_READ_STRINGS, "n:text t:text b:text\n0.01595473156177156 007 True\n3 NA -\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_have_the_types_of_pandas),
        cmocka_unit_test(pandas_na_tokens_are_missing_values),
        cmocka_unit_test(quotes_hold_commas_lines_and_quotes),
        cmocka_unit_test(line_ends_and_short_lines_are_accepted),
        cmocka_unit_test(names_are_made_unique),
        cmocka_unit_test(an_empty_file_gives_a_table_without_columns),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(fields_are_read_as_the_requested_type),
        cmocka_unit_test(invalid_csv_is_rejected),
        cmocka_unit_test(a_table_much_larger_than_its_file_is_rejected),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
