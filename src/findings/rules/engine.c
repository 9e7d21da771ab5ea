/* What could be better, and what would it bring?
 *
 * The rules (rules/) say what they saw and which edit of the schedule a repair would be. The engine runs the
 * edits, side by side, and ranks what comes out:
 *
 * - The gain of a finding is the step time without its edit minus that with it. If it only changes what the
 *   host does, it is at most the idle time that the host causes, and that in which the host's calls hold
 *   back work on the device.
 * - launch_bound is the generic explanation of idle time. Its gain is only what remains after the repair of
 *   all specific findings, so it stands after those that matter.
 * - Recording slows the host down, and what it costs is an estimate. Each rule that depends on it is checked
 *   with a larger estimate: if its share of the step then shrinks to less than half, the profiler may have
 *   caused it, and the finding has low confidence. The other way round, a program may be limited by its host
 *   only while it is profiled: then the gain of a GPU finding is that with the faster host, if it is larger.
 * - A finding is worth its expected gain (gain_ranges.c). Findings of low confidence are hints: they come
 *   after all others.
 * - A gain of less than twice the error of the replay is not shown.
 *
 * The figure for all repairs together is one run with all edits, so that nothing counts twice, within the
 * limits of the single gains. */

#include "findings/chains.h"
#include "findings/rules/backlog.h"
#include "findings/rules/rules_table.h"

static const double smallest_pct = 1; /* a gain below this is not shown */
static const double medium_pct = 5, high_pct = 20;

/* ---- the table ---- */

enum {
    RULE_DOUBTED = 1,   /* low confidence if the profiler may have caused it */
    RULE_VAGUE = 2,     /* no repair of one cause: launch_bound does not wait for it */
    RULE_UNCLEAR = 4,   /* names no cause in the program */
    RULE_RESIDUAL = 8,  /* gains only what all before it leave */
    RULE_SERVER = 32,   /* only of servers */
    RULE_TRAINING = 64, /* not of servers */
    RULE_AFTER_WAIT =
        128, /* gains only what the repair of waits leaves: what has not come cannot be computed ahead */
    RULE_SEVERAL = 256, /* finds several things, one at a time */
};

typedef struct rule_row {
    gt_rule_function *find;
    unsigned flags;
} rule_row;

static const rule_row rules[] = {
    {gt_rule_decode_gap, RULE_SERVER},
    {gt_rule_decode_idle_in_step, RULE_SERVER | RULE_VAGUE},
    {gt_rule_prefill_stall, RULE_SERVER},
    {gt_rule_graph_padding, RULE_SERVER},
    {gt_rule_decode_bound, RULE_SERVER},
    {gt_rule_data_stall, RULE_TRAINING},
    {gt_rule_wait, 0},
    {gt_rule_host_sync, RULE_DOUBTED | RULE_AFTER_WAIT},
    {gt_rule_cpu_op, 0},
    {gt_rule_allocator_churn, 0},
    {gt_rule_python_busy, 0},
    {gt_rule_host_untraced, RULE_UNCLEAR},
    {gt_rule_uneven_steps, RULE_VAGUE | RULE_TRAINING},
    {gt_rule_first_use, 0},
    {gt_rule_pageable_copy, 0},
    {gt_rule_exposed_copy, 0},
    {gt_rule_recompute, RULE_TRAINING},
    {gt_rule_unfused_attention, 0},
    {gt_rule_unfused_pointwise, RULE_VAGUE | RULE_SEVERAL},
    {gt_rule_odd_shapes, 0},
    {gt_rule_fp32_gemm, 0},
    {gt_rule_small_grid, 0},
    {gt_rule_unified_memory, 0},
    {gt_rule_layout_copies, 0},
    {gt_rule_dtype_casts, RULE_VAGUE},
    {gt_rule_slow_optimizer, RULE_DOUBTED | RULE_TRAINING},
    {gt_rule_exposed_comm, RULE_VAGUE},
    {gt_rule_low_efficiency, RULE_VAGUE},
    {gt_rule_short_kernels, RULE_VAGUE},
    {gt_rule_launch_bound, RULE_DOUBTED | RULE_RESIDUAL},
};

enum { SEVERAL_MAX = 8, FOUND_MAX = GT_LENGTH(rules) + SEVERAL_MAX };

