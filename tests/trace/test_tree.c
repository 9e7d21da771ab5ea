/* Call tree, launches and launchers of small hand-written traces, and of deep, shuffled and unusual ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "analysis/pytorch/launchers.h"
#include "base/memory.h"
#include "input/chrome/kineto.h"
#include "written_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing traces ---- */

static void host(text *t, const char *category, const char *name, double start, double dur)
{
    put(t,
        "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":100,\"tid\":100,\"ts\":%.15g,\"dur\":%.15g}",
        t->count > 1 ? "," : "", category, name, start, dur);
}

static void cpu(text *t, const char *name, double start, double dur)
{
    host(t, "cpu_op", name, start, dur);
}

static void gpu(text *t, const char *category, const char *name, double start, double dur, int id, int stream)
{
    put(t,
        ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%.15g,\"dur\":%.15g,"
        "\"args\":{\"correlation\":%d,\"stream\":%d}}",
        category, name, stream, start, dur, id, stream);
}

static void call(text *t, const char *category, const char *name, double start, double dur, int id)
{
    put(t,
        "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":100,\"tid\":100,\"ts\":%.15g,\"dur\":%.15g,"
        "\"args\":{\"correlation\":%d}}",
        t->count > 1 ? "," : "", category, name, start, dur, id);
}

static void arrow(text *t, int id, int stream)
{
    put(t, ",{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%d,\"pid\":100,\"tid\":100,\"ts\":1}",
        id);
    put(t, ",{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%d,\"pid\":0,\"tid\":%d,\"ts\":2}", id,
        stream);
}

/* A launch, its kernel, and the flow events between them. */
static void launch(text *t, const char *kernel, double start, double dur, double kernel_start,
                   double kernel_dur, int id)
{
    call(t, "cuda_runtime", "hipLaunchKernel", start, dur, id);
    gpu(t, "kernel", kernel, kernel_start, kernel_dur, id, 0);
    arrow(t, id, 0);
}

/* ---- reading them ---- */

static gt_pytorch_read *read_events(text *t, bool python)
{
    gt_error error;
    gt_read_options options = {.threads = 1, .strict = true};
    put(t, "]");
    gt_stream *stream = gt_stream_memory(t->items, t->count, 0, &error);
    gt_pytorch_read *trace =
        gt_kineto_read_stream(stream, (gt_kineto_options){.python_functions = python}, &options, &error);
    if (!trace) fail_msg("%s", error.text);
    gt_stream_close(stream);
    free(t->items);
    return trace;
}

static gt_pytorch_linked *read_trace(text *t, bool python)
{
    return gt_pytorch_link(gt_pytorch_build_tree(read_events(t, python)));
}

static text begin(void)
{
    text t = {0};
    put(&t, "[");
    return t;
}

/* "name direct subtree, ..." in the order of the launchers. */
static void assert_launchers(text *t, const char *expected)
{
    gt_pytorch_linked *linked = read_trace(t, true);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_launchers l = gt_launchers_find(trace);
    char got[2048] = "";
    for (size_t i = 0; i < l.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s %g %g", i ? ", " : "",
                 gt_event_name(&trace->events, l.items[i].row).bytes, l.items[i].direct_us,
                 l.items[i].subtree_us);
    assert_string_equal(got, expected);
    gt_launchers_free(&l);
    gt_pytorch_linked_free(linked);
}

static void an_op_that_outlasts_its_caller_by_a_little(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "P", 1000, 100), cpu(&t, "X", 1010, 10.3), launch(&t, "kk", 1020, 5, 1200, 10, 7);
    assert_launchers(&t, "P 10 10");
    t = begin();
    cpu(&t, "P", 1000, 100), cpu(&t, "X", 1010, 12), launch(&t, "kk", 1020, 5, 1200, 10, 7);
    assert_launchers(&t, "hipLaunchKernel 10 10");
    t = begin();
    cpu(&t, "X", 1010, 10.3), launch(&t, "kk", 1020, 5, 1200, 10, 7);
    assert_launchers(&t, "hipLaunchKernel 10 10");
}

