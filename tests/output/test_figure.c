/* Ticks and figures. Expected ticks are computed by hand; figures are checked by the header of the file and
 * by positions and widths that hold for any font. tests/sweep/test_plots.py checks the pixels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "output/figure/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fontconfig, which Cairo uses, keeps its data until the program ends, behind pointers that the leak checker
 * does not follow. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig";
}

typedef struct case_of_ticks {
    double low, high;
    size_t most;
    const char *texts; /* all of them */
} case_of_ticks;

static const case_of_ticks cases[] = {
    {12.55, 44.45, 8, "15 20 25 30 35 40"},
    {12.55, 44.45, 3, "20 30 40"},
    {12.55, 44.45, 2, "20 40"},
    {0, 10, 11, "0 1 2 3 4 5 6 7 8 9 10"},
    {0, 1, 5, "0.00 0.25 0.50 0.75 1.00"},
    {0, 1, 6, "0.0 0.2 0.4 0.6 0.8 1.0"},
    {-0.3, 0.3, 7, "-0.3 -0.2 -0.1 0.0 0.1 0.2 0.3"},
    {-1100, -100, 4, "-1000 -750 -500 -250"},
    {-1100, -100, 3, "-1000 -500"},
    {999990, 1000010, 5, "999990 999995 1000000 1000005 1000010"},
    {0, 3e12, 4, "0 1e+12 2e+12 3e+12"},
    {1e-7, 4e-7, 4, "0.0000001 0.0000002 0.0000003 0.0000004"},
    {1e-300, 2.1e-300, 3, "1e-300 1.5e-300 2e-300"},
    {5, 5, 4, ""},
    {7, 3, 4, ""},
    {NAN, 3, 4, ""},
    {-1e308, 1e308, 4, ""}, /* the difference overflows */
    {0, 10, 0, ""},
};

static void ticks_stand_at_round_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        gt_ticks ticks = gt_ticks_of(cases[i].low, cases[i].high, cases[i].most);
        char all[512] = "", text[GT_TICK_TEXT];
        for (size_t k = 0; k < ticks.count; k++) {
            gt_tick_text(&ticks, k, text);
            if (k) strcat(all, " ");
            strcat(all, text);
        }
        assert_true(ticks.count <= cases[i].most);
        assert_string_equal(all, cases[i].texts);
    }
}

static void ranges_get_some_width(void **state)
{
    (void)state;
    gt_axis_range range = {INFINITY, -INFINITY};
    gt_axis_range_add(&range, 3);
    gt_axis_range_add(&range, NAN);
    gt_axis_range_add(&range, 23);
    assert_true(range.low == 3 && range.high == 23);
    range = gt_axis_range_widened(range);
    assert_true(range.low == 2 && range.high == 24);
    range = gt_axis_range_widened((gt_axis_range){0, 0});
    assert_true(range.low == -1 && range.high == 1);
    range = gt_axis_range_widened((gt_axis_range){-20, -20});
    assert_true(range.low == -21 && range.high == -19);
}

static gt_figure *new_figure(double width, double height, int dots_per_inch)
{
    gt_error error;
    gt_figure *figure = gt_figure_new(width, height, dots_per_inch, &error);
    if (!figure) fail_msg("%s", error.text);
    return figure;
}

static void text_is_measured(void **state)
{
    (void)state;
    gt_figure *figure = new_figure(1, 1, 100);
    gt_font small = {10, false, {0, 1}}, large = {20, false, {0, 1}};
    double one = gt_figure_text_width(figure, "Rank", large),
           two = gt_figure_text_width(figure, "RankRank", large);
    assert_true(one > 20 && one < 80);
    assert_true(fabs(two - 2 * one) < 2);
    assert_true(fabs(gt_figure_text_width(figure, "Rank", small) - one / 2) < 2);
    assert_true(gt_figure_text_width(figure, "", large) == 0);
    assert_true(gt_figure_text_width(figure, "\xff\xfe", large) > 0); /* not UTF-8: two replacements */
    gt_figure_free(figure);
}

