/* Rules of the host and of copies, and the engine that ranks them, on schedules made by hand. The expected
 * step times and gains were computed by hand; a comment shows how. */
#include "made_schedule.h"

#define US 1000.0

static const gt_finding *expect_gain(const gt_finding_list *list, const char *id, double us)
{
    const gt_finding *finding = find_finding(list, id);
    assert_non_null(finding);
    assert_float_equal(finding->gain_ns, us * US, 1);
    assert_true(finding->rank > 0);
    assert_non_null(finding->title);
    assert_non_null(finding->advice);
    assert_true(finding->evidence_count > 0);
    return finding;
}

static void end_test(made *m, gt_finding_list *list)
{
    gt_finding_list_free(list);
    free_made(m);
}

static void add_copy(made *m, const char *name, int64_t us, int64_t bytes, bool waits)
{
    add_call(m, GT_API_COPY, "cudaMemcpyAsync", 20);
    add_op(m, GT_KIND_MEMCPY, name, us, bytes);
    if (waits) wait_in_call(m);
}

static void test_numbers_have_no_idle_decimals_and_nouns_the_right_form(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *expected;
    } cases[] = {{0, "0 copies"},     {0.01, "under 0.1 copies"},
                 {0.3, "0.3 copies"}, {1, "1 copy"},
                 {1.01, "1 copy"},    {1.33, "1.3 copies"},
                 {2, "2 copies"},     {30, "30 copies"},
                 {30.4, "30 copies"}, {1e15, "1000000000000000 copies"}};
    for (size_t i = 0; i < GT_LENGTH(cases); i++)
        assert_string_equal(gt_rule_count(cases[i].number, "copy", "copies").text, cases[i].expected);
    assert_string_equal(gt_rule_number(29.999).text, "30");
}

/* ---- rules of labels ---- */

/* Each step spends some host time and launches one kernel of 1 ms, so a step takes that time and the call of
 * 10 us; without it, the 1 ms of the kernel. */
static made *make_label_steps(gt_cause label, int64_t us, uint32_t event)
{
    made *m = new_made();
    if (event != GT_NONE) add_event(m, GT_KIND_PYTHON, "train.py(7): work", GT_NONE);
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        spend(m, label, us, event);
        launch_kernel(m, "gemm", 10, 1000);
    }
    end_made(m);
    set_idle(m, label, us + 10 - 1000);
    return m;
}

static void test_data_loading_that_holds_up_the_gpu_is_found(void **state)
{
    (void)state;
    made *m = make_label_steps(GT_CAUSE_DATA, 3000, 0);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "data_stall", 2010);
    assert_int_equal(finding->rank, 1);
    assert_int_equal(finding->severity, GT_SEVERITY_HIGH);
    assert_int_equal(finding->confidence, GT_CONFIDENCE_HIGH);
    assert_false(finding->is_gpu);
    assert_float_equal(finding->gain_pct, 100 * 2010 / 3010.0, 1e-9);
    assert_string_equal(finding->title, "The GPU waits 2.01 ms per step for input data");
    assert_float_equal(list->all_fixed_ns, 1000 * US, 1);
    end_test(m, list);
}

static void test_waiting_is_no_python_code(void **state)
{
    (void)state;
    made *m = make_label_steps(GT_CAUSE_WAIT, 3000, 0);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "wait", 2010);
    assert_int_equal(finding->rank, 1);
    assert_int_equal(finding->confidence, GT_CONFIDENCE_HIGH);
    assert_string_equal(finding->title,
                        "The launching thread waits 3.00 ms per step for something outside of the "
                        "trace; the GPU is idle for 2.01 ms of it");
    assert_null(find_finding(list, "python_busy"));
    end_test(m, list);
}

static void test_data_loading_beside_a_busy_gpu_is_not_shown(void **state)
{
    (void)state;
    /* 900 us of host time per step are hidden behind the kernel of 1 ms, or all but 5 us. */
    for (int idle_us = 0; idle_us <= 5; idle_us += 5) {
        made *m = make_label_steps(GT_CAUSE_DATA, 900, 0);
        m->idle.cause_ns[GT_CAUSE_DATA] = 3 * 1000 * idle_us;
        gt_finding_list *list = run_rules(m);
        const gt_finding *finding = find_finding(list, "data_stall");
        assert_int_equal(finding != NULL, idle_us > 0);
        assert_int_equal(list->shown, 0);
        end_test(m, list);
    }
}

static void test_nothing_is_said_of_labels_that_do_not_occur(void **state)
{
    (void)state;
    made *m = make_label_steps(GT_CAUSE_LAUNCH, 3000, 0);
    gt_finding_list *list = run_rules(m);
    static const char *const ids[] = {"data_stall",      "host_sync",    "cpu_op",        "cpu_roundtrip",
                                      "allocator_churn", "python_busy",  "host_untraced", "first_use",
                                      "pageable_copy",   "exposed_copy", "slow_optimizer"};
    for (size_t i = 0; i < GT_LENGTH(ids); i++) assert_null(find_finding(list, ids[i]));
    end_test(m, list);
}

static void test_python_code_names_its_function(void **state)
{
    (void)state;
    made *m = make_label_steps(GT_CAUSE_PYTHON, 3000, 0);
    gt_finding_list *list = run_rules(m);
    assert_string_equal(expect_gain(list, "python_busy", 2010)->where, "train.py(7): work");
    end_test(m, list);
}

static void test_untraced_host_code_is_certain_only_without_stacks(void **state)
{
    (void)state;
    for (int stacks = 0; stacks < 2; stacks++) {
        made *m = make_label_steps(GT_CAUSE_UNTRACED, 3000, GT_NONE);
        m->schedule.has_stacks = stacks;
        gt_finding_list *list = run_rules(m);
        const gt_finding *finding = expect_gain(list, "host_untraced", 2010);
        assert_int_equal(finding->confidence, stacks ? GT_CONFIDENCE_LOW : GT_CONFIDENCE_MEDIUM);
        assert_int_equal(finding->severity, stacks ? GT_SEVERITY_MEDIUM : GT_SEVERITY_HIGH);
        /* A hint is not part of what all repairs give together. */
        assert_float_equal(list->all_fixed_ns, (stacks ? 3010 : 1000) * US, 1);
        end_test(m, list);
    }
}

