/* Numbers as Python and pandas read and round them. Expected values: what CPython 3.11 and pandas give. */
#include "compat/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void int_takes_what_python_takes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        gt_python_parsed parsed;
        int64_t value;
    } cases[] = {
        {"12", GT_PYTHON_PARSED, 12},
        {" \t-7\n", GT_PYTHON_PARSED, -7},
        {"+1_000", GT_PYTHON_PARSED, 1000},
        {"007", GT_PYTHON_PARSED, 7},
        {"-9223372036854775808", GT_PYTHON_PARSED, INT64_MIN},
        {"", GT_PYTHON_INVALID, 0},
        {"-", GT_PYTHON_INVALID, 0},
        {"_1", GT_PYTHON_INVALID, 0},
        {"1_", GT_PYTHON_INVALID, 0},
        {"1__0", GT_PYTHON_INVALID, 0},
        {"1.0", GT_PYTHON_INVALID, 0},
        {"0x10", GT_PYTHON_INVALID, 0},
        {"1 2", GT_PYTHON_INVALID, 0},
        {"999999999999999999999999999999999999999999", GT_PYTHON_TOO_LARGE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        __int128 value = 0;
        gt_python_parsed parsed = gt_python_parse_int((gt_str){cases[i].text, strlen(cases[i].text)}, &value);
        if (parsed != cases[i].parsed || value != cases[i].value) fail_msg("int('%s')", cases[i].text);
    }
    __int128 large;
    assert_int_equal(gt_python_parse_int((gt_str){"170141183460469231731687303715884105727", 39}, &large),
                     GT_PYTHON_PARSED);
    assert_true(large == (__int128)(((unsigned __int128)1 << 127) - 1));
}

static void float_takes_what_python_takes(void **state)
{
    (void)state;
    static const char *const refused[] = {"", " ", "abc", "0x10", "1p3", "nan(1)", "1.5.2", "1e"};
    double value;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (gt_python_parse_float((gt_str){refused[i], strlen(refused[i])}, &value))
            fail_msg("float('%s')", refused[i]);
    assert_true(gt_python_parse_float((gt_str){" -1.5e3\n", 8}, &value) && value == -1500);
    assert_true(gt_python_parse_float((gt_str){".5", 2}, &value) && value == 0.5);
    assert_true(gt_python_parse_float((gt_str){"-inf", 4}, &value) && value == -INFINITY);
    assert_true(gt_python_parse_float((gt_str){"NaN", 3}, &value) && isnan(value));
}

/* Python rounds the exact value, numpy the product with 100. */
static void halves_are_rounded(void **state)
{
    (void)state;
    static const double cases[][3] = {{2.675, 2.67, 2.68},
                                      {1.005, 1.0, 1.0},
                                      {0.125, 0.12, 0.12},
                                      {0.375, 0.38, 0.38},
                                      {-2.675, -2.67, -2.68},
                                      {0.285, 0.28, 0.28},
                                      {1.115, 1.11, 1.12},
                                      {12345.678, 12345.68, 12345.68},
                                      {123456789.125, 123456789.12, 123456789.12},
                                      {1e300, 1e300, 1e300}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (gt_python_round2(cases[i][0]) != cases[i][1])
            fail_msg("round(%.17g, 2): %.17g", cases[i][0], gt_python_round2(cases[i][0]));
        if (gt_numpy_round2(cases[i][0]) != cases[i][2])
            fail_msg("numpy.round(%.17g, 2): %.17g", cases[i][0], gt_numpy_round2(cases[i][0]));
    }
    assert_true(isnan(gt_python_round2(NAN)));
}

static void head_keeps_rows(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        int64_t n;
        size_t kept;
    } cases[] = {{5, 3, 3},  {5, 9, 5},  {5, 0, 0}, {5, -2, 3},
                 {5, -5, 0}, {5, -9, 0}, {0, 3, 0}, {5, INT64_MIN, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(gt_pandas_head(cases[i].count, cases[i].n), cases[i].kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int_takes_what_python_takes),
        cmocka_unit_test(float_takes_what_python_takes),
        cmocka_unit_test(halves_are_rounded),
        cmocka_unit_test(head_keeps_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
