/* The unified sheet: which ops it shows, their columns, call stacks. Expected values are the check cases of
 * the specification or computed by hand. */
#include "pytorch_trace.h"
#include "perf_sheets.h"

#include "analysis/pytorch/unified_details.h"

/* The sheet of a trace. */
static void expect_unified(gt_pytorch_linked *linked, const char *expected)
{
    perf_case c = begin_case(linked, false, NULL);
    gt_table *sheet = unified_sheet(&c, false);
    assert_string_equal(sheet->name, "unified_perf_summary");
    expect_columns(sheet, expected);
    gt_table_free(sheet);
    end_case(&c);
}

/* ---- which ops ---- */

/* Check case 1: the op with a model, not its caller. */
static void the_outermost_op_with_a_model_counts(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::linear", 1000, 100);
    host(&t, "cpu_op", "aten::mm", 1010, 50, MM(4, 2, 8));
    cpu(&t, "aten::inner", 1015, 40);
    launch(&t, "gemm_k", 1020, 5, 1100, 30, 7);
    launch(&t, "gemm_k2", 1030, 5, 1140, 20, 8);
    expect_unified(
        read_trace(&t, false),
        "name,op category,ex_UID,operation_count,total_duration_us,mean_duration_us,std_duration_us,GFLOPS,"
        "Compute Spec,Kernel Time (µs)_sum,perf_params,has_perf_model,Percentage (%)\n"
        "aten::mm,GEMM,1,1,50,50.0,,1.28e-07,matrix_bf16,50,{'M': 4, 'N': 2, 'K': 8, 'bias': False, "
        "'stride_A': (8, 1), 'stride_B': (2, 1), 'dtype_A_B': ('c10::BFloat16', 'c10::BFloat16'), 'B': 1},"
        "True,100.0\n");
}

/* Of an op that launches kernels itself and calls an op with a model, the latter counts; the remaining kernel
 * gets its own row. */
static void kernels_outside_the_modelled_op_get_rows(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::outer", 1000, 100);
    launch(&t, "prepare", 1005, 2, 1100, 3, 7);
    host(&t, "cpu_op", "aten::mm", 1010, 50, MM(4, 2, 8));
    launch(&t, "gemm", 1020, 5, 1110, 30, 8);
    expect_unified(read_trace(&t, false), "name,ex_UID,has_perf_model,Kernel Time (µs)_sum\n"
                                          "aten::mm,5,True,30\n"
                                          "aten::outer->prepare (Synthetic Op),10,False,3\n");
}

/* Check case 3: an op with a communication kernel is dropped, its other kernels get rows. */
static void communication_is_omitted(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::relu", 1000, 100);
    launch_on(&t, 0, "kernel", "relu_k", 1010, 1200, 100, 7);
    launch_on(&t, 1, "kernel", "ncclDevKernel_AllReduce", 1020, 1250, 100, 8);
    launch_on(&t, 2, "gpu_memcpy", "Memcpy DtoD", 1030, 1340, 30, 9);
    launch_on(&t, 0, "gpu_memset", "fill", 1040, 1400, 10, 10);
    expect_unified(
        read_trace(&t, false),
        "name,ex_UID,total_duration_us,Kernel Time (µs)_sum,Percentage (%),Cumulative Percentage (%)\n"
        "aten::relu->relu_k (Synthetic Op),17,100,100,71.42857142857143,71.42857142857143\n"
        "aten::relu->Memcpy DtoD (Synthetic Op),18,100,30,21.428571428571427,92.85714285714286\n"
        "aten::relu->fill (Synthetic Op),19,100,10,7.142857142857142,100.0\n");
}

/* Check case 6: kernels of a graph launch outside of all ops, those of one launch together. */
static void launches_without_an_op_get_rows(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::x", 1000, 10);
    call(&t, "cuda_runtime", "hipGraphLaunch", 1050, 5, 50);
    call(&t, "cuda_runtime", "hipGraphLaunch", 1060, 5, 51);
    gpu(&t, "kernel", "g1", 1100, 10, 50, 0);
    gpu(&t, "kernel", "g3", 1200, 10, 51, 0);
    gpu(&t, "kernel", "g2", 1115, 10, 50, 1);
    expect_unified(read_trace(&t, false), "name,op category,ex_UID,Input Dims,Kernel Time (µs)_sum\n"
                                          "hipGraphLaunch->g1 (Synthetic Op),other,6,,10\n"
                                          "hipGraphLaunch->g2 (Synthetic Op),other,7,,10\n"
                                          "hipGraphLaunch->g3 (Synthetic Op),other,8,,10\n");
}

