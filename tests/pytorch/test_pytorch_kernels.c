/* Kernel summary, short kernels and their histogram: small traces computed by hand, and the summary of random
 * traces compared with simple loops. */
#include "pytorch_trace.h"

#include "analysis/pytorch/sheets.h"

#include <math.h>

#define FIGURES                                                                                              \
    "Kernel duration (µs)_sum,Kernel duration (µs)_count,Kernel duration (µs)_mean,Kernel duration "      \
    "(µs)_min,"                                                                                             \
    "Kernel duration (µs)_max,Percent of kernels time (%),Percent of total time (%)\n"
#define SUMMARY_HEAD             "Parent op category,Parent cpu_op,Kernel name,Kernel stream," FIGURES
#define SUMMARY_HEAD_WITHOUT_OPS "Parent op category,Kernel name,Kernel stream," FIGURES

#define SHORT_FIGURES                                                                                        \
    "Short Kernel duration (µs) sum,Short Kernel count,Short Kernel duration (µs) mean,"                   \
    "Short Kernel duration (µs) percent of total time\n"
#define SHORT_HEAD "Parent cpu_op,Input dims,Input strides,Concrete Inputs,Kernel name," SHORT_FIGURES

static gt_table *summary_of(const gt_linked_view *trace, double total_ms)
{
    gt_pytorch_kernels kernels = gt_pytorch_kernels_find(trace, NULL);
    gt_launchers launchers = gt_launchers_find(trace);
    gt_table *summary = gt_pytorch_kernel_summary(&kernels, &launchers, total_ms);
    assert_string_equal(summary->name, "kernel_summary");
    gt_launchers_free(&launchers);
    gt_pytorch_kernels_free(&kernels);
    return summary;
}

static void expect_summary(trace_text *t, double total_ms, const char *expected)
{
    gt_pytorch_linked *linked = read_trace(t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_table *summary = summary_of(trace, total_ms);
    expect_csv(summary, expected);
    gt_table_free(summary);
    gt_pytorch_linked_free(linked);
}

static const gt_pytorch_short_options below_10 = {.threshold_us = 10, .bins = 4};

static void expect_short(trace_text *t, gt_pytorch_short_options options, double total_ms,
                         const char *expected)
{
    gt_pytorch_linked *linked = read_trace(t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_pytorch_kernels kernels = gt_pytorch_kernels_find(trace, NULL);
    gt_table *summary = gt_pytorch_short_kernels_summary(&kernels, &options, total_ms);
    assert_string_equal(summary->name, "short_kernels_summary");
    expect_csv(summary, expected);
    gt_table_free(summary);
    gt_pytorch_kernels_free(&kernels);
    gt_pytorch_linked_free(linked);
}

static gt_table *histogram_of(const gt_linked_view *trace, gt_pytorch_short_options options)
{
    gt_error error = {""};
    gt_pytorch_kernels kernels = gt_pytorch_kernels_find(trace, NULL);
    gt_table *histogram = gt_pytorch_short_kernel_histogram(&kernels, &options, &error);
    assert_true(histogram || error.text[0]);
    gt_pytorch_kernels_free(&kernels);
    return histogram;
}

/* ---- kernel_summary ---- */

static void two_kernels(trace_text *t, double first_dur)
{
    *t = new_trace();
    cpu(t, "aten::linear", 1000, 100), cpu(t, "aten::mm", 1010, 50);
    launch(t, "gemm_k2", 1020, 5, 1100, 20, 7), launch(t, "gemm_k", 1030, 5, 1140, first_dur, 8);
}

static void one_float_makes_the_column_floats(void **unused)
{
    (void)unused;
    trace_text t;
    two_kernels(&t, 30);
    expect_summary(&t, 0.06,
                   SUMMARY_HEAD "GEMM,aten::mm,gemm_k,0,30,1,30.0,30,30,60.0,50.0\n"
                                "GEMM,aten::mm,gemm_k2,0,20,1,20.0,20,20,40.0,33.33333333333333\n");
    two_kernels(&t, 30.25);
    expect_summary(&t, 0.06,
                   SUMMARY_HEAD
                   "GEMM,aten::mm,gemm_k,0,30.25,1,30.25,30.25,30.25,60.19900497512438,50.416666666666664\n"
                   "GEMM,aten::mm,gemm_k2,0,20.0,1,20.0,20.0,20.0,39.800995024875625,33.33333333333333\n");
}

static trace_text graph_launch(void)
{
    trace_text t = new_trace();
    cpu(&t, "aten::x", 1000, 10), call(&t, "cuda_runtime", "hipGraphLaunch", 1050, 10, 50);
    gpu(&t, "kernel", "g1", 1100, 10, 50, 0), gpu(&t, "kernel", "g2", 1115, 10, 50, 1);
    return t;
}

static void kernels_of_a_graph_have_no_op(void **unused)
{
    (void)unused;
    trace_text t = graph_launch();
    expect_summary(&t, 0.025,
                   SUMMARY_HEAD_WITHOUT_OPS "graph,g1,0,10,1,10.0,10,10,50.0,40.0\n"
                                            "graph,g2,1,10,1,10.0,10,10,50.0,40.0\n");
}

static void a_launch_outside_of_ops_is_shown_by_its_call(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "aten::mm", 1000, 50), launch(&t, "gemm", 1010, 5, 1100, 10, 1);
    launch(&t, "bare", 1060, 5, 1120, 30, 2);
    call(&t, "cuda_runtime", "cudaGraphLaunch", 1080, 5, 3), gpu(&t, "kernel", "in_graph", 1200, 20, 3, 0);
    call(&t, "cuda_runtime", "some_CUDAGraph_thing", 1090, 5, 4), gpu(&t, "kernel", "other", 1250, 4, 4, 0);
    arrow(&t, 4, 0);
    expect_summary(&t, 0.1,
                   SUMMARY_HEAD "runtime,hipLaunchKernel,bare,0,30,1,30.0,30,30,46.875,30.0\n"
                                "graph,cudaGraphLaunch,in_graph,0,20,1,20.0,20,20,31.25,20.0\n"
                                "GEMM,aten::mm,gemm,0,10,1,10.0,10,10,15.625,10.0\n"
                                "graph,some_CUDAGraph_thing,other,0,4,1,4.0,4,4,6.25,4.0\n");
}

static void execute_is_an_op_here(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "conv_bn_fused", 1000, 100), cpu(&t, "execute", 1010, 50);
    launch(&t, "void at::native::reduce_kernel", 1020, 5, 1200, 5, 7);
    expect_summary(&t, 0.005,
                   SUMMARY_HEAD "other,execute,void at::native::reduce_kernel,0,5,1,5.0,5,5,100.0,100.0\n");
}