static void test_operators_on_the_cpu_are_found(void **state)
{
    (void)state;
    made *m = make_label_steps(GT_CAUSE_CPU_OP, 3000, GT_NONE);
    uint32_t op = add_event(m, GT_KIND_CPU_OP, "aten::sort", GT_NONE);
    uint32_t below = add_event(m, GT_KIND_PYTHON, "torch/x.py(1): f", op);
    for (size_t i = 0; i < m->schedule.piece_count; i++) m->schedule.pieces[i].event = below;
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "cpu_op", 2010);
    assert_string_equal(finding->evidence[0], "aten::sort: 3.00 ms per step on the CPU");
    assert_null(find_finding(list, "cpu_roundtrip"));
    end_test(m, list);
}

/* ---- rules of calls ---- */

/* Per step: a kernel of 1 ms, a synchronisation, 500 us of launching and another kernel of 1 ms. The GPU is
 * idle after the first kernel: 10 us of the call, 500 us, and 5 us until the launched kernel starts. */
static made *make_sync_steps(void)
{
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "gemm", 10, 1000);
        synchronise(m, "train.py(9): step -> item()");
        spend(m, GT_CAUSE_LAUNCH, 500, GT_NONE);
        launch_kernel(m, "gemm", 10, 1000);
    }
    end_made(m);
    set_idle(m, GT_CAUSE_SYNC, 515);
    return m;
}

static void test_synchronisations_are_found(void **state)
{
    (void)state;
    made *m = make_sync_steps();
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "host_sync", 515);
    assert_string_equal(finding->where, "train.py(9): step -> item()");
    assert_string_equal(finding->evidence[0],
                        "the host waits 2.32 ms per step in these calls, and the GPU is "
                        "idle for 0.52 ms as a consequence");
    assert_string_equal(finding->evidence[1], "1.3 x train.py(9): step -> item()");
    assert_int_equal(finding->confidence, GT_CONFIDENCE_HIGH);
    end_test(m, list);
}

/* The evidence that the terminal shows: of calls that cause so much idle time, in us per step. */
static void assert_explained(int64_t idle_us, const char *first, const char *second)
{
    made *m = make_sync_steps();
    m->idle.cause_ns[GT_CAUSE_SYNC] = 0;
    if (idle_us) set_idle(m, GT_CAUSE_SYNC, idle_us);
    set_idle(m, GT_CAUSE_LAUNCH, 515 - idle_us);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "host_sync", 515);
    assert_string_equal(finding->evidence[0], first);
    assert_int_equal(strncmp(finding->evidence[1], second, strlen(second)), 0);
    assert_int_equal(finding->evidence_count, 3);
    end_test(m, list);
}

static void test_a_gain_beyond_the_idle_time_of_the_calls_is_explained(void **state)
{
    (void)state;
    assert_explained(15,
                     "the host waits 2.32 ms per step in these calls, and the GPU is idle for 0.01 ms as a "
                     "consequence",
                     "0.50 ms of the gain are other idle time that the host causes: without the calls ");
    assert_explained(0, "the host waits 2.32 ms per step in these calls",
                     "the gain is other idle time that the host causes: without the calls ");
    assert_explained(400,
                     "the host waits 2.32 ms per step in these calls, and the GPU is idle for 0.40 ms as a "
                     "consequence",
                     "1.3 x train.py(9): step -> item()");
}

/* Begins an op on the host, and ends it some time later. */
static uint32_t begin_op(made *m, const char *name)
{
    m->parent = add_event(m, GT_KIND_CPU_OP, name, GT_NONE);
    m->schedule.events[m->parent].start_ns = m->now_ns;
    return m->parent;
}

static void end_op(made *m, uint32_t op, int64_t us, uint32_t launches)
{
    m->schedule.events[op].end_ns = m->now_ns + us * 1000;
    m->schedule.events[op].launches = (uint16_t)launches;
    m->parent = GT_NONE;
}

static void test_reading_a_value_vanishes_with_the_check_before_it(void **state)
{
    (void)state;
    /* Per step two ops with 50 us and a launch of 10 us each. Then an op that spends 100 us, copies 4 bytes
     * (a call of 20 us), synchronises (10 us) and ends 30 us later. After the synchronisation follow 200 us
     * of launching. The value is read: the op that reads it and the check before it vanish, not the first op.
     */
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        static const char *const names[] = {"aten::mul", "aten::isnan"};
        for (int i = 0; i < 2; i++) {
            uint32_t op = begin_op(m, names[i]);
            spend(m, GT_CAUSE_LAUNCH, 50, op);
            launch_kernel(m, "k", 10, 5);
            end_op(m, op, 0, 1);
        }
        uint32_t op = begin_op(m, "aten::item");
        spend(m, GT_CAUSE_LAUNCH, 100, op);
        add_copy(m, "Memcpy DtoH (Device -> Pageable)", 1, 4, false);
        synchronise(m, "a");
        end_op(m, op, 30, 1);
        spend(m, GT_CAUSE_LAUNCH, 200, GT_NONE);
    }
    end_made(m);
    set_idle(m, GT_CAUSE_LAUNCH, 400);
    gt_finding_list *list = run_rules(m);
    expect_gain(list, "host_sync", 50 + 10 + 100 + 20 + 10 + 30); /* the copy ends before it is waited for */
    end_test(m, list);
}

/* Per step the launch of a graph, a call of 2 ms that no op makes, and a value that is read: an op with 100
 * us, a copy (20 us) and a synchronisation (10 us). Only the op vanishes. */
static void test_reading_a_value_leaves_calls_without_op(void **state)
{
    (void)state;
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "graph", 2000, 1500);
        uint32_t op = begin_op(m, "aten::item");
        spend(m, GT_CAUSE_LAUNCH, 100, op);
        add_copy(m, "Memcpy DtoH (Device -> Pageable)", 1, 4, false);
        synchronise(m, "a");
        end_op(m, op, 0, 1);
    }
    end_made(m);
    set_idle(m, GT_CAUSE_LAUNCH, 600);
    gt_finding_list *list = run_rules(m);
    assert_float_equal(find_finding(list, "host_sync")->gain_ns, (100 + 20 + 10) * US, US);
    end_test(m, list);
}

