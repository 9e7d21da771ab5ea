/* Which parts of two traces belong together, and what does each pair contribute to the difference?
 *
 * Kernels get other names with every library, data type and shape, so comparing by name alone would show a
 * slower GEMM as one vanished and one new kernel. Ops keep their names. Therefore kernels are compared inside
 * their ops first, and what then remains on both sides of an op counts as replaced:
 *
 *     A   aten::mm   nvjet_128x256, nvjet_192x192            pairs: nvjet_192x192 with itself,
 *     B   aten::mm   nvjet_192x192, sm80_xmma_f32, splitK    nvjet_128x256 with sm80_xmma_f32 and splitK
 *
 * Only then kernels of different ops are compared, by name and by category. A key stands for each way to
 * match; all parts with the same key, if both traces have some, become one pair. */
#include "findings/waterfall/waterfall.h"

/* Parts and shapes with the string ids of the waterfall. */
typedef struct matching_side {
    gt_step_part *parts;
    size_t count, steps;
    gt_part_shape *shapes;
    size_t shape_count;
} matching_side;

typedef struct matching {
    matching_side sides[2];
    uint32_t *pair_of[2]; /* by part: its pair; GT_NONE */
    gt_part_pairs pairs;
    int64_t *longest_ns[2]; /* by pair: that of a_detail and b_detail */
    size_t longest_capacity[2];
} matching;

typedef struct match_key {
    uint64_t a, b;
    bool exists;
} match_key;

static match_key key_of(const gt_step_part *part, gt_part_match match)
{
    uint64_t kind = (uint64_t)part->kind << 32;
    bool is_kernel = part->kind == GT_PART_KERNEL;
    switch (match) {
    case GT_MATCH_KERNEL:
        return (match_key){kind | part->op, part->name, true};
    case GT_MATCH_NORMAL_NAME:
        return (match_key){kind | part->op, part->normal_name, is_kernel};
    case GT_MATCH_OP: /* kernels without an op need a category: otherwise nothing connects them */
        return (match_key){kind | part->op, part->category,
                           is_kernel && (part->op != GT_STR_EMPTY || part->category != GT_STR_NONE)};
    case GT_MATCH_KERNEL_ALONE:
        return (match_key){kind, part->name, is_kernel};
    case GT_MATCH_NORMAL_ALONE:
        return (match_key){kind, part->normal_name, is_kernel};
    case GT_MATCH_CATEGORY:
        return (match_key){kind, part->category, is_kernel && part->category != GT_STR_NONE};
    default: /* what only one trace has, together if one op did it */
        return (match_key){kind | part->op, part->op == GT_STR_EMPTY ? part->name : 0, true};
    }
}

/* What all parts of a pair have in common: of kernels of one op, the op. */
static uint32_t what_of(const gt_step_part *part, gt_part_match match)
{
    bool one_op = match == GT_MATCH_KERNEL || match == GT_MATCH_NORMAL_NAME || match == GT_MATCH_OP ||
                  match == GT_MATCH_NONE;
    if (one_op && part->op != GT_STR_EMPTY) return part->op;
    if (match == GT_MATCH_CATEGORY || match == GT_MATCH_OP) return part->category;
    return match == GT_MATCH_NORMAL_NAME || match == GT_MATCH_NORMAL_ALONE ? part->normal_name : part->name;
}

static double per_step(uint64_t calls, size_t steps)
{
    return (double)calls / (double)steps;
}

/* Replaced kernels need not be as many as those before, so calls of their op are counted. */
static bool counts_ops(const gt_part_pair *pair)
{
    return pair->kind == GT_PART_KERNEL && pair->match != GT_MATCH_KERNEL && pair->match != GT_MATCH_NONE;
}

static void add_to_pair(matching *m, uint32_t place, size_t side, const gt_step_part *part)
{
    gt_part_pair *pair = &m->pairs.items[place];
    double calls = per_step(counts_ops(pair) ? part->op_calls : part->calls, m->sides[side].steps);
    uint32_t *detail = side ? &pair->b_detail : &pair->a_detail;
    uint32_t *count = side ? &pair->b_count : &pair->a_count;
    if (side) {
        pair->b_ns += part->ns, pair->b_hidden_ns += part->hidden_ns;
        pair->b_calls += calls;
    } else {
        pair->a_ns += part->ns, pair->a_hidden_ns += part->hidden_ns;
        pair->a_calls += calls;
    }
    if (!(*count)++ || part->ns > m->longest_ns[side][place]) {
        *detail = part->kind == GT_PART_KERNEL ? part->name : part->site;
        m->longest_ns[side][place] = part->ns;
    }
}

