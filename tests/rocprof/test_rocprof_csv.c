/* rocprofv3's CSV files: headers and rows wherever a block ends, names as in JSON, and invalid files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/log.h"
#include "input/rocprof/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER                                                                                               \
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_" \
    "Name\","                                                                                                \
    "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_"   \
    "Count\","                                                                                               \
    "\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\","    \
    "\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n"
#define ROW(id, name, start, end)                                                                            \
    "\"KERNEL_DISPATCH\",\"Agent 3\",2,1,77," #id ",9,\"" name "\",5," #start "," #end                       \
    ",512,64,8,4,16,64,2,1,256,4,1\n"

static unsigned warnings;

static void count_warnings(bool warning, const char *text)
{
    (void)text;
    warnings += warning;
}

static gt_rocprof *read_text(const char *text, size_t block, bool strict, gt_error *error)
{
    gt_read_options options = {.threads = 1, .strict = strict, .wanted = GT_WANT_ALL};
    gt_stream *stream = gt_stream_memory(text, strlen(text), block, error);
    assert_non_null(stream);
    gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(GT_WANT_ALL));
    gt_csv_source source = {.process = gt_rocprof_add_process(writers.run, (gt_rocprof_process){0}),
                            .kernels_from_counters = true};
    bool read = gt_rocprof_csv_read(&writers, stream, &source, &options, error);
    gt_csv_source_free(&source);
    gt_rocprof_write_end(&writers);
    gt_stream_close(stream);
    if (read) return writers.run;
    gt_rocprof_free(writers.run);
    return NULL;
}

static int64_t value_at(const gt_store *store, size_t column, size_t row)
{
    int64_t *ints = gt_store_ints(store, column);
    int64_t value = ints[row];
    free(ints);
    return value;
}

static const char *name_at(gt_rocprof *run, size_t row)
{
    uint32_t *names = gt_rocprof_dispatch_names(run);
    uint32_t id = names[row];
    free(names);
    return gt_interner_get(run->strings, id).bytes;
}

static void rows_are_read_wherever_a_block_ends(void **state)
{
    (void)state;
    static const char text[] = HEADER ROW(1, "void f<int, 3>(float*)", 1000, 5000)
        ROW(2, "Cijk_A", 2000, 2007) ROW(18446744073709551615, "say \"so\" then", -5, 0);
    for (size_t block = 1; block < sizeof text + 2; block++) {
        gt_error error = {""};
        gt_rocprof *run = read_text(text, block, true, &error);
        if (!run) fail_msg("blocks of %zu: %s", block, error.text);
        assert_int_equal(gt_store_count(run->dispatches), 3);
        assert_string_equal(name_at(run, 0), "f");
        assert_string_equal(name_at(run, 1), "Cijk_A.kd");
        assert_int_equal(value_at(run->dispatches, GT_DISPATCH_START, 0), 1000);
        assert_int_equal(value_at(run->dispatches, GT_DISPATCH_END, 1), 2007);
        assert_int_equal(value_at(run->dispatches, GT_DISPATCH_START, 2), -5);
        assert_int_equal(value_at(run->dispatches, GT_DISPATCH_ID, 2), -1);
        assert_int_equal(value_at(run->dispatches, GT_DISPATCH_AGENT, 0), 3);
        assert_int_equal(value_at(run->dispatches, GT_DISPATCH_THREAD, 0), 77);
        assert_int_equal(value_at(run->dispatches, GT_DISPATCH_GRID_Y, 0), 4);
        assert_int_equal(value_at(run->dispatches, GT_DISPATCH_BLOCK_Y, 0), 2);
        assert_int_equal(value_at(run->dispatches, GT_DISPATCH_LDS_BYTES, 0), 512);
        gt_kernel_use use = gt_rocprof_kernel_use(run, value_at(run->dispatches, GT_DISPATCH_KERNEL_ID, 0));
        assert_int_equal(use.vgprs, 8);
        assert_int_equal(use.accum_vgprs, 4);
        assert_int_equal(use.sgprs, 16);
        gt_rocprof_free(run);
    }
}

static void a_truncated_file_gives_its_complete_rows(void **state)
{
    (void)state;
    static const char text[] = HEADER ROW(1, "f(int)", 1000, 5000) ROW(2, "g(int)", 2000, 2007);
    size_t header = strlen(HEADER), row = strlen(ROW(1, "f(int)", 1000, 5000));
    gt_log_to(count_warnings);
    for (size_t len = header; len <= sizeof text - 1; len++) {
        char *cut = strndup(text, len);
        gt_error error = {""};
        gt_log_end_repeats();
        warnings = 0;
        gt_rocprof *run = read_text(cut, 0, false, &error);
        if (!run) fail_msg("%zu bytes: %s", len, error.text);
        size_t got = gt_store_count(run->dispatches), whole = (len - header) / row;
        /* A last row whose last number is truncated, or that lacks only its line end, looks like a complete
         * one. */
        bool ends_in_number = len > header && text[len - 1] != ',' && got == whole + 1;
        if (got != whole && !ends_in_number) fail_msg("%zu bytes: %zu rows of %zu", len, got, whole);
        bool cut_short = len > header && (len - header) % row != 0 && !ends_in_number;
        assert_int_equal(warnings > 0, cut_short);
        gt_rocprof_free(run);
        if (cut_short) assert_null(read_text(cut, 0, true, &error));
        free(cut);
    }
    gt_log_to(NULL);
}

