/* Makes the model from the collectives that were matched over the ranks and the facts of each rank. */
#include "findings/ranks/model.h"

#include "base/memory.h"
#include "schema/columns.h"

#include <math.h>
#include <stdlib.h>

/* Ops that begin so much earlier than a collective ends may be inexact times of the profiler. */
static const double CHANCE_NS = 20e3;

/* What is needed only while the model is made. */
typedef struct maker {
    const gt_ranks_input *input;
    gt_rank_model *model;
    size_t *first_rows;     /* by rank: its first row of nccl_long; rank_count + 1 */
    uint32_t *entry_of_row; /* by row of nccl_long; GT_NONE */
    uint32_t *leaders;      /* by rank: a rank whose clock this one's is known in, or itself */
    double *offsets_ns;     /* by rank: its clock + this = the clock of its leader */
} maker;

static const gt_rank_collective *facts_of(const maker *m, const gt_rank_entry *entry)
{
    return &m->input->facts[entry->rank]->collectives[entry->number];
}

/* ---- entries ---- */

/* Rows of nccl_long are in order of ranks. */
static void find_first_rows(maker *m)
{
    const gt_table *events = m->input->sync->matches->events;
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    size_t rank = 0;
    for (size_t row = 0; row < events->row_count; row++)
        while (rank <= (size_t)ranks[row] && rank <= m->input->rank_count) m->first_rows[rank++] = row;
    while (rank <= m->input->rank_count) m->first_rows[rank++] = events->row_count;
}

/* The number of a row among its rank's, if the rank has facts of it. */
static bool has_facts(const maker *m, uint32_t row, int64_t rank, uint32_t *number)
{
    if (rank < 0 || (size_t)rank >= m->input->rank_count || !m->input->facts[rank]) return false;
    const gt_rank_facts *facts = m->input->facts[rank];
    *number = (uint32_t)(row - m->first_rows[rank]);
    return *number < facts->collective_count && facts->collectives[*number].stream != GT_NONE;
}

static void add_collective(maker *m, uint32_t collective)
{
    const gt_collective_matches *matches = m->input->sync->matches;
    gt_rank_model *model = m->model;
    const int64_t *ranks = gt_table_column(matches->events, GT_COL_RANK)->ints;
    size_t begin = model->begins[model->count], at = begin;
    double shortest = INFINITY;
    for (size_t i = matches->begins[collective]; i < matches->begins[collective + 1]; i++) {
        uint32_t row = matches->rows[i], number;
        if (!has_facts(m, row, ranks[row], &number)) continue;
        gt_rank_entry *entry = &model->entries[at];
        *entry = (gt_rank_entry){.rank = (uint32_t)ranks[row],
                                 .number = number,
                                 .collective = (uint32_t)model->count,
                                 .base = GT_NONE,
                                 .reference = GT_NONE,
                                 .previous = GT_NONE};
        const gt_rank_collective *c = facts_of(m, entry);
        entry->dur_ns = (double)(c->end_ns - c->start_ns);
        entry->step = c->step;
        entry->in_window = c->in_window;
        shortest = fmin(shortest, entry->dur_ns);
        if (at == begin) model->rows[model->count] = row;
        at++;
    }
    if (at - begin < 2) return; /* nobody to wait for */
    for (size_t i = begin; i < at; i++)
        m->entry_of_row[m->first_rows[model->entries[i].rank] + model->entries[i].number] = (uint32_t)i;
    model->transfer_ns[model->count++] = shortest;
    model->begins[model->count] = at;
}

static void add_entries(maker *m)
{
    const gt_collective_sync *sync = m->input->sync;
    const gt_collective_matches *matches = sync->matches;
    gt_rank_model *model = m->model;
    size_t rows = matches->events->row_count;
    model->begins = gt_alloc_zero(sync->count + 1, sizeof *model->begins);
    model->entries = gt_alloc(rows * sizeof *model->entries);
    model->transfer_ns = gt_alloc(sync->count * sizeof *model->transfer_ns);
    model->rows = gt_alloc(sync->count * sizeof *model->rows);
    m->entry_of_row = gt_alloc(rows * sizeof *m->entry_of_row);
    for (size_t i = 0; i < rows; i++) m->entry_of_row[i] = GT_NONE;
    for (size_t i = 0; i < sync->count; i++) add_collective(m, sync->collectives[i]);
}

