/* Small traces as schedules, with expected values worked out by hand. With the path of a trace as argument,
 * prints what its schedule has, for test_schedules.py. */
#include "pytorch_trace.h"

#include "base/team.h"
#include "findings/schedule/names.h"
#include "findings/schedule/schedule.h"

#include <inttypes.h>

/* ---- printing ---- */

typedef struct printing {
    const char *path;
    int status;
} printing;

static void print_points(const gt_schedule *s)
{
    size_t kinds[GT_API_STEP + 1] = {0}, flags[6] = {0};
    int64_t sum_ns = 0;
    for (size_t i = 0; i < s->point_count; i++) {
        kinds[s->points[i].kind]++;
        sum_ns += s->points[i].end_ns - s->points[i].start_ns;
        for (int f = 0; f < 6; f++) flags[f] += s->points[i].flags >> f & 1;
    }
    printf("\"points\": [%zu, %zu, %zu, %zu, %zu, %zu], \"points_ns\": %" PRId64 ",\n", kinds[GT_API_LAUNCH],
           kinds[GT_API_COPY], kinds[GT_API_SYNC], kinds[GT_API_FREE], kinds[GT_API_ALLOC],
           kinds[GT_API_MODULE], sum_ns);
    printf("\"point_flags\": [%zu, %zu, %zu, %zu, %zu],\n", flags[0], flags[1], flags[2], flags[3], flags[4]);
}

static void print_events(const gt_schedule *s)
{
    size_t flags[8] = {0}, roots = 0, launches = 0, depth_sum = 0;
    int64_t sum_ns = 0;
    uint32_t *depth = calloc(s->event_count + 1, sizeof *depth);
    for (size_t i = 0; i < s->event_count; i++) {
        const gt_host_event *event = &s->events[i];
        for (int f = 0; f < 8; f++) flags[f] += event->flags >> f & 1;
        roots += event->parent == GT_NONE;
        depth[i] = event->parent == GT_NONE ? 0 : depth[event->parent] + 1;
        depth_sum += depth[i];
        launches += event->launches;
        sum_ns += event->end_ns - event->start_ns;
    }
    free(depth);
    printf("\"events\": %zu, \"threads\": %zu, \"roots\": %zu, \"depths\": %zu, \"launches\": %zu,\n",
           s->event_count, s->thread_count, roots, depth_sum, launches);
    printf("\"events_ns\": %" PRId64 ", \"event_flags\": [%zu, %zu, %zu, %zu, %zu],\n", sum_ns, flags[0],
           flags[1], flags[2], flags[3], flags[4]);
}

static void print_ops(const gt_schedule *s)
{
    size_t launched = 0, with_op = 0, communicating = 0;
    int64_t sum_ns = 0, bytes = 0;
    for (size_t i = 0; i < s->op_count; i++) {
        launched += s->ops[i].point != GT_NONE;
        with_op += s->ops[i].host_op != GT_NONE;
        communicating += s->ops[i].communicates;
        sum_ns += gt_op_ns(&s->ops[i]);
        bytes += s->ops[i].bytes;
    }
    printf("\"ops\": %zu, \"ops_ns\": %" PRId64 ", \"bytes\": %" PRId64
           ", \"streams\": %u, \"devices\": %zu,\n",
           s->op_count, sum_ns, bytes, s->stream_count, s->device_count);
    printf("\"launched\": %zu, \"with_op\": %zu, \"communicating\": %zu,\n", launched, with_op,
           communicating);
}

