/* Sorting compared with qsort and a comparison function written from the rules: direction, missing last, ties
 * by index. */
#include "test_table_strings.h"
#include "table/operations.h"

static void sort_and_expect(const char *text, const gt_sort_key *keys, size_t key_count, const char *expected)
{
    gt_table *table = read_table(strings, text);
    gt_table_sort(table, keys, key_count);
    expect_table(table, expected);
    gt_table_free(table);
}

static void missing_values_come_last_in_both_directions(void **state)
{
    (void)state;
    static const char *const text =
        "a:int b:float c:text d:bool row:int\n"
        "3 0.5 b true 0\n- - - - 1\n-1 -2 a false 2\n- - - - 3\n7 inf ab true 4\n";
    static const struct {
        gt_sort_key key;
        int order[5];
    } cases[] = {
        {{GT_COL("a"), false}, {2, 0, 4, 1, 3}}, {{GT_COL("a"), true}, {4, 0, 2, 1, 3}},
        {{GT_COL("b"), false}, {2, 0, 4, 1, 3}}, {{GT_COL("b"), true}, {4, 0, 2, 1, 3}},
        {{GT_COL("c"), false}, {2, 4, 0, 1, 3}}, {{GT_COL("c"), true}, {0, 4, 2, 1, 3}},
        {{GT_COL("d"), false}, {2, 0, 4, 1, 3}}, {{GT_COL("d"), true}, {0, 4, 2, 1, 3}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_table *table = read_table(strings, text);
        gt_table_sort(table, &cases[i].key, 1);
        for (int row = 0; row < 5; row++)
            assert_int_equal(gt_table_column(table, GT_COL("row"))->ints[row], cases[i].order[row]);
        gt_table_free(table);
    }
}

static void ties_keep_their_order_or_take_the_next_key(void **state)
{
    (void)state;
    static const char *const text = "name:text dur:int\nb 1\na 2\nb 3\na 2\na 1\n";
    sort_and_expect(text, (gt_sort_key[]){{GT_COL("name"), false}}, 1,
                    "name:text dur:int\na 2\na 2\na 1\nb 1\nb 3\n");
    sort_and_expect(text, (gt_sort_key[]){{GT_COL("name"), true}}, 1,
                    "name:text dur:int\nb 1\nb 3\na 2\na 2\na 1\n");
    sort_and_expect(text, (gt_sort_key[]){{GT_COL("dur"), true}, {GT_COL("name"), false}}, 2,
                    "name:text dur:int\nb 3\na 2\na 2\na 1\nb 1\n");
    sort_and_expect(text, NULL, 0, text);
}

static void extreme_numbers_are_in_order(void **state)
{
    (void)state;
    sort_and_expect("a:int\n9223372036854775807\n0\n-9223372036854775808\n-1\n",
                    (gt_sort_key[]){{GT_COL("a"), false}}, 1,
                    "a:int\n-9223372036854775808\n-1\n0\n9223372036854775807\n");
    sort_and_expect(
        "a:float row:int\n0 0\n-0 1\n5e-324 2\n-inf 3\n0 4\n-5e-324 5\n1e308 6\n", /* -0 ties with 0 */
        (gt_sort_key[]){{GT_COL("a"), false}}, 1,
        "a:float row:int\n-inf 3\n-5e-324 5\n0 0\n-0 1\n0 4\n5e-324 2\n1e+308 6\n");
}

static void empty_and_single_rows_sort(void **state)
{
    (void)state;
    sort_and_expect("a:int b:text\n", (gt_sort_key[]){{GT_COL("b"), true}, {GT_COL("a"), false}}, 2,
                    "a:int b:text\n");
    sort_and_expect("a:int b:text\n- x\n", (gt_sort_key[]){{GT_COL("a"), true}, {GT_COL("b"), false}}, 2,
                    "a:int b:text\n- x\n");
}

/* ---- compared with qsort ---- */

static const gt_table *compared_table;
static const gt_sort_key *compared_keys;
static size_t compared_key_count;

static int compare_values(const gt_column *column, uint32_t a, uint32_t b)
{
    switch (column->type) {
    case GT_TYPE_INT:
        return (column->ints[a] > column->ints[b]) - (column->ints[a] < column->ints[b]);
    case GT_TYPE_FLOAT:
        return (column->floats[a] > column->floats[b]) - (column->floats[a] < column->floats[b]);
    case GT_TYPE_BOOL:
        return column->bools[a] - column->bools[b];
    default:
        return gt_str_compare(gt_interner_get(strings, column->texts[a]),
                              gt_interner_get(strings, column->texts[b]));
    }
}

static int compare_rows(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    for (size_t k = 0; k < compared_key_count; k++) {
        const gt_column *column = gt_table_column(compared_table, compared_keys[k].column);
        bool a_null = gt_column_is_null(column, a), b_null = gt_column_is_null(column, b);
        if (a_null != b_null) return a_null ? 1 : -1;
        int order = a_null ? 0 : compare_values(column, a, b);
        if (order) return compared_keys[k].descending ? -order : order;
    }
    return a < b ? -1 : 1;
}

static void expect_order(const gt_table *table, const gt_sort_key *keys, size_t key_count)
{
    uint32_t *order = gt_table_order(table, keys, key_count);
    uint32_t *expected = malloc((table->row_count + 1) * sizeof *expected);
    for (size_t row = 0; row < table->row_count; row++) expected[row] = (uint32_t)row;
    compared_table = table;
    compared_keys = keys;
    compared_key_count = key_count;
    qsort(expected, table->row_count, sizeof *expected, compare_rows);
    assert_memory_equal(order, expected, table->row_count * sizeof *order);
    free(order);
    free(expected);
}

/* Strings that share long prefixes, end at every position within eight bytes, and contain NULs and high
 * bytes. */
static uint32_t random_text(uint32_t variety)
{
    static const char alphabet[] = {'a', 'b', '\0', '\x7f', '\xc3', '\xff'};
    char bytes[64];
    size_t len = random_below(3) * 8 + random_below(12);
    memset(bytes, 'x', sizeof bytes);
    for (size_t i = len > 6 ? len - 6 : 0; i < len; i++) bytes[i] = alphabet[random_below(variety)];
    return gt_interner_add(strings, bytes, len);
}

static uint64_t random_bits(unsigned bits)
{
    uint64_t value = (uint64_t)random_below(1u << 31) << 33 ^ (uint64_t)random_below(1u << 31) << 12 ^
                     random_below(1u << 20);
    return bits ? value >> (64 - bits) : 0;
}

static gt_table *random_table(size_t rows)
{
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_column(table, GT_COL("int"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("float"), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL("text"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("bool"), GT_TYPE_BOOL);
    unsigned bits = random_below(65), variety = 1 + random_below(6), nulls = random_below(3) ? 20 : 1u << 30;
    for (size_t row = 0; row < rows; row++) {
        gt_table_add_row(table);
        if (random_below(nulls)) gt_table_set_int(table, 0, row, (int64_t)random_bits(bits));
        if (random_below(nulls))
            gt_table_set_float(table, 1, row, (double)(int64_t)random_bits(bits) / 8 - 100);
        if (random_below(nulls)) gt_table_set_string(table, 2, row, random_text(variety));
        if (random_below(nulls)) gt_table_set_bool(table, 3, row, random_below(2));
    }
    return table;
}

static void random_tables_agree_with_qsort(void **state)
{
    (void)state;
    static const size_t sizes[] = {2, 3, 7, 24, 25, 26, 100, 300, 1000, 9000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int repeat = 0; repeat < (sizes[s] < 1000 ? 20 : 2); repeat++) {
            gt_table *table = random_table(sizes[s]);
            for (size_t c = 0; c < 4; c++) {
                gt_sort_key keys[2] = {{gt_col_named(table->columns[c].name), random_below(2)},
                                       {gt_col_named(table->columns[random_below(4)].name), random_below(2)}};
                expect_order(table, keys, 1);
                keys[0].descending = !keys[0].descending;
                expect_order(table, keys, 2);
            }
            gt_table_free(table);
        }
    }
}

static void all_columns_move_with_the_key(void **state)
{
    (void)state;
    gt_table *table = random_table(3000), *sorted = gt_table_copy(table);
    gt_sort_key key = {GT_COL("float"), true};
    gt_table_sort(sorted, &key, 1);
    uint32_t *order = gt_table_order(table, &key, 1);
    for (size_t row = 0; row < 3000; row++) {
        for (size_t c = 0; c < 4; c++) {
            bool is_null = gt_column_is_null(&table->columns[c], order[row]);
            assert_int_equal(gt_column_is_null(&sorted->columns[c], row), is_null);
        }
        assert_int_equal(sorted->columns[0].ints[row], table->columns[0].ints[order[row]]);
        assert_int_equal(sorted->columns[2].texts[row], table->columns[2].texts[order[row]]);
    }
    free(order);
    gt_table_free(sorted);
    gt_table_free(table);
}

static void subsets_of_rows_can_be_ordered(void **state)
{
    (void)state;
    static const double values[] = {5, NAN, 3, 9, 1};
    uint32_t rows[] = {3, 1, 0, 4};
    gt_order_by_floats(rows, 4, values, false);
    assert_memory_equal(rows, ((uint32_t[]){4, 0, 3, 1}), sizeof rows);
    static const int64_t ints[] = {5, 0, 3, 9, 5};
    static const uint8_t nulls[] = {0, 1, 0, 0, 0};
    uint32_t some[] = {4, 1, 0, 2};
    gt_order_by_ints(some, 4, ints, nulls, true);
    assert_memory_equal(some, ((uint32_t[]){4, 0, 2, 1}), sizeof some);
    uint32_t b = gt_interner_add_cstr(strings, "b"), a = gt_interner_add_cstr(strings, "a");
    uint32_t texts[] = {b, a, GT_STR_NONE, GT_STR_EMPTY, b}, all[] = {0, 1, 2, 3, 4};
    gt_order_by_strings(all, 5, texts, strings, false);
    assert_memory_equal(all, ((uint32_t[]){3, 1, 0, 4, 2}), sizeof all);
}

static void strings_with_long_common_prefixes_sort_quickly(void **state)
{
    (void)state;
    enum { TEXTS = 300, LENGTH = 40000 };
    char *bytes = malloc(LENGTH);
    uint32_t ids[TEXTS];
    memset(bytes, 'k', LENGTH);
    for (uint32_t i = 0; i < TEXTS; i++) {
        uint32_t shuffled = i * 77 % TEXTS; /* 77 and 300 share no factor */
        bytes[LENGTH - 2] = (char)(1 + shuffled / 100);
        bytes[LENGTH - 1] = (char)(1 + shuffled % 100);
        ids[i] = gt_interner_add(strings, bytes, LENGTH);
    }
    gt_sort_strings(ids, TEXTS, strings);
    for (uint32_t i = 0; i < TEXTS; i++) {
        const char *text = gt_interner_get(strings, ids[i]).bytes;
        assert_int_equal((text[LENGTH - 2] - 1) * 100 + text[LENGTH - 1] - 1, i);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_values_come_last_in_both_directions),
        cmocka_unit_test(ties_keep_their_order_or_take_the_next_key),
        cmocka_unit_test(extreme_numbers_are_in_order),
        cmocka_unit_test(empty_and_single_rows_sort),
        cmocka_unit_test(random_tables_agree_with_qsort),
        cmocka_unit_test(all_columns_move_with_the_key),
        cmocka_unit_test(subsets_of_rows_can_be_ordered),
        cmocka_unit_test(strings_with_long_common_prefixes_sort_quickly),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
