/* Comparison of reports: check case C1 of the specification digit by digit, splits, missing and renamed
 * sheets, the gate, and the same report as CSV files, as our workbook and as a workbook of openpyxl. */
#include "output_help.h"
#include "base/log.h"
#include "output/output.h"
#include "report/compare/compare.h"

#include <math.h>

static gt_interner *strings;
static gt_table_list results;
static char notes[4096];

static void keep_note(bool warning, const char *text)
{
    (void)warning;
    size_t used = strlen(notes);
    snprintf(notes + used, sizeof notes - used, "%s\n", text);
}

static int begin(void **state)
{
    strings = gt_interner_new();
    notes[0] = 0;
    gt_log_to(keep_note);
    return make_scratch(state);
}

static int end(void **state)
{
    gt_log_to(NULL);
    gt_table_list_free(&results);
    gt_interner_free(strings);
    return remove_scratch(state);
}

/* ---- writing and comparing reports ---- */

static void add_sheet(const char *report, const char *sheet, const char *text)
{
    char name[128];
    mkdir(in_scratch(report), 0777);
    snprintf(name, sizeof name, "%s/%s.csv", report, sheet);
    write_file(in_scratch(name), text);
}

/* Compares the named reports in the scratch folder; tags are their names without ".xlsx". */
static bool compare(const char *const *names, size_t count, gt_compare_options options, gt_error *error)
{
    gt_compare_report reports[4] = {{0}};
    char tags[4][64];
    bool ok = true;
    gt_table_list_free(&results);
    for (size_t i = 0; i < count && ok; i++) {
        snprintf(tags[i], sizeof tags[i], "%.*s", (int)strcspn(names[i], "."), names[i]);
        reports[i] = (gt_compare_report){tags[i], in_scratch(names[i]), NULL};
        ok = (reports[i].sheets = gt_perf_sheets_open(reports[i].path, error)) != NULL;
    }
    ok = ok && gt_compare_tables(reports, count, &options, strings, &results, error);
    for (size_t i = 0; i < count; i++) gt_perf_sheets_close(reports[i].sheets);
    return ok;
}

static void compare_two(const char *base, const char *variant)
{
    gt_error error = {""};
    const char *const names[] = {base, variant};
    if (!compare(names, 2, (gt_compare_options){0}, &error)) fail_msg("%s", error.text);
}

static void write_results(const char *folder)
{
    gt_error error = {""};
    gt_output *output = gt_output_new();
    assert_true(gt_output_csvs(output, in_scratch(folder), results.items, results.count, &error));
    assert_true(gt_output_commit(output, &error));
    gt_output_free(output);
}

static void expect_result(const char *sheet, const char *expected)
{
    char name[128];
    write_results("out");
    snprintf(name, sizeof name, "out/%s.csv", sheet);
    expect_file(in_scratch(name), expected);
}

/* ---- the reports of check case C1 ---- */

#define OPS_HEADER "name,Count,total_direct_kernel_time_ms,Percentage (%),Cumulative Percentage (%)\n"
#define ARGS_HEADER                                                                                          \
    "name,Input type,Input Dims,Input Strides,Concrete "                                                     \
    "Inputs,operation_count,total_direct_kernel_time_mean,"                                                  \
    "total_direct_kernel_time_sum\n"

static void make_c1(void)
{
    add_sheet("a", "gpu_timeline",
              "type,time ms,percent\ntotal_time,10.0,100.0\nbusy_time,8.0,80.0\nidle_time,0.0,0.0\n");
    add_sheet("b", "gpu_timeline",
              "type,time ms,percent\ntotal_time,12.5,100.0\nbusy_time,8.0,64.0\nidle_time,4.5,36.0\n");
    add_sheet("a", "ops_summary", OPS_HEADER "aten::mm,4,3.0,75.0,75.0\naten::add,2,1.0,25.0,100.0\n");
    add_sheet("b", "ops_summary", OPS_HEADER "aten::mm,4,1.5,50.0,50.0\naten::fill_,7,1.5,50.0,100.0\n");
    add_sheet("a", "ops_unique_args",
              ARGS_HEADER "aten::mm,\"('float',)\",\"((4, 4),)\",,\"('',)\",4,750.0,3000.0\n"
                          "aten::add,\"('float',)\",\"((4,),)\",,\"('',)\",2,500.0,1000.0\n");
    add_sheet("b", "ops_unique_args",
              ARGS_HEADER "aten::mm,\"('float',)\",\"((4, 4),)\",,\"('',)\",4,375.0,1500.0\n"
                          "aten::fill_,\"('float',)\",\"((4,),)\",,\"('',)\",7,214.0,1500.0\n");
}

