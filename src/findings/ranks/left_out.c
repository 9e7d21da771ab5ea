/* Which ranks cannot be compared with the others?
 *
 * Times per step are compared, so all ranks must mean the same by a step. A trace without marked steps has
 * times per trace; one that lost the mark of a step has too few steps in the same time. What most ranks have
 * counts, and the others are left out: their waiting and their step times are not in any mean.
 *
 * A trace that was copied under the name of another rank says nothing about that rank. Two ranks never start
 * all collectives at the same nanosecond, so such a trace is found by its times. */
#include "findings/ranks/find.h"

#include "schema/columns.h"

/* ---- copies ---- */

typedef struct times_of_rank {
    uint64_t hash;
    uint32_t rank;
} times_of_rank;

GT_ORDER_BY(by_hash, times_of_rank, GT_UP(hash) GT_UP(rank))

static uint64_t hash_of(const gt_rank_facts *facts)
{
    uint64_t hash = facts->collective_count;
    for (size_t i = 0; i < facts->collective_count; i++) {
        const gt_rank_collective *c = &facts->collectives[i];
        hash = (hash ^ (uint64_t)(c->start_ns - facts->collectives[0].start_ns)) * 0x9e3779b97f4a7c15U;
        hash = (hash ^ hash >> 29 ^ (uint64_t)(c->end_ns - c->start_ns)) * 0x9e3779b97f4a7c15U;
    }
    return hash;
}

static bool have_equal_times(const gt_rank_facts *a, const gt_rank_facts *b)
{
    if (a->collective_count != b->collective_count) return false;
    for (size_t i = 0; i < a->collective_count; i++) {
        const gt_rank_collective *x = &a->collectives[i], *y = &b->collectives[i];
        if (x->start_ns - a->collectives[0].start_ns != y->start_ns - b->collectives[0].start_ns ||
            x->end_ns - x->start_ns != y->end_ns - y->start_ns)
            return false;
    }
    return true;
}

/* Equal times say nothing if there are few of them, or if they are rounded to microseconds. */
static bool has_fine_times(const gt_rank_facts *facts)
{
    enum { LEAST = 4 };
    size_t fine = 0;
    for (size_t i = 0; i < facts->collective_count; i++) {
        const gt_rank_collective *c = &facts->collectives[i];
        fine += (c->end_ns - c->start_ns) % 1000 != 0;
    }
    return fine >= LEAST;
}

static void find_copies(gt_rank_findings *found)
{
    times_of_rank *list = gt_alloc((found->rank_count + 1) * sizeof *list);
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_facts *facts = found->ranks[r].facts;
        if (facts && has_fine_times(facts)) list[count++] = (times_of_rank){hash_of(facts), (uint32_t)r};
    }
    if (count) qsort(list, count, sizeof *list, by_hash);
    for (size_t i = 0; i + 1 < count; i++) {
        gt_rank_summary *rank = &found->ranks[list[i].rank], *next = &found->ranks[list[i + 1].rank];
        if (list[i].hash != list[i + 1].hash || !have_equal_times(rank->facts, next->facts)) continue;
        /* Which one is the rank itself is unknown. */
        rank->left_out = next->left_out = GT_LEFT_OUT_COPY;
    }
    gt_free(list);
}

/* ---- steps ---- */

/* Leaves out the ranks of the kind that fewer have; of equally many, the second kind. */
static void leave_out_fewer(gt_rank_findings *found, const uint8_t *kinds, gt_rank_left_out second,
                            gt_rank_left_out first)
{
    size_t counts[3] = {0};
    for (size_t r = 0; r < found->rank_count; r++) counts[kinds[r]]++;
    if (!counts[1] || !counts[2]) return;
    uint8_t fewer = counts[1] < counts[2] ? 1 : 2;
    for (size_t r = 0; r < found->rank_count; r++)
        if (kinds[r] == fewer) found->ranks[r].left_out = fewer == 2 ? second : first;
}

static bool is_compared(const gt_rank_summary *rank)
{
    return rank->facts && rank->facts->collective_count && !rank->left_out;
}

static void compare_marks(gt_rank_findings *found, uint8_t *kinds)
{
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_summary *rank = &found->ranks[r];
        kinds[r] = !is_compared(rank) ? 0 : rank->facts->has_steps ? 1 : 2;
    }
    leave_out_fewer(found, kinds, GT_LEFT_OUT_NO_STEPS, GT_LEFT_OUT_STEPS);
}

