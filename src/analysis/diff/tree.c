/* The merged tree of a diff.
 *
 * Pairs of events wait on a stack; each is popped, gets a node, and its children are matched and pushed. A
 * stack instead of recursion, because traces nest deeper than the C stack allows.
 *
 * Matching the children of a pair takes these steps, each of which leaves two lists of events and their
 * alignment:
 *
 *     1. Candidates: children that lead to GPU events. If only one list has a name, the other list gets its
 *        child with that name, even if that uses no GPU.
 *     2. If one side has a single child that only wraps others, the wrapped calls take its place.
 *     3. Alignment by name (align.c), corrected for repeated names (rematch.c).
 *     4. Unmatched wrappers are replaced by their children if these have names that are unmatched on the
 *        other side. In this example linear and relu match once compiled_fn is opened:
 *
 *            trace 1: forward, compiled_fn (calls linear, relu)
 *            trace 2: forward, linear, relu
 *
 *     5. What is still unmatched is unwrapped down to the first call that branches and aligned again: first
 *        by name, then by a looser name without function and folder. */
#include "analysis/diff/internal.h"

/* ---- children of a pair ---- */

static const uint64_t MOST_CELLS = (uint64_t)1 << 38; /* table cells of all alignments together */

typedef struct matcher {
    gt_diff_side *sides[2];
    uint64_t cells_left;
    gt_diff_rematch *rematch;

    uint32_t rows[2];     /* the current pair */
    gt_row_list lists[2]; /* its children */
    gt_diff_ops ops;      /* their alignment, by index in the lists */

    gt_map marks[2];               /* from names to rows */
    gt_interner *sequences;        /* lists of names, as bytes */
    gt_row_list all, names, spare; /* scratch */
    gt_row_list left[2];           /* indexes of unmatched events in lists */
    gt_row_list inside[2];         /* events that replace them */
    gt_row_list still[2];          /* indexes in `inside` of those that are still unmatched */
    gt_row_list keys[2];           /* names to align by */
    double *starts;
    size_t start_capacity;
    gt_diff_ops parts, loose, made;
} matcher;

static void push_row(gt_row_list *list, uint32_t row)
{
    GT_PUSH(list->items, list->count, list->capacity, row);
}

/* ---- marks ---- */

static void new_marks(matcher *m)
{
    for (size_t w = 0; w < 2; w++) gt_map_free(&m->marks[w]);
}

static void mark(matcher *m, size_t which, uint32_t name, uint32_t row)
{
    *gt_map_put(&m->marks[which], name, 0) = row;
}

static bool is_marked(const matcher *m, size_t which, uint32_t name)
{
    return gt_map_get(&m->marks[which], name, 0) != GT_MAP_NONE;
}

/* ---- lists of events ---- */

/* Sorts by start, stably; an appended op without a time sorts as 0. `tags` is sorted in the same way; it may
 * be NULL. */
static void sort_by_start(matcher *m, const gt_diff_side *side, gt_row_list *list, uint32_t *tags)
{
    const double *start_us = side->trace->start_us;
    bool sorted = true;
    m->starts = gt_grow(m->starts, &m->start_capacity, list->count, sizeof *m->starts);
    m->spare.count = 0;
    for (uint32_t k = 0; k < list->count; k++) {
        m->starts[k] = isnan(start_us[list->items[k]]) ? 0.0 : start_us[list->items[k]];
        sorted &= k == 0 || m->starts[k - 1] <= m->starts[k];
        push_row(&m->spare, k);
    }
    if (sorted) return;
    gt_order_rows(m->spare.items, list->count, m->starts);
    for (size_t pass = 0; pass < (tags ? 2 : 1); pass++) {
        uint32_t *items = pass ? tags : list->items;
        m->all.count = 0;
        for (size_t k = 0; k < list->count; k++) push_row(&m->all, items[k]);
        for (size_t k = 0; k < list->count; k++) items[k] = m->all.items[m->spare.items[k]];
    }
}

/* Adds this side's children that use no GPU but have the name of a candidate of the other side that this
 * side's candidates lack. */