static void timeline_of_c1(void **state)
{
    (void)state;
    make_c1();
    compare_two("a", "b");
    expect_result("gpu_timeline",
                  "type,time ms__b_diff,time ms__b_pct,a::time ms,a::percent,b::time ms,b::percent\n"
                  "busy_time,0.0,0.0,8.0,80.0,8.0,64.0\nidle_time,4.5,,0.0,0.0,4.5,36.0\n"
                  "total_time,2.5,25.0,10.0,100.0,12.5,100.0\n");
}

static void ops_of_c1(void **state)
{
    (void)state;
    make_c1();
    compare_two("a", "b");
    expect_result("ops_summary",
                  "name,total_direct_kernel_time_ms__b_diff,total_direct_kernel_time_ms__b_pct,Count__b_diff,"
                  "Count__b_pct,a::Count,a::total_direct_kernel_time_ms,a::Percentage (%),"
                  "a::Cumulative Percentage (%),b::Count,b::total_direct_kernel_time_ms,b::Percentage (%)\n"
                  "aten::mm,-1.5,-50.0,0.0,0.0,4.0,3.0,75.0,75.0,4.0,1.5,50.0\n"
                  "aten::add,,,,,2.0,1.0,25.0,100.0,,,\naten::fill_,,,,,,,,,7.0,1.5,50.0\n");
}

/* Input Strides is missing everywhere and dropped, although it is a key. Row values are computed by hand. */
static void splits_of_c1(void **state)
{
    (void)state;
    make_c1();
    compare_two("a", "b");
    expect_result("ops_unique_args_intersect_b",
                  "name,Input type,Input Dims,Concrete Inputs,total_direct_kernel_time_sum__b_diff,"
                  "total_direct_kernel_time_sum__b_pct,total_direct_kernel_time_mean__b_diff,"
                  "total_direct_kernel_time_mean__b_pct,operation_count__b_diff,operation_count__b_pct,"
                  "a::operation_count,a::total_direct_kernel_time_mean,a::total_direct_kernel_time_sum,"
                  "b::operation_count,b::total_direct_kernel_time_mean,b::total_direct_kernel_time_sum\n"
                  "aten::mm,\"('float',)\",\"((4, "
                  "4),)\",\"('',)\",-1500.0,-50.0,-375.0,-50.0,0.0,0.0,4.0,750.0,3000.0,4.0,"
                  "375.0,1500.0\n");
    expect_result(
        "ops_unique_args_only_baseline_b",
        "name,Input type,Input Dims,Concrete Inputs,a::operation_count,a::total_direct_kernel_time_mean,"
        "a::total_direct_kernel_time_sum\naten::add,\"('float',)\",\"((4,),)\",\"('',)\",2.0,500.0,1000.0\n");
    expect_result(
        "ops_unique_args_only_variant_b",
        "name,Input type,Input Dims,Concrete Inputs,b::operation_count,b::total_direct_kernel_time_mean,"
        "b::total_direct_kernel_time_sum\naten::fill_,\"('float',)\",\"((4,),)\",\"('',)\",7.0,214.0,1500."
        "0\n");
}

static void an_empty_split_has_no_columns(void **state)
{
    (void)state;
    make_c1();
    char command[512];
    snprintf(command, sizeof command, "cp -r '%s/a' '%s/copy'", scratch, scratch);
    assert_int_equal(system(command), 0);
    compare_two("a", "copy");
    expect_result("ops_unique_args_only_baseline_copy", "\n");
}

/* ---- rows and columns ---- */

