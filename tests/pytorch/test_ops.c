/* The ops sheets of small traces, as CSV. Most traces and values are check cases of the specification; the
 * others were computed by hand. */
#include "output_help.h"
#include "pytorch_trace.h"

#include "analysis/pytorch/sheets.h"
#include "output/output.h"

/* ---- traces ---- */

/* With the names of process and thread; the first event after these has the uid 3. */
static trace_text named_trace(void)
{
    trace_text t = new_trace();
    add_event(
        &t, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":100,\"tid\":0,\"args\":{\"name\":\"python3\"}}");
    add_event(
        &t, "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":100,\"tid\":0,\"args\":{\"labels\":\"CPU\"}}");
    add_event(&t, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":100,\"tid\":100,"
                  "\"args\":{\"name\":\"thread 100 (python3)\"}}");
    return t;
}

typedef struct sheets {
    gt_pytorch_linked *trace;
    gt_launchers launchers;
    gt_ops *ops;
} sheets;

static void read_sheets(sheets *s, trace_text *t, bool recompute)
{
    size_t regions, marked;
    s->trace = read_trace(t, recompute);
    if (recompute) gt_pytorch_mark_recompute(s->trace, &regions, &marked);
    s->launchers = gt_launchers_find(gt_pytorch_view(s->trace));
    s->ops = gt_ops_new(gt_pytorch_view(s->trace), &s->launchers, (gt_ops_options){0});
}

static void free_sheets(sheets *s)
{
    gt_ops_free(s->ops);
    gt_launchers_free(&s->launchers);
    gt_pytorch_linked_free(s->trace);
}

/* Frees the table. */
static void expect_sheet(gt_table *table, const char *name, const char *expected)
{
    gt_error error;
    gt_output *output = gt_output_new();
    assert_string_equal(table->name, name);
    assert_true(gt_output_csvs(output, in_scratch("sheets"), &table, 1, &error));
    assert_true(gt_output_commit(output, &error));
    char *text = slurp(gt_output_file_path(output, 0));
    assert_string_equal(text, expected);
    free(text);
    gt_output_free(output);
    gt_table_free(table);
}

static const gt_unique_args_options plain = {.topk = GT_ALL_OPS};

#define SHARES      "Percentage (%),Cumulative Percentage (%)\n"
#define BY_CATEGORY "op category,Count,total_direct_kernel_time_ms," SHARES
#define BY_NAME                                                                                              \
    "name,total_direct_kernel_time_sum,total_subtree_kernel_time_sum,total_direct_kernel_time_ms,"           \
    "total_subtree_kernel_time_ms,Count,Categories," SHARES
#define KEYS_BEFORE                                                                                          \
    "op category,process_name,process_label,thread_name,Input Dims,Input type,Input Strides,Concrete "       \
    "Inputs,"
#define TIMES                                                                                                \
    "total_direct_kernel_time_mean,total_subtree_kernel_time_mean,total_direct_kernel_time_median,"          \
    "total_subtree_kernel_time_median,total_direct_kernel_time_std,total_subtree_kernel_time_std,"           \
    "total_direct_kernel_time_min,total_subtree_kernel_time_min,total_direct_kernel_time_max,"               \
    "total_subtree_kernel_time_max,total_direct_kernel_time_sum,total_subtree_kernel_time_sum,ex_UID,"       \
    "kernel_details_summary,trunc_kernel_details,"
#define BY_ARGS "name," KEYS_BEFORE "operation_count," TIMES SHARES

/* One kernel that ran once, in a cell. */
#define DETAIL(name, stream, whole, real)                                                                    \
    "{'name': '" name "', 'stream': " stream ", 'count': 1, 'total_duration_us': " whole                     \
    ", 'mean_duration_us': " real ", 'median_duration_us': " real                                            \
    ", 'std_dev_duration_us': 0.0, 'min_duration_us': " whole ", 'max_duration_us': " whole "}"
