/* The first line of the report of all ranks. */
#include "findings/ranks/find.h"

#include "base/memory.h"

#include <string.h>

static double ms(double ns)
{
    return ns / 1e6;
}

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
    gt_free(list);
    gt_free(unknown);
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
    char *verdict = gt_strdup(gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    return verdict;
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
    if (first) return late_verdict(found, first);
    const gt_rank_summary *most = hint ? NULL : most_waited_for(found);
    if (most) return waited_for_verdict(found, most);
    char *unknown = about_unknown(found);
    char *perhaps = !hint ? gt_strdup("")
                          : gt_format("; perhaps %s; up to about %.2f ms (%.0f %%)", hint->title,
                                      ms(hint->gain_ns), hint->gain_pct);
    char *verdict = gt_format(
        "no rank, node or link %sstands out: ranks wait %.2f ms per %s of %.2f ms for each other%s%s",
        hint ? "certainly " : "", ms(found->wait_ns), found->per, ms(found->step_ns), perhaps, unknown);
    gt_free(perhaps);
    gt_free(unknown);
    return verdict;
}

/* Ranks that are not compared, and why. */
static char *add_left_out(const gt_rank_findings *found, char *verdict)
{
    for (gt_rank_left_out why = GT_COMPARED + 1; why < GT_LEFT_OUT_COUNT; why++) {
        char *ranks, *text, *before = verdict;
        if (!gt_ranks_left_out(found, why, &ranks, &text)) continue;
        verdict = gt_format("%s; %s", before, text);
        gt_free(before);
        gt_free(ranks);
        gt_free(text);
    }
    return verdict;
}

/* Collectives that are matched wrongly make everything doubtful. */
char *gt_rank_findings_verdict(const gt_rank_findings *found)
{
    char *verdict = add_left_out(found, verdict_of(found));
    bool *is_uneven = gt_alloc_zero(found->rank_count, sizeof *is_uneven);
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++) count += is_uneven[r] = found->ranks[r].is_uneven;
    if (count) {
        char *ranks = gt_rank_list(found, is_uneven), *before = verdict;
        verdict = gt_format("%s; this may be wrong, because rank%s %s %s another number of collectives than "
                            "the others",
                            before, count > 1 ? "s" : "", ranks, count > 1 ? "have" : "has");
        gt_free(ranks);
        gt_free(before);
    }
    gt_free(is_uneven);
    return verdict;
}