/* ---- the entries of each rank in order of time ---- */

typedef struct place {
    int64_t start_ns;
    uint32_t entry;
} place;

static int by_start(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static void order_in_ranks(maker *m)
{
    gt_rank_model *model = m->model;
    size_t count = model->begins[model->count];
    size_t *begins = gt_alloc_zero(model->rank_count + 2, sizeof *begins);
    for (size_t i = 0; i < count; i++) begins[model->entries[i].rank + 2]++;
    for (size_t r = 2; r < model->rank_count + 2; r++) begins[r] += begins[r - 1];
    place *places = gt_alloc(count * sizeof *places);
    for (size_t i = 0; i < count; i++)
        places[begins[model->entries[i].rank + 1]++] =
            (place){facts_of(m, &model->entries[i])->start_ns, (uint32_t)i};
    model->rank_begins = begins;
    model->rank_entries = gt_alloc(count * sizeof *model->rank_entries);
    for (size_t r = 0; r < model->rank_count; r++)
        if (begins[r + 1] > begins[r])
            qsort(places + begins[r], begins[r + 1] - begins[r], sizeof *places, by_start);
    for (size_t i = 0; i < count; i++) model->rank_entries[i] = places[i].entry;
    gt_free(places);
}

/* The collective before each on its stream. */
static void find_previous(maker *m)
{
    gt_rank_model *model = m->model;
    uint32_t *last = NULL; /* by stream */
    size_t capacity = 0;
    for (size_t r = 0; r < model->rank_count; r++) {
        for (size_t i = 0; i < capacity; i++) last[i] = GT_NONE;
        for (size_t i = model->rank_begins[r]; i < model->rank_begins[r + 1]; i++) {
            gt_rank_entry *entry = &model->entries[model->rank_entries[i]];
            uint32_t stream = facts_of(m, entry)->stream;
            if (stream >= capacity) {
                size_t before = capacity;
                last = gt_grow(last, &capacity, (size_t)stream + 1, sizeof *last);
                for (size_t k = before; k < capacity; k++) last[k] = GT_NONE;
            }
            entry->previous = last[stream];
            last[stream] = entry->collective;
        }
    }
    gt_free(last);
}

/* ---- in which order collectives can be run ---- */

/* A collective can be run when it is the next one of all its ranks. If ranks contradict each other, the first
 * one that is left is run. */
static void order_collectives(gt_rank_model *model)
{
    size_t *next = gt_alloc((model->rank_count + 1) * sizeof *next);
    size_t *waiting = gt_alloc_zero(model->count, sizeof *waiting); /* ranks whose next one it is */
    bool *done = gt_alloc_zero(model->count, sizeof *done);
    size_t count = 0, run = 0, first_left = 0;
    model->order = gt_alloc(model->count * sizeof *model->order);
    for (size_t r = 0; r < model->rank_count; r++) {
        next[r] = model->rank_begins[r];
        if (next[r] < model->rank_begins[r + 1])
            waiting[model->entries[model->rank_entries[next[r]]].collective]++;
    }
    for (size_t c = 0; c < model->count; c++)
        if (waiting[c] == model->begins[c + 1] - model->begins[c]) model->order[count++] = (uint32_t)c;
    while (run < model->count) {
        if (run == count) {
            while (done[first_left]) first_left++;
            model->order[count++] = (uint32_t)first_left;
        }
        uint32_t c = model->order[run++];
        done[c] = true;
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
            uint32_t rank = model->entries[i].rank;
            size_t end = model->rank_begins[rank + 1];
            bool moved = false;
            while (next[rank] < end && done[model->entries[model->rank_entries[next[rank]]].collective]) {
                next[rank]++;
                moved = true;
            }
            if (!moved || next[rank] == end) continue;
            uint32_t ahead = model->entries[model->rank_entries[next[rank]]].collective;
            if (++waiting[ahead] == model->begins[ahead + 1] - model->begins[ahead])
                model->order[count++] = ahead;
        }
    }
    gt_free(next);
    gt_free(waiting);
    gt_free(done);
}

