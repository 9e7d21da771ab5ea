/* Sheets of op families: rows, keys, forward and backward, rates. Expected values are the check cases of the
 * specification or computed by hand. */
#include "pytorch_trace.h"
#include "perf_sheets.h"

static gt_table_list chosen_sheets_of(perf_case *c, gt_op_sheets_options options)
{
    gt_table_list sheets = {0};
    gt_op_sheets_make(c->perf, options, &sheets);
    return sheets;
}

static gt_table_list sheets_of(perf_case *c)
{
    return chosen_sheets_of(c, (gt_op_sheets_options){0});
}

/* 2*10*512*1000 flops; 10*1000 + 1000*512 + 10*512 elements of 2 bytes; 5 and 10 microseconds. */
static gt_pytorch_linked *two_alike(void)
{
    trace_text t = new_trace();
    op_on(&t, 1, "aten::mm", 1000, 50, MM(10, 512, 1000)); /* uid 0 */
    launch_from(&t, 1, "gemm", 1010, 1100, 5, 7);
    op_on(&t, 1, "aten::mm", 1200, 50, MM(10, 512, 1000)); /* uid 5 */
    launch_from(&t, 1, "gemm", 1210, 1300, 10, 8);
    op_on(&t, 1, "aten::mm", 1400, 50, MM(4, 2, 8)); /* uid 10 */
    launch_from(&t, 1, "small", 1410, 1500, 100, 9);
    return read_trace(&t, false);
}

static void equal_ops_are_one_row(void **state)
{
    (void)state;
    perf_case c = begin_case(two_alike(), false, NULL);
    gt_table_list sheets = sheets_of(&c);
    expect_sheets(&sheets, "GEMM");
    expect_columns(sheets.items[0],
                   "name,param: M,param: N,param: K,param: bias,param: stride_A,param: B,GFLOPS_first,"
                   "Data Moved (MB)_first,Compute Spec,Kernel Time (µs)_sum,name_count,UID_first\n"
                   "aten::mm,4,2,8,False,(8, 1),1,1.28e-07,0.0001068115234375,matrix_bf16,100,1,10\n"
                   "aten::mm,10,512,1000,False,(1000, 1),1,0.01024,1.005401611328125,matrix_bf16,15,2,0\n");
    free_sheets(&sheets);
    end_case(&c);
}

static void rates_are_measured(void **state)
{
    (void)state;
    perf_case c = begin_case(two_alike(), false, NULL);
    gt_table_list sheets = sheets_of(&c);
    expect_columns(sheets.items[0],
                   "FLOPS/Byte_first,TB/s_max,TFLOPS/s_mean,TFLOPS/s_median,TFLOPS/s_std,TFLOPS/s_min,"
                   "Kernel Time (µs)_mean,Kernel Time (µs)_min,Input Dims_first,Input type_first\n"
                   "1.1428571428571428,1.1199999999999999e-06,1.2799999999999998e-06,1.2799999999999998e-06,,"
                   "1.2799999999999998e-06,100.0,100,[[4, 8], [8, 2]],"
                   "['c10::BFloat16', 'c10::BFloat16']\n"
                   "9.713158294126574,0.21084799999999998,1.536,1.536,0.7240773439350247,1.024,7.5,5,"
                   "[[10, 1000], [1000, 512]],['c10::BFloat16', 'c10::BFloat16']\n");
    assert_string_equal(text_cell(sheets.items[0], "trunc_kernel_details", 1),
                        "[{'name': 'gemm', 'stream': 0, 'mean_duration_us': 7.5}]");
    assert_string_equal(
        text_cell(sheets.items[0], "kernel_details__summarize_kernel_stats", 1),
        "[{'name': 'gemm', 'stream': 0, 'count': 2, 'total_duration_us': 15, 'mean_duration_us': 7.5, "
        "'median_duration_us': 7.5, 'std_dev_duration_us': 2.5, 'min_duration_us': 5, "
        "'max_duration_us': 10}]");
    free_sheets(&sheets);
    end_case(&c);
}

