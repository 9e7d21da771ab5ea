/* What did the work before a collective wait for? Each rank's trace says it for its own collectives
 * (facts.c); here the ranks are put together, because chance can deceive one of them. */
#include "findings/ranks/maker.h"

#include "base/memory.h"

#include <stdlib.h>

/* Ops that begin so much earlier than a collective ends may be inexact times of the profiler. */
static const double CHANCE_NS = 20e3;

static int compare_indexes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t gt_maker_base(const gt_model_maker *m, uint32_t rank, uint32_t number)
{
    const gt_rank_facts *facts = m->input->facts[rank];
    while (number != GT_NONE) { /* each starts before the last one (facts.c) */
        uint32_t found = m->entry_of_row[m->first_rows[rank] + number];
        if (found != GT_NONE) return m->model->entries[found].collective;
        number = facts->collectives[number].base;
    }
    return GT_NONE;
}

const gt_rank_entry *gt_rank_entry_of(const gt_rank_model *model, uint32_t collective, uint32_t rank)
{
    size_t low = model->begins[collective], high = model->begins[collective + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->entries[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < model->begins[collective + 1] && model->entries[low].rank == rank;
    return found ? &model->entries[low] : NULL;
}

uint32_t gt_most_frequent_index(uint32_t *indexes, size_t count)
{
    uint32_t best = GT_NONE;
    size_t most = 0;
    qsort(indexes, count, sizeof *indexes, compare_indexes); /* GT_NONE comes last */
    for (size_t i = 0, first = 0; i < count; i++) {
        if (indexes[i] != indexes[first]) first = i;
        size_t least = indexes[i] == GT_NONE ? count / 2 + 1 : most;
        if (i - first + 1 < least) continue;
        most = i - first + 1;
        best = indexes[i];
    }
    return best;
}

/* Whether more than one rank in twenty was ready for the collective before the base had ended: such work did
 * not wait for it. */
static bool is_impossible(const gt_rank_model *model, size_t c, uint32_t base)
{
    size_t compared = 0, earlier = 0;
    for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
        const gt_rank_entry *entry = &model->entries[i], *from = gt_rank_entry_of(model, base, entry->rank);
        gt_memory_poll_at(i);
        if (!from) continue;
        compared++;
        earlier += (double)entry->ready_ns < (double)from->end_ns - CHANCE_NS;
    }
    return earlier * 20 > compared;
}

/* A late rank does not wait for a collective for which the others wait because of it:
 *
 *     others   |coll 1|== work ==|  wait  |coll 2|== work ==|ready
 *     rank     |coll 1|== longer work ===========|== work ==========|ready
 *
 * Its own base is older, so what it is late after coll 2 is what it was late before. Only the host brings all
 * ranks together at the end of a step, so the base is looked for in the step of the usual one. */
static uint32_t base_of_late(const gt_rank_model *model, const uint32_t *chosen, const uint32_t *places,
                             const gt_rank_entry *entry, uint32_t own)
{
    uint32_t base = entry->base;
    while (base != GT_NONE && places[base] < places[entry->collective]) {
        const gt_rank_entry *here = gt_rank_entry_of(model, base, entry->rank);
        const gt_rank_entry *before =
            chosen[base] == GT_NONE ? NULL : gt_rank_entry_of(model, chosen[base], entry->rank);
        if (!here || !before || before->step != here->step || here->step < 0) break;
        if (own != GT_NONE && places[own] >= places[base]) break;
        base = chosen[base];
    }
    return base;
}

/* Ranks run the same program, so they have the same base; where one seems to have another, chance decided: an
 * op began just when a collective ended. A base for which ranks did not wait is chance, too: then it is that
 * of the supposed base. Ranks that are not in that collective, because they are in another group, keep their
 * own. */
void gt_maker_choose_bases(gt_model_maker *m, const uint32_t *places)
{
    gt_rank_model *model = m->model;
    uint32_t *bases = gt_alloc((model->rank_count + 1) * sizeof *bases);
    uint32_t *chosen = gt_alloc((model->count + 1) * sizeof *chosen); /* by collective */
    for (size_t k = 0; k < model->count; k++) {
        size_t c = model->order[k], begin = model->begins[c], count = model->begins[c + 1] - begin;
        for (size_t i = 0; i < count; i++) {
            gt_rank_entry *entry = &model->entries[begin + i];
            gt_memory_poll_at(i);
            bases[i] = gt_maker_base(m, entry->rank, entry->base);
            entry->base = entry->reference = bases[i];
        }
        uint32_t usual = gt_most_frequent_index(bases, count);
        while (usual != GT_NONE && places[usual] < places[c] && is_impossible(model, c, usual))
            usual = chosen[usual];
        chosen[c] = usual;
        for (size_t i = begin; i < begin + count; i++) {
            gt_rank_entry *entry = &model->entries[i];
            gt_memory_poll_at(i);
            uint32_t own = entry->base;
            if (usual == GT_NONE || gt_rank_entry_of(model, usual, entry->rank))
                entry->base = entry->reference = usual;
            if (own == GT_NONE || (entry->base != GT_NONE && places[own] < places[entry->base]))
                entry->base = base_of_late(model, chosen, places, entry, own);
            /* Runs go through collectives in order; only damaged traces have a base that comes later. */
            if (entry->base != GT_NONE && places[entry->base] >= places[c]) entry->base = GT_NONE;
            if (entry->base == GT_NONE) entry->reference = GT_NONE;
            if (entry->previous != GT_NONE && places[entry->previous] >= places[c]) entry->previous = GT_NONE;
        }
    }
    gt_free(bases);
    gt_free(chosen);
}
