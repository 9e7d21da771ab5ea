/* Twins: calls are sorted into shapes, a shape being the names on four levels below a call. How alike two
 * calls are depends on their shapes alone, so that only shapes are compared with each other, and a loop of a
 * thousand equal calls costs as much as its length. */
#include "analysis/diff/rematch.h"

#include "base/length.h"
#include "base/log.h"
#include "base/memory.h"
#include "trace/rows.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEVELS = 4,
    SHAPE_PAIRS_MAX = 1 << 22, /* of one name: beyond, the alignment stays as it is */
};

/* One of the two lists. */
typedef struct calls_of_list {
    gt_diff_side *side;
    const uint32_t *rows;
    uint32_t *names;   /* by index in the list */
    uint32_t *partner; /* by index: the index that it is matched with in the alignment, ... */
    uint32_t *paired;  /* ... and anew; GT_NO_INDEX: none */
    uint8_t *handled;  /* by index: 1 if its name was looked at */
    size_t count, capacity[4];

    /* The calls of the name at hand. */
    gt_row_list members;  /* indexes, ascending */
    gt_row_list shape;    /* of each member */
    gt_row_list shapes;   /* different ones: ids in `shapes` of the whole */
    gt_row_list ends;     /* of each shape in ... */
    gt_row_list by_shape; /* ... this: indexes, ascending */
    gt_row_list next;     /* by shape: the first of by_shape that may be unpaired */
} calls_of_list;

typedef struct shape {
    uint32_t levels[LEVELS]; /* ids of lists of names; GT_STR_EMPTY: nothing there */
    uint32_t depth;          /* how many levels were looked at: one of them without calls is the last */
} shape;

typedef struct scored_pair {
    uint32_t depth, overlap; /* levels that are the same, and names in common on the next */
    uint32_t first, second;  /* shapes, by their place among those of the name */
} scored_pair;

/* A call of the first list whose turn comes. */
typedef struct waiting {
    uint32_t rank, index, shape;
} waiting;

struct gt_diff_rematch {
    calls_of_list lists[2];
    gt_interner *levels, *shapes; /* lists of names and shapes, as bytes */
    gt_map shape_places;          /* shape to its place among those of the name, by list */
    struct {
        uint32_t count[2], stamp;
        bool matched;
    } * by_name;
    size_t name_capacity;
    uint32_t stamp;
    gt_row_list frontier, below, level;
    scored_pair *pairs; /* of shapes, best first */
    size_t pair_count, pair_capacity;
    uint32_t *rank;     /* by pair of shapes: pairs that are as good have the same rank, best is 0 */
    uint32_t *partners; /* by shape of the first list: where its pairs of the rank at hand begin in `pairs` */
    size_t rank_capacity, partner_capacity;
    waiting *matched; /* calls that are matched already, by rank */
    size_t matched_count, matched_capacity;
    waiting *waiting; /* calls of the first list that may be paired at this rank */
    size_t waiting_count, waiting_capacity;
    gt_diff_ops changed;
    bool warned;
};

gt_diff_rematch *gt_diff_rematch_new(gt_diff_side *first, gt_diff_side *second)
{
    gt_diff_rematch *t = gt_alloc_zero(1, sizeof *t);
    t->lists[0].side = first;
    t->lists[1].side = second;
    t->levels = gt_interner_new();
    t->shapes = gt_interner_new();
    return t;
}

void gt_diff_rematch_free(gt_diff_rematch *t)
{
    if (!t) return;
    for (size_t i = 0; i < 2; i++) {
        calls_of_list *l = &t->lists[i];
        void *arrays[] = {l->names,       l->partner,      l->paired,     l->handled,        l->members.items,
                          l->shape.items, l->shapes.items, l->ends.items, l->by_shape.items, l->next.items};
        for (size_t k = 0; k < GT_LENGTH(arrays); k++) gt_free(arrays[k]);
    }
    void *arrays[] = {t->by_name, t->frontier.items, t->below.items, t->level.items, t->pairs,
                      t->rank,    t->partners,       t->matched,     t->waiting,     t->changed.items};
    for (size_t k = 0; k < GT_LENGTH(arrays); k++) gt_free(arrays[k]);
    gt_interner_free(t->levels);
    gt_interner_free(t->shapes);
    gt_map_free(&t->shape_places);
    gt_free(t);
}

/* ---- shapes ---- */