/* ---- one clock ---- */

/* The leader of a rank; *offset becomes what its clock differs from the leader's. Shortens the path. */
static uint32_t leader_of(maker *m, uint32_t rank, double *offset)
{
    uint32_t top = rank;
    double sum = 0;
    while (m->leaders[top] != top) {
        sum += m->offsets_ns[top];
        top = m->leaders[top];
    }
    *offset = sum;
    while (m->leaders[rank] != top && rank != top) {
        uint32_t above = m->leaders[rank];
        double own = m->offsets_ns[rank];
        m->leaders[rank] = top;
        m->offsets_ns[rank] = sum;
        sum -= own;
        rank = above;
    }
    return top;
}

/* Ranks leave a collective at the same time. The first collective that two ranks share decides. */
static void align_clocks(maker *m)
{
    gt_rank_model *model = m->model;
    m->leaders = gt_alloc(model->rank_count * sizeof *m->leaders);
    m->offsets_ns = gt_alloc_zero(model->rank_count, sizeof *m->offsets_ns);
    for (size_t r = 0; r < model->rank_count; r++) m->leaders[r] = (uint32_t)r;
    for (size_t k = 0; k < model->count; k++) {
        size_t c = model->order[k];
        const gt_rank_entry *first = &model->entries[model->begins[c]];
        double first_end = (double)facts_of(m, first)->end_ns, first_offset;
        for (size_t i = model->begins[c] + 1; i < model->begins[c + 1]; i++) {
            double offset;
            uint32_t top = leader_of(m, first->rank, &first_offset);
            uint32_t other = leader_of(m, model->entries[i].rank, &offset);
            if (other == top) continue;
            double end = (double)facts_of(m, &model->entries[i])->end_ns;
            m->leaders[other] = top;
            m->offsets_ns[other] = first_end + first_offset - end - offset;
        }
    }
}

/* ---- bases and work ---- */

static int compare_indexes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* A base of a rank as a collective of the model; one that is not in the model has a base in turn. */
static uint32_t base_in_model(const maker *m, uint32_t rank, uint32_t number)
{
    const gt_rank_facts *facts = m->input->facts[rank];
    while (number != GT_NONE) { /* each starts before the last one (facts.c) */
        uint32_t found = m->entry_of_row[m->first_rows[rank] + number];
        if (found != GT_NONE) return m->model->entries[found].collective;
        number = facts->collectives[number].base;
    }
    return GT_NONE;
}

static const gt_rank_entry *entry_of(const gt_rank_model *model, uint32_t collective, uint32_t rank)
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

