/* Inferred steps of the method auto: the launches of a thread that are in no annotated step, divided where an
 * annotated step interrupts them and where an embedding begins a new pass.
 *
 * What is the phase of an inferred step? In this order:
 *
 *   1. query lengths of attention and sequence lengths of embeddings. Two to ten queries over more keys may
 *      be a short prompt in a cache of fixed size, or drafts that decode verifies: then the logits decide,
 *      else the steps before and after on the thread.
 *   2. M of the GEMMs that took most of the GEMM time, compared with the batch size of attention or of the
 *      embedding. If that is unknown, M is compared with the rows of the logits. Most programs compute logits
 *      only for the last token of each request, so a step with fewer rows of logits than tokens reads
 *      prompts, and if one step of the trace shows this, a step with as many is decode. Fewer than two tokens
 *      per request on average are a mixed step, because some request has only one.
 *   3. the words prefill and decode in names
 *   4. a guess: M compared with the threshold
 *   5. other names
 *
 * If an inferred step has signs of both phases, its ops are judged one by one, in the same order. If it has
 * none, its GPU events are outside all steps. */
#include "analysis/phases/state.h"

/* Callers of an op that are looked at, including itself. */
enum { LEVELS_MAX = 4 };

/* Sequences of at most this many queries may be drafts of speculative decoding. */
static const double DRAFT_QUERIES_MAX = 10;

/* Sizes in a trace may be wrong: this and more is no number of tokens or rows. */
static const double TOO_LARGE = 9e18;

/* ---- clues ---- */

/* What one op says about its step. */
typedef struct clues {
    bool is_embedding, is_attention;
    gt_phase by_queries, by_names;
    gt_phase by_words;    /* the part of by_names that the words prefill and decode say */
    double batch, tokens; /* NaN: unknown; tokens: of all requests */
    double queries, keys; /* per request, of attention */
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
    c->queries = queries;
    c->keys = values[1];
    /* A few queries over as many keys are a short prompt; over more keys, their step decides. */
    if (queries == 1)
        c->by_queries = GT_PHASE_DECODE;
    else if (queries > DRAFT_QUERIES_MAX || c->keys == queries)
        c->by_queries = GT_PHASE_PREFILL;
    c->batch = values[2];
    c->tokens = values[2] * queries;
}

static clues read_clues(gt_phases *p, const gt_phase_subject *op)
{
    static const char *const gemm[] = {"M", "N"};
    clues c = {
        .batch = NAN, .tokens = NAN, .queries = NAN, .keys = NAN, .gemm_rows = NAN, .gemm_columns = NAN};
    double sizes[GT_LENGTH(gemm)];
    gt_phase_text text = gt_phases_text(p, op);
    gt_phase_op named = gt_phase_names_op(p->names, op->name);
    bool found;
    c.is_attention = named.is_attention;
    c.by_names = c.by_words = gt_phase_by_gemm_names(&text, &found);
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
        if (c.by_queries == GT_PHASE_MIXED && isnan(c.queries)) read_attention(p, &caller, &c);
        if (isnan(c.gemm_rows) &&
            gt_phases_parameters(p, &caller, GT_FAMILY_GEMM, "GEMM", gemm, sizes, GT_LENGTH(gemm))) {
            c.gemm_rows = sizes[0];
            c.gemm_columns = sizes[1];
        }
        caller.row = gt_pytorch_cpu_op_above(p->trace, caller.row);
    }
    return c;
}

/* ---- inferred steps ---- */

/* GEMMs of a step that may compute its logits. */
typedef struct logits {
    double rows, columns;
} logits;

/* The sums of the clues of one step. */
typedef struct inferred {
    uint32_t step;
    uint32_t previous, next;             /* on the thread: indices; GT_NO_EVENT: none */
    bool is_annotated;                   /* only an example of what the model does */
    bool begun;                          /* has a GEMM or attention */
    bool queries[3], names[3], words[3]; /* by gt_phase: an op says so */
    double batch, tokens;                /* NaN: unknown */
    double most_queries, keys;           /* of the attention with the most queries; NaN: none */
    double main_rows, main_us;           /* M of the GEMMs with the most time */
    logits last, widest;                 /* the last GEMM, and the one with the most columns */
    double last_start_us;
    size_t widest_count; /* GEMMs with as many columns */
    bool is_split;       /* its ops are judged one by one */
} inferred;

