/* Findings about ranks in words, and the first line of the report of all ranks. */
#include "findings/ranks/find.h"

static double ms(double ns)
{
    return ns / 1e6;
}

/* ---- lists ---- */

void gt_rank_add_item(gt_buffer *text, const char *item)
{
    for (; *item; item++) gt_buffer_add(text, *item == ';' && item[1] == ' ' ? "," : item, 1);
}

char *gt_rank_ranges(const bool *has_rank, size_t count)
{
    gt_buffer text = {0};
    for (size_t r = 0; r < count;) {
        size_t end = r;
        while (end < count && has_rank[end]) end++;
        if (end > r) gt_buffer_add_format(&text, "%s%zu", text.len ? ", " : "", r);
        if (end > r + 1) gt_buffer_add_format(&text, "-%zu", end - 1);
        r = end + (end == r);
    }
    char *list = gt_strdup(text.len ? gt_buffer_str(&text).bytes : "");
    gt_buffer_free(&text);
    return list;
}

char *gt_rank_list(const gt_rank_findings *found, const bool *has_rank)
{
    bool all = true;
    for (size_t r = 0; r < found->rank_count; r++) all &= has_rank[r] || !found->ranks[r].known;
    return all ? gt_strdup("all") : gt_rank_ranges(has_rank, found->rank_count);
}

/* "rank 5", "ranks 1 and 6", "node a", "nodes a, b and c", "7 of 8 ranks (0-2, 4-7)". */
static void add_names(gt_buffer *text, const gt_rank_findings *found, const gt_late_group *group)
{
    if (group->total > GT_NAMED_MAX) {
        char *list = gt_rank_list(found, group->has_rank);
        gt_buffer_add_format(text, "%zu of %zu %s (%s%s)", group->total,
                             group->is_node ? gt_rank_nodes(found) : found->rank_count,
                             group->is_node ? "nodes" : "ranks", group->is_node ? "ranks " : "", list);
        gt_free(list);
        return;
    }
    /* A name such as "node1" says itself that it is a node. */
    const char *own_name = group->is_node ? found->node_names[group->members[0].index] : "";
    bool says_node = found->nodes_named && strncmp(own_name, "node", 4) == 0;
    if (!says_node) gt_buffer_add_cstr(text, group->is_node ? "node" : "rank");
    if (!says_node && group->count > 1) gt_buffer_add_cstr(text, "s");
    for (size_t i = 0; i < group->count; i++) {
        const char *before = i == 0 ? (says_node ? "" : " ") : i + 1 == group->count ? " and " : ", ";
        const char *name = group->is_node ? found->node_names[group->members[i].index] : NULL;
        if (name && !found->nodes_named) name += strlen("node ");
        if (name)
            gt_buffer_add_format(text, "%s%s", before, name);
        else
            gt_buffer_add_format(text, "%s%zu", before, group->members[i].index);
    }
}

/* ---- causes ---- */

/* The time stands between the first two. In an advice, {who} stands for the ranks or nodes, {host} and {gpu}
 * for their hosts and GPUs (add_subject). */
