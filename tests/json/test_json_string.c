/* Escape sequences of JSON strings. Expected values come from RFC 8259 and the Unicode tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "json/string.h"

/* The text begins with an escape sequence of `len` bytes that stands for `code_point`. */
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

static void invalid_escapes_are_kept(void **state)
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
        const char *inside, *meaning; /* NULL: not a string */
        size_t len;                   /* bytes read */
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

typedef void write_function(gt_buffer *out, gt_str text, gt_buffer *scratch);

static void assert_written(write_function *write, const char *text, const char *expected)
{
    gt_buffer out = {0}, scratch = {0};
    gt_buffer_add_cstr(&out, "x");
    write(&out, (gt_str){text, strlen(text)}, &scratch);
    assert_string_equal(gt_buffer_str(&out).bytes + 1, expected);
    gt_buffer_free(&out);
    gt_buffer_free(&scratch);
}

/* Expected: Python's json.dumps(text, ensure_ascii=False), except for the long escapes of the first. */
static void text_is_written_with_escapes(void **state)
{
    (void)state;
    assert_written(gt_json_string_add, "a\"b\\c\n\t\x01\xC3\xA9/\x7F",
                   "\"a\\\"b\\\\c\\u000a\\u0009\\u0001\xC3\xA9/\\u007f\"");
    assert_written(gt_json_string_add, "\xC2\x85\xC2\x9F\xC2\xA0\xE2\x80\xA7\xE2\x80\xA8\xE2\x80\xA9",
                   "\"\\u0085\\u009f\xC2\xA0\xE2\x80\xA7\\u2028\\u2029\"");
    assert_written(gt_json_string_add_short, "\xC2\x85\xE2\x80\xA8", "\"\\u0085\\u2028\"");
    assert_written(gt_json_string_add_short, "a\"b\\c\n\r\t\b\f\v\x01\xC3\xA9/\x7F",
                   "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u000b\\u0001\xC3\xA9/\x7F\"");
    assert_written(gt_json_string_add, "\xFFq", "\"\xEF\xBF\xBDq\"");
    assert_written(gt_json_string_add_short, "", "\"\"");
}

static void write_ascii(gt_buffer *out, gt_str json, gt_buffer *scratch)
{
    (void)scratch;
    gt_json_add_ascii(out, json);
}

static void write_compact(gt_buffer *out, gt_str json, gt_buffer *scratch)
{
    (void)scratch;
    gt_json_add_compact(out, json);
}

/* Copied with 256 bytes after it that may be read, as blocks of a stream have. */
static void assert_copied(write_function *copy, const char *json, const char *expected)
{
    char padded[512] = "";
    strcpy(padded, json);
    assert_written(copy, padded, expected);
}

static void json_is_copied_without_white_space(void **state)
{
    (void)state;
    static const char json[] = "{ \"a b\" :\t[1, 2.50 ,\r\n\"\\\" x\"], \"\xC3\xA9\": \"\xF0\x9F\x98\x80\"}";
    assert_copied(write_compact, json, "{\"a b\":[1,2.50,\"\\\" x\"],\"\xC3\xA9\":\"\xF0\x9F\x98\x80\"}");
    assert_copied(write_ascii, json, "{\"a b\":[1,2.50,\"\\\" x\"],\"\\u00e9\":\"\\ud83d\\ude00\"}");
    assert_copied(write_ascii, "\"tab\there \x7F\"", "\"tab\\u0009here \\u007f\"");
}

static void a_string_loses_its_quotes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\"ab\"", "ab"}, {"\"\"", ""}, {"12", "12"}, {"", ""}, {"[\"a\"]", "[\"a\"]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_str raw = gt_json_unquote((gt_str){cases[i][0], strlen(cases[i][0])});
        assert_int_equal(raw.len, strlen(cases[i][1]));
        assert_memory_equal(raw.bytes, cases[i][1], raw.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_escape_is_one_code_point),        cmocka_unit_test(invalid_escapes_are_kept),
        cmocka_unit_test(a_string_ends_at_its_quote),         cmocka_unit_test(text_is_written_with_escapes),
        cmocka_unit_test(json_is_copied_without_white_space), cmocka_unit_test(a_string_loses_its_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