#define TRUNC(name, stream, whole, real)                                                                     \
    "{'name': '" name "', 'stream': " stream ", 'mean_duration_us': " real "}"
/* The two cells of details of one kernel, and of two. */
#define CELLS(...)       "\"[" DETAIL(__VA_ARGS__) "]\",\"[" TRUNC(__VA_ARGS__) "]\","
#define CELLS_OF_2(a, b) "\"[" DETAIL a ", " DETAIL b "]\",\"[" TRUNC a ", " TRUNC b "]\","
/* The cells of a launcher that ran once: times and ex_UID. */
#define ONCE(whole, real, uid)                                                                               \
    real "," real "," real "," real ",,," whole "," whole "," whole "," whole "," whole "," whole "," uid ","
#define ARGS  "\"((4,),)\",\"('float',)\",\"((1,),)\",\"('',)\","
#define NAMED "python3,CPU,thread 100 (python3),"

/* ---- check cases ---- */

static trace_text two_kernels_of_one_op(double first_dur_us)
{
    trace_text t = named_trace();
    cpu(&t, "aten::linear", 1000, 100);
    host(&t, "cpu_op", "aten::mm", 1010, 50,
         "\"Input Dims\":[[4,8],[8,2]],\"Input type\":[\"float\",\"float\"],\"Input Strides\":[[8,1],[2,1]],"
         "\"Concrete Inputs\":[\"\",\"\"]");
    launch(&t, "gemm_k", 1020, 5, 1100, first_dur_us, 7);
    launch(&t, "gemm_k2", 1030, 5, 1140, 20, 8);
    return t;
}

#define MM_ARGS "\"((4, 8), (8, 2))\",\"('float', 'float')\",\"((8, 1), (2, 1))\",\"('', '')\","
#define MM_KEYS "aten::mm,GEMM," NAMED MM_ARGS

/* clang-format off */
static void integers_stay_integers(void **unused)
{
    (void)unused;
    trace_text t = two_kernels_of_one_op(30);
    sheets s;
    read_sheets(&s, &t, false);
    expect_sheet(gt_ops_summary_by_category(s.ops), "ops_summary_by_category",
                 BY_CATEGORY
                 "GEMM,1,0.05,100.0,100.0\n");
    expect_sheet(gt_ops_summary(s.ops), "ops_summary",
                 BY_NAME
                 "aten::mm,50,50,0.05,0.05,1,['GEMM'],100.0,100.0\n");
    expect_sheet(gt_ops_unique_args(s.ops, plain), "ops_unique_args",
                 BY_ARGS
                 MM_KEYS "1," ONCE("50", "50.0", "4")
                 CELLS_OF_2(("gemm_k2", "0", "20", "20.0"), ("gemm_k", "0", "30", "30.0")) "100.0,100.0\n");
    free_sheets(&s);
}
/* clang-format on */

/* clang-format off */
static void one_float_makes_its_column_float(void **unused)
{
    (void)unused;
    trace_text t = two_kernels_of_one_op(30.25);
    sheets s;
    read_sheets(&s, &t, false);
    expect_sheet(gt_ops_summary(s.ops), "ops_summary",
                 BY_NAME
                 "aten::mm,50.25,50.25,0.05025,0.05025,1,['GEMM'],100.0,100.0\n");
    expect_sheet(gt_ops_unique_args(s.ops, plain), "ops_unique_args",
                 BY_ARGS
                 MM_KEYS "1," ONCE("50.25", "50.25", "4")
                 CELLS_OF_2(("gemm_k2", "0", "20", "20.0"), ("gemm_k", "0", "30.25", "30.25")) "100.0,100.0\n");
    free_sheets(&s);
}
/* clang-format on */

static void expect_names(trace_text *t, const char *rows)
{
    sheets s;
    read_sheets(&s, t, false);
    char *expected = gt_format("%s%s", BY_NAME, rows);
    expect_sheet(gt_ops_summary(s.ops), "ops_summary", expected);
    free(expected);
    free_sheets(&s);
}

