/* Do the traces of all ranks begin with the same collective?
 *
 * Collectives are matched by their position in the process group (sheets.h). A trace that begins with a later
 * step lacks the first ones, so all its positions are too small. If the steps are numbered, they say by how
 * much:
 *
 *     rank 0    step 3: a b    step 4: a b    step 5: a b
 *     rank 1                   step 4: a b    step 5: a b    shift 2: its first one is the third
 *
 * In each process group, ranks are compared with the one that begins first. Each step that both have gives a
 * difference between the positions of its first collectives; the median of these is the shift, from steps
 * with equal numbers of collectives if there are any: one can be recorded in part. Ranks that begin with the
 * same step and have as many collectives are not shifted: a collective that is launched just before the end
 * of a step on one rank and just after on the other changes nothing.
 *
 * If the differences grow from step to step, the rank lacks collectives in between: their records were lost.
 * Then the first difference is the shift, and in each step with fewer collectives those that are there are
 * matched by their ends, which ranks share; the numbers of the others are skipped. */
#include "analysis/collective/internal.h"

#include "schema/columns.h"
#include "table/stats.h"

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
    const gt_table *rows;
    const gt_groups *groups;
    const uint32_t *by_start;
    size_t *begins;    /* by number of a member: its rows in order of time are ordered[begins[number] ...] */
    uint32_t *ordered; /* NULL until it is needed */
    gt_collective_shifts *result;
} finder;

GT_ORDER_BY(by_member_and_step, stretch, GT_UP(member) GT_UP(step))

GT_ORDER_BY(by_name_and_rank, member, GT_UP(name) GT_UP(rank))

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

/* ---- collectives whose records were lost ---- */

/* Whether the differences in steps with equal numbers of collectives grow, and never become less; `first` is
 * the first of them. At the end of the last step nothing may be left over. */
static bool lacks_collectives(const finder *f, const member *own, const member *ref, int64_t *first)
{
    const stretch *s = f->stretches;
    int64_t last = 0, at_end = INT64_MAX;
    bool any = false, grows = false;
    for (size_t i = own->begin, k = ref->begin; i < own->end && k < ref->end;) {
        bool same = s[i].step == s[k].step;
        int64_t difference = (int64_t)s[k].first - (int64_t)s[i].first;
        if (same) at_end = difference + (int64_t)s[k].count - (int64_t)s[i].count;
        if (same && s[i].count == s[k].count) {
            if (any && difference < last) return false;
            grows |= any && difference > last;
            if (!any) *first = difference;
            last = difference;
            any = true;
        }
        int64_t step = s[i].step;
        i += step <= s[k].step;
        k += s[k].step <= step;
    }
    return grows && at_end >= last;
}

/* The rows of each member in order of time. */
static void order_rows(finder *f)
{
    const gt_groups *groups = f->groups;
    if (f->ordered) return;
    f->begins = gt_alloc_zero(groups->count + 2, sizeof *f->begins);
    f->ordered = gt_alloc((groups->row_count + 1) * sizeof *f->ordered);
    for (size_t i = 0; i < groups->row_count; i++) f->begins[groups->of_row[i] + 2]++;
    for (size_t i = 2; i < groups->count + 2; i++) f->begins[i] += f->begins[i - 1];
    for (size_t i = 0; i < groups->row_count; i++)
        f->ordered[f->begins[groups->of_row[f->by_start[i]] + 1]++] = f->by_start[i];
}

static uint32_t row_at(const finder *f, const member *m, size_t position)
{
    return f->ordered[f->begins[m->number] + position];
}

static double end_at(const finder *f, const member *m, size_t position)
{
    uint32_t row = row_at(f, m, position);
    return gt_column_number(gt_table_column(f->rows, GT_COL_TS), row) +
           gt_column_number(gt_table_column(f->rows, GT_COL_DUR), row);
}

/* Numbers of the reference are skipped so that each collective of the step gets that whose end is
 * closest, by the clock of the rank. Returns the number after the last one. */
static size_t skip_in_step(const finder *f, const member *own, const stretch *step, const member *ref,
                           const stretch *ref_step, double offset)
{
    size_t at = ref_step->first;
    size_t left_out = ref_step->count - step->count, end = ref_step->first + ref_step->count;
    for (size_t i = 0; i < step->count; i++) {
        size_t best = at;
        double closest = INFINITY, own_end = end_at(f, own, step->first + i);
        for (size_t k = at; k < end && k <= at + left_out; k++) {
            double distance = fabs(own_end - end_at(f, ref, k) - offset);
            if (distance >= closest) continue;
            closest = distance;
            best = k;
        }
        f->result->skips[row_at(f, own, step->first + i)] += (uint32_t)(best - at);
        left_out -= best - at;
        at = best + 1;
    }
    return at;
}

