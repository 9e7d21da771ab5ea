/* The method auto: phases of steps. A step is one pass of the model over a batch of requests, and all ops of
 * a pass are of the same phase, so a single clear sign decides for all of them: a GEMM does not say whether
 * its 15,360 rows are the tokens of 15 prompts, but the annotation around it does.
 *
 * Which step does a GPU event belong to? In this order:
 *
 *   1. the annotation of an inference server (serving.h) around its launch, on the launch's thread; on a
 *      thread without such annotations, one of the same process. When the kernel ran does not matter.
 *   2. if the process has none or there is no launch, the annotation of the GPU (gpu_user_annotation) on the
 *      same device around the start of the kernel. The profiler copies annotations of the host to the GPU:
 *      the k-th copy of a name stands for the step of the k-th annotation.
 *   3. otherwise an inferred step (infer.c)
 *
 * A mixed step, in which a server processes prompts and generates tokens at the same time, has GEMMs that
 * work on the tokens of both. Its ops count for the phase with more tokens, except attention ops whose names
 * or kernels say prefill or decode. */
#include "analysis/phases/state.h"

#include "analysis/serving/serving.h"

/* ---- spans: steps of one thread, process or device ---- */

typedef struct spans {
    uint32_t *steps; /* numbers of steps, by start */
    double *latest_end_us;
    size_t count, capacity;
} spans;

typedef struct span_set {
    gt_map places; /* from a key to an index */
    spans *items;
    size_t count, capacity;
} span_set;

static spans *spans_of(const span_set *set, uint32_t key)
{
    uint32_t place = gt_map_get(&set->places, key, 0);
    return place == GT_MAP_NONE ? NULL : &set->items[place];
}

static void add_span(span_set *set, uint32_t key, uint32_t step)
{
    uint32_t *place = gt_map_put(&set->places, key, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)set->count;
        GT_PUSH(set->items, set->count, set->capacity, (spans){0});
    }
    spans *s = &set->items[*place];
    GT_PUSH(s->steps, s->count, s->capacity, step);
}

/* To be called when all are added, in order of their starts. */
static void finish_spans(span_set *set, const gt_phase_step *steps)
{
    for (size_t i = 0; i < set->count; i++) {
        spans *s = &set->items[i];
        s->latest_end_us = gt_alloc(s->count * sizeof *s->latest_end_us);
        for (size_t k = 0; k < s->count; k++) {
            double end_us = steps[s->steps[k]].end_us;
            s->latest_end_us[k] = k && s->latest_end_us[k - 1] > end_us ? s->latest_end_us[k - 1] : end_us;
        }
    }
}

static void free_spans(span_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        gt_free_all(set->items[i].steps, set->items[i].latest_end_us);
    }
    gt_free(set->items);
    gt_map_free(&set->places);
}

/* The first step that contains a time; GT_NO_EVENT if there is none. The first span whose latest end is after
 * the time ends there itself, so it is the only candidate that can have started first. */
static uint32_t step_at(const spans *s, const gt_phase_step *steps, double time_us)
{
    if (!s) return GT_NO_EVENT;
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->latest_end_us[middle] <= time_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && steps[s->steps[low]].start_us <= time_us ? s->steps[low] : GT_NO_EVENT;
}

/* ---- annotated steps ---- */

typedef struct finder {
    gt_phases *p;
    span_set by_thread, by_process; /* of the host, by lane and by process */
    span_set by_device;             /* of the GPU, by process */
    uint32_t *original;             /* by step: the step of the host that it is a copy of; else itself */
    size_t original_capacity;
    gt_map launching; /* from the process of a device to the process that launches on it */
    gt_map of_name;   /* from (process, name) and k to the k-th step with this name ... */
    gt_map counts;    /* ... and to their number, by process and name */
} finder;

static bool is_gpu_row(const gt_linked_view *trace, uint32_t row)
{
    return gt_kind_is_gpu(trace->kind[row]) && !isnan(trace->start_us[row]);
}

/* Annotations of the host and of the GPU have the same kind; they are told apart by what else is in their
 * lane or, if there is nothing, in their process. */