/* Edits that are run together, with the usual estimate of the profiler's cost. */
typedef struct edit_set {
    const gt_edit *items[FOUND_MAX];
    size_t count;
    double step_ns; /* the result */
} edit_set;

/* What the rules found, in the order of the table, with the row of each. */
typedef struct found_rules {
    gt_finding *items;
    const rule_row *rows[FOUND_MAX];
    size_t count;
    edit_set known[2 * FOUND_MAX]; /* runs that were made */
    size_t known_count;
    double *step_ns; /* used_step_count for each: when the steps begin in the run with its edit alone */
} found_rules;

static bool is_empty(const gt_edit *edit)
{
    return !edit->point_count && !edit->op_count;
}

/* Adds an edit to a set, unless it changes nothing. Edits come in the order of the table. */
static void add_edit(edit_set *set, const gt_edit *edit)
{
    if (!is_empty(edit)) set->items[set->count++] = edit;
}

static void remember(found_rules *found, const edit_set *set)
{
    if (set->count && found->known_count < GT_LENGTH(found->known)) found->known[found->known_count++] = *set;
}

/* Sets the step time of a set that was run before. */
static bool recall(const found_rules *found, edit_set *set)
{
    for (size_t i = 0; i < found->known_count; i++) {
        const edit_set *known = &found->known[i];
        bool is_same = known->count == set->count;
        for (size_t k = 0; is_same && k < set->count; k++) is_same = known->items[k] == set->items[k];
        if (is_same) set->step_ns = known->step_ns;
        if (is_same) return true;
    }
    return false;
}

static void free_finding(gt_finding *finding)
{
    gt_free(finding->title);
    gt_free(finding->where);
    gt_free(finding->advice);
    gt_free(finding->steps);
    for (size_t i = 0; i < finding->evidence_count; i++) gt_free(finding->evidence[i]);
    gt_edit_free(&finding->edit);
    *finding = (gt_finding){0};
}

/* ---- names ---- */

const char *gt_confidence_name(gt_confidence confidence)
{
    static const char *const names[] = {"low", "medium", "high"};
    return names[confidence];
}

const char *gt_severity_name(gt_severity severity)
{
    static const char *const names[] = {"low", "medium", "high"};
    return names[severity];
}

/* ---- gains ---- */

/* A run of the schedule: with one edit, with all specific edits, or with both. */
typedef struct gain_job {
    edit_set edits;
    bool fast_host;  /* with the larger estimate of the profiler's cost */
    double *step_ns; /* gt_replay_times.step_ns */
} gain_job;

typedef struct gain_jobs {
    const gt_rule_input *input;
    gain_job *items;
} gain_jobs;

