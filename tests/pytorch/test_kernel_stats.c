/* Cells of kernel details. Expected values are computed by hand, from durations whose sums, means and squares
 * are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/pytorch/op_groups.h"
#include "base/memory.h"

#define STATS(total, mean, median, std, min, max)                                                            \
    "'total_duration_us': " total ", 'mean_duration_us': " mean ", 'median_duration_us': " median            \
    ", 'std_dev_duration_us': " std ", 'min_duration_us': " min ", 'max_duration_us': " max

static gt_kernel_stats stats;
static gt_kernel_lists lists; /* added since the last call of take */

static int begin(void **state)
{
    (void)state;
    stats = (gt_kernel_stats){.strings = gt_interner_new()};
    return 0;
}

static int end(void **state)
{
    (void)state;
    gt_interner *strings = stats.strings;
    gt_kernel_stats_free(&stats);
    gt_kernel_lists_free(&lists);
    gt_interner_free(strings);
    return 0;
}

/* A kernel on stream 7. */
static gt_kernel_detail kernel(const char *name, double dur_us, bool integral)
{
    return (gt_kernel_detail){.name = gt_interner_add_cstr(stats.strings, name),
                              .stream = gt_interner_add_cstr(stats.strings, "7"),
                              .dur_us = dur_us,
                              .overlap_pct = NAN,
                              .integral = integral};
}

static void add(const gt_kernel_detail *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++) gt_kernel_lists_push(&lists, kernels[i]);
    gt_kernel_lists_close(&lists);
}

/* The cells for the lists added since the last call. */
static gt_kernel_stats_cells take(void)
{
    const gt_kernel_source source = {.lists = &lists};
    uint32_t ops[32];
    assert_true(lists.count <= GT_LENGTH(ops));
    for (size_t i = 0; i < lists.count; i++) ops[i] = (uint32_t)i;
    gt_kernel_stats_collect(&stats, &source, ops, lists.count);
    gt_kernel_stats_find_stacks(&stats, &source);
    gt_kernel_lists_free(&lists);
    gt_kernel_stats_print(&stats);
    return gt_kernel_stats_keep(&stats);
}

static void add_one(const char *name, double dur_us, bool integral)
{
    gt_kernel_detail one = kernel(name, dur_us, integral);
    add(&one, 1);
}

static void expect(const char *summary, const char *trunc)
{
    gt_kernel_stats_cells cells = take();
    assert_string_equal(gt_interner_get(stats.strings, cells.summary).bytes, summary);
    if (trunc)
        assert_string_equal(gt_interner_get(stats.strings, cells.trunc).bytes, trunc);
    else
        assert_int_equal(cells.trunc, GT_STR_NONE);
}

static void statistics_of_durations(void **unused)
{
    (void)unused;
    static const double durs[] = {2, 4, 4, 4,
                                  5, 5, 7, 9}; /* mean 5; squared deviations 9 1 1 1 0 0 4 16: 32 / 8 */
    for (size_t i = 0; i < 8; i++) add_one("k", durs[i] / 2, false);
    expect("[{'name': 'k', 'stream': 7, 'count': 8, " STATS("20.0", "2.5", "2.25", "1.0", "1.0", "4.5") "}]",
           "[{'name': 'k', 'stream': 7, 'mean_duration_us': 2.5}]");
    add_one("k", 0.25, false);
    expect(
        "[{'name': 'k', 'stream': 7, 'count': 1, " STATS("0.25", "0.25", "0.25", "0.0", "0.25", "0.25") "}]",
        "[{'name': 'k', 'stream': 7, 'mean_duration_us': 0.25}]");
}

