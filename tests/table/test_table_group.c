/* Group-by: small tables computed by hand, large random ones compared with loops over all pairs of rows and
 * groups. */
#include "test_table_strings.h"
#include "base/memory.h"
#include "table/operations.h"
#include "table/stats.h"

static const gt_aggregate all_kinds[] = {
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL("size")},           {GT_COL("v"), GT_GROUP_COUNT, GT_COL("count")},
    {GT_COL("v"), GT_GROUP_DISTINCT, GT_COL("distinct")}, {GT_COL("v"), GT_GROUP_SUM, GT_COL("sum")},
    {GT_COL("v"), GT_GROUP_MEAN, GT_COL("mean")},         {GT_COL("v"), GT_GROUP_MEDIAN, GT_COL("median")},
    {GT_COL("v"), GT_GROUP_STD, GT_COL("std")},           {GT_COL("v"), GT_GROUP_MIN, GT_COL("min")},
    {GT_COL("v"), GT_GROUP_MAX, GT_COL("max")},           {GT_COL("v"), GT_GROUP_FIRST, GT_COL("first")},
    {GT_COL("v"), GT_GROUP_LAST, GT_COL("last")},
};

static void group_and_expect(const char *text, const gt_aggregate *aggregates, size_t count,
                             gt_group_options options, const char *expected)
{
    gt_table *table = read_table(strings, text);
    gt_table *result = gt_table_group(table, (gt_col[]){GT_COL("k")}, 1, aggregates, count, options);
    expect_table(result, expected);
    gt_table_free(result);
    gt_table_free(table);
}

static void integers(void **state)
{
    (void)state;
    group_and_expect(
        "k:text v:int\nb 4\na -1\nb 1\nb 4\n- 9\na -\nc -\nb 8\n", all_kinds, GT_LENGTH(all_kinds),
        (gt_group_options){0},
        "k:text size:int count:int distinct:int sum:int mean:float median:float std:float min:int "
        "max:int first:int last:int\n"
        /* std: mean 4.25, squares 0.0625 + 10.5625 + 0.0625 + 14.0625 = 24.75, over 3: 8.25 */
        "b 4 4 3 17 4.25 4 2.8722813232690143 1 8 4 8\n"
        "a 2 1 1 -1 -1 -1 - -1 -1 -1 -1\n"
        "c 1 0 0 0 - - - - - - -\n");
}

static void floats(void **state)
{
    (void)state;
    group_and_expect(
        "k:int v:float\n7 0.5\n-3 -2\n7 -\n7 1.5\n-3 inf\n8 -\n", all_kinds, GT_LENGTH(all_kinds),
        (gt_group_options){.sorted = true},
        "k:int size:int count:int distinct:int sum:float mean:float median:float std:float min:float "
        "max:float first:float last:float\n"
        "-3 2 2 2 inf inf inf - -2 inf -2 inf\n"
        "7 3 2 2 2 1 1 0.7071067811865476 0.5 1.5 0.5 1.5\n"
        "8 1 0 0 0 - - - - - - -\n");
}

static void bools_count_as_0_and_1(void **state)
{
    (void)state;
    group_and_expect(
        "k:bool v:bool\ntrue true\nfalse true\ntrue -\ntrue false\ntrue true\n", all_kinds,
        GT_LENGTH(all_kinds), (gt_group_options){.sorted = true},
        "k:bool size:int count:int distinct:int sum:int mean:float median:float std:float min:bool "
        "max:bool first:bool last:bool\n"
        "false 1 1 1 1 1 1 - true true true true\n"
        /* std: the running mean ends in 58 where rounding once would give 57 */
        "true 4 3 2 2 0.6666666666666666 1 0.5773502691896258 false true true true\n");
}

