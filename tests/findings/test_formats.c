/* Schedules of lists of ops and calls, of rocprofv3 runs and of JAX profiles, and the replay of cut gaps. All
 * expected values are computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include "base/memory.h"
#include "findings/formats/formats.h"
#include "findings/formats/plain.h"
#include "findings/findings.h"
#include "findings/schedule/all_devices.h"

#include <math.h>
#include <string.h>

enum { US = 1000 };

/* ---- lists ---- */

static gt_plain_trace plain_new(void)
{
    return (gt_plain_trace){.strings = gt_interner_new(), .origin = GT_BY_ROCPROF, .device_count = 1};
}

static void add_op(gt_plain_trace *t, int64_t start_ns, int64_t length_ns, uint64_t stream, uint64_t launch)
{
    gt_plain_op op = {.start_ns = start_ns,
                      .end_ns = start_ns + length_ns,
                      .stream = stream,
                      .launch = launch,
                      .has_launch = launch != 0,
                      .name = gt_interner_add_cstr(t->strings, "kernel"),
                      .category = GT_STR_EMPTY,
                      .row = (uint32_t)t->op_count,
                      .kind = GT_KIND_KERNEL};
    GT_PUSH(t->ops, t->op_count, t->op_capacity, op);
}

static void add_call(gt_plain_trace *t, const char *name, int64_t start_ns, int64_t length_ns,
                     uint64_t thread, uint64_t launch)
{
    gt_plain_call call = {.start_ns = start_ns,
                          .end_ns = start_ns + length_ns,
                          .thread = thread,
                          .launch = launch,
                          .has_launch = launch != 0,
                          .name = gt_interner_add_cstr(t->strings, name),
                          .row = (uint32_t)t->call_count};
    GT_PUSH(t->calls, t->call_count, t->call_capacity, call);
}

static void free_all(gt_schedule *schedule, gt_plain_trace *t)
{
    gt_schedule_free(schedule);
    gt_interner_free(t->strings);
    gt_plain_free(t);
}

/* Records in any order: threads one after the other, ops by start, each op with its call. */
static void test_order(void **state)
{
    (void)state;
    gt_plain_trace t = plain_new();
    const int64_t begin = INT64_C(1) << 60;
    add_op(&t, begin + 40 * US, 5 * US, 9, 2);
    add_op(&t, begin + 10 * US, 5 * US, 4, 1);
    add_op(&t, begin + 20 * US, 5 * US, 4, 0);
    add_call(&t, "hipLaunchKernel", begin + 30 * US, 4 * US, 2, 2);
    add_call(&t, "hipDeviceSynchronize", begin + 60 * US, 1 * US, 1, 77);
    add_call(&t, "hipLaunchKernel", begin, 4 * US, 1, 1);
    add_call(&t, "hipGetDevice", begin + 1 * US, 1 * US, 1, 78);
    gt_schedule *s = gt_schedule_of_plain(&t);

    assert_int_equal(s->op_count, 3);
    assert_int_equal(s->ops[0].start_ns, 10 * US);
    assert_int_equal(s->ops[1].start_ns, 20 * US);
    assert_int_equal(s->ops[2].start_ns, 40 * US);
    assert_int_equal(s->ops[0].stream, s->ops[1].stream);
    assert_int_not_equal(s->ops[0].stream, s->ops[2].stream);
    assert_int_equal(s->ops[1].previous, 0);
    assert_int_equal(s->ops[1].point, GT_NONE);

    assert_int_equal(s->thread_count, 2);
    assert_int_equal(s->event_count, 4);
    assert_int_equal(s->events[1].parent, 0); /* hipGetDevice inside of the launch */
    assert_int_equal(s->events[0].launches, 1);
    assert_int_equal(s->point_count, 3); /* hipGetDevice is none */
    assert_int_equal(s->points[0].kind, GT_API_LAUNCH);
    assert_int_equal(s->points[1].kind, GT_API_LAUNCH);
    assert_int_equal(s->points[2].kind, GT_API_SYNC);
    assert_int_equal(s->ops[0].point, 0);
    assert_int_equal(s->ops[2].point, 1);
    assert_int_equal(s->points[1].before_ns, 26 * US);
    free_all(s, &t);
}

