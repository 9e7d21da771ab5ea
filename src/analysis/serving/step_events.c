/* The events that belong to steps.
 *
 * Events with a duration are sorted by thread and start, and GPU events and flow events are grouped by the id
 * that they share with a launch, both once. Then finding the events of a step takes time proportional to
 * their number. */
#include "analysis/serving/serving.h"

#include "compat/python_set.h"
#include "trace/rows.h"

static const char *const gpu_categories[] = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"};

struct gt_step_finder {
    const gt_plain_events *events;
    uint32_t *lasting;       /* events with a start and a duration, by thread, then start */
    gt_map threads;          /* from (process, thread) to its number n; its events are ... */
    size_t *thread_end;      /* ... lasting[thread_end[n - 1]] to lasting[thread_end[n] - 1] */
    uint32_t *joined;        /* GPU events and flow events, grouped by the id t of their launch: ... */
    size_t *joined_end;      /* ... joined[joined_end[t - 1]] to joined[joined_end[t] - 1] */
    uint8_t *is_gpu;         /* by event */
    gt_row_list timeless;    /* events without a time */
    uint8_t *taken;          /* by event: already in the result */
    struct launch *launches; /* of the current step */
    size_t launch_count, launch_capacity;
    gt_python_set set;
};

/* ---- steps ---- */

/* By name: its gt_step_name. */
static uint8_t *name_kinds(const gt_plain_events *e)
{
    enum { UNKNOWN = UINT8_MAX };
    uint32_t count = gt_interner_count(e->strings);
    uint8_t *kinds = gt_alloc(count);
    memset(kinds, UNKNOWN, count);
    for (size_t i = 0; i < e->count; i++)
        if (kinds[e->name[i]] == UNKNOWN)
            kinds[e->name[i]] = (uint8_t)gt_step_any_name_kind(gt_interner_get(e->strings, e->name[i]));
    return kinds;
}

static gt_row_list annotations_of_kind(const gt_plain_events *e, const uint8_t *kinds, gt_step_name kind)
{
    gt_row_list rows = {0};
    for (size_t i = 0; i < e->count; i++)
        if (kinds[e->name[i]] == kind && !isnan(e->start_us[i]) &&
            gt_str_equals(gt_interner_get(e->strings, e->category[i]), "user_annotation"))
            GT_PUSH(rows.items, rows.count, rows.capacity, (uint32_t)i);
    return rows;
}

gt_step_span *gt_step_spans_find(const gt_plain_events *e, size_t *count)
{
    uint8_t *kinds = name_kinds(e);
    gt_row_list rows = annotations_of_kind(e, kinds, GT_STEP_DETAILED);
    if (!rows.count) rows = annotations_of_kind(e, kinds, GT_STEP_SHORT);
    gt_order_rows(rows.items, rows.count, e->start_us);
    gt_step_span *spans = gt_alloc(rows.count * sizeof *spans);
    for (size_t i = 0; i < rows.count; i++) {
        uint32_t row = rows.items[i];
        double dur = isnan(e->dur_us[row]) ? 0 : e->dur_us[row];
        spans[i] = (gt_step_span){e->process[row], e->thread[row], e->name[row], e->start_us[row],
                                  e->start_us[row] + dur};
    }
    *count = rows.count;
    gt_free_all(rows.items, kinds);
    return spans;
}

/* ---- sorting ---- */

/* Turns counts into ends by adding up. */
static void counts_to_ends(size_t *counts, size_t count)
{
    for (size_t i = 1; i < count; i++) counts[i] += counts[i - 1];
}

static bool lasts(const gt_plain_events *e, size_t i)
{
    return !isnan(e->start_us[i]) && !isnan(e->dur_us[i]);
}

