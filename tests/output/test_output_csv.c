/* CSV cells compared with the output of CPython 3.11's csv module and repr, which pandas uses, for the same
 * values. */
#include "output/output.h"
#include "output/text.h"
#include "output_tables.h"

#include <math.h>

/* The table's CSV; the caller frees it. Frees the table. */
static char *as_csv(gt_table *table)
{
    gt_error error;
    gt_output *output = gt_output_new();
    assert_true(gt_output_csvs(output, in_scratch("out/"), &table, 1, &error));
    assert_true(gt_output_commit(output, &error));
    char *text = slurp(gt_output_file_path(output, 0));
    gt_output_free(output);
    gt_table_free(table);
    return text;
}

static void expect_csv(gt_table *table, const char *expected)
{
    char *text = as_csv(table);
    assert_string_equal(text, expected);
    free(text);
}

static void numbers_nulls_and_booleans(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET("cells"), strings);
    gt_table_add_column(table, GT_COL("count"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("Time (µs)"), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL("busy"), GT_TYPE_BOOL);
    gt_table_add_column(table, GT_COL("name"), GT_TYPE_STRING);
    static const struct {
        int64_t count;
        double time_us;
        bool busy;
        const char *name;
    } rows[] = {
        {1, 1.0, true, "a"},      {-9223372036854775807 - 1, 13.787398317937406, false, "b"},
        {0, 1e-5, true, "c"},     {7, 1e16, true, ""},
        {7, INFINITY, true, "d"}, {7, -INFINITY, false, "e"},
        {7, -0.0, false, "f"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gt_table_add_row(table);
        gt_table_set_int(table, 0, i, rows[i].count);
        gt_table_set_float(table, 1, i, rows[i].time_us);
        gt_table_set_bool(table, 2, i, rows[i].busy);
        gt_table_set_cstr(table, 3, i, rows[i].name);
    }
    gt_table_add_row(table);
    expect_csv(table, "count,Time (µs),busy,name\n"
                      "1,1.0,True,a\n"
                      "-9223372036854775808,13.787398317937406,False,b\n"
                      "0,1e-05,True,c\n"
                      "7,1e+16,True,\n"
                      "7,inf,True,d\n"
                      "7,-inf,False,e\n"
                      "7,-0.0,False,f\n"
                      ",,,\n");
}

static gt_table *text_table(const char *const *texts, size_t count, bool second_column)
{
    gt_table *table = gt_table_new(GT_SHEET("texts"), strings);
    gt_table_add_column(table, GT_COL("text"), GT_TYPE_STRING);
    if (second_column) gt_table_add_column(table, GT_COL("x"), GT_TYPE_INT);
    for (size_t i = 0; i < count; i++) {
        gt_table_add_row(table);
        if (texts[i]) gt_table_set_cstr(table, 0, i, texts[i]);
        if (second_column) gt_table_set_int(table, 1, i, 1);
    }
    return table;
}

static void fields_are_quoted_only_if_necessary(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "with space",
        "a,b",
        "say \"hi\"",
        "two\nlines",
        "carriage\rreturn",
        "µs ✓ 日本",
        "it's",
        "back\\slash",
        "\"",
        "a long text that has its comma, near the end",
        "12345678,",
        "void f<int, 4>(float*)",
        "<script>alert(1)</script>",
        "=1+1",
        " lead",
        "# hash",
    };
    expect_csv(text_table(texts, sizeof texts / sizeof *texts, true),
               "text,x\n"
               "with space,1\n\"a,b\",1\n\"say \"\"hi\"\"\",1\n\"two\nlines\",1\n\"carriage\rreturn\",1\n"
               "µs ✓ 日本,1\nit's,1\nback\\slash,1\n\"\"\"\",1\n"
               "\"a long text that has its comma, near the end\",1\n\"12345678,\",1\n"
               "\"void f<int, 4>(float*)\",1\n<script>alert(1)</script>,1\n=1+1,1\n lead,1\n# hash,1\n");
}

static void column_names_are_quoted_like_fields(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET("names"), strings);
    gt_table_add_column(table, GT_COL("a,b"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("say \"hi\""), GT_TYPE_INT);
    expect_csv(table, "\"a,b\",\"say \"\"hi\"\"\"\n");
}

static void a_single_empty_field_is_quoted(void **state)
{
    (void)state;
    static const char *const texts[] = {"a", NULL, "", "b"};
    expect_csv(text_table(texts, 4, false), "text\na\n\"\"\n\"\"\nb\n");
    expect_csv(text_table(texts, 4, true), "text,x\na,1\n,1\n,1\nb,1\n");
    gt_table *table = gt_table_new(GT_SHEET("nameless"), strings);
    gt_table_add_column(table, GT_COL(""), GT_TYPE_INT);
    expect_csv(table, "\"\"\n");
}

static void tables_without_columns_or_rows(void **state)
{
    (void)state;
    expect_csv(gt_table_new(GT_SHEET("nothing"), strings), "\n");
    expect_csv(text_table(NULL, 0, true), "text,x\n");
}

