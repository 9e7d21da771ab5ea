/* Can the trace be believed?
 *
 * Each check compares one value with a threshold that warns and, where a report on the trace would mislead,
 * one that fails. The verdict is the worst level; what the trace does not have, without making the rest
 * doubtful, is a note (T7, T8, mostly T10). A trace without GPU events gets only T0. Every check is one
 * pass over ops, steps or calls. Of traces of other profilers than PyTorch's, checks of what these do not
 * record are omitted: T3, T7, T8 and T9, and without calls T2, T5, T14 and T15.
 *
 *     T0   GPU events                         T8   Python functions
 *     T1   ops without a launch, %            T9   the profiler's cost to the host, %
 *     T2   launches without a kernel, %       T10  spread of step times, %
 *     T3   GPU time without a framework op, % T11  spread of kernel time per step, %
 *     T4   overlap on one stream, %           T12  idle time without a cause, %
 *     T5   ops that start before launch, %    T13  error of the replay, %
 *     T6   truncation, steps without ops      T14  idle although work was launched, %
 *     T7   shapes                             T15  graph launches without kernels, %
 *     T16  processes that use the GPU         T17  kernels without a duration, %
 *     T22  difference of the clocks, us       T23  GPU work that is left out, % */
#include "findings/trust.h"

enum {
    STREAM_OVERLAP_NS = 10,   /* shorter overlaps come from rounding */
    EARLY_NS = 1000,          /* an op this much before its launch: a wrong clock */
    SHAPES_SHARE = 2,         /* shapes are recorded if more than one op in two has them */
    PROCESS_NAME_MAX = 100,   /* bytes of it that are shown */
    PROFILER_HIDDEN_PCT = 101 /* a threshold that no share reaches */
};
static const double replay_warn_pct = 3, replay_fail_pct = 25;
static const double host_bound = 1.15; /* step time over busy time from which on the host decides */
static const double shorter_step =
    0.98; /* a step without recording that is no shorter is as long as recorded */

static void add_check(gt_trust *trust, gt_trust_check check, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    check.text = gt_strdup(text);
    if (check.level > trust->verdict) trust->verdict = check.level;
    GT_PUSH(trust->checks, trust->count, trust->capacity, check);
}

#define NO_LIMIT NAN

/* Adds a check with its sentence; its level follows from the thresholds. */
__attribute__((format(printf, 6, 7))) static void add(gt_trust *trust, const char *id, double value,
                                                      double warn, double fail, const char *format, ...)
{
    gt_trust_check check = {.id = id, .value = value, .warn = warn, .fail = fail};
    if (value > fail) /* false if there is no threshold */
        check.level = GT_TRUST_FAIL;
    else if (value > warn)
        check.level = GT_TRUST_WARN;
    va_list arguments;
    va_start(arguments, format);
    add_check(trust, check, format, arguments);
    va_end(arguments);
}

