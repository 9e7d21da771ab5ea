/* Findings of all ranks: straggler, slow_node and slow_link, then those of the ranks' own traces (own.c).
 *
 * A rank is suspected if its work takes clearly longer than that of the others: by 0.5 % of the step time,
 * and by three times of what ranks usually differ. A node is suspected if all its ranks are. Suspects are
 * repaired one after the other in the model, the latest first; the gain of a finding is what its repair adds
 * to those before it. If two ranks are late by as much, the repair of one gains nothing: they become one
 * finding. */
#include "findings/ranks/across.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LEAST_LATE = 0.005, LEAST_SHOWN = 0.01; /* of the step time */
static const double EQUALLY_LATE = 0.85;
enum { SUSPECTS_MAX = 16 };

typedef struct suspect {
    bool is_node;
    size_t index; /* rank or node */
    size_t rank;  /* the rank, or one of the node that is as late as most of them */
    double late_ns;
} suspect;

typedef struct search {
    const gt_ranks_input *input;
    gt_rank_model *model;
    gt_rank_findings *found;
    gt_kernel_times *times;
    size_t *node_of;
    bool *repaired_ranks, *repaired_nodes;
    bool *late_nodes; /* suspected */
    double *blame_ns;
    double model_ns; /* the step time of the model without repairs */
    suspect suspects[SUSPECTS_MAX];
    size_t suspect_count;
} search;

/* ---- nodes ---- */

/* By the names in the traces, or else by the number of GPUs per node. A trace that has one GPU may show only
 * that of its rank, so one GPU says nothing. */
static void find_nodes(search *s)
{
    const int64_t gpus = s->input->gpus_per_node > 1 ? s->input->gpus_per_node : 0;
    gt_rank_findings *found = s->found;
    bool named = true;
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].facts && !*found->ranks[r].facts->node) named = false;
    found->node_names = gt_alloc_zero(found->rank_count + 1, sizeof *found->node_names);
    gt_interner *names = gt_interner_new();
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_facts *facts = found->ranks[r].facts;
        if (!facts) continue;
        int64_t by_number = gpus ? (int64_t)r / gpus : 0;
        char *name = named ? gt_strdup(facts->node) : gt_format("node %lld", (long long)by_number);
        uint32_t before = gt_interner_count(names), id = gt_interner_add_cstr(names, name);
        size_t node = (size_t)id - 2; /* ids begin at 2 and are dense */
        if (gt_interner_count(names) > before)
            found->node_names[found->node_count++] = name;
        else
            gt_free(name);
        found->ranks[r].node = s->node_of[r] = node;
    }
    gt_interner_free(names);
    found->nodes_named = named;
    found->nodes_known = named || gpus;
}

/* ---- suspects ---- */

/* What is late in a healthy rank. */
static double find_least(const search *s)
{
    gt_rank_value *values = gt_alloc((s->found->rank_count + 1) * sizeof *values);
    size_t known = 0;
    for (size_t r = 0; r < s->found->rank_count; r++)
        if (s->found->ranks[r].known)
            values[known++] = (gt_rank_value){s->node_of[r], fabs(gt_rank_late_ns(s->model, r))};
    double usual = gt_rank_usual(values, known);
    gt_free(values);
    return fmax(LEAST_LATE * s->found->step_ns, 3 * usual);
}

static int later_first(const void *a, const void *b)
{
    const suspect *x = a, *y = b;
    if (x->late_ns != y->late_ns) return x->late_ns > y->late_ns ? -1 : 1;
    if (x->is_node != y->is_node) return x->is_node ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Keeps the latest ones. */
static void add_suspect(search *s, suspect new)
{
    size_t at = s->suspect_count;
    if (at == SUSPECTS_MAX) {
        if (later_first(&s->suspects[at - 1], &new) < 0) return;
        at--;
    } else {
        s->suspect_count++;
    }
    for (; at > 0 && later_first(&new, &s->suspects[at - 1]) < 0; at--) s->suspects[at] = s->suspects[at - 1];
    s->suspects[at] = new;
}

static void set_common_lateness(const search *s, size_t node, gt_rank_entry *entries, size_t count,
                                double *values)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (s->node_of[entries[i].rank] == node && entries[i].compared) values[found++] = entries[i].late_ns;
    double common = gt_rank_median(values, found);
    for (size_t i = 0; i < count; i++)
        if (s->node_of[entries[i].rank] == node) entries[i].node_late_ns = common;
}