static void with_equal_starts_the_first_event_is_the_caller(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "child", 1000, 10), cpu(&t, "parent", 1000, 100);
    launch(&t, "a", 1002, 5, 1200, 5, 7), launch(&t, "b", 1020, 5, 1300, 5, 8);
    assert_launchers(&t, "child 5 5, hipLaunchKernel 5 5");
    t = begin();
    cpu(&t, "parent", 1000, 100), cpu(&t, "child", 1000, 10);
    launch(&t, "a", 1002, 5, 1200, 5, 7), launch(&t, "b", 1020, 5, 1300, 5, 8);
    assert_launchers(&t, "child 5 5, parent 5 10"); /* ties: by the file position of the kernel */
}

static void a_graph_launch_owns_all_gpu_events_of_its_id(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "aten::x", 1000, 10), call(&t, "cuda_runtime", "hipGraphLaunch", 1050, 10, 50);
    gpu(&t, "kernel", "g1", 1100, 10, 50, 0), gpu(&t, "kernel", "g2", 1115, 10, 50, 1);
    /* The linking key is decided by the first launch, and a graph launch is one. */
    assert_launchers(&t, "hipGraphLaunch 20 20");
}

static void a_call_inside_a_call_is_its_own_launcher(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "foo::bar", 1000, 100), call(&t, "cuda_runtime", "cudaLaunchKernel", 1010, 50, 6);
    call(&t, "cuda_driver", "cuLaunchKernel", 1020, 5, 7), gpu(&t, "kernel", "kern", 1200, 5, 7, 0),
        arrow(&t, 7, 0);
    assert_launchers(&t, "cuLaunchKernel 5 5");
    t = begin();
    cpu(&t, "foo::bar", 1000, 100), call(&t, "cuda_driver", "cuLaunchKernel", 1020, 5, 7);
    gpu(&t, "kernel", "kern", 1200, 5, 7, 0), arrow(&t, 7, 0);
    assert_launchers(&t, "foo::bar 5 5");
}

static void execute_ops_are_skipped(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "conv_bn_fused", 1000, 100), cpu(&t, "execute", 1010, 50), launch(&t, "k", 1020, 5, 1200, 5, 7);
    assert_launchers(&t, "conv_bn_fused 5 5");
}

/* No event of the trace is called execute. */
static void ops_without_a_name_are_not_skipped(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "aten::outer", 1000, 100);
    put(&t, ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":100,\"tid\":100,\"ts\":1010,\"dur\":50}");
    launch(&t, "k", 1020, 5, 1200, 5, 7);
    assert_launchers(&t, " 5 5");
}

static void communication_counts_in_subtrees_but_is_no_launcher(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "aten::relu", 1000, 100), launch(&t, "relu_k", 1010, 5, 1200, 100, 7);
    launch(&t, "NcclDevKernel_AllReduce", 1020, 5, 1250, 100, 8);
    assert_launchers(&t, "aten::relu 100 150"); /* 1200 to 1300, and 1200 to 1350 */
}

static void gpu_events_without_a_flow_event_are_not_linked(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "op", 1000, 100), launch(&t, "k", 1010, 5, 1200, 10, 7);
    call(&t, "cuda_runtime", "hipLaunchKernel", 1020, 5, 8), gpu(&t, "kernel", "lost", 1300, 10, 8, 0);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(trace->link_count, 1);
    for (uint32_t row = 0; row < trace->count; row++)
        if (strcmp(gt_event_name(&trace->events, row).bytes, "lost") == 0)
            assert_int_equal(trace->parent[row], GT_NO_EVENT);
    gt_pytorch_linked_free(linked);
}

/* ROCm 7 gives one id to hipArray3DCreate and hipMemsetAsync. As in TraceLens, both are linked, and the last
 * one counts, until gt_pytorch_correct_launches drops the link of the call that launches nothing. */
static void calls_that_launch_nothing_can_be_unlinked(void **unused)
{
    (void)unused;
    for (int last = 0; last < 2; last++) {
        text t = begin();
        cpu(&t, "aten::zero_", 1000, 100), cpu(&t, "aten::empty", 2000, 100);
        launch(&t, "k", 1080, 5, 1200, 10, 7);
        if (!last) call(&t, "cuda_runtime", "hipArray3DCreate", 2020, 5, 45);
        call(&t, "cuda_runtime", "hipMemsetAsync", 1010, 5, 45);
        if (last) call(&t, "cuda_runtime", "hipArray3DCreate", 2020, 5, 45);
        gpu(&t, "gpu_memset", "Memset (Device)", 2300, 30, 45, 3), arrow(&t, 45, 3);
        gt_pytorch_linked *linked = read_trace(&t, false);
        const gt_linked_view *trace = gt_pytorch_view(linked);
        assert_int_equal(trace->link_count, 3);
        gt_pytorch_correct_launches(linked);
        assert_int_equal(trace->link_count, 2);
        for (uint32_t row = 0; row < trace->count; row++)
            if (trace->kind[row] == GT_KIND_MEMSET)
                assert_string_equal(gt_event_name(&trace->events, trace->parent[row]).bytes,
                                    "hipMemsetAsync");
        gt_pytorch_correct_launches(linked);
        assert_int_equal(trace->link_count, 2);
        gt_pytorch_linked_free(linked);
    }
}

