/* Categories of ops: every name of the registry, grouped as in the documentation, and the rules for other
 * names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/pytorch/op_category.h"
#include "base/buffer.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* {a,b} stands for either; names are separated by spaces, except names that contain a space, which are alone
 * in their string. */
static const struct {
    const char *category, *family, *names;
} groups[] = {
    {"GEMM", "GEMM",
     "aten::{mm,addmm,_scaled_mm,bmm,baddbmm} trtllm::cublas_scaled_mm bitsandbytes::int8_linear_matmul "
     "tex_ts::te_gemm_ts vllm::{gemm_with_dynamic_quant,rocm_aiter_triton_gemm_a8w8_blockscale,"
     "_rocm_aiter_preshuffled_per_token_w8a8_gemm,rocm_unquantized_gemm} _Linear_yfwd_mm "
     "_LinearBackward_{xgrad_mm,wgrad_mm} _LayerNormLinear_yfwd_mm "
     "_LayerNormLinearBackward_{xgrad_mm,wgrad_mm} "
     "primus_turbo_cpp_extension::{hipblaslt_gemm_fp8,hipblaslt_gemm_fp4} "
     "primus_turbo::{hipblaslt_gemm_fp8,hipblaslt_gemm_fp4} "
     "aiter::{gemm_a4w4,_gemm_a4w4_asm,batched_gemm_a16wfp4_,gemm_a8w8_blockscale_ck,gemm_a8w8_blockscale_"
     "cktile,"
     "gemm_a8w8_blockscale_bpreshuffle_ck,gemm_a8w8_blockscale_bpreshuffle_cktile,flatmm_a8w8_blockscale_asm,"
     "gfx950_a8w8_blockscale_asm,gemm_a8w8_ck,gemm_a8w8_bpreshuffle_ck,gemm_a8w8_bpreshuffle,gemm_a16w16,"
     "gemm_a16w16_atomic_,_gemm_a16w16_asm,gemm_afp4wfp4_,_gemm_a8w8_blockscale_bpreshuffle_asm} "
     "sglang_profiler::{fp8_utils_gemm_a8w8_blockscale,gemm_a8w8_blockscale_gemm_a8w8_blockscale,"
     "gemm_kernels_flydsl_hgemm,batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_"
     "batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant}"},
    {"SDPA_fwd", "SDPA",
     "FlashAttnFunc flash_attn::{_flash_attn_forward,_flash_attn_varlen_forward} "
     "aten::_scaled_dot_product_{cudnn,efficient,flash}_attention "
     "aiter::{_flash_attn_forward,wrapper_fmha_v3_fwd,mha_fwd,fmha_v3_fwd} flash_attn_3::fwd "
     "EvoformerAttention"},
    {"SDPA_fwd", "", "aten::_efficient_attention_forward"},
    {"SDPA_bwd", "SDPA",
     "flash_attn::{_flash_attn_backward,_flash_attn_varlen_backward} "
     "aiter::{_flash_attn_backward,wrapper_fmha_v3_bwd,mha_bwd}"},
    {"SDPA_bwd", "",
     "FlashAttnFuncBackward FusedAttnFuncBackward "
     "aten::_scaled_dot_product_{cudnn,efficient,flash}_attention_backward "
     "aten::_efficient_attention_backward"},
    {"CONV_fwd", "CONV", "aten::convolution ConvBias_ ConvBiasReLU_"},
    {"CONV_fwd", "", "aten::{miopen_convolution,cudnn_convolution}"},
    {"CONV_bwd", "CONV", "aten::convolution_backward ConvBias_Backward ConvBiasReLU_Backward"},
    {"InferenceAttention", "InferenceAttention",
     "vllm::{unified_attention_with_output,gdn_attention_core} aiter::{mha_varlen_fwd,fmha_v3_varlen_fwd,"
     "mha_batch_prefill,pa_decode_gluon,pa_sparse_prefill_opus_fwd,linear_attention_with_output_base} "
     "sglang_profiler::{attention_paged_attention_ragged,tilelang_kernel_tilelang_sparse_fwd} "
     "pseudo_mla_decode_fwd "
     "pseudo_mla_prefill_fwd pseudo_v4_paged_decode_{swa,csa,hca} sglang::store_cache"},
    {"InferenceAttention", "",
     "_C_cache_ops::{reshape_and_cache_flash,concat_and_cache_mla} "
     "aiter::{get_mla_metadata_v1,indexer_score_topk}"},
    {"elementwise", "UnaryElementwise",
     "aten::{copy,copy_,clamp_min,clamp_min_,clamp_max,clamp_max_,sigmoid,rsqrt,silu,neg,pow} "
     "aten::{replication_pad,upsample_nearest}{1d,2d,3d} "
     "{primus_turbo_cpp_extension,primus_turbo}::{quantize_fp8_tensorwise,quantize_mxfp4_dual} "
     "primus::quantize_mxfp4_dual aiter::{silu_and_mul,gelu_and_mul,gelu_tanh_and_mul} _C::silu_and_mul "
     "sgl_kernel::silu_and_mul"},
    {"elementwise", "BinaryElementwise",
     "aten::{div,div_,mul,mul_,add,add_,sigmoid_backward,threshold_backward} LigerSiLUMulFunction"},
    {"elementwise", "elementwise", "aiter::mixed_sample_outer_exponential"},
    {"GroupedGEMM_fwd", "GroupedGEMM",
     "primus_turbo::{grouped_gemm,grouped_gemm_impl,grouped_gemm_variable_k,grouped_gemm_variable_k_impl} "
     "primus_turbo_cpp_extension::{grouped_gemm,grouped_gemm_variable_k,ck_grouped_gemm,ck_grouped_gemm_"
     "variable_k}"},
    {"MoE_comm_fwd", "MoE_comm", "MoEDispatch MoECombine"},
    {"MoE_comm_fwd", "", "TokenPermuteMaskMap _OperationFuserAutogradFunction"},
    {"MoE_comm_bwd", "",
     "MoEDispatchBackward MoECombineBackward TokenPermuteMaskMapBackward "
     "_OperationFuserAutogradFunctionBackward"},
    {"SSM_fwd", "SSM", "DaoAILab::_causal_conv1d_fwd_cpp MambaSplitConv1dScanCombinedFn"},
    {"SSM_bwd", "", "MambaSplitConv1dScanCombinedFnBackward DaoAILab::_causal_conv1d_bwd_cpp"},
    {"RoPE_fwd", "RoPE",
     "FusedRoPEFunc aiter::rope_cached_positions_2c_fwd_impl sgl_kernel::rotary_embedding"},
    {"RoPE_fwd", "FusedRoPE", "aiter::fused_qk_rope_{concat,cat}_and_cache_mla"},
    {"RoPE_bwd", "", "FusedRoPEFuncBackward"},
    {"CrossEntropy_fwd", "CrossEntropy", "CrossEntropyFunction"},
    {"CrossEntropy_bwd", "", "CrossEntropyFunctionBackward"},
    {"MoE_fused", "MoE_fused",
     "pseudo_op::moe_aiter_fused_1stage aiter::{fmoe_fp8_blockscale_g1u1,fmoe_g1u1}"},
    {"MoE_unfused", "MoE_unfused",
     "aiter::{moe_cktile2stages_gemm1_ck,moe_cktile2stages_gemm2_ck,ck_moe_stage1,ck_moe_stage2} "
     "pseudo_op::moe_{triton_unfused,gptq_awq}_{up,down} pseudo_op::moe_flydsl_stage{1,2} "
     "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel"},
    {"MoE_aux", "MoE_aux",
     "aiter::{biased_grouped_topk_hip,moe_sorting_fwd,mxfp4_moe_sort_hip,topk_softplus} "
     "sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts"},
    {"MoE_aux", "GroupQuant", "aiter::fused_dynamic_mxfp4_quant_moe_sort_hip"},
    {"MoE_aux", "",
     "aiter::{moe_sorting_opus_fwd,moe_align_block_size,moe_sum,topk_softmax,topk_softmax_asm,topk_sigmoid,"
     "grouped_topk,moe_fused_gate} _moe_C::moe_align_block_size"},
    {"GroupQuant", "GroupQuant",
     "aiter::{fused_dynamic_mx_quant_moe_sort_hip,dynamic_per_group_scaled_quant_fp4} "
     "sglang_profiler::{fused_mxfp4_quant_fused_flatten_mxfp4_quant,quant_dynamic_mxfp4_quant}"},
    {"GroupQuant", "BinaryElementwise",
     "aiter::dynamic_per_{token_scaled,group_scaled,tensor}_quant vllm::triton_per_token_group_quant_fp8"},
    {"RMSNorm", "RMSNorm",
     "aiter::{fused_add_rmsnorm_pad_,rms_norm,rmsnorm,rmsnorm2d_fwd_ck,rmsnorm2d_fwd_with_add_ck,add_rmsnorm,"
     "rmsnorm2d_fwd_with_dynamicquant_ck,_fuse_rmsnorm_fp4_quant,rmsnorm_quant} "
     "vllm::rocm_aiter_{rmsnorm_fp8_group_quant,rmsnorm_with_add_fp8_group_quant,triton_add_rmsnorm_pad} "
     "sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant"},
    {"CustomCollective", "CustomCollective",
     "aiter::{fused_allreduce_rmsnorm,fused_allreduce_rmsnorm_,reduce_scatter,all_gather_reg} "
     "_C_custom_ar::{all_reduce,qr_all_reduce} sgl_kernel::{all_reduce_reg,qr_all_reduce} "
     "sglang::reg_all_gather_into_tensor"},
    {"mHC", "mHC",
     "aiter::{mhc_post,mhc_pre_gemm_sqrsum,mhc_pre_big_fuse_rmsnorm,mhc_fused_post_pre_gemm_sqrsum}"},
    {"NORM_fwd", "Normalization",
     "aten::{,native_,miopen_,cudnn_}{batch,layer,group,instance}_norm aten::_fused_rms_norm "
     "aiter::_groupnorm_run "
     "primus::fused_ln_modulate"},
    {"NORM_bwd", "Normalization",
     "aten::{,native_,miopen_,cudnn_}{batch,layer,group,instance,rms}_norm_backward "
     "aten::_fused_rms_norm_backward "
     "primus::fused_ln_modulate_backward"},
    {"reduce", "Reduce",
     "aten::{sum,mean,max,min,norm,linalg_norm,std,var,logsumexp,cumsum,cumprod,amin,amax}"},
};

