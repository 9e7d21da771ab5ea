/* The category of GPU work: names of kernels as the libraries write them, what ops and traces say, and
 * which of these goes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include "analysis/categories.h"
#include "base/memory.h"
#include "model/model.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <stdio.h>
#include <string.h>

static gt_interner *strings;
static gt_categories *categories;

static int set_up(void **state)
{
    (void)state;
    strings = gt_interner_new();
    categories = gt_categories_new(strings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gt_categories_free(categories);
    gt_interner_free(strings);
    return 0;
}

static uint32_t id_of(const char *text)
{
    return text ? gt_interner_add_cstr(strings, text) : GT_STR_NONE;
}

static gt_category ask(const char *op, const char *said, const char *kernel, bool in_optimizer)
{
    gt_gpu_work asked = {
        .name = id_of(kernel), .op = id_of(op), .said = id_of(said), .in_optimizer = in_optimizer};
    return gt_categories_find(categories, &asked);
}

static void expect(gt_category found, gt_category wanted, const char *name)
{
    if (found != wanted) fail_msg("%s: %s, not %s", name, gt_category_name(found), gt_category_name(wanted));
}

/* ---- names of kernels ---- */

static const struct {
    gt_category category;
    const char *kernel;
} kernels[] = {
    /* cuBLAS, cuBLASLt, CUTLASS */
    {GT_CATEGORY_GEMM, "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn"},
    {GT_CATEGORY_GEMM, "ampere_sgemm_128x64_tn"},
    {GT_CATEGORY_GEMM, "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN"},
    {GT_CATEGORY_GEMM,
     "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_"
     "alignc4_execute_kernel__5x_cublas"},
    {GT_CATEGORY_GEMM, "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>("
                       "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1::Params)"},
    {GT_CATEGORY_GEMM, "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>()"},
    {GT_CATEGORY_GEMM,
     "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128>()"},
    {GT_CATEGORY_GEMM,
     "void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensorStridedBatched<float const>>>()"},
    {GT_CATEGORY_GEMM, "void deep_gemm::fp8_gemm_kernel<4096, 7168, 128, 128, 128, 1, 5, 128, 128, 1>()"},
    {GT_CATEGORY_GEMM, "void marlin::Marlin<256, 1, 8, 8, 4, 8>()"},
    {GT_CATEGORY_GEMM, "fused_moe_kernel"},
    {GT_CATEGORY_GEMM, "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu"},
    /* rocBLAS, hipBLASLt (Tensile), Composable Kernel, vLLM on ROCm */
    {GT_CATEGORY_GEMM, "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32_MI16x16x1_SN_LDSB1_AFC1"},
    {GT_CATEGORY_GEMM, "void rocblas_gemvt_warp_reduce_kernel<false, 256, int, float const*, float*>()"},
    {GT_CATEGORY_GEMM, "_ZN2ck16tensor_operation6device12_GLOBAL__N_122kernel_gemm_xdl_cshuffle_v3"},
    {GT_CATEGORY_GEMM, "void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>()"},
    /* attention: FlashAttention, cuDNN, PyTorch, FlashInfer, AITER, Triton, XLA */
    {GT_CATEGORY_ATTENTION,
     "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, "
     "4, false, false, cutlass::bfloat16_t>>(pytorch_flash::Flash_fwd_params)"},
    {GT_CATEGORY_ATTENTION, "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<>>>()"},
    {GT_CATEGORY_ATTENTION,
     "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_cga1x1x1_kernel0_0"},
    {GT_CATEGORY_ATTENTION,
     "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>)"},
    {GT_CATEGORY_ATTENTION,
     "void flashinfer::BatchPrefillWithRaggedKVCacheKernel<flashinfer::KernelTraits<>>()"},
    {GT_CATEGORY_ATTENTION, "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_40Block"},
    {GT_CATEGORY_ATTENTION, "_ZN5aiter41fmha_fwd_hd128_bf16_causal_rtne_groupE"},
    {GT_CATEGORY_ATTENTION, "aiter::mla_decode_stage1_asm_fwd"},
    {GT_CATEGORY_ATTENTION, "kernel_unified_attention_2d"},
    {GT_CATEGORY_ATTENTION, "void vllm::paged_attention_v2_kernel<__nv_bfloat16, 128, 16>()"},
    {GT_CATEGORY_ATTENTION, "_attn_fwd"},
    {GT_CATEGORY_ATTENTION, "triton_tem_fused_flex_attention_0"},
    /* convolution: cuDNN, MIOpen, Composable Kernel */
    {GT_CATEGORY_CONVOLUTION,
     "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize256x64x8_stage3"},
    {GT_CATEGORY_CONVOLUTION,
     "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int)"},
    {GT_CATEGORY_CONVOLUTION,
     "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64>()"},
    {GT_CATEGORY_CONVOLUTION,
     "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock"},
    {GT_CATEGORY_CONVOLUTION,
     "void implicit_convolve_sgemm<__nv_bfloat16, __nv_bfloat16, 1024, 5, 5, 3, 3, 3, 1>()"},
    {GT_CATEGORY_CONVOLUTION, "cudnn_infer_ampere_scudnn_128x64_relu_xregs_large_nn_v1"},
    {GT_CATEGORY_CONVOLUTION, "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>()"},
    {GT_CATEGORY_CONVOLUTION,
     "void fft2d_r2c_32x32<float, false, 0u, false>(float2*, cudnn::reduced_divisor, bool)"},
    {GT_CATEGORY_CONVOLUTION, "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_ws1x1_wr2x2"},
    {GT_CATEGORY_CONVOLUTION, "miopenSp3AsmConv_v21_1_2_gfx9_fp32_f2x3_stride1"},
    {GT_CATEGORY_CONVOLUTION, "naive_conv_ab_nonpacked_fwd_nchw_float_double_float"},
    {GT_CATEGORY_CONVOLUTION,
     "_ZN2ck16tensor_operation6device12_GLOBAL__N_129kernel_grouped_conv_fwd_xdl_cshuffle"},
    {GT_CATEGORY_CONVOLUTION,
     "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>()"},
    {GT_CATEGORY_CONVOLUTION, "triton_tem_fused_convolution_2"},
    /* normalisation */
    {GT_CATEGORY_NORMALISATION,
     "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>()"},
    {GT_CATEGORY_NORMALISATION,
     "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float>()"},
    {GT_CATEGORY_NORMALISATION,
     "void at::native::batch_norm_backward_kernel<c10::BFloat16, c10::BFloat16, float, int>()"},
    {GT_CATEGORY_NORMALISATION,
     "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>()"},
    {GT_CATEGORY_NORMALISATION, "void cudnn::batchnorm_bwtr_nhwc_semiPersist<float, float, float, 512>()"},
    {GT_CATEGORY_NORMALISATION, "MIOpenBatchNormFwdTrainSpatialMeanVariance"},
    {GT_CATEGORY_NORMALISATION,
     "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_"},
    {GT_CATEGORY_NORMALISATION, "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>()"},
    {GT_CATEGORY_NORMALISATION, "void transformer_engine::normalization::ln_fwd_tuned_kernel<>()"},
    {GT_CATEGORY_NORMALISATION,
     "triton_per_fused_add_native_layer_norm_native_layer_norm_backward_sum_view_3"},
    /* elementwise: PyTorch, Inductor, vLLM, MIOpen, XLA. What is fused or a functor must not decide. */
    {GT_CATEGORY_ELEMENTWISE,
     "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float>>()"},
    {GT_CATEGORY_ELEMENTWISE,
     "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, "
     "4, at::native::templates::cuda::normal_and_transform<float>>()"},
    {GT_CATEGORY_ELEMENTWISE,
     "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda()>()"},
    {GT_CATEGORY_ELEMENTWISE, "triton_poi_fused__scaled_dot_product_flash_attention_clone_3"},
    {GT_CATEGORY_ELEMENTWISE, "triton_poi_fused__native_batch_norm_legit_functional_add_relu_5"},
    {GT_CATEGORY_ELEMENTWISE,
     "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>>()"},
    {GT_CATEGORY_ELEMENTWISE, "void vllm::rotary_embedding_kernel<c10::BFloat16, true>()"},
    {GT_CATEGORY_ELEMENTWISE, "SubTensorOpWithScalar1d"},
    {GT_CATEGORY_ELEMENTWISE, "batched_transpose_32x16_half"},
    {GT_CATEGORY_ELEMENTWISE, "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>()"},
    {GT_CATEGORY_ELEMENTWISE,
     "void op_generic_tensor_kernel<2, float, float, float, 256>(cudnn::reduced_divisor_t)"},
    {GT_CATEGORY_ELEMENTWISE, "loop_broadcast_fusion"},
    {GT_CATEGORY_ELEMENTWISE, "wrapped_convert"},
    /* reduction */
    {GT_CATEGORY_REDUCTION,
     "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<"
     "float, float, float>, unsigned int, float, 4>>()"},
    {GT_CATEGORY_REDUCTION,
     "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>()"},
    {GT_CATEGORY_REDUCTION,
     "void at::native::(anonymous namespace)::cunn_SoftMaxForwardReg<c10::BFloat16, float>()"},
    {GT_CATEGORY_REDUCTION,
     "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float>()"},
    {GT_CATEGORY_REDUCTION, "triton_red_fused_gelu_gelu_backward_sum_view_2"},
    {GT_CATEGORY_REDUCTION, "triton_per_fused__softmax__to_copy_add_7"},
    {GT_CATEGORY_REDUCTION, "input_add_reduce_fusion"},
    /* optimizer */
    {GT_CATEGORY_OPTIMIZER,
     "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::FusedOptimizerTensorListMetadata<4>>()"},
    {GT_CATEGORY_OPTIMIZER,
     "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float, int>>()"},
    {GT_CATEGORY_OPTIMIZER, "void kOptimizerStatic8bit2StateBlockwise<float, 0, 2048, 8>()"},
    {GT_CATEGORY_OPTIMIZER, "triton_for_fused_0"},
    /* other */
    {GT_CATEGORY_OTHER,
     "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::detail::radix>()"},
    {GT_CATEGORY_OTHER,
     "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long)"},
    {GT_CATEGORY_OTHER, "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>()"},
    {GT_CATEGORY_OTHER,
     "void fast_hadamard_transform_kernel<fast_hadamard_transform_kernel_traits<256, 12>>()"},
    {GT_CATEGORY_OTHER, "my_kernel"},
    {GT_CATEGORY_OTHER, ""},
    /* a copy that ROCm records as a kernel: as in the sheet balance, it computes */
    {GT_CATEGORY_ELEMENTWISE, "__amd_rocclr_copyBuffer"},
    {GT_CATEGORY_ELEMENTWISE, "__amd_rocclr_fillBufferAligned.kd"},
};

