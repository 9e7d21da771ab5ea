/* The batch report of small ranks: its sheets, the columns of parameters, and ranks that cannot be read.
 * Expected cells are computed by hand. */
#include "base/memory.h"
#include "output_help.h"
#include "report/batch.h"

#include <math.h>

/* An op with one kernel, linked by flow events. */
#define OP(name, dims, types, concrete, ts, dur, link)                                                       \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts                  \
    ",\"dur\":50,\"args\":{"                                                                                 \
    "\"Input Dims\":" dims ",\"Input type\":" types ",\"Concrete Inputs\":" concrete "}},"                   \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":1,\"ts\":" ts              \
    ".5,\"dur\":2,\"args\":{"                                                                                \
    "\"correlation\":" link "}},"                                                                            \
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":" link ",\"pid\":1,\"tid\":1,\"ts\":" ts "},"   \
    "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":" link ",\"pid\":0,\"tid\":7,\"ts\":" ts "},"   \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":" ts ".9,\"dur\":" dur       \
    ",\"args\":{"                                                                                            \
    "\"correlation\":" link ",\"stream\":7}}"
#define TRACE(events) "{\"traceEvents\":[" events "]}"
#define MM(ts, dur, link)                                                                                    \
    OP("aten::mm", "[[4,6],[6,8]]", "[\"float\",\"float\"]", "[\"\",\"\"]", ts, dur, link)
#define ADDMM(ts, dur, link)                                                                                 \
    OP("aten::addmm", "[[8],[4,6],[6,8]]", "[\"float\",\"float\",\"float\"]", "[\"\",\"\",\"\"]", ts, dur,   \
       link)

static const int64_t numbers[] = {0, 12};

static char *put_trace(const char *name, const char *text)
{
    char *path = gt_strdup(in_scratch(name));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    return path;
}

static bool read_ranks(gt_batch_ranks *ranks, const char *first, const char *second, bool all_kernels,
                       gt_error *error)
{
    char *paths[] = {put_trace("rank_0.json", first), put_trace("rank_12.json", second)};
    gt_read_options options = {.threads = 2, .strict = true};
    bool made =
        gt_batch_ranks_read(ranks, &(gt_batch_request){paths, numbers, 2, all_kernels, &options}, error);
    for (size_t i = 0; i < 2; i++) free(paths[i]);
    return made;
}

static void expect_sheets(const gt_table_list *tables, const char *const *names, size_t count)
{
    assert_int_equal(tables->count, count);
    for (size_t i = 0; i < count; i++) assert_string_equal(tables->items[i]->name, names[i]);
}

static double number(const gt_table *table, const char *column, size_t row)
{
    const gt_column *cells = gt_table_column(table, gt_col_named(column));
    return cells->type == GT_TYPE_INT ? (double)cells->ints[row] : cells->floats[row];
}

