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

typedef struct matching {
    const gt_step_parts *sides[2];
    uint32_t *pair_of[2]; /* by part: its pair; GT_NONE */
    gt_part_pairs pairs;
    int64_t *longest_ns[2]; /* by pair: that of a_name and b_name */
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
static void add_to_pair(matching *m, uint32_t place, size_t side, const gt_step_part *part)
{
    gt_part_pair *pair = &m->pairs.items[place];
    bool by_op =
        part->kind == GT_PART_KERNEL && pair->match != GT_MATCH_KERNEL && pair->match != GT_MATCH_NONE;
    double calls = per_step(by_op ? part->op_calls : part->calls, m->sides[side]->steps);
    uint32_t *name = side ? &pair->b_name : &pair->a_name;
    if (side) {
        pair->b_ns += part->ns, pair->b_hidden_ns += part->hidden_ns;
        pair->b_calls += calls, pair->b_count++;
    } else {
        pair->a_ns += part->ns, pair->a_hidden_ns += part->hidden_ns;
        pair->a_calls += calls, pair->a_count++;
    }
    if (*name == GT_STR_NONE || part->ns > m->longest_ns[side][place]) {
        *name = part->name;
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
        for (size_t i = 0; i < m->sides[side]->count; i++) {
            match_key key = key_of(&m->sides[side]->items[i], match);
            if (!key.exists || m->pair_of[side][i] != GT_NONE) continue;
            uint32_t *found = gt_map_put(&groups, key.a, key.b);
            *found = (*found == GT_MAP_NONE ? 0 : *found) | (side ? IN_B : IN_A);
        }
    gt_map pairs = {0};
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < m->sides[side]->count; i++) {
            const gt_step_part *part = &m->sides[side]->items[i];
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

/* ---- what a pair of kernels contributes ---- */

static int64_t rounded(double value)
{
    return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

/* Kernel time is calls * mean. The change of one factor counts with the average of the other, so that the
 * answer is the same, with the other sign, if the traces change places. What overlap hides is the rest. */
static void divide_change(gt_part_pair *pair)
{
    enum { LARGEST = 53 }; /* bits that a double holds exactly */
    double a_time = (double)pair->a_ns + (double)pair->a_hidden_ns;
    double b_time = (double)pair->b_ns + (double)pair->b_hidden_ns, calls_ns = 0;
    if (pair->kind != GT_PART_KERNEL || pair->match == GT_MATCH_NONE) return;
    if (pair->a_calls > 0 && pair->b_calls > 0)
        calls_ns = (pair->b_calls - pair->a_calls) * (a_time / pair->a_calls + b_time / pair->b_calls) / 2;
    if (calls_ns < (double)(1LL << LARGEST) && calls_ns > -(double)(1LL << LARGEST))
        pair->calls_ns = rounded(calls_ns);
    pair->overlap_ns = pair->a_hidden_ns - pair->b_hidden_ns;
    pair->speed_ns = pair->b_ns - pair->a_ns - pair->calls_ns - pair->overlap_ns;
}

gt_part_pairs gt_parts_match(const gt_step_parts *a, const gt_step_parts *b)
{
    matching m = {.sides = {a, b}};
    for (size_t side = 0; side < 2; side++) {
        m.pair_of[side] = gt_alloc(m.sides[side]->count * sizeof *m.pair_of[side]);
        for (size_t i = 0; i < m.sides[side]->count; i++) m.pair_of[side][i] = GT_NONE;
    }
    for (gt_part_match match = 0; match < GT_PART_MATCHES; match++) match_by(&m, match);
    for (size_t i = 0; i < m.pairs.count; i++) divide_change(&m.pairs.items[i]);
    for (size_t side = 0; side < 2; side++) {
        gt_free(m.pair_of[side]);
        gt_free(m.longest_ns[side]);
    }
    return m.pairs;
}
