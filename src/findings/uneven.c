/* Steps that take longer than the others, because the host does something there, or the GPU.
 *
 *     GPU       |-18-|-18-|-18-|------75------|-18-|-18-|     from the first kernel of a step to that of the
 * next host       |-18-|-18-|-18-|------75------|-18-|-18-|    from launch to launch of these
 *
 * A step is uneven if its time on the GPU is a fifth above the median and the host's time without waits, or
 * the GPU time of what it launches, explains more than half of that; otherwise it is the aftermath of another
 * step. What the host does before the first launch of a step belongs to that step, although the GPU waits in
 * the one before. The last step has no next one; it counts if its own time is as unusual as that of the
 * others. Steps whose GPU time is longer with as many ops differ in the size of their inputs, which is no
 * fault.
 *
 * Additions are the time per name in uneven steps, on average, less its median in the others. */
#include "findings/uneven.h"

#include "findings/schedule/names.h"
#include "table/stats.h"

enum { FEWEST_STEPS = 5 };
static const double least_excess = 0.2;    /* of the median */
static const double explained = 0.5;       /* of the excess */
static const double more_ops = 1.1;        /* of the usual number: more than larger inputs */
static const double same_backward = 0.1;   /* of the excess: the backward pass did not grow */
static const double least_addition = 0.01; /* of the excess */

typedef struct step_sums {
    uint32_t step;            /* of the schedule */
    int64_t begin_ns, end_ns; /* on the host: from its first launch to that of the next step */
    double lead_ns;           /* before its first launch */
    double cadence_ns;        /* NAN: the last one */
    double gpu_ns, host_ns, backward_ns, ops;
    size_t owner;  /* of an uneven one: the step that takes the time, this one or the next */
    double own_ns; /* host_ns or gpu_ns above the median, whichever the type is */
    double excess_ns;
} step_sums;

typedef struct uneven_search {
    const gt_schedule *schedule;
    gt_uneven *uneven;
    step_sums *steps; /* by used step */
    size_t count;
} uneven_search;

/* ---- sums ---- */

static double median_of(const step_sums *steps, size_t count, size_t offset)
{
    double *values = gt_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) memcpy(&values[i], (const char *)&steps[i] + offset, sizeof *values);
    double median = gt_select(values, count, count / 2);
    gt_free(values);
    return median;
}
#define MEDIAN(search, count, field) median_of((search)->steps, (count), offsetof(step_sums, field))

/* The used step in whose host time something is; GT_NONE. */
static uint32_t used_step_at(const uneven_search *search, int64_t ns)
{
    size_t next;
    GT_BISECT(next, 0, search->count, search->steps[next].begin_ns <= ns);
    return next && ns < search->steps[next - 1].end_ns ? (uint32_t)next - 1 : GT_NONE;
}

/* The used step that launches an op; GT_NONE. */
static uint32_t used_step_of(const uneven_search *search, const gt_gpu_op *op)
{
    return op->point == GT_NONE ? GT_NONE
                                : used_step_at(search, search->schedule->points[op->point].start_ns);
}

/* By used step: its first kernel, or else its first op. Copies do not count where there are kernels: a
 * checkpoint at the beginning of a step copies before the step computes. The caller frees them. */
static uint32_t *first_kernels(const uneven_search *search)
{
    const gt_schedule *s = search->schedule;
    uint32_t *first = gt_alloc(search->count * sizeof *first), *used = gt_alloc(s->step_count * sizeof *used);
    for (size_t i = 0; i < s->step_count; i++) used[i] = GT_NONE;
    for (uint32_t i = 0; i < search->count; i++) {
        used[s->used_steps[i]] = i;
        first[i] = s->steps[s->used_steps[i]].first_op;
    }
    for (uint32_t i = (uint32_t)s->op_count; i-- > 0;) {
        const gt_gpu_op *op = &s->ops[i];
        if (op->kind == GT_KIND_KERNEL && op->step >= 0 && used[op->step] != GT_NONE)
            first[used[op->step]] = i;
    }
    gt_free(used);
    return first;
}

