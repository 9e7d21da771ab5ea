/* What names of steps and kernels say. Expected values are read off the names by hand. */
#include "analysis/serving/step_list.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { U = GT_STEP_UNKNOWN };

static gt_str text(const char *bytes)
{
    return (gt_str){bytes, strlen(bytes)};
}

/* ---- steps ---- */

static const struct {
    const char *name, *kind, *mode, *phase;
    int rank;
    int64_t numbers[5]; /* context requests and tokens, generation requests and tokens, sk_sum */
} steps[] = {
    {"execute_40_context_1(sq3sk5sqsq9sqsk15)_generation_37(sq37sk34489sqsq37sqsk34489)",
     "vllm_detailed",
     "",
     "mixed",
     0,
     {1, 3, 37, 37, 34494}},
    {"execute_context_2(6144)_generation_0(0)", "vllm_native", "", "prefill", 1, {2, 6144, 0, 0, U}},
    {"execute_context_0(0)_generation_8(32)", "vllm_native", "", "verify", 1, {0, 0, 8, 32, U}},
    {"execute_context_0(0)_generation_8(8) and more", "vllm_native", "", "decode", 1, {0, 0, 8, 8, U}},
    {"execute_new_1_cached_7", "vllm_new_cached", "", "mixed", 1, {1, U, 7, 7, U}},
    {"execute_new_0_cached_7", "vllm_new_cached", "", "decode", 1, {0, 0, 7, 7, U}},
    {"execute_new_2_cached_0", "vllm_new_cached", "", "prefill", 1, {2, U, 0, 0, U}},
    {"step[EXTEND bs=2 toks=14721]", "sglang_native", "EXTEND", "prefill", 1, {2, 14721, 0, 0, U}},
    {"step[EXTEND bs=2]", "sglang_native", "EXTEND", "prefill", 1, {2, U, 0, 0, U}},
    {"step[DECODE bs=8]", "sglang_native", "DECODE", "decode", 1, {0, 0, 8, 8, U}},
    {"step[DECODE bs=8 g_sq=8 g_sk=900]", "sglang_detailed", "DECODE", "decode", 0, {0, 0, 8, 8, 900}},
    {"step[MIXED bs=3 c=1 g=2 c_sq=5 c_sk=8 g_sq=2 g_sk=11]",
     "sglang_detailed",
     "MIXED",
     "mixed",
     0,
     {1, 5, 2, 2, 19}},
    {"step[MIXED bs=3 toks=40]", "sglang_native", "MIXED", "mixed", 1, {3, 40, U, U, U}},
    {"step[TARGET_VERIFY bs=8 toks=32]", "sglang_native", "TARGET_VERIFY", "verify", 1, {0, 0, 8, 32, U}},
    {"step[DRAFT_EXTEND bs=8]", "sglang_native", "DRAFT_EXTEND", "draft", 1, {0, 0, 8, U, U}},
    {"step[DRAFT_EXTEND_V2 bs=8 toks=24]", "sglang_native", "DRAFT_EXTEND_V2", "draft", 1, {0, 0, 8, 24, U}},
    {"step[IDLE bs=0]", "sglang_native", "IDLE", "idle", 1, {0, 0, 0, 0, U}},
    {"prefill[bs=2 tok=14721 ctx=[7803, 6918]]", "atom_native", "prefill", "prefill", 1, {2, 14721, 0, 0, U}},
    {"decode[bs=117/128 tok=117 d=117]", "atom_native", "decode", "decode", 1, {0, 0, 117, 117, U}},
    {"decode[bs=4 tok=4 sk=880 sqsq=4 sqsk=880]", "atom_detailed", "decode", "decode", 0, {0, 0, 4, 4, 880}},
    {"[Executor] _forward_step 12: 1 ctx reqs, 7 gen reqs", "trtllm", "", "mixed", 1, {1, U, 7, 7, U}},
    {"[Executor] _forward_step 12: 0 ctx reqs, 7 gen reqs", "trtllm", "", "decode", 1, {0, 0, 7, 7, U}},
    {"execute_diffusion_1_1024x1024", "diffusion", "", "diffusion", 1, {0, 0, 0, 0, U}},
    {"ProfilerStep#12", "profiler_step", "", "step", 2, {U, U, U, U, U}},
};

