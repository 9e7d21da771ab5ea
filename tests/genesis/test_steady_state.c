/* The steady state of a run, and kinds of simulation kernels: check cases of the specification, and values
 * computed by hand. */
#include "analysis/rocprof/genesis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

/* C13 */
static void begins_after_the_longest_pause(void **state)
{
    (void)state;
    const int64_t starts[] = {0, 100, 200, 5000000000, 5000001000, 5000002000};
    const int64_t ends[] = {50, 150, 250, 5000000500, 5000001500, 5000002500};
    gt_steady_state found;
    gt_steady_state_cutoff(starts, ends, 6, 1000000000, 5000000000, &found);
    assert_int_equal(found.cutoff_ns, 5000000000);
    assert_string_equal(found.method, "after_max_gap_5000.0ms");
}

/* C13 */
static void is_the_last_part_without_a_pause(void **state)
{
    (void)state;
    const int64_t starts[] = {0, 100, 200, 300, 400}, ends[] = {50, 150, 250, 350, 450};
    gt_steady_state found;
    gt_steady_state_cutoff(starts, ends, 5, 1000000000, 300, &found);
    assert_int_equal(found.cutoff_ns, 150);
    assert_string_equal(found.method, "last_0.0s");
}

static void one_dispatch_is_a_steady_state(void **state)
{
    (void)state;
    const int64_t start = 70, end = 90;
    gt_steady_state found;
    gt_error error;
    gt_steady_state_cutoff(&start, &end, 1, 1, 1, &found);
    assert_int_equal(found.cutoff_ns, 70);
    assert_string_equal(found.method, "single_dispatch");
    assert_true(gt_steady_state_find(&start, &end, 1, 1, 1000000000, &found, &error));
    assert_int_equal(found.dispatches, 1);
    assert_int_equal(found.busy_ns, 20);
    assert_true(found.busy_percent == 100.0);
    assert_false(gt_steady_state_find(&start, &end, 0, 1, 1, &found, &error));
}

/* Dispatches in any order, overlapping, touching. */
static void busy_time_is_a_union(void **state)
{
    (void)state;
    const int64_t starts[] = {300, 100, 120, 200, 340}, ends[] = {350, 150, 200, 210, 345};
    gt_steady_state found;
    gt_error error;
    assert_true(gt_steady_state_find(starts, ends, 5, 1000000, 1000000, &found, &error));
    assert_int_equal(found.dispatches, 5);
    assert_int_equal(found.begin_ns, 100);
    assert_int_equal(found.end_ns, 350);
    assert_int_equal(found.busy_ns, 110 + 50);
    assert_true(found.busy_percent == 100.0 * 160 / 250);
    gt_interner *strings = gt_interner_new();
    gt_table *timeline = gt_steady_state_timeline(&found, strings);
    static const double ms[] = {250 / 1e6, 160 / 1e6, 0, 160 / 1e6, 90 / 1e6};
    assert_int_equal(timeline->row_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(gt_table_column(timeline, GT_COL("time ms"))->floats[i] == ms[i]);
    gt_table_free(timeline);
    gt_interner_free(strings);
}

static void kinds_follow_from_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *category;
    } cases[] = {
        {"_kernel_solve_body_c1", "Rigid Body Solver"},
        {"func_broad_phase_c2", "Broadphase Collision"},
        {"_func_narrowphase_x", "Narrowphase Collision"},
        {"func_update_contact_force", "Contact Management"},
        {"kernel_step_1_c3", "Time Integration"},
        {"add_inequality_constraints_c", "Constraints"},
        {"kernel_update_verts", "Forward Kinematics"},
        {"kernel_bit_reduction", "Geometry / AABB"},
        {"__amd_rocclr_initHeap", "Memory Ops (ROCm)"},
        {"fill_ndarray_c0", "Runtime Init"},
        {"void at::native::foo<int>(int)", "PyTorch Runtime"},
        {"_KERNEL_SOLVE_BODY", "Other"},
        {"", "Other"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_str name = {cases[i].name, strlen(cases[i].name)};
        assert_string_equal(gt_genesis_category(name), cases[i].category);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_after_the_longest_pause), cmocka_unit_test(is_the_last_part_without_a_pause),
        cmocka_unit_test(one_dispatch_is_a_steady_state), cmocka_unit_test(busy_time_is_a_union),
        cmocka_unit_test(kinds_follow_from_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
