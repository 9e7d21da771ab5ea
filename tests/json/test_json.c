/* The JSON pull reader: the cases of json_cases.txt with a block boundary at every position, the values of
 * strings and numbers, and error messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "json/reader.h"
#include "json/number.h"
#include "json/string.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cases from the file ---- */

typedef struct bytes {
    uint8_t *items;
    size_t count, capacity;
} bytes;

static int hex(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c >= 'A' ? c - 'A' + 10 : c - '0';
}

/* Decodes the notation that json_cases.txt describes. */
static void decode(const char *p, const char *end, bytes *out)
{
    while (p < end) {
        if (*p != '\\') {
            GT_PUSH(out->items, out->count, out->capacity, (uint8_t)*p);
            p++;
        } else if (p[1] == '{') {
            char *star;
            long times = strtol(p + 2, &star, 10);
            const char *body = star + 1, *close = strstr(body, "\\}");
            while (times--) decode(body, close, out);
            p = close + 2;
        } else if (p[1] == 'x') {
            GT_PUSH(out->items, out->count, out->capacity, (uint8_t)(hex(p[2]) * 16 + hex(p[3])));
            p += 4;
        } else {
            GT_PUSH(out->items, out->count, out->capacity,
                    (uint8_t)(p[1] == 'n'   ? '\n'
                              : p[1] == 'r' ? '\r'
                              : p[1] == 't' ? '\t'
                                            : '\\'));
            p += 2;
        }
    }
}

/* Whether the reader accepts the text as one complete document, given to it in blocks of this many bytes (0:
 * one block). */
static bool accepts(const void *text, size_t len, size_t block)
{
    gt_error error;
    gt_stream *stream = gt_stream_memory(text, len, block, &error);
    assert_non_null(stream);
    gt_json json;
    gt_json_begin(&json, stream, 0);
    bool accepted = gt_json_skip(&json) && gt_json_finish(&json);
    assert_true(accepted || json.failed);
    if (!accepted) assert_true(json.error.text[0]);
    gt_stream_close(stream);
    return accepted;
}