/* The ops of a graph have one call. */
static void test_graph(void **state)
{
    (void)state;
    gt_plain_trace t = plain_new();
    add_call(&t, "hipGraphLaunch", 0, 4 * US, 1, 5);
    for (int64_t i = 0; i < 3; i++) add_op(&t, (10 + 10 * i) * US, 5 * US, 1, 5);
    gt_schedule *s = gt_schedule_of_plain(&t);
    assert_int_equal(s->point_count, 1);
    assert_int_equal(s->points[0].op_count, 3);
    gt_idle *idle = gt_idle_find(s);
    assert_int_equal(idle->cause_ns[GT_CAUSE_DEVICE_GAP], 10 * US);
    assert_int_equal(idle->total_ns, 10 * US);
    gt_idle_free(idle);
    free_all(s, &t);
}

/* Times that no clock has: nothing overflows, and the causes still add up. */
static void test_absurd_times(void **state)
{
    (void)state;
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    enum { COUNT = sizeof times / sizeof *times };
    for (size_t a = 0; a < COUNT; a++)
        for (size_t b = 0; b < COUNT; b++) {
            gt_plain_trace t = plain_new();
            add_op(&t, 1000, 10, 1, 1);
            add_op(&t, 2000, 10, 1, 2);
            add_op(&t, 0, 0, 2, 3);
            t.ops[2].start_ns = times[a];
            t.ops[2].end_ns = times[b];
            add_call(&t, "hipLaunchKernel", 500, 10, 1, 1);
            add_call(&t, "hipLaunchKernel", 0, 0, 1, 3);
            t.calls[1].start_ns = times[b];
            t.calls[1].end_ns = times[a];
            gt_schedule *s = gt_schedule_of_plain(&t);
            gt_idle *idle = gt_idle_find(s);
            int64_t sum = 0;
            for (size_t c = 0; c < GT_CAUSES; c++) sum += idle->cause_ns[c];
            assert_int_equal(sum, idle->total_ns);
            assert_true(s->window.end_ns >= s->window.start_ns && s->window.end_ns <= s->limit_ns);
            assert_true(isfinite(gt_replay_run(s, NULL, 0, (gt_replay_options){0}, NULL)));
            gt_idle_free(idle);
            free_all(s, &t);
        }
}

static void test_empty(void **state)
{
    (void)state;
    gt_plain_trace t = plain_new();
    gt_schedule *s = gt_schedule_of_plain(&t);
    assert_int_equal(s->op_count, 0);
    gt_findings *f = gt_findings_of_schedule(s, &(gt_findings_options){0});
    assert_int_equal(f->trust.verdict, GT_TRUST_FAIL);
    gt_findings_free(f);
    gt_interner_free(t.strings);
    gt_plain_free(&t);
}

/* ---- replay ---- */

/* Gaps of 8, 3 and 30 us; the last op waits for another stream. Cut to 5 us, 3 + 25 us vanish. */
static void test_cut_gaps(void **state)
{
    (void)state;
    gt_plain_trace t = plain_new();
    add_op(&t, 0, 10 * US, 1, 0);
    add_op(&t, 18 * US, 10 * US, 1, 0);
    add_op(&t, 31 * US, 10 * US, 1, 0);
    add_op(&t, 45 * US, 10 * US, 2, 0);
    add_op(&t, 85 * US, 10 * US, 1, 0);
    gt_schedule *s = gt_schedule_of_plain(&t);
    assert_int_equal(s->ops[4].begins, GT_START_DEPENDENCY);
    gt_edit edit = {0};
    assert_true(gt_replay_run(s, NULL, 0, (gt_replay_options){0}, NULL) == 95 * US);
    gt_edit_op_cut_gap(&edit, 1, 5 * US);
    gt_edit_op_cut_gap(&edit, 2, 5 * US);
    const gt_edit *edits[] = {&edit};
    double start[5], end[5];
    gt_replay_run(s, edits, 1, (gt_replay_options){0}, &(gt_replay_times){start, end});
    assert_true(start[1] == 15 * US && start[2] == 28 * US);
    gt_edit_op_cut_gap(&edit, 4, 5 * US);
    gt_replay_run(s, edits, 1, (gt_replay_options){0}, &(gt_replay_times){start, end});
    assert_true(start[4] == end[3] + 5 * US);
    gt_edit_free(&edit);
    free_all(s, &t);
}

