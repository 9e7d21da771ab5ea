/* Walking down the call tree: children, launches below an event, roots, gradients, annotations. */
#include "pytorch_trace.h"
#include "perf_sheets.h"

#include "trace/pytorch/pytorch.h"
#include "trace/pytorch/calls.h"

/* Names of rows, separated by blanks. */
static void expect_rows(const gt_linked_view *trace, const gt_row_list *rows, const char *names)
{
    char text[512] = "";
    for (size_t i = 0; i < rows->count; i++) {
        if (i) strcat(text, " ");
        strcat(text, gt_event_name(&trace->events, rows->items[i]).bytes);
    }
    assert_string_equal(text, names);
}

static uint32_t row_named(const gt_linked_view *trace, const char *name)
{
    for (uint32_t row = 0; row < trace->count; row++)
        if (strcmp(gt_event_name(&trace->events, row).bytes, name) == 0) return row;
    fail_msg("no event %s", name);
    return 0;
}

static void children_are_in_time_order(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "outer", 1000, 100);
    cpu(&t, "second", 1050, 10);
    cpu(&t, "first", 1010, 20);
    cpu(&t, "inner", 1015, 5);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_calls *calls = gt_calls_new(trace);
    gt_row_list children = {0};
    uint32_t outer = row_named(trace, "outer");
    for (uint32_t c = gt_calls_first(calls, outer); c != GT_NO_EVENT; c = gt_calls_next(calls, outer, c))
        GT_PUSH(children.items, children.count, children.capacity, c);
    expect_rows(trace, &children, "first second");
    assert_int_equal(gt_calls_first(calls, row_named(trace, "inner")), GT_NO_EVENT);
    uint32_t *callers = gt_calls_callers(calls);
    assert_int_equal(calls->row_of[callers[trace->preorder[row_named(trace, "inner")]]],
                     row_named(trace, "first"));
    assert_int_equal(callers[trace->preorder[outer]], GT_NO_EVENT);
    gt_free(callers);
    free(children.items);
    gt_calls_free(calls);
    gt_pytorch_linked_free(linked);
}

static void gpu_events_are_in_file_order_of_their_launches(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "outer", 1000, 100);
    launch(&t, "written_first", 1080, 5, 1200, 10, 7);
    cpu(&t, "inner", 1010, 50);
    launch(&t, "written_second", 1020, 5, 1210, 10, 8);
    cpu(&t, "idle", 1070, 2);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_calls *calls = gt_calls_new(trace);
    gt_row_list gpu_rows = {0};
    gt_calls_add_gpu_events(calls, row_named(trace, "outer"), &gpu_rows);
    expect_rows(trace, &gpu_rows, "written_first written_second");
    gpu_rows.count = 0;
    gt_calls_add_gpu_events(calls, row_named(trace, "inner"), &gpu_rows);
    expect_rows(trace, &gpu_rows, "written_second");
    assert_true(gt_calls_use_gpu(calls, row_named(trace, "inner")));
    assert_false(gt_calls_use_gpu(calls, row_named(trace, "idle")));
    free(gpu_rows.items);
    gt_calls_free(calls);
    gt_pytorch_linked_free(linked);
}

/* An event that outlasts its caller by more than a microsecond is not part of the tree, but still has its
 * kernel. */
static void calls_outside_the_tree_keep_their_kernels(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 20);
    launch(&t, "kernel", 1010, 50, 1200, 10, 7);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_calls *calls = gt_calls_new(trace);
    gt_row_list gpu_rows = {0};
    uint32_t runtime = row_named(trace, "hipLaunchKernel");
    assert_int_equal(trace->preorder[runtime], GT_NO_EVENT);
    gt_calls_add_gpu_events(calls, runtime, &gpu_rows);
    expect_rows(trace, &gpu_rows, "kernel");
    assert_true(gt_calls_use_gpu(calls, runtime));
    assert_false(gt_calls_use_gpu(calls, row_named(trace, "op")));
    assert_int_equal(gt_calls_first(calls, runtime), GT_NO_EVENT);
    free(gpu_rows.items);
    gt_calls_free(calls);
    gt_pytorch_linked_free(linked);
}

static void roots_of_all_threads_are_in_time_order(void **state)
{
    (void)state;
    trace_text t = new_trace();
    op_on(&t, 1, "late", 1100, 10, "");
    op_on(&t, 1, "early", 1000, 50, "");
    op_on(&t, 1, "below", 1010, 10, "");
    op_on(&t, 2, "between", 1020, 200, "");
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_calls *calls = gt_calls_new(trace);
    gt_row_list roots = gt_calls_cpu_roots(calls);
    expect_rows(trace, &roots, "early between late");
    free(roots.items);
    gt_calls_free(calls);
    gt_pytorch_linked_free(linked);
}