/* Names with spaces: of kernels whose op is not recorded. Their family is NONE. */
static const struct {
    const char *category, *name;
} synthetic[] = {
    {"InferenceAttention", "hipModuleLaunchKernel->kv_indices_generate_kernel (Synthetic Op)"},
    {"InferenceAttention",
     "aiter::v4_attention_with_output->_update_compressor_states_kernel (Synthetic Op)"},
    {"InferenceAttention", "aiter::v4_attention_with_output->_swa_write_kernel (Synthetic Op)"},
    {"InferenceAttention",
     "aiter::v4_attention_with_output->fused_compress_attn_D512_RD64_R4_OVL_SS8_KB32_rmsbf16_pf_"
     "flydsl (Synthetic Op)"},
    {"InferenceAttention",
     "aiter::v4_attention_with_output->fused_compress_attn_D128_RD64_R4_OVL_SS8_KB32_Q_ue8m0_"
     "psh_rmsbf16_pf_flydsl (Synthetic Op)"},
    {"InferenceAttention",
     "aiter::v4_attention_with_output->hca_compress_forward_D512_R128_NW4_SL256_S128_flydsl (Synthetic Op)"},
    {"InferenceAttention",
     "aiter::v4_attention_with_output->hca_compress_forward_D512_R128_NW8_SL128_S128_flydsl (Synthetic Op)"},
    {"MoE_aux", "aiter::fused_moe_->_fused_dynamic_mxfp4_quant_moe_sort_kernel (Synthetic Op)"},
    {"CustomCollective", "aiter::allgather_lastdim<std::bfloat16_t, 2>(aiter::RankData*, aiter::RankSignals, "
                         "aiter::Signal*, std::bfloat16_t*, int, int, int) (Synthetic Op)"},
    {"CustomCollective", "aiter::allgather_lastdim<std::bfloat16_t, 4>(aiter::RankData*, aiter::RankSignals, "
                         "aiter::Signal*, std::bfloat16_t*, int, int, int) (Synthetic Op)"},
    {"FusedRoPE",
     "aiter::unified_attention_with_output_base->_fused_qk_rope_reshape_and_cache_kernel (Synthetic Op)"},
    {"FusedRoPE", "aiter::v4_attention_with_output->_inverse_rope_gptj_kernel (Synthetic Op)"},
    {"FusedRoPE", "aiter::v4_attention_with_output->qk_norm_rope_H32_D512_RD64_flydsl (Synthetic Op)"},
    {"FusedRoPE", "aiter::v4_attention_with_output->qk_norm_rope_H64_D512_RD64_flydsl (Synthetic Op)"},
    {"FusedRoPE", "aiter::v4_attention_with_output->hca_norm_rope_scatter_D512_RD64_R128_KB1_rmsbf16_flydsl "
                  "(Synthetic Op)"},
};