/* ---- rocprofv3 ---- */

static void put(gt_store_cell *cells, uint64_t *present, size_t column, int64_t value)
{
    cells[column].integer = value;
    *present |= UINT64_C(1) << column;
}

static void add_dispatch(gt_rocprof_writers *w, int64_t start, int64_t end, int64_t stream, int64_t queue,
                         int64_t agent)
{
    gt_store_cell cells[GT_DISPATCH_COLUMNS];
    uint64_t present = 0;
    put(cells, &present, GT_DISPATCH_KERNEL_ID, 1);
    put(cells, &present, GT_DISPATCH_START, start);
    put(cells, &present, GT_DISPATCH_END, end);
    put(cells, &present, GT_DISPATCH_STREAM, stream);
    put(cells, &present, GT_DISPATCH_QUEUE, queue);
    put(cells, &present, GT_DISPATCH_AGENT, agent);
    gt_rocprof_write_dispatch(w, present, cells);
}

static void add_rocprof_copy(gt_rocprof_writers *w, int64_t start, int64_t end, int64_t direction)
{
    gt_store_cell cells[GT_COPY_COLUMNS];
    uint64_t present = 0;
    put(cells, &present, GT_COPY_START, start);
    put(cells, &present, GT_COPY_END, end);
    put(cells, &present, GT_COPY_DIRECTION, direction);
    put(cells, &present, GT_COPY_BYTES, 4096);
    put(cells, &present, GT_COPY_SOURCE, 0);
    put(cells, &present, GT_COPY_DESTINATION, 2);
    gt_rocprof_write_copy(w, present, cells);
}

/* The busiest of two GPUs; without streams, queues and copies run side by side. */
static void test_rocprof(void **state)
{
    (void)state;
    gt_rocprof *run = gt_rocprof_new_wanted(GT_WANT_FOR_FINDINGS);
    gt_kernel_names_set(run, 1, gt_interner_add_cstr(run->strings, "ncclDevKernel"));
    gt_rocprof_writers w = gt_rocprof_write(run);
    add_dispatch(&w, 100, 200, 0, 1, 1);
    add_dispatch(&w, 100, 600, 0, 1, 2);
    add_dispatch(&w, 200, 300, 0, 3, 2);
    add_dispatch(&w, 700, 650, 0, 3, 2); /* ends before it starts */
    add_rocprof_copy(&w, 150, 250, GT_COPY_HOST_TO_DEVICE);
    gt_rocprof_write_end(&w);
    gt_schedule *s = gt_schedule_of_rocprof(run, false);
    assert_int_equal(s->origin, GT_BY_ROCPROF);
    assert_int_equal(s->device_count, 2);
    assert_int_equal(s->op_count, 4);
    assert_int_equal(s->point_count, 0);
    assert_int_equal(s->stream_count, 3);
    assert_int_equal(s->ops[0].end_ns - s->ops[0].start_ns, 500);
    assert_true(s->ops[0].communicates);
    assert_int_equal(s->ops[1].kind, GT_KIND_MEMCPY);
    assert_int_equal(s->ops[1].bytes, 4096);
    assert_string_equal(gt_interner_get(s->strings, s->ops[1].name).bytes, "Memcpy HtoD");
    assert_int_equal(s->ops[3].start_ns, s->ops[3].end_ns);
    assert_string_equal(gt_schedule_device_name(s), "");
    gt_schedule_free(s);
    gt_rocprof_free(run);
}

