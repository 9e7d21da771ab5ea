/* clock_offsets: by how much do the clocks of ranks differ, and how well is that known?
 *
 * Ranks leave a collective together, so the difference between the ends of one collective in two traces is
 * the difference of the clocks, and some microseconds by which one rank left earlier than the other:
 *
 *     rank 0, its clock    |== allreduce ==|1000.0      |== allreduce ==|2000.0
 *     rank 1, its clock     |= allreduce ==|1312.4       |= allreduce ==|2311.8      differences 312.4, 311.8
 *
 * Only collectives that no rank leaves before all have come are used (sync.c). In each process group the
 * ranks are compared with one of them, its leader, which has most collectives:
 *
 *     offset   the median of the differences: a few collectives that are matched wrongly change nothing
 *     error    how far the differences are from the offset: all of them, or the middle 90 % of LEAST_TRIMMED
 *              and more; then LEAVING_US, because a rank that always leaves later than another one looks like
 *              a clock that is ahead; then the resolution of the times
 *     drift    from the first third of the collectives to the last third, if the medians of these differ by
 *              more than their errors; differences are then taken from the line
 *
 * The error does not shrink with the number of collectives, because ranks that differ in how late they leave
 * shift the median by a part of that scatter. For independent differences whose median is the offset, the
 * range of n of them holds the offset with a probability of 1 - 2^(1 - n); it is doubled if there are fewer
 * than ENOUGH. Of fewer than FEW, only causality is used: no rank ends a collective before all have begun it.
 *
 * Ranks of different groups are compared through ranks that are in both: of all ways through the graph of
 * ranks and groups, the one with the smallest sum of errors counts. The reference is the lowest rank of those
 * that are connected. */
#include "findings/ranks/across.h"

#include "schema/columns.h"
#include "table/stats.h"

static const double LEAVING_US = 1, MOST_DRIFT = 100e-6;
enum { FEW = 6, ENOUGH = 21, LEAST_TRIMMED = 30, LEAST_FOR_DRIFT = 9 };

/* The end of one collective on a rank, compared with the leader of the group. */
typedef struct difference {
    double at_us; /* on the leader's clock */
    double us;
    uint32_t rank;
} difference;

/* What the clock of a rank differs from that of the leader of a group. */
typedef struct membership {
    uint32_t rank, group;
    double at_us, us; /* the offset at a time of the leader's clock, in the middle of the collectives */
    double drift;     /* 0: none is seen */
    double error_us;  /* within half_us of at_us */
    double half_us;
    double drift_error;
    double least_us, most_us; /* by causality */
    size_t used;
} membership;

typedef struct graph {
    const gt_collective_sync *sync;
    const gt_column *starts, *durations;
    const int64_t *ranks;
    size_t rank_count, group_count;
    uint32_t *group_of; /* by collective of sync */
    size_t *begins;     /* by group: its collectives are in_groups[begins[group] ...] */
    uint32_t *in_groups;
    uint32_t *leaders; /* by group; GT_NONE: it has no rank twice */
    membership *members;
    size_t count, capacity;
    size_t
        *node_begins; /* by node (ranks, then groups): its memberships are of_node[node_begins[node] ...] */
    uint32_t *of_node;
    double resolution_us;
} graph;

/* ---- groups ---- */

static size_t first_of(const graph *g, uint32_t collective)
{
    return g->sync->matches->begins[g->sync->collectives[collective]];
}

static size_t end_of(const graph *g, uint32_t collective)
{
    return g->sync->matches->begins[g->sync->collectives[collective] + 1];
}

static void find_groups(graph *g)
{
    const gt_collective_matches *matches = g->sync->matches;
    const uint32_t *names = gt_table_column(matches->events, GT_COL_PROCESS_GROUP_NAME)->texts;
    gt_map places = {0};
    g->group_of = gt_alloc(g->sync->count * sizeof *g->group_of);
    for (uint32_t c = 0; c < g->sync->count; c++) {
        uint32_t *place = gt_map_put(&places, names[matches->rows[first_of(g, c)]], 0);
        if (*place == GT_MAP_NONE) *place = (uint32_t)g->group_count++;
        g->group_of[c] = *place;
    }
    gt_map_free(&places);
    g->begins = gt_alloc_zero(g->group_count + 2, sizeof *g->begins);
    g->in_groups = gt_alloc(g->sync->count * sizeof *g->in_groups);
    for (uint32_t c = 0; c < g->sync->count; c++) g->begins[g->group_of[c] + 2]++;
    for (size_t i = 2; i < g->group_count + 2; i++) g->begins[i] += g->begins[i - 1];
    for (uint32_t c = 0; c < g->sync->count; c++) g->in_groups[g->begins[g->group_of[c] + 1]++] = c;
}