static void add_missing(matcher *m, size_t which)
{
    gt_diff_side *side = m->sides[which], *other = m->sides[!which];
    const gt_row_list *theirs = &m->lists[!which];
    size_t own = m->lists[which].count, others = theirs->count;
    new_marks(m);
    for (size_t k = 0; k < own; k++)
        mark(m, which, gt_diff_name(side, m->lists[which].items[k]), m->lists[which].items[k]);
    bool is_missing = false;
    for (size_t k = 0; k < others && !is_missing; k++)
        is_missing = !is_marked(m, which, gt_diff_name(other, theirs->items[k]));
    if (!is_missing) return;

    /* From here on, marks[which] is the set of names in the list, and marks[!which] has this side's children
     * by name. */
    m->all.count = 0;
    gt_diff_children(side, m->rows[which], &m->all);
    for (size_t k = 0; k < m->all.count; k++)
        mark(m, !which, gt_diff_name(side, m->all.items[k]), m->all.items[k]);
    for (size_t k = 0; k < others; k++) {
        uint32_t name = gt_diff_name(other, theirs->items[k]);
        if (is_marked(m, which, name) || !is_marked(m, !which, name)) continue;
        mark(m, which, name, 0);
        push_row(&m->lists[which], gt_map_get(&m->marks[!which], name, 0));
    }
}

static void find_candidates(matcher *m)
{
    for (size_t w = 0; w < 2; w++) {
        m->lists[w].count = 0;
        if (m->rows[w] != GT_NO_EVENT) gt_diff_gpu_children(m->sides[w], m->rows[w], &m->lists[w]);
    }
    if (m->rows[0] != GT_NO_EVENT && m->rows[1] != GT_NO_EVENT) {
        size_t second = m->lists[1].count;
        add_missing(m, 1);
        size_t with_missing = m->lists[1].count;
        m->lists[1].count = second; /* names added to one side do not count as missing on the other */
        add_missing(m, 0);
        m->lists[1].count = with_missing;
    }
    for (size_t w = 0; w < 2; w++) sort_by_start(m, m->sides[w], &m->lists[w], NULL);
}

/* If one side has a single child and the other does not, the calls that this child wraps take its place. */
static void open_single_child(matcher *m)
{
    if (m->lists[0].count == m->lists[1].count) return;
    size_t w = m->lists[0].count == 1 ? 0 : 1;
    if (m->lists[w].count != 1) return;
    uint32_t end = gt_diff_unwrap(m->sides[w], m->lists[w].items[0]);
    if (!gt_diff_branches(m->sides[w], end)) return;
    m->rows[w] = end;
    m->lists[w].count = 0;
    gt_diff_gpu_children(m->sides[w], end, &m->lists[w]);
}

/* ---- alignment ---- */

static bool align(matcher *m, const gt_row_list lists[2], bool loose, gt_diff_ops *ops)
{
    for (size_t w = 0; w < 2; w++) {
        m->keys[w].count = 0;
        for (size_t k = 0; k < lists[w].count; k++)
            push_row(&m->keys[w], gt_diff_align_name(m->sides[w], lists[w].items[k], loose));
    }
    if (!gt_align(&m->cells_left, m->keys[0].items, lists[0].count, m->keys[1].items, lists[1].count, ops))
        return false;
    gt_diff_rematch_pair(m->rematch, lists[0].items, lists[0].count, lists[1].items, lists[1].count, ops);
    return true;
}

static bool has_runtime_call(const matcher *m, const gt_row_list lists[2])
{
    for (size_t w = 0; w < 2; w++)
        for (size_t k = 0; k < lists[w].count; k++)
            if (gt_diff_is_runtime(m->sides[w], lists[w].items[k])) return true;
    return false;
}

/* If both sides have the same number of ops, they are paired one by one, whatever their names. */
static bool align_or_pair(matcher *m, const gt_row_list lists[2], gt_diff_ops *ops)
{
    if (lists[0].count != lists[1].count || has_runtime_call(m, lists)) return align(m, lists, false, ops);
    ops->count = 0;
    for (uint32_t k = 0; k < lists[0].count; k++) gt_diff_ops_add(ops, k, k);
    return true;
}

