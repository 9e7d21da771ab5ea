/* Schedules as no program makes them, with a hundred thousand events each: building them must not take
 * quadratic time, which would be minutes here. What comes out must still add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "findings/schedule/build.h"
#include "findings/idle.h"
#include "findings/schedule/names.h"
#include "findings/replay.h"
#include "findings/schedule/sites.h"

enum { MANY = 200000 };

static gt_schedule *large_new(size_t threads, size_t events, size_t points, size_t ops)
{
    gt_schedule *s = gt_alloc_zero(1, sizeof *s);
    s->strings = gt_interner_new();
    s->events = gt_alloc_zero(events, sizeof *s->events);
    s->threads = gt_alloc_zero(threads, sizeof *s->threads);
    s->points = gt_alloc_zero(points, sizeof *s->points);
    s->point_ops = gt_alloc_zero(ops, sizeof *s->point_ops);
    s->ops = gt_alloc_zero(ops, sizeof *s->ops);
    s->steps = gt_alloc_zero(MANY, sizeof *s->steps);
    return s;
}

/* Events come thread by thread, ordered by start. */
static uint32_t add_event(gt_schedule *s, uint32_t thread, gt_event_kind kind, const char *name,
                          int64_t start, int64_t end)
{
    uint32_t at = (uint32_t)s->event_count++;
    if (thread == s->thread_count) s->threads[s->thread_count++].first = at;
    s->threads[thread].end = at + 1;
    uint32_t parent = at > s->threads[thread].first ? at - 1 : GT_NONE;
    while (parent != GT_NONE && s->events[parent].end_ns <= start) parent = s->events[parent].parent;
    s->events[at] = (gt_host_event){.start_ns = start,
                                    .end_ns = end,
                                    .name = gt_interner_add_cstr(s->strings, name),
                                    .parent = parent,
                                    .kind = kind & 15u};
    return at;
}

/* Points come ordered by start. */
static uint32_t add_point(gt_schedule *s, uint32_t event, gt_api_kind kind)
{
    uint32_t at = (uint32_t)s->point_count++;
    s->events[event].call = kind & 15u;
    uint32_t thread = gt_schedule_thread_of(s, event);
    s->threads[thread].launches = true;
    s->points[at] = (gt_host_point){.start_ns = s->events[event].start_ns,
                                    .end_ns = s->events[event].end_ns,
                                    .event = event,
                                    .thread = thread,
                                    .step = -1,
                                    .kind = (uint8_t)kind};
    return at;
}

/* Ops come ordered by start, with one op per point at most. */
static void add_op(gt_schedule *s, uint32_t stream, uint32_t point, int64_t start, int64_t end)
{
    uint32_t at = (uint32_t)s->op_count++;
    s->ops[at] = (gt_gpu_op){.start_ns = start,
                             .end_ns = end,
                             .name = gt_interner_add_cstr(s->strings, "kernel"),
                             .stream = stream,
                             .point = point,
                             .host_op = GT_NONE,
                             .step = -1,
                             .kind = GT_KIND_KERNEL};
    s->point_ops[at] = at;
    if (point != GT_NONE) s->points[point].first_op = at, s->points[point].op_count = 1;
    if (stream >= s->stream_count) s->stream_count = stream + 1;
}

static void build_and_check(gt_schedule *s)
{
    uint32_t names = gt_interner_count(s->strings);
    uint8_t *seen = gt_alloc(names);
    memset(seen, 0xff, names);
    gt_find_name_bits(s, seen, names);
    gt_free(seen);
    s->window =
        (gt_step_window){.start_ns = s->op_count ? s->ops[0].start_ns : 0, .end_op = GT_NONE, .steps = 1};
    for (size_t i = 0; i < s->op_count; i++)
        if (s->ops[i].end_ns > s->window.end_ns) s->window.end_ns = s->ops[i].end_ns;
    gt_build_points(s);
    gt_build_first_use(s);
    gt_build_starts(s);
    gt_build_labels(s);
    gt_build_overhead(s);
    int64_t before = 0, pieces = 0, causes = 0;
    for (size_t i = 0; i < s->point_count; i++) before += s->points[i].before_ns;
    for (size_t i = 0; i < s->piece_count; i++) pieces += s->pieces[i].end_ns - s->pieces[i].start_ns;
    assert_int_equal(before, pieces);
    gt_idle *idle = gt_idle_find(s);
    for (int i = 0; i < GT_CAUSES; i++) causes += idle->cause_ns[i];
    assert_int_equal(causes, idle->total_ns);
    gt_idle_free(idle);
    gt_edit edit = {0};
    for (int label = 0; label < GT_CAUSES; label++) gt_edit_remove_label(&edit, s, (gt_cause)label);
    const gt_edit *edits[] = {&edit};
    double step = gt_replay_run(s, edits, 1, (gt_replay_options){.gpu_alone = true}, NULL);
    assert_true(step >= 0 && step <= (double)(s->window.end_ns - s->window.start_ns) + 1);
    gt_edit_free(&edit);
    gt_interner_free(s->strings);
    s->strings = NULL;
    gt_schedule_free(s);
}

/* A function that calls a function that calls ..., with a launch and a long time in each. */
static void deep_stacks(void **state)
{
    (void)state;
    gt_schedule *s = large_new(1, 2 * MANY, MANY, MANY);
    for (int64_t i = 0; i < MANY; i++) {
        int64_t at = i * 1000000;
        add_event(s, 0, GT_KIND_PYTHON, i % 2 ? "<built-in f>" : "<lambda>", at, 4 * (int64_t)MANY * 1000000);
        uint32_t call = add_event(s, 0, GT_KIND_RUNTIME, "cudaLaunchKernel", at + 900000, at + 905000);
        add_op(s, 0, add_point(s, call, GT_API_LAUNCH), at + 910000, at + 920000);
    }
    build_and_check(s);
}

