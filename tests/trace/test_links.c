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

typedef enum event_type {
    OP,
    AUTOGRAD,
    CALL,
    COPY_CALL,
    GRAPH,
    OTHER_CALL, /* launches nothing */
    KERNEL,
    COPY,
    FLOW_START,
    FLOW_END,
    TYPES
} event_type;

typedef struct written_event {
    event_type type;
    int64_t id;       /* correlation, flow or sequence number; -1: none */
    int64_t external; /* of calls and GPU events; -1: none */
    int thread, start_us, dur_us;
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
                                             [COPY_CALL] = "cudaMemcpyAsync",
                                             [GRAPH] = "cudaGraphLaunch",
                                             [OTHER_CALL] = "hipArray3DCreate"};
    char args[128] = "";
    bool is_op = e->type == OP || e->type == AUTOGRAD;
    if (e->id != -1)
        snprintf(args, sizeof args, "\"%s\":%lld", is_op ? "Sequence number" : "correlation",
                 (long long)e->id);
    if (!is_op && e->external != -1)
        snprintf(args + strlen(args), sizeof args - strlen(args), "%s\"External id\":%lld", *args ? "," : "",
                 (long long)e->external);
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
                  is_op ? "cpu_op" : "cuda_runtime", host_names[e->type], e->thread, e->start_us, e->dur_us,
                  args);
}

/* The first call has an id, so that the ids are correlations. One op calls all others of its thread. */
static void make_events(written_event *events, int style)
{
    for (int i = 0; i < EVENTS; i++)
        events[i] = (written_event){.type = (event_type)random_below(TYPES),
                                    .id = random_id(style),
                                    .external = random_id(style),
                                    .thread = 1 + (int)random_below(3),
                                    .start_us = (int)random_below(8) * 500 + i,
                                    .dur_us = (int)random_below(random_below(10) ? 40 : 3000)};
    events[0] = (written_event){.type = CALL, .id = 1, .external = -1, .thread = 2};
    events[1] = (written_event){.type = OP, .id = -1, .thread = 1, .dur_us = 100000};
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

static bool is_call(const written_event *e)
{
    return e->type >= CALL && e->type <= OTHER_CALL;
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
        if (!is_call(&events[c]) || events[c].id == -1) continue;
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
        if (events[c].type != GRAPH && gpu >= 0) expect_link(l, rows[c], rows[gpu]);
    }
}

/* Whether a call is of the kind that starts such a GPU event. */
static bool fits(const written_event *call, const written_event *gpu)
{
    return gpu->type == COPY ? call->type == COPY_CALL : call->type == CALL || call->type == GRAPH;
}

/* The first of the calls with an id that fits best; -1 if there is none. Without `correlation` the ids are
 * external ids, with `alone` only those of calls without a correlation. */
static int find_call(const written_event *events, const written_event *gpu, int64_t id, bool correlation,
                     bool alone)
{
    int found = -1;
    for (int i = 0; i < EVENTS && id != -1 && id != 0; i++) {
        const written_event *e = &events[i];
        if (!is_call(e) || e->type == OTHER_CALL || (correlation ? e->id : e->external) != id ||
            (alone && e->id != -1 && e->id != 0))
            continue;
        if (found < 0 || (fits(e, gpu) && !fits(&events[found], gpu))) found = i;
    }
    return found;
}

static int event_of_row(const uint32_t *rows, uint32_t row)
{
    int i = 0;
    while (rows[i] != row) i++;
    return i;
}