/* The rank with most collectives that others have, too; of several, the lowest. `counts` is 0 for all ranks,
 * before and after. */
static uint32_t find_leader(const graph *g, size_t group, size_t *counts)
{
    const uint32_t *rows = g->sync->matches->rows;
    uint32_t leader = GT_NONE;
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = g->begins[group]; i < g->begins[group + 1]; i++) {
            size_t first = first_of(g, g->in_groups[i]), end = end_of(g, g->in_groups[i]);
            for (size_t k = first; end - first > 1 && k < end; k++) {
                uint32_t rank = (uint32_t)g->ranks[rows[k]];
                if (pass == 0)
                    counts[rank]++;
                else if (pass == 2)
                    counts[rank] = 0;
                else if (leader == GT_NONE || counts[rank] > counts[leader] ||
                         (counts[rank] == counts[leader] && rank < leader))
                    leader = rank;
            }
        }
    return leader;
}

/* ---- two clocks ---- */

GT_ORDER_BY(by_time, difference, GT_UP(at_us) GT_UP(us))

/* Of n independent values, this many on either side can be dropped, and the rest holds the median of their
 * distribution with a probability of 1 - 10^-6: 4.9 standard deviations of a binomial distribution. */
static size_t not_needed(size_t n)
{
    double count = floor((double)n / 2 - 2.45 * sqrt((double)n));
    return count > 0 ? (size_t)count : 0;
}

/* The median of the values, which it sorts, and how far they scatter around it. */
static double middle_of(double *values, size_t count, size_t trimmed, double *scatter)
{
    qsort(values, count, sizeof *values, gt_by_double);
    double median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    *scatter = fmax(median - values[trimmed], values[count - 1 - trimmed] - median);
    if (count < ENOUGH) *scatter *= 2;
    return median;
}

static double middle_time(const difference *list, size_t count)
{
    return (list[(count - 1) / 2].at_us + list[count / 2].at_us) / 2; /* they are in order of time */
}

/* From the first to the last third; 0 if that is not more than they scatter around the line. */
static double find_drift(const difference *list, size_t count, double *values, double *error)
{
    size_t third = count / 3;
    double medians[2], scatter[2], times[2];
    *error = MOST_DRIFT;
    if (count < LEAST_FOR_DRIFT) return 0;
    const difference *parts[] = {list, list + count - third};
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < third; k++) values[k] = parts[i][k].us;
        medians[i] = gt_median_in_place(values, third);
        times[i] = middle_time(parts[i], third);
    }
    double change = medians[1] - medians[0], apart = times[1] - times[0];
    if (!(apart > 0)) return 0;
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < third; k++)
            values[k] = parts[i][k].us - change / apart * (parts[i][k].at_us - times[i]);
        middle_of(values, third, not_needed(third), &scatter[i]);
    }
    double doubt = scatter[0] + scatter[1] + 2 * LEAVING_US;
    *error = fmin(MOST_DRIFT, doubt / apart);
    return fabs(change) > doubt ? change / apart : 0;
}

static void fit(const graph *g, membership *m, const difference *list, size_t count, double *values)
{
    double scatter;
    m->used = count;
    m->at_us = (list[0].at_us + list[count - 1].at_us) / 2;
    m->half_us = list[count - 1].at_us - m->at_us;
    m->drift = find_drift(list, count, values, &m->drift_error);
    for (size_t i = 0; i < count; i++) values[i] = list[i].us - m->drift * (list[i].at_us - m->at_us);
    m->us = middle_of(values, count, count < LEAST_TRIMMED ? 0 : count / 20, &scatter);
    if (count < FEW) scatter = fmax(fabs(m->us - m->least_us), fabs(m->most_us - m->us));
    m->error_us = scatter + LEAVING_US + g->resolution_us;
}

