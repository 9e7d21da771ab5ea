/* The tree of learned text. It contains only text that was parsed in full before, so following it is safe:
 * whatever is not compared byte by byte is read by a step that checks it as strictly as full parsing does.
 *
 * Three habits of traces make it fast:
 *
 * - Values that stay the same for many records (process and thread ids) are folded into the text: two edges
 *   and the value between them become one edge. After 24 records with "pid": 5, the edges `"pid": ` and
 *   `, "tid": ` become the one edge `"pid": 5, "tid": `. It is dropped if it fails 1,024 times in a row.
 * - Strings follow each other in the same order again and again: a launch follows its op, and ops of one name
 *   and shape have the same types and strides. So each string is first compared with the last two that came
 *   after the same strings; nine of ten are found this way. Most others are found by some of their bytes,
 *   which costs less than looking them up by all.
 * - Of several edges at a node, the one used last is tried first. */
#include "input/json/learned_tree.h"

enum {
    MAX_EDGE_TEXT = 2048,  /* bytes; a record with longer constant text is not learned */
    MAX_FOLDED_TEXT = 256, /* most bytes of an edge with folded values */
    MAX_NODES = 8192,      /* in total, so that hostile input cannot make the tree grow without end */
    WATCH_VALUES = 250,    /* this many values are watched; then the value counts as varying */
};

/* ---- instruction sets ---- */

static const gt_learned_set *const sets[GT_SCAN_SETS] = {
    [GT_SET_SCALAR] = &gt_learned_scalar,
#if defined(__x86_64__)
    [GT_SET_SSE2] = &gt_learned_base,
    [GT_SET_AVX2] = &gt_learned_avx2,
    [GT_SET_AVX512] = &gt_learned_avx512,
#elif defined(__aarch64__)
    [GT_SET_NEON] = &gt_learned_base,
#if GT_SCAN_HAS_SVE2
    [GT_SET_SVE2] = &gt_learned_sve2,
#endif
#endif
};

const gt_learned_set *gt_learned_set_of(gt_scan_set set)
{
    return sets[set];
}

bool gt_learned_read(gt_learned *learned, gt_json *json, gt_record *record)
{
    return learned->set->read(learned, json, record);
}

size_t gt_learned_skip(gt_learned *learned, gt_json *json, gt_str separator, const uint8_t *limit)
{
    return learned->set->skip(learned, json, separator, limit);
}

/* ---- the tree ---- */

static void prepare_strings(gt_learned_strings *strings)
{
    if (!strings->seen) strings->seen = gt_alloc_zero(1, sizeof *strings->seen);
}

static gt_learned_node *new_node(gt_learned *learned, const gt_step *step)
{
    if (step->op == GT_STEP_TEXT) prepare_strings(&learned->strings);
    if (step->op == GT_STEP_JSON) prepare_strings(&learned->values);
    gt_learned_node *n = gt_arena_alloc(&learned->arena, sizeof *n);
    *n = (gt_learned_node){.op = step->op,
                           .field = step->field,
                           .depth = step->depth,
                           .mistyped = step->mistyped,
                           .salt = (uint32_t)++learned->nodes * 0x85EBCA6Bu};
    return n;
}

gt_learned *gt_learned_new(gt_json_interner *strings, gt_json_interner *values)
{
    gt_learned *learned = gt_alloc_zero(1, sizeof *learned);
    learned->set = sets[gt_scan_set_chosen()];
    learned->strings.intern = strings;
    learned->values.intern = values;
    learned->root = new_node(learned, &(gt_step){.op = GT_STEP_CONSTANT, .field = -1});
    return learned;
}

void gt_learned_free(gt_learned *learned)
{
    if (!learned) return;
    gt_arena_free(&learned->arena);
    gt_free_all(learned->strings.seen, learned->values.seen, learned);
}

/* ---- learning ---- */

/* Whether values read by this step may be folded into the text around them. */
static inline bool may_fold(gt_step_op op)
{
    return op == GT_STEP_INT || op == GT_STEP_JSON || op == GT_STEP_SKIP_NUMBER || op == GT_STEP_SKIP_STRING;
}

static gt_learned_edge *new_edge(gt_learned *learned, size_t len, const gt_learned_effect *effects,
                                 size_t effect_count, gt_learned_node *to)
{
    gt_learned_edge *e = gt_arena_alloc(&learned->arena, sizeof *e);
    size_t padded = (len + 15) & ~(size_t)15;
    *e = (gt_learned_edge){.len = (uint32_t)len, .to = to};
    if (to && may_fold(to->op)) e->watch = WATCH_VALUES;
    e->text = gt_arena_alloc(&learned->arena, padded);
    memset(e->text + len, 0, padded - len); /* compared, but without effect: for valgrind */
    e->effects = gt_arena_alloc(&learned->arena, effect_count * sizeof *effects);
    for (size_t i = 0; i < effect_count; i++) {
        uint64_t field = UINT64_C(1) << effects[i].field;
        if (effects[i].mistyped) {
            e->mistyped |= field;
        } else {
            e->present |= field;
            e->effects[e->effect_count++] = effects[i];
        }
    }
    return e;
}

