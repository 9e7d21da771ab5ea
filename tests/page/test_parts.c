/* Tables of the page about parts of the time: idle time, steps, copies, evidence, rates. Small schedules with
 * rows computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include "../findings/small_schedule.h"
#include "page/work_parts.h"
#include "schema/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a small work ---- */

/* Kernels are the names of ops, and so are rows of page_sums: row i has kernel i and call 100 + i. */
typedef struct small_work {
    small_schedule *small;
    gt_findings findings;
    gt_idle idle;
    gt_finding_list list;
    gt_finding items[4];
    gt_page_work work;
    gt_table_list tables;
} small_work;

static small_work *work_new(void)
{
    small_work *w = gt_alloc_zero(1, sizeof *w);
    w->small = small_new();
    w->list.items = w->items;
    w->findings =
        (gt_findings){.schedule = &w->small->schedule, .idle = &w->idle, .list = &w->list, .per = "step"};
    w->findings.gpu.name = "";
    w->work.findings = &w->findings;
    w->work.schedule = &w->small->schedule;
    return w;
}

static void work_free(small_work *w)
{
    for (size_t i = 0; i < GT_LENGTH(w->items); i++) gt_edit_free(&w->items[i].edit);
    gt_table_list_free(&w->tables);
    gt_free(w->idle.pieces);
    gt_free(w->work.kernels);
    gt_free(w->work.sums);
    gt_free(w->work.op_kernel);
    gt_free(w->work.op_sum);
    gt_free(w->work.op_category);
    gt_free(w->small->schedule.used_steps);
    small_free(w->small);
    gt_free(w);
}

static uint32_t text(small_work *w, const char *name)
{
    return gt_interner_add_cstr(w->small->schedule.strings, name);
}

static uint32_t add_op(small_work *w, uint32_t stream, const char *name, int64_t start_us, int64_t end_us)
{
    uint32_t op = small_op(w->small, stream, GT_NONE, start_us, end_us);
    w->small->ops[op].name = text(w, name);
    w->small->ops[op].communicates = strncmp(name, "nccl", 4) == 0;
    if (strncmp(name, "Mem", 3) == 0)
        w->small->ops[op].kind = name[3] == 'c' ? GT_KIND_MEMCPY : GT_KIND_MEMSET;
    return op;
}

static void add_idle(small_work *w, uint32_t gap, gt_cause cause, uint32_t event, int64_t start_us,
                     int64_t end_us)
{
    gt_idle_piece piece = {start_us * 1000, end_us * 1000, gap, event, (uint8_t)cause};
    GT_PUSH(w->idle.pieces, w->idle.piece_count, w->idle.piece_capacity, piece);
}

static void find_kernels(small_work *w)
{
    const gt_schedule *schedule = &w->small->schedule;
    gt_categories *categories = gt_categories_new(schedule->strings);
    size_t kernel_capacity = 0, sum_capacity = 0;
    w->work.op_count = schedule->op_count;
    w->work.op_kernel = gt_alloc(schedule->op_count * sizeof(uint32_t));
    w->work.op_sum = gt_alloc(schedule->op_count * sizeof(uint32_t));
    w->work.op_category = gt_alloc(schedule->op_count);
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        uint32_t kernel = 0;
        while (kernel < w->work.kernel_count && w->work.kernels[kernel].name != op->name) kernel++;
        if (kernel == w->work.kernel_count) {
            gt_page_kernel added = {.name = op->name, .kind = op->kind, .communicates = op->communicates};
            gt_page_sum sum = {.call = 100 + kernel, .kernel = kernel};
            GT_PUSH(w->work.kernels, w->work.kernel_count, kernel_capacity, added);
            GT_PUSH(w->work.sums, w->work.sum_count, sum_capacity, sum);
        }
        w->work.op_kernel[i] = w->work.op_sum[i] = kernel;
        gt_gpu_work work = {
            .name = op->name, .copies = op->kind != GT_KIND_KERNEL, .communicates = op->communicates};
        w->work.op_category[i] = (uint8_t)gt_categories_find(categories, &work);
    }
    gt_categories_free(categories);
}

/* ---- comparing ---- */