#define SEQUENCE(n) "\"Sequence number\":" #n

/* The forward op is the last one of another thread with the sequence number; ops of autograd's own thread do
 * not count. */
static void gradients_belong_to_the_innermost_op(void **state)
{
    (void)state;
    trace_text t = new_trace();
    op_on(&t, 1, "module", 1000, 100, "");
    op_on(&t, 1, "conv", 1010, 80, SEQUENCE(5));
    op_on(&t, 1, "cudnn_conv", 1020, 60, SEQUENCE(5));
    op_on(&t, 1, "relu", 1091, 5, SEQUENCE(6));
    op_on(&t, 1, "no_gradient", 1098, 1, SEQUENCE(7));
    op_on(&t, 2, "autograd::engine::evaluate_function: Conv", 2000, 50, SEQUENCE(5));
    op_on(&t, 2, "ConvBackward", 2010, 30, SEQUENCE(5));
    op_on(&t, 2, "autograd::engine::evaluate_function: Relu", 2100, 50, SEQUENCE(6));
    op_on(&t, 2, "autograd::engine::evaluate_function: again", 2200, 50, SEQUENCE(6));
    op_on(&t, 2, "autograd::engine::evaluate_function: of itself", 2300, 50, SEQUENCE(9));
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_calls *calls = gt_calls_new(trace);
    gt_gradients *gradients = gt_gradients_link(calls);
    uint32_t conv = row_named(trace, "autograd::engine::evaluate_function: Conv");
    assert_int_equal(gradients->forward_of[conv], row_named(trace, "cudnn_conv"));
    assert_int_equal(gradients->backward_of[row_named(trace, "cudnn_conv")], conv);
    assert_int_equal(gradients->backward_of[row_named(trace, "conv")], GT_NO_EVENT);
    assert_int_equal(gradients->backward_of[row_named(trace, "no_gradient")], GT_NO_EVENT);
    assert_int_equal(gradients->forward_of[row_named(trace, "autograd::engine::evaluate_function: again")],
                     GT_NO_EVENT);
    assert_int_equal(
        gradients->forward_of[row_named(trace, "autograd::engine::evaluate_function: of itself")],
        GT_NO_EVENT);
    gt_row_list below = {0};
    gt_gradients_add_below(gradients, row_named(trace, "module"), &below);
    expect_rows(trace, &below,
                "autograd::engine::evaluate_function: Conv autograd::engine::evaluate_function: Relu");
    below.count = 0;
    gt_gradients_add_below(gradients, row_named(trace, "conv"), &below);
    expect_rows(trace, &below, "autograd::engine::evaluate_function: Conv");
    free(below.items);
    gt_gradients_free(gradients);
    gt_calls_free(calls);
    gt_pytorch_linked_free(linked);
}

static void annotate(trace_text *t, const char *name, double start, double dur)
{
    add_event(
        t,
        "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%.15g,"
        "\"dur\":%.15g}",
        name, start, dur);
}

static void annotations_contain_events_in_time(void **state)
{
    (void)state;
    trace_text t = new_trace();
    annotate(&t, "inner step", 1005, 40);
    annotate(&t, "step", 1000, 50);
    annotate(&t, "short", 900, 100);
    cpu(&t, "attention", 1010, 10);
    cpu(&t, "attention_at_the_end", 1040, 10); /* ends with the step, so it is not inside */
    cpu(&t, "other", 1012, 2);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    uint32_t *found = gt_events_find_annotations(&trace->events, (const char *[]){"attention"}, 1, NULL);
    assert_string_equal(gt_interner_get(trace->strings, found[row_named(trace, "attention")]).bytes, "step");
    assert_string_equal(
        gt_interner_get(trace->strings, found[row_named(trace, "attention_at_the_end")]).bytes, "NA");
    assert_int_equal(found[row_named(trace, "other")], GT_STR_NONE);
    assert_null(gt_events_find_annotations(&trace->events, (const char *[]){"nothing begins so"}, 1, NULL));
    free(found);
    gt_pytorch_linked_free(linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_in_time_order),
        cmocka_unit_test(gpu_events_are_in_file_order_of_their_launches),
        cmocka_unit_test(calls_outside_the_tree_keep_their_kernels),
        cmocka_unit_test(roots_of_all_threads_are_in_time_order),
        cmocka_unit_test(gradients_belong_to_the_innermost_op),
        cmocka_unit_test(annotations_contain_events_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