static gt_str text(const char *bytes)
{
    return (gt_str){bytes, strlen(bytes)};
}

static void expect_name(const char *name, const char *category, const char *family)
{
    const gt_model *op = gt_op_find(text(name));
    if (!op) fail_msg("%s is not known", name);
    assert_string_equal(op->name, name);
    assert_string_equal(op->category, category);
    assert_string_equal(gt_op_family_name(op->family), family);
    assert_string_equal(gt_op_category(text(name), text("void at::native::reduce_kernel")), category);
}

/* Calls expect_name for every way to choose from the braces; returns how many there are. */
static size_t expect_pattern(const char *pattern, const char *category, const char *family)
{
    const char *open = strchr(pattern, '{');
    if (!open) {
        expect_name(pattern, category, family);
        return 1;
    }
    const char *close = strchr(open, '}');
    size_t count = 0;
    for (const char *choice = open + 1; choice <= close;) {
        size_t len = strcspn(choice, ",}");
        gt_buffer one = {0};
        gt_buffer_add(&one, pattern, (size_t)(open - pattern));
        gt_buffer_add(&one, choice, len);
        gt_buffer_add_cstr(&one, close + 1);
        count += expect_pattern(gt_buffer_str(&one).bytes, category, family);
        gt_buffer_free(&one);
        choice += len + 1;
    }
    return count;
}