static void test_ops_that_also_launch_keep_their_time(void **state)
{
    (void)state;
    /* An op that launches and copies, such as aten::nonzero: only its synchronisation of 10 us goes. */
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        uint32_t op = begin_op(m, "aten::nonzero");
        spend(m, GT_CAUSE_LAUNCH, 100, op);
        launch_kernel(m, "k", 10, 5);
        add_copy(m, "Memcpy DtoH (Device -> Pageable)", 1, 4, false);
        synchronise(m, "a");
        end_op(m, op, 0, 2);
    }
    end_made(m);
    set_idle(m, GT_CAUSE_LAUNCH, 100);
    gt_finding_list *list = run_rules(m);
    expect_gain(list, "host_sync", 10);
    end_test(m, list);
}

static void test_a_loop_of_synchronisations_vanishes_as_a_whole(void **state)
{
    (void)state;
    /* Per step 10 times: 40 us of host time, a kernel of 5 us, a synchronisation that waits 0 us and takes
     * 10 us: 600 us. Without the loop only the kernels remain. */
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        for (int i = 0; i < 10; i++) {
            m->flags = GT_POINT_BURST;
            spend(m, GT_CAUSE_SYNC, 40, GT_NONE);
            launch_kernel(m, "k", 10, 5);
            synchronise(m, "a");
        }
    }
    m->schedule.burst_count = 4;
    end_made(m);
    set_idle(m, GT_CAUSE_SYNC, 550);
    gt_finding_list *list = run_rules(m);
    expect_gain(list, "host_sync", 550);
    end_test(m, list);
}

static void test_allocations_and_frees_are_found(void **state)
{
    (void)state;
    /* A kernel of 1 ms, then a free that waits for it and takes 200 us; the next kernel starts 5 us after its
     * call: 1205 us per step instead of 1000. */
    made *m = new_made();
    m->parent = add_event(m, GT_KIND_PYTHON, "train.py(3): step", GT_NONE);
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "gemm", 10, 1000);
        add_call(m, GT_API_FREE, "cudaFree", 200);
        wait_in_call(m);
    }
    end_made(m);
    set_idle(m, GT_CAUSE_ALLOC, 205);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "allocator_churn", 205);
    assert_string_equal(finding->where, "train.py(3): step");
    assert_string_equal(finding->title, "Device memory is allocated or freed 1 time per step");
    assert_string_equal(finding->evidence[1], "1 x cudaFree per step");
    end_test(m, list);
}

static void test_ops_that_an_allocation_holds_back_start_sooner(void **state)
{
    (void)state;
    /* A kernel of 300 us; while it runs, a call that allocates and the launch of a copy of 10 us, which
     * starts 500 us after the kernel instead of 10 us. */
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "gemm", 10, 300);
        add_call(m, GT_API_ALLOC, "cudaMalloc", 200);
        add_copy(m, "Memcpy HtoD (Pinned -> Device)", 10, 1000, false);
        gt_gpu_op *copy = &m->schedule.ops[m->schedule.op_count - 1];
        assert_int_equal(copy->begins, GT_START_QUEUE);
        copy->start_ns += 500000;
        copy->end_ns += 500000;
        copy->offset_ns += 500000;
    }
    end_made(m);
    gt_finding_list *list = run_rules(m);
    expect_gain(list, "allocator_churn", 810 - 320);
    end_test(m, list);
}

/* Per step a kernel of 1 ms, an all-reduce of 1.5 ms on another stream, a call that allocates while it runs,
 * and a kernel of 500 us that waits for the all-reduce and starts so long after it. */
static made *make_allocations_beside_communication(int64_t held_us)
{
    made *m = new_made();
    gt_schedule *s = &m->schedule;
    s->stream_count = 2;
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "gemm", 10, 1000);
        launch_kernel(m, "ncclAllReduce", 10, 1500);
        s->ops[s->op_count - 1].stream = 1;
        add_call(m, GT_API_ALLOC, "cudaMalloc", 60);
        launch_kernel(m, "adam", 10, 500);
        gt_gpu_op *last = &s->ops[s->op_count - 1];
        last->start_ns += held_us * 1000;
        last->end_ns += held_us * 1000;
        last->offset_ns = held_us * 1000;
        last->begins = GT_START_DEPENDENCY;
        last->dependency = (uint32_t)s->op_count - 2;
        last->previous = (uint32_t)s->op_count - 3;
        synchronise(m, "loss.item()");
    }
    end_made(m);
    return m;
}

static void test_waiting_for_another_stream_is_no_allocation(void **state)
{
    (void)state;
    made *m = make_allocations_beside_communication(2);
    gt_finding_list *list = run_rules(m);
    assert_float_equal(find_finding(list, "allocator_churn")->gain_ns, 0, 1);
    end_test(m, list);
    /* The GPU is idle before the last kernel, which is held back, but not while the all-reduce runs. */
    m = make_allocations_beside_communication(800);
    list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "allocator_churn", 790);
    assert_string_equal(finding->evidence[1], "0.80 ms of other idle time per step: work that was launched "
                                              "starts late during or soon after these calls");
    end_test(m, list);
}

/* A kernel starts 1 ms late in every step of 11 ms, and one step has a call that allocates just before. */
static void test_work_that_is_late_anyway_is_not_held_back(void **state)
{
    (void)state;
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "gemm", 10, 1000);
        if (step == 1 || step == 2) add_call(m, GT_API_ALLOC, "cudaMalloc", 10);
        launch_kernel(m, "late", 10, 10);
        gt_gpu_op *late = &m->schedule.ops[m->schedule.op_count - 1];
        late->start_ns += 1000000;
        late->end_ns += 1000000;
        late->offset_ns += 1000000;
        launch_kernel(m, "gemm", 10, 9000);
        synchronise(m, "loss.item()");
    }
    end_made(m);
    set_idle(m, GT_CAUSE_DEVICE_WAIT, 1000);
    gt_finding_list *list = run_rules(m);
    assert_float_equal(find_finding(list, "allocator_churn")->gain_ns, 0, 1);
    end_test(m, list);
}

