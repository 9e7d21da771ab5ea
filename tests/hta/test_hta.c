/* The sheets of --extra: check case H1 of the specification, and behaviour that it does not cover. */
#include "pytorch_trace.h"

#include "analysis/hta/hta.h"
#include "report/extra_sheets.h"

/* H1: four kernels on stream 7 and a collective on stream 20 that overlaps the first two. */
static trace_text check_case(void)
{
    trace_text t = new_trace();
    static const struct {
        int launch, start, dur, stream;
        const char *name;
    } kernels[] = {
        {1, 100, 10, 7, "gemm"},
        {4, 120, 10, 7, "gemm"},
        {140, 150, 10, 7, "gemm"},
        {142, 210, 10, 7, "gemm"},
        {8, 105, 20, 20, "ncclDevKernel_AllReduce"},
    };
    for (int i = 0; i < 5; i++) {
        call(&t, "cuda_runtime", "cudaLaunchKernel", kernels[i].launch, 2, i + 1);
        gpu(&t, "kernel", kernels[i].name, kernels[i].start, kernels[i].dur, i + 1, kernels[i].stream);
    }
    return t;
}

static void expect_sheet(trace_text t, const gt_hta_options *options,
                         gt_table *sheet(const gt_hta_events *, int64_t), const char *expected)
{
    gt_hta_options usual = gt_hta_options_default();
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_hta_events events = gt_hta_events_find(&trace->events, options ? options : &usual);
    gt_table *table = sheet(&events, 3);
    expect_csv(table, expected);
    gt_table_free(table);
    gt_hta_events_free(&events);
    gt_pytorch_linked_free(linked);
}

#define TEMPORAL                                                                                             \
    "rank,idle_time(us),compute_time(us),non_compute_time(us),kernel_time(us),idle_time_pctg,compute_time_"  \
    "pctg,"                                                                                                  \
    "non_compute_time_pctg\n"
#define IDLE      "rank,stream,idle_category,idle_time,idle_time_ratio\n"
#define INTERVALS "rank,stream,idle_category,count,mean,std,min,25%,50%,75%,max\n"
#define QUEUE                                                                                                \
    "rank,stream,count,mean,std,min,25%,50%,75%,max,duration_at_max_queue_length,"                           \
    "relative_duration_at_max_queue_length\n"

static void check_case_as_specified(void **state)
{
    (void)state;
    expect_sheet(check_case(), NULL, gt_hta_temporal_breakdown, TEMPORAL "3,70,40,10,120,58.33,33.33,8.33\n");
    expect_sheet(check_case(), NULL, gt_hta_comm_comp_overlap, "rank,comp_comm_overlap_pctg\n3,50.0\n");
    expect_sheet(
        check_case(), NULL, gt_hta_idle_time_breakdown,
        IDLE "3,7,host_wait,20.0,0.25\n3,7,kernel_wait,10.0,0.12\n3,7,other,50.0,0.62\n3,20,other,0.0,\n");
    expect_sheet(check_case(), NULL, gt_hta_queue_length_summary,
                 QUEUE "3,7,8,1.0,0.7559289460184544,0.0,0.75,1.0,1.25,2.0,0,0.0\n"
                       "3,20,2,0.5,0.7071067811865476,0.0,0.25,0.5,0.75,1.0,0,0.0\n");
    expect_sheet(check_case(), NULL, gt_hta_launch_stats_summary,
                 "rank,launch,count,cpu_duration_sum,cpu_duration_mean,cpu_duration_median,cpu_duration_max,"
                 "gpu_duration_sum,gpu_duration_mean,gpu_duration_median,gpu_duration_max,launch_delay_sum,"
                 "launch_delay_mean,launch_delay_median,launch_delay_max,short_gpu_kernels,runtime_outliers,"
                 "launch_delay_outliers\n"
                 "3,cudaLaunchKernel,5,10,2.0,2.0,2,60,12.0,10.0,20,380,76.0,95.0,114,0,0,1\n");
}

static void a_full_queue_is_timed(void **state)
{
    (void)state;
    gt_hta_options options = gt_hta_options_default();
    options.max_queue_length = 2;
    /* two wait from 4 to 100 and from 142 to 150; the trace goes from 1 to 220 */
    expect_sheet(check_case(), &options, gt_hta_queue_length_summary,
                 QUEUE "3,7,8,1.0,0.7559289460184544,0.0,0.75,1.0,1.25,2.0,104,0.4748858447488584\n"
                       "3,20,2,0.5,0.7071067811865476,0.0,0.25,0.5,0.75,1.0,0,0.0\n");
}

