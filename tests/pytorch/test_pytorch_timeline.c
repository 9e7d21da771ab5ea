/* The GPU timeline: small traces computed by hand, random ones compared with a timeline that is counted
 * microsecond by microsecond. */
#include "pytorch_trace.h"

#include "analysis/pytorch/sheets.h"

#define HEAD "type,time ms,percent\n"

static void expect_timeline(trace_text *t, gt_pytorch_timeline_options options, const char *expected)
{
    gt_error error;
    gt_pytorch_linked *linked = read_trace(t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_table *timeline = gt_pytorch_gpu_timeline(trace, options, &error);
    if (!timeline) fail_msg("%s", error.text);
    assert_string_equal(timeline->name, "gpu_timeline");
    expect_csv(timeline, expected);
    gt_table_free(timeline);
    gt_pytorch_linked_free(linked);
}

static void two_kernels_of_one_op(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "aten::linear", 1000, 100), cpu(&t, "aten::mm", 1010, 50);
    launch(&t, "gemm_k", 1020, 5, 1100, 30, 7), launch(&t, "gemm_k2", 1030, 5, 1140, 20, 8);
    expect_timeline(&t, (gt_pytorch_timeline_options){0},
                    HEAD "computation_time,0.05,83.33333333333334\n"
                         "exposed_comm_time,0.0,0.0\n"
                         "exposed_memcpy_time,0.0,0.0\n"
                         "busy_time,0.05,83.33333333333334\n"
                         "idle_time,0.01,16.666666666666664\n"
                         "total_time,0.06,100.0\n"
                         "total_comm_time,0.0,0.0\n"
                         "total_memcpy_time,0.0,0.0\n");
}

static void overlapping_events_are_partly_exposed(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "aten::relu", 1000, 100);
    launch_on(&t, 0, "kernel", "relu_k", 1010, 1200, 100, 1);
    launch_on(&t, 1, "kernel", "ncclDevKernel_AllReduce", 1020, 1250, 100, 2);
    launch_on(&t, 2, "gpu_memcpy", "Memcpy DtoD", 1030, 1340, 30, 3);
    launch_on(&t, 0, "gpu_memset", "fill", 1040, 1400, 10, 4);
    expect_timeline(&t, (gt_pytorch_timeline_options){0},
                    HEAD "computation_time,0.11,52.38095238095239\n"
                         "exposed_comm_time,0.05,23.809523809523807\n"
                         "exposed_memcpy_time,0.02,9.523809523809524\n"
                         "busy_time,0.18,85.71428571428571\n"
                         "idle_time,0.03,14.285714285714285\n"
                         "total_time,0.21,100.0\n"
                         "total_comm_time,0.1,47.61904761904761\n"
                         "total_memcpy_time,0.03,14.285714285714285\n");
}

static void idle_time_is_split_at_the_threshold(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100);
    launch(&t, "a", 1010, 5, 1200, 100, 1), launch(&t, "b", 1020, 5, 1303, 100, 2);
    launch(&t, "c", 1030, 5, 1423, 10, 3);
    expect_timeline(&t, (gt_pytorch_timeline_options){.split_idle = true, .micro_idle_max_us = 5},
                    HEAD "computation_time,0.21,90.12875536480686\n"
                         "exposed_comm_time,0.0,0.0\n"
                         "exposed_memcpy_time,0.0,0.0\n"
                         "busy_time,0.21,90.12875536480686\n"
                         "micro_idle_time,0.003,1.2875536480686696\n"
                         "macro_idle_time,0.02,8.583690987124463\n"
                         "total_time,0.233,100.0\n"
                         "total_comm_time,0.0,0.0\n"
                         "total_memcpy_time,0.0,0.0\n");
}