/* Integers stay integers if no row is one-sided; equal keys give all pairs, in the order of the baseline. */
static void equal_keys_give_all_pairs(void **state)
{
    (void)state;
    static const char header[] = "name,Category,Count,Total Kernel Time (ms),Mean Kernel Time (µs)\n";
    char text[512];
    snprintf(text, sizeof text, "%sk,GEMM,1,1.0,10.0\nk,GEMM,2,4.0,20.0\n", header);
    add_sheet("a", "kernel_summary", text);
    snprintf(text, sizeof text, "%sk,GEMM,3,2.0,30.0\nk,GEMM,5,8.0,40.0\n", header);
    add_sheet("b", "kernel_summary", text);
    compare_two("a", "b");
    expect_result(
        "kernel_summary",
        "name,Total Kernel Time (ms)__b_diff,Total Kernel Time (ms)__b_pct,Mean Kernel Time (µs)__b_diff,"
        "Mean Kernel Time (µs)__b_pct,Count__b_diff,Count__b_pct,a::Count,a::Total Kernel Time (ms),"
        "a::Mean Kernel Time (µs),b::Count,b::Total Kernel Time (ms),b::Mean Kernel Time (µs)\n"
        "k,-2.0,-50.0,10.0,50.0,1,50.0,2,4.0,20.0,3,2.0,30.0\n"
        "k,4.0,100.0,20.0,100.0,3,150.0,2,4.0,20.0,5,8.0,40.0\n"
        "k,1.0,100.0,20.0,200.0,2,200.0,1,1.0,10.0,3,2.0,30.0\n"
        "k,7.0,700.0,30.0,300.0,4,400.0,1,1.0,10.0,5,8.0,40.0\n");
}

static void roofline_keys_are_common_parameters(void **state)
{
    (void)state;
    add_sheet("a", "GEMM",
              "name,param: N,param: M,GFLOPS_first,Kernel Time (µs)_sum,Kernel Time (µs)_mean,name_count\n"
              "mm,2,1,5.0,10.0,10.0,1\n");
    add_sheet(
        "b", "GEMM",
        "name,param: M,param: N,param: x,GFLOPS_first,Kernel Time (µs)_sum,Kernel Time (µs)_mean,name_count\n"
        "mm,1,2,9,5.0,15.0,7.5,2\n");
    compare_two("a", "b");
    expect_result(
        "GEMM_intersect_b",
        "name,param: M,param: N,Kernel Time (µs)_sum__b_diff,Kernel Time (µs)_sum__b_pct,"
        "Kernel Time (µs)_mean__b_diff,Kernel Time (µs)_mean__b_pct,name_count__b_diff,name_count__b_pct,"
        "a::GFLOPS_first,a::Kernel Time (µs)_sum,a::Kernel Time (µs)_mean,a::name_count,b::param: x,"
        "b::Kernel Time (µs)_sum,b::Kernel Time (µs)_mean,b::name_count\n"
        "mm,1,2,5.0,50.0,-2.5,-25.0,1,100.0,5.0,10.0,10.0,1,9,15.0,7.5,2\n");
}

static void three_reports_are_side_by_side(void **state)
{
    (void)state;
    gt_error error = {""};
    const char *const names[] = {"a", "b", "c"};
    add_sheet("a", "gpu_timeline", "type,time ms\nbusy_time,8.0\n");
    add_sheet("b", "gpu_timeline", "type,time ms\nbusy_time,10.0\n");
    add_sheet("c", "gpu_timeline", "type,time ms\nbusy_time,4.0\nidle_time,1.0\n");
    assert_true(compare(names, 3, (gt_compare_options){0}, &error));
    expect_result("gpu_timeline", "type,time ms__b_diff,time ms__b_pct,time ms__c_diff,time "
                                  "ms__c_pct,a::time ms,b::time ms,c::time ms\n"
                                  "busy_time,2.0,25.0,-4.0,-50.0,8.0,10.0,4.0\nidle_time,,,,,,,1.0\n");
}

/* ---- missing sheets ---- */

static void a_missing_sheet_gives_a_note(void **state)
{
    (void)state;
    gt_error error = {""};
    const char *const names[] = {"a", "b", "c"};
    make_c1();
    add_sheet("c", "gpu_timeline", "type,time ms\nbusy_time,4.0\n");
    assert_true(compare(names, 3, (gt_compare_options){0}, &error));
    assert_non_null(strstr(notes, "c has no sheet 'ops_summary'"));
    const gt_table *ops = gt_table_list_find(&results, GT_SHEET("ops_summary"));
    assert_true(gt_table_find(ops, GT_COL("b::Count")) != SIZE_MAX &&
                gt_table_find(ops, GT_COL("c::Count")) == SIZE_MAX);
    assert_non_null(strstr(notes, "no sheet of the group roofline"));
}

