/* Collectives of one and two ranks: long table and summary, compared with values computed by hand. */
#include "pytorch_trace.h"

#include "analysis/collective/sheets.h"

#define LONG_HEAD                                                                                            \
    "collective_id,index_in_group,rank,Process Group Name,Process Group Ranks,Collective name,Group "        \
    "size,dtype,"                                                                                            \
    "In msg nelems,In msg size (MB),Out msg nelems,Out msg size (MB),In split size,Out split "               \
    "size,stream,ts,dur\n"
#define SUMMARY_HEAD                                                                                         \
    "rank,Process Group Name,Process Group Ranks,Collective name,Group size,dtype,In msg nelems,Out msg "    \
    "nelems,"                                                                                                \
    "In split size,Out split size,stream,In msg size (MB)_first,Out msg size "                               \
    "(MB)_first,dur_sum,dur_mean,dur_std,"                                                                   \
    "dur_min,dur_max,operation_count\n"

static void kernel(trace_text *t, const char *name, double start, double dur, const char *args)
{
    add_event(
        t,
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":6,\"ts\":%.15g,\"dur\":%.15g,"
        "\"args\":{%s}}",
        name, start, dur, args);
}

/* In process group 0 of the two ranks, on stream 6. */
static void collective(trace_text *t, double start, double dur, const char *name, const char *dtype, int in,
                       int out)
{
    char args[512];
    snprintf(args, sizeof args,
             "\"correlation\":1,\"stream\":6,\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\","
             "\"Collective name\":\"%s\",\"Group size\":2,\"dtype\":\"%s\",\"In msg nelems\":%d,\"Out msg "
             "nelems\":%d,"
             "\"In split size\":\"[]\",\"Out split size\":\"[]\"",
             name, dtype, in, out);
    kernel(t, "ncclDevKernel_Generic", start, dur, args);
}

static void expect_long(trace_text *ranks, size_t rank_count, bool by_order_alone, const char *expected)
{
    gt_interner *strings = gt_interner_new();
    gt_table *rows = NULL;
    for (size_t rank = 0; rank < rank_count; rank++) {
        gt_error error;
        gt_pytorch_linked *linked = read_trace(&ranks[rank], false);
        const gt_linked_view *trace = gt_pytorch_view(linked);
        gt_table *of_rank = gt_collectives_of_rank(&trace->events, (int64_t)rank);
        if (rows) {
            if (!gt_table_append(rows, of_rank, &error)) fail_msg("%s", error.text);
            gt_table_free(of_rank);
        } else {
            gt_table_use_strings(rows = of_rank, strings);
        }
        gt_pytorch_linked_free(linked);
    }
    assert_int_equal(gt_collectives_number(rows), by_order_alone);
    assert_string_equal(rows->name, "nccl_long");
    expect_csv(rows, expected);
    gt_table_free(rows);
    gt_interner_free(strings);
}

