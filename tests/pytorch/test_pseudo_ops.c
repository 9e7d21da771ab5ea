/* Ops that are recognised by their context: their place in the tree, their arguments, their rows. */
#include "pytorch_trace.h"
#include "perf_sheets.h"

#include "analysis/pytorch/sheets.h"
#include "trace/pytorch/tree_edit.h"

static uint32_t row_named(const gt_linked_view *trace, const char *name)
{
    for (uint32_t row = 0; row < trace->count; row++)
        if (strcmp(gt_event_name(&trace->events, row).bytes, name) == 0) return row;
    fail_msg("no event %s", name);
    return 0;
}

static const char *extra_of(const gt_linked_view *trace, const char *name)
{
    return gt_interner_get(trace->strings, trace->extra[row_named(trace, name)]).bytes;
}

static uint32_t launcher_of(const gt_linked_view *trace, const char *kernel)
{
    gt_launchers l = gt_launchers_find(trace);
    uint32_t found = GT_NO_EVENT;
    for (size_t i = 0; i < l.count; i++)
        for (size_t k = 0; k < l.items[i].count; k++)
            if (l.kernels[l.items[i].first + k] == row_named(trace, kernel)) found = l.items[i].row;
    gt_launchers_free(&l);
    return found;
}

static void python(trace_text *t, const char *name, double start, double dur)
{
    host(t, "python_function", name, start, dur, "");
}

/* The tree below an event: names in the order of their numbers, children in brackets. */
static void print_tree(const gt_calls *calls, uint32_t row, char *out)
{
    strcat(out, gt_event_name(&calls->trace->events, row).bytes);
    for (uint32_t c = gt_calls_first(calls, row); c != GT_NO_EVENT; c = gt_calls_next(calls, row, c)) {
        strcat(out, c == gt_calls_first(calls, row) ? "(" : " ");
        print_tree(calls, c, out);
    }
    if (gt_calls_first(calls, row) != GT_NO_EVENT) strcat(out, ")");
}

static void expect_tree(const gt_linked_view *trace, const char *root, const char *expected)
{
    char text[1024] = "";
    gt_calls *calls = gt_calls_new(trace);
    print_tree(calls, row_named(trace, root), text);
    assert_string_equal(text, expected);
    gt_calls_free(calls);
}

/* ---- editing trees ---- */

static void ops_are_inserted_into_the_tree(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "root", 1000, 500);
    cpu(&t, "a", 1010, 100);
    cpu(&t, "a1", 1020, 10);
    cpu(&t, "a2", 1040, 10);
    cpu(&t, "b", 1200, 100);
    launch(&t, "k1", 1210, 5, 2000, 10, 7);
    cpu(&t, "b1", 1220, 10);
    launch(&t, "k2", 1240, 5, 2020, 10, 8);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    size_t before = trace->count, events = trace->uid_count;
    uint32_t launch1 = trace->parent[row_named(trace, "k1")], b = row_named(trace, "b");
    gt_tree_edit *edit = gt_tree_edit_begin(linked);
    gt_new_op op = {.arguments_of = b};
    op.name = gt_interner_add_cstr(trace->strings, "around_children");
    gt_tree_wrap_children(edit, row_named(trace, "a"), op);
    op.name = gt_interner_add_cstr(trace->strings, "around_event");
    gt_tree_wrap_event(edit, row_named(trace, "b1"), op);
    op.name = gt_interner_add_cstr(trace->strings, "around_launch");
    op.extra = gt_interner_add_cstr(trace->strings, "{}");
    assert_true(gt_tree_wrap_launch(edit, launch1, op));
    assert_false(gt_tree_wrap_launch(edit, launch1, op));
    assert_int_equal(gt_tree_edit_finish(edit), 3);
    expect_tree(
        trace, "root",
        "root(a(around_children(a1 a2)) b(around_event(b1) hipLaunchKernel around_launch(hipLaunchKernel)))");

    assert_int_equal(trace->count, before + 3);
    assert_int_equal(trace->recorded, before);
    assert_int_equal(trace->uid_count, events + 3);
    uint32_t children = row_named(trace, "around_children"), event = row_named(trace, "around_event"),
             launch_op = row_named(trace, "around_launch");
    assert_int_equal(gt_event_uid(&trace->events, children), events);
    assert_int_equal(gt_event_uid(&trace->events, launch_op), events + 2);
    assert_int_equal(trace->parent[row_named(trace, "a1")], children);
    assert_int_equal(gt_pytorch_cpu_op_above(trace, row_named(trace, "a1")), children);
    assert_int_equal(trace->parent[children], row_named(trace, "a"));
    assert_int_equal(trace->parent[row_named(trace, "b1")], event);
    assert_int_equal(trace->parent[launch1], b); /* the launch still has its old op */
    assert_int_equal(launcher_of(trace, "k1"), b);
    assert_int_equal(trace->parent[launch_op], b);
    assert_true(trace->start_us[children] == 1010 && trace->dur_us[children] == 100);
    assert_true(trace->start_us[event] == 1220);
    assert_true(trace->start_us[launch_op] != trace->start_us[launch_op]); /* it has no time */
    assert_string_equal(extra_of(trace, "around_launch"), "{}");
    uint32_t *dims = gt_store_string_ids(trace->store, GT_EVENT_INPUT_DIMS);
    assert_string_equal(gt_interner_get(trace->strings, dims[launch_op]).bytes, "[[4]]");
    free(dims);

    gt_calls *calls = gt_calls_new(trace);
    gt_row_list roots = gt_calls_cpu_roots(calls), gpu_rows = {0};
    assert_int_equal(roots.count, 2);
    assert_int_equal(roots.items[1], children); /* searches reach it last */
    gt_calls_add_gpu_events(calls, launch_op, &gpu_rows);
    assert_int_equal(gpu_rows.count, 1);
    assert_int_equal(gpu_rows.items[0], row_named(trace, "k1"));
    free(roots.items);
    free(gpu_rows.items);
    gt_calls_free(calls);
    gt_pytorch_linked_free(linked);
}

