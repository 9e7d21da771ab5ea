/* Whose host is slow?
 *
 * A slow host makes its rank late only if the GPU waits for launches; that is a straggler. Mostly the host
 * runs ahead of the GPU, and a host that launches at half the speed costs nothing. But it shows that
 * something is wrong with that machine (other processes, a low clock, wrong binding), and it will cost
 * something with smaller batches. So it is a finding of its own, with the gain that the model gives: about 0.
 *
 * The host time per launch of a rank is compared with that of the usual rank. A host is slow if its time is
 * longer by 5 %, by five standard errors of the mean, its own and the usual one (few launches can be alike by
 * chance), and by five times what hosts usually differ. */
#include "findings/ranks/find.h"

#include "base/memory.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>

static const double LEAST_SLOWER = 0.05, LEAST_ERRORS = 5, EQUALLY_SLOW = 0.85;
enum { LEAST_RANKS = 4 };

typedef struct slow_host {
    size_t rank;
    double slower; /* 0.5: a launch takes half as long again */
} slow_host;

static int slowest_first(const void *a, const void *b)
{
    const slow_host *x = a, *y = b;
    if (x->slower != y->slower) return x->slower > y->slower ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* By how much hosts usually differ from the usual one, as a part of it. */
static double usual_difference(const gt_rank_findings *found, double usual_ns, size_t *known)
{
    gt_rank_value *values = gt_alloc((found->rank_count + 1) * sizeof *values);
    *known = 0;
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known)
            values[(*known)++] =
                (gt_rank_value){found->ranks[r].node, fabs(found->ranks[r].facts->launch_ns / usual_ns - 1)};
    double usual = gt_rank_usual(values, *known);
    gt_free(values);
    return usual;
}

/* The standard error of the time per launch of a usual host, and that of what is usual among so few. */
static double usual_error(const gt_rank_findings *found)
{
    double *values = gt_alloc((found->rank_count + 1) * sizeof *values), usual = 0;
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known) values[count++] = found->ranks[r].facts->launch_error_ns;
    if (count) usual = gt_select(values, count, count / 2) * (1 + 1 / sqrt((double)count));
    gt_free(values);
    return usual;
}

static slow_host *find_slow(const gt_rank_findings *found, double usual_ns, const bool *has_finding,
                            size_t *count)
{
    slow_host *hosts = NULL;
    size_t capacity = 0, known;
    *count = 0;
    double least = fmax(LEAST_SLOWER, 5 * usual_difference(found, usual_ns, &known));
    least = fmax(least, LEAST_ERRORS * usual_error(found) / usual_ns);
    for (size_t r = 0; known >= LEAST_RANKS && r < found->rank_count; r++) {
        if (!found->ranks[r].known || has_finding[r]) continue;
        const gt_rank_facts *facts = found->ranks[r].facts;
        double slower = facts->launch_ns / usual_ns - 1;
        if (slower < fmax(least, LEAST_ERRORS * facts->launch_error_ns / usual_ns)) continue;
        GT_PUSH(hosts, *count, capacity, ((slow_host){r, slower}));
    }
    if (*count) qsort(hosts, *count, sizeof *hosts, slowest_first);
    return hosts;
}

void gt_slow_hosts_find(const gt_rank_findings *found, double usual_ns, const bool *has_finding,
                        gt_slow_hosts *list)
{
    size_t count;
    *list = (gt_slow_hosts){0};
    if (!(usual_ns > 0)) return;
    slow_host *hosts = find_slow(found, usual_ns, has_finding, &count);
    for (size_t begin = 0, end; begin < count && list->count < GT_SLOW_HOSTS_MAX; begin = end) {
        gt_slow_host_group *group = &list->items[list->count++];
        *group = (gt_slow_host_group){.rank = hosts[begin].rank,
                                      .slower = hosts[begin].slower,
                                      .launch_ns = found->ranks[hosts[begin].rank].facts->launch_ns,
                                      .usual_ns = usual_ns};
        group->has_rank = gt_alloc_zero(found->rank_count + 1, sizeof *group->has_rank);
        for (end = begin; end < count && hosts[end].slower >= EQUALLY_SLOW * hosts[begin].slower; end++)
            group->has_rank[hosts[end].rank] = true;
        group->count = end - begin;
    }
    gt_free(hosts);
}

void gt_slow_hosts_free(gt_slow_hosts *list)
{
    for (size_t i = 0; i < list->count; i++) gt_free(list->items[i].has_rank);
    *list = (gt_slow_hosts){0};
}
