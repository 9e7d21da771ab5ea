/* What the traces of the ranks show alike: their own findings, put together by id.
 *
 * If at least half of the ranks have a finding, its gain is the median of all ranks, and its words are those
 * of the rank with that gain. If fewer have it, it is a hint: whether its repair makes the run faster depends
 * on the other ranks. Waiting for other ranks is no exposed communication: a straggler explains it. */
#include "findings/ranks/find.h"

static const double LEAST_SHOWN_PCT = 1;

typedef struct own {
    const gt_own_finding *finding;
    const char *id;
    size_t rank;
    double gain_ns;
} own;

static int by_id_and_gain(const void *a, const void *b)
{
    const own *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    if (order) return order;
    if (x->gain_ns != y->gain_ns) return x->gain_ns < y->gain_ns ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static double gain_of(const gt_rank_summary *rank, const gt_own_finding *finding)
{
    bool waits = strcmp(gt_rank_text(rank->facts, finding->id), "exposed_comm") == 0;
    return waits ? finding->gain_ns - rank->exposed_wait_ns : finding->gain_ns;
}

static own *collect(const gt_rank_findings *found, size_t *count, size_t *known)
{
    own *list = NULL;
    size_t capacity = 0;
    *count = *known = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_summary *rank = &found->ranks[r];
        if (!rank->known) continue;
        (*known)++;
        for (size_t i = 0; i < rank->facts->finding_count; i++) {
            const gt_own_finding *finding = &rank->facts->findings[i];
            own one = {finding, gt_rank_text(rank->facts, finding->id), r, gain_of(rank, finding)};
            if (one.gain_ns > 0) GT_PUSH(list, *count, capacity, one);
        }
    }
    if (*count) qsort(list, *count, sizeof *list, by_id_and_gain);
    return list;
}

static char *evidence_of(const gt_rank_facts *facts, const own *typical)
{
    double waited = typical->finding->gain_ns - typical->gain_ns;
    char *waits = waited > 0 ? gt_format("; %.2f ms of it are waiting for other ranks", waited / 1e6) : NULL;
    char *evidence = gt_format("rank %zu: %s%s", typical->rank,
                               gt_rank_text(facts, typical->finding->evidence), waits ? waits : "");
    gt_free(waits);
    return evidence;
}

/* Where a finding stands in the list of its trace. Without the waiting for other ranks it stands before the
 * first one that gains less. */
static size_t place_of(const gt_rank_facts *facts, const own *typical)
{
    size_t own_place = (size_t)(typical->finding - facts->findings), place = own_place;
    if (typical->gain_ns >= typical->finding->gain_ns) return own_place;
    double score = typical->gain_ns * gt_gain_weight(typical->id, typical->finding->confidence);
    while (place + 1 < facts->finding_count) {
        const gt_own_finding *next = &facts->findings[place + 1];
        bool is_hint = next->confidence == GT_CONFIDENCE_LOW;
        if (is_hint ||
            next->gain_ns * gt_gain_weight(gt_rank_text(facts, next->id), next->confidence) < score)
            break;
        place++;
    }
    return place == own_place ? own_place : place + 1;
}

static void add_own(gt_rank_findings *found, const own *list, size_t count, size_t known)
{
    bool *has_rank = gt_alloc_zero(found->rank_count, sizeof *has_rank);
    for (size_t i = 0; i < count; i++) has_rank[list[i].rank] = true;
    /* Ranks without the finding gain nothing: they come before the others in the order of gains. */
    size_t place = (known - 1) / 2, absent = known > count ? known - count : 0;
    bool of_most = place >= absent;
    const own *typical = &list[of_most ? place - absent : (count - 1) / 2];
    const gt_own_finding *from = typical->finding;
    const gt_rank_facts *facts = found->ranks[typical->rank].facts;
    const char *where = gt_rank_text(facts, from->where);
    double pct = found->step_ns > 0 ? 100 * typical->gain_ns / found->step_ns : 0;
    if (pct >= LEAST_SHOWN_PCT)
        gt_add_run_finding(found, (gt_run_finding){
                                      .id = gt_strdup(typical->id),
                                      .title = gt_strdup(gt_rank_text(facts, from->title)),
                                      .where = where ? gt_strdup(where) : NULL,
                                      .ranks = gt_rank_list(found, has_rank),
                                      .evidence = evidence_of(facts, typical),
                                      .advice = gt_strdup(gt_rank_text(facts, from->advice)),
                                      .confidence = of_most ? from->confidence : GT_CONFIDENCE_LOW,
                                      .is_gpu = from->is_gpu != 0,
                                      .gain_ns = typical->gain_ns,
                                      .alone_ns = typical->gain_ns,
                                      .place = place_of(facts, typical),
                                  });
    gt_free(has_rank);
}