static void every_known_name_has_its_category(void **unused)
{
    (void)unused;
    size_t names = 0, modelled = 0;
    for (size_t g = 0; g < LENGTH(groups); g++) {
        for (const char *pattern = groups[g].names; *pattern;) {
            size_t len = strcspn(pattern, " ");
            gt_buffer one = {0};
            gt_buffer_add(&one, pattern, len);
            size_t count = expect_pattern(gt_buffer_str(&one).bytes, groups[g].category, groups[g].family);
            gt_buffer_free(&one);
            names += count;
            modelled += *groups[g].family ? count : 0;
            pattern += len + (pattern[len] == ' ');
        }
    }
    for (size_t i = 0; i < LENGTH(synthetic); i++) expect_name(synthetic[i].name, synthetic[i].category, "");
    names += LENGTH(synthetic);
    assert_int_equal(names, 292);
    assert_int_equal(modelled, 245);
    size_t known;
    gt_op_list(&known);
    assert_int_equal(known, names);
}

static void names_must_match_exactly(void **unused)
{
    (void)unused;
    static const char *const others[] = {"",         "aten::m",   "aten::mmm", "mm",
                                         "Aten::mm", "aten::mm ", "aten::MM",  "mHC"};
    for (size_t i = 0; i < LENGTH(others); i++) assert_null(gt_op_find(text(others[i])));
    assert_null(gt_op_find((gt_str){"aten::mm\0", 9}));
    assert_non_null(gt_op_find((gt_str){"aten::mmm", 8}));
}

