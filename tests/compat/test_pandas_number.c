/* Floating-point numbers as pandas.read_csv reads them. Expected values come from pandas 1.5.3. */
#include "compat/number.h"

#include "base/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, double wanted)
{
    double got = gt_pandas_number((gt_str){text, strlen(text)});
    if (got != wanted) fail_msg("%s: %.17g, not %.17g", text, got, wanted);
}

static void last_digits_are_lost(void **state)
{
    (void)state;
    expect("0.01595473156177156", 0.0159547315617715); /* two of the 17 digits are leading zeros */
    expect("0.01595473156177159", 0.0159547315617715); /* excess digits are truncated, not rounded */
    expect("117.6666666666667", 117.6666666666667);
    expect("0.00014736009464578998", 0.0001473600946457);
    expect("0.38557336488159766", 0.3855733648815976);
    expect("0.20000000018626451", 0.2000000001862645);
    expect("123456789.123456789", 123456789.12345678);
    expect("123456789012345678", 1.2345678901234568e+17);
    expect("-0.5", -0.5);
    expect("+100", 100);
    expect("5000000.1", 5000000.1);
    expect(".5", 0.5);
    expect("5.", 5);
}

static void exponents_are_applied_last(void **state)
{
    (void)state;
    expect("1e-05", 1e-05);
    expect("1.5E+3", 1500);
    expect("1e22", 1e22);
    expect("1e308", 1e308);
    expect("1e309", INFINITY);
    expect("-1e400", -INFINITY);
    expect("1e-310", 1e-310);
    expect("2.5e-310", 2.5e-310);
    expect("1e-617", 0);
    expect("1e99999999999", INFINITY);
    expect("1e-99999999999", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_digits_are_lost),
        cmocka_unit_test(exponents_are_applied_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
