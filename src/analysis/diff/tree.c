/* The merged tree of a diff: pairs of events wait on a stack; each is popped, gets a node, and its children
 * are matched and pushed. A stack instead of recursion, because traces nest deeper than the C stack allows.
 */
#include "analysis/diff/tree.h"

#include "analysis/diff/children.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A pair of events without a node yet, and its index in gt_diff_tree.children. */
typedef struct waiting_pair {
    uint32_t rows[2];
    uint32_t slot;
} waiting_pair;

typedef struct merger {
    gt_diff_tree *merged;
    gt_diff_matcher *matcher;
    gt_map known; /* from a pair of events to its node */
    waiting_pair *stack;
    size_t stack_count, stack_capacity;
} merger;

static void push_pair(merger *m, uint32_t first, uint32_t second, uint32_t slot)
{
    waiting_pair pair = {{first, second}, slot};
    GT_PUSH(m->stack, m->stack_count, m->stack_capacity, pair);
}

static bool fail_too_long(const merger *m, const gt_diff_children_match *match, gt_error *error)
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
    gt_diff_children_match match;
    if (!gt_diff_match_children(m->matcher, pair->rows, &match)) return fail_too_long(m, &match, error);
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
    merger m = {.merged = merged, .matcher = gt_diff_matcher_new(merged->sides[0], merged->sides[1])};
    bool made = true;
    if (!merged->sides[0]->roots.count || !merged->sides[1]->roots.count)
        made = gt_fail(error, "the %s trace has no ops: a diff needs the host side of both",
                       merged->sides[0]->roots.count ? "second" : "first");
    made = made && merge_roots(&m, error);
    gt_diff_matcher_free(m.matcher);
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
    gt_free(merged->nodes);
    gt_free(merged->children);
    gt_free(merged->roots);
    gt_free(merged);
}