/* What runs side by side counts once; of two GPUs that are as busy, the one with the lower number. */
static void test_rocprof_busiest(void **state)
{
    (void)state;
    for (int64_t end = 350; end <= 351; end++) {
        gt_rocprof *run = gt_rocprof_new_wanted(GT_WANT_FOR_FINDINGS);
        gt_kernel_names_set(run, 1, gt_interner_add_cstr(run->strings, "kernel"));
        gt_rocprof_writers w = gt_rocprof_write(run);
        add_dispatch(&w, 300, end, 0, 1, 2);
        for (int64_t queue = 1; queue <= 4; queue++) add_dispatch(&w, 100, 250, 0, queue, 1);
        add_rocprof_copy(&w, 150, 250, GT_COPY_HOST_TO_DEVICE); /* of 2 */
        gt_rocprof_write_end(&w);
        gt_schedule *s = gt_schedule_of_rocprof(run, false);
        assert_int_equal(s->device_count, 2);
        assert_int_equal(s->op_count, end == 351 ? 2 : 4);
        gt_schedule_free(s);
        gt_rocprof_free(run);
    }
}

/* For a page: ops of the other GPU, also those before the schedule's time 0, and names of all streams. */
static void test_rocprof_all_devices(void **state)
{
    (void)state;
    gt_rocprof *run = gt_rocprof_new_wanted(GT_WANT_FOR_FINDINGS);
    gt_kernel_names_set(run, 1, gt_interner_add_cstr(run->strings, "kernel"));
    gt_rocprof_writers w = gt_rocprof_write(run);
    add_dispatch(&w, 900, 950, 0, 4, 1);
    add_dispatch(&w, 100, 200, 0, 1, 1);
    add_dispatch(&w, 300, 800, 0, 1, 2);
    add_rocprof_copy(&w, 150, 250, GT_COPY_HOST_TO_DEVICE);
    gt_rocprof_write_end(&w);
    gt_schedule *s = gt_schedule_of_rocprof(run, true);
    assert_int_equal(s->op_count, 2);
    assert_int_equal(s->other_count, 2);
    gt_all_devices devices = gt_all_devices_find(s);
    assert_int_equal(devices.other_count, 2);
    assert_int_equal(devices.others[0].start_ns, -50); /* the copy starts first on the busiest GPU */
    assert_int_equal(devices.others[0].end_ns, 50);
    assert_int_equal(devices.others[1].start_ns, 750);
    assert_int_equal(devices.others[0].event, GT_NONE);
    static const char *const names[][2] = {
        {"GPU 2", "copies to the GPU"}, {"GPU 2", "queue 1"}, {"GPU 1", "queue 1"}, {"GPU 1", "queue 4"}};
    assert_int_equal(devices.stream_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const gt_stream_names *stream = &devices.streams[i];
        assert_string_equal(gt_interner_get(s->strings, stream->device).bytes, names[i][0]);
        assert_string_equal(gt_interner_get(s->strings, stream->stream).bytes, names[i][1]);
        assert_int_equal(stream->device_number, i < 2 ? 2 : 1);
    }
    assert_int_equal(devices.others[0].stream, 2);
    assert_int_equal(devices.others[1].stream, 3);
    gt_all_devices_free(&devices);
    gt_schedule_free(s);
    gt_rocprof_free(run);
}