static void print_trace(void *context)
{
    printing *p = context;
    gt_error error;
    gt_read_options options = {.threads = 1};
    gt_pytorch_read *read = gt_kineto_read(p->path, (gt_kineto_options){.frames = true}, &options, &error);
    if (!read) {
        fprintf(stderr, "%s\n", error.text);
        p->status = 1;
        return;
    }
    gt_schedule *s = gt_schedule_new(gt_pytorch_read_view(read));
    printf("{");
    print_ops(s);
    print_events(s);
    print_points(s);
    printf("\"steps\": %zu, \"used_steps\": %zu, \"window_steps\": %zu, \"window_ns\": %" PRId64 ",\n",
           s->step_count, s->used_step_count, s->window.steps, s->window.end_ns - s->window.start_ns);
    printf("\"cpu_ops\": %zu, \"shapes\": %zu}\n", s->cpu_op_count, s->shape_count);
    gt_schedule_free(s);
    gt_pytorch_read_free(read);
}

static int print_schedule(const char *path)
{
    printing p = {path, 0};
    gt_team_run(2, print_trace, &p);
    return p.status;
}

/* ---- small traces ---- */

static gt_pytorch_read *read_text(trace_text *t, gt_kineto_options keep)
{
    gt_error error;
    gt_read_options options = {.threads = 1};
    GT_PUSH(t->items, t->count, t->capacity, ']');
    gt_stream *stream = gt_stream_memory(t->items, t->count, 0, &error);
    gt_pytorch_read *read = gt_kineto_read_stream(stream, keep, &options, &error);
    if (!read) fail_msg("%s", error.text);
    gt_stream_close(stream);
    free(t->items);
    return read;
}

typedef struct small_trace {
    gt_pytorch_read *read;
    gt_schedule *schedule;
} small_trace;

static small_trace schedule_of(trace_text *t)
{
    small_trace small = {.read = read_text(t, (gt_kineto_options){.frames = true})};
    small.schedule = gt_schedule_new(gt_pytorch_read_view(small.read));
    return small;
}

static void free_small(small_trace *small)
{
    gt_schedule_free(small->schedule);
    gt_pytorch_read_free(small->read);
}

static const char *name_of(const gt_schedule *s, uint32_t event)
{
    return event == GT_NONE ? "none" : gt_interner_get(s->strings, s->events[event].name).bytes;
}

/* "parent>name start-end" of each event. */
static void expect_events(const gt_schedule *s, const char *const *expected, size_t count)
{
    assert_int_equal(s->event_count, count);
    for (uint32_t i = 0; i < count; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s>%s %" PRId64 "-%" PRId64, name_of(s, s->events[i].parent),
                 name_of(s, i), s->events[i].start_ns, s->events[i].end_ns);
        assert_string_equal(text, expected[i]);
    }
}

/* Python functions come from the frames, and annotations are not cut. */
static void test_nesting(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::linear", 1010, 40);
    cpu(&t, "aten::addmm", 1020, 40); /* ends after its parent */
    host(&t, "python_function", "a.py(1): f", 1000, 100, "");
    host(&t, "user_annotation", "note", 1090, 50, "");
    host(&t, "python_function", "a.py(2): g", 1090, 5, "");
    host(&t, "python_function", "a.py(3): h", 1105, 5, "");
    cpu(&t, "aten::relu", 1200, 0);
    small_trace small = schedule_of(&t);
    static const char *const expected[] = {
        "none>a.py(1): f 0-100000",
        "a.py(1): f>aten::linear 10000-50000",
        "aten::linear>aten::addmm 20000-50000",
        "a.py(1): f>note 90000-140000",
        "note>a.py(2): g 90000-95000",
        "note>a.py(3): h 105000-110000",
        "none>aten::relu 200000-200000",
    };
    expect_events(small.schedule, expected, GT_LENGTH(expected));
    assert_int_equal(small.schedule->thread_count, 1);
    assert_true(small.schedule->has_stacks);
    assert_int_equal(small.schedule->cpu_op_count, 3);
    assert_int_equal(small.schedule->shape_count, 3);
    free_small(&small);
}

static void frame_of(trace_text *t, int thread, const char *name, double start, double dur)
{
    add_event(t,
              "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"%s\",\"pid\":100,\"tid\":%d,\"ts\":%.3f,"
              "\"dur\":%.3f,\"args\":{}}",
              name, thread, start, dur);
}

