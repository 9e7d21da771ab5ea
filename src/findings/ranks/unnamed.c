/* Collectives of process groups that the trace does not name (PyTorch before 2.2): which ranks take part?
 *
 * The kernels say how many ranks their group has. If that is fewer than there are, the n-th kernels of all
 * ranks are one collective per group, and the ranks of a group have the same distance:
 *
 *     8 ranks in groups of 4    distance 1    0 1 2 3   4 5 6 7
 *                               distance 2    0 2 4 6   1 3 5 7
 *
 * The right distance is the one by which ranks of a group end together. Clocks differ, so the times from one
 * end to the next are compared. If no distance is clearly better than all others, nobody knows the groups,
 * and these collectives are left out. */
#include "findings/ranks/model.h"

#include "schema/columns.h"
#include "table/stats.h"

/* A better distance has at most this part of the differences of the second best. */
static const double CLEARLY_BETTER = 0.5;

typedef struct unnamed {
    uint32_t name, size; /* of the collective: string id; of its group */
    double megabytes;
    int64_t first_end_ns; /* of its first rank */
    uint32_t collective;  /* of the matches */
} unnamed;

GT_ORDER_BY(by_kind, unnamed, GT_UP(size) GT_UP(megabytes) GT_UP(name) GT_UP(first_end_ns) GT_UP(collective))

static double end_of(const gt_model_maker *m, uint32_t row, uint32_t rank)
{
    const gt_rank_facts *facts = m->input->facts[rank];
    size_t number = row - m->first_rows[rank];
    return facts && number < facts->collective_count ? (double)facts->collectives[number].end_ns
                                                     : (double)NAN;
}

bool gt_maker_is_unnamed(const gt_model_maker *m, size_t collective)
{
    const gt_collective_matches *matches = m->input->sync->matches;
    size_t count = matches->begins[collective + 1] - matches->begins[collective];
    uint32_t row = matches->rows[matches->begins[collective]];
    return (double)count > gt_column_number(gt_table_column(matches->events, GT_COL_GROUP_SIZE), row);
}

/* All ranks take part, and groups of equal size can be made of them. */
static bool can_be_split(const gt_model_maker *m, size_t collective, size_t size)
{
    const gt_collective_matches *matches = m->input->sync->matches;
    const int64_t *ranks = gt_table_column(matches->events, GT_COL_RANK)->ints;
    size_t begin = matches->begins[collective], count = matches->begins[collective + 1] - begin;
    if (size < 2 || count != m->input->rank_count || count % size) return false;
    for (size_t i = 0; i < count; i++)
        if (ranks[matches->rows[begin + i]] != (int64_t)i ||
            isnan(end_of(m, matches->rows[begin + i], (uint32_t)i)))
            return false;
    return true;
}

static unnamed *list_unnamed(const gt_model_maker *m, size_t *count)
{
    const gt_collective_sync *sync = m->input->sync;
    const gt_table *events = sync->matches->events;
    unnamed *list = gt_alloc((sync->count + 1) * sizeof *list);
    *count = 0;
    for (size_t i = 0; i < sync->count; i++) {
        uint32_t collective = sync->collectives[i],
                 row = sync->matches->rows[sync->matches->begins[collective]];
        if (!gt_maker_is_unnamed(m, collective)) continue;
        size_t size = (size_t)gt_column_number(gt_table_column(events, GT_COL_GROUP_SIZE), row);
        if (!can_be_split(m, collective, size)) continue;
        double megabytes = gt_column_number(gt_table_column(events, GT_COL_IN_MSG_SIZE_MB), row);
        list[(*count)++] =
            (unnamed){gt_table_column(events, GT_COL_COLLECTIVE_NAME)->texts[row], (uint32_t)size,
                      isnan(megabytes) ? -1 : megabytes, (int64_t)end_of(m, row, 0), collective};
    }
    if (*count) qsort(list, *count, sizeof *list, by_kind);
    return list;
}

/* Whether a rank is the first one of its group. */
static bool is_first(size_t rank, size_t distance, size_t size)
{
    return rank / distance % size == 0;
}

/* How long the times from the end of a collective to that of the next differ in groups of this distance. */
static double difference_of(const gt_model_maker *m, const unnamed *list, size_t count, size_t distance)
{
    const gt_collective_matches *matches = m->input->sync->matches;
    size_t ranks = m->input->rank_count, size = list->size, found = 0;
    double *differences = gt_alloc((count * (ranks / size) + 1) * sizeof *differences);
    for (size_t k = 1; k < count; k++) {
        const uint32_t *rows = &matches->rows[matches->begins[list[k].collective]],
                       *before = &matches->rows[matches->begins[list[k - 1].collective]];
        for (size_t first = 0; first < ranks; first++) {
            double least = INFINITY, most = -INFINITY;
            if (!is_first(first, distance, size)) continue;
            for (size_t i = 0; i < size; i++) {
                uint32_t rank = (uint32_t)(first + i * distance);
                double passed = end_of(m, rows[rank], rank) - end_of(m, before[rank], rank);
                least = fmin(least, passed);
                most = fmax(most, passed);
            }
            differences[found++] = most - least;
        }
    }
    double median = gt_median_in_place(differences, found);
    gt_free(differences);
    return median;
}

/* The distance of the ranks of a group; 0: unknown. */
static size_t find_distance(const gt_model_maker *m, const unnamed *list, size_t count)
{
    size_t groups = m->input->rank_count / list->size, best = 0;
    double least = INFINITY, second = INFINITY;
    for (size_t distance = 1; distance <= groups; distance++) {
        if (groups % distance) continue;
        double difference = difference_of(m, list, count, distance);
        if (!(difference < least)) {
            second = fmin(second, difference);
            continue;
        }
        second = least;
        least = difference;
        best = distance;
    }
    return least <= CLEARLY_BETTER * second && second < INFINITY ? best : 0;
}

static void add_groups(const gt_model_maker *m, const unnamed *one, size_t distance, gt_meetings *meetings)
{
    const gt_collective_matches *matches = m->input->sync->matches;
    const uint32_t *rows = &matches->rows[matches->begins[one->collective]];
    for (size_t first = 0; first < m->input->rank_count; first++) {
        if (!is_first(first, distance, one->size)) continue;
        for (size_t i = 0; i < one->size; i++)
            GT_PUSH(meetings->rows, meetings->row_count, meetings->row_capacity, rows[first + i * distance]);
        GT_PUSH(meetings->ends, meetings->count, meetings->capacity, meetings->row_count);
    }
}

void gt_maker_add_unnamed(const gt_model_maker *m, gt_meetings *meetings)
{
    size_t count;
    unnamed *list = list_unnamed(m, &count);
    for (size_t begin = 0, end; begin < count; begin = end) {
        const unnamed *first = &list[begin];
        for (end = begin + 1; end < count && list[end].size == first->size && list[end].name == first->name &&
                              list[end].megabytes == first->megabytes;)
            end++;
        size_t distance = find_distance(m, first, end - begin);
        for (size_t i = begin; distance && i < end; i++) add_groups(m, &list[i], distance, meetings);
    }
    gt_free(list);
}
