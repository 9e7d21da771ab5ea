/* The diff of two small traces: the merged tree, diff_stats, its summary, the names of ops, and the columns
 * of the PyTorch report. Traces D1 to D4 and their results come from TraceLens; the others are computed by
 * hand. */
#include "output_help.h"
#include "pytorch_trace.h"

#include "report/diff.h"
#include "report/pytorch/pytorch.h"

/* ---- traces ---- */

/* A launch with the call's own name, on stream 0; the call takes 5. */
static void launch_by(trace_text *t, const char *name, const char *kernel, double start, double dur, int id)
{
    call(t, strcmp(name, "cuLaunchKernel") ? "cuda_runtime" : "cuda_driver", name, start, 5, id);
    gpu(t, "kernel", kernel, start + 1000, dur, id, 0);
    arrow(t, id, 0);
}

typedef struct pair {
    gt_pytorch_linked *traces[2];
    gt_diff *diff;
    gt_output *output;
} pair;

/* The diff, its files written to the scratch folder. */
static pair diff_of(trace_text *first, trace_text *second, bool python, gt_diff_options options)
{
    gt_error error = {""};
    pair p = {.traces = {read_trace(first, python), read_trace(second, python)}, .output = gt_output_new()};
    p.diff = gt_diff_new(gt_pytorch_view(p.traces[0]), gt_pytorch_view(p.traces[1]), &options, &error);
    if (!p.diff) fail_msg("%s", error.text);
    if (!gt_diff_write(p.diff, p.output, scratch, &error) || !gt_output_commit(p.output, &error))
        fail_msg("%s", error.text);
    return p;
}

static void free_pair(pair *p)
{
    gt_output_free(p->output);
    gt_diff_free(p->diff);
    gt_pytorch_linked_free(p->traces[0]);
    gt_pytorch_linked_free(p->traces[1]);
}

/* These columns of a CSV file without quotes, by name, as lines. */
static void expect_columns(const gt_table *table, const char *const *names, size_t count,
                           const char *expected)
{
    gt_table *copy = gt_table_copy(table);
    gt_col columns[16];
    assert_in_range(count, 1, 16);
    for (size_t i = 0; i < count; i++) columns[i] = gt_col_named(names[i]);
    gt_table_select(copy, columns, count);
    expect_csv(copy, expected);
    gt_table_free(copy);
}

#define EXPECT_COLUMNS(table, expected, ...)                                                                 \
    expect_columns(table, (const char *const[]){__VA_ARGS__},                                                \
                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), expected)

#define NO_OPTIONS ((gt_diff_options){0})

static const gt_table *stats_of(const pair *p)
{
    return gt_table_list_find(gt_diff_tables(p->diff), GT_SHEET("diff_stats"));
}

static const gt_table *summary_of(const pair *p)
{
    return gt_table_list_find(gt_diff_tables(p->diff), GT_SHEET("diff_stats_unique_args_summary"));
}

/* ---- check cases from TraceLens ---- */

static void other_launch_names(void **state) /* D1 */
{
    (void)state;
    trace_text a = new_trace(), b = new_trace();
    cpu(&a, "aten::mm", 100, 50);
    launch_by(&a, "hipLaunchKernel", "gemm_a", 110, 30, 1);
    cpu(&b, "aten::mm", 100, 50);
    launch_by(&b, "cudaLaunchKernel", "gemm_b", 110, 20, 1);
    pair p = diff_of(&a, &b, false, NO_OPTIONS);
    expect_file(in_scratch("merged_tree_output.txt"), "└── aten::mm\n"
                                                      "    ├── >> trace1: hipLaunchKernel\n"
                                                      "    │   └── >> trace1: gemm_a\n"
                                                      "    └── << trace2: cudaLaunchKernel\n"
                                                      "        └── << trace2: gemm_b\n");
    EXPECT_COLUMNS(stats_of(&p),
                   "name,source,kernel_time,busy_time,lowest_common_ancestor_name,lowest_common_ancestor_id\n"
                   "gemm_a,trace1,30,30,aten::mm,0\n"
                   "gemm_b,trace2,20,20,aten::mm,0\n",
                   "name", "source", "kernel_time", "busy_time", "lowest_common_ancestor_name",
                   "lowest_common_ancestor_id");
    free_pair(&p);
}

