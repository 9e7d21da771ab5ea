/* Does one stage of a pipeline take longer than the others?
 *
 * In a pipeline, every stage waits for the slowest one, micro-batch after micro-batch. Ranks of one stage do
 * the same work, so nobody of them is late (suspects.c): stages are compared with each other here. The
 * kernels of the longest stage tell why it is longer:
 *
 *     more kernels than in other stages           uneven_stages: the layers are split unevenly
 *     as many, of which each takes longer         slow_stage: its GPUs are slow
 *
 * The run is repeated with works that are shorter or longer by the factor that makes stages equal; in the
 * first case, with the collectives of a stage, too, because layers bring them along. That a stage waits for
 * the others at the begin and the end of a step, the bubble of the schedule, is in both runs. */
#include "findings/ranks/find.h"

/* Of the mean of the stages, and of the step. */
static const double LEAST_LONGER = 0.03, LEAST_SHOWN = 0.005;

typedef struct stages {
    size_t count, longest;
    double *compute_ns; /* per step, by stage */
    uint32_t *rank;     /* by stage: the rank whose computation is the median */
    double mean_ns;     /* of all of them */
    double others_ns;   /* of all but the longest */
} stages;

static void free_stages(stages *all)
{
    gt_free(all->compute_ns);
    gt_free(all->rank);
}

/* False if a stage has no rank. */
static bool measure_stage(const gt_late_search *s, size_t stage, double *values, stages *all)
{
    const gt_rank_summary *ranks = s->found->ranks;
    size_t count = 0;
    for (size_t r = 0; r < s->found->rank_count; r++)
        if (ranks[r].known && s->model->stage_of[r] == stage) values[count++] = ranks[r].facts->compute_ns;
    if (!count) return false;
    all->compute_ns[stage] = gt_rank_median(values, count);
    for (uint32_t r = 0; r < s->found->rank_count; r++)
        if (ranks[r].known && s->model->stage_of[r] == stage &&
            ranks[r].facts->compute_ns == all->compute_ns[stage])
            all->rank[stage] = r;
    return true;
}

static bool measure_stages(const gt_late_search *s, stages *all)
{
    size_t count = s->model->pipeline_stages;
    double *values = gt_alloc((s->found->rank_count + 1) * sizeof *values), sum = 0;
    *all = (stages){.count = count,
                    .compute_ns = gt_alloc((count + 1) * sizeof *all->compute_ns),
                    .rank = gt_alloc((count + 1) * sizeof *all->rank)};
    bool known = count > 1;
    for (size_t i = 0; known && i < count; i++) {
        known = measure_stage(s, i, values, all);
        if (!known) break;
        sum += all->compute_ns[i];
        if (all->compute_ns[i] > all->compute_ns[all->longest]) all->longest = i;
    }
    if (known) {
        all->mean_ns = sum / (double)count;
        all->others_ns = (sum - all->compute_ns[all->longest]) / (double)(count - 1);
    }
    gt_free(values);
    return known;
}

/* By how much the kernels of the longest stage take longer than as many would take in the others. */
static double longer_kernels_ns(const gt_late_search *s, const stages *all)
{
    const gt_rank_facts *own = s->found->ranks[all->rank[all->longest]].facts;
    double longer = 0;
    for (size_t k = 0; k < own->kernel_count; k++) {
        const char *name = gt_rank_text(own, own->kernels[k].kernel);
        double ns = 0, count = 0;
        for (size_t i = 0; i < all->count; i++) {
            const gt_rank_facts *other = s->found->ranks[all->rank[i]].facts;
            for (size_t j = 0; i != all->longest && j < other->kernel_count; j++) {
                if (strcmp(gt_rank_text(other, other->kernels[j].kernel), name) != 0) continue;
                ns += other->kernels[j].ns;
                count += other->kernels[j].count;
            }
        }
        if (count > 0) longer += own->kernels[k].ns - own->kernels[k].count * ns / count;
    }
    return longer;
}