static void invalid_utf8_is_replaced(void **state)
{
    (void)state;
    static const char *const texts[] = {"ok \xff end", "cut \xe6\x97", "\xc0\xaf,", "\xed\xa0\x80",
                                        "\xf0\x9f\x98\x80"};
    /* The number of replacement characters is that of bytes.decode(errors="replace"). */
    expect_csv(text_table(texts, 5, true), "text,x\nok \uFFFD end,1\ncut \uFFFD,1\n\"\uFFFD\uFFFD,\",1\n"
                                           "\uFFFD\uFFFD\uFFFD,1\n\U0001F600,1\n");
}

static void very_long_strings_are_written_completely(void **state)
{
    (void)state;
    enum { LONG = 600000 };
    char *text = malloc(LONG + 1), *expected = malloc(2 * LONG + 100);
    char *out = expected + sprintf(expected, "text,x\n\"");
    for (size_t i = 0; i < LONG; i++) {
        text[i] = i % 1000 == 999 ? '"' : (char)('a' + i % 26);
        if (text[i] == '"') *out++ = '"';
        *out++ = text[i];
    }
    text[LONG] = 0;
    strcpy(out, "\",1\n");
    expect_csv(text_table((const char *const[]){text}, 1, true), expected);
    free(text);
    free(expected);
}

static void lists_are_python_literals(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET("lists"), strings);
    for (int c = 0; c < 6; c++)
        gt_table_add_column(table, gt_col_named((char[]){(char)('a' + c), 0}), GT_TYPE_LIST);
    table->columns[1].items_as_tuple = true;
    gt_list_of(&table->columns[2], GT_TYPE_FLOAT);
    gt_list_of(&table->columns[3], GT_TYPE_BOOL);
    gt_list_of(&table->columns[4], GT_TYPE_STRING);
    gt_list_of(gt_list_of(&table->columns[5], GT_TYPE_LIST), GT_TYPE_INT);
    gt_table_add_row(table);
    gt_table_add_row(table);
    gt_table_add_row(table);
    for (int c = 0; c < 6; c++) gt_list_begin(&table->columns[c], 0);
    gt_list_push_int(&table->columns[0], 1);
    gt_list_push_int(&table->columns[0], -2);
    gt_list_push_null(&table->columns[0]);
    gt_list_push_int(&table->columns[1], 1);
    gt_list_push_float(&table->columns[2], 1.0);
    gt_list_push_float(&table->columns[2], 1e-5);
    gt_list_push_float(&table->columns[2], INFINITY);
    gt_list_push_float(&table->columns[2], NAN);
    gt_list_push_bool(&table->columns[3], true);
    gt_list_push_null(&table->columns[3]);
    gt_list_push_string(&table->columns[4], gt_interner_add_cstr(strings, "a"));
    gt_list_push_string(&table->columns[4], gt_interner_add_cstr(strings, "it's"));
    gt_list_push_null(&table->columns[4]);
    gt_column *inner = gt_list_push_list(&table->columns[5]);
    gt_list_push_int(inner, 1);
    gt_list_push_int(inner, 2);
    gt_list_push_list(&table->columns[5]);
    /* Row 1 stays null; row 2: empty lists and a pair. */
    for (int c = 0; c < 6; c++) gt_list_begin(&table->columns[c], 2);
    gt_list_push_int(&table->columns[0], 3);
    gt_list_push_string(&table->columns[4], gt_interner_add_cstr(strings, "b"));
    expect_csv(table, "a,b,c,d,e,f\n"
                      "\"[1, -2, None]\",\"(1,)\",\"[1.0, 1e-05, inf, nan]\",\"[True, None]\","
                      "\"['a', \"\"it's\"\", None]\",\"[[1, 2], []]\"\n"
                      ",,,,,\n"
                      "[3],(),[],[],['b'],[]\n");
}

static void strings_in_lists_are_escaped_like_repr(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
    } texts[] = {
        {"say \"hi\"", 8},           {"two\nlines", 9},     {"µs ✓ 日本", 14}, {"back\\slash", 10},
        {"tab\there\r", 9},          {"both ' and \"", 12}, {"\0\x1b\x7f", 3}, {"\u00A0\u200B\u2028", 8},
        {"\U0001F600\U000E0001", 8}, {"e\u0301\u0378", 5},  {"", 0},
    };
    gt_table *table = gt_table_new(GT_SHEET("reprs"), strings);
    gt_table_add_column(table, GT_COL("l"), GT_TYPE_LIST);
    gt_list_of(&table->columns[0], GT_TYPE_STRING);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        gt_table_add_row(table);
        gt_list_begin(&table->columns[0], i);
        gt_list_push_string(&table->columns[0], gt_interner_add(strings, texts[i].text, texts[i].len));
    }
    expect_csv(table, "l\n"
                      "\"['say \"\"hi\"\"']\"\n"
                      "['two\\nlines']\n"
                      "['µs ✓ 日本']\n"
                      "['back\\\\slash']\n"
                      "['tab\\there\\r']\n"
                      "\"['both \\' and \"\"']\"\n"
                      "['\\x00\\x1b\\x7f']\n"
                      "['\\xa0\\u200b\\u2028']\n"
                      "['\U0001F600\\U000e0001']\n"
                      "['e\u0301\\u0378']\n"
                      "['']\n");
}

