/* What the page keeps of a trace that is too large for it: bins, a stretch of events, the longer host events,
 * the calls that occur most. Schedules are small, and so are the limits. All expected values are computed by
 * hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "findings/formats/plain.h"
#include "page/work.h"
#include "schema/page.h"

enum { US = 1000 };

/* ---- making ---- */

static gt_plain_trace new_trace(gt_trace_origin origin)
{
    return (gt_plain_trace){.strings = gt_interner_new(), .origin = origin, .device_count = 1};
}

static gt_plain_op *add_op(gt_plain_trace *t, const char *name, int64_t start_ns, int64_t ns, uint64_t stream,
                           uint64_t launch)
{
    gt_plain_op op = {.start_ns = start_ns,
                      .end_ns = start_ns + ns,
                      .stream = stream,
                      .launch = launch,
                      .has_launch = launch != 0,
                      .name = gt_interner_add_cstr(t->strings, name),
                      .category = GT_STR_EMPTY,
                      .row = (uint32_t)t->op_count,
                      .kind = GT_KIND_KERNEL};
    GT_PUSH(t->ops, t->op_count, t->op_capacity, op);
    return &t->ops[t->op_count - 1];
}

static gt_plain_call *add_call(gt_plain_trace *t, const char *name, int64_t start_ns, int64_t ns,
                               uint64_t launch)
{
    gt_plain_call call = {.start_ns = start_ns,
                          .end_ns = start_ns + ns,
                          .thread = 1,
                          .launch = launch,
                          .has_launch = launch != 0,
                          .name = gt_interner_add_cstr(t->strings, name),
                          .row = (uint32_t)t->call_count};
    GT_PUSH(t->calls, t->call_count, t->call_capacity, call);
    return &t->calls[t->call_count - 1];
}

typedef struct page_tables {
    gt_plain_trace *trace;
    gt_findings *findings;
    gt_table_list list;
} page_tables;

static page_tables make(gt_plain_trace *t, size_t gpu_events, size_t host_events)
{
    page_tables p = {.trace = t};
    const gt_page_limits limits = {.gpu_events = gpu_events, .host_events = host_events};
    p.findings = gt_findings_of_schedule(gt_schedule_of_plain(t), &(gt_findings_options){0});
    gt_page_add_work(p.findings, &limits, &p.list);
    return p;
}

static void free_tables(page_tables *p)
{
    gt_table_list_free(&p->list);
    gt_findings_free(p->findings);
    gt_interner_free(p->trace->strings);
    gt_plain_free(p->trace);
}

/* ---- asking ---- */

static const gt_table *table_of(const page_tables *p, gt_sheet sheet)
{
    const gt_table *table = gt_table_list_find(&p->list, sheet);
    assert_non_null(table);
    return table;
}

static int64_t cell(const gt_table *table, gt_col column, size_t row)
{
    return gt_table_column_of(table, column, GT_TYPE_INT)->ints[row];
}

static bool is_null(const gt_table *table, gt_col column, size_t row)
{
    return gt_column_is_null(gt_table_column(table, column), row);
}

static const char *text(const gt_table *table, gt_col column, size_t row)
{
    return gt_interner_get(table->strings, gt_table_column_of(table, column, GT_TYPE_STRING)->texts[row])
        .bytes;
}

static int64_t sum(const gt_table *table, gt_col column)
{
    int64_t total = 0;
    for (size_t i = 0; i < table->row_count; i++) total += cell(table, column, i);
    return total;
}

/* -1 if there is no such fact. */
static int64_t fact(const page_tables *p, const char *name)
{
    const gt_table *facts = table_of(p, GT_SHEET_PAGE_FACTS);
    for (size_t i = 0; i < facts->row_count; i++)
        if (strcmp(text(facts, GT_COL_PAGE_NAME, i), name) == 0) return cell(facts, GT_COL_PAGE_VALUE, i);
    return -1;
}

/* ---- GPU events ---- */

/* A thousand kernels of 6 us on two streams, every 10 us. With place for 100, the page has those around the
 * middle, bins have all busy time, and sums are those of all. */