/* A table as text: cells of a row separated by blanks, "-" for null, rows by semicolons. */
static void expect_table(const small_work *w, gt_sheet sheet, const char *expected)
{
    const gt_table *table = gt_table_list_find(&w->tables, sheet);
    char found[4096] = "";
    size_t len = 0;
    for (size_t row = 0; table && row < table->row_count; row++)
        for (size_t c = 0; c < table->column_count; c++) {
            gt_cell cell = gt_table_cell(table, c, row);
            char shown[256] = "-";
            if (!cell.is_null && cell.type == GT_TYPE_STRING)
                snprintf(shown, sizeof shown, "%s", cell.text.bytes);
            else if (!cell.is_null && cell.type == GT_TYPE_FLOAT)
                snprintf(shown, sizeof shown, "%g", cell.number);
            else if (!cell.is_null)
                snprintf(shown, sizeof shown, "%lld", (long long)cell.integer);
            assert_true(len + strlen(shown) + 3 < sizeof found);
            len += (size_t)snprintf(found + len, sizeof found - len, "%s%s", shown,
                                    c + 1 < table->column_count ? " " : "; ");
        }
    assert_string_equal(found, expected);
}

/* ---- the largest of many ---- */

static int descending(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

static void the_largest_of_random_numbers(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 500; round++) {
        int64_t values[64], sorted[64], sum = 0, expected = 0;
        size_t count = (size_t)round % 65, keep = (size_t)(round / 7) % 40, kept = 0;
        for (size_t i = 0; i < count; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            values[i] = sorted[i] = (int64_t)(random >> 33) % (1 + round % 30);
        }
        if (count) qsort(sorted, count, sizeof *sorted, descending);
        for (size_t i = 0; i < count && i < keep; i++) expected += sorted[i];
        gt_page_largest largest = gt_page_largest_find(values, count, keep);
        for (size_t i = 0; i < count && keep; i++)
            if (gt_page_largest_keeps(&largest, values[i])) sum += values[i], kept++;
        assert_int_equal(kept, count < keep ? count : keep);
        assert_int_equal(sum, expected);
    }
}

/* ---- idle time ---- */

static void pieces_of_a_gap_are_joined(void **state)
{
    (void)state;
    small_work *w = work_new();
    uint32_t item = small_event(w->small, 0, GT_KIND_CPU_OP, "aten::item", 0, 50),
             mm = small_event(w->small, 0, GT_KIND_CPU_OP, "aten::mm", 60, 90);
    w->work.zero_ns = 5000;
    add_idle(w, 0, GT_CAUSE_SYNC, item, 10, 12);
    add_idle(w, 0, GT_CAUSE_SYNC, mm, 12, 20); /* longer: its site counts */
    add_idle(w, 0, GT_CAUSE_SYNC, item, 20, 21);
    add_idle(w, 0, GT_CAUSE_PYTHON, GT_NONE, 21, 22);
    add_idle(w, 0, GT_CAUSE_SYNC, item, 22, 23); /* not a neighbour of the same cause */
    add_idle(w, 1, GT_CAUSE_SYNC, item, 23, 30); /* another gap */
    add_idle(w, 1, GT_CAUSE_SYNC, item, 40, 41); /* does not touch */
    assert_int_equal(gt_page_add_idle(&w->work, &w->tables), 0);
    expect_table(w, GT_SHEET_PAGE_IDLE,
                 "5000 11000 sync aten::mm; 16000 1000 python -; 17000 1000 sync aten::item; "
                 "18000 7000 sync aten::item; 35000 1000 sync aten::item; ");
    work_free(w);
}

/* 60,000 gaps of 1 to 60,000 us: the 10,000 shortest have no place. */
static void the_shortest_gaps_are_left_out(void **state)
{
    (void)state;
    small_work *w = work_new();
    int64_t at = 0;
    for (uint32_t i = 0; i < 60000; i++) {
        int64_t us = 1 + (int64_t)i * 7919 % 60000; /* each length once */
        add_idle(w, i, GT_CAUSE_LAUNCH, GT_NONE, at, at + us);
        at += us + 1;
    }
    assert_int_equal(gt_page_add_idle(&w->work, &w->tables), INT64_C(10000) * 10001 / 2 * 1000);
    const gt_table *table = gt_table_list_find(&w->tables, GT_SHEET_PAGE_IDLE);
    assert_int_equal(table->row_count, 50000);
    for (size_t i = 0; i < 50000; i++) assert_true(table->columns[1].ints[i] > 10000 * 1000);
    for (size_t i = 1; i < 50000; i++) assert_true(table->columns[0].ints[i] > table->columns[0].ints[i - 1]);
    work_free(w);
}