/* Neither call has a flow event, and the second one launches two kernels. All are linked, in order of the
 * calls, except for the kernel whose call is not in the trace. */
static void launches_without_flow_events_can_be_linked(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "op", 1000, 100), gpu(&t, "kernel", "first", 1300, 10, 8, 0);
    launch(&t, "k", 1010, 5, 1200, 10, 7);
    call(&t, "cuda_runtime", "hipLaunchKernel", 1020, 5, 8);
    gpu(&t, "kernel", "second", 1320, 10, 8, 0), gpu(&t, "kernel", "lost", 1340, 10, 9, 0);
    call(&t, "cuda_runtime", "hipMemsetAsync", 1030, 5, 10);
    gpu(&t, "gpu_memset", "Memset (Device)", 1360, 10, 10, 0);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    const char *expected[] = {"k", "first", "second", "Memset (Device)"};
    assert_int_equal(trace->link_count, 1);
    gt_pytorch_correct_launches(linked);
    assert_int_equal(trace->link_count, 4);
    for (size_t i = 0; i < trace->link_count; i++) {
        assert_string_equal(gt_event_name(&trace->events, trace->link_gpu[i]).bytes, expected[i]);
        assert_int_equal(trace->parent[trace->link_gpu[i]], trace->link_runtime[i]);
    }
    gt_pytorch_linked_free(linked);
}

/* A trace can be freed at every stage, and the view of its events is there from the first one on. */
static void each_stage_owns_the_trace(void **unused)
{
    (void)unused;
    for (int stage = 0; stage < 3; stage++) {
        text t = begin();
        cpu(&t, "op", 1000, 100), launch(&t, "k", 1010, 5, 1200, 10, 7);
        gt_pytorch_read *read = read_events(&t, false);
        const gt_event_view *events = gt_pytorch_read_view(read);
        assert_int_equal(events->count, 3);
        assert_string_equal(gt_event_name(events, 2).bytes, "k");
        if (stage == 0) {
            gt_pytorch_read_free(read);
            continue;
        }
        gt_pytorch_tree *tree = gt_pytorch_build_tree(read);
        if (stage == 1) {
            gt_pytorch_tree_free(tree);
            continue;
        }
        gt_pytorch_linked *linked = gt_pytorch_link(tree);
        const gt_linked_view *trace = gt_pytorch_view(linked);
        assert_int_equal(trace->events.count, 3);
        assert_ptr_equal(trace->events.kind, trace->kind);
        assert_int_equal(trace->parent[2], 1);
        assert_int_equal(trace->parent[1], 0);
        gt_pytorch_linked_free(linked);
    }
    gt_pytorch_read_free(NULL);
    gt_pytorch_tree_free(NULL);
    gt_pytorch_linked_free(NULL);
}

static void uids_are_positions_in_the_file(void **unused)
{
    (void)unused;
    text t = begin();
    host(&t, "python_function", "f", 900, 500), host(&t, "cpu_instant_event", "i", 950, 1);
    cpu(&t, "op", 1000, 100), host(&t, "python_function", "g", 1100, 5),
        launch(&t, "k", 1010, 5, 1200, 10, 7);
    gt_pytorch_linked *linked = read_trace(&t, false); /* python functions and instants are not kept */
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_int_equal(trace->uid_count, 8);
    assert_int_equal(trace->count, 3); /* nor are arrows rows */
    assert_int_equal(gt_event_uid(&trace->events, 0), 2);
    assert_int_equal(gt_event_uid(&trace->events, 1), 4);
    assert_int_equal(gt_event_uid(&trace->events, 2), 5);
    gt_pytorch_linked_free(linked);
}