static const struct {
    const char *does, *longer, *advice;
} causes[GT_CAUSES] = {
    [GT_CAUSE_LAUNCH] = {"its host takes", "longer to launch work",
                         "Look for other processes, a lower CPU clock or wrong CPU binding on {host}."},
    [GT_CAUSE_SYNC] = {"its host synchronises with the GPU", "longer",
                       "Find the synchronising call that other ranks do not make, and remove it."},
    [GT_CAUSE_DATA] =
        {"its data loader takes", "longer",
         "Compare the input of {who} with that of others: storage, file sizes, number of workers; "
         "prefetch more batches."},
    [GT_CAUSE_CPU_OP] = {"its ops on the CPU take", "longer",
                         "Move the op to the GPU, or look for what slows the CPU of {host}."},
    [GT_CAUSE_PYTHON] =
        {"its Python code takes", "longer",
         "Find the Python code that other ranks do not run, such as logging or checkpoints, and "
         "move it out of the loop."},
    [GT_CAUSE_UNTRACED] = {"its host does something for", "longer that the trace does not show",
                           "Record {who} with with_stack=True, and look for other processes on {host}."},
    [GT_CAUSE_WAIT] = {"its host waits for others for", "longer",
                       "Find the lock, queue or socket that it waits for, and who is slow at the other end."},
    [GT_CAUSE_ALLOC] = {"its memory calls take", "longer",
                        "Compare the memory in use of {who} with that of others; balance it, or avoid "
                        "allocations in the loop."},
    [GT_CAUSE_MODULE] = {"it loads code for", "longer", "Profile after more warm-up steps."},
    [GT_CAUSE_COPY] = {"its blocking copies take", "longer",
                       "Use pinned memory, and check the binding of {who} to CPU sockets."},
    [GT_CAUSE_PROFILER] = {"its profiler takes", "longer", "Profile fewer ranks or fewer details."},
    [GT_CAUSE_DEVICE_GAP] = {"gaps between its kernels take", "longer", "Look for other processes on {gpu}."},
    [GT_CAUSE_DEPENDENCY] = {"its streams wait for each other", "longer",
                             "Compare the order of kernels of {who} with that of others."},
    [GT_CAUSE_DEVICE_WAIT] = {"its kernels start", "later after their launch",
                              "Look for other processes on {gpu}."},
    [GT_CAUSE_UNKNOWN] = {"it idles", "longer for an unknown reason",
                          "Record {who} again: launches are missing in the trace."},
};

static double factor_pct(const gt_late_cause *cause)
{
    return cause->usual_ns > 0 ? 100 * (cause->own_ns / cause->usual_ns - 1) : 0;
}

static const char *than(const gt_rank_findings *found, const gt_late_group *group,
                        const gt_late_member *member)
{
    if (found->few_are_usual) return " than on the fastest ranks";
    if (group->is_node) return " than on other nodes";
    return member->in_node ? " than on the median rank of its node" : " than on the median rank";
}

/* By how much a launch takes longer, in %. */
static double slower_pct(const gt_late_cause *cause, double launch_ns)
{
    return cause->usual_launch_ns > 0 ? 100 * (launch_ns / cause->usual_launch_ns - 1) : 0;
}

static void add_cause(gt_buffer *text, const gt_late_cause *cause, double launch_ns)
{
    bool launches = cause->kind == GT_LATE_HOST && cause->cause == GT_CAUSE_LAUNCH;
    if (launches && slower_pct(cause, launch_ns) >= 1) {
        gt_buffer_add_format(text, "its host launches work %.0f %% slower (%.2f ms)",
                             slower_pct(cause, launch_ns), ms(cause->ns));
        return;
    }
    switch (cause->kind) {
    case GT_LATE_ALL_KERNELS:
        gt_buffer_add_format(text, "all its kernels take %.1f %% longer (%.2f ms)", factor_pct(cause),
                             ms(cause->ns));
        break;
    case GT_LATE_KERNEL:
        gt_buffer_add_format(text, "%s takes %.2f ms longer", cause->op ? cause->op : cause->kernel,
                             ms(cause->ns));
        break;
    case GT_LATE_HOST:
        gt_buffer_add_format(text, "%s %.2f ms %s", causes[cause->cause].does, ms(cause->ns),
                             causes[cause->cause].longer);
        break;
    default:
        break;
    }
}

static const char *advice_for(const gt_late_member *member, bool is_node)
{
    const gt_late_cause *cause = member->cause_count ? &member->causes[0] : NULL;
    if (!cause) return "Compare the traces of {who} and another one: gputally compare.";
    if (cause->kind == GT_LATE_ALL_KERNELS)
        return is_node
                   ? "Check clocks, power limits, temperatures and cooling of {gpu}; replace {who} if they "
                     "stay low."
                   : "Check clock, power limit and temperature of {gpu}; look for other processes there.";
    if (cause->kind == GT_LATE_KERNEL)
        return "Compare the shapes and the amount of data that the op gets on {who} with those of others: "
               "balance them, or check {gpu}.";
    return causes[cause->cause].advice;
}

