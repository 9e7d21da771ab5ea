/* The public C interface, on the small trace of the command-line tests. Expected values are worked out by
 * hand from its six dispatches, which take 3, 5, 0.007, 1, 20 and 0.005 µs. */
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

#define TRACE GT_TEST_DATA "/../cli/tiny_results.json"

static char error[1024];

static void version_is_the_programs(void **state)
{
    (void)state;
    assert_string_equal(gputally_version(), "0.1.0");
}

static void gives_the_sheets_and_their_cells(void **state)
{
    (void)state;
    gputally_report *report = gputally_report_make(TRACE, NULL, error, sizeof error);
    assert_non_null(report);
    assert_int_equal(gputally_report_table_count(report), 3);
    const gputally_table *first = gputally_report_table(report, 0);
    assert_string_equal(gputally_table_name(first), "gpu_timeline");
    assert_null(gputally_report_table(report, 3));
    assert_null(gputally_report_find(report, "kernel_details"));

    const gputally_table *kernels = gputally_report_find(report, "kernel_summary");
    assert_int_equal(gputally_table_row_count(kernels), 4);
    assert_int_equal(gputally_table_column_count(kernels), 11);
    assert_string_equal(gputally_table_column_name(kernels, 0), "name");
    assert_int_equal(gputally_table_column_type(kernels, 0), GPUTALLY_TEXT);
    size_t len, count = gputally_table_find_column(kernels, "Count");
    assert_string_equal(gputally_table_text(kernels, 0, 1, &len), "fmt,2 \"q\"");
    assert_int_equal(len, 9);
    assert_int_equal(gputally_table_column_type(kernels, count), GPUTALLY_INT);
    assert_int_equal(gputally_table_int(kernels, count, 1), 2);
    assert_true(gputally_table_float(kernels, count, 1) == 2.0);
    size_t mean = gputally_table_find_column(kernels, "Mean Kernel Time (\xc2\xb5s)");
    assert_int_equal(gputally_table_column_type(kernels, mean), GPUTALLY_FLOAT);
    assert_true(fabs(gputally_table_float(kernels, mean, 1) - 2.5025) < 1e-12);
    size_t std = gputally_table_find_column(kernels, "Std Kernel Time (\xc2\xb5s)");
    assert_true(gputally_table_is_null(kernels, std, 0)); /* of one dispatch */
    assert_true(isnan(gputally_table_float(kernels, std, 0)));
    assert_false(gputally_table_is_null(kernels, std, 1));
    assert_int_equal(gputally_table_find_column(kernels, "nonesuch"), SIZE_MAX);
    gputally_report_free(report);
}

static void makes_the_sheets_asked_for(void **state)
{
    (void)state;
    gputally_options options = gputally_options_default();
    options.kernel_summary = false;
    options.kernel_details = true;
    options.topk_kernels = 2;
    options.short_kernel_study = true;
    options.short_kernel_histogram_bins = 7;
    gputally_report *report = gputally_report_make(TRACE, &options, error, sizeof error);
    assert_non_null(report);
    assert_int_equal(gputally_report_table_count(report), 4);
    assert_int_equal(gputally_table_row_count(gputally_report_find(report, "kernel_details")), 2);
    assert_int_equal(gputally_table_row_count(gputally_report_find(report, "short_kernel_histogram")), 7);
    gputally_report_free(report);
}

static void says_what_went_wrong(void **state)
{
    (void)state;
    assert_null(gputally_report_make("/nonexistent/trace.json", NULL, error, sizeof error));
    assert_non_null(strstr(error, "/nonexistent/trace.json"));
    assert_null(gputally_report_make(GT_TEST_DATA "/json_cases.txt", NULL, error, sizeof error));
    assert_non_null(strstr(error, "json_cases.txt"));
    char tiny[8];
    assert_null(gputally_report_make("/nonexistent/trace.json", NULL, tiny, sizeof tiny));
    assert_int_equal(strlen(tiny), 7);
    assert_null(gputally_report_make("/nonexistent/trace.json", NULL, NULL, 0));
}

static void writes_every_document(void **state)
{
    (void)state;
    char folder[] = "/tmp/gputally-api-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    gputally_report *report = gputally_report_make(TRACE, NULL, error, sizeof error);
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

    assert_false(gputally_report_write_csvs(report, "/dev/null/folder", error, sizeof error));
    assert_non_null(strstr(error, "/dev/null"));
    gputally_report_free(report);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left */
}

static char warned[1024];

static void keep_warning(const char *text)
{
    snprintf(warned, sizeof warned, "%s", text);
}

static void hands_warnings_to_the_handler(void **state)
{
    (void)state;
    char path[] = "/tmp/gputally-api-XXXXXX";
    int file = mkstemp(path);
    const char empty[] = "{\"rocprofiler-sdk-tool\":[{\"buffer_records\":{}}]}";
    assert_int_equal(write(file, empty, sizeof empty - 1), sizeof empty - 1);
    close(file);
    gputally_on_warning(keep_warning);
    gputally_report *report = gputally_report_make(path, NULL, error, sizeof error);
    gputally_on_warning(NULL);
    unlink(path);
    assert_non_null(report);
    assert_non_null(strstr(warned, "No kernel events found in rocprof data"));
    gputally_report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_the_programs),    cmocka_unit_test(gives_the_sheets_and_their_cells),
        cmocka_unit_test(makes_the_sheets_asked_for), cmocka_unit_test(says_what_went_wrong),
        cmocka_unit_test(writes_every_document),      cmocka_unit_test(hands_warnings_to_the_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