static void fractions_are_kept_unless_hta_times_are_wanted(void **state)
{
    (void)state;
    gt_hta_options hta = {.hta_times = true};
    for (int round = 0; round < 2; round++) {
        trace_text t = new_trace();
        gpu(&t, "kernel", "gemm", 10.25, 4.5, 1, 7);  /* 11 to 14 */
        gpu(&t, "kernel", "gemm", 20.5, 10.25, 2, 7); /* 21 to 30 */
        expect_sheet(t, round ? &hta : NULL, gt_hta_temporal_breakdown,
                     round ? TEMPORAL "3,7,12,0,19,36.84,63.16,0.0\n"
                           : TEMPORAL "3,5.75,14.75,0.0,20.5,28.05,71.95,0.0\n");
    }
}

/* Kernels of one stream overlap with programmatic dependent launch. The second ends before the first does,
 * the fifth begins at the latest end so far, and only before the fourth and the last is the stream idle. */
static void overlapping_kernels_give_no_negative_idle_time(void **state)
{
    (void)state;
    static const int starts[] = {100, 120, 180, 220, 240, 310}, ends[] = {200, 150, 210, 240, 260, 320};
    gt_hta_options hta = gt_hta_options_default();
    hta.hta_times = true;
    for (int round = 0; round < 4; round++) {
        trace_text t = new_trace();
        for (int i = 0; i < 6; i++) {
            call(&t, "cuda_runtime", "cudaLaunchKernel", i == 5 ? 270 : i, 1, i + 1);
            gpu(&t, "kernel", "gemm", starts[i], ends[i] - starts[i], i + 1, 7);
        }
        if (round < 2)
            expect_sheet(
                t, round ? &hta : NULL, gt_hta_idle_time_breakdown,
                round ? IDLE "3,7,host_wait,50.0,5.0\n3,7,kernel_wait,-70.0,-7.0\n3,7,other,30.0,3.0\n"
                      : IDLE "3,7,host_wait,50.0,0.83\n3,7,kernel_wait,10.0,0.17\n3,7,other,0.0,0.0\n");
        else
            expect_sheet(t, round == 3 ? &hta : NULL, gt_hta_idle_interval_stats,
                         round == 3 ? INTERVALS "3,7,host_wait,1,50.0,,50.0,50.0,50.0,50.0,50.0\n"
                                                "3,7,kernel_wait,3,-23.33,49.33,-80.0,-40.0,0.0,5.0,10.0\n"
                                                "3,7,other,1,30.0,,30.0,30.0,30.0,30.0,30.0\n"
                                    : INTERVALS "3,7,host_wait,1,50.0,,50.0,50.0,50.0,50.0,50.0\n"
                                                "3,7,kernel_wait,1,10.0,,10.0,10.0,10.0,10.0,10.0\n"
                                                "3,7,other,0,,,,,,,\n");
    }
}

/* torch.compile writes a stream to the arguments of its Triton ops, which run on the host. */
static void host_ops_with_a_stream_are_not_gpu_events(void **state)
{
    (void)state;
    gt_hta_options hta = {.hta_times = true};
    for (int round = 0; round < 2; round++) {
        trace_text t = new_trace();
        host(&t, "cpu_op", "triton_poi_fused_add_0", 100, 50, "\"stream\": 0");
        call(&t, "cuda_driver", "cuLaunchKernel", 110, 10, 1);
        gpu(&t, "kernel", "triton_poi_fused_add_0", 200, 15, 1, 7);
        gpu(&t, "kernel", "triton_poi_fused_add_0", 285, 15, 2, 7);
        expect_sheet(t, round ? &hta : NULL, gt_hta_temporal_breakdown,
                     TEMPORAL "3,70,30,0,100,70.0,30.0,0.0\n");
    }
}

/* A stream that waits does no work, and gpu_timeline does not count it either; HTA does. */
static void synchronizations_are_work_only_for_hta(void **state)
{
    (void)state;
    gt_hta_options hta = {.hta_times = true};
    for (int round = 0; round < 2; round++) {
        trace_text t = new_trace();
        gpu(&t, "kernel", "gemm", 0, 25, 1, 7);
        gpu(&t, "cuda_sync", "Stream Wait Event", 25, 50, 2, 7);
        gpu(&t, "kernel", "gemm", 75, 25, 3, 7);
        expect_sheet(t, round ? &hta : NULL, gt_hta_temporal_breakdown,
                     round ? TEMPORAL "3,0,50,50,100,0.0,50.0,50.0\n"
                           : TEMPORAL "3,50,50,0,100,50.0,50.0,0.0\n");
    }
}

