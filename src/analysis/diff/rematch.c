/* Rematching calls that have the same name.
 *
 * An alignment by name cannot distinguish repeated calls. If one trace runs the blocks A B A and the other B
 * A, all of them named "forward", the alignment pairs them in order, and A is compared with B. This file
 * pairs calls of the same name by what they do instead.
 *
 * What a call does is its shape: the sorted names of the calls towards the GPU on each of four levels below
 * it. Two shapes are scored by the number of levels that are equal, and then by the number of common names on
 * the next level. Only distinct shapes are compared with each other, so a loop of a thousand equal calls
 * costs time proportional to its length. Pairs are made from the best score down; at equal score, calls that
 * the alignment had already paired come first, then calls in order. */
#include "analysis/diff/internal.h"

enum {
    LEVELS = 4,
    SHAPE_PAIRS_MAX = 1 << 22, /* of one name; above this the alignment stays as it is */
};

/* One of the two lists. */
typedef struct calls_of_list {
    gt_diff_side *side;
    const uint32_t *rows;
    uint32_t *names;   /* by index in the list */
    uint32_t *partner; /* by index: the index that the alignment matched it with; GT_NO_INDEX: none */
    uint32_t *paired;  /* by index: its new partner; GT_NO_INDEX: none */
    uint8_t *handled;  /* by index: 1 if calls of its name were paired again */
    size_t count, capacity[4];

    /* Calls of the current name. */
    gt_row_list members;  /* indexes, ascending */
    gt_row_list shape;    /* of each member */
    gt_row_list shapes;   /* distinct shapes: ids in gt_diff_rematch.shapes */
    gt_row_list ends;     /* by shape: where its calls end in by_shape */
    gt_row_list by_shape; /* indexes, ascending per shape */
    gt_row_list next;     /* by shape: the first in by_shape that may be unpaired */
} calls_of_list;

typedef struct shape {
    uint32_t levels[LEVELS]; /* ids of lists of names; GT_STR_EMPTY: no calls */
    uint32_t depth;          /* levels that were looked at; a level without calls is the last one */
} shape;

typedef struct scored_pair {
    uint32_t depth, overlap; /* equal levels, and common names on the next level */
    uint32_t first, second;  /* shapes, by index among those of the name */
} scored_pair;

/* A call of the first list that waits for a partner. */
typedef struct waiting {
    uint32_t rank, index, shape;
} waiting;

struct gt_diff_rematch {
    calls_of_list lists[2];
    gt_interner *levels, *shapes; /* lists of names and shapes, as bytes */
    gt_map shape_places;          /* from (shape, list) to the index among the shapes of the name */
    gt_map places;                /* from a name to its index in names */
    struct name_count {
        uint32_t count[2];
        bool matched;
    } * names;
    size_t name_count, name_capacity;
    gt_row_list frontier, below, level;
    scored_pair *pairs; /* of shapes, best first */
    size_t pair_count, pair_capacity;
    uint32_t *rank;     /* by pair of shapes: pairs with equal scores have the same rank; 0 is best */
    uint32_t *partners; /* by shape of the first list: where its pairs of the current rank begin in `pairs` */
    size_t rank_capacity, partner_capacity;
    waiting *matched; /* calls that the alignment matched, by rank */
    size_t matched_count, matched_capacity;
    waiting *waiting; /* calls of the first list that may be paired at this rank */
    size_t waiting_count, waiting_capacity;
    gt_diff_ops changed;
    bool warned;
};

gt_diff_rematch *gt_diff_rematch_new(gt_diff_side *first, gt_diff_side *second)
{
    gt_diff_rematch *r = gt_alloc_zero(1, sizeof *r);
    r->lists[0].side = first;
    r->lists[1].side = second;
    r->levels = gt_interner_new();
    r->shapes = gt_interner_new();
    return r;
}

