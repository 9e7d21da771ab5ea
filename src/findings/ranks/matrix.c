/* communication_matrix: which kernels are counted, and what are its rows? How bytes are counted is in
 * analysis/collective/matrix.c.
 *
 * Counted are the collectives that a rank starts in its window, divided by the steps of it. A row is a rank;
 * in runs with more than RANKS_SHOWN ranks it is a node, or, if the nodes are not known or too many, one of
 * RANKS_SHOWN blocks of ranks that follow each other. */
#include "findings/ranks/across.h"

#include "base/memory.h"
#include "schema/columns.h"

enum { RANKS_SHOWN = 64, NODES_SHOWN = 256 };

/* By row of the table: 1 / steps, or 0 if it is not counted; and who receives a send. Rows are in order of
 * ranks. */
static double *find_weights(const gt_ranks_input *input, uint32_t *receivers)
{
    const gt_table *events = input->sync->matches->events;
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    double *weights = gt_alloc_zero(events->row_count, sizeof *weights);
    for (size_t row = 0, first = 0; row < events->row_count; row++) {
        if (ranks[row] != ranks[first]) first = row;
        gt_memory_poll_at(row);
        const gt_rank_facts *facts =
            ranks[row] >= 0 && (size_t)ranks[row] < input->rank_count ? input->facts[ranks[row]] : NULL;
        receivers[row] = GT_NO_UNIT;
        if (!facts || row - first >= facts->collective_count) continue;
        if (facts->collectives[row - first].in_window) weights[row] = 1 / (double)facts->steps;
        if (facts->receivers) receivers[row] = facts->receivers[row - first];
    }
    return weights;
}

gt_table *gt_rank_matrix_sheet(const gt_rank_findings *found, const gt_ranks_input *input, size_t *uncounted)
{
    size_t ranks = found->rank_count, block = (ranks + RANKS_SHOWN - 1) / RANKS_SHOWN, count = ranks;
    bool by_node = ranks > RANKS_SHOWN && found->nodes_known && found->node_count <= NODES_SHOWN;
    uint32_t *units = gt_alloc(ranks * sizeof *units);
    char **names;
    for (size_t r = 0; r < ranks; r++)
        units[r] = by_node && !found->ranks[r].facts ? GT_NO_UNIT
                   : by_node                         ? (uint32_t)found->ranks[r].node
                                                     : (uint32_t)(ranks > RANKS_SHOWN ? r / block : r);
    if (by_node)
        count = found->node_count;
    else if (ranks > RANKS_SHOWN)
        count = (ranks + block - 1) / block;
    names = gt_alloc(count * sizeof *names);
    for (size_t u = 0; u < count; u++) {
        size_t last = (u + 1) * block < ranks ? (u + 1) * block - 1 : ranks - 1;
        if (by_node)
            names[u] = gt_strdup(found->node_names[u]);
        else if (ranks > RANKS_SHOWN && last > u * block)
            names[u] = gt_format("ranks %zu-%zu", u * block, last);
        else
            names[u] = gt_format("rank %zu", ranks > RANKS_SHOWN ? last : u);
    }
    uint32_t *receivers = gt_alloc(input->sync->matches->events->row_count * sizeof *receivers);
    double *weights = find_weights(input, receivers);
    gt_table *sheet = gt_collective_matrix(input->sync->matches->events,
                                           &(gt_matrix_request){.weights = weights,
                                                                .receivers = receivers,
                                                                .unit_of = units,
                                                                .names = (const char *const *)names,
                                                                .rank_count = ranks,
                                                                .unit_count = count},
                                           uncounted);
    for (size_t u = 0; u < count; u++) gt_free(names[u]);
    gt_free(names);
    gt_free(units);
    gt_free(weights);
    gt_free(receivers);
    return sheet;
}