static void ops_that_end_too_late_do_not_launch(void **unused)
{
    (void)unused;
    static const struct {
        bool with_parent;
        double dur;
        const char *launcher;
    } cases[] = {{true, 10.3, "P"}, {true, 12, "hipLaunchKernel"}, {false, 10.3, "hipLaunchKernel"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trace_text t = named_trace();
        if (cases[i].with_parent) cpu(&t, "P", 1000, 100);
        cpu(&t, "X", 1010, cases[i].dur);
        launch(&t, "kk", 1020, 5, 1200, 10, 7);
        char *row = gt_format("%s,10,10,0.01,0.01,1,['other'],100.0,100.0\n", cases[i].launcher);
        expect_names(&t, row);
        free(row);
    }
}

static void communication_counts_only_in_the_subtree(void **unused)
{
    (void)unused;
    trace_text t = named_trace();
    cpu(&t, "aten::relu", 1000, 100);
    launch_on(&t, 0, "kernel", "relu_k", 1010, 1200, 100, 1);
    launch_on(&t, 1, "kernel", "ncclDevKernel_AllReduce", 1020, 1250, 100, 2);
    launch_on(&t, 2, "gpu_memcpy", "Memcpy DtoD", 1030, 1340, 30, 3);
    launch_on(&t, 0, "gpu_memset", "fill", 1040, 1400, 10, 4);
    expect_names(&t, "aten::relu,140,180,0.14,0.18,1,['other'],100.0,100.0\n");
}

static void with_equal_starts_the_first_op_is_the_outer_one(void **unused)
{
    (void)unused;
    trace_text t = named_trace();
    cpu(&t, "child", 1000, 10), cpu(&t, "parent", 1000, 100);
    launch(&t, "a", 1002, 5, 1200, 5, 7), launch(&t, "b", 1020, 5, 1300, 5, 8);
    expect_names(&t, "child,5,5,0.005,0.005,1,['other'],50.0,50.0\n"
                     "hipLaunchKernel,5,5,0.005,0.005,1,['other'],50.0,100.0\n");
    t = named_trace();
    cpu(&t, "parent", 1000, 100), cpu(&t, "child", 1000, 10);
    launch(&t, "a", 1002, 5, 1200, 5, 7), launch(&t, "b", 1020, 5, 1300, 5, 8);
    /* Both start at 1000, so their first kernels decide the order: the child's is a. */
    expect_names(&t, "child,5,5,0.005,0.005,1,['other'],50.0,50.0\n"
                     "parent,5,10,0.005,0.01,1,['other'],50.0,100.0\n");
}

/* clang-format off */
static void a_graph_launch_is_its_own_launcher(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "aten::x", 1000, 10);
    call(&t, "cuda_runtime", "hipGraphLaunch", 1020, 5, 50);
    gpu(&t, "kernel", "g1", 1100, 10, 50, 0);
    gpu(&t, "kernel", "g2", 1115, 10, 50, 1);
    sheets s;
    read_sheets(&s, &t, false);
    expect_sheet(gt_ops_summary(s.ops), "ops_summary",
                 BY_NAME
                 "hipGraphLaunch,20,20,0.02,0.02,1,['other'],100.0,100.0\n");
    expect_sheet(gt_ops_unique_args(s.ops, plain), "ops_unique_args",
                 BY_ARGS
                 "hipGraphLaunch,other,Unknown,Unknown,Unknown,,,,,1," ONCE("20", "20.0", "1")
                 CELLS_OF_2(("g1", "0", "10", "10.0"), ("g2", "1", "10", "10.0")) "100.0,100.0\n");
    free_sheets(&s);
}
/* clang-format on */