static void names_of_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < GT_LENGTH(kernels); i++)
        expect(ask(NULL, NULL, kernels[i].kernel, false), kernels[i].category, kernels[i].kernel);
}

/* "conv" must not find "convert", nor "adam" "hadamard", nor "tensorop" MIOpen's kernels. */
static void words_that_look_alike(void **state)
{
    (void)state;
    expect(ask(NULL, NULL, "convert_bf16_to_fp8", false), GT_CATEGORY_ELEMENTWISE, "convert");
    expect(ask(NULL, NULL, "hadamard", false), GT_CATEGORY_OTHER, "hadamard");
    expect(ask(NULL, NULL, "FLASH_FWD_SPLITKV", false), GT_CATEGORY_ATTENTION, "upper case");
}

/* ---- ops ---- */

static void ops_go_before_kernels(void **state)
{
    (void)state;
    static const char copy[] =
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>()";
    expect(ask("aten::mm", NULL, copy, false), GT_CATEGORY_GEMM, "aten::mm");
    expect(ask("aten::cudnn_convolution", NULL, copy, false), GT_CATEGORY_CONVOLUTION,
           "aten::cudnn_convolution");
    expect(ask("aten::_efficient_attention_forward", NULL, "my_kernel", false), GT_CATEGORY_ATTENTION,
           "attention");
    expect(ask("vllm::unified_attention", NULL, "my_kernel", false), GT_CATEGORY_ATTENTION,
           "by the op's name");
    expect(ask("aten::native_layer_norm", NULL, "my_kernel", false), GT_CATEGORY_NORMALISATION, "layer norm");
    expect(ask("aten::copy_", NULL, "my_kernel", false), GT_CATEGORY_ELEMENTWISE, "aten::copy_");
    expect(ask("aten::sum", NULL, "my_kernel", false), GT_CATEGORY_REDUCTION, "aten::sum");
    expect(ask("some::op", NULL, "my_gemm", false), GT_CATEGORY_GEMM, "an unknown op");
    expect(ask("triton_red_fused_sum_1", NULL, "triton_red_fused_sum_1", false), GT_CATEGORY_REDUCTION,
           "Inductor");
}