static void test_time(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    for (int i = 0; i < 1000; i++)
        add_op(&t, i % 3 ? "often" : "seldom", i * 10 * US, 6 * US, (uint64_t)(1 + i % 2), 0);
    page_tables p = make(&t, 100, 100);
    const gt_table *gpu = table_of(&p, GT_SHEET_PAGE_GPU), *bins = table_of(&p, GT_SHEET_PAGE_BINS);
    const gt_table *bin_sums = table_of(&p, GT_SHEET_PAGE_BIN_SUMS), *sums = table_of(&p, GT_SHEET_PAGE_SUMS);
    assert_int_equal(fact(&p, "end"), 9996 * US);
    assert_int_equal(fact(&p, "gpu_events"), 1000);
    assert_int_equal(fact(&p, "gpu_kept"), (int64_t)gpu->row_count);
    assert_true(gpu->row_count >= 99 && gpu->row_count <= 100);
    int64_t start = fact(&p, "exact_start"), end = fact(&p, "exact_end");
    assert_true((start + end) / 2 >= 4997 * US && (start + end) / 2 <= 4999 * US);
    for (size_t i = 0; i < gpu->row_count; i++) {
        int64_t at = cell(gpu, GT_COL_PAGE_START, i);
        assert_true(at >= start && at < end && at % (10 * US) == 0);
    }
    assert_int_equal(fact(&p, "bins"), 2048);
    assert_int_equal(sum(bins, GT_COL_PAGE_BUSY), 6000 * US);
    assert_int_equal(sum(sums, GT_COL_PAGE_NS), 6000 * US);
    assert_int_equal(sum(bin_sums, GT_COL_PAGE_NS), 6000 * US);
    assert_int_equal(sum(bin_sums, GT_COL_PAGE_COUNT), 1000);
    assert_int_equal(fact(&p, "sum_bins"), 256);
    free_tables(&p);
}

/* Bins: 2048 bins of 1 us. One op covers the first two and a half, a second one inside it adds nothing, a
 * third one begins in it. The category of a bin is the one with the largest share. */
static void test_bins(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    add_op(&t, "ncclDevKernel_AllReduce", 0, 2500, 1, 0)->communicates = true;
    add_op(&t, "inside", 500, 1000, 1, 0);
    add_op(&t, "tail", 2400, 400, 1, 0);
    add_op(&t, "other_stream", 1000, 10, 2, 0);
    add_op(&t, "end", 2047900, 99, 1, 0);
    page_tables p = make(&t, 2, 100);
    const gt_table *bins = table_of(&p, GT_SHEET_PAGE_BINS);
    assert_int_equal(fact(&p, "end"), 2047999); /* so that the bins are of 1 us exactly */
    static const struct {
        int64_t lane, bin, busy;
        const char *category;
    } expected[] = {{0, 0, 1000, "communication"},
                    {0, 1, 1000, "communication"},
                    {0, 2, 800, "communication"},
                    {0, 2047, 99, "other"},
                    {1, 1, 10, "other"}};
    assert_int_equal(bins->row_count, GT_LENGTH(expected));
    for (size_t i = 0; i < GT_LENGTH(expected); i++) {
        assert_int_equal(cell(bins, GT_COL_PAGE_LANE, i), expected[i].lane);
        assert_int_equal(cell(bins, GT_COL_PAGE_BIN, i), expected[i].bin);
        assert_int_equal(cell(bins, GT_COL_PAGE_BUSY, i), expected[i].busy);
        assert_string_equal(text(bins, GT_COL_PAGE_CATEGORY, i), expected[i].category);
    }
    free_tables(&p);
}

/* Six steps of ten kernels. There is place for two whole ones: the two in the middle of the window, which
 * begins with the first and ends where the last one begins. */
static void test_steps(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    for (int step = 0; step < 6; step++) {
        int64_t begin = step * 1000 * US;
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_call(&t, name, begin, 900 * US, 0)->is_range = true;
        for (int i = 0; i < 10; i++) {
            uint64_t launch = (uint64_t)(1 + step * 10 + i);
            add_call(&t, "hipLaunchKernel", begin + (10 + 20 * i) * US, 2 * US, launch);
            add_op(&t, "kernel", begin + (15 + 20 * i) * US, 15 * US, 1, launch);
        }
    }
    page_tables p = make(&t, 25, 1000);
    assert_int_equal(fact(&p, "window_start"), 15 * US);
    assert_int_equal(fact(&p, "window_end"), 5015 * US);
    /* The middle is at 2515 us: the runs from step 1 or from step 2 are equally near, and the earlier one
     * wins. */
    assert_int_equal(fact(&p, "exact_start"), 1015 * US);
    assert_int_equal(fact(&p, "exact_end"), 3015 * US);
    assert_int_equal(fact(&p, "gpu_kept"), 20);
    const gt_table *lanes = table_of(&p, GT_SHEET_PAGE_LANES);
    assert_int_equal(cell(lanes, GT_COL_PAGE_EVENTS, 0), 60);
    assert_int_equal(cell(lanes, GT_COL_PAGE_KEPT, 0), 20);
    free_tables(&p);
}