static void the_inner_one_of_nested_calls_launches(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "foo::bar", 1000, 100);
    call(&t, "cuda_runtime", "cudaLaunchKernel", 1010, 50, 6);
    call(&t, "cuda_driver", "cuLaunchKernel", 1020, 10, 7);
    gpu(&t, "kernel", "kern", 1200, 5, 7, 0);
    arrow(&t, 7, 0);
    expect_names(&t, "cuLaunchKernel,5,5,0.005,0.005,1,['other'],100.0,100.0\n");
    t = new_trace();
    cpu(&t, "foo::bar", 1000, 100);
    call(&t, "cuda_driver", "cuLaunchKernel", 1020, 10, 7);
    gpu(&t, "kernel", "kern", 1200, 5, 7, 0);
    arrow(&t, 7, 0);
    expect_names(&t, "foo::bar,5,5,0.005,0.005,1,['other'],100.0,100.0\n");
}

static void execute_ops_are_skipped(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "conv_bn_fused", 1000, 100), cpu(&t, "execute", 1010, 80);
    launch(&t, "conv", 1020, 5, 1200, 5, 7);
    expect_names(&t, "conv_bn_fused,5,5,0.005,0.005,1,['other'],100.0,100.0\n");
}

/* clang-format off */
static void strings_are_quoted_like_python_and_pandas(void **unused)
{
    (void)unused;
    trace_text t = named_trace();
    host(&t, "cpu_op", "op\\\"q, x", 1000, 100,
         "\"Input Dims\":[[],[]],\"Input type\":[\"\",\"\"],\"Input Strides\":[],"
         "\"Concrete Inputs\":[\"it's\",\"say \\\"hi\\\"\",\"[1, 2]\"]");
    launch(&t, "new\\nline", 1010, 5, 1200, 5, 7);
    sheets s;
    read_sheets(&s, &t, false);
    expect_sheet(gt_ops_unique_args(s.ops, plain), "ops_unique_args",
                 BY_ARGS
                 "\"op\"\"q, x\",other," NAMED "\"((), ())\",\"('', '')\",(),"
                 "\"(\"\"it's\"\", 'say \"\"hi\"\"', '[1, 2]')\",1," ONCE("5", "5.0", "3")
                 CELLS("new\\nline", "0", "5", "5.0") "100.0,100.0\n");
    free_sheets(&s);
}
/* clang-format on */

/* ---- groups ---- */

/* aten::add three times: twice with one kernel of 10 and 30 µs, once with two of 5 µs each; aten::mul once,
 * with the first kernel. */
static trace_text ops_that_are_alike(void)
{
    trace_text t = named_trace();
    cpu(&t, "aten::mul", 500, 100), launch(&t, "mul_k", 510, 5, 1000, 20, 1); /* uid 3 */
    cpu(&t, "aten::add", 1000, 100), launch(&t, "add_k", 1010, 5, 1200, 10, 2);
    cpu(&t, "aten::add", 2000, 100), launch(&t, "add_k", 2010, 5, 2200, 30, 3); /* uid 13 */
    cpu(&t, "aten::add", 3000, 100), launch(&t, "add_a", 3010, 5, 3200, 5, 4);
    launch(&t, "add_b", 3020, 5, 3210, 5, 5);
    return t;
}

static void ops_are_grouped_by_name_and_category(void **unused)
{
    (void)unused;
    trace_text t = ops_that_are_alike();
    sheets s;
    read_sheets(&s, &t, false);
    expect_sheet(gt_ops_summary_by_category(s.ops), "ops_summary_by_category",
                 BY_CATEGORY "elementwise,4,0.07,100.0,100.0\n");
    expect_sheet(gt_ops_summary(s.ops), "ops_summary",
                 BY_NAME "aten::add,50,50,0.05,0.05,3,['elementwise'],71.42857142857143,71.42857142857143\n"
                         "aten::mul,20,20,0.02,0.02,1,['elementwise'],28.57142857142857,100.0\n");
    free_sheets(&s);
}

