/* Who is late, by how much, who waits, and what is chance? */
#include "findings/ranks/model.h"

#include "table/stats.h"

double gt_rank_median(double *values, size_t count)
{
    return count ? gt_select(values, count, (count - 1) / 2) : 0;
}

static int by_node(const void *a, const void *b)
{
    const gt_rank_value *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static int by_value(const void *a, const void *b)
{
    const gt_rank_value *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

double gt_rank_usual(gt_rank_value *values, size_t count)
{
    size_t nodes = 0;
    if (!count) return 0;
    qsort(values, count, sizeof *values, by_node);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && values[end].node == values[begin].node;) end++;
        values[nodes++] = values[begin + (end - begin - 1) / 2];
    }
    qsort(values, nodes, sizeof *values, by_value);
    return values[(nodes - 1) / 2].value;
}

/* What is usual among the entries of a stage that are compared; among all of them if none of their ranks
 * shows it. */
static double usual_of(const gt_rank_model *model, const gt_rank_entry *entries, size_t count, uint32_t stage,
                       const gt_rank_summary *ranks, gt_rank_value *values)
{
    size_t found = 0;
    for (int all = 0; all < 2 && !found; all++)
        for (size_t i = 0; i < count; i++)
            if (entries[i].compared && model->stage_of[entries[i].rank] == stage &&
                (all || !ranks[entries[i].rank].is_unusual))
                values[found++] = (gt_rank_value){ranks[entries[i].rank].node, entries[i].compared_ns};
    return gt_rank_usual(values, found);
}

/* Whether the record of the collective before it, or of its base, was lost: ranks that lack none have another
 * one there. What the rank did in between cannot be told from waiting. */
static bool follows_lost(const gt_rank_model *model, size_t collective, const gt_rank_summary *ranks,
                         const gt_rank_entry *entry)
{
    size_t i = model->begins[collective], end = model->begins[collective + 1];
    if (!ranks[entry->rank].lacks) return false;
    while (i < end && ranks[model->entries[i].rank].lacks) i++;
    if (i == end) return false;
    const gt_rank_entry *other = &model->entries[i];
    bool lacks_base = other->base != GT_NONE && !gt_rank_entry_of(model, other->base, entry->rank);
    return lacks_base || other->previous != entry->previous;
}

/* Its work is taken as usual. */
static void assume_usual(gt_rank_entry *entry, double usual_ns)
{
    entry->work_ns += usual_ns - entry->compared_ns;
    entry->compared_ns = usual_ns;
}

/* Works without a base are measured from the start of the window, others from a collective: only one kind can
 * be compared, that which most ranks have. */
static void compare_entries(gt_rank_model *model, size_t collective, const gt_rank_summary *ranks,
                            gt_rank_value *values)
{
    gt_rank_entry *entries = &model->entries[model->begins[collective]];
    size_t count = model->begins[collective + 1] - model->begins[collective];
    size_t with_base = 0;
    for (size_t i = 0; i < count; i++) with_base += entries[i].base != GT_NONE;
    bool based = 2 * with_base >= count;
    for (size_t i = 0; i < count; i++) {
        entries[i].compared =
            (entries[i].base != GT_NONE) == based && !follows_lost(model, collective, ranks, &entries[i]);
        entries[i].is_of_class = entries[i].follows_peers = false;
    }
    double usual = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t stage = model->stage_of[entries[i].rank];
        if (!i || stage != model->stage_of[entries[i - 1].rank])
            usual = usual_of(model, entries, count, stage, ranks, values);
        if (follows_lost(model, collective, ranks, &entries[i])) assume_usual(&entries[i], usual);
        entries[i].late_ns = entries[i].compared ? entries[i].compared_ns - usual : 0;
    }
}

/* ---- several process groups ---- */

/* The entries of one class. */
typedef struct peers {
    gt_rank_model *model;
    const uint32_t *entries; /* places in the model */
    size_t count;
} peers;

static gt_rank_entry *peer(const peers *p, size_t i)
{
    return &p->model->entries[p->entries[i]];
}

static uint32_t base_class(const peers *p, const gt_rank_entry *entry)
{
    return entry->base == GT_NONE ? GT_NONE : p->model->class_of[entry->base];
}