static void place_steps(uneven_search *search)
{
    const gt_schedule *s = search->schedule;
    uint32_t *first = first_kernels(search);
    for (size_t i = 0; i < search->count; i++) {
        const gt_step_times *times = &s->steps[s->used_steps[i]];
        uint32_t point = s->ops[first[i]].point;
        int64_t begin_ns = point == GT_NONE ? times->start_ns : s->points[point].start_ns;
        search->steps[i] = (step_sums){.step = s->used_steps[i],
                                       .begin_ns = begin_ns,
                                       .end_ns = times->end_ns > begin_ns ? times->end_ns : begin_ns,
                                       .lead_ns = (double)(begin_ns - times->start_ns),
                                       .cadence_ns = NAN};
        if (!i) continue;
        step_sums *before = &search->steps[i - 1];
        before->end_ns = begin_ns;
        before->cadence_ns = (double)(s->ops[first[i]].start_ns - s->ops[first[i - 1]].start_ns) /
                             (double)(search->steps[i].step - before->step);
    }
    gt_free(first);
}

static void sum_steps(uneven_search *search)
{
    const gt_schedule *s = search->schedule;
    for (size_t i = 0; i < search->count; i++)
        search->steps[i].host_ns = (double)(search->steps[i].end_ns - search->steps[i].begin_ns);
    for (size_t i = 0; i < s->op_count; i++) {
        uint32_t used = used_step_of(search, &s->ops[i]);
        if (used == GT_NONE) continue;
        step_sums *sums = &search->steps[used];
        double ns = (double)gt_op_ns(&s->ops[i]);
        sums->gpu_ns += ns;
        sums->backward_ns += s->points[s->ops[i].point].flags & GT_HOST_BACKWARD ? ns : 0;
        sums->ops++;
    }
    for (size_t i = 0; i < s->point_count; i++) {
        uint32_t used = used_step_at(search, s->points[i].start_ns);
        if (used == GT_NONE) continue;
        bool is_held = s->points[i].flags & GT_POINT_HELD;
        search->steps[used].host_ns -= (double)(s->points[i].wait_ns + (is_held ? s->points[i].own_ns : 0));
    }
}

/* ---- which steps ---- */

static bool is_uneven(const step_sums *step, double median_ns, double gpu_ns, double host_ns)
{
    double excess_ns = step->cadence_ns - median_ns;
    return excess_ns > least_excess * median_ns &&
           (step->gpu_ns - gpu_ns > explained * excess_ns || step->host_ns - host_ns > explained * excess_ns);
}

/* The last step has no cadence: its own excess, less what the others hide of theirs. */
static void judge_last(uneven_search *search, size_t found)
{
    gt_uneven *uneven = search->uneven;
    step_sums *last = &search->steps[search->count - 1];
    double *own = gt_alloc(found * sizeof *own), hidden_ns = 0;
    size_t count = 0;
    for (size_t i = 0; i + 1 < search->count; i++) {
        if (!uneven->is_uneven[i]) continue;
        own[count++] = search->steps[i].own_ns;
        hidden_ns += search->steps[i].own_ns - search->steps[i].excess_ns;
    }
    if (last->own_ns > explained * gt_select(own, found, found / 2)) {
        uneven->is_uneven[search->count - 1] = uneven->is_named[search->count - 1] = true;
        last->excess_ns = fmax(0, last->own_ns - hidden_ns / (double)found);
    }
    gt_free(own);
}

/* The distance between uneven steps if it is always the same, and if no step of the trace is missing from
 * that row: two steps that are slow by chance rarely are such a row. */
static size_t find_period(const uneven_search *search)
{
    size_t period = 0, first = SIZE_MAX, last = 0;
    for (size_t i = 0; i < search->count; i++) {
        if (!search->uneven->is_named[i]) continue;
        size_t step = search->steps[i].step;
        if (first == SIZE_MAX)
            first = step;
        else if (period && step - last != period)
            return 0;
        else
            period = step - last;
        last = step;
    }
    bool is_whole = period > 1 && first < search->steps[0].step + period &&
                    last + period > search->steps[search->count - 1].step;
    return is_whole ? period : 0;
}

/* Whether the first steps are uneven, and no others. */
static bool is_warm_up(const uneven_search *search)
{
    for (size_t i = 0; i < search->uneven->count; i++)
        if (!search->uneven->is_named[i]) return false;
    return true;
}

/* Finds out which step takes the time of each uneven one, and returns how many these are. */
static size_t name_steps(const uneven_search *search)
{
    const gt_uneven *uneven = search->uneven;
    double usual_ns = MEDIAN(search, search->count, lead_ns);
    size_t named = 0;
    for (size_t i = 0; i + 1 < search->count; i++) {
        step_sums *step = &search->steps[i];
        if (!uneven->is_uneven[i]) continue;
        bool is_before =
            !uneven->is_of_gpu && search->steps[i + 1].lead_ns - usual_ns > explained * step->excess_ns;
        step->owner = i + is_before;
        uneven->is_named[step->owner] = true;
    }
    for (size_t i = 0; i < search->count; i++) named += uneven->is_named[i];
    return named;
}