/* Gaps of 3 and 20 µs: at 3 the first is not below, at 0 none is. */
static void gaps_as_long_as_the_threshold_are_macro_idle(void **unused)
{
    (void)unused;
    static const int64_t thresholds[] = {0, 3, 4, 20, 21};
    static const double micro_us[] = {0, 0, 3, 3, 23};
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100);
    launch(&t, "a", 1010, 5, 1200, 100, 1), launch(&t, "b", 1020, 5, 1303, 100, 2);
    launch(&t, "c", 1030, 5, 1423, 10, 3);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
        gt_error error;
        gt_table *timeline = gt_pytorch_gpu_timeline(
            trace, (gt_pytorch_timeline_options){.split_idle = true, .micro_idle_max_us = thresholds[i]},
            &error);
        const double *time_ms = gt_table_column(timeline, GT_COL("time ms"))->floats;
        assert_true(time_ms[4] == micro_us[i] / 1000.0);
        assert_true(time_ms[5] == (23 - micro_us[i]) / 1000.0);
        gt_table_free(timeline);
    }
    gt_pytorch_linked_free(linked);
}

static void a_kernel_of_zero_length_splits_idle_time(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100);
    launch(&t, "a", 1010, 5, 1200, 100, 1), launch(&t, "nothing", 1020, 5, 1304, 0, 2);
    launch(&t, "b", 1030, 5, 1308, 92, 3), launch(&t, "late", 1040, 5, 1500, 0, 4);
    expect_timeline(&t, (gt_pytorch_timeline_options){.split_idle = true, .micro_idle_max_us = 5},
                    HEAD "computation_time,0.192,64.0\n"
                         "exposed_comm_time,0.0,0.0\n"
                         "exposed_memcpy_time,0.0,0.0\n"
                         "busy_time,0.192,64.0\n"
                         "micro_idle_time,0.008,2.666666666666667\n"
                         "macro_idle_time,0.1,33.33333333333333\n"
                         "total_time,0.3,100.0\n"
                         "total_comm_time,0.0,0.0\n"
                         "total_memcpy_time,0.0,0.0\n");
}

static void a_total_of_zero_has_no_percentages(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100), launch(&t, "nothing", 1010, 5, 1200, 0, 1);
    expect_timeline(
        &t, (gt_pytorch_timeline_options){0},
        HEAD "computation_time,0.0,\nexposed_comm_time,0.0,\nexposed_memcpy_time,0.0,\nbusy_time,0.0,\n"
             "idle_time,0.0,\ntotal_time,0.0,\ntotal_comm_time,0.0,\ntotal_memcpy_time,0.0,\n");
}

static trace_text one_linked_and_one_not(void)
{
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100), launch(&t, "linked", 1010, 5, 1200, 10, 1);
    gpu(&t, "kernel", "unlinked", 1300, 10, 2, 0);
    return t;
}

static void kernels_without_a_launch_count_on_request(void **unused)
{
    (void)unused;
    trace_text t = one_linked_and_one_not();
    expect_timeline(&t, (gt_pytorch_timeline_options){0},
                    HEAD
                    "computation_time,0.01,100.0\nexposed_comm_time,0.0,0.0\nexposed_memcpy_time,0.0,0.0\n"
                    "busy_time,0.01,100.0\nidle_time,0.0,0.0\ntotal_time,0.01,100.0\n"
                    "total_comm_time,0.0,0.0\ntotal_memcpy_time,0.0,0.0\n");
    t = one_linked_and_one_not();
    expect_timeline(&t, (gt_pytorch_timeline_options){.include_unlinked = true},
                    HEAD "computation_time,0.02,18.181818181818183\nexposed_comm_time,0.0,0.0\n"
                         "exposed_memcpy_time,0.0,0.0\nbusy_time,0.02,18.181818181818183\n"
                         "idle_time,0.09,81.81818181818183\ntotal_time,0.11,100.0\n"
                         "total_comm_time,0.0,0.0\ntotal_memcpy_time,0.0,0.0\n");
}

