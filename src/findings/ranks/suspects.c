/* Which ranks and nodes are late, and why?
 *
 * A rank is suspected if its work takes longer than that of the others by more than chance (noise.c). A node
 * is suspected if its ranks are, for the same reason.
 *
 * If a few ranks need clearly less time than most, they show what is possible, and the others are late. */
#include "findings/ranks/search.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LEAST_FAST = 0.01, LEAST_FAST_OF_FEW = 0.05; /* parts of the step time */

/* The largest causes until nearly all is explained. One that would explain more than there is belongs to time
 * in which the rank is not late. */
static void keep_enough(gt_late_member *member)
{
    double explained = 0;
    size_t kept = 0;
    for (size_t i = 0; i < member->cause_count && explained < 0.9 * member->late_ns; i++) {
        if (kept && explained + member->causes[i].ns > 1.05 * member->late_ns) continue;
        explained += member->causes[i].ns;
        member->causes[kept++] = member->causes[i];
    }
    member->cause_count = kept;
}

void gt_search_causes(const gt_late_search *s, gt_late_member *member)
{
    size_t count = s->found->rank_count;
    double least = fmax(0.05 * member->late_ns, 0.001 * s->found->step_ns);
    gt_rank_summary *ranks = gt_alloc((count + 1) * sizeof *ranks);
    gt_kernel_times *times = s->times;
    memcpy(ranks, s->found->ranks, count * sizeof *ranks);
    if (member->in_node) {
        for (size_t r = 0; r < count; r++) ranks[r].known &= s->node_of[r] == s->node_of[member->rank];
        times = gt_kernel_times_new(ranks, count);
    }
    member->cause_count = gt_late_causes_find(ranks, times, member->rank, least, member->causes);
    if (member->in_node) gt_kernel_times_free(times);
    gt_free(ranks);
    keep_enough(member);
}

