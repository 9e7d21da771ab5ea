/* The settings of a sweep: axes by folder names and by sweep.json, their order, repeats, outcomes, places of
 * reports. */
#include "output_help.h"

#include "base/memory.h"
#include "sweep/layout.h"

static void make(const char *place)
{
    char command[512];
    snprintf(command, sizeof command, "mkdir -p '%s/%s'", scratch, place);
    assert_int_equal(system(command), 0);
}

static void write_record(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/sweep.json", scratch);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static gt_sweep open_sweep(void)
{
    gt_sweep sweep;
    gt_error error = {""};
    if (!gt_sweep_open(&sweep, scratch, &error)) fail_msg("%s", error.text);
    return sweep;
}

/* The names of all runs, separated by spaces. */
static char *names_of(const gt_sweep *sweep)
{
    static char text[2048];
    text[0] = 0;
    for (size_t i = 0; i < sweep->count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                 sweep->configs[i].name);
    return text;
}

static void threads_and_channels(void **state)
{
    (void)state;
    make("256thread/nccl_112channels");
    make("256thread/nccl_28channels");
    make("1024thread/nccl_28channels");
    make("mode_fast/torch_profiler"); /* beside folders of threads: not part of the sweep */
    make("256thread/nccl_xchannels/torch_profiler");
    make("256thread/nccl_28channels_old/torch_profiler");
    make("tracelens_analysis/512thread/nccl_28channels");
    gt_sweep sweep = open_sweep();
    assert_true(sweep.is_classic);
    assert_string_equal(names_of(&sweep), "1024thread_28ch 256thread_28ch 256thread_112ch");
    assert_int_equal(sweep.axis_count, 2);
    assert_string_equal(sweep.axes[0].name, "threads");
    assert_string_equal(sweep.axes[1].values[0], "28");
    assert_string_equal(sweep.axes[1].values[1], "112");
    assert_true(sweep.axes[1].is_whole);
    assert_int_equal(sweep.configs[0].status, GT_RUN_UNKNOWN);
    assert_int_equal(sweep.configs[0].repeat, 1);
    char *path = gt_sweep_rank_report("A", &sweep.configs[2], 3);
    assert_string_equal(path, "A/256thread/individual_reports/perf_112ch_rank3.xlsx");
    gt_free(path);
    path = gt_sweep_collective_report("A", &sweep.configs[2]);
    assert_string_equal(path, "A/256thread/collective_reports/collective_112ch.xlsx");
    gt_free(path);
    gt_sweep_free(&sweep);
}

static void axes_by_folder_names(void **state)
{
    (void)state;
    make("batch_size_8/mode_max_autotune/torch_profiler");
    make("batch_size_16/mode_max_autotune/torch_profiler");
    make("batch_size_16/mode_eager/rocprof_traces");
    make("batch_size_8/notes_old"); /* no run */
    make("nccl_manychannels/torch_profiler");
    gt_sweep sweep = open_sweep();
    assert_false(sweep.is_classic);
    assert_int_equal(sweep.axis_count, 2);
    assert_string_equal(sweep.axes[0].name, "batch_size");
    assert_string_equal(sweep.axes[1].name, "mode");
    assert_string_equal(names_of(&sweep), "batch_size_8_mode_max_autotune batch_size_16_mode_eager "
                                          "batch_size_16_mode_max_autotune");
    assert_string_equal(sweep.configs[0].values[0].axis, "batch_size");
    assert_string_equal(sweep.configs[0].values[0].value, "8");
    assert_string_equal(sweep.configs[0].values[1].value, "max_autotune");
    char *path = gt_sweep_rank_report("A", &sweep.configs[0], 0);
    assert_string_equal(path, "A/batch_size_8/individual_reports/perf_mode_max_autotune_rank0.xlsx");
    gt_free(path);
    gt_sweep_free(&sweep);
}

/* sweep.json says which part of a name is the axis, the order of the values, how runs ended, and which repeat
 * they are; the sweep may have been moved since. */
static void axes_by_record(void **state)
{
    (void)state;
    make("a_b_z/torch_profiler");
    make("a_b_c_d/torch_profiler");
    make("repeat_2/a_b_z/torch_profiler");
    write_record(
        "{\"sweep\": \"old/\", \"axes\": [{\"name\": \"a_b\", \"values\": [\"z\", \"c_d\", \"unused\"]},"
        "{\"name\": \"rank\", \"values\": [\"1\"]}], \"points\": ["
        "{\"directory\": \"old/a_b_c_d\", \"values\": {\"a_b\": \"c_d\"}, \"status\": \"TIMEOUT\", "
        "\"exit_code\": 143},"
        "{\"directory\": \"old/a_b_unused\", \"values\": {\"a_b\": \"unused\"}, \"status\": \"PENDING\"},"
        "{\"directory\": \"old/../x\", \"values\": {\"a_b\": \"x\"}, \"status\": \"SUCCESS\"},"
        "{\"directory\": \"old/repeat_2/a_b_z\", \"values\": {\"a_b\": \"z\"}, \"repeat\": 2, "
        "\"status\": \"SUCCESS\", \"exit_code\": 0}, 5, null]}");
    gt_sweep sweep = open_sweep();
    assert_string_equal(names_of(&sweep), "a_b_z a_b_z_repeat_2 a_b_c_d");
    assert_int_equal(sweep.axis_count, 1);
    assert_int_equal(sweep.axes[0].value_count, 2);
    assert_string_equal(sweep.axes[0].values[1], "c_d");
    assert_int_equal(sweep.repeats, 2);
    assert_int_equal(sweep.configs[0].status, GT_RUN_UNKNOWN);
    assert_int_equal(sweep.configs[1].status, GT_RUN_SUCCESS);
    assert_int_equal(sweep.configs[1].repeat, 2);
    assert_string_equal(sweep.configs[1].setting, sweep.configs[0].setting);
    assert_int_equal(sweep.configs[2].status, GT_RUN_TIMEOUT);
    assert_int_equal(sweep.configs[2].exit_code, 143);
    assert_int_equal(sweep.failed, 1);
    char *path = gt_sweep_collective_report("A", &sweep.configs[1]);
    assert_string_equal(path, "A/repeat_2/collective_reports/collective_a_b_z.xlsx");
    gt_free(path);
    gt_sweep_leave_out_failed(&sweep, true);
    assert_int_equal(sweep.count, 3);
    gt_sweep_leave_out_failed(&sweep, false);
    assert_string_equal(names_of(&sweep), "a_b_z a_b_z_repeat_2");
    gt_sweep_free(&sweep);
}

static void numbers_in_order(void **state)
{
    (void)state;
    make("x_1e3/torch_profiler");
    make("x_200/torch_profiler");
    make("x_0.5/torch_profiler");
    gt_sweep sweep = open_sweep();
    assert_string_equal(names_of(&sweep), "x_0.5 x_200 x_1e3");
    assert_false(sweep.axes[0].is_numeric); /* tables would show 1000.0 */
    gt_sweep_free(&sweep);
}

/* A number is one only if it stays different from others and is shown as it is written. */
static void kinds_of_axes(void **state)
{
    (void)state;
    static const struct {
        const char *values[3];
        bool is_numeric, is_whole;
    } cases[] = {
        {{"1", "2", "16"}, true, true},
        {{"0.5", "1", "2"}, true, false},
        {{"-3", "0", "9007199254740992"}, true, true},
        {{"1", "01", "1.0"}, false, false},
        {{"008", "8", "9"}, false, false},
        {{"0.50", "1", "2"}, false, false},
        {{"9007199254740993", "9007199254740994", "1"}, false, false},
        {{"nan", "inf", "1"}, false, false},
        {{"-0", "1", "2"}, false, false},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        char axis[16];
        snprintf(axis, sizeof axis, "k%zu", i);
        gt_sweep sweep;
        for (size_t v = 0; v < 3; v++) {
            char path[128];
            snprintf(path, sizeof path, "%s_%s/torch_profiler", axis, cases[i].values[v]);
            make(path);
        }
        sweep = open_sweep();
        size_t at = gt_sweep_axis_named(&sweep, axis);
        assert_true(at != SIZE_MAX);
        if (sweep.axes[at].is_numeric != cases[i].is_numeric || sweep.axes[at].is_whole != cases[i].is_whole)
            fail_msg("%s: %d %d", cases[i].values[0], sweep.axes[at].is_numeric, sweep.axes[at].is_whole);
        gt_sweep_free(&sweep);
    }
}

/* A link that leads back must not be followed for ever, and damage must not be an error. */
static void hostile_sweeps(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "ln -s . '%s/a_1'; ln -s . '%s/b_1'", scratch, scratch);
    assert_int_equal(system(command), 0);
    write_record("{\"sweep\": 3, \"axes\": {\"name\": 1}, \"points\": [[], {\"directory\": 1}, {}]");
    gt_sweep sweep;
    gt_error error = {""};
    assert_false(gt_sweep_open(&sweep, scratch, &error));
    assert_string_equal(gt_run_status_names[gt_run_status_named("NEW")], "UNKNOWN");
    assert_int_equal(gt_run_status_named(NULL), GT_RUN_UNKNOWN);
    gt_sweep_free(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_and_channels, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(axes_by_folder_names, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(axes_by_record, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(numbers_in_order, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(kinds_of_axes, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(hostile_sweeps, make_scratch, remove_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
