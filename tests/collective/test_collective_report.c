/* Collectives of several ranks: every sheet, compared with the output of TraceLens for the same synthetic
 * kernels and with values computed by hand for one or two events. */
#include "pytorch_trace.h"

#include "analysis/collective/internal.h"
#include "analysis/collective/sheets.h"
#include "base/buffer.h"
#include "input/chrome/kineto.h"
#include "report/collective.h"

enum { MOST_RANKS = 4 };

/* The ranks of a run, then its sheets. */
typedef struct run {
    trace_text ranks[MOST_RANKS];
    size_t rank_count;
    gt_collective_options options;
    gt_interner *strings;
    gt_table_list tables;
    gt_error error;
} run;

static run new_run(size_t ranks)
{
    run r = {.rank_count = ranks, .options = {.world_size = (int64_t)ranks}, .strings = gt_interner_new()};
    for (size_t i = 0; i < ranks; i++) r.ranks[i] = new_trace();
    for (const char *const *name = (const char *const[]){"mean", "median", "min", "max", NULL}; *name; name++)
        assert_true(gt_aggregations_add(&r.options.aggregations, *name, &r.error));
    return r;
}

static void kernel(trace_text *t, const char *name, double start, double dur, const char *args)
{
    add_event(
        t,
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":6,\"ts\":%.15g,\"dur\":%.15g,"
        "\"args\":{%s}}",
        name, start, dur, args);
}

/* Metadata of a collective; the defaults suit most tests. */
typedef struct collective {
    const char *name, *dtype;
    int in, out;
    const char *group, *ranks, *in_split;
    int size, stream;
} collective;

static void add(run *r, size_t rank, double start, double dur, collective c)
{
    char args[1024];
    snprintf(args, sizeof args,
             "\"correlation\":1,\"stream\":%d,\"Process Group Name\":\"%s\",\"Process Group Ranks\":\"%s\","
             "\"Collective name\":\"%s\",\"Group size\":%d,\"dtype\":\"%s\",\"In msg nelems\":%d,"
             "\"Out msg nelems\":%d,\"In split size\":\"%s\",\"Out split size\":\"[]\"",
             c.stream ? c.stream : 6, c.group ? c.group : "0", c.ranks ? c.ranks : "[0, 1]", c.name,
             c.size ? c.size : 2, c.dtype, c.in, c.out, c.in_split ? c.in_split : "[]");
    kernel(&r->ranks[rank], "ncclDevKernel_Generic", start, dur, args);
}

static gt_table *rows_of(run *r)
{
    gt_table *rows = NULL;
    for (size_t rank = 0; rank < r->rank_count; rank++) {
        trace_text *t = &r->ranks[rank];
        GT_PUSH(t->items, t->count, t->capacity, ']');
        gt_stream *stream = gt_stream_memory(t->items, t->count, 0, &r->error);
        gt_rank_events *events = gt_kineto_read_collectives(stream, NULL, 1, &r->error);
        if (!events) fail_msg("%s", r->error.text);
        gt_table *of_rank = gt_collectives_of_store(events->store, (int64_t)rank);
        gt_table_use_strings(of_rank, r->strings);
        gt_rank_events_free(events);
        gt_stream_close(stream);
        free(t->items);
        if (!rows) {
            rows = of_rank;
            continue;
        }
        if (!gt_table_append(rows, of_rank, &r->error)) fail_msg("%s", r->error.text);
        gt_table_free(of_rank);
    }
    return rows;
}

static void make(run *r)
{
    if (!gt_collective_tables(rows_of(r), &r->options, &r->tables, NULL, &r->error))
        fail_msg("%s", r->error.text);
}

static void end(run *r)
{
    gt_table_list_free(&r->tables);
    gt_interner_free(r->strings);
}

static const gt_table *sheet(const run *r, const char *name)
{
    const gt_table *table = gt_table_list_find(&r->tables, gt_sheet_named(name));
    if (!table) fail_msg("no sheet %s", name);
    return table;
}