static void run_job(void *context, size_t index)
{
    gain_jobs *jobs = context;
    gain_job *job = &jobs->items[index];
    gt_replay_options options = {.fast_host = job->fast_host};
    job->edits.step_ns = jobs->input->model_ns;
    if (job->edits.count > 0 || job->fast_host)
        job->edits.step_ns = gt_replay_run(jobs->input->schedule, job->edits.items, job->edits.count, options,
                                           &(gt_replay_times){.step_ns = job->step_ns});
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double limit_gain(const gt_finding *finding, double gain_ns)
{
    if (finding->most_ns > 0) gain_ns = smaller(gain_ns, finding->most_ns);
    return larger(gain_ns, 0);
}

static bool shortens_ops(const gt_edit *edit)
{
    for (size_t i = 0; i < edit->op_count; i++)
        if (edit->ops[i].dur_ns < INFINITY) return true;
    return false;
}

/* Whether a host finding gains idle time only, and what it says it holds back. */
static bool is_of_idle(const gt_finding *finding)
{
    return finding->held_ns > 0 || !shortens_ops(&finding->edit);
}

/* The time per step in which some stream is busy with what these edits leave: no repair makes the step
 * shorter.
 */
static double find_least_ns(const gt_schedule *schedule, const edit_set *set)
{
    const gt_step_window *window = &schedule->window;
    double *left_ns = gt_alloc(schedule->op_count * sizeof *left_ns), most_ns = 0;
    double *until_ns = gt_alloc(schedule->stream_count * sizeof *until_ns);
    double *busy_ns = gt_alloc_zero(schedule->stream_count, sizeof *busy_ns);
    for (size_t i = 0; i < schedule->op_count; i++) left_ns[i] = (double)gt_op_ns(&schedule->ops[i]);
    for (size_t i = 0; i < set->count; i++)
        for (size_t k = 0; k < set->items[i]->op_count; k++) {
            const gt_edit_op *op = &set->items[i]->ops[k];
            left_ns[op->op] = smaller(left_ns[op->op], op->dur_ns);
        }
    for (size_t i = 0; i < schedule->stream_count; i++) until_ns[i] = (double)window->start_ns;
    for (size_t i = 0; i < schedule->op_count; i++) { /* sorted by start */
        const gt_gpu_op *op = &schedule->ops[i];
        double start_ns = larger((double)op->start_ns, until_ns[op->stream]);
        double end_ns = smaller((double)op->start_ns + left_ns[i], (double)window->end_ns);
        if (end_ns <= start_ns) continue;
        until_ns[op->stream] = end_ns;
        busy_ns[op->stream] += end_ns - start_ns;
        most_ns = larger(most_ns, busy_ns[op->stream]);
    }
    gt_free(left_ns);
    gt_free(until_ns);
    gt_free(busy_ns);
    return most_ns / (double)window->steps;
}

/* Sets the gains of all findings and returns the step time with a faster host. */
static double find_gains(const gt_rule_input *input, found_rules *found)
{
    size_t count = found->count;
    /* One job per finding; then no edit with a faster host, all specific edits (of findings that name a cause
     * which can be repaired), and all of these with that of each residual finding, which come last. */
    gain_jobs jobs = {input, gt_alloc_zero(2 * count + 2, sizeof *jobs.items)};
    gain_job *fast = &jobs.items[count], *all_specific = fast + 1, *residual = fast + 2;
    edit_set specific = {0};
    fast->fast_host = true;
    size_t used = input->schedule->used_step_count, wait = 0;
    while (wait < count && found->rows[wait]->find != gt_rule_wait) wait++;
    found->step_ns = gt_alloc(count * used * sizeof *found->step_ns);
    for (size_t i = 0; i < count; i++) {
        const gt_edit *edit = &found->items[i].edit;
        jobs.items[i].step_ns = found->step_ns + i * used;
        if (!found->items[i].gain_is_given) add_edit(&jobs.items[i].edits, edit);
        if (found->rows[i]->flags & RULE_RESIDUAL) {
            all_specific->edits = residual[i].edits = specific;
            add_edit(&residual[i].edits, edit);
        } else if (!(found->rows[i]->flags & RULE_VAGUE)) {
            add_edit(&specific, edit);
        }
        if (found->rows[i]->flags & RULE_AFTER_WAIT && wait < count) {
            add_edit(&residual[i].edits, &found->items[wait].edit);
            add_edit(&residual[i].edits, edit);
        }
    }
    gt_parallel_each(2 * count + 2, run_job, &jobs);
    for (size_t i = 0; i < 2 * count + 2; i++)
        if (&jobs.items[i] != fast) remember(found, &jobs.items[i].edits);

    double steps = (double)input->schedule->window.steps;
    double host_idle_ns = (double)gt_idle_host_ns(input->idle) / steps;
    double launch_idle_ns = (double)input->idle->cause_ns[GT_CAUSE_LAUNCH] / steps;
    for (size_t i = 0; i < count; i++) {
        gt_finding *finding = &found->items[i];
        double gain_ns =
            finding->gain_is_given ? finding->gain_ns : input->model_ns - jobs.items[i].edits.step_ns;
        if (found->rows[i]->flags & RULE_RESIDUAL) {
            gain_ns = smaller(gain_ns, all_specific->edits.step_ns - residual[i].edits.step_ns);
            gain_ns = smaller(gain_ns, launch_idle_ns);
        }
        if (found->rows[i]->flags & RULE_AFTER_WAIT && wait < count)
            gain_ns = smaller(gain_ns, jobs.items[wait].edits.step_ns - residual[i].edits.step_ns);
        if (!finding->is_gpu && !finding->steps && is_of_idle(finding))
            gain_ns = smaller(gain_ns, host_idle_ns + finding->held_ns);
        if (!finding->gain_is_given)
            gain_ns =
                smaller(gain_ns, input->model_ns - find_least_ns(input->schedule, &jobs.items[i].edits));
        finding->gain_ns = limit_gain(finding, gain_ns);
    }
    double fast_ns = fast->edits.step_ns;
    gt_free(jobs.items);
    return fast_ns;
}

/* Looks at the findings again in case the profiler costs more than estimated. */
static void doubt_gains(const gt_rule_input *input, found_rules *found, double fast_ns)
{
    static const double least_share = 0.25; /* of its share of the step, for a finding that persists */
    static const double most_of_saved = 1.5;
    bool host_matters = fast_ns < 0.98 * input->model_ns;
    gain_jobs jobs = {.input = input, .items = gt_alloc_zero(found->count, sizeof *jobs.items)};
    for (size_t i = 0; i < found->count; i++) {
        const gt_finding *finding = &found->items[i];
        bool is_hidden = finding->is_gpu && !finding->gain_is_given && host_matters;
        if (!is_hidden && !(found->rows[i]->flags & RULE_DOUBTED)) continue;
        jobs.items[i].fast_host = true;
        add_edit(&jobs.items[i].edits, &finding->edit);
    }
    gt_parallel_each(found->count, run_job, &jobs);
    for (size_t i = 0; i < found->count; i++) {
        gt_finding *finding = &found->items[i];
        /* What recording costs is known only of PyTorch's profiler. */
        if (input->schedule->origin != GT_BY_PYTORCH && found->rows[i]->flags & RULE_DOUBTED &&
            finding->confidence == GT_CONFIDENCE_HIGH)
            finding->confidence = GT_CONFIDENCE_MEDIUM;
        if (!jobs.items[i].fast_host) continue;
        double gain_ns = limit_gain(finding, fast_ns - jobs.items[i].edits.step_ns);
        if (!finding->is_gpu) {
            if (!(gain_ns * input->model_ns >= least_share * finding->gain_ns * fast_ns) ||
                finding->gain_ns == 0)
                finding->confidence = GT_CONFIDENCE_LOW;
        } else if (gain_ns > finding->gain_ns) {
            if (gain_ns > 2 * finding->gain_ns && finding->confidence == GT_CONFIDENCE_HIGH)
                finding->confidence = GT_CONFIDENCE_MEDIUM;
            finding->gain_ns = gain_ns;
        }
    }
    for (size_t i = 0; i < found->count; i++) {
        gt_finding *finding = &found->items[i];
        bool is_of_launches = finding->saved_ns > 0 && finding->gain_ns > most_of_saved * finding->saved_ns;
        if (is_of_launches && finding->confidence == GT_CONFIDENCE_HIGH)
            finding->confidence = GT_CONFIDENCE_MEDIUM;
    }
    gt_free(jobs.items);
}

/* The gain of host time that vanishes may be more than the idle time that it causes: says what the rest is,
 * in the second place if it is most of the gain. */
static void explain_gain(gt_finding *finding)
{
    static const double notable = 1.01;
    double other_ms = (finding->gain_ns - finding->stated_idle_ns) / 1e6;
    if (!finding->states_idle || !is_of_idle(finding) || !gt_rule_shows(other_ms) ||
        finding->gain_ns < notable * finding->stated_idle_ns)
        return;
    const char *rest = strcmp(finding->id, "host_sync") == 0
                           ? "other idle time that the host causes: without the calls and the operators that "
                             "only make what they read, it launches what follows earlier"
                           : "other idle time that the host causes: without this it launches what follows "
                             "earlier";
    if (finding->evidence_count == GT_EVIDENCE_MAX) gt_free(finding->evidence[--finding->evidence_count]);
    if (gt_rule_shows(finding->stated_idle_ns / 1e6))
        gt_rule_evidence(finding, "%.2f ms of the gain are %s", other_ms, rest);
    else
        gt_rule_evidence(finding, "the gain is %s", rest);
    if (other_ms > finding->gain_ns / 2 / 1e6) gt_rule_evidence_up(finding, 1);
}

/* Says itself that it does not repeat, and names no cause in the program. Two rules find it. */
static bool is_first_use(const gt_finding *finding)
{
    return strcmp(finding->id, "first_use") == 0;
}

/* Says of findings that cost time in a few of many steps that they do; of a server, in which phase. */
static void judge_steps(const gt_rule_input *input, const found_rules *found)
{
    for (size_t i = 0; i < found->count; i++) {
        gt_finding *finding = &found->items[i];
        bool is_run = !finding->gain_is_given && !is_empty(&finding->edit);
        if (is_run && input->schedule->listed) {
            gt_rule_find_phase(input, finding, found->step_ns + i * input->schedule->used_step_count);
            continue;
        }
        if (is_run && !is_first_use(finding))
            gt_rule_judge_steps(input, finding, found->step_ns + i * input->schedule->used_step_count);
    }
}

/* Of a server: what decode_gap already names, a finding at the same place in decode steps, is left to it
 * together with its edit; not launches, which are at many places. */
static void fold_into_gap(found_rules *found)
{
    gt_finding *gap = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->items[i].id, "decode_gap") == 0) gap = &found->items[i];
    if (!gap || !gap->where) return;
    for (size_t i = 0; i < found->count; i++) {
        gt_finding *finding = &found->items[i];
        bool is_same = finding != gap && !finding->is_gpu && finding->where && finding->phase &&
                       strcmp(finding->where, gap->where) == 0 && strcmp(finding->phase, "decode") == 0 &&
                       strcmp(finding->id, "launch_bound") != 0;
        if (is_same && is_empty(&gap->edit)) {
            gap->edit = finding->edit;
            finding->edit = (gt_edit){0};
        }
        if (is_same) {
            free_finding(finding);
            continue;
        }
        found->rows[kept] = found->rows[i];
        found->items[kept++] = *finding;
    }
    for (size_t i = kept; i < found->count; i++) found->items[i] = (gt_finding){0};
    found->count = kept;
}