#define ADD_KEYS "aten::add,elementwise," NAMED ARGS
#define MUL_KEYS "aten::mul,elementwise," NAMED ARGS
#define MUL_ONCE ONCE("20", "20.0", "3") CELLS("mul_k", "0", "20", "20.0")

/* mean 50 / 3, median 10; squared deviations 400/9, 1600/9, 400/9: the sum 800/3, over 2, its root. Lists of
 * another length than the first are ignored: add_k has 10 and 30. */
#define ADD_TIMES                                                                                            \
    "16.666666666666668,16.666666666666668,10.0,10.0,11.547005383792516,11.547005383792516,10,10,30,30,50,"  \
    "50,8,"
#define ADD_CELLS                                                                                            \
    "\"[{'name': 'add_k', 'stream': 0, 'count': 2, 'total_duration_us': 40, 'mean_duration_us': 20.0, "      \
    "'median_duration_us': 20.0, 'std_dev_duration_us': 10.0, 'min_duration_us': 10, "                       \
    "'max_duration_us': 30}]\",\"[" TRUNC("add_k", "0", , "20.0") "]\","

/* clang-format off */
static void ops_are_grouped_by_arguments(void **unused)
{
    (void)unused;
    trace_text t = ops_that_are_alike();
    sheets s;
    read_sheets(&s, &t, false);
    expect_sheet(gt_ops_unique_args(s.ops, plain), "ops_unique_args",
                 BY_ARGS
                 ADD_KEYS "3," ADD_TIMES ADD_CELLS "71.42857142857143,71.42857142857143\n"
                 MUL_KEYS "1," MUL_ONCE "28.57142857142857,100.0\n");
    free_sheets(&s);
}
/* clang-format on */

/* clang-format off */
static void groups_may_be_limited_and_show_their_first_occurrence(void **unused)
{
    (void)unused;
    trace_text t = ops_that_are_alike();
    sheets s;
    read_sheets(&s, &t, false);
    gt_unique_args_options options = {.first_occurrence = true, .topk = 1};
    expect_sheet(gt_ops_unique_args(s.ops, options), "ops_unique_args",
                 "name," KEYS_BEFORE "operation_count,first_occurrence_time," TIMES SHARES
                 ADD_KEYS "3,500," ADD_TIMES ADD_CELLS "71.42857142857143,71.42857142857143\n");
    options = (gt_unique_args_options){.topk = 0};
    expect_sheet(gt_ops_unique_args(s.ops, options), "ops_unique_args", BY_ARGS);
    free_sheets(&s);
}
/* clang-format on */

/* clang-format off */
static void groups_may_be_split_by_number_of_kernels(void **unused)
{
    (void)unused;
    trace_text t = ops_that_are_alike();
    sheets s;
    read_sheets(&s, &t, false);
    gt_unique_args_options options = {.by_num_kernels = true, .topk = GT_ALL_OPS};
    expect_sheet(gt_ops_unique_args(s.ops, options), "ops_unique_args",
                 "name," KEYS_BEFORE "num_kernels,operation_count," TIMES SHARES
                 ADD_KEYS "1,2,20.0,20.0,20.0,20.0,14.142135623730951,14.142135623730951,10,10,30,30,40,40,8,"
                 ADD_CELLS "57.14285714285714,57.14285714285714\n"
                 MUL_KEYS "1,1," MUL_ONCE "28.57142857142857,85.71428571428571\n"
                 ADD_KEYS "2,1," ONCE("10", "10.0", "18")
                 CELLS_OF_2(("add_a", "0", "5", "5.0"), ("add_b", "0", "5", "5.0")) "14.285714285714285,100.0\n");
    free_sheets(&s);
}
/* clang-format on */