static void without_idle_time_there_is_no_table(void **state)
{
    (void)state;
    small_work *w = work_new();
    assert_int_equal(gt_page_add_idle(&w->work, &w->tables), 0);
    assert_int_equal(gt_page_add_steps(&w->work, &w->tables), 0);
    gt_page_add_copies(&w->work, &w->tables);
    gt_page_add_evidence(&w->work, &w->tables);
    gt_page_add_peaks(&w->work, &w->tables);
    assert_int_equal(w->tables.count, 0);
    work_free(w);
}

/* ---- steps ---- */

static void add_profiler_step(small_work *w, const char *name, uint32_t first_op)
{
    gt_schedule *s = &w->small->schedule;
    if (!s->used_steps) s->used_steps = gt_alloc(8 * sizeof *s->used_steps);
    w->small->steps[s->step_count] = (gt_step_times){0, 0, first_op, text(w, name)};
    s->used_steps[s->used_step_count++] = (uint32_t)s->step_count++;
}

/*     us         0         10        20        30        40        50        60
 *     main       AAAAAAAAAABBBBB               AAAAAAAAAA          |AAAAA
 *     comm              NNNNNNNNNNNNN
 *     copies                         CCCCCCCCCCCC                        CC
 *     steps      |         1                   |       2           |   3
 *     idle                             (24)                 40..50      55..57 is not in the window */
static void steps_and_their_parts(void **state)
{
    (void)state;
    small_work *w = work_new();
    uint32_t a = add_op(w, 0, "my_gemm", 0, 10);
    add_op(w, 1, "ncclAllReduce", 7, 20);
    add_op(w, 0, "vectorized_elementwise_kernel", 10, 15);
    add_op(w, 2, "Memcpy HtoD (Pinned -> Device)", 24, 36); /* 30 to 36 belongs to the next step, hidden */
    uint32_t b = add_op(w, 0, "my_gemm", 30, 40);
    add_op(w, 1, "ncclAllReduce", 35, 42);
    uint32_t c = add_op(w, 0, "my_gemm", 50, 55);
    add_op(w, 2, "Memcpy HtoD (Pinned -> Device)", 57, 59);
    add_profiler_step(w, "ProfilerStep#1", a);
    add_profiler_step(w, "ProfilerStep#2", b);
    add_profiler_step(w, "ProfilerStep#3", c);
    for (size_t i = 6; i < 8; i++) w->small->ops[i].step = 2;
    small_window(w->small, a, c, 2);
    add_idle(w, 0, GT_CAUSE_LAUNCH, GT_NONE, 20, 22);
    add_idle(w, 0, GT_CAUSE_DATA, GT_NONE, 22, 24);
    add_idle(w, 1, GT_CAUSE_SYNC, GT_NONE, 42, 50);
    w->work.zero_ns = 0;
    find_kernels(w);
    assert_int_equal(gt_page_add_steps(&w->work, &w->tables), 0);
    expect_table(
        w, GT_SHEET_PAGE_STEPS,
        "ProfilerStep#1 0 30000 - 1; ProfilerStep#2 30000 20000 - 1; ProfilerStep#3 50000 9000 - 0; ");
    expect_table(w, GT_SHEET_PAGE_STEP_PARTS,
                 "0 GEMM computation 10000; 0 elementwise computation 5000; "
                 "0 communication exposed_communication 5000; 0 copy exposed_copy 6000; 0 launch idle 2000; "
                 "0 data idle 2000; "
                 "1 GEMM computation 10000; 1 communication exposed_communication 2000; 1 sync idle 8000; "
                 "2 GEMM computation 5000; 2 copy exposed_copy 2000; 2 outside idle 2000; ");
    work_free(w);
}

