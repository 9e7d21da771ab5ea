/* What is measured in one trace: step times, exposed communication, GEMM time, GEMM calls with and without a
 * collective at the same time, and the collectives.
 *
 * Steps and ops are those of the findings' schedule (findings/schedule): a step lasts from its first op on
 * the GPU to the first op of the next step, so n marked steps give n - 1 times. The window of all
 * measurements is from the first to the last of these ops. A trace without two steps is one step.
 *
 * How long do collectives run during a GEMM? With the merged intervals of all collectives, and the time that
 * they cover up to the start of each, that is a difference of two lookups:
 *
 *     collectives     |--- 40 ---|        |--- 30 ---|
 *     GEMM                   |-------------------|
 *     covered until:         25                  60          so 35 of its time */
#include "sweep/decide/decide.h"

#include "analysis/collective/sheets.h"
#include "findings/schedule/schedule.h"
#include "findings/shapes.h"
#include "input/chrome/kineto.h"

static const double with_share = 0.5, without_share = 0.01;

/* ---- intervals ---- */

typedef struct coverage {
    gt_intervals intervals; /* merged, of collectives */
    double *before;         /* by interval: the length of those before it */
} coverage;

typedef enum covered_by { COLLECTIVES, COMPUTATION, BOTH } covered_by;

static coverage cover(const gt_schedule *s, covered_by which)
{
    coverage c = {0};
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (which != BOTH && op->communicates != (which == COLLECTIVES)) continue;
        if (!op->communicates && op->kind == GT_KIND_MEMCPY) continue;
        double start = (double)op->start_ns, end = (double)op->end_ns;
        if (end > start) gt_intervals_add(&c.intervals, start, end);
    }
    gt_intervals_merge(&c.intervals);
    c.before = gt_alloc((c.intervals.count + 1) * sizeof *c.before);
    double sum = 0;
    for (size_t i = 0; i < c.intervals.count; i++) {
        c.before[i] = sum;
        sum += c.intervals.items[i].end - c.intervals.items[i].start;
    }
    return c;
}

static void free_coverage(coverage *c)
{
    gt_intervals_free(&c->intervals);
    gt_free(c->before);
}

/* How much is covered before a time. */
static double covered(const coverage *c, double time)
{
    size_t count; /* that start at or before the time */
    GT_BISECT(count, 0, c->intervals.count, c->intervals.items[count].start <= time);
    if (!count) return 0;
    const gt_interval *last = &c->intervals.items[count - 1];
    return c->before[count - 1] + fmin(time, last->end) - last->start;
}

static void clip(gt_intervals *list, double start, double end)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        gt_interval in = {fmax(list->items[i].start, start), fmin(list->items[i].end, end)};
        if (in.end > in.start) list->items[kept++] = in;
    }
    list->count = kept;
}

/* ---- GEMMs ---- */

static gt_str name_of(const gt_schedule *s, uint32_t id)
{
    return gt_interner_get(s->strings, id);
}

/* Whether an op or, if the op does not say, the name of the kernel is that of a matrix product. */
static bool is_gemm(gt_str op, gt_str kernel)
{
    static const char *const parts[] = {"gemm", "nvjet", "cijk_", "matmul"};
    gt_work_kind kind = gt_work_kind_of(op);
    if (kind != GT_WORK_OTHER) return kind == GT_WORK_GEMM;
    for (size_t i = 0; i < GT_LENGTH(parts); i++)
        if (gt_str_contains_nocase(kernel, parts[i])) return true;
    return false;
}

/* The bounds of the steps: step i is from starts[i] to starts[i + 1], and its times belong to entry
 * entries[i] of step_ms, SIZE_MAX: none. */
typedef struct step_bounds {
    double *starts;
    size_t *entries;
    double *lengths; /* in steps */
    size_t count;
} step_bounds;

typedef struct gemm_finder {
    const gt_schedule *schedule;
    gt_trace_measures *found;
    const coverage *collectives;
    const step_bounds *steps;
    uint32_t *dims; /* by row of the trace: string id; NULL: the trace has no ops */
    gt_map gemms;   /* key string to index in found->gemms */
    gt_interner *keys;
} gemm_finder;

static uint32_t copy_string(gemm_finder *f, gt_str text)
{
    return gt_interner_add(f->found->strings, text.bytes, text.len);
}

