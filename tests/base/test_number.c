/* Printed numbers compared with Python's repr (doubles.txt, written by generate_doubles.py) and, for random
 * bits, with strtod: the printed number reads back as the same double, and no shorter one does. */
#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const char *printed(double value)
{
    static char text[GT_NUMBER_MAX + 1];
    size_t len = gt_print_double(text, value);
    assert_true(len <= GT_NUMBER_MAX);
    text[len] = 0;
    return text;
}

static void hard_doubles_print_as_python_prints_them(void **state)
{
    (void)state;
    FILE *file = fopen(GT_TESTS "/base/doubles.txt", "r");
    assert_non_null(file);
    uint64_t bits;
    char expected[64];
    int count = 0;
    while (fscanf(file, "%" SCNx64 " %63s", &bits, expected) == 2) {
        assert_string_equal(printed(from_bits(bits)), expected);
        count++;
    }
    fclose(file);
    assert_true(count > 200);
}

/* xorshift64*: the same numbers every time. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1d;
}

static int significant_digits(const char *text)
{
    int count = 0, trailing_zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9') continue;
        if (count == 0 && *text == '0') continue;
        count++;
        trailing_zeros = *text == '0' ? trailing_zeros + 1 : 0;
    }
    return count - trailing_zeros;
}

static void expect_shortest(double value)
{
    const char *text = printed(value);
    assert_true(strtod(text, NULL) == value);
    int digits = significant_digits(text);
    assert_true(digits >= 1 && digits <= 17);
    if (digits > 1) {
        char shorter[512];
        snprintf(shorter, sizeof shorter, "%.*g", digits - 1, value);
        assert_true(strtod(shorter, NULL) != value);
    }
    char as_near[512]; /* printf gives the nearest of the strings with that many digits */
    snprintf(as_near, sizeof as_near, "%.*e", digits - 1, value);
    if (strtod(as_near, NULL) == value) assert_true(strtold(as_near, NULL) == strtold(text, NULL));
}

static void random_doubles_round_trip_with_the_fewest_digits(void **state)
{
    (void)state;
    uint64_t seed = 20240607;
    for (int i = 0; i < 50000; i++) {
        double value = from_bits(next_random(&seed));
        if (isfinite(value) && value != 0) expect_shortest(value);
        double thousandths = (double)(next_random(&seed) >> (14 + i % 50)) / 1000.0;
        if (thousandths != 0) expect_shortest(thousandths);
        double ratio = (double)(next_random(&seed) >> 20) / (double)(1 + next_random(&seed) % 100000);
        expect_shortest(ratio);
    }
}

static void whole_numbers(void **state)
{
    (void)state;
    static const int64_t edges[] = {0,   1,    -1,        9,          10,        99,
                                    100, -100, 999999999, 1000000000, INT64_MAX, INT64_MIN};
    char text[GT_NUMBER_MAX + 1], expected[64];
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        snprintf(expected, sizeof expected, "%" PRId64, edges[i]);
        text[gt_print_int(text, edges[i])] = 0;
        assert_string_equal(text, expected);
    }
    uint64_t seed = 7;
    for (int i = 0; i < 100000; i++) {
        int64_t value = (int64_t)next_random(&seed) >> (i % 64);
        snprintf(expected, sizeof expected, "%" PRId64, value);
        text[gt_print_int(text, value)] = 0;
        assert_string_equal(text, expected);
    }
}

static void short_numbers_have_a_byte_after_them(void **state)
{
    (void)state;
    char text[GT_SHORT_NUMBER_BYTES + 1], expected[64];
    for (uint32_t value = 0; value < GT_SHORT_NUMBERS; value += value < 2000 ? 1 : 97) {
        snprintf(expected, sizeof expected, "%" PRIu32 ",", value);
        text[gt_print_short(text, value, ',')] = 0;
        assert_string_equal(text, expected);
    }
    text[gt_print_short(text, GT_SHORT_NUMBERS - 1, '\n')] = 0;
    assert_string_equal(text, "999999\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_doubles_print_as_python_prints_them),
        cmocka_unit_test(random_doubles_round_trip_with_the_fewest_digits),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(short_numbers_have_a_byte_after_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