/* Frames need not be in order, and threads are numbered as they come in the file: 101 before 100. */
static void test_order_of_frames(void **state)
{
    (void)state;
    trace_text t = new_trace();
    frame_of(&t, 101, "b.py(2): inner", 1010, 5);
    cpu(&t, "aten::linear", 1030, 20);
    frame_of(&t, 101, "b.py(1): outer", 1010, 50); /* the same start, but longer */
    frame_of(&t, 100, "a.py(1): f", 1005, 90);
    frame_of(&t, 100, "a.py(2): g", 1040, 5);
    frame_of(&t, 101, "b.py(0): all", 1000, 100);
    frame_of(&t, 101, "b.py(3): later", 1070, 10);
    small_trace small = schedule_of(&t);
    static const char *const expected[] = {
        "none>b.py(0): all 0-100000",
        "b.py(0): all>b.py(1): outer 10000-60000",
        "b.py(1): outer>b.py(2): inner 10000-15000",
        "b.py(0): all>b.py(3): later 70000-80000",
        "none>a.py(1): f 5000-95000",
        "a.py(1): f>aten::linear 30000-50000",
        "aten::linear>a.py(2): g 40000-45000",
    };
    expect_events(small.schedule, expected, GT_LENGTH(expected));
    assert_int_equal(small.schedule->thread_count, 2);
    assert_int_equal(small.schedule->threads[0].end, 4);
    static const uint32_t rows[] = {4, 1, 0, 5, 2, 0, 3}; /* of frames, or of the only row */
    for (size_t i = 0; i < GT_LENGTH(rows); i++) assert_int_equal(small.schedule->events[i].row, rows[i]);
    free_small(&small);
}

/* The same events as rows. */
static void test_python_as_rows(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::linear", 1010, 40);
    host(&t, "python_function", "a.py(1): f", 1000, 100, "");
    small_trace small = {.read =
                             read_text(&t, (gt_kineto_options){.python_functions = true, .frames = true})};
    assert_null(gt_pytorch_read_view(small.read)->frames);
    small.schedule = gt_schedule_new(gt_pytorch_read_view(small.read));
    static const char *const expected[] = {"none>a.py(1): f 0-100000", "a.py(1): f>aten::linear 10000-50000"};
    expect_events(small.schedule, expected, GT_LENGTH(expected));
    free_small(&small);
}

static void test_frames_are_no_rows(void **state)
{
    (void)state;
    trace_text t = new_trace();
    host(&t, "python_function", "a.py(1): f", 1000, 100, "\"Python id\":1");
    cpu(&t, "aten::linear", 1010, 40);
    host(&t, "python_function", "a.py(2): g", 1001.5, 0.25, "\"Python id\":2");
    gpu(&t, "gpu_user_annotation", "note", 1, 2, 1, 7);
    host(&t, "user_annotation", "note", 1, 2, "");
    gt_pytorch_read *read = read_text(&t, (gt_kineto_options){.frames = true});
    const gt_event_view *view = gt_pytorch_read_view(read);
    assert_int_equal(view->count, 3);
    assert_int_equal(view->uid_count, 5);
    assert_int_equal(view->kind[1], GT_KIND_GPU_ANNOTATION);
    assert_int_equal(view->kind[2], GT_KIND_ANNOTATION);
    assert_false(view->has_python);
    static gt_frame_block frames;
    assert_true(gt_frames_read(view->frames, 0, GT_FRAMES_ALL, &frames));
    assert_int_equal(frames.count, 2);
    assert_int_equal(frames.uid[0], 0);
    assert_int_equal(frames.uid[1], 2);
    assert_string_equal(gt_interner_get(view->strings, frames.name[1]).bytes, "a.py(2): g");
    assert_string_equal(gt_interner_get(view->strings, frames.process[1]).bytes, "100");
    assert_string_equal(gt_interner_get(view->strings, frames.thread[1]).bytes, "100");
    assert_true(frames.start_us[1] == 1001.5 && frames.dur_us[1] == 0.25);
    assert_true(gt_frames_read(view->frames, 1, GT_FRAMES_UID, &frames));
    assert_true(frames.count == 1 && frames.uid[0] == 2);
    assert_false(gt_frames_read(view->frames, 2, GT_FRAMES_UID, &frames));
    assert_false(gt_frames_read(NULL, 0, GT_FRAMES_UID, &frames));
    gt_pytorch_read_free(read);
}