static void ranks_are_one_report(void **state)
{
    (void)state;
    gt_batch_ranks ranks;
    gt_error error = {{0}};
    gt_table_list tables = {0};
    if (!read_ranks(&ranks, TRACE(MM("100", "30", "1")),
                    TRACE(ADDMM("100", "5", "1") "," MM("300", "9.5", "2")), true, &error))
        fail_msg("%s", error.text);
    assert_int_equal(ranks.events, 15);
    gt_batch_tables(&ranks, NULL, &tables);
    gt_batch_collective_tables(&ranks, &tables);
    static const char *const names[] = {"kernels_0",
                                        "kernels_12",
                                        "gemm",
                                        "kernel_launchers",
                                        "gpu_timelines",
                                        "linked_and_short_kernels",
                                        "unlinked_short_kernels_summary",
                                        "short_cpu_op_counts",
                                        "cuda_events_summary",
                                        "grouped_breakdown"};
    expect_sheets(&tables, names, GT_LENGTH(names));

    const gt_table *gemm = gt_table_list_find(&tables, GT_SHEET("gemm"));
    assert_int_equal(gemm->row_count, 2);
    assert_true(number(gemm, "Kernel Time (µs)_sum", 0) == 39.5);
    assert_true(number(gemm, "name_count", 0) == 2);
    assert_true(number(gemm, "UID_first", 0) == 0);
    assert_true(number(gemm, "GFLOPS_first", 0) == 2.0 * 4 * 6 * 8 / 1e9);
    assert_true(number(gemm, "GFLOPS_first", 1) == (2.0 * 4 * 6 * 8 + 4 * 8) / 1e9);
    assert_true(number(gemm, "kernel_time_sum_cum_pct", 0) == 39.5 / 44.5);
    assert_int_equal(gt_table_column(gemm, GT_COL("param: M"))->type, GT_TYPE_INT);
    assert_int_equal(gt_table_column(gemm, GT_COL("param: bias"))->type, GT_TYPE_BOOL);
    assert_false(gt_table_column(gemm, GT_COL("param: bias"))->bools[0]);
    assert_true(gt_table_column(gemm, GT_COL("param: bias"))->bools[1]);
    assert_int_equal(gt_table_column(gemm, GT_COL("param: dtype_A_B"))->type, GT_TYPE_STRING);
    assert_true(gt_table_find(gemm, GT_COL("dims as JSON")) == SIZE_MAX);
    const gt_table *arguments = ranks.arguments[GT_BATCH_GEMM];
    assert_int_equal(arguments->row_count, 2);
    assert_string_equal(gt_interner_get(arguments->strings, arguments->columns[GT_BATCH_DIMS].texts[1]).bytes,
                        "[[8],[4,6],[6,8]]");

    const gt_table *timelines = gt_table_list_find(&tables, GT_SHEET("gpu_timelines"));
    assert_true(fabs(number(timelines, "time_ms_0", 0) - 0.03) < 1e-12);
    assert_true(fabs(number(timelines, "time_ms_12", 0) - 0.0145) < 1e-12);
    assert_true(fabs(number(timelines, "time_ms_std", 0) - 0.00775) < 1e-12);
    const gt_table *calls = gt_table_list_find(&tables, GT_SHEET("cuda_events_summary"));
    assert_true(number(calls, "count_0", 0) == 1 && number(calls, "count_12", 0) == 2);
    gt_table_list_free(&tables);
    gt_batch_ranks_free(&ranks);
}

static void an_unreadable_rank_leaves_no_files(void **state)
{
    (void)state;
    gt_batch_ranks ranks;
    gt_error error = {{0}};
    assert_false(read_ranks(&ranks, TRACE(MM("100", "30", "1")), "{\"traceEvents\":[", false, &error));
    assert_non_null(strstr(error.text, "rank_12.json"));
    assert_false(read_ranks(&ranks, "[", "[", true, &error));
    assert_non_null(strstr(error.text, "rank_"));
}

static void empty_ranks_have_the_mandatory_sheets(void **state)
{
    (void)state;
    gt_batch_ranks ranks;
    gt_error error = {{0}};
    gt_table_list tables = {0};
    assert_true(read_ranks(&ranks, TRACE(""), TRACE(""), false, &error));
    gt_batch_tables(&ranks, NULL, &tables);
    gt_batch_collective_tables(&ranks, &tables);
    static const char *const names[] = {"kernel_launchers", "gpu_timelines", "linked_and_short_kernels",
                                        "grouped_breakdown"};
    expect_sheets(&tables, names, GT_LENGTH(names));
    assert_true(isnan(number(gt_table_list_find(&tables, GT_SHEET("gpu_timelines")), "time_ms_avg", 0)));
    assert_true(number(gt_table_list_find(&tables, GT_SHEET("grouped_breakdown")), "Time (s)", 13) == 0);
    gt_table_list_free(&tables);
    gt_batch_ranks_free(&ranks);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ranks_are_one_report),
        TEST(an_unreadable_rank_leaves_no_files),
        TEST(empty_ranks_have_the_mandatory_sheets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
