/* Parts of the pftrace reports compared with simple implementations: overlap, exact statistics, classes,
 * Markdown. */
#include "analysis/pftrace/events.h"
#include "output/output.h"
#include "trace/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- overlap ---- */

static int64_t end_of(gt_pftrace_event e)
{
    return e.begin_ns + e.dur_ns;
}

static int64_t plain_overlap(const gt_pftrace_list *compute, const gt_pftrace_list *comm)
{
    int64_t sum = 0;
    for (size_t c = 0; c < comm->count; c++) {
        int64_t begin = comm->items[c].begin_ns, end = end_of(comm->items[c]);
        for (size_t k = 0; k < compute->count && compute->items[k].begin_ns < end; k++) {
            int64_t from = compute->items[k].begin_ns, to = end_of(compute->items[k]);
            if (to <= begin) continue;
            sum += (to < end ? to : end) - (from > begin ? from : begin);
            if (to > end) break;
        }
    }
    return sum;
}

static void overlap_of_the_specification(void **state)
{
    (void)state;
    gt_pftrace_event compute[] = {{0, 100, 0, 0}, {50, 100, 0, 1}}, comm[] = {{60, 80, 0, 2}};
    gt_pftrace_list a = {compute, 2, 2}, b = {comm, 1, 1};
    assert_int_equal(gt_pftrace_overlap(&a, &b), 120); /* C9 */
}

static int by_begin(const void *left, const void *right)
{
    const gt_pftrace_event *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static void fill(gt_pftrace_event *items, size_t count, int64_t span, int64_t longest)
{
    for (size_t i = 0; i < count; i++)
        items[i] =
            (gt_pftrace_event){rand() % span, 1 + rand() % (rand() % 5 ? 20 : longest), 0, (uint32_t)i};
    qsort(items, count, sizeof *items, by_begin);
}

static void overlap_agrees_with_a_simple_loop(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 300; round++) {
        gt_pftrace_event compute[400], comm[60];
        gt_pftrace_list a = {compute, (size_t)(rand() % 400), 400}, b = {comm, (size_t)(rand() % 60), 60};
        fill(compute, a.count, 2000, 1 + rand() % 900);
        fill(comm, b.count, 2000, 1 + rand() % 900);
        assert_int_equal(gt_pftrace_overlap(&a, &b), plain_overlap(&a, &b));
    }
}

/* ---- statistics ---- */

static void statistics_are_exact(void **state)
{
    (void)state;
    int64_t two[] = {10000, 5000}, big[] = {INT64_C(1) << 60, (INT64_C(1) << 60) + 2, (INT64_C(1) << 60) + 4};
    gt_exact_statistics s = gt_exact_measure(two, 2);
    assert_true(s.mean == 7500 && s.median == 7500 && s.min == 5000 && s.max == 10000 && s.std == 2500);
    s = gt_exact_measure(big, 3);
    assert_true(s.std == sqrt(8.0 / 3)); /* beyond the exact integers of a double */
    assert_true(s.median == 0x1p60);     /* to the nearest double */
    s = gt_exact_measure(big, 0);
    assert_true(s.mean == 0 && s.median == 0 && s.std == 0 && s.min == 0 && s.max == 0);
    s = gt_exact_measure(big, 1);
    assert_true(s.std == 0);
    int64_t three[] = {1, 2, 4};
    s = gt_exact_measure(three, 3);
    assert_true(s.mean == 7.0 / 3);
    assert_true(s.std == 0x1.3f44e77b6e0b9p+0 || fabs(s.std - 1.247219128924647) < 1e-15);
}

static void the_first_matching_class_wins(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        gt_pftrace_class class;
    } cases[] = {
        {"ncclDevKernel_gemm", GT_PFTRACE_RCCL},
        {"CIJK_Ailk", GT_PFTRACE_GEMM},
        {"nvjet_copy", GT_PFTRACE_GEMM},
        {"aiter::kernel_func", GT_PFTRACE_CK_BACKWARD},
        {"flash_fprop_x", GT_PFTRACE_CK_FORWARD},
        {"MemsetD32", GT_PFTRACE_MEMCPY},
        {"transformer_engine::f", GT_PFTRACE_TE},
        {"aiter::fmha_fwd_d128", GT_PFTRACE_AITER_FORWARD},
        {"aiter::FMHA_BWD", GT_PFTRACE_AITER_BACKWARD},
        {"__amd_rocclr_fillBufferAligned", GT_PFTRACE_FILL_BUFFER},
        {"fusion_1", GT_PFTRACE_XLA},
        {"", GT_PFTRACE_XLA},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(gt_pftrace_class_of((gt_str){cases[i].name, strlen(cases[i].name)}), cases[i].class);
}

static void agents_have_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int64_t number, strict;
    } cases[] = {{"\"Agent-2\"", 2, -1}, {"7", 7, 7},  {"\"12\"", 12, 12},
                 {"\"GPU\"", -1, -1},    {"", -1, -1}, {"\"\"", -1, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_str json = {cases[i].json, strlen(cases[i].json)};
        assert_int_equal(gt_chrome_agent_number(json, false), cases[i].number);
        assert_int_equal(gt_chrome_agent_number(json, true), cases[i].strict);
    }
}

/* ---- Markdown ---- */

/* The output of tabulate(..., tablefmt="pipe") for these values. */
static void markdown_agrees_with_tabulate(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_table *table = gt_table_new(GT_SHEET("t"), strings);
    gt_table_add_column(table, GT_COL("Name"), GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL("n"), GT_TYPE_INT);
    gt_table_add_column(table, GT_COL("x"), GT_TYPE_FLOAT);
    static const struct {
        const char *name;
        int64_t n;
        double x;
    } rows[] = {{"  a  ", 1, 2.0},
                {"μ|b", 23456, 0.125},
                {"long name", -3, 1234567.0},
                {"c", 0, 1e-7},
                {"d", 0, NAN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t row = gt_table_add_row(table);
        gt_table_set_cstr(table, 0, row, rows[i].name);
        gt_table_set_int(table, 1, row, rows[i].n);
        gt_table_set_float(table, 2, row, rows[i].x);
    }
    gt_buffer out = {0};
    gt_markdown_add(&out, table, SIZE_MAX);
    assert_string_equal(gt_buffer_str(&out).bytes, "| Name      |     n |             x |\n"
                                                   "|:----------|------:|--------------:|\n"
                                                   "| a         |     1 |   2           |\n"
                                                   "| μ|b       | 23456 |   0.125       |\n"
                                                   "| long name |    -3 |   1.23457e+06 |\n"
                                                   "| c         |     0 |   1e-07       |\n"
                                                   "| d         |     0 | nan           |");
    out.len = 0;
    gt_markdown_add(&out, table, 1);
    assert_string_equal(gt_buffer_str(&out).bytes,
                        "| Name   |   n |   x |\n|:-------|----:|----:|\n| a      |   1 |   2 |");
    gt_buffer_free(&out);
    gt_table_free(table);
    gt_interner_free(strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlap_of_the_specification), cmocka_unit_test(overlap_agrees_with_a_simple_loop),
        cmocka_unit_test(statistics_are_exact),         cmocka_unit_test(the_first_matching_class_wins),
        cmocka_unit_test(agents_have_numbers),          cmocka_unit_test(markdown_agrees_with_tabulate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