static trace_text one_linked_and_one_not(void)
{
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100), launch(&t, "linked", 1010, 5, 1200, 10, 1);
    gpu(&t, "kernel", "unlinked", 1300, 10, 2, 0);
    return t;
}

static void kernels_without_a_launch_are_listed(void **unused)
{
    (void)unused;
    trace_text t = one_linked_and_one_not();
    expect_summary(&t, 0.01,
                   SUMMARY_HEAD "other,op,linked,0,10,1,10.0,10,10,50.0,100.0\n"
                                ",,unlinked,0,10,1,10.0,10,10,50.0,100.0\n");
}

/* The second launch in the file is the first to run. */
static void the_first_kernel_to_run_decides_the_category(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "my::op", 1000, 100);
    launch(&t, "void at::native::elementwise_kernel", 1010, 5, 1300, 10, 1);
    launch(&t, "void at::native::reduce_kernel", 1020, 5, 1200, 20, 2);
    launch(&t, "ncclDevKernel", 1030, 5, 1100, 5, 3); /* communication does not decide the category */
    expect_summary(&t, 0.1,
                   SUMMARY_HEAD
                   "reduce,my::op,void at::native::reduce_kernel,0,20,1,20.0,20,20,57.14285714285714,20.0\n"
                   "reduce,my::op,void at::native::elementwise_kernel,0,10,1,10.0,10,10,"
                   "28.57142857142857,10.0\n"
                   "reduce,my::op,ncclDevKernel,0,5,1,5.0,5,5,14.285714285714285,5.0\n");
}

static void a_trace_with_communication_only(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "record_param_comms", 1000, 100), launch(&t, "ncclDevKernel_Generic", 1010, 5, 1200, 40, 1);
    expect_summary(
        &t, 0.04,
        SUMMARY_HEAD
        "record_param_comms,record_param_comms,ncclDevKernel_Generic,0,40,1,40.0,40,40,100.0,100.0\n");
}

static void copies_and_memsets_are_not_kernels(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100), launch_on(&t, 0, "gpu_memcpy", "Memcpy", 1010, 1200, 10, 1);
    launch_on(&t, 0, "gpu_memset", "Memset", 1020, 1300, 10, 2);
    expect_summary(&t, 0.11, SUMMARY_HEAD_WITHOUT_OPS);
}

