/* Lists of children, and more rows.
 *
 * In the arrays of a trace the tree is a numbering: the subtree of an event is a range of preorder numbers.
 * That is fast to read and impossible to change in place, because one more event shifts all later numbers. So
 * an edit turns the numbers into linked lists of children, changes the lists, and then walks over them to
 * number the events again:
 *
 *     numbers                    lists              wrap b in n        numbers
 *     a [0,4)  b [1,3)  ..   ->  a: b, d        ->  a: n, d        ->  a [0,5)  n [1,4)
 *     c [2,3)  d [3,4)           b: c               n: b    b: c       b [2,4)  c [3,4)  d [4,5) */
#include "trace/pytorch/tree_parts.h"

#include "trace/pytorch/calls.h"

/* ---- lists of children ---- */

void gt_child_lists_append(gt_child_lists *l, uint32_t caller, uint32_t row)
{
    uint32_t previous = l->last[caller];
    l->caller[row] = caller;
    l->previous[row] = previous;
    l->next[row] = GT_NO_EVENT;
    *(previous == GT_NO_EVENT ? &l->first[caller] : &l->next[previous]) = row;
    l->last[caller] = row;
}

void gt_child_lists_remove(gt_child_lists *l, uint32_t row)
{
    uint32_t caller = l->caller[row], previous = l->previous[row], next = l->next[row];
    *(previous == GT_NO_EVENT ? &l->first[caller] : &l->next[previous]) = next;
    *(next == GT_NO_EVENT ? &l->last[caller] : &l->previous[next]) = previous;
    l->caller[row] = l->previous[row] = l->next[row] = GT_NO_EVENT;
}

gt_child_lists gt_child_lists_new(const gt_linked_view *trace, size_t rows)
{
    gt_child_lists l = {.caller = gt_no_events(rows),
                        .first = gt_no_events(rows),
                        .last = gt_no_events(rows),
                        .previous = gt_no_events(rows),
                        .next = gt_no_events(rows)};
    gt_calls *calls = gt_calls_new(trace);
    uint32_t *callers = gt_calls_callers(calls);
    for (uint32_t n = 0; n < trace->numbered; n++) {
        uint32_t row = calls->row_of[n];
        if (callers[n] == GT_NO_EVENT)
            GT_PUSH(l.roots.items, l.roots.count, l.roots.capacity, row);
        else
            gt_child_lists_append(&l, calls->row_of[callers[n]], row);
    }
    gt_free(callers);
    gt_calls_free(calls);
    return l;
}

void gt_child_lists_free(gt_child_lists *l)
{
    gt_free_all(l->caller, l->first, l->last, l->previous, l->next, l->roots.items);
}

/* Numbers the subtree of a root in preorder. It follows the lists instead of recursing, because a broken
 * trace can be deeper than the C stack. */
static void number_subtree(const gt_child_lists *l, gt_pytorch_state *trace, uint32_t root, uint32_t *number)
{
    for (uint32_t row = root;;) {
        trace->preorder[row] = (*number)++;
        if (l->first[row] != GT_NO_EVENT) {
            row = l->first[row];
            continue;
        }
        for (;; row = l->caller[row]) {
            trace->subtree_end[row] = *number;
            if (row == root || l->next[row] != GT_NO_EVENT) break;
        }
        if (row == root) return;
        row = l->next[row];
    }
}

void gt_child_lists_number(const gt_child_lists *l, gt_pytorch_state *trace)
{
    uint32_t number = 0;
    memset(trace->preorder, 0xFF, trace->count * sizeof *trace->preorder);
    memset(trace->subtree_end, 0xFF, trace->count * sizeof *trace->subtree_end);
    for (size_t i = 0; i < l->roots.count; i++) number_subtree(l, trace, l->roots.items[i], &number);
    trace->numbered = number;
    gt_state_find_ops_above(trace);
}

/* ---- more rows ---- */

static void *resize(void *array, size_t count, size_t item_size)
{
    return gt_realloc(array, count * item_size);
}

void gt_state_resize(gt_pytorch_state *trace, size_t count)
{
    uint32_t **ids[] = {&trace->name, &trace->parent, &trace->preorder, &trace->subtree_end};
    for (size_t i = 0; i < GT_LENGTH(ids); i++) *ids[i] = resize(*ids[i], count, sizeof **ids[i]);
    double **times[] = {&trace->start_us, &trace->dur_us};
    for (size_t i = 0; i < GT_LENGTH(times); i++) *times[i] = resize(*times[i], count, sizeof **times[i]);
    uint8_t **bytes[] = {&trace->kind, &trace->integral};
    for (size_t i = 0; i < GT_LENGTH(bytes); i++) *bytes[i] = resize(*bytes[i], count, 1);
    uint8_t **marks[] = {&trace->recompute, &trace->grafted};
    for (size_t i = 0; i < GT_LENGTH(marks); i++) {
        if (!*marks[i]) continue;
        *marks[i] = resize(*marks[i], count, 1);
        memset(*marks[i] + trace->count, 0, count - trace->count);
    }
    size_t known = trace->extra ? trace->count : 0;
    trace->extra = resize(trace->extra, count, sizeof *trace->extra);
    memset(trace->extra + known, 0, (count - known) * sizeof *trace->extra);
}

void gt_state_add_late_root(gt_pytorch_state *trace, uint32_t row)
{
    GT_PUSH(trace->late_roots, trace->late_root_count, trace->late_root_capacity, row);
}
