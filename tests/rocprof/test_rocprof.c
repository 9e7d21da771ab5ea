/* The rocprofv3 report of small runs: its sheets are compared with values computed by hand. */
#include "rocprof_run.h"

/* ---- comparing sheets ---- */

/* `expected` is a cell as CSV prints it: "2" is an INT, "2.0" a FLOAT, "" no value. */
static void assert_cell(const gt_table *table, size_t column, size_t row, const char *expected)
{
    const gt_column *cells = &table->columns[column];
    if (cells->type != GT_TYPE_STRING && !*expected) {
        assert_true(gt_column_is_null(cells, row));
        return;
    }
    assert_false(gt_column_is_null(cells, row));
    if (cells->type == GT_TYPE_STRING) {
        assert_string_equal(gt_interner_get(table->strings, cells->texts[row]).bytes, expected);
    } else if (strpbrk(expected, ".e")) {
        assert_int_equal(cells->type, GT_TYPE_FLOAT);
        assert_close(cells->floats[row], strtod(expected, NULL));
    } else {
        assert_int_equal(cells->type, GT_TYPE_INT);
        assert_int_equal(cells->ints[row], strtoll(expected, NULL, 10));
    }
}

/* The line's cells, split at '|', into parts; the line is changed. */
static size_t split(char *line, char **parts, size_t parts_max)
{
    size_t count = 0;
    for (char *next = line; next; count++) {
        assert_true(count < parts_max);
        parts[count] = strsep(&next, "|");
    }
    return count;
}

/* `expected`: the header, then the rows, one per line; a table without columns is "". */
static void assert_sheet(const gt_table_list *tables, const char *name, const char *expected)
{
    const gt_table *table = gt_table_list_find(tables, gt_sheet_named(name));
    assert_non_null(table);
    char *text = gt_strdup(expected), *rest = text, *line, *parts[16];
    size_t lines = 0;
    while ((line = strsep(&rest, "\n")) && *line) {
        size_t count = split(line, parts, 16);
        assert_int_equal(count, table->column_count);
        for (size_t column = 0; column < count; column++) {
            if (lines == 0)
                assert_string_equal(table->columns[column].name, parts[column]);
            else
                assert_cell(table, column, lines - 1, parts[column]);
        }
        lines++;
    }
    free(text);
    assert_int_equal(table->row_count, lines ? lines - 1 : 0);
    if (!lines) assert_int_equal(table->column_count, 0);
}

#define SUMMARY_HEADER                                                                                        \
    "name|Count|Mean Kernel Time (µs)|Median Kernel Time (µs)|Std Kernel Time (µs)|Min Kernel Time (µs)|" \
    "Max Kernel Time (µs)|Percentage (%)|Cumulative Percentage (%)|Total Kernel Time (ms)|Category\n"
#define CATEGORY_HEADER                                                                                      \
    "op category|Count|total_direct_kernel_time_ms|Percentage (%)|Cumulative Percentage (%)\n"
#define DETAILS_HEADER                                                                                       \
    "name|Kernel duration "                                                                                  \
    "(µs)|stream|dispatch_id|grid_x|grid_y|grid_z|block_x|block_y|block_z|agent_id|thread_id\n"
#define SHORT_HEADER                                                                                         \
    "name|Short Kernel count|Short Kernel duration (µs) sum|Short Kernel duration (µs) mean|"              \
    "Short Kernel duration (µs) percent of total time\n"

/* ---- small runs ---- */

static gt_rocprof *tiny_run(void)
{
    static const dispatch dispatches[] = {
        {1, 2000, 5000, 0, 1, {256, 1, 1}, {64, 1, 1}, 5, 77},
        {2, 4000, 9000, 3, 2, {256, 1, 1}, {64, 1, 1}, 5, 77},
        {9, 20000, 20007, 0, 3, {256, 1, 1}, {64, 1, 1}, 5, 77},
        {1, 30000, 31000, 0, 4, {8, 8, 2}, {64, 1, 1}, 5, 77},
        {3, 40000, 60000, 0, 5, {256, 1, 1}, {64, 1, 1}, 5, 77},
        {2, 9000, 9005, 0, 6, {256, 1, 1}, {64, 1, 1}, 5, 77},
    };
    gt_rocprof *run = gt_rocprof_new();
    run->init_ns = 1000;
    run->fini_ns = 101000;
    name_kernel(run, 1, "Cijk_A.kd");
    name_kernel(run, 2, "fmt,2 \"q\"");
    name_kernel(run, 3, "ncclDevKernel");
    add_dispatches(run, dispatches, sizeof dispatches / sizeof *dispatches);
    add_copy(run, 8000, 12000);
    return run;
}

