/* Models, shapes and classes of JAX kernels, from hand-written records. Expected numbers are computed by hand
 * from the formulas, or come from TraceLens where a comment says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/jax/kernels.h"
#include "analysis/jax/models.h"
#include "compat/python_set.h"

static gt_jax *trace;
static gt_arena arena;

static int begin(void **state)
{
    (void)state;
    trace = gt_jax_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    gt_jax_free(trace);
    gt_arena_free(&arena);
    return 0;
}

static uint32_t text(const char *bytes)
{
    return gt_interner_add_cstr(trace->strings, bytes);
}

enum { OPERANDS_MAX = 8 };

/* A record with the operands up to the first NULL. */
static gt_hlo_record record_of(const char *output, const char *target, const char *const *operands)
{
    static uint32_t ids[OPERANDS_MAX];
    gt_hlo_record record = {.output = text(output), .custom_call_target = text(target), .operands = ids};
    for (; operands[record.operand_count]; record.operand_count++)
        ids[record.operand_count] = text(operands[record.operand_count]);
    return record;
}
#define LIST(...)                                                                                            \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }

static gt_str plain(const char *bytes)
{
    return (gt_str){bytes, strlen(bytes)};
}

static const char CONFIG_10[] =
    "backend_config={\"gemm_backend_config\":{\"beta\":0,\"dot_dimension_numbers\":{"
    "\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_dimensions\":[\"0\"]}}}";
static const char CONFIG_21[] =
    "backend_config={\"gemm_backend_config\":{\"beta\":0,\"dot_dimension_numbers\":{"
    "\"lhs_contracting_dimensions\":[\"2\"],\"rhs_contracting_dimensions\":[\"1\"]}}}";

static gt_hlo_record gemm_record(const char *output, const char *config, const char *type,
                                 const char *const *operands)
{
    gt_hlo_record record = record_of(output, "custom_call_target=\"__cublas$gemm\"", operands);
    record.backend_config = config ? text(config) : GT_STR_NONE;
    record.gemm_type = text(type);
    return record;
}

static void expect_parameters(const gt_model_result *result, const char *expected)
{
    gt_buffer shown = {0};
    gt_model_print_parameters(&shown, result);
    gt_buffer_str(&shown);
    assert_string_equal(gt_buffer_str(&shown).bytes, expected);
    gt_buffer_free(&shown);
}

/* ---- classes ---- */

