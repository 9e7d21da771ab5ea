/* JSON values as CPython 3.11 prints them: str(tuples(v)), str(v) and repr(tuples(v)) of v =
 * json.loads(text), where tuples() makes a tuple of every list that is not inside a dict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compat/python_literal.h"
#include "base/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* clang-format off */
static const struct {
    const char *json, *tuples, *lists, *repr;
} cases[] = {
    {"[[4,8],[]]", "((4, 8), ())", "[[4, 8], []]", "((4, 8), ())"},
    {"[[512],[141,512],[512,512],[],[]]", "((512,), (141, 512), (512, 512), (), ())", "[[512], [141, 512], [512, 512], [], []]", "((512,), (141, 512), (512, 512), (), ())"},
    {"[]", "()", "[]", "()"},
    {"[[]]", "((),)", "[[]]", "((),)"},
    {"[[[]]]", "(((),),)", "[[[]]]", "(((),),)"},
    {"[1]", "(1,)", "[1]", "(1,)"},
    {"[[1]]", "((1,),)", "[[1]]", "((1,),)"},
    {"[1,2]", "(1, 2)", "[1, 2]", "(1, 2)"},
    {"[\"c10::BFloat16\",\"Scalar\",\"\"]", "('c10::BFloat16', 'Scalar', '')", "['c10::BFloat16', 'Scalar', '']", "('c10::BFloat16', 'Scalar', '')"},
    {"[\"\",\"[512]\",\"\",\"\",\"9.9999999999999998e-13\"]", "('', '[512]', '', '', '9.9999999999999998e-13')", "['', '[512]', '', '', '9.9999999999999998e-13']", "('', '[512]', '', '', '9.9999999999999998e-13')"},
    {"[\"it's\",\"say \\\"hi\\\"\",\"[1, 2]\"]", "(\"it's\", 'say \"hi\"', '[1, 2]')", "[\"it's\", 'say \"hi\"', '[1, 2]']", "(\"it's\", 'say \"hi\"', '[1, 2]')"},
    {"[\"it's \\\"both\\\"\"]", "('it\\'s \"both\"',)", "['it\\'s \"both\"']", "('it\\'s \"both\"',)"},
    {"[\"back\\\\slash\",\"tab\\tnew\\nline\\rreturn\",\"\\b\\f\\/\"]", "('back\\\\slash', 'tab\\tnew\\nline\\rreturn', '\\x08\\x0c/')", "['back\\\\slash', 'tab\\tnew\\nline\\rreturn', '\\x08\\x0c/']", "('back\\\\slash', 'tab\\tnew\\nline\\rreturn', '\\x08\\x0c/')"},
    {"[\"\\u00e9\\u20ac\",\"\\ud83d\\ude00\",\"\\u0000\\u001f\\u007f\\u0080\\u00a0\\u00ad\\u200b\\ufeff\\ue000\"]", "('\xc3\xa9\xe2\x82\xac', '\xf0\x9f\x98\x80', '\\x00\\x1f\\x7f\\x80\\xa0\\xad\\u200b\\ufeff\\ue000')", "['\xc3\xa9\xe2\x82\xac', '\xf0\x9f\x98\x80', '\\x00\\x1f\\x7f\\x80\\xa0\\xad\\u200b\\ufeff\\ue000']", "('\xc3\xa9\xe2\x82\xac', '\xf0\x9f\x98\x80', '\\x00\\x1f\\x7f\\x80\\xa0\\xad\\u200b\\ufeff\\ue000')"},
    {"[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]", "('\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80',)", "['\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80']", "('\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80',)"},
    {"\"plain text\"", "plain text", "plain text", "'plain text'"},
    {"\"it's \\\"quoted\\\"\\n\"", "it's \"quoted\"\x0a", "it's \"quoted\"\x0a", "'it\\'s \"quoted\"\\n'"},
    {"\"\"", "", "", "''"},
    {"\"\\u00e9\"", "\xc3\xa9", "\xc3\xa9", "'\xc3\xa9'"},
    {"5", "5", "5", "5"},
    {"-5", "-5", "-5", "-5"},
    {"-0", "0", "0", "0"},
    {"0", "0", "0", "0"},
    {"123456789012345678901234567890", "123456789012345678901234567890", "123456789012345678901234567890", "123456789012345678901234567890"},
    {"0.1", "0.1", "0.1", "0.1"},
    {"-0.0", "-0.0", "-0.0", "-0.0"},
    {"1.0", "1.0", "1.0", "1.0"},
    {"1.50", "1.5", "1.5", "1.5"},
    {"1e5", "100000.0", "100000.0", "100000.0"},
    {"1E+5", "100000.0", "100000.0", "100000.0"},
    {"1e-5", "1e-05", "1e-05", "1e-05"},
    {"1e16", "1e+16", "1e+16", "1e+16"},
    {"1e15", "1000000000000000.0", "1000000000000000.0", "1000000000000000.0"},
    {"1e400", "inf", "inf", "inf"},
    {"-1e400", "-inf", "-inf", "-inf"},
    {"2.5e-324", "5e-324", "5e-324", "5e-324"},
    {"true", "True", "True", "True"},
    {"false", "False", "False", "False"},
    {"null", "None", "None", "None"},
    {"[true,false,null,[true]]", "(True, False, None, (True,))", "[True, False, None, [True]]", "(True, False, None, (True,))"},
    {"NaN", "nan", "nan", "nan"},
    {"[NaN,Infinity,-Infinity]", "(nan, inf, -inf)", "[nan, inf, -inf]", "(nan, inf, -inf)"},
    {"{}", "{}", "{}", "{}"},
    {"[{}]", "({},)", "[{}]", "({},)"},
    {"{\"a\":1}", "{'a': 1}", "{'a': 1}", "{'a': 1}"},
    {"{\"a\":[1,2],\"b\":{\"c\":[]}}", "{'a': [1, 2], 'b': {'c': []}}", "{'a': [1, 2], 'b': {'c': []}}", "{'a': [1, 2], 'b': {'c': []}}"},
    {"[[1],{\"a\":[1,[2]],\"it's\":\"x\"},[2]]", "((1,), {'a': [1, [2]], \"it's\": 'x'}, (2,))", "[[1], {'a': [1, [2]], \"it's\": 'x'}, [2]]", "((1,), {'a': [1, [2]], \"it's\": 'x'}, (2,))"},
    {"[{\"a\":[1]},[{\"b\":[[]]}],[3]]", "({'a': [1]}, ({'b': [[]]},), (3,))", "[{'a': [1]}, [{'b': [[]]}], [3]]", "({'a': [1]}, ({'b': [[]]},), (3,))"},
    {"[ [ 4 , 8 ] , [ ] ]", "((4, 8), ())", "[[4, 8], []]", "((4, 8), ())"},
    {" { \"a\" : [ 1 ] } ", "{'a': [1]}", "{'a': [1]}", "{'a': [1]}"},
    {"[[[1,2],[3]],[[4]]]", "(((1, 2), (3,)), ((4,),))", "[[[1, 2], [3]], [[4]]]", "(((1, 2), (3,)), ((4,),))"},
    {"[1.0,2,\"3\",null]", "(1.0, 2, '3', None)", "[1.0, 2, '3', None]", "(1.0, 2, '3', None)"},
};
/* clang-format on */