/* Kernels run in [2,9.005], [20,20.007], [30,31], [40,60] µs: 7.005 + 0.007 + 1 + 20 = 28.012; with the copy
 * in [8,12] the first becomes [2,12]: 31.007. The window is 101 - 1 = 100 µs. */
static void timeline_of_a_tiny_run(void **state)
{
    (void)state;
    gt_rocprof *run = tiny_run();
    gt_table_list tables = sheets_of(run, all_sheets());
    assert_sheet(&tables, "gpu_timeline",
                 "type|time ms|percent\n"
                 "total_time|0.1|100.0\n"
                 "kernel|0.028012000000000002|28.011999999999997\n"
                 "memory|0.004|4.0\n"
                 "busy_time|0.031007|31.007\n"
                 "idle|0.068993|68.993\n");
    free_all(&tables, run);
}

/* Durations in ns: Cijk_A.kd 3000, 1000; fmt 5000, 5; unknown_kernel_9 7; ncclDevKernel 20000; in all 29012.
 * Percentages: 20000, 5005, 4000 and 7 of 29012. Standard deviation of two: their difference over the root of
 * 2, 4.995 / 1.4142... = 3.5319983... and 2 / 1.4142... = 1.4142... */
static void kernel_summary_of_a_tiny_run(void **state)
{
    (void)state;
    gt_rocprof *run = tiny_run();
    gt_table_list tables = sheets_of(run, all_sheets());
    assert_sheet(
        &tables, "kernel_summary",
        SUMMARY_HEADER
        "ncclDevKernel|1|20.0|20.0||20.0|20.0|68.93699158968703|68.93699158968703|0.02|COMM\n"
        "fmt,2 \"q\"|2|2.5025|2.5025|3.531998372026805|0.005|5.0|17.251482145319176|86.18847373500621|"
        "0.005005|Other\n"
        "Cijk_A.kd|2|2.0|2.0|1.4142135623730951|1.0|3.0|13.787398317937406|99.97587205294361|0.004|GEMM\n"
        "unknown_kernel_9|1|0.007|0.007||0.007|0.007|0.02412794705639046|100.0|7e-06|Other\n");
    /* Other: 5005 + 7 = 5012 ns, 17.251482145319176 + 0.02412794705639046 per cent */
    assert_sheet(&tables, "kernel_summary_by_category",
                 CATEGORY_HEADER "COMM|1|0.02|68.93699158968703|68.93699158968703\n"
                                 "Other|3|0.005012|17.275610092375567|86.2126016820626\n"
                                 "GEMM|2|0.004|13.787398317937406|100.0\n");
    free_all(&tables, run);
}

static void kernel_details_of_a_tiny_run(void **state)
{
    (void)state;
    gt_rocprof *run = tiny_run();
    gt_rocprof_options options = all_sheets();
    options.limit_details = true;
    options.topk_kernels = 5;
    gt_table_list tables = sheets_of(run, options);
    assert_sheet(&tables, "kernel_details",
                 DETAILS_HEADER "ncclDevKernel|20.0|0|5|256|1|1|64|1|1|5|77\n"
                                "fmt,2 \"q\"|5.0|3|2|256|1|1|64|1|1|5|77\n"
                                "Cijk_A.kd|3.0|0|1|256|1|1|64|1|1|5|77\n"
                                "Cijk_A.kd|1.0|0|4|8|8|2|64|1|1|5|77\n"
                                "unknown_kernel_9|0.007|0|3|256|1|1|64|1|1|5|77\n");
    free_all(&tables, run);
}

/* Below 10 µs: all but ncclDevKernel. Durations 0.005, 0.007, 1, 3, 5; bins of (5 - 0.005) / 4 = 1.24875. */
static void short_kernels_of_a_tiny_run(void **state)
{
    (void)state;
    gt_rocprof *run = tiny_run();
    gt_rocprof_options options = all_sheets();
    options.short_bins = 4;
    gt_table_list tables = sheets_of(run, options);
    assert_sheet(&tables, "short_kernels_summary",
                 SHORT_HEADER "fmt,2 \"q\"|2|5.005|2.5025|17.251482145319176\n"
                              "Cijk_A.kd|2|4.0|2.0|13.787398317937406\n"
                              "unknown_kernel_9|1|0.007|0.007|0.02412794705639046\n");
    assert_sheet(&tables, "short_kernel_histogram",
                 "bin_start|bin_end|count\n"
                 "0.005|1.25375|3\n"
                 "1.25375|2.5025|0\n"
                 "2.5025|3.75125|1\n"
                 "3.75125|5.0|1\n");
    free_all(&tables, run);
}

