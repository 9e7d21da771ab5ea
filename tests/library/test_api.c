/* The public C interface, on the small trace of the command-line tests. Expected values are computed by hand
 * from its six dispatches, which take 3, 5, 0.007, 1, 20 and 0.005 µs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gputally/gputally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACE GT_TESTS "/fixtures/rocprof/tiny_results.json"

static char error[GPUTALLY_ERROR_SIZE];

/* Options from names and values, ending with NULL. */
static gputally_options *options_of(const char *const *names_and_values)
{
    gputally_options *options = gputally_options_new();
    assert_non_null(options);
    for (; *names_and_values; names_and_values += 2)
        assert_true(
            gputally_options_set(options, names_and_values[0], names_and_values[1], error, sizeof error));
    return options;
}
#define OPTIONS(...) options_of((const char *const[]){__VA_ARGS__, NULL})

static void version_is_the_programs(void **state)
{
    (void)state;
    assert_string_equal(gputally_version(), "0.1.0");
}

static void null_arguments_are_errors(void **state)
{
    (void)state;
    gputally_options *options = gputally_options_new();
    assert_false(gputally_options_set(options, NULL, "1", error, sizeof error));
    assert_string_equal(error, "option name is NULL");
    assert_false(gputally_options_set(options, "topk_kernels", NULL, error, sizeof error));
    assert_string_equal(error, "topk_kernels: value is NULL");
    assert_false(gputally_options_set(options, "gpu_arch_platform", NULL, NULL, 0));
    assert_false(gputally_options_set(NULL, "topk_kernels", "1", error, sizeof error));
    gputally_options_on_warning(NULL, NULL, NULL);
    assert_null(gputally_report_make(NULL, options, error, sizeof error));
    assert_string_equal(error, "trace path is NULL");
    gputally_options_free(options);

    gputally_report *report = gputally_report_make(TRACE, NULL, error, sizeof error);
    assert_non_null(report);
    assert_false(gputally_report_write_csvs(report, NULL, error, sizeof error));
    assert_string_equal(error, "output path is NULL");
    assert_false(gputally_report_write_xlsx(report, NULL, error, sizeof error));
    assert_false(gputally_report_write_html(report, NULL, error, sizeof error));
    assert_false(gputally_report_write_sqlite(NULL, "x.db", error, sizeof error));
    assert_string_equal(error, "report is NULL");
    assert_null(gputally_report_find_sheet(report, NULL));
    assert_true(gputally_sheet_find_column(gputally_report_sheet(report, 0), NULL) == SIZE_MAX);
    assert_null(gputally_report_find_sheet(NULL, "gpu_timeline"));
    assert_int_equal(gputally_report_sheet_count(NULL), 0);
    assert_null(gputally_report_sheet(NULL, 0));
    assert_int_equal(gputally_sheet_row_count(gputally_report_find_sheet(report, "none")), 0);
    assert_int_equal(gputally_sheet_column_count(NULL), 0);
    assert_string_equal(gputally_sheet_name(NULL), "");
    gputally_report_free(report);
}

/* Every accessor takes every index, as a misspelt name gives SIZE_MAX; nothing is read past the sheet. */
static void check_absent_cell(const gputally_sheet *sheet, size_t column, size_t row)
{
    char cell[8] = "before";
    size_t len = 7;
    assert_true(gputally_sheet_is_null(sheet, column, row));
    assert_int_equal(gputally_sheet_int(sheet, column, row), 0);
    assert_true(isnan(gputally_sheet_float(sheet, column, row)));
    assert_string_equal(gputally_sheet_string(sheet, column, row, &len), "");
    assert_int_equal(len, 0);
    assert_int_equal(gputally_sheet_format(sheet, column, row, cell, sizeof cell), 0);
    assert_string_equal(cell, "");
    assert_int_equal(gputally_sheet_format(sheet, column, row, NULL, 8), 0);
}

