/* Steps that take longer than the others, because the host does something there, or the GPU.
 *
 *     cadence   |-18-|-18-|-18-|------75------|-18-|-18-|     from the first op of a step to that of the next
 *     host      |18  |18  |18  |75            |18  |18  |     without waiting for the GPU
 *
 * A step is uneven if its cadence is a fifth above the median and its own host or GPU time explains more than
 * half of that; otherwise it is the aftermath of another step. The last step has no cadence; it counts if its
 * own time is as unusual as that of the others. Steps whose GPU time is longer with as many ops differ in the
 * size of their inputs, which is no fault.
 *
 * Additions are the time per name in uneven steps, on average, less its median in the others. */
#include "findings/uneven.h"

#include "base/map.h"
#include "base/memory.h"
#include "findings/schedule/names.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_STEPS = 5 };
static const double least_excess = 0.2;    /* of the median */
static const double explained = 0.5;       /* of the excess */
static const double more_ops = 1.1;        /* of the usual number: more than larger inputs */
static const double same_backward = 0.1;   /* of the excess: the backward pass did not grow */
static const double least_addition = 0.01; /* of the excess */

typedef struct step_sums {
    uint32_t step;     /* of the schedule */
    double cadence_ns; /* NAN: the last one */
    double gpu_ns, host_ns, backward_ns, ops;
    double own_ns; /* host_ns or gpu_ns above the median, whichever the type is */
    double excess_ns;
} step_sums;