/* Adds a check that only notes, if its value is above 0. */
__attribute__((format(printf, 4, 5))) static void add_note(gt_trust *trust, const char *id, double value,
                                                           const char *format, ...)
{
    gt_trust_check check = {.id = id, .value = value, .warn = NO_LIMIT, .fail = NO_LIMIT};
    if (value > 0) check.level = GT_TRUST_NOTE;
    va_list arguments;
    va_start(arguments, format);
    add_check(trust, check, format, arguments);
    va_end(arguments);
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* Not of PyTorch. */
static bool is_other(const gt_schedule *schedule)
{
    return schedule->origin != GT_BY_PYTORCH;
}

/* ---- calls ---- */

/* How many calls launch something, and how many of them have GPU work in the trace. */
typedef struct launch_count {
    size_t calls, found;
} launch_count;

enum { NOT_LAUNCHING = 1, LAUNCHES_KERNEL, LAUNCHES_GRAPH };

static uint8_t classify(gt_str name)
{
    static const char *const kernels[] = {"LaunchKernel", "LaunchCooperative", "hipModuleLaunch",
                                          "hipExtModuleLaunch", "hipExtLaunch"};
    if (gt_str_contains(name, "GraphLaunch")) return LAUNCHES_GRAPH;
    if (gt_str_contains(name, "Graph")) return NOT_LAUNCHING;
    for (size_t i = 0; i < GT_LENGTH(kernels); i++)
        if (gt_str_contains(name, kernels[i])) return LAUNCHES_KERNEL;
    return NOT_LAUNCHING;
}

typedef struct call_names {
    const gt_interner *strings;
    uint8_t *kinds; /* by string id; 0: not classified yet */
} call_names;

static uint8_t kind_of_call(call_names *names, uint32_t name)
{
    uint8_t *kind = &names->kinds[name];
    if (!*kind) *kind = classify(gt_interner_get(names->strings, name));
    return *kind;
}

static bool is_call(uint8_t kind)
{
    return kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER;
}

/* Launches of ops that no point launched are found, too, of other devices and of threads in the background:
 * by their correlation. */
static void count_by_correlation(const gt_event_view *trace, call_names *names, launch_count *kernels,
                                 launch_count *graphs)
{
    gt_map known = {0};
    int64_t *correlations = gt_store_ints(trace->store, GT_EVENT_CORRELATION);
    kernels->found = graphs->found = 0;
    for (size_t row = 0; row < trace->recorded; row++)
        if (gt_kind_is_gpu(trace->kind[row]) && correlations[row] != GT_EVENT_NONE)
            *gt_map_put(&known, (uint64_t)correlations[row], 0) = 1;
    for (size_t row = 0; row < trace->recorded; row++) {
        if (!is_call(trace->kind[row])) continue;
        uint8_t kind = kind_of_call(names, trace->name[row]);
        if (kind == NOT_LAUNCHING || gt_map_get(&known, (uint64_t)correlations[row], 0) == GT_MAP_NONE)
            continue;
        (kind == LAUNCHES_KERNEL ? kernels : graphs)->found++;
    }
    gt_free(correlations);
    gt_map_free(&known);
}

static void count_call(call_names *names, uint32_t name, launch_count *kernels, launch_count *graphs)
{
    uint8_t kind = kind_of_call(names, name);
    kernels->calls += kind == LAUNCHES_KERNEL;
    graphs->calls += kind == LAUNCHES_GRAPH;
}

static void count_launches(const gt_schedule *s, launch_count *kernels, launch_count *graphs)
{
    const gt_event_view *trace = s->trace;
    call_names names = {s->strings, gt_alloc_zero(gt_interner_count(s->strings), 1)};
    for (size_t row = 0; trace && row < trace->recorded; row++)
        if (is_call(trace->kind[row])) count_call(&names, trace->name[row], kernels, graphs);
    for (size_t i = 0; is_other(s) && i < s->event_count; i++)
        if (is_call(s->events[i].kind)) count_call(&names, s->events[i].name, kernels, graphs);
    for (size_t i = 0; i < s->point_count; i++) {
        if (i + GT_EVENTS_AHEAD < s->point_count) gt_event_prefetch(s, s->points[i + GT_EVENTS_AHEAD].event);
        if (!s->points[i].op_count) continue;
        uint8_t kind = kind_of_call(&names, s->events[s->points[i].event].name);
        kernels->found += kind == LAUNCHES_KERNEL;
        graphs->found += kind == LAUNCHES_GRAPH;
    }
    kernels->found += s->other_launches;
    if (trace && (s->device_count > 1 || s->has_background))
        count_by_correlation(trace, &names, kernels, graphs);
    gt_free(names.kinds);
}

static bool has_calls(const gt_schedule *s)
{
    for (size_t i = 0; is_other(s) && i < s->event_count; i++)
        if (is_call(s->events[i].kind)) return true;
    if (is_other(s)) return s->point_count != 0;
    for (size_t row = 0; s->trace && row < s->trace->recorded; row++)
        if (is_call(s->trace->kind[row])) return true;
    return false;
}

/* T2 and T15. */
static void judge_launches(const gt_schedule *s, gt_trust *trust)
{
    launch_count kernels = {0}, graphs = {0};
    count_launches(s, &kernels, &graphs);
    if (is_other(s) && !kernels.calls && !graphs.calls) return;
    size_t lost = kernels.calls > kernels.found ? kernels.calls - kernels.found : 0;
    double value = percent((double)lost, (double)kernels.calls);
    add(trust, "T2", value, 1, 10, "%zu of %zu kernel launches have no kernel in the trace%s", lost,
        kernels.calls, value > 1 ? ": GPU records were lost, or recording stopped early." : ".");
    if (!graphs.calls) return;
    lost = graphs.calls > graphs.found ? graphs.calls - graphs.found : 0;
    value = percent((double)lost, (double)graphs.calls);
    add(trust, "T15", value, 1, 30, "%zu of %zu graph launches have no kernel in the trace%s", lost,
        graphs.calls, value > 1 ? ": not all replays were recorded." : ".");
}

/* ---- GPU ops ---- */

/* `outside`: of those without a launch, how many the window does not have. */
static void judge_ops_without_launch(const gt_schedule *s, size_t without, size_t count, size_t outside,
                                     gt_trust *trust)
{
    double value = percent((double)without, (double)count);
    if (outside && without < count && !is_other(s)) {
        add(trust, "T1", value, 5, 30,
            "%zu of %zu GPU operations have no recorded launch; %zu of them lie outside the window, which is "
            "from the first to the last that has one.",
            without, count, outside);
        return;
    }
    /* Not all profilers record calls: then the rest of the trace is as good as ever. */
    add(trust, "T1", value, 5, is_other(s) ? NO_LIMIT : 30,
        "%zu of %zu GPU operations in the window have no recorded launch%s", without, count,
        has_calls(s)
            ? without == count && count ? ": the calls recorded are not those of these launches." : "."
        : s->unnamed_calls
            ? ": the trace lacks the names of the host calls, so idle time cannot be explained."
        : s->origin == GT_BY_ROCPROF ? ": host calls were not recorded (rocprofv3 --hip-trace), so idle time "
                                       "cannot be explained."
        : s->origin == GT_BY_NSYS    ? ": host calls were not recorded (nsys profile --trace=cuda), so idle "
                                       "time cannot be explained."
                                     : ": host calls were not recorded, so idle time cannot be explained.");
}

/* T1 and T3: of the ops in the window, or of all if there are no steps, which have a launch and a framework
 * op? */
static void judge_links(const gt_schedule *s, gt_trust *trust)
{
    size_t count = 0, without_launch = 0, outside = 0;
    double total_ns = 0, without_op_ns = 0; /* sums of durations may exceed 63 bits */
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        bool is_inside = op->start_ns < s->window.end_ns && op->end_ns > s->window.start_ns;
        if (s->used_step_count && !is_inside) continue;
        count++;
        total_ns += (double)gt_op_ns(op);
        bool is_unlaunched = op->point == GT_NONE && !op->in_background;
        without_launch += is_unlaunched;
        outside += is_unlaunched && !is_inside;
        if (op->kind == GT_KIND_KERNEL && op->point != GT_NONE && op->host_op == GT_NONE &&
            gt_graph_op_of(s, i) == GT_STR_NONE)
            without_op_ns += (double)gt_op_ns(op);
    }
    judge_ops_without_launch(s, without_launch, count, outside, trust);
    if (is_other(s)) return; /* no profiler but PyTorch's records ops of a framework */
    double value = percent(without_op_ns, total_ns);
    add(trust, "T3", value, 20, NO_LIMIT,
        "%.0f%% of GPU time belongs to no framework operator (graphs, custom launchers).", value);
}