/* ROCm 7 gives one correlation id to two calls. */
static void the_launch_is_the_call_that_launches(void **state)
{
    (void)state;
    static const char *const others[] = {"hipArray3DCreate", "hipGraphAddMemsetNode", "hipStreamSynchronize"};
    for (size_t round = 0; round < 2 * GT_LENGTH(others); round++) {
        trace_text t = new_trace();
        if (round % 2) call(&t, "cuda_runtime", others[round / 2], 10, 90, 45);
        call(&t, "cuda_runtime", "hipMemsetAsync", 20, 5, 45);
        if (!(round % 2)) call(&t, "cuda_runtime", others[round / 2], 10, 90, 45);
        gpu(&t, "gpu_memset", "Memset (Device)", 125, 30, 45, 3);
        expect_sheet(t, NULL, gt_hta_queue_length_summary,
                     QUEUE "3,3,2,0.5,0.7071067811865476,0.0,0.25,0.5,0.75,1.0,0,0.0\n");
        t = new_trace();
        if (round % 2) call(&t, "cuda_runtime", others[round / 2], 10, 90, 45);
        call(&t, "cuda_runtime", "hipMemsetAsync", 20, 5, 45);
        call(&t, "cuda_runtime", "hipLaunchKernel", 30, 5, 45);
        if (!(round % 2)) call(&t, "cuda_runtime", others[round / 2], 10, 90, 45);
        gpu(&t, "gpu_memset", "Memset (Device)", 125, 30, 45, 3);
        gpu(&t, "kernel", "fill", 135, 20, 45, 3);
        expect_sheet(t, NULL, gt_hta_launch_stats_summary,
                     "rank,launch,count,cpu_duration_sum,cpu_duration_mean,cpu_duration_median,"
                     "cpu_duration_max,gpu_duration_sum,gpu_duration_mean,gpu_duration_median,"
                     "gpu_duration_max,launch_delay_sum,launch_delay_mean,launch_delay_median,"
                     "launch_delay_max,short_gpu_kernels,runtime_outliers,launch_delay_outliers\n"
                     "3,hipLaunchKernel,1,5,5.0,5.0,5,20,20.0,20.0,20,100,100.0,100.0,100,0,0,0\n"
                     "3,hipMemsetAsync,1,5,5.0,5.0,5,30,30.0,30.0,30,100,100.0,100.0,100,0,0,0\n");
    }
}

/* Traces without correlation ids have external ids. A trace of copies has no call that says that it launches.
 */
static void launches_are_found_by_the_ids_of_the_ops(void **state)
{
    (void)state;
    static const struct {
        const char *call, *category, *id, *other;
        bool found;
    } cases[] = {
        {"cudaLaunchKernel", "kernel", "External id", "flow", true},
        {"cudaLaunchKernel", "kernel", "correlation", "External id", true},
        {"cudaMemcpyAsync", "gpu_memcpy", "External id", "flow", true},
        {"cudaMemcpyAsync", "gpu_memcpy", "correlation", "External id", true},
        {"cudaLaunchKernel", "kernel", "External id", "flow", false}, /* HTA does not know them */
    };
    for (size_t i = 0; i < 2 * GT_LENGTH(cases); i++) {
        gt_hta_options options = gt_hta_options_default();
        options.hta_times = !cases[i / 2].found;
        trace_text t = new_trace();
        for (int k = 0; k < 2; k++) {
            char args[100];
            snprintf(args, sizeof args, "\"%s\":%d,\"%s\":7", cases[i / 2].id, 10 + k, cases[i / 2].other);
            host(&t, "cuda_runtime", cases[i / 2].call, 500 * k, 3, args);
            add_event(&t,
                      "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":20,"
                      "\"args\":{\"stream\":7,\"%s\":%d,\"%s\":7}}",
                      cases[i / 2].category, 500 * k + 10, cases[i / 2].id, 10 + k, cases[i / 2].other);
        }
        const char *queue =
            cases[i / 2].found ? QUEUE "3,7,4,0.5,0.5773502691896257,0.0,0.0,0.5,1.0,1.0,0,0.0\n" : QUEUE;
        const char *idle = cases[i / 2].found ? IDLE "3,7,host_wait,480.0,1.0\n3,7,other,0.0,0.0\n"
                                              : IDLE "3,7,other,480.0,1.0\n";
        expect_sheet(t, &options, i % 2 ? gt_hta_idle_time_breakdown : gt_hta_queue_length_summary,
                     i % 2 ? idle : queue);
    }
}

static void rccl_is_communication(void **state)
{
    (void)state;
    trace_text t = new_trace();
    gpu(&t, "kernel", "void rcclGenericKernel<1>", 0, 10, 1, 7);
    gpu(&t, "kernel", "Cijk_gemm", 5, 15, 2, 8);
    expect_sheet(t, NULL, gt_hta_comm_comp_overlap, "rank,comp_comm_overlap_pctg\n3,50.0\n");
}

