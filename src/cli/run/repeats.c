/* Repeats: runs the command several times, with the profiler and without it, each time as a run of its own
 * with its own folder OUTPUT_DIR/repeats/TIMESTAMP/NAME, and puts the figures together. */
#include "cli/run/run.h"
#include "os/paths.h"

enum { TRIALS_MAX = 10000 };

bool gt_run_repeats_check(const gt_call *call, gt_error *error)
{
    int64_t warmup = gt_arguments_int(&call->arguments, "warmup"),
            repeat = gt_arguments_int(&call->arguments, "repeat");
    if (warmup < 0 || warmup > TRIALS_MAX) return gt_fail(error, "--warmup: must be 0 to %d", TRIALS_MAX);
    if (repeat < 1 || repeat > TRIALS_MAX) return gt_fail(error, "--repeat: must be 1 to %d", TRIALS_MAX);
    return true;
}

bool gt_run_repeats_wanted(const gt_call *call)
{
    return gt_arguments_value(&call->arguments, "repeat")->given ||
           gt_arguments_value(&call->arguments, "warmup")->given;
}

/* Without tools, the command runs as if gputally were not there. */
static gt_plan_request request_of(gt_arena *arena, const gt_plan_request *request, const gt_plan *plan,
                                  const gt_trial *trial)
{
    gt_plan_request own = *request;
    own.output_dir = trial->output_dir;
    own.name = plan->name;
    if (trial->kind != GT_TRIAL_PROFILED) {
        gt_value none = {.type = GT_VALUE_LIST};
        own.context = gt_settings_with(arena, request->context, "tools", none);
        own.snapshot = false;
        own.capture = (gt_capture_window){0};
    }
    return own;
}

/* Lets the command tell its runs apart, for example in the name of its own trace. */
static void tell_command(gt_plan *plan, const gt_trial *trial)
{
    const char *pairs[][2] = {{"GPUTALLY_REPEAT", trial->name}, {"GPUTALLY_REPEAT_DIR", trial->output_dir}};
    for (size_t i = 0; i < GT_LENGTH(pairs); i++)
        plan->env = gt_settings_with(plan->arena, plan->env, pairs[i][0],
                                     gt_settings_copy_string(plan->arena, pairs[i][1]));
}

static void take_figures(const gt_plan *plan, const gt_outcome *outcome, gt_trials *trials, gt_trial *trial)
{
    double joules = 0, passes = (double)plan->profiler->passes; /* each runs the command once */
    for (size_t i = 0; i < outcome->energy_count; i++) {
        const gt_gpu_energy *e = &outcome->energies[i];
        joules += isfinite(e->counted_j) ? e->counted_j : e->sampled_j;
    }
    trial->exit_code = outcome->exit_code;
    trial->figures[GT_TRIAL_WALL_S] = outcome->command_s / passes;
    if (outcome->performance) trial->figures[GT_TRIAL_PERFORMANCE] = strtod(outcome->performance, NULL);
    if (outcome->performance && !trials->metric) trials->metric = outcome->metric;
    if (outcome->step_count) trial->figures[GT_TRIAL_STEP_MS] = outcome->step_ms;
    if (outcome->energy_count) trial->figures[GT_TRIAL_ENERGY_J] = joules / passes;
}