/* Whether all of them are late for the same reason. */
static bool have_one_advice(const gt_late_group *group)
{
    const char *first = advice_for(&group->members[0], group->is_node);
    for (size_t i = 1; i < group->count; i++)
        if (strcmp(advice_for(&group->members[i], group->is_node), first) != 0) return false;
    return true;
}

/* The words for a {word} of an advice: "this rank", "these ranks"; "rank 5" if only the first one of several
 * is meant. */
static void add_subject(gt_buffer *text, const gt_rank_findings *found, const gt_late_group *group, bool all,
                        char word)
{
    bool are_many = group->count > 1 && all;
    if (word == 'g') gt_buffer_add_cstr(text, are_many || group->is_node ? "the GPUs of " : "the GPU of ");
    if (word == 'h' && !group->is_node) gt_buffer_add_cstr(text, are_many ? "the hosts of " : "the host of ");
    if (group->count > 1 && !all) {
        gt_late_group first = *group;
        first.count = 1;
        add_names(text, found, &first);
    } else {
        gt_buffer_add_cstr(text, are_many ? "these " : "this ");
        gt_buffer_add_cstr(text, group->is_node ? "node" : "rank");
        if (are_many) gt_buffer_add_cstr(text, "s");
    }
}

/* The advice for the first one, whose causes the title names. */
static char *late_advice(const gt_rank_findings *found, const gt_late_group *group)
{
    gt_buffer text = {0};
    const char *advice = advice_for(&group->members[0], group->is_node), *open;
    bool all = have_one_advice(group);
    for (; (open = strchr(advice, '{')); advice = strchr(open, '}') + 1) {
        gt_buffer_add(&text, advice, (size_t)(open - advice));
        add_subject(&text, found, group, all, open[1]);
    }
    gt_buffer_add_cstr(&text, advice);
    return gt_buffer_take(&text);
}

/* ---- late ranks and nodes ---- */

/* In how many of the collectives that are measured is it late? By at least half of what it is late on average
 * after each base. */
static double late_pct(const gt_rank_model *model, size_t rank)
{
    size_t all = gt_rank_entry_count(model, rank), bases = 0, count = 0, late = 0;
    uint32_t base = GT_NONE;
    for (size_t i = 0; i < all; i++) {
        const gt_rank_entry *entry = gt_rank_entry_at(model, rank, i);
        if (!entry->compared || !entry->is_measured) continue;
        bases += !count++ || entry->base != base;
        base = entry->base;
    }
    if (!count) return 0;
    double least = gt_rank_late_ns(model, rank) * model->steps[rank] / (double)bases / 2;
    for (size_t i = 0; i < all; i++) {
        const gt_rank_entry *entry = gt_rank_entry_at(model, rank, i);
        late += entry->compared && entry->is_measured && entry->late_ns > 0 && entry->late_ns > least;
    }
    return 100.0 * (double)late / (double)count;
}

static void add_evidence(gt_buffer *text, const char *part)
{
    if (text->len) gt_buffer_add_cstr(text, "; ");
    gt_buffer_add_cstr(text, part);
}

static void add_kernel(gt_buffer *text, const char *kernel)
{
    char *name = gt_format(" in kernel %.100s", kernel);
    gt_rank_add_item(text, name);
    gt_free(name);
}

static void add_member_evidence(gt_buffer *text, const gt_rank_findings *found, const gt_late_group *group,
                                const gt_late_member *member)
{
    const gt_rank_summary *rank = &found->ranks[member->rank];
    for (size_t i = 0; i < member->cause_count; i++) {
        const gt_late_cause *cause = &member->causes[i];
        gt_buffer_add_format(text, "%srank %zu: ", text->len ? "; " : "", member->rank);
        add_cause(text, cause, rank->facts->launch_ns);
        gt_buffer_add_cstr(text, than(found, group, member));
        gt_buffer_add_format(text, " (%.2f against %.2f ms per %s)", ms(cause->own_ns), ms(cause->usual_ns),
                             found->per);
        if (cause->kind == GT_LATE_KERNEL && cause->op) add_kernel(text, cause->kernel);
        if (cause->kind == GT_LATE_HOST && cause->cause == GT_CAUSE_LAUNCH)
            gt_buffer_add_format(text, ", %.1f against %.1f us per launch", rank->facts->launch_ns / 1e3,
                                 cause->usual_launch_ns / 1e3);
    }
    if (!member->cause_count)
        gt_buffer_add_format(text, "%srank %zu: no part of its time differs from the median rank's",
                             text->len ? "; " : "", member->rank);
}