static void test_devices(void **state)
{
    (void)state;
    static const char text[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,"
        "\"dur\":1}],\"deviceProperties\":[{\"id\":3,\"name\":\"G\\u0050U\",\"computeMajor\":9,"
        "\"computeMinor\":1,\"totalGlobalMem\":85018279936,\"other\":[1]},5,{\"id\":\"x\",\"name\":7}]}";
    gt_error error;
    gt_read_options options = {.threads = 1};
    for (size_t len = sizeof text - 1; len > sizeof text - 5; len--) {
        gt_stream *stream = gt_stream_memory(text, len, 0, &error);
        gt_pytorch_read *read = gt_kineto_read_stream(stream, (gt_kineto_options){0}, &options, &error);
        gt_stream_close(stream);
        assert_non_null(read);
        const gt_trace_facts *facts = gt_pytorch_read_view(read)->facts;
        assert_int_equal(facts->is_cut_off, len < sizeof text - 1);
        assert_int_equal(facts->device_count, len < sizeof text - 3 ? 2 : 3);
        assert_int_equal(facts->devices[0].id, 3);
        assert_int_equal(facts->devices[0].compute_major, 9);
        assert_int_equal(facts->devices[0].compute_minor, 1);
        assert_true(facts->devices[0].memory_bytes == 85018279936);
        assert_string_equal(
            gt_interner_get(gt_pytorch_read_view(read)->strings, facts->devices[0].name).bytes, "GPU");
        assert_int_equal(facts->devices[1].id, GT_EVENT_NONE);
        assert_int_equal(facts->devices[1].name, GT_STR_NONE);
        gt_pytorch_read_free(read);
    }
}

/* Two kernels of one call, a copy call without its copy, a free with work, and calls that are no points. */
static void test_points(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::a", 1000, 50);
    host(&t, "python_function", "a.py(1): f", 1005, 30, "");
    call(&t, "cuda_runtime", "cudaLaunchKernel", 1010, 5, 1);
    gpu(&t, "kernel", "second", 1100, 10, 1, 7);
    gpu(&t, "kernel", "first", 1090, 10, 1, 9);
    call(&t, "cuda_runtime", "cudaMemcpyAsync", 1200, 60, 2);
    call(&t, "cuda_runtime", "cudaMemcpyAsync", 1300, 50, 3);
    call(&t, "cuda_runtime", "cudaEventQuery", 1400, 1, 4);
    call(&t, "cuda_runtime", "cudaMemcpyAsync", 1500, 2, 5);
    gpu(&t, "gpu_memcpy", "Memcpy DtoH", 1600, 10, 5, 7);
    call(&t, "cuda_runtime", "cudaStreamSynchronize", 1510, 100, 6);
    small_trace small = schedule_of(&t);
    const gt_schedule *s = small.schedule;
    static const uint8_t kinds[] = {GT_API_LAUNCH, GT_API_COPY, GT_API_COPY, GT_API_SYNC};
    static const int starts[] = {10000, 200000, 500000, 510000};
    static const int ops[] = {2, 0, 1, 0};
    assert_int_equal(s->point_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(s->points[i].kind, kinds[i]);
        assert_int_equal(s->points[i].start_ns, starts[i]);
        assert_int_equal(s->points[i].op_count, ops[i]);
        assert_int_equal(s->events[s->points[i].event].start_ns, starts[i]);
    }
    assert_int_equal(s->op_count, 3);
    assert_int_equal(s->stream_count, 2);
    assert_int_equal(s->ops[0].stream, 0); /* stream 9 begins first */
    assert_int_equal(s->point_ops[s->points[0].first_op], 0);
    assert_int_equal(s->point_ops[s->points[0].first_op + 1], 1);
    assert_int_equal(s->ops[1].point, 0);
    assert_int_equal(s->ops[2].point, 2);
    assert_string_equal(name_of(s, s->ops[0].host_op), "aten::a");
    assert_int_equal(s->ops[2].host_op, GT_NONE);
    assert_int_equal(s->events[0].launches, 1);
    assert_int_equal(s->window.start_ns, 90000); /* one window: there are no steps */
    assert_int_equal(s->window.end_ns, 610000);
    assert_int_equal(s->window.steps, 1);
    assert_int_equal(s->window.end_op, GT_NONE);
    free_small(&small);
}

/* aten::a computes 250 us itself inside an op that launches nothing; aten::c launches. */
static void test_heavy(void **state)
{
    (void)state;
    trace_text t = new_trace();
    cpu(&t, "aten::outer", 1000, 400);
    cpu(&t, "aten::a", 1100, 260);
    cpu(&t, "aten::inner", 1110, 10);
    cpu(&t, "aten::view", 2000, 300);
    cpu(&t, "aten::b", 3000, 199);
    cpu(&t, "aten::c", 4000, 300);
    launch(&t, "k", 4010, 5, 4020, 5, 1);
    small_trace small = schedule_of(&t);
    const gt_schedule *s = small.schedule;
    static const bool heavy[] = {true, true, true, false, false, false, false};
    assert_int_equal(s->event_count, GT_LENGTH(heavy));
    for (size_t i = 0; i < GT_LENGTH(heavy); i++)
        assert_int_equal(s->events[i].flags, heavy[i] ? GT_HOST_HEAVY : 0);
    free_small(&small);
}

/* Ops that launch nothing and have 330 us to themselves. Calling twenty views explains it; calling two does
 * not, and neither does calling twenty ops that may compute. */
static void test_heavy_views(void **state)
{
    (void)state;
    trace_text t = new_trace();
    const char *names[] = {"aten::narrow", "aten::view", "aten::a"};
    const double parts[] = {20, 2, 20};
    for (int i = 0; i < 3; i++) {
        cpu(&t, "aten::outer", 1000 + 1000 * i, 330 + parts[i]);
        for (int k = 0; k < parts[i]; k++) cpu(&t, names[i], 1002 + 1000 * i + 10 * k, 1);
    }
    launch(&t, "k", 9010, 5, 9020, 5, 1);
    small_trace small = schedule_of(&t);
    const gt_schedule *s = small.schedule;
    static const bool heavy[] = {false, true, true};
    size_t found = 0;
    for (size_t i = 0; i < s->event_count; i++) {
        if (s->events[i].parent != GT_NONE || s->events[i].kind != GT_KIND_CPU_OP) continue;
        assert_int_equal(s->events[i].flags, heavy[found++] ? GT_HOST_HEAVY : 0);
    }
    assert_int_equal(found, GT_LENGTH(heavy));
    free_small(&small);
}

/* Three steps, of which the second has no GPU work; the kernel of the first is followed by that of the third.
 */
static void test_steps(void **state)
{
    (void)state;
    trace_text t = new_trace();
    launch(&t, "before", 1000, 5, 1010, 5, 1);
    host(&t, "user_annotation", "ProfilerStep#1", 1100, 100, "");
    launch(&t, "first", 1110, 5, 1150, 200, 2);
    host(&t, "user_annotation", "ProfilerStep#2", 1200, 100, "");
    host(&t, "user_annotation", "ProfilerStep#3", 1300, 100, "");
    launch(&t, "third", 1310, 5, 1360, 10, 3);
    launch(&t, "after", 1400, 5, 1500, 10, 4); /* where the step ends */
    gpu(&t, "gpu_user_annotation", "ProfilerStep#9", 1000, 900, 9, 0);
    small_trace small = schedule_of(&t);
    const gt_schedule *s = small.schedule;
    static const int32_t steps[] = {-1, 0, 2, -1};
    assert_int_equal(s->step_count, 3);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(s->points[i].step, steps[i]);
        assert_int_equal(s->ops[i].step, steps[i]);
    }
    assert_int_equal(s->used_step_count, 2);
    assert_int_equal(s->used_steps[1], 2);
    assert_int_equal(s->window.start_ns, 150000);
    assert_int_equal(s->window.end_ns, 360000);
    assert_int_equal(s->window.steps, 2); /* the one without GPU work, too */
    assert_int_equal(s->window.first_op, 1);
    assert_int_equal(s->window.end_op, 2);
    free_small(&small);
}