static void a_row_limit_applies_to_each_sheet(void **state)
{
    (void)state;
    perf_case c = begin_case(two_alike(), false, NULL);
    gt_table_list sheets = chosen_sheets_of(&c, (gt_op_sheets_options){.limited = true, .rows = 1});
    expect_columns(sheets.items[0], "param: M,UID_first\n4,10\n");
    free_sheets(&sheets);
    sheets = chosen_sheets_of(&c, (gt_op_sheets_options){.limited = true, .rows = 0});
    assert_int_equal(sheets.count, 0);
    free_sheets(&sheets);
    end_case(&c);
}

/* Check case 23: 2*8944*2816*1024 flops at 708 TFLOP/s. */
static void a_gpu_has_a_roofline(void **state)
{
    (void)state;
    gt_error error;
    trace_text t = new_trace();
    op_on(&t, 1, "aten::mm", 1000, 50, MM(8944, 2816, 1024));
    launch_from(&t, 1, "gemm", 1010, 1100, 100, 7);
    op_on(&t, 1, "aten::copy_", 1200, 50,
          "\"Input Dims\":[[16,559,1024],[16,559,1024],[]],\"Input "
          "type\":[\"float\",\"c10::BFloat16\",\"Scalar\"],"
          "\"Input Strides\":[[572416,1024,1],[572416,1024,1],[]],\"Concrete Inputs\":[\"\",\"\",\"False\"]");
    launch_from(&t, 1, "copy", 1210, 1300, 20, 8);
    perf_case c = begin_case(read_trace(&t, false), false, gt_gpu_arch_find("MI300X", &error));
    gt_table_list sheets = sheets_of(&c);
    expect_sheets(&sheets, "GEMM UnaryElementwise");
    expect_columns(sheets.items[0],
                   "GFLOPS_first,Roofline Time (µs)_first,Roofline Bound_first,Pct Roofline_max\n"
                   "51.581550592,39.4535341838764,COMPUTE_BOUND,39.4535341838764\n");
    expect_columns(sheets.items[1], "Roofline Time (µs)_first,Roofline Bound_first\n"
                                    "10.368289811320754,MEMORY_BOUND\n");
    free_sheets(&sheets);
    end_case(&c);
}

/* An op that ran only on the host is a row too, without rates. */
static void ops_without_kernels_count(void **state)
{
    (void)state;
    trace_text t = new_trace();
    op_on(&t, 1, "aten::mm", 1000, 50, MM(4, 2, 8));
    op_on(&t, 1, "aten::relu", 1100, 50, "");
    launch_from(&t, 1, "relu", 1110, 1200, 5, 7);
    perf_case c = begin_case(read_trace(&t, false), false, NULL);
    gt_table_list sheets = sheets_of(&c);
    expect_columns(sheets.items[0], "GFLOPS_first,TFLOPS/s_mean,kernel_details__summarize_kernel_stats,"
                                    "trunc_kernel_details,Kernel Time (µs)_mean,Kernel Time (µs)_sum\n"
                                    "1.28e-07,,[],,0.0,0\n");
    free_sheets(&sheets);
    end_case(&c);
}