static void recompute_marks_everything_below(void **unused)
{
    (void)unused;
    text t = begin();
    host(&t, "python_function", "train.py(10): main", 900, 900);
    cpu(&t, "first", 1000, 100), launch(&t, "a", 1010, 5, 1200, 10, 7);
    host(&t, "python_function", "torch/utils/checkpoint.py(900): recompute_fn", 1300, 200);
    cpu(&t, "again", 1310, 100), launch(&t, "b", 1320, 5, 1500, 10, 8);
    gt_pytorch_linked *linked = read_trace(&t, true);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    size_t regions, marked;
    gt_pytorch_mark_recompute(linked, &regions, &marked);
    assert_int_equal(regions, 1);
    assert_int_equal(marked, 4); /* the function, the op, the launch and the kernel */
    for (uint32_t row = 0; row < trace->count; row++) {
        const char *name = gt_event_name(&trace->events, row).bytes;
        bool below = strcmp(name, "again") == 0 || strcmp(name, "b") == 0 || strstr(name, "recompute_fn");
        if (trace->kind[row] != GT_KIND_RUNTIME) assert_int_equal(trace->recompute[row], below);
    }
    gt_pytorch_linked_free(linked);
}

static void times_written_as_integers_are_recognised(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "op", 1000, 100), launch(&t, "k", 1010, 5, 1200, 10, 7), launch(&t, "l", 1020, 5, 1300, 10.25, 8);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_launchers l = gt_launchers_find(trace);
    assert_int_equal(l.count, 1);
    assert_false(l.items[0].direct_integral);
    assert_int_equal(trace->integral[0], GT_INTEGRAL_START | GT_INTEGRAL_DURATION);
    gt_launchers_free(&l);
    gt_pytorch_linked_free(linked);
}

static void a_million_deep_and_in_any_order(void **unused)
{
    (void)unused;
    enum { DEPTH = 1000000 };
    text t = begin();
    for (int i = DEPTH; i-- > 0;)
        host(&t, "python_function", "f", i, 4.0 * DEPTH - 2.0 * i); /* innermost first */
    cpu(&t, "op", DEPTH, 100), launch(&t, "k", DEPTH + 10, 5, 9e6, 10, 7);
    gt_pytorch_linked *linked = read_trace(&t, true);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_launchers l = gt_launchers_find(trace);
    assert_int_equal(l.count, 1);
    assert_string_equal(gt_event_name(&trace->events, l.items[0].row).bytes, "op");
    uint32_t depth = 0;
    for (uint32_t row = l.items[0].row; row != GT_NO_EVENT; row = trace->parent[row]) depth++;
    assert_int_equal(depth, DEPTH + 1);
    gt_launchers_free(&l);
    gt_pytorch_linked_free(linked);
}

static void events_without_times_are_ignored(void **unused)
{
    (void)unused;
    text t = begin();
    cpu(&t, "op", 1000, 100);
    put(&t, ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"timeless\",\"pid\":100,\"tid\":100}");
    put(&t, ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nan\",\"pid\":0,\"tid\":0,\"ts\":NaN,\"dur\":1}");
    put(&t, ",17,\"text\",null,[],{}");
    launch(&t, "k", 1010, 5, 1200, 10, 7);
    assert_launchers(&t, "op 10 10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_that_outlasts_its_caller_by_a_little),
        cmocka_unit_test(with_equal_starts_the_first_event_is_the_caller),
        cmocka_unit_test(a_graph_launch_owns_all_gpu_events_of_its_id),
        cmocka_unit_test(a_call_inside_a_call_is_its_own_launcher),
        cmocka_unit_test(execute_ops_are_skipped),
        cmocka_unit_test(ops_without_a_name_are_not_skipped),
        cmocka_unit_test(communication_counts_in_subtrees_but_is_no_launcher),
        cmocka_unit_test(gpu_events_without_a_flow_event_are_not_linked),
        cmocka_unit_test(calls_that_launch_nothing_can_be_unlinked),
        cmocka_unit_test(launches_without_flow_events_can_be_linked),
        cmocka_unit_test(uids_are_positions_in_the_file),
        cmocka_unit_test(recompute_marks_everything_below),
        cmocka_unit_test(each_stage_owns_the_trace),
        cmocka_unit_test(times_written_as_integers_are_recognised),
        cmocka_unit_test(a_million_deep_and_in_any_order),
        cmocka_unit_test(events_without_times_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