static uint32_t new_pair(matching *m, const gt_step_part *part, gt_part_match match)
{
    gt_part_pair pair = {.kind = part->kind, .match = (uint8_t)match, .what = what_of(part, match)};
    uint32_t place = (uint32_t)m->pairs.count;
    GT_PUSH(m->pairs.items, m->pairs.count, m->pairs.capacity, pair);
    for (size_t side = 0; side < 2; side++)
        m->longest_ns[side] = gt_grow(m->longest_ns[side], &m->longest_capacity[side], m->pairs.count,
                                      sizeof *m->longest_ns[side]);
    return place;
}

/* Matches the parts that have no pair yet in one way. */
static void match_by(matching *m, gt_part_match match)
{
    enum { IN_A = 1, IN_B = 2, IN_BOTH = 3 };
    gt_map groups = {0};
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < m->sides[side].count; i++) {
            match_key key = key_of(&m->sides[side].parts[i], match);
            if (!key.exists || m->pair_of[side][i] != GT_NONE) continue;
            uint32_t *found = gt_map_put(&groups, key.a, key.b);
            *found = (*found == GT_MAP_NONE ? 0 : *found) | (side ? IN_B : IN_A);
        }
    gt_map pairs = {0};
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < m->sides[side].count; i++) {
            const gt_step_part *part = &m->sides[side].parts[i];
            match_key key = key_of(part, match);
            if (!key.exists || m->pair_of[side][i] != GT_NONE) continue;
            if (match != GT_MATCH_NONE && gt_map_get(&groups, key.a, key.b) != IN_BOTH) continue;
            /* In the last round both sides keep apart. */
            uint64_t apart = match == GT_MATCH_NONE ? (uint64_t)(side + 1) << 40 : 0;
            uint32_t *place = gt_map_put(&pairs, key.a | apart, key.b);
            if (*place == GT_MAP_NONE) *place = new_pair(m, part, match);
            m->pair_of[side][i] = *place;
            add_to_pair(m, *place, side, part);
        }
    gt_map_free(&groups);
    gt_map_free(&pairs);
}

/* ---- what a pair of kernels contributes ----
 *
 * Kernel time is calls * mean. The change of one factor counts with the average of the other, so that the
 * answer is the same, with the other sign, if the traces exchange places. Calls with the same arguments are
 * compared with each other; calls with arguments that only one trace has are more or fewer calls. What
 * overlap hides is the rest. */

/* Time and calls per step of both traces. */
typedef struct call_times {
    double ns[2], calls[2];
} call_times;

static int64_t rounded(double value)
{
    const double largest = 9007199254740992; /* 2^53 */
    if (!(value > -largest && value < largest)) return 0;
    return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

static bool both_call(const call_times *times)
{
    return times->calls[0] > 0 && times->calls[1] > 0;
}

/* Of what changed, the part that the number of calls explains. */
static int64_t calls_effect_ns(const call_times *times)
{
    if (!both_call(times)) return rounded(times->ns[1] - times->ns[0]);
    double means = times->ns[0] / times->calls[0] + times->ns[1] / times->calls[1];
    return rounded((times->calls[1] - times->calls[0]) * means / 2);
}

typedef struct shape_list {
    call_times *items;
    uint32_t *pairs;
    size_t count, capacity, pair_capacity;
    gt_map places; /* pair and shape */
} shape_list;

static call_times *shape_times(shape_list *list, uint32_t pair, uint32_t shape)
{
    uint32_t *place = gt_map_put(&list->places, pair, shape);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)list->count;
        list->pairs = gt_grow(list->pairs, &list->pair_capacity, list->count + 1, sizeof *list->pairs);
        list->pairs[list->count] = pair;
        GT_PUSH(list->items, list->count, list->capacity, (call_times){0});
    }
    return &list->items[*place];
}

