/* Findings of all ranks: straggler, slow_node, slow_link, stages and slow_host, then those of the ranks' own
 * traces (own.c).
 *
 * Suspects (suspects.c) and slow links are repaired one after the other in the model, first the latest
 * suspect or the links, whichever gains more; the gain of a finding is what its repair adds to those before
 * it. If two ranks are late by as much, the repair of one gains nothing: if they have the same cause, they
 * become one finding. */
#include "findings/ranks/across.h"

#include "schema/columns.h"
/* Parts of the step time. */
static const double LEAST_SHOWN = 0.001, LEAST_SHOWN_OF_LINKS = 0.0005;
static const double EQUALLY_LATE = 0.85, LEAST_EXPLAINED = 0.4;
enum { GROUPS_MAX = 16 };

/* ---- nodes ---- */

/* By the names in the traces, if at least half of them have one, or else by the number of GPUs per node. A
 * rank without a name may be on any node, so it gets one of its own. A trace that has one GPU may show only
 * that of its rank, so one GPU says nothing. */
static void find_nodes(gt_late_search *s)
{
    const int64_t gpus = s->input->gpus_per_node > 1 ? s->input->gpus_per_node : 0;
    gt_rank_findings *found = s->found;
    size_t known = 0, with_name = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        known += found->ranks[r].facts != NULL;
        with_name += found->ranks[r].facts && *found->ranks[r].facts->node;
    }
    bool named = with_name && 2 * with_name >= known;
    found->node_names = gt_alloc_zero(found->rank_count + 1, sizeof *found->node_names);
    gt_interner *names = gt_interner_new();
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_facts *facts = found->ranks[r].facts;
        if (!facts) continue;
        int64_t by_number = gpus ? (int64_t)r / gpus : 0;
        char *name = !named         ? gt_format("node %lld", (long long)by_number)
                     : *facts->node ? gt_strdup(facts->node)
                                    : gt_format("unknown (rank %zu)", r);
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

/* ---- findings ---- */

static double run_repaired(const gt_late_search *s)
{
    return gt_rank_model_run(s->model,
                             &(gt_rank_repair){s->repaired_ranks, s->repaired_nodes, s->node_of,
                                               s->stage_transfer_ns ? s->stage_transfer_ns : s->transfer_ns,
                                               s->work_factor},
                             s->blame_ns);
}

static void set_repaired(gt_late_search *s, size_t first, size_t end, bool repaired)
{
    for (size_t i = first; i < end; i++)
        (s->suspects[i].is_node ? s->repaired_nodes : s->repaired_ranks)[s->suspects[i].index] = repaired;
}

static bool is_of(const gt_late_search *s, size_t rank, const gt_suspect *one)
{
    return one->is_node ? s->node_of[rank] == one->index : rank == one->index;
}

/* The part of the waiting in the run before the repair that suspects `first` to `end` - 1 cause. Waiting for
 * later suspects is left out: they have findings of their own. */
static double find_blame(const gt_late_search *s, size_t first, size_t end)
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

static int by_index(const void *a, const void *b)
{
    const gt_suspect *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static bool have_one_cause(const gt_late_cause *a, const gt_late_cause *b)
{
    if (a->kind != b->kind || a->cause != b->cause) return false;
    return a->kind != GT_LATE_KERNEL || strcmp(a->kernel, b->kernel) == 0;
}

/* The end of the suspects that are late by about as much as the first one. */
static size_t equally_late_end(const gt_late_search *s, size_t first)
{
    size_t end = first + 1;
    while (end < s->suspect_count && s->suspects[end].late_ns >= EQUALLY_LATE * s->suspects[first].late_ns)
        end++;
    return end;
}

/* Of these, puts those with the cause of the first one before the others. Returns their end. */
static size_t move_alike(gt_late_search *s, size_t first)
{
    size_t count = equally_late_end(s, first) - first, at = 0;
    gt_suspect *from = &s->suspects[first], *moved = gt_alloc(count * sizeof *moved);
    size_t alike = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            bool is_alike =
                from[i].is_node == from[0].is_node && have_one_cause(&from[i].cause, &from[0].cause);
            if (is_alike == (pass == 0)) moved[at++] = from[i];
        }
        if (!pass) alike = at;
    }
    memcpy(from, moved, count * sizeof *moved);
    gt_free(moved);
    return first + alike;
}