static void process_call(trace_text *t, int process, double start, int id)
{
    add_event(t,
              "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":%d,\"tid\":1,"
              "\"ts\":%.15g,\"dur\":2,\"args\":{\"correlation\":%d}}",
              process, start, id);
}

/* Two processes use the same ids, and one of them more of those that the device has. */
static void test_processes(void **state)
{
    (void)state;
    trace_text t = new_trace();
    for (int id = 1; id <= 3; id++) process_call(&t, 500, 1000 + 10 * id, id);
    process_call(&t, 501, 2000, 3);
    process_call(&t, 501, 2010, 9); /* launches nothing here */
    for (int id = 1; id <= 3; id++) gpu(&t, "kernel", "k", 3000 + 10 * id, 5, id, 7);
    small_trace small = schedule_of(&t);
    const gt_schedule *s = small.schedule;
    assert_int_equal(s->point_count, 3);
    assert_int_equal(s->event_count, 3);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(s->ops[i].point, i);
    free_small(&small);
}

/* The device that is busy longer is scheduled, with the events of its rank. */
static void test_ranks(void **state)
{
    (void)state;
    trace_text t = new_trace();
    for (int rank = 0; rank < 2; rank++) {
        char args[64];
        snprintf(args, sizeof args, "\"correlation\":1,\"rank\":%d", rank);
        host(&t, "cuda_runtime", "cudaLaunchKernel", 1000 + 100 * rank, 5, args);
        add_event(&t,
                  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,"
                  "\"args\":{\"correlation\":1,\"rank\":%d,\"device\":0}}",
                  2000, 10 + rank, rank);
    }
    small_trace small = schedule_of(&t);
    const gt_schedule *s = small.schedule;
    assert_int_equal(s->device_count, 2);
    assert_int_equal(s->op_count, 1);
    assert_int_equal(gt_op_ns(&s->ops[0]), 11000);
    assert_int_equal(s->point_count, 1);
    assert_int_equal(s->points[0].start_ns, 100000);
    free_small(&small);
}