/* What the usual rank would gain by itself, without waiting for others. */
static double usual_gain_ns(const gt_rank_findings *found)
{
    gt_rank_value *values = gt_alloc((found->rank_count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_summary *rank = &found->ranks[r];
        if (rank->known)
            values[count++] =
                (gt_rank_value){rank->node, fmax(0, rank->facts->own_gain_ns - rank->exposed_wait_ns)};
    }
    double usual = gt_rank_usual(values, count);
    gt_free(values);
    return usual;
}

static double usual_compute_ns(const gt_rank_findings *found)
{
    gt_rank_value *values = gt_alloc((found->rank_count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known)
            values[count++] = (gt_rank_value){found->ranks[r].node, found->ranks[r].facts->compute_ns};
    double usual = gt_rank_usual(values, count);
    gt_free(values);
    return usual;
}

/* What the repairs of single traces gain after those of ranks and nodes. They gain at least what the best of
 * them does. Communication that is hidden and faster links are two repairs of the same time: the larger one
 * counts. The rest cannot be shorter than the computation of the usual rank, less what it gains there. */
static void count_own_gains(gt_rank_findings *found)
{
    double gain = usual_gain_ns(found), hidden = 0, compute = usual_compute_ns(found);
    for (size_t i = 0; i < found->count; i++) {
        const gt_run_finding *finding = &found->items[i];
        if (finding->is_of_ranks || finding->confidence == GT_CONFIDENCE_LOW) continue;
        bool is_hidden = strcmp(finding->id, "exposed_comm") == 0;
        gain = fmax(gain, finding->gain_ns);
        if (is_hidden) hidden = finding->gain_ns;
        if (finding->is_gpu && !is_hidden) compute -= finding->gain_ns;
    }
    gain += fmax(0, found->link_gain_ns - fmin(gain, hidden));
    double least = fmin(fmax(0, compute), found->all_fixed_ns);
    found->all_fixed_ns = fmax(least, found->all_fixed_ns - gain);
}

void gt_add_own_findings(gt_rank_findings *found)
{
    size_t count, known;
    own *list = collect(found, &count, &known);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && strcmp(list[begin].id, list[end].id) == 0;) end++;
        add_own(found, list + begin, end - begin, known);
    }
    gt_free(list);
    count_own_gains(found);
}

/* ---- severity and order ---- */

void gt_add_run_finding(gt_rank_findings *found, gt_run_finding finding)
{
    finding.gain_pct = found->step_ns > 0 ? 100 * finding.gain_ns / found->step_ns : 0;
    finding.score = finding.gain_ns * gt_gain_weight(finding.id, finding.confidence);
    finding.severity = finding.gain_pct >= 20  ? GT_SEVERITY_HIGH
                       : finding.gain_pct >= 5 ? GT_SEVERITY_MEDIUM
                                               : GT_SEVERITY_LOW;
    if (finding.confidence == GT_CONFIDENCE_LOW && finding.severity == GT_SEVERITY_HIGH)
        finding.severity = GT_SEVERITY_MEDIUM;
    GT_PUSH(found->items, found->count, found->capacity, finding);
}

/* Findings of single traces keep their order there, in which a generic finding can stand after a specific
 * one. */
static int in_order(const void *a, const void *b)
{
    const gt_run_finding *x = a, *y = b;
    bool x_hint = x->confidence == GT_CONFIDENCE_LOW, y_hint = y->confidence == GT_CONFIDENCE_LOW;
    if (x_hint != y_hint) return x_hint ? 1 : -1;
    if (x->is_of_ranks != y->is_of_ranks) return x->is_of_ranks ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    if (x->late_ns != y->late_ns) return x->late_ns > y->late_ns ? -1 : 1;
    int order = strcmp(x->id, y->id);
    return order ? order : strcmp(x->ranks, y->ranks);
}

void gt_rank_findings_sort(gt_rank_findings *found)
{
    if (found->count) qsort(found->items, found->count, sizeof *found->items, in_order);
}