static void expect_analysis(trace_text *t, const char *expected)
{
    gt_pytorch_linked *linked = read_trace(t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_table *summary = gt_coll_analysis(&trace->events);
    assert_string_equal(summary->name, "coll_analysis");
    expect_csv(summary, expected);
    gt_table_free(summary);
    gt_pytorch_linked_free(linked);
}

static trace_text every_kind(void)
{
    trace_text t = new_trace();
    collective(&t, 1000, 100, "allreduce", "Float", 1048576, 1048576);
    collective(&t, 2000, 300, "_allgather_base", "BFloat16", 1048576, 2097152);
    collective(&t, 3000.5, 200.25, "_reduce_scatter_base", "Half", 2097152, 1048576);
    collective(&t, 4000, 50, "all_to_all", "Byte", 4096, 4096);
    collective(&t, 5000, 40, "broadcast", "Long", 10, 10);
    collective(&t, 6000, 60, "allreduce", "Float", 1048576, 1048576);
    collective(&t, 7000, 61, "allreduce", "Float8_e4m3fn", 1000, 1000);
    return t;
}

static void the_summary_is_by_kind_and_size(void **unused)
{
    (void)unused;
    trace_text t = every_kind();
    expect_analysis(
        &t, SUMMARY_HEAD
        "0,0,[0, 1],_allgather_base,2,BFloat16,1048576,2097152,[],[],6,2.0,4.0,300.0,300.0,,300.0,300.0,1\n"
        "0,0,[0, "
        "1],_reduce_scatter_base,2,Half,2097152,1048576,[],[],6,4.0,2.0,200.25,200.25,,200.25,200.25,1\n"
        "0,0,[0, "
        "1],allreduce,2,Float,1048576,1048576,[],[],6,4.0,4.0,160.0,80.0,28.284271247461902,60.0,100.0,2\n"
        "0,0,[0, 1],allreduce,2,Float8_e4m3fn,1000,1000,[],[],6,,,61.0,61.0,,61.0,61.0,1\n"
        "0,0,[0, 1],all_to_all,2,Byte,4096,4096,[],[],6,0.00390625,0.00390625,50.0,50.0,,50.0,50.0,1\n"
        "0,0,[0, "
        "1],broadcast,2,Long,10,10,[],[],6,7.62939453125e-05,7.62939453125e-05,40.0,40.0,,40.0,40.0,1\n");
}

static void two_ranks_are_numbered_the_same_way(void **unused)
{
    (void)unused;
    trace_text ranks[2] = {new_trace(), new_trace()};
    collective(&ranks[0], 2000, 300, "all_gather", "Double", 1048576, 2097152); /* not in order of time */
    collective(&ranks[0], 1000, 100, "allreduce", "Int", 1048576, 1048576);
    collective(&ranks[1], 1010, 90, "allreduce", "Int", 1048576, 1048576);
    collective(&ranks[1], 1990, 310.5, "all_gather", "Double", 1048576, 2097152);
    expect_long(ranks, 2, false,
                LONG_HEAD
                "0_1,1,0,0,[0, 1],all_gather,2,Double,1048576,8.0,2097152,16.0,[],[],6,2000,300.0\n"
                "0_0,0,0,0,[0, 1],allreduce,2,Int,1048576,4.0,1048576,4.0,[],[],6,1000,100.0\n"
                "0_0,0,1,0,[0, 1],allreduce,2,Int,1048576,4.0,1048576,4.0,[],[],6,1010,90.0\n"
                "0_1,1,1,0,[0, 1],all_gather,2,Double,1048576,8.0,2097152,16.0,[],[],6,1990,310.5\n");
}

static void without_groups_and_with_one_stream_only_the_order_counts(void **unused)
{
    (void)unused;
    trace_text ranks[2];
    for (int rank = 0; rank < 2; rank++) {
        ranks[rank] = new_trace();
        for (int i = 0; i < 3; i++)
            kernel(&ranks[rank], "void rcclGenericKernel<1>", 1000 * i + 7 * rank, 50 + rank,
                   "\"correlation\":1,\"stream\":3");
    }
    expect_long(ranks, 2, true,
                LONG_HEAD
                "0,0,0,all,,,,,,,,,,,3,0,50\n1,1,0,all,,,,,,,,,,,3,1000,50\n2,2,0,all,,,,,,,,,,,3,2000,50\n"
                "0,0,1,all,,,,,,,,,,,3,7,51\n1,1,1,all,,,,,,,,,,,3,1007,51\n2,2,1,all,,,,,,,,,,,3,2007,51\n");
    trace_text t = new_trace();
    kernel(&t, "void rcclGenericKernel<1>", 0, 50, "\"correlation\":1,\"stream\":3");
    expect_analysis(&t, SUMMARY_HEAD);
}

static void ranks_may_have_a_stream_each_but_not_two(void **unused)
{
    (void)unused;
    trace_text ranks[2] = {new_trace(), new_trace()};
    kernel(&ranks[0], "nccl", 0, 50, "\"correlation\":1,\"stream\":3");
    kernel(&ranks[1], "nccl", 0, 50, "\"correlation\":1,\"stream\":4");
    expect_long(ranks, 2, true, LONG_HEAD "0,0,0,all,,,,,,,,,,,3,0,50\n0,0,1,all,,,,,,,,,,,4,0,50\n");
    ranks[0] = new_trace(), ranks[1] = new_trace();
    kernel(&ranks[0], "nccl", 0, 50, "\"correlation\":1,\"stream\":3");
    kernel(&ranks[1], "nccl", 0, 50, "\"correlation\":1,\"stream\":3");
    kernel(&ranks[1], "nccl", 90, 50, "\"correlation\":1,\"stream\":4");
    expect_long(ranks, 2, false,
                LONG_HEAD "Unknown_Group_0,0,0,Unknown_Group,,,,,,,,,,,3,0,50\n"
                          "Unknown_Group_0,0,1,Unknown_Group,,,,,,,,,,,3,0,50\n"
                          "Unknown_Group_1,1,1,Unknown_Group,,,,,,,,,,,4,90,50\n");
}

static trace_text one_without_metadata(void)
{
    trace_text t = new_trace();
    kernel(&t, "ncclDevKernel_Generic", 500, 20, "\"External id\":4,\"stream\":6");
    collective(&t, 1000, 100, "allreduce", "Float", 10, 10);
    return t;
}

static void a_kernel_without_metadata_makes_the_columns_floats(void **unused)
{
    (void)unused;
    trace_text t = one_without_metadata();
    expect_long(
        &t, 1, false,
        LONG_HEAD
        "Unknown_Group_0,0,0,Unknown_Group,,,,,,,,,,,6,500,20\n"
        "0_0,0,0,0,[0, 1],allreduce,2.0,Float,10.0,3.814697265625e-05,10.0,3.814697265625e-05,[],[],6,"
        "1000,100\n");
    t = one_without_metadata();
    expect_analysis(&t, SUMMARY_HEAD "0,0,[0, 1],allreduce,2.0,Float,10.0,10.0,[],[],6,3.814697265625e-05,"
                                     "3.814697265625e-05,100,100.0,,100,100,1\n");
}

static void values_of_other_types_are_read_too(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    kernel(&t, "ncclKernel", 10, 5,
           "\"correlation\":1,\"stream\":6,\"Process Group Name\":12,\"Process Group Ranks\":[0, "
           "1],\"dtype\":\"Char\","
           "\"In split size\":[3],\"Out split size\":[],\"In msg nelems\":4,\"Out msg nelems\":null");
    expect_long(&t, 1, false, LONG_HEAD "12_0,0,0,12,(0, 1),,,Char,4,,,,(3,),(),6,10,5\n");
}

static void custom_reductions_are_allreduces(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    kernel(&t, "void vllm::Cross_Device_Reduce_2stage<4>", 10, 5, "\"correlation\":1,\"stream\":6");
    kernel(&t, "cross_device_reduce", 20, 5, "\"correlation\":1,\"stream\":6,\"Collective name\":\"other\"");
    expect_long(&t, 1, true,
                LONG_HEAD "0,0,0,all,,allreduce,,,,,,,,,6,10,5\n1,1,0,all,,other,,,,,,,,,6,20,5\n");
}

static void only_linked_communication_kernels_count(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    kernel(&t, "gemm", 10, 5, "\"correlation\":1,\"stream\":6");
    kernel(&t, "ncclKernel", 20, 5, "\"stream\":6");
    gpu(&t, "gpu_memcpy", "nccl copy", 30, 5, 1, 6);
    expect_long(&t, 1, false, "\n");
    t = new_trace();
    kernel(&t, "gemm", 10, 5, "\"correlation\":1,\"stream\":6");
    expect_analysis(&t, "\n");
}

static void kernels_of_zero_length_are_summarised(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    collective(&t, 1000, 0, "allreduce", "Bool", 1048576, 1048576);
    collective(&t, 1000, 0, "allreduce", "Bool", 1048576, 1048576);
    expect_analysis(&t, SUMMARY_HEAD
                    "0,0,[0, 1],allreduce,2,Bool,1048576,1048576,[],[],6,1.0,1.0,0,0.0,0.0,0,0,2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_is_by_kind_and_size),
        cmocka_unit_test(two_ranks_are_numbered_the_same_way),
        cmocka_unit_test(without_groups_and_with_one_stream_only_the_order_counts),
        cmocka_unit_test(ranks_may_have_a_stream_each_but_not_two),
        cmocka_unit_test(a_kernel_without_metadata_makes_the_columns_floats),
        cmocka_unit_test(values_of_other_types_are_read_too),
        cmocka_unit_test(custom_reductions_are_allreduces),
        cmocka_unit_test(only_linked_communication_kernels_count),
        cmocka_unit_test(kernels_of_zero_length_are_summarised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