/* The class of bases that most entries have. */
static uint32_t usual_base_class(const peers *p, uint32_t *classes)
{
    for (size_t i = 0; i < p->count; i++) classes[i] = base_class(p, peer(p, i));
    return gt_most_frequent_index(classes, p->count);
}

static double work_of(const gt_rank_entry *entry)
{
    return entry->base == GT_NONE ? entry->compared_ns : entry->work_ns;
}

/* When a rank was done with its collective of a class, before it started this one; NAN if it had none. */
static double end_of_class(const gt_rank_model *model, const gt_rank_entry *entry, uint32_t class)
{
    enum { LOOKED_AT = 64 };
    size_t after, count = gt_rank_entry_count(model, entry->rank);
    GT_BISECT(after, 0, count, gt_rank_entry_at(model, entry->rank, after)->start_ns < entry->start_ns);
    for (size_t i = after; i > 0 && after - i < LOOKED_AT; i--) {
        const gt_rank_entry *before = gt_rank_entry_at(model, entry->rank, i - 1);
        if (model->class_of[before->collective] == class)
            return before->end_ns <= entry->start_ns ? (double)before->end_ns : NAN;
    }
    return NAN;
}

/* An entry that queued on its stream does not show that it waited for the base of its peers, too. It is not
 * late if it was ready as soon after that as they are. */
static void limit_lateness(const gt_rank_model *model, gt_rank_entry *entry, uint32_t usual_class,
                           double usual_ns)
{
    bool has_own = entry->reference == entry->base; /* otherwise carry_lateness looks at it */
    double end_ns = usual_class == GT_NONE || !has_own ? NAN : end_of_class(model, entry, usual_class);
    double late_ns = (double)entry->ready_ns - end_ns - usual_ns;
    entry->follows_peers = late_ns <= 0 && late_ns < entry->late_ns;
    if (entry->follows_peers) entry->late_ns = late_ns;
}

/* `of_one`: all are of one collective, whose works are compared already.
 *
 * References of several collectives can be at different places of the program, because ranks that wait for a
 * late one have another. So works are compared from their bases on, if these are of one class. What has
 * another base stays compared with the ranks of its own collective. */
static void compare_peers(const peers *p, bool of_one, const gt_rank_summary *ranks, gt_rank_value *values,
                          uint32_t *classes)
{
    const size_t least = p->model->stage_count > 1 ? 2 : 3;
    uint32_t usual_class = usual_base_class(p, classes);
    size_t found = 0, alike = 0;
    for (size_t i = 0; i < p->count; i++) {
        gt_rank_entry *entry = peer(p, i);
        entry->is_of_class = base_class(p, entry) == usual_class;
        alike += entry->is_of_class;
    }
    for (int all = 0; all < 2 && !found; all++)
        for (size_t i = 0; i < p->count; i++) {
            const gt_rank_entry *entry = peer(p, i);
            if (entry->is_of_class && (all || !ranks[entry->rank].is_unusual))
                values[found++] = (gt_rank_value){ranks[entry->rank].node, work_of(entry)};
        }
    double usual = gt_rank_usual(values, found);
    for (size_t i = 0; i < p->count; i++) {
        gt_rank_entry *entry = peer(p, i);
        if (!entry->is_of_class && alike >= least) limit_lateness(p->model, entry, usual_class, usual);
        entry->is_of_class &= alike >= least && !of_one;
        if (!entry->is_of_class) continue;
        entry->compared = true;
        entry->late_ns = work_of(entry) - usual;
    }
}

/* Works with the same base follow each other: a delay in the first is also in the next. So the largest one of
 * them counts. */
double gt_rank_late_ns(const gt_rank_model *model, size_t rank)
{
    double sum = 0, largest = -INFINITY;
    uint32_t base = GT_NONE;
    for (size_t i = 0; i < gt_rank_entry_count(model, rank); i++) {
        const gt_rank_entry *entry = gt_rank_entry_at(model, rank, i);
        if (!entry->is_measured || !entry->compared) continue;
        if (entry->base != base && isfinite(largest)) sum += largest;
        if (entry->base != base) largest = -INFINITY;
        base = entry->base;
        largest = fmax(largest, entry->late_ns - fmax(0, entry->node_late_ns));
    }
    if (isfinite(largest)) sum += largest;
    return sum / model->steps[rank];
}

