/* Sites and tallies. The expected texts were written by hand from the definition in sites.h. */
#include "pytorch_trace.h"

#include "findings/schedule/names.h"
#include "findings/schedule/sites.h"

typedef struct program {
    gt_schedule schedule;
    gt_host_event events[16];
} program;

static program *new_program(void)
{
    program *p = gt_alloc_zero(1, sizeof *p);
    p->schedule.strings = gt_interner_new();
    p->schedule.events = p->events;
    return p;
}

static uint32_t add(program *p, uint8_t kind, const char *name, uint32_t parent)
{
    uint32_t event = (uint32_t)p->schedule.event_count++;
    p->events[event] = (gt_host_event){
        .kind = kind, .name = gt_interner_add_cstr(p->schedule.strings, name), .parent = parent};
    return event;
}

/* Looks at the names of all events, as for a trace. */
static void know_names(gt_schedule *schedule)
{
    uint32_t count = gt_interner_count(schedule->strings);
    uint8_t *seen = gt_alloc_zero(count, 1);
    for (size_t i = 0; i < schedule->event_count; i++)
        seen[schedule->events[i].name] |= schedule->events[i].kind == GT_KIND_CPU_OP       ? GT_NAMES_OP
                                          : schedule->events[i].kind == GT_KIND_PYTHON     ? GT_NAMES_PYTHON
                                          : schedule->events[i].kind == GT_KIND_ANNOTATION ? GT_NAMES_NOTE
                                                                                           : GT_NAMES_CALL;
    gt_find_name_bits(schedule, seen, count);
    gt_free(seen);
}

static void expect_text(program *p, uint32_t text, const char *expected)
{
    assert_string_equal(gt_interner_get(p->schedule.strings, text).bytes, expected);
}

static void expect_site(program *p, uint32_t event, const char *expected)
{
    if (!p->schedule.name_bits) know_names(&p->schedule);
    expect_text(p, gt_site_of(&p->schedule, event), expected);
    expect_text(p, gt_site_of(&p->schedule, event), expected); /* as it is remembered */
}

static void free_program(program *p)
{
    gt_sites_free(&p->schedule);
    assert_null(p->schedule.sites);
    gt_free((void *)p->schedule.name_bits);
    gt_interner_free(p->schedule.strings);
    gt_free(p);
}

static void test_a_built_in_names_the_call(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t step = add(p, GT_KIND_PYTHON, "train.py(127): step", GT_NONE);
    uint32_t inner = add(p, GT_KIND_PYTHON, "torch/_tensor.py(5): __float__", step);
    uint32_t item = add(p, GT_KIND_PYTHON, "<built-in method item of Tensor object at 0x7f00aa>", inner);
    uint32_t op = add(p, GT_KIND_CPU_OP, "aten::item", item);
    uint32_t nested = add(p, GT_KIND_CPU_OP, "aten::_local_scalar_dense", op);
    uint32_t call = add(p, GT_KIND_RUNTIME, "cudaMemcpyAsync", nested);
    expect_site(p, call, "train.py(127): step -> item()");
    expect_site(p, step, "train.py(127): step");
    expect_site(p, inner, "train.py(127): step -> torch/_tensor.py(5): __float__");
    free_program(p);
}

