/* Python regular expressions. The expected outcomes are those of CPython (regex_cases.txt, written by
 * generate_regex_cases.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "compat/python_regex.h"
#include "json/values.h"

/* Expressions that Python takes and we refuse. */
static const char *const unsupported[] = {
    "(?<=(a)\\1)b", /* PCRE2 has no reference inside of a look-behind */
    "(?a:\\w)\\w",  /* flags that change classes, for a part of the expression */
    "(?a)(?u:\\w+)",
};

/* Expressions that Python refuses and PCRE2 takes; from version 10.43 on, it takes more look-behinds. */
static const char *const extended[] = {
    "\\b*", "(a\\1)", "(?P<a>b(?P=a))", "(?i-i:a)", "(?<=a|bc)d", "(?<=a{2,3})c", "(?<!a?)b",
};

static bool is_among(const char *pattern, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], pattern) == 0) return true;
    return false;
}

/* "[[0,2],[-1,-1]]", "null" or "refused". */
static void add_outcome(gt_buffer *out, const char *pattern, gt_str text)
{
    gt_python_regex regex;
    gt_python_match match = {0};
    gt_error error;
    if (!gt_python_regex_compile(&regex, pattern, &error)) {
        assert_string_not_equal(error.text, "");
        gt_buffer_add_cstr(out, "refused");
        return;
    }
    if (!gt_python_regex_search(&regex, text, &match, &error)) fail_msg("%s: %s", pattern, error.text);
    if (!match.found) gt_buffer_add_cstr(out, "null");
    for (size_t i = 0; match.found && i <= regex.group_count; i++) {
        gt_str group = match.groups[i];
        int begin = group.bytes ? (int)(group.bytes - text.bytes) : -1,
            end = group.bytes ? begin + (int)group.len : -1;
        gt_buffer_add_format(out, "%s[%d,%d]", i ? "," : "[", begin, end);
    }
    if (match.found) gt_buffer_add_cstr(out, "]");
    gt_python_match_free(&match);
    gt_python_regex_free(&regex);
}

static void add_expected(gt_buffer *out, const gt_value *expected)
{
    if (expected->type == GT_VALUE_STRING) gt_buffer_add_cstr(out, "refused");
    if (expected->type == GT_VALUE_NONE) gt_buffer_add_cstr(out, "null");
    if (expected->type != GT_VALUE_LIST) return;
    for (uint32_t i = 0; i < expected->count; i++)
        gt_buffer_add_format(out, "%s[%d,%d]", i ? "," : "[",
                             (int)gt_value_at(&expected->items[i], 0)->integer,
                             (int)gt_value_at(&expected->items[i], 1)->integer);
    gt_buffer_add_cstr(out, "]");
}

static void outcomes_are_those_of_python(void **state)
{
    (void)state;
    FILE *file = fopen(GT_TESTS "/compat/regex_cases.txt", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t capacity = 0, cases = 0, different = 0;
    gt_arena arena = {0};
    for (ssize_t len; (len = getline(&line, &capacity, file)) > 0; cases++) {
        const gt_value *row = gt_value_parse(&arena, (gt_str){line, (size_t)len});
        assert_int_equal(row->count, 3);
        const char *pattern = gt_value_at(row, 0)->text.bytes;
        gt_buffer expected = {0}, found = {0};
        add_expected(&expected, gt_value_at(row, 2));
        add_outcome(&found, pattern, gt_value_at(row, 1)->text);
        if (strcmp(gt_buffer_str(&expected).bytes, gt_buffer_str(&found).bytes) != 0 &&
            !is_among(pattern, unsupported, GT_LENGTH(unsupported)) &&
            !is_among(pattern, extended, GT_LENGTH(extended))) {
            print_error("%s in '%s': Python: %s, here: %s\n", pattern, gt_value_at(row, 1)->text.bytes,
                        expected.bytes, found.bytes);
            different++;
        }
        gt_buffer_free(&expected);
        gt_buffer_free(&found);
    }
    free(line);
    fclose(file);
    gt_arena_free(&arena);
    assert_true(cases > 3000);
    assert_int_equal(different, 0);
}

/* What is refused is named, with its place; the messages of PCRE2 itself depend on its version. */
static void messages_name_construct_and_place(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *message;
    } cases[] = {
        {"a\\K", "unsupported escape \\K at position 1"},
        {"é\\N{DASH}", "unsupported escape \\N at position 1"},
        {"[\\q]", "unsupported escape \\q at position 1"},
        {"\\400", "unsupported escape \\400 at position 0"},
        {"\\x1", "incomplete escape \\x1 at position 0"},
        {"a\\", "unsupported escape \\ at position 1"},
        {"(*ACCEPT)", "unsupported group (* at position 0"},
        {"a(?P>b)", "unsupported group (?P> at position 1"},
        {"a(?a:b)", "unsupported group (?a: at position 1"},
        {"(?|a)", "unsupported group (?|a at position 0"},
        {"a(?i)b", "flags not at the start of the expression (?i) at position 1"},
        {"é[a", "unterminated character set at position 1"},
        {"(?#", "missing ), unterminated comment at position 0"},
        {"(a)(?(1", "missing ), unterminated subpattern at position 3"},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        gt_python_regex regex;
        gt_error error;
        assert_false(gt_python_regex_compile(&regex, cases[i].pattern, &error));
        assert_string_equal(error.text, cases[i].message);
    }
    gt_python_regex regex;
    gt_error error;
    assert_false(gt_python_regex_compile(&regex, "\\d{,2}\\w**", &error)); /* the place in what was given */
    assert_non_null(strstr(error.text, " at position 9"));
}