static void expect_failure(trace_text *t, gt_pytorch_timeline_options options, const char *message)
{
    gt_error error;
    gt_pytorch_linked *linked = read_trace(t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    assert_null(gt_pytorch_gpu_timeline(trace, options, &error));
    assert_string_equal(error.text, message);
    gt_pytorch_linked_free(linked);
}

static void a_trace_without_gpu_events_has_no_timeline(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100);
    expect_failure(&t, (gt_pytorch_timeline_options){0}, "No GPU events found in the trace");
    t = new_trace();
    cpu(&t, "op", 1000, 100);
    expect_failure(&t, (gt_pytorch_timeline_options){.split_recompute = true, .include_unlinked = true},
                   "No GPU events found in the trace");
    t = new_trace();
    cpu(&t, "op", 1000, 100), gpu(&t, "kernel", "k", 1200, 10, 1, 0),
        gpu(&t, "gpu_memset", "m", 1300, 10, 2, 0);
    expect_failure(&t, (gt_pytorch_timeline_options){0},
                   "No GPU events found in the trace that are linked to a launch; 2 are not linked; use "
                   "--include_unlinked_kernels to include them");
}

static void a_trace_with_communication_only(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "record_param_comms", 1000, 100), launch(&t, "ncclDevKernel_Generic", 1010, 5, 1200, 40, 1);
    expect_timeline(&t, (gt_pytorch_timeline_options){0},
                    HEAD
                    "computation_time,0.0,0.0\nexposed_comm_time,0.04,100.0\nexposed_memcpy_time,0.0,0.0\n"
                    "busy_time,0.04,100.0\nidle_time,0.0,0.0\ntotal_time,0.04,100.0\n"
                    "total_comm_time,0.04,100.0\ntotal_memcpy_time,0.0,0.0\n");
}

/* ---- buckets ---- */

static void names_decide_between_kernels_copies_and_communication(void **unused)
{
    (void)unused;
    static const struct {
        const char *category, *name;
        char bucket; /* c: computation, m: communication, y: copy */
    } events[] = {
        {"kernel", "gemm", 'c'},
        {"kernel", "MEMORY_COPY_HOST_TO_DEVICE", 'y'},
        {"kernel", "MEMORY_COPY_DEVICE_TO_HOST.kd", 'y'},
        {"kernel", "MEMORY_COPY_DEVICE_TO_DEVICE", 'y'},
        {"kernel", "MEMORY_COPY_HOST_TO_HOST", 'c'},
        {"kernel", "__amd_rocclr_copyBuffer", 'y'},
        {"kernel", "__amd_rocclr_copyBuffer.kd", 'y'},
        {"kernel", "__amd_rocclr_copyBufferAligned", 'y'},
        {"kernel", "__amd_rocclr_copyBufferRect", 'y'},
        {"kernel", "__amd_rocclr_copyBufferRectAligned.kd", 'y'},
        {"kernel", "__amd_rocclr_copyBufferAlignedRect", 'c'},
        {"kernel", "__amd_rocclr_copyBuffers", 'c'},
        {"kernel", "__amd_rocclr_fillBufferAligned.kd", 'c'},
        {"kernel", "void rcclGenericKernel<1>", 'm'},
        {"kernel", "ncclDevKernel_Generic", 'm'},
        {"kernel", "some_NCCL_kernel", 'm'},
        {"kernel", "void vllm::Cross_Device_Reduce_1stage<2>", 'm'},
        {"gpu_memset", "Memset (Device)", 'c'},
        {"gpu_memset", "nccl memset", 'm'},
        {"gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 'y'},
        {"gpu_memcpy", "nccl copy", 'y'},
        {"kernel", ".kd", 'c'},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        trace_text t = new_trace();
        cpu(&t, "op", 1000, 100);
        launch_on(&t, 0, events[i].category, events[i].name, 1010, 1200, 10, 1);
        gt_pytorch_linked *linked = read_trace(&t, false);
        const gt_linked_view *trace = gt_pytorch_view(linked);
        gt_error error;
        gt_table *timeline = gt_pytorch_gpu_timeline(trace, (gt_pytorch_timeline_options){0}, &error);
        const double *time_ms = gt_table_column(timeline, GT_COL("time ms"))->floats;
        char bucket = time_ms[0] > 0 ? 'c' : time_ms[1] > 0 ? 'm' : time_ms[2] > 0 ? 'y' : '?';
        if (bucket != events[i].bucket) fail_msg("%s is %c", events[i].name, bucket);
        gt_table_free(timeline);
        gt_pytorch_linked_free(linked);
    }
}

/* ---- recompute ---- */

static void checkpointed_op(trace_text *t, double at, int id)
{
    host(t, "python_function", "torch/utils/checkpoint.py(900): recompute_fn", at, 90, "");
    cpu(t, "aten::again", at + 1, 80), launch(t, "again_k", at + 2, 5, at + 1000, 40, id);
}

static void recomputed_events_have_their_own_timeline(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "aten::once", 1000, 100), launch(&t, "once_k", 1010, 5, 2000, 10, 1);
    checkpointed_op(&t, 1200, 2), checkpointed_op(&t, 1300, 3);
    gt_pytorch_linked *linked = read_trace(&t, true);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    size_t regions, marked;
    gt_pytorch_mark_recompute(linked, &regions, &marked);
    gt_error error;
    gt_table *timeline =
        gt_pytorch_gpu_timeline(trace, (gt_pytorch_timeline_options){.split_recompute = true}, &error);
    expect_csv(timeline,
               "type,time ms,percent,is_recompute\n"
               "computation_time,0.01,100.0,False\nexposed_comm_time,0.0,0.0,False\n"
               "exposed_memcpy_time,0.0,0.0,False\nbusy_time,0.01,100.0,False\nidle_time,0.0,0.0,False\n"
               "total_time,0.01,100.0,False\ntotal_comm_time,0.0,0.0,False\n"
               "total_memcpy_time,0.0,0.0,False\n"
               "computation_time,0.08,57.14285714285714,True\nexposed_comm_time,0.0,0.0,True\n"
               "exposed_memcpy_time,0.0,0.0,True\nbusy_time,0.08,57.14285714285714,True\n"
               "idle_time,0.06,42.857142857142854,True\ntotal_time,0.14,100.0,True\n"
               "total_comm_time,0.0,0.0,True\ntotal_memcpy_time,0.0,0.0,True\n");
    assert_true(gt_pytorch_total_time_ms(timeline) == 0.01);
    gt_table_free(timeline);
    gt_pytorch_linked_free(linked);
}