/* Mean over the uneven steps with a cadence of backward GPU time, less the median of the others. */
static double more_backward(const uneven_search *search, size_t found)
{
    double *others = gt_alloc(search->count * sizeof *others), sum = 0, usual;
    size_t count = 0;
    for (size_t i = 0; i < search->count; i++) {
        if (!search->uneven->is_uneven[i])
            others[count++] = search->steps[i].backward_ns;
        else if (i + 1 < search->count)
            sum += search->steps[i].backward_ns;
    }
    usual = count ? gt_select(others, count, count / 2) : 0;
    gt_free(others);
    return usual > 0 ? sum / (double)found - usual : INFINITY;
}

/* False if the steps are even enough. */
static bool find_steps(uneven_search *search)
{
    gt_uneven *uneven = search->uneven;
    size_t count = search->count, with_cadence = count - 1, found = 0;
    double usual_ns = MEDIAN(search, with_cadence, cadence_ns), gpu_ns = MEDIAN(search, count, gpu_ns);
    double host_ns = MEDIAN(search, count, host_ns), ops = MEDIAN(search, count, ops);
    double excess = 0, gpu_excess = 0, all_ops = 0, all = 0;
    for (size_t i = 0; i < with_cadence; i++) {
        step_sums *step = &search->steps[i];
        all += step->cadence_ns;
        uneven->is_uneven[i] = is_uneven(step, usual_ns, gpu_ns, host_ns);
        if (!uneven->is_uneven[i]) continue;
        found++;
        step->excess_ns = step->cadence_ns - usual_ns;
        excess += step->excess_ns;
        gpu_excess += step->gpu_ns - gpu_ns;
        all_ops += step->ops;
    }
    if (!found) return false;
    uneven->is_of_gpu = gpu_excess > explained * excess;
    uneven->launches_more = all_ops / (double)found >= more_ops * ops;
    if (uneven->is_of_gpu && !uneven->launches_more) return false;
    for (size_t i = 0; i < count; i++)
        search->steps[i].own_ns =
            uneven->is_of_gpu ? search->steps[i].gpu_ns - gpu_ns : search->steps[i].host_ns - host_ns;
    if (2 * name_steps(search) > with_cadence) return false;
    judge_last(search, found);
    for (size_t i = 0; i < count; i++) uneven->count += uneven->is_named[i];
    uneven->is_warm_up = is_warm_up(search);
    uneven->period = find_period(search);
    uneven->median_ns = usual_ns;
    uneven->mean_ns = all / (double)with_cadence;
    uneven->excess_ns = (excess + search->steps[count - 1].excess_ns) / (double)uneven->count;
    uneven->gain_ns = excess / (double)with_cadence;
    uneven->only_forward =
        uneven->is_of_gpu && more_backward(search, found) < same_backward * gpu_excess / (double)found;
    return true;
}

/* ---- what they have in addition ---- */

/* Sums by name and used step. */
typedef struct name_sums {
    gt_map places; /* (name, used step): index of ns */
    double *ns;
    size_t count, capacity;
    gt_map depths; /* of names that are in an uneven step */
    uint32_t *names;
    size_t name_count, name_capacity;
} name_sums;

static void add_time(const uneven_search *search, name_sums *sums, uint32_t name, uint32_t depth,
                     uint32_t used, double ns)
{
    uint32_t *place = gt_map_put(&sums->places, name, used);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)sums->count;
        GT_PUSH(sums->ns, sums->count, sums->capacity, 0);
    }
    sums->ns[*place] += ns;
    if (!search->uneven->is_uneven[used]) return;
    uint32_t *least = gt_map_put(&sums->depths, name, 0);
    if (*least == GT_MAP_NONE) GT_PUSH(sums->names, sums->name_count, sums->name_capacity, name);
    if (depth < *least) *least = depth;
}

static double time_of(const name_sums *sums, uint32_t name, size_t used)
{
    uint32_t place = gt_map_get(&sums->places, name, used);
    return place == GT_MAP_NONE ? 0 : sums->ns[place];
}