void gt_diff_rematch_free(gt_diff_rematch *r)
{
    if (!r) return;
    for (size_t i = 0; i < 2; i++) {
        calls_of_list *l = &r->lists[i];
        gt_free_all(l->names, l->partner, l->paired, l->handled, l->members.items, l->shape.items,
                    l->shapes.items, l->ends.items, l->by_shape.items, l->next.items);
    }
    gt_free_all(r->names, r->frontier.items, r->below.items, r->level.items, r->pairs, r->rank, r->partners,
                r->matched, r->waiting, r->changed.items);
    gt_interner_free(r->levels);
    gt_interner_free(r->shapes);
    gt_map_free(&r->shape_places);
    gt_map_free(&r->places);
    gt_free(r);
}

/* ---- shapes ---- */

static uint32_t shape_of(gt_diff_rematch *r, gt_diff_side *side, uint32_t row)
{
    shape made = {{GT_STR_EMPTY, GT_STR_EMPTY, GT_STR_EMPTY, GT_STR_EMPTY}, 0};
    r->frontier.count = 0;
    GT_PUSH(r->frontier.items, r->frontier.count, r->frontier.capacity, row);
    while (made.depth < LEVELS && r->frontier.count) {
        r->below.count = r->level.count = 0;
        for (size_t i = 0; i < r->frontier.count; i++)
            gt_diff_gpu_children(side, r->frontier.items[i], &r->below);
        for (size_t i = 0; i < r->below.count; i++)
            GT_PUSH(r->level.items, r->level.count, r->level.capacity, gt_diff_name(side, r->below.items[i]));
        if (r->level.count) {
            qsort(r->level.items, r->level.count, sizeof *r->level.items, gt_by_row);
            made.levels[made.depth] =
                gt_interner_add(r->levels, r->level.items, r->level.count * sizeof *r->level.items);
        }
        made.depth++;
        gt_row_list swap = r->frontier;
        r->frontier = r->below;
        r->below = swap;
    }
    return gt_interner_add(r->shapes, &made, sizeof made);
}

static shape get_shape(const gt_diff_rematch *r, uint32_t id)
{
    shape s;
    memcpy(&s, gt_interner_get(r->shapes, id).bytes, sizeof s);
    return s;
}

static uint32_t name_at(gt_str level, size_t index)
{
    uint32_t name;
    memcpy(&name, level.bytes + index * sizeof name, sizeof name);
    return name;
}

/* How many names two levels have in common, counting repetitions. */
static uint32_t names_in_common(const gt_diff_rematch *r, uint32_t a, uint32_t b)
{
    gt_str first = gt_interner_get(r->levels, a), second = gt_interner_get(r->levels, b);
    uint32_t common = 0;
    for (size_t i = 0, j = 0; i < first.len / 4 && j < second.len / 4;) {
        uint32_t left = name_at(first, i), right = name_at(second, j);
        common += left == right;
        i += left <= right;
        j += right <= left;
    }
    return common;
}

static scored_pair score(const gt_diff_rematch *r, uint32_t first, uint32_t second)
{
    shape a = get_shape(r, first), b = get_shape(r, second);
    uint32_t depth = a.depth > b.depth ? a.depth : b.depth;
    for (uint32_t d = 0; d < depth; d++)
        if (a.levels[d] != b.levels[d])
            return (scored_pair){.depth = d, .overlap = names_in_common(r, a.levels[d], b.levels[d])};
    return (scored_pair){.depth = depth};
}

/* Best first. */
GT_ORDER_BY(by_score, scored_pair, GT_DOWN(depth) GT_DOWN(overlap) GT_UP(first) GT_UP(second))

/* ---- the calls of one name ---- */