/* One run with its own record; false if it failed. `all` collects files and the reason of a failure. */
static bool run_trial(const gt_call *call, const gt_plan_request *request, const gt_plan *whole,
                      gt_trials *trials, gt_outcome *all)
{
    gt_trial *trial = &trials->items[trials->done];
    gt_plan_request own = request_of(whole->arena, request, whole, trial);
    gt_plan *plan = gt_arena_alloc(whole->arena, sizeof *plan); /* the record of all refers to it */
    gt_error error;
    gt_outcome outcome = {.exit_code = -1};
    if (!gt_arguments_flag(&call->arguments, "quiet"))
        fprintf(stderr, "gputally: %s (run %zu of %zu)\n", trial->name, trials->done + 1, trials->count);
    bool ok = gt_plan_make(whole->arena, &own, plan, &error);
    if (ok) {
        tell_command(plan, trial);
        ok = gt_plan_execute(plan, &outcome);
        outcome.is_trial = true;
        if (outcome.exit_code >= 0 && trial->kind == GT_TRIAL_PROFILED)
            gt_run_reports_write(call, plan, &outcome);
        ok = gt_run_finish(plan, &outcome) && ok;
    } else {
        fprintf(stderr, "gputally: %s\n", error.text);
    }
    if (!trials->done) all->begin = outcome.begin, all->machine = outcome.machine;
    all->end = outcome.end;
    all->exit_code = outcome.exit_code;
    all->timed_out = outcome.timed_out;
    all->interrupted = outcome.interrupted;
    for (size_t i = 0; i < outcome.files.count; i++)
        gt_arg_list_add(whole->arena, &all->files, outcome.files.items[i]);
    if (!ok) {
        all->failed = true;
        trial->exit_code = outcome.exit_code;
        trials->has_failed = true;
        all->reason =
            gt_arena_format(whole->arena, "%s: %s", trial->name, outcome.reason ? outcome.reason : "failed");
        return false;
    }
    take_figures(plan, &outcome, trials, trial);
    trials->done++;
    return true;
}

/* A profiler, or anything else that is put around the command or into its environment by a tool. */
static bool has_something_to_compare(const gt_plan *plan)
{
    return plan->profiler->kind != GT_PROFILER_NONE || plan->library_modes.count || plan->piece_count;
}

/* A new folder OUTPUT_DIR/repeats/TIMESTAMP[_N], that no other run uses. NULL: it cannot be made. */
static const char *claim_folder(const gt_plan *plan)
{
    const char *parent = gt_path_join(plan->arena, plan->output_dir, "repeats"), *folder = NULL;
    gt_error error;
    bool ok = gt_path_make_folder(parent, &error);
    for (int n = 1; ok && n < 1000; n++) {
        folder = gt_path_join(plan->arena, parent,
                              n == 1 ? plan->timestamp
                                     : gt_arena_format(plan->arena, "%s_%d", plan->timestamp, n));
        if (mkdir(folder, 0777) == 0) return folder;
        if (errno != EEXIST) ok = gt_fail(&error, "cannot create folder %s: %s", folder, strerror(errno));
    }
    fprintf(stderr, "gputally: %s\n", ok ? "no free folder for the repeats" : error.text);
    return NULL;
}

bool gt_run_repeated(const gt_call *call, const gt_plan_request *request, gt_plan *plan, gt_outcome *outcome)
{
    const char *folder = claim_folder(plan);
    *outcome = (gt_outcome){.exit_code = -1, .failed = true};
    if (!folder) return false;
    bool has_baseline = has_something_to_compare(plan) && !gt_arguments_flag(&call->arguments, "no_baseline");
    gt_trials trials =
        gt_trials_plan(plan->arena, (size_t)gt_arguments_int(&call->arguments, "warmup"),
                       (size_t)gt_arguments_int(&call->arguments, "repeat"), has_baseline, folder);
    gt_trials *kept = gt_arena_alloc(plan->arena, sizeof *kept);
    *kept = trials;
    *outcome = (gt_outcome){.exit_code = -1, .trials = kept};
    bool ok = true;
    while (ok && kept->done < kept->count) ok = run_trial(call, request, plan, kept, outcome);
    const gt_trial *typical = gt_trials_typical(kept);
    gt_spread performance = gt_trials_spread(kept, GT_TRIAL_PROFILED, GT_TRIAL_PERFORMANCE);
    if (performance.count) {
        outcome->performance = gt_arena_format(plan->arena, "%.17g", performance.mean);
        outcome->metric = kept->metric;
    }
    if (typical && !gt_arguments_flag(&call->arguments, "quiet")) {
        printf("%s\n", gt_trials_say(kept, plan->arena));
        printf("the repeat with the median time is in %s\n", typical->output_dir);
    }
    return ok;
}