/* One op of a family without a parameter makes floats of the others' integers (check case 14). */
static void parameters_are_printed_by_column(void **state)
{
    (void)state;
    const char *norm =
        "\"Input Dims\":[[8,16,32,32],[8,16,32,32],[8,4],[8,4],[16],[],[],[],[],[]],"
        "\"Input type\":[\"float\",\"float\",\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\","
        "\"Scalar\",\"Scalar\",\"\"],\"Input Strides\":[[16384,1024,32,1],[16384,1024,32,1],[4,1],"
        "[4,1],[1],[],[],[],[],[]],\"Concrete Inputs\":[\"\",\"\",\"\",\"\",\"\",\"8\",\"16\",\"1024\","
        "\"4\",\"[True, True, True]\"]";
    trace_text t = new_trace();
    op_on(&t, 1, "aten::native_group_norm_backward", 1000, 50, norm);
    op_on(&t, 1, "aten::layer_norm", 1100, 50,
          "\"Input Dims\":[[4,16],[],[16],[16],[],[]],\"Input "
          "type\":[\"float\",\"ScalarList\",\"float\",\"float\","
          "\"Scalar\",\"Scalar\"],\"Input Strides\":[[16,1],[],[1],[1],[],[]],"
          "\"Concrete Inputs\":[\"\",\"[16]\",\"\",\"\",\"1e-05\",\"True\"]");
    launch_from(&t, 1, "norm", 1110, 1200, 5, 7);
    perf_case c = begin_case(read_trace(&t, false), false, NULL);
    gt_table_list sheets = sheets_of(&c);
    expect_sheets(&sheets, "Normalization");
    expect_columns(sheets.items[0], "name,param: num_channels,param: stride_output,Kernel Time (µs)_sum\n"
                                    "aten::layer_norm,16.0,,5\n"
                                    "aten::native_group_norm_backward,4.0,,0\n");
    free_sheets(&sheets);
    end_case(&c);
}

/* ---- backward ---- */

#define ATTENTION                                                                                            \
    "\"Input Dims\":[[2,8,128,64],[2,2,128,64],[2,2,128,64],[],[],[],[]],\"Input type\":[\"c10::BFloat16\"," \
    "\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\",\"Scalar\",\"Scalar\",\"\"],\"Concrete "                 \
    "Inputs\":[\"\",\"\","                                                                                   \
    "\"\",\"0.\",\"False\",\"False\",\"\"],\"Sequence number\":7"

/* Check case 9: the gradient costs 167870464 flops; it ran for 10 + 30 microseconds. Both ops have the
 * sequence number; the gradient is that of the later one. */
static void gradients_are_rows_of_the_backward_sheet(void **state)
{
    (void)state;
    trace_text t = new_trace();
    op_on(&t, 1, "aten::_scaled_dot_product_flash_attention", 1000, 50, ATTENTION);
    launch_from(&t, 1, "attn_fwd", 1010, 1100, 20, 7);
    op_on(&t, 2, "autograd::engine::evaluate_function: Attention0", 2000, 90, "\"Sequence number\":7");
    launch_from(&t, 2, "attn_bwd_1", 2010, 2100, 10, 8);
    launch_from(&t, 2, "attn_bwd_2", 2020, 2200, 30, 9);
    op_on(&t, 1, "aten::_scaled_dot_product_flash_attention", 3000, 50, ATTENTION);
    launch_from(&t, 1, "attn_fwd", 3010, 3100, 20, 10);
    perf_case c = begin_case(read_trace(&t, false), false, NULL);
    gt_table_list sheets = sheets_of(&c);
    expect_sheets(&sheets, "SDPA_fwd SDPA_bwd");
    expect_columns(sheets.items[0], "name,Kernel Time (µs)_sum,name_count\n"
                                    "aten::_scaled_dot_product_flash_attention,40,2\n");
    expect_columns(sheets.items[1],
                   "name,GFLOPS_first,Data Moved (MB)_first,Kernel Time (µs)_sum,name_count,UID_first\n"
                   "aten::_scaled_dot_product_flash_attention,0.167870464,1.0,40,1,14\n");
    assert_string_equal(
        text_cell(sheets.items[1], "trunc_kernel_details", 0),
        "[{'name': 'attn_bwd_1', 'stream': 0, 'mean_duration_us': 10.0}, {'name': 'attn_bwd_2', "
        "'stream': 0, 'mean_duration_us': 30.0}]");
    free_sheets(&sheets);
    end_case(&c);
}