static void assert_text(gt_str got, const char *wanted)
{
    assert_int_equal(got.len, strlen(wanted));
    assert_memory_equal(got.bytes, wanted, got.len);
}

static void test_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < GT_LENGTH(steps); i++) {
        gt_step_said said;
        assert_true(gt_step_name_says(text(steps[i].name), &said));
        assert_string_equal(gt_step_kind_name(said.kind), steps[i].kind);
        assert_text(said.mode, steps[i].mode);
        assert_int_equal(said.rank, steps[i].rank);
        assert_string_equal(gt_serving_phase_name(gt_step_said_phase(&said, false)), steps[i].phase);
        const int64_t numbers[] = {said.context_requests, said.context_tokens, said.generation_requests,
                                   said.generation_tokens, said.sk_sum};
        for (size_t k = 0; k < GT_LENGTH(numbers); k++) assert_int_equal(numbers[k], steps[i].numbers[k]);
    }
}

static void test_no_steps(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "step",
                                        "step[",
                                        "step[DECODE bs=8",
                                        "step[DECODE]",
                                        "step[decode bs=8]",
                                        "step[DECODEx bs=8]",
                                        "step[7 bs=8]",
                                        "my step[DECODE bs=8]",
                                        "execute_context_1(2)_generation_3",
                                        "execute_context_(2)_generation_3(4)",
                                        "execute_8_context_1(sq3sk5)_generation_0(sq0sk0)",
                                        "execute_diffusion_1_1024",
                                        "execute_new_1_cached_",
                                        "decode[]",
                                        "decode[x=8]",
                                        "decode bs=8",
                                        "[Executor] _forward_step: 1 ctx reqs, 7 gen reqs",
                                        "ProfilerStep#",
                                        "ProfilerStep"};
    gt_step_said said;
    for (size_t i = 0; i < GT_LENGTH(names); i++) assert_false(gt_step_name_says(text(names[i]), &said));
}

/* A model that verifies drafts never decodes plainly: that is the drafting model. */
static void test_drafts(void **state)
{
    (void)state;
    gt_step_said said;
    assert_true(gt_step_name_says(text("step[DECODE bs=8]"), &said));
    assert_int_equal(gt_step_said_phase(&said, true), GT_SERVING_DRAFT);
    assert_true(gt_step_name_says(text("step[EXTEND bs=8 toks=9]"), &said));
    assert_int_equal(gt_step_said_phase(&said, true), GT_SERVING_PREFILL);
}

/* ---- kernels ---- */