/* Ops of other devices have the calls that launched them; the schedule has no points for them. */
static void test_other_launches(void **state)
{
    (void)state;
    gt_plain_trace t = plain_new();
    add_op(&t, 10 * US, 5 * US, 4, 1);
    add_op(&t, 20 * US, 5 * US, 4, 2);
    add_op(&t, 20 * US, 5 * US, 4, 3);
    t.other_count = t.other_capacity = 2;
    t.others = gt_alloc(2 * sizeof *t.others);
    for (size_t i = 0; i < 2; i++) t.others[i] = t.ops[i + 1];
    t.op_count = 1;
    add_call(&t, "hipLaunchKernel", 15 * US, 1 * US, 1, 2);
    add_call(&t, "hipLaunchKernel", 0, 1 * US, 1, 1);
    t.calls[0].is_other = true;
    gt_schedule *s = gt_schedule_of_plain(&t);
    assert_int_equal(s->point_count, 1);
    assert_int_equal(s->other_count, 2);
    assert_int_equal(s->others[0].event, 1);
    assert_int_equal(s->others[1].event, GT_NONE);
    gt_all_devices devices = gt_all_devices_find(s); /* nobody has named the streams */
    assert_string_equal(gt_interner_get(s->strings, devices.streams[0].stream).bytes, "stream 0");
    gt_all_devices_free(&devices);
    free_all(s, &t);
}

/* With streams, dispatches of one stream wait for each other, whatever their queues. */
static void test_rocprof_streams(void **state)
{
    (void)state;
    gt_rocprof *run = gt_rocprof_new_wanted(GT_WANT_FOR_FINDINGS);
    gt_kernel_names_set(run, 1, gt_interner_add_cstr(run->strings, "kernel"));
    gt_rocprof_writers w = gt_rocprof_write(run);
    add_dispatch(&w, 100, 200, 7, 1, 2);
    add_dispatch(&w, 300, 400, 7, 2, 2);
    add_dispatch(&w, 500, 600, 8, 2, 2);
    gt_rocprof_write_end(&w);
    gt_schedule *s = gt_schedule_of_rocprof(run, false);
    assert_int_equal(s->stream_count, 2);
    assert_int_equal(s->ops[1].previous, 0);
    assert_int_equal(s->ops[2].previous, GT_NONE);
    gt_schedule_free(s);
    gt_rocprof_free(run);
}

/* ---- JAX ---- */

static void add_jax_event(gt_jax *trace, const char *name, int64_t start_ns, int64_t length_ns,
                          double launch_us, uint64_t correlation)
{
    gt_jax_event event = {.start_ps = start_ns * 1000,
                          .dur_ps = length_ns * 1000,
                          .correlation = correlation,
                          .launch_us = launch_us,
                          .name = gt_interner_add_cstr(trace->strings, name),
                          .op = GT_JAX_NONE,
                          .flags = GT_JAX_HAS_CORRELATION};
    gt_jax_add_event(trace, &event);
}

