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
 * the k-th copy of a name stands for the step of the k-th annotation.
 *   3. otherwise an inferred step: the launches of a thread, divided where an annotated step interrupts them
 *      and where an embedding begins a new pass
 *
 * What is the phase of an inferred step? In this order: query lengths of attention and sequence lengths of
 * embeddings; M of the GEMMs that took most of the GEMM time, compared with the batch size (of attention, of
 * the embedding, or M of the GEMM with the most columns, which computes logits of one token per request) or,
 * if that is unknown, with the threshold; the words prefill and decode in names. If an inferred step has
 * signs of both phases, its ops are judged one by one, in the same order. If it has none, its GPU events are
 * outside all steps.
 *
 * A mixed step, in which a server processes prompts and generates tokens at the same time, has GEMMs that
 * work on the tokens of both. Its ops count for the phase with more tokens, except attention ops whose names
 * or kernels say prefill or decode. */
#include "analysis/phases/state.h"

#include "analysis/serving/serving.h"
#include "base/map.h"
#include "base/memory.h"
#include "trace/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Callers of an op that are looked at, including itself. */
enum { LEVELS_MAX = 4 };

/* Sequences of at most this many queries may be drafts of speculative decoding. */
static const double DRAFT_QUERIES_MAX = 10;

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

static spans *spans_of(const span_set *set, uint64_t a, uint64_t b)
{
    uint32_t place = gt_map_get(&set->places, a, b);
    return place == GT_MAP_NONE ? NULL : &set->items[place];
}

