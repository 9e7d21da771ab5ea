/* Times, agents, and lists of what ran on each GPU. */
#include "analysis/pftrace/events.h"

#include "trace/pytorch/pytorch.h"

/* ---- classes ---- */

/* The first part that occurs in the name, in any case, gives the class, unless it is communication. */
static const struct {
    gt_pftrace_class class;
    const char *part;
} class_parts[] = {
    {GT_PFTRACE_GEMM, "cublasLt"},
    {GT_PFTRACE_GEMM, "Cijk"},
    {GT_PFTRACE_GEMM, "gemm"},
    {GT_PFTRACE_GEMM, "nvjet"},
    {GT_PFTRACE_CK_BACKWARD, "FmhaBwd"},
    {GT_PFTRACE_CK_BACKWARD, "kernel_func"},
    {GT_PFTRACE_CK_BACKWARD, "flash_bprop"},
    {GT_PFTRACE_CK_FORWARD, "FmhaFwd"},
    {GT_PFTRACE_CK_FORWARD, "flash_fprop"},
    {GT_PFTRACE_MEMCPY, "copy"},
    {GT_PFTRACE_MEMCPY, "memset"},
    {GT_PFTRACE_TE, "transformer_engine"},
    {GT_PFTRACE_AITER_FORWARD, "aiter::fmha_fwd"},
    {GT_PFTRACE_AITER_BACKWARD, "aiter::fmha_bwd"},
    {GT_PFTRACE_FILL_BUFFER, "fillbuffer"},
};

gt_pftrace_class gt_pftrace_class_of(gt_str name)
{
    if (gt_is_communication(name)) return GT_PFTRACE_RCCL;
    for (size_t i = 0; i < GT_LENGTH(class_parts); i++)
        if (gt_str_contains_nocase(name, class_parts[i].part)) return class_parts[i].class;
    return GT_PFTRACE_XLA;
}

/* ---- agents ---- */

gt_pftrace_agents gt_pftrace_find_agents(const gt_chrome *trace)
{
    gt_pftrace_agents agents = {.of_event = gt_alloc(trace->count * sizeof *agents.of_event)};
    uint32_t *ids = gt_chrome_strings(trace, GT_CHROME_AGENT);
    uint32_t *number =
        gt_alloc_zero(gt_interner_count(trace->strings), sizeof *number); /* 1 + agent, by string */
    for (size_t i = 0; i < trace->count; i++) {
        agents.of_event[i] = GT_NO_AGENT;
        if (ids[i] == GT_STR_NONE) continue;
        if (!number[ids[i]]) {
            GT_PUSH(agents.names, agents.count, agents.capacity, ids[i]);
            number[ids[i]] = (uint32_t)agents.count;
        }
        agents.of_event[i] = number[ids[i]] - 1;
    }
    gt_free_all(number, ids);
    return agents;
}

void gt_pftrace_agents_free(gt_pftrace_agents *agents)
{
    gt_free_all(agents->names, agents->of_event);
    *agents = (gt_pftrace_agents){0};
}

/* ---- times ---- */

/* The integer part; 0 for NaN and for values that are too large. */
static int64_t truncate_time(double value)
{
    return fabs(value) < 9e15 ? (int64_t)value : 0;
}

void gt_pftrace_activity_times(const gt_chrome *trace, int64_t **begin_ns, int64_t **dur_ns)
{
    static const int64_t min_ns = INT64_C(10000000000); /* smaller timestamps are in microseconds */
    int64_t *begins = gt_chrome_ints(trace, GT_CHROME_BEGIN_NS),
            *deltas = gt_chrome_ints(trace, GT_CHROME_DELTA_NS);
    double *ts = gt_chrome_times(trace, GT_CHROME_TS), *dur = gt_chrome_times(trace, GT_CHROME_DUR);
    for (size_t i = 0; i < trace->count; i++) {
        if (begins[i] != GT_CHROME_NONE && deltas[i] != GT_CHROME_NONE) continue;
        int64_t at = truncate_time(ts[i]), unit = at < min_ns ? 1000 : 1;
        if (__builtin_mul_overflow(at, unit, &begins[i])) begins[i] = 0;
        if (__builtin_mul_overflow(truncate_time(dur[i]), unit, &deltas[i])) deltas[i] = 0;
    }
    gt_free_all(ts, dur);
    *begin_ns = begins;
    *dur_ns = deltas;
}