static void names_have_all_categories_of_their_launchers(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    static const char *const kernels[] = {"void at::native::reduce_kernel", "x",
                                          "void at::native::elementwise_kernel",
                                          "void at::native::reduce_kernel"};
    for (int i = 0; i < 4; i++) {
        cpu(&t, "aten::any", 1000 * (i + 1), 100);
        launch(&t, kernels[i], 1000 * (i + 1) + 10, 5, 10000 + 100 * i, 10, i + 1);
        cpu(&t, "aten::mm", 1000 * (i + 1) + 200, 100);
        launch(&t, kernels[i], 1000 * (i + 1) + 210, 5, 20000 + 100 * i, 5, i + 11);
    }
    sheets s;
    read_sheets(&s, &t, false);
    expect_sheet(gt_ops_summary(s.ops), "ops_summary",
                 BY_NAME
                 "aten::any,40,40,0.04,0.04,4,\"['elementwise', 'other', 'reduce']\",66.66666666666667,"
                 "66.66666666666667\n"
                 "aten::mm,20,20,0.02,0.02,4,['GEMM'],33.333333333333336,100.0\n");
    expect_sheet(gt_ops_summary_by_category(s.ops), "ops_summary_by_category",
                 BY_CATEGORY "reduce,2,0.02,33.33333333333333,33.33333333333333\n"
                             "GEMM,4,0.02,33.33333333333333,66.66666666666666\n"
                             "other,1,0.01,16.666666666666664,83.33333333333331\n"
                             "elementwise,1,0.01,16.666666666666664,99.99999999999997\n");
    free_sheets(&s);
}

/* clang-format off */
static void recomputed_ops_are_separate(void **unused)
{
    (void)unused;
    trace_text t = named_trace();
    cpu(&t, "aten::add", 1000, 100), launch(&t, "add_k", 1010, 5, 1200, 10, 1); /* uid 3 */
    host(&t, "python_function", "torch/utils/checkpoint.py(900): recompute_fn", 2000, 500, "");
    cpu(&t, "aten::add", 2010, 100), launch(&t, "add_k", 2020, 5, 2200, 30, 2); /* uid 9 */
    sheets s;
    read_sheets(&s, &t, true);
    expect_sheet(gt_ops_summary_by_category(s.ops), "ops_summary_by_category",
                 "op category,is_recompute,Count,total_direct_kernel_time_ms," SHARES
                 "elementwise,True,1,0.03,75.0,75.0\n"
                 "elementwise,False,1,0.01,25.0,100.0\n");
    expect_sheet(gt_ops_summary(s.ops), "ops_summary",
                 "name,is_recompute,total_direct_kernel_time_sum,total_subtree_kernel_time_sum,"
                 "total_direct_kernel_time_ms,total_subtree_kernel_time_ms,Count,Categories," SHARES
                 "aten::add,True,30,30,0.03,0.03,1,['elementwise'],75.0,75.0\n"
                 "aten::add,False,10,10,0.01,0.01,1,['elementwise'],25.0,100.0\n");
    expect_sheet(gt_ops_unique_args(s.ops, plain), "ops_unique_args",
                 "name," KEYS_BEFORE "is_recompute,operation_count," TIMES SHARES
                 ADD_KEYS "True,1," ONCE("30", "30.0", "9") CELLS("add_k", "0", "30", "30.0") "75.0,75.0\n"
                 ADD_KEYS "False,1," ONCE("10", "10.0", "3") CELLS("add_k", "0", "10", "10.0") "25.0,100.0\n");
    free_sheets(&s);
}
/* clang-format on */

/* clang-format off */
#define BESIDE(name, stream, pct, dur)                                                                       \
    "{'name': '" name "', 'stream': " stream ", 'overlap_pct': " pct ", 'count': 1, "                        \
    "'total_duration_us': " dur ", 'mean_duration_us': " dur ", 'median_duration_us': " dur ", "             \
    "'std_dev_duration_us': 0.0, 'min_duration_us': " dur ", 'max_duration_us': " dur "}"