static void kinds_go_before_all(void **state)
{
    (void)state;
    gt_gpu_work copy = {.name = id_of("Memcpy HtoD (Pinned -> Device)"), .copies = true};
    gt_gpu_work nccl = {
        .name = id_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
        .communicates = true};
    copy.op = nccl.op = id_of("aten::mm");
    copy.in_optimizer = nccl.in_optimizer = true;
    expect(gt_categories_find(categories, &copy), GT_CATEGORY_COPY, "copy");
    expect(gt_categories_find(categories, &nccl), GT_CATEGORY_COMMUNICATION, "NCCL");
    expect(ask("aten::mm", NULL, "void at::native::vectorized_elementwise_kernel<4>()", true),
           GT_CATEGORY_OPTIMIZER, "optimizer");
}

/* ---- what traces say ---- */

static void traces_of_other_profilers(void **state)
{
    (void)state;
    expect(ask(NULL, "FA BWD", "kernel_func", false), GT_CATEGORY_ATTENTION, "JAX, attention");
    expect(ask(NULL, "GEMM", "fusion_12", false), GT_CATEGORY_GEMM, "JAX, a product found by its HLO op");
    expect(ask(NULL, "Uncategorized Events/XLA", "input_reduce_fusion", false), GT_CATEGORY_REDUCTION,
           "JAX, fusion");
}