/* Only of host time in which the trace shows nothing, and not if the range is a whole step. */
static void test_the_innermost_range_is_the_site_of_idle_time(void **state)
{
    (void)state;
    program *p = new_program();
    gt_host_point points[] = {{.start_ns = 10}, {.start_ns = 600}, {.start_ns = 980}};
    p->schedule.points = points;
    p->schedule.point_count = GT_LENGTH(points);
    p->schedule.window = (gt_step_window){.start_ns = 0, .end_ns = 5000};
    uint32_t step = add(p, GT_KIND_ANNOTATION, "ProfilerStep#3", GT_NONE);
    uint32_t whole = add(p, GT_KIND_ANNOTATION, "iteration", step);
    uint32_t outer = add(p, GT_KIND_ANNOTATION, "prepare", whole);
    uint32_t inner = add(p, GT_KIND_ANNOTATION, "decode", outer);
    uint32_t optimizer = add(p, GT_KIND_ANNOTATION, "Optimizer.step#SGD.step", inner);
    uint32_t other = add(p, GT_KIND_ANNOTATION, "Optimizer.step#SGD.step", whole);
    const int64_t ends[] = {1000, 1000, 500, 400, 300, 900};
    for (uint32_t i = 0; i < GT_LENGTH(ends); i++) p->events[i].end_ns = ends[i];
    know_names(&p->schedule);
    const uint32_t events[] = {step, whole, outer, inner, optimizer, other};
    const char *const untraced[] = {"unknown", "unknown", "prepare",
                                    "decode",  "decode",  "Optimizer.step#SGD.step"};
    for (size_t i = 0; i < GT_LENGTH(events); i++) {
        expect_text(p, gt_site_of_idle(&p->schedule, GT_CAUSE_UNTRACED, events[i]), untraced[i]);
        expect_text(p, gt_site_of_idle(&p->schedule, GT_CAUSE_SYNC, events[i]), i ? "iteration" : "unknown");
    }
    expect_text(p, gt_site_of_idle(&p->schedule, GT_CAUSE_UNTRACED, GT_NONE), "unknown");
    assert_true(gt_range_of(&p->schedule, GT_NONE) == GT_STR_NONE);
    assert_true(gt_range_of(&p->schedule, other) == GT_STR_NONE);
    p->schedule.point_count = 0; /* a range that launches nothing may be as long as the step */
    expect_text(p, gt_range_of(&p->schedule, whole), "iteration");
    free_program(p);
}

static void test_the_outermost_op_names_the_call_below_a_function(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t step = add(p, GT_KIND_ANNOTATION, "ProfilerStep#4", GT_NONE);
    uint32_t model = add(p, GT_KIND_PYTHON, "model.py(9): forward", step);
    uint32_t module = add(p, GT_KIND_PYTHON, "nn.Module: Linear_0", model);
    uint32_t linear = add(p, GT_KIND_CPU_OP, "aten::linear", module);
    uint32_t addmm = add(p, GT_KIND_CPU_OP, "aten::addmm", linear);
    uint32_t call = add(p, GT_KIND_RUNTIME, "cudaLaunchKernel", addmm);
    uint32_t sync = add(p, GT_KIND_RUNTIME, "cudaStreamSynchronize", step);
    expect_site(p, call, "model.py(9): forward -> aten::linear");
    assert_int_equal(gt_op_above(&p->schedule, call), addmm);
    assert_int_equal(gt_op_above(&p->schedule, addmm), addmm);
    assert_int_equal(gt_outermost_op(&p->schedule, call), linear);
    assert_int_equal(gt_op_above(&p->schedule, module), GT_NONE);
    assert_int_equal(gt_outermost_op(&p->schedule, module), GT_NONE);
    assert_int_equal(gt_outermost_op(&p->schedule, GT_NONE), GT_NONE);
    expect_site(p, step, "unknown");
    expect_site(p, GT_NONE, "unknown");
    /* A call with nothing around it is its own site. */
    expect_site(p, sync, "cudaStreamSynchronize");
    assert_int_equal(gt_site_of_call(&p->schedule, sync), p->schedule.events[sync].name);
    assert_true(gt_site_is_known(&p->schedule, gt_site_of(&p->schedule, sync)));
    assert_false(gt_site_is_known(&p->schedule, gt_site_of(&p->schedule, step)));
    free_program(p);
}