static void texts(void **state)
{
    (void)state;
    static const gt_aggregate kinds[] = {
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL("size")},           {GT_COL("v"), GT_GROUP_COUNT, GT_COL("count")},
        {GT_COL("v"), GT_GROUP_DISTINCT, GT_COL("distinct")}, {GT_COL("v"), GT_GROUP_MIN, GT_COL("min")},
        {GT_COL("v"), GT_GROUP_MAX, GT_COL("max")},           {GT_COL("v"), GT_GROUP_FIRST, GT_COL("first")},
        {GT_COL("v"), GT_GROUP_LAST, GT_COL("last")},
    };
    group_and_expect("k:float v:text\n1.5 m\n1.5 -\n0 b\n1.5 z\n-0 a\n1.5 aa\n1.5 m\n-2 -\n", kinds,
                     GT_LENGTH(kinds), (gt_group_options){.sorted = true},
                     "k:float size:int count:int distinct:int min:text max:text first:text last:text\n"
                     "-2 1 0 0 - - - -\n"
                     "0 2 2 2 a b b a\n"
                     "1.5 5 4 3 aa z m m\n");
}

static void lists_are_counted_and_picked(void **state)
{
    (void)state;
    static const gt_aggregate kinds[] = {{GT_COL("v"), GT_GROUP_COUNT, GT_COL("count")},
                                         {GT_COL("v"), GT_GROUP_FIRST, GT_COL("first")},
                                         {GT_COL("v"), GT_GROUP_LAST, GT_COL("last")}};
    gt_table *table = read_table(strings, "k:int\n1\n2\n1\n1\n");
    gt_table_add_column(table, GT_COL("v"), GT_TYPE_LIST);
    gt_column *lists = gt_table_column(table, GT_COL("v"));
    for (int row = 2; row < 4; row++) {
        gt_list_begin(lists, row);
        gt_list_push_int(lists, row);
        gt_list_push_int(lists, row * 10);
    }
    gt_table *result = gt_table_group(table, (gt_col[]){GT_COL("k")}, 1, kinds, 3, (gt_group_options){0});
    expect_table(result, "k:int count:int first:list last:list\n1 2 [2,20] [3,30]\n2 0 - -\n");
    gt_table_free(result);
    gt_table_free(table);
}

static void null_keys_are_dropped_or_kept(void **state)
{
    (void)state;
    static const char *const text = "k:int v:int\n- 1\n5 2\n- 3\n4 4\n";
    static const gt_aggregate sum[] = {{GT_COL("v"), GT_GROUP_SUM, GT_COL("sum")}};
    group_and_expect(text, sum, 1, (gt_group_options){0}, "k:int sum:int\n5 2\n4 4\n");
    group_and_expect(text, sum, 1, (gt_group_options){.keep_nulls = true}, "k:int sum:int\n- 4\n5 2\n4 4\n");
    group_and_expect(text, sum, 1, (gt_group_options){.keep_nulls = true, .sorted = true},
                     "k:int sum:int\n4 4\n5 2\n- 4\n");
    group_and_expect("k:int v:int\n- 1\n", sum, 1, (gt_group_options){0}, "k:int sum:int\n");
}

static void group_sums_of_floats_are_compensated(void **state)
{
    (void)state;
    /* Left to right the three give 0.6000000000000001, and ten tenths 0.9999999999999999. */
    static const gt_aggregate kinds[] = {{GT_COL("v"), GT_GROUP_SUM, GT_COL("sum")},
                                         {GT_COL("v"), GT_GROUP_MEAN, GT_COL("mean")}};
    group_and_expect(
        "k:int v:float\n1 0.1\n1 0.2\n1 0.3\n2 0.1\n2 0.1\n2 0.1\n2 0.1\n2 0.1\n2 0.1\n2 0.1\n2 0.1\n"
        "2 0.1\n2 0.1\n3 inf\n3 1\n4 inf\n4 -inf\n",
        kinds, 2, (gt_group_options){0},
        "k:int sum:float mean:float\n1 0.6 0.19999999999999998\n2 1 0.1\n3 inf inf\n4 - -\n");
}

static void integer_sums_that_do_not_fit_become_floats(void **state)
{
    (void)state;
    static const gt_aggregate kinds[] = {{GT_COL("v"), GT_GROUP_SUM, GT_COL("sum")},
                                         {GT_COL("v"), GT_GROUP_MEAN, GT_COL("mean")}};
    group_and_expect("k:int v:int\n1 9223372036854775807\n1 9223372036854775807\n2 5\n", kinds, 2,
                     (gt_group_options){0},
                     "k:int sum:float mean:float\n1 1.8446744073709552e+19 9.223372036854776e+18\n2 5 5\n");
}

