/* Runs of the model: from which collective to which one is a rank measured, how long is a step if ranks,
 * nodes or links were repaired, and are all traces of one run?
 *
 * The comment of model.h shows why the window that is run is not that of the trace.
 *
 * If no collective is of all ranks, a delay reaches some of them a step later than others:
 *
 *     late rank, and those that share a collective with it   |=== step 1 ===|=== step 2 ===|
 *     ranks that wait for these in the next step only        |= step 1 =|=== step 2 ===|
 *
 * So in windows that begin together the mean has too few delays. All ranks are as fast as the slowest in the
 * long run, so what counts is the time from when all have begun their windows until all have ended them. */
#include "findings/ranks/model.h"

/* ---- windows ---- */

/* The base of the op that ends the window, or the last collective in the window. */
static uint32_t end_base(const gt_model_maker *m, uint32_t rank)
{
    const gt_rank_facts *facts = m->input->facts[rank];
    uint32_t base = GT_NONE;
    if (facts->end_base < facts->collective_count) base = gt_maker_base(m, rank, facts->end_base);
    for (size_t i = gt_rank_entry_count(m->model, rank); base == GT_NONE && i-- > 0;)
        if (gt_rank_entry_at(m->model, rank, i)->in_window)
            base = gt_rank_entry_at(m->model, rank, i)->collective;
    return base;
}

/* As in choose_bases of model.c; but traces can have different numbers of steps. */
static void choose_end_bases(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    uint32_t *bases = gt_alloc((model->rank_count + 1) * sizeof *bases);
    size_t count = 0;
    for (size_t r = 0; r < model->rank_count; r++)
        if (model->to[r] != GT_NONE) bases[count++] = model->to[r];
    uint32_t usual = gt_most_frequent_index(bases, count);
    double usual_steps = 0;
    for (size_t r = 0; r < model->rank_count; r++)
        if (model->to[r] == usual && usual != GT_NONE) usual_steps = model->steps[r];
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->to[r] == GT_NONE) continue;
        const gt_rank_entry *own = gt_rank_entry_of(model, model->to[r], (uint32_t)r);
        const gt_rank_entry *other = gt_rank_entry_of(model, usual, (uint32_t)r);
        /* A rank that never waits for others has a base that is older than theirs. */
        bool is_last = other && (other->step == own->step || model->steps[r] == usual_steps);
        if (is_last && other->in_window) own = other;
        model->to[r] = own->collective;
        model->tail_ns[r] = m->input->facts[r]->end_ns - (double)own->end_ns;
    }
    gt_free(bases);
}

static void find_ends(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    size_t ranks = model->rank_count + 1;
    model->steps = gt_alloc(ranks * sizeof *model->steps);
    model->tail_ns = gt_alloc_zero(ranks, sizeof *model->tail_ns);
    model->begin_ns = gt_alloc_zero(ranks, sizeof *model->begin_ns);
    model->from = gt_alloc(ranks * sizeof *model->from);
    model->to = gt_alloc(ranks * sizeof *model->to);
    for (size_t r = 0; r < model->rank_count; r++) {
        const gt_rank_facts *facts = m->input->facts[r];
        model->from[r] = model->to[r] = GT_NONE;
        model->steps[r] = facts && facts->steps ? (double)facts->steps : 1;
        if (model->rank_begins[r] == model->rank_begins[r + 1]) continue;
        model->has_steps |= facts->has_steps;
        model->to[r] = end_base(m, (uint32_t)r);
    }
    choose_end_bases(m);
}

/* The place of a collective among those of its rank. */
static size_t place_of(const gt_rank_model *model, size_t rank, uint32_t collective)
{
    const uint32_t *collectives = &model->rank_collectives[model->rank_begins[rank]];
    size_t i = 0;
    while (i < gt_rank_entry_count(model, rank) && collectives[i] != collective) i++;
    return i;
}