/* Sets what is skipped before rows of a rank that lacks collectives. */
static void find_skips(finder *f, const member *own, const member *ref, int64_t shift)
{
    const stretch *s = f->stretches;
    double offset = NAN;
    order_rows(f);
    if (!f->result->skips)
        f->result->skips = gt_alloc_zero(f->groups->row_count + 1, sizeof *f->result->skips);
    for (size_t i = own->begin, k = ref->begin; i < own->end && k < ref->end;) {
        bool same = s[i].step == s[k].step;
        int64_t more = (int64_t)s[k].first - (int64_t)s[i].first - shift;
        bool is_equal = s[i].count == s[k].count, is_less = s[i].count < s[k].count && !isnan(offset);
        if (same && (is_equal || is_less) && more > 0) {
            f->result->skips[row_at(f, own, s[i].first)] += (uint32_t)more;
            shift += more;
            more = 0;
        }
        if (same && is_equal && more == 0)
            offset = end_at(f, own, s[i].first) - end_at(f, ref, s[k].first);
        else if (same && is_less && more == 0)
            shift =
                (int64_t)skip_in_step(f, own, &s[i], ref, &s[k], offset) - (int64_t)(s[i].first + s[i].count);
        int64_t step = s[i].step;
        i += step <= s[k].step;
        k += s[k].step <= step;
    }
}

/* ---- all members ---- */

/* The most frequent value, of several the smallest. Sorts the values. */
static int64_t most_frequent(double *values, size_t count)
{
    size_t most = 0;
    double best = 0;
    qsort(values, count, sizeof *values, gt_by_double);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && values[end] == values[begin];) end++;
        if (end - begin <= most) continue;
        most = end - begin;
        best = values[begin];
    }
    return (int64_t)best;
}

/* The members of one process group. */
static void shift_group(finder *f, const member *list, size_t count, gt_collective_unlike *unlike)
{
    int64_t *shifts = f->result->shifts;
    const member *first = list;
    for (size_t i = 1; i < count; i++)
        if (is_before(f, &list[i], first)) first = &list[i];
    for (size_t i = 0; i < count; i++) {
        int64_t shift = 0;
        shifts[list[i].number] = shift_of(f, &list[i], first);
        if (!lacks_collectives(f, &list[i], first, &shift)) continue;
        shifts[list[i].number] = shift;
        unlike->lacks[list[i].rank] = true;
        find_skips(f, &list[i], first, shift);
    }
    for (size_t i = 0; i < count; i++) f->values[i] = (double)shifts[list[i].number];
    int64_t usual = most_frequent(f->values, count);
    for (size_t i = 0; i < count; i++) unlike->is_shifted[list[i].rank] |= shifts[list[i].number] != usual;
}

gt_collective_shifts gt_collective_shifts_find(const gt_table *rows, const gt_groups *groups,
                                               const uint32_t *by_start, const int64_t *steps,
                                               gt_collective_unlike *unlike)
{
    const uint32_t *names = gt_table_column(rows, GT_COL_PROCESS_GROUP_NAME)->texts;
    const int64_t *ranks = gt_table_column(rows, GT_COL_RANK)->ints;
    gt_collective_shifts result = {.shifts = gt_alloc_zero(groups->count, sizeof *result.shifts)};
    finder f = {.members = gt_alloc_zero(groups->count, sizeof *f.members),
                .rows = rows,
                .groups = groups,
                .by_start = by_start,
                .result = &result};
    for (size_t i = 0; i < groups->count; i++) {
        uint32_t row = groups->first_row[i];
        f.members[i] = (member){.number = (uint32_t)i, .name = names[row], .rank = ranks[row]};
    }
    find_stretches(&f, groups, by_start, steps);
    f.values = gt_alloc((f.count + groups->count + 1) * sizeof *f.values);
    if (groups->count) qsort(f.members, groups->count, sizeof *f.members, by_name_and_rank);
    for (size_t begin = 0, end; begin < groups->count; begin = end) {
        for (end = begin; end < groups->count && f.members[end].name == f.members[begin].name;) end++;
        shift_group(&f, &f.members[begin], end - begin, unlike);
    }
    gt_free_all(f.stretches, f.members, f.values, f.begins, f.ordered);
    return result;
}