#define CONVOLUTION                                                                                          \
    "\"Input Dims\":[[2,8,10,10],[16,4,3,3],[16],[],[],[],[],[],[]],\"Input "                                \
    "type\":[\"float\",\"float\",\"float\","                                                                 \
    "\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\"],\"Concrete "         \
    "Inputs\":[\"\","                                                                                        \
    "\"\",\"\",\"[2, 2]\",\"[1]\",\"\",\"False\",\"[0, 0]\",\"2\"],\"Sequence number\":7"
#define CONVOLUTION_BACKWARD                                                                                 \
    "\"Input Dims\":[[2,16,5,5],[2,8,10,10],[16,4,3,3],[16],[],[],[],[],[],[],[]],\"Input "                  \
    "type\":[\"float\","                                                                                     \
    "\"float\",\"float\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\","            \
    "\"ScalarList\","                                                                                        \
    "\"Scalar\",\"ScalarList\"],\"Concrete Inputs\":[\"\",\"\",\"\",\"[16]\",\"[2, 2]\",\"[1, 1]\",\"[1, "   \
    "1]\","                                                                                                  \
    "\"False\",\"[0, 0]\",\"2\",\"[True, True, True]\"],\"Sequence number\":7"

/* Check cases 5 and 7. The gradient of a convolution is an op with its own model; the convolution is not a
 * row of the backward sheet. */
static void gradients_of_convolutions_move_to_the_backward_sheet(void **state)
{
    (void)state;
    trace_text t = new_trace();
    op_on(&t, 1, "aten::convolution", 1000, 50, CONVOLUTION);
    launch_from(&t, 1, "conv", 1010, 1100, 20, 7);
    op_on(&t, 2, "autograd::engine::evaluate_function: ConvolutionBackward0", 2000, 90,
          "\"Sequence number\":7");
    op_on(&t, 2, "aten::convolution_backward", 2005, 80, CONVOLUTION_BACKWARD);
    launch_from(&t, 2, "conv_bwd", 2010, 2100, 10, 8);
    perf_case c = begin_case(read_trace(&t, false), false, NULL);
    gt_table_list sheets = sheets_of(&c);
    expect_sheets(&sheets, "CONV_fwd CONV_bwd");
    expect_columns(sheets.items[0],
                   "name,param: bias,param: padding,param: groups,GFLOPS_first,Kernel Time (µs)_sum\n"
                   "aten::convolution,False,(1, 1),2,5.76e-05,20\n");
    expect_columns(sheets.items[1], "name,param: bias,GFLOPS_first,Kernel Time (µs)_sum\n"
                                    "aten::convolution_backward,True,0.000116,10\n");
    free_sheets(&sheets);
    end_case(&c);
}

/* ---- options ---- */

static void number_of_kernels_may_be_a_key(void **state)
{
    (void)state;
    trace_text t = new_trace();
    op_on(&t, 1, "aten::mm", 1000, 50, MM(4, 2, 8));
    launch_from(&t, 1, "gemm", 1010, 1100, 5, 7);
    op_on(&t, 1, "aten::mm", 1200, 50, MM(4, 2, 8));
    launch_from(&t, 1, "split", 1210, 1300, 5, 8);
    launch_from(&t, 1, "reduce", 1220, 1310, 5, 9);
    perf_case c = begin_case(read_trace(&t, false), false, NULL);
    gt_table_list sheets = chosen_sheets_of(&c, (gt_op_sheets_options){.by_num_kernels = true});
    expect_columns(sheets.items[0], "param: M,num_kernels,Kernel Time (µs)_sum\n4,2,10\n4,1,5\n");
    free_sheets(&sheets);
    sheets = sheets_of(&c);
    expect_columns(sheets.items[0], "param: M,name_count\n4,2\n");
    assert_int_equal(gt_table_find(sheets.items[0], GT_COL("num_kernels")), SIZE_MAX);
    free_sheets(&sheets);
    end_case(&c);
}

