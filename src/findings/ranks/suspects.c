/* Which ranks and nodes are late, and why?
 *
 * A rank is suspected if its work takes longer than that of the others by more than chance (late.c). A node
 * is suspected if its ranks are, for the same reason.
 *
 * If a few ranks need clearly less time than most, they show what is possible, and the others are late. */
#include "findings/ranks/find.h"

/* What does a late rank do longer than the median rank?
 *
 * In a step a GPU computes, waits for collectives, or waits for something else. The time that a late rank
 * needs more is the time that it waits less in collectives, so it is found among the other parts: the time of
 * each kernel, and the gaps between kernels by what the GPU waited for. Each part is compared with what is
 * usual for all ranks (gt_rank_usual).
 *
 * If nearly all kernels take longer by the same factor, it is the GPU that is slow, not a kernel. */

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

/* What is usual of a value of each rank: among ranks that show it, or among all if none of them does. */
typedef double rank_value(const gt_rank_facts *facts, size_t which);

static double usual_of(const gt_rank_summary *ranks, size_t rank_count, rank_value *value_of, size_t which,
                       gt_rank_value *values)
{
    size_t count = 0;
    for (int all = 0; all < 2 && !count; all++)
        for (size_t r = 0; r < rank_count; r++)
            if (ranks[r].known && (all || !ranks[r].is_unusual))
                values[count++] = (gt_rank_value){ranks[r].node, value_of(ranks[r].facts, which)};
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

static gt_kernel_times *new_kernel_times(const gt_rank_summary *ranks, size_t rank_count)
{
    gt_kernel_times *t = gt_alloc_zero(1, sizeof *t);
    for (size_t r = 0; r < rank_count; r++) {
        const gt_rank_facts *facts = ranks[r].facts;
        if (!ranks[r].known) continue;
        t->known++;
        for (size_t i = 0; i < facts->kernel_count; i++) {
            const gt_rank_kernel *k = &facts->kernels[i];
            kernel_time item = {gt_rank_text(facts, k->kernel), gt_rank_text(facts, k->op), (uint32_t)r,
                                k->ns, 0};
            GT_PUSH(t->items, t->count, t->capacity, item);
        }
    }
    if (t->count) qsort(t->items, t->count, sizeof *t->items, by_kernel);
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

static size_t find_causes(const gt_rank_summary *ranks, const gt_kernel_times *times, size_t rank,
                          double least_ns, gt_late_cause list[GT_LATE_CAUSES_MAX])
{
    causes c = {list, 0, least_ns};
    add_kernels(&c, times, rank);
    add_gaps(&c, times, ranks[rank].facts);
    return c.count;
}

static gt_kernel_times *times_of(const gt_late_search *s, size_t rank)
{
    return s->times[s->model->stage_of[rank]];
}

/* Ranks are compared with those of their stage. */
static void find_kernel_times(gt_late_search *s)
{
    size_t count = s->found->rank_count, stages = s->model->stage_count;
    gt_rank_summary *ranks = gt_alloc((count + 1) * sizeof *ranks);
    s->times = gt_alloc(stages * sizeof(gt_kernel_times *));
    for (size_t stage = 0; stage < stages; stage++) {
        memcpy(ranks, s->found->ranks, count * sizeof *ranks);
        for (size_t r = 0; r < count; r++) ranks[r].known &= s->model->stage_of[r] == stage;
        s->times[stage] = new_kernel_times(ranks, count);
    }
    gt_free(ranks);
}

static void find_differences(const gt_kernel_times *times, const gt_rank_facts *facts,
                             double differences[GT_RANK_DIFFERENCES])
{
    for (size_t i = 0; i < GT_CAUSES; i++)
        differences[i] = i == GT_CAUSE_COLLECTIVE ? 0 : facts->gap_ns[i] - times->usual_gap_ns[i];
    differences[GT_CAUSES] = kernels_of(facts, 0) - times->usual_kernel_ns;
}

/* ---- suspects ---- */

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
    gt_kernel_times *times = times_of(s, member->rank);
    memcpy(ranks, s->found->ranks, count * sizeof *ranks);
    if (member->in_node) {
        for (size_t r = 0; r < count; r++)
            ranks[r].known &= s->node_of[r] == s->node_of[member->rank] &&
                              s->model->stage_of[r] == s->model->stage_of[member->rank];
        times = new_kernel_times(ranks, count);
    }
    member->cause_count = find_causes(ranks, times, member->rank, least, member->causes);
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
    find_differences(times_of(s, rank), s->found->ranks[rank].facts, differences);
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
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known)
            values[count++] = (gt_rank_value){found->ranks[r].node, own_ns(found->ranks[r].facts)};
    double usual = gt_rank_usual(values, count);
    gt_free(values);
    return usual;
}

/* A rank that waits for a late one can do some of its work meanwhile; that does not make it fast. So it must
 * also do less. */
static bool is_fast(const gt_late_search *s, size_t rank, double least_ns, double usual_ns)
{
    double earlier_ns = -gt_rank_last_late_ns(s->model, rank);
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
    for (size_t r = 0; r < found->rank_count; r++) {
        found->ranks[r].is_unusual = found->ranks[r].known && !is_fast(s, r, least, usual);
        fast += found->ranks[r].known && !found->ranks[r].is_unusual;
    }
    found->few_are_usual = fast && 2 * fast < known;
    for (size_t r = 0; !found->few_are_usual && r < found->rank_count; r++)
        found->ranks[r].is_unusual = false;
    if (found->few_are_usual) gt_rank_late_compare(s->model, found->ranks);
}

void gt_search_suspects(gt_late_search *s)
{
    gt_rank_findings *found = s->found;
    s->least_ns = gt_rank_least_late(s->model, found->ranks, found->step_ns);
    if (s->model->stage_count == 1) find_fast(s);
    find_kernel_times(s);
    gt_rank_value *launches = gt_alloc((found->rank_count + 1) * sizeof *launches);
    s->usual_launch_ns = usual_of(found->ranks, found->rank_count, launch_of, 0, launches);
    gt_free(launches);
    double *values = gt_alloc((found->rank_count + 1) * sizeof *values);
    if (found->nodes_known && found->node_count > 1)
        for (size_t n = 0; n < found->node_count; n++) suspect_node(s, n, s->least_ns, values);
    size_t nodes = s->suspect_count;
    for (size_t i = 0; i < nodes; i++) {
        s->late_nodes[s->suspects[i].index] = true;
        set_node_lateness(s, s->suspects[i].index, values);
    }
    for (size_t r = 0; r < found->rank_count; r++) {
        if (!found->ranks[r].known) continue;
        double late = gt_rank_late_ns(s->model, r); /* without its node's */
        if (late >= s->least_ns) add_suspect(s, (gt_suspect){.index = r, .rank = r, .late_ns = late});
    }
    if (s->suspect_count) qsort(s->suspects, s->suspect_count, sizeof *s->suspects, later_first);
    gt_free(values);
}