static void same_launch_names(void **state) /* D2 */
{
    (void)state;
    trace_text a = new_trace(), b = new_trace();
    cpu(&a, "aten::mm", 100, 50);
    launch_by(&a, "hipLaunchKernel", "gemm_a", 110, 30, 1);
    cpu(&b, "aten::mm", 100, 50);
    launch_by(&b, "hipLaunchKernel", "gemm_b", 110, 20, 1);
    pair p = diff_of(&a, &b, false, NO_OPTIONS);
    expect_file(in_scratch("merged_tree_output.txt"), "└── aten::mm\n"
                                                      "    └── hipLaunchKernel\n"
                                                      "        └── combined: gemm_a | gemm_b\n");
    EXPECT_COLUMNS(stats_of(&p),
                   "name,source,lowest_common_ancestor_name,lowest_common_ancestor_id\n"
                   "gemm_a,trace1,gemm_a | gemm_b,2\n"
                   "gemm_b,trace2,gemm_a | gemm_b,2\n",
                   "name", "source", "lowest_common_ancestor_name", "lowest_common_ancestor_id");
    free_pair(&p);
}

static void wrapper_is_opened(void **state) /* D3 */
{
    (void)state;
    trace_text a = new_trace(), b = new_trace();
    cpu(&a, "aten::_conv", 100, 200);
    cpu(&a, "aten::miopen", 110, 180);
    launch_by(&a, "hipLaunchKernel", "k_conv1", 120, 30, 1);
    launch_by(&a, "hipLaunchKernel", "k_conv2", 160, 10, 2);
    cpu(&a, "aten::add_", 200, 50);
    launch_by(&a, "hipLaunchKernel", "k_add", 210, 5, 3);
    cpu(&b, "aten::_conv", 100, 200);
    cpu(&b, "aten::cudnn", 110, 50);
    launch_by(&b, "cudaLaunchKernel", "c_conv1", 120, 25, 1);
    cpu(&b, "aten::add_", 200, 50);
    launch_by(&b, "cudaLaunchKernel", "k_add", 210, 4, 2);
    pair p = diff_of(&a, &b, false, NO_OPTIONS);
    expect_file(in_scratch("merged_tree_output.txt"), "└── aten::_conv\n"
                                                      "    ├── aten::add_\n"
                                                      "    │   ├── >> trace1: hipLaunchKernel\n"
                                                      "    │   │   └── >> trace1: k_add\n"
                                                      "    │   └── << trace2: cudaLaunchKernel\n"
                                                      "    │       └── << trace2: k_add\n"
                                                      "    ├── >> trace1: hipLaunchKernel\n"
                                                      "    │   └── >> trace1: k_conv1\n"
                                                      "    ├── >> trace1: hipLaunchKernel\n"
                                                      "    │   └── >> trace1: k_conv2\n"
                                                      "    └── << trace2: aten::cudnn\n"
                                                      "        └── << trace2: cudaLaunchKernel\n"
                                                      "            └── << trace2: c_conv1\n");
    EXPECT_COLUMNS(stats_of(&p),
                   "name,kernel_time,busy_time,lowest_common_ancestor_name,lowest_common_ancestor_id\n"
                   "k_conv1,30,40,aten::_conv,0\n"
                   "k_conv2,10,40,aten::_conv,0\n"
                   "c_conv1,25,25,aten::_conv,0\n"
                   "k_add,5,5,aten::add_,1\n"
                   "k_add,4,4,aten::add_,1\n",
                   "name", "kernel_time", "busy_time", "lowest_common_ancestor_name",
                   "lowest_common_ancestor_id");
    EXPECT_COLUMNS(summary_of(&p),
                   "name,operation_count,cpu_op_name,kernel_time_sum\n"
                   "k_conv1,1,root,30\n"
                   "c_conv1,1,root,25\n"
                   "k_conv2,1,root,10\n"
                   "k_add,1,aten::add_,5\n"
                   "k_add,1,aten::add_,4\n",
                   "name", "operation_count", "cpu_op_name", "kernel_time_sum");
    expect_file(in_scratch("cpu_op_map_trace1.json"),
                "{\n  \"aten::add_\": [\n    \"k_add\"\n  ],\n"
                "  \"aten::miopen\": [\n    \"k_conv1\",\n    \"k_conv2\"\n"
                "  ]\n}");
    free_pair(&p);
}