/* ---- the members of a group ---- */

typedef struct space {
    difference *list, *sorted;
    size_t count, capacity, sorted_capacity;
    double *least_us, *most_us; /* by rank */
    size_t *counts;             /* by rank: 0 between uses */
} space;

/* Compares the ranks of a collective with the leader, if that has it. */
static void add_differences(const graph *g, uint32_t collective, uint32_t leader, space *s)
{
    const uint32_t *rows = g->sync->matches->rows;
    size_t first = first_of(g, collective), end = end_of(g, collective), at = first;
    while (at < end && g->ranks[rows[at]] != leader) at++;
    if (at == end) return;
    double start = gt_column_number(g->starts, rows[at]);
    double stop = start + gt_column_number(g->durations, rows[at]);
    for (size_t k = first; k < end; k++) {
        uint32_t rank = (uint32_t)g->ranks[rows[k]];
        double own_start = gt_column_number(g->starts, rows[k]);
        double own_stop = own_start + gt_column_number(g->durations, rows[k]);
        if (rank == leader || !isfinite(own_stop - stop)) continue;
        difference new = {stop, own_stop - stop, rank};
        GT_PUSH(s->list, s->count, s->capacity, new);
        s->least_us[rank] = fmax(s->least_us[rank], own_start - stop);
        s->most_us[rank] = fmin(s->most_us[rank], own_stop - start);
    }
}

/* By rank, then by time: those of a rank are few, and sorting them needs little memory. */
static const difference *sort_differences(const graph *g, space *s)
{
    s->sorted = gt_grow(s->sorted, &s->sorted_capacity, s->count, sizeof *s->sorted);
    for (size_t i = 0; i < s->count; i++) s->counts[s->list[i].rank]++;
    for (size_t r = 0, begin = 0; r < g->rank_count; r++) {
        size_t count = s->counts[r];
        s->counts[r] = begin;
        begin += count;
    }
    for (size_t i = 0; i < s->count; i++) s->sorted[s->counts[s->list[i].rank]++] = s->list[i];
    for (size_t r = 0, begin = 0; r < g->rank_count; r++) {
        if (s->counts[r] > begin + 1)
            qsort(s->sorted + begin, s->counts[r] - begin, sizeof *s->sorted, by_time);
        begin = s->counts[r];
    }
    for (size_t r = 0; r < g->rank_count; r++) s->counts[r] = 0;
    return s->sorted;
}

static void add_members(graph *g, uint32_t group, space *s)
{
    uint32_t leader = g->leaders[group] = find_leader(g, group, s->counts);
    if (leader == GT_NONE) return;
    s->count = 0;
    for (size_t i = g->begins[group]; i < g->begins[group + 1]; i++)
        add_differences(g, g->in_groups[i], leader, s);
    if (!s->count) return;
    const difference *list = sort_differences(g, s);
    double *values = gt_alloc(s->count * sizeof *values);
    membership own = {.rank = leader, .group = group};
    GT_PUSH(g->members, g->count, g->capacity, own);
    for (size_t begin = 0, end; begin < s->count; begin = end) {
        uint32_t rank = list[begin].rank;
        for (end = begin; end < s->count && list[end].rank == rank;) end++;
        membership m = {
            .rank = rank, .group = group, .least_us = s->least_us[rank], .most_us = s->most_us[rank]};
        fit(g, &m, list + begin, end - begin, values);
        GT_PUSH(g->members, g->count, g->capacity, m);
        s->least_us[rank] = -INFINITY;
        s->most_us[rank] = INFINITY;
    }
    gt_free(values);
}

