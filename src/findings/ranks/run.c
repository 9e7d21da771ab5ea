/* Runs of the model: how long is a step if ranks, nodes or links were repaired?
 *
 * If no collective is of all ranks, a delay reaches some of them a step later than others:
 *
 *     late rank, and those that share a collective with it   |=== step 1 ===|=== step 2 ===|
 *     ranks that wait for these in the next step only        |= step 1 =|=== step 2 ===|
 *
 * So in windows that begin together the mean has too few delays. All ranks are as fast as the slowest in the
 * long run, so what counts is the time from when all have begun their windows until all have ended them. */
#include "findings/ranks/model.h"

#include "base/memory.h"

#include <math.h>

/* A part of the step time. */
static const double LEAST_UNFELT = 0.01;

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

static double window_begin(const gt_rank_model *model, const double *ends, size_t rank)
{
    return model->from[rank] == GT_NONE ? model->begin_ns[rank] : ends[model->from[rank]];
}

static double mean_step(const gt_rank_model *model, const double *ends)
{
    double sum = 0;
    size_t count = 0;
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->to[r] == GT_NONE) continue;
        sum += (ends[model->to[r]] - window_begin(model, ends, r)) / model->steps[r];
        count++;
    }
    return count ? sum / (double)count : 0;
}

/* The windows of ranks that collectives connect. */
typedef struct connected_ranks {
    double begin_ns, end_ns; /* the latest ones */
    double steps, sum_ns;    /* in each window; of window per step */
    size_t count;
    bool differ; /* in their numbers of steps */
} connected_ranks;

/* The mean over ranks of the time from the latest begin of a window to the latest end, of the ranks that are
 * connected. */
static double latest_step(const gt_rank_model *model, const double *ends)
{
    connected_ranks *all = gt_alloc_zero(model->rank_count + 1, sizeof *all);
    double sum = 0;
    size_t count = 0;
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->to[r] == GT_NONE || model->component[r] == GT_NONE) continue;
        connected_ranks *c = &all[model->component[r]];
        double begin = window_begin(model, ends, r), end = ends[model->to[r]];
        c->begin_ns = c->count ? fmax(c->begin_ns, begin) : begin;
        c->end_ns = c->count ? fmax(c->end_ns, end) : end;
        c->differ |= c->count && c->steps != model->steps[r];
        c->steps = model->steps[r];
        c->sum_ns += (end - begin) / model->steps[r];
        c->count++;
    }
    for (size_t i = 0; i < model->rank_count; i++) {
        if (!all[i].count) continue;
        double mean = all[i].sum_ns / (double)all[i].count;
        sum += (double)all[i].count *
               (all[i].differ ? mean : fmax(mean, (all[i].end_ns - all[i].begin_ns) / all[i].steps));
        count += all[i].count;
    }
    gt_free(all);
    return count ? sum / (double)count : 0;
}

/* The ends of all collectives; the caller frees them. */
static double *run_collectives(const gt_rank_model *model, const gt_rank_repair *repair, double *blame_ns)
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
    return ends;
}

double gt_rank_model_run(const gt_rank_model *model, const gt_rank_repair *repair, double *blame_ns)
{
    double *ends = run_collectives(model, repair, blame_ns);
    double step_ns = model->by_latest ? latest_step(model, ends) : mean_step(model, ends);
    gt_free(ends);
    return step_ns;
}

double gt_rank_model_begin(gt_rank_model *model, double *unfelt_ns)
{
    double *ends = run_collectives(model, &(gt_rank_repair){0}, NULL);
    double mean = mean_step(model, ends), latest = model->has_steps ? latest_step(model, ends) : 0;
    gt_free(ends);
    model->by_latest = latest > (1 + LEAST_UNFELT) * mean;
    *unfelt_ns = model->by_latest ? latest - mean : 0;
    return mean + *unfelt_ns;
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