static shape_list collect_shapes(const matching *m)
{
    shape_list list = {0};
    for (size_t s = 0; s < 2; s++) {
        const matching_side *side = &m->sides[s];
        for (size_t i = 0; i < side->shape_count; i++) {
            const gt_part_shape *shape = &side->shapes[i];
            uint32_t pair = m->pair_of[s][shape->part];
            uint64_t calls = counts_ops(&m->pairs.items[pair]) ? shape->op_calls : shape->calls;
            call_times *times = shape_times(&list, pair, shape->shape);
            times->ns[s] += (double)shape->ns / (double)side->steps;
            times->calls[s] += per_step(calls, side->steps);
        }
    }
    return list;
}

static bool is_divided(const gt_part_pair *pair)
{
    return pair->kind == GT_PART_KERNEL && pair->match != GT_MATCH_NONE;
}

/* Sums of whole nanoseconds do not depend on the order of the shapes. */
static void divide_changes(matching *m)
{
    shape_list shapes = collect_shapes(m);
    call_times *others = gt_alloc_zero(m->pairs.count, sizeof *others); /* with arguments of one trace only */
    for (size_t i = 0; i < shapes.count; i++) {
        const call_times *times = &shapes.items[i];
        call_times *rest = &others[shapes.pairs[i]];
        gt_part_pair *pair = &m->pairs.items[shapes.pairs[i]];
        if (both_call(times) && is_divided(pair)) pair->calls_ns += calls_effect_ns(times);
        for (size_t side = 0; side < 2 && !both_call(times); side++) {
            rest->ns[side] += times->ns[side];
            rest->calls[side] += times->calls[side];
        }
    }
    for (size_t i = 0; i < m->pairs.count; i++) {
        gt_part_pair *pair = &m->pairs.items[i];
        if (!is_divided(pair)) continue;
        pair->calls_ns += calls_effect_ns(&others[i]);
        pair->overlap_ns = pair->a_hidden_ns - pair->b_hidden_ns;
        pair->speed_ns = pair->b_ns - pair->a_ns - pair->calls_ns - pair->overlap_ns;
    }
    gt_free_all(others, shapes.items, shapes.pairs);
    gt_map_free(&shapes.places);
}

/* ---- both traces ---- */

static matching_side side_of(const gt_step_parts *from, gt_interner *strings)
{
    matching_side side = {.parts = gt_alloc(from->count * sizeof *side.parts),
                          .count = from->count,
                          .steps = from->steps,
                          .shapes = gt_alloc(from->shape_count * sizeof *side.shapes),
                          .shape_count = from->shape_count};
    for (size_t i = 0; i < from->count; i++) {
        side.parts[i] = from->items[i];
        gt_step_part_move(&side.parts[i], from->strings, strings);
    }
    for (size_t i = 0; i < from->shape_count; i++) {
        side.shapes[i] = from->shapes[i];
        gt_part_shape_move(&side.shapes[i], from->strings, strings);
    }
    return side;
}

static gt_part_pairs match_parts(const gt_step_parts *a, const gt_step_parts *b, gt_interner *strings)
{
    matching m = {.sides = {side_of(a, strings), side_of(b, strings)}};
    for (size_t side = 0; side < 2; side++) {
        m.pair_of[side] = gt_alloc(m.sides[side].count * sizeof *m.pair_of[side]);
        for (size_t i = 0; i < m.sides[side].count; i++) m.pair_of[side][i] = GT_NONE;
    }
    for (gt_part_match match = 0; match < GT_PART_MATCHES; match++) match_by(&m, match);
    divide_changes(&m);
    for (size_t side = 0; side < 2; side++) {
        gt_free_all(m.sides[side].parts, m.sides[side].shapes, m.pair_of[side], m.longest_ns[side]);
    }
    return m.pairs;
}

/* ---- contributions ---- */

/* From pairs to contributions: what the pairs of one op have in common is one contribution, and the largest
 * ones get rows of their own. Nothing is lost: the sum of all contributions is the difference of the step
 * times. */

enum {
    ROWS_MAX = 16,      /* so that the waterfall fits in 25 lines */
    LEAST_PER_MILLE = 5 /* of the longer step: less is a row without consequence */
};