static void gather_shapes(gt_diff_rematch *r, size_t which, uint32_t name)
{
    calls_of_list *l = &r->lists[which];
    l->members.count = l->shape.count = l->shapes.count = l->ends.count = l->next.count = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->names[i] != name) continue;
        uint32_t id = shape_of(r, l->side, l->rows[i]);
        uint32_t *place = gt_map_put(&r->shape_places, id, which);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)l->shapes.count;
            GT_PUSH(l->shapes.items, l->shapes.count, l->shapes.capacity, id);
            GT_PUSH(l->ends.items, l->ends.count, l->ends.capacity, 0);
        }
        l->ends.items[*place]++;
        l->handled[i] = 1;
        GT_PUSH(l->members.items, l->members.count, l->members.capacity, i);
        GT_PUSH(l->shape.items, l->shape.count, l->shape.capacity, *place);
    }
    uint32_t sum = 0;
    for (size_t s = 0; s < l->shapes.count; s++) {
        uint32_t members = l->ends.items[s];
        l->ends.items[s] = sum;
        GT_PUSH(l->next.items, l->next.count, l->next.capacity, sum);
        sum += members;
    }
    l->by_shape.items =
        gt_grow(l->by_shape.items, &l->by_shape.capacity, l->members.count, sizeof *l->by_shape.items);
    for (size_t k = 0; k < l->members.count; k++)
        l->by_shape.items[l->ends.items[l->shape.items[k]]++] = l->members.items[k];
}

static void score_shapes(gt_diff_rematch *r)
{
    size_t firsts = r->lists[0].shapes.count, seconds = r->lists[1].shapes.count;
    r->pair_count = 0;
    for (uint32_t a = 0; a < firsts; a++)
        for (uint32_t b = 0; b < seconds; b++) {
            scored_pair pair = score(r, r->lists[0].shapes.items[a], r->lists[1].shapes.items[b]);
            pair.first = a;
            pair.second = b;
            GT_PUSH(r->pairs, r->pair_count, r->pair_capacity, pair);
        }
    qsort(r->pairs, r->pair_count, sizeof *r->pairs, by_score);
    r->rank = gt_grow(r->rank, &r->rank_capacity, r->pair_count, sizeof *r->rank);
    r->partners = gt_grow(r->partners, &r->partner_capacity, firsts, sizeof *r->partners);
    for (uint32_t k = 0, rank = 0; k < r->pair_count; k++) {
        const scored_pair *p = &r->pairs[k];
        rank += k && (p->depth != p[-1].depth || p->overlap != p[-1].overlap);
        r->rank[p->first * seconds + p->second] = rank;
    }
}

GT_ORDER_BY(by_turn, waiting, GT_UP(rank) GT_UP(index))

/* Lists the calls of the name that the alignment matched with one of the same name. */
static void list_matched(gt_diff_rematch *r, uint32_t name)
{
    calls_of_list *a = &r->lists[0], *b = &r->lists[1];
    r->matched_count = 0;
    for (size_t k = 0; k < a->members.count; k++) {
        uint32_t i = a->members.items[k], j = a->partner[i];
        if (j == GT_NO_INDEX || b->names[j] != name) continue;
        const uint32_t *at = bsearch(&j, b->members.items, b->members.count, sizeof j, gt_by_row);
        uint32_t other = b->shape.items[at - b->members.items];
        waiting entry = {r->rank[a->shape.items[k] * b->shapes.count + other], i, a->shape.items[k]};
        GT_PUSH(r->matched, r->matched_count, r->matched_capacity, entry);
    }
    if (r->matched_count) qsort(r->matched, r->matched_count, sizeof *r->matched, by_turn);
}

static bool pair_up(gt_diff_rematch *r, uint32_t i, uint32_t j)
{
    if (r->lists[0].paired[i] != GT_NO_INDEX || r->lists[1].paired[j] != GT_NO_INDEX) return false;
    r->lists[0].paired[i] = j;
    r->lists[1].paired[j] = i;
    return true;
}

/* The first unpaired call of a shape, GT_NO_INDEX if there is none. */
static uint32_t first_unpaired(calls_of_list *l, uint32_t place)
{
    uint32_t *next = &l->next.items[place];
    while (*next < l->ends.items[place] && l->paired[l->by_shape.items[*next]] != GT_NO_INDEX) ++*next;
    return *next < l->ends.items[place] ? l->by_shape.items[*next] : GT_NO_INDEX;
}