/* Interacting changes: the same place twice, a place that moved, an only child. */
static void changes_are_applied_in_order(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "root", 1000, 500);
    cpu(&t, "only", 1010, 100);
    launch(&t, "k1", 1020, 5, 2000, 10, 7);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    uint32_t runtime = trace->parent[row_named(trace, "k1")];
    gt_tree_edit *edit = gt_tree_edit_begin(linked);
    gt_new_op op = {.arguments_of = 0};
    op.name = gt_interner_add_cstr(trace->strings, "x");
    gt_tree_wrap_event(edit, row_named(trace, "only"), op);
    op.name = gt_interner_add_cstr(trace->strings, "y");
    gt_tree_wrap_event(edit, row_named(trace, "only"), op);
    op.name = gt_interner_add_cstr(trace->strings, "z");
    gt_tree_wrap_children(edit, row_named(trace, "only"), op);
    op.name = gt_interner_add_cstr(trace->strings, "w");
    gt_tree_wrap_launch(edit, runtime, op);
    gt_tree_edit_finish(edit);
    expect_tree(trace, "root", "root(x(y(only(z(w(hipLaunchKernel))))))");
    gt_pytorch_linked_free(linked);
}

/* ---- mixtures of experts ---- */

static void expect_unified(gt_pytorch_linked *linked, const char *expected)
{
    perf_case c = begin_case(linked, false, NULL);
    gt_table *sheet = unified_sheet(&c, false);
    expect_columns(sheet, expected);
    gt_table_free(sheet);
    end_case(&c);
}

#define EXPERTS                                                                                              \
    "\"Input Dims\":[[32,3072],[32,32],[],[]],\"Input "                                                      \
    "type\":[\"c10::BFloat16\",\"c10::BFloat16\",\"\",\"\"]"

/* Check case 18: the up GEMM is gated, four experts per token, taken from the op below. */
static void triton_experts(void **state)
{
    (void)state;
    trace_text t = new_trace();
    host(&t, "cpu_op", "vllm::moe_forward", 1000, 200, EXPERTS);
    host(&t, "cpu_op", "TopK", 1005, 10, "\"Concrete Inputs\":[\"\",\"4\"]");
    launch(&t, "_topk", 1007, 2, 1990, 1, 6);
    launch(&t, "_matmul_ogs_NNT_bf16xbf16xmxfp4_swiglu", 1020, 5, 2000, 50, 7);
    launch(&t, "_Matmul_OGS_NNT_bf16xbf16xmxfp4", 1030, 5, 2100, 20, 8);
    launch(&t, "_finalize_matmul_scatter", 1040, 5, 2200, 5, 9);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(gt_pseudo_ops_add(linked), 3);
    expect_tree(trace, "vllm::moe_forward",
                "vllm::moe_forward(TopK(hipLaunchKernel) pseudo_op::moe_triton_unfused_up(hipLaunchKernel) "
                "pseudo_op::moe_triton_unfused_down(hipLaunchKernel) "
                "pseudo_op::moe_triton_unfused_finalize_matmul_scatter(hipLaunchKernel))");
    assert_string_equal(
        extra_of(trace, "pseudo_op::moe_triton_unfused_up"),
        "{\"MoE GEMM type\":\"up\",\"MoE GEMM index\":0,\"MoE GEMM gated\":true,\"MoE topk\":4}");
    assert_string_equal(
        extra_of(trace, "pseudo_op::moe_triton_unfused_down"),
        "{\"MoE GEMM type\":\"down\",\"MoE GEMM index\":1,\"MoE GEMM gated\":false,\"MoE topk\":4}");
    expect_unified(linked,
                   "name,op category,ex_UID,total_duration_us,GFLOPS,Data Moved (MB),Compute Spec,"
                   "Kernel Time (µs)_sum\n"
                   "pseudo_op::moe_triton_unfused_up,MoE_unfused,18,0.0,4.831838208,284.9228269331473,"
                   "matrix_fp4,50\n"
                   "pseudo_op::moe_triton_unfused_down,MoE_unfused,19,0.0,2.415919104,142.93016346657365,"
                   "matrix_fp4,20\n"
                   "pseudo_op::moe_triton_unfused_finalize_matmul_scatter,other,20,0.0,,,,5\n"
                   "TopK,other,1,10.0,,,,1\n");
}

