/* Categories of kernels by name. Expected values come from TraceLens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/rocprof/sheets.h"

static const struct {
    const char *name, *category;
} cases[] = {
    {"Cijk_gemm", "GEMM"},
    {"vectorized_elementwise_kernel", "Elementwise"},
    {"reduce_kernel_sum", "Reduction"},
    {"conv2d_fwd", "Convolution"},
    {"layer_norm_kernel", "Normalization"},
    {"flash_attn_fwd", "Attention"},
    {"MemcpyDtoD", "Memory"},
    {"ncclBroadcast", "COMM"},
    {"unknown_xyz", "Other"},
    {"softmax_warp_forward", "Other"},
    {"flash_fwd_norm", "Normalization"},
    {"CatArrayBatchedCopy", "Memory"},
    {"igemm_fwd", "GEMM"},
    {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "Reduction"},
    /* each keyword alone, in mixed case, at the very start and the very end */
    {"GEMM", "GEMM"},
    {"xMatMul", "GEMM"},
    {"cIJk", "GEMM"},
    {"ELEMENTWISE", "Elementwise"},
    {"xReduce", "Reduction"},
    {"consumer", "Reduction"},
    {"Convert", "Convolution"},
    {"batch_norm", "Normalization"},
    {"FLASH", "Attention"},
    {"xAttn", "Attention"},
    {"FmhaX", "Attention"},
    {"copy", "Memory"},
    {"memcpy", "Memory"},
    {"RCCL", "COMM"},
    {"xNccl", "COMM"},
    {"cross_device_reduce_1stage", "Reduction"},
    {"fillBufferAligned", "Other"},
    /* no complete keyword */
    {"gem", "Other"},
    {"ncc", "Other"},
    {"", "Other"},
};

static void names_have_their_categories(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_str name = {cases[i].name, strlen(cases[i].name)};
        assert_string_equal(gt_kernel_category(name), cases[i].category);
    }
}

static void names_end_by_length_not_at_a_nul(void **state)
{
    (void)state;
    assert_string_equal(gt_kernel_category((gt_str){"a\0gemm", 6}), "GEMM");
    assert_string_equal(gt_kernel_category((gt_str){"gemm", 3}), "Other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_their_categories),
        cmocka_unit_test(names_end_by_length_not_at_a_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
