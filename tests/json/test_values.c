/* The value tree: JSON documents and how Python prints them. Expected strings come from CPython's json.loads
 * and repr. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/family.h"
#include "compat/python_repr.h"
#include "json/values.h"

#include <stdlib.h>
#include <string.h>

static gt_str text_of(const char *text)
{
    return (gt_str){text, strlen(text)};
}

static void assert_prints(const char *json, const char *expected)
{
    gt_arena arena = {0};
    gt_buffer buffer = {0};
    gt_python_add_value(&buffer, gt_value_parse(&arena, text_of(json)));
    assert_string_equal(gt_buffer_str(&buffer).bytes, expected);
    gt_buffer_free(&buffer);
    gt_arena_free(&arena);
}

static void test_printing(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"null", "None"},
        {"true", "True"},
        {" [ ] ", "[]"},
        {"{}", "{}"},
        {"12", "12"},
        {"-0", "0"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854775808"},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"1.0", "1.0"},
        {"1e-5", "1e-05"},
        {"1E400", "inf"},
        {"[NaN,-Infinity]", "[nan, -inf]"},
        {"\"a'b\"", "a'b"},
        {"[\"a'b\",\"\\u00e9\\n\",\"\\ud83d\\ude00\"]", "[\"a'b\", 'é\\n', '😀']"},
        {"[\"\\\"\\\\\\/\\b\"]", "['\"\\\\/\\x08']"},
        {"[[1,2],[],[[3]]]", "[[1, 2], [], [[3]]]"},
        {"{\"a\":1,\"b\":[null,false]}", "{'a': 1, 'b': [None, False]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_prints(cases[i][0], cases[i][1]);
}

static void test_tuples(void **state)
{
    (void)state;
    gt_arena arena = {0};
    gt_buffer buffer = {0};
    gt_value one[] = {gt_value_cstr("x")}, none = gt_value_tuple(&arena, NULL, 0);
    gt_value nest[] = {gt_value_tuple(&arena, one, 1), none, gt_value_float(2)};
    gt_value tuple = gt_value_tuple(&arena, nest, 3);
    gt_python_add_value(&buffer, &tuple);
    assert_string_equal(gt_buffer_str(&buffer).bytes, "(('x',), (), 2.0)");
    buffer.len = 0;
    gt_value outer = gt_value_as_tuple(gt_value_parse(&arena, text_of("[[1],2]")));
    gt_python_add_value(&buffer, &outer);
    assert_string_equal(gt_buffer_str(&buffer).bytes, "([1], 2)");
    gt_buffer_free(&buffer);
    gt_arena_free(&arena);
}

static void test_invalid_json(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",         " ",     "[",   "]",       "[1",        "[1,]",        "[,1]", "[1 2]", "{\"a\"}",
        "{\"a\":}", "{1:2}", "nul", "truex",   "1 2",       "-",           "+1",   "1-2",   "1e",
        "e5",       "1.2.3", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "'a'",
    };
    gt_arena arena = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (gt_value_parse(&arena, text_of(texts[i]))->type != GT_VALUE_MISSING)
            fail_msg("accepted: %s", texts[i]);
    gt_arena_free(&arena);
}

static bool nests(size_t depth)
{
    gt_arena arena = {0};
    char *text = gt_alloc(2 * depth + 1);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    text[2 * depth] = 0;
    bool parsed = gt_value_parse(&arena, text_of(text))->type == GT_VALUE_LIST;
    free(text);
    gt_arena_free(&arena);
    return parsed;
}

static void test_depth(void **state)
{
    (void)state;
    assert_true(nests(64));
    assert_false(nests(66));
    assert_false(nests(1000000));
}

static void test_queries(void **state)
{
    (void)state;
    gt_arena arena = {0};
    const gt_value *list = gt_value_parse(&arena, text_of("[1,[],\"x\"]"));
    assert_int_equal(gt_value_at(list, 0)->integer, 1);
    assert_true(gt_value_equals_cstr(gt_value_at(list, -1), "x"));
    assert_int_equal(gt_value_at(list, 3)->type, GT_VALUE_MISSING);
    assert_int_equal(gt_value_at(list, -4)->type, GT_VALUE_MISSING);
    assert_int_equal(gt_value_at(gt_value_at(list, 0), 0)->type, GT_VALUE_MISSING);
    const gt_value *dict = gt_value_parse(&arena, text_of("{\"k\":1,\"l\":2,\"k\":3}"));
    assert_int_equal(gt_value_get(dict, "k")->integer, 3);
    assert_int_equal(gt_value_get(dict, "m")->type, GT_VALUE_MISSING);
    assert_int_equal(gt_value_get(list, "k")->type, GT_VALUE_MISSING);
    gt_arena_free(&arena);
}

/* Strings that are interned later are found too, and each is parsed once. */
static void test_strings_of_a_trace(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_values *values = gt_values_new(strings);
    uint32_t first = gt_interner_add_cstr(strings, "[1]");
    const gt_value *one = gt_values_get(values, first);
    assert_int_equal(one->count, 1);
    for (int i = 0; i < 1000; i++) gt_interner_add_cstr(strings, (char[]){'[', (char)('0' + i % 10), ']', 0});
    uint32_t later = gt_interner_add_cstr(strings, "[1,2,3]");
    assert_int_equal(gt_values_get(values, later)->count, 3);
    assert_ptr_equal(gt_values_get(values, first), one);
    assert_int_equal(gt_values_get(values, GT_STR_NONE)->type, GT_VALUE_MISSING);
    gt_values_free(values);
    gt_interner_free(strings);
}