/* Some columns of a sheet; their names, separated by commas, are the first line of the expected text. */
static void expect(const run *r, const char *sheet_name, const char *expected)
{
    char *names = strndup(expected, strcspn(expected, "\n"));
    gt_col columns[32];
    size_t count = 0;
    for (char *rest = names, *name; (name = strsep(&rest, ",")) && count < 32;)
        columns[count++] = gt_col_named(name);
    gt_table *table = gt_table_copy(sheet(r, sheet_name));
    gt_table_select(table, columns, count);
    expect_csv(table, expected);
    gt_table_free(table);
    free(names);
}

static void expect_names(const run *r, const char *sheet_name, const char *expected)
{
    const gt_table *table = sheet(r, sheet_name);
    gt_buffer names = {0};
    for (size_t c = 0; c < table->column_count; c++) {
        if (c) gt_buffer_add_cstr(&names, ",");
        gt_buffer_add_cstr(&names, table->columns[c].name);
    }
    assert_string_equal(gt_buffer_str(&names).bytes, expected);
    gt_buffer_free(&names);
}

/* ---- two ranks, every kind ---- */

static run every_kind(void)
{
    static const struct {
        double start, dur, other_start, other_dur;
        collective c;
    } kernels[] = {
        {1000, 100, 1010, 90, {.name = "allreduce", .dtype = "Float", .in = 1048576, .out = 1048576}},
        {2000,
         300,
         1990,
         310,
         {.name = "_allgather_base", .dtype = "BFloat16", .in = 1048576, .out = 2097152}},
        {3000.5,
         200.25,
         3000.5,
         210.25,
         {.name = "_reduce_scatter_base", .dtype = "Half", .in = 2097152, .out = 1048576}},
        {4000, 50, 4010, 50, {.name = "all_to_all", .dtype = "Byte", .in = 4096, .out = 4096}},
        {5000, 40, 5010, 40, {.name = "broadcast", .dtype = "Long", .in = 10, .out = 10}},
        {6000, 60, 6010, 61, {.name = "allreduce", .dtype = "Float", .in = 1048576, .out = 1048576}},
        {7000, 61, 7010, 61, {.name = "allreduce", .dtype = "Float8_e4m3fn", .in = 1000, .out = 1000}},
    };
    run r = new_run(2);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        add(&r, 0, kernels[i].start, kernels[i].dur, kernels[i].c);
        add(&r, 1, kernels[i].other_start, kernels[i].other_dur, kernels[i].c);
    }
    return r;
}

static void waits_and_bandwidths_of_every_kind(void **state)
{
    (void)state;
    run r = every_kind();
    r.options.gpus_per_node = 2;
    make(&r);
    expect(&r, "nccl_implicit_sync",
           "collective_id,Full msg size (MB),comm_latency,skew in start time,earliest arrival "
           "rank,avg_wait_time,"
           "skew in end time,algo bw (GB/s),bus bw (GB/s),node_span\n"
           "0_0,4.0,90.0,10.0,0,5.0,0.0,43.40277777777778,43.40277777777778,intra_node\n"
           "0_1,4.0,300.0,10.0,1,5.0,0.0,13.020833333333334,6.510416666666667,intra_node\n"
           "0_2,4.0,200.25,0.0,1,0.0,10.0,19.506866416978777,9.753433208489389,intra_node\n"
           "0_3,0.00390625,50.0,10.0,0,5.0,10.0,0.0762939453125,0.03814697265625,intra_node\n"
           "0_5,4.0,60.0,10.0,0,5.0,11.0,65.10416666666667,65.10416666666667,intra_node\n"
           "0_6,,61.0,10.0,0,5.0,10.0,,,intra_node\n");
    expect(&r, "nccl_summary_implicit_sync",
           "Collective name,dtype,comm_latency_mean,comm_latency_median,comm_latency_min,comm_latency_max,"
           "algo bw (GB/s)_mean,count,Total comm latency (ms)\n"
           "_allgather_base,BFloat16,300.0,300.0,300.0,300.0,13.020833333333334,1,0.3\n"
           "_reduce_scatter_base,Half,200.25,200.25,200.25,200.25,19.506866416978777,1,0.20025\n"
           "allreduce,Float,75.0,75.0,60.0,90.0,54.25347222222223,2,0.15\n"
           "allreduce,Float8_e4m3fn,61.0,61.0,61.0,61.0,,1,0.061\n"
           "all_to_all,Byte,50.0,50.0,50.0,50.0,0.0762939453125,1,0.05\n");
    expect_csv(
        sheet(&r, "straggler_summary"),
        "rank,total_wait_time_us,mean_wait_time_us,times_arrived_last,times_arrived_first,pct_arrived_last,"
        "num_collectives,total_nccl_dur_us,node_id\n"
        "1,10.0,1.7,4,2,66.7,6,822.2,0\n"
        "0,40.0,6.7,2,4,33.3,6,811.2,0\n");
    end(&r);
}