typedef struct inference {
    gt_phases *p;
    inferred *items;
    size_t count, capacity;
    uint32_t *of_launcher; /* index of its inferred step; GT_NO_EVENT: it has an annotated one */
    clues *clues;          /* by launcher */
    gt_map open;           /* from a lane to its current inferred step */
    gt_map slicing;        /* columns of logits that some step computes for fewer rows than it has tokens */
    gt_map gemm_us;        /* from (inferred step, M) to an index into sums */
    double *sums;
    size_t sum_count, sum_capacity;
} inference;

static uint32_t add_inferred(inference *in, uint32_t step)
{
    inferred item = {.step = step,
                     .previous = GT_NO_EVENT,
                     .next = GT_NO_EVENT,
                     .batch = NAN,
                     .tokens = NAN,
                     .most_queries = NAN,
                     .keys = NAN,
                     .main_rows = NAN,
                     .last = {NAN, NAN},
                     .widest = {NAN, NAN}};
    GT_PUSH(in->items, in->count, in->capacity, item);
    return (uint32_t)in->count - 1;
}

static uint32_t new_inferred(inference *in, double start_us, uint32_t previous)
{
    gt_phases *p = in->p;
    gt_phase_step step = {.start_us = start_us,
                          .end_us = start_us,
                          .batch_size = -1,
                          .prefill_tokens = -1,
                          .decode_tokens = -1};
    uint32_t index = add_inferred(in, (uint32_t)p->step_count);
    GT_PUSH(p->steps, p->step_count, p->step_capacity, step);
    if (previous == GT_MAP_NONE) return index;
    in->items[index].previous = previous;
    in->items[previous].next = index;
    return index;
}

static void add_gemm(inference *in, uint32_t index, const clues *c, double start_us, double us)
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
    logits one = {c->gemm_rows, c->gemm_columns};
    if (isnan(item->last.rows) || start_us >= item->last_start_us) {
        item->last = one;
        item->last_start_us = start_us;
    }
    if (isnan(item->widest.rows) || one.columns > item->widest.columns) {
        item->widest = one;
        item->widest_count = 0;
    }
    item->widest_count += one.columns == item->widest.columns;
}

static void add_clues(inference *in, uint32_t index, const clues *c, double start_us, double us)
{
    inferred *item = &in->items[index];
    item->begun |= c->is_attention || c->gemm_rows > 0;
    item->queries[c->by_queries] = item->names[c->by_names] = item->words[c->by_words] = true;
    if (isnan(item->batch)) item->batch = c->batch;
    if (isnan(item->tokens)) item->tokens = c->tokens;
    if (!(c->queries <= item->most_queries) && !isnan(c->queries)) {
        item->most_queries = c->queries;
        item->keys = c->keys;
    }
    if (c->gemm_rows > 0) add_gemm(in, index, c, start_us, us);
}

/* Assigns the launchers without an annotated step to inferred ones. */
static void infer_steps(inference *in)
{
    gt_phases *p = in->p;
    const gt_linked_view *trace = p->trace;
    for (size_t i = 0; i < p->launchers->count; i++) {
        gt_phase_subject op = gt_phases_subject(p, i);
        uint32_t call = trace->parent[op.kernels[0]];
        uint32_t *open = gt_map_put(&in->open, gt_event_lane(&trace->events, call), 0);
        in->of_launcher[i] = GT_NO_EVENT;
        if (p->step_of_gpu[op.kernels[0]] != GT_NO_EVENT) {
            *open = GT_MAP_NONE; /* an annotated step ends the inferred one */
            continue;
        }
        clues *c = &in->clues[i];
        *c = read_clues(p, &op);
        if (*open == GT_MAP_NONE || (c->is_embedding && in->items[*open].begun))
            *open = new_inferred(in, trace->start_us[call], *open);
        in->of_launcher[i] = *open;
        gt_phase_step *step = &p->steps[in->items[*open].step];
        double end_us = gt_event_end_us(&trace->events, call);
        step->end_us = end_us > step->end_us ? end_us : step->end_us;
        add_clues(in, *open, c, trace->start_us[call], p->launchers->items[i].direct_us);
        for (size_t k = 0; k < op.kernel_count; k++) p->step_of_gpu[op.kernels[k]] = in->items[*open].step;
    }
}

/* ---- logits ---- */

/* The GEMM that computes logits for fewer rows than the step has tokens. */
static const logits *sliced_logits(const inferred *item)
{
    if (item->last.rows < item->main_rows) return &item->last;
    return item->widest_count == 1 && item->widest.rows < item->main_rows ? &item->widest : NULL;
}

