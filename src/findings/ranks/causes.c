/* What does a late rank do longer than the median rank?
 *
 * In a step a GPU computes, waits for collectives, or waits for something else. The time that a late rank
 * needs more is the time that it waits less in collectives, so it is found among the other parts: the time of
 * each kernel, and the gaps between kernels by what the GPU waited for. Each part is compared with what is
 * usual for all ranks (gt_rank_usual).
 *
 * If nearly all kernels take longer by the same factor, it is the GPU that is slow, not a kernel. */
#include "findings/ranks/model.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels of all ranks ---- */

typedef struct kernel_time {
    const char *kernel, *op; /* strings of the rank's facts; op may be NULL */
    uint32_t rank;
    double ns, usual_ns;
} kernel_time;

struct gt_kernel_times {
    kernel_time *items; /* by kernel and rank */
    size_t count, capacity;
    size_t *begins; /* by rank: places of its items in `of_rank` */
    uint32_t *of_rank;
    size_t known; /* ranks with facts */
    double usual_gap_ns[GT_CAUSES], usual_launch_ns, usual_kernel_ns;
};

static int by_kernel(const void *a, const void *b)
{
    const kernel_time *x = a, *y = b;
    int order = strcmp(x->kernel, y->kernel);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorts by kernel and rank. The items are in order of ranks, and ranks have the same kernels: so each is put
 * after those of its kernel. Sorting them as a whole would look at all of them again and again, which are
 * outside memory. */
static void sort_by_kernel(gt_kernel_times *t)
{
    gt_interner *names = gt_interner_new();
    uint32_t *ids = gt_alloc(t->count * sizeof *ids);
    for (size_t i = 0; i < t->count; i++) {
        gt_memory_poll_at(i);
        ids[i] = gt_interner_add_cstr(names, t->items[i].kernel);
    }
    size_t count = gt_interner_count(names), begin = 0, *places = gt_alloc_zero(count, sizeof *places);
    kernel_time *kernels = gt_alloc(count * sizeof *kernels), *sorted = gt_alloc(t->count * sizeof *sorted);
    for (size_t i = 0; i < t->count; i++) places[ids[i]]++;
    for (uint32_t id = GT_STR_EMPTY; id < count; id++)
        kernels[id] = (kernel_time){.kernel = gt_interner_get(names, id).bytes, .rank = id};
    qsort(kernels + GT_STR_EMPTY, count - GT_STR_EMPTY, sizeof *kernels, by_kernel);
    for (size_t k = GT_STR_EMPTY; k < count; k++) {
        size_t items = places[kernels[k].rank];
        places[kernels[k].rank] = begin;
        begin += items;
    }
    for (size_t i = 0; i < t->count; i++) {
        gt_memory_poll_at(i);
        sorted[places[ids[i]]++] = t->items[i];
    }
    gt_free(t->items);
    t->items = sorted;
    gt_free(places);
    gt_free(kernels);
    gt_free(ids);
    gt_interner_free(names);
}

static const char *text_of(const gt_rank_facts *facts, uint32_t id)
{
    return id == GT_STR_NONE ? NULL : gt_interner_get(facts->strings, id).bytes;
}

/* What is usual of a value of each rank: among ranks that show it, or among all if none of them does. */
typedef double rank_value(const gt_rank_facts *facts, size_t which);

static double usual_of(const gt_rank_summary *ranks, size_t rank_count, rank_value *value_of, size_t which,
                       gt_rank_value *values)
{
    size_t count = 0;
    for (int all = 0; all < 2 && !count; all++)
        for (size_t r = 0; r < rank_count; r++) {
            gt_memory_poll_at(r);
            if (ranks[r].known && (all || !ranks[r].is_unusual))
                values[count++] = (gt_rank_value){ranks[r].node, value_of(ranks[r].facts, which)};
        }
    return gt_rank_usual(values, count);
}

static double gap_of(const gt_rank_facts *facts, size_t cause)
{
    return facts->gap_ns[cause];
}

static double launch_of(const gt_rank_facts *facts, size_t unused)
{
    (void)unused;
    return facts->launch_ns;
}

static double kernels_of(const gt_rank_facts *facts, size_t unused)
{
    (void)unused;
    double sum = 0;
    for (size_t i = 0; i < facts->kernel_count; i++) sum += facts->kernels[i].ns;
    return sum;
}

static void find_usual_gaps(gt_kernel_times *t, const gt_rank_summary *ranks, size_t rank_count)
{
    gt_rank_value *values = gt_alloc((rank_count + 1) * sizeof *values);
    for (size_t cause = 0; cause < GT_CAUSES; cause++)
        t->usual_gap_ns[cause] = usual_of(ranks, rank_count, gap_of, cause, values);
    t->usual_kernel_ns = usual_of(ranks, rank_count, kernels_of, 0, values);
    t->usual_launch_ns = usual_of(ranks, rank_count, launch_of, 0, values);
    gt_free(values);
}

/* Ranks without the kernel spend no time in it. If a kernel is in less than a quarter of the ranks, it is
 * usual to have none of it (gt_rank_usual), and the others need not be looked at. */
static void find_usual(gt_kernel_times *t, const gt_rank_summary *ranks, size_t rank_count)
{
    gt_rank_value *values = gt_alloc((rank_count + 1) * sizeof *values);
    bool any_usual = false;
    for (size_t r = 0; r < rank_count; r++) any_usual |= ranks[r].known && !ranks[r].is_unusual;
    for (size_t begin = 0, end; begin < t->count; begin = end) {
        for (end = begin; end < t->count && strcmp(t->items[begin].kernel, t->items[end].kernel) == 0;) end++;
        if ((end - begin) * 4 < t->known) continue;
        size_t count = 0;
        for (size_t r = 0, at = begin; r < rank_count; r++) {
            if (!ranks[r].known) continue;
            gt_memory_poll_at(r);
            bool has = at < end && t->items[at].rank == r;
            if (!any_usual || !ranks[r].is_unusual)
                values[count++] = (gt_rank_value){ranks[r].node, has ? t->items[at].ns : 0};
            at += has;
        }
        double usual = gt_rank_usual(values, count);
        for (size_t i = begin; i < end; i++) t->items[i].usual_ns = usual;
    }
    gt_free(values);
}

static void index_by_rank(gt_kernel_times *t, size_t rank_count)
{
    t->begins = gt_alloc_zero(rank_count + 2, sizeof *t->begins);
    t->of_rank = gt_alloc(t->count * sizeof *t->of_rank);
    for (size_t i = 0; i < t->count; i++) t->begins[t->items[i].rank + 2]++;
    for (size_t r = 2; r < rank_count + 2; r++) t->begins[r] += t->begins[r - 1];
    for (size_t i = 0; i < t->count; i++) t->of_rank[t->begins[t->items[i].rank + 1]++] = (uint32_t)i;
}

gt_kernel_times *gt_kernel_times_new(const gt_rank_summary *ranks, size_t rank_count)
{
    gt_kernel_times *t = gt_alloc_zero(1, sizeof *t);
    for (size_t r = 0; r < rank_count; r++) {
        const gt_rank_facts *facts = ranks[r].facts;
        if (!ranks[r].known) continue;
        gt_memory_poll_at(r);
        t->known++;
        for (size_t i = 0; i < facts->kernel_count; i++) {
            const gt_rank_kernel *k = &facts->kernels[i];
            kernel_time item = {text_of(facts, k->kernel), text_of(facts, k->op), (uint32_t)r, k->ns, 0};
            GT_PUSH(t->items, t->count, t->capacity, item);
        }
    }
    if (t->count) sort_by_kernel(t);
    find_usual(t, ranks, rank_count);
    find_usual_gaps(t, ranks, rank_count);
    index_by_rank(t, rank_count);
    return t;
}

void gt_kernel_times_free(gt_kernel_times *times)
{
    gt_free(times->items);
    gt_free(times->begins);
    gt_free(times->of_rank);
    gt_free(times);
}

/* ---- causes of one rank ---- */

/* The largest causes so far, in order. */
typedef struct causes {
    gt_late_cause *items;
    size_t count;
    double least_ns;
} causes;

static void add_cause(causes *c, gt_late_cause cause)
{
    if (!(cause.ns >= c->least_ns)) return;
    size_t at = c->count < GT_LATE_CAUSES_MAX ? c->count++ : GT_LATE_CAUSES_MAX;
    if (at == GT_LATE_CAUSES_MAX && cause.ns <= c->items[--at].ns) return;
    while (at > 0 && c->items[at - 1].ns < cause.ns) {
        c->items[at] = c->items[at - 1];
        at--;
    }
    c->items[at] = cause;
}

/* Time in collectives is waiting for others, not the rank's own. */
static void add_gaps(causes *c, const gt_kernel_times *t, const gt_rank_facts *facts)
{
    for (int cause = 0; cause < GT_CAUSES; cause++) {
        if (cause == GT_CAUSE_COLLECTIVE) continue;
        double own = facts->gap_ns[cause], usual = t->usual_gap_ns[cause];
        add_cause(c, (gt_late_cause){.kind = GT_LATE_HOST,
                                     .cause = (gt_cause)cause,
                                     .ns = own - usual,
                                     .own_ns = own,
                                     .usual_ns = usual,
                                     .usual_launch_ns = t->usual_launch_ns});
    }
}

/* Kernels that take longer by at least half of the common factor make up at least four fifths of the time,
 * and none of them makes up most of the difference alone. */
static bool all_are_slow(const gt_kernel_times *t, size_t begin, size_t end, gt_late_cause *all)
{
    double own = 0, usual = 0, slow = 0, largest = 0;
    for (size_t i = begin; i < end; i++) {
        const kernel_time *k = &t->items[t->of_rank[i]];
        own += k->ns;
        usual += k->usual_ns;
        largest = fmax(largest, k->ns - k->usual_ns);
    }
    double factor = usual > 0 ? own / usual - 1 : 0;
    if (factor <= 0) return false;
    for (size_t i = begin; i < end; i++) {
        const kernel_time *k = &t->items[t->of_rank[i]];
        if (k->usual_ns > 0 && k->ns / k->usual_ns - 1 >= factor / 2) slow += k->usual_ns;
    }
    *all = (gt_late_cause){.kind = GT_LATE_ALL_KERNELS, .ns = own - usual, .own_ns = own, .usual_ns = usual};
    return slow >= 0.8 * usual && largest <= 0.6 * (own - usual);
}

static void add_kernels(causes *c, const gt_kernel_times *t, size_t rank)
{
    size_t begin = t->begins[rank], end = t->begins[rank + 1];
    gt_late_cause all;
    if (all_are_slow(t, begin, end, &all)) {
        add_cause(c, all);
        return;
    }
    for (size_t i = begin; i < end; i++) {
        const kernel_time *k = &t->items[t->of_rank[i]];
        add_cause(c, (gt_late_cause){.kind = GT_LATE_KERNEL,
                                     .kernel = k->kernel,
                                     .op = k->op,
                                     .ns = k->ns - k->usual_ns,
                                     .own_ns = k->ns,
                                     .usual_ns = k->usual_ns});
    }
}

size_t gt_late_causes_find(const gt_rank_summary *ranks, const gt_kernel_times *times, size_t rank,
                           double least_ns, gt_late_cause list[GT_LATE_CAUSES_MAX])
{
    causes c = {list, 0, least_ns};
    gt_memory_poll();
    add_kernels(&c, times, rank);
    add_gaps(&c, times, ranks[rank].facts);
    return c.count;
}

void gt_rank_differences_find(const gt_kernel_times *times, const gt_rank_facts *facts,
                              double differences[GT_RANK_DIFFERENCES])
{
    gt_memory_poll();
    for (size_t i = 0; i < GT_CAUSES; i++)
        differences[i] = i == GT_CAUSE_COLLECTIVE ? 0 : facts->gap_ns[i] - times->usual_gap_ns[i];
    differences[GT_CAUSES] = kernels_of(facts, 0) - times->usual_kernel_ns;
}

double gt_usual_launch_ns(const gt_kernel_times *times)
{
    return times->usual_launch_ns;
}