/* Uneven steps of which no name says why take over the cause and the advice of the finding that explains most
 * of them. */
static void take_cause(gt_finding *uneven, const gt_finding *finding)
{
    static const struct {
        const char *id, *what;
    } causes[] = {{"allocator_churn", "allocation of memory"},
                  {"first_use", "first use of code or memory"},
                  {"cpu_op", "operators on the CPU"},
                  {"cpu_roundtrip", "operators on the CPU"},
                  {"pageable_copy", "copies"},
                  {"exposed_copy", "copies"},
                  {"wait", "waiting"},
                  {"data_stall", "input data"}};
    for (size_t i = 0; i < GT_LENGTH(causes); i++) {
        if (strcmp(causes[i].id, finding->id) != 0) continue;
        char *title = uneven->title;
        uneven->title = gt_rule_text("%.*s: %s", (int)(strrchr(title, ':') - title), title, causes[i].what);
        gt_free(title);
        gt_free(uneven->advice);
        uneven->advice = gt_strdup(finding->advice);
        if (uneven->lacks_cause) uneven->confidence = GT_CONFIDENCE_MEDIUM;
    }
}

/* What other findings gain in uneven steps only is part of that finding; if it is nearly all, they are not
 * shown. */
static void fold_into_uneven(const gt_rule_input *input, found_rules *found)
{
    static const double nearly_all = 0.8, notable = 0.05, explains = 0.6;
    gt_finding *uneven = NULL, *most = NULL; /* of those that are part of it */
    double most_ns = 0;
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i].steps) uneven = &found->items[i];
    for (size_t i = 0; uneven && i < found->count; i++) {
        gt_finding *finding = &found->items[i];
        if (finding == uneven || finding->gain_is_given || !(finding->gain_ns > 0)) continue;
        const double *edited_ns = found->step_ns + i * input->schedule->used_step_count;
        double inside_ns = gt_rule_gain_in_steps(input, edited_ns, uneven->steps);
        if (inside_ns > nearly_all * finding->gain_ns) {
            /* Without a synchronisation the host is ahead and hides the pause, but it is not the reason. */
            if (finding->gain_ns > most_ns && strcmp(finding->id, "host_sync") != 0) {
                most = finding;
                most_ns = finding->gain_ns;
            }
            if (gt_rule_shows(finding->gain_ns / 1e6))
                gt_rule_evidence(uneven, "this includes %s: %.2f ms per %s", finding->id,
                                 finding->gain_ns / 1e6, input->per);
            finding->gain_ns = 0;
        } else if (inside_ns > notable * finding->gain_ns) {
            gt_rule_evidence(finding, "%.2f ms of it are in uneven steps, which have their own finding",
                             inside_ns / 1e6);
            gt_rule_evidence_up(finding, 0);
            finding->gain_ns -= inside_ns;
        }
    }
    if (most && !uneven->names_cause && most_ns > explains * uneven->gain_ns) take_cause(uneven, most);
}