static void test_without_stacks_the_op_is_the_site(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t step = add(p, GT_KIND_ANNOTATION, "ProfilerStep#4", GT_NONE);
    uint32_t note = add(p, GT_KIND_ANNOTATION, "Optimizer.step#AdamW.step", step);
    uint32_t op = add(p, GT_KIND_CPU_OP, "aten::item", note);
    uint32_t outer = add(p, GT_KIND_CPU_OP, "aten::to", step);
    uint32_t inner = add(p, GT_KIND_CPU_OP, "aten::copy_", outer);
    expect_site(p, op, "Optimizer.step#AdamW.step");
    expect_site(p, inner, "aten::to");
    free_program(p);
}

static void test_addresses_are_removed_from_calls(void **state)
{
    (void)state;
    program *p = new_program();
    static const char *const calls[][2] = {{"<method 'x' at 0x12ab of y>", "<method 'x' of y>"},
                                           {"<built-in function sleep>", "sleep()"},
                                           {"<built-in method >", "<built-in method >"},
                                           {"<x at 0x>", "<x at 0x>"}};
    uint32_t main = add(p, GT_KIND_PYTHON, "run.py(1): <module>", GT_NONE);
    for (size_t i = 0; i < GT_LENGTH(calls); i++) add(p, GT_KIND_PYTHON, calls[i][0], main);
    for (uint32_t i = 0; i < GT_LENGTH(calls); i++) {
        char expected[100];
        snprintf(expected, sizeof expected, "run.py(1): <module> -> %s", calls[i][1]);
        expect_site(p, main + 1 + i, expected);
    }
    free_program(p);
}

static bool is_framework(const char *name)
{
    return gt_name_bits_of((gt_str){name, strlen(name)}, GT_NAMES_PYTHON) & GT_NAME_FRAMEWORK;
}

static void test_functions_of_installed_packages_are_framework(void **state)
{
    (void)state;
    static const char *const framework[] = {
        "torch/nn/modules/linear.py(1): forward",
        "<built-in method x>",
        "nn.Module: GPT_0",
        "/opt/venv/lib/python3.11/json/decoder.py(1): decode",
        "C:\\env\\site-packages\\x.py(1): f",
        "/usr/lib/python3/dist-packages/x.py(1): f",
        "/src/torch/x.py(1): f",
        "/tmp/torchinductor_me/ab/x.py(1): call",
        "contextlib.py(1): __enter__",
        "triton/runtime/jit.py(1): run",
    };
    static const char *const user[] = {"train.py(1): step",
                                       "my/torch_tools.py(1): f",
                                       "/srv/mytorch/x.py(1): f",
                                       "site-packages.py(1): f",
                                       "lib/python3",
                                       ""};
    for (size_t i = 0; i < GT_LENGTH(framework); i++) assert_true(is_framework(framework[i]));
    for (size_t i = 0; i < GT_LENGTH(user); i++) assert_false(is_framework(user[i]));
}