static int by_base(const void *a, const void *b)
{
    const gt_rank_entry *x = a, *y = b;
    if (x->base != y->base) return x->base < y->base ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void add_ends(gt_rank_model *model)
{
    model->ends = gt_alloc((model->rank_count + 1) * sizeof *model->ends);
    model->end_of = gt_alloc((model->rank_count + 1) * sizeof *model->end_of);
    for (size_t r = 0; r < model->rank_count; r++) {
        model->end_of[r] = GT_NONE;
        if (model->to[r] != GT_NONE)
            model->ends[model->end_count++] = (gt_rank_entry){.rank = (uint32_t)r,
                                                              .collective = GT_NONE,
                                                              .base = model->to[r],
                                                              .reference = model->to[r],
                                                              .previous = GT_NONE,
                                                              .in_window = true,
                                                              .work_ns = model->tail_ns[r]};
    }
    if (model->end_count) qsort(model->ends, model->end_count, sizeof *model->ends, by_base);
    for (size_t i = 0; i < model->end_count; i++) model->end_of[model->ends[i].rank] = (uint32_t)i;
}

/* The collective that is to the first step what `to` is to the last one: as many come before it in its step.
 * It is not recorded if it belongs to the step before the trace. */
static void find_from(const gt_model_maker *m, gt_rank_model *model, size_t rank)
{
    if (model->to[rank] == GT_NONE || !m->input->facts[rank]->has_steps) return;
    size_t to = place_of(model, rank, model->to[rank]), before = 0, seen = 0;
    int32_t step = gt_rank_entry_at(model, rank, to)->step;
    for (size_t i = to; i > 0 && gt_rank_entry_at(model, rank, i - 1)->step == step; i--) before++;
    double first = (double)step - model->steps[rank];
    if (step < 0 || first < 0) return;
    for (size_t i = 0; i < to; i++) {
        const gt_rank_entry *entry = gt_rank_entry_at(model, rank, i);
        if ((double)entry->step == first && seen++ == before) model->from[rank] = entry->collective;
    }
}

/* What is in the window that is run: after `from` and not after `to`. */
static void find_measured(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    for (size_t r = 0; r < model->rank_count; r++) {
        if (!gt_rank_entry_count(model, r)) continue;
        find_from(m, model, r);
        size_t to = model->from[r] == GT_NONE ? SIZE_MAX : place_of(model, r, model->to[r]);
        int64_t start =
            to == SIZE_MAX ? 0 : gt_rank_entry_at(model, r, place_of(model, r, model->from[r]))->end_ns;
        for (size_t i = 0; i < gt_rank_entry_count(model, r); i++) {
            gt_rank_entry *entry = gt_rank_entry_at(model, r, i);
            entry->is_measured = to == SIZE_MAX ? entry->in_window : i <= to && entry->ready_ns >= start;
        }
    }
}

typedef struct start_of_rank {
    uint32_t to, rank;
    double ns;
} start_of_rank;

static int by_end(const void *a, const void *b)
{
    const start_of_rank *x = a, *y = b;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Ranks whose windows end after the same collective began them together; they differ in when recording
 * began. */
static void find_starts(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    start_of_rank *starts = gt_alloc((model->rank_count + 1) * sizeof *starts);
    size_t count = 0;
    model->start_ns = INFINITY;
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->rank_begins[r] == model->rank_begins[r + 1]) continue;
        double offset;
        gt_maker_leader(m, (uint32_t)r, &offset);
        double start = m->input->facts[r]->start_ns + offset;
        starts[count++] = (start_of_rank){model->to[r], (uint32_t)r, start - model->tail_ns[r]};
        model->start_ns = fmin(model->start_ns, start);
    }
    if (!isfinite(model->start_ns)) model->start_ns = 0;
    if (count) qsort(starts, count, sizeof *starts, by_end);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && starts[end].to == starts[begin].to;) end++;
        double start = starts[begin + (end - begin - 1) / 2].ns;
        for (size_t i = begin; i < end; i++) model->begin_ns[starts[i].rank] = start;
    }
    gt_free(starts);
}

