/* Sets of rows with ranks. */
#include "trace/row_set.h"

gt_row_set gt_row_set_new(size_t rows)
{
    gt_row_set set = {.words = rows / 64 + 1};
    set.bits = gt_alloc_zero(set.words, sizeof *set.bits);
    set.before = gt_alloc(set.words * sizeof *set.before);
    return set;
}

void gt_row_set_free(gt_row_set *set)
{
    gt_free_all(set->bits, set->before);
    *set = (gt_row_set){0};
}

size_t gt_row_set_finish(gt_row_set *set)
{
    size_t count = 0;
    for (size_t i = 0; i < set->words; i++) {
        set->before[i] = (uint32_t)count;
        count += (size_t)__builtin_popcountll(set->bits[i]);
    }
    return count;
}