static void device_kernel(trace_text *t, int device, int stream, int start, int us)
{
    add_event(t,
              "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d,"
              "\"args\":{\"stream\":%d,\"device\":%d}}",
              device, stream, start, us, stream, device);
}

/* What runs side by side counts once, and of two that are as busy the first by number is scheduled, however
 * events are ordered. */
static void test_busiest(void **state)
{
    (void)state;
    for (int us = 8; us <= 9; us++) {
        trace_text t = new_trace();
        device_kernel(&t, 10, 7, 1020, us - 5);
        for (int stream = 0; stream < 4; stream++) device_kernel(&t, 9, stream, 1000 + stream, 5);
        device_kernel(&t, 10, 7, 1000, 5);
        small_trace small = schedule_of(&t);
        assert_int_equal(small.schedule->device_count, 2);
        assert_int_equal(small.schedule->op_count, us == 9 ? 2 : 4); /* device 9 is busy for 8 us */
        free_small(&small);
    }
}

/* Times that no profile has. */
static void test_absurd_times(void **state)
{
    (void)state;
    static const char *const times[] = {"\"ts\":0,\"dur\":1e300",
                                        "\"ts\":1e300,\"dur\":5",
                                        "\"ts\":5,\"dur\":-7",
                                        "\"ts\":-1e300,\"dur\":10",
                                        "\"ts\":7",
                                        "\"dur\":7",
                                        "\"ts\":1.7e15,\"dur\":3"};
    static const char *const categories[] = {"kernel", "python_function", "cpu_op", "cuda_runtime",
                                             "user_annotation"};
    trace_text t = new_trace();
    for (size_t i = 0; i < GT_LENGTH(times); i++)
        for (size_t c = 0; c < GT_LENGTH(categories); c++)
            add_event(&t,
                      "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"ProfilerStep\",\"pid\":1,\"tid\":1,%s,"
                      "\"args\":{\"correlation\":%zu}}",
                      categories[c], times[i], i);
    small_trace small = schedule_of(&t);
    const gt_schedule *s = small.schedule;
    for (size_t i = 0; i < s->event_count; i++) {
        assert_true(s->events[i].start_ns >= 0 && s->events[i].start_ns <= s->events[i].end_ns);
        assert_true(s->events[i].end_ns <= s->limit_ns);
    }
    for (size_t i = 0; i < s->op_count; i++)
        assert_true(s->ops[i].start_ns >= 0 && s->ops[i].end_ns <= s->limit_ns);
    free_small(&small);
}