static void test_classes(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *op, *class;
    } cases[] = {
        {"Cijk_Alik", "", "GEMM"},
        {"Cijk_Alik", "cudnn-conv.1.0", "Conv"}, /* the op's class replaces the kernel's */
        {"igemm_wrw", "cudnn-conv-bw-filter.3", "Conv"},
        {"fmha_fwd_kernel", "te_fused_attn_forward_ffi.1", "FA FWD"}, /* except for attention */
        {"fillBuffer", "te_fused_attn_backward_ffi.1", "TE"},
        {"ncclDevKernel_AllGather", "all-gather.1", "Communication rccl/nccl"},
        {"aiter::kernel_func", "gemm", "FA V3"},
        {"GEMM", "", "Uncategorized Events/XLA"}, /* case matters */
        {"Im3d2Col.kd", "", "Uncategorized Events/XLA"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(
            gt_jax_class_name(gt_jax_class_combine(gt_jax_class_of_name(plain(cases[i].kernel)),
                                                   gt_jax_class_of_name(plain(cases[i].op)))),
            cases[i].class);
}

/* ---- shapes ---- */

static void test_tensors(void **state)
{
    (void)state;
    gt_jax_tensor t;
    assert_true(gt_jax_tensor_of(plain("bf16[8,16]{1,0}"), &arena, &t));
    assert_int_equal(t.dim_count, 2);
    assert_int_equal(t.dims[1], 16);
    assert_memory_equal(t.type.bytes, "bf16", 4);
    assert_true(gt_jax_tensor_of(plain("(f32[3]{0},s8[9]{0})"), &arena, &t));
    assert_int_equal(t.dims[0], 3);
    assert_true(gt_jax_tensor_of(plain("f8e5m2[7]{0}"), &arena, &t));
    assert_memory_equal(t.type.bytes, "m2", 2);
    static const char *const none[] = {"f32[]", "pred[4]{0}", "f8e4m3fn[4]{0}", "f32[4]{0:S(5)}",
                                       "%x",    "",           "f32[4]",         "f32[4"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(gt_jax_tensor_of(plain(none[i]), &arena, &t));
}

/* Eight operands of a fusion, the sixth unresolved: 7 shapes, 48431104 bytes (a check case of the
 * specification). */
static void test_input_bytes(void **state)
{
    (void)state;
    gt_hlo_record record =
        record_of("bf16[1]{0}", "",
                  LIST("bf16[1024,4096]{1,0}", "bf16[4096,512]{1,0}", "bf16[1024,512]{1,0}",
                       "bf16[2,2048,16,128]{3,2,1,0}", "bf16[2,2048,8,128]{3,2,1,0}", "/*index=5*/%v",
                       "bf16[8,64,56,56]{3,2,1,0}", "bf16[8,128,56,56]{3,2,1,0}"));
    size_t unknown = 0;
    assert_int_equal(gt_jax_input_bytes(trace, &record, &unknown), 48431104);
    assert_int_equal(unknown, 0);
    assert_int_equal(gt_jax_operands_of(trace, &record, &arena).count, 7);
    record = record_of("", "", LIST("f64[10]{0}", "u8[3]{0}", "pred[6]{0}", "f32[]", "s8[5]"));
    assert_int_equal(gt_jax_input_bytes(trace, &record, &unknown), 6 + 5);
    assert_int_equal(unknown, 2);
}

/* ---- products ---- */

static void test_gemm(void **state)
{
    (void)state;
    gt_error error = {""};
    gt_model_result result;
    gt_hlo_record record = gemm_record("(bf16[1024,512]{1,0},s8[4194304]{0})", CONFIG_10, "bf16",
                                       LIST("bf16[1024,4096]{1,0}", "bf16[4096,512]{1,0}"));
    assert_int_equal(gt_jax_model_of(trace, &record, GT_JAX_CLASS_GEMM), GT_JAX_MODEL_GEMM);
    assert_int_equal(gt_jax_model_of(trace, &record, GT_JAX_CLASS_CONV), GT_JAX_MODEL_NONE);
    assert_true(gt_jax_evaluate(trace, GT_JAX_MODEL_GEMM, &record, plain("Cijk_Alik_Bljk_BBS"), &arena,
                                &result, &error));
    assert_true(result.flops == 2.0 * 512 * 1024 * 4096);
    assert_true(result.bytes == 13.0 * 1048576);
    expect_parameters(
        &result, "{'B': 1, 'M': 512, 'N': 1024, 'K': 4096, 'bias': False, 'dtype_A_B': ('bf16', 'bf16'), "
                 "'simulation_dtype': 'bf16', 'transpose': (True, False)}");
    /* a column-major product: M belongs to the first factor */
    record = gemm_record("(f32[8,4]{0,1},s8[1]{0})", CONFIG_10, "f32",
                         LIST("f32[8,2]{1,0}", "f32[2,4]{1,0}", "f32[]"));
    assert_true(gt_jax_evaluate(trace, GT_JAX_MODEL_GEMM, &record, plain("gemm"), &arena, &result, &error));
    expect_parameters(&result, "{'B': 1, 'M': 8, 'N': 4, 'K': 2, 'bias': False, 'dtype_A_B': ('f32', 'f32'), "
                               "'simulation_dtype': 'fp32'}");
    /* batched */
    record = gemm_record("(f32[4,128,256]{2,1,0},s8[1]{0})", CONFIG_21, "f32",
                         LIST("f32[4,128,512]{2,1,0}", "f32[4,512,256]{2,1,0}"));
    assert_true(gt_jax_evaluate(trace, GT_JAX_MODEL_GEMM, &record, plain("nvjet_sm90_tst_128x64_TNT"), &arena,
                                &result, &error));
    assert_true(result.flops == 134217728.0);
    assert_true(result.bytes == 3.5 * 1048576);
}

static void test_invalid_gemms(void **state)
{
    (void)state;
    static const char BIAS[] = "(f32[8,4]{1,0},s8[1]{0})";
    const struct {
        const char *output, *config;
        const char *const *operands;
    } cases[] = {
        {BIAS, CONFIG_10, LIST("f32[1,2,8,2]{3,2,1,0}", "f32[2,4]{1,0}")},
        {"(f32[],s8[1024]{0})", CONFIG_10, LIST("f32[8,2]{1,0}", "f32[2,4]{1,0}")},
        {BIAS, CONFIG_10, LIST("f32[8,2]{1,0}", "f32[2,4]{1,0}", "f32[8,4]{1,0}", "f32[4]{0}")},
        {BIAS, CONFIG_10, LIST("f32[8,3]{1,0}", "f32[2,4]{1,0}")},
        {BIAS, NULL, LIST("f32[8,2]{1,0}", "f32[2,4]{1,0}")},
        {BIAS, "backend_config={\"a\":", LIST("f32[8,2]{1,0}", "f32[2,4]{1,0}")},
        {BIAS, CONFIG_10, LIST("f32[8,2]{1,0}")},
        {BIAS, CONFIG_10, LIST("f32[8,99999999999999999999]{1,0}", "f32[2,4]{1,0}")},
        {BIAS, CONFIG_21, LIST("f32[8,2]{1,0}", "f32[2,4]{1,0}")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_error error = {""};
        gt_jax_gemm gemm;
        gt_hlo_record record = gemm_record(cases[i].output, cases[i].config, "f32", cases[i].operands);
        assert_false(gt_jax_gemm_of(trace, &record, &gemm, &error));
        assert_true(error.text[0]);
    }
    gt_jax_gemm gemm;
    gt_error error;
    gt_hlo_record record = gemm_record("(f32[2,128,256]{0,1,2},s8[1]{0})", CONFIG_21, "f32",
                                       LIST("f32[2,128,512]{0,1,2}", "f32[2,512,256]{0,1,2}"));
    assert_true(gt_jax_gemm_of(trace, &record, &gemm, &error));
    assert_int_equal(gemm.batch, 2);
    assert_int_equal(gemm.k, 512);
}

/* ---- attention ---- */

static void test_attention(void **state)
{
    (void)state;
    gt_error error;
    gt_model_result result;
    gt_hlo_record record = record_of("bf16[1]{0}", "custom_call_target=\"te_fused_attn_forward_ffi\"",
                                     LIST("bf16[2,2048,16,128]{3,2,1,0}", "bf16[2,2048,8,128]{3,2,1,0}",
                                          "bf16[2,2048,8,128]{3,2,1,0}", "bf16[0]{0}"));
    assert_int_equal(gt_jax_model_of(trace, &record, GT_JAX_CLASS_TE), GT_JAX_MODEL_ATTENTION);
    assert_true(gt_jax_evaluate(trace, GT_JAX_MODEL_ATTENTION, &record, plain("k"), &arena, &result, &error));
    assert_true(result.flops == 68719476736.0);
    assert_true(result.bytes == 48.0 * 1048576);
    expect_parameters(
        &result, "{'B': 2, 'N_Q': 2048, 'H_Q': 16, 'N_KV': 2048, 'H_KV': 8, 'd_h_qk': 128, 'd_h_v': 128, "
                 "'bias': ((0,),), 'dtype_A_B': ('c10::bfloat16', 'c10::bfloat16'), 'causal': False, "
                 "'flash_impl': True, 'fused': True, 'bytes_per_element': 2}");
    assert_true(
        gt_jax_evaluate(trace, GT_JAX_MODEL_ATTENTION_BWD, &record, plain("k"), &arena, &result, &error));
    assert_true(result.flops == 171799740416.0);
    assert_true(result.bytes == 80.0 * 1048576);
    gt_jax_arguments arguments = gt_jax_arguments_of(trace, &record, &arena);
    assert_string_equal(gt_interner_get(trace->strings, arguments.concrete).bytes, "((0,),)");
    assert_string_equal(gt_interner_get(trace->strings, arguments.types).bytes, "('bf16', 'bf16', 'bf16')");
    /* packed into one tensor */
    record = record_of("bf16[1]{0}", "custom_call_target=\"te_fused_attn_forward_ffi\"",
                       LIST("bf16[2,2048,3,16,128]{4,3,2,1,0}", "bf16[0]{0}", "bf16[0]{0}"));
    assert_false(
        gt_jax_evaluate(trace, GT_JAX_MODEL_ATTENTION, &record, plain("k"), &arena, &result, &error));
    assert_true(error.text[0]);
}

/* ---- convolutions ---- */

static void test_convolutions(void **state)
{
    (void)state;
    gt_error error;
    gt_model_result result;
    gt_hlo_record record = record_of(
        "(bf16[1,5120,34,31,53]{4,3,2,1,0},u8[7150336]{0})", "custom_call_target=\"__cudnn$convForward\"",
        LIST("bf16[1,16,32,60,104]{4,3,2,1,0}", "bf16[5120,16,1,2,2]{4,3,2,1,0}"));
    assert_true(gt_jax_evaluate(trace, GT_JAX_MODEL_CONV, &record, plain("k"), &arena, &result, &error));
    assert_true(result.flops == 2288107520.0); /* 5120 * 34 * 31 * 53 outputs, 2 * 4 each */
    assert_true(result.bytes == 578416648.0);
    record =
        record_of("(bf16[128,64,3,3]{3,2,1,0},u8[0]{0})", "custom_call_target=\"__cudnn$convBackwardFilter\"",
                  LIST("bf16[8,64,56,56]{3,2,1,0}", "bf16[8,128,56,56]{3,2,1,0}"));
    assert_int_equal(gt_jax_model_of(trace, &record, GT_JAX_CLASS_CONV), GT_JAX_MODEL_CONV_BWD);
    assert_true(gt_jax_evaluate(trace, GT_JAX_MODEL_CONV_BWD, &record, plain("k"), &arena, &result, &error));
    assert_true(result.flops == 463104.0);
    assert_true(result.bytes == 6717476.0);
    record = record_of("bf16[8,8]{1,0}", "custom_call_target=\"__cudnn$convForward\"",
                       LIST("bf16[8,8]{1,0}", "bf16[8,8]{1,0}"));
    assert_false(gt_jax_evaluate(trace, GT_JAX_MODEL_CONV, &record, plain("k"), &arena, &result, &error));
    record = record_of("bf16[9223372036854775807,9223372036854775807,9223372036854775807]{2,1,0}",
                       "custom_call_target=\"__cudnn$convForward\"",
                       LIST("bf16[9,9,9]{2,1,0}", "bf16[9,9,9]{2,1,0}"));
    assert_false(gt_jax_evaluate(trace, GT_JAX_MODEL_CONV, &record, plain("k"), &arena, &result, &error));
    assert_string_equal(error.text, "sizes overflow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),       cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_input_bytes),   cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_invalid_gemms), cmocka_unit_test(test_attention),
        cmocka_unit_test(test_convolutions),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