static void test_ops_of_the_backward_pass_name_the_forward_op(void **state)
{
    (void)state;
    trace_text t = new_trace();
    host(&t, "cpu_op", "aten::mul", 10, 5, "\"Sequence number\":7");
    host(&t, "cpu_op", "autograd::engine::evaluate_function: MulBackward0", 30, 20, "\"Sequence number\":7");
    host(&t, "cpu_op", "MulBackward0", 31, 10, "\"Sequence number\":7");
    host(&t, "cpu_op", "autograd::engine::evaluate_function: DivBackward0", 60, 20, "\"Sequence number\":8");
    gt_pytorch_linked *trace = read_trace(&t, false);
    const gt_linked_view *view = gt_pytorch_view(trace);

    gt_host_event events[6] = {0};
    gt_schedule schedule = {
        .trace = &view->events, .strings = view->strings, .events = events, .event_count = 6};
    events[0] = (gt_host_event){.kind = GT_KIND_PYTHON,
                                .name = gt_interner_add_cstr(view->strings, "net.py(3): forward"),
                                .parent = GT_NONE,
                                .row = UINT32_MAX - 1};
    for (uint32_t i = 0; i < 4; i++)
        events[i + 1] = (gt_host_event){
            .kind = GT_KIND_CPU_OP, .name = view->name[i], .row = i, .flags = i ? GT_HOST_BACKWARD : 0};
    events[1].parent = 0;
    events[2].parent = GT_NONE;
    events[3].parent = 2;
    events[4].parent = GT_NONE;
    events[5] = (gt_host_event){.kind = GT_KIND_CPU_OP,
                                .name = gt_interner_add_cstr(view->strings, "aten::copy_"),
                                .parent = 3,
                                .row = UINT32_MAX - 1};
    assert_string_equal(gt_interner_get(view->strings, gt_site_of_op(&schedule, 5)).bytes,
                        "backward of net.py(3): forward -> aten::mul");
    assert_string_equal(gt_interner_get(view->strings, gt_site_of_op(&schedule, 4)).bytes,
                        "backward of DivBackward0");
    assert_string_equal(gt_interner_get(view->strings, gt_site_of_op(&schedule, 1)).bytes,
                        "net.py(3): forward -> aten::mul");
    assert_string_equal(gt_interner_get(view->strings, gt_site_of_op(&schedule, GT_NONE)).bytes, "unknown");
    gt_sites_free(&schedule);
    gt_pytorch_linked_free(trace);
}

/* A walk to the root for each event would take 5e11 steps here. */
static void test_a_million_nested_events_are_linear(void **state)
{
    (void)state;
    const uint32_t count = 1000000;
    gt_interner *strings = gt_interner_new();
    gt_host_event *events = gt_alloc_zero(count, sizeof *events);
    uint32_t name = gt_interner_add_cstr(strings, "aten::x");
    for (uint32_t i = 0; i < count; i++)
        events[i] = (gt_host_event){.kind = GT_KIND_CPU_OP, .name = name, .parent = i ? i - 1 : GT_NONE};
    gt_schedule schedule = {.strings = strings, .events = events, .event_count = count};
    uint32_t expected = gt_interner_add_cstr(strings, "aten::x");
    for (uint32_t i = count; i-- > 0;) {
        assert_int_equal(gt_site_of(&schedule, i), expected);
        assert_int_equal(gt_site_of_op(&schedule, i), expected);
    }
    gt_sites_free(&schedule);
    gt_free(events);
    gt_interner_free(strings);
}

static void test_tallies_keep_the_order_of_equal_sums(void **state)
{
    (void)state;
    gt_tally tally = {0};
    gt_tally_sort(&tally);
    gt_tally_add(&tally, 30, 1);
    gt_tally_add(&tally, 20, 2);
    gt_tally_add(&tally, 10, 0.5);
    gt_tally_add(&tally, 40, 2);
    gt_tally_add(&tally, 10, 0.5);
    gt_tally_sort(&tally);
    static const uint32_t order[] = {20, 40, 30, 10};
    assert_int_equal(tally.item_count, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(tally.items[i].text, order[i]);
    assert_int_equal(tally.items[3].count, 2);
    assert_float_equal(tally.items[3].sum, 1, 0);
    gt_tally_add(&tally, 10, 9); /* after sorting */
    assert_float_equal(tally.items[3].sum, 10, 0);
    gt_tally_free(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_built_in_names_the_call),
        cmocka_unit_test(test_the_innermost_range_is_the_site_of_idle_time),
        cmocka_unit_test(test_the_outermost_op_names_the_call_below_a_function),
        cmocka_unit_test(test_without_stacks_the_op_is_the_site),
        cmocka_unit_test(test_addresses_are_removed_from_calls),
        cmocka_unit_test(test_functions_of_installed_packages_are_framework),
        cmocka_unit_test(test_ops_of_the_backward_pass_name_the_forward_op),
        cmocka_unit_test(test_a_million_nested_events_are_linear),
        cmocka_unit_test(test_tallies_keep_the_order_of_equal_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