/* Each step launches another kernel. */
static made *make_long_launches(int64_t call_us)
{
    made *m = new_made();
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, names[step], call_us, 100);
    }
    end_made(m);
    set_idle(m, GT_CAUSE_MODULE, 901);
    return m;
}

static void test_long_launch_calls_are_first_use(void **state)
{
    (void)state;
    for (int is_long = 0; is_long < 2; is_long++) {
        made *m = make_long_launches(is_long ? 1001 : 1000);
        gt_finding_list *list = run_rules(m);
        if (is_long)
            expect_gain(list, "first_use", 901);
        else
            assert_null(find_finding(list, "first_use"));
        end_test(m, list);
    }
}

/* Code is loaded once: a launch of the same kernel that takes long in most steps is slow, and so is one that
 * takes long most of the times. */
static void test_long_launch_calls_that_repeat_are_not_first_use(void **state)
{
    (void)state;
    for (int long_steps = 1; long_steps <= 4; long_steps++) {
        made *m = new_made();
        for (int step = 0; step < 4; step++) {
            begin_step(m);
            for (int i = 0; i < 3; i++) launch_kernel(m, "k", step < long_steps && i == 1 ? 2000 : 10, 100);
        }
        end_made(m);
        set_idle(m, long_steps < 3 ? GT_CAUSE_MODULE : GT_CAUSE_LAUNCH, 2000);
        gt_finding_list *list = run_rules(m);
        const gt_finding *first = find_finding(list, "first_use"),
                         *bound = find_finding(list, "launch_bound");
        if (long_steps < 3) {
            assert_non_null(first);
            assert_non_null(strstr(first->advice, long_steps < 2 ? "do not repeat" : "the cost is real"));
        } else {
            assert_null(first);
            assert_true(bound->rank == 1 && bound->gain_ns > 1500 * US);
            assert_non_null(strstr(bound->evidence[1], "not only at first use"));
            assert_non_null(strstr(bound->evidence[1], "with 2.00 ms each, such as cudaLaunchKernel"));
            assert_non_null(strstr(bound->advice, "why these calls take long"));
        }
        end_test(m, list);
    }
    made *m = new_made(); /* three times in one step */
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "k", 10, 100);
        for (int i = 0; i < 3 && step == 1; i++) launch_kernel(m, "graph", 2000, 100);
    }
    end_made(m);
    gt_finding_list *list = run_rules(m);
    assert_null(find_finding(list, "first_use"));
    end_test(m, list);
}

/* The host runs ahead: the call begins before the window does on the GPU. */
static void test_first_use_before_the_window_counts(void **state)
{
    (void)state;
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "k", 10, 1000);
        if (step == 0) launch_kernel(m, "new", 5000, 1000);
    }
    end_made(m);
    m->schedule.window.start_ns = m->schedule.points[1].start_ns + 1000000;
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = find_finding(list, "first_use");
    assert_non_null(finding);
    assert_string_equal(finding->evidence[0], "1 call of cudaLaunchKernel");
    assert_non_null(strstr(finding->title, "1.33 ms per step")); /* 4 ms in 3 steps */
    end_test(m, list);
}

/* A variable of CUDA means nothing to HIP. */
static void test_first_use_on_amd(void **state)
{
    (void)state;
    for (int is_amd = 0; is_amd < 2; is_amd++) {
        made *m = make_long_launches(1001);
        m->gpu.is_amd = is_amd;
        gt_finding_list *list = run_rules(m);
        const gt_finding *finding = find_finding(list, "first_use");
        assert_non_null(finding);
        assert_non_null(strstr(finding->advice, "after more warm-up steps"));
        assert_int_equal(strstr(finding->advice, "CUDA") == NULL, is_amd);
        end_test(m, list);
    }
}

/* ---- copies ---- */

/* Per step a copy of 500 us that blocks the host, and a kernel of 1 ms, which starts 25 us after the copy. */
static made *make_copy_steps(const char *name, int64_t bytes)
{
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        add_copy(m, name, 500, bytes, true);
        launch_kernel(m, "gemm", 10, 1000);
    }
    end_made(m);
    return m;
}

static void test_pageable_copies_are_found(void **state)
{
    (void)state;
    made *m = make_copy_steps("Memcpy HtoD (Pageable -> Device)", 65536);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "pageable_copy", 525);
    assert_true(finding->is_gpu);
    assert_string_equal(finding->evidence[0], "1 x HtoD (Pageable -> Device)");
    assert_null(find_finding(list, "exposed_copy"));
    end_test(m, list);

    m = make_copy_steps("Memcpy HtoD (Pageable -> Device)", 65535); /* small copies are always staged */
    list = run_rules(m);
    assert_null(find_finding(list, "pageable_copy"));
    end_test(m, list);
}

static void test_slow_copies_of_amd_are_pageable(void **state)
{
    (void)state;
    /* 10 GB/s are 5,000,000 bytes in 500 us. */
    static const struct {
        bool is_amd;
        int64_t bytes;
        const char *id, *not_id;
    } cases[] = {{true, 4999999, "pageable_copy", "exposed_copy"},
                 {true, 5000000, "exposed_copy", "pageable_copy"},
                 {true, (1 << 20) - 1, "exposed_copy", "pageable_copy"},
                 {false, 4999999, "exposed_copy", "pageable_copy"}};
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        made *m = make_copy_steps("CopyHostToDevice", cases[i].bytes);
        m->gpu.is_amd = cases[i].is_amd;
        gt_finding_list *list = run_rules(m);
        assert_non_null(find_finding(list, cases[i].id));
        assert_null(find_finding(list, cases[i].not_id));
        end_test(m, list);
    }
}

static void test_other_copies_are_exposed(void **state)
{
    (void)state;
    made *m = make_copy_steps("Memcpy HtoD (Pinned -> Device)", 1 << 20);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "exposed_copy", 500); /* the call still waits */
    assert_int_equal(finding->confidence, GT_CONFIDENCE_MEDIUM);
    end_test(m, list);

    /* On the device: not a copy of the host. */
    m = make_copy_steps("Memcpy DtoD (Device -> Device)", 1 << 20);
    list = run_rules(m);
    assert_null(find_finding(list, "exposed_copy"));
    end_test(m, list);
}