/* T4: a stream executes one op at a time, except for graph branches and dependent launches. */
static void judge_overlap(const gt_schedule *s, gt_trust *trust)
{
    int64_t *ends = gt_alloc(s->stream_count * sizeof *ends);
    double overlap_ns = 0, total_ns = 0;
    for (uint32_t i = 0; i < s->stream_count; i++) ends[i] = INT64_MIN;
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        int64_t *end = &ends[op->stream];
        total_ns += (double)gt_op_ns(op);
        if (*end > op->start_ns && *end - op->start_ns > STREAM_OVERLAP_NS)
            overlap_ns += (double)((*end < op->end_ns ? *end : op->end_ns) - op->start_ns);
        if (op->end_ns > *end) *end = op->end_ns;
    }
    gt_free(ends);
    double value = percent(overlap_ns, total_ns);
    add(trust, "T4", value, 2, 20,
        "Operations of one stream overlap for %.2f%% of GPU time (graph branches, dependent launches or "
        "wrong "
        "times).",
        value);
}

/* T17: no kernel takes no time. */
static void judge_durations(const gt_schedule *s, gt_trust *trust)
{
    size_t kernels = 0, without = 0;
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (op->kind != GT_KIND_KERNEL) continue;
        kernels++;
        without += op->end_ns <= op->start_ns;
    }
    if (!without) return;
    add(trust, "T17", percent((double)without, (double)kernels), 1, 50,
        "%zu of %zu kernels have no duration: it is 0.", without, kernels);
}