#define BESIDE_TRUNC(name, stream, pct, dur) TRUNC(name, stream, , dur)
#define CELLS_OF_3(a, b, c)                                                                                  \
    "\"[" BESIDE a ", " BESIDE b ", " BESIDE c "]\","                                                        \
    "\"[" BESIDE_TRUNC a ", " BESIDE_TRUNC b ", " BESIDE_TRUNC c "]\","

static void overlapping_kernels_of_an_op_are_shown(void **unused)
{
    (void)unused;
    trace_text t = named_trace();
    cpu(&t, "aten::relu", 1000, 100);
    launch_on(&t, 0, "kernel", "a", 1010, 1200, 100, 1);
    launch_on(&t, 1, "kernel", "b", 1020, 1250, 100, 2);
    cpu(&t, "aten::gelu", 1100, 100);
    launch_on(&t, 0, "kernel", "c", 1110, 1340, 100, 3);
    launch_on(&t, 2, "kernel", "d", 1120, 1349.5, 10, 4);
    launch_on(&t, 3, "kernel", "e", 1130, 1439.5, 10, 5);
    cpu(&t, "aten::exp", 1200, 100);
    launch_on(&t, 0, "kernel", "f", 1210, 1500, 50, 6);
    sheets s;
    read_sheets(&s, &t, false);
    gt_error error;
    gt_overlaps *overlaps = gt_overlaps_find(gt_pytorch_view(s.trace), false, &error);
    assert_non_null(overlaps);
    gt_table *sheet = gt_ops_unique_args(s.ops, (gt_unique_args_options){.topk = GT_ALL_OPS, .overlaps = overlaps});
    assert_int_equal(gt_table_find(sheet, GT_COL("overlapping_kernel_names")), 1);
    static const gt_col columns[] = { /* from the third on, as they follow trunc_kernel_details */
        GT_COL("name"), GT_COL("overlapping_kernel_names"), GT_COL("overlapping_kernels_details_summary"), GT_COL("trunc_overlapping_kernels_details"),
        GT_COL("overlap_pct_mean"), GT_COL("overlap_pct_median"), GT_COL("overlap_pct_std"), GT_COL("overlap_pct_min"), GT_COL("overlap_pct_max"),
    };
    size_t before = gt_table_find(sheet, GT_COL("trunc_kernel_details"));
    for (size_t i = 2; i < sizeof columns / sizeof *columns; i++)
        assert_string_equal(sheet->columns[before + i - 1].name, columns[i].name);
    gt_table_select(sheet, columns, sizeof columns / sizeof *columns);
    expect_sheet(sheet, "ops_unique_args_kl_overlap",
                 "name,overlapping_kernel_names,overlapping_kernels_details_summary,trunc_overlapping_kernels_details,"
                 "overlap_pct_mean,overlap_pct_median,overlap_pct_std,overlap_pct_min,overlap_pct_max\n"
                 "aten::relu,\"['b', 'a', 'c']\","
                 CELLS_OF_3(("a", "0", "0.33", "100.0"), ("b", "1", "0.33", "100.0"), ("c", "0", "0.07", "100.0"))
                 "0.73,0.73,,0.73,0.73\n"
                 "aten::gelu,\"['b', 'd', 'c']\","
                 CELLS_OF_3(("d", "2", "0.09", "10.0"), ("b", "1", "0.09", "100.0"), ("c", "0", "0.09", "100.0"))
                 "0.27,0.27,,0.27,0.27\n"
                 "aten::exp,,[],,,,,,\n");
    sheet = gt_ops_unique_args(s.ops, plain); /* the ops are as before */
    assert_int_equal(gt_table_find(sheet, GT_COL("overlapping_kernel_names")), SIZE_MAX);
    assert_int_equal(sheet->row_count, 3);
    gt_table_free(sheet);
    gt_overlaps_free(overlaps);
    free_sheets(&s);
}
/* clang-format on */

