/* Makes the model from the collectives that were matched over the ranks and the facts of each rank. */
#include "findings/ranks/model.h"

#include "base/memory.h"
#include "schema/columns.h"

#include <math.h>
#include <stdlib.h>

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

/* The most frequent one, of equally frequent ones the latest. */
static uint32_t most_frequent(uint32_t *indexes, size_t count)
{
    uint32_t best = GT_NONE;
    size_t most = 0;
    qsort(indexes, count, sizeof *indexes, compare_indexes);
    for (size_t i = 0, first = 0; i < count; i++) {
        if (indexes[i] != indexes[first]) first = i;
        if (i - first + 1 < most || indexes[i] == GT_NONE) continue;
        most = i - first + 1;
        best = indexes[i];
    }
    return best;
}

/* Ranks run the same program, so they have the same base; where one seems to have another, chance decided.
 * Ranks that are not in that collective, because they are in another group, keep their own. */
static void choose_bases(maker *m, const uint32_t *places)
{
    gt_rank_model *model = m->model;
    uint32_t *bases = gt_alloc((model->rank_count + 1) * sizeof *bases);
    for (size_t c = 0; c < model->count; c++) {
        size_t begin = model->begins[c], count = model->begins[c + 1] - begin;
        for (size_t i = 0; i < count; i++) {
            gt_rank_entry *entry = &model->entries[begin + i];
            bases[i] = entry->base = base_in_model(m, entry->rank, facts_of(m, entry)->base);
        }
        uint32_t usual = most_frequent(bases, count);
        for (size_t i = begin; i < begin + count; i++) {
            gt_rank_entry *entry = &model->entries[i];
            if (usual != GT_NONE && entry_of(model, usual, entry->rank)) entry->base = usual;
            /* Runs go through collectives in order; only damaged traces have a base that comes later. */
            if (entry->base != GT_NONE && places[entry->base] >= places[c]) entry->base = GT_NONE;
            if (entry->previous != GT_NONE && places[entry->previous] >= places[c]) entry->previous = GT_NONE;
        }
    }
    gt_free(bases);
}

static void find_work(maker *m)
{
    gt_rank_model *model = m->model;
    for (size_t i = 0; i < model->begins[model->count]; i++) {
        gt_rank_entry *entry = &model->entries[i];
        const gt_rank_collective *c = facts_of(m, entry);
        double from = 0, free_ns = -INFINITY;
        if (entry->base != GT_NONE)
            from = (double)facts_of(m, entry_of(model, entry->base, entry->rank))->end_ns;
        else
            leader_of(m, entry->rank, &from), from = -from;
        if (entry->previous != GT_NONE)
            free_ns = (double)facts_of(m, entry_of(model, entry->previous, entry->rank))->end_ns;
        entry->work_ns = (double)c->ready_ns - from;
        entry->since_start_ns = (double)c->ready_ns - m->input->facts[entry->rank]->start_ns;
        entry->lag_ns = fmax(0, (double)c->start_ns - fmax((double)c->ready_ns, free_ns));
    }
}

/* ---- the ends of windows ---- */

static int by_base(const void *a, const void *b)
{
    const gt_rank_entry *x = a, *y = b;
    if (x->base != y->base) return x->base < y->base ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Its own base, or the last collective in the window. */
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
    for (size_t i = 0; i < model->end_count; i++) bases[i] = model->ends[i].base;
    uint32_t usual = most_frequent(bases, model->end_count);
    for (size_t i = 0; i < model->end_count; i++) {
        gt_rank_entry *end = &model->ends[i];
        const gt_rank_entry *own = entry_of(model, end->base, end->rank);
        const gt_rank_entry *other = entry_of(model, usual, end->rank);
        if (other && other->step == own->step && other->in_window) own = other;
        end->base = own->collective;
        end->work_ns = m->input->facts[end->rank]->end_ns - (double)facts_of(m, own)->end_ns;
    }
    gt_free(bases);
}

static void find_ends(maker *m)
{
    gt_rank_model *model = m->model;
    model->ends = gt_alloc((model->rank_count + 1) * sizeof *model->ends);
    model->end_of = gt_alloc((model->rank_count + 1) * sizeof *model->end_of);
    model->steps = gt_alloc((model->rank_count + 1) * sizeof *model->steps);
    for (size_t r = 0; r < model->rank_count; r++) {
        const gt_rank_facts *facts = m->input->facts[r];
        model->end_of[r] = GT_NONE;
        model->steps[r] = facts && facts->steps ? (double)facts->steps : 1;
        if (model->rank_begins[r] == model->rank_begins[r + 1]) continue;
        model->has_steps |= facts->has_steps;
        gt_rank_entry end = {.rank = (uint32_t)r,
                             .collective = GT_NONE,
                             .base = end_base(m, (uint32_t)r),
                             .previous = GT_NONE,
                             .in_window = true};
        if (end.base != GT_NONE) model->ends[model->end_count++] = end;
    }
    choose_end_bases(m);
    if (model->end_count) qsort(model->ends, model->end_count, sizeof *model->ends, by_base);
    for (size_t i = 0; i < model->end_count; i++) model->end_of[model->ends[i].rank] = (uint32_t)i;
}

static void find_start(maker *m)
{
    gt_rank_model *model = m->model;
    model->start_ns = INFINITY;
    for (size_t r = 0; r < model->rank_count; r++) {
        if (model->rank_begins[r] == model->rank_begins[r + 1]) continue;
        double offset;
        leader_of(m, (uint32_t)r, &offset);
        model->start_ns = fmin(model->start_ns, m->input->facts[r]->start_ns + offset);
    }
    if (!isfinite(model->start_ns)) model->start_ns = 0;
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
    find_work(&m);
    find_ends(&m);
    find_start(&m);
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
    gt_free(model->ends);
    gt_free(model->end_of);
    gt_free(model->steps);
    gt_free(model);
}