static void kernels_of_zero_length_have_no_percentage(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100), launch(&t, "a", 1010, 5, 1200, 0, 1), launch(&t, "a", 1020, 5, 1200, 0, 2);
    expect_summary(&t, 0, SUMMARY_HEAD "other,op,a,0,0,2,0.0,0,0,,\n");
}

static void a_trace_without_host_events(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    launch(&t, "k", 1010, 5, 1200, 30, 1), launch(&t, "k", 1020, 5, 1300, 20, 2);
    gpu(&t, "kernel", "unlinked", 1400, 50, 3, 0);
    expect_summary(&t, 0.1,
                   SUMMARY_HEAD_WITHOUT_OPS "runtime,k,0,50,2,25.0,20,30,50.0,50.0\n"
                                            ",unlinked,0,50,1,50.0,50,50,50.0,50.0\n");
}

static void stream_kernel(trace_text *t, const char *args, int at)
{
    add_event(t,
              "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":0,\"ts\":%d,\"dur\":1,"
              "\"args\":{%s}}",
              at, args);
}

static void a_missing_stream_makes_the_others_floats(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    stream_kernel(&t, "\"stream\":7", 1), stream_kernel(&t, "\"stream\":null", 2), stream_kernel(&t, "", 3);
    stream_kernel(&t, "\"stream\":7", 4), stream_kernel(&t, "\"stream\":7", 5);
    expect_summary(&t, 0.005,
                   SUMMARY_HEAD_WITHOUT_OPS ",k,7.0,3,3,1.0,1,1,60.0,60.0\n"
                                            ",k,,2,2,1.0,1,1,40.0,40.0\n");
}

static void streams_may_have_names(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    stream_kernel(&t, "\"stream\":\"main\"", 1), stream_kernel(&t, "\"stream\":2", 2);
    stream_kernel(&t, "\"stream\":\"main\"", 3);
    expect_summary(&t, 0.003,
                   SUMMARY_HEAD_WITHOUT_OPS ",k,main,2,2,1.0,1,1,66.66666666666666,66.66666666666666\n"
                                            ",k,2,1,1,1.0,1,1,33.33333333333333,33.33333333333333\n");
    t = new_trace();
    stream_kernel(&t, "\"stream\":1.5", 1), stream_kernel(&t, "\"stream\":2", 2);
    expect_summary(&t, 0.002,
                   SUMMARY_HEAD_WITHOUT_OPS ",k,1.5,1,1,1.0,1,1,50.0,50.0\n"
                                            ",k,2.0,1,1,1.0,1,1,50.0,50.0\n");
}

/* ---- short kernels ---- */

static void op_with(trace_text *t, const char *name, int start, const char *dims, const char *concrete)
{
    char args[256];
    snprintf(args, sizeof args, "\"Input Dims\":%s,\"Input Strides\":[[2,1],[]],\"Concrete Inputs\":%s", dims,
             concrete);
    host(t, "cpu_op", name, start, 50, args);
}

static trace_text short_and_long(void)
{
    trace_text t = new_trace();
    op_with(&t, "aten::add", 1000, "[[4, 2],[]]", "[\"\", \"it's\"]");
    launch(&t, "add_k", 1001, 5, 2000, 3, 1), launch(&t, "add_k", 1007, 5, 2010, 4, 2);
    op_with(&t, "aten::add", 1100, "[[8,2],[]]", "[\"\",\"it's\"]");
    launch(&t, "add_k", 1101, 5, 2020, 9, 3), launch(&t, "long_k", 1107, 5, 2030, 10, 4);
    host(&t, "cpu_op", "no_shapes", 1200, 50, ""), launch(&t, "lost", 1201, 5, 2040, 8, 5);
    launch(&t, "bare", 1300, 5, 2050, 7, 6);
    op_with(&t, "aten::mul", 1400, "[[1]]", "[]");
    launch(&t, "m1", 1401, 5, 2060, 3, 7), launch(&t, "m1", 1407, 5, 2065, 4, 8),
        launch(&t, "m0", 1413, 5, 2070, 7, 9);
    return t;
}