static void integers_stay_integers_if_all_are(void **unused)
{
    (void)unused;
    gt_kernel_detail first[] = {kernel("a", 1, true), kernel("b", 20, true)};
    gt_kernel_detail second[] = {kernel("a", 3, true), kernel("b", 20.5, false)};
    gt_kernel_detail third[] = {kernel("a", 2, true), kernel("b", 20, true)};
    add(first, 2);
    add(second, 2);
    add(third, 2);
    gt_kernel_stats_cells cells = take();
    const char *summary = gt_interner_get(stats.strings, cells.summary).bytes;
    assert_non_null(strstr(summary, "'count': 3, 'total_duration_us': 6, 'mean_duration_us': 2.0, "
                                    "'median_duration_us': 2.0, 'std_dev_duration_us': 0.816496580927726, "
                                    "'min_duration_us': 1, 'max_duration_us': 3}"));
    assert_non_null(strstr(summary, "'count': 3, 'total_duration_us': 60.5, "));
    assert_non_null(strstr(summary, "'min_duration_us': 20.0, 'max_duration_us': 20.5}]"));
    add_one("k", 1e300, true); /* too large for int64_t */
    cells = take();
    assert_non_null(
        strstr(gt_interner_get(stats.strings, cells.summary).bytes, "'total_duration_us': 1e+300, "));
}

static void kernels_are_matched_by_position(void **unused)
{
    (void)unused;
    gt_kernel_detail first[] = {kernel("x", 8, true), kernel("y", 1, true)};
    gt_kernel_detail shorter[] = {kernel("x", 1000, true)};
    gt_kernel_detail renamed[] = {kernel("p", 10, true), kernel("q", 3, true)};
    add(NULL, 0);
    add(first, 2);
    add(shorter, 1);
    add(NULL, 0);
    add(renamed, 2);
    expect("[{'name': 'y', 'stream': 7, 'count': 2, " STATS(
               "4", "2.0", "2.0", "1.0", "1", "3") "}, "
                                                   "{'name': 'x', 'stream': 7, 'count': 2, " STATS(
                                                       "18", "9.0", "9.0", "1.0", "8", "10") "}]",
           "[{'name': 'y', 'stream': 7, 'mean_duration_us': 2.0}, {'name': 'x', 'stream': 7, "
           "'mean_duration_us': 9.0}]");
}

static void no_kernels_make_an_empty_list(void **unused)
{
    (void)unused;
    expect("[]", NULL);
    add(NULL, 0);
    expect("[]", NULL);
}

static void equal_totals_are_ordered_by_name_then_by_position(void **unused)
{
    (void)unused;
    gt_kernel_detail list[] = {kernel("b", 1, false), kernel("a", 1, false), kernel("B", 1, false),
                               kernel("a", 1, true), kernel("c", 0.5, false)};
    list[1].stream = gt_interner_add_cstr(stats.strings, "1");
    list[3].stream = gt_interner_add_cstr(stats.strings, "2");
    add(list, 5);
    expect("[{'name': 'c', 'stream': 7, 'count': 1, " STATS(
               "0.5", "0.5", "0.5", "0.0", "0.5",
               "0.5") "}, "
                      "{'name': 'B', 'stream': 7, 'count': 1, " STATS(
                          "1.0", "1.0", "1.0", "0.0", "1.0",
                          "1.0") "}, "
                                 "{'name': 'a', 'stream': 1, 'count': 1, " STATS(
                                     "1.0", "1.0", "1.0", "0.0", "1.0",
                                     "1.0") "}, "
                                            "{'name': 'a', 'stream': 2, 'count': 1, " STATS(
                                                "1", "1.0", "1.0", "0.0", "1",
                                                "1") "}, "
                                                     "{'name': 'b', 'stream': 7, 'count': 1, " STATS(
                                                         "1.0", "1.0", "1.0", "0.0", "1.0", "1.0") "}]",
           "[{'name': 'c', 'stream': 7, 'mean_duration_us': 0.5}, {'name': 'B', 'stream': 7, "
           "'mean_duration_us': 1.0}, "
           "{'name': 'a', 'stream': 1, 'mean_duration_us': 1.0}, {'name': 'a', 'stream': 2, "
           "'mean_duration_us': 1.0}, "
           "{'name': 'b', 'stream': 7, 'mean_duration_us': 1.0}]");
}

