/* Findings about ranks in words. */
#include "findings/ranks/find.h"

#include "base/buffer.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

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
    char *result = gt_strdup(gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    return result;
}

/* ---- late ranks and nodes ---- */

/* In how many of the collectives that are measured is it late? By at least half of what it is late on average
 * after each base. */
static double late_pct(gt_rank_walk *walk, size_t rank)
{
    const gt_rank_entry *entries = gt_rank_walk_to(walk, rank);
    size_t all = gt_rank_entry_count(walk->model, rank), bases = 0, count = 0, late = 0;
    uint32_t base = GT_NONE;
    for (size_t i = 0; i < all; i++) {
        if (!entries[i].compared || !entries[i].is_measured) continue;
        bases += !count++ || entries[i].base != base;
        base = entries[i].base;
    }
    if (!count) return 0;
    double least = gt_rank_late_ns(walk, rank) * walk->model->steps[rank] / (double)bases / 2;
    for (size_t i = 0; i < all; i++)
        late += entries[i].compared && entries[i].is_measured && entries[i].late_ns > 0 &&
                entries[i].late_ns > least;
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

/* Others may be later still: then nobody waits for these until those are repaired. */
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
    char *result = gt_strdup(gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    return result;
}

/* In which step is a rank late, if it is so in one only? Lateness of works with one base is counted once. -1:
 * in several, or there are too few to tell. */
static int32_t only_late_step(gt_rank_walk *walk, size_t rank)
{
    const gt_rank_model *model = walk->model;
    enum { LEAST_STEPS = 3 };
    double all = 0, of_step = 0, most = 0, largest = 0;
    int32_t step = -1, most_step = -1;
    uint32_t base = GT_NONE;
    if (model->steps[rank] < LEAST_STEPS) return -1;
    const gt_rank_entry *entry = gt_rank_walk_to(walk, rank);
    for (size_t i = 0; i < gt_rank_entry_count(model, rank); i++, entry++) {
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
static void add_lateness(gt_buffer *text, const gt_rank_findings *found, gt_rank_walk *walk,
                         const gt_late_group *group)
{
    size_t rank = group->members[0].rank;
    const gt_rank_facts *facts = found->ranks[rank].facts;
    int32_t step = group->total == 1 ? only_late_step(walk, rank) : -1;
    if (step >= 0 && (size_t)step < facts->step_number_count) {
        gt_buffer_add_format(text, " is late once, by %.2f ms in step %lld (%.2f ms per %s)",
                             ms(group->late_ns) * walk->model->steps[rank],
                             (long long)facts->step_numbers[step], ms(group->late_ns), found->per);
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
    gt_rank_walk walk = gt_rank_walk_begin(model);
    double pct = late_pct(&walk, worst->rank);
    add_lateness(&text, found, &walk, group);
    gt_rank_walk_end(&walk);
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
    char *title = gt_strdup(gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    return title;
}

/* The nodes of the ranks: "a", "a and b", "a, b and c". */
static char *list_nodes(const gt_rank_findings *found, const bool *has_rank)
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
        .late_ns = group->late_ns,
        .depends = group->depends,
    };
    if (group->is_node || found->nodes_known) finding.where = list_nodes(found, group->has_rank);
    gt_add_run_finding(found, finding);
}

void gt_add_shared_place(gt_rank_findings *found, const bool *is_late)
{
    size_t count;
    char *place = gt_rank_shared_place(found, is_late, &count);
    for (size_t i = 0; place && i < found->count; i++) {
        gt_run_finding *finding = &found->items[i];
        if (strcmp(finding->id, "slow_link") == 0) continue;
        gt_buffer evidence = {0};
        gt_buffer_add_cstr(&evidence, finding->evidence);
        gt_buffer_add_format(&evidence, "; %s %zu late nodes have ", count > 2 ? "all" : "the", count);
        gt_rank_add_item(&evidence, place);
        gt_buffer_add_cstr(&evidence, " in their names and no other node has, so look at what they share: "
                                      "switch, rack, power, cooling");
        gt_free(finding->evidence);
        finding->evidence = gt_strdup(gt_buffer_str(&evidence).bytes);
        gt_buffer_free(&evidence);
    }
    gt_free(place);
}

/* ---- links ---- */

/* Whose link is it? */
static const char *link_owner(const gt_rank_findings *found, const gt_slow_links *links)
{
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known && !links->has_rank[r])
            return "only these ranks are in slow collectives, so the link is one of theirs";
    return "all ranks are in slow collectives, so the traces do not tell whose link it is";
}

void gt_add_link_finding(gt_rank_findings *found, const gt_slow_links *links, double gain_ns)
{
    const char *unless =
        links->is_of_table
            ? " If the network is built for less, give what nccl-tests reaches: --expected_bus_gbps."
            : "";
    gt_run_finding finding = {
        .id = gt_strdup("slow_link"),
        .title = gt_format("the network is slow: collectives take %.0f %% longer than %s and reach %.0f "
                           "instead of %.0f GB/s",
                           100 * links->slower, links->compared_with, links->bus_gbps, links->usual_gbps),
        .ranks = gt_rank_list(found, links->has_rank),
        .evidence = gt_format("%zu of %zu large collectives are slow, the slowest is %s; their transfer "
                              "itself is long, not the "
                              "waiting: ranks wait %.2f ms per %s; %s",
                              links->slow_count, links->count, links->what, ms(found->wait_ns), found->per,
                              link_owner(found, links)),
        .advice =
            gt_format("Run nccl-tests or rccl-tests between pairs of these nodes to find the slow link; "
                      "check its speed, error counters and routing.%s",
                      unless),
        .confidence = links->confidence,
        .is_gpu = true,
        .is_of_ranks = true,
        .gain_ns = gain_ns,
    };
    if (found->nodes_known && strcmp(finding.ranks, "all") != 0)
        finding.where = list_nodes(found, links->has_rank);
    gt_add_run_finding(found, finding);
}

/* ---- hosts ---- */

void gt_add_host_finding(gt_rank_findings *found, const gt_slow_host_group *group, double gain_ns)
{
    char *ranks = gt_rank_list(found, group->has_rank);
    const char *many = group->count > 1 ? "s" : "";
    bool is_free = gain_ns < 0.001 * found->step_ns;
    gt_run_finding finding = {
        .id = gt_strdup("slow_host"),
        .title = gt_format("the host%s of rank%s %s launch%s work %s%.0f %% slower than usual%s", many, many,
                           ranks, group->count > 1 ? "" : "es", group->count > 1 ? "up to " : "",
                           100 * group->slower,
                           is_free ? ", which costs nothing now because the GPU does not wait for it" : ""),
        .evidence = gt_format("rank %zu: %.1f against %.1f us per launch", group->rank,
                              group->launch_ns / 1e3, group->usual_ns / 1e3),
        .advice =
            gt_format("Look for other processes, a lower CPU clock or wrong CPU binding on the host%s of "
                      "%s rank%s.",
                      many, group->count > 1 ? "these" : "this", many),
        .ranks = ranks,
        .confidence = GT_CONFIDENCE_HIGH,
        .is_of_ranks = true,
        .gain_ns = gain_ns,
    };
    if (found->nodes_known) finding.where = list_nodes(found, group->has_rank);
    gt_add_run_finding(found, finding);
}