/* Not even one step fits: the time around the middle counts. */
static void test_large_steps(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    for (int step = 0; step < 3; step++) {
        add_call(&t, "ProfilerStep#1", step * 1000 * US, 900 * US, 0)->is_range = true;
        for (int i = 0; i < 10; i++) {
            uint64_t launch = (uint64_t)(1 + step * 10 + i);
            add_call(&t, "hipLaunchKernel", (step * 1000 + 10 + 20 * i) * US, 2 * US, launch);
            add_op(&t, "kernel", (step * 1000 + 15 + 20 * i) * US, 15 * US, 1, launch);
        }
    }
    page_tables p = make(&t, 4, 1000);
    assert_int_equal(fact(&p, "gpu_kept"), (int64_t)table_of(&p, GT_SHEET_PAGE_GPU)->row_count);
    assert_true(fact(&p, "gpu_kept") <= 4);
    assert_true(fact(&p, "exact_start") < 1015 * US && fact(&p, "exact_end") > 1015 * US);
    free_tables(&p);
}

/* What fits is kept whole, without bins. */
static void test_all_fit(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    for (int i = 0; i < 10; i++) add_op(&t, "kernel", i * 10 * US, 6 * US, 1, 0);
    page_tables p = make(&t, 10, 10);
    assert_int_equal(table_of(&p, GT_SHEET_PAGE_GPU)->row_count, 10);
    assert_int_equal(fact(&p, "exact_start"), -1);
    assert_null(gt_table_list_find(&p.list, GT_SHEET_PAGE_BINS));
    assert_null(gt_table_list_find(&p.list, GT_SHEET_PAGE_BIN_SUMS));
    free_tables(&p);
}

/* Many combinations of bin, call and kernel: fewer bins. */
static void test_sum_bins(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    enum { NAMES = 1000, TIMES = 200 }; /* 200,000 combinations in 200 of 256 bins */
    for (int time = 0; time < TIMES; time++)
        for (int i = 0; i < NAMES; i++) {
            char name[16];
            snprintf(name, sizeof name, "k%d", i);
            add_op(&t, name, (int64_t)(time * NAMES + i) * US, 500, 1, 0);
        }
    page_tables p = make(&t, 1000, 1000);
    const gt_table *sums = table_of(&p, GT_SHEET_PAGE_BIN_SUMS);
    assert_true(sums->row_count <= 100000);
    assert_true(fact(&p, "sum_bins") < 256);
    assert_int_equal(sum(sums, GT_COL_PAGE_COUNT), NAMES * TIMES);
    assert_int_equal(sum(sums, GT_COL_PAGE_NS), INT64_C(500) * NAMES * TIMES);
    for (size_t i = 0; i < sums->row_count; i++)
        assert_true(cell(sums, GT_COL_PAGE_BIN, i) < fact(&p, "sum_bins"));
    free_tables(&p);
}

/* ---- host events ---- */

/* Calls of 1, 2, ..., 100 us, each with a call of 500 ns inside. Of 200 events, 20 fit: the longest. */
static void test_host(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    add_op(&t, "kernel", 0, 10 * US, 1, 1);
    add_call(&t, "hipLaunchKernel", 0, 400, 1);
    for (int i = 1; i <= 100; i++) {
        add_call(&t, "outer", i * 1000 * US, i * US, 0);
        add_call(&t, "inner", i * 1000 * US + 10, 500, 0);
    }
    page_tables p = make(&t, 100, 20);
    const gt_table *host = table_of(&p, GT_SHEET_PAGE_HOST), *lanes = table_of(&p, GT_SHEET_PAGE_LANES);
    int64_t shorter = cell(lanes, GT_COL_PAGE_SHORTER, 1);
    assert_string_equal(text(lanes, GT_COL_PAGE_KIND, 1), "thread");
    assert_true(is_null(lanes, GT_COL_PAGE_SHORTER, 0));
    assert_true(host->row_count >= 17 && host->row_count <= 20); /* whole buckets of durations are left out */
    assert_true(shorter >= 80 * US && shorter < 84 * US);
    assert_int_equal(cell(lanes, GT_COL_PAGE_EVENTS, 1), 201);
    assert_int_equal(cell(lanes, GT_COL_PAGE_KEPT, 1), (int64_t)host->row_count);
    assert_int_equal(fact(&p, "host_events"), 201);
    assert_int_equal(fact(&p, "host_kept"), (int64_t)host->row_count);
    for (size_t i = 0; i < host->row_count; i++) {
        assert_true(cell(host, GT_COL_PAGE_NS, i) > shorter);
        assert_int_equal(cell(host, GT_COL_PAGE_DEPTH, i), 0);
    }
    free_tables(&p);
}