/* Others may be later still: then no rank waits for these until those are repaired. */
static char *about_waiting(const gt_late_group *group, const char *per, double wait_ms, double blame_pct)
{
    const char *who = group->is_node      ? (group->total == 1 ? "this node" : "these nodes")
                      : group->total == 1 ? "this rank"
                                          : "these ranks";
    char *waits = gt_format("the other ranks wait %.2f ms per %s in collectives", wait_ms, per);
    char *text =
        blame_pct >= 0.5 ? gt_format("%s, %.0f %% of it for %s", waits, blame_pct, who)
        : group->blame >= 0.005
            ? gt_format("%s for others that are later; after the repairs before this one, %.0f %% of "
                        "the waiting is for %s",
                        waits, 100 * group->blame, who)
            : gt_format("%s, hardly any of it for %s", waits, who);
    gt_free(waits);
    return text;
}

static char *late_evidence(const gt_rank_findings *found, const gt_late_group *group)
{
    gt_buffer text = {0};
    const bool *has_rank = group->has_rank;
    double wait = 0, blame = 0;
    size_t others = 0;
    for (size_t i = 0; i < group->count; i++) add_member_evidence(&text, found, group, &group->members[i]);
    if (group->depends)
        add_evidence(&text,
                     "others are late by about as much, so only their repair and this one together gain");
    for (size_t r = 0; r < found->rank_count; r++) {
        if (has_rank[r]) blame += found->ranks[r].blame_pct;
        if (!found->ranks[r].known || has_rank[r]) continue;
        wait += found->ranks[r].wait_ns;
        others++;
    }
    char *part = about_waiting(group, found->per, others ? ms(wait) / (double)others : 0, blame);
    add_evidence(&text, part);
    gt_free(part);
    return gt_buffer_take(&text);
}

/* In which step is a rank late, if it is so in one only? Lateness of works with one base is counted once. -1:
 * in several, or there are too few to tell. */
static int32_t only_late_step(const gt_rank_model *model, size_t rank)
{
    enum { LEAST_STEPS = 3 };
    double all = 0, of_step = 0, most = 0, largest = 0;
    int32_t step = -1, most_step = -1;
    uint32_t base = GT_NONE;
    if (model->steps[rank] < LEAST_STEPS) return -1;
    for (size_t i = 0; i < gt_rank_entry_count(model, rank); i++) {
        const gt_rank_entry *entry = gt_rank_entry_at(model, rank, i);
        if (!entry->is_measured || !entry->compared) continue;
        if (entry->base != base || entry->step != step) largest = 0;
        if (entry->step != step) of_step = 0;
        base = entry->base;
        step = entry->step;
        double more = fmax(0, entry->late_ns - largest);
        largest += more;
        of_step += more;
        all += more;
        if (of_step <= most) continue;
        most = of_step;
        most_step = step;
    }
    return most >= 0.9 * all && most > 0 ? most_step : -1;
}

/* " is late by 3.00 ms per step" or, if that happened once, " is late once, by 9.00 ms in step 5 (3.00 ms per
 * step)". */
static void add_lateness(gt_buffer *text, const gt_rank_findings *found, const gt_rank_model *model,
                         const gt_late_group *group)
{
    size_t rank = group->members[0].rank;
    const gt_rank_facts *facts = found->ranks[rank].facts;
    int32_t step = group->total == 1 ? only_late_step(model, rank) : -1;
    if (step >= 0 && (size_t)step < facts->step_number_count) {
        gt_buffer_add_format(text, " is late once, by %.2f ms in step %lld (%.2f ms per %s)",
                             ms(group->late_ns) * model->steps[rank], (long long)facts->step_numbers[step],
                             ms(group->late_ns), found->per);
        return;
    }
    gt_buffer_add_format(text, " %s late by ", group->total > 1 ? "are" : "is");
    if (group->least_late_ns < 0.98 * group->late_ns)
        gt_buffer_add_format(text, "%.2f to ", ms(group->least_late_ns));
    gt_buffer_add_format(text, "%.2f ms per %s", ms(group->late_ns), found->per);
}