static void sheets_are_in_order(void **state)
{
    (void)state;
    static const char *const names[] = {"nccl_summary_implicit_sync", "nccl_summary_long", "nccl_long",
                                        "nccl_implicit_sync", "straggler_summary"};
    run r = every_kind();
    make(&r);
    assert_int_equal(r.tables.count, sizeof names / sizeof *names);
    for (size_t i = 0; i < r.tables.count; i++) assert_string_equal(r.tables.items[i]->name, names[i]);
    expect_names(
        &r, "nccl_implicit_sync",
        "collective_id,Process Group Name,Process Group Ranks,Collective name,Group size,dtype,In msg nelems,"
        "Out msg nelems,In msg size (MB),Out msg size (MB),Full msg size (MB),comm_latency,skew in start "
        "time,"
        "earliest arrival rank,avg_wait_time,skew in end time,algo bw (GB/s),bus bw (GB/s),"
        "rank_0_ts,rank_0_dur,rank_1_ts,rank_1_dur,rank_0_wait_time,rank_1_wait_time");
    end(&r);
}

/* ---- missing data ---- */

static void kernels_without_metadata_are_matched_by_order(void **state)
{
    (void)state;
    run r = new_run(2);
    for (size_t rank = 0; rank < 2; rank++)
        for (int i = 0; i < 3; i++)
            kernel(&r.ranks[rank], "void rcclGenericKernel<1>", i * 1000 + 7 * (int)rank, 50 + (int)rank,
                   "\"correlation\":1,\"stream\":3");
    make(&r);
    expect(&r, "nccl_implicit_sync",
           "collective_id,Process Group Name,Collective name,comm_latency,skew in start time,earliest "
           "arrival rank,"
           "avg_wait_time,skew in end time,algo bw (GB/s),bus bw "
           "(GB/s),rank_0_ts,rank_0_dur,rank_1_ts,rank_1_dur,"
           "rank_0_wait_time,rank_1_wait_time\n"
           "0,all,,50,7,0,3.5,8,,,0,50,7,51,7,0\n"
           "1,all,,50,7,0,3.5,8,,,1000,50,1007,51,7,0\n"
           "2,all,,50,7,0,3.5,8,,,2000,50,2007,51,7,0\n");
    expect_csv(
        sheet(&r, "nccl_summary_implicit_sync"),
        "Collective name,dtype,In msg nelems,Process Group Name,Group size,Full msg size "
        "(MB),comm_latency_mean,"
        "comm_latency_median,comm_latency_min,comm_latency_max,skew in start time_mean,"
        "skew in start time_median,skew in start time_min,skew in start time_max,skew in end time_mean,"
        "skew in end time_median,skew in end time_min,skew in end time_max,count,Total comm latency (ms)\n"
        "Unknown,Unknown,Unknown,all,,,50.0,50.0,50,50,7.0,7.0,7,7,8.0,8.0,8,8,3,0.15\n");
    assert_int_equal(sheet(&r, "nccl_summary_long")->row_count, 0);
    assert_int_equal(sheet(&r, "nccl_summary_long")->column_count, 19);
    expect_csv(
        sheet(&r, "straggler_summary"),
        "rank,total_wait_time_us,mean_wait_time_us,times_arrived_last,times_arrived_first,pct_arrived_last,"
        "num_collectives,total_nccl_dur_us\n"
        "1,0,0.0,3,0,100.0,3,153\n"
        "0,21,7.0,0,3,0.0,3,150\n");
    end(&r);
}