/* As above, but what counts is the last work of each base: a rank that is faster is so from there on, while
 * the works before are as usual. */
double gt_rank_last_late_ns(const gt_rank_model *model, size_t rank)
{
    double sum = 0, last = 0;
    uint32_t base = GT_NONE;
    for (size_t i = 0; i < gt_rank_entry_count(model, rank); i++) {
        const gt_rank_entry *entry = gt_rank_entry_at(model, rank, i);
        if (!entry->is_measured || !entry->compared) continue;
        if (entry->base != base) sum += last;
        base = entry->base;
        last = entry->late_ns;
    }
    return (sum + last) / model->steps[rank];
}

typedef struct waiting {
    double all_ns, *blame_ns; /* by rank: what others wait for it */
    size_t *last, *seen;      /* by rank: collectives in which it came last, and all of its */
} waiting;

/* The rank with the shortest duration came last, and all others waited for it. Waiting for a stage of a
 * pipeline belongs to the schedule. */
static void add_waits(const gt_rank_model *model, size_t collective, gt_rank_summary *ranks, waiting *w)
{
    const gt_rank_entry *last = NULL;
    double sum = 0, transfer = model->transfer_ns[collective];
    for (size_t i = model->begins[collective]; i < model->begins[collective + 1]; i++) {
        const gt_rank_entry *entry = &model->entries[i];
        if (!last || gt_rank_entry_dur(entry) < gt_rank_entry_dur(last)) last = entry;
        ranks[entry->rank].known = true;
        if (!entry->in_window || model->is_pair[collective]) continue;
        double wait = gt_rank_entry_dur(entry) - transfer;
        w->seen[entry->rank]++;
        sum += wait;
        ranks[entry->rank].wait_ns += wait;
        /* Without the wait the collective would end earlier by that much, and as much less be exposed. */
        ranks[entry->rank].exposed_wait_ns += fmin((double)entry->exposed_ns, wait);
    }
    if (last->in_window && !model->is_pair[collective]) w->last[last->rank]++;
    w->blame_ns[last->rank] += sum;
    w->all_ns += sum;
}

/* The others waited for their reference because of a rank that is late and has an older base. So they seem to
 * be late, too, and the rank less late than it is: as late as before, because works with the same base follow
 * each other, and by what its work since then takes longer than theirs since the reference:
 *
 *     others   |base|== work ==|ready 1 .. waits |reference|== work ==|ready 2
 *     rank     |base|== longer work ====|ready 1 == longer work ============|ready 2 */
static void carry_lateness(gt_rank_model *model, size_t rank)
{
    uint32_t base = GT_NONE;
    double largest = 0, before_ns = 0;
    for (size_t i = 0; i < gt_rank_entry_count(model, rank); i++) {
        gt_rank_entry *entry = gt_rank_entry_at(model, rank, i);
        if (entry->base != base) largest = before_ns = 0;
        base = entry->base;
        if (!entry->compared || base == GT_NONE) continue;
        double late_ns = entry->late_ns;
        if (entry->reference != base && !entry->is_of_class) {
            double usual_ns = entry->compared_ns - late_ns;
            double longer_ns = before_ns > 0 ? fmax(0, entry->work_ns - before_ns - usual_ns) : 0;
            entry->late_ns = late_ns = fmax(late_ns, largest + longer_ns);
        }
        /* What has nothing of its own to be late by is as late as what its rank did before it. */
        bool has_own = !entry->follows_peers && !model->is_pair[entry->collective];
        if (!has_own && !entry->is_of_class) entry->late_ns = late_ns = largest;
        largest = fmax(largest, late_ns);
        before_ns = entry->work_ns;
    }
}