static int later_first(const void *a, const void *b)
{
    const gt_suspect *x = a, *y = b;
    if (x->late_ns != y->late_ns) return x->late_ns > y->late_ns ? -1 : 1;
    if (x->is_node != y->is_node) return x->is_node ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* One that does nothing longer than usual, and is hardly late by more than chance, is late by chance. */
static void add_suspect(gt_late_search *s, gt_suspect new)
{
    gt_late_member member = {.rank = new.rank, .late_ns = new.late_ns};
    member.in_node = !new.is_node && s->late_nodes[s->node_of[new.rank]];
    gt_search_causes(s, &member);
    if (!member.cause_count && new.late_ns < 2 * s->least_ns) return;
    if (member.cause_count) new.cause = member.causes[0];
    GT_PUSH(s->suspects, s->suspect_count, s->suspect_capacity, new);
}

static void set_common_lateness(const gt_late_search *s, size_t node, gt_rank_entry *entries, size_t count,
                                double *values)
{
    size_t found = 0;
    gt_memory_poll();
    for (size_t i = 0; i < count; i++)
        if (s->node_of[entries[i].rank] == node && entries[i].compared) values[found++] = entries[i].late_ns;
    double common = gt_rank_median(values, found);
    for (size_t i = 0; i < count; i++)
        if (s->node_of[entries[i].rank] == node) entries[i].node_late_ns = common;
}

/* In each collective, what the ranks of a slow node have in common. */
static void set_node_lateness(gt_late_search *s, size_t node, double *values)
{
    gt_rank_model *model = s->model;
    for (size_t c = 0; c < model->count; c++)
        set_common_lateness(s, node, &model->entries[model->begins[c]],
                            model->begins[c + 1] - model->begins[c], values);
}

/* A rank of the node whose lateness is the median. */
static size_t typical_rank(const gt_late_search *s, size_t node, double median)
{
    size_t best = SIZE_MAX;
    for (size_t r = 0; r < s->found->rank_count; r++) {
        const gt_rank_summary *rank = &s->found->ranks[r];
        if (!rank->known || rank->node != node) continue;
        if (best == SIZE_MAX || fabs(rank->late_ns - median) < fabs(s->found->ranks[best].late_ns - median))
            best = r;
    }
    return best;
}

double gt_search_explained_ns(const gt_late_search *s, size_t rank, double differences[GT_RANK_DIFFERENCES])
{
    double sum = 0;
    gt_rank_differences_find(s->times, s->found->ranks[rank].facts, differences);
    for (size_t i = 0; i < GT_RANK_DIFFERENCES; i++) sum += fmax(0, differences[i]);
    return sum;
}

/* Whether the ranks of a node are late for the same reason: all of them do something longer, or it is unknown
 * for all of them. What they have in common must be half of what the least late one is late. */
static bool have_common_cause(const gt_late_search *s, size_t node, double smallest)
{
    double common[GT_RANK_DIFFERENCES + 1], own[GT_RANK_DIFFERENCES + 1], sum = 0;
    for (size_t i = 0; i < GT_LENGTH(common); i++) common[i] = INFINITY;
    for (size_t r = 0; r < s->found->rank_count; r++) {
        const gt_rank_summary *rank = &s->found->ranks[r];
        if (!rank->known || rank->node != node) continue;
        own[GT_RANK_DIFFERENCES] = rank->late_ns - gt_search_explained_ns(s, r, own);
        for (size_t i = 0; i < GT_LENGTH(common); i++) common[i] = fmin(common[i], own[i]);
    }
    for (size_t i = 0; i < GT_LENGTH(common); i++) sum += fmax(0, common[i]);
    return sum >= smallest / 2;
}

/* Most of its ranks are late by more than chance, and none much less than the others. */
static void suspect_node(gt_late_search *s, size_t node, double least, double *values)
{
    size_t count = 0;
    double smallest = INFINITY, largest = 0;
    for (size_t r = 0; r < s->found->rank_count; r++) {
        const gt_rank_summary *rank = &s->found->ranks[r];
        if (!rank->known || rank->node != node) continue;
        values[count++] = rank->late_ns;
        smallest = fmin(smallest, rank->late_ns);
        largest = fmax(largest, rank->late_ns);
    }
    double median = gt_rank_median(values, count);
    if (count < 2 || median < least || smallest < least / 2) return;
    if (smallest < (count == 2 ? largest : median) / 2) return;
    if (!have_common_cause(s, node, smallest)) return;
    add_suspect(
        s, (gt_suspect){
               .is_node = true, .index = node, .rank = typical_rank(s, node, median), .late_ns = median});
}

/* What a rank itself does per step: not the waiting for collectives. */
static double own_ns(const gt_rank_facts *facts)
{
    double sum = facts->compute_ns;
    for (size_t i = 0; i < GT_CAUSES; i++) sum += i == GT_CAUSE_COLLECTIVE ? 0 : facts->gap_ns[i];
    return sum;
}

static double usual_own_ns(const gt_rank_findings *found)
{
    gt_rank_value *values = gt_alloc((found->rank_count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        gt_memory_poll_at(r);
        if (found->ranks[r].known)
            values[count++] = (gt_rank_value){found->ranks[r].node, own_ns(found->ranks[r].facts)};
    }
    double usual = gt_rank_usual(values, count);
    gt_free(values);
    return usual;
}

/* A rank that waits for a late one can do some of its work meanwhile; that does not make it fast. So it must
 * also do less. */
static bool is_fast(const gt_late_search *s, gt_rank_walk *walk, size_t rank, double least_ns,
                    double usual_ns)
{
    double earlier_ns = -gt_rank_last_late_ns(walk, rank);
    return earlier_ns >= least_ns && own_ns(s->found->ranks[rank].facts) <= usual_ns - earlier_ns / 2;
}

/* Do a few ranks need clearly less time than most? Then these show what is usual. */
static void find_fast(gt_late_search *s)
{
    gt_rank_findings *found = s->found;
    size_t known = 0, fast = 0;
    for (size_t r = 0; r < found->rank_count; r++) known += found->ranks[r].known;
    double part = known < 4 ? LEAST_FAST_OF_FEW : LEAST_FAST; /* one of three is often fast by chance */
    double least = fmax(s->least_ns, part * found->step_ns), usual = usual_own_ns(found);
    gt_rank_walk walk = gt_rank_walk_begin(s->model);
    for (size_t r = 0; r < found->rank_count; r++) {
        found->ranks[r].is_unusual = found->ranks[r].known && !is_fast(s, &walk, r, least, usual);
        fast += found->ranks[r].known && !found->ranks[r].is_unusual;
    }
    gt_rank_walk_end(&walk);
    found->few_are_usual = fast && 2 * fast < known;
    for (size_t r = 0; !found->few_are_usual && r < found->rank_count; r++)
        found->ranks[r].is_unusual = false;
    if (found->few_are_usual) gt_rank_late_compare(s->model, found->ranks);
}

void gt_search_suspects(gt_late_search *s)
{
    gt_rank_findings *found = s->found;
    s->least_ns = gt_rank_least_late(s->model, found->ranks, found->step_ns);
    find_fast(s);
    s->times = gt_kernel_times_new(found->ranks, found->rank_count);
    double *values = gt_alloc((found->rank_count + 1) * sizeof *values);
    if (found->nodes_known && found->node_count > 1)
        for (size_t n = 0; n < found->node_count; n++) suspect_node(s, n, s->least_ns, values);
    size_t nodes = s->suspect_count;
    for (size_t i = 0; i < nodes; i++) {
        s->late_nodes[s->suspects[i].index] = true;
        set_node_lateness(s, s->suspects[i].index, values);
    }
    gt_rank_walk walk = gt_rank_walk_begin(s->model);
    for (size_t r = 0; r < found->rank_count; r++) {
        if (!found->ranks[r].known) continue;
        double late = gt_rank_late_ns(&walk, r); /* without its node's */
        if (late >= s->least_ns) add_suspect(s, (gt_suspect){.index = r, .rank = r, .late_ns = late});
    }
    gt_rank_walk_end(&walk);
    if (s->suspect_count) qsort(s->suspects, s->suspect_count, sizeof *s->suspects, later_first);
    gt_free(values);
}