/* Work that no step ends: a kernel over three steps is divided. */
static void an_op_over_several_steps(void **state)
{
    (void)state;
    small_work *w = work_new();
    uint32_t a = add_op(w, 0, "my_gemm", 0, 1);
    add_op(w, 1, "my_conv2d", 0, 100);
    uint32_t b = add_op(w, 0, "my_gemm", 30, 31), c = add_op(w, 0, "my_gemm", 60, 61);
    add_profiler_step(w, "1", a);
    add_profiler_step(w, "2", b);
    add_profiler_step(w, "3", c);
    small_window(w->small, a, c, 2);
    for (size_t i = 0; i < 4; i++) w->small->ops[i].step = i == 3 ? 2 : 0;
    find_kernels(w);
    gt_page_add_steps(&w->work, &w->tables);
    expect_table(w, GT_SHEET_PAGE_STEPS, "1 0 30000 - 1; 2 30000 30000 - 1; 3 60000 1000 - 0; ");
    /* Of two kernels the one that started first goes first, and of these the one that ended first. */
    expect_table(w, GT_SHEET_PAGE_STEP_PARTS,
                 "0 GEMM computation 1000; 0 convolution computation 29000; 1 convolution computation 30000; "
                 "2 convolution computation 1000; ");
    work_free(w);
}

static void a_trace_without_steps_is_one(void **state)
{
    (void)state;
    small_work *w = work_new();
    uint32_t a = add_op(w, 0, "my_gemm", 10, 20);
    add_op(w, 0, "my_softmax", 25, 30);
    small_window(w->small, a, GT_NONE, 1);
    add_idle(w, 0, GT_CAUSE_UNKNOWN, GT_NONE, 20, 25);
    w->work.zero_ns = 2000;
    find_kernels(w);
    gt_page_add_steps(&w->work, &w->tables);
    expect_table(w, GT_SHEET_PAGE_STEPS, "- 8000 20000 - 1; ");
    expect_table(w, GT_SHEET_PAGE_STEP_PARTS,
                 "0 GEMM computation 10000; 0 reduction computation 5000; 0 unknown idle 5000; ");
    work_free(w);
}

static uint32_t add_launched(small_work *w, uint32_t stream, const char *name, uint32_t point,
                             int64_t start_us, int64_t end_us)
{
    uint32_t op = add_op(w, stream, name, start_us, end_us);
    w->small->ops[op].point = point;
    return op;
}

/* vLLM: the annotation around a launch says which step its op belongs to. A short name does not count beside
 * detailed ones, nor does an annotation inside of another. */
static void steps_of_a_server(void **state)
{
    (void)state;
    static const char *const prefill = "execute_512_context_1(sq512sk512sqsq262144sqsk262144)_generation_0("
                                       "sq0sk0sqsq0sqsk0)";
    static const char *const decode =
        "execute_1_context_0(sq0sk0sqsq0sqsk0)_generation_1(sq1sk513sqsq1sqsk513)";
    static const char *const mixed =
        "execute_9_context_1(sq8sk8sqsq64sqsk64)_generation_1(sq1sk514sqsq1sqsk514)";
    small_work *w = work_new();
    uint32_t points[5];
    small_event(w->small, 0, GT_KIND_ANNOTATION, "step[EXTEND bs=1 toks=512]", 0, 1);
    small_event(w->small, 0, GT_KIND_ANNOTATION, prefill, 2, 10);
    small_event(w->small, 0, GT_KIND_ANNOTATION, decode, 3, 4); /* inside */
    points[0] = small_point(w->small, 0, GT_API_LAUNCH, 5, 6);
    points[1] = small_point(w->small, 0, GT_API_LAUNCH, 12, 13); /* in no step */
    small_event(w->small, 0, GT_KIND_ANNOTATION, decode, 20, 30);
    points[2] = small_point(w->small, 0, GT_API_LAUNCH, 21, 22);
    points[3] = small_point(w->small, 0, GT_API_LAUNCH, 23, 24);
    small_event(w->small, 0, GT_KIND_ANNOTATION, mixed, 31, 40);
    points[4] = small_point(w->small, 0, GT_API_LAUNCH, 32, 33);
    add_launched(w, 0, "my_gemm", points[0], 10, 20);
    add_launched(w, 0, "my_gemm", points[1], 20, 25);
    add_launched(w, 1, "Memcpy HtoD (Pinned -> Device)", points[2], 25, 26); /* not the main stream */
    add_launched(w, 0, "my_gemm", points[3], 26, 40);
    add_launched(w, 0, "my_gemm", points[4], 40, 44);
    small_build(w->small);
    small_window(w->small, 0, GT_NONE, 1);
    find_kernels(w);
    gt_page_add_steps(&w->work, &w->tables);
    char expected[1024];
    snprintf(expected, sizeof expected,
             "%s 10000 16000 prefill 1; %s 26000 14000 decode 1; %s 40000 4000 mixed 1; ", prefill, decode,
             mixed);
    expect_table(w, GT_SHEET_PAGE_STEPS, expected);
    expect_table(w, GT_SHEET_PAGE_STEP_PARTS,
                 "0 GEMM computation 15000; 0 copy exposed_copy 1000; 1 GEMM computation 14000; "
                 "2 GEMM computation 4000; ");
    work_free(w);
}

