/* Makes the model from the collectives that were matched over the ranks and the facts of each rank: which
 * collectives there are, in which order, by how much clocks differ, what the work before each waited for, and
 * which collectives are at the same place of the program. Which part of them is measured is in run.c. */
#include "findings/ranks/model.h"

#include "schema/columns.h"

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
        for (size_t i = 0; facts && i < count && i < facts->collective_count; i++)
            if (facts->collectives[i].stream != GT_NONE) m->entry_of_row[m->first_rows[r] + i] = MARKED;
    }
}

static void add_collective(gt_model_maker *m, const uint32_t *rows, size_t count, bool is_pair)
{
    gt_rank_model *model = m->model;
    const int64_t *ranks = gt_table_column(m->input->sync->matches->events, GT_COL_RANK)->ints;
    size_t begin = model->begins[model->count], at = begin;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
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
    if (at - begin < 2) return; /* no other rank to wait for */
    for (size_t i = begin; i < at; i++)
        m->entry_of_row[m->first_rows[model->entries[i].rank] + model->entries[i].number] = (uint32_t)i;
    model->is_pair[model->count] = is_pair;
    model->count++;
    model->begins[model->count] = at;
}

static void add_entries(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    size_t rows = m->input->sync->matches->events->row_count;
    gt_meetings meetings = gt_maker_find_meetings(m);
    model->begins = gt_alloc_zero(meetings.count + 1, sizeof *model->begins);
    model->entries = gt_alloc(rows * sizeof *model->entries);
    model->transfer_ns = gt_alloc(meetings.count * sizeof *model->transfer_ns);
    model->rows = gt_alloc(meetings.count * sizeof *model->rows);
    model->is_pair = gt_alloc(meetings.count * sizeof *model->is_pair);
    mark_rows(m);
    for (size_t i = 0; i < meetings.count; i++) {
        size_t begin = i ? meetings.ends[i - 1] : 0;
        add_collective(m, &meetings.rows[begin], meetings.ends[i] - begin, i >= meetings.collectives);
    }
    gt_meetings_free(&meetings);
    for (size_t i = 0; i < rows; i++)
        if (m->entry_of_row[i] == MARKED) m->entry_of_row[i] = GT_NONE;
}

/* ---- the entries of each rank in order of time ---- */

typedef struct timed_entry {
    int64_t start_ns;
    uint32_t entry, stream, collective;
} timed_entry;

static int by_start(const void *a, const void *b)
{
    const timed_entry *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static void count_in_ranks(gt_rank_model *model)
{
    size_t count = model->begins[model->count];
    model->rank_begins = gt_alloc_zero(model->rank_count + 1, sizeof *model->rank_begins);
    for (size_t i = 0; i < count; i++) model->rank_begins[model->entries[i].rank + 1]++;
    for (size_t r = 0; r < model->rank_count; r++) model->rank_begins[r + 1] += model->rank_begins[r];
    model->rank_entries = gt_alloc(count * sizeof *model->rank_entries);
    model->rank_collectives = gt_alloc(count * sizeof *model->rank_collectives);
}

/* Takes over the facts of a rank, and lists its entries. Returns how many there are. */
static size_t add_facts(gt_model_maker *m, size_t rank, timed_entry *places)
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
        entry->base = c->base; /* of the rank's; see choose_bases */
        entry->step = c->step;
        entry->in_window = c->in_window;
        places[count++] = (timed_entry){c->start_ns, entry_of_row[i], c->stream, entry->collective};
    }
    return count;
}