/* Launches are calls without a duration; kernels of one graph have one. */
static void test_jax(void **state)
{
    (void)state;
    gt_jax *trace = gt_jax_new();
    gt_jax_gpu gpu = {.device = {.vendor = gt_interner_add_cstr(trace->strings, "AMD"),
                                 .cores = 304,
                                 .memory_bytes = UINT64_C(206141652992),
                                 .compute_major = 9,
                                 .compute_minor = 4},
                      .plane = gt_interner_add_cstr(trace->strings, "/device:GPU:3")};
    GT_PUSH(trace->gpus, trace->gpu_count, trace->gpu_capacity, gpu);
    gt_jax_line line = {.thread_name = gt_interner_add_cstr(trace->strings, "Stream #1(Kernel)")};
    GT_PUSH(trace->lines, trace->line_count, trace->line_capacity, line);
    add_jax_event(trace, "ncclDevKernel", 10 * US, 10 * US, 5.0, 1);
    add_jax_event(trace, "Cijk_Ailk", 30 * US, 10 * US, 25.0, 2);
    add_jax_event(trace, "loop_add", 45 * US, 10 * US, 25.0, 2);
    add_jax_event(trace, "MemcpyD2H", 60 * US, 10 * US, (double)NAN, 3);
    gt_jax_op op = {.hlo_op = gt_interner_add_cstr(trace->strings, "fusion.7"),
                    .record = GT_JAX_NONE,
                    .source = {.op_name = {"jit(step)/dot_general", 21}, .found = true}};
    GT_PUSH(trace->ops, trace->op_count, trace->op_capacity, op);
    trace->op[1] = 0;
    trace->gpus[0].end = trace->count;
    gt_jax_sort_events(trace);
    gt_jax_find_kinds(trace);
    gt_schedule *s = gt_schedule_of_jax(trace, true);
    assert_int_equal(s->op_count, 4);
    assert_int_equal(s->all_stream_count, 1);
    assert_string_equal(gt_interner_get(s->strings, s->streams[0].device).bytes, "GPU 3");
    assert_string_equal(gt_interner_get(s->strings, s->streams[0].stream).bytes, "Stream #1(Kernel)");
    assert_string_equal(gt_interner_get(s->strings, s->origins[1].name).bytes, "fusion.7");
    assert_string_equal(gt_interner_get(s->strings, s->origins[1].path).bytes, "jit(step)/dot_general");
    assert_int_equal(s->origins[0].name, GT_STR_NONE);
    assert_int_equal(s->point_count, 2);
    assert_int_equal(s->points[1].op_count, 2);
    assert_int_equal(s->points[1].start_ns, s->points[1].end_ns);
    assert_true(s->ops[0].communicates);
    assert_int_equal(s->ops[3].kind, GT_KIND_MEMCPY);
    assert_int_equal(s->ops[3].point, GT_NONE);
    assert_string_equal(gt_interner_get(s->strings, s->categories[1]).bytes, "GEMM");
    assert_string_equal(gt_schedule_device_name(s), "AMD Instinct MI300X");
    /* The graph was launched in the gap before it; its second kernel was queued; the copy has no launch. */
    gt_idle *idle = gt_idle_find(s);
    assert_int_equal(idle->cause_ns[GT_CAUSE_LAUNCH], 10 * US);
    assert_int_equal(idle->cause_ns[GT_CAUSE_DEVICE_GAP], 5 * US);
    assert_int_equal(idle->cause_ns[GT_CAUSE_UNKNOWN], 5 * US);
    assert_int_equal(idle->total_ns, 20 * US);
    gt_idle_free(idle);
    gt_schedule_free(s);
    gt_jax_free(trace);
}

static void add_jax_gpu(gt_jax *trace, const char *plane)
{
    gt_jax_gpu gpu = {
        .plane = gt_interner_add_cstr(trace->strings, plane), .begin = trace->count, .end = trace->count};
    GT_PUSH(trace->gpus, trace->gpu_count, trace->gpu_capacity, gpu);
}

/* What runs side by side counts once; of two GPUs that are as busy, the first. */
static void test_jax_busiest(void **state)
{
    (void)state;
    for (int64_t us = 10; us <= 11; us++) {
        gt_jax *trace = gt_jax_new();
        gt_jax_line line = {.thread_name = gt_interner_add_cstr(trace->strings, "Stream #1(Kernel)")};
        GT_PUSH(trace->lines, trace->line_count, trace->line_capacity, line);
        add_jax_gpu(trace, "/device:GPU:0");
        for (uint64_t i = 0; i < 3; i++) add_jax_event(trace, "kernel", 10 * US, 10 * US, 5.0, i);
        trace->gpus[0].end = trace->count;
        add_jax_gpu(trace, "/device:GPU:1");
        add_jax_event(trace, "kernel", 30 * US, us * US, 5.0, 9);
        trace->gpus[1].end = trace->count;
        gt_jax_sort_events(trace);
        gt_jax_find_kinds(trace);
        gt_schedule *s = gt_schedule_of_jax(trace, false);
        assert_int_equal(s->device_count, 2);
        assert_int_equal(s->op_count, us == 11 ? 1 : 3);
        gt_schedule_free(s);
        gt_jax_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_absurd_times),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_cut_gaps),
        cmocka_unit_test(test_rocprof),
        cmocka_unit_test(test_rocprof_busiest),
        cmocka_unit_test(test_rocprof_streams),
        cmocka_unit_test(test_jax),
        cmocka_unit_test(test_jax_busiest),
        cmocka_unit_test(test_rocprof_all_devices),
        cmocka_unit_test(test_other_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