static void tables_without_rows_or_keys(void **state)
{
    (void)state;
    group_and_expect(
        "k:text v:int\n", all_kinds, GT_LENGTH(all_kinds), (gt_group_options){.sorted = true},
        "k:text size:int count:int distinct:int sum:int mean:float median:float std:float min:int "
        "max:int first:int last:int\n");
    gt_table *table = read_table(strings, "v:int\n1\n2\n4\n");
    gt_table *result = gt_table_group(table, NULL, 0, all_kinds + 3, 2, (gt_group_options){.sorted = true});
    expect_table(result, "sum:int mean:float\n7 2.3333333333333335\n");
    gt_table_free(result);
    gt_table_head(table, 0);
    result = gt_table_group(table, NULL, 0, all_kinds + 3, 2, (gt_group_options){0});
    expect_table(result, "sum:int mean:float\n");
    gt_table_free(result);
    gt_table_free(table);
}

static void rows_group_by_several_keys(void **state)
{
    (void)state;
    gt_table *table =
        read_table(strings, "name:text stream:int v:int\nb 1 1\na 2 2\nb 1 4\na 1 8\nb - 16\na 2 32\n");
    static const gt_aggregate sum[] = {{GT_COL("v"), GT_GROUP_SUM, GT_COL("sum")}};
    static const gt_col keys[] = {GT_COL("name"), GT_COL("stream")};
    gt_table *result = gt_table_group(table, keys, 2, sum, 1, (gt_group_options){0});
    expect_table(result, "name:text stream:int sum:int\nb 1 5\na 2 34\na 1 8\n");
    gt_table_free(result);
    result = gt_table_group(table, keys, 2, sum, 1, (gt_group_options){.sorted = true, .keep_nulls = true});
    expect_table(result, "name:text stream:int sum:int\na 1 8\na 2 34\nb 1 5\nb - 16\n");
    gt_table_free(result);
    gt_table_free(table);
}

/* ---- random tables ---- */

static const int64_t far_apart[] = {INT64_MIN, -5, 0, 3, INT64_MAX};