/* Check case 7: driver calls hide a kernel from the op. */
static void nested_launches(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "foo::bar", 1000, 100);
    call(&t, "cuda_runtime", "cudaLaunchKernel", 1010, 50, 6);
    call(&t, "cuda_runtime", "cuLaunchKernel", 1012, 10, 7);
    gpu(&t, "kernel", "kern", 1200, 5, 7, 0);
    arrow(&t, 7, 0);
    cpu(&t, "foo::driver", 1300, 100);
    call(&t, "cuda_driver", "cuLaunchKernel", 1312, 10, 8);
    gpu(&t, "kernel", "kern", 1400, 4, 8, 0);
    arrow(&t, 8, 0);
    expect_unified(read_trace(&t, false), "name,Kernel Time (µs)_sum\n"
                                          "foo::bar,5\n"
                                          "foo::driver->kern (Synthetic Op),4\n");
}

/* Check case 8. */
static void execute_is_an_op_here(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "conv_bn_fused", 1000, 100);
    cpu(&t, "execute", 1010, 50);
    launch(&t, "kernel", 1020, 5, 1100, 10, 7);
    expect_unified(read_trace(&t, false), "name,Kernel Time (µs)_sum\nexecute,10\n");
}

/* Check case 12. */
static void names_are_quoted_by_each_writer(void **state)
{
    (void)state;
    trace_text t = new_trace();
    host(&t, "cpu_op", "op\\\"q, x", 1000, 100,
         "\"Input Dims\":[[4],[]],\"Concrete Inputs\":[\"it's\",\"say \\\"hi\\\"\",\"[1, 2]\"]");
    launch(&t, "two\\nlines", 1020, 5, 1100, 10, 7);
    perf_case c = begin_case(read_trace(&t, false), false, NULL);
    gt_table *sheet = unified_sheet(&c, false);
    assert_string_equal(text_cell(sheet, "name", 0), "op\"q, x");
    assert_string_equal(text_cell(sheet, "Input Dims", 0), "((4,), ())");
    assert_string_equal(text_cell(sheet, "Concrete Inputs", 0), "(\"it's\", 'say \"hi\"', '[1, 2]')");
    assert_string_equal(text_cell(sheet, "trunc_kernel_details", 0),
                        "[{'name': 'two\\nlines', 'stream': 0, 'mean_duration_us': 10.0}]");
    gt_table_free(sheet);
    end_case(&c);
}

static void a_trace_without_gpu_events_gives_no_rows(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::x", 1000, 10);
    perf_case c = begin_case(read_trace(&t, false), false, NULL);
    gt_table *sheet = unified_sheet(&c, false);
    assert_int_equal(sheet->row_count, 0);
    gt_table_free(sheet);
    end_case(&c);
}

/* ---- models ---- */

#define ATTENTION                                                                                            \
    "\"Input Dims\":[[2,8,128,64],[2,2,128,64],[2,2,128,64],[],[],[],[]],\"Input type\":[\"c10::BFloat16\"," \
    "\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\",\"Scalar\",\"Scalar\",\"\"],\"Concrete "                 \
    "Inputs\":[\"\",\"\","                                                                                   \
    "\"\",\"0.\",\"False\",\"False\",\"\"],\"Sequence number\":7"

/* The gradient of attention (check case 9) is computed by one op below autograd's event. */
static gt_pytorch_linked *attention_and_gradient(const char *second)
{
    trace_text t = new_trace();
    op_on(&t, 1, "aten::_scaled_dot_product_flash_attention", 1000, 50, ATTENTION);
    launch_from(&t, 1, "attn_fwd", 1010, 1100, 20, 7);
    op_on(&t, 2, "autograd::engine::evaluate_function: Attention0", 2000, 90, "\"Sequence number\":7");
    op_on(&t, 2, "Attention0", 2005, 40, "");
    op_on(&t, 2, "aten::gradient", 2007, 30, "");
    launch_from(&t, 2, "attn_bwd", 2010, 2100, 40, 8);
    op_on(&t, 2, second, 2050, 30, "");
    launch_from(&t, 2, "other", 2060, 2200, 5, 9);
    return read_trace(&t, false);
}

static void a_single_gradient_op_has_the_model_of_the_forward_op(void **state)
{
    (void)state;
    expect_unified(attention_and_gradient("aten::add_grad"),
                   "name,op category,ex_UID,GFLOPS,Data Moved (MB),Kernel Time (µs)_sum,has_perf_model\n"
                   "Attention0,SDPA_bwd,6,0.167870464,1.0,45,True\n"
                   "aten::add_grad,SDPA_bwd,12,0.167870464,1.0,45,True\n"
                   "aten::_scaled_dot_product_flash_attention,SDPA_fwd,0,0.067108864,0.625,20,True\n");
}