/* An event between two that are kept is left out: the depth of the inner one counts kept events. */
static void test_depth(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    add_op(&t, "kernel", 0, 10 * US, 1, 0);
    for (int i = 0; i < 4; i++) {
        add_call(&t, "a", i * 1000 * US, 900 * US, 0);
        add_call(&t, "b", i * 1000 * US + 1, 800 * US, 0);
        add_call(&t, "short", i * 1000 * US + 2, 5, 0);
        add_call(&t, "c", i * 1000 * US + 10 * US, 700 * US, 0);
    }
    page_tables p = make(&t, 100, 12);
    const gt_table *host = table_of(&p, GT_SHEET_PAGE_HOST);
    assert_int_equal(host->row_count, 12);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(cell(host, GT_COL_PAGE_DEPTH, i), i % 3);
        assert_string_equal(text(host, GT_COL_PAGE_NAME, i), i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "c");
    }
    free_tables(&p);
}

/* ---- calls ---- */

/* 60,000 ops with shapes of their own, the first thousand of them twice: these stay, others share a row. */
static void test_many_calls(void **state)
{
    (void)state;
    enum { CALLS = 60000, TWICE = 1000 };
    gt_plain_trace t = new_trace(GT_BY_JAX);
    t.has_origins = true;
    for (int i = 0; i < CALLS + TWICE; i++) {
        char shapes[32];
        snprintf(shapes, sizeof shapes, "((%d,),)", i % CALLS);
        add_op(&t, "kernel", (int64_t)i * US, 500, 1, 0)->origin =
            (gt_op_origin){.name = gt_interner_add_cstr(t.strings, "fusion"),
                           .shapes = gt_interner_add_cstr(t.strings, shapes),
                           .path = gt_interner_add_cstr(t.strings, "jit(f)//layer/dot")};
    }
    page_tables p = make(&t, 100000, 100);
    const gt_table *calls = table_of(&p, GT_SHEET_PAGE_CALLS), *sums = table_of(&p, GT_SHEET_PAGE_SUMS);
    assert_int_equal(calls->row_count, 25001);
    assert_int_equal(sum(sums, GT_COL_PAGE_COUNT), CALLS + TWICE);
    for (size_t i = 0; i < TWICE; i++) assert_int_equal(cell(sums, GT_COL_PAGE_COUNT, i), 2);
    size_t rest = 0;
    for (size_t i = 0; i < calls->row_count; i++) rest += is_null(calls, GT_COL_PAGE_SHAPES, i);
    assert_int_equal(rest, 1);
    const gt_table *nodes = table_of(&p, GT_SHEET_PAGE_NODES);
    static const char *const names[] = {"jit(f)", "layer", "dot"};
    assert_int_equal(nodes->row_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(text(nodes, GT_COL_PAGE_NAME, i), names[i]);
        assert_string_equal(text(nodes, GT_COL_PAGE_KIND, i), i < 2 ? "module" : "op");
        assert_true(i ? cell(nodes, GT_COL_PAGE_PARENT, i) == (int64_t)i - 1
                      : is_null(nodes, GT_COL_PAGE_PARENT, i));
    }
    free_tables(&p);
}

/* 150,000 combinations of 500 ops and 300 kernels. The longest 100,000 have rows; the others are added up by
 * kernel: for an op, the first 200 kernels take 2 us and the others 1 us. */