static void op_of_one_trace(void **state) /* D4: a root more */
{
    (void)state;
    trace_text a = new_trace(), b = new_trace();
    cpu(&a, "aten::mm", 100, 50);
    launch_by(&a, "hipLaunchKernel", "gemm", 110, 30, 1);
    cpu(&a, "aten::relu", 200, 50);
    launch_by(&a, "hipLaunchKernel", "relu", 210, 7, 2);
    cpu(&b, "aten::mm", 100, 50);
    launch_by(&b, "hipLaunchKernel", "gemm", 110, 20, 1);
    pair p = diff_of(&a, &b, false, NO_OPTIONS);
    EXPECT_COLUMNS(stats_of(&p),
                   "name,source,lowest_common_ancestor_name,lowest_common_ancestor_id\n"
                   "gemm,trace1,gemm,2.0\n"
                   "gemm,trace2,gemm,2.0\n"
                   "relu,trace1,,\n",
                   "name", "source", "lowest_common_ancestor_name", "lowest_common_ancestor_id");
    free_pair(&p);
}

/* ---- names ---- */

/* Calls with different addresses and line numbers are equal; so are module launches of both platforms. */
static void names_that_count_as_equal(void **state)
{
    (void)state;
    trace_text a = new_trace(), b = new_trace();
    host(&a, "python_function", "model.py(10): step", 100, 400, "");
    host(&a, "python_function", "<built-in f of 0x7fA0>", 110, 100, "");
    cpu(&a, "aten::mm", 120, 50);
    launch_by(&a, "hipModuleLaunchKernel", "gemm", 130, 30, 1);
    cpu(&a, "aten::add", 300, 50);
    launch_by(&a, "hipModuleLaunchKernel", "add", 310, 3, 2);
    host(&b, "python_function", "model.py(12): step", 100, 400, "");
    host(&b, "python_function", "<built-in f of 0x11>", 110, 100, "");
    cpu(&b, "aten::mm", 120, 50);
    launch_by(&b, "cuLaunchKernel", "gemm", 130, 30, 1);
    cpu(&b, "aten::add", 300, 50);
    launch_by(&b, "cuLaunchKernel", "add", 310, 3, 2);
    pair p = diff_of(&a, &b, true, NO_OPTIONS);
    expect_file(in_scratch("merged_tree_output.txt"),
                "└── combined: model.py(10): step | model.py(12): step\n"
                "    ├── combined: <built-in f of 0x7fA0> | <built-in f of 0x11>\n"
                "    │   └── aten::mm\n"
                "    │       └── combined: hipModuleLaunchKernel | cuLaunchKernel\n"
                "    │           └── gemm\n"
                "    └── aten::add\n"
                "        └── combined: hipModuleLaunchKernel | cuLaunchKernel\n"
                "            └── add\n");
    free_pair(&p);
}