/* Two ops with the name of autograd's event: neither computes the gradient alone. */
static void shared_gradients_have_no_model(void **state)
{
    (void)state;
    expect_unified(attention_and_gradient("Attention0"),
                   "name,op category,ex_UID,GFLOPS,Kernel Time (µs)_sum,has_perf_model\n"
                   "aten::gradient,other,7,,40,False\n"
                   "aten::_scaled_dot_product_flash_attention,SDPA_fwd,0,0.067108864,20,True\n"
                   "Attention0,other,12,,5,False\n");
}

#define INFERENCE_ATTENTION                                                                                  \
    "\"Input Dims\":[[8192,64,64],[8192,8,64],[8192,8,64]],\"Input "                                         \
    "type\":[\"c10::BFloat16\",\"c10::BFloat16\","                                                           \
    "\"c10::BFloat16\"],\"Input Strides\":[[],[],[]],\"Concrete Inputs\":[\"\",\"\",\"\"]"

static void annotate(trace_text *t, const char *name, double start, double dur)
{
    add_event(t,
              "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%.15g,"
              "\"dur\":%.15g}",
              name, start, dur);
}

/* Check case 17: the shapes of attention are in the annotation around it. Without it the model fails and the
 * row has only times; with an empty step there is no row. */
static void failed_models_keep_the_time_and_empty_steps_have_no_row(void **state)
{
    (void)state;
    trace_text t = new_trace();
    annotate(&t,
             "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37("
             "sq37sk34489sqsq37sqsk34489)",
             900, 200);
    op_on(&t, 1, "vllm::unified_attention_with_output", 1000, 50, INFERENCE_ATTENTION);
    launch_from(&t, 1, "attention", 1010, 5000, 30, 7);
    annotate(&t, "execute_0_context_0(sq0sk0sqsq0sqsk0)_generation_0(sq0sk0sqsq0sqsk0)", 1900, 200);
    op_on(&t, 1, "vllm::unified_attention_with_output", 2000, 50, INFERENCE_ATTENTION);
    launch_from(&t, 1, "attention", 2010, 5100, 100, 8);
    op_on(&t, 2, "vllm::unified_attention_with_output", 3000, 50, INFERENCE_ATTENTION);
    launch_from(&t, 2, "attention", 3010, 5200, 7, 9);
    gt_pytorch_linked *linked = read_trace(&t, false);
    expect_unified(linked, "name,GFLOPS,Data Moved (MB),operation_count,Kernel Time (µs)_sum,has_perf_model\n"
                           "vllm::unified_attention_with_output,65.010180096,211.826171875,2,37,True\n");
}

/* Check case 19; fp32 tensors are not counted. */
static void triton_kernels_have_models(void **state)
{
    (void)state;
    trace_text t = new_trace();
    op_on(&t, 1, "triton_poi_fused__unsafe_view_mul_silu_2", 1000, 50,
          "\"Input Dims\":[[32768,8192],[32768,8192],[]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\","
          "\"Scalar\"],\"Concrete Inputs\":[\"\",\"\",\"268435456\"]");
    launch_from(&t, 1, "triton_poi_fused__unsafe_view_mul_silu_2", 1010, 1100, 30, 7);
    op_on(&t, 1, "triton_poi_fused_add_0", 1200, 50, "");
    launch_from(&t, 1, "triton_poi_fused_add_0", 1210, 1300, 3, 8);
    expect_unified(read_trace(&t, false),
                   "name,op category,GFLOPS,Compute Spec,Kernel Time (µs)_sum,has_perf_model\n"
                   "triton_poi_fused__unsafe_view_mul_silu_2,triton,1.34217728,vector_bfloat16,30,True\n"
                   "triton_poi_fused_add_0,triton,,,3,False\n");
}

/* ---- overlap ---- */