/* T23: any record that is left out is a warning. */
static void judge_account(const gt_account *account, gt_trust *trust)
{
    if (!account || !account->records) return;
    char *text = gt_account_text(account);
    double all = (double)(account->gpu_used + account->gpu_lost);
    size_t index = trust->count;
    add(trust, "T23", percent((double)account->gpu_lost, all), 0, 1, "%s.", text);
    if (gt_account_left(account) && trust->checks[index].level < GT_TRUST_WARN) {
        trust->checks[index].level = GT_TRUST_WARN;
        if (trust->verdict < GT_TRUST_WARN) trust->verdict = GT_TRUST_WARN;
    }
    gt_free(text);
}

/* T5 and T22. */
static void judge_clocks(const gt_schedule *s, gt_trust *trust)
{
    size_t early = 0;
    int64_t worst_ns = 0;
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (op->point == GT_NONE) continue;
        int64_t before_ns = s->points[op->point].start_ns - op->start_ns;
        if (before_ns <= EARLY_NS) continue;
        early++;
        if (before_ns > worst_ns) worst_ns = before_ns;
    }
    double value = percent((double)early, (double)s->op_count);
    if (early)
        add(trust, "T5", value, 0.1, 5,
            "%zu GPU operations start before their launch (worst %.0f us): the clocks of host and GPU "
            "differ, "
            "and idle causes are off by as much.",
            early, (double)worst_ns / 1e3);
    else
        add(trust, "T5", value, 0.1, 5, "No GPU operation starts before its launch.");
    if (s->clock_ns)
        add(trust, "T22", fabs((double)s->clock_ns) / 1e3, 0, NO_LIMIT,
            "The GPU's clock is about %.0f us %s than the host's, as the times from launches to their "
            "operations and of synchronising calls show: this is corrected.",
            fabs((double)s->clock_ns) / 1e3, s->clock_ns < 0 ? "earlier" : "later");
}

/* ---- completeness ---- */

/* Whether GPU operations are so far apart that times at the borders had to be cut (schedule/ops.c). */
static bool is_cut_to_limit(const gt_schedule *s)
{
    if (!s->op_count || s->limit_ns <= 0) return false;
    int64_t first_ns = s->ops[0].start_ns, last_ns = s->ops[s->op_count - 1].start_ns;
    return last_ns >= s->limit_ns || (first_ns <= 0 && last_ns >= s->limit_ns / 2);
}

/* T6. */
static void judge_steps(const gt_schedule *s, bool is_cut_off, gt_trust *trust)
{
    size_t empty = gt_schedule_empty_steps(s);
    /* How much is lost is unknown. */
    double fail = is_cut_off || (s->step_count && empty == s->step_count) ? 0 : NO_LIMIT;
    double value = (double)(empty + is_cut_off);
    const char *cut_off =
        !is_cut_off ? ""
        : is_other(s)
            ? "Records are missing: a file is damaged or truncated, so counts and sums are too small. "
            : "The file is truncated: its end is lost, so counts and sums are too small. ";
    if (is_cut_to_limit(s)) {
        static const double day_ns = 86400e9;
        add(trust, "T6", value + 1, 0, 0,
            "%sGPU operations are more than %.1f days apart, which no profile is: some times are wrong, and "
            "those at the borders were cut.",
            cut_off, (double)s->limit_ns / 2 / day_ns);
        return;
    }
    if (!s->step_count)
        add(trust, "T6", value, 0, fail,
            "%sNo %s: the trace has one window, and times are those of the window.", cut_off,
            is_other(s) ? "steps are recorded" : "ProfilerStep");
    else if (empty)
        add(trust, "T6", value, 0, fail, "%s%zu of %zu steps have no GPU work.", cut_off, empty,
            s->step_count);
    else if (is_cut_off)
        add(trust, "T6", value, 0, fail, "%.*s", (int)strlen(cut_off) - 1, cut_off);
    else
        add(trust, "T6", value, 0, fail, "The file is complete, and every step has GPU work.");
}