static double end_of(const gt_rank_model *model, uint32_t collective, uint32_t rank)
{
    return (double)gt_rank_entry_of(model, collective, rank)->end_ns;
}

static void find_work(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    double *starts =
        gt_alloc_zero(model->rank_count + 1, sizeof *starts); /* of windows; facts are far apart */
    for (size_t r = 0; r < model->rank_count; r++)
        if (gt_rank_entry_count(model, r)) starts[r] = m->input->facts[r]->start_ns;
    for (size_t i = 0; i < model->begins[model->count]; i++) {
        gt_rank_entry *entry = &model->entries[i];
        double ready = (double)entry->ready_ns, free_ns = -INFINITY;
        double from = starts[entry->rank] - model->tail_ns[entry->rank];
        if (entry->base != GT_NONE) from = end_of(model, entry->base, entry->rank);
        if (entry->previous != GT_NONE) free_ns = end_of(model, entry->previous, entry->rank);
        entry->work_ns = entry->compared_ns = ready - from;
        if (entry->base == GT_NONE) {
            double offset;
            gt_maker_leader(m, entry->rank, &offset);
            entry->work_ns = ready + offset;
        }
        if (entry->reference != entry->base && entry->reference != GT_NONE)
            entry->compared_ns = ready - end_of(model, entry->reference, entry->rank);
        entry->lag_ns = fmax(0, (double)entry->start_ns - fmax(ready, free_ns));
    }
    gt_free(starts);
}

void gt_maker_find_windows(gt_model_maker *m)
{
    find_ends(m);
    add_ends(m->model);
    find_measured(m);
    find_starts(m);
    find_work(m);
}

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
    double from = entry->base == GT_NONE ? model->begin_ns[entry->rank] : ends[entry->base];
    double work = (entry->base == GT_NONE ? entry->compared_ns : entry->work_ns) - repaired_ns(entry, repair);
    double start = from + (repair->work_factor ? work * repair->work_factor[entry->rank] : work);
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
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
            double start = start_in_run(model, &model->entries[i], repair, ends);
            starts += start;
            if (start <= latest) continue;
            latest = start;
            last = i;
        }
        ends[c] = latest + (repair->transfer_ns ? repair->transfer_ns[c] : model->transfer_ns[c]);
        if (blame_ns && !model->is_pair[c] && model->entries[last].is_measured)
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

/* ---- are the traces of one run? ---- */

/* Ranks leave a collective together, so between two of them the same time passes for all ranks that take part
 * in both. Traces of two runs of one program have the same collectives, but other times pass between them:
 * what would be said about such ranks together is wrong. The ranks that most others agree with count. */

/* Clocks drift by far less than 3 %; in short traces, ranks may leave a collective some 10 us apart. */
#define MOST_DIFFERENCE     0.03
#define LEAST_DIFFERENCE_NS 100e3

static double collectives_of(const gt_rank_model *model, const gt_ranks_input *input, size_t c, size_t entry)
{
    return (double)input->facts[model->entries[model->begins[c] + entry].rank]->collective_count;
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
    if (used) qsort(sorted, used, sizeof *sorted, gt_by_double);
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
    size_t from_k = 0;
    while (from_k < model->count && model->is_pair[model->order[from_k]]) from_k++;
    if (from_k + 1 >= model->count) return false;
    size_t first = model->order[from_k], size = model->begins[first + 1] - model->begins[first],
           k = model->count - 1;
    while (k > from_k && (model->is_pair[model->order[k]] ||
                          model->begins[model->order[k] + 1] - model->begins[model->order[k]] != size))
        k--;
    size_t last = model->order[k];
    double *times = gt_alloc(2 * size * sizeof *times), *sorted = times + size;
    for (size_t i = 0; i < size; i++) sorted[i] = collectives_of(model, input, first, i);
    double usual_count = gt_rank_median(sorted, size);
    for (size_t i = 0; i < size; i++) {
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