/* ---- all repairs together ---- */

/* Runs those of a few sets that were not run before. */
static void run_sets(const gt_rule_input *input, const found_rules *found, edit_set *sets, size_t count)
{
    gain_jobs jobs = {input, gt_alloc_zero(count, sizeof *jobs.items)};
    size_t job_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_same = i && sets[i].count == sets[0].count; /* all others are parts of the first */
        if (!is_same && !recall(found, &sets[i])) jobs.items[job_count++].edits = sets[i];
    }
    gt_parallel_each(job_count, run_job, &jobs);
    for (size_t i = 0, job = 0; i < count; i++) {
        bool is_same = i && sets[i].count == sets[0].count;
        if (is_same)
            sets[i].step_ns = sets[0].step_ns;
        else if (!recall(found, &sets[i]))
            sets[i].step_ns = jobs.items[job++].edits.step_ns;
    }
    gt_free(jobs.items);
}

/* GPU time per step in which any op runs. */
static double find_busy_ns(const gt_schedule *schedule)
{
    const gt_step_window *window = &schedule->window;
    int64_t covered_ns = window->start_ns;
    double busy_ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) { /* sorted by start */
        const gt_gpu_op *op = &schedule->ops[i];
        int64_t start_ns = op->start_ns > covered_ns ? op->start_ns : covered_ns;
        int64_t end_ns = op->end_ns < window->end_ns ? op->end_ns : window->end_ns;
        if (end_ns <= start_ns) continue;
        busy_ns += (double)(end_ns - start_ns);
        covered_ns = end_ns;
    }
    return busy_ns / (double)window->steps;
}