gt_pftrace_call_times gt_pftrace_find_call_times(const gt_chrome *trace)
{
    gt_pftrace_call_times t = {
        gt_chrome_ints(trace, GT_CHROME_BEGIN_NS),
        gt_chrome_ints(trace, GT_CHROME_END_NS),
        gt_chrome_ints(trace, GT_CHROME_DELTA_NS),
    };
    double *ts = gt_chrome_times(trace, GT_CHROME_TS), *dur = gt_chrome_times(trace, GT_CHROME_DUR);
    for (size_t i = 0; i < trace->count; i++) {
        bool has_both = t.begin_ns[i] != GT_CHROME_NONE && t.end_ns[i] != GT_CHROME_NONE;
        if (has_both && t.dur_ns[i] == GT_CHROME_NONE &&
            __builtin_sub_overflow(t.end_ns[i], t.begin_ns[i], &t.dur_ns[i]))
            t.dur_ns[i] = GT_CHROME_NONE;
        if (has_both && t.dur_ns[i] != GT_CHROME_NONE) continue;
        bool has_time = !isnan(ts[i]) && !isnan(dur[i]);
        t.begin_ns[i] = has_time ? truncate_time(ts[i]) * 1000 : GT_CHROME_NONE;
        t.dur_ns[i] = has_time ? truncate_time(dur[i]) * 1000 : GT_CHROME_NONE;
        t.end_ns[i] = GT_CHROME_NONE;
        if (has_time && __builtin_add_overflow(t.begin_ns[i], t.dur_ns[i], &t.end_ns[i]))
            t.begin_ns[i] = t.dur_ns[i] = t.end_ns[i] = GT_CHROME_NONE;
    }
    gt_free_all(ts, dur);
    return t;
}

void gt_pftrace_call_times_free(gt_pftrace_call_times *times)
{
    gt_free_all(times->begin_ns, times->end_ns, times->dur_ns);
}

/* ---- lists ---- */

static _Thread_local const gt_interner *sorted_strings; /* has the names that by_time_and_name compares */

static int by_time_and_name(const void *left, const void *right)
{
    const gt_pftrace_event *a = left, *b = right;
    if (a->begin_ns != b->begin_ns) return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->dur_ns != b->dur_ns) return a->dur_ns < b->dur_ns ? -1 : 1;
    int names = a->name == b->name ? 0
                                   : gt_str_compare(gt_interner_get(sorted_strings, a->name),
                                                    gt_interner_get(sorted_strings, b->name));
    if (names) return names;
    return a->row < b->row ? -1 : a->row > b->row;
}

static void sort_list(gt_pftrace_list *list, const gt_interner *strings)
{
    sorted_strings = strings;
    if (list->count) qsort(list->items, list->count, sizeof *list->items, by_time_and_name);
}

static void add_event(gt_pftrace_list *list, gt_pftrace_event event)
{
    GT_PUSH(list->items, list->count, list->capacity, event);
}

void gt_pftrace_keep_long(gt_pftrace_list *list, int64_t min_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].dur_ns >= min_ns) list->items[kept++] = list->items[i];
    list->count = kept;
}

/* The columns of the trace from which both lists are made. */
typedef struct columns {
    int64_t *begin_ns, *dur_ns, *tids;
    uint32_t *names;
    int64_t total_ns; /* of the events accepted so far */
} columns;

static columns open_columns(const gt_chrome *trace)
{
    columns c = {.tids = gt_chrome_ints(trace, GT_CHROME_TID),
                 .names = gt_chrome_strings(trace, GT_CHROME_NAME)};
    gt_pftrace_activity_times(trace, &c.begin_ns, &c.dur_ns);
    return c;
}

static void close_columns(columns *c)
{
    gt_free_all(c->begin_ns, c->dur_ns, c->tids, c->names);
}

/* Makes an event. False to skip it: its duration is not above 0, its end or the sum of all durations does not
 * fit an int64, or its thread is outside the limits. */