/* Two loops over blocks in different order: names are equal, so the children decide which blocks match. */
static void equal_names_are_matched_by_their_children(void **state)
{
    (void)state;
    trace_text texts[2] = {new_trace(), new_trace()};
    for (int side = 0; side < 2; side++) {
        trace_text *t = &texts[side];
        cpu(t, "aten::outer", 100, 400);
        for (int k = 0; k < 2; k++) {
            bool conv = (k == 0) == (side == 0);
            cpu(t, "block", 110 + 100 * k, 90);
            cpu(t, conv ? "aten::conv" : "aten::mm", 120 + 100 * k, 60);
            launch_by(t, "hipLaunchKernel", conv ? "k_conv" : "k_mm", 130 + 100 * k, conv ? 8 : 9, 1 + k);
        }
        launch_by(t, "hipLaunchKernel", "tail", 350, 2, 9);
    }
    pair p = diff_of(&texts[0], &texts[1], false, NO_OPTIONS);
    expect_file(in_scratch("merged_tree_output.txt"), "└── aten::outer\n"
                                                      "    ├── hipLaunchKernel\n"
                                                      "    │   └── tail\n"
                                                      "    ├── block\n"
                                                      "    │   └── aten::conv\n"
                                                      "    │       └── hipLaunchKernel\n"
                                                      "    │           └── k_conv\n"
                                                      "    └── block\n"
                                                      "        └── aten::mm\n"
                                                      "            └── hipLaunchKernel\n"
                                                      "                └── k_mm\n");
    free_pair(&p);
}

/* ---- edge cases ---- */

static trace_text one_op(double dur)
{
    trace_text t = new_trace();
    cpu(&t, "aten::mm", 100, 50);
    launch_by(&t, "hipLaunchKernel", "gemm", 110, dur, 1);
    return t;
}

static void identical_traces(void **state)
{
    (void)state;
    trace_text a = one_op(30), b = one_op(30);
    pair p = diff_of(&a, &b, false, NO_OPTIONS);
    expect_csv(stats_of(&p),
               "name,cpu_op_name,cpu_op_uid,Input Dims,Input Strides,Input type,Concrete Inputs,kernel_time,"
               "busy_time,lowest_common_ancestor_name,lowest_common_ancestor_id,gpu_op_uid,nn_module_stack,"
               "nn_module_parent\n"
               "gemm,aten::mm,0,((4,),),((1,),),('float',),('',),30,30,gemm,2,2,root,root\n");
    expect_file(in_scratch("cpu_op_map.json"),
                "{\n  \"aten::mm\": {\n    \"kernels\": [\n      \"gemm\"\n    ],\n"
                "    \"nn_module_parents\": [\n      \"root\"\n    ]\n  }\n}");
    free_pair(&p);
}

static void explanations(void **state)
{
    (void)state;
    trace_text a = one_op(30), b = one_op(20);
    pair p = diff_of(&a, &b, false, (gt_diff_options){.explain = true});
    EXPECT_COLUMNS(stats_of(&p),
                   "lca_children_t1,lca_children_t2,root_index,callstack\n"
                   ",,0,aten::mm, hipLaunchKernel\n"
                   ",,0,aten::mm, hipLaunchKernel\n",
                   "lca_children_t1", "lca_children_t2", "root_index", "callstack");
    free_pair(&p);
}

static void no_gpu_events(void **state)
{
    (void)state;
    trace_text a = new_trace(), b = new_trace();
    cpu(&a, "aten::mm", 100, 50);
    cpu(&b, "aten::mm", 100, 50);
    gt_log_quiet(true);
    pair p = diff_of(&a, &b, false, NO_OPTIONS);
    gt_log_quiet(false);
    assert_int_equal(entries(scratch), 1);
    expect_file(in_scratch("merged_tree_output.txt"), "└── aten::mm\n");
    assert_int_equal(gt_diff_tables(p.diff)->count, 0);
    free_pair(&p);
}

static void pruning(void **state)
{
    (void)state;
    trace_text a = one_op(30), b = one_op(30);
    cpu(&a, "aten::size", 300, 5);
    cpu(&b, "aten::size", 300, 5);
    pair p = diff_of(&a, &b, false, (gt_diff_options){.prune_non_gpu = true});
    expect_file(in_scratch("merged_tree_output.txt"), "├── aten::mm\n"
                                                      "│   └── hipLaunchKernel\n"
                                                      "│       └── gemm\n");
    free_pair(&p);
}

static void no_ops(void **state)
{
    (void)state;
    trace_text a = one_op(30), b = new_trace();
    gpu(&b, "kernel", "gemm", 100, 5, 1, 0);
    gt_error error = {""};
    gt_pytorch_linked *first = read_trace(&a, false), *second = read_trace(&b, false);
    assert_null(gt_diff_new(gt_pytorch_view(first), gt_pytorch_view(second), &NO_OPTIONS, &error));
    assert_string_equal(error.text, "the second trace has no ops: a diff needs the host side of both");
    gt_pytorch_linked_free(first);
    gt_pytorch_linked_free(second);
}