void gt_rank_late_compare(gt_rank_model *model, gt_rank_summary *ranks)
{
    size_t most = model->rank_count;
    for (size_t i = 0; i < model->peers_count; i++) {
        size_t count = model->peers_begins[i + 1] - model->peers_begins[i];
        if (count > most) most = count;
    }
    gt_rank_value *values = gt_alloc((most + 1) * sizeof *values);
    uint32_t *classes = gt_alloc((most + 1) * sizeof *classes);
    for (size_t c = 0; c < model->count; c++) compare_entries(model, c, ranks, values);
    size_t *collectives = gt_alloc_zero(model->class_count + 1, sizeof *collectives);
    for (size_t c = 0; c < model->count; c++) collectives[model->class_of[c]]++;
    for (size_t i = 0; i < model->peers_count; i++) {
        peers p = {model, &model->peers[model->peers_begins[i]],
                   model->peers_begins[i + 1] - model->peers_begins[i]};
        compare_peers(&p, collectives[model->class_of[peer(&p, 0)->collective]] == 1, ranks, values, classes);
    }
    gt_free(collectives);
    gt_free(classes);
    for (size_t r = 0; r < model->rank_count; r++) carry_lateness(model, r);
    for (size_t r = 0; r < model->rank_count; r++)
        if (ranks[r].known) ranks[r].late_ns = fmax(0, gt_rank_late_ns(model, r));
    gt_free(values);
}

void gt_rank_late_find(gt_rank_model *model, gt_rank_summary *ranks)
{
    waiting w = {.blame_ns = gt_alloc_zero(model->rank_count, sizeof *w.blame_ns),
                 .last = gt_alloc_zero(model->rank_count, sizeof *w.last),
                 .seen = gt_alloc_zero(model->rank_count, sizeof *w.seen)};
    for (size_t c = 0; c < model->count; c++) add_waits(model, c, ranks, &w);
    gt_rank_late_compare(model, ranks);
    for (size_t r = 0; r < model->rank_count; r++) {
        if (!ranks[r].known) continue;
        double steps = model->steps[r];
        ranks[r].wait_ns /= steps;
        ranks[r].exposed_wait_ns /= steps;
        ranks[r].last_pct = w.seen[r] ? 100.0 * (double)w.last[r] / (double)w.seen[r] : 0;
        ranks[r].blame_pct = w.all_ns > 0 ? 100 * w.blame_ns[r] / w.all_ns : 0;
    }
    gt_free(w.blame_ns);
    gt_free(w.last);
    gt_free(w.seen);
}

/* ---- chance ---- */

/* By how much is a healthy rank late by chance?
 *
 * Kernels do not take the same time twice, so works of healthy ranks differ, and who is late by chance in one
 * step is not in the next one. The lateness of a rank is a sum over the works between its collectives. Each
 * of these works is compared over the ranks of a node, which are most alike, or over all ranks:
 *
 *     work          1      2      3     ...
 *     rank 0      +3 us  -4 us  +1 us           deviations from the median of the node
 *     rank 1      -2 us  +5 us  +2 us
 *     spread       s1     s2     s3             1.48 times the median of their absolute values
 *
 * A fault of one rank or of a whole node does not change the medians. The works vary independently, so the
 * squares of the spreads add up. Of n ranks, the latest one is late by about sqrt(2 ln n) standard deviations
 * by chance. Deviations of more than 3 are not random. With fewer than four ranks, there is no spread to
 * speak of.
 *
 * Ranks may also differ all the time, because no two GPUs are equal. So a rank must also be late by three
 * times the spread of the sums.
 *
 * If half of the ranks or more are late, or if there are only two, these spreads are as large as the lateness
 * itself. So there is a second estimate, without what differs between ranks all the time: how much the works
 * of one rank vary from step to step, or in one step, among each other apart from a common part. The
 * spread of the sums is then that of the half of the ranks that are most alike. It counts if it is smaller,
 * but not below 1 % of the step, because it cannot tell GPUs that differ by nature from late ones.
 *
 * Fewer than LEAST_WORKS works of a rank do not show how much they vary. In a trace with marked steps, each
 * is then assumed to vary by 5 %, more than kernels usually do. */

static const double OF_MEDIAN = 1.4826; /* the standard deviation of normal values whose median this is */
static const double ASSUMED_OF_WORK = 0.05;
static const double LEAST_OF_STEP = 0.002, LEAST_OF_FEW = 0.005, LEAST_OF_OWN = 0.01, FEW_WORKS = 12;
enum { LEAST_RANKS = 4, LEAST_WORKS = 6 };

/* How many times the lower median of `count` absolute values of normal deviations fits in their standard
 * deviation. Of many, OF_MEDIAN; of an even number of few, the lower one of the two in the middle is clearly
 * smaller than the median of all possible ones: of two, 2.7. */