/* The one with the most time beyond the usual, which decides how late the group is. */
static const gt_late_member *worst_member(const gt_late_group *group)
{
    const gt_late_member *worst = &group->members[0];
    double most = -INFINITY;
    for (size_t i = 0; i < group->count; i++) {
        const gt_late_member *member = &group->members[i];
        double more = 0;
        for (size_t k = 0; k < member->cause_count; k++)
            more += member->causes[k].own_ns - member->causes[k].usual_ns;
        if (more > most) worst = member;
        most = fmax(most, more);
    }
    return worst;
}

static char *late_title(const gt_rank_findings *found, const gt_rank_model *model, const gt_late_group *group)
{
    gt_buffer text = {0};
    const gt_late_member *worst = worst_member(group);
    add_names(&text, found, group);
    double pct = late_pct(model, worst->rank);
    add_lateness(&text, found, model, group);
    if (pct >= 0.5) gt_buffer_add_format(&text, " in %.0f %% of collectives", pct);
    gt_buffer_add_cstr(&text, ": ");
    if (group->count > 1 && group->is_node)
        gt_buffer_add_format(&text, "on %s ", found->node_names[worst->index]);
    else if (group->count > 1)
        gt_buffer_add_format(&text, "on rank %zu ", worst->index);
    for (size_t i = 0; i < worst->cause_count; i++) {
        if (i) gt_buffer_add_cstr(&text, ", ");
        add_cause(&text, &worst->causes[i], found->ranks[worst->rank].facts->launch_ns);
    }
    gt_buffer_add_cstr(&text, worst->cause_count ? than(found, group, worst) : "the cause is unknown");
    return gt_buffer_take(&text);
}

char *gt_rank_list_nodes(const gt_rank_findings *found, const bool *has_rank)
{
    gt_buffer text = {0};
    bool *has_node = gt_alloc_zero(found->node_count, sizeof *has_node);
    size_t count = 0, added = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        if (!has_rank[r]) continue;
        count += !has_node[found->ranks[r].node];
        has_node[found->ranks[r].node] = true;
    }
    for (size_t n = 0; n < found->node_count; n++) {
        if (!has_node[n]) continue;
        if (added) gt_buffer_add_cstr(&text, added + 1 == count ? " and " : ", ");
        gt_buffer_add_cstr(&text, found->node_names[n]);
        added++;
    }
    gt_free(has_node);
    char *list = gt_strdup(added ? gt_buffer_str(&text).bytes : "");
    gt_buffer_free(&text);
    return list;
}

/* What happens once may be chance. */
static gt_confidence late_confidence(const gt_late_group *group, double steps)
{
    return group->is_certain && steps >= 2 ? GT_CONFIDENCE_HIGH : GT_CONFIDENCE_MEDIUM;
}

void gt_add_late_finding(gt_rank_findings *found, const gt_rank_model *model, const gt_late_group *group)
{
    const gt_late_member *first = &group->members[0];
    const gt_late_cause *cause = first->cause_count ? &first->causes[0] : NULL;
    gt_run_finding finding = {
        .id = gt_strdup(group->is_node ? "slow_node" : "straggler"),
        .title = late_title(found, model, group),
        .ranks = gt_rank_list(found, group->has_rank),
        .evidence = late_evidence(found, group),
        .advice = late_advice(found, group),
        .confidence = late_confidence(group, model->steps[first->rank]),
        .is_gpu = cause && cause->kind != GT_LATE_HOST,
        .is_of_ranks = true,
        .gain_ns = group->gain_ns,
        .alone_ns = group->alone_ns,
        .late_ns = group->late_ns,
        .depends = group->depends,
    };
    if (group->is_node || found->nodes_known) finding.where = gt_rank_list_nodes(found, group->has_rank);
    gt_add_run_finding(found, finding);
}