static void if_all_events_are_recomputed_that_is_the_only_timeline(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    checkpointed_op(&t, 1200, 2);
    gt_pytorch_linked *linked = read_trace(&t, true);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    size_t regions, marked;
    gt_pytorch_mark_recompute(linked, &regions, &marked);
    gt_error error;
    gt_table *timeline =
        gt_pytorch_gpu_timeline(trace, (gt_pytorch_timeline_options){.split_recompute = true}, &error);
    assert_int_equal(timeline->row_count, 8);
    for (size_t row = 0; row < 8; row++)
        assert_true(gt_table_column(timeline, GT_COL("is_recompute"))->bools[row]);
    assert_true(gt_pytorch_total_time_ms(timeline) == 0.04);
    gt_table_free(timeline);
    gt_pytorch_linked_free(linked);
}

/* ---- unusual and random events ---- */

static void an_event_that_ends_before_it_starts_is_left_out(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "op", 1000, 100);
    launch(&t, "a", 1010, 5, 1200, 100, 1), launch_on(&t, 1, "gpu_memcpy", "back", 1020, 1500, -30, 2);
    last_warning[0] = 0;
    gt_log_to(keep_warning);
    gt_pytorch_linked *linked = read_trace(&t, false);
    gt_log_to(NULL);
    assert_non_null(strstr(last_warning, "1 that end before they start"));
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_error error;
    gt_table *timeline = gt_pytorch_gpu_timeline(trace, (gt_pytorch_timeline_options){0}, &error);
    assert_int_equal(timeline->row_count, 8);
    assert_true(gt_pytorch_total_time_ms(timeline) == 0.1);
    gt_table_free(timeline);
    gt_pytorch_linked_free(linked);
}

enum { TICKS = 3000 };