/* 5 µs itself is not below 5 µs. */
static void the_threshold_is_in_microseconds_and_strict(void **state)
{
    (void)state;
    gt_rocprof *run = tiny_run();
    gt_rocprof_options options = all_sheets();
    options.short_threshold_us = 5;
    options.short_bins = 1;
    gt_table_list tables = sheets_of(run, options);
    assert_sheet(&tables, "short_kernel_histogram", "bin_start|bin_end|count\n0.005|3.0|4\n");
    gt_table_list_free(&tables);

    options.short_threshold_us = INT64_MAX;
    tables = sheets_of(run, options);
    assert_sheet(&tables, "short_kernel_histogram", "bin_start|bin_end|count\n0.005|20.0|6\n");
    gt_table_list_free(&tables);

    options.short_threshold_us = INT64_MIN;
    tables = sheets_of(run, options);
    assert_sheet(&tables, "short_kernels_summary", SHORT_HEADER);
    assert_sheet(&tables, "short_kernel_histogram", "bin_start|bin_end|count\n");
    free_all(&tables, run);
}

/* One dispatch of zero duration, no symbols, no window: percentages are the integer 0, except in the
 * timeline. */
static void one_kernel_of_zero_duration(void **state)
{
    (void)state;
    static const dispatch only = {.kernel_id = 4, .start = 10, .end = 10};
    gt_rocprof *run = gt_rocprof_new();
    add_dispatches(run, &only, 1);
    gt_rocprof_options options = all_sheets();
    options.short_bins = 2;
    gt_table_list tables = sheets_of(run, options);
    assert_sheet(&tables, "gpu_timeline",
                 "type|time ms|percent\n"
                 "total_time|0.0|100.0\n"
                 "kernel|0.0|0.0\n"
                 "memory|0.0|0.0\n"
                 "busy_time|0.0|0.0\n"
                 "idle|0.0|0.0\n");
    assert_sheet(&tables, "kernel_summary",
                 SUMMARY_HEADER "unknown_kernel_4|1|0.0|0.0||0.0|0.0|0|0|0.0|Other\n");
    assert_sheet(&tables, "kernel_summary_by_category", CATEGORY_HEADER "Other|1|0.0|0|0\n");
    assert_sheet(&tables, "kernel_details", DETAILS_HEADER "unknown_kernel_4|0.0|0|0|1|1|1|1|1|1|0|0\n");
    assert_sheet(&tables, "short_kernels_summary", SHORT_HEADER "unknown_kernel_4|1|0.0|0.0|0\n");
    assert_sheet(&tables, "short_kernel_histogram", "bin_start|bin_end|count\n-0.5|0.0|0\n0.0|0.5|1\n");
    free_all(&tables, run);
}

static void no_kernels_give_headers_only(void **state)
{
    (void)state;
    gt_rocprof *run = gt_rocprof_new();
    add_copy(run, 100, 200);
    run->fini_ns = 1000;
    gt_table_list tables = sheets_of(run, all_sheets());
    assert_int_equal(tables.count, 6);
    assert_sheet(&tables, "gpu_timeline", "type|time ms|percent\n");
    assert_sheet(&tables, "kernel_summary",
                 "name|Count|Mean Kernel Time (µs)|Median Kernel Time (µs)|Std Kernel Time (µs)|"
                 "Min Kernel Time (µs)|Max Kernel Time (µs)|Total Kernel Time (ms)|Percentage (%)|"
                 "Cumulative Percentage (%)|Category\n");
    assert_sheet(&tables, "kernel_summary_by_category", CATEGORY_HEADER);
    assert_sheet(&tables, "kernel_details", "");
    assert_sheet(&tables, "short_kernels_summary", SHORT_HEADER);
    assert_sheet(&tables, "short_kernel_histogram", "bin_start|bin_end|count\n");
    free_all(&tables, run);
}