/* Adds what a host event has in each used step. */
static void add_event(const uneven_search *search, name_sums *sums, const gt_host_event *event,
                      uint32_t depth)
{
    size_t first;
    GT_BISECT(first, 0, search->count, search->steps[first].end_ns <= event->start_ns);
    for (size_t i = first; i < search->count && search->steps[i].begin_ns < event->end_ns; i++) {
        const step_sums *step = &search->steps[i];
        int64_t from = event->start_ns > step->begin_ns ? event->start_ns : step->begin_ns;
        int64_t until = event->end_ns < step->end_ns ? event->end_ns : step->end_ns;
        if (until > from) add_time(search, sums, event->name, depth, (uint32_t)i, (double)(until - from));
    }
}

/* Takes the time that calls wait for the GPU out of what is around them: the host is only as far behind as
 * before. */
static void take_waits(const uneven_search *search, name_sums *sums, uint32_t thread)
{
    const gt_schedule *s = search->schedule;
    uint32_t *seen = gt_alloc_zero(gt_interner_count(s->strings), sizeof *seen); /* the last point, from 1 */
    for (uint32_t p = 0; p < s->point_count; p++) {
        const gt_host_point *point = &s->points[p];
        uint32_t used =
            point->thread == thread && point->wait_ns > 0 ? used_step_at(search, point->start_ns) : GT_NONE;
        if (used == GT_NONE) continue;
        for (uint32_t e = s->events[point->event].parent; e != GT_NONE; e = s->events[e].parent) {
            uint32_t name = s->events[e].name;
            if (seen[name] != p + 1 && gt_map_get(&sums->places, name, used) != GT_MAP_NONE)
                add_time(search, sums, name, UINT32_MAX - 1, used, -(double)point->wait_ns);
            seen[name] = p + 1;
        }
    }
    gt_free(seen);
}

/* Host time by function, range and op of the thread of the steps; of recursive ones, the outermost call. */
static void sum_host(const uneven_search *search, name_sums *sums)
{
    const gt_schedule *s = search->schedule;
    uint32_t step_event = s->steps[search->steps[0].step].event;
    if (step_event == GT_NONE) return;
    const gt_host_thread *thread = &s->threads[gt_schedule_thread_of(s, step_event)];
    uint32_t *active = gt_alloc_zero(gt_interner_count(s->strings), sizeof *active);
    uint32_t *open = NULL;
    size_t depth = 0, capacity = 0;
    for (uint32_t i = thread->first; i < thread->end; i++) {
        const gt_host_event *event = &s->events[i];
        while (depth && open[depth - 1] != event->parent) active[s->events[open[--depth]].name]--;
        bool is_call = event->kind == GT_KIND_RUNTIME || event->kind == GT_KIND_DRIVER;
        if (!is_call && !gt_name_has(s, event->name, GT_NAME_STEP) && !active[event->name])
            add_event(search, sums, event, (uint32_t)depth);
        active[event->name]++;
        GT_PUSH(open, depth, capacity, i);
    }
    gt_free_all(active, open);
    take_waits(search, sums, (uint32_t)(thread - s->threads));
}

/* GPU time by the functions and ranges that launched it. */
static void sum_gpu(const uneven_search *search, name_sums *sums)
{
    const gt_schedule *s = search->schedule;
    uint32_t *seen = gt_alloc_zero(gt_interner_count(s->strings), sizeof *seen); /* the last op, from 1 */
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        uint32_t used = used_step_of(search, op);
        if (used == GT_NONE) continue;
        uint32_t above = s->events[s->points[op->point].event].parent, depth = 0;
        for (uint32_t e = above; e != GT_NONE; e = s->events[e].parent) depth++;
        for (uint32_t e = above; e != GT_NONE; e = s->events[e].parent) {
            const gt_host_event *event = &s->events[e];
            bool is_named = event->kind == GT_KIND_PYTHON || event->kind == GT_KIND_ANNOTATION;
            depth--;
            if (!is_named || seen[event->name] == i + 1 || gt_name_has(s, event->name, GT_NAME_STEP))
                continue;
            seen[event->name] = (uint32_t)i + 1;
            add_time(search, sums, event->name, depth, used, (double)gt_op_ns(op));
        }
    }
    gt_free(seen);
}

GT_ORDER_BY(largest_first, gt_addition, GT_DOWN(ns) GT_UP(name))

