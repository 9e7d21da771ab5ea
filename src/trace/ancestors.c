/* Finding ancestors, on all threads.
 *
 * From each event that is passed over, a thread walks up until it meets an event that is not, or one for
 * which the answer is known. Then it notes the answer for all events on the way. So no thread goes twice
 * along a path, and all together take as long as there are events times threads, however deep the tree is. */
#include "trace/ancestors.h"

enum { WORDS_GRAIN = (GT_ROWS_GRAIN + 63) / 64 };
#define NOT_KNOWN (GT_NO_ANCESTOR - 1) /* no trace has so many rows */

typedef struct search {
    gt_ancestors *ancestors;
    const uint32_t *parent;
    bool (*passes)(const void *context, uint32_t row);
    const void *context;
} search;

static void find_passed(void *context, size_t begin, size_t end)
{
    const search *s = context;
    for (size_t row = begin; row < end; row++) {
        uint32_t up = s->parent[row];
        if (up != GT_NO_ANCESTOR && s->passes(s->context, up))
            gt_row_set_add_shared(&s->ancestors->passed, up);
    }
}

/* An event if it is not passed over, else what is known to be above it. */
static uint32_t known_from(const search *s, uint32_t row)
{
    if (row == GT_NO_ANCESTOR) return row;
    uint32_t rank = gt_row_set_rank(&s->ancestors->passed, row);
    return rank == GT_NO_RANK ? row : __atomic_load_n(&s->ancestors->above[rank], __ATOMIC_RELAXED);
}

/* If another thread notes the answer for events of the same path, it does so for all that are above. */
static void look_above(const search *s, uint32_t row)
{
    uint32_t up = row, found = known_from(s, row);
    while (found == NOT_KNOWN) found = known_from(s, up = s->parent[up]);
    for (up = row; known_from(s, up) == NOT_KNOWN; up = s->parent[up])
        __atomic_store_n(&s->ancestors->above[gt_row_set_below(&s->ancestors->passed, up)], found,
                         __ATOMIC_RELAXED);
}

static void look_above_all(void *context, size_t begin, size_t end)
{
    const search *s = context;
    for (size_t word = begin; word < end; word++)
        for (uint64_t bits = s->ancestors->passed.bits[word]; bits; bits &= bits - 1)
            look_above(s, (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits));
}

gt_ancestors gt_ancestors_find(const uint32_t *parent, size_t count,
                               bool (*passes)(const void *context, uint32_t row), const void *context)
{
    gt_ancestors a = {.passed = gt_row_set_new(count)};
    search s = {&a, parent, passes, context};
    gt_parallel_ranges(count, GT_ROWS_GRAIN, find_passed, &s);
    size_t passed = gt_row_set_finish(&a.passed);
    if (!passed) {
        gt_ancestors_free(&a);
        return a;
    }
    a.above = gt_alloc(passed * sizeof *a.above);
    for (size_t i = 0; i < passed; i++) a.above[i] = NOT_KNOWN;
    gt_parallel_ranges(a.passed.words, WORDS_GRAIN, look_above_all, &s);
    return a;
}

void gt_ancestors_free(gt_ancestors *a)
{
    gt_row_set_free(&a->passed);
    gt_free(a->above);
    *a = (gt_ancestors){0};
}