/* The search for the number of experts is limited in depth, and ignores values that are not numbers. */
static void experts_by_default(void **state)
{
    (void)state;
    trace_text t = new_trace();
    host(&t, "cpu_op", "vllm::moe_forward", 1000, 200, EXPERTS);
    host(&t, "cpu_op", "TopK", 1002, 2, "\"Concrete Inputs\":[\"\",\"many\"]");
    char level[32];
    for (int i = 0; i < 11; i++) {
        snprintf(level, sizeof level, "level_%d", i);
        cpu(&t, level, 1010 + i, 100 - 2 * i);
    }
    host(&t, "cpu_op", "TopK", 1030, 10, "\"Concrete Inputs\":[\"\",\"2\"]"); /* the twelfth level */
    launch(&t, "matmul_ogs", 1150, 5, 2000, 50, 7);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(gt_pseudo_ops_add(linked), 1);
    assert_string_equal(
        extra_of(trace, "pseudo_op::moe_triton_unfused_up"),
        "{\"MoE GEMM type\":\"up\",\"MoE GEMM index\":0,\"MoE GEMM gated\":false,\"MoE topk\":4}");
    gt_pytorch_linked_free(linked);
}

/* Only if the op calls no other op and has exactly one GEMM kernel. */
static void fused_experts(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "vllm::moe_forward", 1000, 500);
    cpu(&t, "vllm::rocm_aiter_fused_moe", 1010, 50);
    launch(&t, "aiter::fmoe_MoeSorting", 1012, 2, 1990, 1, 5);
    launch(&t, "aiter::fmoe_Quantize", 1016, 2, 1995, 1, 6);
    launch(&t, "aiter::fmoe_g1u1", 1020, 5, 2000, 50, 7);
    cpu(&t, "vllm::rocm_aiter_fused_moe", 1110, 50);
    launch(&t, "aiter::fmoe_g1u1", 1120, 5, 2100, 50, 8);
    launch(&t, "aiter::fmoe_g1u1_2", 1130, 5, 2200, 50, 9);
    cpu(&t, "vllm::rocm_aiter_fused_moe", 1210, 50);
    cpu(&t, "aiter::inner", 1215, 20);
    launch(&t, "aiter::fmoe_g1u1", 1220, 5, 2300, 50, 10);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(gt_pseudo_ops_add(linked), 1);
    expect_tree(
        trace, "vllm::moe_forward",
        "vllm::moe_forward(vllm::rocm_aiter_fused_moe(hipLaunchKernel hipLaunchKernel "
        "pseudo_op::moe_aiter_fused_1stage(hipLaunchKernel)) vllm::rocm_aiter_fused_moe(hipLaunchKernel "
        "hipLaunchKernel) vllm::rocm_aiter_fused_moe(aiter::inner(hipLaunchKernel)))");
    gt_pytorch_linked_free(linked);
}