/* ---- the first line ---- */

/* "; rank 5, whose collectives were not read, may be late"; "" if all ranks are known. */
static char *about_unknown(const gt_rank_findings *found)
{
    bool *unknown = gt_alloc_zero(found->ran_count, sizeof *unknown);
    size_t count = 0;
    for (size_t r = 0; r < found->ran_count; r++)
        count += unknown[r] = r >= found->rank_count || (!found->ranks[r].known && !found->ranks[r].left_out);
    char *list = gt_rank_ranges(unknown, found->ran_count);
    char *text = !count ? gt_strdup("")
                        : gt_format("; rank%s %s, whose collectives were not read, may be late",
                                    count > 1 ? "s" : "", list);
    gt_free_all(list, unknown);
    return text;
}

/* The rank for which others wait most, if that is most of the waiting and the waiting is no small part of the
 * step; NULL otherwise. */
static const gt_rank_summary *most_waited_for(const gt_rank_findings *found)
{
    const gt_rank_summary *most = NULL;
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known && (!most || found->ranks[r].blame_pct > most->blame_pct))
            most = &found->ranks[r];
    bool is_most = most && most->blame_pct > 50 && found->wait_ns > 0.05 * found->step_ns;
    return is_most ? most : NULL;
}

/* Why no finding names the rank that the others wait for. What it does longer may be as much as they wait,
 * and still be chance: few steps do not tell. Without several steps, it may be late before the window begins.
 */
static char *why_not_late(const gt_rank_findings *found, const gt_rank_summary *rank)
{
    enum { FEW_STEPS = 2 };
    size_t steps = rank->facts->steps;
    if (steps <= 1 && rank->late_ns < found->wait_ns / 2)
        return gt_strdup("the cause is before its first op, which the window does not show: record several "
                         "steps");
    if (rank->late_ns < 0.01 * found->step_ns)
        return gt_strdup("what it does longer is not more than chance");
    if (steps > FEW_STEPS || !rank->facts->has_steps)
        return gt_format("what it does takes %.2f ms longer than on the median rank, which is not more than "
                         "chance",
                         ms(rank->late_ns));
    return gt_format(
        "what it does takes %.2f ms longer than on the median rank, but %zu step%s %s too few to "
        "tell whether that is chance: record more steps",
        ms(rank->late_ns), steps, steps > 1 ? "s" : "", steps > 1 ? "are" : "is");
}

/* "rank 1 comes last in 100 % of collectives ...": nothing that it does in the window takes longer, or it is
 * not known to be more than chance. */
static char *waited_for_verdict(const gt_rank_findings *found, const gt_rank_summary *most)
{
    char *why = why_not_late(found, most);
    char *verdict =
        gt_format("rank %zu comes last in %.0f %% of collectives and causes %.0f %% of the waiting: ranks "
                  "wait %.2f ms per %s of %.2f ms for each other; %s",
                  (size_t)(most - found->ranks), most->last_pct, most->blame_pct, ms(found->wait_ns),
                  found->per, ms(found->step_ns), why);
    gt_free(why);
    return verdict;
}

/* The title and the gain of the first finding. If it depends on the repair of others, theirs, too. */
static char *late_verdict(const gt_rank_findings *found, const gt_run_finding *first)
{
    const gt_run_finding *last = first, *end = found->items + found->count;
    double gain_ns = first->gain_ns, gain_pct = first->gain_pct;
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, first->title);
    while (last->depends && last + 1 < end && last[1].is_of_ranks &&
           last[1].confidence != GT_CONFIDENCE_LOW) {
        last++;
        gain_ns += last->gain_ns;
        gain_pct += last->gain_pct;
        gt_buffer_add_format(&text, "; %s", last->title);
    }
    gt_buffer_add_format(&text, "; %sup to about %.2f ms (%.0f %%) per %s", last > first ? "together " : "",
                         ms(gain_ns), gain_pct, found->per);
    return gt_buffer_take(&text);
}