/* ---- edges ---- */

static void a_trace_without_launches_has_empty_sheets(void **unused)
{
    (void)unused;
    trace_text t = named_trace();
    cpu(&t, "aten::add", 1000, 100);
    launch(&t, "ncclDevKernel_AllReduce", 1010, 5, 1200, 10, 1);
    sheets s;
    read_sheets(&s, &t, false);
    assert_int_equal(s.launchers.count, 0);
    gt_table *tables[] = {gt_ops_summary_by_category(s.ops), gt_ops_summary(s.ops),
                          gt_ops_unique_args(s.ops, plain)};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(tables[i]->row_count, 0);
        assert_true(tables[i]->column_count >= 5);
        gt_table_free(tables[i]);
    }
    free_sheets(&s);
}

static void kernels_of_zero_length_have_no_share(void **unused)
{
    (void)unused;
    trace_text t = named_trace();
    cpu(&t, "aten::add", 1000, 100);
    launch(&t, "a", 1010, 5, 1200, 0, 1), launch(&t, "b", 1020, 5, 1300, 0, 2);
    expect_names(&t, "aten::add,0,0,0.0,0.0,1,['elementwise'],0,0\n");
}

/* JSON that means the same is the same argument, and integers of any size keep their digits. */
static void arguments_are_compared_by_value(void **unused)
{
    (void)unused;
    trace_text t = named_trace();
    host(&t, "cpu_op", "x", 1000, 100,
         "\"Input Dims\": [ [ 4 ] ],\"Concrete Inputs\":[\"\\u0041\",12345678901234567890]");
    launch(&t, "k", 1010, 5, 1200, 10, 1);
    host(&t, "cpu_op", "x", 2000, 100,
         "\"Input Dims\":[[4]],\"Concrete Inputs\":[\"A\",12345678901234567890]");
    launch(&t, "k", 2010, 5, 2200, 10, 2);
    sheets s;
    read_sheets(&s, &t, false);
    gt_table *sheet = gt_ops_unique_args(s.ops, plain);
    static const gt_col columns[] = {GT_COL("Input Dims"), GT_COL("Input type"), GT_COL("Concrete Inputs"),
                                     GT_COL("operation_count")};
    gt_table_select(sheet, columns, sizeof columns / sizeof *columns);
    expect_sheet(sheet, "ops_unique_args",
                 "Input Dims,Input type,Concrete Inputs,operation_count\n"
                 "\"((4,),)\",,\"('A', 12345678901234567890)\",2\n");
    free_sheets(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_stay_integers),
        cmocka_unit_test(one_float_makes_its_column_float),
        cmocka_unit_test(ops_that_end_too_late_do_not_launch),
        cmocka_unit_test(communication_counts_only_in_the_subtree),
        cmocka_unit_test(with_equal_starts_the_first_op_is_the_outer_one),
        cmocka_unit_test(a_graph_launch_is_its_own_launcher),
        cmocka_unit_test(the_inner_one_of_nested_calls_launches),
        cmocka_unit_test(execute_ops_are_skipped),
        cmocka_unit_test(strings_are_quoted_like_python_and_pandas),
        cmocka_unit_test(ops_are_grouped_by_name_and_category),
        cmocka_unit_test(ops_are_grouped_by_arguments),
        cmocka_unit_test(groups_may_be_limited_and_show_their_first_occurrence),
        cmocka_unit_test(groups_may_be_split_by_number_of_kernels),
        cmocka_unit_test(names_have_all_categories_of_their_launchers),
        cmocka_unit_test(recomputed_ops_are_separate),
        cmocka_unit_test(overlapping_kernels_of_an_op_are_shown),
        cmocka_unit_test(a_trace_without_launches_has_empty_sheets),
        cmocka_unit_test(kernels_of_zero_length_have_no_share),
        cmocka_unit_test(arguments_are_compared_by_value),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