static uint32_t shape_of(gt_diff_rematch *t, gt_diff_side *side, uint32_t row)
{
    shape made = {{GT_STR_EMPTY, GT_STR_EMPTY, GT_STR_EMPTY, GT_STR_EMPTY}, 0};
    t->frontier.count = 0;
    GT_PUSH(t->frontier.items, t->frontier.count, t->frontier.capacity, row);
    while (made.depth < LEVELS && t->frontier.count) {
        t->below.count = t->level.count = 0;
        for (size_t i = 0; i < t->frontier.count; i++)
            gt_diff_gpu_children(side, t->frontier.items[i], &t->below);
        for (size_t i = 0; i < t->below.count; i++)
            GT_PUSH(t->level.items, t->level.count, t->level.capacity, gt_diff_name(side, t->below.items[i]));
        if (t->level.count) {
            qsort(t->level.items, t->level.count, sizeof *t->level.items, gt_by_row);
            made.levels[made.depth] =
                gt_interner_add(t->levels, t->level.items, t->level.count * sizeof *t->level.items);
        }
        made.depth++;
        gt_row_list swap = t->frontier;
        t->frontier = t->below;
        t->below = swap;
    }
    return gt_interner_add(t->shapes, &made, sizeof made);
}

static shape get_shape(const gt_diff_rematch *t, uint32_t id)
{
    shape s;
    memcpy(&s, gt_interner_get(t->shapes, id).bytes, sizeof s);
    return s;
}

static uint32_t name_at(gt_str level, size_t index)
{
    uint32_t name;
    memcpy(&name, level.bytes + index * sizeof name, sizeof name);
    return name;
}

/* How many names two levels share. */
static uint32_t names_in_common(const gt_diff_rematch *t, uint32_t a, uint32_t b)
{
    gt_str first = gt_interner_get(t->levels, a), second = gt_interner_get(t->levels, b);
    uint32_t common = 0;
    for (size_t i = 0, j = 0; i < first.len / 4 && j < second.len / 4;) {
        uint32_t left = name_at(first, i), right = name_at(second, j);
        common += left == right;
        i += left <= right;
        j += right <= left;
    }
    return common;
}

static scored_pair score(const gt_diff_rematch *t, uint32_t first, uint32_t second)
{
    shape a = get_shape(t, first), b = get_shape(t, second);
    uint32_t depth = a.depth > b.depth ? a.depth : b.depth;
    for (uint32_t d = 0; d < depth; d++)
        if (a.levels[d] != b.levels[d])
            return (scored_pair){.depth = d, .overlap = names_in_common(t, a.levels[d], b.levels[d])};
    return (scored_pair){.depth = depth};
}