static void options_choose_the_sheets(void **state)
{
    (void)state;
    static const char *const names[] = {
        "gpu_timeline",   "kernel_summary",        "kernel_summary_by_category",
        "kernel_details", "short_kernels_summary", "short_kernel_histogram",
    };
    gt_rocprof *run = tiny_run();
    for (unsigned choice = 0; choice < 8; choice++) {
        gt_rocprof_options options = gt_rocprof_options_default();
        assert_true(options.kernel_summary && !options.kernel_details && !options.short_kernel_study);
        options.kernel_summary = choice & 1;
        options.kernel_details = choice & 2;
        options.short_kernel_study = choice & 4;
        bool wanted[] = {true, choice & 1, choice & 1, choice & 2, choice & 4, choice & 4};
        gt_table_list tables = sheets_of(run, options);
        size_t at = 0;
        for (size_t i = 0; i < 6; i++)
            if (wanted[i]) assert_string_equal(tables.items[at++]->name, names[i]);
        assert_int_equal(tables.count, at);
        gt_table_list_free(&tables);
    }
    gt_rocprof_free(run);
}

static void topk_keeps_rows_like_head(void **state)
{
    (void)state;
    static const struct {
        int64_t topk;
        size_t rows;
    } cases[] = {{0, 0}, {1, 1}, {6, 6}, {7, 6}, {INT64_MAX, 6}, {-1, 5}, {-6, 0}, {-7, 0}, {INT64_MIN, 0}};
    gt_rocprof *run = tiny_run();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_rocprof_options options = all_sheets();
        options.limit_details = true;
        options.topk_kernels = cases[i].topk;
        gt_table_list tables = sheets_of(run, options);
        const gt_table *details = gt_table_list_find(&tables, GT_SHEET("kernel_details"));
        assert_int_equal(details->row_count, cases[i].rows);
        assert_int_equal(details->column_count, 12);
        gt_table_list_free(&tables);
    }
    gt_rocprof_free(run);
}

static void equal_totals_and_durations_keep_their_order(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    dispatch dispatches[COUNT];
    for (int i = 0; i < COUNT; i++)
        dispatches[i] = (dispatch){.kernel_id = 50 - i % 50, .start = i * 10, .end = i * 10 + 5, .id = i};
    gt_rocprof *run = gt_rocprof_new();
    for (int id = 1; id <= 50; id++) {
        char name[16];
        snprintf(name, sizeof name, "kernel_%02d", id);
        name_kernel(run, id, name);
    }
    add_dispatches(run, dispatches, COUNT);
    gt_table_list tables = sheets_of(run, all_sheets());
    const gt_table *details = gt_table_list_find(&tables, GT_SHEET("kernel_details"));
    for (size_t row = 0; row < COUNT; row++)
        assert_int_equal(gt_table_column(details, GT_COL("dispatch_id"))->ints[row], row);
    const char *sheets[] = {"kernel_summary", "short_kernels_summary"};
    for (size_t sheet = 0; sheet < 2; sheet++) {
        const gt_table *by_name = gt_table_list_find(&tables, gt_sheet_named(sheets[sheet]));
        assert_int_equal(by_name->row_count, 50);
        for (size_t row = 1; row < 50; row++) {
            const uint32_t *names = gt_table_column(by_name, GT_COL("name"))->texts;
            gt_str before = gt_interner_get(run->strings, names[row - 1]);
            assert_true(strcmp(before.bytes, gt_interner_get(run->strings, names[row]).bytes) < 0);
        }
    }
    free_all(&tables, run);
}

/* ---- damaged input ---- */

static void assert_refused(const dispatch *dispatches, size_t count)
{
    gt_rocprof *run = gt_rocprof_new();
    add_dispatches(run, dispatches, count);
    gt_rocprof_options options = all_sheets();
    gt_table_list tables = {0};
    gt_error error = {0};
    assert_false(gt_rocprof_tables(run, &options, &tables, &error));
    assert_non_null(strstr(error.text, "kernel dispatch"));
    assert_int_equal(tables.count, 0);
    free_all(&tables, run);
}

static void times_too_far_apart_are_rejected(void **state)
{
    (void)state;
    assert_refused(&(dispatch){.start = INT64_MIN, .end = INT64_MAX}, 1);
    assert_refused(&(dispatch){.start = 1, .end = INT64_MIN + 1},
                   1); /* a duration of -2^63 has no opposite */
    dispatch two[] = {{.start = 0, .end = INT64_MAX}, {.start = 0, .end = 1}};
    assert_refused(two, 2);
    dispatch opposite[] = {{.start = 0, .end = INT64_MAX}, {.start = 1, .end = 0}};
    assert_refused(opposite, 2);
}