static void learn(inference *in, const inferred *item)
{
    const logits *sliced = sliced_logits(item);
    if (sliced && sliced->columns > 0) *gt_map_put(&in->slicing, (uint64_t)sliced->columns, 0) = 1;
}

static bool is_slicing(const inference *in, const logits *one, double rows)
{
    return one->rows == rows && one->columns > 0 &&
           gt_map_get(&in->slicing, (uint64_t)one->columns, 0) != GT_MAP_NONE;
}

/* The step computes logits for each token, though the model computes them only for the last ones. */
static bool has_all_logits(const inference *in, const inferred *item)
{
    return is_slicing(in, &item->last, item->main_rows) || is_slicing(in, &item->widest, item->main_rows);
}

/* Annotated steps show what the model does, too. */
static void learn_from_annotated(inference *in)
{
    gt_phases *p = in->p;
    gt_map items = {0};
    size_t first = in->count;
    for (size_t i = 0; i < p->launchers->count; i++) {
        if (in->of_launcher[i] != GT_NO_EVENT) continue;
        gt_phase_subject op = gt_phases_subject(p, i);
        clues c = read_clues(p, &op);
        if (!(c.gemm_rows > 0)) continue;
        uint32_t step = p->step_of_gpu[op.kernels[0]], *place = gt_map_put(&items, step, 0);
        if (*place == GT_MAP_NONE) {
            *place = add_inferred(in, step);
            in->items[*place].is_annotated = true;
        }
        add_gemm(in, *place, &c, p->trace->start_us[p->trace->parent[op.kernels[0]]],
                 p->launchers->items[i].direct_us);
    }
    for (size_t i = first; i < in->count; i++) learn(in, &in->items[i]);
    gt_map_free(&items);
}

static bool needs_logits(const inference *in, const inferred *item)
{
    if (item->queries[GT_PHASE_PREFILL] || item->queries[GT_PHASE_DECODE] || isnan(item->main_rows))
        return false;
    bool is_known = !isnan(item->batch) && !(item->most_queries > 1);
    return !is_known && !sliced_logits(item) && !has_all_logits(in, item);
}

static void learn_about_logits(inference *in)
{
    bool needed = false;
    for (size_t i = 0; i < in->count; i++) learn(in, &in->items[i]);
    for (size_t i = 0; i < in->count && !needed; i++) needed = needs_logits(in, &in->items[i]);
    if (needed) learn_from_annotated(in);
}

/* ---- phases of inferred steps ---- */

static gt_phase by_size(const gt_phases *p, double rows, double batch)
{
    double most = isnan(batch) ? (double)p->options.decode_threshold : batch;
    return rows > most ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
}

static int64_t to_count(double number)
{
    return number < TOO_LARGE ? (int64_t)number : -1;
}

static void set_numbers(gt_phase_step *step, double batch, double tokens)
{
    if (!isnan(batch)) step->batch_size = to_count(batch);
    if (isnan(tokens) || step->phase == GT_PHASE_MIXED || step->is_mixed) return;
    step->prefill_tokens = step->phase == GT_PHASE_PREFILL ? to_count(tokens) : 0;
    step->decode_tokens = step->phase == GT_PHASE_DECODE ? to_count(tokens) : 0;
}

static void decide(gt_phase_step *step, gt_phase phase, gt_phase_evidence evidence)
{
    step->phase = phase;
    step->evidence = evidence;
}

/* The phase that the flags of a kind of clue say, if they agree. */
static gt_phase agreed(const bool *flags)
{
    if (flags[GT_PHASE_PREFILL] == flags[GT_PHASE_DECODE]) return GT_PHASE_MIXED;
    return flags[GT_PHASE_PREFILL] ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
}

/* Logits for fewer rows than tokens. */
static void judge_sliced(gt_phase_step *step, inferred *item, double requests)
{
    item->batch = requests;
    decide(step, GT_PHASE_PREFILL, GT_EVIDENCE_GEMMS);
    /* So many requests have only one token: those generate. If they are most of the tokens, it is decode. */
    double single = 2 * requests - item->main_rows;
    if (single <= 0) return;
    step->is_mixed = true;
    if (2 * single > item->main_rows) step->phase = GT_PHASE_DECODE;
}

