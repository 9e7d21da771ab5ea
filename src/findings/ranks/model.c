/* Makes the model from the collectives that were matched over the ranks and the facts of each rank: which
 * collectives there are, in which order, and by how much clocks differ. What the work before each waited for
 * is in bases.c, which part of it is measured in windows.c. */
#include "findings/ranks/maker.h"

#include "base/memory.h"
#include "schema/columns.h"

#include <math.h>
#include <stdlib.h>

/* ---- entries ---- */

/* Of a row that becomes an entry if another rank has the collective, too. */
static const uint32_t MARKED = GT_NONE - 1;

/* Rows of nccl_long are in order of ranks. */
static void find_first_rows(gt_model_maker *m)
{
    const gt_table *events = m->input->sync->matches->events;
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    size_t rank = 0;
    for (size_t row = 0; row < events->row_count; row++)
        while (rank <= (size_t)ranks[row] && rank <= m->input->rank_count) m->first_rows[rank++] = row;
    while (rank <= m->input->rank_count) m->first_rows[rank++] = events->row_count;
}

/* Marks the rows of which their ranks have facts: by rank, because those of a rank are together. */
static void mark_rows(gt_model_maker *m)
{
    const gt_table *events = m->input->sync->matches->events;
    m->entry_of_row = gt_alloc(events->row_count * sizeof *m->entry_of_row);
    for (size_t i = 0; i < events->row_count; i++) m->entry_of_row[i] = GT_NONE;
    for (size_t r = 0; r < m->input->rank_count; r++) {
        const gt_rank_facts *facts = m->input->facts[r];
        size_t count = m->first_rows[r + 1] - m->first_rows[r];
        gt_memory_poll_at(r);
        for (size_t i = 0; facts && i < count && i < facts->collective_count; i++)
            if (facts->collectives[i].stream != GT_NONE) m->entry_of_row[m->first_rows[r] + i] = MARKED;
    }
}

static void add_collective(gt_model_maker *m, uint32_t collective)
{
    const gt_collective_matches *matches = m->input->sync->matches;
    gt_rank_model *model = m->model;
    const int64_t *ranks = gt_table_column(matches->events, GT_COL_RANK)->ints;
    size_t begin = model->begins[model->count], at = begin;
    for (size_t i = matches->begins[collective]; i < matches->begins[collective + 1]; i++) {
        uint32_t row = matches->rows[i];
        gt_memory_poll_at(i);
        if (m->entry_of_row[row] == GT_NONE) continue;
        uint32_t rank = (uint32_t)ranks[row];
        model->entries[at] = (gt_rank_entry){.rank = rank,
                                             .number = (uint32_t)(row - m->first_rows[rank]),
                                             .collective = (uint32_t)model->count,
                                             .base = GT_NONE,
                                             .reference = GT_NONE,
                                             .previous = GT_NONE};
        if (at == begin) model->rows[model->count] = row;
        at++;
    }
    if (at - begin < 2) return; /* nobody to wait for */
    for (size_t i = begin; i < at; i++)
        m->entry_of_row[m->first_rows[model->entries[i].rank] + model->entries[i].number] = (uint32_t)i;
    model->count++;
    model->begins[model->count] = at;
}

static void add_entries(gt_model_maker *m)
{
    const gt_collective_sync *sync = m->input->sync;
    gt_rank_model *model = m->model;
    size_t rows = sync->matches->events->row_count;
    model->begins = gt_alloc_zero(sync->count + 1, sizeof *model->begins);
    model->entries = gt_alloc(rows * sizeof *model->entries);
    model->transfer_ns = gt_alloc(sync->count * sizeof *model->transfer_ns);
    model->rows = gt_alloc(sync->count * sizeof *model->rows);
    mark_rows(m);
    for (size_t i = 0; i < sync->count; i++) add_collective(m, sync->collectives[i]);
    for (size_t i = 0; i < rows; i++)
        if (m->entry_of_row[i] == MARKED) m->entry_of_row[i] = GT_NONE;
}

