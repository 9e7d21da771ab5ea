/* The rocprofv3 report of ten thousand dispatches: its sheets are compared with simple loops over them. */
#include "rocprof_run.h"

enum { MANY = 10000, NAMES = 37, WINDOW_NS = 3000000, BINS = 23, THRESHOLD_US = 6 };

static uint64_t random_state = 99;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % limit);
}

static dispatch many[MANY];

static gt_rocprof *many_run(void)
{
    static const char *const kinds[] = {"Cijk_", "elementwise_", "nccl_", "conv_", "x_"};
    gt_rocprof *run = gt_rocprof_new();
    run->fini_ns = WINDOW_NS + 500;
    for (int id = 0; id < NAMES; id++) {
        char name[32];
        snprintf(name, sizeof name, "%s%d", kinds[id % 5], id);
        name_kernel(run, id, name);
    }
    for (int i = 0; i < MANY; i++) {
        int64_t start = i * 280 + random_below(2000);
        many[i] = (dispatch){.kernel_id = random_below(NAMES),
                             .start = start,
                             .id = i,
                             .grid = {1 + random_below(9), 1, 1},
                             .stream = random_below(4),
                             .agent = 1};
        many[i].end = start + 10 * random_below(many[i].kernel_id % 3 ? 60 : 1000);
    }
    add_dispatches(run, many, MANY);
    for (int i = 0; i < 40; i++) add_copy(run, i * 70000, i * 70000 + 5000);
    return run;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double float_at(const gt_table *table, const char *column, size_t row)
{
    assert_int_equal(gt_table_column(table, gt_col_named(column))->type, GT_TYPE_FLOAT);
    return gt_table_column(table, gt_col_named(column))->floats[row];
}

/* The row of that kernel id agrees with one pass over all dispatches. */
static void assert_summary_row(const gt_table *summary, size_t row, int64_t kernel_id, double all_ns)
{
    static double times[MANY];
    size_t count = 0;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < MANY; i++)
        if (many[i].kernel_id == kernel_id) times[count++] = (double)(many[i].end - many[i].start);
    for (size_t i = 0; i < count; i++) sum += times[i];
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) squares += (times[i] - mean) * (times[i] - mean);
    qsort(times, count, sizeof *times, by_value);
    double median = count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;

    assert_int_equal(gt_table_column(summary, GT_COL("Count"))->ints[row], count);
    assert_close(float_at(summary, "Mean Kernel Time (µs)", row), mean / 1000);
    assert_close(float_at(summary, "Median Kernel Time (µs)", row), median / 1000);
    assert_close(float_at(summary, "Std Kernel Time (µs)", row), sqrt(squares / (double)(count - 1)) / 1000);
    assert_close(float_at(summary, "Min Kernel Time (µs)", row), times[0] / 1000);
    assert_close(float_at(summary, "Max Kernel Time (µs)", row), times[count - 1] / 1000);
    assert_close(float_at(summary, "Total Kernel Time (ms)", row), sum / 1e6);
    assert_close(float_at(summary, "Percentage (%)", row), sum * 100 / all_ns);
}

static void assert_descends_and_adds_up(const gt_table *table, const char *time)
{
    double cumulative = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        if (row) assert_true(float_at(table, time, row) <= float_at(table, time, row - 1));
        cumulative += float_at(table, "Percentage (%)", row);
        assert_close(float_at(table, "Cumulative Percentage (%)", row), cumulative);
    }
    assert_close(cumulative, 100);
}

static void assert_timeline(const gt_table *timeline)
{
    static bool kernel[2 * WINDOW_NS], copy[2 * WINDOW_NS];
    double kernel_ns = 0, copy_ns = 0, busy_ns = 0;
    for (size_t i = 0; i < MANY; i++)
        for (int64_t ns = many[i].start; ns < many[i].end; ns++) kernel[ns] = true;
    for (int i = 0; i < 40; i++)
        for (int ns = 0; ns < 5000; ns++) copy[i * 70000 + ns] = true;
    for (size_t ns = 0; ns < 2 * WINDOW_NS; ns++) {
        kernel_ns += kernel[ns];
        copy_ns += copy[ns];
        busy_ns += kernel[ns] || copy[ns];
    }
    double total_ns = WINDOW_NS + 500,
           expected[] = {total_ns, kernel_ns, copy_ns, busy_ns, total_ns - busy_ns};
    for (size_t row = 0; row < 5; row++) {
        double time_ms = float_at(timeline, "time ms", row), percent = float_at(timeline, "percent", row);
        assert_true(fabs(time_ms - expected[row] / 1e6) < 1e-9);
        assert_true(fabs(percent - expected[row] * 100 / total_ns) < 1e-6);
    }
}