enum { HAS_HOST = 1, HAS_GPU = 2 };
typedef struct sides {
    uint8_t *lanes;   /* by lane: bits of HAS_HOST and HAS_GPU */
    gt_map processes; /* from a process to the bits of its lanes */
} sides;

static sides find_sides(const gt_linked_view *trace)
{
    sides s = {.lanes = gt_alloc_zero(trace->lanes->count, 1)};
    for (uint32_t row = 0; row < trace->count; row++) {
        if (gt_kind_is_gpu(trace->kind[row])) s.lanes[gt_event_lane(&trace->events, row)] |= HAS_GPU;
        if (gt_kind_is_host(trace->kind[row])) s.lanes[gt_event_lane(&trace->events, row)] |= HAS_HOST;
    }
    for (size_t lane = 0; lane < trace->lanes->count; lane++) {
        uint32_t *process = gt_map_put(&s.processes, trace->lanes->ids[lane].process, 0);
        *process = (*process == GT_MAP_NONE ? 0 : *process) | s.lanes[lane];
    }
    return s;
}

static bool is_on_gpu(const sides *s, uint32_t lane, uint32_t process)
{
    if (s->lanes[lane]) return s->lanes[lane] & HAS_GPU;
    return gt_map_get(&s->processes, process, 0) == HAS_GPU;
}

static void free_sides(sides *s)
{
    gt_free(s->lanes);
    gt_map_free(&s->processes);
}

/* Annotations that are named like steps, by start: the detailed ones if there are any, else the short ones.
 */
static gt_row_list list_annotations(const gt_linked_view *trace)
{
    gt_row_list rows[GT_STEP_DETAILED + 1] = {0};
    uint8_t *kinds = gt_alloc_zero(gt_interner_count(trace->strings), 1); /* by name, + 1 */
    for (uint32_t row = 0; row < trace->count; row++) {
        if (!gt_kind_is_annotation(trace->kind[row]) || isnan(trace->start_us[row])) continue;
        uint8_t *kind = &kinds[trace->name[row]];
        if (!*kind) *kind = (uint8_t)(gt_step_name_kind(gt_event_name(&trace->events, row)) + 1);
        gt_row_list *list = &rows[*kind - 1];
        if (*kind - 1 != GT_STEP_NONE) GT_PUSH(list->items, list->count, list->capacity, row);
    }
    gt_free(kinds);
    gt_row_list chosen = rows[GT_STEP_DETAILED].count ? rows[GT_STEP_DETAILED] : rows[GT_STEP_SHORT];
    if (rows[GT_STEP_DETAILED].count) gt_free(rows[GT_STEP_SHORT].items);
    gt_order_rows(chosen.items, chosen.count, trace->start_us);
    return chosen;
}

static gt_phase_step annotated_step(const gt_linked_view *trace, uint32_t row, bool on_gpu)
{
    gt_str name = gt_event_name(&trace->events, row);
    gt_serving_step said = gt_serving_step_of(name);
    gt_step_phase phase = gt_step_phase_of(name);
    double end_us = gt_event_end_us(&trace->events, row);
    gt_phase_step step = {.name = trace->name[row],
                          .start_us = trace->start_us[row],
                          .end_us = isnan(end_us) ? trace->start_us[row] : end_us,
                          .is_mixed = phase == GT_STEP_MIXED,
                          .evidence = on_gpu ? GT_EVIDENCE_GPU_ANNOTATION : GT_EVIDENCE_ANNOTATION,
                          .batch_size = -1,
                          .prefill_tokens = -1,
                          .decode_tokens = -1};
    if (phase == GT_STEP_OTHER) return step;
    step.batch_size = gt_step_requests(&said);
    step.prefill_tokens = said.context_sum;
    step.decode_tokens = said.generation_sum;
    step.phase = said.context_sum >= said.generation_sum ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
    if (phase != GT_STEP_MIXED) step.phase = phase == GT_STEP_PREFILL ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
    return step;
}

/* The steps of each device while its annotations are read. */
typedef struct gpu_steps {
    gt_map last;    /* from a device to its last step */
    gt_map streams; /* from (step, lane): the step has an annotation there */
    gt_map counts;  /* by device and name: how many steps */
} gpu_steps;