static void groups_are_found_by_name(void **state)
{
    (void)state;
    gt_python_regex regex;
    gt_error error;
    assert_true(gt_python_regex_compile(&regex, "(a)(?P<two>b)(?:c)(?P<three>d)", &error));
    assert_int_equal(regex.group_count, 3);
    assert_int_equal(gt_python_regex_group(&regex, "two"), 2);
    assert_int_equal(gt_python_regex_group(&regex, "three"), 3);
    assert_int_equal(gt_python_regex_group(&regex, "thre"), 0);
    gt_python_regex_free(&regex);
}

/* Expressions that make a backtracking matcher run for ages end with an error, not with a hang. */
static void endless_expressions_are_given_up(void **state)
{
    (void)state;
    static const char *const hostile[] = {"(a+)+$",      "(a|aa)+$",        "(a|a)*$",
                                          "(.*a){12}$",  "^(a?){40}a{40}$", "(a*)*b\\1$",
                                          "(?=(a+)+$)x", "(([a-z])+.)+Z",   "((a{1,30}){1,30}){1,30}$"};
    char text[64];
    memset(text, 'a', sizeof text);
    text[40] = '!';
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        gt_python_regex regex;
        gt_python_match match = {0};
        gt_error error = {""};
        if (!gt_python_regex_compile(&regex, hostile[i], &error)) {
            assert_string_not_equal(error.text, "");
            continue;
        }
        bool decided = gt_python_regex_search(&regex, (gt_str){text, 41}, &match, &error);
        if (decided)
            assert_false(match.found);
        else
            assert_non_null(strstr(error.text, "too many steps"));
        gt_python_match_free(&match);
        gt_python_regex_free(&regex);
    }
    gt_python_regex regex;
    gt_python_match match = {0};
    gt_error error;
    assert_true(gt_python_regex_compile(&regex, "(a+)+$", &error));
    assert_false(gt_python_regex_search(&regex, (gt_str){text, 41}, &match, &error));
    assert_string_equal(error.text,
                        "too many steps to match it against 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'");
    gt_python_match_free(&match);
    gt_python_regex_free(&regex);
}

static void large_expressions_are_refused(void **state)
{
    (void)state;
    gt_buffer pattern = {0};
    gt_python_regex regex;
    gt_error error;
    for (int i = 0; i < 100000; i++) gt_buffer_add_cstr(&pattern, "(");
    assert_false(gt_python_regex_compile(&regex, gt_buffer_str(&pattern).bytes, &error));
    gt_buffer_add_cstr(&pattern, "(");
    assert_false(gt_python_regex_compile(&regex, gt_buffer_str(&pattern).bytes, &error));
    assert_string_equal(error.text, "the expression is too long");
    assert_false(gt_python_regex_compile(&regex, "((((a{9999}){9999}){9999}){9999})", &error));
    assert_false(gt_python_regex_compile(&regex, "a{65536}", &error));
    assert_false(gt_python_regex_compile(&regex, "a{99999999999999999999}", &error));
    gt_buffer_free(&pattern);
}

/* Bytes that are not UTF-8 count as U+FFFD, in the expression and in the text. */
static void damaged_text_is_matched(void **state)
{
    (void)state;
    gt_python_regex regex;
    gt_python_match match = {0};
    gt_error error;
    assert_true(gt_python_regex_compile(&regex, "a(.)b(\\d)", &error));
    assert_true(gt_python_regex_search(&regex,
                                       (gt_str){"a\xFF"
                                                "b7",
                                                4},
                                       &match, &error));
    assert_true(match.found);
    assert_memory_equal(match.groups[1].bytes, "\xEF\xBF\xBD", 3);
    assert_memory_equal(match.groups[2].bytes, "7", 1);
    assert_true(gt_python_regex_search(&regex, (gt_str){"b7", 2}, &match, &error));
    assert_false(match.found);
    gt_python_regex_free(&regex);
    assert_true(gt_python_regex_compile(&regex, "\xFF+", &error));
    assert_true(gt_python_regex_search(&regex, (gt_str){"\xC3(\xE2\x82", 4}, &match, &error));
    assert_true(match.found);
    gt_python_regex_free(&regex);
    gt_python_match_free(&match);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_are_those_of_python),  cmocka_unit_test(messages_name_construct_and_place),
        cmocka_unit_test(groups_are_found_by_name),      cmocka_unit_test(endless_expressions_are_given_up),
        cmocka_unit_test(large_expressions_are_refused), cmocka_unit_test(damaged_text_is_matched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
