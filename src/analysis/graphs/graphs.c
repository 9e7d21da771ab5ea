/* Units of replayed kernels, and the claims about them. */
#include "analysis/graphs/graphs.h"

/* ---- units ---- */

typedef struct unit_finder {
    gt_graphs *graphs;
    gt_map known; /* hash of a sequence -> the last unit with it */
} unit_finder;

static uint64_t hash_of(const gt_step_list *steps, const uint32_t *ops, size_t count)
{
    uint32_t *words = gt_alloc(2 * count * sizeof *words);
    for (size_t i = 0; i < count; i++) {
        words[2 * i] = steps->ops[ops[i]].name;
        words[2 * i + 1] = steps->ops[ops[i]].grid;
    }
    uint64_t hash = gt_hash_bytes(words, 2 * count * sizeof *words);
    gt_free(words);
    return hash;
}

static bool is_replay_of(const gt_graphs *graphs, const gt_graph_unit *unit, const uint32_t *ops,
                         size_t count)
{
    if (unit->kernels != count) return false;
    for (size_t i = 0; i < count; i++) {
        const gt_listed_op *a = &graphs->steps->ops[ops[i]], *b = gt_graph_unit_op(graphs, unit, 0, i);
        if (a->name != b->name || a->grid != b->grid) return false;
    }
    return true;
}

/* Adds kernels that are replayed together, by start. */
static void add_replay(unit_finder *f, uint32_t step, const uint32_t *ops, size_t count)
{
    gt_graphs *graphs = f->graphs;
    uint32_t *known = gt_map_put(&f->known, hash_of(graphs->steps, ops, count), 0);
    if (*known == GT_MAP_NONE || !is_replay_of(graphs, &graphs->units[*known], ops, count)) {
        *known = (uint32_t)graphs->unit_count;
        GT_PUSH(graphs->units, graphs->unit_count, graphs->unit_capacity,
                ((gt_graph_unit){.step = step, .kernels = count}));
    }
    gt_graph_unit *unit = &graphs->units[*known];
    unit->ops = gt_grow(unit->ops, &unit->op_capacity, unit->op_count + count, sizeof *unit->ops);
    memcpy(unit->ops + unit->op_count, ops, count * sizeof *ops);
    unit->op_count += count;
    unit->replays++;
    for (size_t i = 0; i < count; i++) {
        graphs->unit_of[ops[i]] = *known;
        graphs->position_of[ops[i]] = (uint32_t)i;
    }
}

static void add_steps(unit_finder *f, uint32_t *spare)
{
    const gt_step_list *steps = f->graphs->steps;
    for (uint32_t i = 0; i < steps->count; i++) {
        const gt_listed_step *step = &steps->steps[i];
        size_t count = 0;
        for (size_t k = 0; k < step->op_count; k++) {
            uint32_t op = steps->of_steps[step->first_op + k];
            if (steps->ops[op].in_graph) spare[count++] = op;
        }
        if (count) add_replay(f, i, spare, count);
    }
}

static int by_call(const void *left, const void *right, void *context)
{
    const gt_step_list *steps = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint32_t x = steps->ops[a].call, y = steps->ops[b].call;
    if (x != y) return x < y ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Outside of steps each launch is a replay of its own. */
static void add_outside(unit_finder *f, uint32_t *spare)
{
    const gt_step_list *steps = f->graphs->steps;
    size_t count = 0;
    for (uint32_t i = 0; i < steps->op_count; i++)
        if (steps->ops[i].in_graph && steps->ops[i].step == GT_OUTSIDE_STEPS) spare[count++] = i;
    if (count) qsort_r(spare, count, sizeof *spare, by_call, (void *)(uintptr_t)steps);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && steps->ops[spare[end]].call == steps->ops[spare[begin]].call;
             end++) {
        }
        add_replay(f, GT_OUTSIDE_STEPS, spare + begin, end - begin);
    }
}

gt_graphs *gt_graphs_new(const gt_step_list *steps, gt_interner *strings)
{
    if (!steps->graph_launches) return NULL;
    gt_graphs *graphs = gt_alloc_zero(1, sizeof *graphs);
    graphs->steps = steps;
    graphs->names = gt_graph_names_new(strings);
    graphs->unit_of = gt_alloc(steps->op_count * sizeof *graphs->unit_of);
    graphs->position_of = gt_alloc(steps->op_count * sizeof *graphs->position_of);
    memset(graphs->unit_of, 0xFF, steps->op_count * sizeof *graphs->unit_of);
    unit_finder f = {.graphs = graphs};
    uint32_t *spare = gt_alloc(steps->op_count * sizeof *spare);
    add_steps(&f, spare);
    add_outside(&f, spare);
    gt_free(spare);
    gt_map_free(&f.known);
    return graphs;
}

void gt_graphs_use_strings(gt_graphs *graphs, gt_interner *strings)
{
    graphs->names.strings = strings;
    gt_kernel_classifier_use_strings(graphs->names.classes, strings);
}

void gt_graphs_free(gt_graphs *graphs)
{
    if (!graphs) return;
    for (size_t i = 0; i < graphs->unit_count; i++) {
        gt_graph_match_free(&graphs->units[i].match);
        gt_free_all(graphs->units[i].claims, graphs->units[i].ops);
    }
    gt_free_all(graphs->units, graphs->unit_of, graphs->position_of, graphs->continues);
    gt_graph_references_free(&graphs->references);
    gt_graph_names_free(&graphs->names);
    gt_free(graphs);
}