static void quantized_experts(void **state)
{
    (void)state;
    trace_text t = new_trace();
    host(&t, "cpu_op", "vllm::outplace_fused_experts", 1000, 100,
         "\"Input Dims\":[[16,64],[8,256,32],[8,64,64],[16,2],[16,2]],\"Input type\":[\"c10::BFloat16\"]");
    launch(&t, "fused_moe_kernel_gptq_awq", 1010, 5, 2050, 30, 7); /* the second to run */
    launch(&t, "fused_moe_kernel_gptq_awq", 1020, 5, 2000, 40, 8);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(gt_pseudo_ops_add(linked), 2);
    assert_string_equal(
        extra_of(trace, "pseudo_op::moe_gptq_awq_down"),
        "{\"MoE GEMM type\":\"down\",\"MoE GEMM index\":1,\"MoE GEMM gated\":false,\"MoE topk\":2}");
    /* up: 2 * 16 * 64 * 128 * 2 * 2 flops; down: 2 * 16 * 128 * 64 * 2 */
    expect_unified(linked, "name,op category,GFLOPS,Kernel Time (µs)_sum\n"
                           "pseudo_op::moe_gptq_awq_up,MoE_unfused,0.001048576,40\n"
                           "pseudo_op::moe_gptq_awq_down,MoE_unfused,0.000524288,30\n");
}

static void expert_stages(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aiter::fused_moe_", 1000, 200);
    python(&t, "aiter/moe.py(10): flydsl_moe_stage1", 1010, 50);
    launch(&t, "stage1", 1020, 5, 2000, 30, 7);
    python(&t, "aiter/moe.py(20): flydsl_moe_stage2", 1070, 50);
    launch(&t, "stage2", 1080, 5, 2050, 30, 8);
    python(&t, "aiter/moe.py(20): flydsl_moe_stage2", 1300, 50); /* not below the op */
    gt_pytorch_linked *linked = read_trace(&t, true);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(gt_pseudo_ops_add(linked), 2);
    expect_tree(trace, "aiter::fused_moe_",
                "aiter::fused_moe_(pseudo_op::moe_flydsl_stage1(aiter/moe.py(10): "
                "flydsl_moe_stage1(hipLaunchKernel)) pseudo_op::moe_flydsl_stage2(aiter/moe.py(20): "
                "flydsl_moe_stage2(hipLaunchKernel)))");
    assert_string_equal(extra_of(trace, "pseudo_op::moe_flydsl_stage2"),
                        "{\"MoE flydsl stage\":\"flydsl_moe_stage2\"}");
    assert_int_equal(launcher_of(trace, "stage1"), row_named(trace, "pseudo_op::moe_flydsl_stage1"));
    gt_pytorch_linked_free(linked);
}

static void expert_stage_after_a_nul(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aiter::fused_moe_", 1000, 200);
    python(&t, "aiter/moe\\u0000.py(10): flydsl_moe_stage1", 1010, 50);
    launch(&t, "stage1", 1020, 5, 2000, 30, 7);
    gt_pytorch_linked *linked = read_trace(&t, true);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(gt_pseudo_ops_add(linked), 1);
    assert_string_equal(extra_of(trace, "pseudo_op::moe_flydsl_stage1"),
                        "{\"MoE flydsl stage\":\"flydsl_moe_stage1\"}");
    gt_pytorch_linked_free(linked);
}

/* ---- attention ---- */

static void latent_attention(void **state)
{
    (void)state;
    trace_text t = new_trace();
    python(&t, "aiter/mla.py(161): mla_decode_fwd", 1000, 100);
    host(&t, "cpu_op", "aiter::mla_decode_stage1_asm_fwd", 1010, 20, "\"Input Dims\":[[1,2,3]]");
    launch(&t, "stage1", 1015, 5, 2000, 30, 7);
    cpu(&t, "aiter::reduce", 1040, 20);
    launch(&t, "reduce", 1045, 5, 2050, 30, 8);
    python(&t, "x.py(3): mla_fp8_prefill_attn", 1200, 100);
    cpu(&t, "aiter::mla_prefill_ps_asm_fwd", 1210, 20);
    launch(&t, "prefill", 1215, 5, 2100, 30, 9);
    python(&t, "x.py(3): mla_fp8_prefill_attn_other", 1400, 100);
    cpu(&t, "aiter::mla_prefill_ps_asm_fwd", 1410, 20);
    launch(&t, "prefill", 1415, 5, 2200, 30, 10);
    gt_pytorch_linked *linked = read_trace(&t, true);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(gt_pseudo_ops_add(linked), 2);
    expect_tree(trace, "aiter/mla.py(161): mla_decode_fwd",
                "aiter/mla.py(161): mla_decode_fwd(pseudo_mla_decode_fwd(aiter::mla_decode_stage1_asm_fwd("
                "hipLaunchKernel) aiter::reduce(hipLaunchKernel)))");
    uint32_t *dims = gt_store_string_ids(trace->store, GT_EVENT_INPUT_DIMS);
    assert_string_equal(
        gt_interner_get(trace->strings, dims[row_named(trace, "pseudo_mla_decode_fwd")]).bytes, "[[1,2,3]]");
    free(dims);
    assert_int_equal(trace->late_root_count, 2);
    gt_pytorch_linked_free(linked);
}