/* Check case 10. */
static void ops_with_and_without_overlap_are_separate(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::relu", 1000, 50);
    launch_on(&t, 0, "kernel", "a", 1010, 1200, 100, 7);
    launch_on(&t, 1, "kernel", "b", 1020, 1250, 100, 8);
    cpu(&t, "aten::gelu", 1100, 50);
    launch_on(&t, 0, "kernel", "c", 1110, 1340, 100, 9);
    launch_on(&t, 2, "kernel", "d", 1120, 1349.5, 10, 10);
    launch_on(&t, 3, "kernel", "e", 1130, 1439.5, 10, 11);
    perf_case c = begin_case(read_trace(&t, false), true, NULL);
    gt_unified *unified = gt_unified_new(c.perf, GT_STACKS_OF_KERNELS);
    gt_table *sheet = gt_unified_summary_with_overlap(unified);
    assert_string_equal(sheet->name, "unified_perf_summary_kl_overlap");
    expect_columns(sheet, "name,overlapping_kernel_names,overlap_pct_mean,overlap_pct_std\n"
                          "aten::relu,['b', 'a', 'c'],0.73,0.0\n"
                          "aten::gelu,['b', 'd', 'c'],0.27,0.0\n");
    assert_non_null(
        strstr(text_cell(sheet, "overlapping_kernels_details_summary", 0),
               "{'name': 'b', 'stream': 1, 'overlap_pct': 0.33, 'count': 1, 'total_duration_us': 100.0"));
    assert_int_equal(gt_table_find(sheet, GT_COL("call_stack_full")), SIZE_MAX);
    gt_table_free(sheet);
    gt_unified_free(unified);
    end_case(&c);
}

/* ---- call stacks ---- */

static void python(trace_text *t, const char *name, double start, double dur)
{
    host(t, "python_function", name, start, dur, "");
}

/* Check case 11. */
static gt_pytorch_linked *stacked(void)
{
    size_t regions, marked;
    trace_text t = new_trace();
    python(&t, "train.py(10): main", 1000, 1000);
    python(&t, "nn.Module: Linear_3", 1010, 200);
    python(&t, "torch/nn/modules/module.py(1755): _call_impl", 1020, 180);
    python(&t, "model_12.py(33): forward", 1030, 160);
    cpu(&t, "aten::foo", 1040, 100);
    launch(&t, "kern_1", 1050, 5, 2200, 10, 7);
    launch(&t, "kern_2", 1060, 5, 2220, 20, 8);
    python(&t, "torch/utils/checkpoint.py(900): recompute_fn", 1300, 200);
    cpu(&t, "aten::foo", 1340, 100);
    cpu(&t, "aten::inner", 1345, 20);
    launch(&t, "kern_1", 1350, 5, 2300, 10, 9);
    cpu(&t, "aten::lone", 1450, 10);
    launch(&t, "kern_3", 1452, 5, 2400, 1, 10);
    gt_pytorch_linked *linked = read_trace(&t, true);
    gt_pytorch_mark_recompute(linked, &regions, &marked);
    return linked;
}

static void call_stacks_have_columns(void **state)
{
    (void)state;
    perf_case c = begin_case(stacked(), false, NULL);
    gt_table *sheet = unified_sheet(&c, true);
    expect_columns(sheet,
                   "name,is_recompute,has_perf_model,entry_point,call_stack_full\n"
                   "aten::foo,False,False,Not found,['nn.Module: Linear', 'torch/nn/modules/module.py(1755): "
                   "_call_impl', "
                   "'aten::foo', ['kern_1'], ['kern_2']]\n"
                   "aten::inner,True,False,torch/utils/checkpoint.py(900): recompute_fn,"
                   "['torch/utils/checkpoint.py(900): recompute_fn', 'aten::foo', 'aten::inner', 'kern_1']\n"
                   "aten::lone,True,False,torch/utils/checkpoint.py(900): recompute_fn,"
                   "['torch/utils/checkpoint.py(900): recompute_fn', 'aten::lone', 'kern_3']\n");
    assert_null(strstr(text_cell(sheet, "kernel_details_summary", 0), "call_stack"));
    gt_table_free(sheet);
    end_case(&c);
}

/* Without their own columns, they are part of the details. */
static void call_stacks_can_be_part_of_details(void **state)
{
    (void)state;
    perf_case c = begin_case(stacked(), false, NULL);
    gt_table *sheet = unified_sheet(&c, false);
    assert_int_equal(gt_table_find(sheet, GT_COL("call_stack_full")), SIZE_MAX);
    assert_string_equal(
        text_cell(sheet, "kernel_details_summary", 2),
        "[{'name': 'kern_3', 'stream': 0, 'call_stack': ['torch/utils/checkpoint.py(900): "
        "recompute_fn', 'aten::lone'], 'count': 1, 'total_duration_us': 1, 'mean_duration_us': 1.0, "
        "'median_duration_us': 1.0, 'std_dev_duration_us': 0.0, 'min_duration_us': 1, "
        "'max_duration_us': 1}]");
    gt_table_free(sheet);
    end_case(&c);
}

/* Two kernels of one name with one path: nothing remains after the common part. The kernels of an op with a
 * model may be further down. Pseudo ops have no frames. */