/* What a repair gains if nothing is repaired before it: of suspects `first` to `end` - 1, of a slow host or
 * of links; the other two are empty. */
static double gain_alone(gt_late_search *s, size_t first, size_t end, const bool *hosts,
                         const double *transfer_ns, const bool *has_rank)
{
    gt_late_search alone = *s;
    size_t ranks = s->found->rank_count;
    alone.repaired_ranks = gt_alloc_zero(ranks + 1, sizeof *alone.repaired_ranks);
    alone.repaired_nodes = gt_alloc_zero(ranks + 1, sizeof *alone.repaired_nodes);
    alone.blame_ns = gt_alloc_zero(ranks + 1, sizeof *alone.blame_ns);
    alone.transfer_ns = transfer_ns;
    set_repaired(&alone, first, end, true);
    for (size_t r = 0; hosts && r < ranks; r++) alone.repaired_ranks[r] |= hosts[r];
    double gain_ns = (s->model_ns - run_repaired(&alone)) / gt_rank_model_connected(s->model, has_rank);
    gt_free(alone.repaired_ranks);
    gt_free(alone.repaired_nodes);
    gt_free(alone.blame_ns);
    return fmax(0, gain_ns);
}

/* Suspects that are repaired together. */
typedef struct plan {
    size_t first, end;
    double before_ns;      /* the step time */
    double gain_ns;        /* of the ranks that are connected with them */
    double others_gain_ns; /* additional gain if those that are equally late were repaired, too */
    double *blame_ns;      /* before; owned */
} plan;

/* What the repair of suspects `first` to `end` - 1 gains, in addition to what is repaired already. */
static double try_repair(gt_late_search *s, size_t first, size_t end, double before_ns)
{
    bool *has_rank = gt_alloc_zero(s->found->rank_count + 1, sizeof *has_rank);
    for (size_t i = first; i < end; i++)
        for (size_t r = 0; r < s->found->rank_count; r++) has_rank[r] |= is_of(s, r, &s->suspects[i]);
    set_repaired(s, first, end, true);
    double gain_ns = (before_ns - run_repaired(s)) / gt_rank_model_connected(s->model, has_rank);
    set_repaired(s, first, end, false);
    gt_free(has_rank);
    return gain_ns;
}

/* The suspects from `first` on whose repair gains something; nothing is repaired yet. */
static plan plan_group(gt_late_search *s, size_t first)
{
    size_t size = (s->found->rank_count + 1) * sizeof(double);
    plan p = {.first = first, .end = first + 1, .blame_ns = gt_alloc(size)};
    p.before_ns = run_repaired(s);
    memcpy(p.blame_ns, s->blame_ns, size - sizeof(double));
    p.gain_ns = try_repair(s, first, p.end, p.before_ns);
    if (p.gain_ns < s->suspects[first].late_ns / 2) {
        p.end = move_alike(s, first);
        p.gain_ns = try_repair(s, first, p.end, p.before_ns);
    }
    size_t others_end = equally_late_end(s, first);
    if (others_end > p.end && p.gain_ns < s->suspects[first].late_ns / 2)
        p.others_gain_ns = try_repair(s, first, others_end, p.before_ns) - p.gain_ns;
    return p;
}

static void add_members(const gt_late_search *s, const plan *p, gt_late_group *group)
{
    for (size_t i = p->first; i < p->end; i++) {
        const gt_suspect *from = &s->suspects[i];
        for (size_t r = 0; r < s->found->rank_count; r++)
            group->has_rank[r] |= s->found->ranks[r].known && is_of(s, r, from);
        group->least_late_ns = fmin(group->least_late_ns, from->late_ns);
        if (group->count == GT_LATE_GROUP_MAX) continue;
        gt_late_member *member = &group->members[group->count++];
        *member = (gt_late_member){.index = from->index, .rank = from->rank, .late_ns = from->late_ns};
        member->in_node = !group->is_node && s->late_nodes[s->node_of[member->rank]];
        gt_search_causes(s, member);
    }
}

/* Repairs them and adds the finding. One that gains little is shown if others are late by as much for another
 * reason, and all of these repairs together gain. */