static trace_text steps(int count)
{
    trace_text t = new_trace();
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", 7 + i);
        host(&t, "user_annotation", name, 1000 * i, 900, "");
        host(&t, "gpu_user_annotation", name, 1000 * i + 500, 90, "");
        call(&t, "cuda_runtime", "hipLaunchKernel", 1000 * i + 100, 5, i + 1);
        gpu(&t, "kernel", "gemm", 1000 * i + 500, 100, i + 1, 7);
    }
    gpu(&t, "kernel", "gemm", 5000, 100, 99, 7); /* it has no launch */
    return t;
}

static void the_last_of_several_steps_is_ignored(void **state)
{
    (void)state;
    gt_hta_options all = {.include_last_step = true};
    expect_sheet(steps(1), NULL, gt_hta_temporal_breakdown, TEMPORAL "3,4400,200,0,4600,95.65,4.35,0.0\n");
    expect_sheet(steps(3), NULL, gt_hta_temporal_breakdown, TEMPORAL "3,900,200,0,1100,81.82,18.18,0.0\n");
    expect_sheet(steps(3), &all, gt_hta_temporal_breakdown, TEMPORAL "3,4200,400,0,4600,91.3,8.7,0.0\n");
}

/* The clocks of the ranks in a fused trace may differ: all of rank 1 is after the last step of rank 0. Rank 2
 * has one step, so it is complete. */
static void the_last_step_is_that_of_the_rank(void **state)
{
    (void)state;
    trace_text t = new_trace();
    for (int rank = 0; rank < 3; rank++) {
        for (int i = 0; i < (rank == 2 ? 1 : 3); i++) {
            int start = 100000 * rank + 1000 * i, id = 10 * rank + i;
            char args[64], name[32];
            snprintf(args, sizeof args, "\"correlation\":%d,\"rank\":%d", id, rank);
            snprintf(name, sizeof name, "ProfilerStep#%d", 7 + i);
            host(&t, "user_annotation", name, start, 900, args);
            host(&t, "cuda_runtime", "hipLaunchKernel", start + 100, 5, args);
            add_event(&t,
                      "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":%d,\"tid\":7,\"ts\":%d,"
                      "\"dur\":%d,\"args\":{\"stream\":7,\"device\":0,%s}}",
                      rank, start + 500, 100 + 10 * rank, args);
        }
    }
    gt_hta_options options = gt_hta_options_default();
    gt_pytorch_linked *linked = read_trace(&t, false);
    gt_extra_sheets sheets;
    gt_extra_make(&gt_pytorch_view(linked)->events, 0, &options, &sheets);
    gt_table_list tables = gt_extra_finish(&sheets);
    expect_csv(
        tables.items[0],
        "rank,device,idle_time(us),compute_time(us),non_compute_time(us),kernel_time(us),idle_time_pctg,"
        "compute_time_pctg,non_compute_time_pctg\n"
        "0,0,900,200,0,1100,81.82,18.18,0.0\n1,0,890,220,0,1110,80.18,19.82,0.0\n"
        "2,0,0,120,0,120,0.0,100.0,0.0\n");
    gt_table_list_free(&tables);
    gt_pytorch_linked_free(linked);
}

static void a_trace_without_gpu_events_gives_no_rows(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::relu", 10, 5);
    gt_hta_options options = gt_hta_options_default();
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_extra_sheets sheets;
    gt_extra_make(&trace->events, 0, &options, &sheets);
    gt_table_list tables = gt_extra_finish(&sheets);
    assert_int_equal(tables.count, 6);
    for (size_t i = 0; i < tables.count; i++) assert_int_equal(tables.items[i]->row_count, 0);
    gt_table_list_free(&tables);
    gt_pytorch_linked_free(linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_case_as_specified),
        cmocka_unit_test(a_full_queue_is_timed),
        cmocka_unit_test(fractions_are_kept_unless_hta_times_are_wanted),
        cmocka_unit_test(overlapping_kernels_give_no_negative_idle_time),
        cmocka_unit_test(host_ops_with_a_stream_are_not_gpu_events),
        cmocka_unit_test(synchronizations_are_work_only_for_hta),
        cmocka_unit_test(the_launch_is_the_call_that_launches),
        cmocka_unit_test(launches_are_found_by_the_ids_of_the_ops),
        cmocka_unit_test(rccl_is_communication),
        cmocka_unit_test(the_last_of_several_steps_is_ignored),
        cmocka_unit_test(the_last_step_is_that_of_the_rank),
        cmocka_unit_test(a_trace_without_gpu_events_gives_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
