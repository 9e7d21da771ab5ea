/* By how much is a healthy rank late by chance?
 *
 * Kernels do not take the same time twice, so works of healthy ranks differ, and who is late by chance in one
 * step is not in the next one. The lateness of a rank is a sum over the works between its collectives. Each
 * of these works is compared over the ranks of a node, which are most alike, or over all ranks:
 *
 *     work          1      2      3     ...
 *     rank 0      +3 us  -4 us  +1 us           deviations from the median of the node
 *     rank 1      -2 us  +5 us  +2 us
 *     spread       s1     s2     s3             1.48 times the median of their absolute values
 *
 * A fault of one rank or of a whole node does not change the medians. The works vary independently, so the
 * squares of the spreads add up. Of n ranks, the latest one is late by about sqrt(2 ln n) standard deviations
 * by chance. What is 3 beyond that is no chance. With fewer than four ranks, there is no spread to speak of.
 *
 * Ranks may also differ all the time, because no two GPUs are equal. So a rank must also be late by three
 * times the spread of the sums. */
#include "findings/ranks/model.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static const double OF_MEDIAN = 1.4826; /* the standard deviation of normal values whose median this is */
static const double LEAST_OF_STEP = 0.002, LEAST_OF_FEW = 0.005;
enum { LEAST_RANKS = 4 };

static int by_node(const void *a, const void *b)
{
    const gt_rank_value *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

/* The standard deviation of values that are sorted by node, inside the nodes. The median of a node deviates
 * from itself by nothing, so it does not count. */
static double spread_in_nodes(const gt_rank_value *values, size_t count, double *deviations)
{
    size_t found = 0;
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && values[end].node == values[begin].node;) end++;
        size_t middle = begin + (end - begin - 1) / 2;
        for (size_t i = begin; i < end; i++)
            if (i != middle) deviations[found++] = fabs(values[i].value - values[middle].value);
    }
    return found ? OF_MEDIAN * gt_rank_median(deviations, found) : INFINITY;
}

/* Inside nodes, or over all of them: faults of a few ranks of small nodes are in most of the former, those of
 * whole nodes in the latter. So the smaller one counts. Reorders the values. */
static double spread_of(gt_rank_value *values, size_t count)
{
    double *deviations = gt_alloc((count + 1) * sizeof *deviations);
    qsort(values, count, sizeof *values, by_node);
    double spread = spread_in_nodes(values, count, deviations);
    for (size_t i = 0; i < count; i++) values[i].node = 0;
    qsort(values, count, sizeof *values, by_node);
    spread = fmin(spread, spread_in_nodes(values, count, deviations));
    gt_free(deviations);
    return isfinite(spread) ? spread : 0;
}

/* What each entry adds to the lateness of its rank, by the place of entries in the model. */
static double *find_additions(const gt_rank_model *model)
{
    size_t count = model->begins[model->count];
    double *additions = gt_alloc((count + 1) * sizeof *additions);
    for (size_t i = 0; i < count; i++) additions[i] = NAN;
    for (size_t r = 0; r < model->rank_count; r++) {
        uint32_t base = GT_NONE;
        double before = 0;
        for (size_t i = model->rank_begins[r]; i < model->rank_begins[r + 1]; i++) {
            const gt_rank_entry *entry = gt_rank_entry_at(model, i);
            if (!entry->is_measured || !entry->compared) continue;
            if (entry->base != base) before = 0;
            base = entry->base;
            additions[entry - model->entries] = entry->late_ns - before;
            before = entry->late_ns;
        }
    }
    return additions;
}

/* Adds the square of the spread of entries `begin` to `end` - 1 to the sum of each of their ranks. */
static void add_squares(const gt_rank_entry *entries, const double *additions, size_t count,
                        const gt_rank_summary *ranks, gt_rank_value *values, double *squares)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(additions[i]))
            values[found++] = (gt_rank_value){ranks[entries[i].rank].node, additions[i]};
    if (found < 2) return;
    double spread = spread_of(values, found);
    for (size_t i = 0; i < count; i++)
        if (!isnan(additions[i])) squares[entries[i].rank] += spread * spread;
}

/* The standard deviation of the lateness of a rank per step, from that of its works. */
static double spread_of_works(const gt_rank_model *model, const gt_rank_summary *ranks, gt_rank_value *values)
{
    double *additions = find_additions(model);
    double *squares = gt_alloc_zero(model->rank_count + 1, sizeof *squares);
    size_t known = 0;
    for (size_t c = 0; c < model->count; c++)
        add_squares(&model->entries[model->begins[c]], &additions[model->begins[c]],
                    model->begins[c + 1] - model->begins[c], ranks, values, squares);
    for (size_t r = 0; r < model->rank_count; r++)
        if (ranks[r].known) squares[known++] = sqrt(squares[r]) / model->steps[r];
    double spread = gt_rank_median(squares, known);
    gt_free(additions);
    gt_free(squares);
    return spread;
}

double gt_rank_least_late(const gt_rank_model *model, const gt_rank_summary *ranks, double step_ns)
{
    gt_rank_value *values = gt_alloc((model->rank_count + 1) * sizeof *values);
    size_t known = 0;
    for (size_t r = 0; r < model->rank_count; r++)
        if (ranks[r].known) values[known++] = (gt_rank_value){ranks[r].node, gt_rank_late_ns(model, r)};
    double of_sums = known ? spread_of(values, known) : 0;
    double spread = spread_of_works(model, ranks, values);
    gt_free(values);
    double chance = fmax((3 + sqrt(2 * log((double)(known + 1)))) * spread, 3 * of_sums);
    return fmax(chance, (known < LEAST_RANKS ? LEAST_OF_FEW : LEAST_OF_STEP) * step_ns);
}