/* The kernel's entry; NULL if it is no GEMM. */
static gt_gemm_calls *calls_of(gemm_finder *f, const gt_gpu_op *op)
{
    const gt_schedule *s = f->schedule;
    const gt_host_event *host = !f->dims || op->host_op == GT_NONE ? NULL : &s->events[op->host_op];
    uint32_t shape = host ? f->dims[host->row] : GT_STR_NONE,
             parts[] = {op->name, host ? host->name : GT_STR_NONE, shape};
    uint32_t key = gt_interner_add(f->keys, parts, sizeof parts), *index = gt_map_put(&f->gemms, key, 0);
    if (*index == GT_MAP_NONE) {
        gt_str kernel = name_of(s, op->name), name = name_of(s, parts[1]);
        *index = 0; /* not a GEMM */
        if (is_gemm(name, kernel)) {
            gt_gemm_calls calls = {.kernel = copy_string(f, kernel),
                                   .op = host ? copy_string(f, name) : GT_STR_NONE,
                                   .shape = shape == GT_STR_NONE ? GT_STR_NONE
                                                                 : copy_string(f, name_of(s, shape))};
            GT_PUSH(f->found->gemms, f->found->gemm_count, f->found->gemm_capacity, calls);
            *index = (uint32_t)f->found->gemm_count;
        }
    }
    return *index ? &f->found->gemms[*index - 1] : NULL;
}

/* The step of a time; SIZE_MAX: none. */
static size_t step_at(const step_bounds *steps, double time)
{
    size_t count; /* that start at or before the time */
    if (!steps->count) return SIZE_MAX;
    GT_BISECT(count, 0, steps->count + 1, steps->starts[count] <= time);
    return count && count <= steps->count ? count - 1 : SIZE_MAX;
}

static void add_call(gemm_finder *f, const gt_gpu_op *op)
{
    gt_gemm_calls *calls = calls_of(f, op);
    double dur_ns = (double)op->end_ns - (double)op->start_ns;
    if (!calls || !(dur_ns > 0)) return;
    f->found->gemm_ms += dur_ns / 1e6;
    size_t step = step_at(f->steps, (double)op->start_ns);
    if (step != SIZE_MAX && f->steps->entries[step] != SIZE_MAX)
        f->found->step_gemm_ms.items[f->steps->entries[step]] += dur_ns / 1e6 / f->steps->lengths[step];
    double share =
        (covered(f->collectives, (double)op->end_ns) - covered(f->collectives, (double)op->start_ns)) /
        dur_ns;
    if (share >= with_share)
        GT_PUSH(calls->with.items, calls->with.count, calls->with.capacity, dur_ns / 1e3);
    else if (share <= without_share)
        GT_PUSH(calls->without.items, calls->without.count, calls->without.capacity, dur_ns / 1e3);
    else
        calls->partial++;
}

static void find_gemms(gt_trace_measures *found, const gt_schedule *s, const coverage *collectives,
                       const step_bounds *steps)
{
    gemm_finder f = {.schedule = s,
                     .found = found,
                     .collectives = collectives,
                     .steps = steps,
                     .dims = s->trace ? gt_store_string_ids(s->trace->store, GT_EVENT_INPUT_DIMS) : NULL,
                     .keys = gt_interner_new()};
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (op->kind == GT_KIND_KERNEL && !op->communicates && gt_window_has(&s->window, op->start_ns))
            add_call(&f, op);
    }
    gt_free(f.dims);
    gt_map_free(&f.gemms);
    gt_interner_free(f.keys);
}

/* ---- steps ---- */

static double first_start(const gt_schedule *s, size_t used)
{
    const gt_step_times *step = &s->steps[s->used_steps[used]];
    return step->first_op == GT_NONE ? NAN : (double)s->ops[step->first_op].start_ns;
}

static void find_steps(gt_trace_measures *found, const gt_schedule *s, step_bounds *bounds)
{
    gt_number_series *times = &found->step_ms;
    size_t most = s->used_step_count + 2;
    *bounds = (step_bounds){gt_alloc(most * sizeof *bounds->starts), gt_alloc(most * sizeof *bounds->entries),
                            gt_alloc(most * sizeof *bounds->lengths), 0};
    for (size_t i = 0; i + 1 < s->used_step_count; i++) {
        double steps = s->used_steps[i + 1] - s->used_steps[i]; /* those without GPU work count, too */
        double ms = (first_start(s, i + 1) - first_start(s, i)) / 1e6 / steps;
        bounds->starts[i] = first_start(s, i);
        bounds->starts[i + 1] = first_start(s, i + 1);
        bounds->lengths[i] = steps;
        bounds->entries[i] = ms > 0 ? times->count : SIZE_MAX;
        bounds->count = i + 1;
        if (ms > 0) GT_PUSH(times->items, times->count, times->capacity, ms);
    }
    found->has_steps = times->count > 0;
    double start = (double)s->window.start_ns, end = (double)s->window.end_ns, whole = (end - start) / 1e6;
    if (!times->count && whole > 0) {
        GT_PUSH(times->items, times->count, times->capacity, whole);
        bounds->starts[0] = start;
        bounds->starts[1] = end;
        bounds->entries[0] = 0;
        bounds->lengths[0] = 1;
        bounds->count = 1;
    }
    found->steps = (double)(s->window.steps ? s->window.steps : 1);
    gt_number_series *others[] = {&found->step_exposed_ms, &found->step_gemm_ms};
    for (size_t i = 0; i < GT_LENGTH(others); i++)
        *others[i] = (gt_number_series){gt_alloc_zero(times->count + 1, sizeof(double)), times->count,
                                        times->count + 1};
}