static const struct {
    const char *name, *class;
} kernels[] = {
    {"Memcpy DtoH (Device -> Pinned)", "copy"},
    {"Memset (Device)", "copy"},
    {"cudaMemcpyLike_kernel", "other"},
    {"__amd_rocclr_copyBuffer", "copy"},
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "comm"},
    {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>", "comm"},
    {"void deep_ep::intranode::dispatch<8>(int4*)", "comm"},
    {"dispatch_kernel", "comm"},
    {"my_dispatch_kernel", "other"},
    {"void vllm::moe::topkGatingSoftmax<8, 64>", "moe_route"},
    {"void vllm::moe::moe_align_block_size_kernel<int>", "moe_route"},
    {"fused_moe_kernel", "moe_gemm"},
    {"ck_moe_stage2_gemm", "moe_gemm"},
    {"gemm_of_moe", "moe_gemm"},
    {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>", "kv_cache"},
    {"void at::native::index_put_kernel_impl<OpaqueType<2>>", "kv_cache"},
    {"paged_attention_v2", "attention"},
    {"void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64>>", "attention"},
    {"flash_split_kv_combine", "attention"},
    {"nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "gemm"},
    {"Cijk_Alik_Bljk_BBS_BH", "gemm"},
    {"cutlass_80_wmma", "gemm"},
    {"cutlass_x_wmma", "gemm"},
    {"void cutlass::Kernel2<s16816_x>", "gemm"},
    {"miopenSp3AsmConv_v30_3_1", "conv"},
    {"void at::native::vectorized_layer_norm_kernel<float>", "norm"},
    {"add_rmsnorm_quant_kernel", "norm"},
    {"triton_red_fused_add_mean_mul_pow_0", "norm"},
    {"triton_red_fused_add_0", "reduce"},
    {"dynamic_per_token_scaled_fp8_quant", "quant"},
    {"quantile_kernel", "other"},
    {"void vllm::rotary_embedding_kernel<__half>", "rope"},
    {"void vllm::act_and_mul_kernel<silu>", "activation"},
    {"void at::native::reduce_kernel<512, 1, at::native::ArgMaxOps<float>>", "sampling"},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4>", "softmax"},
    {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float>", "embedding"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>", "elementwise"},
    {"void at::native::reduce_kernel<512, 1, at::native::sum_x>", "reduce"},
    {"void flashinfer::sampling::TopPRenormProbKernel<1024, float>()", "sampling"},
    {"void flashinfer::BatchQKApplyRotaryPosIdsKernel<64>()", "rope"},
    {"void flashinfer::activation::act_and_mul_kernel<silu>()", "activation"},
    {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<8>()", "attention"},
    {"_layer_norm_fwd_kernel", "norm"},
    {"l2norm_fwd_kernel", "norm"},
    {"_fwd_kernel", "attention"},
    {"_dynamic_mxfp4_quant_kernel", "quant"},
    {"triton_poi_fused__scaled_dot_product_flash_attention_clone_3", "elementwise"},
    {"void at::native::upsample_bilinear2d_out_frame<float>()", "elementwise"},
    {"void moe::dev::finalize::finalizeKernel<bf16>()", "moe_route"},
    {"write_req_to_token_pool_triton", "kv_cache"},
    {"_compute_slot_mapping_kernel", "kv_cache"},
    {"void at::native::(anonymous namespace)::ComputeFusedParamsCUDAKernel<float>()", "norm"},
    {"unheard_of", "other"},
};

static void test_classes(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_kernel_classifier *names = gt_kernel_classifier_new(strings);
    for (size_t i = 0; i < GT_LENGTH(kernels); i++) {
        uint32_t name = gt_interner_add_cstr(strings, kernels[i].name);
        assert_string_equal(gt_kernel_class_name(gt_kernel_classifier_class(names, name)), kernels[i].class);
    }
    gt_kernel_classifier_free(names);
    gt_interner_free(strings);
}

static const struct {
    const char *name, *stem;
} stems[] = {
    {"nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "gemm nvjet"},
    {"Cijk_Alik_Bljk_BBS_BH", "gemm cijk"},
    {"void splitKreduce_kernel<32, 16>", "gemm reduce"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
     "CUDAFunctor_add"},
    {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(int)>", "copy"},
    {"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
     "at::native::BinaryFunctor<float, float, bool, at::native::(anonymous "
     "namespace)::CompareEqFunctor<float>>>>(int)",
     "CompareEqFunctor"},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, 12>", "layer_norm_kernel"},
    {"void at::native::(anonymous namespace)::cunn_softmax_forward2<4>", "softmax_forward#"},
    {"void vllm::act_and_mul_kernel<silu, 128>(int)", "vllm::act_and_mul_kernel"},
    {"triton_poi_fused_mul_silu_12", "triton_poi_fused_mul_silu_#"},
    {"a_kernel_with_a_name_that_is_longer_than_eighty_characters_as_compilers_make_them_of_many_operators",
     "a_kernel_with_a_name_that_is_longer_than_eighty_characters_as_compilers_make_the"},
};

static void test_stems(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_kernel_classifier *names = gt_kernel_classifier_new(strings);
    for (size_t i = 0; i < GT_LENGTH(stems); i++) {
        uint32_t name = gt_interner_add_cstr(strings, stems[i].name);
        assert_text(gt_kernel_classifier_stem_text(names, gt_kernel_classifier_stem(names, name)),
                    stems[i].stem);
    }
    uint32_t one = gt_interner_add_cstr(strings, "triton_poi_fused_mul_silu_3");
    uint32_t other = gt_interner_add_cstr(strings, "triton_poi_fused_mul_silu_45");
    assert_int_equal(gt_kernel_classifier_stem(names, one), gt_kernel_classifier_stem(names, other));
    gt_kernel_classifier_free(names);
    gt_interner_free(strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),   cmocka_unit_test(test_no_steps), cmocka_unit_test(test_drafts),
        cmocka_unit_test(test_classes), cmocka_unit_test(test_stems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
