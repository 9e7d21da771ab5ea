/* Exact text of bars and rows in a given width; expected lines are written by hand. */
#include "output/terminal.h"
#include "output_help.h"

#include <math.h>

static gt_interner *strings;

static int begin(void **state)
{
    (void)state;
    strings = gt_interner_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    gt_interner_free(strings);
    return 0;
}

static char *printed;
static size_t printed_len;

static gt_terminal terminal_to_memory(size_t width, bool utf8)
{
    return (gt_terminal){.file = open_memstream(&printed, &printed_len), .width = width, .utf8 = utf8};
}

static void expect_printed(gt_terminal *terminal, const char *expected)
{
    fclose(terminal->file);
    assert_string_equal(printed, expected);
    free(printed);
}

static const gt_bar timeline[] = {
    {"total_time", 34.892, 100},
    {"computation_time", 17.446, 50},
    {"exposed_comm_time", 2.1807, 6.25},
    {"busy", 0.001, 0.003},
    {"idle", 0, 0},
    {"unknown", 1.5, NAN},
};
enum { TIMELINE = sizeof timeline / sizeof *timeline };

static void bars_in_blocks(void **state)
{
    (void)state;
    /* 17 label + 2, 16 of bar, 2 + 9 value, 2 + 6 percent = 54. Half of 16 cells is 8; 6.25 % is one; a tiny
     * value is an eighth. */
    gt_terminal terminal = terminal_to_memory(54, true);
    gt_terminal_bars(&terminal, timeline, TIMELINE, "ms");
    expect_printed(&terminal, "total_time         ████████████████  34.892 ms  100.0%\n"
                              "computation_time   ████████          17.446 ms   50.0%\n"
                              "exposed_comm_time  █                  2.181 ms    6.2%\n"
                              "busy               ▏                  0.001 ms    0.0%\n"
                              "idle                                  0.000 ms    0.0%\n"
                              "unknown                               1.500 ms\n");
}

static void bars_in_ascii(void **state)
{
    (void)state;
    gt_terminal terminal = terminal_to_memory(54, false);
    gt_terminal_bars(&terminal, timeline, 4, "µs");
    expect_printed(&terminal, "total_time         ################  34.892 ?s  100.0%\n"
                              "computation_time   ########          17.446 ?s   50.0%\n"
                              "exposed_comm_time  #                  2.181 ?s    6.2%\n"
                              "busy                                  0.001 ?s    0.0%\n");
}

static void bars_of_eighths(void **state)
{
    (void)state;
    gt_terminal terminal = terminal_to_memory(40, true);
    /* 1 label + 2, 2 + 5 value, 2 + 6 percent leave 22 cells, 176 eighths: 8.4 % of them is 15 (14.8). */
    static const gt_bar bars[] = {{"a", 1, 100}, {"b", 0.5, 8.4}, {"c", 2, 130}};
    gt_terminal_bars(&terminal, bars, 3, NULL);
    expect_printed(&terminal, "a  ██████████████████████  1.000  100.0%\n"
                              "b  █▉                      0.500    8.4%\n"
                              "c  ██████████████████████  2.000  130.0%\n");
}

static void large_values_have_separators_and_long_labels_are_shortened(void **state)
{
    (void)state;
    gt_terminal terminal = terminal_to_memory(40, true);
    static const gt_bar bars[] = {{"a label that is much too long for this", 1234567.89, 40}};
    /* 2 + 14 value, 2 + 5 percent, 2, 12 for the label, which is the least, leave 3 cells of bar: 24 eighths,
     * of which 9.6 are filled. The label keeps 6 cells, the mark and 5 cells. */
    gt_terminal_bars(&terminal, bars, 1, "ms");
    expect_printed(&terminal, "a labe… this  █▎   1,234,567.9 ms  40.0%\n");
}