static uint32_t below(uint32_t limit)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

static size_t ticks_with(const uint8_t *ran, uint8_t these, uint8_t but_none_of)
{
    size_t count = 0;
    for (size_t tick = 0; tick < TICKS; tick++) count += (ran[tick] & these) && !(ran[tick] & but_none_of);
    return count;
}

static void random_traces_agree_with_counting_microseconds(void **unused)
{
    (void)unused;
    static const char *const categories[] = {"kernel", "kernel", "gpu_memcpy"};
    static const char *const names[] = {"gemm", "nccl", "copy"};
    for (int round = 0; round < 200; round++) {
        uint8_t ran[TICKS] = {0}; /* bit b: bucket b */
        uint32_t first = TICKS, last = 0, events = 1 + below(40);
        trace_text t = new_trace();
        cpu(&t, "op", 1, 100000);
        for (uint32_t i = 0; i < events; i++) {
            uint32_t bucket = below(3), start = below(TICKS - 200), dur = 1 + below(199);
            launch_on(&t, (int)bucket, categories[bucket], names[bucket], 10 + 10 * i, start, dur,
                      (int)i + 1);
            for (uint32_t tick = start; tick < start + dur; tick++) ran[tick] |= (uint8_t)(1 << bucket);
            if (start < first) first = start;
            if (start + dur > last) last = start + dur;
        }
        gt_pytorch_linked *linked = read_trace(&t, false);
        const gt_linked_view *trace = gt_pytorch_view(linked);
        gt_error error;
        gt_table *timeline = gt_pytorch_gpu_timeline(trace, (gt_pytorch_timeline_options){0}, &error);
        const double *time_ms = gt_table_column(timeline, GT_COL("time ms"))->floats;
        size_t total = last - first, busy = ticks_with(ran, 7, 0);
        const size_t expected[] = {
            ticks_with(ran, 1, 0), ticks_with(ran, 2, 1), ticks_with(ran, 4, 3), busy, total - busy, total,
            ticks_with(ran, 2, 0), ticks_with(ran, 4, 0)};
        for (size_t row = 0; row < 8; row++) assert_true(time_ms[row] == (double)expected[row] / 1000.0);
        gt_table_free(timeline);
        gt_pytorch_linked_free(linked);
    }
}

static void names_of_communication(void **unused)
{
    (void)unused;
    static const char *const yes[] = {
        "ncclDevKernel", "void rcclGenericKernel<1>",  "NCCL",
        "xRcClx",        "cross_device_reduce_1stage", "vllm::CROSS_DEVICE_REDUCE",
        "ccnccl"};
    static const char *const no[] = {
        "", "ccl", "cc", "occl", "nccm", "ncc", "cross_device_reduc", "cross device reduce", "c"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (!gt_is_communication((gt_str){yes[i], strlen(yes[i])})) fail_msg("%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (gt_is_communication((gt_str){no[i], strlen(no[i])})) fail_msg("%s", no[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_communication),
        cmocka_unit_test(two_kernels_of_one_op),
        cmocka_unit_test(overlapping_events_are_partly_exposed),
        cmocka_unit_test(idle_time_is_split_at_the_threshold),
        cmocka_unit_test(gaps_as_long_as_the_threshold_are_macro_idle),
        cmocka_unit_test(a_kernel_of_zero_length_splits_idle_time),
        cmocka_unit_test(a_total_of_zero_has_no_percentages),
        cmocka_unit_test(kernels_without_a_launch_count_on_request),
        cmocka_unit_test(a_trace_without_gpu_events_has_no_timeline),
        cmocka_unit_test(a_trace_with_communication_only),
        cmocka_unit_test(names_decide_between_kernels_copies_and_communication),
        cmocka_unit_test(recomputed_events_have_their_own_timeline),
        cmocka_unit_test(if_all_events_are_recomputed_that_is_the_only_timeline),
        cmocka_unit_test(an_event_that_ends_before_it_starts_is_left_out),
        cmocka_unit_test(random_traces_agree_with_counting_microseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