static void repair_group(gt_late_search *s, const plan *p)
{
    double *own = s->blame_ns;
    const gt_suspect one = s->suspects[p->first], *latest = &one;
    bool depends = p->others_gain_ns >= LEAST_SHOWN * s->found->step_ns;
    s->blame_ns = p->blame_ns;
    gt_late_group group = {.is_node = latest->is_node,
                           .late_ns = latest->late_ns,
                           .least_late_ns = latest->late_ns,
                           .gain_ns = fmax(0, p->gain_ns),
                           .blame = find_blame(s, p->first, p->end),
                           .is_certain = latest->late_ns >= 2 * s->least_ns && !s->found->few_are_usual,
                           .total = p->end - p->first,
                           .depends = depends,
                           .has_rank = gt_alloc_zero(s->found->rank_count + 1, sizeof *group.has_rank)};
    s->blame_ns = own;
    /* A delay can be seen in the collectives of several groups, and of one after the other. If what the rank
     * does longer explains much of the gain, it is late by that, and its repair gains no more. */
    double unused[GT_RANK_DIFFERENCES], explained = gt_search_explained_ns(s, latest->rank, unused);
    bool is_explained = group.total == 1 && !s->late_nodes[s->node_of[latest->rank]] &&
                        explained >= LEAST_EXPLAINED * group.gain_ns;
    if (is_explained) {
        group.late_ns = group.least_late_ns = fmin(group.late_ns, explained);
        group.gain_ns = fmin(group.gain_ns, explained);
    }
    set_repaired(s, p->first, p->end, true);
    qsort(&s->suspects[p->first], p->end - p->first, sizeof *s->suspects, by_index);
    add_members(s, p, &group);
    group.alone_ns = gain_alone(s, p->first, p->end, NULL, NULL, group.has_rank);
    if (is_explained) group.alone_ns = fmin(group.alone_ns, explained);
    if (group.gain_ns >= LEAST_SHOWN * s->found->step_ns || depends) {
        gt_add_late_finding(s->found, s->model, &group);
        for (size_t r = 0; r < s->found->rank_count; r++)
            if (group.has_rank[r]) s->shown_nodes[s->node_of[r]] = true;
        bool launches = latest->cause.kind == GT_LATE_HOST && latest->cause.cause == GT_CAUSE_LAUNCH;
        for (size_t r = 0; launches && r < s->found->rank_count; r++) s->slow_hosts[r] |= group.has_rank[r];
    }
    gt_free(group.has_rank);
}

/* Repairs everything, that which gains most first. */
static void repair_all(gt_late_search *s, const gt_slow_links *links)
{
    size_t next = 0;
    bool links_left = links != NULL;
    for (size_t i = 0; i < GROUPS_MAX && (next < s->suspect_count || links_left); i++) {
        plan p = {.end = next, .before_ns = run_repaired(s)};
        if (next < s->suspect_count) p = plan_group(s, next);
        double gain_ns = 0;
        if (links_left) {
            s->transfer_ns = links->transfer_ns;
            gain_ns =
                fmax(0, p.before_ns - run_repaired(s)) / gt_rank_model_connected(s->model, links->has_rank);
        }
        if (links_left && (next == s->suspect_count || gain_ns > p.gain_ns)) {
            links_left = false;
            if (gain_ns >= LEAST_SHOWN_OF_LINKS * s->found->step_ns)
                gt_add_link_finding(s->found, links, gain_ns,
                                    gain_alone(s, 0, 0, NULL, links->transfer_ns, links->has_rank));
        } else {
            if (links_left) s->transfer_ns = NULL;
            repair_group(s, &p);
            next = p.end;
        }
        gt_free(p.blame_ns);
    }
}

static void add_slow_hosts(gt_late_search *s)
{
    gt_slow_hosts hosts;
    gt_slow_hosts_find(s->found, s->usual_launch_ns, s->slow_hosts, &hosts);
    for (size_t i = 0; i < hosts.count; i++) {
        double before = run_repaired(s);
        for (size_t r = 0; r < s->found->rank_count; r++) s->repaired_ranks[r] |= hosts.items[i].has_rank[r];
        double connected = gt_rank_model_connected(s->model, hosts.items[i].has_rank);
        gt_add_host_finding(s->found, &hosts.items[i], fmax(0, before - run_repaired(s)) / connected,
                            gain_alone(s, 0, 0, hosts.items[i].has_rank, NULL, hosts.items[i].has_rank));
    }
    gt_slow_hosts_free(&hosts);
}