/* ---- the entries of each rank in order of time ---- */

typedef struct place {
    int64_t start_ns;
    uint32_t entry, stream, collective;
} place;

static int by_start(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static void count_in_ranks(gt_rank_model *model)
{
    size_t count = model->begins[model->count];
    model->rank_begins = gt_alloc_zero(model->rank_count + 1, sizeof *model->rank_begins);
    for (size_t i = 0; i < count; i++) {
        gt_memory_poll_at(i);
        model->rank_begins[model->entries[i].rank + 1]++;
    }
    for (size_t r = 0; r < model->rank_count; r++) model->rank_begins[r + 1] += model->rank_begins[r];
    model->rank_entries = gt_alloc(count * sizeof *model->rank_entries);
    model->rank_collectives = gt_alloc(count * sizeof *model->rank_collectives);
}

/* Takes over the facts of a rank, and lists its entries. Returns how many there are. */
static size_t add_facts(gt_model_maker *m, size_t rank, place *places)
{
    const gt_rank_facts *facts = m->input->facts[rank];
    const uint32_t *entry_of_row = &m->entry_of_row[m->first_rows[rank]];
    size_t rows = m->first_rows[rank + 1] - m->first_rows[rank], count = 0;
    for (uint32_t i = 0; facts && i < rows && i < facts->collective_count; i++) {
        if (entry_of_row[i] == GT_NONE) continue;
        const gt_rank_collective *c = &facts->collectives[i];
        gt_rank_entry *entry = &m->model->entries[entry_of_row[i]];
        entry->ready_ns = c->ready_ns;
        entry->start_ns = c->start_ns;
        entry->end_ns = c->end_ns;
        entry->exposed_ns = c->exposed_ns;
        entry->base = c->base; /* of the rank's; see gt_maker_choose_bases */
        entry->step = c->step;
        entry->in_window = c->in_window;
        places[count++] = (place){c->start_ns, entry_of_row[i], c->stream, entry->collective};
    }
    return count;
}

/* The collective before each on its stream; `last` is by stream. */
static uint32_t *find_previous(gt_rank_model *model, const place *places, size_t count, uint32_t *last,
                               size_t *capacity)
{
    for (size_t i = 0; i < *capacity; i++) last[i] = GT_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t stream = places[i].stream;
        if (stream >= *capacity) {
            size_t before = *capacity;
            last = gt_grow(last, capacity, (size_t)stream + 1, sizeof *last);
            for (size_t k = before; k < *capacity; k++) last[k] = GT_NONE;
        }
        model->entries[places[i].entry].previous = last[stream];
        last[stream] = places[i].collective;
    }
    return last;
}

static void order_in_ranks(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    size_t most = 0, capacity = 0;
    uint32_t *last = NULL;
    count_in_ranks(model);
    for (size_t r = 0; r < model->rank_count; r++)
        if (gt_rank_entry_count(model, r) > most) most = gt_rank_entry_count(model, r);
    place *places = gt_alloc((most + 1) * sizeof *places);
    for (size_t r = 0; r < model->rank_count; r++) {
        gt_memory_poll();
        size_t count = add_facts(m, r, places);
        if (count) qsort(places, count, sizeof *places, by_start);
        for (size_t i = 0; i < count; i++) {
            size_t at = model->rank_begins[r] + i;
            model->rank_entries[at] = places[i].entry;
            model->rank_collectives[at] = places[i].collective;
            model->entries[places[i].entry].place = (uint32_t)at;
        }
        last = find_previous(model, places, count, last, &capacity);
    }
    gt_free(places);
    gt_free(last);
}