static void the_largest_duration_is_accepted(void **state)
{
    (void)state;
    static const dispatch longest = {.kernel_id = 1, .start = 0, .end = INT64_MAX};
    gt_rocprof *run = gt_rocprof_new();
    add_dispatches(run, &longest, 1);
    gt_rocprof_options options = all_sheets();
    gt_table_list tables = sheets_of(run, options);
    assert_sheet(&tables, "kernel_summary_by_category",
                 CATEGORY_HEADER "Other|1|9223372036854.775807|100.0|100.0\n");
    gt_table_list_free(&tables);
    options.short_threshold_us =
        INT64_MAX; /* the kernel is short now, but too long for bins of half a microsecond */
    tables = (gt_table_list){0};
    gt_error error = {0};
    assert_false(gt_rocprof_tables(run, &options, &tables, &error));
    assert_non_null(strstr(error.text, "do not fit the histogram range"));
    free_all(&tables, run);
}

/* 10 - 4 = 6 ns in all: percentages are 1000 / 6 and -400 / 6... of which the sum is 100. */
static void negative_durations_count_as_negative(void **state)
{
    (void)state;
    static const dispatch dispatches[] = {{.kernel_id = 1, .start = 0, .end = 10},
                                          {.kernel_id = 2, .start = 30, .end = 26}};
    gt_rocprof *run = gt_rocprof_new();
    add_dispatches(run, dispatches, 2);
    gt_table_list tables = sheets_of(run, all_sheets());
    assert_sheet(&tables, "kernel_summary",
                 SUMMARY_HEADER
                 "unknown_kernel_1|1|0.01|0.01||0.01|0.01|166.66666666666669|166.66666666666669|1e-05|Other\n"
                 "unknown_kernel_2|1|-0.004|-0.004||-0.004|-0.004|-66.66666666666666|100.0|-4e-06|Other\n");
    free_all(&tables, run);
}

static void bins_out_of_range_are_rejected(void **state)
{
    (void)state;
    static const int64_t bins[] = {0, -1, INT64_MIN, INT64_MAX};
    gt_rocprof *run = tiny_run();
    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++) {
        gt_rocprof_options options = all_sheets();
        options.short_bins = bins[i];
        gt_table_list tables = {0};
        gt_error error = {0};
        assert_false(gt_rocprof_tables(run, &options, &tables, &error));
        assert_non_null(strstr(error.text, "bins"));
        assert_int_equal(tables.count, 0);
        options.short_kernel_study = false; /* without the sheet, bins do not matter */
        assert_true(gt_rocprof_tables(run, &options, &tables, &error));
        gt_table_list_free(&tables);
    }
    gt_rocprof_free(run);
}

/* ---- kernel names ---- */

static void assert_names(gt_rocprof *run, const char *const *expected)
{
    uint32_t *names = gt_rocprof_dispatch_names(run);
    for (size_t i = 0; i < gt_store_count(run->dispatches); i++)
        assert_string_equal(gt_interner_get(run->strings, names[i]).bytes, expected[i]);
    free(names);
}

static void dispatches_have_the_last_name_of_their_kernel(void **state)
{
    (void)state;
    static const int64_t ids[] = {7, 8, INT64_MAX, -3, 0, GT_NO_KERNEL_ID, 12, 7, INT64_MIN + 1};
    dispatch dispatches[9] = {0};
    for (size_t i = 0; i < 9; i++) dispatches[i].kernel_id = ids[i];
    gt_rocprof *run = gt_rocprof_new();
    add_dispatches(run, dispatches, 9);
    assert_names(run, (const char *const[]){"unknown_kernel_7", "unknown_kernel_8",
                                            "unknown_kernel_9223372036854775807", "unknown_kernel_-3",
                                            "unknown_kernel_0", "unknown_kernel_None", "unknown_kernel_12",
                                            "unknown_kernel_7", "unknown_kernel_-9223372036854775807"});
    name_kernel(run, INT64_MAX, "greatest");
    name_kernel(run, 7, "early");
    name_kernel(run, 8, "eight");
    name_kernel(run, 0, "");
    name_kernel(run, 12, "taken back");
    name_kernel(run, 7, "late");
    gt_kernel_names_set(run, 12, GT_STR_NONE);
    name_kernel(run, INT64_MIN + 1, "least");
    const char *const expected[] = {
        "late", "eight", "greatest", "unknown_kernel_-3", "", "unknown_kernel_None", "unknown_kernel_12",
        "late", "least"};
    assert_names(run, expected);
    assert_names(run, expected);
    name_kernel(run, 7, "latest");
    uint32_t *names = gt_rocprof_dispatch_names(run);
    assert_string_equal(gt_interner_get(run->strings, names[0]).bytes, "latest");
    assert_string_equal(gt_interner_get(run->strings, names[1]).bytes, "eight");
    free(names);
    gt_rocprof_free(run);
}