static void indices_that_do_not_exist_read_as_null(void **state)
{
    (void)state;
    gputally_report *report = gputally_report_make(TRACE, NULL, error, sizeof error);
    assert_non_null(report);
    const gputally_sheet *sheets[] = {NULL, gputally_report_find_sheet(report, "kernel_sumary"),
                                      gputally_report_find_sheet(report, "kernel_summary"),
                                      gputally_report_find_sheet(report, "gpu_timeline")};
    assert_null(sheets[1]);
    assert_non_null(sheets[2]);
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++) {
        size_t rows = gputally_sheet_row_count(sheets[i]), columns = gputally_sheet_column_count(sheets[i]);
        const size_t past_columns[] = {columns, columns + 1, (size_t)INT64_MAX, SIZE_MAX / 2, SIZE_MAX};
        const size_t past_rows[] = {rows, rows + 1, (size_t)INT64_MAX, SIZE_MAX / 2, SIZE_MAX};
        for (size_t past = 0; past < 5; past++) {
            size_t column = past_columns[past];
            assert_string_equal(gputally_sheet_column_name(sheets[i], column), "");
            assert_int_equal(gputally_sheet_column_type(sheets[i], column), GPUTALLY_STRING);
            check_absent_cell(sheets[i], column, 0);
            check_absent_cell(sheets[i], column, past_rows[past]);
            for (size_t c = 0; c < columns; c++) check_absent_cell(sheets[i], c, past_rows[past]);
        }
    }
    assert_null(gputally_report_sheet(report, SIZE_MAX));
    assert_int_equal(gputally_report_kind(NULL), GPUTALLY_NONE);
    gputally_report_free(report);
    gputally_report_free(NULL);
}

static void collect(void *context, const char *text)
{
    strncat(context, text, 400);
    strcat(context, "\n");
}

/* The library warns about options of another kind of report, and only about those that were set. */
static void options_without_effect_are_warned_about(void **state)
{
    (void)state;
    char warnings[2048] = "";
    gputally_options *options =
        OPTIONS("enable_kernel_summary", "true", "kernel_details", "true", "threads", "1");
    gputally_options_on_warning(options, collect, warnings);
    gputally_report *report = gputally_report_make(TRACE, options, error, sizeof error);
    gputally_options_free(options);
    assert_non_null(report);
    gputally_report_free(report);
    assert_string_equal(warnings, "enable_kernel_summary has no effect on rocprofv3 traces\n");
}

static void gives_the_sheets_and_their_cells(void **state)
{
    (void)state;
    gputally_options *plain = OPTIONS("no_extra_sheets", "true", "no_findings", "true");
    gputally_report *report = gputally_report_make(TRACE, plain, error, sizeof error);
    gputally_options_free(plain);
    assert_non_null(report);
    assert_int_equal(gputally_report_kind(report), GPUTALLY_ROCPROF);
    assert_int_equal(gputally_report_sheet_count(report), 3);
    const gputally_sheet *first = gputally_report_sheet(report, 0);
    assert_string_equal(gputally_sheet_name(first), "gpu_timeline");
    assert_null(gputally_report_sheet(report, 3));
    assert_null(gputally_report_find_sheet(report, "kernel_details"));

    const gputally_sheet *kernels = gputally_report_find_sheet(report, "kernel_summary");
    assert_int_equal(gputally_sheet_row_count(kernels), 4);
    assert_int_equal(gputally_sheet_column_count(kernels), 11);
    assert_string_equal(gputally_sheet_column_name(kernels, 0), "name");
    assert_int_equal(gputally_sheet_column_type(kernels, 0), GPUTALLY_STRING);
    size_t len, count = gputally_sheet_find_column(kernels, "Count");
    assert_string_equal(gputally_sheet_string(kernels, 0, 1, &len), "fmt,2 \"q\"");
    assert_int_equal(len, 9);
    assert_int_equal(gputally_sheet_column_type(kernels, count), GPUTALLY_INT);
    assert_int_equal(gputally_sheet_int(kernels, count, 1), 2);
    assert_true(gputally_sheet_float(kernels, count, 1) == 2.0);
    size_t mean = gputally_sheet_find_column(kernels, "Mean Kernel Time (\xc2\xb5s)");
    assert_int_equal(gputally_sheet_column_type(kernels, mean), GPUTALLY_FLOAT);
    assert_true(fabs(gputally_sheet_float(kernels, mean, 1) - 2.5025) < 1e-12);
    size_t std = gputally_sheet_find_column(kernels, "Std Kernel Time (\xc2\xb5s)");
    assert_true(gputally_sheet_is_null(kernels, std, 0)); /* of one dispatch */
    assert_true(isnan(gputally_sheet_float(kernels, std, 0)));
    assert_false(gputally_sheet_is_null(kernels, std, 1));
    assert_int_equal(gputally_sheet_find_column(kernels, "nonesuch"), SIZE_MAX);
    gputally_report_free(report);
}