static void find_members(graph *g)
{
    space s = {.counts = gt_alloc_zero(g->rank_count, sizeof *s.counts),
               .least_us = gt_alloc(g->rank_count * sizeof *s.least_us),
               .most_us = gt_alloc(g->rank_count * sizeof *s.most_us)};
    for (size_t r = 0; r < g->rank_count; r++) {
        s.least_us[r] = -INFINITY;
        s.most_us[r] = INFINITY;
    }
    g->leaders = gt_alloc(g->group_count * sizeof *g->leaders);
    for (uint32_t group = 0; group < g->group_count; group++) add_members(g, group, &s);
    gt_free_all(s.list, s.sorted, s.counts, s.least_us, s.most_us);
    size_t nodes = g->rank_count + g->group_count;
    g->node_begins = gt_alloc_zero(nodes + 2, sizeof *g->node_begins);
    g->of_node = gt_alloc(2 * g->count * sizeof *g->of_node);
    for (size_t i = 0; i < g->count; i++) {
        g->node_begins[g->members[i].rank + 2]++;
        g->node_begins[g->rank_count + g->members[i].group + 2]++;
    }
    for (size_t i = 2; i < nodes + 2; i++) g->node_begins[i] += g->node_begins[i - 1];
    for (size_t i = 0; i < g->count; i++) {
        g->of_node[g->node_begins[g->members[i].rank + 1]++] = (uint32_t)i;
        g->of_node[g->node_begins[g->rank_count + g->members[i].group + 1]++] = (uint32_t)i;
    }
}

/* ---- ways through the graph ---- */

typedef struct way {
    double error_us; /* sum; INFINITY: not reached */
    uint32_t member; /* over which the node was reached; GT_NONE: the reference */
    bool done;
} way;

/* Nodes by error: a binary heap. A node may be in it several times. */
typedef struct queue {
    struct queued {
        double error_us;
        uint32_t node;
    } * items;
    size_t count, capacity;
} queue;

static bool is_before(const struct queued *a, const struct queued *b)
{
    return a->error_us != b->error_us ? a->error_us < b->error_us : a->node < b->node;
}

static void put(queue *q, struct queued new)
{
    size_t at = q->count;
    GT_PUSH(q->items, q->count, q->capacity, new);
    for (; at && is_before(&new, &q->items[(at - 1) / 2]); at = (at - 1) / 2)
        q->items[at] = q->items[(at - 1) / 2];
    q->items[at] = new;
}

static struct queued take(queue *q)
{
    struct queued first = q->items[0], last = q->items[--q->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < q->count) {
        if (child + 1 < q->count && is_before(&q->items[child + 1], &q->items[child])) child++;
        if (!is_before(&q->items[child], &last)) break;
        q->items[at] = q->items[child];
        at = child;
    }
    q->items[at] = last;
    return first;
}

/* Leaves a node: the clock of a group is that of its leader. */
static void set_clock(const graph *g, const way *ways, uint32_t rank, gt_rank_clock *clocks)
{
    uint32_t to = ways[rank].member;
    const membership *own = &g->members[to];
    uint32_t from = ways[g->rank_count + own->group].member; /* how the group was reached */
    const membership *other = &g->members[from];
    const gt_rank_clock *before = &clocks[other->rank];
    gt_rank_clock *clock = &clocks[rank];
    *clock = *before;
    clock->hops++;
    clock->used = 0;
    double drift = isnan(before->drift) ? 0 : before->drift;
    /* The other member to the leader, and the leader to this one. The leader itself has 0 everywhere. */
    for (int i = 0; i < 2; i++) {
        const membership *m = i ? own : other;
        double sign = i ? 1 : -1;
        if (m->rank == g->leaders[own->group]) continue;
        double away = clock->at_us + clock->offset_us - m->at_us;
        if (!i) away -= m->us;
        clock->offset_us += sign * (m->us + m->drift * away);
        clock->error_us += m->error_us + m->drift_error * fmax(0, fabs(away) - m->half_us);
        drift += sign * m->drift;
        if (m->drift != 0) clock->drift = 0; /* known */
        clock->used = clock->used ? (m->used < clock->used ? m->used : clock->used) : m->used;
    }
    if (!isnan(clock->drift)) clock->drift = drift;
}

static void reach(const graph *g, way *ways, queue *q, uint32_t node)
{
    for (size_t i = g->node_begins[node]; i < g->node_begins[node + 1]; i++) {
        const membership *m = &g->members[g->of_node[i]];
        uint32_t next = node < g->rank_count ? (uint32_t)g->rank_count + m->group : m->rank;
        double error = ways[node].error_us + m->error_us;
        if (ways[next].done || error >= ways[next].error_us) continue;
        ways[next] = (way){.error_us = error, .member = g->of_node[i]};
        put(q, (struct queued){error, next});
    }
}