/* GPU time per step that these edits take away. */
static double find_removed_ns(const gt_schedule *schedule, const edit_set *set)
{
    double *left_ns = gt_alloc(schedule->op_count * sizeof *left_ns), removed_ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) left_ns[i] = (double)gt_op_ns(&schedule->ops[i]);
    for (size_t i = 0; i < set->count; i++)
        for (size_t k = 0; k < set->items[i]->op_count; k++) {
            const gt_edit_op *edit = &set->items[i]->ops[k];
            if (edit->dur_ns < left_ns[edit->op]) left_ns[edit->op] = edit->dur_ns;
        }
    for (size_t i = 0; i < schedule->op_count; i++)
        if (gt_window_has(&schedule->window, schedule->ops[i].start_ns))
            removed_ns += (double)gt_op_ns(&schedule->ops[i]) - left_ns[i];
    gt_free(left_ns);
    return removed_ns / (double)schedule->window.steps;
}

/* The step time if all findings but hints were repaired. The limits of single gains hold for the sum of all:
 *
 * - what residual findings add is at most their own gains;
 * - repairs of the host gain at most the idle time that the host causes, in addition to the GPU time that
 *   other repairs save;
 * - if no repair shortens GPU work, the GPU stays busy for as long as before.
 *
 * The result is never worse than the best repair alone. */
static double all_fixed(const gt_rule_input *input, const found_rules *found)
{
    enum { ALL, SPECIFIC, GPU, SETS };
    double best_ns = input->model_ns, residual_ns = 0;
    edit_set sets[SETS] = {0};
    bool any_residual = false;
    for (size_t i = 0; i < found->count; i++) {
        const gt_finding *finding = &found->items[i];
        bool is_residual = found->rows[i]->flags & RULE_RESIDUAL;
        if (gt_finding_is_hint(finding)) continue;
        best_ns = smaller(best_ns, larger(input->model_ns - finding->gain_ns, finding->usual_ns));
        if (is_residual) residual_ns += finding->gain_ns;
        any_residual |= is_residual;
        add_edit(&sets[ALL], &finding->edit);
        if (!is_residual) add_edit(&sets[SPECIFIC], &finding->edit);
        if (finding->is_gpu || finding->edit.op_count > 0) add_edit(&sets[GPU], &finding->edit);
    }
    run_sets(input, found, sets, SETS);
    double step_ns = sets[ALL].step_ns;
    if (any_residual) step_ns = larger(step_ns, sets[SPECIFIC].step_ns - residual_ns);
    double removed_ns = find_removed_ns(input->schedule, &sets[GPU]);
    double gpu_gain_ns = larger(removed_ns, input->model_ns - sets[GPU].step_ns);
    double host_idle_ns = (double)gt_idle_host_ns(input->idle) / (double)input->schedule->window.steps;
    step_ns = larger(step_ns, input->model_ns - gpu_gain_ns - host_idle_ns);
    if (!(removed_ns > 0)) step_ns = larger(step_ns, find_busy_ns(input->schedule));
    step_ns = larger(step_ns, find_least_ns(input->schedule, &sets[ALL]));
    step_ns = smaller(step_ns, best_ns);
    return gt_gain_counts(input->model_ns - step_ns, input->error_ns) ? step_ns : input->model_ns;
}