static void rank_that_misses_a_collective(void **state)
{
    (void)state;
    const collective c = {.name = "allreduce", .dtype = "Float", .in = 10, .out = 10};
    run r = new_run(2);
    for (int i = 0; i < 2; i++) add(&r, 0, 1000 + i * 1000, 200, c);
    for (int i = 0; i < 3; i++) add(&r, 1, 1001 + i * 1000, 200, c);
    make(&r);
    expect(&r, "nccl_implicit_sync",
           "collective_id,skew in start time,earliest arrival rank,avg_wait_time,algo bw "
           "(GB/s),rank_0_ts,rank_1_ts\n"
           "0_0,1,0,0.5,0.0001862645149230957,1000.0,1001\n"
           "0_1,1,0,0.5,0.0001862645149230957,2000.0,2001\n"
           "0_2,0,1,0.0,0.0001862645149230957,,3001\n");
    expect(
        &r, "straggler_summary",
        "rank,total_wait_time_us,mean_wait_time_us,times_arrived_last,times_arrived_first,pct_arrived_last,"
        "num_collectives,total_nccl_dur_us\n"
        "1,0.0,0.0,3,1,100.0,3,600\n"
        "0,2.0,1.0,0,2,0.0,3,400\n");
    end(&r);
}

static void kernels_with_and_without_metadata(void **state)
{
    (void)state;
    run r = new_run(1);
    kernel(&r.ranks[0], "ncclKernel", 0, 5, "\"correlation\":1,\"stream\":3");
    add(&r, 0, 10, 5, (collective){.name = "allreduce", .dtype = "Float", .in = 10, .out = 10});
    make(&r);
    expect(&r, "nccl_long",
           "collective_id,Group size,In msg nelems\n"
           "Unknown_Group_0,,\n"
           "0_0,2.0,10.0\n");
    end(&r);
}

static void durations_of_zero_have_no_bandwidth(void **state)
{
    (void)state;
    const collective c = {.name = "allreduce", .dtype = "Float", .in = 10, .out = 10};
    run r = new_run(2);
    add(&r, 0, 1000, 0, c);
    add(&r, 1, 1000, 0, c);
    make(&r);
    expect(&r, "nccl_implicit_sync", "earliest arrival rank,algo bw (GB/s),bus bw (GB/s)\n1,,\n");
    expect(&r, "straggler_summary", "rank,times_arrived_last,times_arrived_first\n0,1,0\n1,0,1\n");
    end(&r);
}

static void ranks_that_disagree(void **state)
{
    (void)state;
    for (int leave_out = 0; leave_out < 2; leave_out++) {
        run r = new_run(2);
        r.options.leave_out_mismatches = leave_out;
        for (int rank = 0; rank < 2; rank++) {
            add(&r, (size_t)rank, 1000, 5,
                (collective){.name = "allreduce", .dtype = "Float", .in = 10 + rank, .out = 10});
            add(&r, (size_t)rank, 2000, 5,
                (collective){.name = "allreduce", .dtype = "Float", .in = 10, .out = 10});
        }
        gt_log_to(keep_warning);
        bool made = gt_collective_tables(rows_of(&r), &r.options, &r.tables, NULL, &r.error);
        gt_log_to(NULL);
        assert_int_equal(made, leave_out);
        if (made) {
            expect(&r, "nccl_implicit_sync", "collective_id\n0_1\n");
            assert_string_equal(last_warning, "collectives skipped because their ranks disagree: 1");
        } else {
            assert_string_equal(r.error.text,
                                "Metadata mismatch in 'In msg nelems' for collective 0_0: [10 11]");
            assert_int_equal(r.tables.count, 0);
        }
        end(&r);
    }
}