/* The most frequent one, of equally frequent ones the latest; GT_NONE only if more than half have none. */
static uint32_t most_frequent(uint32_t *indexes, size_t count)
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
static bool is_impossible(const maker *m, size_t c, uint32_t base)
{
    const gt_rank_model *model = m->model;
    size_t compared = 0, earlier = 0;
    for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
        const gt_rank_entry *entry = &model->entries[i], *from = entry_of(model, base, entry->rank);
        if (!from) continue;
        compared++;
        earlier += (double)facts_of(m, entry)->ready_ns < (double)facts_of(m, from)->end_ns - CHANCE_NS;
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
        const gt_rank_entry *here = entry_of(model, base, entry->rank);
        const gt_rank_entry *before =
            chosen[base] == GT_NONE ? NULL : entry_of(model, chosen[base], entry->rank);
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
static void choose_bases(maker *m, const uint32_t *places)
{
    gt_rank_model *model = m->model;
    uint32_t *bases = gt_alloc((model->rank_count + 1) * sizeof *bases);
    uint32_t *chosen = gt_alloc((model->count + 1) * sizeof *chosen); /* by collective */
    for (size_t k = 0; k < model->count; k++) {
        size_t c = model->order[k], begin = model->begins[c], count = model->begins[c + 1] - begin;
        for (size_t i = 0; i < count; i++) {
            gt_rank_entry *entry = &model->entries[begin + i];
            bases[i] = base_in_model(m, entry->rank, facts_of(m, entry)->base);
            entry->base = entry->reference = bases[i];
        }
        uint32_t usual = most_frequent(bases, count);
        while (usual != GT_NONE && places[usual] < places[c] && is_impossible(m, c, usual))
            usual = chosen[usual];
        chosen[c] = usual;
        for (size_t i = begin; i < begin + count; i++) {
            gt_rank_entry *entry = &model->entries[i];
            uint32_t own = entry->base;
            if (usual == GT_NONE || entry_of(model, usual, entry->rank))
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

/* ---- windows ---- */

/* The base of the op that ends the window, or the last collective in the window. */
static uint32_t end_base(const maker *m, uint32_t rank)
{
    const gt_rank_model *model = m->model;
    const gt_rank_facts *facts = m->input->facts[rank];
    uint32_t base = GT_NONE;
    if (facts->end_base < facts->collective_count) base = base_in_model(m, rank, facts->end_base);
    for (size_t i = model->rank_begins[rank + 1]; base == GT_NONE && i > model->rank_begins[rank]; i--) {
        const gt_rank_entry *entry = &model->entries[model->rank_entries[i - 1]];
        if (entry->in_window) base = entry->collective;
    }
    return base;
}

/* As in choose_bases; but traces can have different numbers of steps. */
static void choose_end_bases(maker *m)
{
    gt_rank_model *model = m->model;
    uint32_t *bases = gt_alloc((model->rank_count + 1) * sizeof *bases);
    size_t count = 0;
    for (size_t r = 0; r < model->rank_count; r++)
        if (model->to[r] != GT_NONE) bases[count++] = model->to[r];
    uint32_t usual = most_frequent(bases, count);
    double usual_steps = 0;
    for (size_t r = 0; r < model->rank_count; r++)
        if (model->to[r] == usual && usual != GT_NONE) usual_steps = model->steps[r];
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->to[r] == GT_NONE) continue;
        const gt_rank_entry *own = entry_of(model, model->to[r], (uint32_t)r);
        const gt_rank_entry *other = entry_of(model, usual, (uint32_t)r);
        /* A rank that never waits for others has a base that is older than theirs. */
        bool is_last = other && (other->step == own->step || model->steps[r] == usual_steps);
        if (is_last && other->in_window) own = other;
        model->to[r] = own->collective;
        model->tail_ns[r] = m->input->facts[r]->end_ns - (double)facts_of(m, own)->end_ns;
    }
    gt_free(bases);
}

static void find_ends(maker *m)
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
    size_t i = model->rank_begins[rank];
    while (i < model->rank_begins[rank + 1] &&
           model->entries[model->rank_entries[i]].collective != collective)
        i++;
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
static void find_from(const maker *m, gt_rank_model *model, size_t rank)
{
    if (model->to[rank] == GT_NONE || !m->input->facts[rank]->has_steps) return;
    size_t begin = model->rank_begins[rank], to = place_of(model, rank, model->to[rank]), before = 0,
           seen = 0;
    int32_t step = model->entries[model->rank_entries[to]].step;
    for (size_t i = to; i > begin && model->entries[model->rank_entries[i - 1]].step == step; i--) before++;
    double first = (double)step - model->steps[rank];
    if (step < 0 || first < 0) return;
    for (size_t i = begin; i < to; i++) {
        const gt_rank_entry *entry = &model->entries[model->rank_entries[i]];
        if ((double)entry->step == first && seen++ == before) model->from[rank] = entry->collective;
    }
}

/* What is in the window that is run: after `from` and not after `to`. */
static void find_measured(maker *m)
{
    gt_rank_model *model = m->model;
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->rank_begins[r] == model->rank_begins[r + 1]) continue;
        find_from(m, model, r);
        size_t to = model->from[r] == GT_NONE ? SIZE_MAX : place_of(model, r, model->to[r]);
        int64_t start =
            to == SIZE_MAX ? 0 : facts_of(m, entry_of(model, model->from[r], (uint32_t)r))->end_ns;
        for (size_t i = model->rank_begins[r]; i < model->rank_begins[r + 1]; i++) {
            gt_rank_entry *entry = &model->entries[model->rank_entries[i]];
            entry->is_measured =
                to == SIZE_MAX ? entry->in_window : i <= to && facts_of(m, entry)->ready_ns >= start;
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
static void find_starts(maker *m)
{
    gt_rank_model *model = m->model;
    start_of_rank *starts = gt_alloc((model->rank_count + 1) * sizeof *starts);
    size_t count = 0;
    model->start_ns = INFINITY;
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->rank_begins[r] == model->rank_begins[r + 1]) continue;
        double offset;
        leader_of(m, (uint32_t)r, &offset);
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

static void find_work(maker *m)
{
    gt_rank_model *model = m->model;
    for (size_t i = 0; i < model->begins[model->count]; i++) {
        gt_rank_entry *entry = &model->entries[i];
        const gt_rank_collective *c = facts_of(m, entry);
        double from = m->input->facts[entry->rank]->start_ns - model->tail_ns[entry->rank];
        double free_ns = -INFINITY;
        if (entry->base != GT_NONE)
            from = (double)facts_of(m, entry_of(model, entry->base, entry->rank))->end_ns;
        if (entry->previous != GT_NONE)
            free_ns = (double)facts_of(m, entry_of(model, entry->previous, entry->rank))->end_ns;
        entry->work_ns = entry->compared_ns = (double)c->ready_ns - from;
        if (entry->base == GT_NONE) {
            double offset;
            leader_of(m, entry->rank, &offset);
            entry->work_ns = (double)c->ready_ns + offset;
        }
        if (entry->reference != entry->base && entry->reference != GT_NONE)
            entry->compared_ns = (double)c->ready_ns -
                                 (double)facts_of(m, entry_of(model, entry->reference, entry->rank))->end_ns;
        entry->lag_ns = fmax(0, (double)c->start_ns - fmax((double)c->ready_ns, free_ns));
    }
}

/* ---- all of it ---- */

gt_rank_model *gt_rank_model_new(const gt_ranks_input *input)
{
    gt_rank_model *model = gt_alloc_zero(1, sizeof *model);
    model->rank_count = input->rank_count;
    maker m = {.input = input, .model = model};
    m.first_rows = gt_alloc((input->rank_count + 1) * sizeof *m.first_rows);
    find_first_rows(&m);
    add_entries(&m);
    order_in_ranks(&m);
    find_previous(&m);
    order_collectives(model);
    uint32_t *places = gt_alloc(model->count * sizeof *places); /* by collective: its place in the order */
    for (size_t i = 0; i < model->count; i++) places[model->order[i]] = (uint32_t)i;
    align_clocks(&m);
    choose_bases(&m, places);
    find_ends(&m);
    add_ends(model);
    find_measured(&m);
    find_starts(&m);
    find_work(&m);
    gt_free(places);
    gt_free(m.first_rows);
    gt_free(m.entry_of_row);
    gt_free(m.leaders);
    gt_free(m.offsets_ns);
    return model;
}

void gt_rank_model_free(gt_rank_model *model)
{
    gt_free(model->begins);
    gt_free(model->entries);
    gt_free(model->order);
    gt_free(model->transfer_ns);
    gt_free(model->rows);
    gt_free(model->rank_begins);
    gt_free(model->rank_entries);
    gt_free(model->tail_ns);
    gt_free(model->begin_ns);
    gt_free(model->ends);
    gt_free(model->end_of);
    gt_free(model->steps);
    gt_free(model->from);
    gt_free(model->to);
    gt_free(model);
}