static void short_kernels_are_grouped_by_op_and_arguments(void **unused)
{
    (void)unused;
    static const char expected[] =
        SHORT_HEAD "aten::add,((8, 2), ()),((2, 1), ()),('', \"it's\"),add_k,9,1,9.0,9.0\n"
                   "aten::mul,((1,),),((2, 1), ()),(),m0,7,1,7.0,7.000000000000001\n"
                   "aten::add,((4, 2), ()),((2, 1), ()),('', \"it's\"),add_k,7,2,3.5,7.000000000000001\n"
                   "aten::mul,((1,),),((2, 1), ()),(),m1,7,2,3.5,7.000000000000001\n";
    trace_text t = short_and_long();
    expect_short(&t, below_10, 0.1, expected);
}

static void only_the_longest_rows_are_kept(void **unused)
{
    (void)unused;
    trace_text t = short_and_long();
    expect_short(&t, (gt_pytorch_short_options){.threshold_us = 10, .bins = 4, .limited = true, .topk = 1},
                 0.1, SHORT_HEAD "aten::add,((8, 2), ()),((2, 1), ()),('', \"it's\"),add_k,9,1,9.0,9.0\n");
    t = short_and_long();
    expect_short(&t, (gt_pytorch_short_options){.threshold_us = 4, .bins = 4, .limited = true, .topk = 9},
                 0.1,
                 SHORT_HEAD "aten::add,((4, 2), ()),((2, 1), ()),('', \"it's\"),add_k,3,1,3.0,3.0\n"
                            "aten::mul,((1,),),((2, 1), ()),(),m1,3,1,3.0,3.0\n");
}

static void only_linked_kernels_have_an_op(void **unused)
{
    (void)unused;
    trace_text t = one_linked_and_one_not();
    expect_short(&t, (gt_pytorch_short_options){.threshold_us = 50, .bins = 100}, 0.01,
                 SHORT_HEAD "op,((4,),),((1,),),('',),linked,10,1,10.0,100.0\n");
}

static void without_short_kernels_there_are_no_columns(void **unused)
{
    (void)unused;
    trace_text t = one_linked_and_one_not();
    expect_short(&t, below_10, 0.01, "\n");
}

static void without_ops_only_the_header_is_written(void **unused)
{
    (void)unused;
    trace_text t = graph_launch();
    expect_short(&t, (gt_pytorch_short_options){.threshold_us = 50, .bins = 4}, 0.025, SHORT_HEAD);
}

static void without_shapes_two_header_lines_are_written(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    host(&t, "cpu_op", "no_shapes", 1200, 50, ""), launch(&t, "lost", 1201, 5, 2040, 8, 5);
    expect_short(&t, (gt_pytorch_short_options){.threshold_us = 10, .bins = 4, .limited = true}, 0.008,
                 "Kernel duration (µs),Kernel duration (µs),Kernel duration (µs)\nsum,count,mean\n");
}

static void short_kernels_without_host_events_have_only_names(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    launch(&t, "a", 1010, 5, 1200, 3, 1), launch(&t, "b", 1020, 5, 1300, 2.5, 2),
        launch(&t, "b", 1030, 5, 1310, 2.5, 3);
    gpu(&t, "kernel", "b", 1400, 20, 4, 0);
    expect_short(&t, below_10, 0.1,
                 "Kernel name," SHORT_FIGURES "b,5.0,2,2.5,5.0\n"
                 "a,3.0,1,3.0,3.0\n");
}

/* ---- histogram ---- */

static void equal_durations_are_in_the_middle_bin(void **unused)
{
    (void)unused;
    trace_text t = one_linked_and_one_not();
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_table *histogram = histogram_of(trace, (gt_pytorch_short_options){.threshold_us = 50, .bins = 100});
    assert_int_equal(histogram->row_count, 100);
    assert_true(histogram->columns[0].floats[0] == 9.5 && histogram->columns[1].floats[99] == 10.5);
    for (size_t bin = 0; bin < 100; bin++)
        assert_int_equal(histogram->columns[2].ints[bin], bin == 50 ? 2 : 0);
    assert_true(histogram->columns[0].floats[50] == 10.0 && histogram->columns[1].floats[50] == 10.01);
    gt_table_free(histogram);
    gt_pytorch_linked_free(linked);
}