static double times_lower_median(size_t count)
{
    static const double A = 0.147, PI = 3.14159265358979; /* Winitzki's inverse of erf */
    double place = (double)((count - 1) / 2) + 1, part = (place - 0.3) / ((double)count + 0.4);
    double log_rest = log(1 - part * part), b = 2 / (PI * A) + log_rest / 2;
    return 1 / sqrt(2 * (sqrt(b * b - log_rest / A) - b));
}

/* The standard deviation of values that are sorted by node, inside the nodes. The median of a node deviates
 * from itself by nothing, so it does not count. */
static double spread_in_nodes(const gt_rank_value *values, size_t count, double *deviations)
{
    size_t found = 0;
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && values[end].node == values[begin].node;) end++;
        size_t middle = begin + (end - begin - 1) / 2;
        for (size_t i = begin; i < end; i++)
            if (i != middle) deviations[found++] = fabs(values[i].value - values[middle].value);
    }
    return found ? times_lower_median(found) * gt_rank_median(deviations, found) : INFINITY;
}

/* Inside nodes, or over all of them: faults of a few ranks of small nodes are in most of the former, those of
 * whole nodes in the latter. So the smaller one counts. Reorders the values. */
static double spread_of(gt_rank_value *values, size_t count)
{
    double *deviations = gt_alloc((count + 1) * sizeof *deviations);
    qsort(values, count, sizeof *values, by_node);
    double spread = spread_in_nodes(values, count, deviations);
    for (size_t i = 0; i < count; i++) values[i].node = 0;
    qsort(values, count, sizeof *values, by_node);
    spread = fmin(spread, spread_in_nodes(values, count, deviations));
    gt_free(deviations);
    return isfinite(spread) ? spread : 0;
}

/* What an entry says of its rank up to then: how late it is, or how long its work takes. */
typedef double entry_time(const gt_rank_entry *entry);

static double late_ns_of(const gt_rank_entry *entry)
{
    return entry->late_ns;
}

static double compared_ns_of(const gt_rank_entry *entry)
{
    return entry->compared_ns;
}

/* What each entry adds to this after the entry before it with the same base, by the place of entries in the
 * model; NAN if it is not known. */
static double *find_additions(const gt_rank_model *model, entry_time *time_of)
{
    size_t count = model->begins[model->count];
    double *additions = gt_alloc((count + 1) * sizeof *additions);
    for (size_t i = 0; i < count; i++) additions[i] = NAN;
    for (size_t r = 0; r < model->rank_count; r++) {
        uint32_t base = GT_NONE;
        double before = 0;
        for (size_t i = 0; i < gt_rank_entry_count(model, r); i++) {
            const gt_rank_entry *entry = gt_rank_entry_at(model, r, i);
            if (!entry->is_measured || !entry->compared) continue;
            if (entry->base != base) before = 0;
            base = entry->base;
            additions[entry - model->entries] = time_of(entry) - before;
            before = time_of(entry);
        }
    }
    return additions;
}

/* Works that vary around the same time: those before a collective, or, of pipelines, those of one class and
 * stage. */
typedef struct alike_works {
    const uint32_t *peers; /* places of entries; NULL: those from `begin` on */
    size_t begin, count;
} alike_works;

static size_t alike_count(const gt_rank_model *model)
{
    return model->stage_count > 1 ? model->peers_count : model->count;
}

static alike_works alike_at(const gt_rank_model *model, size_t i)
{
    if (model->stage_count == 1)
        return (alike_works){.begin = model->begins[i], .count = model->begins[i + 1] - model->begins[i]};
    size_t begin = model->peers_begins[i];
    return (alike_works){.peers = &model->peers[begin], .count = model->peers_begins[i + 1] - begin};
}

static size_t alike_entry(const alike_works *alike, size_t i)
{
    return alike->peers ? alike->peers[i] : alike->begin + i;
}

/* Adds the square of the spread of works to the sum of each of their ranks. */
static void add_squares(const gt_rank_model *model, const alike_works *alike, const double *additions,
                        const gt_rank_summary *ranks, gt_rank_value *values, double *squares)
{
    size_t found = 0;
    for (size_t i = 0; i < alike->count; i++) {
        size_t at = alike_entry(alike, i);
        if (!isnan(additions[at]))
            values[found++] = (gt_rank_value){ranks[model->entries[at].rank].node, additions[at]};
    }
    if (found < 2) return;
    double spread = spread_of(values, found);
    for (size_t i = 0; i < alike->count; i++) {
        size_t at = alike_entry(alike, i);
        if (!isnan(additions[at])) squares[model->entries[at].rank] += spread * spread;
    }
}