/* Lists the unpaired calls of the first list whose shapes are in pairs[begin, end), which is one rank. */
static void list_waiting(gt_diff_rematch *r, size_t begin, size_t end)
{
    calls_of_list *a = &r->lists[0];
    r->waiting_count = 0;
    for (size_t k = begin; k < end; k++) {
        uint32_t place = r->pairs[k].first;
        if (k > begin && r->pairs[k - 1].first == place) continue;
        r->partners[place] = (uint32_t)k;
        if (first_unpaired(a, place) == GT_NO_INDEX) continue;
        for (uint32_t at = a->next.items[place]; at < a->ends.items[place]; at++) {
            waiting entry = {0, a->by_shape.items[at], place};
            if (a->paired[entry.index] == GT_NO_INDEX)
                GT_PUSH(r->waiting, r->waiting_count, r->waiting_capacity, entry);
        }
    }
    if (r->waiting_count) qsort(r->waiting, r->waiting_count, sizeof *r->waiting, by_turn);
}

/* The first unpaired call of the second list that a shape can be paired with at this rank. */
static uint32_t first_partner(gt_diff_rematch *r, uint32_t place, size_t end)
{
    uint32_t first = GT_NO_INDEX;
    for (size_t k = r->partners[place]; k < end && r->pairs[k].first == place; k++) {
        uint32_t j = first_unpaired(&r->lists[1], r->pairs[k].second);
        if (j < first) first = j;
    }
    return first;
}

static void pair_members(gt_diff_rematch *r)
{
    size_t left = r->lists[0].members.count, others = r->lists[1].members.count,
           seconds = r->lists[1].shapes.count;
    if (others < left) left = others;
    for (size_t begin = 0, end, matched = 0; begin < r->pair_count && left; begin = end) {
        uint32_t rank = r->rank[r->pairs[begin].first * seconds + r->pairs[begin].second];
        for (end = begin; end < r->pair_count; end++)
            if (r->rank[r->pairs[end].first * seconds + r->pairs[end].second] != rank) break;
        for (; matched < r->matched_count && r->matched[matched].rank == rank; matched++) {
            uint32_t i = r->matched[matched].index;
            left -= pair_up(r, i, r->lists[0].partner[i]);
        }
        list_waiting(r, begin, end);
        for (size_t k = 0; k < r->waiting_count && left; k++) {
            uint32_t j = first_partner(r, r->waiting[k].shape, end);
            if (j != GT_NO_INDEX) left -= pair_up(r, r->waiting[k].index, j);
        }
    }
}

/* Leaves the calls of the current name with the partners of the alignment. */
static void keep_partners(gt_diff_rematch *r)
{
    if (!r->warned)
        gt_warn(
            "calls of one name have too many different shapes to compare; they are matched by order only");
    r->warned = true;
    for (size_t w = 0; w < 2; w++)
        for (size_t k = 0; k < r->lists[w].members.count; k++)
            r->lists[w].handled[r->lists[w].members.items[k]] = 0;
}

static void pair_name(gt_diff_rematch *r, uint32_t name)
{
    gt_map_free(&r->shape_places);
    for (size_t w = 0; w < 2; w++) gather_shapes(r, w, name);
    if (r->lists[0].shapes.count > SHAPE_PAIRS_MAX / r->lists[1].shapes.count) {
        keep_partners(r);
        return;
    }
    score_shapes(r);
    list_matched(r, name);
    pair_members(r);
}

/* ---- the lists ---- */

static void take_list(calls_of_list *l, const uint32_t *rows, size_t count)
{
    l->rows = rows;
    l->count = count;
    l->names = gt_grow(l->names, &l->capacity[0], count, sizeof *l->names);
    l->partner = gt_grow(l->partner, &l->capacity[1], count, sizeof *l->partner);
    l->paired = gt_grow(l->paired, &l->capacity[2], count, sizeof *l->paired);
    l->handled = gt_grow(l->handled, &l->capacity[3], count, sizeof *l->handled);
    for (size_t i = 0; i < count; i++) {
        l->names[i] = gt_diff_name(l->side, rows[i]);
        l->partner[i] = l->paired[i] = GT_NO_INDEX;
        l->handled[i] = 0;
    }
}

