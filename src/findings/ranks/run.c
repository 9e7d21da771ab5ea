/* Runs of the model: how long is a step if ranks, nodes or links were repaired? */
#include "findings/ranks/model.h"

#include "base/memory.h"

#include <math.h>

/* ---- runs ---- */

static double repaired_ns(const gt_rank_entry *entry, const gt_rank_repair *repair)
{
    double repaired = 0;
    if (!entry->compared) return 0;
    if (repair->nodes && repair->nodes[repair->node_of[entry->rank]])
        repaired += fmax(0, fmin(entry->late_ns, entry->node_late_ns));
    if (repair->ranks && repair->ranks[entry->rank])
        repaired += fmax(0, entry->late_ns - fmax(0, entry->node_late_ns));
    return repaired;
}

static double start_in_run(const gt_rank_model *model, const gt_rank_entry *entry,
                           const gt_rank_repair *repair, const double *ends)
{
    double ready = entry->base == GT_NONE ? model->begin_ns[entry->rank] + entry->compared_ns
                                          : ends[entry->base] + entry->work_ns;
    double start = ready - repaired_ns(entry, repair);
    if (entry->previous != GT_NONE) start = fmax(start, ends[entry->previous]);
    return start + entry->lag_ns;
}

static double mean_step(const gt_rank_model *model, const double *ends)
{
    double sum = 0;
    size_t count = 0;
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->to[r] == GT_NONE) continue;
        double start = model->from[r] == GT_NONE ? model->begin_ns[r] : ends[model->from[r]];
        sum += (ends[model->to[r]] - start) / model->steps[r];
        count++;
    }
    return count ? sum / (double)count : 0;
}

double gt_rank_model_run(const gt_rank_model *model, const gt_rank_repair *repair, double *blame_ns)
{
    double *ends = gt_alloc(model->count * sizeof *ends);
    for (size_t r = 0; blame_ns && r < model->rank_count; r++) blame_ns[r] = 0;
    for (size_t k = 0; k < model->count; k++) {
        size_t c = model->order[k], last = model->begins[c];
        double latest = -INFINITY, starts = 0;
        gt_memory_poll();
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
            double start = start_in_run(model, &model->entries[i], repair, ends);
            starts += start;
            if (start <= latest) continue;
            latest = start;
            last = i;
        }
        ends[c] = latest + (repair->transfer_ns ? repair->transfer_ns[c] : model->transfer_ns[c]);
        if (blame_ns && model->entries[last].is_measured)
            blame_ns[model->entries[last].rank] +=
                latest * (double)(model->begins[c + 1] - model->begins[c]) - starts;
    }
    double step_ns = mean_step(model, ends);
    gt_free(ends);
    return step_ns;
}

double gt_rank_model_connected(const gt_rank_model *model, const bool *has_rank)
{
    bool *is_touched = gt_alloc_zero(model->rank_count + 1, sizeof *is_touched);
    size_t all = 0, connected = 0;
    for (size_t r = 0; r < model->rank_count; r++)
        if (has_rank[r] && model->component[r] != GT_NONE) is_touched[model->component[r]] = true;
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->to[r] == GT_NONE) continue; /* it has no step (mean_step) */
        all++;
        connected += is_touched[model->component[r]];
    }
    gt_free(is_touched);
    return connected ? (double)connected / (double)all : 1;
}