static void a_requested_group_must_exist(void **state)
{
    (void)state;
    gt_error error = {""};
    const char *const names[] = {"a", "b"}, *groups[] = {"kernel_summary"};
    make_c1();
    assert_false(compare(names, 2, (gt_compare_options){.groups = groups, .group_count = 1}, &error));
    assert_non_null(strstr(error.text, "has no sheet of the group kernel_summary"));
    add_sheet("d", "other", "x\n1\n");
    assert_false(compare((const char *const[]){"d", "d"}, 2, (gt_compare_options){0}, &error));
    assert_non_null(strstr(error.text, "no sheet in common"));
}

static void sheets_may_have_other_names(void **state)
{
    (void)state;
    make_c1();
    char command[1024];
    snprintf(command, sizeof command, "mv '%s/b/ops_unique_args.csv' '%s/b/ops_all.csv'", scratch, scratch);
    assert_int_equal(system(command), 0);
    compare_two("a", "b");
    const gt_table *shared = gt_table_list_find(&results, GT_SHEET("ops_unique_args_intersect_b"));
    assert_non_null(shared);
    assert_int_equal(shared->row_count, 1);
}

/* ---- the same report in other files ---- */

static void write_as_workbook(const char *report, const char *path, const char *const *sheets, size_t count)
{
    gt_error error = {""};
    gt_perf_sheets *from = gt_perf_sheets_open(in_scratch(report), &error);
    gt_table_list tables = {0};
    for (size_t i = 0; i < count; i++)
        gt_table_list_add(&tables, gt_perf_sheets_read(from, gt_sheet_named(sheets[i]), strings, &error));
    gt_output *output = gt_output_new();
    assert_true(gt_output_xlsx(output, in_scratch(path), tables.items, tables.count, &error));
    assert_true(gt_output_commit(output, &error));
    gt_output_free(output);
    gt_table_list_free(&tables);
    gt_perf_sheets_close(from);
}

static double number_in(const gt_column *column, size_t row)
{
    return column->type == GT_TYPE_INT ? (double)column->ints[row] : column->floats[row];
}

static void expect_same_column(const gt_column *a, const gt_column *b, size_t rows)
{
    assert_string_equal(a->name, b->name);
    for (size_t row = 0; row < rows; row++) {
        assert_int_equal(gt_column_is_null(a, row), gt_column_is_null(b, row));
        if (gt_column_is_null(a, row)) continue;
        if (a->type == GT_TYPE_STRING) {
            assert_int_equal(b->type, GT_TYPE_STRING);
            assert_int_equal(a->texts[row], b->texts[row]);
        } else {
            double of_a = number_in(a, row), of_b = number_in(b, row);
            assert_true(fabs(of_a - of_b) <= 1e-14 * fabs(of_a));
        }
    }
}

/* The same sheets, columns and values as `expected`, which is freed. A workbook has 16 digits, and 64.0
 * becomes 64. */
static void expect_same_results(gt_table_list *expected)
{
    assert_int_equal(results.count, expected->count);
    for (size_t i = 0; i < results.count; i++) {
        const gt_table *a = expected->items[i], *b = results.items[i];
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->row_count, b->row_count);
        assert_int_equal(a->column_count, b->column_count);
        for (size_t c = 0; c < a->column_count; c++)
            expect_same_column(&a->columns[c], &b->columns[c], a->row_count);
    }
    gt_table_list_free(expected);
}

static gt_table_list results_of(const char *base, const char *variant)
{
    compare_two(base, variant);
    gt_table_list taken = results;
    results = (gt_table_list){0};
    assert_int_equal(taken.count, 5);
    return taken;
}

static const char *const c1_sheets[] = {"gpu_timeline", "ops_summary", "ops_unique_args"};

static void our_workbook_is_read_as_the_csvs(void **state)
{
    (void)state;
    make_c1();
    write_as_workbook("a", "a.xlsx", c1_sheets, 3);
    write_as_workbook("b", "b.xlsx", c1_sheets, 3);
    static const char *const pairs[][2] = {{"a.xlsx", "b"}, {"a", "b.xlsx"}, {"a.xlsx", "b.xlsx"}};
    for (size_t i = 0; i < 3; i++) {
        gt_table_list expected = results_of("a", "b");
        compare_two(pairs[i][0], pairs[i][1]);
        expect_same_results(&expected);
    }
}