static void makes_the_requested_sheets(void **state)
{
    (void)state;
    gputally_options *options = OPTIONS(
        "no_extra_sheets", "true", "no_findings", "true", "disable_kernel_summary", "true", "kernel_details",
        "true", "topk_kernels", "2", "short_kernel_study", "true", "short_kernel_histogram_bins", "7");
    gputally_report *report = gputally_report_make(TRACE, options, error, sizeof error);
    gputally_options_free(options);
    assert_non_null(report);
    assert_int_equal(gputally_report_sheet_count(report), 4);
    assert_int_equal(gputally_sheet_row_count(gputally_report_find_sheet(report, "kernel_details")), 2);
    assert_int_equal(gputally_sheet_row_count(gputally_report_find_sheet(report, "short_kernel_histogram")),
                     7);
    gputally_report_free(report);
}

/* Writes the text to a trace file. */
static gputally_report *report_of(const char *text, const gputally_options *options)
{
    char path[] = "/tmp/gputally-api-XXXXXX";
    int file = mkstemp(path);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    gputally_report *report = gputally_report_make(path, options, error, sizeof error);
    unlink(path);
    return report;
}

/* An aten::mm of 4x8 and 8x2 bf16 matrices that launches one kernel of 3 µs; the GPU then waits 1 µs and
 * copies for 6. The product has 2 * 4 * 8 * 2 = 128 flops and moves (32 + 16 + 8) * 2 = 112 bytes. */
static const char pytorch_trace[] =
    "{\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":20,"
    "\"args\":"
    "{\"External id\":1,\"Input Dims\":[[4,8],[8,2]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"],"
    "\"Input Strides\":[[8,1],[2,1]],\"Concrete Inputs\":[\"\",\"\"]}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":12,"
    "\"dur\":2,"
    "\"args\":{\"External id\":1,\"correlation\":5}},"
    "{\"ph\":\"s\",\"id\":5,\"pid\":1,\"tid\":1,\"ts\":12,\"cat\":\"ac2g\",\"name\":\"ac2g\"},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"Cijk_mm\",\"pid\":0,\"tid\":7,\"ts\":100,\"dur\":3,"
    "\"args\":{\"External id\":1,\"correlation\":5,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"f\",\"id\":5,\"pid\":0,\"tid\":7,\"ts\":100,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipMemcpyAsync\",\"pid\":1,\"tid\":1,\"ts\":40,"
    "\"dur\":2,"
    "\"args\":{\"External id\":2,\"correlation\":6}},"
    "{\"ph\":\"s\",\"id\":6,\"pid\":1,\"tid\":1,\"ts\":40,\"cat\":\"ac2g\",\"name\":\"ac2g\"},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD\",\"pid\":0,\"tid\":7,\"ts\":104,\"dur\":6,"
    "\"args\":{\"External id\":2,\"correlation\":6,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"f\",\"id\":6,\"pid\":0,\"tid\":7,\"ts\":104,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"}]"
    "}";

static double time_ms(const gputally_sheet *timeline, const char *type)
{
    size_t types = gputally_sheet_find_column(timeline, "type");
    for (size_t row = 0; row < gputally_sheet_row_count(timeline); row++)
        if (strcmp(gputally_sheet_string(timeline, types, row, NULL), type) == 0)
            return gputally_sheet_float(timeline, gputally_sheet_find_column(timeline, "time ms"), row);
    return NAN;
}

static double float_at(const gputally_sheet *table, const char *column, size_t row)
{
    size_t index = gputally_sheet_find_column(table, column);
    assert_true(index != SIZE_MAX);
    return gputally_sheet_float(table, index, row);
}