/* In each collective and at the end of the window, what the ranks of a slow node have in common. */
static void set_node_lateness(search *s, size_t node, double *values)
{
    gt_rank_model *model = s->model;
    for (size_t c = 0; c < model->count; c++)
        set_common_lateness(s, node, &model->entries[model->begins[c]],
                            model->begins[c + 1] - model->begins[c], values);
    for (size_t begin = 0, end; begin < model->end_count; begin = end) {
        for (end = begin; end < model->end_count && model->ends[end].base == model->ends[begin].base;) end++;
        set_common_lateness(s, node, &model->ends[begin], end - begin, values);
    }
}

/* A rank of the node whose lateness is the median. */
static size_t typical_rank(const search *s, size_t node, double median)
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

/* All its ranks are late, and none much less than the others. */
static void suspect_node(search *s, size_t node, double least, double *values)
{
    size_t count = 0;
    double smallest = INFINITY;
    for (size_t r = 0; r < s->found->rank_count; r++) {
        const gt_rank_summary *rank = &s->found->ranks[r];
        if (!rank->known || rank->node != node) continue;
        values[count++] = rank->late_ns;
        smallest = fmin(smallest, rank->late_ns);
    }
    double median = gt_rank_median(values, count);
    if (count < 2 || smallest < least || smallest < median / 2) return;
    add_suspect(s, (suspect){true, node, typical_rank(s, node, median), median});
}

static void find_suspects(search *s)
{
    double least = find_least(s), *values = gt_alloc((s->found->rank_count + 1) * sizeof *values);
    if (s->found->nodes_known && s->found->node_count > 1)
        for (size_t n = 0; n < s->found->node_count; n++) suspect_node(s, n, least, values);
    size_t nodes = s->suspect_count;
    for (size_t i = 0; i < nodes; i++) {
        s->late_nodes[s->suspects[i].index] = true;
        set_node_lateness(s, s->suspects[i].index, values);
    }
    for (size_t r = 0; r < s->found->rank_count; r++) {
        if (!s->found->ranks[r].known) continue;
        double late = gt_rank_late_ns(s->model, r); /* without its node's */
        if (late >= least) add_suspect(s, (suspect){false, r, r, late});
    }
    gt_free(values);
}

/* ---- findings ---- */

static double run_repaired(const search *s, const double *transfer_ns)
{
    return gt_rank_model_run(s->model,
                             &(gt_rank_repair){s->repaired_ranks, s->repaired_nodes, s->node_of, transfer_ns},
                             s->blame_ns);
}

static void set_repaired(search *s, const suspect *one)
{
    if (one->is_node)
        s->repaired_nodes[one->index] = true;
    else
        s->repaired_ranks[one->index] = true;
}

static bool is_of(const search *s, size_t rank, const suspect *one)
{
    return one->is_node ? s->node_of[rank] == one->index : rank == one->index;
}

/* The part of the waiting in the run before the repair that suspects `first` to `end` - 1 cause. Waiting for
 * later suspects is left out: they have findings of their own. */
static double find_blame(const search *s, size_t first, size_t end)
{
    double others = 0, theirs = 0;
    for (size_t r = 0; r < s->found->rank_count; r++) {
        bool is_one = false, is_later = false;
        for (size_t i = first; i < s->suspect_count; i++) {
            if (!is_of(s, r, &s->suspects[i])) continue;
            is_one |= i < end;
            is_later |= i >= end;
        }
        if (is_one)
            theirs += s->blame_ns[r];
        else if (!is_later)
            others += s->blame_ns[r];
    }
    return theirs > 0 ? theirs / (theirs + others) : 0;
}

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