static void test_nothing(void **state)
{
    (void)state;
    trace_text t = new_trace();
    small_trace small = schedule_of(&t);
    assert_int_equal(small.schedule->op_count + small.schedule->event_count, 0);
    assert_int_equal(small.schedule->window.first_op, GT_NONE);
    assert_int_equal(small.schedule->window.steps, 1);
    free_small(&small);
}

/* ---- names ---- */

static uint64_t bits(const char *name, unsigned kinds)
{
    return gt_name_bits_of((gt_str){name, strlen(name)}, kinds);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned kinds;
        uint64_t bits;
    } cases[] = {
        {"cudaStreamSynchronize", GT_NAMES_CALL, GT_NAME_SYNC},
        {"cuCtxSynchronize", GT_NAMES_CALL, GT_NAME_SYNC},
        {"hipEventSynchronize", GT_NAMES_CALL, GT_NAME_SYNC | GT_NAME_HIP},
        {"cudaStreamWaitEvent", GT_NAMES_CALL, 0},
        {"hipExtModuleLaunchKernel", GT_NAMES_CALL, GT_NAME_LAUNCH | GT_NAME_HIP},
        {"cudaGraphLaunch", GT_NAMES_CALL, GT_NAME_LAUNCH},
        {"cuMemcpyHtoDAsync_v2", GT_NAMES_CALL, GT_NAME_COPY},
        {"cudaMemcpyAsync", GT_NAMES_CALL, GT_NAME_COPY},
        {"cudaFreeAsync", GT_NAMES_CALL, GT_NAME_FREE},
        {"cudaMallocHost", GT_NAMES_CALL, GT_NAME_ALLOC},
        {"hipModuleLoadData", GT_NAMES_CALL, GT_NAME_MODULE | GT_NAME_HIP},
        {"cudaFreeAsync", GT_NAMES_OP, 0},
        {"torch/utils/data/a.py(1): f", GT_NAMES_PYTHON, GT_NAME_DATA | GT_NAME_FRAMEWORK},
        {"my_DataLoader.py(1): __next__", GT_NAMES_PYTHON, GT_NAME_DATA},
        {"__next__ DataLoader", GT_NAMES_PYTHON, 0},
        {"torch/utils/checkpoint.py(12): unpack_hook", GT_NAMES_PYTHON,
         GT_NAME_RECOMPUTE | GT_NAME_FRAMEWORK},
        {"torch/utils/checkpoint.py(12): forward", GT_NAMES_PYTHON, GT_NAME_FRAMEWORK},
        {"<built-in method item>", GT_NAMES_PYTHON, GT_NAME_BUILT_IN | GT_NAME_INTERNAL | GT_NAME_FRAMEWORK},
        {"/usr/lib/python3.10/json.py(1): f", GT_NAMES_PYTHON, GT_NAME_FRAMEWORK},
        {"/usr/lib/python3.10", GT_NAMES_PYTHON, 0},
        {"C:\\x\\site-packages\\a.py(1): f", GT_NAMES_PYTHON, GT_NAME_FRAMEWORK},
        {"/x/torchvision/a.py(1): f", GT_NAMES_PYTHON, 0},
        {"/tmp/torchinductor_x/a.py(1): f", GT_NAMES_PYTHON, GT_NAME_FRAMEWORK},
        {"torch_user.py(1): run_backward", GT_NAMES_PYTHON, GT_NAME_RUN_BACKWARD},
        {"ProfilerStep#3", GT_NAMES_NOTE, GT_NAME_STEP},
        {"Optimizer.step#Adam.step", GT_NAMES_NOTE, GT_NAME_OPTIMIZER},
        {"Optimizer.zero_grad#Adam.zero_grad", GT_NAMES_NOTE, GT_NAME_FRAMEWORK},
        {"gloo:all_reduce", GT_NAMES_NOTE, GT_NAME_COMMUNICATION},
        {"my_nccl:range", GT_NAMES_NOTE, 0},
        {"aten::linear", GT_NAMES_OP, GT_NAME_FORWARD_ONLY},
        {"aten::as_strided", GT_NAMES_OP, GT_NAME_NO_WORK | GT_NAME_AS_STRIDED},
        {"aten::as_strided_", GT_NAMES_OP, 0},
        {"ncclDevKernel_AllReduce", GT_NAMES_GPU, GT_NAME_COMMUNICATION},
        {"void All_Reduce<1>", GT_NAMES_GPU, GT_NAME_COMMUNICATION},
        {"Memcpy DtoH (Device -> Pinned)", GT_NAMES_GPU, GT_NAME_TO_HOST},
        {"Memcpy HtoD (Pageable -> Device)", GT_NAMES_GPU, GT_NAME_FROM_HOST},
    };
    const uint64_t tested = GT_NAME_SYNC | GT_NAME_FREE | GT_NAME_ALLOC | GT_NAME_COPY | GT_NAME_MODULE |
                            GT_NAME_LAUNCH | GT_NAME_HIP | GT_NAME_DATA | GT_NAME_OPTIMIZER |
                            GT_NAME_RECOMPUTE | GT_NAME_FRAMEWORK | GT_NAME_INTERNAL | GT_NAME_BUILT_IN |
                            GT_NAME_RUN_BACKWARD | GT_NAME_STEP | GT_NAME_BACKWARD | GT_NAME_FORWARD_ONLY |
                            GT_NAME_NO_WORK | GT_NAME_AS_STRIDED | GT_NAME_COMMUNICATION | GT_NAME_TO_HOST |
                            GT_NAME_FROM_HOST;
    for (size_t i = 0; i < GT_LENGTH(cases); i++)
        if ((bits(cases[i].name, cases[i].kinds) & tested) != cases[i].bits)
            fail_msg("%s: %" PRIx64, cases[i].name, bits(cases[i].name, cases[i].kinds));
}

int main(int argc, char **argv)
{
    if (argc > 1) return print_schedule(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting),        cmocka_unit_test(test_order_of_frames),
        cmocka_unit_test(test_python_as_rows), cmocka_unit_test(test_frames_are_no_rows),
        cmocka_unit_test(test_devices),        cmocka_unit_test(test_points),
        cmocka_unit_test(test_heavy),          cmocka_unit_test(test_heavy_views),
        cmocka_unit_test(test_steps),          cmocka_unit_test(test_processes),
        cmocka_unit_test(test_ranks),          cmocka_unit_test(test_busiest),
        cmocka_unit_test(test_absurd_times),   cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