/* Best first. */
static int by_score(const void *left, const void *right)
{
    const scored_pair *a = left, *b = right;
    if (a->depth != b->depth) return a->depth < b->depth ? 1 : -1;
    if (a->overlap != b->overlap) return a->overlap < b->overlap ? 1 : -1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

/* ---- the calls of one name ---- */

static void gather_shapes(gt_diff_rematch *t, size_t which, uint32_t name)
{
    calls_of_list *l = &t->lists[which];
    l->members.count = l->shape.count = l->shapes.count = l->ends.count = l->next.count = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->names[i] != name) continue;
        uint32_t id = shape_of(t, l->side, l->rows[i]);
        uint32_t *place = gt_map_put(&t->shape_places, id, which);
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

static void score_shapes(gt_diff_rematch *t)
{
    size_t firsts = t->lists[0].shapes.count, seconds = t->lists[1].shapes.count;
    t->pair_count = 0;
    for (uint32_t a = 0; a < firsts; a++)
        for (uint32_t b = 0; b < seconds; b++) {
            scored_pair pair = score(t, t->lists[0].shapes.items[a], t->lists[1].shapes.items[b]);
            pair.first = a;
            pair.second = b;
            GT_PUSH(t->pairs, t->pair_count, t->pair_capacity, pair);
        }
    qsort(t->pairs, t->pair_count, sizeof *t->pairs, by_score);
    t->rank = gt_grow(t->rank, &t->rank_capacity, t->pair_count, sizeof *t->rank);
    t->partners = gt_grow(t->partners, &t->partner_capacity, firsts, sizeof *t->partners);
    for (uint32_t k = 0, rank = 0; k < t->pair_count; k++) {
        const scored_pair *p = &t->pairs[k];
        rank += k && (p->depth != p[-1].depth || p->overlap != p[-1].overlap);
        t->rank[p->first * seconds + p->second] = rank;
    }
}

static int by_turn(const void *left, const void *right)
{
    const waiting *a = left, *b = right;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Calls of the name that are matched with one of the same name. */
static void list_matched(gt_diff_rematch *t, uint32_t name)
{
    calls_of_list *a = &t->lists[0], *b = &t->lists[1];
    t->matched_count = 0;
    for (size_t k = 0; k < a->members.count; k++) {
        uint32_t i = a->members.items[k], j = a->partner[i];
        if (j == GT_NO_INDEX || b->names[j] != name) continue;
        const uint32_t *at = bsearch(&j, b->members.items, b->members.count, sizeof j, gt_by_row);
        uint32_t other = b->shape.items[at - b->members.items];
        waiting entry = {t->rank[a->shape.items[k] * b->shapes.count + other], i, a->shape.items[k]};
        GT_PUSH(t->matched, t->matched_count, t->matched_capacity, entry);
    }
    if (t->matched_count) qsort(t->matched, t->matched_count, sizeof *t->matched, by_turn);
}

static bool pair_up(gt_diff_rematch *t, uint32_t i, uint32_t j)
{
    if (t->lists[0].paired[i] != GT_NO_INDEX || t->lists[1].paired[j] != GT_NO_INDEX) return false;
    t->lists[0].paired[i] = j;
    t->lists[1].paired[j] = i;
    return true;
}

/* The first call of a shape that has no partner yet, GT_NO_INDEX where all have one. */
static uint32_t first_alone(calls_of_list *l, uint32_t place)
{
    uint32_t *next = &l->next.items[place];
    while (*next < l->ends.items[place] && l->paired[l->by_shape.items[*next]] != GT_NO_INDEX) ++*next;
    return *next < l->ends.items[place] ? l->by_shape.items[*next] : GT_NO_INDEX;
}

/* The calls of the first list whose shapes are in pairs[begin .. end), which is one rank. */
static void list_waiting(gt_diff_rematch *t, size_t begin, size_t end)
{
    calls_of_list *a = &t->lists[0];
    t->waiting_count = 0;
    for (size_t k = begin; k < end; k++) {
        uint32_t place = t->pairs[k].first;
        if (k > begin && t->pairs[k - 1].first == place) continue;
        t->partners[place] = (uint32_t)k;
        if (first_alone(a, place) == GT_NO_INDEX) continue;
        for (uint32_t at = a->next.items[place]; at < a->ends.items[place]; at++) {
            waiting entry = {0, a->by_shape.items[at], place};
            if (a->paired[entry.index] == GT_NO_INDEX)
                GT_PUSH(t->waiting, t->waiting_count, t->waiting_capacity, entry);
        }
    }
    if (t->waiting_count) qsort(t->waiting, t->waiting_count, sizeof *t->waiting, by_turn);
}

/* The first call that a shape may be paired with at this rank. */
static uint32_t first_partner(gt_diff_rematch *t, uint32_t place, size_t end)
{
    uint32_t first = GT_NO_INDEX;
    for (size_t k = t->partners[place]; k < end && t->pairs[k].first == place; k++) {
        uint32_t j = first_alone(&t->lists[1], t->pairs[k].second);
        if (j < first) first = j;
    }
    return first;
}

static void pair_members(gt_diff_rematch *t)
{
    size_t left = t->lists[0].members.count, others = t->lists[1].members.count,
           seconds = t->lists[1].shapes.count;
    if (others < left) left = others;
    for (size_t begin = 0, end, matched = 0; begin < t->pair_count && left; begin = end) {
        uint32_t rank = t->rank[t->pairs[begin].first * seconds + t->pairs[begin].second];
        for (end = begin; end < t->pair_count; end++)
            if (t->rank[t->pairs[end].first * seconds + t->pairs[end].second] != rank) break;
        for (; matched < t->matched_count && t->matched[matched].rank == rank; matched++) {
            uint32_t i = t->matched[matched].index;
            left -= pair_up(t, i, t->lists[0].partner[i]);
        }
        list_waiting(t, begin, end);
        for (size_t k = 0; k < t->waiting_count && left; k++) {
            uint32_t j = first_partner(t, t->waiting[k].shape, end);
            if (j != GT_NO_INDEX) left -= pair_up(t, t->waiting[k].index, j);
        }
    }
}

/* What cannot be compared keeps the partners that it has. */
static void keep_partners(gt_diff_rematch *t)
{
    if (!t->warned)
        gt_warn("calls of one name differ in more ways than can be compared; they are matched by their order "
                "alone");
    t->warned = true;
    for (size_t w = 0; w < 2; w++)
        for (size_t k = 0; k < t->lists[w].members.count; k++)
            t->lists[w].handled[t->lists[w].members.items[k]] = 0;
}

static void pair_name(gt_diff_rematch *t, uint32_t name)
{
    gt_map_free(&t->shape_places);
    for (size_t w = 0; w < 2; w++) gather_shapes(t, w, name);
    if (t->lists[0].shapes.count > SHAPE_PAIRS_MAX / t->lists[1].shapes.count) {
        keep_partners(t);
        return;
    }
    score_shapes(t);
    list_matched(t, name);
    pair_members(t);
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

static void make_room_for(gt_diff_rematch *t, uint32_t name)
{
    size_t before = t->name_capacity;
    if (name < before) return;
    t->by_name = gt_grow(t->by_name, &t->name_capacity, (size_t)name + 1, sizeof *t->by_name);
    memset(t->by_name + before, 0, (t->name_capacity - before) * sizeof *t->by_name);
}

static void count_name(gt_diff_rematch *t, size_t which, uint32_t index)
{
    uint32_t name = t->lists[which].names[index];
    make_room_for(t, name);
    if (t->by_name[name].stamp != t->stamp) {
        memset(&t->by_name[name], 0, sizeof *t->by_name);
        t->by_name[name].stamp = t->stamp;
    }
    t->by_name[name].count[which]++;
    if (t->lists[which].partner[index] != GT_NO_INDEX) t->by_name[name].matched = true;
}

static bool is_ambiguous(const gt_diff_rematch *t, uint32_t name)
{
    const uint32_t *count = t->by_name[name].count;
    return t->by_name[name].matched && count[0] && count[1] && (count[0] > 1 || count[1] > 1);
}

static void count_names(gt_diff_rematch *t, const gt_diff_ops *ops)
{
    for (size_t k = 0; k < ops->count; k++)
        if (gt_diff_op_is_match(ops->items[k])) {
            t->lists[0].partner[ops->items[k].i] = ops->items[k].j;
            t->lists[1].partner[ops->items[k].j] = ops->items[k].i;
        }
    if (!++t->stamp) {
        memset(t->by_name, 0, t->name_capacity * sizeof *t->by_name);
        t->stamp = 1;
    }
    for (size_t w = 0; w < 2; w++)
        for (uint32_t i = 0; i < t->lists[w].count; i++) count_name(t, w, i);
}

/* Whether any call has another partner than before. */
static bool has_new_pairs(const gt_diff_rematch *t)
{
    const calls_of_list *a = &t->lists[0];
    for (size_t i = 0; i < a->count; i++)
        if (a->paired[i] != GT_NO_INDEX && a->paired[i] != a->partner[i]) return true;
    return false;
}

static bool was_handled(const gt_diff_rematch *t, gt_diff_op op)
{
    return (op.i != GT_NO_INDEX && t->lists[0].handled[op.i]) ||
           (op.j != GT_NO_INDEX && t->lists[1].handled[op.j]);
}

static void write_ops(gt_diff_rematch *t, gt_diff_ops *ops)
{
    const calls_of_list *a = &t->lists[0], *b = &t->lists[1];
    gt_diff_ops *made = &t->changed;
    made->count = 0;
    for (size_t k = 0; k < ops->count; k++)
        if (!was_handled(t, ops->items[k])) gt_diff_ops_add(made, ops->items[k].i, ops->items[k].j);
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

void gt_diff_rematch_pair(gt_diff_rematch *t, const uint32_t *first, size_t first_count,
                          const uint32_t *second, size_t second_count, gt_diff_ops *ops)
{
    take_list(&t->lists[0], first, first_count);
    take_list(&t->lists[1], second, second_count);
    count_names(t, ops);
    bool any = false;
    for (size_t i = 0; i < first_count; i++) {
        uint32_t name = t->lists[0].names[i];
        if (!is_ambiguous(t, name)) continue;
        t->by_name[name].matched = false; /* once is enough */
        pair_name(t, name);
        any = true;
    }
    if (any && has_new_pairs(t)) write_ops(t, ops);
}