static void call_stacks_of_several_kernels(void **state)
{
    (void)state;
    trace_text t = new_trace();
    host(&t, "cpu_op", "aten::mm", 1000, 100, MM(4, 2, 8));
    launch(&t, "same", 1010, 5, 2000, 30, 7);
    launch(&t, "same", 1020, 5, 2100, 31, 8);
    host(&t, "cpu_op", "aten::addmm_17", 1200, 100, "");
    launch(&t, "k_5", 1210, 5, 2200, 20, 9);
    host(&t, "cpu_op", "aten::bmm", 1400, 100,
         "\"Input Dims\":[[2,4,8],[2,8,2]],\"Input type\":[\"float\",\"float\"]");
    cpu(&t, "hip::inner", 1410, 20);
    python(&t, "pkg/b.py(1): my_bmm", 1412, 10);
    launch(&t, "deep", 1415, 5, 2300, 10, 10);
    launch(&t, "flat", 1450, 5, 2400, 5, 11);
    call(&t, "cuda_runtime", "hipGraphLaunch", 1600, 5, 12);
    gpu(&t, "kernel", "graph_1", 2500, 1, 12, 0);
    perf_case c = begin_case(read_trace(&t, true), false, NULL);
    gt_table *sheet = unified_sheet(&c, true);
    expect_columns(sheet, "name,entry_point,call_stack_full\n"
                          "aten::mm,Not found,['aten::mm', 'same', []]\n"
                          "aten::addmm_17,Not found,['aten::addmm', 'k_5']\n"
                          "aten::bmm,pkg/b.py(1): my_bmm,['aten::bmm', ['flat'], ['hip::inner', "
                          "'pkg/b.py(1): my_bmm', 'deep']]\n"
                          "hipGraphLaunch->graph_1 (Synthetic Op),Not found,['graph_1']\n");
    gt_table_free(sheet);
    end_case(&c);
}

static void entry_points(void **state)
{
    (void)state;
    static const struct {
        const char *op, *frames[6];
        size_t place;
    } cases[] = {
        {"aten::mm", {"a.py(1): main", "b.py(2): forward", "aten::mm", "kernel"}, 1},
        {"aten::mm", {"a.py(1): main", "torch/_ops.py(9): __call__", "aten::mm"}, 0},
        {"aten::mm", {"a.py(1): main", "b.py(2): _call_impl", "nn.Module: x.py", "aten::mm"}, 0},
        {"aten::mm", {"a.py(1): main", "b.py(2): my_call_impl", "aten::mm"}, 1},
        {"ns::gemm", {"a.py(1): main", "ns::gemm", "b.py(2): run", "b.py(3): My_GEMM_v2"}, 3},
        {"ns::gemm", {"ns::gemm", "a.py(1): outer", "ns::gemm", "kernel.py"}, 1},
        {"ns::gemm_340", {"a.py(1): main", "ns::gemm"}, 0},
        {"gemm", {"a.py(1): main", "gemm", "gemm.py"}, 2},
        {"aten::mm", {"a.py(1): main"}, SIZE_MAX},
        {"aten::mm", {"nn.Module: Linear", "<built-in method x.py>", "aten::mm"}, SIZE_MAX},
        {"aten::mm", {"aten::mm"}, SIZE_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_str frames[6], op = {cases[i].op, strlen(cases[i].op)};
        size_t count = 0;
        for (; count < 6 && cases[i].frames[count]; count++)
            frames[count] = (gt_str){cases[i].frames[count], strlen(cases[i].frames[count])};
        if (gt_entry_point(op, frames, count) != cases[i].place) fail_msg("case %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outermost_op_with_a_model_counts),
        cmocka_unit_test(kernels_outside_the_modelled_op_get_rows),
        cmocka_unit_test(communication_is_omitted),
        cmocka_unit_test(launches_without_an_op_get_rows),
        cmocka_unit_test(nested_launches),
        cmocka_unit_test(execute_is_an_op_here),
        cmocka_unit_test(names_are_quoted_by_each_writer),
        cmocka_unit_test(a_trace_without_gpu_events_gives_no_rows),
        cmocka_unit_test(a_single_gradient_op_has_the_model_of_the_forward_op),
        cmocka_unit_test(shared_gradients_have_no_model),
        cmocka_unit_test(failed_models_keep_the_time_and_empty_steps_have_no_row),
        cmocka_unit_test(triton_kernels_have_models),
        cmocka_unit_test(ops_with_and_without_overlap_are_separate),
        cmocka_unit_test(call_stacks_have_columns),
        cmocka_unit_test(call_stacks_can_be_part_of_details),
        cmocka_unit_test(call_stacks_of_several_kernels),
        cmocka_unit_test(entry_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