static void sort_lasting(gt_step_finder *f)
{
    const gt_plain_events *e = f->events;
    uint32_t *thread_of = gt_alloc(e->count * sizeof *thread_of), threads = 0;
    size_t capacity = 0;
    for (size_t i = 0; i < e->count; i++) {
        if (!lasts(e, i)) continue;
        uint32_t *thread = gt_map_put(&f->threads, e->process[i], e->thread[i]);
        if (*thread == GT_MAP_NONE) {
            *thread = threads++;
            f->thread_end = gt_grow(f->thread_end, &capacity, threads, sizeof *f->thread_end);
            f->thread_end[*thread] = 0;
        }
        thread_of[i] = *thread;
        f->thread_end[*thread]++;
    }
    counts_to_ends(f->thread_end, threads);
    f->lasting = gt_alloc((threads ? f->thread_end[threads - 1] : 0) * sizeof *f->lasting);
    size_t *place = gt_alloc(threads * sizeof *place);
    for (uint32_t t = 0; t < threads; t++) place[t] = t ? f->thread_end[t - 1] : 0;
    for (size_t i = 0; i < e->count; i++)
        if (lasts(e, i)) f->lasting[place[thread_of[i]]++] = (uint32_t)i;
    for (uint32_t t = 0; t < threads; t++) {
        size_t begin = t ? f->thread_end[t - 1] : 0;
        gt_order_rows(f->lasting + begin, f->thread_end[t] - begin, e->start_us);
    }
    gt_free_all(place, thread_of);
}

static bool is_gpu_category(gt_str category)
{
    for (size_t i = 0; i < GT_LENGTH(gpu_categories); i++)
        if (gt_str_equals(category, gpu_categories[i])) return true;
    return false;
}

/* The id that an event shares with its launch; GT_STR_NONE if it has none. Also sets is_gpu. */
static uint32_t joining_id(gt_step_finder *f, size_t i)
{
    const gt_plain_events *e = f->events;
    gt_str phase = gt_interner_get(e->strings, e->phase[i]);
    if (isnan(e->start_us[i])) return GT_STR_NONE;
    if (gt_str_equals(phase, "s") || gt_str_equals(phase, "f")) return e->flow[i];
    if (!is_gpu_category(gt_interner_get(e->strings, e->category[i]))) return GT_STR_NONE;
    f->is_gpu[i] = 1;
    return e->correlation[i];
}

static void sort_joined(gt_step_finder *f)
{
    const gt_plain_events *e = f->events;
    size_t texts = gt_interner_count(e->strings);
    uint32_t *id_of = gt_alloc(e->count * sizeof *id_of);
    f->is_gpu = gt_alloc_zero(e->count, 1);
    f->joined_end = gt_alloc_zero(texts, sizeof *f->joined_end);
    for (size_t i = 0; i < e->count; i++) {
        id_of[i] = joining_id(f, i);
        f->joined_end[id_of[i]]++;
    }
    counts_to_ends(f->joined_end, texts);
    f->joined = gt_alloc(e->count * sizeof *f->joined);
    for (size_t i = e->count; i-- > 0;) f->joined[--f->joined_end[id_of[i]]] = (uint32_t)i;
    /* Filling backwards moved each end to the begin; the begin of the next id is the end. */
    memmove(f->joined_end, f->joined_end + 1, (texts - 1) * sizeof *f->joined_end);
    f->joined_end[texts - 1] = e->count;
    gt_free(id_of);
}

gt_step_finder *gt_step_finder_new(const gt_plain_events *events)
{
    gt_step_finder *f = gt_alloc_zero(1, sizeof *f);
    f->events = events;
    f->taken = gt_alloc_zero(events->count, 1);
    sort_lasting(f);
    sort_joined(f);
    for (size_t i = 0; i < events->count; i++)
        if (isnan(events->start_us[i]))
            GT_PUSH(f->timeless.items, f->timeless.count, f->timeless.capacity, (uint32_t)i);
    return f;
}

void gt_step_finder_free(gt_step_finder *f)
{
    if (!f) return;
    gt_map_free(&f->threads);
    gt_free_all(f->lasting, f->thread_end, f->joined, f->joined_end, f->is_gpu, f->timeless.items, f->taken,
                f->launches);
    gt_python_set_free(&f->set);
    gt_free(f);
}

/* ---- finding ---- */

static void take(gt_step_finder *f, gt_step_events *found, uint32_t event)
{
    if (f->taken[event]) return;
    f->taken[event] = 1;
    GT_PUSH(found->events, found->count, found->capacity, event);
}