/* ---- groups and nodes ---- */

static void groups_on_one_node_and_on_two(void **state)
{
    (void)state;
    run r = new_run(4);
    r.options.gpus_per_node = 2;
    for (int rank = 0; rank < 4; rank++) {
        collective pair = {.name = "allreduce", .dtype = "Float", .in = 10, .out = 10};
        collective all = pair;
        pair.group = rank < 2 ? "1" : "2";
        pair.ranks = rank < 2 ? "[0, 1]" : "[2, 3]";
        all.ranks = "[0, 1, 2, 3]";
        all.size = 4;
        add(&r, (size_t)rank, 1000 + rank, 200, pair);
        add(&r, (size_t)rank, 3000 + rank, 100, all);
    }
    make(&r);
    expect(&r, "nccl_implicit_sync",
           "collective_id,algo bw (GB/s),bus bw (GB/s),node_span\n"
           "1_0,0.0001862645149230957,0.0001862645149230957,intra_node\n"
           "0_0,0.0003725290298461914,0.0005587935447692871,inter_node\n"
           "2_0,0.0001862645149230957,0.0001862645149230957,intra_node\n");
    const gt_table *table = sheet(&r, "nccl_implicit_sync");
    static const char *const names[] = {
        "rank_0_ts", "rank_0_dur", "rank_1_ts", "rank_1_dur", "rank_0_wait_time", "rank_1_wait_time",
        "rank_2_ts", "rank_2_dur", "rank_3_ts", "rank_3_dur", "rank_2_wait_time", "rank_3_wait_time"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(table->columns[18 + i].name, names[i]);
    expect(&r, "straggler_summary", "rank,total_wait_time_us,node_id\n3,0.0,1\n1,2.0,0\n2,2.0,1\n0,4.0,0\n");
    end(&r);
}

/* PyTorch writes at most 30 ranks: the size of the group tells whether it fits on a node. */
static void truncated_lists_of_ranks(void **state)
{
    (void)state;
    static const struct {
        int size;
        int64_t gpus_per_node;
        const char *ranks, *span;
    } groups[] = {
        {64, 8, "[0, 1, 2, 3, ...]", "inter_node"},
        {64, 64, "[0, 1, 2, 3, ...]", "intra_node"},
        {6, 64, "[0, 64, ...]", "inter_node"},
        {64, 4, "[0, 1, 2, 3]", "intra_node"}, /* complete: only the list decides */
        {2, 8, "", "unknown"},
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        run r = new_run(1);
        r.options.gpus_per_node = groups[i].gpus_per_node;
        add(&r, 0, 0, 5,
            (collective){.name = "allreduce",
                         .dtype = "Float",
                         .in = 1,
                         .out = 1,
                         .ranks = groups[i].ranks,
                         .size = groups[i].size});
        make(&r);
        char expected[64];
        snprintf(expected, sizeof expected, "node_span\n%s\n", groups[i].span);
        expect(&r, "nccl_long", expected);
        end(&r);
    }
}

/* ---- all_to_allv ---- */

static run uneven_exchange(void)
{
    run r = new_run(4);
    for (int rank = 0; rank < 4; rank++)
        add(&r, (size_t)rank, 1000, 200 + 100 * rank,
            (collective){.name = "all_to_allv",
                         .dtype = "Float",
                         .in = rank ? 1000 : 8000,
                         .out = 2750,
                         .ranks = "[0, 1, 2, 3]",
                         .size = 4,
                         .in_split = rank ? "[250, 250, 250, 250]" : "[2000, 2000, 2000, 2000]"});
    r.options.heatmap = true;
    return r;
}

static void uneven_exchanges(void **state)
{
    (void)state;
    run r = uneven_exchange();
    make(&r);
    expect(
        &r, "nccl_all2allv",
        "collective_id,total data communicated (MB),total nelems communicated,wall_time (us),max_rank_dur "
        "(us),"
        "min_rank_dur (us),avg_rank_dur (us),throughput (GB/s),max_rank_throughput (GB/s),"
        "min_rank_throughput (GB/s),size_imbalance,skew in start time,skew in end time,rank_3_In split size,"
        "rank_0_skew in end time\n"
        "0_0,0.041961669921875,11000,500,500,200,350.0,0.08195638656616211,0.14901161193847656,"
        "0.007450580596923828,2.909090909090909,0,300,[250, 250, 250, 250],300\n");
    expect(&r, "nccl_summary_all2allv",
           "Process Group Name,dtype,wall_time (us)_mean,Total wall_time (us),count,Group size,Total "
           "wall_time (ms)\n"
           "0,Float,500.0,500,1,4,0.5\n");
    const gt_table *map = sheet(&r, "nccl_all2allv_heatmap");
    assert_int_equal(map->row_count, 16);
    expect_names(&r, "nccl_all2allv_heatmap", "src_rank,dst_rank,total_sent_MB,avg_sent_MB,count");
    for (size_t row = 0; row < 16; row++) {
        assert_int_equal(map->columns[0].ints[row], row / 4);
        assert_int_equal(map->columns[1].ints[row], row % 4);
        assert_true(map->columns[2].floats[row] == (row < 4 ? 0.00762939453125 : 0.00095367431640625));
        assert_int_equal(map->columns[4].ints[row], 1);
    }
    end(&r);
}

/* Receivers are ranks, not positions in the group; unknown ones are omitted. */
static void heat_map_of_a_smaller_group(void **state)
{
    (void)state;
    run r = new_run(1);
    collective c = {.name = "all_to_allv",
                    .dtype = "Byte",
                    .in = 3145728,
                    .out = 1,
                    .ranks = "[5, 7]",
                    .size = 2,
                    .in_split = "[1048576, 2097152]"};
    add(&r, 0, 0, 5, c);
    c.in_split = "[1048576, ...]";
    add(&r, 0, 10, 5, c);
    c.in_split = "[1, 2, 3]";
    add(&r, 0, 20, 5, c);
    r.options.heatmap = true;
    gt_log_to(keep_warning);
    make(&r);
    gt_log_to(NULL);
    assert_non_null(strstr(last_warning, "all_to_allv kernels missing from the heat map: 2;"));
    expect_csv(sheet(&r, "nccl_all2allv_heatmap"),
               "src_rank,dst_rank,total_sent_MB,avg_sent_MB,count\n0,5,1.0,1.0,1\n0,7,2.0,2.0,1\n");
    end(&r);
}

static void streams_of_an_exchange_must_agree(void **state)
{
    (void)state;
    run r = new_run(2);
    for (int rank = 0; rank < 2; rank++)
        add(&r, (size_t)rank, 0, 5,
            (collective){.name = "all_to_allv", .dtype = "Float", .in = 1, .out = 1, .stream = 6 + rank});
    assert_false(gt_collective_tables(rows_of(&r), &r.options, &r.tables, NULL, &r.error));
    assert_string_equal(r.error.text, "Metadata mismatch in 'stream' for collective 0_0");
    end(&r);
}

/* ---- parts ---- */

static void aggregations_by_name(void **state)
{
    (void)state;
    run r = new_run(1);
    r.options.aggregations = (gt_aggregations){0};
    static const char *const names[] = {"var",  "std",     "sum",  "count", "first",
                                        "last", "nunique", "size", "var"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(gt_aggregations_add(&r.options.aggregations, names[i], &r.error));
    assert_false(gt_aggregations_add(&r.options.aggregations, "foo", &r.error));
    for (int i = 0; i < 3; i++) /* durations 2, 4, 6: variance 4 */
        add(&r, 0, i * 10, 2 + 2 * i, (collective){.name = "allreduce", .dtype = "Float", .in = 1, .out = 1});
    make(&r);
    expect(&r, "nccl_summary_implicit_sync",
           "comm_latency_var,comm_latency_std,comm_latency_sum,comm_latency_count,comm_latency_first,"
           "comm_latency_last,comm_latency_nunique,comm_latency_size,count\n"
           "4.0,2.0,12,3,2,6,3,3,3\n");
    end(&r);
}

static void only_linked_communication_kernels_are_read(void **state)
{
    (void)state;
    gt_error error;
    const char text[] =
        "{\"deviceProperties\":[{\"id\":0},{\"id\":1}],\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":3,"
        "\"world_size\":8},"
        "\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"nccl:all_reduce\",\"ts\":1,\"dur\":2,\"args\":{"
        "\"External id\":1}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":1,\"dur\":2,\"args\":{\"correlation\":1}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"NCCLkernel\",\"ts\":1,\"dur\":2,\"args\":{\"stream\":1}}"
        ","
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\\u006eccl\",\"ts\":3,\"dur\":2,\"args\":{\"External "
        "id\":1}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"x::Cross_Device_Reduce_1stage\",\"ts\":4,\"dur\":2.5,"
        "\"args\":{\"correlation\":1}}]}";
    gt_stream *stream = gt_stream_memory(text, sizeof text - 1, 0, &error);
    gt_rank_events *events = gt_kineto_read_collectives(stream, NULL, 1, &error);
    assert_non_null(events);
    assert_int_equal(events->events, 5);
    assert_int_equal(events->devices, 2);
    assert_int_equal(events->distributed.rank, 3);
    assert_int_equal(events->distributed.world_size, 8);
    gt_table *table = gt_collectives_of_store(events->store, 9);
    gt_table_select(table, (gt_col[]){GT_COL("rank"), GT_COL("ts"), GT_COL("dur"), GT_COL("Collective name")},
                    4);
    expect_csv(table, "rank,ts,dur,Collective name\n9,3,2.0,\n9,4,2.5,allreduce\n");
    gt_table_free(table);
    gt_rank_events_free(events);
    gt_stream_close(stream);
}

static void damaged_traces_are_rejected(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl\",\"ts\":1,\"dur\":2,\"args\":{"
        "\"correlation\":1}}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl\",\"ts\":1,\"args\":{"
        "\"correlation\":1}}]}",
        "{\"traceEvents\":[{\"cat\":\"kernel\",\"name\":\"nccl\",\"ts\":1,\"dur\":1e999,\"args\":{"
        "\"correlation\":1}}]}",
        "{\"other\":[]}",
        "[1",
        "",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        gt_error error = {""};
        gt_stream *stream = gt_stream_memory(texts[i], strlen(texts[i]), 0, &error);
        gt_rank_events *events = gt_kineto_read_collectives(stream, NULL, 1, &error);
        if (events) fail_msg("read: %s", texts[i]);
        assert_true(strlen(error.text) > 10);
        gt_stream_close(stream);
    }
}

static void lists_in_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        int64_t last;
        bool truncated, is_list;
    } lists[] = {
        {"[0, 12, 3]", 3, 3, false, true},
        {"(4,)", 1, 4, false, true},
        {"[]", 0, 0, false, true},
        {"[0, 1, ...]", 2, 1, true, false},
        {"ranks 5 to 7", 2, 7, false, false},
        {"", 0, 0, false, false},
        {"[99999999999999999999]", 1, INT64_MAX, false, true},
        {"[1, 2)", 2, 2, false, false},
    };
    gt_int_list list = {0};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        gt_int_list_read(&list, (gt_str){lists[i].text, strlen(lists[i].text)});
        assert_int_equal(list.count, lists[i].count);
        if (list.count) assert_int_equal(list.items[list.count - 1], lists[i].last);
        assert_int_equal(list.truncated, lists[i].truncated);
        assert_int_equal(list.is_list, lists[i].is_list);
    }
    gt_int_list_free(&list);
}