static void assert_details(const gt_table *details)
{
    static bool seen[MANY];
    assert_int_equal(details->row_count, MANY);
    const int64_t *ids = gt_table_column(details, GT_COL("dispatch_id"))->ints;
    for (size_t row = 0; row < MANY; row++) {
        const dispatch *d = &many[ids[row]];
        assert_false(seen[ids[row]]);
        seen[ids[row]] = true;
        assert_close(float_at(details, "Kernel duration (µs)", row), (double)(d->end - d->start) / 1000);
        assert_int_equal(gt_table_column(details, GT_COL("grid_x"))->ints[row], d->grid[0]);
        assert_int_equal(gt_table_column(details, GT_COL("stream"))->ints[row], d->stream);
        if (!row) continue;
        const dispatch *before = &many[ids[row - 1]];
        int64_t shorter_by = (before->end - before->start) - (d->end - d->start);
        assert_true(shorter_by > 0 || (shorter_by == 0 && ids[row - 1] < ids[row]));
    }
}

static void assert_histogram(const gt_table *histogram)
{
    assert_int_equal(histogram->row_count, BINS);
    int64_t in_all = 0, short_count = 0;
    for (size_t i = 0; i < MANY; i++) short_count += many[i].end - many[i].start < THRESHOLD_US * 1000;
    for (size_t row = 0; row < BINS; row++) {
        double low = float_at(histogram, "bin_start", row), high = float_at(histogram, "bin_end", row);
        int64_t count = 0;
        for (size_t i = 0; i < MANY; i++) {
            double us = (double)(many[i].end - many[i].start) / 1000.0;
            count += us < THRESHOLD_US && us >= low && (us < high || (row == BINS - 1 && us == high));
        }
        if (row) assert_true(low == float_at(histogram, "bin_end", row - 1));
        assert_int_equal(gt_table_column(histogram, GT_COL("count"))->ints[row], count);
        in_all += count;
    }
    assert_int_equal(in_all, short_count);
}

static void ten_thousand_dispatches_agree_with_simple_loops(void **state)
{
    (void)state;
    gt_rocprof *run = many_run();
    gt_rocprof_options options = all_sheets();
    options.short_bins = BINS;
    options.short_threshold_us = THRESHOLD_US;
    gt_table_list tables = sheets_of(run, options);

    double all_ns = 0;
    for (size_t i = 0; i < MANY; i++) all_ns += (double)(many[i].end - many[i].start);
    const gt_table *summary = gt_table_list_find(&tables, GT_SHEET("kernel_summary"));
    assert_int_equal(summary->row_count, NAMES);
    for (size_t row = 0; row < NAMES; row++) {
        const char *name =
            gt_interner_get(run->strings, gt_table_column(summary, GT_COL("name"))->texts[row]).bytes;
        assert_summary_row(summary, row, atoi(strchr(name, '_') + 1), all_ns);
    }
    assert_descends_and_adds_up(summary, "Total Kernel Time (ms)");
    const gt_table *categories = gt_table_list_find(&tables, GT_SHEET("kernel_summary_by_category"));
    assert_int_equal(categories->row_count, 5);
    assert_descends_and_adds_up(categories, "total_direct_kernel_time_ms");
    assert_timeline(gt_table_list_find(&tables, GT_SHEET("gpu_timeline")));
    assert_details(gt_table_list_find(&tables, GT_SHEET("kernel_details")));
    assert_histogram(gt_table_list_find(&tables, GT_SHEET("short_kernel_histogram")));
    free_all(&tables, run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_dispatches_agree_with_simple_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
