/* From which collective to which one is a rank measured, and how long is the work before each? The comment
 * of model.h shows why the window that is run is not that of the trace. */
#include "findings/ranks/maker.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* The base of the op that ends the window, or the last collective in the window. */
static uint32_t end_base(const gt_model_maker *m, gt_rank_walk *walk, uint32_t rank)
{
    const gt_rank_facts *facts = m->input->facts[rank];
    const gt_rank_entry *entries = gt_rank_walk_to(walk, rank);
    uint32_t base = GT_NONE;
    if (facts->end_base < facts->collective_count) base = gt_maker_base(m, rank, facts->end_base);
    for (size_t i = gt_rank_entry_count(m->model, rank); base == GT_NONE && i-- > 0;)
        if (entries[i].in_window) base = entries[i].collective;
    return base;
}

/* As in gt_maker_choose_bases; but traces can have different numbers of steps. */
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
        gt_memory_poll_at(r);
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
    gt_rank_walk walk = gt_rank_walk_begin(model);
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
        model->to[r] = end_base(m, &walk, (uint32_t)r);
    }
    gt_rank_walk_end(&walk);
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
static void find_from(const gt_model_maker *m, gt_rank_model *model, size_t rank,
                      const gt_rank_entry *entries)
{
    if (model->to[rank] == GT_NONE || !m->input->facts[rank]->has_steps) return;
    size_t to = place_of(model, rank, model->to[rank]), before = 0, seen = 0;
    int32_t step = entries[to].step;
    for (size_t i = to; i > 0 && entries[i - 1].step == step; i--) before++;
    double first = (double)step - model->steps[rank];
    if (step < 0 || first < 0) return;
    for (size_t i = 0; i < to; i++)
        if ((double)entries[i].step == first && seen++ == before) model->from[rank] = entries[i].collective;
}

/* What is in the window that is run: after `from` and not after `to`. */
static void find_measured(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    gt_rank_walk walk = gt_rank_walk_begin(model);
    for (size_t r = 0; r < model->rank_count; r++) {
        if (!gt_rank_entry_count(model, r)) continue;
        const gt_rank_entry *entries = gt_rank_walk_to(&walk, r);
        find_from(m, model, r, entries);
        size_t to = model->from[r] == GT_NONE ? SIZE_MAX : place_of(model, r, model->to[r]);
        int64_t start = to == SIZE_MAX ? 0 : entries[place_of(model, r, model->from[r])].end_ns;
        for (size_t i = 0; i < gt_rank_entry_count(model, r); i++)
            model->entries[model->rank_entries[model->rank_begins[r] + i]].is_measured =
                to == SIZE_MAX ? entries[i].in_window : i <= to && entries[i].ready_ns >= start;
    }
    gt_rank_walk_end(&walk);
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
        gt_memory_poll_at(i);
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