static void cases_are_accepted_and_refused_as_marked(void **unused)
{
    (void)unused;
    FILE *file = fopen(GT_TESTS "/json/json_cases.txt", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t size = 0, cases = 0, wrong = 0;
    ssize_t len;
    while ((len = getline(&line, &size, file)) > 0) {
        if (line[len - 1] == '\n') line[--len] = 0;
        if (!len || line[0] == '#') continue;
        char verdict = line[0], *name = line + 2, *notation = strchr(name, ' ');
        bytes text = {0};
        GT_PUSH(text.items, text.count, text.capacity, 0); /* so that the pointer is never NULL */
        text.count = 0;
        if (notation) decode(notation + 1, line + len, &text);
        bool whole = accepts(text.items, text.count, 0);
        if (verdict != 'i' && whole != (verdict == 'y')) {
            print_error("%.60s: %s\n", name, whole ? "accepted" : "refused");
            wrong++;
        }
        size_t step = text.count > 2000 ? 97 : 1;
        /* The text is copied once per block where arrays always move. */
        size_t first = GT_ADDRESS_SANITIZER && text.count > 2000 ? 9 : 1;
        for (size_t block = first; block < text.count && block < 300; block += step)
            if (accepts(text.items, text.count, block) != whole) {
                print_error("%.60s: in blocks of %zu the answer differs\n", name, block);
                wrong++;
            }
        free(text.items);
        cases++;
    }
    free(line);
    fclose(file);
    assert_true(cases > 300);
    assert_int_equal(wrong, 0);
}

/* The bytes of the container at the beginning of the text that gt_json_skip_text skips; 0 if it refuses. */
static size_t skipped(const char *text, unsigned depth)
{
    char padded[512 + GT_STREAM_PAD] = {0};
    size_t len = strlen(text);
    assert_true(len < 512);
    memcpy(padded, text, len);
    const uint8_t *begin = (const uint8_t *)padded;
    const uint8_t *after = gt_json_skip_text(begin, begin + len, depth);
    return after ? (size_t)(after - begin) : 0;
}

static void containers_in_memory_are_skipped_as_a_whole(void **unused)
{
    (void)unused;
    static const char *const usual[] = {
        "{}",
        "[ ]",
        "{\"internal\":1,\"external\":0}",
        "[1, -2.5e+3, true, false, null,\n \"a]b\", {\"c\" : [[], {}]} ]",
    };
    for (size_t i = 0; i < GT_LENGTH(usual); i++) {
        char followed[512];
        snprintf(followed, sizeof followed, "%s,\"next\"", usual[i]);
        assert_int_equal(skipped(usual[i], 0), strlen(usual[i]));
        assert_int_equal(skipped(followed, 0), strlen(usual[i]));
    }
    static const char *const others[] = {
        "[1",    "{\"a\"}",     "{\"a\":}", "[1,]", "{\"a\":1,}", "[1 2]", "[\"\\n\"]", "{\"a\\u0041\":1}",
        "[NaN]", "[tru]",       "[1}",      "{,}",  "[01]",       "[\"a",  "[1.]",      "{1:2}",
        "[-]",   "[truefalse]",
    };
    for (size_t i = 0; i < GT_LENGTH(others); i++) assert_int_equal(skipped(others[i], 0), 0);

    char deep[257] = {0};
    memset(deep, '[', 128);
    memset(deep + 128, ']', 128);
    assert_int_equal(skipped(deep, 0), 0); /* left to the pull reader */
    assert_int_equal(skipped(deep + 64, 0), 128);
    assert_int_equal(skipped("[[]]", GT_JSON_MAX_DEPTH - 2), 4);
    assert_int_equal(skipped("[[]]", GT_JSON_MAX_DEPTH - 1), 0);
}

/* ---- values ---- */

static gt_json begin(const char *text, gt_stream **stream, size_t block)
{
    gt_error error;
    gt_json json;
    *stream = gt_stream_memory(text, strlen(text), block, &error);
    gt_json_begin(&json, *stream, 0);
    return json;
}

static void assert_string_means(const char *json_text, const char *meaning)
{
    gt_stream *stream;
    gt_json json = begin(json_text, &stream, 0);
    gt_str raw;
    char out[256];
    assert_true(gt_json_string(&json, &raw));
    size_t len = gt_json_string_decode(raw, out);
    assert_int_equal(len, strlen(meaning));
    assert_memory_equal(out, meaning, len);
    gt_stream_close(stream);
}

/* Elements that differ from the one before in digits are compared with it instead of being read; with blocks
 * of one byte there is nothing to compare. */
static void elements_that_are_alike_are_checked(void **unused)
{
    (void)unused;
    static const char *const arrays[] = {
        "[{\"id\":41,\"size\":32},{\"id\":42,\"size\":128},{\"id\":7,\"size\":0}]",
        "[ {\"a\": 1.5, \"b1\": -20e+3} ,\n {\"a\": 12.25, \"b2\": -2e+30} , {\"a\": 0.5, \"b10\": -1e+3}]",
        "[[1, \"x9\", true], [10, \"x10\", true], [100, \"x\", true], [0, \"x0\", null]]",
        ("{\"k\":[{\"long key so that words are compared\":1234567890123,\"n\":{\"m\":[1,2]}},"
         "{\"long key so that words are compared\":123456789012,\"n\":{\"m\":[10,20]}}]}"),
    };
    static const char others[] = "0159-.eE+,:\"\\{}[] x";
    for (size_t i = 0; i < GT_LENGTH(arrays); i++) {
        size_t len = strlen(arrays[i]);
        char text[256];
        memcpy(text, arrays[i], len + 1);
        assert_true(accepts(text, len, 0));
        for (size_t at = 0; at < len; at++) {
            for (const char *other = others; *other; other++) {
                text[at] = *other;
                bool expected = accepts(text, len, 1);
                if (accepts(text, len, 0) != expected || accepts(text, len, 40) != expected)
                    fail_msg("%s is %s", text, expected ? "valid" : "invalid");
            }
            text[at] = arrays[i][at];
        }
        for (size_t at = 0; at + 1 < len; at++) { /* without one byte */
            memcpy(text, arrays[i], at);
            memcpy(text + at, arrays[i] + at + 1, len - at);
            if (accepts(text, len - 1, 0) != accepts(text, len - 1, 1)) fail_msg("%s", text);
        }
    }
}

static void strings_are_decoded_by_the_standard(void **unused)
{
    (void)unused;
    assert_string_means("\"\"", "");
    assert_string_means("\"a\\n\\t\\r\\b\\f\\/\\\\\\\"z\"", "a\n\t\r\b\f/\\\"z");
    assert_string_means("\"\\u0041\\u00e9\\u20AC\"", "A\xC3\xA9\xE2\x82\xAC");
    assert_string_means("\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80");
    assert_string_means("\"\\ud83d\"", "\xEF\xBF\xBD");                    /* lone surrogates */
    assert_string_means("\"\\ude00\\ud83d\"", "\xEF\xBF\xBD\xEF\xBF\xBD"); /* surrogates in the wrong order */
    assert_string_means("\"\\ud83d\\u0041\"", "\xEF\xBF\xBD"
                                              "A");
    assert_string_means("\"a\xFFz\"", "a\xEF\xBF\xBDz");             /* not UTF-8 */
    assert_string_means("\"\xC0\x80\"", "\xEF\xBF\xBD\xEF\xBF\xBD"); /* overlong */
    assert_string_means("\"\xED\xA0\x80\"",
                        "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); /* a surrogate in UTF-8 */
    assert_string_means("\"\xF4\x90\x80\x80\"", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_string_means("\"\xE2\x82\"", "\xEF\xBF\xBD"); /* truncated sequence */
    assert_string_means("\"\xF0\x9F\x98z\"", "\xEF\xBF\xBDz");
    assert_string_means("\"\xF0\x9F\xFF\"", "\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_string_means("\"\xC3(\"", "\xEF\xBF\xBD(");
    assert_string_means("\"\x01\x1F\"", "\x01\x1F");
}

static gt_json_number number_of(const char *text)
{
    gt_json_number number = {0};
    assert_true(gt_json_parse_number((gt_str){text, strlen(text)}, &number));
    return number;
}

static void numbers_have_the_values_of_strtod(void **unused)
{
    (void)unused;
    static const char *const reals[] = {"0",
                                        "-0",
                                        "1.5",
                                        "-1.5e3",
                                        "5453458362131.123",
                                        "1e308",
                                        "1e309",
                                        "5e-324",
                                        "0.1",
                                        "123456789012345678901234567890",
                                        "1718289123456789.123",
                                        "2.2250738585072011e-308",
                                        "9007199254740993",
                                        "1E-400"};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        double expected = strtod(reals[i], NULL), got = number_of(reals[i]).real;
        assert_memory_equal(&expected, &got, sizeof got);
    }
    assert_true(isnan(number_of("NaN").real));
    assert_true(number_of("-Infinity").real == -INFINITY);
    assert_true(number_of("9223372036854775807").is_int);
    assert_int_equal(number_of("9223372036854775807").integer, INT64_MAX);
    assert_true(number_of("-9223372036854775808").is_int);
    assert_int_equal(number_of("-9223372036854775808").integer, INT64_MIN);
    assert_false(number_of("9223372036854775808").is_int); /* hive_id in real traces */
    assert_false(number_of("-9223372036854775809").is_int);
    assert_false(number_of("1.0").is_int);
    assert_false(number_of("1e0").is_int);
}

static void a_document_is_read_token_by_token(void **unused)
{
    (void)unused;
    static const char text[] = " { \"a\" : [ 1 , \"two\" , null ] , \"b\" : { } , \"c\\u0041\" : -2.5e1 } ";
    for (size_t block = 1; block <= sizeof text; block++) {
        gt_stream *stream;
        gt_json json = begin(text, &stream, block);
        gt_str key, raw;
        gt_json_number number;
        assert_int_equal(gt_json_peek(&json), GT_JSON_OBJECT);
        assert_true(gt_json_enter_object(&json));
        assert_true(gt_json_next_key(&json, &key));
        assert_true(key.len == 1 && key.bytes[0] == 'a');
        assert_true(gt_json_enter_array(&json));
        assert_true(gt_json_next_element(&json));
        assert_true(gt_json_read_number(&json, &number));
        assert_true(number.is_int && number.integer == 1);
        assert_true(gt_json_next_element(&json));
        assert_true(gt_json_string(&json, &raw));
        assert_true(raw.len == 3 && memcmp(raw.bytes, "two", 3) == 0);
        assert_true(gt_json_next_element(&json));
        assert_int_equal(gt_json_peek(&json), GT_JSON_NULL);
        assert_true(gt_json_literal(&json));
        assert_false(gt_json_next_element(&json));
        assert_true(gt_json_next_key(&json, &key));
        assert_true(gt_json_enter_object(&json));
        assert_false(gt_json_next_key(&json, &key));
        assert_true(gt_json_next_key(&json, &key));
        assert_true(key.len == 7 && memcmp(key.bytes, "c\\u0041", 7) == 0);
        assert_true(gt_json_read_number(&json, &number));
        assert_true(!number.is_int && number.real == -25.0);
        assert_false(gt_json_next_key(&json, &key));
        assert_false(json.failed);
        assert_true(gt_json_finish(&json));
        gt_stream_close(stream);
    }
}

/* ---- errors ---- */

static void assert_fails(const char *text, bool truncated, const char *message)
{
    for (size_t block = 0; block < 9; block++) {
        gt_stream *stream;
        gt_json json = begin(text, &stream, block);
        assert_false(gt_json_skip(&json) && gt_json_finish(&json));
        assert_int_equal(json.truncated, truncated);
        assert_string_equal(json.error.text, message);
        gt_stream_close(stream);
    }
}

static void errors_name_the_problem_and_the_position(void **unused)
{
    (void)unused;
    assert_fails("", true, "the JSON text ends early at byte 0");
    assert_fails("{\"a\": [1, 2", true, "the JSON text ends early at byte 11");
    assert_fails("{\"a\": tru", true, "the JSON text ends early at byte 9");
    assert_fails("{\"a\" 1}", false, "expected ':' but found '1' at byte 5");
    assert_fails("[1, 2}", false, "expected ',' or ']' but found '}' at byte 5");
    assert_fails("[1, \x01]", false, "expected a value but found the byte 0x01 at byte 4");
    assert_fails("{\"a\": 01}", false, "'01' is not a number at byte 6");
    assert_fails("[1] x", false, "text follows the end of the JSON document at byte 4");
    assert_fails("[\"ab\\q\"]", false, "invalid escape in a string at byte 4");
    assert_fails("[nope]", false, "'nope' is not a value at byte 1");
}

static void every_truncation_is_an_unexpected_end(void **unused)
{
    (void)unused;
    static const char text[] = "{\"a\": [1.5e3, \"x\\u0041\", true, null], \"b\": {\"c\": -0}}";
    for (size_t len = 0; len < sizeof text - 1; len++) {
        gt_error error;
        gt_stream *stream = gt_stream_memory(text, len, 0, &error);
        gt_json json;
        gt_json_begin(&json, stream, 0);
        assert_false(gt_json_skip(&json) && gt_json_finish(&json));
        assert_true(json.truncated);
        gt_stream_close(stream);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_accepted_and_refused_as_marked),
        cmocka_unit_test(containers_in_memory_are_skipped_as_a_whole),
        cmocka_unit_test(elements_that_are_alike_are_checked),
        cmocka_unit_test(strings_are_decoded_by_the_standard),
        cmocka_unit_test(numbers_have_the_values_of_strtod),
        cmocka_unit_test(a_document_is_read_token_by_token),
        cmocka_unit_test(errors_name_the_problem_and_the_position),
        cmocka_unit_test(every_truncation_is_an_unexpected_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
