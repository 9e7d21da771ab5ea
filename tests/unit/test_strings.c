/* Interned texts, and texts held against words. */
#include "base/strings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static gt_text text(const char *bytes)
{
    return (gt_text){bytes, strlen(bytes)};
}

static void equal_texts_have_one_id(void **state)
{
    (void)state;
    gt_strings *strings = gt_strings_new();
    uint32_t name = gt_strings_add_cstr(strings, "gemm");
    assert_int_equal(gt_strings_add(strings, "gemm_kernel", 4), name);
    assert_int_not_equal(gt_strings_add_cstr(strings, "Gemm"), name);
    assert_int_equal(gt_strings_find(strings, "gemm", 4), name);
    assert_int_equal(gt_strings_find(strings, "conv", 4), GT_TEXT_NONE);
    assert_int_equal(gt_strings_add_cstr(strings, ""), GT_TEXT_EMPTY);
    assert_int_equal(gt_strings_get(strings, GT_TEXT_NONE).len, 0);
    assert_string_equal(gt_strings_get(strings, name).bytes, "gemm");
    gt_strings_free(strings);
}

static void order_is_of_bytes_then_of_length(void **state)
{
    (void)state;
    assert_int_equal(gt_text_compare(text("ab"), text("ab")), 0);
    assert_true(gt_text_compare(text("ab"), text("abc")) < 0);
    assert_true(gt_text_compare(text("b"), text("abc")) > 0);
    assert_true(gt_text_compare(text("z"), text("\xC3\xA9")) < 0);
}

static void texts_and_words(void **state)
{
    (void)state;
    assert_true(gt_text_is(text("ncclKernel"), "ncclKernel"));
    assert_false(gt_text_is(text("ncclKernel"), "nccl"));
    assert_false(gt_text_is(text("nccl"), "ncclKernel"));
    assert_true(gt_text_is((gt_text){"ncclKernel", 4}, "nccl"));
    assert_true(gt_text_is_in_any_case(text("NCCL"), "nccl"));
    assert_false(gt_text_is_in_any_case(text("NCCL2"), "nccl"));
    assert_true(gt_text_begins(text("ncclKernel"), "nccl"));
    assert_false(gt_text_begins(text("ncc"), "nccl"));
    assert_true(gt_text_contains(text("my_ncclKernel"), "nccl"));
    assert_false(gt_text_contains(text("my_NcclKernel"), "nccl"));
    assert_false(gt_text_contains((gt_text){"ncclKernel", 3}, "nccl"));
}

static void words_in_any_case(void **state)
{
    (void)state;
    assert_true(gt_text_contains_in_any_case(text("hipModuleLAUNCHKernel"), "launch"));
    assert_true(gt_text_contains_in_any_case(text("Launch"), "lAUNCH"));
    assert_true(gt_text_contains_in_any_case(text("a::b"), "::B"));
    assert_false(gt_text_contains_in_any_case((gt_text){"hipLaunch", 8}, "launch"));
    assert_false(gt_text_contains_in_any_case(text("@ab"), "`AB")); /* apart in one bit, and no letters */
    assert_false(gt_text_contains_in_any_case(text(""), "launch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_have_one_id),
        cmocka_unit_test(order_is_of_bytes_then_of_length),
        cmocka_unit_test(texts_and_words),
        cmocka_unit_test(words_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