/* Lists the indexes of unmatched events. */
static void list_unmatched(const gt_diff_ops *ops, gt_row_list left[2])
{
    left[0].count = left[1].count = 0;
    for (size_t k = 0; k < ops->count; k++) {
        if (ops->items[k].j == GT_NO_INDEX) push_row(&left[0], ops->items[k].i);
        if (ops->items[k].i == GT_NO_INDEX) push_row(&left[1], ops->items[k].j);
    }
}

/* ---- opening unmatched wrappers ---- */

static bool may_be_opened(const gt_diff_side *side, uint32_t row)
{
    return side->trace->kind[row] != GT_KIND_KERNEL ? !gt_diff_is_runtime(side, row)
                                                    : gt_diff_is_graph_launch(side, row);
}

/* Sets chosen[which], by index in left[which], for events to replace by their children: events that call
 * something with the name of an unmatched event of the other side, and events of both sides whose children
 * have the same names. Returns whether there are any. */
static bool choose_wrappers(matcher *m, uint8_t *chosen[2])
{
    gt_row_list sequences[2] = {{0}, {0}};
    bool any = false;
    new_marks(m);
    for (size_t w = 0; w < 2; w++)
        for (size_t k = 0; k < m->left[w].count; k++) {
            uint32_t row = m->lists[w].items[m->left[w].items[k]];
            uint32_t name = gt_diff_name(m->sides[w], row);
            if (may_be_opened(m->sides[w], row) && name != GT_STR_NONE) mark(m, w, name, row);
        }
    for (size_t w = 0; w < 2; w++)
        for (size_t k = 0; k < m->left[w].count; k++) {
            uint32_t row = m->lists[w].items[m->left[w].items[k]];
            m->all.count = m->names.count = 0;
            if (may_be_opened(m->sides[w], row)) gt_diff_gpu_children(m->sides[w], row, &m->all);
            for (size_t c = 0; c < m->all.count; c++) {
                uint32_t name = gt_diff_name(m->sides[w], m->all.items[c]);
                chosen[w][k] |= is_marked(m, !w, name);
                push_row(&m->names, name);
            }
            any |= chosen[w][k];
            push_row(&sequences[w], m->names.count ? gt_interner_add(m->sequences, m->names.items,
                                                                     m->names.count * sizeof *m->names.items)
                                                   : GT_STR_EMPTY);
        }
    new_marks(m);
    for (size_t w = 0; w < 2; w++)
        for (size_t k = 0; k < sequences[w].count; k++) mark(m, w, sequences[w].items[k], 0);
    for (size_t w = 0; w < 2; w++)
        for (size_t k = 0; k < sequences[w].count; k++)
            if (sequences[w].items[k] != GT_STR_EMPTY && is_marked(m, !w, sequences[w].items[k])) {
                chosen[w][k] = 1;
                any = true;
            }
    gt_free_all(sequences[0].items, sequences[1].items);
    return any;
}

/* Replaces the chosen events by their children and sorts by start. tags[k] becomes the number of the match
 * that event k belongs to, or GT_NO_INDEX. */
static void open_wrappers(matcher *m, size_t w, const uint8_t *chosen, gt_row_list *tags)
{
    gt_row_list opened = {0}, *list = &m->lists[w];
    uint32_t *match_of = gt_alloc(list->count * sizeof *match_of);
    uint8_t *open = gt_alloc_zero(list->count, 1);
    memset(match_of, 0xFF, list->count * sizeof *match_of);
    uint32_t matches = 0;
    for (size_t k = 0; k < m->ops.count; k++)
        if (gt_diff_op_is_match(m->ops.items[k]))
            match_of[w ? m->ops.items[k].j : m->ops.items[k].i] = matches++;
    for (size_t k = 0; k < m->left[w].count; k++) open[m->left[w].items[k]] = chosen[k];
    for (size_t k = 0; k < list->count; k++) {
        if (open[k])
            gt_diff_gpu_children(m->sides[w], list->items[k], &opened);
        else
            push_row(&opened, list->items[k]);
        while (tags->count < opened.count) push_row(tags, match_of[k]);
    }
    sort_by_start(m, m->sides[w], &opened, tags->items);
    gt_free(list->items);
    *list = opened;
    gt_free_all(match_of, open);
}