static void test_copies_below_a_hundredth_of_the_window_are_not_exposed(void **state)
{
    (void)state;
    for (int64_t us = 10; us <= 11; us++) {
        /* The window is 1000 us per step, one copy and one kernel; all are queued behind a first kernel. */
        made *m = new_made();
        launch_kernel(m, "gemm", 10, 1000);
        for (int step = 0; step < 4; step++) {
            begin_step(m);
            add_copy(m, "Memcpy HtoD (Pinned -> Device)", us, 1 << 20, false);
            launch_kernel(m, "gemm", 10, 1000 - us);
        }
        end_made(m);
        assert_int_equal(m->schedule.window.end_ns - m->schedule.window.start_ns, 3 * 1000000);
        gt_finding_list *list = run_rules(m);
        assert_int_equal(find_finding(list, "exposed_copy") != NULL, us == 11);
        end_test(m, list);
    }
}

static void test_round_trips_take_their_copies_and_waits_along(void **state)
{
    (void)state;
    /* Per step: a kernel of 100 us, a copy to the host of 50 us that the host waits for, 2 ms on the CPU, and
     * a copy back of 50 us. All but the kernel would vanish. */
    made *m = new_made();
    uint32_t op = add_event(m, GT_KIND_CPU_OP, "aten::sort", GT_NONE);
    size_t capacity = 0;
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "k", 10, 100);
        uint32_t first = (uint32_t)m->schedule.point_count;
        add_copy(m, "Memcpy DtoH (Device -> Pageable)", 50, 1000000, true);
        spend(m, GT_CAUSE_CPU_OP, 2000, op);
        add_copy(m, "Memcpy HtoD (Pageable -> Device)", 50, 1000000, false);
        GT_PUSH(m->schedule.trips, m->schedule.trip_count, capacity, ((gt_round_trip){first, first + 1}));
    }
    end_made(m);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "cpu_roundtrip", 2225 - 100);
    assert_string_equal(
        finding->evidence[0],
        "4 round trips device -> host -> device in the trace: on average 1.0 MB to the host and "
        "1.0 MB back, copied in 0.10 ms");
    assert_string_equal(finding->evidence[1], "aten::sort: 2.00 ms per step on the CPU");
    assert_null(find_finding(list, "pageable_copy"));
    assert_null(find_finding(list, "host_sync"));
    end_test(m, list);
}

/* ---- the optimizer ---- */

/* Kernels of an optimizer, with 20 us of host time before each and 5 us in the call. */
static made *make_optimizer_steps(int kernels, const char *name, int64_t us)
{
    made *m = new_made();
    m->parent = add_event(m, GT_KIND_CPU_OP, "aten::add_",
                          add_event(m, GT_KIND_ANNOTATION, "Optimizer.step#A", GT_NONE));
    m->flags = GT_HOST_OPTIMIZER;
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        for (int i = 0; i < kernels; i++) {
            spend(m, GT_CAUSE_LAUNCH, 20, m->parent);
            launch_kernel(m, name, 5, us);
        }
    }
    end_made(m);
    return m;
}

static void test_many_small_kernels_of_an_optimizer_are_found(void **state)
{
    (void)state;
    /* 50 x 25 us on the host; fused, 50 x 2 us x 0.35 on the GPU. */
    made *m = make_optimizer_steps(50, "vectorized_elementwise_kernel", 2);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "slow_optimizer", 1250 - 35);
    assert_string_equal(finding->title, "The optimizer launches 50 small kernels per step (mean 2.0 us)");
    assert_string_equal(finding->evidence[1], "50 x aten::add_");
    end_test(m, list);
}

static void test_optimizers_that_are_fused_or_large_are_not_slow(void **state)
{
    (void)state;
    static const struct {
        int kernels;
        const char *name;
        int64_t us;
    } cases[] = {{49, "vectorized_elementwise_kernel", 2},
                 {50, "void at::native::multi_tensor_apply_kernel<...>", 2},
                 {50, "FusedAdamMathFunctor", 2},
                 {50, "vectorized_elementwise_kernel", 50}};
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        made *m = make_optimizer_steps(cases[i].kernels, cases[i].name, cases[i].us);
        gt_finding_list *list = run_rules(m);
        assert_null(find_finding(list, "slow_optimizer"));
        end_test(m, list);
    }
}

/* ---- launch_bound and the engine ---- */

/* Per step some data loading, then 10 kernels of 5 us, each with 40 us before its call of 10 us. */
static made *make_launch_steps(int64_t data_us)
{
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        if (data_us > 0) spend(m, GT_CAUSE_DATA, data_us, GT_NONE);
        for (int i = 0; i < 10; i++) {
            spend(m, GT_CAUSE_LAUNCH, 40, GT_NONE);
            launch_kernel(m, "k", 10, 5);
        }
    }
    end_made(m);
    set_idle(m, GT_CAUSE_LAUNCH, 450);
    if (data_us > 0) set_idle(m, GT_CAUSE_DATA, data_us);
    return m;
}

static void test_a_slow_host_is_found(void **state)
{
    (void)state;
    made *m = make_launch_steps(0);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "launch_bound", 450);
    assert_string_equal(finding->evidence[0],
                        "10 launches per step, median kernel 5.0 us, and the host needs 40 us per launch");
    assert_float_equal(list->all_fixed_ns, 50 * US, 1);
    end_test(m, list);
}

static void test_launching_gains_only_what_specific_repairs_leave(void **state)
{
    (void)state;
    /* 1000 us of data loading and 500 us of launching: without the data 500 us, without both 50 us. */
    made *m = make_launch_steps(1000);
    gt_finding_list *list = run_rules(m);
    assert_int_equal(expect_gain(list, "data_stall", 1000)->rank, 1);
    assert_int_equal(expect_gain(list, "launch_bound", 450)->rank, 2);
    assert_float_equal(list->all_fixed_ns, 50 * US, 1);
    end_test(m, list);
}