/* ---- ranking ---- */

static void weigh(const gt_rule_input *input, gt_finding *finding)
{
    /* The window may have fewer uneven steps than there are on average. */
    double all_ns = larger(input->model_ns, finding->steps ? finding->usual_ns + finding->gain_ns : 0);
    bool is_replayed = !finding->steps;
    finding->gain_pct = all_ns > 0 ? 100 * finding->gain_ns / all_ns : 0;
    finding->is_shown = finding->gain_pct >= smallest_pct &&
                        (!is_replayed || gt_gain_counts(finding->gain_ns, input->error_ns));
    /* To the microsecond, so that what looks equal is ordered by id. */
    double expected_ns = finding->gain_ns * gt_gain_weight(finding->id, finding->confidence);
    finding->score = floor(expected_ns / 1e3 + 0.5) / 1e3;
    finding->severity = finding->gain_pct >= high_pct     ? GT_SEVERITY_HIGH
                        : finding->gain_pct >= medium_pct ? GT_SEVERITY_MEDIUM
                                                          : GT_SEVERITY_LOW;
    if ((gt_finding_is_hint(finding) || finding->is_mild) && finding->severity == GT_SEVERITY_HIGH)
        finding->severity = GT_SEVERITY_MEDIUM;
}

/* The gain of a residual finding assumes that the others were repaired, so it stands after the largest of
 * those that matter, unless it gains several times as much and a graph can be made before. The repair that
 * has to come first is as severe as what needs it. */
static void put_residual_last(const found_rules *found)
{
    static const double much_more = 5;
    gt_finding *largest = NULL;
    double residual_ns = 0;
    for (size_t i = 0; i < found->count; i++)
        if (found->rows[i]->flags & RULE_RESIDUAL) residual_ns = larger(residual_ns, found->items[i].gain_ns);
    for (size_t i = 0; i < found->count; i++) {
        gt_finding *finding = &found->items[i];
        bool is_unclear = found->rows[i]->flags & RULE_UNCLEAR && finding->gain_ns < residual_ns;
        bool names_repair =
            !is_unclear && !(found->rows[i]->flags & (RULE_RESIDUAL | RULE_VAGUE)) && !is_first_use(finding);
        if (names_repair && !finding->is_gpu && !gt_finding_is_hint(finding) &&
            finding->gain_pct >= medium_pct && (!largest || finding->score > largest->score))
            largest = finding;
    }
    for (size_t i = 0; i < found->count; i++) {
        gt_finding *finding = &found->items[i];
        if (!(found->rows[i]->flags & RULE_RESIDUAL) || !largest || finding->score < largest->score) continue;
        if (finding->score >= much_more * largest->score && !largest->prevents_graphs) {
            gt_rule_evidence(finding,
                             "the other host findings have to be repaired, too: a graph cannot contain them");
            continue;
        }
        if (!gt_finding_is_hint(finding) && finding->severity > largest->severity) {
            largest->severity = finding->severity;
            gt_rule_evidence(largest, "launch_bound gains %.2f ms more after this repair",
                             finding->gain_ns / 1e6);
            gt_rule_evidence_up(largest, 0);
        }
        finding->score = floor(990 * largest->score) / 1e3;
        gt_rule_evidence(finding, "the host findings above come first: a graph cannot contain them");
    }
}

static int compare_findings(const void *left, const void *right)
{
    const gt_finding *a = left, *b = right;
    if (a->is_shown != b->is_shown) return a->is_shown ? -1 : 1;
    if (gt_finding_is_hint(a) != gt_finding_is_hint(b)) return gt_finding_is_hint(a) ? 1 : -1;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    int order = strcmp(a->id, b->id);
    return order ? order : strcmp(a->where ? a->where : "", b->where ? b->where : "");
}

/* Orders the findings by what they gain. */
static void rank(gt_finding_list *list)
{
    qsort(list->items, list->count, sizeof *list->items, compare_findings);
    list->shown = 0;
    while (list->shown < list->count && list->items[list->shown].is_shown) {
        if (list->items[list->shown].steps) list->median_ns = list->items[list->shown].usual_ns;
        list->items[list->shown].rank = list->shown + 1;
        list->shown++;
    }
}