static void find_causes(const search *s, gt_late_member *member)
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
    member->cause_count = gt_late_causes_find(ranks, count, times, member->rank, least, member->causes);
    if (member->in_node) gt_kernel_times_free(times);
    gt_free(ranks);
    keep_enough(member);
}

static int by_index(const void *a, const void *b)
{
    const suspect *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Repairs the suspects from `first` on until that gains something, and adds the finding. Returns the next. */
static size_t repair_group(search *s, size_t first, double *step_ns)
{
    double before = run_repaired(s, NULL), after = before;
    double *blame = gt_alloc((s->found->rank_count + 1) * sizeof *blame), *own = s->blame_ns;
    memcpy(blame, s->blame_ns, s->found->rank_count * sizeof *blame);
    size_t end = first;
    bool go_on = true;
    while (go_on) {
        set_repaired(s, &s->suspects[end++]);
        after = run_repaired(s, NULL);
        go_on = before - after < s->suspects[first].late_ns / 2 && end < s->suspect_count &&
                s->suspects[end].late_ns >= EQUALLY_LATE * s->suspects[first].late_ns &&
                s->suspects[end].is_node == s->suspects[first].is_node;
    }
    s->blame_ns = blame;
    gt_late_group group = {.is_node = s->suspects[first].is_node,
                           .late_ns = s->suspects[first].late_ns,
                           .gain_ns = before - after,
                           .blame = find_blame(s, first, end)};
    s->blame_ns = own;
    gt_free(blame);
    qsort(&s->suspects[first], end - first, sizeof *s->suspects, by_index);
    for (size_t i = first; i < end; i++) {
        gt_late_member *member = &group.members[group.count];
        if (group.count == GT_LATE_GROUP_MAX) break;
        *member = (gt_late_member){
            .index = s->suspects[i].index, .rank = s->suspects[i].rank, .late_ns = s->suspects[i].late_ns};
        member->in_node = !group.is_node && s->late_nodes[s->node_of[member->rank]];
        find_causes(s, member);
        group.count++;
    }
    *step_ns = after;
    if (group.gain_ns >= LEAST_SHOWN * s->found->step_ns) gt_add_late_finding(s->found, s->model, &group);
    return end;
}

static void add_findings(search *s)
{
    gt_rank_findings *found = s->found;
    gt_slow_links links;
    double model_ns = s->model_ns, step_ns = model_ns;
    find_suspects(s);
    for (size_t i = 0; i < s->suspect_count;) i = repair_group(s, i, &step_ns);
    found->all_fixed_ns = found->step_ns - (model_ns - step_ns);
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i].confidence == GT_CONFIDENCE_LOW) found->all_fixed_ns += found->items[i].gain_ns;
    /* Each gain counts on the repairs before it, so the order stays. */
    for (size_t i = found->count; i-- > 1;)
        found->items[i - 1].weight = fmax(found->items[i - 1].weight, found->items[i].weight);
    if (gt_slow_links_find(s->model, s->input, s->node_of, model_ns, found->step_ns, &links)) {
        if (links.confidence != GT_CONFIDENCE_LOW)
            found->link_gain_ns = fmax(0, step_ns - run_repaired(s, links.transfer_ns));
        gt_add_link_finding(found, &links);
        gt_slow_links_free(&links);
    }
}

/* ---- all of it ---- */

static void begin(search *s)
{
    size_t ranks = s->input->rank_count;
    s->found = gt_alloc_zero(1, sizeof *s->found);
    s->found->rank_count = ranks;
    s->found->ranks = gt_alloc_zero(ranks, sizeof *s->found->ranks);
    for (size_t r = 0; r < ranks; r++) s->found->ranks[r].facts = s->input->facts[r];
    s->node_of = gt_alloc_zero(ranks, sizeof *s->node_of);
    s->repaired_ranks = gt_alloc_zero(ranks, sizeof *s->repaired_ranks);
    s->repaired_nodes = gt_alloc_zero(ranks, sizeof *s->repaired_nodes);
    s->late_nodes = gt_alloc_zero(ranks, sizeof *s->late_nodes);
    s->blame_ns = gt_alloc_zero(ranks, sizeof *s->blame_ns);
    s->model = gt_rank_model_new(s->input);
    find_nodes(s);
    gt_rank_late_find(s->model, s->found->ranks);
}