static void streams_may_be_any_value_and_overlap_is_shown_if_known(void **unused)
{
    (void)unused;
    gt_kernel_detail list[] = {kernel("a", 1, true), kernel("b", 2, true)};
    list[0].stream = GT_STR_NONE;
    list[1].stream = gt_interner_add_cstr(stats.strings, "\"main\"");
    list[0].overlap_pct = 0.33;
    list[1].overlap_pct = 1;
    add(list, 2);
    expect("[{'name': 'a', 'stream': None, 'overlap_pct': 0.33, 'count': 1, " STATS(
               "1", "1.0", "1.0", "0.0", "1",
               "1") "}, {'name': 'b', 'stream': 'main', 'overlap_pct': 1.0, 'count': 1, " STATS("2", "2.0",
                                                                                                "2.0", "0.0",
                                                                                                "2",
                                                                                                "2") "}]",
           "[{'name': 'a', 'stream': None, 'mean_duration_us': 1.0}, {'name': 'b', 'stream': 'main', "
           "'mean_duration_us': "
           "2.0}]");
}

#define TEN   "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void long_names_are_truncated_by_characters(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *shown;
    } cases[] = {
        {SIXTY "abcd", "'" SIXTY "abcd'"},
        {SIXTY "abcde", "'" SIXTY "abcd...'"},
        {SIXTY "aéèd", "'" SIXTY "aéèd'"},
        {SIXTY "aéè😀x", "'" SIXTY "aéè😀...'"},
        {"it's", "\"it's\""},
        {SIXTY "abcd'", "'" SIXTY "abcd...'"}, /* quotes are chosen for the truncated name */
        {"new\nline", "'new\\nline'"},
        {"", "''"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        add_one(cases[i].name, 1, true);
        gt_kernel_stats_cells cells = take();
        char *expected = gt_format("[{'name': %s, 'stream': 7, 'mean_duration_us': 1.0}]", cases[i].shown);
        assert_string_equal(gt_interner_get(stats.strings, cells.trunc).bytes, expected);
        free(expected);
    }
}

/* numpy rounds to two decimals by rint(x * 100) / 100, which is not always the nearest value. */
static void means_are_rounded_like_numpy(void **unused)
{
    (void)unused;
    static const struct {
        double mean;
        const char *shown;
    } cases[] = {
        {90.975, "90.98"}, /* 90.97499999999999431566: the product is 9097.5 */
        {5.8069411764705885, "5.81"},
        {0.125, "0.12"},
        {0.375, "0.38"},
        {2.675, "2.68"},
        {1e-9, "0.0"},
        {1e20, "1e+20"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        add_one("k", cases[i].mean, false);
        gt_kernel_stats_cells cells = take();
        char *expected = gt_format("[{'name': 'k', 'stream': 7, 'mean_duration_us': %s}]", cases[i].shown);
        assert_string_equal(gt_interner_get(stats.strings, cells.trunc).bytes, expected);
        free(expected);
    }
}

/* More than 8 durations are added as numpy does, in eight partial sums. After 1e16, each 1.0 added to the
 * same sum would be lost; the seven other sums keep theirs. */
static void sums_are_added_like_numpy(void **unused)
{
    (void)unused;
    add_one("k", 1e16, false);
    for (int i = 0; i < 15; i++) add_one("k", 1, false);
    gt_kernel_stats_cells cells = take();
    /* r0 = 1e16 + 1 = 1e16, r1..r7 = 2 each; ((r0 + 2) + 4) + 8 */
    assert_non_null(strstr(gt_interner_get(stats.strings, cells.summary).bytes,
                           "'total_duration_us': 1.0000000000000014e+16, "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_of_durations),
        cmocka_unit_test(integers_stay_integers_if_all_are),
        cmocka_unit_test(kernels_are_matched_by_position),
        cmocka_unit_test(no_kernels_make_an_empty_list),
        cmocka_unit_test(equal_totals_are_ordered_by_name_then_by_position),
        cmocka_unit_test(streams_may_be_any_value_and_overlap_is_shown_if_known),
        cmocka_unit_test(long_names_are_truncated_by_characters),
        cmocka_unit_test(means_are_rounded_like_numpy),
        cmocka_unit_test(sums_are_added_like_numpy),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