static void add_span(span_set *set, uint64_t a, uint64_t b, uint32_t step)
{
    uint32_t *place = gt_map_put(&set->places, a, b);
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
        gt_free(set->items[i].steps);
        gt_free(set->items[i].latest_end_us);
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
    span_set by_thread, by_process; /* of the host */
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

/* Annotations of the host and of the GPU have the same kind; they are told apart by what else is on their
 * track or, if there is nothing, in their process. */
typedef struct tracks {
    gt_map gpu, host, gpu_processes, host_processes;
} tracks;

static tracks find_tracks(const gt_linked_view *trace)
{
    tracks t = {0};
    for (uint32_t row = 0; row < trace->count; row++) {
        bool gpu = gt_kind_is_gpu(trace->kind[row]);
        if (!gpu && !gt_kind_is_host(trace->kind[row])) continue;
        *gt_map_put(gpu ? &t.gpu : &t.host, trace->process[row], trace->thread[row]) = 1;
        *gt_map_put(gpu ? &t.gpu_processes : &t.host_processes, trace->process[row], 0) = 1;
    }
    return t;
}

static bool is_on_gpu(const tracks *t, uint32_t process, uint32_t thread)
{
    if (gt_map_get(&t->gpu, process, thread) != GT_MAP_NONE) return true;
    if (gt_map_get(&t->host, process, thread) != GT_MAP_NONE) return false;
    return gt_map_get(&t->gpu_processes, process, 0) != GT_MAP_NONE &&
           gt_map_get(&t->host_processes, process, 0) == GT_MAP_NONE;
}

static void free_tracks(tracks *t)
{
    gt_map_free(&t->gpu);
    gt_map_free(&t->host);
    gt_map_free(&t->gpu_processes);
    gt_map_free(&t->host_processes);
}

/* Annotations that are named like steps, by start: the detailed ones if there are any, else the short ones.
 */
static gt_row_list list_annotations(const gt_linked_view *trace)
{
    gt_row_list rows[GT_STEP_DETAILED + 1] = {0};
    uint8_t *kinds = gt_alloc_zero(gt_interner_count(trace->strings), 1); /* by name, + 1 */
    for (uint32_t row = 0; row < trace->count; row++) {
        if (trace->kind[row] != GT_KIND_ANNOTATION || isnan(trace->start_us[row])) continue;
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
    gt_phase_step step = {.name = trace->name[row],
                          .start_us = trace->start_us[row],
                          .end_us = isnan(trace->end_us[row]) ? trace->start_us[row] : trace->end_us[row],
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
    gt_map streams; /* from (step, stream): the step has an annotation there */
    gt_map counts;  /* by device and name: how many steps */
} gpu_steps;

/* The profiler repeats an annotation for each stream of a device. These are one step: annotations with the
 * same name, each on another stream, and no other step of the device starts between them. */
static bool joins_last(finder *f, gpu_steps *g, uint32_t device, uint32_t stream, const gt_phase_step *step)
{
    uint32_t *last = gt_map_put(&g->last, device, 0);
    bool joins = *last != GT_MAP_NONE && f->p->steps[*last].name == step->name &&
                 gt_map_get(&g->streams, *last, stream) == GT_MAP_NONE;
    if (!joins) *last = (uint32_t)f->p->step_count;
    *gt_map_put(&g->streams, *last, stream) = 1;
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

static void add_host_step(finder *f, const gt_phase_step *step, uint32_t process, uint32_t thread)
{
    uint32_t number = (uint32_t)f->p->step_count, k = next_count(&f->counts, process, step->name);
    *gt_map_put(&f->of_name, pair_of(process, step->name), k) = number;
    add_step(f, step, number);
    add_span(&f->by_thread, process, thread, number);
    add_span(&f->by_process, process, 0, number);
}

static void add_gpu_step(finder *f, const gt_phase_step *step, uint32_t device, gt_map *counts)
{
    uint32_t number = (uint32_t)f->p->step_count, k = next_count(counts, device, step->name);
    uint32_t process = gt_map_get(&f->launching, device, 0), original = GT_MAP_NONE;
    if (process != GT_MAP_NONE) original = gt_map_get(&f->of_name, pair_of(process, step->name), k);
    add_step(f, step, original == GT_MAP_NONE ? number : original);
    add_span(&f->by_device, device, 0, number);
}

static void find_launching(finder *f)
{
    const gt_linked_view *trace = f->p->trace;
    for (size_t i = 0; i < trace->link_count; i++)
        *gt_map_put(&f->launching, trace->process[trace->link_gpu[i]], 0) =
            trace->process[trace->link_runtime[i]];
}

static void find_annotated(finder *f)
{
    gt_phases *p = f->p;
    const gt_linked_view *trace = p->trace;
    gt_row_list rows = list_annotations(trace);
    tracks t = find_tracks(trace);
    gpu_steps gpu = {0};
    find_launching(f);
    for (int pass = 0; pass < 2; pass++) /* those of the host first, because others may be copies of them */
        for (size_t i = 0; i < rows.count; i++) {
            uint32_t row = rows.items[i], process = trace->process[row];
            if (is_on_gpu(&t, process, trace->thread[row]) != (pass == 1)) continue;
            gt_phase_step step = annotated_step(trace, row, pass == 1);
            if (pass == 0)
                add_host_step(f, &step, process, trace->thread[row]);
            else if (!joins_last(f, &gpu, process, trace->thread[row], &step))
                add_gpu_step(f, &step, process, &gpu.counts);
        }
    finish_spans(&f->by_thread, p->steps);
    finish_spans(&f->by_process, p->steps);
    finish_spans(&f->by_device, p->steps);
    gt_map_free(&gpu.last);
    gt_map_free(&gpu.streams);
    gt_map_free(&gpu.counts);
    free_tracks(&t);
    gt_free(rows.items);
}

/* The annotated step of a GPU event; GT_NO_EVENT if there is none. */
static uint32_t annotated_step_of(const finder *f, uint32_t gpu)
{
    const gt_linked_view *trace = f->p->trace;
    uint32_t call = trace->parent[gpu];
    if (call != GT_NO_EVENT) {
        const spans *own = spans_of(&f->by_thread, trace->process[call], trace->thread[call]);
        const spans *process = spans_of(&f->by_process, trace->process[call], 0);
        if (process) return step_at(own ? own : process, f->p->steps, trace->start_us[call]);
    }
    uint32_t step =
        step_at(spans_of(&f->by_device, trace->process[gpu], 0), f->p->steps, trace->start_us[gpu]);
    return step == GT_NO_EVENT ? step : f->original[step];
}

/* ---- clues ---- */

/* What one op says about its step. */
typedef struct clues {
    bool is_embedding, is_attention;
    gt_phase by_queries, by_names;
    double batch, tokens; /* NaN: unknown; tokens: of all requests */
    double gemm_rows, gemm_columns;
} clues;

/* Not the rotary embedding, which each layer has. */
static bool is_embedding(gt_str name)
{
    static const char end[] = "::embedding";
    return name.len >= strlen(end) && memcmp(name.bytes + name.len - strlen(end), end, strlen(end)) == 0;
}

static double dimension(const gt_value *shape, int64_t index)
{
    const gt_value *size = gt_value_at(shape, index);
    return size->type == GT_VALUE_INT && size->integer > 0 ? (double)size->integer : (double)NAN;
}

/* The ids are the second input: requests x tokens. */
static void read_embedding(gt_phases *p, uint32_t row, clues *c)
{
    const gt_value *dims = gt_values_get(p->values, p->arguments[GT_CLUE_DIMS][row]);
    if (!gt_value_is_list(dims) || dims->count < 2 || !gt_value_is_list(&dims->items[1]) ||
        dims->items[1].count != 2)
        return;
    double batch = dimension(&dims->items[1], 0), tokens = dimension(&dims->items[1], 1);
    if (isnan(batch) || isnan(tokens)) return;
    c->batch = batch;
    c->tokens = batch * tokens;
    if (tokens == 1) c->by_queries = GT_PHASE_DECODE;
    if (tokens > DRAFT_QUERIES_MAX) c->by_queries = GT_PHASE_PREFILL;
}

static void read_attention(gt_phases *p, const gt_phase_subject *op, clues *c)
{
    static const char *const names[] = {"N_Q", "N_KV", "B"};
    double values[GT_LENGTH(names)];
    if (!gt_phases_parameters(p, op, GT_FAMILY_SDPA, "SDPA_fwd", names, values, GT_LENGTH(names))) return;
    double queries = values[0];
    if (!(queries > 0)) return;
    /* A few queries over as many keys are a short prompt; over more keys, drafts that decode verifies. */
    bool is_prefill = queries > DRAFT_QUERIES_MAX || (queries > 1 && values[1] == queries);
    c->by_queries = is_prefill ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
    c->batch = values[2];
    c->tokens = values[2] * queries;
}

static clues read_clues(gt_phases *p, const gt_phase_subject *op)
{
    static const char *const gemm[] = {"M", "N"};
    clues c = {.batch = NAN, .tokens = NAN, .gemm_rows = NAN, .gemm_columns = NAN};
    double sizes[GT_LENGTH(gemm)];
    gt_phase_text text = gt_phases_text(p, op);
    gt_phase_op named = gt_phase_names_op(p->names, op->name);
    bool found;
    c.is_attention = named.is_attention;
    c.by_names = gt_phase_by_gemm_names(&text, &found);
    if (!found) c.by_names = named.by_framework != GT_PHASE_MIXED ? named.by_framework : named.by_attention;
    if (op->row == GT_NO_EVENT) return c;
    gt_phases_load_arguments(p);
    /* The op that launches is often called by the one that has the arguments: aten::index_select by
     * aten::embedding, aten::_flash_attention_forward by aten::_scaled_dot_product_flash_attention. */
    gt_phase_subject caller = *op;
    for (int level = 0; level < LEVELS_MAX && caller.row != GT_NO_EVENT; level++) {
        caller.name = p->trace->name[caller.row];
        if (!c.is_embedding && is_embedding(gt_interner_get(p->trace->strings, caller.name))) {
            c.is_embedding = true;
            read_embedding(p, caller.row, &c);
        }
        if (c.by_queries == GT_PHASE_MIXED) read_attention(p, &caller, &c);
        if (isnan(c.gemm_rows) &&
            gt_phases_parameters(p, &caller, GT_FAMILY_GEMM, "GEMM", gemm, sizes, GT_LENGTH(gemm))) {
            c.gemm_rows = sizes[0];
            c.gemm_columns = sizes[1];
        }
        caller.row = p->trace->cpu_op_above[caller.row];
    }
    return c;
}

/* ---- inferred steps ---- */

/* The sums of the clues of one inferred step. */
typedef struct inferred {
    uint32_t step;
    bool begun;                                 /* has a GEMM or attention */
    bool queries[3], names[3];                  /* by gt_phase: an op says so */
    double batch, tokens;                       /* NaN: unknown */
    double main_rows, main_us;                  /* M of the GEMMs with the most time */
    double head_rows, head_columns, head_count; /* of the GEMMs with the most columns */
    bool is_split;                              /* its ops are judged one by one */
} inferred;

typedef struct inference {
    finder *f;
    inferred *items;
    size_t count, capacity;
    uint32_t *of_launcher; /* index of its inferred step; GT_NO_EVENT: it has an annotated one */
    clues *clues;          /* by launcher */
    gt_map open;           /* from (process, thread) to its current inferred step */
    gt_map gemm_us;        /* from (inferred step, M) to an index into sums */
    double *sums;
    size_t sum_count, sum_capacity;
} inference;

static uint32_t new_inferred(inference *in, double start_us)
{
    gt_phases *p = in->f->p;
    inferred item = {
        .step = (uint32_t)p->step_count, .batch = NAN, .tokens = NAN, .main_rows = NAN, .head_rows = NAN};
    gt_phase_step step = {.start_us = start_us,
                          .end_us = start_us,
                          .batch_size = -1,
                          .prefill_tokens = -1,
                          .decode_tokens = -1};
    GT_PUSH(p->steps, p->step_count, p->step_capacity, step);
    GT_PUSH(in->items, in->count, in->capacity, item);
    return (uint32_t)in->count - 1;
}

static void add_gemm(inference *in, uint32_t index, const clues *c, double us)
{
    inferred *item = &in->items[index];
    uint32_t *place = gt_map_put(&in->gemm_us, index, (uint64_t)c->gemm_rows);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)in->sum_count;
        GT_PUSH(in->sums, in->sum_count, in->sum_capacity, 0);
    }
    in->sums[*place] += us;
    if (isnan(item->main_rows) || in->sums[*place] > item->main_us) {
        item->main_rows = c->gemm_rows;
        item->main_us = in->sums[*place];
    }
    if (c->gemm_columns > item->head_columns) {
        item->head_columns = c->gemm_columns;
        item->head_rows = c->gemm_rows;
        item->head_count = 0;
    }
    item->head_count += c->gemm_columns == item->head_columns;
}

static void add_clues(inference *in, uint32_t index, const clues *c, double us)
{
    inferred *item = &in->items[index];
    item->begun |= c->is_attention || c->gemm_rows > 0;
    item->queries[c->by_queries] = item->names[c->by_names] = true;
    if (isnan(item->batch)) item->batch = c->batch;
    if (isnan(item->tokens)) item->tokens = c->tokens;
    if (c->gemm_rows > 0) add_gemm(in, index, c, us);
}

/* Assigns the launchers without an annotated step to inferred ones. */
static void infer_steps(inference *in)
{
    gt_phases *p = in->f->p;
    const gt_linked_view *trace = p->trace;
    for (size_t i = 0; i < p->launchers->count; i++) {
        gt_phase_subject op = gt_phases_subject(p, i);
        uint32_t call = trace->parent[op.kernels[0]];
        uint32_t *open = gt_map_put(&in->open, trace->process[call], trace->thread[call]);
        in->of_launcher[i] = GT_NO_EVENT;
        if (p->step_of_gpu[op.kernels[0]] != GT_NO_EVENT) {
            *open = GT_MAP_NONE; /* an annotated step ends the inferred one */
            continue;
        }
        clues *c = &in->clues[i];
        *c = read_clues(p, &op);
        if (*open == GT_MAP_NONE || (c->is_embedding && in->items[*open].begun))
            *open = new_inferred(in, trace->start_us[call]);
        in->of_launcher[i] = *open;
        gt_phase_step *step = &p->steps[in->items[*open].step];
        step->end_us = trace->end_us[call] > step->end_us ? trace->end_us[call] : step->end_us;
        add_clues(in, *open, c, p->launchers->items[i].direct_us);
        for (size_t k = 0; k < op.kernel_count; k++) p->step_of_gpu[op.kernels[k]] = in->items[*open].step;
    }
}

static gt_phase by_size(const gt_phases *p, double rows, double batch)
{
    double most = isnan(batch) ? (double)p->options.decode_threshold : batch;
    return rows > most ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
}

static void set_numbers(gt_phase_step *step, double batch, double tokens)
{
    if (!isnan(batch)) step->batch_size = (int64_t)batch;
    if (isnan(tokens) || step->phase == GT_PHASE_MIXED) return;
    step->prefill_tokens = step->phase == GT_PHASE_PREFILL ? (int64_t)tokens : 0;
    step->decode_tokens = step->phase == GT_PHASE_DECODE ? (int64_t)tokens : 0;
}

/* Judges an inferred step by all its ops. */
static void judge(gt_phases *p, inferred *item)
{
    gt_phase_step *step = &p->steps[item->step];
    bool prefill = item->queries[GT_PHASE_PREFILL], decode = item->queries[GT_PHASE_DECODE];
    double tokens = item->tokens;
    if (prefill && decode) {
        item->is_split = step->is_mixed = true;
        step->evidence = GT_EVIDENCE_QUERIES;
        return;
    }
    if (prefill || decode) {
        step->phase = prefill ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
        step->evidence = GT_EVIDENCE_QUERIES;
    } else if (!isnan(item->main_rows)) {
        if (isnan(item->batch) && item->head_count == 1 && item->head_rows < item->main_rows)
            item->batch = item->head_rows;
        step->phase = by_size(p, item->main_rows, item->batch);
        step->evidence = GT_EVIDENCE_GEMMS;
        tokens = item->main_rows;
    } else if (item->names[GT_PHASE_PREFILL] != item->names[GT_PHASE_DECODE]) {
        step->phase = item->names[GT_PHASE_PREFILL] ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
        step->evidence = GT_EVIDENCE_NAMES;
    } else if (item->names[GT_PHASE_PREFILL]) {
        item->is_split = step->is_mixed = true;
        step->evidence = GT_EVIDENCE_NAMES;
    }
    set_numbers(step, item->batch, tokens);
}

/* The phase of an op of an inferred step with signs of both phases. */
static gt_phase judge_op(const gt_phases *p, const inferred *item, const clues *c)
{
    if (c->by_queries != GT_PHASE_MIXED) return c->by_queries;
    if (c->gemm_rows > 0) return by_size(p, c->gemm_rows, item->batch);
    return c->by_names;
}

/* ---- phases of launchers ---- */

/* Of a mixed step: attention is the only work that is separate for each phase. */
static gt_phase own_phase(gt_phases *p, const gt_phase_subject *op, gt_phase otherwise)
{
    if (!gt_phase_names_op(p->names, op->name).is_attention) return otherwise;
    gt_phase_text text = gt_phases_text(p, op);
    bool found;
    gt_phase phase = gt_phase_by_gemm_names(&text, &found);
    return phase == GT_PHASE_MIXED ? otherwise : phase;
}

static void judge_launchers(inference *in)
{
    gt_phases *p = in->f->p;
    for (size_t i = 0; i < in->count; i++) judge(p, &in->items[i]);
    for (size_t i = 0; i < p->launchers->count; i++) {
        gt_phase_subject op = gt_phases_subject(p, i);
        const gt_phase_step *step = &p->steps[p->step_of_gpu[op.kernels[0]]];
        gt_phase phase = step->phase;
        uint32_t index = in->of_launcher[i];
        if (index != GT_NO_EVENT && in->items[index].is_split)
            phase = judge_op(p, &in->items[index], &in->clues[i]);
        else if (step->is_mixed)
            phase = own_phase(p, &op, phase);
        p->of_launcher[i] = (uint8_t)phase;
    }
}

static void infer(finder *f)
{
    gt_phases *p = f->p;
    if (!p->launchers) return;
    inference in = {.f = f,
                    .of_launcher = gt_alloc(p->launchers->count * sizeof *in.of_launcher),
                    .clues = gt_alloc(p->launchers->count * sizeof *in.clues)};
    infer_steps(&in);
    judge_launchers(&in);
    gt_map_free(&in.open);
    gt_map_free(&in.gemm_us);
    gt_free(in.items);
    gt_free(in.of_launcher);
    gt_free(in.clues);
    gt_free(in.sums);
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
    gt_free(order);
    gt_free(place);
    gt_free(starts);
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
    infer(&f);
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