typedef void add_function(gt_buffer *, gt_str, gt_python_form);

/* Converts an exact-size copy, so that AddressSanitizer reports reads past the end. */
static void expect(const char *json, add_function *add, gt_python_form form, const char *expected)
{
    size_t len = strlen(json);
    char *copy = gt_strdup(json);
    gt_buffer out = {0};
    add(&out, (gt_str){copy, len}, form);
    assert_string_equal(gt_buffer_str(&out).bytes, expected);
    gt_buffer_free(&out);
    free(copy);
}

static void values_print_as_in_python(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        expect(cases[i].json, gt_python_add_json, GT_PYTHON_TUPLES, cases[i].tuples);
        expect(cases[i].json, gt_python_add_json, GT_PYTHON_LISTS, cases[i].lists);
        expect(cases[i].json, gt_python_add_json_repr, GT_PYTHON_TUPLES, cases[i].repr);
    }
}

static void lone_surrogates_are_not_characters(void **unused)
{
    (void)unused;
    static const char *const halves[] = {"[\"a\\ud83d\"]", "[\"a\\ude00\"]"};
    for (size_t i = 0; i < LENGTH(halves); i++)
        expect(halves[i], gt_python_add_json, GT_PYTHON_LISTS, "['a\xef\xbf\xbd']");
    expect("[\"\\ud83d\\u0041\"]", gt_python_add_json, GT_PYTHON_LISTS,
           "['\xef\xbf\xbd"
           "A']");
    expect("[\"\\ud83d\\n\"]", gt_python_add_json, GT_PYTHON_LISTS, "['\xef\xbf\xbd\\n']");
}

static void invalid_json_stays_unchanged(void **unused)
{
    (void)unused;
    static const char *const broken[] = {
        "",          " ",           "[",   "]",         "[1",      "[1,",      "[1,]",       "[,1]",
        "[1]]",      "[1 2]",       "{",   "{\"a\"",    "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}",
        "{\"a\" 1}", "{1:2}",       "[1}", "{\"a\":1]", "\"",      "\"abc",    "\"a\\",      "\"a\\x\"",
        "\"\\u12\"", "\"\\u12g4\"", "tru", "nul",       "x",       "[x]",      "\"a\"b",     "1 2",
        "[[[",       "]]]",         ":",   ",",         "-",       "1-2",      "--1",        "+1",
        ".5",        "1.2.3",       "1e",  "[1e+]",     "1e5x",
    };
    for (size_t i = 0; i < LENGTH(broken); i++) {
        expect(broken[i], gt_python_add_json, GT_PYTHON_TUPLES, broken[i]);
        expect(broken[i], gt_python_add_json_repr, GT_PYTHON_LISTS, broken[i]);
    }
}