/* Repairs of ranks and links make no step shorter than the computation of the rank that computes least. The
 * model can say so if what happens before the first op of steps is long in the last step only. */
static void limit_all_fixed(gt_rank_findings *found)
{
    double least = found->step_ns;
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known) least = fmin(least, found->ranks[r].facts->compute_ns);
    found->all_fixed_ns = fmax(found->all_fixed_ns, least);
}

static void add_findings(gt_late_search *s)
{
    gt_rank_findings *found = s->found;
    gt_slow_links links;
    gt_search_suspects(s);
    set_repaired(s, 0, s->suspect_count, true); /* late ranks can hide how slow a link is */
    bool are_slow = gt_slow_links_find(
        s->model, s->input,
        &(gt_rank_repair){.ranks = s->repaired_ranks, .nodes = s->repaired_nodes, .node_of = s->node_of},
        LEAST_SHOWN_OF_LINKS * found->step_ns, &links);
    set_repaired(s, 0, s->suspect_count, false);
    repair_all(s, are_slow ? &links : NULL);
    gt_search_stages(s);
    gt_add_shared_place(found, s->shown_nodes);
    add_slow_hosts(s);
    s->transfer_ns = NULL;
    gt_free(s->stage_transfer_ns);
    s->stage_transfer_ns = NULL;
    double step_ns = run_repaired(s);
    found->all_fixed_ns = found->step_ns - (s->model_ns - step_ns);
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i].confidence == GT_CONFIDENCE_LOW && strcmp(found->items[i].id, "slow_link") != 0)
            found->all_fixed_ns += found->items[i].gain_ns;
    limit_all_fixed(found);
    if (are_slow) {
        s->transfer_ns = links.transfer_ns;
        if (links.confidence != GT_CONFIDENCE_LOW) found->link_gain_ns = fmax(0, step_ns - run_repaired(s));
        s->transfer_ns = NULL;
        gt_slow_links_free(&links);
    }
    /* Each gain counts on the repairs before it, so the order stays. */
    for (size_t i = 0; i < found->count; i++) found->items[i].place = i;
}

/* ---- all of it ---- */

/* The model is made without the facts of ranks that are left out. */
static void leave_out(gt_late_search *s)
{
    size_t ranks = s->input->rank_count;
    const gt_rank_facts **facts = gt_alloc_zero(ranks + 1, sizeof(gt_rank_facts *));
    gt_ranks_leave_out(s->found);
    for (size_t r = 0; r < ranks; r++)
        if (!s->found->ranks[r].left_out) facts[r] = s->input->facts[r];
    s->compared = *s->input;
    s->compared.facts = s->facts = facts;
    s->input = &s->compared;
}

/* Ranks of another run, after which the model is made again. */
static void leave_out_other_runs(gt_late_search *s)
{
    bool *has_rank = gt_alloc_zero(s->found->rank_count + 1, sizeof *has_rank);
    if (gt_rank_model_other_runs(s->model, s->input, has_rank)) {
        s->found->other_runs = gt_rank_ranges(has_rank, s->found->rank_count);
        for (size_t r = 0; r < s->found->rank_count; r++) {
            if (!has_rank[r]) continue;
            s->found->ranks[r].left_out = GT_LEFT_OUT_OTHER_RUN;
            s->facts[r] = NULL;
        }
        gt_rank_model_free(s->model);
        s->model = gt_rank_model_new(s->input);
    }
    gt_free(has_rank);
}

/* Ranks that were matched by the numbers of steps, and share none with another rank. */
static void find_other_steps(gt_late_search *s)
{
    for (size_t r = 0; r < s->found->rank_count; r++) {
        gt_rank_summary *rank = &s->found->ranks[r];
        bool has_none = s->model->rank_begins[r] == s->model->rank_begins[r + 1];
        if (rank->facts && !rank->left_out && rank->is_shifted && has_none)
            *rank = (gt_rank_summary){.facts = rank->facts, .left_out = GT_LEFT_OUT_OTHER_STEPS};
    }
}

