/* Who is late, by how much, and who waits? */
#include "findings/ranks/maker.h"

#include "base/memory.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>

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

/* What is usual among the entries that are compared; among all of them if none of their ranks shows it. */
static double usual_of(const gt_rank_entry *entries, size_t count, const gt_rank_summary *ranks,
                       gt_rank_value *values)
{
    size_t found = 0;
    for (int all = 0; all < 2 && !found; all++)
        for (size_t i = 0; i < count; i++)
            if (entries[i].compared && (all || !ranks[entries[i].rank].is_unusual))
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
    gt_memory_poll();
    for (size_t i = 0; i < count; i++) with_base += entries[i].base != GT_NONE;
    bool based = 2 * with_base >= count;
    for (size_t i = 0; i < count; i++) {
        entries[i].compared =
            (entries[i].base != GT_NONE) == based && !follows_lost(model, collective, ranks, &entries[i]);
        entries[i].is_of_class = false;
    }
    double usual = usual_of(entries, count, ranks, values);
    for (size_t i = 0; i < count; i++)
        if (follows_lost(model, collective, ranks, &entries[i])) assume_usual(&entries[i], usual);
    for (size_t i = 0; i < count; i++)
        entries[i].late_ns = entries[i].compared ? entries[i].compared_ns - usual : 0;
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

/* References of several collectives can be at different places of the program, because ranks that wait for a
 * late one have another. So works are compared from their bases on, if these are of one class. What has
 * another base stays compared with the ranks of its own collective. */
static void compare_peers(const peers *p, const gt_rank_summary *ranks, gt_rank_value *values,
                          uint32_t *classes)
{
    enum { LEAST = 3 };
    gt_memory_poll();
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
        entry->is_of_class &= alike >= LEAST;
        if (!entry->is_of_class) continue;
        entry->compared = true;
        entry->late_ns = work_of(entry) - usual;
    }
}

/* Works with the same base follow each other: a delay in the first is also in the next. So the largest one of
 * them counts. */
double gt_rank_late_ns(gt_rank_walk *walk, size_t rank)
{
    const gt_rank_model *model = walk->model;
    const gt_rank_entry *entry = gt_rank_walk_to(walk, rank);
    double sum = 0, largest = -INFINITY;
    uint32_t base = GT_NONE;
    for (size_t i = 0; i < gt_rank_entry_count(model, rank); i++, entry++) {
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
double gt_rank_last_late_ns(gt_rank_walk *walk, size_t rank)
{
    const gt_rank_model *model = walk->model;
    const gt_rank_entry *entry = gt_rank_walk_to(walk, rank);
    double sum = 0, last = 0;
    uint32_t base = GT_NONE;
    for (size_t i = 0; i < gt_rank_entry_count(model, rank); i++, entry++) {
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

/* The rank with the shortest duration came last, and all others waited for it. */
static void add_waits(const gt_rank_model *model, size_t collective, gt_rank_summary *ranks, waiting *w)
{
    const gt_rank_entry *last = NULL;
    double sum = 0, transfer = model->transfer_ns[collective];
    for (size_t i = model->begins[collective]; i < model->begins[collective + 1]; i++) {
        const gt_rank_entry *entry = &model->entries[i];
        gt_memory_poll_at(i);
        if (!last || gt_rank_entry_dur(entry) < gt_rank_entry_dur(last)) last = entry;
        ranks[entry->rank].known = true;
        if (!entry->in_window) continue;
        double wait = gt_rank_entry_dur(entry) - transfer;
        w->seen[entry->rank]++;
        sum += wait;
        ranks[entry->rank].wait_ns += wait;
        /* Without the wait the collective would end earlier by that much, and as much less be exposed. */
        ranks[entry->rank].exposed_wait_ns += fmin((double)entry->exposed_ns, wait);
    }
    if (last->in_window) w->last[last->rank]++;
    w->blame_ns[last->rank] += sum;
    w->all_ns += sum;
}

/* The others waited for their reference because of a rank that is late and has an older base. So they seem to
 * be late, too, and the rank less late than it is: as late as before, because works with the same base follow
 * each other, and by what its work since then takes longer than theirs since the reference:
 *
 *     others   |base|== work ==|ready 1 .. waits |reference|== work ==|ready 2
 *     rank     |base|== longer work ====|ready 1 == longer work ============|ready 2 */
static void carry_lateness(gt_rank_model *model, gt_rank_walk *walk, size_t rank)
{
    const gt_rank_entry *entry = gt_rank_walk_to(walk, rank);
    uint32_t base = GT_NONE;
    double largest = 0, before_ns = 0;
    for (size_t i = 0; i < gt_rank_entry_count(model, rank); i++, entry++) {
        if (entry->base != base) largest = before_ns = 0;
        base = entry->base;
        if (!entry->compared || base == GT_NONE) continue;
        double late_ns = entry->late_ns;
        if (entry->reference != base && !entry->is_of_class) {
            double usual_ns = entry->compared_ns - late_ns;
            double longer_ns = before_ns > 0 ? fmax(0, entry->work_ns - before_ns - usual_ns) : 0;
            late_ns = fmax(late_ns, largest + longer_ns);
            if (late_ns != entry->late_ns)
                model->entries[model->rank_entries[entry->place]].late_ns = late_ns;
        }
        largest = fmax(largest, late_ns);
        before_ns = entry->work_ns;
    }
}

void gt_rank_late_compare(gt_rank_model *model, gt_rank_summary *ranks)
{
    size_t most = model->rank_count;
    for (size_t i = 0; i < model->class_count; i++) {
        size_t count = model->class_begins[i + 1] - model->class_begins[i];
        if (count > most) most = count;
    }
    gt_rank_value *values = gt_alloc((most + 1) * sizeof *values);
    uint32_t *classes = gt_alloc((most + 1) * sizeof *classes);
    for (size_t c = 0; c < model->count; c++) compare_entries(model, c, ranks, values);
    size_t *collectives = gt_alloc_zero(model->class_count + 1, sizeof *collectives);
    for (size_t c = 0; c < model->count; c++) collectives[model->class_of[c]]++;
    for (size_t i = 0; i < model->class_count; i++) {
        peers p = {model, &model->class_entries[model->class_begins[i]],
                   model->class_begins[i + 1] - model->class_begins[i]};
        if (collectives[i] > 1) compare_peers(&p, ranks, values, classes);
    }
    gt_free(collectives);
    gt_free(classes);
    gt_rank_walk walk = gt_rank_walk_begin(model);
    for (size_t r = 0; r < model->rank_count; r++) carry_lateness(model, &walk, r);
    gt_rank_walk_end(&walk);
    walk = gt_rank_walk_begin(model);
    for (size_t r = 0; r < model->rank_count; r++)
        if (ranks[r].known) ranks[r].late_ns = fmax(0, gt_rank_late_ns(&walk, r));
    gt_rank_walk_end(&walk);
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