static struct name_count *count_of(gt_diff_rematch *r, uint32_t name)
{
    uint32_t *place = gt_map_put(&r->places, name, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)r->name_count;
        GT_PUSH(r->names, r->name_count, r->name_capacity, (struct name_count){0});
    }
    return &r->names[*place];
}

/* Whether calls of this name may be paired in another way. */
static bool is_ambiguous(const struct name_count *name)
{
    const uint32_t *count = name->count;
    return name->matched && count[0] && count[1] && (count[0] > 1 || count[1] > 1);
}

static void count_names(gt_diff_rematch *r, const gt_diff_ops *ops)
{
    for (size_t k = 0; k < ops->count; k++)
        if (gt_diff_op_is_match(ops->items[k])) {
            r->lists[0].partner[ops->items[k].i] = ops->items[k].j;
            r->lists[1].partner[ops->items[k].j] = ops->items[k].i;
        }
    gt_map_free(&r->places);
    r->name_count = 0;
    for (size_t w = 0; w < 2; w++)
        for (uint32_t i = 0; i < r->lists[w].count; i++) {
            struct name_count *name = count_of(r, r->lists[w].names[i]);
            name->count[w]++;
            name->matched |= r->lists[w].partner[i] != GT_NO_INDEX;
        }
}

/* Whether any call has another partner than before. */
static bool has_new_pairs(const gt_diff_rematch *r)
{
    const calls_of_list *a = &r->lists[0];
    for (size_t i = 0; i < a->count; i++)
        if (a->paired[i] != GT_NO_INDEX && a->paired[i] != a->partner[i]) return true;
    return false;
}

static bool was_handled(const gt_diff_rematch *r, gt_diff_op op)
{
    return (op.i != GT_NO_INDEX && r->lists[0].handled[op.i]) ||
           (op.j != GT_NO_INDEX && r->lists[1].handled[op.j]);
}

static void write_ops(gt_diff_rematch *r, gt_diff_ops *ops)
{
    const calls_of_list *a = &r->lists[0], *b = &r->lists[1];
    gt_diff_ops *made = &r->changed;
    made->count = 0;
    for (size_t k = 0; k < ops->count; k++)
        if (!was_handled(r, ops->items[k])) gt_diff_ops_add(made, ops->items[k].i, ops->items[k].j);
    for (uint32_t i = 0; i < a->count; i++)
        if (a->handled[i] && a->paired[i] != GT_NO_INDEX) gt_diff_ops_add(made, i, a->paired[i]);
    for (uint32_t i = 0; i < a->count; i++)
        if (a->handled[i] && a->paired[i] == GT_NO_INDEX) gt_diff_ops_add(made, i, GT_NO_INDEX);
    for (uint32_t j = 0; j < b->count; j++)
        if (b->handled[j] && b->paired[j] == GT_NO_INDEX) gt_diff_ops_add(made, GT_NO_INDEX, j);
    gt_diff_ops swap = *ops;
    *ops = *made;
    *made = swap;
}

void gt_diff_rematch_pair(gt_diff_rematch *r, const uint32_t *first, size_t first_count,
                          const uint32_t *second, size_t second_count, gt_diff_ops *ops)
{
    take_list(&r->lists[0], first, first_count);
    take_list(&r->lists[1], second, second_count);
    count_names(r, ops);
    bool any = false;
    for (size_t i = 0; i < first_count; i++) {
        struct name_count *name = count_of(r, r->lists[0].names[i]);
        if (!is_ambiguous(name)) continue;
        name->matched = false; /* handle each name once */
        pair_name(r, r->lists[0].names[i]);
        any = true;
    }
    if (any && has_new_pairs(r)) write_ops(r, ops);
}