static void categories_of_ops(void **state)
{
    (void)state;
    static const struct {
        const char *said;
        gt_category category;
    } known[] = {
        {"GEMM", GT_CATEGORY_GEMM},
        {"SDPA_bwd", GT_CATEGORY_ATTENTION},
        {"CONV_fwd", GT_CATEGORY_CONVOLUTION},
        {"NORM_fwd", GT_CATEGORY_NORMALISATION},
        {"elementwise", GT_CATEGORY_ELEMENTWISE},
        {"reduce", GT_CATEGORY_REDUCTION},
        {"multi_tensor_apply", GT_CATEGORY_OPTIMIZER},
        {"triton", GT_CATEGORY_OTHER},
        {"FA FWD", GT_CATEGORY_ATTENTION},
        {"", GT_CATEGORY_OTHER},
    };
    for (size_t i = 0; i < GT_LENGTH(known); i++) {
        gt_str said = {known[i].said, strlen(known[i].said)};
        expect(gt_category_of_ops(said), known[i].category, known[i].said);
    }
}

static void names_and_back(void **state)
{
    (void)state;
    for (gt_category category = 0; category < GT_CATEGORIES; category++) {
        const char *name = gt_category_name(category);
        expect(gt_category_named((gt_str){name, strlen(name)}), category, name);
    }
    expect(gt_category_named((gt_str){"SDPA_fwd", 8}), GT_CATEGORY_OTHER, "no category");
}