/* A very deep chain of calls: nothing recurses, and no line exceeds its limit. */
static void deep_chains(void **state)
{
    (void)state;
    enum { DEPTH = 30000 };
    trace_text texts[2] = {new_trace(), new_trace()};
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < DEPTH; k++)
            host(&texts[side], "cpu_op", side ? "b" : "a", k, 3.0 * DEPTH - 2 * k, "");
        launch_by(&texts[side], "hipLaunchKernel", "gemm", DEPTH, 4, 1);
    }
    gt_log_to(keep_warning);
    pair p = diff_of(&texts[0], &texts[1], false, NO_OPTIONS);
    gt_log_to(NULL);
    assert_string_equal(last_warning,
                        "merged_tree_output.txt: calls deeper than 10000 omitted, below 1 calls");
    assert_int_equal(stats_of(&p)->row_count, 2);
    free_pair(&p);
}

/* ---- in the PyTorch report ---- */

/* Two mm under calls of their own: trace2 takes 20 for one of them and has not the other. The row's own time
 * is 30 + 12 = 42; common calls are kernel 2 (30 against 20) and, for what trace1 alone has, none. */
static void report_columns(void **state)
{
    (void)state;
    trace_text a = new_trace(), b = new_trace();
    cpu(&a, "aten::foo", 100, 50);
    launch_by(&a, "hipLaunchKernel", "foo_kernel", 110, 30, 1);
    cpu(&a, "aten::foo", 200, 50);
    launch_by(&a, "hipLaunchKernel", "foo_kernel", 210, 12, 2);
    cpu(&b, "aten::foo", 100, 50);
    launch_by(&b, "hipLaunchKernel", "foo_kernel", 110, 20, 1);
    gt_error error = {""};
    gt_pytorch_linked *trace = read_trace(&a, false);
    gt_pytorch_options options = gt_pytorch_options_default();
    options.comparison = read_trace(&b, false);
    gt_table_list tables = {0};
    if (!gt_pytorch_tables(trace, &options, &tables, &error)) fail_msg("%s", error.text);
    const gt_table *unified = gt_table_list_find(&tables, GT_SHEET("unified_perf_summary"));
    size_t place = gt_table_find(unified, GT_COL("Kernel Time (µs)_sum"));
    assert_string_equal(unified->columns[place + 1].name, "speedup (trace2/trace1)");
    EXPECT_COLUMNS(
        unified,
        "Kernel Time (µs)_sum,speedup (trace2/trace1),delta_us (trace2 - trace1),lca_count_trace2,lca_id,"
        "lca_name,lca_total_kernel_time_trace1_us,lca_total_kernel_time_trace2_us\n"
        "42,0.6666666666666666,-22.0,1.0,2.0,foo_kernel,30.0,20.0\n",
        "Kernel Time (µs)_sum", "speedup (trace2/trace1)", "delta_us (trace2 - trace1)", "lca_count_trace2",
        "lca_id", "lca_name", "lca_total_kernel_time_trace1_us", "lca_total_kernel_time_trace2_us");
    size_t at = 0;
    while (tables.items[at] != unified) at++;
    assert_string_equal(tables.items[at + 1]->name, "diff_stats");
    assert_int_equal(tables.items[at + 1]->row_count, 3);
    gt_table_list_free(&tables);
    gt_pytorch_linked_free(options.comparison);
    gt_pytorch_linked_free(trace);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(other_launch_names),
        TEST(same_launch_names),
        TEST(wrapper_is_opened),
        TEST(op_of_one_trace),
        TEST(equal_names_are_matched_by_their_children),
        TEST(names_that_count_as_equal),
        TEST(identical_traces),
        TEST(explanations),
        TEST(no_gpu_events),
        TEST(pruning),
        TEST(no_ops),
        TEST(deep_chains),
        TEST(report_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