/* The standard deviation of the lateness of a rank per step, from that of its works. */
static double spread_of_works(const gt_rank_model *model, const gt_rank_summary *ranks)
{
    gt_rank_value *values = gt_alloc((model->begins[model->count] + 1) * sizeof *values);
    double *additions = find_additions(model, late_ns_of);
    double *squares = gt_alloc_zero(model->rank_count + 1, sizeof *squares);
    size_t known = 0;
    for (size_t k = 0; k < alike_count(model); k++) {
        alike_works alike = alike_at(model, k);
        add_squares(model, &alike, additions, ranks, values, squares);
    }
    for (size_t r = 0; r < model->rank_count; r++)
        if (ranks[r].known) squares[known++] = sqrt(squares[r]) / model->steps[r];
    double spread = gt_rank_median(squares, known);
    gt_free(additions);
    gt_free(squares);
    gt_free(values);
    return spread;
}

/* ---- from the works of each rank alone ---- */

/* One work of a rank: how much longer it is than the mean of all ranks, and this mean. */
typedef struct own_work {
    double more_ns, mean_ns;
} own_work;

/* By the place of entries. With n ranks, deviations from the mean are smaller than those from the true one.
 */
static own_work *compare_works(const gt_rank_model *model)
{
    double *works = find_additions(model, compared_ns_of);
    own_work *compared = gt_alloc((model->begins[model->count] + 1) * sizeof *compared);
    for (size_t k = 0; k < alike_count(model); k++) {
        alike_works alike = alike_at(model, k);
        double sum = 0, count = 0;
        for (size_t i = 0; i < alike.count; i++) {
            size_t at = alike_entry(&alike, i);
            compared[at] = (own_work){NAN, NAN};
            if (isnan(works[at])) continue;
            sum += works[at];
            count++;
        }
        for (size_t i = 0; count > 1 && i < alike.count; i++) {
            size_t at = alike_entry(&alike, i);
            if (!isnan(works[at]))
                compared[at] =
                    (own_work){sqrt(count / (count - 1)) * (works[at] - sum / count), fmax(0, sum / count)};
        }
    }
    gt_free(works);
    return compared;
}

/* The variance of the sum of the works of one step, from how each of them differs between steps. A work of
 * twice the length has twice the variance: what all of them say together counts if it is more. */
static double square_over_steps(const own_work *works, size_t count, size_t steps)
{
    double square = 0, parts = 0, all = 0;
    size_t per_step = count / steps, with_length = 0;
    for (size_t p = 0; p < per_step; p++) {
        double sum = 0, length = 0, squares = 0;
        for (size_t s = 0; s < steps; s++) {
            sum += works[s * per_step + p].more_ns;
            length += works[s * per_step + p].mean_ns / (double)steps;
        }
        for (size_t s = 0; s < steps; s++) {
            double from_mean = works[s * per_step + p].more_ns - sum / (double)steps;
            squares += from_mean * from_mean;
        }
        square += squares / (double)(steps - 1);
        all += length;
        if (length > 0) parts += squares / (double)(steps - 1) / length;
        with_length += length > 0;
    }
    return with_length ? fmax(square, parts / (double)with_length * all) : square;
}

/* The same from how the works differ among each other, apart from the part by which all are longer. A work of
 * twice the length has twice the variance. The median leaves out works that have a fault. */
static double square_over_works(const own_work *works, size_t count, double steps, double *values)
{
    size_t found = 0;
    double all = 0;
    for (size_t i = 0; i < count; i++)
        if (works[i].mean_ns > 0) values[found++] = works[i].more_ns / works[i].mean_ns;
    double part = gt_rank_median(values, found);
    found = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(works[i].mean_ns > 0)) continue;
        values[found++] = fabs(works[i].more_ns - part * works[i].mean_ns) / sqrt(works[i].mean_ns);
        all += works[i].mean_ns;
    }
    /* One of them is 0, that with the median part. */
    double spread = found ? OF_MEDIAN * gt_select(values, found, found / 2) : 0;
    return spread * spread * all / steps;
}