/* Each rank counts only the groups that it is in, so both pairs are group 1. */
static void test_different_groups_of_one_name(void **state)
{
    (void)state;
    run r = new_run(4);
    collective left = {"allreduce", "Float", 1048576, 1048576, .group = "1", .ranks = "[0, 1]"};
    collective right = {"allreduce", "Float", 2097152, 2097152, .group = "1", .ranks = "[2, 3]"};
    collective world = {"allreduce", "Float", 524288, 524288, .group = "0", .ranks = "[0, 1, 2, 3]",
                        .size = 4};
    for (size_t rank = 0; rank < 4; rank++) {
        add(&r, rank, 10 + (double)rank, 50 - (double)rank, rank < 2 ? left : right);
        add(&r, rank, 100, 10, world);
    }
    make(&r);
    expect(&r, "nccl_implicit_sync",
           "collective_id,Process Group Name,Process Group Ranks,In msg nelems,comm_latency,rank_1_wait_time,"
           "rank_2_wait_time\n"
           "1:0_0,1:0,[0, 1],1048576,49,0.0,\n"
           "0_0,0,[0, 1, 2, 3],524288,10,0.0,0.0\n"
           "1:2_0,1:2,[2, 3],2097152,47,,1.0\n");
    end(&r);
}

/* Groups of one name that share their first rank but not all: each has all its ranks in its name. */
static void test_different_groups_with_a_common_first_rank(void **state)
{
    (void)state;
    run r = new_run(3);
    static const char *const lists[] = {"[0, 1]", "[1, 2]", "[0, 2]"};
    for (size_t rank = 0; rank < 3; rank++)
        add(&r, rank, 10, 50, (collective){"allreduce", "Float", 8, 8, .group = "a", .ranks = lists[rank]});
    make(&r);
    expect(&r, "nccl_long", "collective_id,rank\na:0,1_0,0\na:1,2_0,1\na:0,2_0,2\n");
    end(&r);
}