static void begin(gt_late_search *s)
{
    size_t ranks = s->input->rank_count;
    s->found = gt_alloc_zero(1, sizeof *s->found);
    s->found->rank_count = ranks;
    s->found->ran_count = s->input->ran_count > ranks ? s->input->ran_count : ranks;
    s->found->ranks = gt_alloc_zero(ranks, sizeof *s->found->ranks);
    for (size_t r = 0; r < ranks; r++) {
        s->found->ranks[r].facts = s->input->facts[r];
        s->found->ranks[r].is_shifted = s->input->is_shifted && s->input->is_shifted[r];
        s->found->ranks[r].lacks = s->input->lacks && s->input->lacks[r];
        s->found->ranks[r].is_uneven = s->input->is_uneven && s->input->is_uneven[r];
    }
    for (size_t r = 0; r < ranks && s->input->apart_s; r++) s->found->ranks[r].apart_s = s->input->apart_s[r];
    s->node_of = gt_alloc_zero(ranks, sizeof *s->node_of);
    s->repaired_ranks = gt_alloc_zero(ranks, sizeof *s->repaired_ranks);
    s->repaired_nodes = gt_alloc_zero(ranks, sizeof *s->repaired_nodes);
    s->late_nodes = gt_alloc_zero(ranks, sizeof *s->late_nodes);
    s->shown_nodes = gt_alloc_zero(ranks, sizeof *s->shown_nodes);
    s->slow_hosts = gt_alloc_zero(ranks, sizeof *s->slow_hosts);
    s->blame_ns = gt_alloc_zero(ranks, sizeof *s->blame_ns);
    leave_out(s);
    s->model = gt_rank_model_new(s->input);
    leave_out_other_runs(s);
    find_other_steps(s);
    find_nodes(s);
    gt_rank_late_find(s->model, s->found->ranks);
}

static void end(gt_late_search *s)
{
    for (size_t i = 0; s->times && i < s->model->stage_count; i++) gt_kernel_times_free(s->times[i]);
    gt_free(s->times);
    gt_rank_model_free(s->model);
    gt_free(s->facts);
    gt_free(s->node_of);
    gt_free(s->repaired_ranks);
    gt_free(s->repaired_nodes);
    gt_free(s->late_nodes);
    gt_free(s->shown_nodes);
    gt_free(s->slow_hosts);
    gt_free(s->blame_ns);
    gt_free(s->suspects);
    gt_free(s->work_factor);
}

/* ---- communication that is not compared ---- */

/* The time in communication of one name, in the windows. */
typedef struct named_time {
    uint32_t name;
    double all_ns, left_out_ns;
} named_time;

static int most_left_out_first(const void *a, const void *b)
{
    const named_time *x = a, *y = b;
    if (x->left_out_ns != y->left_out_ns) return x->left_out_ns > y->left_out_ns ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Adds the kernels of a rank. `rows` are those of nccl_long; the entries of the model are in order of time.
 */
static void add_times(const gt_late_search *s, size_t rank, const uint32_t *names, const bool *is_compared,
                      gt_map *places, named_time *times)
{
    const gt_rank_facts *facts = s->input->facts[rank];
    for (size_t i = 0; i < facts->collective_count; i++) {
        const gt_rank_collective *c = &facts->collectives[i];
        if (!c->in_window || c->stream == GT_NONE) continue;
        uint32_t *place = gt_map_put(places, names[i], 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)places->count - 1;
            times[*place] = (named_time){.name = names[i]};
        }
        double ns = (double)(c->end_ns - c->start_ns);
        times[*place].all_ns += ns;
        if (!is_compared[i]) times[*place].left_out_ns += ns;
    }
}

/* A sentence about what is left out, if it is more than a little. */
static char *describe_left_out(const named_time *times, size_t count, const gt_interner *strings)
{
    enum { NAMED = 3 };
    const double least = 0.01;
    double all = 0, left_out = 0;
    gt_buffer text = {0};
    for (size_t i = 0; i < count; i++) {
        all += times[i].all_ns;
        left_out += times[i].left_out_ns;
    }
    if (left_out < least * all || left_out <= 0) return NULL;
    gt_buffer_add_format(&text, "%.0f %% of the time in communication", 100 * left_out / all);
    for (size_t i = 0, named = 0; i < count && named < NAMED && times[i].left_out_ns > 0; i++) {
        gt_buffer_add_cstr(&text, named++ ? ", " : " (");
        gt_buffer_add_cstr(
            &text, times[i].name == GT_STR_NONE ? "unknown" : gt_interner_get(strings, times[i].name).bytes);
    }
    gt_buffer_add_cstr(&text, ")");
    return gt_buffer_take(&text);
}