/* Whether a name says nothing about what a step does: the profiler's own, and the program itself. */
static bool is_idle_name(const gt_schedule *s, uint32_t name)
{
    gt_str text = gt_interner_get(s->strings, name);
    return gt_name_has(s, name, GT_NAME_PROFILER) || gt_str_contains(text, "_record_function") ||
           gt_str_contains(text, "<module>");
}

/* What uneven steps have of a name in addition. `others` and `each` are room for a number per step. */
static gt_addition addition_of(const uneven_search *search, const name_sums *sums, uint32_t name,
                               double *others, double *each)
{
    static const double least_in_each = 0.3; /* of the mean */
    const gt_uneven *uneven = search->uneven;
    gt_addition addition = {.name = name, .depth = gt_map_get(&sums->depths, name, 0), .in_all = true};
    size_t found = 0, count = 0;
    for (size_t i = 0; i < search->count; i++) {
        if (!uneven->is_uneven[i]) others[count++] = time_of(sums, name, i);
        each[i] = NAN; /* no owner */
    }
    addition.usual_ns = count ? gt_select(others, count, count / 2) : 0;
    for (size_t i = 0; i + 1 < search->count; i++) {
        if (!uneven->is_uneven[i]) continue;
        double *owners = &each[search->steps[i].owner];
        found += isnan(*owners) ? 1 : 0;
        *owners = (isnan(*owners) ? 0 : *owners) + time_of(sums, name, i) - addition.usual_ns;
        addition.ns += time_of(sums, name, i) - addition.usual_ns;
    }
    addition.ns /= (double)found;
    for (size_t i = 0; i < search->count; i++)
        addition.in_all &= isnan(each[i]) || each[i] >= least_in_each * addition.ns;
    return addition;
}

static void find_additions(uneven_search *search)
{
    gt_uneven *uneven = search->uneven;
    name_sums sums = {0};
    if (uneven->is_of_gpu)
        sum_gpu(search, &sums);
    else
        sum_host(search, &sums);
    double *others = gt_alloc(search->count * sizeof *others), *each = gt_alloc(search->count * sizeof *each);
    size_t capacity = 0;
    for (size_t n = 0; n < sums.name_count; n++) {
        if (is_idle_name(search->schedule, sums.names[n])) continue;
        gt_addition addition = addition_of(search, &sums, sums.names[n], others, each);
        if (addition.ns >= least_addition * uneven->excess_ns)
            GT_PUSH(uneven->additions, uneven->addition_count, capacity, addition);
    }
    if (uneven->addition_count)
        qsort(uneven->additions, uneven->addition_count, sizeof *uneven->additions, largest_first);
    gt_free_all(others, each, sums.ns, sums.names);
    gt_map_free(&sums.places);
    gt_map_free(&sums.depths);
}

/* Steps that do different things are uneven for different reasons, and no row. */
static void judge_reasons(gt_uneven *uneven)
{
    static const double notable = 0.25;
    for (size_t i = 0; i < uneven->addition_count; i++) {
        const gt_addition *addition = &uneven->additions[i];
        uneven->is_mixed |= gt_addition_is_new(addition) && !addition->in_all &&
                            addition->ns >= notable * uneven->additions[0].ns;
    }
    if (uneven->is_mixed) uneven->period = 0;
    if (uneven->period) uneven->gain_ns = uneven->excess_ns / (double)uneven->period;
}

gt_uneven *gt_uneven_find(const gt_schedule *schedule)
{
    size_t count = schedule->used_step_count;
    if (count < FEWEST_STEPS) return NULL;
    gt_uneven *uneven = gt_alloc_zero(1, sizeof *uneven);
    uneven_search search = {.schedule = schedule,
                            .uneven = uneven,
                            .steps = gt_alloc(count * sizeof *search.steps),
                            .count = count};
    uneven->is_uneven = gt_alloc_zero(count, sizeof *uneven->is_uneven);
    uneven->is_named = gt_alloc_zero(count, sizeof *uneven->is_named);
    place_steps(&search);
    sum_steps(&search);
    bool found = find_steps(&search);
    if (found) find_additions(&search);
    if (found) judge_reasons(uneven);
    gt_free(search.steps);
    if (found) return uneven;
    gt_uneven_free(uneven);
    return NULL;
}

void gt_uneven_free(gt_uneven *uneven)
{
    if (!uneven) return;
    gt_free_all(uneven->is_uneven, uneven->is_named, uneven->additions, uneven);
}