/* Keeps the matches and aligns all other events again. */
static bool align_opened(matcher *m, const gt_row_list tags[2])
{
    gt_row_list places[2] = {{0}, {0}}; /* by match: index in the list */
    uint32_t matches = 0;
    for (size_t k = 0; k < m->ops.count; k++) matches += gt_diff_op_is_match(m->ops.items[k]);
    for (size_t w = 0; w < 2; w++) {
        m->left[w].count = m->inside[w].count = 0;
        places[w].items = gt_alloc(matches * sizeof *places[w].items);
        for (uint32_t k = 0; k < tags[w].count; k++) {
            if (tags[w].items[k] != GT_NO_INDEX) {
                places[w].items[tags[w].items[k]] = k;
            } else {
                push_row(&m->left[w], k);
                push_row(&m->inside[w], m->lists[w].items[k]);
            }
        }
    }
    m->ops.count = 0;
    for (uint32_t k = 0; k < matches; k++) gt_diff_ops_add(&m->ops, places[0].items[k], places[1].items[k]);
    gt_free_all(places[0].items, places[1].items);
    if (!m->left[0].count || !m->left[1].count) {
        for (size_t k = 0; k < m->left[0].count; k++)
            gt_diff_ops_add(&m->ops, m->left[0].items[k], GT_NO_INDEX);
        for (size_t k = 0; k < m->left[1].count; k++)
            gt_diff_ops_add(&m->ops, GT_NO_INDEX, m->left[1].items[k]);
        return true;
    }
    if (!align_or_pair(m, m->inside, &m->parts)) return false;
    gt_diff_ops_add_parts(&m->ops, &m->parts, m->left);
    return true;
}

static bool open_unmatched(matcher *m)
{
    list_unmatched(&m->ops, m->left);
    if (!m->left[0].count || !m->left[1].count) return true;
    uint8_t *chosen[2] = {gt_alloc_zero(m->left[0].count, 1), gt_alloc_zero(m->left[1].count, 1)};
    bool aligned = true;
    if (choose_wrappers(m, chosen)) {
        gt_row_list tags[2] = {{0}, {0}};
        for (size_t w = 0; w < 2; w++) open_wrappers(m, w, chosen[w], &tags[w]);
        aligned = align_opened(m, tags);
        gt_free_all(tags[0].items, tags[1].items);
    }
    gt_free_all(chosen[0], chosen[1]);
    return aligned;
}

/* ---- unwrapping ---- */

/* Aligns the unmatched part of m->parts again, by looser names. */
static bool align_loosely(matcher *m)
{
    gt_row_list *still = m->still, rows[2] = {{0}, {0}};
    list_unmatched(&m->parts, still);
    if (!still[0].count || !still[1].count) return true;
    for (size_t w = 0; w < 2; w++)
        for (size_t k = 0; k < still[w].count; k++) push_row(&rows[w], m->inside[w].items[still[w].items[k]]);
    bool aligned = align(m, rows, true, &m->loose);
    gt_free_all(rows[0].items, rows[1].items);
    if (!aligned) return false;
    m->made.count = 0;
    for (size_t k = 0; k < m->parts.count; k++)
        if (gt_diff_op_is_match(m->parts.items[k]))
            gt_diff_ops_add(&m->made, m->parts.items[k].i, m->parts.items[k].j);
    gt_diff_ops_add_parts(&m->made, &m->loose, still);
    gt_diff_ops swap = m->parts;
    m->parts = m->made;
    m->made = swap;
    return true;
}