static void reports_a_pytorch_trace(void **state)
{
    (void)state;
    gputally_options *options = OPTIONS("enable_kernel_summary", "true", "gpu_arch_platform", "MI300X");
    gputally_report *report = report_of(pytorch_trace, options);
    gputally_options_free(options);
    assert_non_null(report);
    assert_int_equal(gputally_report_kind(report), GPUTALLY_PYTORCH);
    const gputally_sheet *timeline = gputally_report_find_sheet(report, "gpu_timeline");
    assert_true(fabs(time_ms(timeline, "computation_time") - 0.003) < 1e-15);
    assert_true(fabs(time_ms(timeline, "idle_time") - 0.001) < 1e-15);
    assert_true(fabs(time_ms(timeline, "total_time") - 0.010) < 1e-15);

    const gputally_sheet *gemm = gputally_report_find_sheet(report, "GEMM");
    assert_int_equal(gputally_sheet_row_count(gemm), 1);
    assert_true(fabs(float_at(gemm, "GFLOPS_first", 0) - 128e-9) < 1e-20);
    assert_true(fabs(float_at(gemm, "Data Moved (MB)_first", 0) - 112.0 / 1048576) < 1e-15);
    /* 112 bytes at 5300 GB/s take longer than 128 flops at 708 TFLOP/s */
    assert_true(fabs(float_at(gemm, "Roofline Time (µs)_first", 0) - 112 / 5300e3) < 1e-12);
    assert_non_null(gputally_report_find_sheet(report, "kernel_summary"));
    size_t m = gputally_sheet_find_column(gemm, "param: M"),
           bias = gputally_sheet_find_column(gemm, "param: bias");
    assert_int_equal(gputally_sheet_column_type(gemm, m), GPUTALLY_INT);
    assert_int_equal(gputally_sheet_int(gemm, m, 0), 4); /* of 4x8 and 8x2 */
    assert_true(gputally_sheet_float(gemm, m, 0) == 4.0);
    assert_string_equal(gputally_sheet_string(gemm, m, 0, NULL), "4");
    assert_int_equal(gputally_sheet_column_type(gemm, bias), GPUTALLY_BOOL);
    assert_int_equal(gputally_sheet_int(gemm, bias, 0), 0);

    const gputally_sheet *ops = gputally_report_find_sheet(report, "ops_summary");
    size_t categories =
        gputally_sheet_find_column(ops, "Categories"); /* the copy comes first: it took longer */
    assert_int_equal(gputally_sheet_column_type(ops, categories), GPUTALLY_LIST);
    char cell[16];
    assert_int_equal(gputally_sheet_format(ops, categories, 1, cell, sizeof cell), 8);
    assert_string_equal(cell, "['GEMM']");
    assert_int_equal(gputally_sheet_format(ops, categories, 1, cell, 4), 8); /* cut */
    assert_string_equal(cell, "['G");
    assert_int_equal(gputally_sheet_format(ops, categories, 1, NULL, 0), 8);
    gputally_report_free(report);
}

static void invalid_pytorch_options_are_errors(void **state)
{
    (void)state;
    gputally_options *options = OPTIONS("gpu_arch_platform", "MI1");
    assert_null(report_of(pytorch_trace, options));
    assert_non_null(strstr(error, "unknown GPU 'MI1'"));
    assert_true(gputally_options_set(options, "gpu_arch_json_path", "/nonexistent/gpu.json", NULL, 0));
    assert_null(report_of(pytorch_trace, options));
    assert_non_null(strstr(error, "gpu_arch_platform"));
    assert_true(gputally_options_set(options, "gpu_arch_platform", "", NULL, 0));
    assert_null(report_of(pytorch_trace, options));
    assert_non_null(strstr(error, "/nonexistent/gpu.json"));
    gputally_options_free(options);
    assert_null(report_of("{\"traceEvents\":[]}", NULL));
    assert_non_null(strstr(error, "No GPU events found"));
    assert_non_null(strstr(error, "/tmp/gputally-api-"));
}

/* The profile of tests/fixtures/profile_jax.py: products of 4 pairs of 128x512 and 512x256 matrices, and of
 * one pair of 512x1024 and 1024x256. */
static void reports_a_jax_profile(void **state)
{
    (void)state;
    gputally_report *report =
        gputally_report_make(GT_TESTS "/fixtures/jax/products.xplane.pb.gz", NULL, error, sizeof error);
    assert_non_null(report);
    assert_int_equal(gputally_report_kind(report), GPUTALLY_JAX);
    assert_string_equal(gputally_sheet_name(gputally_report_sheet(report, 0)), "overview");
    const gputally_sheet *gemm = gputally_report_find_sheet(report, "op_gemm");
    assert_int_equal(gputally_sheet_row_count(gemm), 2);
    assert_true(fabs(float_at(gemm, "GFLOPS_first", 0) - 2e-9 * 4 * 128 * 512 * 256) < 1e-12);
    gputally_report_free(report);
}