/* ---- information in names ---- */

static void assert_lengths(const char *name, long c_sq, long c_sqsk, long g_sq, long g_sk)
{
    gt_step_lengths lengths;
    if (!gt_step_lengths_parse(text_of(name), &lengths)) fail_msg("not understood: %s", name);
    assert_int_equal((long)lengths.context.sq, c_sq);
    assert_int_equal((long)lengths.context.sqsk, c_sqsk);
    assert_int_equal((long)lengths.generation.sq, g_sq);
    assert_int_equal((long)lengths.generation.sk, g_sk);
}

static void test_steps(void **state)
{
    (void)state;
    assert_lengths("execute_5_context_1(sq4sk9sqsq16sqsk36)_generation_1(sq1sk7sqsq1sqsk7) and more", 4, 36,
                   1, 7);
    assert_lengths("step[EXTEND bs=2 toks=5 c_sq=5 c_sqsq=13 c_sqsk=20 c_sk=8]", 5, 20, 0, 0);
    assert_lengths("step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]", 0, 0, 128, 131072);
    assert_lengths("prefill[bs=2 tok=5 ctx=[3, 2]...+3 sqsq=13 sqsk=20 sk=8]", 5, 20, 0, 0);
    assert_lengths("decode[bs=3/8 tok=3 d=3 sqsq=3 sqsk=12 sk=12 tbo=1]", 0, 0, 3, 12);
    static const char *const others[] = {
        "",
        "NA",
        "execute_",
        "execute_context_2(14721)_generation_0(0)",
        "execute_diffusion_1_64x64",
        "execute_5_context_1(sq4sk9sqsq16sqsk36)_generation_1(sq1sk7sqsq1)",
        "step[DECODE bs=64]",
        "step[DECODER g_sqsq=1]",
        "step[DECODE g_sqsq=1",
        "step[IDLE g_sqsq=1]",
        "decode[bs=64 tok=64 d=64]",
        "decode[tok=1 sqsq=1 sk=1]",
        "decode[tok=1 sqsq=1 sqsk=1",
        "xdecode[tok=1 sqsq=1 sqsk=1]",
        "decode[tok=999999999999999999999999999999999999999999 sqsq=1 sqsk=1]",
    };
    gt_step_lengths lengths;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (gt_step_lengths_parse(text_of(others[i]), &lengths)) fail_msg("understood: %s", others[i]);
}

static void test_gemm_kernels(void **state)
{
    (void)state;
    static const struct {
        const char *name, *transpose; /* NULL: not in the name */
    } cases[] = {
        {"Cijk_Ailk_Bljk_BBS_BH", "(False, False)"},
        {"Custom_Cijk_Alik_Bjlk_x", "(True, True)"},
        {"Cijk_Alik_Bljk", "(True, None)"},
        {"Cabc_Adef_Bghi", "(None, None)"},
        {"nvjet_hsh_64x8_TNT", "(True, False)"},
        {"nvjet_NN", "(False, False)"},
        {"Cijk_Ailk_Blj", NULL},
        {"Cij_Ailk_Bljk_", NULL},
        {"nvjet_", NULL},
        {"xnvjet_TT", NULL},
        {"", NULL},
    };
    gt_arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_value transpose[2];
        bool known = gt_gemm_transpose(text_of(cases[i].name), transpose);
        if (known != (cases[i].transpose != NULL)) fail_msg("%s", cases[i].name);
        if (!known) continue;
        gt_buffer buffer = {0};
        gt_value both = gt_value_tuple(&arena, transpose, 2);
        gt_python_add_value(&buffer, &both);
        assert_string_equal(gt_buffer_str(&buffer).bytes, cases[i].transpose);
        gt_buffer_free(&buffer);
    }
    gt_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printing),     cmocka_unit_test(test_tuples),
        cmocka_unit_test(test_invalid_json), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_queries),      cmocka_unit_test(test_strings_of_a_trace),
        cmocka_unit_test(test_steps),        cmocka_unit_test(test_gemm_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