/* The profiler repeats an annotation for each stream of a device. These are one step: annotations with the
 * same name, each on another stream, and no other step of the device starts between them. */
static bool joins_last(finder *f, gpu_steps *g, uint32_t device, uint32_t lane, const gt_phase_step *step)
{
    uint32_t *last = gt_map_put(&g->last, device, 0);
    bool joins = *last != GT_MAP_NONE && f->p->steps[*last].name == step->name &&
                 gt_map_get(&g->streams, *last, lane) == GT_MAP_NONE;
    if (!joins) *last = (uint32_t)f->p->step_count;
    *gt_map_put(&g->streams, *last, lane) = 1;
    if (joins && f->p->steps[*last].end_us < step->end_us) f->p->steps[*last].end_us = step->end_us;
    return joins;
}

static uint64_t pair_of(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* How often this was called before for the process and name. */
static uint32_t next_count(gt_map *counts, uint32_t process, uint32_t name)
{
    uint32_t *count = gt_map_put(counts, process, name);
    *count = *count == GT_MAP_NONE ? 0 : *count + 1;
    return *count;
}

static void add_step(finder *f, const gt_phase_step *step, uint32_t original)
{
    gt_phases *p = f->p;
    f->original = gt_grow(f->original, &f->original_capacity, p->step_count + 1, sizeof *f->original);
    f->original[p->step_count] = original;
    GT_PUSH(p->steps, p->step_count, p->step_capacity, *step);
}

static void add_host_step(finder *f, const gt_phase_step *step, uint32_t process, uint32_t lane)
{
    uint32_t number = (uint32_t)f->p->step_count, k = next_count(&f->counts, process, step->name);
    *gt_map_put(&f->of_name, pair_of(process, step->name), k) = number;
    add_step(f, step, number);
    add_span(&f->by_thread, lane, number);
    add_span(&f->by_process, process, number);
}

static void add_gpu_step(finder *f, const gt_phase_step *step, uint32_t device, gt_map *counts)
{
    uint32_t number = (uint32_t)f->p->step_count, k = next_count(counts, device, step->name);
    uint32_t process = gt_map_get(&f->launching, device, 0), original = GT_MAP_NONE;
    if (process != GT_MAP_NONE) original = gt_map_get(&f->of_name, pair_of(process, step->name), k);
    add_step(f, step, original == GT_MAP_NONE ? number : original);
    add_span(&f->by_device, device, number);
}

static void find_launching(finder *f)
{
    const gt_linked_view *trace = f->p->trace;
    for (size_t i = 0; i < trace->link_count; i++)
        *gt_map_put(&f->launching, gt_event_process(&trace->events, trace->link_gpu[i]), 0) =
            gt_event_process(&trace->events, trace->link_runtime[i]);
}

static void find_annotated(finder *f)
{
    gt_phases *p = f->p;
    const gt_linked_view *trace = p->trace;
    gt_row_list rows = list_annotations(trace);
    sides s = find_sides(trace);
    gpu_steps gpu = {0};
    find_launching(f);
    for (int pass = 0; pass < 2; pass++) /* those of the host first, because others may be copies of them */
        for (size_t i = 0; i < rows.count; i++) {
            uint32_t row = rows.items[i], lane = gt_event_lane(&trace->events, row);
            uint32_t process = gt_event_process(&trace->events, row);
            if (is_on_gpu(&s, lane, process) != (pass == 1)) continue;
            gt_phase_step step = annotated_step(trace, row, pass == 1);
            if (pass == 0)
                add_host_step(f, &step, process, lane);
            else if (!joins_last(f, &gpu, process, lane, &step))
                add_gpu_step(f, &step, process, &gpu.counts);
        }
    finish_spans(&f->by_thread, p->steps);
    finish_spans(&f->by_process, p->steps);
    finish_spans(&f->by_device, p->steps);
    gt_map_free(&gpu.last);
    gt_map_free(&gpu.streams);
    gt_map_free(&gpu.counts);
    free_sides(&s);
    gt_free(rows.items);
}

/* The annotated step of a GPU event; GT_NO_EVENT if there is none. */
static uint32_t annotated_step_of(const finder *f, uint32_t gpu)
{
    const gt_linked_view *trace = f->p->trace;
    uint32_t call = trace->parent[gpu];
    if (call != GT_NO_EVENT) {
        const spans *own = spans_of(&f->by_thread, gt_event_lane(&trace->events, call));
        const spans *process = spans_of(&f->by_process, gt_event_process(&trace->events, call));
        if (process) return step_at(own ? own : process, f->p->steps, trace->start_us[call]);
    }
    const spans *device = spans_of(&f->by_device, gt_event_process(&trace->events, gpu));
    uint32_t step = step_at(device, f->p->steps, trace->start_us[gpu]);
    return step == GT_NO_EVENT ? step : f->original[step];
}

/* ---- steps in order, and their GPU time ---- */

/* Sorts the steps by start, drops copies and inferred steps without evidence, and adds the step for GPU
 * events outside all steps. */
static void order_steps(finder *f, size_t annotated)
{
    gt_phases *p = f->p;
    size_t count = 0;
    uint32_t *order = gt_alloc(p->step_count * sizeof *order),
             *place = gt_alloc((p->step_count + 1) * sizeof *place);
    double *starts = gt_alloc(p->step_count * sizeof *starts);
    gt_phase_step *sorted = gt_alloc((p->step_count + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < p->step_count; i++) {
        starts[i] = p->steps[i].start_us;
        bool is_kept = i < annotated ? f->original[i] == i : p->steps[i].evidence != GT_EVIDENCE_NONE;
        place[i] = GT_NO_EVENT;
        if (is_kept) order[count++] = i;
    }
    gt_order_rows(order, count, starts);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = p->steps[order[i]];
        place[order[i]] = i;
    }
    sorted[count] = (gt_phase_step){.start_us = (double)NAN,
                                    .end_us = (double)NAN,
                                    .batch_size = -1,
                                    .prefill_tokens = -1,
                                    .decode_tokens = -1};
    for (uint32_t i = 0; i < p->step_count; i++)
        if (place[i] == GT_NO_EVENT) place[i] = (uint32_t)count;
    for (uint32_t row = 0; row < p->trace->count; row++)
        p->step_of_gpu[row] =
            p->step_of_gpu[row] == GT_NO_EVENT ? (uint32_t)count : place[p->step_of_gpu[row]];
    gt_free(p->steps);
    p->steps = sorted;
    p->step_count = p->step_capacity = count + 1;
    gt_free_all(order, place, starts);
}

void gt_phases_find_steps(gt_phases *p)
{
    const gt_linked_view *trace = p->trace;
    finder f = {.p = p};
    find_annotated(&f);
    p->step_of_gpu = gt_no_events(trace->count);
    for (uint32_t row = 0; row < trace->count; row++)
        if (is_gpu_row(trace, row)) p->step_of_gpu[row] = annotated_step_of(&f, row);
    size_t annotated = p->step_count;
    gt_phases_infer_steps(p);
    order_steps(&f, annotated);
    free_spans(&f.by_thread);
    free_spans(&f.by_process);
    free_spans(&f.by_device);
    gt_free(f.original);
    gt_map_free(&f.launching);
    gt_map_free(&f.of_name);
    gt_map_free(&f.counts);
    for (uint32_t row = 0; row < trace->count; row++) {
        if (!is_gpu_row(trace, row)) continue;
        gt_phase_step *step = &p->steps[p->step_of_gpu[row]];
        step->gpu_events++;
        if (!isnan(trace->dur_us[row])) step->gpu_us += trace->dur_us[row];
    }
}

gt_phase gt_phases_of_lone_event(gt_phases *p, uint32_t row)
{
    if (!gt_kind_is_gpu(p->trace->kind[row])) return GT_PHASE_MIXED;
    uint32_t step = p->step_of_gpu[row];
    if (step + 1 < p->step_count) return p->steps[step].phase;
    gt_phase_subject alone = {GT_NO_EVENT, GT_STR_EMPTY, &row, 1};
    gt_phase_text text = gt_phases_text(p, &alone);
    bool found;
    return gt_phase_by_gemm_names(&text, &found);
}