static void numbers_have_the_right_decimals(void **state)
{
    (void)state;
    gt_figure *figure = new_figure(10, 5, 50);
    gt_x_tick ticks[] = {{0, "a"}, {1, "b"}};
    gt_axes axes = gt_axes_draw(figure, (gt_point){0, 0}, (gt_point){720, 360}, (gt_axis_range){-0.5, 1.5},
                                (gt_axis_range){10, 20}, &(gt_axes_text){"title", "x", "y", ticks, 2, false});
    assert_true(axes.upper_left.x > 20 && axes.lower_right.x < 720 && axes.lower_right.x > 500);
    assert_true(axes.upper_left.y > 16 && axes.lower_right.y < 330 && axes.lower_right.y > 200);
    gt_point low = gt_axes_place(&axes, -0.5, 10), middle = gt_axes_place(&axes, 0.5, 15);
    assert_true(low.x == axes.upper_left.x && low.y == axes.lower_right.y);
    assert_true(fabs(middle.x - (axes.upper_left.x + axes.lower_right.x) / 2) < 1e-9);
    assert_true(fabs(middle.y - (axes.upper_left.y + axes.lower_right.y) / 2) < 1e-9);
    gt_figure_free(figure);
}

static void many_labels_need_more_height(void **state)
{
    (void)state;
    gt_figure *figure = new_figure(10, 5, 50);
    gt_x_tick ticks[500];
    for (size_t i = 0; i < GT_LENGTH(ticks); i++) ticks[i] = (gt_x_tick){(double)i, "Rank 123"};
    gt_axes_text text = {"title", "x", "y", ticks, 2, false};
    gt_axes few = gt_axes_draw(figure, (gt_point){0, 0}, (gt_point){720, 360}, (gt_axis_range){0, 2},
                               (gt_axis_range){0, 1}, &text);
    text.x_tick_count = GT_LENGTH(ticks);
    gt_axes many = gt_axes_draw(figure, (gt_point){0, 0}, (gt_point){720, 360}, (gt_axis_range){0, 500},
                                (gt_axis_range){0, 1}, &text);
    assert_true(many.lower_right.y < few.lower_right.y - 20);
    gt_figure_free(figure);
}

static void a_figure_becomes_a_png(void **state)
{
    (void)state;
    char folder[] = "/tmp/gputally_figure_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.png", folder);
    gt_error error;
    gt_figure *figure = new_figure(2, 1.5, 100);
    gt_point points[] = {{0, 1}, {1, NAN}, {2, 3}};
    gt_axes axes =
        gt_axes_draw(figure, (gt_point){0, 0}, (gt_point){144, 108}, (gt_axis_range){0, 2},
                     (gt_axis_range){0, 4}, &(gt_axes_text){"\xc3\xa9\xff", "x", "y", NULL, 0, false});
    gt_series series[30];
    for (size_t i = 0; i < GT_LENGTH(series); i++)
        series[i] =
            (gt_series){"name", points, 3, gt_series_colour(i), i % 2 ? GT_MARKER_CIRCLE : GT_MARKER_SQUARE};
    for (size_t i = 0; i < GT_LENGTH(series); i++) gt_plot_series(&axes, &series[i]);
    gt_plot_legend(&axes, series, GT_LENGTH(series));
    gt_output *output = gt_output_new();
    assert_true(gt_figure_write(figure, output, path, &error) && gt_output_commit(output, &error));
    gt_output_free(output);
    gt_figure_free(figure);

    static const uint8_t expected[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13,
                                       'I',  'H', 'D', 'R', 0,    0,    0,    200,  0, 0, 0, 150};
    uint8_t head[sizeof expected];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    assert_memory_equal(head, expected, sizeof expected);
    unlink(path);
    rmdir(folder);
}

static void a_figure_may_be_too_large(void **state)
{
    (void)state;
    gt_error error;
    assert_null(gt_figure_new(40, 6, 1200, &error));
    assert_string_equal(error.text, "cannot draw a figure of 48000 x 7200 pixels: at most 32000 per side");
}

static void colours_of_the_scale(void **state)
{
    (void)state;
    static const uint32_t of_eight[] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e,
                                        0x21918c, 0x28ae80, 0x5ec962, 0xaddc30};
    for (size_t i = 0; i < 8; i++) assert_int_equal(gt_scale_colour((double)i / 8), of_eight[i]);
    assert_int_equal(gt_scale_colour(1), 0xfde725);
    assert_int_equal(gt_scale_colour(0.0625),
                     0x461768); /* the mean of the first two: 45.5 17 67.5, rounded */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_stand_at_round_numbers),
        cmocka_unit_test(ranges_get_some_width),
        cmocka_unit_test(text_is_measured),
        cmocka_unit_test(numbers_have_the_right_decimals),
        cmocka_unit_test(many_labels_need_more_height),
        cmocka_unit_test(a_figure_becomes_a_png),
        cmocka_unit_test(a_figure_may_be_too_large),
        cmocka_unit_test(colours_of_the_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
