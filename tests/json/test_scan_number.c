/* Numbers read eight digits at a time, compared with strtod, strtoll and the grammar of JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "json/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 424242;

static uint64_t random64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1Du;
}

/* The number as it is in a block: followed by other text, then by padding. */
static const uint8_t *in_block(const char *text, const char *after)
{
    static uint8_t block[256];
    memset(block, 0, sizeof block);
    int len = snprintf((char *)block, sizeof block, "%s%s", text, after);
    block[len] = block[len + 1] = '"';
    return block;
}

static void integers_agree_with_strtoll(void **unused)
{
    (void)unused;
    static const char *const after[] = {",", "}", " ", "]", "", "\xFF\xFE", "a"};
    for (int i = 0; i < 200000; i++) {
        char text[40];
        int64_t value = (int64_t)(random64() >> (random64() % 64)) * (random64() % 2 ? 1 : -1);
        if (value > 999999999999999999 || value < -999999999999999999) continue; /* more than 18 digits */
        snprintf(text, sizeof text, "%" PRId64, value);
        const uint8_t *block = in_block(text, after[i % 7]);
        int64_t got;
        assert_ptr_equal(gt_scan_int(block, &got), block + strlen(text));
        assert_int_equal(got, value);
        got = ~value;
        assert_ptr_equal(gt_scan_int_before(block, &got), block + strlen(text));
        assert_int_equal(got, value);
    }
}

static void text_after_an_integer_is_left_to_the_caller(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        size_t len; /* of the integer; 0: there is none */
    } cases[] = {{"1.5", 1},
                 {"1234567e1", 7},
                 {"12345678901234.5", 14},
                 {"0,", 1},
                 {"01", 0},
                 {"012345678", 0},
                 {"-", 0},
                 {"", 0},
                 {"\"1\"", 0},
                 {"12345678.5", 0},
                 {"1234567890123456", 16},
                 {"1234567890123456789", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *block = in_block(cases[i].text, ",");
        int64_t got;
        const uint8_t *end = gt_scan_int_before(block, &got);
        assert_ptr_equal(end, cases[i].len ? block + cases[i].len : NULL);
        if (end) assert_int_equal(got, strtoll(cases[i].text, NULL, 10));
    }
}

static void other_numbers_are_left_to_the_general_path(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"",
                                        "-",
                                        "x",
                                        "01",
                                        "-012",
                                        "1.5",
                                        "1e3",
                                        "1E3",
                                        "0e5",
                                        "1234567.5",
                                        "1234567e1",
                                        "01234567",
                                        "\"1\"",
                                        "+1",
                                        "[1]",
                                        ".5",
                                        "1234567890123456789",
                                        "99999999999999999999999999999"};
    int64_t got;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(gt_scan_int(in_block(texts[i], ","), &got));
}

static void assert_time(const char *text)
{
    const uint8_t *block = in_block(text, ", ");
    double got, expected = strtod(text, NULL);
    bool integral;
    assert_ptr_equal(gt_scan_time(block, &got, &integral), block + strlen(text));
    assert_memory_equal(&got, &expected, sizeof got);
    assert_int_equal(integral, !strpbrk(text, ".eE"));
}

static void times_agree_with_strtod(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"0",
                                        "-0",
                                        "0.0",
                                        "1e5",
                                        "1E-5",
                                        "5453458362131.123",
                                        "9007199254740993",
                                        "0.1",
                                        "-1.5",
                                        "1e400",
                                        "123456789012345678901234567890",
                                        "1718289123456789.125",
                                        "0.000000000000000001",
                                        "12345678.87654321",
                                        "1.0e+10",
                                        "1419116104654.576", /* from here on: a point among eight digits */
                                        "7.1234567",
                                        "7.12345678",
                                        "1234567.1",
                                        "1234567.12",
                                        "123456781234567.1",
                                        "1.5e3",
                                        "12345678.5E-3",
                                        "90071992.54740992",
                                        "90071992.54740993",
                                        "99999999.99999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_time(texts[i]);
    for (int i = 0; i < 200000; i++) {
        char text[64];
        uint64_t whole = random64() >> (random64() % 64);
        int decimals = (int)(random64() % 10);
        if (decimals)
            snprintf(text, sizeof text, "%" PRIu64 ".%0*" PRIu64, whole, decimals,
                     random64() % (uint64_t)1000000000 % (uint64_t)(decimals < 9 ? 10 : 1000000000));
        else
            snprintf(text, sizeof text, "%" PRIu64, whole);
        assert_time(text);
    }
}

static void invalid_times_are_refused(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"",     "-",         ".5",         "1.",          "01.5",
                                        "00.5", "1234567.",  "12345678.",  "00000000.5",  "-.5",
                                        "1.e5", "012345678", "12345678.e", "01234567.25", "1./5",
                                        "1.:5", "\"1.5\""};
    double got;
    bool integral;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(gt_scan_time(in_block(texts[i], ","), &got, &integral));
}

static void numbers_are_skipped_by_the_grammar(void **unused)
{
    (void)unused;
    static const char *const good[] = {"0",
                                       "-0",
                                       "10",
                                       "1.25",
                                       "-1.5e10",
                                       "1E+5",
                                       "0e5",
                                       "1234567",
                                       "12345678",
                                       "1234567.5",
                                       "0.5",
                                       "9E-9",
                                       "123456789.123456789e-12"};
    static const char *const bad[] = {"",    "-",   "01",        "1.",    ".5",       "1e",
                                      "1e+", "NaN", "-Infinity", "\"1\"", "01234567", "1234567."};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const uint8_t *block = in_block(good[i], ",1");
        assert_ptr_equal(gt_scan_number(block), block + strlen(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_null(gt_scan_number(in_block(bad[i], ",")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_agree_with_strtoll),
        cmocka_unit_test(text_after_an_integer_is_left_to_the_caller),
        cmocka_unit_test(other_numbers_are_left_to_the_general_path),
        cmocka_unit_test(times_agree_with_strtod),
        cmocka_unit_test(invalid_times_are_refused),
        cmocka_unit_test(numbers_are_skipped_by_the_grammar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
