/* Which parts of two traces belong together?
 *
 * Kernels get other names with every library, data type and shape, so comparing by name alone would show a
 * slower GEMM as one vanished and one new kernel. Ops keep their names. Therefore kernels are compared inside
 * their ops first, and what then remains on both sides of an op counts as replaced:
 *
 *     A   aten::mm   nvjet_128x256, nvjet_192x192              pairs: nvjet_192x192 with itself,
 *     B   aten::mm   nvjet_192x192, sm80_xmma_f32, splitK             nvjet_128x256 with sm80_xmma_f32 and
 * splitK
 *
 * Only then kernels of different ops are compared, by name and by category. A key stands for each way to
 * match; all parts with the same key, if both traces have some, become one pair. */
#include "findings/waterfall/waterfall.h"

#include "base/map.h"
#include "base/memory.h"

#include <stdlib.h>

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
    gt_free(others);
    gt_free(shapes.items);
    gt_free(shapes.pairs);
    gt_map_free(&shapes.places);
}

/* ---- both traces ---- */

static uint32_t copy_string(gt_interner *to, const gt_interner *from, uint32_t id)
{
    gt_str text = gt_interner_get(from, id);
    return id == GT_STR_NONE ? GT_STR_NONE : gt_interner_add(to, text.bytes, text.len);
}

static matching_side side_of(const gt_step_parts *from, gt_interner *strings)
{
    matching_side side = {.parts = gt_alloc(from->count * sizeof *side.parts),
                          .count = from->count,
                          .steps = from->steps,
                          .shapes = gt_alloc(from->shape_count * sizeof *side.shapes),
                          .shape_count = from->shape_count};
    for (size_t i = 0; i < from->count; i++) {
        gt_step_part *part = &side.parts[i];
        *part = from->items[i];
        part->op = copy_string(strings, from->strings, part->op);
        part->name = copy_string(strings, from->strings, part->name);
        part->normal_name = copy_string(strings, from->strings, part->normal_name);
        part->category = copy_string(strings, from->strings, part->category);
        part->site = copy_string(strings, from->strings, part->site);
    }
    for (size_t i = 0; i < from->shape_count; i++) {
        side.shapes[i] = from->shapes[i];
        side.shapes[i].shape = copy_string(strings, from->strings, from->shapes[i].shape);
    }
    return side;
}

gt_part_pairs gt_parts_match(const gt_step_parts *a, const gt_step_parts *b, gt_interner *strings)
{
    matching m = {.sides = {side_of(a, strings), side_of(b, strings)}};
    for (size_t side = 0; side < 2; side++) {
        m.pair_of[side] = gt_alloc(m.sides[side].count * sizeof *m.pair_of[side]);
        for (size_t i = 0; i < m.sides[side].count; i++) m.pair_of[side][i] = GT_NONE;
    }
    for (gt_part_match match = 0; match < GT_PART_MATCHES; match++) match_by(&m, match);
    divide_changes(&m);
    for (size_t side = 0; side < 2; side++) {
        gt_free(m.sides[side].parts);
        gt_free(m.sides[side].shapes);
        gt_free(m.pair_of[side]);
        gt_free(m.longest_ns[side]);
    }
    return m.pairs;
}