/* Modes follow from the kernels; calls are counted in the order of the threads. */
static void paged_attention(void **state)
{
    (void)state;
    static const char *const kernels[] = {"hca_norm", "fused_compress_attn_x", "plain"};
    trace_text t = new_trace();
    for (int i = 0; i < 3; i++) {
        double start = 1000 + 100 * i;
        host(&t, "cpu_op", "aiter::v4_attention_with_output", start, 90, "\"Input Dims\":[[64]]");
        launch(&t, "qk_norm_rope_H32_D512_RD64_flydsl", start + 2, 2, 5000 + 100 * i, 3, 20 + i);
        launch(&t, kernels[i], start + 5, 2, 5010 + 100 * i, 3, 30 + i);
        python(&t, "atom/paged_decode.py(7): sparse_attn_v4_paged_decode", start + 10, 50);
        launch(&t, "decode", start + 20, 2, 5020 + 100 * i, 3, 40 + i);
    }
    setenv("TL_MODEL", "DeepSeek-\"V4\"", 1);
    setenv("TL_TP", "4", 1);
    gt_pytorch_linked *linked = read_trace(&t, true);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(gt_pseudo_ops_add(linked), 3);
    unsetenv("TL_MODEL");
    unsetenv("TL_TP");
    assert_string_equal(
        extra_of(trace, "pseudo_v4_paged_decode_hca"),
        "{\"v4_mode\":\"hca\",\"v4_call_index\":0,\"v4_tp\":4,\"v4_model_name\":\"DeepSeek-\\\"V4\\\"\","
        "\"v4_H_Q\":32,\"v4_d_h\":512}");
    assert_string_equal(
        extra_of(trace, "pseudo_v4_paged_decode_swa"),
        "{\"v4_mode\":\"swa\",\"v4_call_index\":2,\"v4_tp\":4,\"v4_model_name\":\"DeepSeek-\\\"V4\\\"\","
        "\"v4_H_Q\":32,\"v4_d_h\":512}");
    row_named(trace, "pseudo_v4_paged_decode_csa");
    gt_pytorch_linked_free(linked);
}

/* ---- names ---- */

static void profiler_names_lose_their_numbers(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "sglang_profiler::gemm_x_17", 1000, 10);
    cpu(&t, "sglang_profiler::gemm_x_18", 1100, 10);
    cpu(&t, "sglang_profiler::gemm", 1200, 10);
    cpu(&t, "sglang_profiler::_7", 1300, 10);
    cpu(&t, "other::gemm_7", 1400, 10);
    call(&t, "cuda_runtime", "sglang_profiler::call_7", 1500, 10, 7);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(gt_pseudo_ops_add(linked), 0);
    static const char *const names[] = {"sglang_profiler::gemm_x", "sglang_profiler::gemm_x",
                                        "sglang_profiler::gemm",   "sglang_profiler::_7",
                                        "other::gemm_7",           "sglang_profiler::call_7"};
    for (uint32_t row = 0; row < 6; row++)
        assert_string_equal(gt_event_name(&trace->events, row).bytes, names[row]);
    assert_int_equal(trace->name[0], trace->name[1]);
    assert_null(trace->extra);
    gt_pytorch_linked_free(linked);
}

/* A trace with a paged attention that the reference does not know: all other ops are recognised. */
static void one_unknown_op_hides_no_other(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "_rocm_C::paged_attention", 900, 10);
    host(&t, "cpu_op", "vllm::moe_forward", 1000, 200, EXPERTS);
    launch(&t, "matmul_ogs", 1150, 5, 2000, 50, 7);
    gt_pytorch_linked *linked = read_trace(&t, false);
    assert_int_equal(gt_pseudo_ops_add(linked), 1);
    gt_pytorch_linked_free(linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_are_inserted_into_the_tree),
        cmocka_unit_test(changes_are_applied_in_order),
        cmocka_unit_test(triton_experts),
        cmocka_unit_test(experts_by_default),
        cmocka_unit_test(fused_experts),
        cmocka_unit_test(quantized_experts),
        cmocka_unit_test(expert_stages),
        cmocka_unit_test(expert_stage_after_a_nul),
        cmocka_unit_test(latent_attention),
        cmocka_unit_test(paged_attention),
        cmocka_unit_test(profiler_names_lose_their_numbers),
        cmocka_unit_test(one_unknown_op_hides_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