static void test_all_repairs_together_keep_the_limits_of_each(void **state)
{
    (void)state;
    /* The host causes only 500 us of idle time per step, so that loading data gains 500 of 3010 us. */
    made *m = make_label_steps(GT_CAUSE_DATA, 3000, 0);
    m->idle.cause_ns[GT_CAUSE_DATA] = 0;
    set_idle(m, GT_CAUSE_DATA, 500);
    gt_finding_list *list = run_rules(m);
    expect_gain(list, "data_stall", 500);
    assert_float_equal(list->all_fixed_ns, 2510 * US, 1);
    end_test(m, list);

    /* Launching causes 100 us of it, so that it gains 100 of 500 us, whatever else the host does. */
    m = make_launch_steps(0);
    set_idle(m, GT_CAUSE_LAUNCH, 100);
    set_idle(m, GT_CAUSE_PYTHON, 350);
    list = run_rules(m);
    expect_gain(list, "launch_bound", 100);
    assert_float_equal(list->all_fixed_ns, 400 * US, 1);
    end_test(m, list);
}

/* The profiler costs half of the host time before each call; 1.7 times that leaves 15 % of it. */
static void make_recording_expensive(made *m)
{
    for (size_t p = 0; p < m->schedule.point_count; p++) m->schedule.points[p].keep_before = 0.5;
}

static void test_findings_that_vanish_with_a_faster_host_are_hints(void **state)
{
    (void)state;
    /* Per kernel 0.5 x 40 us and a call of 10 us; with the larger estimate 6 us and 10 us. Kernels of 20 us
     * then keep the GPU busy, kernels of 5 us do not. */
    for (int is_long = 0; is_long < 2; is_long++) {
        made *m = new_made();
        for (int step = 0; step < 4; step++) {
            begin_step(m);
            for (int i = 0; i < 10; i++) {
                spend(m, GT_CAUSE_LAUNCH, 40, GT_NONE);
                launch_kernel(m, "k", 10, is_long ? 20 : 5);
            }
        }
        end_made(m);
        set_idle(m, GT_CAUSE_LAUNCH, 450);
        make_recording_expensive(m);
        gt_finding_list *list = run_rules(m);
        const gt_finding *finding = expect_gain(list, "launch_bound", is_long ? 300 - 200 : 300 - 50);
        assert_int_equal(gt_finding_is_hint(finding), is_long);
        end_test(m, list);
    }
}

static void test_gpu_findings_behind_the_profilers_cost_are_found(void **state)
{
    (void)state;
    /* The host needs 0.5 x 1000 + 30 us per step, the GPU 500 us: the copy of 200 us is hidden, and only its
     * call of 20 us would be gained. With the larger estimate the host needs 180 us. */
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        spend(m, GT_CAUSE_LAUNCH, 1000, GT_NONE);
        add_copy(m, "Memcpy HtoD (Pageable -> Device)", 200, 1 << 20, false);
        launch_kernel(m, "gemm", 10, 300);
    }
    end_made(m);
    make_recording_expensive(m);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "pageable_copy", 200);
    assert_int_equal(finding->confidence, GT_CONFIDENCE_MEDIUM);
    end_test(m, list);
}

static void test_launching_stands_after_synchronisation(void **state)
{
    (void)state;
    /* Per step: a kernel of 100 us, a synchronisation that takes 105 us, and 10 x 50 us for kernels of 5 us:
     * 615 us. Without the synchronisation 510 us, and without launching then 150 us. */
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "gemm", 10, 100);
        synchronise(m, "a");
        for (int i = 0; i < 10; i++) {
            spend(m, GT_CAUSE_LAUNCH, 40, GT_NONE);
            launch_kernel(m, "k", 10, 5);
        }
    }
    end_made(m);
    set_idle(m, GT_CAUSE_SYNC, 15);
    set_idle(m, GT_CAUSE_LAUNCH, 450);
    gt_finding_list *list = run_rules(m);
    assert_int_equal(expect_gain(list, "host_sync", 105)->rank, 1);
    const gt_finding *generic = expect_gain(list, "launch_bound", 360);
    assert_int_equal(generic->rank, 2);
    assert_float_equal(generic->score, 0.107, 1e-9); /* 0.99 of 1.04 x 0.105, to the microsecond */
    end_test(m, list);
}

static void test_launching_stands_before_a_small_cause(void **state)
{
    (void)state;
    /* Python in 500 us of launching. 20 us are less than 5 %; 450 us x 1.04 are at least five times 80 us
     * x 1.04, but not 100 us x 1.04. */
    static const struct {
        int64_t python_us;
        size_t rank;
    } cases[] = {{20, 1}, {80, 1}, {100, 2}};
    for (size_t c = 0; c < GT_LENGTH(cases); c++) {
        made *m = new_made();
        for (int step = 0; step < 4; step++) {
            begin_step(m);
            spend(m, GT_CAUSE_PYTHON, cases[c].python_us, GT_NONE);
            for (int i = 0; i < 10; i++) {
                spend(m, GT_CAUSE_LAUNCH, 40, GT_NONE);
                launch_kernel(m, "k", 10, 5);
            }
        }
        end_made(m);
        set_idle(m, GT_CAUSE_PYTHON, (double)cases[c].python_us);
        set_idle(m, GT_CAUSE_LAUNCH, 450);
        gt_finding_list *list = run_rules(m);
        assert_int_equal(expect_gain(list, "launch_bound", 450)->rank, cases[c].rank);
        assert_int_equal(expect_gain(list, "python_busy", (double)cases[c].python_us)->rank,
                         3 - cases[c].rank);
        end_test(m, list);
    }
}