/* T16. */
static void judge_processes(const gt_schedule *s, gt_trust *trust)
{
    if (s->process_count < 2) return;
    gt_str name = gt_interner_get(s->strings, s->main_process);
    int shown = (int)(name.len < PROCESS_NAME_MAX ? name.len : PROCESS_NAME_MAX);
    while (shown > 0 && (name.bytes[shown] & 0xc0) == 0x80) shown--; /* whole characters */
    add(trust, "T16", (double)s->process_count, 1, NO_LIMIT,
        "%zu processes use this GPU: the steps are those of process %.*s, which launches most, and what the "
        "hosts do is shown as if they were one.",
        s->process_count, shown, name.bytes);
}

/* T7 and T8. */
static void judge_details(const gt_schedule *s, gt_trust *trust)
{
    bool has_shapes = s->shape_count * SHAPES_SHARE > s->cpu_op_count;
    add_note(trust, "T7", !has_shapes, "%s",
             has_shapes
                 ? "Input shapes are recorded."
                 : "No input shapes (record_shapes=False): rules on precision, shapes and roofline are "
                   "limited.");
    add_note(trust, "T8", !s->has_stacks, "%s",
             s->has_stacks
                 ? "Python functions are recorded."
                 : "No Python functions (with_stack=False): causes on the host have no source location.");
}

/* T9. */
static void judge_profiler(const gt_trust_input *in, gt_trust *trust)
{
    const gt_schedule *s = in->schedule;
    double value = percent(s->profiler_ns, s->host_ns);
    bool is_hidden = !(in->model_ns > host_bound * in->busy_ns);
    if (!is_hidden && in->model_ns < shorter_step * in->step_ns)
        add(trust, "T9", value, 10, NO_LIMIT,
            "Recording takes an estimated %.0f%% of the host's time; without it a %s should take about %.2f "
            "ms instead of %.2f ms.",
            value, in->per, in->model_ns / 1e6, in->step_ns / 1e6);
    else
        add(trust, "T9", value, PROFILER_HIDDEN_PCT, NO_LIMIT,
            "Recording takes an estimated %.0f%% of the host's time, %s.", value,
            is_hidden ? "which the GPU's work hides" : "which changes the step time by less than 2%");
}

/* ---- idle time and the model ---- */

/* T12 and T14. */
static void judge_idle(const gt_schedule *s, const gt_idle *idle, gt_trust *trust)
{
    double window_ns = (double)(s->window.end_ns - s->window.start_ns);
    const int64_t *ns = idle->cause_ns;
    double value = percent((double)gt_idle_unexplained_ns(s, idle), window_ns);
    add(trust, "T12", value, 5, NO_LIMIT, "%.1f%% of the window is idle time without a known cause.", value);
    if (is_other(s) && !s->point_count) return; /* T14 needs launches */
    value = percent((double)(ns[GT_CAUSE_DEVICE_WAIT] + ns[GT_CAUSE_DEPENDENCY]), window_ns);
    add(trust, "T14", value, 10, 60,
        "For %.0f%% of the window the GPU is idle although work was launched (another process, stream or "
        "rank, "
        "the upload of a graph, or shifted times).",
        value);
}

static int number_of(const gt_trust_check *check)
{
    return atoi(check->id + 1);
}

static int by_number(const void *a, const void *b)
{
    return number_of(a) - number_of(b);
}

/* ---- T10 and T11 ----
 *
 * How much do steps vary? T10 compares their lengths, T11 the time of their kernels. Without two of them, T10
 * says what the times of the report are instead: a note, unless much of the host's time is not judged. */

enum { STEPS_FOR_VARIATION = 3 }; /* steps that a spread needs */

typedef struct extremes {
    double least, most;
    size_t count;
} extremes;

static void extend(extremes *e, double value)
{
    if (!e->count || value < e->least) e->least = value;
    if (!e->count || value > e->most) e->most = value;
    e->count++;
}

/* What the threads that launch did before the window and after it. */
typedef struct host_outside {
    int64_t before_ns, after_ns;
} host_outside;