/* Three equal ops; a copy overlaps the second and the third. Their rows stay together, the longest first. */
static void ops_with_and_without_overlap_are_separate(void **state)
{
    (void)state;
    trace_text t = new_trace();
    op_on(&t, 1, "aten::mm", 1000, 50, MM(4, 2, 8)); /* uid 0 */
    launch_from(&t, 1, "gemm", 1010, 2000, 10, 7);
    op_on(&t, 1, "aten::mm", 1100, 50, MM(4, 2, 8)); /* uid 5 */
    launch_from(&t, 1, "gemm", 1110, 2100, 10, 8);
    op_on(&t, 1, "aten::mm", 1200, 50, MM(4, 2, 8)); /* uid 10 */
    launch_from(&t, 1, "gemm", 1210, 2200, 10, 9);
    op_on(&t, 1, "aten::mm", 1300, 50, MM(8, 2, 8)); /* uid 15: longer than each of them, shorter than all */
    launch_from(&t, 1, "gemm", 1310, 2300, 25, 10);
    call(&t, "cuda_runtime", "hipMemcpyAsync", 1400, 5, 11);
    gpu(&t, "gpu_memcpy", "copy", 2105, 100, 11, 1);
    arrow(&t, 11, 1);
    perf_case c = begin_case(read_trace(&t, false), true, NULL);
    gt_table_list sheets = sheets_of(&c);
    expect_sheets(&sheets, "GEMM GEMM_kl_overlap");
    expect_columns(sheets.items[0], "param: M,Kernel Time (µs)_sum\n4,30\n8,25\n");
    expect_columns(sheets.items[1],
                   "name,overlapping_kernel_names_first,param: M,overlap_pct_mean,overlap_pct_std,"
                   "Kernel Time (µs)_sum,UID_first\n"
                   "aten::mm,['copy'],4,0.5,0.0,20,5\n"
                   "aten::mm,,4,,,10,0\n"
                   "aten::mm,,8,,,25,15\n");
    assert_string_equal(text_cell(sheets.items[1], "trunc_overlapping_kernels_details", 0),
                        "[{'name': 'copy', 'stream': 1, 'mean_duration_us': 100.0}]");
    free_sheets(&sheets);
    end_case(&c);
}

static void recomputed_ops_are_separate(void **state)
{
    (void)state;
    size_t regions, marked;
    trace_text t = new_trace();
    op_on(&t, 100, "aten::mm", 1000, 50, MM(4, 2, 8));
    launch_from(&t, 100, "gemm", 1010, 2000, 10, 7);
    host(&t, "python_function", "torch/utils/checkpoint.py(900): recompute_fn", 1100, 100, "");
    op_on(&t, 100, "aten::mm", 1110, 50, MM(4, 2, 8));
    launch_from(&t, 100, "gemm", 1120, 2100, 10, 8);
    gt_pytorch_linked *linked = read_trace(&t, true);
    gt_pytorch_mark_recompute(linked, &regions, &marked);
    assert_int_equal(regions, 1);
    perf_case c = begin_case(linked, false, NULL);
    gt_table_list sheets = sheets_of(&c);
    expect_columns(sheets.items[0],
                   "name,is_recompute,name_count,UID_first\naten::mm,False,1,0\naten::mm,True,1,6\n");
    free_sheets(&sheets);
    end_case(&c);
}

static void expect_omitted(const char *args, const char *warning)
{
    trace_text t = new_trace();
    op_on(&t, 1, "aten::mm", 1000, 50, args);
    op_on(&t, 1, "aten::mm", 1100, 50, MM(4, 2, 8));
    launch_from(&t, 1, "gemm", 1110, 1200, 5, 7);
    perf_case c = begin_case(read_trace(&t, false), false, NULL);
    gt_log_to(keep_warning);
    last_warning[0] = 0;
    gt_table_list sheets = sheets_of(&c);
    gt_log_to(NULL);
    assert_string_equal(last_warning, warning);
    expect_columns(sheets.items[0], "name,name_count,UID_first\naten::mm,1,1\n");
    free_sheets(&sheets);
    end_case(&c);
}