static void guess(const gt_phases *p, gt_phase_step *step, double rows)
{
    decide(step, by_size(p, rows, (double)NAN), GT_EVIDENCE_GUESS);
    step->guess_rows = rows < TOO_LARGE ? (int64_t)rows : INT64_MAX;
}

/* What the steps around it say about a few queries over more keys. */
static gt_phase by_neighbours(const inference *in, const inferred *item)
{
    const inferred *previous = item->previous == GT_NO_EVENT ? NULL : &in->items[item->previous];
    const inferred *next = item->next == GT_NO_EVENT ? NULL : &in->items[item->next];
    if (previous && previous->keys < item->keys) return GT_PHASE_DECODE; /* it continues a sequence */
    if (next && next->most_queries > 1 && next->keys > item->keys) return GT_PHASE_DECODE;
    bool begins = !previous || isnan(previous->keys) || (next && next->keys == item->keys);
    return begins && next && next->most_queries == 1 ? GT_PHASE_PREFILL : GT_PHASE_MIXED;
}

static void judge_few_queries(const inference *in, gt_phase_step *step, inferred *item)
{
    gt_phase phase = by_neighbours(in, item);
    if (sliced_logits(item)) /* verifying drafts needs the logits of each of them */
        decide(step, GT_PHASE_PREFILL, GT_EVIDENCE_GEMMS);
    else if (has_all_logits(in, item))
        decide(step, GT_PHASE_DECODE, GT_EVIDENCE_GEMMS);
    else if (phase != GT_PHASE_MIXED)
        decide(step, phase, GT_EVIDENCE_QUERIES);
    else
        guess(in->p, step, isnan(item->main_rows) ? item->tokens : item->main_rows);
}

static void judge_sizes(const inference *in, gt_phase_step *step, inferred *item)
{
    const logits *sliced = sliced_logits(item);
    double rows = item->main_rows;
    item->tokens = rows;
    if (isnan(item->batch) && rows == 1 && in->p->options.decode_threshold >= 1) item->batch = 1;
    if (!isnan(item->batch)) {
        decide(step, by_size(in->p, rows, item->batch), GT_EVIDENCE_GEMMS);
    } else if (sliced) {
        judge_sliced(step, item, sliced->rows);
    } else if (has_all_logits(in, item)) {
        item->batch = rows;
        decide(step, GT_PHASE_DECODE, GT_EVIDENCE_GEMMS);
    } else if (agreed(item->words) != GT_PHASE_MIXED) {
        decide(step, agreed(item->words), GT_EVIDENCE_NAMES);
    } else {
        guess(in->p, step, rows);
    }
}

/* Judges an inferred step by all its ops. */
static void judge(const inference *in, inferred *item)
{
    gt_phase_step *step = &in->p->steps[item->step];
    if (agreed(item->queries) != GT_PHASE_MIXED) {
        decide(step, agreed(item->queries), GT_EVIDENCE_QUERIES);
    } else if (item->queries[GT_PHASE_PREFILL]) {
        item->is_split = step->is_mixed = true;
        step->evidence = GT_EVIDENCE_QUERIES;
        return;
    } else if (item->most_queries > 1) {
        judge_few_queries(in, step, item);
    } else if (!isnan(item->main_rows)) {
        judge_sizes(in, step, item);
    } else if (agreed(item->names) != GT_PHASE_MIXED) {
        decide(step, agreed(item->names), GT_EVIDENCE_NAMES);
    } else if (item->names[GT_PHASE_PREFILL]) {
        item->is_split = step->is_mixed = true;
        step->evidence = GT_EVIDENCE_NAMES;
    }
    set_numbers(step, item->batch, step->evidence == GT_EVIDENCE_GUESS ? (double)NAN : item->tokens);
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
    gt_phases *p = in->p;
    for (size_t i = 0; i < in->count; i++)
        if (!in->items[i].is_annotated) judge(in, &in->items[i]);
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

void gt_phases_infer_steps(gt_phases *p)
{
    if (!p->launchers) return;
    inference in = {.p = p,
                    .of_launcher = gt_alloc(p->launchers->count * sizeof *in.of_launcher),
                    .clues = gt_alloc(p->launchers->count * sizeof *in.clues)};
    infer_steps(&in);
    learn_about_logits(&in);
    judge_launchers(&in);
    gt_map_free(&in.open);
    gt_map_free(&in.slicing);
    gt_map_free(&in.gemm_us);
    gt_free_all(in.items, in.of_launcher, in.clues, in.sums);
}