static bool align_inside(matcher *m)
{
    list_unmatched(&m->ops, m->left);
    if (!m->left[0].count || !m->left[1].count) return true;
    for (size_t w = 0; w < 2; w++) {
        m->inside[w].count = 0;
        for (size_t k = 0; k < m->left[w].count; k++)
            push_row(&m->inside[w], gt_diff_unwrap(m->sides[w], m->lists[w].items[m->left[w].items[k]]));
    }
    if (!align(m, m->inside, false, &m->parts) || !align_loosely(m)) return false;
    size_t kept = 0;
    for (size_t k = 0; k < m->ops.count; k++)
        if (gt_diff_op_is_match(m->ops.items[k])) m->ops.items[kept++] = m->ops.items[k];
    m->ops.count = kept;
    for (size_t k = 0; k < m->parts.count; k++) {
        gt_diff_op op = m->parts.items[k];
        if (op.i != GT_NO_INDEX) m->lists[0].items[m->left[0].items[op.i]] = m->inside[0].items[op.i];
        if (op.j != GT_NO_INDEX) m->lists[1].items[m->left[1].items[op.j]] = m->inside[1].items[op.j];
    }
    gt_diff_ops_add_parts(&m->ops, &m->parts, m->left);
    return true;
}

/* ---- all steps ---- */

/* The aligned children of a pair; valid until the next call. */
typedef struct children_match {
    uint32_t rows[2]; /* the pair; an event may be replaced by one that it wraps */
    const uint32_t *lists[2];
    size_t counts[2];
    const gt_diff_op *ops; /* indexes in the lists */
    size_t op_count;
} children_match;

/* Either event may be GT_NO_EVENT. Returns false if there is too much to align; `match` then has the lists.
 */
static bool match_children(matcher *m, const uint32_t rows[2], children_match *match)
{
    memcpy(m->rows, rows, sizeof m->rows);
    find_candidates(m);
    open_single_child(m);
    bool aligned = align_or_pair(m, m->lists, &m->ops) && open_unmatched(m) && align_inside(m);
    *match = (children_match){
        .rows = {m->rows[0], m->rows[1]},
        .lists = {m->lists[0].items, m->lists[1].items},
        .counts = {m->lists[0].count, m->lists[1].count},
        .ops = m->ops.items,
        .op_count = m->ops.count,
    };
    return aligned;
}

static matcher *matcher_new(gt_diff_side *first, gt_diff_side *second)
{
    matcher *m = gt_alloc_zero(1, sizeof *m);
    *m = (matcher){.sides = {first, second},
                   .cells_left = MOST_CELLS,
                   .rematch = gt_diff_rematch_new(first, second),
                   .sequences = gt_interner_new()};
    return m;
}

static void matcher_free(matcher *m)
{
    if (!m) return;
    gt_diff_rematch_free(m->rematch);
    gt_interner_free(m->sequences);
    new_marks(m);
    for (size_t w = 0; w < 2; w++) {
        gt_free_all(m->lists[w].items, m->left[w].items, m->inside[w].items, m->still[w].items,
                    m->keys[w].items);
    }
    gt_free_all(m->ops.items, m->all.items, m->names.items, m->spare.items, m->starts, m->parts.items,
                m->loose.items, m->made.items);
    gt_free(m);
}

/* ---- the merged tree ---- */

/* A pair of events without a node yet, and its index in gt_diff_tree.children. */
typedef struct waiting_pair {
    uint32_t rows[2];
    uint32_t slot;
} waiting_pair;

typedef struct merger {
    gt_diff_tree *merged;
    matcher *children; /* aligns the children of a pair */
    gt_map known;      /* from a pair of events to its node */
    waiting_pair *stack;
    size_t stack_count, stack_capacity;
} merger;

static void push_pair(merger *m, uint32_t first, uint32_t second, uint32_t slot)
{
    waiting_pair pair = {{first, second}, slot};
    GT_PUSH(m->stack, m->stack_count, m->stack_capacity, pair);
}