/* Two launches of 1.5 and 0.5 µs. */
static void reports_metrics_of_nsight_compute(void **state)
{
    (void)state;
    gputally_report *report = report_of("\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n"
                                        "\"\",\"\",\"ns\"\n"
                                        "\"0\",\"a\",\"1,500\"\n"
                                        "\"1\",\"a\",\"500\"\n",
                                        NULL);
    if (!report) fail_msg("%s", error);
    assert_int_equal(gputally_report_kind(report), GPUTALLY_NCU);
    const gputally_sheet *kernels = gputally_report_find_sheet(report, "ncu_kernels");
    assert_int_equal(gputally_sheet_row_count(kernels), 1);
    assert_true(fabs(float_at(kernels, "total_us", 0) - 2.0) < 1e-12);
    assert_false(gputally_report_write_html(report, "/nonexistent/page.html", error, sizeof error));
    assert_string_equal(error, "there is no page on metrics of Nsight Compute");
    gputally_report_free(report);
}

static void options_are_checked(void **state)
{
    (void)state;
    static const char *const invalid[][2] = {{"topk_ops", "many"},
                                             {"topk_ops", "1x"},
                                             {"topk_ops", ""},
                                             {"strict", "yes"},
                                             {"threads", "0"},
                                             {"threads", "1025"},
                                             {"threads", "-1"},
                                             {"max_memory", "31M"},
                                             {"max_memory", "much"},
                                             {"decode_threshold", "99999999999999999999"},
                                             {"phase_detection_method", "x"}};
    gputally_options *options = gputally_options_new();
    assert_false(gputally_options_set(options, "topk_opz", "1", error, sizeof error));
    assert_string_equal(error, "topk_opz: no such option");
    assert_false(gputally_options_set(options, "output_db", "x.db", error, sizeof error));
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        char expected[128];
        snprintf(expected, sizeof expected, "%s: invalid value '%s'", invalid[i][0], invalid[i][1]);
        assert_false(gputally_options_set(options, invalid[i][0], invalid[i][1], error, sizeof error));
        assert_string_equal(error, expected);
    }
    /* As on the command line; a Python slice would keep all rows but the last five. */
    static const struct {
        const char *name, *below, *least;
    } numbers[] = {{"topk_ops", "-5", "0"},
                   {"topk_roofline_ops", "-1", "0"},
                   {"topk_short_kernels", "-1", "0"},
                   {"topk_kernels", "-1", "0"},
                   {"short_kernel_threshold_us", "-1", "0"},
                   {"short_kernel_histogram_bins", "0", "1"},
                   {"micro_idle_thresh_us", "-1", "0"},
                   {"extra_kernel_delay_us", "-1", "0"},
                   {"extra_max_queue_length", "0", "1"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char expected[128];
        snprintf(expected, sizeof expected, "%s: must be at least %s, got %s", numbers[i].name,
                 numbers[i].least, numbers[i].below);
        assert_false(gputally_options_set(options, numbers[i].name, numbers[i].below, error, sizeof error));
        assert_string_equal(error, expected);
        assert_true(gputally_options_set(options, numbers[i].name, numbers[i].least, error, sizeof error));
    }
    gputally_options_free(options);
    gputally_options_free(NULL);
}

static void says_what_went_wrong(void **state)
{
    (void)state;
    assert_null(gputally_report_make("/nonexistent/trace.json", NULL, error, sizeof error));
    assert_non_null(strstr(error, "/nonexistent/trace.json"));
    assert_null(gputally_report_make(GT_TESTS "/json/json_cases.txt", NULL, error, sizeof error));
    assert_non_null(strstr(error, "json_cases.txt"));
    char tiny[8];
    assert_null(gputally_report_make("/nonexistent/trace.json", NULL, tiny, sizeof tiny));
    assert_int_equal(strlen(tiny), 7);
    assert_null(gputally_report_make("/nonexistent/trace.json", NULL, NULL, 0));
}

/* A report on as many ops needs 60 MiB. */
static void a_limit_of_memory_is_kept(void **state)
{
    (void)state;
    enum { OPS = 700000 };
    char path[] = "/tmp/gputally-ops-XXXXXX.json";
    FILE *file = fdopen(mkstemps(path, 5), "w");
    assert_non_null(file);
    fputs("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":1,\"ts\":1,"
          "\"dur\":1}",
          file);
    for (int i = 1; i <= OPS; i++)
        fprintf(file,
                ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                "\"dur\":1}",
                2 * i);
    fputs("]}", file);
    assert_int_equal(fclose(file), 0);
    gputally_options *options = OPTIONS("max_memory", "32M");
    assert_null(gputally_report_make(path, options, error, sizeof error));
    assert_string_equal(error,
                        "max_memory: 32 MiB are too few; raise the limit, or use fewer threads (--threads), "
                        "an index (--index) or a part of the trace (gputally split)");
    gputally_options_free(options);
    options = OPTIONS("max_memory", "1G");
    gputally_report *report = gputally_report_make(path, options, error, sizeof error);
    assert_non_null(report);
    gputally_report_free(report);
    gputally_options_free(options);
    remove(path);
}

