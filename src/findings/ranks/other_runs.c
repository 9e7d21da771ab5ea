/* Are the traces of one run?
 *
 * Ranks leave a collective together, so between two of them the same time passes for all ranks that take part
 * in both. Traces of two runs of one program have the same collectives, but other times pass between them:
 * what would be said about such ranks together is wrong. The ranks that most others agree with count. */
#include "findings/ranks/model.h"

#include "base/memory.h"
#include "findings/ranks/find.h"
#include "schema/columns.h"

#include <math.h>
#include <stdlib.h>

/* Clocks drift by far less than 3 %; in short traces, ranks may leave a collective some 10 us apart. */
#define MOST_DIFFERENCE     0.03
#define LEAST_DIFFERENCE_NS 100e3

static double collectives_of(const gt_rank_model *model, const gt_ranks_input *input, size_t c, size_t entry)
{
    return (double)input->facts[model->entries[model->begins[c] + entry].rank]->collective_count;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool are_alike(double a_ns, double b_ns)
{
    return fabs(a_ns - b_ns) <= fmax(MOST_DIFFERENCE * fmin(a_ns, b_ns), LEAST_DIFFERENCE_NS);
}

/* How many of the times, in ascending order, are like this one. */
static size_t count_alike(const double *sorted, size_t count, double time_ns)
{
    size_t ends[2];
    for (int side = 0; side < 2; side++) {
        size_t from = 0, to = count; /* the first one that is not too short; that is too long */
        while (from < to) {
            size_t middle = from + (to - from) / 2;
            bool alike = are_alike(sorted[middle], time_ns), above = sorted[middle] > time_ns;
            if (side == 0 ? alike || above : above && !alike)
                to = middle;
            else
                from = middle + 1;
        }
        ends[side] = from;
    }
    return ends[1] - ends[0];
}

/* The time that most others are like; of several such, that of the lowest rank. `sorted` is as long. */
static double most_common(const double *times, size_t count, double *sorted)
{
    size_t used = 0, most = 0;
    double usual = NAN;
    for (size_t i = 0; i < count; i++)
        if (!isnan(times[i])) sorted[used++] = times[i];
    if (used) qsort(sorted, used, sizeof *sorted, by_size);
    for (size_t i = 0; i < count; i++) {
        size_t alike = isnan(times[i]) ? 0 : count_alike(sorted, used, times[i]);
        if (alike <= most) continue;
        most = alike;
        usual = times[i];
    }
    return usual;
}

/* From the first collective to the last one of as many ranks. */
bool gt_rank_model_other_runs(const gt_rank_model *model, const gt_ranks_input *input, bool *has_rank)
{
    if (model->count < 2) return false;
    size_t first = model->order[0], size = model->begins[first + 1] - model->begins[first],
           k = model->count - 1;
    while (k && model->begins[model->order[k] + 1] - model->begins[model->order[k]] != size) k--;
    size_t last = model->order[k];
    double *times = gt_alloc(2 * size * sizeof *times), *sorted = times + size;
    for (size_t i = 0; i < size; i++) sorted[i] = collectives_of(model, input, first, i);
    double usual_count = gt_rank_median(sorted, size);
    for (size_t i = 0; i < size; i++) {
        gt_memory_poll_at(i);
        const gt_rank_entry *from = &model->entries[model->begins[first] + i];
        const gt_rank_entry *to = &model->entries[model->begins[last] + i];
        /* In a trace that lacks some, other collectives are compared; there is a warning about that. */
        bool is_same = from->rank == to->rank && collectives_of(model, input, first, i) == usual_count;
        times[i] = is_same ? (double)(to->end_ns - from->end_ns) : NAN;
    }
    double usual = most_common(times, size, sorted);
    bool any = false;
    for (size_t i = 0; i < size; i++)
        if (!isnan(times[i]) && !are_alike(times[i], usual))
            has_rank[model->entries[model->begins[first] + i].rank] = any = true;
    gt_free(times);
    return any;
}

/* ---- the collectives of one run ---- */

bool gt_rank_sync_of_one_run(const gt_rank_findings *found, const gt_collective_sync *sync,
                             gt_collective_sync *own, gt_collective_matches *matches)
{
    const gt_collective_matches *all = sync->matches;
    const int64_t *ranks = gt_table_column(all->events, GT_COL_RANK)->ints;
    bool any = false;
    for (size_t r = 0; r < found->rank_count; r++) any |= gt_rank_is_of_other_run(found->ranks[r].left_out);
    if (!any) return false;
    *matches = *all;
    *own = (gt_collective_sync){.matches = matches};
    matches->begins = gt_alloc((sync->count + 1) * sizeof *matches->begins);
    matches->rows = gt_alloc((all->begins[all->count] + 1) * sizeof *matches->rows);
    own->collectives = gt_alloc((sync->count + 1) * sizeof *own->collectives);
    size_t at = 0;
    for (size_t i = 0; i < sync->count; i++) {
        uint32_t collective = sync->collectives[i];
        size_t begin = at;
        for (size_t k = all->begins[collective]; k < all->begins[collective + 1]; k++) {
            size_t rank = (size_t)ranks[all->rows[k]];
            bool is_other = rank < found->rank_count && gt_rank_is_of_other_run(found->ranks[rank].left_out);
            if (!is_other) matches->rows[at++] = all->rows[k];
        }
        if (at == begin) continue;
        matches->begins[own->count] = begin;
        own->collectives[own->count] = (uint32_t)own->count;
        own->count++;
    }
    matches->begins[own->count] = at;
    matches->count = own->count;
    return true;
}