static void find_transfers(gt_rank_model *model)
{
    for (size_t c = 0; c < model->count; c++) {
        double shortest = INFINITY;
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
            gt_memory_poll_at(i);
            shortest = fmin(shortest, gt_rank_entry_dur(&model->entries[i]));
        }
        model->transfer_ns[c] = shortest;
    }
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
        gt_memory_poll_at(r);
        next[r] = model->rank_begins[r];
        if (next[r] < model->rank_begins[r + 1]) waiting[model->rank_collectives[next[r]]]++;
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
            gt_memory_poll_at(i);
            uint32_t rank = model->entries[i].rank;
            size_t end = model->rank_begins[rank + 1];
            bool moved = false;
            while (next[rank] < end && done[model->rank_collectives[next[rank]]]) {
                next[rank]++;
                moved = true;
            }
            if (!moved || next[rank] == end) continue;
            uint32_t ahead = model->rank_collectives[next[rank]];
            if (++waiting[ahead] == model->begins[ahead + 1] - model->begins[ahead])
                model->order[count++] = ahead;
        }
    }
    gt_free(next);
    gt_free(waiting);
    gt_free(done);
}

/* ---- one clock ---- */

/* Shortens the path. */
uint32_t gt_maker_leader(gt_model_maker *m, uint32_t rank, double *offset)
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
static void align_clocks(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    m->leaders = gt_alloc(model->rank_count * sizeof *m->leaders);
    m->offsets_ns = gt_alloc_zero(model->rank_count, sizeof *m->offsets_ns);
    for (size_t r = 0; r < model->rank_count; r++) m->leaders[r] = (uint32_t)r;
    for (size_t k = 0; k < model->count; k++) {
        size_t c = model->order[k];
        const gt_rank_entry *first = &model->entries[model->begins[c]];
        double first_end = (double)first->end_ns, first_offset;
        for (size_t i = model->begins[c] + 1; i < model->begins[c + 1]; i++) {
            double offset;
            gt_memory_poll_at(i);
            uint32_t top = gt_maker_leader(m, first->rank, &first_offset);
            uint32_t other = gt_maker_leader(m, model->entries[i].rank, &offset);
            if (other == top) continue;
            double end = (double)model->entries[i].end_ns;
            m->leaders[other] = top;
            m->offsets_ns[other] = first_end + first_offset - end - offset;
        }
    }
}

static void find_components(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    double unused;
    model->component = gt_alloc((model->rank_count + 1) * sizeof *model->component);
    for (uint32_t r = 0; r < model->rank_count; r++)
        model->component[r] =
            model->rank_begins[r] == model->rank_begins[r + 1] ? GT_NONE : gt_maker_leader(m, r, &unused);
}

/* ---- all of it ---- */

gt_rank_model *gt_rank_model_new(const gt_ranks_input *input)
{
    gt_rank_model *model = gt_alloc_zero(1, sizeof *model);
    model->rank_count = input->rank_count;
    gt_model_maker m = {.input = input, .model = model};
    m.first_rows = gt_alloc((input->rank_count + 1) * sizeof *m.first_rows);
    find_first_rows(&m);
    add_entries(&m);
    order_in_ranks(&m);
    find_transfers(model);
    order_collectives(model);
    uint32_t *places = gt_alloc(model->count * sizeof *places); /* by collective: its place in the order */
    for (size_t i = 0; i < model->count; i++) places[model->order[i]] = (uint32_t)i;
    align_clocks(&m);
    gt_maker_choose_bases(&m, places);
    gt_maker_find_windows(&m);
    gt_maker_find_classes(&m);
    find_components(&m);
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
    gt_free(model->component);
    gt_free(model->class_of);
    gt_free(model->class_begins);
    gt_free(model->class_entries);
    gt_free(model->rank_begins);
    gt_free(model->rank_entries);
    gt_free(model->rank_collectives);
    gt_free(model->tail_ns);
    gt_free(model->begin_ns);
    gt_free(model->ends);
    gt_free(model->end_of);
    gt_free(model->steps);
    gt_free(model->from);
    gt_free(model->to);
    gt_free(model);
}