static void the_histogram_is_of_short_kernels_linked_or_not(void **unused)
{
    (void)unused;
    static const double durs[] = {1, 2, 10, 2.5, 4, 9};
    trace_text t = new_trace();
    for (int i = 0; i < 6; i++) gpu(&t, "kernel", "k", 1000 + 20 * i, durs[i], i, 0);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_table *histogram = histogram_of(trace, below_10);
    expect_csv(histogram, "bin_start,bin_end,count\n1.0,3.0,3\n3.0,5.0,1\n5.0,7.0,0\n7.0,9.0,1\n");
    gt_table_free(histogram);
    histogram = histogram_of(trace, (gt_pytorch_short_options){.threshold_us = 1, .bins = 4});
    expect_csv(histogram, "bin_start,bin_end,count\n");
    gt_table_free(histogram);
    assert_null(histogram_of(trace, (gt_pytorch_short_options){.threshold_us = 10, .bins = 0}));
    gt_pytorch_linked_free(linked);
}

/* ---- many ---- */

enum { NAMES = 5, OPS = 3, KERNELS = 400 };

static uint32_t below(uint32_t limit)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

static void random_traces_agree_with_simple_loops(void **unused)
{
    (void)unused;
    static const char *const ops[OPS] = {"aten::add", "aten::mm", "aten::sum"};
    static const char *const names[NAMES] = {"k0", "k1", "k2", "k3", "k4"};
    double sums[OPS][NAMES][2] = {0}, all = 0; /* by op, kernel and stream */
    int64_t counts[OPS][NAMES][2] = {0};
    size_t groups = 0;
    trace_text t = new_trace();
    for (int i = 0; i < KERNELS; i++) {
        uint32_t op = below(OPS), name = below(NAMES), stream = below(2);
        double dur = 1 + 0.25 * below(4000); /* quarters add up exactly */
        cpu(&t, ops[op], 100 * i, 50);
        launch_on(&t, (int)stream, "kernel", names[name], 100 * i + 1, 1e6 + 2000 * i, dur, i + 1);
        groups += !counts[op][name][stream]++;
        sums[op][name][stream] += dur, all += dur;
    }
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_table *summary = summary_of(trace, 1000);
    assert_int_equal(summary->row_count, groups);
    const double *sum = gt_table_column(summary, GT_COL("Kernel duration (µs)_sum"))->floats;
    for (size_t row = 0; row < groups; row++) {
        assert_true(!row || sum[row] <= sum[row - 1]);
        const char *op = gt_interner_get(summary->strings, summary->columns[1].texts[row]).bytes;
        const char *name = gt_interner_get(summary->strings, summary->columns[2].texts[row]).bytes;
        size_t o = 0;
        while (strcmp(ops[o], op) != 0) o++;
        size_t stream = (size_t)summary->columns[3].ints[row], n = (size_t)(name[1] - '0');
        assert_true(sum[row] == sums[o][n][stream]);
        assert_int_equal(summary->columns[5].ints[row], counts[o][n][stream]);
        double share = gt_table_column(summary, GT_COL("Percent of kernels time (%)"))->floats[row];
        assert_true(fabs(share - 100 * sums[o][n][stream] / all) < 1e-9);
    }
    gt_table_free(summary);
    gt_pytorch_linked_free(linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_float_makes_the_column_floats),
        cmocka_unit_test(kernels_of_a_graph_have_no_op),
        cmocka_unit_test(a_launch_outside_of_ops_is_shown_by_its_call),
        cmocka_unit_test(execute_is_an_op_here),
        cmocka_unit_test(kernels_without_a_launch_are_listed),
        cmocka_unit_test(the_first_kernel_to_run_decides_the_category),
        cmocka_unit_test(a_trace_with_communication_only),
        cmocka_unit_test(copies_and_memsets_are_not_kernels),
        cmocka_unit_test(kernels_of_zero_length_have_no_percentage),
        cmocka_unit_test(a_trace_without_host_events),
        cmocka_unit_test(a_missing_stream_makes_the_others_floats),
        cmocka_unit_test(streams_may_have_names),
        cmocka_unit_test(short_kernels_are_grouped_by_op_and_arguments),
        cmocka_unit_test(only_the_longest_rows_are_kept),
        cmocka_unit_test(only_linked_kernels_have_an_op),
        cmocka_unit_test(without_short_kernels_there_are_no_columns),
        cmocka_unit_test(without_ops_only_the_header_is_written),
        cmocka_unit_test(without_shapes_two_header_lines_are_written),
        cmocka_unit_test(short_kernels_without_host_events_have_only_names),
        cmocka_unit_test(equal_durations_are_in_the_middle_bin),
        cmocka_unit_test(the_histogram_is_of_short_kernels_linked_or_not),
        cmocka_unit_test(random_traces_agree_with_simple_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