static void test_launching_stands_after_a_larger_unknown_cause(void **state)
{
    (void)state;
    /* 450 us of launching, and host code that the trace does not show, with half the credibility. */
    for (int64_t unknown_us = 400; unknown_us <= 600; unknown_us += 200) {
        made *m = new_made();
        m->schedule.has_stacks = false;
        for (int step = 0; step < 4; step++) {
            begin_step(m);
            spend(m, GT_CAUSE_UNTRACED, unknown_us, GT_NONE);
            for (int i = 0; i < 10; i++) {
                spend(m, GT_CAUSE_LAUNCH, 40, GT_NONE);
                launch_kernel(m, "k", 10, 5);
            }
        }
        end_made(m);
        set_idle(m, GT_CAUSE_UNTRACED, unknown_us);
        set_idle(m, GT_CAUSE_LAUNCH, 450);
        gt_finding_list *list = run_rules(m);
        assert_int_equal(expect_gain(list, "launch_bound", 450)->rank, unknown_us < 450 ? 1 : 2);
        assert_int_equal(expect_gain(list, "host_untraced", (double)unknown_us)->rank,
                         unknown_us < 450 ? 2 : 1);
        end_test(m, list);
    }
}

static void test_launching_stands_after_calls_that_cut_it(void **state)
{
    (void)state;
    /* Twelve launches per step, with a synchronisation after all of them, or after each three, which no graph
     * can hold; without steps nobody knows. Launching gains more than five times as much. */
    static const struct {
        int every;
        bool is_marked, comes_first;
    } cases[] = {{12, true, false}, {3, true, true}, {3, false, false}};
    for (size_t c = 0; c < GT_LENGTH(cases); c++) {
        made *m = new_made();
        for (int step = 0; step < 4; step++) {
            begin_step(m);
            for (int i = 1; i <= 12; i++) {
                spend(m, GT_CAUSE_LAUNCH, 40, GT_NONE);
                launch_kernel(m, "k", 10, i % 3 ? 5 : 12);
                if (i % cases[c].every == 0) synchronise(m, "a");
            }
            if (cases[c].every == 12) spend(m, GT_CAUSE_SYNC, 30, GT_NONE);
        }
        end_made(m);
        if (!cases[c].is_marked) m->schedule.step_count = 0;
        set_idle(m, GT_CAUSE_SYNC, 60);
        set_idle(m, GT_CAUSE_LAUNCH, 560);
        gt_finding_list *list = run_rules(m);
        const gt_finding *sync = find_finding(list, "host_sync"), *bound = find_finding(list, "launch_bound");
        assert_true(sync->gain_pct >= 5 && bound->gain_pct >= 5 * sync->gain_pct);
        assert_int_equal(sync->rank, cases[c].comes_first ? 1 : 2);
        assert_int_equal(sync->severity, cases[c].comes_first ? GT_SEVERITY_HIGH : GT_SEVERITY_MEDIUM);
        end_test(m, list);
    }
}

/* The borders of ranges: a kind's figures, the error of the replay, what remains of the step, hints. */
static void test_ranges_of_gains(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        gt_confidence confidence;
        double gain, step, error, low, high;
    } cases[] = {
        {"data_stall", GT_CONFIDENCE_HIGH, 10, 100, 0, 7.1, 15.2},
        {"fp32_gemm", GT_CONFIDENCE_HIGH, 10, 100, 0, 8.1, 11.9},
        {"fp32_gemm", GT_CONFIDENCE_HIGH, 10, 100, 4, 6, 14},
        {"fp32_gemm", GT_CONFIDENCE_MEDIUM, 10, 100, 0, 5.2, 12.3},
        {"fp32_gemm", GT_CONFIDENCE_LOW, 10, 100, 0, 0, 12.3},
        {"data_stall", GT_CONFIDENCE_HIGH, 70, 100, 0, 49.7, 90},
        {"data_stall", GT_CONFIDENCE_HIGH, 10, 100, 20, 0, 30},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        gt_gain_range range = gt_gain_range_find(cases[i].id, cases[i].confidence, cases[i].gain,
                                                 cases[i].step, cases[i].error);
        assert_float_equal(range.low, cases[i].low, 1e-9);
        assert_float_equal(range.high, cases[i].high, 1e-9);
    }
    assert_true(isnan(gt_gain_range_find("straggler", GT_CONFIDENCE_HIGH, 10, 100, 0).low));
}

static void test_host_gains_end_at_the_idle_time_of_the_host(void **state)
{
    (void)state;
    made *m = make_launch_steps(1000);
    m->idle.cause_ns[GT_CAUSE_DATA] = 3 * 10000;
    m->idle.cause_ns[GT_CAUSE_LAUNCH] = 3 * 290000;
    gt_finding_list *list = run_rules(m);
    expect_gain(list, "data_stall", 300);
    end_test(m, list);
}

static void test_hints_come_after_smaller_findings(void **state)
{
    (void)state;
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        spend(m, GT_CAUSE_UNTRACED, 3000, GT_NONE);
        spend(m, GT_CAUSE_PYTHON, 500, GT_NONE);
        launch_kernel(m, "k", 10, 100);
    }
    end_made(m);
    set_idle(m, GT_CAUSE_UNTRACED, 3000);
    set_idle(m, GT_CAUSE_PYTHON, 410);
    gt_finding_list *list = run_rules(m);
    assert_int_equal(expect_gain(list, "python_busy", 500)->rank, 1);
    const gt_finding *hint = expect_gain(list, "host_untraced", 3000);
    assert_int_equal(hint->rank, 2);
    assert_true(gt_finding_is_hint(hint));
    end_test(m, list);
}

/* 410 us of host time per step, of which the GPU is idle for 300: the rest lets the host run ahead. */
static void test_gains_beyond_the_stated_idle_time_are_explained(void **state)
{
    (void)state;
    made *m = make_label_steps(GT_CAUSE_PYTHON, 1400, 0);
    m->idle.cause_ns[GT_CAUSE_PYTHON] = 0;
    set_idle(m, GT_CAUSE_PYTHON, 300);
    set_idle(m, GT_CAUSE_LAUNCH, 110);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = expect_gain(list, "python_busy", 410);
    const char *last = finding->evidence[finding->evidence_count - 1];
    assert_string_equal(finding->title,
                        "Python code between GPU operations holds up the GPU for 0.30 ms per step");
    assert_string_equal(last, "0.11 ms of the gain are other idle time that the host causes: without this it "
                              "launches what follows earlier");
    end_test(m, list);
}