static void test_many_sums(void **state)
{
    (void)state;
    enum { OPS = 500, KERNELS = 300, LONG = 200 };
    gt_plain_trace t = new_trace(GT_BY_JAX);
    t.has_origins = true;
    for (int i = 0; i < OPS * KERNELS; i++) {
        char op[16], kernel[16];
        snprintf(op, sizeof op, "op%d", i / KERNELS);
        snprintf(kernel, sizeof kernel, "k%d", i % KERNELS);
        add_op(&t, kernel, (int64_t)i * 3 * US, i % KERNELS < LONG ? 2 * US : US, 1, 0)->origin =
            (gt_op_origin){.name = gt_interner_add_cstr(t.strings, op)};
    }
    page_tables p = make(&t, 1000, 100);
    const gt_table *sums = table_of(&p, GT_SHEET_PAGE_SUMS);
    assert_int_equal(sums->row_count, OPS * LONG + (KERNELS - LONG));
    assert_int_equal(sum(sums, GT_COL_PAGE_COUNT), OPS * KERNELS);
    assert_int_equal(sum(sums, GT_COL_PAGE_NS), INT64_C(1000) * OPS * (KERNELS + LONG));
    size_t unknown = 0;
    for (size_t i = 0; i < sums->row_count; i++) {
        if (!is_null(sums, GT_COL_PAGE_CALL, i)) continue;
        assert_int_equal(cell(sums, GT_COL_PAGE_COUNT, i), OPS);
        unknown++;
    }
    assert_int_equal(unknown, KERNELS - LONG);
    free_tables(&p);
}

/* 25,000 names, each once, the n-th for n + 1 ns: 19,999 rows and one for the 5,001 shortest. */
static void test_many_kernels(void **state)
{
    (void)state;
    enum { NAMES = 25000, REST = 5001 };
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    for (int i = 0; i < NAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        add_op(&t, name, (int64_t)i * 100 * US, i + 1, 1, 0);
    }
    page_tables p = make(&t, 100000, 100);
    const gt_table *kernels = table_of(&p, GT_SHEET_PAGE_KERNELS);
    assert_int_equal(kernels->row_count, 20000);
    assert_string_equal(text(kernels, GT_COL_PAGE_NAME, 0), "k5001");
    assert_string_equal(text(kernels, GT_COL_PAGE_NAME, 19999), "other kernels");
    assert_int_equal(cell(kernels, GT_COL_PAGE_COUNT, 19999), REST);
    assert_int_equal(cell(kernels, GT_COL_PAGE_NS, 19999), REST * (REST + 1) / 2);
    assert_int_equal(cell(kernels, GT_COL_PAGE_MIN_NS, 19999), 1);
    assert_int_equal(cell(kernels, GT_COL_PAGE_MAX_NS, 19999), REST);
    assert_int_equal(sum(kernels, GT_COL_PAGE_NS), INT64_C(25000) * 25001 / 2);
    free_tables(&p);
}

/* Ranges that a program marks are the path of what is launched in them. */
static void test_ranges(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    add_call(&t, "model", 0, 100 * US, 0)->is_range = true;
    add_call(&t, "layer 1", 10 * US, 20 * US, 0)->is_range = true;
    add_call(&t, "hipLaunchKernel", 15 * US, 2 * US, 1);
    add_call(&t, "layer 2", 40 * US, 20 * US, 0)->is_range = true;
    add_call(&t, "hipLaunchKernel", 45 * US, 2 * US, 2);
    add_call(&t, "hipLaunchKernel", 200 * US, 2 * US, 3);
    for (uint64_t i = 1; i <= 3; i++) add_op(&t, "kernel", (int64_t)i * 20 * US, US, 1, i);
    page_tables p = make(&t, 100, 100);
    const gt_table *nodes = table_of(&p, GT_SHEET_PAGE_NODES), *calls = table_of(&p, GT_SHEET_PAGE_CALLS);
    assert_int_equal(nodes->row_count, 2);
    assert_string_equal(text(nodes, GT_COL_PAGE_NAME, 0), "model");
    assert_string_equal(text(nodes, GT_COL_PAGE_NAME, 1), "layer #");
    assert_string_equal(text(nodes, GT_COL_PAGE_KIND, 1), "annotation");
    assert_int_equal(calls->row_count, 2);
    assert_int_equal(cell(calls, GT_COL_PAGE_NODE, 0), 1);
    assert_true(is_null(calls, GT_COL_PAGE_NODE, 1));
    assert_string_equal(text(calls, GT_COL_PAGE_RUNTIME, 1), "hipLaunchKernel");
    free_tables(&p);
}

/* ---- time ---- */

/* The page begins with the first event of any device, also one before the schedule's own. */
static void test_zero(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    add_op(&t, "kernel", 5000 * US, 10 * US, 1, 0);
    add_op(&t, "other", 3000 * US, 10 * US, 1, 0);
    t.others = gt_alloc(sizeof *t.others);
    t.others[0] = t.ops[1];
    t.other_count = t.other_capacity = 1;
    t.op_count = 1;
    page_tables p = make(&t, 100, 100);
    const gt_table *gpu = table_of(&p, GT_SHEET_PAGE_GPU);
    assert_int_equal(fact(&p, "end"), 2010 * US);
    assert_int_equal(fact(&p, "window_start"), 2000 * US);
    assert_int_equal(sum(gpu, GT_COL_PAGE_START), 2000 * US);
    free_tables(&p);
}