/* Keys of every kind: close integers, integers over the whole range, floats, texts, bools. */
static gt_table *random_table(size_t rows)
{
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_column(table, GT_COL("near"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("far"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("float"), GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL("text"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("bool"), GT_TYPE_BOOL);
    gt_table_add_column(table, GT_COL("wide"), GT_TYPE_INT);
    uint32_t variety = 1 + random_below((uint32_t)rows), nulls = random_below(2) ? 6 : 1u << 30;
    unsigned bits =
        32 - (unsigned)__builtin_clz(variety); /* `wide` is up to 62 bits wide: two do not fit together */
    unsigned shift = 62 - bits - random_below(30);
    for (size_t row = 0; row < rows; row++) {
        char text[16];
        snprintf(text, sizeof text, "%x", random_below(variety));
        gt_table_add_row(table);
        if (random_below(nulls)) gt_table_set_int(table, 0, row, (int)random_below(variety) - 3);
        if (random_below(nulls)) gt_table_set_int(table, 1, row, far_apart[random_below(5)]);
        if (random_below(nulls)) gt_table_set_float(table, 2, row, (int)random_below(7) * 0.25 - 0.5);
        if (random_below(nulls)) gt_table_set_cstr(table, 3, row, text);
        if (random_below(nulls)) gt_table_set_bool(table, 4, row, random_below(2));
        if (random_below(nulls)) gt_table_set_int(table, 5, row, (int64_t)random_below(variety) << shift);
    }
    return table;
}

static bool same_key(const gt_table *table, gt_col name, size_t a, size_t b)
{
    const gt_column *column = gt_table_column(table, name);
    bool a_null = gt_column_is_null(column, a), b_null = gt_column_is_null(column, b);
    if (a_null || b_null) return a_null && b_null;
    switch (column->type) {
    case GT_TYPE_INT:
        return column->ints[a] == column->ints[b];
    case GT_TYPE_FLOAT:
        return column->floats[a] == column->floats[b];
    case GT_TYPE_STRING:
        return column->texts[a] == column->texts[b];
    default:
        return column->bools[a] == column->bools[b];
    }
}

/* Groups by comparing each row with the first row of each group so far. */
static size_t group_slowly(const gt_table *table, const gt_col *keys, size_t key_count, bool keep_nulls,
                           uint32_t *of_row, uint32_t *first_row)
{
    size_t groups = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        bool dropped = false;
        size_t group = 0;
        for (size_t k = 0; k < key_count; k++)
            dropped |= !keep_nulls && gt_column_is_null(gt_table_column(table, keys[k]), row);
        for (; group < groups; group++) {
            size_t k = 0;
            while (k < key_count && same_key(table, keys[k], row, first_row[group])) k++;
            if (k == key_count) break;
        }
        if (!dropped && group == groups) first_row[groups++] = (uint32_t)row;
        of_row[row] = dropped ? GT_NO_GROUP : (uint32_t)group;
    }
    return groups;
}

/* Each group has exactly its rows, in row order. */
static void check_group_rows(const gt_groups *groups)
{
    gt_group_rows by_group = gt_group_rows_find(groups);
    size_t at = 0;
    for (size_t g = 0; g < groups->count; g++) {
        assert_int_equal(by_group.begins[g], at);
        for (size_t row = 0; row < groups->row_count; row++)
            if (groups->of_row[row] == g) assert_int_equal(by_group.rows[at++], row);
    }
    assert_int_equal(by_group.begins[groups->count], at);
    gt_group_rows_free(&by_group);
}

static void random_keys_agree_with_comparing_all_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"near", "far", "float", "text", "bool", "wide"};
    for (int repeat = 0; repeat < 150; repeat++) {
        size_t rows = 1 + random_below(repeat % 15 ? 100 : 1500), key_count = 1 + random_below(6);
        gt_table *table = random_table(rows);
        gt_col keys[6];
        for (size_t k = 0; k < key_count; k++) keys[k] = gt_col_named(names[random_below(6)]);
        uint32_t *of_row = malloc(rows * sizeof *of_row), *first_row = malloc(rows * sizeof *first_row);
        bool keep_nulls = random_below(2);
        size_t count = group_slowly(table, keys, key_count, keep_nulls, of_row, first_row);
        gt_groups groups =
            gt_groups_find(table, keys, key_count, (gt_group_options){.keep_nulls = keep_nulls});
        assert_int_equal(groups.count, count);
        assert_memory_equal(groups.of_row, of_row, rows * sizeof *of_row);
        if (count) assert_memory_equal(groups.first_row, first_row, count * sizeof *first_row);
        check_group_rows(&groups);
        gt_groups_free(&groups);
        free(of_row);
        free(first_row);
        gt_table_free(table);
    }
}

