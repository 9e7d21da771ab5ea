/* Which kernels of different ranks end together, so that one of them waits for the others?
 *
 *     collectives                        those of nccl_implicit_sync; by group (unnamed.c)
 *     all_to_allv                        if each rank sends something to each other one
 *     a send and the receive of it       the n-th from one rank to another in a process group, on both sides
 *
 * Sends and receives also say which ranks do the same work. A pipeline is a chain of ranks that send to each
 * other, and the ranks at the same place of all pipelines are a stage:
 *
 *     pipelines    0 - 2 - 4 - 6    1 - 3 - 5 - 7
 *     stages       0, 1    2, 3    4, 5    6, 7
 *
 * Only ranks of one stage are compared with each other. In a ring, where all ranks send and receive in the
 * same order, all do the same work. */
#include "findings/ranks/model.h"

#include "schema/columns.h"

/* A send or a receive. */
typedef struct transfer {
    uint32_t from, to, group;
    bool receives;
    int64_t step, start_ns; /* step: GT_NO_STEP if steps have no numbers */
    double megabytes;
    uint32_t row, rank;
} transfer;

typedef struct transfers {
    transfer *items;
    size_t count, capacity;
} transfers;

static int by_edge(const void *a, const void *b)
{
    const transfer *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    if (x->receives != y->receives) return x->receives ? 1 : -1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_group_and_rank(const void *a, const void *b)
{
    const transfer *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int64_t step_of(const gt_rank_facts *facts, const gt_rank_collective *collective)
{
    bool has_number = collective->step >= 0 && (size_t)collective->step < facts->step_number_count;
    return has_number ? facts->step_numbers[collective->step] : GT_NO_STEP;
}

static transfers find_transfers(const gt_model_maker *m)
{
    const gt_table *events = m->input->sync->matches->events;
    const uint32_t *groups = gt_table_column(events, GT_COL_PROCESS_GROUP_NAME)->texts;
    const gt_column *sizes = gt_table_column(events, GT_COL_IN_MSG_SIZE_MB);
    transfers found = {0};
    for (uint32_t r = 0; r < m->input->rank_count; r++) {
        const gt_rank_facts *facts = m->input->facts[r];
        size_t rows = m->first_rows[r + 1] - m->first_rows[r];
        for (size_t i = 0; facts && facts->peers && i < rows && i < facts->collective_count; i++) {
            const gt_rank_collective *c = &facts->collectives[i];
            uint32_t peer = gt_peer_rank(facts->peers[i]), row = (uint32_t)(m->first_rows[r] + i);
            if (peer == GT_NONE || peer == r || c->stream == GT_NONE) continue;
            bool receives = gt_peer_receives(facts->peers[i]);
            transfer new = {.from = receives ? peer : r,
                            .to = receives ? r : peer,
                            .group = groups[row],
                            .receives = receives,
                            .step = step_of(facts, c),
                            .start_ns = c->start_ns,
                            .megabytes = gt_column_number(sizes, row),
                            .row = row,
                            .rank = r};
            GT_PUSH(found.items, found.count, found.capacity, new);
        }
    }
    return found;
}

/* ---- sends and receives that belong together ---- */

static bool is_same_edge(const transfer *a, const transfer *b)
{
    return a->from == b->from && a->to == b->to && a->group == b->group && a->step == b->step;
}

static void add_pair(gt_meetings *meetings, const transfer *send, const transfer *receive)
{
    bool is_first = send->rank < receive->rank;
    GT_PUSH(meetings->rows, meetings->row_count, meetings->row_capacity, is_first ? send->row : receive->row);
    GT_PUSH(meetings->rows, meetings->row_count, meetings->row_capacity, is_first ? receive->row : send->row);
    GT_PUSH(meetings->ends, meetings->count, meetings->capacity, meetings->row_count);
}

/* In each step both sides must have as many of the same sizes: otherwise nobody knows which are missing. */
static void add_pairs(gt_meetings *meetings, transfers *all)
{
    if (all->count) qsort(all->items, all->count, sizeof *all->items, by_edge);
    for (size_t begin = 0, end; begin < all->count; begin = end) {
        size_t sends = 0;
        for (end = begin; end < all->count && is_same_edge(&all->items[begin], &all->items[end]); end++)
            sends += !all->items[end].receives;
        bool are_alike = 2 * sends == end - begin;
        const transfer *from = &all->items[begin], *to = from + sends;
        for (size_t i = 0; are_alike && i < sends; i++) are_alike = from[i].megabytes == to[i].megabytes;
        for (size_t i = 0; are_alike && i < sends; i++) add_pair(meetings, &from[i], &to[i]);
    }
}

/* ---- stages ---- */

static uint32_t top_of(uint32_t *above, uint32_t rank)
{
    while (above[rank] != rank) rank = above[rank] = above[above[rank]];
    return rank;
}

/* Whether all ranks of a group send and receive in the same order; `items` are those of the group. */
static bool is_ring(const transfer *items, size_t count)
{
    size_t first = 0; /* how many the first rank has */
    while (first < count && items[first].rank == items[0].rank) first++;
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && items[end].rank == items[begin].rank;) end++;
        if (end - begin != first) return false;
        for (size_t i = 0; i < first; i++)
            if (items[begin + i].receives != items[i].receives) return false;
    }
    return first < count;
}