/* A name that says less does not count after one that says more. A step that has no work on the main stream
 * makes the first op of any stream count. */
static void steps_of_a_server_on_two_streams(void **state)
{
    (void)state;
    static const char *const decode =
        "execute_1_context_0(sq0sk0sqsq0sqsk0)_generation_1(sq1sk513sqsq1sqsk513)";
    small_work *w = work_new();
    uint32_t points[4];
    small_event(w->small, 0, GT_KIND_ANNOTATION, decode, 0, 10);
    points[0] = small_point(w->small, 0, GT_API_LAUNCH, 1, 2);
    points[1] = small_point(w->small, 0, GT_API_LAUNCH, 3, 4);
    small_event(w->small, 0, GT_KIND_ANNOTATION, "step[DECODE bs=1]", 11, 20);
    points[2] = small_point(w->small, 0, GT_API_LAUNCH, 12, 13);
    small_event(w->small, 0, GT_KIND_ANNOTATION, decode, 21, 30);
    points[3] = small_point(w->small, 0, GT_API_LAUNCH, 22, 23);
    add_launched(w, 1, "my_conv2d", points[0], 10, 12);
    add_launched(w, 0, "my_gemm", points[1], 20, 30);
    add_launched(w, 0, "my_gemm", points[2], 30, 40);
    add_launched(w, 1, "my_conv2d", points[3], 40, 43);
    small_build(w->small);
    small_window(w->small, 0, GT_NONE, 1);
    add_idle(w, 0, GT_CAUSE_LAUNCH, GT_NONE, 12, 20);
    find_kernels(w);
    gt_page_add_steps(&w->work, &w->tables);
    char expected[1024];
    snprintf(expected, sizeof expected, "%s 10000 30000 decode 1; %s 40000 3000 decode 1; ", decode, decode);
    expect_table(w, GT_SHEET_PAGE_STEPS, expected);
    expect_table(w, GT_SHEET_PAGE_STEP_PARTS,
                 "0 GEMM computation 20000; 0 convolution computation 2000; 0 launch idle 8000; "
                 "1 convolution computation 3000; ");
    work_free(w);
}

/* ---- copies ---- */

