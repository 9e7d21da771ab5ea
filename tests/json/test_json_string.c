/* Escapes of JSON strings. What they mean is taken from RFC 8259 and the Unicode tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "json/string.h"

/* The escape that the text begins with means `code_point`, and is `len` bytes long. */
static void assert_escape(const char *text, uint32_t code_point, size_t len)
{
    const char *place = text;
    assert_int_equal(gt_json_escape(&place, text + strlen(text)), code_point);
    assert_int_equal(place - text, len);
}

static void an_escape_is_one_code_point(void **state)
{
    (void)state;
    assert_escape("\\n", '\n', 2);
    assert_escape("\\\"\\", '"', 2);
    assert_escape("\\u00e9x", 0xE9, 6);
    assert_escape("\\u0000", 0, 6);
    assert_escape("\\ud83d\\ude00", 0x1F600, 12);
    assert_escape("\\uDBFF\\uDFFF", 0x10FFFF, 12);
    assert_escape("\\ude00\\ud83d", 0xFFFD, 6);
    assert_escape("\\ud83d\\u0041", 0xFFFD, 6);
    assert_escape("\\ud83d\\ude0", 0xFFFD, 6);
}

static void what_is_no_escape_is_left(void **state)
{
    (void)state;
    static const char *const wrong[] = {"\\",      "\\x41", "\\u12", "\\u12G4",
                                        "\\U0041", "\\\n",  "\\0",   "\\\xC3\xA9"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_escape(wrong[i], GT_JSON_NO_ESCAPE, 0);
}

static void a_string_ends_at_its_quote(void **state)
{
    (void)state;
    static const struct {
        const char *inside, *meaning; /* NULL: no string */
        size_t len;                   /* of what is read */
    } cases[] = {
        {"plain\" rest", "plain", 6},
        {"\"", "", 1},
        {"a\\\"b\\u20ac\"\"", "a\"b\xE2\x82\xAC", 11},
        {"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80", 13},
        {"cut", NULL, 0},
        {"cut\\\"", NULL, 0},
        {"\\q\"", NULL, 0},
    };
    gt_buffer scratch = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *place = cases[i].inside;
        gt_str text;
        bool read = gt_json_string_read(&place, place + strlen(place), &scratch, &text);
        assert_int_equal(read, cases[i].meaning != NULL);
        assert_int_equal(place - cases[i].inside, cases[i].len);
        if (!read) continue;
        assert_int_equal(text.len, strlen(cases[i].meaning));
        assert_memory_equal(text.bytes, cases[i].meaning, text.len);
    }
    gt_buffer_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_escape_is_one_code_point),
        cmocka_unit_test(what_is_no_escape_is_left),
        cmocka_unit_test(a_string_ends_at_its_quote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