static void end(search *s)
{
    if (s->times) gt_kernel_times_free(s->times);
    gt_rank_model_free(s->model);
    gt_free(s->node_of);
    gt_free(s->repaired_ranks);
    gt_free(s->repaired_nodes);
    gt_free(s->late_nodes);
    gt_free(s->blame_ns);
}

static void find_means(gt_rank_findings *found)
{
    double waits = 0, steps = 0;
    size_t known = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        if (!found->ranks[r].known) continue;
        waits += found->ranks[r].wait_ns;
        steps += found->ranks[r].facts->step_ns;
        known++;
    }
    found->wait_ns = known ? waits / (double)known : 0;
    found->step_ns = known ? steps / (double)known : 0;
}

static void find_other_runs(const search *s)
{
    bool *has_rank = gt_alloc_zero(s->found->rank_count, sizeof *has_rank);
    if (gt_rank_model_other_runs(s->model, s->input, has_rank))
        s->found->other_runs = gt_rank_list(s->found, has_rank);
    gt_free(has_rank);
}

static void add_critical_path(const search *s)
{
    gt_rank_findings *found = s->found;
    gt_interner *strings = s->input->sync->matches->events->strings;
    gt_rank_times times = gt_rank_times_new(s->model);
    gt_op_times ops = gt_op_times_new(found, s->input, s->model, &times);
    gt_critical_path path = gt_critical_path_find(s->input, s->model, &times);
    gt_critical_path_add_sheets(found, &path, &ops, strings, &found->across);
    gt_table_list_add(&found->across, gt_slack_sheet(found, &ops, strings));
    gt_critical_path_free(&path);
    gt_op_times_free(&ops);
    gt_rank_times_free(&times);
}

static void add_across(const search *s)
{
    gt_rank_findings *found = s->found;
    gt_interner *strings = s->input->sync->matches->events->strings;
    gt_rank_clock *clocks = gt_rank_clocks_find(s->input->sync, found->rank_count);
    gt_table_list_add(&found->across, gt_rank_clocks_sheet(found, clocks, strings));
    gt_free(clocks);
    add_critical_path(s);
    gt_rank_steps_add_sheets(found, strings, &found->across);
    gt_table_list_add(&found->across, gt_rank_matrix_sheet(found, s->input, &found->uncounted));
}

gt_rank_findings *gt_ranks_find(const gt_ranks_input *input)
{
    search s = {.input = input};
    begin(&s);
    gt_rank_findings *found = s.found;
    if (s.model->count) {
        found->per = s.model->has_steps ? "step" : "trace";
        s.model_ns = gt_rank_model_run(s.model, &(gt_rank_repair){0}, NULL);
        find_means(found);
        s.times = gt_kernel_times_new(found->ranks, found->rank_count);
        add_findings(&s);
        gt_add_own_findings(found);
        gt_rank_findings_sort(found);
        found->verdict = gt_rank_findings_verdict(found);
        find_other_runs(&s);
        add_across(&s);
    } else {
        gt_rank_findings_free(found);
        found = NULL;
    }
    end(&s);
    return found;
}

void gt_rank_findings_free(gt_rank_findings *findings)
{
    if (!findings) return;
    for (size_t i = 0; i < findings->count; i++) {
        gt_run_finding *finding = &findings->items[i];
        gt_free(finding->id);
        gt_free(finding->title);
        gt_free(finding->where);
        gt_free(finding->ranks);
        gt_free(finding->evidence);
        gt_free(finding->advice);
    }
    for (size_t i = 0; i < findings->node_count; i++) gt_free(findings->node_names[i]);
    gt_free(findings->node_names);
    gt_free(findings->items);
    gt_free(findings->ranks);
    gt_free(findings->verdict);
    gt_free(findings->other_runs);
    gt_free(findings->critical);
    gt_table_list_free(&findings->across);
    gt_free(findings);
}