/* Findings about ranks stand before those of their traces, also if these are worth more: then that is said.
 */
static char *add_larger(const gt_rank_findings *found, char *verdict)
{
    const gt_run_finding *larger = NULL;
    double score = 0;
    for (size_t i = 0; i < found->count; i++) {
        const gt_run_finding *finding = &found->items[i];
        if (finding->is_of_ranks && finding->confidence != GT_CONFIDENCE_LOW) score += finding->score;
        if (finding->is_of_ranks || finding->confidence == GT_CONFIDENCE_LOW) continue;
        if (!larger || finding->score > larger->score) larger = finding;
    }
    if (!larger || larger->score <= score) return verdict;
    char *longer = gt_format("%s; %s gains more: up to about %.2f ms (%.0f %%)", verdict, larger->id,
                             ms(larger->gain_ns), larger->gain_pct);
    gt_free(verdict);
    return longer;
}

static char *verdict_of(const gt_rank_findings *found)
{
    const gt_run_finding *first = NULL, *hint = NULL;
    for (size_t i = found->count; i-- > 0;) {
        const gt_run_finding *finding = &found->items[i];
        if (!finding->is_of_ranks) continue;
        if (finding->confidence != GT_CONFIDENCE_LOW)
            first = finding;
        else if (finding->severity != GT_SEVERITY_LOW)
            hint = finding;
    }
    if (first && first->gain_pct < 0.1 && strcmp(first->id, "slow_host") == 0)
        return gt_format("%s; ranks wait %.2f ms per %s of %.2f ms for each other", first->title,
                         ms(found->wait_ns), found->per, ms(found->step_ns));
    if (first) return add_larger(found, late_verdict(found, first));
    const gt_rank_summary *most = hint ? NULL : most_waited_for(found);
    if (most) return waited_for_verdict(found, most);
    char *unknown = about_unknown(found);
    char *perhaps = !hint ? gt_strdup("")
                          : gt_format("; perhaps %s; up to about %.2f ms (%.0f %%)", hint->title,
                                      ms(hint->gain_ns), hint->gain_pct);
    char *verdict = gt_format("%s%s: ranks wait %.2f ms per %s of %.2f ms for each other%s%s",
                              found->not_compared ? "what can be compared does not name a rank, node or link"
                              : hint              ? "no rank, node or link certainly stands out"
                                                  : "no rank, node or link stands out",
                              found->not_compared && hint ? " for certain" : "", ms(found->wait_ns),
                              found->per, ms(found->step_ns), perhaps, unknown);
    gt_free_all(perhaps, unknown);
    return verdict;
}

/* Ranks that are not compared, and why. */
static char *add_left_out(const gt_rank_findings *found, char *verdict)
{
    for (gt_rank_left_out why = GT_COMPARED + 1; why < GT_LEFT_OUT_COUNT; why++) {
        char *ranks, *text, *before = verdict;
        if (!gt_ranks_left_out(found, why, &ranks, &text)) continue;
        verdict = gt_format("%s; %s", before, text);
        gt_free_all(before, ranks, text);
    }
    return verdict;
}

/* Collectives that are matched wrongly make everything doubtful. */
char *gt_rank_findings_verdict(const gt_rank_findings *found)
{
    char *verdict = add_left_out(found, verdict_of(found));
    if (found->not_compared) {
        char *before = verdict;
        verdict = gt_format("%s; %s is not compared", before, found->not_compared);
        gt_free(before);
    }
    bool *is_uneven = gt_alloc_zero(found->rank_count, sizeof *is_uneven);
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++) count += is_uneven[r] = found->ranks[r].is_uneven;
    if (count) {
        char *ranks = gt_rank_list(found, is_uneven), *before = verdict;
        verdict = gt_format("%s; this may be wrong, because rank%s %s %s another number of collectives than "
                            "the others",
                            before, count > 1 ? "s" : "", ranks, count > 1 ? "have" : "has");
        gt_free_all(ranks, before);
    }
    gt_free(is_uneven);
    return verdict;
}