static gt_table *kernels(void)
{
    gt_table *table = gt_table_new(GT_SHEET("kernels"), strings);
    gt_table_add_column(table, GT_COL("name"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("Count"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("Percentage (%)"), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL("dispatch_id"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("fused"), GT_TYPE_BOOL);
    static const struct {
        const char *name;
        int64_t count;
        double percent;
    } rows[] = {
        {"void vectorized_elementwise_kernel<4, float>(int, float*)", 10247, 86.6047743568478},
        {"gemm\n\x1b[31m", 7, 2.183736413790738},
        {"日本語カーネル名テスト", 1, INFINITY},
    };
    for (size_t i = 0; i < 3; i++) {
        gt_table_add_row(table);
        gt_table_set_cstr(table, 0, i, rows[i].name);
        gt_table_set_int(table, 1, i, rows[i].count);
        gt_table_set_float(table, 2, i, rows[i].percent);
        gt_table_set_int(table, 3, i, 123456);
        gt_table_set_bool(table, 4, i, i == 1);
    }
    gt_table_add_row(table);
    return table;
}

static void rows_are_aligned_and_shortened_in_the_middle(void **state)
{
    (void)state;
    static const gt_terminal_column columns[] = {
        {GT_COL("Percentage (%)"), "share", 1, "%"},
        {GT_COL("Count"), NULL, 0, NULL},
        {GT_COL("no such column"), NULL, 0, NULL},
        {GT_COL("dispatch_id"), "id", -1, NULL},
        {GT_COL("fused"), NULL, 0, NULL},
        {GT_COL("name"), "kernel", 0, NULL},
    };
    gt_table *table = kernels();
    gt_terminal terminal = terminal_to_memory(50, true);
    gt_terminal_rows(&terminal, table, columns, 6, 10);
    /* 5 + 2 + 6 + 2 + 6 + 2 + 5 + 2 leave 20 for the name: 10 cells, the mark, 9 cells. The wide name takes
     * 22: five characters, the mark, four, since half a character cannot be shown. */
    expect_printed(&terminal, "share   Count      id  fused  kernel\n"
                              "86.6%  10,247  123456  no     void vecto…, float*)\n"
                              " 2.2%       7  123456  yes    gemm\\n\\x1b[31m\n"
                              " inf%       1  123456  no     日本語カー…名テスト\n"
                              "    -       -       -  -      -\n");
    terminal = terminal_to_memory(50, false);
    gt_terminal_rows(&terminal, table, columns, 6, 1);
    expect_printed(&terminal, "share   Count      id  fused  kernel\n"
                              "86.6%  10,247  123456  no     void vect... float*)\n");
    gt_table_free(table);
}

static void columns_that_do_not_fit_are_omitted(void **state)
{
    (void)state;
    static const gt_terminal_column columns[] = {
        {GT_COL("name"), "kernel", 0, NULL},
        {GT_COL("dispatch_id"), "a header of twenty", -1, NULL},
        {GT_COL("dispatch_id"), "another of the kind", -1, NULL},
    };
    gt_table *table = kernels();
    gt_terminal terminal = terminal_to_memory(20, true); /* counts as 40 */
    gt_terminal_rows(&terminal, table, columns, 3, 1);
    expect_printed(&terminal, "kernel        a header of twenty\n"
                              "void v…oat*)              123456\n");
    gt_table_free(table);
}

static void tables_without_rows_or_known_columns(void **state)
{
    (void)state;
    gt_table *table = gt_table_new(GT_SHEET("empty"), strings);
    gt_table_add_column(table, GT_COL("count"), GT_TYPE_INT);
    static const gt_terminal_column columns[] = {{GT_COL("count"), NULL, 0, NULL},
                                                 {GT_COL("other"), NULL, 0, NULL}};
    gt_terminal terminal = terminal_to_memory(80, true);
    gt_terminal_rows(&terminal, table, columns, 2, 10);
    gt_terminal_rows(&terminal, table, columns + 1, 1, 10);
    gt_terminal_bars(&terminal, NULL, 0, "ms");
    expect_printed(&terminal, "count\n");
    gt_table_free(table);
}

static void colour_only_when_asked(void **state)
{
    (void)state;
    gt_terminal terminal = terminal_to_memory(40, true);
    terminal.colour = true;
    gt_terminal_heading(&terminal, "Top kernels");
    static const gt_bar bars[] = {{"a", 1, 50}};
    gt_terminal_bars(&terminal, bars, 1, NULL);
    expect_printed(&terminal, "\033[1mTop kernels\033[0m\n"
                              "a  \033[36m███████████▌\033[0m             1.000  50.0%\n");
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    FILE *file = tmpfile();
    assert_false(gt_terminal_for(file).colour); /* not a terminal */
    fclose(file);
}

static void the_environment_decides(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    setenv("COLUMNS", "72", 1);
    setenv("LC_ALL", "en_US.UTF-8", 1);
    assert_int_equal(gt_terminal_for(file).width, 72);
    assert_true(gt_terminal_for(file).utf8);
    setenv("LC_ALL", "C", 1);
    setenv("LANG", "en_US.UTF-8", 1);
    unsetenv("COLUMNS");
    assert_int_equal(gt_terminal_for(file).width, 100);
    assert_false(gt_terminal_for(file).utf8);
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    assert_true(gt_terminal_for(file).utf8);
    fclose(file);
}

static void expect_cut(const char *text, size_t width, bool utf8, const char *expected)
{
    gt_buffer out = {0};
    gt_display_add_cut(&out, (gt_str){text, strlen(text)}, width, utf8);
    assert_string_equal(gt_buffer_str(&out).bytes, expected);
    gt_buffer_free(&out);
}

static void truncation(void **state)
{
    (void)state;
    expect_cut("abcdefghij", 10, true, "abcdefghij");
    expect_cut("abcdefghij", 9, true, "abcd…ghij");
    expect_cut("abcdefghij", 8, true, "abcd…hij");
    expect_cut("abcdefghij", 8, false, "abc...ij");
    expect_cut("abcdefghij", 2, true, "a…");
    expect_cut("abcdefghij", 1, true, "a");
    expect_cut("abcdefghij", 0, true, "");
    expect_cut("e\u0301bcdefghi\u0301", 5, true, "e\u0301b…hi\u0301");
    expect_cut("日本語日本語", 6, true, "日…語");
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    gt_buffer out = {0};
    gt_display_add(&out, (gt_str){"a\tb\x1b[0m\u202Ec\xff\0", 13}, true);
    assert_string_equal(gt_buffer_str(&out).bytes, "a\\tb\\x1b[0m\\u202ec\uFFFD\\x00");
    gt_buffer_free(&out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bars_in_blocks),
        TEST(bars_in_ascii),
        TEST(bars_of_eighths),
        TEST(large_values_have_separators_and_long_labels_are_shortened),
        TEST(rows_are_aligned_and_shortened_in_the_middle),
        TEST(columns_that_do_not_fit_are_omitted),
        TEST(tables_without_rows_or_known_columns),
        TEST(colour_only_when_asked),
        TEST(the_environment_decides),
        TEST(truncation),
        TEST(control_characters_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