/* Data loading costs 2010 of 3010 us. */
static void assert_shown(double error_us, bool is_shown)
{
    made *m = make_label_steps(GT_CAUSE_DATA, 3000, 0);
    m->error_ns = error_us * US;
    gt_finding_list *list = run_rules(m);
    assert_int_equal(list->shown, is_shown);
    assert_float_equal(list->all_fixed_ns, (is_shown ? 1000 : 3010) * US, 1);
    end_test(m, list);
}

static void test_no_gain_is_less_than_twice_the_error_of_the_replay(void **state)
{
    (void)state;
    assert_shown(1004, true);
    assert_shown(1006, false);
}

/* The only call comes when the window has ended. */
static void test_a_call_outside_the_window_is_counted_there(void **state)
{
    (void)state;
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        launch_kernel(m, "gemm", 10, 1000);
    }
    spend(m, GT_CAUSE_LAUNCH, 5000, GT_NONE);
    synchronise(m, "train.py(9): step -> item()");
    end_made(m);
    gt_finding_list *list = run_rules(m);
    const gt_finding *finding = find_finding(list, "host_sync");
    assert_non_null(finding);
    assert_string_equal(finding->title, "1 synchronising call outside the window keeps the host from running "
                                        "ahead of the GPU");
    assert_string_equal(finding->where, "train.py(9): step -> item()");
    end_test(m, list);
}

static void test_equal_findings_are_ordered_by_id(void **state)
{
    (void)state;
    made *m = new_made();
    for (int step = 0; step < 4; step++) {
        begin_step(m);
        spend(m, GT_CAUSE_PYTHON, 500, GT_NONE);
        spend(m, GT_CAUSE_DATA, 500, GT_NONE);
        launch_kernel(m, "k", 10, 100);
    }
    end_made(m);
    set_idle(m, GT_CAUSE_DATA, 500);
    set_idle(m, GT_CAUSE_PYTHON, 410);
    gt_finding_list *list = run_rules(m);
    assert_int_equal(expect_gain(list, "data_stall", 500)->rank, 1);
    assert_int_equal(expect_gain(list, "python_busy", 500)->rank, 2);
    end_test(m, list);
}

static void test_an_empty_schedule_has_no_findings(void **state)
{
    (void)state;
    made *m = new_made();
    m->schedule.window = (gt_step_window){.first_op = GT_NONE, .end_op = GT_NONE, .steps = 1};
    gt_finding_list *list = run_rules(m);
    assert_int_equal(list->count, 0);
    assert_int_equal(list->shown, 0);
    end_test(m, list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_have_no_idle_decimals_and_nouns_the_right_form),
        cmocka_unit_test(test_data_loading_that_holds_up_the_gpu_is_found),
        cmocka_unit_test(test_waiting_is_no_python_code),
        cmocka_unit_test(test_data_loading_beside_a_busy_gpu_is_not_shown),
        cmocka_unit_test(test_nothing_is_said_of_labels_that_do_not_occur),
        cmocka_unit_test(test_python_code_names_its_function),
        cmocka_unit_test(test_untraced_host_code_is_certain_only_without_stacks),
        cmocka_unit_test(test_operators_on_the_cpu_are_found),
        cmocka_unit_test(test_synchronisations_are_found),
        cmocka_unit_test(test_a_gain_beyond_the_idle_time_of_the_calls_is_explained),
        cmocka_unit_test(test_reading_a_value_vanishes_with_the_check_before_it),
        cmocka_unit_test(test_reading_a_value_leaves_calls_without_op),
        cmocka_unit_test(test_ops_that_also_launch_keep_their_time),
        cmocka_unit_test(test_a_loop_of_synchronisations_vanishes_as_a_whole),
        cmocka_unit_test(test_allocations_and_frees_are_found),
        cmocka_unit_test(test_ops_that_an_allocation_holds_back_start_sooner),
        cmocka_unit_test(test_waiting_for_another_stream_is_no_allocation),
        cmocka_unit_test(test_work_that_is_late_anyway_is_not_held_back),
        cmocka_unit_test(test_long_launch_calls_are_first_use),
        cmocka_unit_test(test_long_launch_calls_that_repeat_are_not_first_use),
        cmocka_unit_test(test_first_use_before_the_window_counts),
        cmocka_unit_test(test_first_use_on_amd),
        cmocka_unit_test(test_pageable_copies_are_found),
        cmocka_unit_test(test_slow_copies_of_amd_are_pageable),
        cmocka_unit_test(test_other_copies_are_exposed),
        cmocka_unit_test(test_copies_below_a_hundredth_of_the_window_are_not_exposed),
        cmocka_unit_test(test_round_trips_take_their_copies_and_waits_along),
        cmocka_unit_test(test_many_small_kernels_of_an_optimizer_are_found),
        cmocka_unit_test(test_optimizers_that_are_fused_or_large_are_not_slow),
        cmocka_unit_test(test_a_slow_host_is_found),
        cmocka_unit_test(test_launching_gains_only_what_specific_repairs_leave),
        cmocka_unit_test(test_all_repairs_together_keep_the_limits_of_each),
        cmocka_unit_test(test_findings_that_vanish_with_a_faster_host_are_hints),
        cmocka_unit_test(test_gpu_findings_behind_the_profilers_cost_are_found),
        cmocka_unit_test(test_launching_stands_after_synchronisation),
        cmocka_unit_test(test_launching_stands_before_a_small_cause),
        cmocka_unit_test(test_launching_stands_after_a_larger_unknown_cause),
        cmocka_unit_test(test_launching_stands_after_calls_that_cut_it),
        cmocka_unit_test(test_ranges_of_gains),
        cmocka_unit_test(test_host_gains_end_at_the_idle_time_of_the_host),
        cmocka_unit_test(test_hints_come_after_smaller_findings),
        cmocka_unit_test(test_gains_beyond_the_stated_idle_time_are_explained),
        cmocka_unit_test(test_no_gain_is_less_than_twice_the_error_of_the_replay),
        cmocka_unit_test(test_a_call_outside_the_window_is_counted_there),
        cmocka_unit_test(test_equal_findings_are_ordered_by_id),
        cmocka_unit_test(test_an_empty_schedule_has_no_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
