/* Do the traces of all ranks begin with the same collective?
 *
 * Collectives are matched by their position in the process group (sheets.h). A trace that begins with a later
 * step lacks the first ones, so all its positions are too small. If the steps are numbered, they say by how
 * much:
 *
 *     rank 0    step 3: a b    step 4: a b    step 5: a b
 *     rank 1                   step 4: a b    step 5: a b       shift 2: the first one of step 4 is a third
 * one
 *
 * In each process group, ranks are compared with the one that begins first. Each step that both have gives a
 * difference between the positions of its first collectives; the median of these is the shift, from steps
 * with equal numbers of collectives if there are any: one can be recorded in part. Ranks that begin with the
 * same step and have as many collectives are not shifted: a collective that is launched just before the end
 * of a step on one rank and just after on the other changes nothing. */
#include "analysis/collective/internal.h"

#include "base/memory.h"
#include "schema/columns.h"
#include "table/stats.h"

#include <stdlib.h>

/* The collectives of one rank and process group in one step. */
typedef struct stretch {
    uint32_t member; /* rank and process group */
    int64_t step;
    size_t first, count; /* the position of the first one, and how many there are */
} stretch;

/* A rank of a process group. */
typedef struct member {
    uint32_t number, name; /* its own number, and the string id of the process group */
    int64_t rank;
    size_t rows;       /* its collectives */
    size_t begin, end; /* its stretches, by step; none if its steps are unknown */
} member;

typedef struct finder {
    stretch *stretches;
    size_t count, capacity;
    member *members;
    double *values;
} finder;

static int by_member_and_step(const void *a, const void *b)
{
    const stretch *x = a, *y = b;
    if (x->member != y->member) return x->member < y->member ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

static int by_name_and_rank(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Steps follow each other; what goes back to an earlier one is left out. */
static void find_stretches(finder *f, const gt_groups *groups, const uint32_t *by_start, const int64_t *steps)
{
    size_t *last = gt_alloc_zero(groups->count, sizeof *last); /* by member: its last stretch + 1 */
    for (size_t i = 0; i < groups->row_count; i++) {
        uint32_t row = by_start[i], number = groups->of_row[row];
        size_t position = f->members[number].rows++;
        stretch *before = last[number] ? &f->stretches[last[number] - 1] : NULL;
        if (steps[row] == GT_NO_STEP || (before && steps[row] < before->step)) continue;
        if (before && steps[row] == before->step) {
            before->count++;
            continue;
        }
        stretch new = {number, steps[row], position, 1};
        GT_PUSH(f->stretches, f->count, f->capacity, new);
        last[number] = f->count;
    }
    gt_free(last);
    if (f->count) qsort(f->stretches, f->count, sizeof *f->stretches, by_member_and_step);
    for (size_t i = 0; i < f->count; i++) {
        member *m = &f->members[f->stretches[i].member];
        if (m->end == m->begin) m->begin = i;
        m->end = i + 1;
    }
}

/* Whether `a` begins before `b`; of those that begin with the same step, the one with most collectives. */
static bool is_before(const finder *f, const member *a, const member *b)
{
    if ((a->end > a->begin) != (b->end > b->begin)) return a->end > a->begin;
    if (a->end == a->begin) return false;
    int64_t x = f->stretches[a->begin].step, y = f->stretches[b->begin].step;
    return x != y ? x < y : a->rows > b->rows;
}

static int64_t shift_of(const finder *f, const member *own, const member *first)
{
    const stretch *s = f->stretches;
    if (own->end == own->begin || first->end == first->begin) return 0;
    if (s[own->begin].step == s[first->begin].step && own->rows == first->rows) return 0;
    for (int all = 0; all < 2; all++) {
        size_t count = 0;
        for (size_t i = own->begin, k = first->begin; i < own->end && k < first->end;) {
            if (s[i].step == s[k].step && (all || s[i].count == s[k].count))
                f->values[count++] = (double)s[k].first - (double)s[i].first;
            int64_t step = s[i].step;
            i += step <= s[k].step;
            k += s[k].step <= step;
        }
        if (count) return (int64_t)gt_select(f->values, count, (count - 1) / 2);
    }
    /* They have no step in common: nothing of it is shared. */
    return s[own->begin].step > s[first->end - 1].step ? (int64_t)first->rows : 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The most frequent value, of several the smallest. Sorts the values. */
static int64_t most_frequent(double *values, size_t count)
{
    size_t most = 0;
    double best = 0;
    qsort(values, count, sizeof *values, by_size);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && values[end] == values[begin];) end++;
        if (end - begin <= most) continue;
        most = end - begin;
        best = values[begin];
    }
    return (int64_t)best;
}

/* The members of one process group. */
static void shift_group(const finder *f, const member *list, size_t count, int64_t *shifts, bool *is_shifted)
{
    const member *first = list;
    for (size_t i = 1; i < count; i++)
        if (is_before(f, &list[i], first)) first = &list[i];
    for (size_t i = 0; i < count; i++) shifts[list[i].number] = shift_of(f, &list[i], first);
    for (size_t i = 0; i < count; i++) f->values[i] = (double)shifts[list[i].number];
    int64_t usual = most_frequent(f->values, count);
    for (size_t i = 0; i < count; i++) is_shifted[list[i].rank] |= shifts[list[i].number] != usual;
}

int64_t *gt_collective_shifts_find(const gt_table *rows, const gt_groups *groups, const uint32_t *by_start,
                                   const int64_t *steps, bool *is_shifted)
{
    const uint32_t *names = gt_table_column(rows, GT_COL_PROCESS_GROUP_NAME)->texts;
    const int64_t *ranks = gt_table_column(rows, GT_COL_RANK)->ints;
    int64_t *shifts = gt_alloc_zero(groups->count, sizeof *shifts);
    finder f = {.members = gt_alloc_zero(groups->count, sizeof *f.members)};
    for (size_t i = 0; i < groups->count; i++) {
        uint32_t row = groups->first_row[i];
        f.members[i] = (member){.number = (uint32_t)i, .name = names[row], .rank = ranks[row]};
    }
    find_stretches(&f, groups, by_start, steps);
    f.values = gt_alloc((f.count + groups->count + 1) * sizeof *f.values);
    if (groups->count) qsort(f.members, groups->count, sizeof *f.members, by_name_and_rank);
    for (size_t begin = 0, end; begin < groups->count; begin = end) {
        for (end = begin; end < groups->count && f.members[end].name == f.members[begin].name;) end++;
        shift_group(&f, &f.members[begin], end - begin, shifts, is_shifted);
    }
    gt_free(f.stretches);
    gt_free(f.members);
    gt_free(f.values);
    return shifts;
}