static void copies_by_kind_and_size(void **state)
{
    (void)state;
    small_work *w = work_new();
    small_copy(w->small, 0, GT_NONE, "Memcpy HtoD (Pageable -> Device)", 4096, 0, 10);
    small_copy(w->small, 0, GT_NONE, "Memcpy HtoD (Pageable -> Device)", 4096, 10, 21);
    small_copy(w->small, 0, GT_NONE, "Memcpy HtoD (Pageable -> Device)", 64, 30, 31);
    small_copy(w->small, 0, GT_NONE, "Memcpy DtoH (Device -> Pinned)", 8, 40, 42);
    small_copy(w->small, 0, GT_NONE, "Memcpy DtoD (Device -> Device)", 0, 50, 55); /* size unknown */
    add_op(w, 0, "Memset (Device)", 60, 63);
    add_op(w, 0, "__amd_rocclr_copyBuffer", 70, 74);
    add_op(w, 0, "my_gemm", 80, 90);
    w->small->ops[5].bytes = 1024;
    w->small->ops[6].bytes = INT64_MAX;         /* no size either */
    w->small->schedule.window.start_ns = 15000; /* in the second copy */
    w->small->schedule.window.end_ns = 41000;   /* in the fourth */
    find_kernels(w);
    gt_page_add_copies(&w->work, &w->tables);
    expect_table(
        w, GT_SHEET_PAGE_COPIES,
        "HtoD pageable 4096 2 21000 1 6000; DtoD device - 1 5000 0 0; unknown unknown - 1 4000 0 0; "
        "memset device 1024 1 3000 0 0; DtoH pinned 8 1 2000 1 1000; HtoD pageable 64 1 1000 1 1000; ");
    work_free(w);
}

/* ---- evidence ---- */

static void set_findings(small_work *w, size_t count)
{
    w->list.count = w->list.shown = count;
    for (size_t i = 0; i < count; i++) w->items[i].rank = i + 1;
}

static void gpu_work_of_findings(void **state)
{
    (void)state;
    small_work *w = work_new();
    add_op(w, 0, "a", 0, 10);
    add_op(w, 0, "b", 10, 13);
    add_op(w, 0, "a", 20, 27);
    find_kernels(w);
    set_findings(w, 2);
    for (uint32_t op = 0; op < 3; op++) gt_edit_op_add(&w->items[0].edit, op, 0);
    gt_edit_op_add(&w->items[0].edit, 1, 5); /* again: it counts once */
    gt_edit_op_start_soon(&w->items[1].edit, 2);
    gt_page_add_evidence(&w->work, &w->tables);
    expect_table(w, GT_SHEET_PAGE_EVIDENCE, "1 100 0 - 17000 2; 1 101 1 - 3000 1; 2 100 0 - 7000 1; ");
    work_free(w);
}

static void add_piece(small_work *w, uint32_t point, gt_cause label, int64_t start_us, int64_t end_us)
{
    gt_schedule *s = &w->small->schedule;
    gt_piece piece = {start_us * 1000, end_us * 1000, GT_NONE, (uint8_t)label};
    if (!w->small->points[point].piece_count++)
        w->small->points[point].first_piece = (uint32_t)s->piece_count;
    GT_PUSH(s->pieces, s->piece_count, s->piece_capacity, piece);
    w->small->points[point].before_ns += piece.end_ns - piece.start_ns;
}

/*     us      0    5    10   15   20   25   30   35   40
 *     points                 |0--|               |1-|2-|
 *     pieces  DDDDDDDPPPPDDDD     PPPPDDDDDPPPPPP          D data, P python */
static void host_time_of_findings(void **state)
{
    (void)state;
    small_work *w = work_new();
    uint32_t sync = small_point(w->small, 0, GT_API_SYNC, 15, 19),
             next = small_point(w->small, 0, GT_API_LAUNCH, 35, 38),
             last = small_point(w->small, 0, GT_API_LAUNCH, 38, 41);
    add_piece(w, sync, GT_CAUSE_DATA, 0, 7);
    add_piece(w, sync, GT_CAUSE_PYTHON, 7, 11);
    add_piece(w, sync, GT_CAUSE_DATA, 11, 15);
    add_piece(w, next, GT_CAUSE_PYTHON, 20, 24);
    add_piece(w, next, GT_CAUSE_DATA, 24, 29);
    add_piece(w, next, GT_CAUSE_PYTHON, 29, 35);
    set_findings(w, 4);
    gt_edit_remove_label(&w->items[0].edit, &w->small->schedule, GT_CAUSE_DATA);
    /* Out of order, and two calls that touch. */
    gt_edit_point_add(&w->items[1].edit, last, GT_EDIT_NO_CALL, 0);
    gt_edit_point_add(&w->items[1].edit, sync, GT_EDIT_NO_WAIT, 0);
    gt_edit_point_add(&w->items[1].edit, next, GT_EDIT_NO_CALL, 0);
    /* All Python and all data of the same point, and 3 us of no label in particular. */
    gt_edit_point_add(&w->items[2].edit, sync, 0, 3000);
    gt_edit_point_add(&w->items[2].edit, sync, 0, 4000);
    gt_edit_remove_label(&w->items[2].edit, &w->small->schedule, GT_CAUSE_DATA);
    /* More than there is, and nothing. */
    gt_edit_point_add(&w->items[3].edit, next, 0, 1e30);
    gt_edit_point_add(&w->items[3].edit, sync, 0, NAN);
    w->work.zero_ns = 0;
    gt_page_add_evidence(&w->work, &w->tables);
    expect_table(w, GT_SHEET_PAGE_EVIDENCE,
                 "1 - - 0 7000 -; 1 - - 11000 4000 -; 1 - - 24000 5000 -; "
                 "2 - - 15000 4000 -; 2 - - 35000 6000 -; "
                 "3 - - 0 15000 -; 3 - - 24000 5000 -; "
                 "4 - - 20000 15000 -; ");
    work_free(w);
}

