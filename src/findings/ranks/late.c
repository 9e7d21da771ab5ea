/* Who is late, by how much, and who waits? */
#include "findings/ranks/model.h"

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

/* Works without a base are measured from the start of the window, others from a collective: only one kind can
 * be compared, that which most ranks have. */
static void compare_entries(gt_rank_entry *entries, size_t count, const gt_rank_summary *ranks,
                            gt_rank_value *values)
{
    size_t with_base = 0;
    for (size_t i = 0; i < count; i++) with_base += entries[i].base != GT_NONE;
    bool based = 2 * with_base >= count;
    for (size_t i = 0; i < count; i++) entries[i].compared = (entries[i].base != GT_NONE) == based;
    double usual = usual_of(entries, count, ranks, values);
    for (size_t i = 0; i < count; i++)
        entries[i].late_ns = entries[i].compared ? entries[i].compared_ns - usual : 0;
}

const gt_rank_entry *gt_rank_entry_at(const gt_rank_model *model, size_t place)
{
    return &model->entries[model->rank_entries[place]];
}

/* Works with the same base follow each other: a delay in the first is also in the next. So the largest one of
 * them counts. */
double gt_rank_late_ns(const gt_rank_model *model, size_t rank)
{
    double sum = 0, largest = -INFINITY;
    uint32_t base = GT_NONE;
    for (size_t i = model->rank_begins[rank]; i < model->rank_begins[rank + 1]; i++) {
        const gt_rank_entry *entry = gt_rank_entry_at(model, i);
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
    for (size_t i = model->rank_begins[rank]; i < model->rank_begins[rank + 1]; i++) {
        const gt_rank_entry *entry = gt_rank_entry_at(model, i);
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
        const gt_rank_collective *c = &ranks[entry->rank].facts->collectives[entry->number];
        if (!last || entry->dur_ns < last->dur_ns) last = entry;
        ranks[entry->rank].known = true;
        if (!c->in_window) continue;
        w->seen[entry->rank]++;
        sum += entry->dur_ns - transfer;
        ranks[entry->rank].wait_ns += entry->dur_ns - transfer;
        /* Without the wait the collective would end earlier by that much, and as much less be exposed. */
        ranks[entry->rank].exposed_wait_ns += fmin((double)c->exposed_ns, entry->dur_ns - transfer);
    }
    if (last->in_window) w->last[last->rank]++;
    w->blame_ns[last->rank] += sum;
    w->all_ns += sum;
}

/* The others waited for their reference because of a rank that is late and has an older base. So they seem to
 * be late, too, and the rank less late than it is: as late as before, because works with the same base follow
 * each other. */
static void carry_lateness(gt_rank_model *model, size_t rank)
{
    uint32_t base = GT_NONE;
    double largest = 0;
    for (size_t i = model->rank_begins[rank]; i < model->rank_begins[rank + 1]; i++) {
        gt_rank_entry *entry = &model->entries[model->rank_entries[i]];
        if (entry->base != base) largest = 0;
        base = entry->base;
        if (!entry->compared || base == GT_NONE) continue;
        if (entry->reference != base) entry->late_ns = fmax(entry->late_ns, largest);
        largest = fmax(largest, entry->late_ns);
    }
}

void gt_rank_late_compare(gt_rank_model *model, gt_rank_summary *ranks)
{
    gt_rank_value *values = gt_alloc((model->rank_count + 1) * sizeof *values);
    for (size_t c = 0; c < model->count; c++)
        compare_entries(&model->entries[model->begins[c]], model->begins[c + 1] - model->begins[c], ranks,
                        values);
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
