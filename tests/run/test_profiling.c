/* Parts of profiling runs: shell words, stacked tools, instruction histograms. Expected strings come from
 * madengine, which defines the contexts, or are computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "input/sheets/sheets.h"
#include "run/plan/context.h"
#include "run/plan/plan.h"
#include "run/execute/execute.h"
#include "os/paths.h"
#include "os/shell_words.h"

#include <stdlib.h>
#include <unistd.h>

static gt_arena arena;

static gt_stack stack_of(const char *json)
{
    gt_error error;
    gt_stack stack;
    const gt_value *context = gt_settings_parse(&arena, (gt_str){json, strlen(json)}, &error);
    assert_non_null(context);
    assert_true(gt_stack_build(&arena, context, &gt_value_missing, &stack, &error));
    return stack;
}

static void tools_wrap_like_madengine(void **state)
{
    (void)state;
    gt_stack stack = stack_of("{\"tools\": [{\"name\": \"test_tools_A\"}, {\"name\": \"test_tools_B\"}], "
                              "\"encapsulate_script\": \"ENC\"}");
    assert_string_equal(stack.wrap, "echo cmd_B &&  echo cmd_A &&  ENC");
    stack = stack_of(gt_config_find("rocprofv3_comprehensive"));
    assert_string_equal(stack.wrap,
                        "python3 ../scripts/common/tools/get_library_trace.py  bash "
                        "../scripts/common/tools/rocprof_wrapper.sh --hip-trace "
                        "--hsa-trace --kernel-trace --memory-copy-trace --memory-allocation-trace "
                        "--rccl-trace --scratch-memory-trace "
                        "--marker-trace --runtime-trace -i ../scripts/common/tools/counters/full_profile.txt "
                        "--output-format pftrace --stats "
                        "-d ./rocprof_output -- ");
    assert_int_equal(stack.env->count / 2, 14);
}

static void splits_words_like_a_shell(void **state)
{
    (void)state;
    gt_arg_list words = {0};
    assert_true(gt_shell_split(&arena, " a  'b c'\"d\\\"e\" \\' x=1 \"\" ", &words));
    const char *expected[] = {"a", "b cd\"e", "'", "x=1", ""};
    assert_int_equal(words.count, 5);
    for (size_t i = 0; i < 5; i++) assert_string_equal(words.items[i], expected[i]);
    static const char *const meaningful[] = {"a && b", "a $B", "\"$B\"", "a; b", "`a`",
                                             "a > b",  "*.c",  "'open",  "~/x",  "a\\"};
    for (size_t i = 0; i < sizeof meaningful / sizeof *meaningful; i++) {
        words = (gt_arg_list){0};
        assert_false(gt_shell_split(&arena, meaningful[i], &words));
    }
}

static void quoting_round_trips(void **state)
{
    (void)state;
    static const char *const words[] = {"plain", "it's", "",   "a b",       "--x=y", "A=1",
                                        "$HOME", "\\",   "\"", "new\nline", "*"};
    gt_buffer line = {0};
    gt_shell_join(&line, words, sizeof words / sizeof *words);
    gt_arg_list again = {0};
    assert_true(gt_shell_split(&arena, gt_buffer_str(&line).bytes, &again));
    assert_int_equal(again.count, sizeof words / sizeof *words);
    for (size_t i = 0; i < again.count; i++) assert_string_equal(again.items[i], words[i]);
    assert_memory_equal(line.bytes, "plain 'it'\\''s' '' 'a b' --x=y 'A=1' ", 36);
    gt_buffer_free(&line);
}

static void paths_are_made_absolute(void **state)
{
    (void)state;
    assert_string_equal(gt_path_absolute(&arena, "/a/b", "./c/../d//e/"), "/a/b/d/e");
    assert_string_equal(gt_path_absolute(&arena, "/a", "../../.."), "/");
    assert_string_equal(gt_path_absolute(&arena, "/a", "/x/./y"), "/x/y");
    assert_true(gt_path_is_named("./rocprof_output/", "rocprof_output"));
    assert_false(gt_path_is_named("my_rocprof_output", "rocprof_output"));
}

static void options_of_rocprofv3_have_values(void **state)
{
    (void)state;
    static const char *const words[] = {"--hip-trace", "false",  "-f", "csv", "JSON", "--hsa-trace=no",
                                        "--stats",     "--made", "up", "-d",  "x",    "--kernel-trace"};
    gt_profiler_options options = gt_profiler_options_parse(&arena, words, 12);
    assert_int_equal(options.count, 7);
    assert_false(gt_profiler_option_is_on(&options, "hip-trace"));
    assert_false(gt_profiler_option_is_on(&options, "hsa-trace"));
    assert_true(gt_profiler_option_is_on(&options, "stats"));
    assert_true(gt_profiler_option_is_on(&options, "kernel-trace"));
    assert_int_equal(gt_profiler_option_find(&options, "output-format")->value_count, 2);
    assert_string_equal(gt_profiler_option_find(&options, "output-directory")->values[0], "x");
    assert_int_equal(gt_profiler_option_find(&options, "made")->takes, GT_TAKES_UNKNOWN);
}

static void passes_are_lines_with_pmc(void **state)
{
    (void)state;
    static const char text[] = "# pmc: OLD\npmc: SQ_WAVES L2CacheMiss\n\nnothing\npmc: L2CacheHit # gone";
    size_t in_comments;
    assert_int_equal(gt_counter_passes((gt_str){text, sizeof text - 1}, &in_comments), 3);
    assert_int_equal(in_comments, 1);
    gt_buffer unavailable = {0}, only_old = {0};
    gt_counters_unknown((gt_str){text, sizeof text - 1}, &unavailable, &only_old);
    assert_string_equal(gt_buffer_str(&unavailable).bytes, "L2CacheMiss");
    assert_string_equal(gt_buffer_str(&only_old).bytes, "L2CacheHit");
    gt_buffer_free(&unavailable);
    gt_buffer_free(&only_old);
}

static void check_histogram(const char *csv, const char *expected)
{
    gt_interner *strings = gt_interner_new();
    gt_error error;
    char path[] = "/tmp/gt_histogram_XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, csv, strlen(csv)), strlen(csv));
    close(descriptor);
    gt_table *table = gt_csv_table_read_as(path, GT_SHEET("counters"), GT_READ_STRINGS, strings, &error);
    unlink(path);
    assert_non_null(table);
    gt_histogram histogram = {0};
    gt_buffer text = {0};
    gt_histogram_add(&histogram, table);
    gt_histogram_print(&histogram, &text);
    assert_string_equal(gt_buffer_str(&text).bytes, expected);
    gt_buffer_free(&text);
    gt_table_free(table);
    gt_interner_free(strings);
}

static void instructions_by_class(void **state)
{
    (void)state;
    check_histogram(
        "Kernel_Name,SQ_INSTS_VALU,SQ_INSTS_VALU_ADD_F32,SQ_ACTIVE_INST_VALU,SQ_INSTS_SALU,SQ_INSTS_VMEM_RD,"
        "SQ_INSTS_VMEM_WR,SQ_WAIT_INST_ANY,SQ_INSTS_SMEM,SQ_INSTS_BRANCH\n"
        "k1,100,10,7,20,3,4,50,9,1\n"
        "k2,1.5e3,0,\"9007199254740993\",1,0.9,,bad,2,3\n",
        "{\n\"VALU\": 9007199254742610,\n\"SALU\": 21,\n\"VMEM\": 7,\n\"WAITCNT\": 50,\n\"SMEM\": "
        "11,\n\"BRANCH\": "
        "4\n}");
    check_histogram(
        "Kernel_Name,Counter_Name,Counter_Value\n\"k1\",\"SQ_INSTS_SALU\",5\n\"k1\",\"SQ_WAVES\",7\n"
        "\"k2\",\"SQ_INSTS_SALU\",2.5\n\"k2\",\"sq insts-branch\",1\n",
        "{\n\"SALU\": 7\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_wrap_like_madengine),
        cmocka_unit_test(splits_words_like_a_shell),
        cmocka_unit_test(quoting_round_trips),
        cmocka_unit_test(paths_are_made_absolute),
        cmocka_unit_test(options_of_rocprofv3_have_values),
        cmocka_unit_test(passes_are_lines_with_pmc),
        cmocka_unit_test(instructions_by_class),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gt_arena_free(&arena);
    return failed;
}