/* A sheet gets what is known of its kernels; of others the names decide. */
static void sheets_of_kernels(void **state)
{
    (void)state;
    static const gt_column_head heads[] = {{GT_COL_KERNEL_NAME, GT_TYPE_STRING},
                                           {GT_COL_CATEGORY, GT_TYPE_STRING}};
    static const char *const names[] = {"my_kernel", "other_gemm", "ncclDevKernel_AllGather", "second"};
    static const char *const expected[] = {"optimizer", "GEMM", "communication", "other"};
    gt_table *known = gt_table_new(GT_SHEET_UNNAMED, strings);
    gt_table_list tables = {0};
    gt_table *sheet = gt_table_new(GT_SHEET_KERNEL_SUMMARY, strings);
    gt_table_add_columns(known, heads, 2);
    gt_table_set_cstr(known, 0, gt_table_add_row(known), "my_kernel");
    gt_table_set_cstr(known, 1, 0, "optimizer");
    gt_table_add_columns(sheet, heads, 1);
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        gt_table_set_cstr(sheet, 0, gt_table_add_row(sheet), names[i]);
    gt_table_list_add(&tables, sheet);
    gt_categories_add_to(&tables, known);
    assert_int_equal(sheet->column_count, 2);
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        assert_string_equal(gt_interner_get(strings, sheet->columns[1].texts[i]).bytes, expected[i]);
    gt_table_free(known);
    gt_table_list_free(&tables);
}

/* A category that is added to model/ must be mapped, or be listed here: its kernels' names decide. */
static void all_categories_of_ops_are_known(void **state)
{
    (void)state;
    static const char *const kernel_decides[] = {"triton", "SSM_fwd",      "SSM_bwd",      "MoE_aux",
                                                 "mHC",    "MoE_comm_fwd", "MoE_comm_bwd", "CustomCollective",
                                                 "other"};
    size_t count;
    const gt_model *const *ops = gt_op_list(&count);
    assert_true(count > 100);
    for (size_t i = 0; i < count; i++) {
        gt_str name = {ops[i]->category, strlen(ops[i]->category)};
        bool listed = false;
        for (size_t k = 0; k < GT_LENGTH(kernel_decides); k++)
            listed |= gt_str_equals(name, kernel_decides[k]);
        bool mapped = gt_category_of_ops(name) != GT_CATEGORY_OTHER;
        if (listed == mapped)
            fail_msg("%s of %s: listed %d, mapped %d", ops[i]->category, ops[i]->name, listed, mapped);
    }
}

static void hostile_names(void **state)
{
    (void)state;
    char *name = gt_alloc(40001);
    memset(name, 'g', 40000);
    memcpy(name + 39990, "gemm", 4);
    name[40000] = 0;
    expect(ask(name, NULL, name, false), GT_CATEGORY_GEMM, "40,000 letters");
    gt_free(name);
    expect(ask("\xff\xfe", "\x80", "\xc3\x28 </script>", false), GT_CATEGORY_OTHER, "invalid UTF-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_kernels),
        cmocka_unit_test(words_that_look_alike),
        cmocka_unit_test(ops_go_before_kernels),
        cmocka_unit_test(kinds_go_before_all),
        cmocka_unit_test(traces_of_other_profilers),
        cmocka_unit_test(categories_of_ops),
        cmocka_unit_test(names_and_back),
        cmocka_unit_test(sheets_of_kernels),
        cmocka_unit_test(all_categories_of_ops_are_known),
        cmocka_unit_test(hostile_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