static bool make_event(columns *c, size_t i, int64_t tid, gt_pftrace_limits limits, gt_pftrace_event *event)
{
    int64_t end;
    if (c->dur_ns[i] <= 0 || __builtin_add_overflow(c->begin_ns[i], c->dur_ns[i], &end)) return false;
    if (tid == GT_CHROME_NONE) tid = -1;
    if (tid < limits.min_tid || tid > limits.max_tid) return false;
    if (c->dur_ns[i] > INT64_MAX - c->total_ns) return false;
    c->total_ns += c->dur_ns[i];
    uint32_t name = c->names[i] == GT_STR_NONE ? GT_STR_EMPTY : c->names[i];
    *event = (gt_pftrace_event){c->begin_ns[i], c->dur_ns[i], name, (uint32_t)i};
    return true;
}

/* Classifies each name once. */
static gt_pftrace_class class_of(gt_pftrace_work *work, const gt_interner *strings, uint32_t name)
{
    uint8_t *known = &work->classes[name];
    if (!*known) *known = (uint8_t)(1 + gt_pftrace_class_of(gt_interner_get(strings, name)));
    return (gt_pftrace_class)(*known - 1);
}

gt_pftrace_work gt_pftrace_find_work(const gt_chrome *trace, gt_pftrace_limits limits)
{
    gt_pftrace_work work = {.agents = gt_pftrace_find_agents(trace)};
    work.compute = gt_alloc_zero(work.agents.count + 1, sizeof *work.compute);
    work.communication = gt_alloc_zero(work.agents.count + 1, sizeof *work.communication);
    work.classes = gt_alloc_zero(gt_interner_count(trace->strings), 1);
    columns c = open_columns(trace);
    for (size_t i = 0; i < trace->count; i++) {
        gt_pftrace_event event;
        uint32_t gpu = work.agents.of_event[i];
        if (gpu == GT_NO_AGENT || !make_event(&c, i, c.tids[i], limits, &event)) continue;
        gt_pftrace_class class = class_of(&work, trace->strings, event.name);
        add_event(class == GT_PFTRACE_RCCL ? &work.communication[gpu] : &work.compute[gpu], event);
        if (class == GT_PFTRACE_XLA) add_event(&work.xla, event);
        if (class == GT_PFTRACE_CK_BACKWARD && !work.has_flash_attention_3) {
            gt_str name = gt_interner_get(trace->strings, event.name);
            work.has_flash_attention_3 = gt_str_contains(name, "kernel_func");
        }
    }
    close_columns(&c);
    for (size_t gpu = 0; gpu < work.agents.count; gpu++) {
        sort_list(&work.compute[gpu], trace->strings);
        sort_list(&work.communication[gpu], trace->strings);
    }
    return work;
}

void gt_pftrace_work_free(gt_pftrace_work *work)
{
    for (size_t gpu = 0; gpu < work->agents.count; gpu++) {
        gt_free_all(work->compute[gpu].items, work->communication[gpu].items);
    }
    gt_free_all(work->compute, work->communication, work->classes, work->xla.items);
    gt_pftrace_agents_free(&work->agents);
}

gt_pftrace_list gt_pftrace_find_calls(const gt_chrome *trace, gt_pftrace_limits limits)
{
    gt_pftrace_list list = {0};
    uint32_t hip = gt_interner_find(trace->strings, "hip_api", 7);
    uint32_t *categories = gt_chrome_strings(trace, GT_CHROME_CATEGORY);
    int64_t *other_tids = gt_chrome_ints(trace, GT_CHROME_ARGS_TID);
    columns c = open_columns(trace);
    for (size_t i = 0; i < trace->count; i++) {
        gt_pftrace_event event;
        if (hip == GT_STR_NONE || categories[i] != hip) continue;
        int64_t tid = c.tids[i] == GT_CHROME_NONE ? other_tids[i] : c.tids[i];
        if (make_event(&c, i, tid, limits, &event)) add_event(&list, event);
    }
    close_columns(&c);
    gt_free_all(categories, other_tids);
    sort_list(&list, trace->strings);
    return list;
}