/* Ranks that only disagree on who is in a group are in one group. */
static void test_one_group_with_different_lists(void **state)
{
    (void)state;
    run r = new_run(3);
    static const char *const lists[] = {"[0, 1, 2]", "[0, 1, 2]", "[0, 2]"};
    for (size_t rank = 0; rank < 3; rank++)
        add(&r, rank, 10, 50, (collective){"allreduce", "Float", 8, 8, .group = "a", .ranks = lists[rank]});
    assert_false(gt_collective_tables(rows_of(&r), &r.options, &r.tables, NULL, &r.error));
    assert_string_equal(r.error.text, "Metadata mismatch in 'Process Group Ranks' for collective a_0: "
                                      "['[0, 1, 2]' '[0, 2]']");
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_different_groups_of_one_name),
        cmocka_unit_test(test_different_groups_with_a_common_first_rank),
        cmocka_unit_test(test_one_group_with_different_lists),
        cmocka_unit_test(waits_and_bandwidths_of_every_kind),
        cmocka_unit_test(sheets_are_in_order),
        cmocka_unit_test(kernels_without_metadata_are_matched_by_order),
        cmocka_unit_test(rank_that_misses_a_collective),
        cmocka_unit_test(kernels_with_and_without_metadata),
        cmocka_unit_test(durations_of_zero_have_no_bandwidth),
        cmocka_unit_test(ranks_that_disagree),
        cmocka_unit_test(groups_on_one_node_and_on_two),
        cmocka_unit_test(truncated_lists_of_ranks),
        cmocka_unit_test(uneven_exchanges),
        cmocka_unit_test(heat_map_of_a_smaller_group),
        cmocka_unit_test(streams_of_an_exchange_must_agree),
        cmocka_unit_test(aggregations_by_name),
        cmocka_unit_test(only_linked_communication_kernels_are_read),
        cmocka_unit_test(damaged_traces_are_rejected),
        cmocka_unit_test(lists_in_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