static bool has_number(const gt_rank_facts *facts, int64_t number)
{
    return bsearch(&number, facts->step_numbers, facts->step_number_count, sizeof number, gt_by_i64) != NULL;
}

/* The numbers between the first and the last step of a rank that it lacks, up to a limit. */
static size_t find_gaps(const gt_rank_findings *found, int64_t *gaps, size_t limit)
{
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_facts *facts = found->ranks[r].facts;
        if (!is_compared(&found->ranks[r]) || !facts->step_numbers) continue;
        for (size_t i = 1; i < facts->step_number_count; i++)
            for (int64_t n = facts->step_numbers[i - 1] + 1; n < facts->step_numbers[i] && count < limit; n++)
                gaps[count++] = n;
    }
    if (count) qsort(gaps, count, sizeof *gaps, gt_by_i64);
    return count;
}

static void compare_numbers(gt_rank_findings *found, uint8_t *kinds)
{
    enum { GAPS_MAX = 4096 };
    int64_t *gaps = gt_alloc(GAPS_MAX * sizeof *gaps);
    size_t count = find_gaps(found, gaps, GAPS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (i && gaps[i] == gaps[i - 1]) continue;
        for (size_t r = 0; r < found->rank_count; r++) {
            const gt_rank_facts *facts = found->ranks[r].facts;
            kinds[r] = 0;
            if (!is_compared(&found->ranks[r]) || !facts->step_numbers) continue;
            bool spans = facts->step_numbers[0] < gaps[i] &&
                         facts->step_numbers[facts->step_number_count - 1] > gaps[i];
            if (spans) kinds[r] = has_number(facts, gaps[i]) ? 1 : 2;
        }
        leave_out_fewer(found, kinds, GT_LEFT_OUT_LOST_STEP, GT_LEFT_OUT_MORE_STEPS);
    }
    gt_free(gaps);
}

void gt_ranks_leave_out(gt_rank_findings *found)
{
    uint8_t *kinds = gt_alloc_zero(found->rank_count + 1, sizeof *kinds);
    find_copies(found);
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].facts && found->ranks[r].apart_s != 0 && !found->ranks[r].left_out)
            found->ranks[r].left_out = GT_LEFT_OUT_OTHER_TIME;
    compare_marks(found, kinds);
    compare_numbers(found, kinds);
    gt_free(kinds);
}

/* ---- in words ---- */

/* After "rank 1 is not compared: " and "ranks 1, 2 are not compared: ". */
static const struct {
    const char *one, *several;
} reasons[GT_LEFT_OUT_COUNT] = {
    [GT_LEFT_OUT_NO_STEPS] = {"it has no marked steps", "they have no marked steps"},
    [GT_LEFT_OUT_STEPS] = {"it has marked steps, and most ranks have none",
                           "they have marked steps, and most ranks have none"},
    [GT_LEFT_OUT_LOST_STEP] = {"it lacks the mark of a step that others have",
                               "they lack the mark of a step that others have"},
    [GT_LEFT_OUT_MORE_STEPS] = {"it has the mark of a step that most ranks lack",
                                "they have the mark of a step that most ranks lack"},
    [GT_LEFT_OUT_OTHER_STEPS] = {"none of its steps has the number of another rank's step",
                                 "none of their steps has the number of another rank's step"},
    [GT_LEFT_OUT_OTHER_RUN] = {"between the same collectives it took another time than the others, so its "
                               "trace is of another run",
                               "between the same collectives they took another time than the others, so "
                               "their traces are of another run"},
};

bool gt_rank_is_of_other_run(gt_rank_left_out why)
{
    return why == GT_LEFT_OUT_OTHER_RUN || why == GT_LEFT_OUT_OTHER_TIME;
}

char *gt_rank_describe_apart(double apart_s)
{
    double s = fabs(apart_s);
    const char *way = apart_s < 0 ? "before" : "after";
    if (s >= 48 * 3600.) return gt_format("%.1f days %s", s / 86400, way);
    return s >= 3600 ? gt_format("%.1f h %s", s / 3600, way) : gt_format("%.1f min %s", s / 60, way);
}

typedef struct rank_list {
    const char *text;
    size_t count;
} rank_list;