typedef struct uneven_search {
    const gt_schedule *schedule;
    gt_uneven *uneven;
    step_sums *steps; /* by used step */
    size_t count;
    uint32_t *used; /* by step of the schedule: its used step; GT_NONE */
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

static step_sums *sums_of(const uneven_search *search, int32_t step)
{
    if (step < 0 || search->used[step] == GT_NONE) return NULL;
    return &search->steps[search->used[step]];
}

static void sum_steps(uneven_search *search)
{
    const gt_schedule *s = search->schedule;
    for (size_t i = 0; i < search->count; i++) {
        uint32_t step = s->used_steps[i];
        const gt_step_times *times = &s->steps[step];
        search->used[step] = (uint32_t)i;
        search->steps[i] = (step_sums){.step = step,
                                       .cadence_ns = i + 1 < search->count ? gt_step_time_ns(s, i) : NAN,
                                       .host_ns = (double)(times->end_ns - times->start_ns)};
    }
    for (size_t i = 0; i < s->op_count; i++) {
        step_sums *sums = sums_of(search, s->ops[i].step);
        if (!sums) continue;
        double ns = (double)gt_op_ns(&s->ops[i]);
        bool is_backward = s->ops[i].point != GT_NONE && s->points[s->ops[i].point].flags & GT_HOST_BACKWARD;
        sums->gpu_ns += ns;
        sums->backward_ns += is_backward ? ns : 0;
        sums->ops++;
    }
    for (size_t i = 0; i < s->point_count; i++) {
        step_sums *sums = sums_of(search, s->points[i].step);
        if (sums) sums->host_ns -= (double)s->points[i].wait_ns;
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
    uneven->is_uneven[search->count - 1] = last->own_ns > explained * gt_select(own, found, found / 2);
    if (uneven->is_uneven[search->count - 1]) {
        last->excess_ns = fmax(0, last->own_ns - hidden_ns / (double)found);
        uneven->count++;
    }
    gt_free(own);
}

/* The distance between uneven steps if it is always the same. */
static size_t find_period(const uneven_search *search)
{
    size_t period = 0, before = SIZE_MAX;
    for (size_t i = 0; i < search->count; i++) {
        if (!search->uneven->is_uneven[i]) continue;
        size_t step = search->steps[i].step;
        if (before != SIZE_MAX && period && step - before != period) return 0;
        if (before != SIZE_MAX) period = step - before;
        before = step;
    }
    return period;
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
    if (!found || 2 * found > with_cadence) return false;
    uneven->is_of_gpu = gpu_excess > explained * excess;
    if (uneven->is_of_gpu && all_ops / (double)found < more_ops * ops) return false;
    for (size_t i = 0; i < count; i++)
        search->steps[i].own_ns =
            uneven->is_of_gpu ? search->steps[i].gpu_ns - gpu_ns : search->steps[i].host_ns - host_ns;
    uneven->count = found;
    judge_last(search, found);
    uneven->is_first_only = uneven->count == 1 && uneven->is_uneven[0];
    uneven->period = find_period(search);
    uneven->median_ns = usual_ns;
    uneven->mean_ns = all / (double)with_cadence;
    uneven->excess_ns = (excess + search->steps[count - 1].excess_ns) / (double)uneven->count;
    uneven->gain_ns =
        uneven->period ? uneven->excess_ns / (double)uneven->period : excess / (double)with_cadence;
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

/* The used step in which a host event starts; GT_NONE: none. */
static uint32_t used_step_at(const uneven_search *search, int64_t ns)
{
    const gt_schedule *s = search->schedule;
    size_t next;
    GT_BISECT(next, 0, s->step_count, s->steps[next].start_ns <= ns);
    if (!next || ns >= s->steps[next - 1].end_ns) return GT_NONE;
    return search->used[next - 1];
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
        uint32_t used = is_call || gt_name_has(s, event->name, GT_NAME_STEP) || active[event->name]
                            ? GT_NONE
                            : used_step_at(search, event->start_ns);
        if (used != GT_NONE)
            add_time(search, sums, event->name, (uint32_t)depth, used,
                     (double)(event->end_ns - event->start_ns));
        active[event->name]++;
        GT_PUSH(open, depth, capacity, i);
    }
    gt_free(active);
    gt_free(open);
}

/* GPU time by the functions and ranges that launched it. */
static void sum_gpu(const uneven_search *search, name_sums *sums)
{
    const gt_schedule *s = search->schedule;
    uint32_t *seen = gt_alloc_zero(gt_interner_count(s->strings), sizeof *seen); /* the last op, from 1 */
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (op->step < 0 || search->used[op->step] == GT_NONE || op->point == GT_NONE) continue;
        uint32_t above = s->events[s->points[op->point].event].parent, depth = 0;
        for (uint32_t e = above; e != GT_NONE; e = s->events[e].parent) depth++;
        for (uint32_t e = above; e != GT_NONE; e = s->events[e].parent) {
            const gt_host_event *event = &s->events[e];
            bool is_named = event->kind == GT_KIND_PYTHON || event->kind == GT_KIND_ANNOTATION;
            depth--;
            if (!is_named || seen[event->name] == i + 1 || gt_name_has(s, event->name, GT_NAME_STEP))
                continue;
            seen[event->name] = (uint32_t)i + 1;
            add_time(search, sums, event->name, depth, search->used[op->step], (double)gt_op_ns(op));
        }
    }
    gt_free(seen);
}

static int largest_first(const void *left, const void *right)
{
    const gt_addition *a = left, *b = right;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

/* Whether a name says nothing about what a step does: the profiler's own, and the program itself. */
static bool is_idle_name(const gt_schedule *s, uint32_t name)
{
    gt_str text = gt_interner_get(s->strings, name);
    return gt_name_has(s, name, GT_NAME_PROFILER) || gt_str_contains(text, "_record_function") ||
           gt_str_contains(text, "<module>");
}

static void find_additions(uneven_search *search)
{
    gt_uneven *uneven = search->uneven;
    name_sums sums = {0};
    if (uneven->is_of_gpu)
        sum_gpu(search, &sums);
    else
        sum_host(search, &sums);
    double *others = gt_alloc(search->count * sizeof *others);
    size_t capacity = 0;
    for (size_t n = 0; n < sums.name_count; n++) {
        uint32_t name = sums.names[n];
        double mean = 0;
        size_t found = 0, count = 0;
        for (size_t i = 0; i + 1 < search->count; i++)
            if (uneven->is_uneven[i]) mean += time_of(&sums, name, i);
        for (size_t i = 0; i + 1 < search->count; i++) found += uneven->is_uneven[i];
        mean /= (double)found;
        if (mean < least_addition * uneven->excess_ns || is_idle_name(search->schedule, name)) continue;
        for (size_t i = 0; i < search->count; i++)
            if (!uneven->is_uneven[i]) others[count++] = time_of(&sums, name, i);
        gt_addition addition = {name, gt_map_get(&sums.depths, name, 0),
                                mean - (count ? gt_select(others, count, count / 2) : 0)};
        if (addition.ns > 0) GT_PUSH(uneven->additions, uneven->addition_count, capacity, addition);
    }
    if (uneven->addition_count)
        qsort(uneven->additions, uneven->addition_count, sizeof *uneven->additions, largest_first);
    gt_free(others);
    gt_free(sums.ns);
    gt_free(sums.names);
    gt_map_free(&sums.places);
    gt_map_free(&sums.depths);
}

gt_uneven *gt_uneven_find(const gt_schedule *schedule)
{
    size_t count = schedule->used_step_count;
    if (count < FEWEST_STEPS) return NULL;
    gt_uneven *uneven = gt_alloc_zero(1, sizeof *uneven);
    uneven_search search = {.schedule = schedule,
                            .uneven = uneven,
                            .steps = gt_alloc(count * sizeof *search.steps),
                            .count = count,
                            .used = gt_alloc(schedule->step_count * sizeof *search.used)};
    uneven->is_uneven = gt_alloc_zero(count, sizeof *uneven->is_uneven);
    for (size_t i = 0; i < schedule->step_count; i++) search.used[i] = GT_NONE;
    sum_steps(&search);
    bool found = find_steps(&search);
    if (found) find_additions(&search);
    gt_free(search.steps);
    gt_free(search.used);
    if (found) return uneven;
    gt_uneven_free(uneven);
    return NULL;
}

void gt_uneven_free(gt_uneven *uneven)
{
    if (!uneven) return;
    gt_free(uneven->is_uneven);
    gt_free(uneven->additions);
    gt_free(uneven);
}