/* All ranks that are connected with the reference. */
static void spread(const graph *g, way *ways, queue *q, uint32_t reference, gt_rank_clock *clocks)
{
    ways[reference] = (way){.error_us = 0, .member = GT_NONE};
    put(q, (struct queued){0, reference});
    while (q->count) {
        uint32_t node = take(q).node;
        if (ways[node].done) continue;
        ways[node].done = true;
        if (node < g->rank_count && node != reference) set_clock(g, ways, node, clocks);
        reach(g, ways, q, node);
    }
}

/* The middle of the rank's collectives, on its own clock. */
static double middle_of_rank(const graph *g, uint32_t rank)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = g->node_begins[rank]; i < g->node_begins[rank + 1]; i++) {
        uint32_t group = g->members[g->of_node[i]].group;
        for (size_t k = g->begins[group]; k < g->begins[group + 1]; k++) {
            const uint32_t *rows = g->sync->matches->rows;
            for (size_t row = first_of(g, g->in_groups[k]); row < end_of(g, g->in_groups[k]); row++) {
                if (g->ranks[rows[row]] != rank) continue;
                double start = gt_column_number(g->starts, rows[row]);
                least = fmin(least, start);
                most = fmax(most, start);
                break;
            }
        }
    }
    return isfinite(least + most) ? (least + most) / 2 : 0;
}

static void count_own(const graph *g, gt_rank_clock *clocks)
{
    for (uint32_t c = 0; c < g->sync->count; c++)
        for (size_t k = first_of(g, c); end_of(g, c) - first_of(g, c) > 1 && k < end_of(g, c); k++)
            clocks[g->ranks[g->sync->matches->rows[k]]].own++;
}

static void find_ways(const graph *g, gt_rank_clock *clocks)
{
    size_t nodes = g->rank_count + g->group_count;
    way *ways = gt_alloc(nodes * sizeof *ways);
    queue q = {0};
    for (size_t i = 0; i < nodes; i++) ways[i] = (way){.error_us = INFINITY, .member = GT_NONE};
    for (uint32_t r = 0; r < g->rank_count; r++) {
        if (ways[r].done || g->node_begins[r] == g->node_begins[r + 1]) continue;
        clocks[r] = (gt_rank_clock){
            .known = true, .reference = r, .drift = (double)NAN, .at_us = middle_of_rank(g, r)};
        spread(g, ways, &q, r, clocks);
    }
    gt_free_all(q.items, ways);
    count_own(g, clocks);
}

/* ---- all of it ---- */

/* Times in doubles that count from 1970 are exact to a quarter of a microsecond. */
static double find_resolution(const graph *g)
{
    double largest = 0;
    for (size_t row = 0; row < g->sync->matches->events->row_count; row++) {
        double at = fabs(gt_column_number(g->starts, row));
        if (isfinite(at)) largest = fmax(largest, at);
    }
    return (g->starts->type == GT_TYPE_INT ? 2 : 0.002) + 2 * (nextafter(largest, INFINITY) - largest);
}

gt_rank_clock *gt_rank_clocks_find(const gt_collective_sync *sync, size_t rank_count)
{
    const gt_table *events = sync->matches->events;
    size_t ranks = rank_count > (size_t)sync->matches->ranks ? rank_count : (size_t)sync->matches->ranks;
    gt_rank_clock *clocks = gt_alloc_zero(ranks, sizeof *clocks);
    if (!sync->count) return clocks;
    graph g = {.sync = sync,
               .rank_count = ranks,
               .starts = gt_table_column(events, GT_COL_TS),
               .durations = gt_table_column(events, GT_COL_DUR),
               .ranks = gt_table_column(events, GT_COL_RANK)->ints};
    g.resolution_us = find_resolution(&g);
    find_groups(&g);
    find_members(&g);
    find_ways(&g, clocks);
    gt_free_all(g.group_of, g.begins, g.in_groups, g.leaders, g.members, g.node_begins, g.of_node);
    return clocks;
}