static bool fail_too_long(const merger *m, const children_match *match, gt_error *error)
{
    size_t side = match->rows[0] == GT_NO_EVENT;
    gt_str name = gt_event_name(&m->merged->sides[side]->trace->events, match->rows[side]);
    return gt_fail(error, "too many calls to align: %zu and %zu below '%.200s'", match->counts[0],
                   match->counts[1], name.bytes);
}

/* Creates the node of a pair and pushes its children, the first one last. */
static bool make_node(merger *m, const waiting_pair *pair, uint32_t *number, gt_error *error)
{
    gt_diff_tree *merged = m->merged;
    children_match match;
    if (!match_children(m->children, pair->rows, &match)) return fail_too_long(m, &match, error);
    gt_diff_node node = {
        {match.rows[0], match.rows[1]}, (uint32_t)merged->child_count, (uint32_t)match.op_count};
    for (size_t k = 0; k < match.op_count; k++)
        GT_PUSH(merged->children, merged->child_count, merged->child_capacity, GT_NO_EVENT);
    for (size_t k = match.op_count; k-- > 0;) {
        gt_diff_op op = match.ops[k];
        push_pair(m, op.i == GT_NO_INDEX ? GT_NO_EVENT : match.lists[0][op.i],
                  op.j == GT_NO_INDEX ? GT_NO_EVENT : match.lists[1][op.j], node.first_child + (uint32_t)k);
    }
    *number = (uint32_t)merged->count;
    GT_PUSH(merged->nodes, merged->count, merged->capacity, node);
    return true;
}

static bool merge_root(merger *m, uint32_t first, uint32_t second, uint32_t *root, gt_error *error)
{
    push_pair(m, first, second, GT_NO_INDEX);
    while (m->stack_count) {
        waiting_pair pair = m->stack[--m->stack_count];
        uint32_t node = gt_map_get(&m->known, pair.rows[0], pair.rows[1]);
        if (node == GT_MAP_NONE) {
            if (!make_node(m, &pair, &node, error)) return false;
            *gt_map_put(&m->known, pair.rows[0], pair.rows[1]) = node;
        }
        *(pair.slot == GT_NO_INDEX ? root : &m->merged->children[pair.slot]) = node;
    }
    return true;
}

static bool merge_roots(merger *m, gt_error *error)
{
    const gt_row_list *first = &m->merged->sides[0]->roots, *second = &m->merged->sides[1]->roots;
    m->merged->root_count = first->count > second->count ? first->count : second->count;
    m->merged->roots = gt_alloc(m->merged->root_count * sizeof *m->merged->roots);
    for (size_t i = 0; i < m->merged->root_count; i++)
        if (!merge_root(m, i < first->count ? first->items[i] : GT_NO_EVENT,
                        i < second->count ? second->items[i] : GT_NO_EVENT, &m->merged->roots[i], error))
            return false;
    return true;
}

gt_diff_tree *gt_diff_tree_new(const gt_linked_view *first, const gt_linked_view *second, gt_error *error)
{
    gt_diff_tree *merged = gt_alloc_zero(1, sizeof *merged);
    merged->names = gt_interner_new();
    merged->sides[0] = gt_diff_side_new(first, merged->names);
    merged->sides[1] = gt_diff_side_new(second, merged->names);
    merger m = {.merged = merged, .children = matcher_new(merged->sides[0], merged->sides[1])};
    bool made = true;
    if (!merged->sides[0]->roots.count || !merged->sides[1]->roots.count)
        made = gt_fail(error, "the %s trace has no ops: a diff needs the host side of both",
                       merged->sides[0]->roots.count ? "second" : "first");
    made = made && merge_roots(&m, error);
    matcher_free(m.children);
    gt_map_free(&m.known);
    gt_free(m.stack);
    if (made) return merged;
    gt_diff_tree_free(merged);
    return NULL;
}

void gt_diff_tree_free(gt_diff_tree *merged)
{
    if (!merged) return;
    for (size_t w = 0; w < 2; w++) gt_diff_side_free(merged->sides[w]);
    gt_interner_free(merged->names);
    gt_free_all(merged->nodes, merged->children, merged->roots, merged);
}