/* The collective before each on its stream; `last` is by stream. */
static uint32_t *find_previous(gt_rank_model *model, const timed_entry *places, size_t count, uint32_t *last,
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
    timed_entry *places = gt_alloc((most + 1) * sizeof *places);
    for (size_t r = 0; r < model->rank_count; r++) {
        size_t count = add_facts(m, r, places);
        if (count) qsort(places, count, sizeof *places, by_start);
        for (size_t i = 0; i < count; i++) {
            size_t at = model->rank_begins[r] + i;
            model->rank_entries[at] = places[i].entry;
            model->rank_collectives[at] = places[i].collective;
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
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++)
            shortest = fmin(shortest, gt_rank_entry_dur(&model->entries[i]));
        model->transfer_ns[c] = shortest;
    }
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

/* Ranks leave a collective at the same time. The first one that two ranks share decides; sends and receives
 * only connect ranks that no collective connects. */
static void align_by(gt_model_maker *m, bool pairs)
{
    gt_rank_model *model = m->model;
    for (size_t c = 0; c < model->count; c++) {
        if (model->is_pair[c] != pairs) continue;
        const gt_rank_entry *first = &model->entries[model->begins[c]];
        double first_end = (double)first->end_ns, first_offset;
        for (size_t i = model->begins[c] + 1; i < model->begins[c + 1]; i++) {
            double offset;
            uint32_t top = gt_maker_leader(m, first->rank, &first_offset);
            uint32_t other = gt_maker_leader(m, model->entries[i].rank, &offset);
            if (other == top) continue;
            double end = (double)model->entries[i].end_ns;
            m->leaders[other] = top;
            m->offsets_ns[other] = first_end + first_offset - end - offset;
        }
    }
}

static void align_clocks(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    m->leaders = gt_alloc(model->rank_count * sizeof *m->leaders);
    m->offsets_ns = gt_alloc_zero(model->rank_count, sizeof *m->offsets_ns);
    for (size_t r = 0; r < model->rank_count; r++) m->leaders[r] = (uint32_t)r;
    align_by(m, false);
    align_by(m, true);
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

/* ---- in which order collectives can be run ---- */

/* A collective and when it ended, on the common clock. */
typedef struct ended {
    double ns;
    uint32_t collective;
} ended;

static int by_end(const void *a, const void *b)
{
    const ended *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return (x->collective > y->collective) - (x->collective < y->collective);
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

/* One that is to be run once what its entries wait for has been. */
typedef struct pending {
    uint32_t collective;
    size_t next; /* the half entry that is looked at next: what is before it on its stream, or its base */
} pending;

/* What a half entry waits for; GT_NONE: nothing. */
static uint32_t awaited(const gt_model_maker *m, size_t half)
{
    const gt_rank_entry *entry = &m->model->entries[half / 2];
    return half % 2 ? entry->previous : gt_maker_base(m, entry->rank, entry->base);
}

/* In order of their ends, but each after those that it waits for: clocks are not exact. */
static void order_collectives(gt_model_maker *m)
{
    enum { NEW, PENDING, DONE };
    gt_rank_model *model = m->model;
    ended *ends = gt_alloc((model->count + 1) * sizeof *ends);
    pending *stack = gt_alloc((model->count + 1) * sizeof *stack);
    uint8_t *states = gt_alloc_zero(model->count + 1, sizeof *states);
    size_t done = 0, depth = 0;
    model->order = gt_alloc(model->count * sizeof *model->order);
    for (size_t c = 0; c < model->count; c++) {
        ends[c] = (ended){.collective = (uint32_t)c};
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
            double offset;
            gt_maker_leader(m, model->entries[i].rank, &offset);
            ends[c].ns += ((double)model->entries[i].end_ns + offset) /
                          (double)(model->begins[c + 1] - model->begins[c]);
        }
    }
    if (model->count) qsort(ends, model->count, sizeof *ends, by_end);
    for (size_t k = 0; k < model->count; k++) {
        uint32_t c = ends[k].collective;
        if (states[c] == NEW) stack[depth++] = (pending){c, 2 * model->begins[c]};
        while (depth) {
            pending *top = &stack[depth - 1];
            states[top->collective] = PENDING;
            if (top->next == 2 * model->begins[top->collective + 1]) {
                states[top->collective] = DONE;
                model->order[done++] = top->collective;
                depth--;
                continue;
            }
            uint32_t first = awaited(m, top->next++);
            if (first != GT_NONE && states[first] == NEW)
                stack[depth++] = (pending){first, 2 * model->begins[first]};
        }
    }
    gt_free(ends);
    gt_free(stack);
    gt_free(states);
}

/* ---- bases ---- */

/* What did the work before a collective wait for? Each rank's trace says it for its own collectives
 * (facts.c); here the ranks are put together, because chance can deceive one of them. */

/* Ops that begin so much earlier than a collective ends may be inexact times of the profiler. */
static const double CHANCE_NS = 20e3;

bool gt_rank_is_of_stage(const gt_rank_model *model, size_t collective)
{
    uint32_t stage = model->stage_of[model->entries[model->begins[collective]].rank];
    for (size_t i = model->begins[collective] + 1; i < model->begins[collective + 1]; i++)
        if (model->stage_of[model->entries[i].rank] != stage) return false;
    return !model->is_pair[collective];
}

const gt_rank_entry *gt_rank_entry_of(const gt_rank_model *model, uint32_t collective, uint32_t rank)
{
    size_t low;
    GT_BISECT(low, model->begins[collective], model->begins[collective + 1], model->entries[low].rank < rank);
    bool found = low < model->begins[collective + 1] && model->entries[low].rank == rank;
    return found ? &model->entries[low] : NULL;
}

uint32_t gt_most_frequent_index(uint32_t *indexes, size_t count)
{
    uint32_t best = GT_NONE;
    size_t most = 0;
    qsort(indexes, count, sizeof *indexes, gt_by_u32); /* GT_NONE comes last */
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
 * own, and so do all ranks of a collective of several stages. */
static void choose_bases(gt_model_maker *m, const uint32_t *places)
{
    gt_rank_model *model = m->model;
    uint32_t *bases = gt_alloc((model->rank_count + 1) * sizeof *bases);
    uint32_t *chosen = gt_alloc((model->count + 1) * sizeof *chosen); /* by collective */
    for (size_t k = 0; k < model->count; k++) {
        size_t c = model->order[k], begin = model->begins[c], count = model->begins[c + 1] - begin;
        for (size_t i = 0; i < count; i++) {
            gt_rank_entry *entry = &model->entries[begin + i];
            bases[i] = gt_maker_base(m, entry->rank, entry->base);
            entry->base = entry->reference = bases[i];
        }
        bool alike = gt_rank_is_of_stage(model, c);
        uint32_t usual = alike ? gt_most_frequent_index(bases, count) : GT_NONE;
        while (usual != GT_NONE && places[usual] < places[c] && is_impossible(model, c, usual))
            usual = chosen[usual];
        /* Runs go through collectives in order; only where ranks contradict each other does a base come
         * later. */
        if (usual != GT_NONE && places[usual] >= places[c]) usual = GT_NONE;
        chosen[c] = usual;
        for (size_t i = begin; i < begin + count; i++) {
            gt_rank_entry *entry = &model->entries[i];
            uint32_t own = entry->base;
            if (alike && (usual == GT_NONE || gt_rank_entry_of(model, usual, entry->rank)))
                entry->base = entry->reference = usual;
            if (own == GT_NONE || (entry->base != GT_NONE && places[own] < places[entry->base]))
                entry->base = base_of_late(model, chosen, places, entry, own);
            if (entry->base != GT_NONE && places[entry->base] >= places[c]) entry->base = GT_NONE;
            if (entry->base == GT_NONE) entry->reference = GT_NONE;
            if (entry->previous != GT_NONE && places[entry->previous] >= places[c]) entry->previous = GT_NONE;
        }
    }
    gt_free(bases);
    gt_free(chosen);
}

/* ---- classes ---- */

/* Which collectives are at the same place of the program?
 *
 * Ranks run the same program, but not all in one process group. With tensor parallelism, each pair of ranks
 * has its own collectives:
 *
 *     ranks 0, 1    all-reduce of pair 0    all-reduce of pair 0
 *     ranks 2, 3    all-reduce of pair 1    all-reduce of pair 1
 *     class         0                       1
 *
 * If both ranks of a pair are slow, neither is later than the other; only another pair shows that. So works
 * are compared over all collectives of a class: those of groups that are the same one of their ranks' groups,
 * in order of their first use, at the same position in the group, with as many ranks and as much data. Of
 * these, only ranks of one stage of a pipeline do the same work. */

/* By collective: which one of the groups of its first rank is it? */
static uint32_t *find_ordinals(const gt_rank_model *model, const uint32_t *groups, const int64_t *ranks)
{
    uint32_t *ordinals = gt_alloc_zero(model->count + 1, sizeof *ordinals);
    for (size_t r = 0; r < model->rank_count; r++) {
        gt_map seen = {0};
        for (size_t i = model->rank_begins[r]; i < model->rank_begins[r + 1]; i++) {
            uint32_t collective = model->rank_collectives[i], row = model->rows[collective];
            uint32_t *ordinal = gt_map_put(&seen, groups[row], 0);
            if (*ordinal == GT_MAP_NONE) *ordinal = (uint32_t)seen.count - 1;
            if (ranks[row] == (int64_t)r) ordinals[collective] = *ordinal;
        }
        gt_map_free(&seen);
    }
    return ordinals;
}

static uint32_t id_of(gt_map *map, uint64_t a, uint64_t b)
{
    uint32_t *id = gt_map_put(map, a, b);
    if (*id == GT_MAP_NONE) *id = (uint32_t)map->count - 1;
    return *id;
}

/* Entries by class and stage: those of collectives in order. */
static void list_peers(gt_rank_model *model)
{
    size_t count = model->begins[model->count];
    uint32_t *list_of = gt_alloc((count + 1) * sizeof *list_of);
    gt_map lists = {0};
    for (size_t i = 0; i < count; i++) {
        const gt_rank_entry *entry = &model->entries[i];
        list_of[i] = id_of(&lists, model->class_of[entry->collective], model->stage_of[entry->rank]);
    }
    model->peers_count = lists.count;
    size_t *begins = gt_alloc_zero(lists.count + 2, sizeof *begins);
    for (size_t i = 0; i < count; i++) begins[list_of[i] + 2]++;
    for (size_t i = 2; i < lists.count + 2; i++) begins[i] += begins[i - 1];
    model->peers = gt_alloc((count + 1) * sizeof *model->peers);
    for (size_t i = 0; i < count; i++) model->peers[begins[list_of[i] + 1]++] = (uint32_t)i;
    model->peers_begins = begins;
    gt_map_free(&lists);
    gt_free(list_of);
}

static void find_classes(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    const gt_table *events = m->input->sync->matches->events;
    const uint32_t *groups = gt_table_column(events, GT_COL_PROCESS_GROUP_NAME)->texts;
    const uint32_t *names = gt_table_column(events, GT_COL_COLLECTIVE_NAME)->texts;
    const int64_t *positions = gt_table_column(events, GT_COL_INDEX_IN_GROUP)->ints;
    const gt_column *sizes = gt_table_column(events, GT_COL_IN_MSG_SIZE_MB);
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    uint32_t *ordinals = find_ordinals(model, groups, ranks);
    gt_map kinds = {0}, places = {0}, classes = {0};
    model->class_of = gt_alloc((model->count + 1) * sizeof *model->class_of);
    for (size_t c = 0; c < model->count; c++) {
        uint32_t row = model->rows[c];
        double bytes = gt_column_number(sizes, row) * 1048576;
        uint32_t kind = id_of(&kinds, names[row], bytes >= 0 && bytes < 1e18 ? (uint64_t)bytes : 0);
        uint32_t place = id_of(&places, (uint64_t)positions[row], ordinals[c]);
        uint64_t stage = gt_rank_is_of_stage(model, c) ? model->stage_of[ranks[row]] + 1 : 0;
        model->class_of[c] = id_of(&classes, (uint64_t)kind << 32 | place,
                                   stage << 32 | (model->begins[c + 1] - model->begins[c]));
    }
    model->class_count = classes.count;
    list_peers(model);
    gt_free(ordinals);
    gt_map_free(&kinds);
    gt_map_free(&places);
    gt_map_free(&classes);
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
    align_clocks(&m);
    order_collectives(&m);
    uint32_t *places = gt_alloc(model->count * sizeof *places); /* by collective: its place in the order */
    for (size_t i = 0; i < model->count; i++) places[model->order[i]] = (uint32_t)i;
    choose_bases(&m, places);
    gt_maker_find_windows(&m);
    find_classes(&m);
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
    gt_free(model->peers_begins);
    gt_free(model->peers);
    gt_free(model->is_pair);
    gt_free(model->stage_of);
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