static double covered_between(const coverage *c, double start, double end)
{
    return covered(c, end) - covered(c, start);
}

/* Communication without computation is what both cover together, less what computation covers. */
static void find_exposed(gt_trace_measures *found, const step_bounds *steps, const coverage *both,
                         const coverage *compute)
{
    for (size_t i = 0; i < steps->count; i++) {
        double start = steps->starts[i], end = steps->starts[i + 1];
        if (steps->entries[i] == SIZE_MAX || !(end > start)) continue;
        double exposed = covered_between(both, start, end) - covered_between(compute, start, end);
        found->step_exposed_ms.items[steps->entries[i]] = fmax(0, exposed) / 1e6 / steps->lengths[i];
    }
}

static void measure(gt_trace_measures *found, const gt_schedule *s)
{
    step_bounds steps;
    find_steps(found, s, &steps);
    coverage collectives = cover(s, COLLECTIVES), compute = cover(s, COMPUTATION), both = cover(s, BOTH);
    find_gemms(found, s, &collectives, &steps);
    find_exposed(found, &steps, &both, &compute);
    clip(&collectives.intervals, (double)s->window.start_ns, (double)s->window.end_ns);
    clip(&compute.intervals, (double)s->window.start_ns, (double)s->window.end_ns);
    found->exposed_ms =
        gt_intervals_length_without(&collectives.intervals, &compute.intervals) / 1e6 / found->steps;
    found->gemm_ms /= found->steps;
    free_coverage(&collectives);
    free_coverage(&compute);
    free_coverage(&both);
    gt_free_all(steps.starts, steps.entries, steps.lengths);
}

gt_trace_measures *gt_trace_measures_of_schedule(const gt_schedule *schedule, gt_error *error)
{
    if (!schedule->op_count) {
        gt_fail(error, "no GPU events");
        return NULL;
    }
    gt_trace_measures *found = gt_alloc_zero(1, sizeof *found);
    found->strings = gt_interner_new();
    measure(found, schedule);
    return found;
}

gt_trace_measures *gt_trace_measures_of(gt_pytorch_linked *trace, int64_t rank, gt_error *error)
{
    const gt_event_view *view = &gt_pytorch_view(trace)->events;
    gt_schedule *schedule = gt_schedule_new(view);
    gt_trace_measures *found = gt_trace_measures_of_schedule(schedule, error);
    if (found) found->is_cut_off = view->facts->is_cut_off;
    if (found && !view->facts->is_cut_off) {
        found->collectives = gt_collectives_of_rank(view, rank);
        gt_table_use_strings(found->collectives, found->strings); /* so that the trace can be freed */
    }
    gt_schedule_free(schedule);
    return found;
}

/* Half a trace is not kept: reading it is a failure with --strict. */
static gt_trace_measures *read_and_keep(const char *path, int64_t rank, const gt_read_options *options,
                                        gt_index *index, gt_error *error)
{
    gt_captured_messages captured = {0};
    gt_capture_begin(&captured);
    gt_pytorch_read *read = gt_kineto_read(path, (gt_kineto_options){0}, options, error);
    gt_pytorch_linked *trace = read ? gt_pytorch_link(gt_pytorch_build_tree(read)) : NULL;
    gt_trace_measures *found = trace ? gt_trace_measures_of(trace, rank, error) : NULL;
    gt_capture_end(&captured);
    if (found && !gt_pytorch_view(trace)->events.facts->is_cut_off)
        gt_trace_measures_keep(found, index, rank, gt_buffer_str(&captured.texts));
    if (trace) gt_pytorch_linked_free(trace);
    gt_buffer_free(&captured.texts);
    return found;
}

gt_trace_measures *gt_trace_measures_read(const char *path, int64_t rank, const gt_read_options *options,
                                          const gt_sweep_cache *cache, gt_error *error)
{
    gt_buffer messages = {0};
    gt_index *index = gt_sweep_cache_index(cache, path);
    gt_trace_measures *found = gt_trace_measures_find(cache, index, rank, &messages);
    if (found)
        gt_captured_repeat(gt_buffer_str(&messages));
    else
        found = read_and_keep(path, rank, options, index, error);
    gt_index_close(index);
    gt_buffer_free(&messages);
    return found;
}

void gt_trace_measures_free(gt_trace_measures *measures)
{
    if (!measures) return;
    for (size_t i = 0; i < measures->gemm_count; i++) {
        gt_free_all(measures->gemms[i].with.items, measures->gemms[i].without.items);
    }
    gt_free_all(measures->gemms, measures->step_ms.items, measures->step_exposed_ms.items,
                measures->step_gemm_ms.items);
    gt_table_free(measures->collectives);
    gt_interner_free(measures->strings);
    gt_free(measures);
}