/* Joins the ranks of each pipeline. Also those of which there is no trace. */
static bool join_pipelines(transfers *all, uint32_t *above, size_t rank_count)
{
    bool any = false;
    if (all->count) qsort(all->items, all->count, sizeof *all->items, by_group_and_rank);
    for (size_t begin = 0, end; begin < all->count; begin = end) {
        for (end = begin; end < all->count && all->items[end].group == all->items[begin].group;) end++;
        if (is_ring(&all->items[begin], end - begin)) continue;
        for (size_t i = begin; i < end; i++) {
            const transfer *t = &all->items[i];
            if (t->from >= rank_count || t->to >= rank_count) continue;
            above[top_of(above, t->from)] = top_of(above, t->to);
            any = true;
        }
    }
    return any;
}

/* The place of each rank among those of its pipeline, which are numbered along it. Ranks of pipelines that
 * are not as long as most, and those without one, are compared with nobody. */
static void number_stages(gt_rank_model *model, uint32_t *above)
{
    size_t count = model->rank_count;
    uint32_t *lengths = gt_alloc_zero(count + 1, sizeof *lengths),
             *usual = gt_alloc((count + 1) * sizeof *usual);
    size_t known = 0;
    for (uint32_t r = 0; r < count; r++) model->stage_of[r] = lengths[top_of(above, r)]++;
    for (uint32_t r = 0; r < count; r++)
        if (lengths[top_of(above, r)] > 1) usual[known++] = lengths[top_of(above, r)];
    uint32_t length = known ? gt_most_frequent_index(usual, known) : 1;
    model->stage_count = model->pipeline_stages = length;
    for (uint32_t r = 0; r < count; r++)
        if (lengths[top_of(above, r)] != length) model->stage_of[r] = (uint32_t)model->stage_count++;
    gt_free(lengths);
    gt_free(usual);
}

static void find_stages(gt_model_maker *m, transfers *all)
{
    gt_rank_model *model = m->model;
    uint32_t *above = gt_alloc((model->rank_count + 1) * sizeof *above);
    for (uint32_t r = 0; r < model->rank_count; r++) above[r] = r;
    model->stage_of = gt_alloc_zero(model->rank_count + 1, sizeof *model->stage_of);
    model->stage_count = 1;
    if (join_pipelines(all, above, model->rank_count)) number_stages(model, above);
    gt_free(above);
}

/* ---- all of it ---- */

static void add_collective(gt_meetings *meetings, const gt_collective_matches *matches, size_t collective)
{
    for (size_t i = matches->begins[collective]; i < matches->begins[collective + 1]; i++)
        GT_PUSH(meetings->rows, meetings->row_count, meetings->row_capacity, matches->rows[i]);
    GT_PUSH(meetings->ends, meetings->count, meetings->capacity, meetings->row_count);
}

gt_meetings gt_maker_find_meetings(gt_model_maker *m)
{
    const gt_collective_sync *sync = m->input->sync;
    gt_meetings meetings = {0};
    for (size_t i = 0; i < sync->count; i++)
        if (!gt_maker_is_unnamed(m, sync->collectives[i]))
            add_collective(&meetings, sync->matches, sync->collectives[i]);
    gt_maker_add_unnamed(m, &meetings);
    size_t count;
    uint32_t *full = gt_collective_all2allv_full(sync->matches, &count);
    for (size_t i = 0; i < count; i++) add_collective(&meetings, sync->matches, full[i]);
    gt_free(full);
    meetings.collectives = meetings.count;
    transfers all = find_transfers(m);
    add_pairs(&meetings, &all);
    find_stages(m, &all);
    gt_free(all.items);
    return meetings;
}

void gt_meetings_free(gt_meetings *meetings)
{
    gt_free(meetings->ends);
    gt_free(meetings->rows);
}