/* ---- the terminal ---- */

static char *summary_text(const gt_rocprof *run, const gt_table_list *tables, int width, bool utf8)
{
    char *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);
    gt_summary_facts facts = gt_rocprof_find_facts(run);
    gt_rocprof_print_summary(memory, &facts, run->communication, tables, width, utf8);
    fclose(memory);
    return text;
}

/* Some line of the text begins with one string and contains the other after it. */
static void assert_line_with(const char *text, const char *begin, const char *part)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        const char *found = strncmp(line, begin, strlen(begin)) ? NULL : strstr(line, part);
        if (found && (size_t)(found - line) < strcspn(line, "\n")) return;
    }
    fail_msg("no line \"%s ... %s\" in\n%s", begin, part, text);
}

/* Percentages as in kernel_summary_of_a_tiny_run; all but one are short: 100 - 68.9 = 31.1 per cent. */
static void the_terminal_shows_where_the_time_went(void **state)
{
    (void)state;
    gt_rocprof *run = tiny_run();
    gt_table_list tables = sheets_of(run, all_sheets());
    char *text = summary_text(run, &tables, 100, false);
    assert_line_with(text, "6 kernel dispatches", "1 memory copy");
    assert_line_with(text, "busy_time ", " 31.0%");
    assert_line_with(text, "COMM ", " 68.9%");
    assert_line_with(text, "68.9%", "ncclDevKernel");
    assert_line_with(text, "short kernels: 5 dispatches", " 31.1%");
    for (const char *c = text; *c; c++) assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
    free(text);
    free_all(&tables, run);
}

static void a_narrow_terminal_still_names_the_kernels(void **state)
{
    (void)state;
    gt_rocprof *run = tiny_run();
    gt_table_list tables = sheets_of(run, all_sheets());
    char *text = summary_text(run, &tables, 60, false);
    assert_line_with(text, "68.9%", "ncclDevKernel");
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 60 || !strncmp(line, "short kernels:", 14) || line == text);
    free(text);
    free_all(&tables, run);
}

static void a_run_without_kernels_has_a_one_line_summary(void **state)
{
    (void)state;
    gt_rocprof *run = gt_rocprof_new();
    gt_table_list tables = sheets_of(run, all_sheets());
    char *text = summary_text(run, &tables, 80, true);
    assert_string_equal(text, "0 kernel dispatches, 0 memory copies, 0 API calls; PID 0\n");
    free(text);
    free_all(&tables, run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeline_of_a_tiny_run),
        cmocka_unit_test(kernel_summary_of_a_tiny_run),
        cmocka_unit_test(kernel_details_of_a_tiny_run),
        cmocka_unit_test(short_kernels_of_a_tiny_run),
        cmocka_unit_test(the_threshold_is_in_microseconds_and_strict),
        cmocka_unit_test(one_kernel_of_zero_duration),
        cmocka_unit_test(no_kernels_give_headers_only),
        cmocka_unit_test(options_choose_the_sheets),
        cmocka_unit_test(topk_keeps_rows_like_head),
        cmocka_unit_test(equal_totals_and_durations_keep_their_order),
        cmocka_unit_test(times_too_far_apart_are_rejected),
        cmocka_unit_test(the_largest_duration_is_accepted),
        cmocka_unit_test(negative_durations_count_as_negative),
        cmocka_unit_test(bins_out_of_range_are_rejected),
        cmocka_unit_test(dispatches_have_the_last_name_of_their_kernel),
        cmocka_unit_test(the_terminal_shows_where_the_time_went),
        cmocka_unit_test(a_narrow_terminal_still_names_the_kernels),
        cmocka_unit_test(a_run_without_kernels_has_a_one_line_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