static void expect_warning(trace_text *t, const char *warning)
{
    launch_from(t, 1, "k", 1010, 1500, 5, 7);
    perf_case c = begin_case(read_trace(t, false), false, NULL);
    gt_log_to(keep_warning);
    last_warning[0] = 0;
    gt_table_list sheets = sheets_of(&c);
    gt_log_to(NULL);
    assert_string_equal(last_warning, warning);
    free_sheets(&sheets);
    end_case(&c);
}

static void ops_that_models_cannot_handle_are_omitted(void **state)
{
    (void)state;
    expect_omitted("\"Input Dims\":[[4,8]],\"Input type\":[\"float\"]",
                   "1 of 2 ops are not in the sheets of their families: their models do not support their "
                   "arguments");
    expect_omitted(
        "", "1 of 2 ops are not in the sheets of their families: the trace does not have the shapes of "
            "their inputs (record_shapes=True)");
}

/* Old versions of PyTorch record shapes, but neither strides nor concrete inputs. */
static void missing_arguments_are_named(void **state)
{
    (void)state;
    static const char shapes[] =
        "\"Input Dims\":[[1,8,32,32],[16,8,3,3],[16],[],[],[],[],[],[]],\"Input type\":[\"float\",\"float\","
        "\"float\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\"]";
    static const char strides[] = ",\"Input Strides\":[[8192,1024,32,1],[72,9,3,1],[1],[],[],[],[],[],[]]";
    trace_text t = new_trace();
    char with_strides[600];
    snprintf(with_strides, sizeof with_strides, "%s%s", shapes, strides);
    op_on(&t, 1, "aten::convolution", 1000, 50, shapes);
    op_on(&t, 1, "aten::convolution", 1100, 50, with_strides);
    op_on(&t, 1, "aten::add_", 1200, 50, "\"Input Dims\":[[4],[4]],\"Input type\":[\"float\",\"float\"]");
    expect_warning(&t,
                   "3 of 3 ops are not in the sheets of their families: the trace does not have their Input "
                   "Strides (2) and Concrete Inputs (3), which newer versions of PyTorch record");

    t = new_trace();
    op_on(&t, 1, "aten::convolution", 1000, 50, with_strides);
    op_on(&t, 1, "aten::mm", 1100, 50, "");
    op_on(&t, 1, "aten::mm", 1200, 50, "\"Input Dims\":[[4,8]],\"Input type\":[\"float\"]");
    op_on(&t, 1, "aten::mm", 1300, 50, MM(4, 2, 8));
    expect_warning(
        &t, "3 of 4 ops are not in the sheets of their families: 1 because the trace does not have the "
            "shapes of their inputs (record_shapes=True); 1 because the trace does not have their "
            "Concrete Inputs (1), which newer versions of PyTorch record; 1 because their models do not "
            "support their arguments");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_arguments_are_named),
        cmocka_unit_test(equal_ops_are_one_row),
        cmocka_unit_test(rates_are_measured),
        cmocka_unit_test(a_row_limit_applies_to_each_sheet),
        cmocka_unit_test(a_gpu_has_a_roofline),
        cmocka_unit_test(ops_without_kernels_count),
        cmocka_unit_test(parameters_are_printed_by_column),
        cmocka_unit_test(gradients_are_rows_of_the_backward_sheet),
        cmocka_unit_test(gradients_of_convolutions_move_to_the_backward_sheet),
        cmocka_unit_test(number_of_kernels_may_be_a_key),
        cmocka_unit_test(ops_with_and_without_overlap_are_separate),
        cmocka_unit_test(recomputed_ops_are_separate),
        cmocka_unit_test(ops_that_models_cannot_handle_are_omitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