/* A browser computes with doubles: a sum that they do not hold exactly would reach it as text. */
static void expect_doubles(const page_tables *p)
{
    const gt_sheet sheets[] = {GT_SHEET_PAGE_SUMS, GT_SHEET_PAGE_KERNELS};
    for (size_t i = 0; i < GT_LENGTH(sheets); i++) {
        const gt_table *table = table_of(p, sheets[i]);
        for (size_t row = 0; row < table->row_count; row++)
            assert_in_range(cell(table, GT_COL_PAGE_NS, row), 0, INT64_C(1) << 53);
    }
}

/* Durations whose sum does not fit: no overflow. */
static void test_absurd_times(void **state)
{
    (void)state;
    static const int64_t times[] = {INT64_MIN, INT64_MIN / 2, -1, 0, 1, INT64_MAX / 2, INT64_MAX};
    for (size_t a = 0; a < GT_LENGTH(times); a++)
        for (size_t b = 0; b < GT_LENGTH(times); b++) {
            gt_plain_trace t = new_trace(GT_BY_ROCPROF);
            for (uint64_t i = 0; i < 6; i++) {
                gt_plain_op *op = add_op(&t, "kernel", 0, 0, 1 + i % 2, 1 + i);
                op->start_ns = i % 2 ? times[a] : 500;
                op->end_ns = i % 3 ? times[b] : 600;
                gt_plain_call *call = add_call(&t, "hipLaunchKernel", 0, 0, 1 + i);
                call->start_ns = times[b];
                call->end_ns = times[a];
            }
            t.others = gt_alloc(3 * sizeof *t.others);
            memcpy(t.others, t.ops + 3, 3 * sizeof *t.others);
            t.other_count = t.other_capacity = t.op_count = 3;
            for (size_t limit = 0; limit < 8; limit += 7) {
                gt_plain_trace copy = t;
                if (!limit) { /* the second time with place for all */
                    copy.ops = gt_alloc(3 * sizeof *copy.ops);
                    memcpy(copy.ops, t.ops, 3 * sizeof *copy.ops);
                    copy.others = gt_alloc(3 * sizeof *copy.others);
                    memcpy(copy.others, t.others, 3 * sizeof *copy.others);
                    copy.calls = gt_alloc(6 * sizeof *copy.calls);
                    memcpy(copy.calls, t.calls, 6 * sizeof *copy.calls);
                    copy.strings = gt_interner_copy(t.strings);
                }
                page_tables p = make(&copy, limit, limit);
                assert_int_equal(sum(table_of(&p, GT_SHEET_PAGE_SUMS), GT_COL_PAGE_COUNT), 6);
                expect_doubles(&p);
                const gt_table *gpu = table_of(&p, GT_SHEET_PAGE_GPU);
                for (size_t i = 0; i < gpu->row_count; i++) {
                    assert_true(cell(gpu, GT_COL_PAGE_START, i) >= 0);
                    assert_true(cell(gpu, GT_COL_PAGE_NS, i) >= 0);
                }
                free_tables(&p);
            }
        }
}

/* A trace without any event has tables all the same. */
static void test_empty(void **state)
{
    (void)state;
    gt_plain_trace t = new_trace(GT_BY_ROCPROF);
    page_tables p = make(&t, 10, 10);
    assert_int_equal(fact(&p, "end"), 0);
    assert_int_equal(fact(&p, "gpu_events"), 0);
    assert_int_equal(table_of(&p, GT_SHEET_PAGE_LANES)->row_count, 0);
    free_tables(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),       cmocka_unit_test(test_bins),
        cmocka_unit_test(test_steps),      cmocka_unit_test(test_large_steps),
        cmocka_unit_test(test_all_fit),    cmocka_unit_test(test_sum_bins),
        cmocka_unit_test(test_host),       cmocka_unit_test(test_depth),
        cmocka_unit_test(test_many_calls), cmocka_unit_test(test_many_kernels),
        cmocka_unit_test(test_ranges),     cmocka_unit_test(test_many_sums),
        cmocka_unit_test(test_zero),       cmocka_unit_test(test_absurd_times),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