/* "it was recorded 24.0 h before the others, ..."; of several ranks, by the one that is farthest away. */
static char *about_time(const gt_rank_findings *found, bool several)
{
    double most_s = 0;
    for (size_t r = 0; r < found->rank_count; r++)
        if (fabs(found->ranks[r].apart_s) > fabs(most_s)) most_s = found->ranks[r].apart_s;
    char *when = gt_rank_describe_apart(most_s);
    char *text = gt_format("%s recorded %s%s the others, so %s of another run, or clocks are wrong",
                           several ? "they were" : "it was", several ? "up to " : "", when,
                           several ? "they are" : "it is");
    gt_free(when);
    return text;
}

static char *new_sentence(const gt_rank_findings *found, rank_list list, gt_rank_left_out why)
{
    const char *ranks = list.count > 1 ? "ranks" : "rank", *are = list.count > 1 ? "are" : "is";
    bool all = strcmp(list.text, "all") == 0;
    char *times = why == GT_LEFT_OUT_OTHER_TIME ? about_time(found, list.count > 1) : NULL;
    char *who = all ? gt_strdup("all ranks") : gt_format("%s %s", ranks, list.text), *text;
    if (why == GT_LEFT_OUT_COPY)
        text = gt_format("%s are not compared: their traces have the same events, so %s", who,
                         list.count > 2 ? "some are copies" : "one is a copy");
    else
        text = gt_format("%s %s not compared: %s", who, are,
                         times            ? times
                         : list.count > 1 ? reasons[why].several
                                          : reasons[why].one);
    gt_free_all(times, who);
    return text;
}

size_t gt_ranks_left_out(const gt_rank_findings *found, gt_rank_left_out why, char **ranks, char **text)
{
    bool *has_rank = gt_alloc_zero(found->rank_count + 1, sizeof *has_rank);
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++) count += has_rank[r] = found->ranks[r].left_out == why;
    *ranks = *text = NULL;
    if (count) {
        *ranks = gt_rank_list(found, has_rank);
        *text = new_sentence(found, (rank_list){*ranks, count}, why);
    }
    gt_free(has_rank);
    return count;
}

char *gt_ranks_all_sentences(const gt_rank_findings *found)
{
    char *result = NULL;
    for (gt_rank_left_out why = GT_COMPARED + 1; why < GT_LEFT_OUT_COUNT; why++) {
        char *ranks, *text, *before = result;
        if (!gt_ranks_left_out(found, why, &ranks, &text)) continue;
        result = before ? gt_format("%s; %s", before, text) : gt_strdup(text);
        gt_free_all(before, ranks, text);
    }
    return result;
}

/* ---- the collectives of one run ---- */

bool gt_rank_sync_of_one_run(const gt_rank_findings *found, const gt_collective_sync *sync,
                             gt_collective_sync *own, gt_collective_matches *matches)
{
    const gt_collective_matches *all = sync->matches;
    const int64_t *ranks = gt_table_column(all->events, GT_COL_RANK)->ints;
    bool any = false;
    for (size_t r = 0; r < found->rank_count; r++) any |= gt_rank_is_of_other_run(found->ranks[r].left_out);
    if (!any) return false;
    *matches = *all;
    *own = (gt_collective_sync){.matches = matches};
    matches->begins = gt_alloc((sync->count + 1) * sizeof *matches->begins);
    matches->rows = gt_alloc((all->begins[all->count] + 1) * sizeof *matches->rows);
    own->collectives = gt_alloc((sync->count + 1) * sizeof *own->collectives);
    size_t at = 0;
    for (size_t i = 0; i < sync->count; i++) {
        uint32_t collective = sync->collectives[i];
        size_t begin = at;
        for (size_t k = all->begins[collective]; k < all->begins[collective + 1]; k++) {
            size_t rank = (size_t)ranks[all->rows[k]];
            bool is_other = rank < found->rank_count && gt_rank_is_of_other_run(found->ranks[rank].left_out);
            if (!is_other) matches->rows[at++] = all->rows[k];
        }
        if (at == begin) continue;
        matches->begins[own->count] = begin;
        own->collectives[own->count] = (uint32_t)own->count;
        own->count++;
    }
    matches->begins[own->count] = at;
    matches->count = own->count;
    return true;
}