/* Thousands of different keys: the hash table grows. */
static void many_groups_stay_separate(void **state)
{
    (void)state;
    enum { ROWS = 60000, KEYS = 20011 };
    gt_table *table = gt_table_new(GT_SHEET(""), strings);
    gt_table_add_column(table, GT_COL("k"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("f"), GT_TYPE_FLOAT);
    gt_table_add_rows(table, ROWS);
    for (int64_t row = 0; row < ROWS; row++) {
        int64_t key = row * 7 % KEYS; /* each key in the first KEYS rows once, then again */
        table->columns[0].ints[row] = key * key << 20;
        table->columns[1].floats[row] = key / 1024.0;
    }
    for (int which = 0; which < 2; which++) {
        gt_groups groups =
            gt_groups_find(table, (gt_col[]){which ? GT_COL("f") : GT_COL("k")}, 1, (gt_group_options){0});
        assert_int_equal(groups.count, KEYS);
        for (size_t row = 0; row < ROWS; row++) assert_int_equal(groups.of_row[row], row % KEYS);
        gt_groups_free(&groups);
    }
    gt_table_free(table);
}

static void aggregates_agree_with_one_group_at_a_time(void **state)
{
    (void)state;
    enum { ROWS = 3000, GROUPS = 40 };
    static uint32_t of_row[ROWS];
    static int64_t ints[ROWS], wide[ROWS];
    static uint8_t nulls[ROWS];
    static double floats[ROWS], as_floats[ROWS], one[ROWS];
    for (int i = 0; i < ROWS; i++) {
        of_row[i] = random_below(20) ? random_below(GROUPS) : GT_NO_GROUP;
        ints[i] = (int)random_below(2001) - 1000;
        wide[i] = INT64_MAX - (int64_t)random_below(1000);
        nulls[i] = random_below(5) == 0;
        floats[i] =
            random_below(6) ? (int)random_below(100000) / 64.0 - 500 : NAN; /* sums of these are exact */
        as_floats[i] = nulls[i] ? NAN : (double)ints[i];
    }
    gt_int_summary int_summaries[GROUPS + 1];
    gt_float_summary float_summaries[GROUPS + 1];
    double stds[GROUPS + 1], medians[GROUPS + 1], float_stds[GROUPS + 1], float_medians[GROUPS + 1],
        sums[GROUPS + 1];
    size_t groups = GROUPS + 1; /* the last one is empty */
    const gt_groups grouped = {.of_row = of_row, .row_count = ROWS, .count = groups};
    assert_true(gt_group_ints(&grouped, ints, nulls, int_summaries));
    gt_group_floats(&grouped, floats, float_summaries);
    gt_group_stds(&grouped, (gt_numbers){.ints = ints, .nulls = nulls}, stds);
    gt_group_medians(&grouped, (gt_numbers){.ints = ints, .nulls = nulls}, medians);
    gt_group_stds(&grouped, (gt_numbers){.floats = floats}, float_stds);
    gt_group_medians(&grouped, (gt_numbers){.floats = floats}, float_medians);
    for (uint32_t g = 0; g < groups; g++) {
        int64_t sum = 0, least = INT64_MAX, most = INT64_MIN, count = 0;
        size_t n = 0;
        for (int i = 0; i < ROWS; i++) {
            if (of_row[i] != g) continue;
            one[n++] = as_floats[i];
            if (nulls[i]) continue;
            sum += ints[i];
            count++;
            if (ints[i] < least) least = ints[i];
            if (ints[i] > most) most = ints[i];
        }
        gt_int_summary expected = {count, sum, least, most};
        assert_memory_equal(&int_summaries[g], &expected, sizeof expected);
        double std = gt_std(one, n), median = gt_median(one, n);
        assert_memory_equal(&stds[g], &std, sizeof std);
        assert_true(medians[g] == median || (isnan(medians[g]) && isnan(median)));

        double float_sum = 0, low = INFINITY, high = -INFINITY;
        for (int i = 0, k = 0; i < ROWS; i++) {
            if (of_row[i] != g) continue;
            one[k++] = floats[i];
            if (isnan(floats[i])) continue;
            float_sum += floats[i];
            low = fmin(low, floats[i]);
            high = fmax(high, floats[i]);
        }
        assert_true(float_summaries[g].sum == float_sum);
        assert_true(float_summaries[g].min == low && float_summaries[g].max == high);
        std = gt_std(one, n), median = gt_median(one, n);
        assert_memory_equal(&float_stds[g], &std, sizeof std);
        assert_true(float_medians[g] == median || (isnan(float_medians[g]) && isnan(median)));
    }
    assert_false(gt_group_ints(&grouped, wide, NULL, int_summaries));
    gt_group_wide_sums(&grouped, wide, NULL, sums);
    for (uint32_t g = 0; g < groups; g++) {
        long double sum = 0; /* 113 bits on arm64, 64 on x86-64: close enough for a relative check */
        for (int i = 0; i < ROWS; i++) sum += of_row[i] == g ? (long double)wide[i] : 0;
        assert_true(fabsl(sums[g] - sum) <= sum * 1e-15L);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(bools_count_as_0_and_1),
        cmocka_unit_test(texts),
        cmocka_unit_test(lists_are_counted_and_picked),
        cmocka_unit_test(null_keys_are_dropped_or_kept),
        cmocka_unit_test(group_sums_of_floats_are_compensated),
        cmocka_unit_test(integer_sums_that_do_not_fit_become_floats),
        cmocka_unit_test(tables_without_rows_or_keys),
        cmocka_unit_test(rows_group_by_several_keys),
        cmocka_unit_test(random_keys_agree_with_comparing_all_rows),
        cmocka_unit_test(many_groups_stay_separate),
        cmocka_unit_test(aggregates_agree_with_one_group_at_a_time),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
