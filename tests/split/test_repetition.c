/* Patterns in lists of names, and the steps that a call tree repeats. */
#include "analysis/serving/repetition.h"

#include "base/memory.h"
#include "../common/pytorch_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- patterns ---- */

enum { LONGEST = 40 };

static void check_pattern(const char *names, int start, int period)
{
    uint32_t ids[LONGEST];
    gt_pattern found = {0};
    for (size_t i = 0; names[i]; i++) ids[i] = (uint32_t)names[i];
    bool any = gt_pattern_find(ids, strlen(names), &found);
    if (any != (period > 0) || (any && ((int)found.start != start || (int)found.period != period)))
        fail_msg("%s: %d, from %zu with period %zu", names, any, found.start, found.period);
}

static void patterns(void **state)
{
    (void)state;
    check_pattern("ababab", 0, 2);
    check_pattern("xaaa", 1, 1);
    check_pattern("abab", 0, 0);
    check_pattern("aaabbbb", 3, 1); /* three of seven are not most of the rest */
    check_pattern("sabcabcabct", 1, 3);
    check_pattern("abacabacabac", 0, 4);
    check_pattern("", 0, 0);
    check_pattern("aa", 0, 0);
}

/* The definition itself: for each start and period, count the repetitions. */
static bool find_slowly(const uint32_t *names, size_t count, gt_pattern *pattern)
{
    for (size_t start = 0; start < count; start++)
        for (size_t p = 1; 2 * p <= count - start; p++) {
            size_t times = 1;
            while (start + (times + 1) * p <= count &&
                   memcmp(names + start, names + start + times * p, p * sizeof *names) == 0)
                times++;
            if (times < 3 || 2 * times * p <= count - start) continue;
            *pattern = (gt_pattern){start, p, times};
            return true;
        }
    return false;
}

static void random_patterns(void **state)
{
    (void)state;
    srand(7);
    size_t with_pattern = 0;
    for (size_t round = 0; round < 20000; round++) {
        uint32_t names[LONGEST];
        size_t count = (size_t)rand() % LONGEST, period = 1 + (size_t)rand() % 6;
        uint32_t kinds = 1 + (uint32_t)rand() % 4;
        for (size_t i = 0; i < count; i++)
            names[i] = i >= period && rand() % 8 ? names[i - period] : (uint32_t)rand() % kinds;
        gt_pattern expected = {0}, found = {0};
        bool any = find_slowly(names, count, &expected);
        assert_int_equal(gt_pattern_find(names, count, &found), any);
        with_pattern += any;
        if (!any) continue;
        assert_int_equal(found.start, expected.start);
        assert_int_equal(found.period, expected.period);
        assert_int_equal(found.count, expected.count);
    }
    assert_true(with_pattern > 1000);
}

/* ---- call trees ---- */

static void python(trace_text *t, const char *name, double start, double dur)
{
    host(t, "python_function", name, start, dur, "");
}

/* Adds a function of 10 us with an op that launches this many kernels; returns its end. */
static double add_call(trace_text *t, const char *name, double start, int kernels)
{
    static int last_id;
    python(t, name, start, 10);
    cpu(t, "aten::mm", start + 1, 8);
    for (int i = 0; i < kernels; i++) launch(t, "k", start + 2 + 0.5 * i, 0.5, start + 50, 1, ++last_id);
    return start + 10;
}

static gt_repetition find(trace_text *t, gt_pytorch_linked **linked)
{
    *linked = read_trace(t, true);
    gt_calls *calls = gt_calls_new(gt_pytorch_view(*linked));
    gt_repetition found = gt_repetition_find(calls);
    gt_calls_free(calls);
    return found;
}

static void check_steps(const gt_repetition *found, const gt_linked_view *trace, const char *caller,
                        size_t depth, const double *starts, size_t count)
{
    assert_int_equal(found->count, count);
    if (!count) {
        assert_int_equal(found->caller, GT_NO_EVENT);
        return;
    }
    assert_string_equal(gt_event_name(&trace->events, found->caller).bytes, caller);
    assert_int_equal(found->depth, depth);
    for (size_t i = 0; i < count; i++) assert_true(trace->start_us[found->steps[i].first] == starts[i]);
}

/* Steps of two calls below the second level; the last one is not like the others. */
static void steps_of_two_calls(void **state)
{
    (void)state;
    trace_text t = new_trace();
    python(&t, "main", 0, 1000);
    python(&t, "generate", 5, 990);
    double at = add_call(&t, "prepare", 10, 1);
    double starts[4];
    for (int i = 0; i < 3; i++) {
        starts[i] = at;
        at = add_call(&t, "forward at 0x7f0", at, 3);
        at = add_call(&t, "sample", at, 1);
    }
    starts[3] = at;
    at = add_call(&t, "forward at 0x7f1", at, 3);
    at = add_call(&t, "stop", at, 1);
    add_call(&t, "sample", at, 1);
    gt_pytorch_linked *linked;
    gt_repetition found = find(&t, &linked);
    check_steps(&found, gt_pytorch_view(linked), "generate", 1, starts, 4);
    assert_int_equal(found.period, 2);
    gt_repetition_free(&found);
    gt_pytorch_linked_free(linked);
}

/* What repeats but hardly uses the GPU is no step; the search goes on below. */
static void trifles_are_no_steps(void **state)
{
    (void)state;
    trace_text t = new_trace();
    python(&t, "main", 0, 2000);
    python(&t, "work", 1, 900);
    double at = add_call(&t, "first", 2, 9);
    double starts[3];
    for (int i = 0; i < 3; i++) {
        starts[i] = at;
        at = add_call(&t, "layer", at, 9);
    }
    for (int i = 0; i < 4; i++) add_call(&t, "isinstance", 1000 + 20 * i, 0);
    add_call(&t, "isinstance", 1100, 1);
    gt_pytorch_linked *linked;
    gt_repetition found = find(&t, &linked);
    check_steps(&found, gt_pytorch_view(linked), "work", 1, starts, 3);
    gt_repetition_free(&found);
    gt_pytorch_linked_free(linked);
}

/* A name that is twice in the pattern does not mix up the steps. */
static void names_that_occur_twice(void **state)
{
    (void)state;
    trace_text t = new_trace();
    python(&t, "main", 0, 2000);
    double at = 10, starts[3];
    for (int i = 0; i < 3; i++) {
        starts[i] = at;
        at = add_call(&t, "a", at, 1);
        at = add_call(&t, "b", at, 1);
        at = add_call(&t, "a", at, 1);
        at = add_call(&t, "c", at, 1);
    }
    gt_pytorch_linked *linked;
    gt_repetition found = find(&t, &linked);
    check_steps(&found, gt_pytorch_view(linked), "main", 0, starts, 3);
    assert_int_equal(found.period, 4);
    gt_repetition_free(&found);
    gt_pytorch_linked_free(linked);
}

static void nothing_repeats(void **state)
{
    (void)state;
    trace_text t = new_trace();
    python(&t, "main", 0, 2000);
    add_call(&t, "b", add_call(&t, "a", 10, 1), 1);
    gt_pytorch_linked *linked;
    gt_repetition found = find(&t, &linked);
    check_steps(&found, gt_pytorch_view(linked), "", 0, NULL, 0);
    assert_true(found.has_roots);
    gt_repetition_free(&found);
    gt_pytorch_linked_free(linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test(random_patterns),
        cmocka_unit_test(steps_of_two_calls),
        cmocka_unit_test(trifles_are_no_steps),
        cmocka_unit_test(names_that_occur_twice),
        cmocka_unit_test(nothing_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