static void only_the_longest_stretches_are_kept(void **state)
{
    (void)state;
    small_work *w = work_new();
    set_findings(w, 1);
    for (int64_t i = 0; i < 250; i++) {
        uint32_t point = small_point(w->small, 0, GT_API_SYNC, 1000 * i, 1000 * i + 1 + i % 5);
        gt_edit_point_add(&w->items[0].edit, point, GT_EDIT_NO_WAIT, 0);
    }
    gt_page_add_evidence(&w->work, &w->tables);
    const gt_table *table = gt_table_list_find(&w->tables, GT_SHEET_PAGE_EVIDENCE);
    assert_int_equal(table->row_count, 200); /* all but the 50 of 1 us */
    for (size_t i = 0; i < 200; i++) assert_true(table->columns[4].ints[i] >= 2000);
    work_free(w);
}

/* ---- rates ---- */

static void rates_of_the_gpu(void **state)
{
    (void)state;
    static const gt_peak peaks[] = {
        {"matrix_bf16", 800, NULL}, {"vector_fp32", 60.5, NULL}, {"matrix_fp8", NAN, NULL}};
    gt_gpu_arch arch = {.name = "mine", .mem_bw_gbps = 3350, .peaks = peaks, .peaks_count = GT_LENGTH(peaks)};
    small_work *w = work_new();
    w->findings.arch = &arch;
    w->findings.gpu.name = "NVIDIA H100 80GB HBM3"; /* the user's choice goes first */
    gt_page_add_peaks(&w->work, &w->tables);
    expect_table(w, GT_SHEET_PAGE_PEAKS, "matrix_bf16 800; vector_fp32 60.5; memory 3.35; ");
    work_free(w);

    w = work_new();
    w->findings.gpu.name = "NVIDIA A100-PG509-200";
    gt_page_add_peaks(&w->work, &w->tables);
    const gt_table *table = gt_table_list_find(&w->tables, GT_SHEET_PAGE_PEAKS);
    bool found = false; /* NVIDIA's data sheet: 312 TFLOP/s in bfloat16 */
    for (size_t i = 0; i < table->row_count; i++)
        found |= gt_str_equals(gt_table_cell(table, 0, i).text, "matrix_bf16") &&
                 table->columns[1].floats[i] == 312;
    assert_true(found);
    work_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_of_random_numbers),
        cmocka_unit_test(pieces_of_a_gap_are_joined),
        cmocka_unit_test(the_shortest_gaps_are_left_out),
        cmocka_unit_test(without_idle_time_there_is_no_table),
        cmocka_unit_test(steps_and_their_parts),
        cmocka_unit_test(an_op_over_several_steps),
        cmocka_unit_test(a_trace_without_steps_is_one),
        cmocka_unit_test(steps_of_a_server),
        cmocka_unit_test(steps_of_a_server_on_two_streams),
        cmocka_unit_test(copies_by_kind_and_size),
        cmocka_unit_test(gpu_work_of_findings),
        cmocka_unit_test(host_time_of_findings),
        cmocka_unit_test(only_the_longest_stretches_are_kept),
        cmocka_unit_test(rates_of_the_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