/* Puts the edge first; if there are too many, the last one is dropped. */
static void put_edge(gt_learned_node *from, gt_learned_edge *e)
{
    size_t moved = from->edge_count < GT_LEARNED_EDGES ? from->edge_count++ : GT_LEARNED_EDGES - 1;
    memmove(from->edges + 1, from->edges, moved * sizeof *from->edges);
    from->edges[0] = e;
}

static gt_learned_edge *find_edge(const gt_learned_node *from, const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < from->edge_count; i++) {
        gt_learned_edge *e = from->edges[i];
        if (!e->folded && e->len == len && memcmp(e->text, text, len) == 0) return e;
    }
    return NULL;
}

static bool same_value(const gt_learned_node *to, const gt_step *step)
{
    return step ? to && to->op == step->op && to->field == step->field && to->mistyped == step->mistyped
                : !to;
}

/* The edge with this text to this step (NULL: the end), created if needed. NULL if the same text already
 * leads to a value that is read in another way: the text alone must determine how to continue. */
static gt_learned_edge *grow_edge(gt_learned *learned, gt_learned_node *from, const uint8_t *text, size_t len,
                                  const gt_learned_effect *effects, size_t effect_count, const gt_step *step)
{
    gt_learned_edge *e = find_edge(from, text, len);
    if (e) return same_value(e->to, step) ? e : NULL;
    gt_learned_node *to = step ? new_node(learned, step) : NULL;
    e = new_edge(learned, len, effects, effect_count, to);
    memcpy(e->text, text, len);
    put_edge(from, e);
    return e;
}

void gt_learned_add(gt_learned *learned, const uint8_t *text, size_t len, const gt_step *steps, size_t count,
                    gt_learned_stop stop)
{
    gt_learned_effect effects[GT_RECORD_MAX_FIELDS];
    size_t effect_count = 0, from = 0;
    gt_learned_node *at = learned->root;
    if (learned->nodes + count > MAX_NODES) return;
    for (size_t i = 0; i <= count; i++) {
        const gt_step *step = i < count ? &steps[i] : NULL;
        if (step && step->op == GT_STEP_CONSTANT) {
            if (step->field < 0) continue;
            if (effect_count == GT_RECORD_MAX_FIELDS) return;
            effects[effect_count++] = (gt_learned_effect){(uint8_t)step->field, step->mistyped, step->cell};
            continue;
        }
        size_t to = step ? step->begin : len;
        if (to - from > MAX_EDGE_TEXT) return;
        gt_learned_edge *e = grow_edge(learned, at, text + from, to - from, effects, effect_count, step);
        if (!e) return;
        if (i == stop.at) {
            e->dropping |= stop.drops;
            e->ending |= !stop.drops;
            e->is_plain = false;
        }
        at = e->to;
        from = step ? step->end : len;
        effect_count = 0;
    }
}

void gt_learned_fold(gt_learned *learned, gt_learned_node *from, const gt_learned_edge *before,
                     const gt_learned_edge *after, gt_str value_text, gt_learned_effect value)
{
    size_t len = before->len + value_text.len + after->len;
    size_t count = before->effect_count + after->effect_count;
    if (len > MAX_FOLDED_TEXT || count >= GT_RECORD_MAX_FIELDS || learned->nodes >= MAX_NODES) return;
    gt_learned_effect effects[GT_RECORD_MAX_FIELDS];
    memcpy(effects, before->effects, before->effect_count * sizeof *effects);
    count = before->effect_count;
    if (before->to->field >= 0) effects[count++] = value;
    memcpy(effects + count, after->effects, after->effect_count * sizeof *effects);
    count += after->effect_count;
    gt_learned_edge *e = new_edge(learned, len, effects, count, after->to);
    memcpy(e->text, before->text, before->len);
    memcpy(e->text + before->len, value_text.bytes, value_text.len);
    memcpy(e->text + before->len + value_text.len, after->text, after->len);
    e->mistyped |= before->mistyped | after->mistyped;
    e->folded = true;
    e->dropping = after->dropping;
    e->ending = after->ending;
    put_edge(from, e);
    learned->nodes++;
}

void gt_learned_drop_edge(gt_learned_node *from, size_t index)
{
    from->edge_count--;
    memmove(from->edges + index, from->edges + index + 1, (from->edge_count - index) * sizeof *from->edges);
    from->edges[from->edge_count] = NULL;
}
