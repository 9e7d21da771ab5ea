/* All lists that change are emptied first, so that their order does not matter. */
#include "trace/pytorch/tree_rewire.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static bool fail_at(const gt_pytorch *trace, uint32_t row, const char *what, gt_error *error)
{
    return gt_fail(error, "event %u (%s) %s", trace->uid[row], gt_pytorch_name(trace, row).bytes, what);
}

static void empty_lists(gt_tree_lists *l, const gt_rewiring *r)
{
    for (size_t i = 0; i < r->caller_count; i++)
        for (uint32_t child = l->first[r->caller_of[i]], next; child != GT_NO_EVENT; child = next) {
            next = l->behind[child];
            gt_tree_lists_remove(l, child);
        }
}

static bool fill_lists(gt_tree_lists *l, const gt_pytorch *trace, const gt_rewiring *r, gt_error *error)
{
    for (size_t i = 0; i < r->caller_count; i++)
        for (size_t c = r->child_begin[i]; c < r->child_begin[i + 1]; c++) {
            uint32_t child = r->children[c];
            if (!gt_kind_is_host(trace->kind[child])) continue;
            if (l->around[child] != GT_NO_EVENT)
                return fail_at(trace, child, "is a child of two events, or twice of one", error);
            gt_tree_lists_append(l, r->caller_of[i], child);
        }
    return true;
}

/* Those that were roots and still are, and new events that nobody calls. */
static void find_roots(gt_tree_lists *l, size_t first_new, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->roots.count; i++)
        if (l->around[l->roots.items[i]] == GT_NO_EVENT) l->roots.items[kept++] = l->roots.items[i];
    l->roots.count = kept;
    for (size_t row = first_new; row < count; row++)
        if (l->around[row] == GT_NO_EVENT)
            GT_PUSH(l->roots.items, l->roots.count, l->roots.capacity, (uint32_t)row);
}

/* Whether a walk upwards ends, from wherever it starts. */
static bool check_parents(const gt_pytorch *trace, gt_error *error)
{
    enum { NEW, OPEN, DONE };
    uint8_t *state = gt_alloc_zero(trace->count, 1);
    uint32_t bad = GT_NO_EVENT;
    for (uint32_t from = 0; from < trace->count && bad == GT_NO_EVENT; from++) {
        uint32_t row = from;
        for (; row != GT_NO_EVENT && state[row] == NEW; row = trace->parent[row]) state[row] = OPEN;
        if (row != GT_NO_EVENT && state[row] == OPEN) bad = row;
        for (row = from; row != GT_NO_EVENT && state[row] == OPEN && bad == GT_NO_EVENT;
             row = trace->parent[row])
            state[row] = DONE;
    }
    gt_free(state);
    return bad == GT_NO_EVENT || fail_at(trace, bad, "is its own ancestor", error);
}

bool gt_tree_rewire(gt_pytorch *trace, const gt_rewiring *r, gt_error *error)
{
    size_t first_new = trace->count;
    gt_tree_lists lists = gt_tree_lists_make(trace, trace->count + r->row_count);
    if (r->row_count) gt_tree_append_rows(trace, r->rows, r->row_count);
    for (size_t i = 0; i < r->parent_count; i++) trace->parent[r->parent_of[i]] = r->parents[i];
    empty_lists(&lists, r);
    bool done = fill_lists(&lists, trace, r, error) && check_parents(trace, error);
    if (done) {
        find_roots(&lists, first_new, trace->count);
        gt_tree_lists_number(&lists, trace);
    }
    gt_tree_lists_free(&lists);
    return done;
}
