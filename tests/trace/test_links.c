/* Launches, callers and gradients of random traces, compared with what their definitions give when they are
 * applied to the list of the events that were written, on 1 to 16 threads. */
#include "pytorch_trace.h"

#include "base/team.h"
#include "trace/pytorch/calls.h"

#include <math.h>

static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % limit);
}

/* ---- random traces ---- */

typedef enum event_type { OP, AUTOGRAD, CALL, GRAPH, KERNEL, COPY, FLOW_START, FLOW_END, TYPES } event_type;

typedef struct written_event {
    event_type type;
    int64_t id; /* or sequence number; -1: none */
    int thread, start_us;
} written_event;

enum { EVENTS = 700 };

/* Ids are close together, in ranges far from each other, or anything. */
static int64_t random_id(int style)
{
    static const int64_t bases[] = {0, 100000000000, -5000};
    uint32_t id = random_below(EVENTS / 4);
    if (random_below(30) == 0) return -1;
    if (style == 0) return 7000 + (int64_t)id;
    if (style == 1) return bases[id % 3] + (int64_t)id;
    return (int64_t)((uint64_t)(id + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 1);
}

static void write_event(trace_text *t, const written_event *e)
{
    static const char *const host_names[] = {[OP] = "op",
                                             [AUTOGRAD] = "autograd::engine::evaluate_function: f",
                                             [CALL] = "cudaLaunchKernel",
                                             [GRAPH] = "cudaGraphLaunch"};
    char args[64] = "";
    bool is_op = e->type == OP || e->type == AUTOGRAD;
    if (e->id != -1)
        snprintf(args, sizeof args, "\"%s\":%lld", is_op ? "Sequence number" : "correlation",
                 (long long)e->id);
    if (e->type == FLOW_START || e->type == FLOW_END)
        add_event(
            t, "{\"ph\":\"%s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%lld,\"pid\":0,\"tid\":%d,\"ts\":1}",
            e->type == FLOW_START ? "s" : "f", (long long)e->id, e->thread);
    else if (e->type == KERNEL || e->type == COPY)
        add_event(t,
                  "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"k\",\"pid\":0,\"tid\":%d,\"ts\":%d,\"dur\":3,"
                  "\"args\":{%s}}",
                  e->type == KERNEL ? "kernel" : "gpu_memcpy", e->thread, e->start_us, args);
    else
        add_event(t,
                  "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d,"
                  "\"args\":{%s}}",
                  is_op ? "cpu_op" : "cuda_runtime", host_names[e->type], e->thread, e->start_us,
                  is_op ? (int)random_below(40) : 1, args);
}

/* The first call has an id, so that the ids are correlations. */
static void make_events(written_event *events, int style)
{
    for (int i = 0; i < EVENTS; i++)
        events[i] = (written_event){.type = (event_type)random_below(TYPES),
                                    .id = random_id(style),
                                    .thread = 1 + (int)random_below(3),
                                    .start_us = (int)random_below(8) * 500 + i};
    events[0] = (written_event){.type = CALL, .id = 1, .thread = 1};
}

/* ---- what the definitions give ---- */

typedef struct expected_links {
    uint32_t runtime[EVENTS * EVENTS / 8], gpu[EVENTS * EVENTS / 8], parent[EVENTS];
    size_t count;
} expected_links;

static bool is_gpu(const written_event *e)
{
    return e->type == KERNEL || e->type == COPY;
}

static void expect_link(expected_links *l, uint32_t call, uint32_t gpu)
{
    assert_true(l->count < GT_LENGTH(l->runtime));
    l->runtime[l->count] = call;
    l->gpu[l->count++] = gpu;
    l->parent[gpu] = call;
}

/* Flow events are no rows: `rows` has the row of each event. */
static void find_links(const written_event *events, const uint32_t *rows, expected_links *l)
{
    memset(l->parent, 0xFF, sizeof l->parent);
    l->count = 0;
    for (int c = 0; c < EVENTS; c++) {
        if ((events[c].type != CALL && events[c].type != GRAPH) || events[c].id == -1) continue;
        int flow = -1, gpu = -1;
        bool starts = false;
        for (int i = 0; i < EVENTS; i++) {
            if (events[i].id != events[c].id) continue;
            if (events[i].type == FLOW_START) starts = true;
            if (events[i].type == FLOW_END) flow = i;
            if (events[c].type == GRAPH && is_gpu(&events[i])) expect_link(l, rows[c], rows[i]);
        }
        for (int i = 0; i < EVENTS && starts && flow >= 0; i++)
            if (is_gpu(&events[i]) && events[i].id == events[c].id && events[i].thread == events[flow].thread)
                gpu = i;
        if (events[c].type == CALL && gpu >= 0) expect_link(l, rows[c], rows[gpu]);
    }
}

static void check_links(const gt_linked_view *trace, const expected_links *l)
{
    assert_int_equal(trace->link_count, l->count);
    assert_memory_equal(trace->link_runtime, l->runtime, l->count * sizeof *l->runtime);
    assert_memory_equal(trace->link_gpu, l->gpu, l->count * sizeof *l->gpu);
    for (uint32_t row = 0; row < trace->count; row++)
        if (gt_kind_is_gpu(trace->kind[row])) assert_int_equal(trace->parent[row], l->parent[row]);
}

static void check_calls(const gt_linked_view *trace, const gt_calls *calls)
{
    for (uint32_t n = 0; n < trace->numbered; n++) {
        uint32_t row = calls->row_of[n], caller = GT_NO_EVENT;
        assert_int_equal(trace->preorder[row], n);
        for (uint32_t m = 0; m < n; m++)
            if (trace->subtree_end[calls->row_of[m]] > n) caller = m;
        assert_int_equal(calls->caller[n], caller);
        uint32_t at = calls->begin[n];
        for (uint32_t i = 0; i < trace->link_count; i++)
            if (trace->link_runtime[i] == row) assert_int_equal(calls->links[at++], i);
        assert_int_equal(calls->begin[n + 1], at);
    }
    gt_row_list roots = gt_calls_cpu_roots(calls);
    size_t found = 0;
    for (uint32_t row = 0; row < trace->count; row++)
        found += trace->kind[row] == GT_KIND_CPU_OP && trace->preorder[row] != GT_NO_EVENT &&
                 trace->cpu_op_above[row] == GT_NO_EVENT;
    assert_int_equal(roots.count, found);
    for (size_t i = 1; i < roots.count; i++)
        assert_true(trace->start_us[roots.items[i - 1]] < trace->start_us[roots.items[i]] ||
                    (trace->start_us[roots.items[i - 1]] == trace->start_us[roots.items[i]] &&
                     roots.items[i - 1] < roots.items[i]));
    gt_free(roots.items);
}

/* The op of an autograd event, which must be the first with its sequence number: the last one to start on
 * another thread. */
static int find_op(const written_event *events, int autograd)
{
    int op = -1;
    if (events[autograd].type != AUTOGRAD || events[autograd].id == -1) return -1;
    for (int i = 0; i < autograd; i++)
        if (events[i].type == AUTOGRAD && events[i].id == events[autograd].id) return -1;
    for (int i = 0; i < EVENTS; i++)
        if ((events[i].type == OP || events[i].type == AUTOGRAD) && events[i].id == events[autograd].id &&
            events[i].thread != events[autograd].thread &&
            (op < 0 || events[i].start_us > events[op].start_us))
            op = i;
    return op;
}

static void check_gradients(const written_event *events, const uint32_t *rows, const gt_gradients *gradients)
{
    uint32_t backward[EVENTS];
    size_t count = 0;
    memset(backward, 0xFF, sizeof backward);
    for (int i = 0; i < EVENTS; i++) {
        int op = find_op(events, i);
        if (rows[i] != GT_NO_EVENT)
            assert_int_equal(gt_gradient_op(gradients, rows[i]), op < 0 ? GT_NO_EVENT : rows[op]);
        if (op >= 0) backward[op] = rows[i];
    }
    for (int i = 0; i < EVENTS; i++) {
        if (rows[i] == GT_NO_EVENT) continue;
        assert_int_equal(gt_gradient_function(gradients, rows[i]), backward[i]);
        count += backward[i] != GT_NO_EVENT && gradients->calls->trace->preorder[rows[i]] != GT_NO_EVENT;
    }
    assert_int_equal(gradients->count, count);
    for (size_t i = 1; i < count; i++) assert_true(gradients->numbers[i - 1] < gradients->numbers[i]);
}

/* ---- tests ---- */

typedef struct one_trace {
    const written_event *events;
    const uint32_t *rows;
    const expected_links *links;
    trace_text text;
} one_trace;

static void read_and_check(void *context)
{
    one_trace *t = context;
    gt_pytorch_linked *linked = read_trace(&t->text, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    check_links(trace, t->links);
    gt_calls *calls = gt_calls_new(trace);
    check_calls(trace, calls);
    gt_gradients *gradients = gt_gradients_link(calls);
    check_gradients(t->events, t->rows, gradients);
    gt_gradients_free(gradients);
    gt_calls_free(calls);
    gt_pytorch_linked_free(linked);
}

static void launches_and_gradients_are_as_defined(void **unused)
{
    (void)unused;
    static const unsigned threads[] = {1, 2, 3, 8, 16};
    expected_links *links = gt_alloc(sizeof *links);
    for (int round = 0; round < 12; round++) {
        written_event events[EVENTS];
        uint32_t rows[EVENTS], next = 0;
        seed = 77 + (uint64_t)round;
        make_events(events, round % 3);
        for (int i = 0; i < EVENTS; i++)
            rows[i] = events[i].type == FLOW_START || events[i].type == FLOW_END ? GT_NO_EVENT : next++;
        find_links(events, rows, links);
        for (size_t i = 0; i < GT_LENGTH(threads); i++) {
            one_trace t = {events, rows, links, new_trace()};
            seed = 1000 + (uint64_t)round; /* for the durations */
            for (int k = 0; k < EVENTS; k++) write_event(&t.text, &events[k]);
            gt_team_run(threads[i], read_and_check, &t);
        }
    }
    gt_free(links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(launches_and_gradients_are_as_defined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
