/* Seventeen digits are taken one by one into a double, leading zeros among them; further digits before the
 * point count as zeros, those behind it not at all. Then the power of ten is multiplied or divided by. */
#include "compat/pandas_number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIGITS_MAX = 17, POWER_MAX = 308, EXPONENT_MAX = 1000000 };

static double power_of_ten(int exponent)
{
    char text[16];
    snprintf(text, sizeof text, "1e%d", exponent);
    return strtod(text, NULL);
}

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static int written_exponent(const char *at, const char *end)
{
    int exponent = 0;
    bool negative = at < end && *at == '-';
    if (negative || (at < end && *at == '+')) at++;
    for (; is_digit(at, end); at++)
        if (exponent < EXPONENT_MAX) exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

static double scaled(double number, int64_t exponent)
{
    if (exponent > POWER_MAX) return INFINITY;
    if (exponent > 0) return number * power_of_ten((int)exponent);
    if (exponent >= -POWER_MAX) return number / power_of_ten((int)-exponent);
    if (exponent < -2 * POWER_MAX) return 0;
    return number / power_of_ten((int)(-POWER_MAX - exponent)) / power_of_ten(POWER_MAX);
}

double gt_pandas_number(gt_str text)
{
    const char *at = text.bytes, *end = at + text.len;
    bool negative = at < end && *at == '-';
    if (negative || (at < end && *at == '+')) at++;
    double number = 0;
    int taken = 0;
    int64_t exponent = 0;
    for (; is_digit(at, end); at++) {
        if (taken < DIGITS_MAX) {
            number = number * 10 + (*at - '0');
            taken++;
        } else {
            exponent++;
        }
    }
    if (at < end && *at == '.')
        for (at++; is_digit(at, end); at++) {
            if (taken == DIGITS_MAX) continue;
            number = number * 10 + (*at - '0');
            taken++;
            exponent--;
        }
    if (at < end && (*at == 'e' || *at == 'E')) exponent += written_exponent(at + 1, end);
    number = scaled(number, exponent);
    return negative ? -number : number;
}