static const char *const kind_names[] = {
    [GT_CONTRIBUTION_NEW] = "new",
    [GT_CONTRIBUTION_VANISHED] = "vanished",
    [GT_CONTRIBUTION_SLOWER] = "slower",
    [GT_CONTRIBUTION_FASTER] = "faster",
    [GT_CONTRIBUTION_MORE_CALLS] = "more_calls",
    [GT_CONTRIBUTION_FEWER_CALLS] = "fewer_calls",
    [GT_CONTRIBUTION_OVERLAP] = "overlap",
    [GT_CONTRIBUTION_COMPUTATION] = "computation",
    [GT_CONTRIBUTION_COMMUNICATION] = "communication",
    [GT_CONTRIBUTION_COPIES] = "copies",
    [GT_CONTRIBUTION_IDLE] = "idle",
    [GT_CONTRIBUTION_OTHER] = "other",
};

const char *gt_contribution_name(gt_contribution_kind kind)
{
    return kind_names[kind];
}

static int64_t magnitude(int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

/* ---- collecting ---- */

typedef struct collector {
    gt_waterfall *waterfall;
    gt_map places; /* kind and subject to the contribution */
} collector;

/* Until all are collected, calls and speed have the kind of an increase. */
static void add(collector *c, gt_contribution_kind kind, const gt_part_pair *pair, int64_t delta_ns)
{
    gt_waterfall *w = c->waterfall;
    uint32_t what =
        kind == GT_CONTRIBUTION_OVERLAP ? gt_interner_add_cstr(w->strings, "kernels") : pair->what;
    uint32_t *place = gt_map_put(&c->places, kind, what);
    if (*place == GT_MAP_NONE) {
        gt_contribution new = {.kind = (uint8_t)kind, .what = what, .largest_ns = -1};
        *place = (uint32_t)w->count;
        GT_PUSH(w->items, w->count, w->capacity, new);
    }
    gt_contribution *to = &w->items[*place];
    to->pair_count++;
    to->a_ns += pair->a_ns, to->b_ns += pair->b_ns;
    to->a_calls += pair->a_calls, to->b_calls += pair->b_calls;
    to->delta_ns += delta_ns;
    if (kind != GT_CONTRIBUTION_OVERLAP && magnitude(delta_ns) > to->largest_ns) {
        to->largest_ns = magnitude(delta_ns);
        to->a_detail = pair->a_detail, to->b_detail = pair->b_detail;
    }
}

static void add_pair(collector *c, const gt_part_pair *pair)
{
    static const gt_contribution_kind kinds[] = {[GT_PART_CATEGORY] = GT_CONTRIBUTION_COMPUTATION,
                                                 [GT_PART_COMMUNICATION] = GT_CONTRIBUTION_COMMUNICATION,
                                                 [GT_PART_COPY] = GT_CONTRIBUTION_COPIES,
                                                 [GT_PART_IDLE] = GT_CONTRIBUTION_IDLE};
    int64_t delta_ns = pair->b_ns - pair->a_ns;
    if (pair->kind != GT_PART_KERNEL) {
        add(c, kinds[pair->kind], pair, delta_ns);
    } else if (pair->match == GT_MATCH_NONE) {
        add(c, pair->b_count ? GT_CONTRIBUTION_NEW : GT_CONTRIBUTION_VANISHED, pair, delta_ns);
    } else {
        add(c, GT_CONTRIBUTION_MORE_CALLS, pair, pair->calls_ns);
        add(c, GT_CONTRIBUTION_SLOWER, pair, pair->speed_ns);
        if (pair->a_hidden_ns || pair->b_hidden_ns) add(c, GT_CONTRIBUTION_OVERLAP, pair, pair->overlap_ns);
    }
}

/* Kinds have the sign of the sum; contributions of nothing are dropped. */
static void finish(gt_waterfall *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        gt_contribution item = w->items[i];
        if (item.delta_ns < 0 && item.kind == GT_CONTRIBUTION_SLOWER) item.kind = GT_CONTRIBUTION_FASTER;
        if (item.delta_ns < 0 && item.kind == GT_CONTRIBUTION_MORE_CALLS)
            item.kind = GT_CONTRIBUTION_FEWER_CALLS;
        if (item.delta_ns) w->items[kept++] = item;
    }
    w->count = kept;
}

/* ---- order ---- */