static void a_workbook_of_openpyxl_equals_the_csv_files(void **state)
{
    (void)state;
    static const char script[] = "import csv, openpyxl, sys\n"
                                 "def cell(t):\n"
                                 "    try: return float(t)\n"
                                 "    except ValueError: return t or None\n"
                                 "book = openpyxl.Workbook(); book.remove(book.active)\n"
                                 "for name in sys.argv[3:]:\n"
                                 "    sheet = book.create_sheet(name)\n"
                                 "    for row in csv.reader(open(sys.argv[1] + '/' + name + '.csv')): "
                                 "sheet.append([cell(t) for t in row])\n"
                                 "book.save(sys.argv[2])\n";
    char command[1024];
    if (system("/usr/bin/python3 -c 'import openpyxl' 2>/dev/null") != 0) skip();
    make_c1();
    gt_table_list expected = results_of("a", "b");
    write_file(in_scratch("make.py"), script);
    snprintf(command, sizeof command,
             "cd '%s' && /usr/bin/python3 make.py b b.xlsx gpu_timeline ops_summary ops_unique_args",
             scratch);
    assert_int_equal(system(command), 0);
    compare_two("a", "b.xlsx");
    expect_same_results(&expected);
}

/* ---- the gate ---- */

static const struct {
    const char *condition, *sheet, *row, *column;
    gt_gate_op op;
    double limit;
    bool percent, exact;
} good_conditions[] = {
    {"gpu_timeline.busy_time > 5%", "gpu_timeline", "busy_time", NULL, GT_GATE_ABOVE, 5, true, false},
    {" a . b c . d e >= -1.5e1 % ", "a", "b c", "d e", GT_GATE_AT_LEAST, -15, true, false},
    {"s.'void f<4>(a.b)'.\"x\"\"y\"<.5", "s", "void f<4>(a.b)", "x\"y", GT_GATE_BELOW, 0.5, false, true},
    {"ops_summary.aten::*<=0", "ops_summary", "aten::*", NULL, GT_GATE_AT_MOST, 0, false, false},
};

static const char *const bad_conditions[] = {
    "",         "a > 5",    "a.b",         "a.b >",   "a.b > x",   "a.b > 5 5", ".b > 5",    "a. > 5",
    "a.b. > 5", "a.'b > 5", "a.b.c.d > 5", "a.b = 5", "a.b > nan", "a.b > inf", "a.b > 5%%", "a.b > 0x5"};

static void conditions_are_read(void **state)
{
    (void)state;
    gt_error error = {""};
    gt_gate gate;
    for (size_t i = 0; i < sizeof good_conditions / sizeof *good_conditions; i++) {
        if (!gt_gate_parse(&gate, good_conditions[i].condition, &error)) fail_msg("%s", error.text);
        assert_string_equal(gate.sheet, good_conditions[i].sheet);
        assert_string_equal(gate.row, good_conditions[i].row);
        assert_true(!gate.column == !good_conditions[i].column);
        if (gate.column) assert_string_equal(gate.column, good_conditions[i].column);
        assert_int_equal(gate.op, good_conditions[i].op);
        assert_true(gate.limit == good_conditions[i].limit);
        assert_int_equal(gate.percent, good_conditions[i].percent);
        assert_int_equal(gate.exact_row, good_conditions[i].exact);
        assert_false(gate.is_total);
        gt_gate_free(&gate);
    }
    for (size_t i = 0; i < sizeof bad_conditions / sizeof *bad_conditions; i++)
        if (gt_gate_parse(&gate, bad_conditions[i], &error)) fail_msg("'%s' was read", bad_conditions[i]);
}