static void note_left_out(gt_late_search *s)
{
    const gt_table *events = s->input->sync->matches->events;
    const uint32_t *names = gt_table_column(events, GT_COL_COLLECTIVE_NAME)->texts;
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    named_time *times = gt_alloc((events->row_count + 1) * sizeof *times);
    bool *is_compared = gt_alloc((events->row_count + 1) * sizeof *is_compared);
    gt_map places = {0};
    for (size_t first = 0, end; first < events->row_count; first = end) {
        size_t rank = (size_t)ranks[first];
        for (end = first; end < events->row_count && ranks[end] == ranks[first];) end++;
        if (rank >= s->found->rank_count || !s->input->facts[rank] ||
            s->input->facts[rank]->collective_count != end - first)
            continue;
        memset(is_compared, 0, (end - first) * sizeof *is_compared);
        for (size_t i = 0; i < gt_rank_entry_count(s->model, rank); i++)
            is_compared[gt_rank_entry_at(s->model, rank, i)->number] = true;
        add_times(s, rank, &names[first], is_compared, &places, times);
    }
    if (places.count) qsort(times, places.count, sizeof *times, most_left_out_first);
    s->found->not_compared = describe_left_out(times, places.count, events->strings);
    gt_map_free(&places);
    gt_free(times);
    gt_free(is_compared);
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
    found->step_ns = known ? steps / (double)known + found->unfelt_ns : 0;
}

static void note_disagreeing(gt_rank_findings *found, const gt_collective_sync *sync)
{
    found->has_disagreeing = gt_alloc_zero(found->rank_count + 1, sizeof *found->has_disagreeing);
    found->disagreeing = sync->disagreeing;
    for (size_t r = 0; sync->has_disagreeing && r < found->rank_count && r < (size_t)sync->matches->ranks;
         r++)
        found->has_disagreeing[r] = sync->has_disagreeing[r];
}

static void add_critical_path(const gt_late_search *s)
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

static void add_across(const gt_late_search *s)
{
    gt_rank_findings *found = s->found;
    gt_interner *strings = s->input->sync->matches->events->strings;
    gt_collective_matches matches = {0};
    gt_collective_sync own = {0};
    bool is_mixed = gt_rank_sync_of_one_run(found, s->input->sync, &own, &matches);
    gt_rank_clock *clocks = gt_rank_clocks_find(is_mixed ? &own : s->input->sync, found->rank_count);
    gt_table_list_add(&found->across, gt_rank_clocks_sheet(found, clocks, strings));
    gt_free(clocks);
    if (is_mixed) gt_collective_sync_free(&own);
    if (is_mixed) gt_collective_matches_free(&matches);
    add_critical_path(s);
    gt_rank_steps_add_sheets(found, strings, &found->across);
    gt_table_list_add(&found->across, gt_rank_matrix_sheet(found, s->input, &found->uncounted));
}

gt_rank_findings *gt_ranks_find(const gt_ranks_input *input)
{
    gt_late_search s = {.input = input};
    begin(&s);
    gt_rank_findings *found = s.found;
    if (s.model->count) {
        found->per = s.model->has_steps ? "step" : "trace";
        s.model_ns = gt_rank_model_begin(s.model, &found->unfelt_ns);
        find_means(found);
        note_left_out(&s);
        add_findings(&s);
        gt_add_own_findings(found);
        gt_rank_findings_sort(found);
        found->verdict = gt_rank_findings_verdict(found);
        note_disagreeing(found, input->sync);
        add_across(&s);
    } else {
        gt_rank_findings_free(found);
        found = NULL;
    }
    end(&s);
    return found;
}

char *gt_ranks_all_left_out(const gt_ranks_input *input)
{
    gt_late_search s = {.input = input};
    begin(&s);
    for (size_t r = 0; r < input->rank_count; r++) s.found->ranks[r].known = input->facts[r] != NULL;
    char *text = gt_ranks_all_sentences(s.found);
    end(&s);
    gt_rank_findings_free(s.found);
    return text;
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
    gt_free(findings->not_compared);
    gt_free(findings->other_runs);
    gt_free(findings->has_disagreeing);
    gt_free(findings->critical);
    gt_table_list_free(&findings->across);
    gt_free(findings);
}