static int compare_contributions(const void *a, const void *b, void *strings)
{
    const gt_contribution *left = a, *right = b;
    int64_t left_ns = magnitude(left->delta_ns), right_ns = magnitude(right->delta_ns);
    if (left_ns != right_ns) return left_ns > right_ns ? -1 : 1;
    if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
    return gt_str_compare(gt_interner_get(strings, left->what), gt_interner_get(strings, right->what));
}

static int compare_pairs(const void *a, const void *b, void *strings)
{
    const gt_part_pair *left = a, *right = b;
    int64_t left_ns = magnitude(left->b_ns - left->a_ns), right_ns = magnitude(right->b_ns - right->a_ns);
    if (left_ns != right_ns) return left_ns > right_ns ? -1 : 1;
    if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
    int order = gt_str_compare(gt_interner_get(strings, left->what), gt_interner_get(strings, right->what));
    if (order) return order;
    order =
        gt_str_compare(gt_interner_get(strings, left->a_detail), gt_interner_get(strings, right->a_detail));
    if (order) return order;
    return gt_str_compare(gt_interner_get(strings, left->b_detail),
                          gt_interner_get(strings, right->b_detail));
}

static size_t count_shown(const gt_waterfall *w)
{
    int64_t longer = w->a_ns > w->b_ns ? w->a_ns : w->b_ns;
    size_t shown = 0;
    while (shown < w->count && shown < ROWS_MAX &&
           magnitude(w->items[shown].delta_ns) >= longer / 1000 * LEAST_PER_MILLE)
        shown++;
    return shown;
}

gt_waterfall *gt_waterfall_new(const gt_step_parts *a, const gt_step_parts *b, gt_interner *strings)
{
    gt_waterfall *w = gt_alloc_zero(1, sizeof *w);
    *w = (gt_waterfall){.strings = strings,
                        .a_ns = a->step_ns,
                        .b_ns = b->step_ns,
                        .has_steps = {a->has_steps, b->has_steps},
                        .has_calls = a->has_calls && b->has_calls,
                        .pairs = match_parts(a, b, strings)};
    collector c = {.waterfall = w};
    for (size_t i = 0; i < w->pairs.count; i++) add_pair(&c, &w->pairs.items[i]);
    gt_map_free(&c.places);
    finish(w);
    if (w->count) qsort_r(w->items, w->count, sizeof *w->items, compare_contributions, w->strings);
    if (w->pairs.count)
        qsort_r(w->pairs.items, w->pairs.count, sizeof *w->pairs.items, compare_pairs, w->strings);
    w->shown = count_shown(w);
    return w;
}

void gt_waterfall_free(gt_waterfall *waterfall)
{
    if (!waterfall) return;
    gt_free_all(waterfall->pairs.items, waterfall->items, waterfall);
}

/* ---- the rest, and texts ---- */

bool gt_waterfall_rest(const gt_waterfall *w, int sign, gt_contribution *rest)
{
    *rest = (gt_contribution){.kind = GT_CONTRIBUTION_OTHER};
    for (size_t i = w->shown; i < w->count; i++)
        if ((w->items[i].delta_ns > 0) == (sign > 0)) {
            rest->pair_count++;
            rest->delta_ns += w->items[i].delta_ns;
        }
    return rest->pair_count > 0;
}

char *gt_contribution_text(const gt_waterfall *w, const gt_contribution *contribution)
{
    const char *what = gt_interner_get(w->strings, contribution->what).bytes;
    switch ((gt_contribution_kind)contribution->kind) {
    case GT_CONTRIBUTION_OTHER:
        return gt_format("%zu other%s that %s%s time", contribution->pair_count,
                         contribution->pair_count > 1 ? "s" : "", contribution->delta_ns > 0 ? "add" : "save",
                         contribution->pair_count > 1 ? "" : "s");
    case GT_CONTRIBUTION_MORE_CALLS:
        return gt_format("more calls: %s", what);
    case GT_CONTRIBUTION_FEWER_CALLS:
        return gt_format("fewer calls: %s", what);
    case GT_CONTRIBUTION_OVERLAP:
        return gt_format("%s overlap of kernels", contribution->delta_ns > 0 ? "less" : "more");
    default:
        return gt_format("%s: %s", kind_names[contribution->kind], what);
    }
}