static void writes_every_document(void **state)
{
    (void)state;
    char folder[] = "/tmp/gputally-api-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    gputally_options *plain = OPTIONS("no_extra_sheets", "true", "no_findings", "true");
    gputally_report *report = gputally_report_make(TRACE, plain, error, sizeof error);
    gputally_options_free(plain);
    assert_non_null(report);
    struct stat status;

    assert_true(gputally_report_write_csvs(report, folder, error, sizeof error));
    const char *const sheets[] = {"gpu_timeline", "kernel_summary", "kernel_summary_by_category"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s.csv", folder, sheets[i]);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/r.xlsx", folder);
    assert_true(gputally_report_write_xlsx(report, path, error, sizeof error));
    assert_int_equal(stat(path, &status), 0);
    unlink(path);
    snprintf(path, sizeof path, "%s/r.db", folder);
    assert_true(gputally_report_write_sqlite(report, path, error, sizeof error));
    assert_int_equal(stat(path, &status), 0);
    unlink(path);

    snprintf(path, sizeof path, "%s/r.html", folder);
    assert_true(gputally_report_write_html(report, path, error, sizeof error));
    assert_int_equal(stat(path, &status), 0);
    unlink(path);

    assert_false(gputally_report_write_csvs(report, "/dev/null/folder", error, sizeof error));
    assert_non_null(strstr(error, "/dev/null"));
    gputally_report_free(report);
    assert_int_equal(rmdir(folder), 0); /* no other file is left */
}

/* The trace is a copy of the fixture, so that a failure cannot overwrite the fixture itself. */
static void never_overwrites_its_input(void **state)
{
    (void)state;
    char folder[] = "/tmp/gputally-api-XXXXXX", path[64], command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace.json", folder);
    snprintf(command, sizeof command, "cp '%s' '%s'", TRACE, path);
    assert_int_equal(system(command), 0);
    gputally_report *report = gputally_report_make(path, NULL, error, sizeof error);
    assert_non_null(report);
    assert_false(gputally_report_write_xlsx(report, path, error, sizeof error));
    assert_non_null(strstr(error, "output path is the input trace"));
    assert_false(gputally_report_write_sqlite(report, path, error, sizeof error));
    assert_false(gputally_report_write_html(report, path, error, sizeof error));
    gputally_report_free(report);
    report = gputally_report_make(path, NULL, error, sizeof error); /* the trace is still there */
    assert_non_null(report);
    gputally_report_free(report);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static char warned[1024];

static void keep_warning(void *context, const char *text)
{
    snprintf(warned, sizeof warned, "%s%s", (const char *)context, text);
}

static void warnings_go_to_the_handler(void **state)
{
    (void)state;
    char context[] = "told: ";
    gputally_options *options = gputally_options_new();
    gputally_options_on_warning(options, keep_warning, context);
    gputally_report *report = report_of("{\"rocprofiler-sdk-tool\":[{\"buffer_records\":{}}]}", options);
    gputally_options_free(options);
    assert_non_null(report);
    assert_string_equal(warned, "told: No kernel events found in rocprof data");
    gputally_report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_the_programs),
        cmocka_unit_test(null_arguments_are_errors),
        cmocka_unit_test(indices_that_do_not_exist_read_as_null),
        cmocka_unit_test(options_without_effect_are_warned_about),
        cmocka_unit_test(gives_the_sheets_and_their_cells),
        cmocka_unit_test(makes_the_requested_sheets),
        cmocka_unit_test(reports_a_pytorch_trace),
        cmocka_unit_test(invalid_pytorch_options_are_errors),
        cmocka_unit_test(reports_a_jax_profile),
        cmocka_unit_test(reports_metrics_of_nsight_compute),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(says_what_went_wrong),
        cmocka_unit_test(a_limit_of_memory_is_kept),
        cmocka_unit_test(writes_every_document),
        cmocka_unit_test(never_overwrites_its_input),
        cmocka_unit_test(warnings_go_to_the_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