static host_outside find_outside(const gt_schedule *s)
{
    int64_t first_ns = s->window.start_ns, last_ns = s->window.end_ns;
    for (size_t t = 0; t < s->thread_count; t++) {
        const gt_host_thread *thread = &s->threads[t];
        if (!thread->launches || thread->first == thread->end) continue;
        if (s->events[thread->first].start_ns < first_ns) first_ns = s->events[thread->first].start_ns;
        for (size_t i = thread->first; i < thread->end; i++)
            if (s->events[i].end_ns > last_ns) last_ns = s->events[i].end_ns;
    }
    return (host_outside){s->window.start_ns - first_ns, last_ns - s->window.end_ns};
}

/* T10 without steps. The time in which the GPU has nothing to do yet or any more is in no window: if the host
 * was recorded for long then, a reader must know. Other profilers record whole programs, with their start. */
static void judge_no_steps(const gt_schedule *s, gt_trust *trust)
{
    static const double notable = 0.25; /* of the window */
    static const char what[] =
        "Times are those of the window, not of steps: how much steps vary is not judged.";
    host_outside outside = {0};
    if (!is_other(s)) outside = find_outside(s);
    double ns = (double)outside.before_ns + (double)outside.after_ns;
    if (ns > notable * (double)(s->window.end_ns - s->window.start_ns))
        add(trust, "T10", 1, 0, NO_LIMIT,
            "%s The host was also recorded for %.2f ms before and %.2f ms after the window, in which "
            "no GPU operation runs that it launched: that is not judged.",
            what, (double)outside.before_ns / 1e6, (double)outside.after_ns / 1e6);
    else
        add_note(trust, "T10", 1, "%s", what);
}

/* Steps of a server that do the same work: those of a phase, a batch size and a context length. */
typedef struct like_steps {
    int64_t phase, batch, context;
    double busy_ns;
} like_steps;

GT_ORDER_BY(by_work, like_steps, GT_UP(phase) GT_UP(batch) GT_UP(context))

/* The number of binary digits: lengths within a factor of two are alike. */
static int64_t size_class(int64_t number)
{
    return number > 0 ? 64 - __builtin_clzll((unsigned long long)number) : 0;
}

static like_steps *list_like_steps(const gt_step_list *list)
{
    like_steps *found = gt_alloc(list->on_gpu_count * sizeof *found);
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        const gt_step_said *said = &step->said;
        bool generates = gt_phase_generates(step->phase) || step->phase == GT_SERVING_DRAFT;
        int64_t batch = generates ? said->generation_requests : size_class(said->context_tokens);
        found[i] = (like_steps){step->phase, step->padded > 0 ? step->padded : batch,
                                size_class(said->sk_sum), (double)step->busy_ns};
    }
    if (list->on_gpu_count) qsort(found, list->on_gpu_count, sizeof *found, by_work);
    return found;
}

/* T10 of a server: prefill steps of different lengths are no variation. */
static void judge_listed_times(const gt_step_list *list, gt_trust *trust)
{
    like_steps *steps = list_like_steps(list);
    extremes worst = {0};
    double most = -1;
    for (size_t begin = 0, end; begin < list->on_gpu_count; begin = end) {
        extremes times = {0};
        for (end = begin; end < list->on_gpu_count && by_work(&steps[begin], &steps[end]) == 0; end++)
            extend(&times, steps[end].busy_ns);
        if (end - begin < STEPS_FOR_VARIATION) continue;
        double value = percent(times.most - times.least, times.least > 0 ? times.least : 1);
        if (value > most) worst = times;
        if (value > most) most = value;
    }
    gt_free(steps);
    if (most < 0)
        add_note(
            trust, "T10", 1,
            "Fewer than %d steps have the same phase, batch size and context length: how much steps vary is "
            "not judged.",
            STEPS_FOR_VARIATION);
    else
        add(trust, "T10", most, 15, NO_LIMIT,
            "Among steps with the same phase, batch size and context length, the GPU works up to %.0f%% "
            "longer "
            "in one than in another (%.2f and %.2f ms).",
            most, worst.most / 1e6, worst.least / 1e6);
}