/* More rows than one piece has, whose cells repeat those before in several patterns. */
static void repeated_cells_are_written_again(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    static const char *const texts[] = {"add", "a, b", "µs", "", "say \"hi\""};
    static const char *const quoted[] = {"add", "\"a, b\"", "µs", "", "\"say \"\"hi\"\"\""};
    static const double times_us[] = {0.0, -0.0, 1.5, NAN, 1.5};
    static const char *const printed[] = {"0.0", "-0.0", "1.5", "", "1.5"};
    gt_table *table = gt_table_new(GT_SHEET("repeated"), strings);
    gt_table_add_column(table, GT_COL("text"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("count"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("time"), GT_TYPE_FLOAT);
    gt_buffer expected = {0};
    gt_buffer_add_cstr(&expected, "text,count,time\n");
    for (size_t i = 0; i < ROWS; i++) {
        int count = (int)(i / 3 % 4) - 1; /* -1 -1 -1 0 0 0 1 1 1 null null null */
        gt_table_add_row(table);
        gt_table_set_cstr(table, 0, i, texts[i * i % 5]);
        if (count < 2) gt_table_set_int(table, 1, i, count);
        gt_table_set_float(table, 2, i, times_us[i % 5]);
        char line[64], number[16] = "";
        if (count < 2) snprintf(number, sizeof number, "%d", count);
        snprintf(line, sizeof line, "%s,%s,%s\n", quoted[i * i % 5], number, printed[i % 5]);
        gt_buffer_add_cstr(&expected, line);
    }
    gt_buffer_add(&expected, "", 1);
    expect_csv(table, expected.bytes);
    gt_buffer_free(&expected);
}

static void integers_of_all_lengths(void **state)
{
    (void)state;
    static const int64_t values[] = {0, 9, 10, 999, 1000, 999999, 1000000, -1, -999999, INT64_MAX, INT64_MIN};
    gt_table *table = gt_table_new(GT_SHEET("integers"), strings);
    gt_table_add_column(table, GT_COL("a"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("b"), GT_TYPE_INT);
    for (size_t i = 0; i < GT_LENGTH(values); i++) {
        gt_table_add_row(table);
        gt_table_set_int(table, 0, i, values[i]);
        gt_table_set_int(table, 1, i, values[GT_LENGTH(values) - 1 - i]);
    }
    gt_table_set_null(table, 1, 1);
    expect_csv(table, "a,b\n0,-9223372036854775808\n9,\n10,-999999\n999,-1\n1000,1000000\n999999,999999\n"
                      "1000000,1000\n-1,999\n-999999,10\n9223372036854775807,9\n-9223372036854775808,0\n");
}

static void each_table_has_a_file(void **state)
{
    (void)state;
    gt_error error;
    static const char *const names[] = {"gpu_timeline", "a/b", "gpu_timeline", "../up"};
    gt_table *tables[4];
    for (int i = 0; i < 4; i++) tables[i] = gt_table_new(gt_sheet_named(names[i]), strings);
    gt_output *output = gt_output_new();
    assert_true(gt_output_csvs(output, in_scratch("new/folder"), tables, 4, &error));
    assert_true(gt_output_commit(output, &error));
    gt_output_free(output);
    assert_int_equal(entries(in_scratch("new/folder")), 4);
    assert_true(exists(in_scratch("new/folder/gpu_timeline.csv")));
    assert_true(exists(in_scratch("new/folder/gpu_timeline_2.csv")));
    assert_true(exists(in_scratch("new/folder/a_b.csv")));
    assert_true(exists(in_scratch("new/folder/.._up.csv")));
    for (int i = 0; i < 4; i++) gt_table_free(tables[i]);
}

static void names_are_truncated_by_characters_and_stay_unique(void **state)
{
    (void)state;
    gt_name_set names = {0};
    assert_string_equal(gt_name_set_add(&names, "µµµµµ", 4), "µµµµ");
    assert_string_equal(gt_name_set_add(&names, "µµµµµ", 4), "µµ_2");
    assert_string_equal(gt_name_set_add(&names, "Abc", 31), "Abc");
    assert_string_equal(gt_name_set_add(&names, "aBC", 31), "aBC_2");
    assert_string_equal(gt_name_set_add(&names, "abc_2", 31), "abc_2_2");
    gt_name_set_free(&names);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_nulls_and_booleans),
        TEST(fields_are_quoted_only_if_necessary),
        TEST(column_names_are_quoted_like_fields),
        TEST(a_single_empty_field_is_quoted),
        TEST(tables_without_columns_or_rows),
        TEST(invalid_utf8_is_replaced),
        TEST(very_long_strings_are_written_completely),
        TEST(lists_are_python_literals),
        TEST(strings_in_lists_are_escaped_like_repr),
        TEST(repeated_cells_are_written_again),
        TEST(integers_of_all_lengths),
        TEST(each_table_has_a_file),
        TEST(names_are_truncated_by_characters_and_stay_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