/* Whether what is found on another device is worth a finding of its own. Launches on one device wait for what
 * the same host does for others: that they could be faster is no finding there. */
static bool tells_of_device(const gt_finding *finding, bool has_own_host)
{
    return finding->is_shown && !gt_finding_is_hint(finding) && finding->severity != GT_SEVERITY_LOW &&
           (has_own_host || strcmp(finding->id, "launch_bound") != 0);
}

static bool is_same_place(const gt_finding *a, const gt_finding *b)
{
    return a->is_shown && strcmp(a->id, b->id) == 0 &&
           strcmp(a->where ? a->where : "", b->where ? b->where : "") == 0;
}

void gt_finding_list_add_device(gt_finding_list *list, gt_finding_list *other, const char *device,
                                bool has_own_host)
{
    if (!other->shown) return;
    gt_finding *items = gt_alloc_zero(list->count + other->shown, sizeof *items);
    if (list->count) memcpy(items, list->items, list->count * sizeof *items);
    gt_free(list->items);
    list->items = items;
    for (size_t i = 0; i < other->shown; i++) {
        gt_finding *finding = &other->items[i];
        if (!tells_of_device(finding, has_own_host)) continue;
        size_t same = 0;
        while (same < list->count && !is_same_place(&items[same], finding)) same++;
        if (same < list->count) {
            gt_rule_evidence(&items[same], "the same on %s: %.2f ms", device, finding->gain_ns / 1e6);
            continue;
        }
        char *title = finding->title;
        finding->title = gt_rule_text("%s (%s)", title, device);
        gt_free(title);
        gt_rule_evidence(finding, "gain and percentage are those of %s alone", device);
        gt_rule_evidence_up(finding, 0);
        gt_edit_free(&finding->edit);
        gt_free(finding->steps);
        finding->steps = NULL;
        items[list->count++] = *finding;
        *finding = (gt_finding){0};
    }
    rank(list);
}

gt_finding_list *gt_rules_run(gt_rule_input *input)
{
    found_rules found = {.items = gt_alloc_zero(FOUND_MAX, sizeof *found.items)};
    input->found = found.items;
    gt_gpu_facts *own = input->facts ? NULL : gt_gpu_facts_new(input->schedule, input->gpu);
    gt_backlog backlog = gt_backlog_find(input->schedule);
    if (own) input->facts = own;
    gt_chains *chains = gt_chains_find(input->facts, input->schedule, input->gpu);
    input->chains = chains;
    for (size_t i = 0; i < GT_LENGTH(rules); i++) {
        if (rules[i].flags & (input->schedule->listed ? RULE_TRAINING : RULE_SERVER)) continue;
        size_t most = rules[i].flags & RULE_SEVERAL ? SEVERAL_MAX : 1;
        for (input->turn = 0; input->turn < most; input->turn++) {
            input->found_count = found.count;
            gt_finding *finding = &found.items[found.count];
            if (!rules[i].find(input, finding)) {
                free_finding(finding);
                break;
            }
            gt_backlog_extend(&backlog, input->schedule, &finding->edit);
            found.rows[found.count++] = &rules[i];
        }
    }
    if (own) input->facts = NULL;
    input->chains = NULL;
    gt_chains_free(chains);
    gt_gpu_facts_free(own);
    gt_backlog_free(&backlog);
    doubt_gains(input, &found, find_gains(input, &found));
    for (size_t i = 0; i < found.count; i++) explain_gain(&found.items[i]);
    fold_into_uneven(input, &found);
    judge_steps(input, &found);
    gt_free(found.step_ns);
    fold_into_gap(&found);

    gt_finding_list *list = gt_alloc_zero(1, sizeof *list);
    list->items = found.items;
    list->count = found.count;
    list->all_fixed_ns = all_fixed(input, &found);
    for (size_t i = 0; i < list->count; i++) weigh(input, &list->items[i]);
    put_residual_last(&found);
    rank(list);
    return list;
}

void gt_finding_list_free(gt_finding_list *list)
{
    if (!list) return;
    for (size_t i = 0; i < list->count; i++) free_finding(&list->items[i]);
    gt_free(list->items);
    gt_free(list);
}