/* The same with ops inside each other. */
static void deep_ops(void **state)
{
    (void)state;
    gt_schedule *s = large_new(1, 2 * MANY, MANY, MANY);
    for (int64_t i = 0; i < MANY; i++) {
        int64_t at = i * 1000;
        uint32_t op = add_event(s, 0, GT_KIND_CPU_OP, "aten::as_strided", at, 2 * (int64_t)MANY * 1000 - at);
        if (i % 3 == 0) s->events[op].flags = GT_HOST_HEAVY;
        uint32_t call = add_event(s, 0, GT_KIND_RUNTIME, "cudaStreamSynchronize", at + 900, at + 905);
        add_op(s, 0, add_point(s, call, i % 2 ? GT_API_SYNC : GT_API_LAUNCH), at + 910, at + 950);
    }
    build_and_check(s);
}

/* One call from the beginning to the end, and many short ones of another thread with gaps between. */
static void a_call_around_everything(void **state)
{
    (void)state;
    gt_schedule *s = large_new(2, MANY + 1, MANY + 1, MANY);
    uint32_t call = add_event(s, 0, GT_KIND_RUNTIME, "cudaMalloc", 0, (int64_t)MANY * 20000);
    add_point(s, call, GT_API_ALLOC);
    for (int64_t i = 0; i < MANY; i++) {
        call = add_event(s, 1, GT_KIND_RUNTIME, "cudaLaunchKernel", i * 20000 + 1000, i * 20000 + 2000);
        add_op(s, 0, add_point(s, call, GT_API_LAUNCH), i * 20000 + 3000, i * 20000 + 9000);
    }
    build_and_check(s);
}

/* All calls come after all ops, and every one waits: for the op that ended first. */
static void clocks_that_disagree(void **state)
{
    (void)state;
    gt_schedule *s = large_new(1, MANY, MANY, MANY);
    for (int64_t i = 0; i < MANY; i++) {
        int64_t at = (MANY + i) * 20000;
        add_point(s, add_event(s, 0, GT_KIND_RUNTIME, "cudaFree", at, at + 10000), GT_API_FREE);
    }
    for (int64_t i = 0; i < MANY; i++) add_op(s, 0, (uint32_t)(MANY - 1 - i), i * 20000, i * 20000 + 15000);
    build_and_check(s);
}

/* Each call is made by a thread of its own, which is inside an op all the time. */
static void many_threads(void **state)
{
    (void)state;
    enum { THREADS = MANY / 4 };
    gt_schedule *s = large_new(THREADS, 2 * THREADS, THREADS, THREADS);
    for (int64_t i = 0; i < THREADS; i++) {
        add_event(s, (uint32_t)i, GT_KIND_PYTHON, "a.py(1): f", 0, (int64_t)MANY * 1000000);
        int64_t at = 300000 * i + 100000;
        uint32_t call = add_event(s, (uint32_t)i, GT_KIND_RUNTIME, "cudaLaunchKernel", at, at + 150000);
        add_op(s, (uint32_t)i, add_point(s, call, GT_API_LAUNCH), at + 5000, at + 8000);
    }
    build_and_check(s);
}

/* As many steps as calls, all within the time before one call and inside each other. */
static void many_steps(void **state)
{
    (void)state;
    gt_schedule *s = large_new(1, MANY + 2, 2, 2);
    uint32_t call = add_event(s, 0, GT_KIND_RUNTIME, "cudaLaunchKernel", 0, 10);
    add_op(s, 0, add_point(s, call, GT_API_LAUNCH), 20, 30);
    for (int64_t i = 0; i < MANY; i++) {
        add_event(s, 0, GT_KIND_PYTHON, "a.py(1): f", 1000 + i * 100, 1050 + i * 100);
        s->steps[s->step_count++] =
            (gt_step_times){1000 + i * 100, 1010 + (i % 7) * (MANY - i), GT_NONE, GT_STR_NONE};
    }
    call = add_event(s, 0, GT_KIND_RUNTIME, "cudaLaunchKernel", 1000 + MANY * 100, 1010 + MANY * 100);
    add_op(s, 0, add_point(s, call, GT_API_LAUNCH), 1020 + MANY * 100, 1030 + MANY * 100);
    build_and_check(s);
}

/* Every synchronisation has a site of its own among many, and all their loops overlap. */
static void many_bursts(void **state)
{
    (void)state;
    enum { SITES = 1000 };
    gt_schedule *s = large_new(1, 2 * MANY, MANY, MANY);
    for (int64_t i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "op%d", (int)(i % SITES));
        add_event(s, 0, GT_KIND_CPU_OP, name, i * 400, i * 400 + 300);
        uint32_t call =
            add_event(s, 0, GT_KIND_RUNTIME, "cudaStreamSynchronize", i * 400 + 100, i * 400 + 300);
        add_op(s, 0, GT_NONE, i * 400, i * 400 + 50);
        add_point(s, call, GT_API_SYNC);
    }
    build_and_check(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_stacks),
        cmocka_unit_test(deep_ops),
        cmocka_unit_test(a_call_around_everything),
        cmocka_unit_test(clocks_that_disagree),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(many_steps),
        cmocka_unit_test(many_bursts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