static int by_call_and_gpu(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

/* What gt_pytorch_correct_launches makes of the links: without calls that launch nothing where others do, and
 * with GPU events that had none. */
static void correct_links(const written_event *events, const uint32_t *rows, expected_links *l)
{
    static uint32_t pairs[GT_LENGTH(((expected_links *)0)->runtime)][2];
    bool launched[EVENTS] = {false};
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (events[event_of_row(rows, l->runtime[i])].type != OTHER_CALL) launched[l->gpu[i]] = true;
    for (size_t i = 0; i < l->count; i++)
        if (!launched[l->gpu[i]] || events[event_of_row(rows, l->runtime[i])].type != OTHER_CALL)
            memcpy(pairs[count++], (uint32_t[]){l->runtime[i], l->gpu[i]}, sizeof *pairs);
    for (int i = 0; i < EVENTS; i++) {
        const written_event *e = &events[i];
        if (!is_gpu(e) || l->parent[rows[i]] != GT_NO_EVENT) continue;
        bool has_id = e->id != -1 && e->id != 0;
        int call = has_id ? find_call(events, e, e->id, true, false) : -1;
        if (call < 0) call = find_call(events, e, e->external, false, has_id);
        if (call >= 0) memcpy(pairs[count++], (uint32_t[]){rows[call], rows[i]}, sizeof *pairs);
    }
    qsort(pairs, count, sizeof *pairs, by_call_and_gpu);
    l->count = 0;
    for (size_t i = 0; i < count; i++) expect_link(l, pairs[i][0], pairs[i][1]);
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
    uint32_t *callers = gt_calls_callers(calls);
    for (uint32_t n = 0; n < trace->numbered; n++) {
        uint32_t row = calls->row_of[n], caller = GT_NO_EVENT;
        assert_int_equal(trace->preorder[row], n);
        for (uint32_t m = 0; m < n; m++)
            if (trace->subtree_end[calls->row_of[m]] > n) caller = m;
        assert_int_equal(callers[n], caller);
        uint32_t at = gt_calls_begin(calls, n);
        for (uint32_t i = 0; i < trace->link_count; i++)
            if (trace->link_runtime[i] == row) assert_int_equal(calls->links[at++], i);
        assert_int_equal(gt_calls_begin(calls, n + 1), at);
    }
    gt_free(callers);
    gt_row_list roots = gt_calls_cpu_roots(calls);
    size_t found = 0;
    for (uint32_t row = 0; row < trace->count; row++)
        found += trace->kind[row] == GT_KIND_CPU_OP && trace->preorder[row] != GT_NO_EVENT &&
                 gt_pytorch_cpu_op_above(trace, row) == GT_NO_EVENT;
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
    const uint32_t *forward = gradients->forward_of;
    uint32_t backward[EVENTS];
    size_t count = 0;
    memset(backward, 0xFF, sizeof backward);
    for (int i = 0; i < EVENTS; i++) {
        int op = find_op(events, i);
        if (rows[i] != GT_NO_EVENT)
            assert_int_equal(forward ? forward[rows[i]] : GT_NO_EVENT, op < 0 ? GT_NO_EVENT : rows[op]);
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
    const expected_links *links, *corrected;
    trace_text text;
} one_trace;

static void read_and_check(void *context)
{
    one_trace *t = context;
    gt_pytorch_linked *linked = read_trace(&t->text, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    check_links(trace, t->links);
    gt_pytorch_correct_launches(linked);
    check_links(trace, t->corrected);
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
    expected_links *links = gt_alloc(sizeof *links), *corrected = gt_alloc(sizeof *links);
    for (int round = 0; round < 12; round++) {
        written_event events[EVENTS];
        uint32_t rows[EVENTS], next = 0;
        seed = 77 + (uint64_t)round;
        make_events(events, round % 3);
        for (int i = 0; i < EVENTS; i++)
            rows[i] = events[i].type == FLOW_START || events[i].type == FLOW_END ? GT_NO_EVENT : next++;
        find_links(events, rows, links);
        *corrected = *links;
        correct_links(events, rows, corrected);
        for (size_t i = 0; i < GT_LENGTH(threads); i++) {
            one_trace t = {events, rows, links, corrected, new_trace()};
            for (int k = 0; k < EVENTS; k++) write_event(&t.text, &events[k]);
            gt_team_run(threads[i], read_and_check, &t);
        }
    }
    gt_free(links);
    gt_free(corrected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(launches_and_gradients_are_as_defined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