/* What a repair changes, by rank and by collective of the model. */
static void make_repair(const gt_late_search *s, const stages *all, bool is_slow, double longer_ns,
                        double *work_factor, double *transfer_ns)
{
    const gt_rank_model *model = s->model;
    for (size_t r = 0; r < model->rank_count; r++) {
        size_t stage = model->stage_of[r];
        work_factor[r] = 1;
        if (stage >= all->count) continue;
        if (!is_slow)
            work_factor[r] = all->mean_ns / all->compute_ns[stage];
        else if (stage == all->longest)
            work_factor[r] = 1 - longer_ns / all->compute_ns[stage];
    }
    for (size_t c = 0; c < model->count; c++) {
        transfer_ns[c] = s->transfer_ns ? s->transfer_ns[c] : model->transfer_ns[c];
        if (!is_slow && gt_rank_is_of_stage(model, c))
            transfer_ns[c] *= work_factor[model->entries[model->begins[c]].rank];
    }
}

static void add_finding(gt_late_search *s, const stages *all, bool is_slow, double longer_ns, double gain_ns,
                        double alone_ns)
{
    gt_rank_findings *found = s->found;
    bool *has_rank = gt_alloc_zero(found->rank_count + 1, sizeof *has_rank);
    for (size_t r = 0; r < found->rank_count; r++)
        has_rank[r] = found->ranks[r].known && s->model->stage_of[r] == all->longest;
    char *list = gt_rank_list(found, has_rank);
    double own_ms = all->compute_ns[all->longest] / 1e6;
    gt_buffer evidence = {0};
    gt_buffer_add_format(&evidence, "computation per %s by stage:", found->per);
    for (size_t i = 0; i < all->count; i++)
        gt_buffer_add_format(&evidence, "%s %.2f", i ? "," : "", all->compute_ns[i] / 1e6);
    gt_buffer_add_format(&evidence, " ms");
    gt_buffer_add_format(&evidence,
                         is_slow ? "; as many kernels take %.2f ms longer than in the other stages"
                                 : "; kernels that take longer than in other stages are %.2f ms of it",
                         fmax(0, longer_ns) / 1e6);
    gt_run_finding finding = {
        .id = gt_strdup(is_slow ? "slow_stage" : "uneven_stages"),
        .title =
            gt_format("stage %zu of the pipeline (ranks %s) computes %.2f ms per %s, the others %.2f ms: %s",
                      all->longest, list, own_ms, found->per, all->others_ns / 1e6,
                      is_slow ? "its kernels take longer" : "it has more to do"),
        .ranks = list,
        .evidence = gt_buffer_take(&evidence),
        .advice = gt_strdup(is_slow ? "Check clocks, power limits and temperatures of the GPUs of this stage."
                                    : "Move layers from this stage to the others; embedding and output layer "
                                      "count as layers."),
        .confidence = GT_CONFIDENCE_HIGH,
        .is_gpu = true,
        .is_of_ranks = true,
        .gain_ns = gain_ns,
        .alone_ns = alone_ns,
    };
    gt_add_run_finding(found, finding);
    gt_free(has_rank);
}

void gt_search_stages(gt_late_search *s)
{
    stages all;
    bool known = measure_stages(s, &all);
    double own_ns = known ? all.compute_ns[all.longest] : 0;
    if (known && own_ns >= (1 + LEAST_LONGER) * all.mean_ns) {
        double longer_ns = longer_kernels_ns(s, &all);
        bool is_slow = longer_ns > (own_ns - all.others_ns) / 2;
        double *factors = gt_alloc((s->model->rank_count + 1) * sizeof *factors);
        double *transfers = gt_alloc((s->model->count + 1) * sizeof *transfers);
        make_repair(s, &all, is_slow, longer_ns, factors, transfers);
        gt_rank_repair before = {s->repaired_ranks, s->repaired_nodes, s->node_of, s->transfer_ns,
                                 s->work_factor};
        gt_rank_repair after = before, alone = {.transfer_ns = transfers, .work_factor = factors};
        after.transfer_ns = transfers;
        after.work_factor = factors;
        double gain_ns =
            gt_rank_model_run(s->model, &before, NULL) - gt_rank_model_run(s->model, &after, NULL);
        double alone_ns = s->model_ns - gt_rank_model_run(s->model, &alone, NULL);
        if (gain_ns >= LEAST_SHOWN * s->found->step_ns) {
            add_finding(s, &all, is_slow, longer_ns, gain_ns, fmax(0, alone_ns));
            s->work_factor = factors;
            s->stage_transfer_ns = transfers;
        } else {
            gt_free(factors);
            gt_free(transfers);
        }
    }
    free_stages(&all);
}