static void expect_refusal(const char *text, const char *message)
{
    gt_error error = {""};
    assert_null(read_text(text, 0, false, &error));
    if (!strstr(error.text, message)) fail_msg("says: %s", error.text);
}

static void invalid_rows_are_rejected_with_their_number(void **state)
{
    (void)state;
    expect_refusal(HEADER ROW(1, "f()", 1, 2) ROW(2, "g()", x1, 2), "row 3: 'Start_Timestamp' is 'x1'");
    expect_refusal(HEADER ROW(1, "f()", 99999999999999999999999, 2), "row 2: 'Start_Timestamp'");
    expect_refusal(HEADER ROW(1, "f()", 1.5, 2), "row 2: 'Start_Timestamp' is '1.5'");
    expect_refusal(HEADER "\"KERNEL_DISPATCH\",1\n" ROW(1, "f()", 1, 2),
                   "row 2: 2 fields, but the first line has 22");
    expect_refusal("a,b\n1,2\n", "not a rocprofv3 file");
    expect_refusal("", "no column names");
}

static void kinds_are_detected_by_their_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        gt_csv_kind kind;
    } cases[] = {
        {HEADER, GT_CSV_KERNELS},
        {"guid,kernel_name,dispatch_id,start_timestamp,lds_block_size\n", GT_CSV_KERNELS},
        {"Correlation_Id,Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp\n",
         GT_CSV_COUNTERS},
        {"\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\"\n",
         GT_CSV_CALLS},
        {"Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Start_Timestamp,End_Timestamp\n",
         GT_CSV_COPIES},
        {"\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\"\n", GT_CSV_AGENTS},
        {"\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\"\n", GT_CSV_STATS},
        {"Index,KernelName,gpu-id,queue-id\n", GT_CSV_OLD_RESULTS},
        {"Kind,Operation,Agent_Id,Allocation_Size,Address\n", GT_CSV_OTHER},
        {"name,count\n", GT_CSV_UNKNOWN},
        {"Kernel_Name,Dispatch_Id,Start_Timestamp", GT_CSV_UNKNOWN}, /* no line end */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static char text[1024 + GT_SCAN_PAD];
        strcpy(text, cases[i].header);
        assert_int_equal(gt_rocprof_csv_kind((gt_str){text, strlen(text)}), cases[i].kind);
    }
}

static void expect_short(const char *name, const char *expected)
{
    gt_str got = gt_kernel_short_name((gt_str){name, strlen(name)});
    if (got.len != strlen(expected) || memcmp(got.bytes, expected, got.len) != 0)
        fail_msg("%s gives %.*s", name, (int)got.len, got.bytes);
}

static void expect_displayed(const char *name, const char *expected)
{
    gt_interner *strings = gt_interner_new();
    uint32_t id = gt_kernel_name_of_displayed(strings, (gt_str){name, strlen(name)});
    assert_string_equal(gt_interner_get(strings, id).bytes, expected);
    gt_interner_free(strings);
}

static void names_are_shortened_like_rocprofiler(void **state)
{
    (void)state;
    expect_short("Foo<int, float>::foo(a[], int (int))", "foo");
    expect_short("void at::native::elementwise_kernel_manual_unroll<128, 4, x>(int, y::{lambda(int, "
                 "bool)#2}) [clone .kd]",
                 "elementwise_kernel_manual_unroll");
    expect_short("__amd_rocclr_initHeap.kd", "__amd_rocclr_initHeap.kd");
    expect_short("f(int) ", "f");
    expect_short(")", "");
    expect_short("a)b)", "");
    expect_short("", "");
    expect_displayed("__amd_rocclr_initHeap", "__amd_rocclr_initHeap.kd");
    expect_displayed("__amd_rocclr_initHeap.kd", "__amd_rocclr_initHeap.kd");
    expect_displayed("void f<1>(int)", "f");
    expect_displayed("", "");
}

static void scanners_agree_with_scalar_loops(void **state)
{
    (void)state;
    static uint8_t text[400 + GT_SCAN_PAD];
    uint32_t seed = 12345;
    for (unsigned round = 0; round < 4000; round++) {
        for (size_t i = 0; i < sizeof text; i++) {
            seed = seed * 1664525 + 1013904223;
            text[i] = (uint8_t)(seed >> 24) % 20 ? 'a' : (uint8_t) "\",\n\r"[seed >> 16 & 3];
        }
        const uint8_t *from = text + round % 64, *end = from + round % 300;
        assert_ptr_equal(gt_csv_plain_end(from, end), gt_csv_plain_end_scalar(from, end));
        assert_ptr_equal(gt_csv_next_quote(from, end), gt_csv_next_quote_scalar(from, end));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_wherever_a_block_ends),
        cmocka_unit_test(a_truncated_file_gives_its_complete_rows),
        cmocka_unit_test(invalid_rows_are_rejected_with_their_number),
        cmocka_unit_test(kinds_are_detected_by_their_headers),
        cmocka_unit_test(names_are_shortened_like_rocprofiler),
        cmocka_unit_test(scanners_agree_with_scalar_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
