/* From pairs to contributions: what the pairs of one op have in common is one contribution, and the largest
 * ones get rows of their own. Nothing is lost: the sum of all contributions is the difference of the step
 * times. */
#include "findings/waterfall/waterfall.h"

#include "base/buffer.h"
#include "base/map.h"
#include "base/memory.h"

#include <stdlib.h>

enum {
    ROWS_MAX = 16,      /* so that the waterfall fits in 25 lines */
    LEAST_PER_MILLE = 5 /* of the longer step: less is a row that nobody acts on */
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
                        .pairs = gt_parts_match(a, b, strings)};
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
    gt_free(waterfall->pairs.items);
    gt_free(waterfall->items);
    gt_free(waterfall);
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