static const struct {
    const char *op, *kernel, *category;
} rules[] = {
    {"triton_poi_fused_add_0", "triton_poi_fused_add_0", "triton"},
    {"triton", "void at::native::reduce_kernel", "triton"},
    {"triton_red", "", "triton"},
    {"Triton", "", "other"},
    {"my_triton", "void at::native::vectorized_elementwise_kernel<4>", "elementwise"},
    {"record_param_comms", "", "record_param_comms"},
    {"record_param_comms_2", "void at::native::reduce_kernel", "record_param_comms"},
    {"aten::gelu", "void at::native::vectorized_elementwise_kernel<4>", "elementwise"},
    {"aten::all", "void at::native::reduce_kernel<512>", "reduce"},
    {"aten::x", "void at::native::multi_tensor_apply_kernel", "multi_tensor_apply"},
    {"aten::x", "void at::native::reduce_elementwise",
     "elementwise"}, /* the first rule, not the first part */
    {"aten::x", "void at::native::multi_tensor_apply_reduce", "reduce"},
    {"aten::x", "void at::native::Elementwise", "other"},
    {"aten::x", "at::native::elementwise", "other"},
    {"aten::x", " void at::native::elementwise", "other"},
    {"aten::x", "void at::native", "other"},
    {"aten::x", "void at::nativeelementwise", "elementwise"},
    {"aten::x", "void at::nativ", "other"},
    {"aten::x", "", "other"},
    {"", "", "other"},
    {"hipGraphLaunch", "void cutlass::elementwise", "other"},
};

static void other_names_go_by_their_beginnings_and_kernels(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(rules); i++)
        assert_string_equal(gt_op_category(text(rules[i].op), text(rules[i].kernel)), rules[i].category);
}

static void ids_give_the_same_as_strings(void **unused)
{
    (void)unused;
    gt_interner *strings = gt_interner_new();
    for (size_t i = 0; i < LENGTH(rules) / 2; i++) { /* the other half was not interned before */
        gt_interner_add_cstr(strings, rules[i].op);
        gt_interner_add_cstr(strings, rules[i].kernel);
    }
    gt_op_categories *categories = gt_op_categories_new(strings, NULL);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < LENGTH(rules); i++) {
            uint32_t op = gt_interner_add_cstr(strings, rules[i].op);
            uint32_t kernel = gt_interner_add_cstr(strings, rules[i].kernel);
            uint32_t category = gt_op_categories_of(categories, op, kernel);
            assert_string_equal(gt_interner_get(strings, category).bytes, rules[i].category);
        }
        uint32_t mm = gt_interner_add_cstr(strings, "aten::mm"),
                 other = gt_interner_add_cstr(strings, "aten::x");
        assert_string_equal(gt_interner_get(strings, gt_op_categories_of(categories, mm, GT_STR_NONE)).bytes,
                            "GEMM");
        assert_string_equal(
            gt_interner_get(strings, gt_op_categories_of(categories, other, GT_STR_NONE)).bytes, "other");
    }
    gt_op_categories_free(categories);
    gt_interner_free(strings);
}

static void families_are_in_the_order_of_their_sheets(void **unused)
{
    (void)unused;
    static const char *const order[] = {
        "",
        "GEMM",
        "SDPA",
        "CONV",
        "InferenceAttention",
        "BinaryElementwise",
        "GroupedGEMM",
        "MoE_comm",
        "SSM",
        "RoPE",
        "CrossEntropy",
        "UnaryElementwise",
        "MoE_fused",
        "MoE_unfused",
        "MoE_aux",
        "RMSNorm",
        "elementwise",
        "GroupQuant",
        "FusedRoPE",
        "CustomCollective",
        "mHC",
        "Normalization",
        "Reduce",
    };
    assert_int_equal(LENGTH(order), GT_FAMILY_COUNT);
    for (size_t i = 0; i < LENGTH(order); i++)
        assert_string_equal(gt_op_family_name((gt_op_family)i), order[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_known_name_has_its_category),
        cmocka_unit_test(names_must_match_exactly),
        cmocka_unit_test(other_names_go_by_their_beginnings_and_kernels),
        cmocka_unit_test(ids_give_the_same_as_strings),
        cmocka_unit_test(families_are_in_the_order_of_their_sheets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
