/* Interned strings, and comparing strings with C strings. */
#include "base/interner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static gt_str text(const char *bytes)
{
    return (gt_str){bytes, strlen(bytes)};
}

static void equal_strings_have_one_id(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    uint32_t name = gt_interner_add_cstr(strings, "gemm");
    assert_int_equal(gt_interner_add(strings, "gemm_kernel", 4), name);
    assert_int_not_equal(gt_interner_add_cstr(strings, "Gemm"), name);
    assert_int_equal(gt_interner_find(strings, "gemm", 4), name);
    assert_int_equal(gt_interner_find(strings, "conv", 4), GT_STR_NONE);
    assert_int_equal(gt_interner_add_cstr(strings, ""), GT_STR_EMPTY);
    assert_int_equal(gt_interner_get(strings, GT_STR_NONE).len, 0);
    assert_string_equal(gt_interner_get(strings, name).bytes, "gemm");
    gt_interner_free(strings);
}

/* More strings than the table of a new interner has room for. */
static void a_copy_has_the_same_ids_and_goes_its_own_way(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    char name[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "kernel %d", i);
        gt_interner_add_cstr(strings, name);
    }
    gt_interner *copy = gt_interner_copy(strings);
    uint32_t count = gt_interner_count(strings);
    assert_int_equal(gt_interner_count(copy), count);
    for (uint32_t id = GT_STR_EMPTY; id < count; id++) {
        gt_str here = gt_interner_get(strings, id);
        assert_string_equal(gt_interner_get(copy, id).bytes, here.bytes);
        assert_int_equal(gt_interner_add(copy, here.bytes, here.len), id);
    }
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "site %d", i);
        assert_int_equal(gt_interner_add_cstr(copy, name), count + (uint32_t)i);
    }
    assert_int_equal(gt_interner_count(strings), count);
    assert_int_equal(gt_interner_find(strings, "site 1", 6), GT_STR_NONE);
    assert_int_equal(gt_interner_find(copy, "kernel 999", 10), count - 1);
    gt_interner_free(copy);
    gt_interner_free(strings);
}

static void order_is_by_bytes_then_by_length(void **state)
{
    (void)state;
    assert_int_equal(gt_str_compare(text("ab"), text("ab")), 0);
    assert_true(gt_str_compare(text("ab"), text("abc")) < 0);
    assert_true(gt_str_compare(text("b"), text("abc")) > 0);
    assert_true(gt_str_compare(text("z"), text("\xC3\xA9")) < 0);
}

static void strings_compare_with_c_strings(void **state)
{
    (void)state;
    assert_true(gt_str_equals(text("ncclKernel"), "ncclKernel"));
    assert_false(gt_str_equals(text("ncclKernel"), "nccl"));
    assert_false(gt_str_equals(text("nccl"), "ncclKernel"));
    assert_true(gt_str_equals((gt_str){"ncclKernel", 4}, "nccl"));
    assert_true(gt_str_equals_nocase(text("NCCL"), "nccl"));
    assert_false(gt_str_equals_nocase(text("NCCL2"), "nccl"));
    assert_true(gt_str_starts_with(text("ncclKernel"), "nccl"));
    assert_false(gt_str_starts_with(text("ncc"), "nccl"));
    assert_true(gt_str_contains(text("my_ncclKernel"), "nccl"));
    assert_false(gt_str_contains(text("my_NcclKernel"), "nccl"));
    assert_false(gt_str_contains((gt_str){"ncclKernel", 3}, "nccl"));
}

static void comparison_can_ignore_case(void **state)
{
    (void)state;
    assert_true(gt_str_contains_nocase(text("hipModuleLAUNCHKernel"), "launch"));
    assert_true(gt_str_contains_nocase(text("Launch"), "lAUNCH"));
    assert_true(gt_str_contains_nocase(text("a::b"), "::B"));
    assert_false(gt_str_contains_nocase((gt_str){"hipLaunch", 8}, "launch"));
    assert_false(
        gt_str_contains_nocase(text("@ab"), "`AB")); /* they differ in the case bit, but are not letters */
    assert_false(gt_str_contains_nocase(text(""), "launch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_strings_have_one_id),
        cmocka_unit_test(a_copy_has_the_same_ids_and_goes_its_own_way),
        cmocka_unit_test(order_is_by_bytes_then_by_length),
        cmocka_unit_test(strings_compare_with_c_strings),
        cmocka_unit_test(comparison_can_ignore_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
