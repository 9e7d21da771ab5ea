/* Categories of the kernels of inference engines, by name. Expected values come from TraceLens;
 * test_methods.py tests random names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/phases/phases.h"

static const struct {
    const char *name, *category;
} cases[] = {
    {"Cijk_Alik_Bljk_F8BS_MT256", "GEMM-FP8"},
    {"Cijk_Ailk_Bljk_HHS_BH", "GEMM-CK"},
    {"void vllm::paged_attention_v2_reduce_kernel<x>", "PagedAttention-Reduce"},
    {"paged_attention_ll4mi_QKV_mfma16_kernel", "PagedAttention-Generic"},
    {"flash_fwd_splitkv_kernel", "Attention-Forward"},
    {"fmha_bwd_d128", "Attention-Backward"},
    {"triton_poi_fused_mul_silu_0", "Triton-Custom"},
    {"void vllm::reshape_and_cache_kernel<x>", "Memory-Reshape"},
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "Reduce"},
    {"_fwd_kernel_stage2", "Kernel-Forward"},
    {"Memcpy DtoD (Device -> Device)", "Memory-Copy"},
    {"void wvSplitKrc_<x>", "Uncategorized"},
    {"nvjet_hsh_128", "GEMM-NVJET"},
    {"vllm::foo", "vLLM-Custom"},
    {"deepspeed::k", "DeepSpeed-Custom"},
    /* the beginning is a whole word, and the first '_' ends it before any space does */
    {"gelu", "Activation-GELU"},
    {"GELU x", "Activation-GELU"},
    {"gelux", "Activation-GELU"},
    {"rope x_y", "RoPE-Generic"},
    {"memset x", "Memory-Set"},
    {"cublas_SplitK_int8", "GEMM-SplitK"},
    {"paged_backward", "PagedAttention-Backward"},
    /* keywords that earlier rules already decide */
    {"vllm::convert", "Conv-Generic"},
    {"x broadcast", "Memory-Reshape"},
    {"x reducescatter", "Reduce"},
    {"flashinfer::k", "Attention-Generic"},
    {"x argmax", "Reduce"},
    {"tree_attention", "Attention-Generic"},
    /* caches */
    {"sglang::store_cache", "KVCache-SGLang"},
    {"store_cache", "KVCache-Generic"},
    {"mcore::cache", "KVCache-Generic"},
    {"x::vllm::cache", "KVCache-Generic"},
    {"paged_kv_cache_x", "PagedAttention-Generic"},
    {"x paged cache", "Uncategorized"},
    {"x paged prefix_cache", "PrefixCaching"},
    {"hf::paged cache", "HuggingFace-Custom"},
    {"cache_update", "KVCache-Update"},
    /* case counts in what a generic kernel begins with, and nowhere else */
    {"_FWD_KERNEL", "Uncategorized"},
    {"_bwd_kernel", "Kernel-Backward"},
    {"FairScale::x", "Quant-Generic"},
    {"Fair::x", "FairScale-Custom"},
    {"", "Uncategorized"},
    {"::", "Uncategorized"},
};

static void names_have_their_categories(void **state)
{
    (void)state;
    gt_inference_categories *categories = gt_inference_categories_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_str name = {cases[i].name, strlen(cases[i].name)};
        assert_string_equal(gt_inference_category(categories, name), cases[i].category);
    }
    gt_inference_categories_free(categories);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_have_their_categories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