static void earlier_buffer_content_stays(void **unused)
{
    (void)unused;
    gt_buffer out = {0};
    gt_buffer_add_cstr(&out, "x = ");
    gt_python_add_json(&out, (gt_str){"[1]", 3}, GT_PYTHON_TUPLES);
    gt_buffer_add_cstr(&out, "; ");
    gt_python_add_json(&out, (gt_str){"[1", 2}, GT_PYTHON_TUPLES);
    assert_string_equal(gt_buffer_str(&out).bytes, "x = (1,); [1");
    gt_buffer_free(&out);
}

static void nesting_has_no_limit(void **unused)
{
    (void)unused;
    enum { DEPTH = 1000000 };
    char *json = gt_alloc(2 * DEPTH + 1);
    memset(json, '[', DEPTH);
    memset(json + DEPTH, ']', DEPTH);
    gt_buffer out = {0};
    gt_python_add_json(&out, (gt_str){json, 2 * DEPTH}, GT_PYTHON_TUPLES);
    /* (((...()...,),),): the innermost tuple is empty, all others have one element */
    assert_int_equal(out.len, 2 * DEPTH + DEPTH - 1);
    assert_memory_equal(out.bytes + DEPTH - 3,
                        "(((),"
                        "),),",
                        9);
    assert_memory_equal(out.bytes + out.len - 4, ",),)", 4);
    gt_buffer_free(&out);
    free(json);
}

static void ids_are_converted_once(void **unused)
{
    (void)unused;
    gt_interner *strings = gt_interner_new();
    uint32_t early = gt_interner_add_cstr(strings, "[[4,8]]");
    gt_python_literals *literals = gt_python_literals_new(strings, GT_PYTHON_TUPLES);
    uint32_t late = gt_interner_add_cstr(strings, "[ [4, 8] ]");
    uint32_t python = gt_python_literals_of(literals, early);
    assert_string_equal(gt_interner_get(strings, python).bytes, "((4, 8),)");
    assert_int_equal(gt_python_literals_of(literals, early), python);
    assert_int_equal(gt_python_literals_of(literals, late), python);
    assert_int_equal(gt_python_literals_of(literals, GT_STR_NONE), GT_STR_NONE);
    gt_python_literals_free(literals);
    gt_python_literals_free(NULL);
    gt_interner_free(strings);
}

static void shown_values_become_json(void **unused)
{
    (void)unused;
    static const struct {
        const char *shown, *json; /* NULL: no list or dict */
    } rows[] = {
        {"((8, 128), (), (256,))", "[[8,128],[],[256]]"},
        {"('float', '', None)", "[\"float\",\"\",null]"},
        {"{'a': (True, False), \"it's\": [nan, inf, -inf, -1.5]}",
         "{\"a\":[true,false],\"it's\":[null,null,null,-1.5]}"},
        {"['say \"x\"', 'tab\\t', '\\u200b']", "[\"say \\\"x\\\"\",\"tab\\u0009\",\"\xe2\x80\x8b\"]"},
        {"[]", "[]"},
        {"", NULL},
        {"12", NULL},
        {"'text'", NULL},
        {"(anonymous namespace)::kernel<4>", NULL},
        {"[0, 1, ...]", NULL},
        {"[1, 2", NULL},
        {"[1, 2)]", NULL},
        {"(1, 2) + (3,)", NULL},
    };
    for (size_t i = 0; i < GT_LENGTH(rows); i++) {
        gt_buffer json = {0};
        gt_buffer_add_cstr(&json, "before ");
        bool found = gt_python_shown_to_json((gt_str){rows[i].shown, strlen(rows[i].shown)}, &json);
        assert_int_equal(found, rows[i].json != NULL);
        assert_string_equal(gt_buffer_str(&json).bytes + strlen("before "), found ? rows[i].json : "");
        gt_buffer_free(&json);
    }
    gt_buffer typed = {0}; /* by a person: not a number */
    gt_error error;
    assert_false(gt_python_to_json((gt_str){"[nan]", 5}, &typed, &error));
    gt_buffer_free(&typed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_print_as_in_python),    cmocka_unit_test(lone_surrogates_are_not_characters),
        cmocka_unit_test(invalid_json_stays_unchanged), cmocka_unit_test(earlier_buffer_content_stays),
        cmocka_unit_test(nesting_has_no_limit),         cmocka_unit_test(ids_are_converted_once),
        cmocka_unit_test(shown_values_become_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