/* T10: from the first op of a step to that of the next. */
static void judge_step_times(const gt_schedule *s, gt_trust *trust)
{
    if (!s->used_step_count) {
        judge_no_steps(s, trust);
        return;
    }
    if (s->used_step_count < STEPS_FOR_VARIATION) {
        add_note(trust, "T10", 1,
                 "Only %zu %s with GPU work: step times have no average and cannot be compared.",
                 s->used_step_count, s->used_step_count == 1 ? "step" : "steps");
        return;
    }
    extremes times = {0};
    for (size_t i = 0; i + 1 < s->used_step_count; i++) extend(&times, gt_step_time_ns(s, i));
    double value = percent(times.most - times.least, times.least);
    add(trust, "T10", value, 15, NO_LIMIT,
        "The longest step takes %.0f%% more time than the shortest (%.2f and %.2f ms).", value,
        times.most / 1e6, times.least / 1e6);
}

/* T11. */
static void judge_kernel_times(const gt_schedule *s, gt_trust *trust)
{
    if (s->used_step_count < 2) return;
    double *kernel_ns = gt_alloc_zero(s->step_count, sizeof *kernel_ns);
    for (size_t i = 0; i < s->op_count; i++)
        if (s->ops[i].step >= 0 && s->ops[i].kind == GT_KIND_KERNEL)
            kernel_ns[s->ops[i].step] += (double)gt_op_ns(&s->ops[i]);
    extremes times = {0};
    for (size_t i = 0; i < s->used_step_count; i++) extend(&times, kernel_ns[s->used_steps[i]]);
    gt_free(kernel_ns);
    double value = percent(times.most - times.least, times.least > 0 ? times.least : 1);
    add(trust, "T11", value, 8, NO_LIMIT,
        "Kernels take %.0f%% more time in one step than in another (%.2f and %.2f ms)%s", value,
        times.most / 1e6, times.least / 1e6,
        value > 8 ? ": the steps differ, or the GPU's clock changed (power or heat)." : ".");
}

static void judge_variation(const gt_schedule *schedule, gt_trust *trust)
{
    if (schedule->listed) {
        judge_listed_times(schedule->listed, trust);
        return;
    }
    judge_step_times(schedule, trust);
    judge_kernel_times(schedule, trust);
}

/* ---- all checks ---- */

gt_trust gt_trust_judge(const gt_trust_input *input)
{
    const gt_schedule *s = input->schedule;
    gt_trust trust = {0};
    bool is_usable = s->op_count && !s->is_capture;
    add(&trust, "T0", is_usable ? 0 : 1, NO_LIMIT, 0, "%s",
        is_usable ? "The trace has GPU events."
        : s->is_capture
            ? "This is a graph capture: its kernels did not run, so it does not say when the GPU worked."
            : "The trace has no GPU events, so it does not say when the GPU worked.");
    if (!is_usable) {
        if (input->is_cut_off) judge_steps(s, true, &trust);
        judge_account(input->account, &trust);
        return trust;
    }
    judge_links(s, &trust);
    judge_launches(s, &trust);
    judge_overlap(s, &trust);
    judge_durations(s, &trust);
    judge_account(input->account, &trust);
    if (!is_other(s) || s->point_count) judge_clocks(s, &trust);
    judge_steps(s, input->is_cut_off, &trust);
    judge_processes(s, &trust);
    if (!is_other(s)) judge_details(s, &trust);
    if (!is_other(s)) judge_profiler(input, &trust);
    judge_variation(s, &trust);
    judge_idle(s, input->idle, &trust);
    double error = fabs(input->replay_error_pct);
    if (error > replay_warn_pct)
        add(&trust, "T13", error, replay_warn_pct, replay_fail_pct,
            "The model misses the recorded %s time by %.1f%%, so gains %s.", input->per, error,
            error > replay_fail_pct ? "cannot be trusted"
                                    : "are rough estimates, and those of less than twice that are not shown");
    else
        add(&trust, "T13", error, replay_warn_pct, replay_fail_pct,
            "The model reproduces the recorded %s time to within %.1f%%.", input->per, error);
    qsort(trust.checks, trust.count, sizeof *trust.checks, by_number);
    return trust;
}

void gt_trust_free(gt_trust *trust)
{
    for (size_t i = 0; i < trust->count; i++) gt_free(trust->checks[i].text);
    gt_free(trust->checks);
    *trust = (gt_trust){0};
}

const char *gt_trust_verdict(gt_trust_level level)
{
    static const char *const names[] = {"good", "good", "usable with care", "do not trust"};
    return names[level];
}

const char *gt_trust_level_name(gt_trust_level level)
{
    static const char *const names[] = {"ok", "note", "warn", "fail"};
    return names[level];
}
