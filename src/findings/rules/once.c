/* Does a finding cost time in every step, or in a few of them?
 *
 * A checkpoint is written in one step, a function is compiled again in another: the gain per step is a mean
 * that no step has, and what happens once may be chance. The replay says when each step begins, with the
 * repair and without it, so the gain of each step is known:
 *
 *     without   |--3 ms--|--3 ms--|-------- 56 ms --------|--3 ms--|
 *     repaired  |--3 ms--|--3 ms--|--3 ms--|--3 ms--|                  all of the gain is in 1 of 4 steps
 *
 * Work that was queued before the window hides a slow host in the first steps. So two steps say nothing. */
#include "findings/rules/rules_table.h"
#include "table/stats.h"

enum { STEPS_MIN = 3, STEPS_PER_RARE = 4 }; /* a finding is rare in one of three steps, or in one of four */
static const double nearly_all = 0.9;       /* of the gain */
static const double least_seen = 0.5;       /* of the gain: the rest may be on the host alone */

static int largest_first(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a > b ? -1 : a < b;
}

/* The gain of each step, from when the steps begin. Returns the sum of those that gain. */
static double find_step_gains(const double *model_ns, const double *edited_ns, size_t count, double *gains)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double gain = (model_ns[i + 1] - model_ns[i]) - (edited_ns[i + 1] - edited_ns[i]);
        gains[i] = gain > 0 ? gain : 0;
        sum += gains[i];
    }
    return sum;
}

/* The smallest number of steps that have nearly all of the gain, and in *ns how much that is. */
static size_t count_steps(double *gains, size_t count, double sum, double *ns)
{
    size_t steps = 0;
    qsort(gains, count, sizeof *gains, largest_first);
    for (*ns = 0; steps < count && *ns < nearly_all * sum; steps++) *ns += gains[steps];
    return steps;
}

static void say_rare(gt_finding *finding, size_t rare, size_t steps, double ns)
{
    char *title = finding->title;
    finding->title = gt_rule_text("%s, with nearly all of the cost in %zu of %zu steps (%.2f ms %s)", title,
                                  rare, steps, ns / (double)rare / 1e6, rare == 1 ? "there" : "in each");
    gt_free(title);
    gt_rule_evidence(finding,
                     "what happens in %zu of %zu steps may be chance: record more steps to see how often",
                     rare, steps);
    if (finding->confidence == GT_CONFIDENCE_HIGH) finding->confidence = GT_CONFIDENCE_MEDIUM;
}

void gt_rule_judge_steps(const gt_rule_input *input, gt_finding *finding, const double *edited_ns)
{
    const gt_schedule *schedule = input->schedule;
    size_t steps = schedule->window.steps;
    if (!input->model_step_ns || schedule->used_step_count < STEPS_MIN + 1 || !(finding->gain_ns > 0)) return;
    size_t count = schedule->used_step_count - 1;
    double *gains = gt_alloc(count * sizeof *gains), ns;
    double sum = find_step_gains(input->model_step_ns, edited_ns, count, gains);
    size_t rare = count_steps(gains, count, sum, &ns);
    gt_free(gains);
    bool is_seen = sum >= least_seen * finding->gain_ns * (double)steps;
    if (is_seen && (rare == 1 || rare * STEPS_PER_RARE <= steps)) say_rare(finding, rare, steps, ns);
}

double gt_rule_gain_in_steps(const gt_rule_input *input, const double *edited_ns, const bool *steps)
{
    const gt_schedule *schedule = input->schedule;
    if (!input->model_step_ns || schedule->used_step_count < 2) return 0;
    size_t count = schedule->used_step_count - 1, inside = 0, outside = 0;
    double *gains = gt_alloc(count * sizeof *gains), *usual = gt_alloc(count * sizeof *usual), sum = 0;
    find_step_gains(input->model_step_ns, edited_ns, count, gains);
    for (size_t i = 0; i < count; i++) {
        if (!steps[i]) usual[outside++] = gains[i];
        sum += steps[i] ? gains[i] : 0;
        inside += steps[i];
    }
    sum -= outside ? (double)inside * gt_select(usual, outside, outside / 2) : 0;
    gt_free_all(gains, usual);
    return sum > 0 ? sum / (double)schedule->window.steps : 0;
}