double *gt_rank_clock_offsets(const gt_collective_sync *sync)
{
    size_t ranks = (size_t)sync->matches->ranks;
    gt_rank_clock *clocks = gt_rank_clocks_find(sync, ranks);
    double *offsets = gt_alloc_zero(ranks, sizeof *offsets);
    bool differ = false;
    for (size_t r = 0; r < ranks; r++) {
        if (!clocks[r].known || !(fabs(clocks[r].offset_us) > clocks[r].error_us)) continue;
        offsets[r] = clocks[r].offset_us;
        differ = true;
    }
    gt_free(clocks);
    if (differ) return offsets;
    gt_free(offsets);
    return NULL;
}

/* ---- the sheet ---- */

enum { RANK, NODE, REFERENCE, OFFSET, ERROR, DRIFT, AT, USED, OWN, HOPS, NOTE };

static const gt_column_head columns[] = {
    [RANK] = {GT_COL_RANK, GT_TYPE_INT},
    [NODE] = {GT_COL_NODE, GT_TYPE_STRING},
    [REFERENCE] = {GT_COL_REFERENCE_RANK, GT_TYPE_INT},
    [OFFSET] = {GT_COL_OFFSET_US, GT_TYPE_FLOAT},
    [ERROR] = {GT_COL_ERROR_US, GT_TYPE_FLOAT},
    [DRIFT] = {GT_COL_DRIFT_PPM, GT_TYPE_FLOAT},
    [AT] = {GT_COL_AT_US, GT_TYPE_FLOAT},
    [USED] = {GT_COL_COLLECTIVES_USED, GT_TYPE_INT},
    [OWN] = {GT_COL_COLLECTIVES, GT_TYPE_INT},
    [HOPS] = {GT_COL_HOPS, GT_TYPE_INT},
    [NOTE] = {GT_COL_NOTE, GT_TYPE_STRING},
};

static double to_ns(double us) /* digits after that are rounding errors */
{
    return rint(1000 * us) / 1000;
}

static const char *note_of(const gt_rank_findings *found, const gt_rank_clock *clock, size_t rank)
{
    if (gt_rank_is_of_other_run(found->ranks[rank].left_out))
        return "unknown: it did not run together with the others (T20)";
    if (!clock->known)
        return found->ranks[rank].facts ? "unknown: it shares no collective with another rank"
                                        : "unknown: it has no trace, or one that ends early or is damaged";
    if (found->ranks[rank].is_uneven)
        return "it has another number of collectives than others: different ones may be compared";
    if (clock->reference == rank) return "the reference";
    if (clock->used < FEW) return "few collectives: the error is what causality allows";
    if (found->ranks[rank].lacks) return "it lacks collectives: the others are matched in each step";
    if (found->ranks[rank].is_shifted) return "it begins with another step: matched by the numbers of steps";
    return NULL;
}

gt_table *gt_rank_clocks_sheet(const gt_rank_findings *found, const gt_rank_clock *clocks,
                               gt_interner *strings)
{
    gt_table *sheet = gt_table_new(GT_SHEET_CLOCK_OFFSETS, strings);
    gt_table_add_columns(sheet, columns, GT_LENGTH(columns));
    gt_table_reserve_together(sheet, found->rank_count);
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_clock *clock = &clocks[r];
        size_t row = gt_table_add_row(sheet);
        gt_table_set_int(sheet, RANK, row, (int64_t)r);
        gt_rank_set_node(found, r, sheet, NODE, row);
        const char *note = note_of(found, clock, r);
        if (note) gt_table_set_cstr(sheet, NOTE, row, note);
        gt_table_set_int(sheet, OWN, row, (int64_t)clock->own);
        if (!clock->known) continue;
        gt_table_set_int(sheet, REFERENCE, row, clock->reference);
        gt_table_set_float(sheet, OFFSET, row, to_ns(clock->offset_us));
        /* The moment at which the ranks leave is not known better than that, the reference included. */
        gt_table_set_float(sheet, ERROR, row, to_ns(fmax(clock->error_us, LEAVING_US)));
        if (!isnan(clock->drift)) gt_table_set_float(sheet, DRIFT, row, to_ns(1e6 * clock->drift));
        gt_table_set_float(sheet, AT, row, to_ns(clock->at_us));
        if (clock->reference != r) gt_table_set_int(sheet, USED, row, (int64_t)clock->used);
        gt_table_set_int(sheet, HOPS, row, clock->hops);
    }
    return sheet;
}