static void totals_are_conditions_on_the_waterfall(void **state)
{
    (void)state;
    gt_error error = {""};
    gt_gate gate;
    assert_true(gt_gate_parse(&gate, " idle_data_ms >= 2.5 % ", &error));
    assert_true(gate.is_total && gate.percent && gate.limit == 2.5 && gate.op == GT_GATE_AT_LEAST);
    assert_string_equal(gate.sheet, "waterfall");
    assert_string_equal(gate.row, "idle_data_ms");
    assert_null(gate.column);
    gt_gate_free(&gate);
    static const char *const bad[] = {"_ms > 5",     "step > 5", "'step_ms' > 5", "step_ms", "step_ms >",
                                      "step_ms > x", "> 5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (gt_gate_parse(&gate, bad[i], &error)) fail_msg("'%s' was read", bad[i]);
    static const char *const known[] = {"step_ms", "kernels_ms", "more_calls_ms", "idle_ms",
                                        "idle_cpu_op_ms"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) assert_true(gt_compare_has_total(known[i]));
    static const char *const unknown[] = {"idle_none_ms", "idle__ms", "step",
                                          "steps_ms",     "data_ms",  "other_ms"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_false(gt_compare_has_total(unknown[i]));
}

/* How many rows of C1 meet a condition; -1 if it is rejected. */
static const struct {
    const char *condition;
    int met;
    const char *message;
} outcomes[] = {
    {"gpu_timeline.total_time > 24.9%", 1, NULL},
    {"gpu_timeline.total_time > 25%", 0, NULL},
    {"gpu_timeline.total_time >= 25%", 1, NULL},
    {"gpu_timeline.total_time >= 2.5", 1, NULL},
    {"gpu_timeline.idle_time > 1000%", 1, NULL}, /* from 0 to 4.5 */
    {"gpu_timeline.busy_time >= 0%", 1, NULL},
    {"gpu_timeline.*_time > 1", 2, NULL},
    {"gpu_timeline.busy_time.percent < -15", 1, NULL},
    {"ops_summary.aten::mm < -49%", 1, NULL},
    {"ops_summary.*.Count >= 0", 1, NULL},
    {"ops_summary.aten::add > 0", 0, NULL}, /* only the baseline has it: a warning */
    {"ops_unique_args.aten::mm <= -1500", 1, NULL},
    {"gpu_timeline.'*_time' > 1", -1, "has no row '*_time'"},
    {"gpu_timeline.bsy_time > 5%", -1, "has no row 'bsy_time'"},
    {"gpu_timeline.busy_time.ms > 5%", -1, "does not have the number column 'ms'"},
    {"GEMM.mm > 5%", -1, "no sheet 'GEMM' was compared"},
};

static void the_gate_finds_what_crossed(void **state)
{
    (void)state;
    const char *const names[] = {"a", "b"};
    make_c1();
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        gt_error error = {""};
        gt_gate gate;
        assert_true(gt_gate_parse(&gate, outcomes[i].condition, &error));
        bool ok = compare(names, 2, (gt_compare_options){.gates = &gate, .gate_count = 1}, &error);
        const gt_table *met = ok ? gt_table_list_find(&results, GT_SHEET("fail_if")) : NULL;
        int count = met ? (int)met->row_count : -1;
        if (count != outcomes[i].met)
            fail_msg("%s: %d rows, not %d", outcomes[i].condition, count, outcomes[i].met);
        if (!ok && !strstr(error.text, outcomes[i].message)) fail_msg("%s", error.text);
        gt_gate_free(&gate);
    }
    assert_non_null(strstr(notes, "'ops_summary.aten::add > 0': no row has a value in both reports"));
}

static void rows_that_meet_a_condition_are_a_sheet(void **state)
{
    (void)state;
    gt_error error = {""};
    gt_gate gate;
    const char *const names[] = {"a", "b"};
    make_c1();
    assert_true(gt_gate_parse(&gate, "gpu_timeline.total_time > 5%", &error));
    assert_true(compare(names, 2, (gt_compare_options){.gates = &gate, .gate_count = 1}, &error));
    expect_result("fail_if",
                  "condition,report,sheet,row,column,baseline,variant,diff,pct\n"
                  "gpu_timeline.total_time > 5%,b,gpu_timeline,total_time,time ms,10.0,12.5,2.5,25.0\n");
    gt_gate_free(&gate);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(timeline_of_c1),
        TEST(ops_of_c1),
        TEST(splits_of_c1),
        TEST(an_empty_split_has_no_columns),
        TEST(equal_keys_give_all_pairs),
        TEST(roofline_keys_are_common_parameters),
        TEST(three_reports_are_side_by_side),
        TEST(a_missing_sheet_gives_a_note),
        TEST(a_requested_group_must_exist),
        TEST(sheets_may_have_other_names),
        TEST(our_workbook_is_read_as_the_csvs),
        TEST(a_workbook_of_openpyxl_equals_the_csv_files),
        TEST(conditions_are_read),
        TEST(totals_are_conditions_on_the_waterfall),
        TEST(the_gate_finds_what_crossed),
        TEST(rows_that_meet_a_condition_are_a_sheet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