/* The same of works that are too few to tell. */
static double assumed_square(const own_work *works, size_t count, double steps)
{
    double square = 0;
    for (size_t i = 0; i < count; i++) square += pow(ASSUMED_OF_WORK * works[i].mean_ns, 2) / steps;
    return square;
}

/* The standard deviation of the lateness of one rank per step; infinite if it has too few works. */
static double own_spread(const gt_rank_model *model, size_t rank, const own_work *compared, own_work *works,
                         double *values)
{
    size_t count = 0, steps = (size_t)fmin(fmax(1, round(model->steps[rank])), 1e9);
    for (size_t i = model->rank_begins[rank]; i < model->rank_begins[rank + 1]; i++) {
        own_work work = compared[model->rank_entries[i]];
        if (!isnan(work.more_ns)) works[count++] = work;
    }
    if (count < LEAST_WORKS)
        return model->has_steps && count ? sqrt(assumed_square(works, count, (double)steps) / (double)steps)
                                         : INFINITY;
    double square = steps > 1 && count % steps == 0 ? square_over_steps(works, count, steps)
                                                    : square_over_works(works, count, (double)steps, values);
    /* Few works can be alike by chance. */
    return sqrt(square / (double)steps * (1 + FEW_WORKS / (double)count));
}

/* The spread of the half of the sorted values that are closest to each other. */
static double spread_of_closest(const double *sorted, size_t count)
{
    size_t half = (count + 1) / 2;
    double shortest = INFINITY;
    for (size_t i = 0; i + half <= count; i++) shortest = fmin(shortest, sorted[i + half - 1] - sorted[i]);
    return count && half > 1 ? OF_MEDIAN / 2 * shortest : 0;
}

/* Works that are late by chance only add up if what is usual is the shortest of two. So what the least late
 * quarter is late is no lateness. */
static double least_late_of_own(const gt_rank_model *model, const gt_rank_summary *ranks)
{
    size_t most = 0, known = 0;
    for (size_t r = 0; r < model->rank_count; r++) {
        size_t count = model->rank_begins[r + 1] - model->rank_begins[r];
        if (count > most) most = count;
    }
    own_work *compared = compare_works(model), *works = gt_alloc((most + 1) * sizeof *works);
    double *values = gt_alloc((most + 1) * sizeof *values);
    double *spreads = gt_alloc((model->rank_count + 1) * sizeof *spreads);
    double *sums = gt_alloc((model->rank_count + 1) * sizeof *sums);
    for (size_t r = 0; r < model->rank_count; r++) {
        if (!ranks[r].known) continue;
        spreads[known] = own_spread(model, r, compared, works, values);
        sums[known++] = gt_rank_late_ns(model, r);
    }
    qsort(spreads, known, sizeof *spreads, gt_by_double);
    qsort(sums, known, sizeof *sums, gt_by_double);
    /* Of fewer than four ranks, the usual one varies as much as the others. */
    double least = INFINITY, twice = known < LEAST_RANKS ? sqrt(2) : 1;
    if (known > 1)
        least = fmax(0, sums[(known - 1) / 4]) +
                fmax((3 + sqrt(2 * log((double)(known + 1)))) * twice * spreads[3 * known / 4],
                     3 * spread_of_closest(sums, known));
    gt_free(compared);
    gt_free(works);
    gt_free(values);
    gt_free(spreads);
    gt_free(sums);
    return least;
}

double gt_rank_least_late(const gt_rank_model *model, const gt_rank_summary *ranks, double step_ns)
{
    gt_rank_value *values = gt_alloc((model->rank_count + 1) * sizeof *values);
    size_t known = 0;
    for (size_t r = 0; r < model->rank_count; r++)
        if (ranks[r].known) values[known++] = (gt_rank_value){ranks[r].node, gt_rank_late_ns(model, r)};
    double of_sums = known ? spread_of(values, known) : 0;
    double spread = spread_of_works(model, ranks);
    gt_free(values);
    double chance = fmax((3 + sqrt(2 * log((double)(known + 1)))) * spread, 3 * of_sums);
    chance = fmin(chance, fmax(least_late_of_own(model, ranks), LEAST_OF_OWN * step_ns));
    return fmax(chance, (known < LEAST_RANKS ? LEAST_OF_FEW : LEAST_OF_STEP) * step_ns);
}