/* ---- a unit as sequences ---- */

typedef struct sequences {
    gt_graph_kernel *kernels, *step;
    uint32_t *place;
    gt_graph_replay replay;
} sequences;

static gt_graph_kernel kernel_of(const gt_listed_op *op)
{
    return (gt_graph_kernel){op->name, op->grid, op->kind != GT_KIND_KERNEL};
}

static size_t count_launches(const gt_graphs *graphs, const gt_graph_unit *unit)
{
    gt_map calls = {0};
    for (size_t i = 0; i < unit->kernels; i++)
        gt_map_put(&calls, gt_graph_unit_op(graphs, unit, 0, i)->call, 0);
    size_t count = calls.count;
    gt_map_free(&calls);
    return count;
}

/* All work of the step of a unit; outside of steps that of its launch. */
static void list_step(const gt_graphs *graphs, const gt_graph_unit *unit, sequences *s)
{
    const gt_step_list *steps = graphs->steps;
    const gt_listed_step *step = unit->step == GT_OUTSIDE_STEPS ? NULL : &steps->steps[unit->step];
    size_t count = step ? step->op_count : unit->kernels, next = 0;
    s->step = gt_alloc(count * sizeof *s->step);
    s->place = gt_alloc(unit->kernels * sizeof *s->place);
    for (size_t i = 0; i < count; i++) {
        const gt_listed_op *op = &steps->ops[step ? steps->of_steps[step->first_op + i] : unit->ops[i]];
        s->step[i] = kernel_of(op);
        if (op->in_graph) s->place[next++] = (uint32_t)i;
    }
    s->replay.step_count = count;
}

static sequences sequences_of(const gt_graphs *graphs, const gt_graph_unit *unit)
{
    sequences s = {.kernels = gt_alloc(unit->kernels * sizeof *s.kernels)};
    for (size_t i = 0; i < unit->kernels; i++) s.kernels[i] = kernel_of(gt_graph_unit_op(graphs, unit, 0, i));
    list_step(graphs, unit, &s);
    const gt_listed_step *step = unit->step == GT_OUTSIDE_STEPS ? NULL : &graphs->steps->steps[unit->step];
    s.replay.kernels = s.kernels;
    s.replay.kernel_count = unit->kernels;
    s.replay.step = s.step;
    s.replay.place = s.place;
    s.replay.launches = count_launches(graphs, unit);
    s.replay.is_serving = step && step->phase != GT_SERVING_STEP;
    s.replay.padded = s.replay.is_serving ? step->padded : GT_STEP_UNKNOWN;
    return s;
}

static void sequences_free(sequences *s)
{
    gt_free_all(s->kernels, s->step, s->place);
}

/* ---- claims ---- */

void gt_graphs_attribute(gt_graphs *graphs)
{
    for (size_t i = 0; i < graphs->unit_count; i++) {
        gt_graph_unit *unit = &graphs->units[i];
        sequences s = sequences_of(graphs, unit);
        unit->claims = gt_alloc(unit->kernels * sizeof *unit->claims);
        unit->match = gt_graph_claims_find(&graphs->names, &graphs->references, &s.replay, unit->claims);
        sequences_free(&s);
    }
}

bool gt_graphs_fit(gt_graphs *graphs, const gt_graph_references *references, double *share)
{
    bool fits = false;
    *share = 0;
    for (size_t i = 0; i < graphs->unit_count && !fits; i++) {
        sequences s = sequences_of(graphs, &graphs->units[i]);
        double found;
        fits = gt_graph_eager_fits(&graphs->names, references, &s.replay, &found);
        if (found > *share) *share = found;
        sequences_free(&s);
    }
    return fits;
}

/* ---- sources ---- */

/* The number of a source and confidence. */
static uint8_t place_source(gt_replay_sources *sources, gt_map *places, const gt_graph_claim *claim)
{
    uint32_t *place = gt_map_put(places, (uint64_t)claim->source << 1 | claim->by_name, claim->confidence);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)sources->count;
        gt_replay_source source = {
            gt_format("%s/%s", gt_claim_source_name(claim),
                      gt_claim_confidence_name((gt_claim_confidence)claim->confidence)),
            claim->confidence != GT_CLAIM_LOW};
        GT_PUSH(sources->items, sources->count, sources->capacity, source);
    }
    return (uint8_t)*place;
}

gt_replay_sources gt_graphs_sources(const gt_graphs *graphs)
{
    gt_replay_sources sources = {.of_op = gt_alloc(graphs->steps->op_count)};
    gt_map places = {0};
    memset(sources.of_op, GT_NO_SOURCE, graphs->steps->op_count);
    for (size_t i = 0; i < graphs->steps->op_count; i++) {
        const gt_graph_claim *claim = gt_graphs_claim(graphs, i);
        if (claim) sources.of_op[i] = place_source(&sources, &places, claim);
    }
    gt_map_free(&places);
    return sources;
}

void gt_replay_sources_free(gt_replay_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) gt_free(sources->items[i].name);
    gt_free_all(sources->items, sources->of_op);
    *sources = (gt_replay_sources){0};
}