/* Index of the first event in [begin, end) that starts at or after a time. */
static size_t first_from(const gt_step_finder *f, size_t begin, size_t end, double start_us)
{
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (f->events->start_us[f->lasting[middle]] < start_us)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

typedef struct span {
    double first_us, last_us;
} span;

/* Takes the GPU events and flow events with the id of a launch. */
static void take_joined(gt_step_finder *f, gt_step_events *found, uint32_t id, span *gpu)
{
    const gt_plain_events *e = f->events;
    for (size_t i = id ? f->joined_end[id - 1] : 0; i < f->joined_end[id]; i++) {
        uint32_t event = f->joined[i];
        take(f, found, event);
        if (!f->is_gpu[event]) continue;
        double dur = isnan(e->dur_us[event]) ? 0 : e->dur_us[event], end = e->start_us[event] + dur;
        gpu->first_us = e->start_us[event] < gpu->first_us ? e->start_us[event] : gpu->first_us;
        gpu->last_us = end > gpu->last_us ? end : gpu->last_us;
        found->gpu_busy_us += dur;
        found->gpu_events++;
        found->is_integral &= e->integral[event] == (GT_INTEGRAL_START | GT_INTEGRAL_DURATION);
    }
}

/* The events of the step's own thread, in file order. */
static void find_own(gt_step_finder *f, const gt_step_span *step, gt_row_list *own)
{
    const gt_plain_events *e = f->events;
    uint32_t thread = gt_map_get(&f->threads, step->process, step->thread);
    own->count = 0;
    if (thread == GT_MAP_NONE) return;
    size_t end = f->thread_end[thread];
    size_t at = first_from(f, thread ? f->thread_end[thread - 1] : 0, end, step->start_us);
    for (; at < end && e->start_us[f->lasting[at]] <= step->end_us; at++)
        if (e->start_us[f->lasting[at]] + e->dur_us[f->lasting[at]] <= step->end_us)
            GT_PUSH(own->items, own->count, own->capacity, f->lasting[at]);
    if (own->count) qsort(own->items, own->count, sizeof *own->items, gt_by_u32);
}

typedef struct launch {
    uint32_t id;    /* string id */
    uint32_t value; /* the id as a number */
    size_t slot;
} launch;

GT_ORDER_BY(by_slot, launch, GT_UP(slot))

static bool is_small_number(gt_str text, uint32_t *value)
{
    uint64_t number = 0;
    if (!text.len || text.len > 9) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return false;
        number = number * 10 + (uint64_t)(text.bytes[i] - '0');
    }
    *value = (uint32_t)number;
    return true;
}

/* Lists the ids of launches, each once. If all are numbers, in the iteration order of a Python set: TraceLens
 * adds up durations in that order, and the sum of doubles depends on it. */
static void find_launches(gt_step_finder *f, const gt_row_list *own)
{
    const gt_plain_events *e = f->events;
    bool numbers = true;
    f->launch_count = 0;
    gt_map seen = {0};
    gt_python_set_clear(&f->set);
    for (size_t i = 0; i < own->count; i++) {
        launch l = {.id = e->correlation[own->items[i]]};
        uint32_t *known = l.id == GT_STR_NONE ? NULL : gt_map_put(&seen, l.id, 0);
        if (!known || *known != GT_MAP_NONE) continue;
        *known = 1;
        numbers = numbers && is_small_number(gt_interner_get(e->strings, l.id), &l.value);
        if (numbers) gt_python_set_add(&f->set, l.value);
        GT_PUSH(f->launches, f->launch_count, f->launch_capacity, l);
    }
    gt_map_free(&seen);
    for (size_t i = 0; numbers && i < f->launch_count; i++)
        f->launches[i].slot = gt_python_set_slot(&f->set, f->launches[i].value);
    if (numbers && f->launch_count) qsort(f->launches, f->launch_count, sizeof *f->launches, by_slot);
}

static void find_step(gt_step_finder *f, gt_step_events *found, const gt_step_span *step, gt_row_list *own)
{
    span gpu = {INFINITY, -INFINITY};
    find_own(f, step, own);
    for (size_t i = 0; i < own->count; i++) take(f, found, own->items[i]);
    find_launches(f, own);
    for (size_t i = 0; i < f->launch_count; i++) take_joined(f, found, f->launches[i].id, &gpu);
    if (gpu.last_us >= gpu.first_us) found->gpu_us += gpu.last_us - gpu.first_us;
}

gt_step_events gt_step_finder_find(gt_step_finder *f, const gt_step_span *steps, size_t count)
{
    gt_step_events found = {.is_integral = true};
    gt_row_list own = {0};
    for (size_t i = 0; i < count; i++) find_step(f, &found, &steps[i], &own);
    gt_free(own.items);
    for (size_t i = 0; i < f->timeless.count; i++) take(f, &found, f->timeless.items[i]);
    for (size_t i = 0; i < found.count; i++) f->taken[found.events[i]] = 0;
    if (found.count) qsort(found.events, found.count, sizeof *found.events, gt_by_u32);
    return found;
}
