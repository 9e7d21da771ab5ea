/* `gputally sweep run`: reads the axes and the command, and runs it at each point of the grid. */
#include "base/threads.h"
#include "cli/sweep/sweep.h"
#include "os/clock.h"
#include "os/paths.h"
#include "run/execute/execute.h"
#include "run/plan/secrets.h"
#include "run/targets/slurm_job.h"
#include "sweep/decide/decide.h"
#include "sweep/run/slots.h"

static const gt_option grid_options[] = {
    {"channels", GT_OPTION_STRING, "LIST", "28,42,56,70",
     "run with these values of NCCL_MAX_NCHANNELS, comma-separated; none: without this axis"},
    {"threads", GT_OPTION_STRING, "LIST", "256,512",
     "run with these values of RCCL_THREADS_PER_BLOCK, comma-separated; each is combined with all channels; "
     "none: "
     "without this axis"},
    {"axis", GT_OPTION_EACH, "NAME=LIST", NULL,
     "add a setting and its values; its folders enclose those of threads, so that each is a sweep"},
    {"axis_env", GT_OPTION_EACH, "NAME=VARIABLE", NULL,
     "set the environment variable for the value of an axis", .needs = "axis"},
    {"axis_dir", GT_OPTION_EACH, "NAME=FORMAT", NULL,
     "name the folders of an axis, with %s for the value (default: NAME_%s)", .needs = "axis"},
    {"repeat", GT_OPTION_INT, "N", "1",
     "run each setting N times, in random order; the runs after the first are in repeat_<k>"},
    {"more", GT_OPTION_INT, "N", NULL,
     "add N runs to each of the two or three settings of the sweep in --output_dir that `sweep decide` "
     "cannot tell from the fastest, and one to each other that was run once; give the other options of the "
     "sweep again. Runs that an earlier call has not finished come first, and alone"},
    {"seed", GT_OPTION_INT, "N", NULL, "choose the random order (default: another one each time, recorded)",
     .needs = "repeat,more"},
};
static const gt_option_group grid_group = {"Grid", grid_options, GT_LENGTH(grid_options)};

static const gt_option command_options[] = {
    {"config", GT_OPTION_STRING, "FILE", "config/distributed.yaml", "replace {config} with FILE"},
    {"nproc", GT_OPTION_INT, "N", "8", "replace {nproc} with N: processes per node"},
    {"env", GT_OPTION_EACH, "NAME=VALUE", NULL, "set an environment variable; placeholders are replaced"},
    {"unset", GT_OPTION_EACH, "NAME", NULL, "unset this variable, even if the sweep sets it"},
    {"rocprof", GT_OPTION_FLAG, NULL, NULL,
     "run the command under rocprofv3, traces in {output_dir}/rocprof_traces"},
    {"rocprof_input", GT_OPTION_STRING, "FILE", NULL,
     "pass a job file to rocprofv3, such as those of --write_job_files or of `gputally sweep yaml`; needs "
     "--rocprof",
     .needs = "rocprof"},
    {"stats", GT_OPTION_FLAG, NULL, NULL, "pass --stats to rocprofv3 (ignored with --rocprof_input)",
     .needs = "rocprof&!rocprof_input"},
    {"write_job_files", GT_OPTION_STRING, "DIR", NULL,
     "write the shipped job files rocprof_cu_only.yaml and rocprof_input.yaml into DIR, and exit"},
};
static const gt_option_group command_group = {"Command", command_options, GT_LENGTH(command_options)};

static const gt_option run_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the sweep into DIR (default: experiments/sweep_YYYYMMDD_HHMMSS)"},
    {"skip_existing", GT_OPTION_FLAG, NULL, NULL,
     "continue a sweep: skip runs that ended well and whose output is whole, and those whose folder exists "
     "although "
     "sweep.json does not name them; run the others again"},
    {"no_aggregate", GT_OPTION_FLAG, NULL, NULL, "do not write the summary file"},
    {"delay", GT_OPTION_INT, "SECONDS", "5", "wait SECONDS between runs"},
    {"timeout", GT_OPTION_INT, "SECONDS", "0",
     "stop a run after SECONDS and continue with the next; 0: no limit"},
    {"slots", GT_OPTION_INT, "N", "1",
     "run N settings at once, each with its own GPUs; their output goes only to their logs"},
    {"gpus", GT_OPTION_STRING, "LIST", NULL,
     "split these GPUs among the slots (default: those of HIP_VISIBLE_DEVICES and so on, or all); none: do "
     "not choose GPUs; on SLURM: the number of GPUs per task and node",
     .needs = "slots,target,additional_context,additional_context_file"},
    {"fail_on_error", GT_OPTION_FLAG, NULL, NULL, "exit with status 1 if a run fails or times out"},
    {"dry_run", GT_OPTION_FLAG, NULL, NULL, "print the commands as shell lines, and exit"},
};
static const gt_option_group run_group = {"Runs", run_options, GT_LENGTH(run_options)};

static const gt_option cluster_options[] = {
    {"target", GT_OPTION_STRING, "WHERE", "auto",
     "run here or as a job array: auto, local or slurm; auto: slurm if the context has such a key",
     .choices = "auto|local|slurm"},
    {"additional_context_file", GT_OPTION_STRING, "FILE", NULL,
     "read the context (a JSON object) from FILE, as in `gputally run`; its keys slurm, distributed and "
     "env_vars are used"},
    {"additional_context", GT_OPTION_STRING, "TEXT", NULL,
     "add a context as JSON or Python literal; each key overrides the key of the file"},
    {"generate_only", GT_OPTION_FLAG, NULL, NULL, "write the job script without submitting it"},
    {"no_wait", GT_OPTION_FLAG, NULL, NULL,
     "submit the job array without waiting for it; --skip_existing waits later"},
    {"task", GT_OPTION_INT, "N", NULL,
     "run task N of the submission --output_dir, and exit; job scripts use this", .needs = "output_dir"},
};
static const gt_option_group cluster_group = {"Clusters", cluster_options, GT_LENGTH(cluster_options)};

static const gt_short_option short_options[] = {
    {'c', "channels"},      {'t', "threads"},      {'f', "config"},
    {'p', "nproc"},         {'r', "rocprof"},      {'m', "stats"},
    {'s', "skip_existing"}, {'n', "no_aggregate"}, {0}};

const gt_syntax gt_sweep_run_syntax = {
    .groups = {&grid_group, &command_group, &run_group, &cluster_group, &gt_sweep_plain_group},
    .main_options = {"channels", "threads", "output_dir", "rocprof", "dry_run"},
    .files = "[-- COMMAND...]",
    .files_max = SIZE_MAX,
    .output_option = "output_dir",
    .short_options = short_options,
    .is_command = true,
};

/* ---- grid ---- */

typedef bool grid_setter(gt_sweep_grid *grid, const char *text, gt_error *error);

/* Applies each value of a repeatable option. Errors name the option. */
static bool set_each(const gt_call *call, const char *option, gt_sweep_grid *grid, grid_setter *set,
                     gt_error *error)
{
    const gt_option_value *value = gt_arguments_value(&call->arguments, option);
    for (size_t i = 0; i < value->text_count; i++) {
        if (set(grid, value->texts[i], error)) continue;
        char *prefix = gt_format("argument --%s", option);
        gt_error_prefix(error, prefix);
        gt_free(prefix);
        return false;
    }
    return true;
}

/* --threads 256 --axis threads=512: which one is meant? */
static bool is_given_twice(const gt_call *call, const gt_sweep_grid *grid, gt_error *error)
{
    for (size_t i = 0; i < grid->axis_count; i++) {
        const gt_sweep_axis *axis = &grid->axes[i];
        bool is_own = strcmp(axis->name, "threads") == 0 || strcmp(axis->name, "channels") == 0;
        const gt_option_value *list = is_own ? gt_arguments_value(&call->arguments, axis->name) : NULL;
        if (axis->is_given && list && list->given && strcmp(list->text, "none") != 0)
            return !gt_fail(error, "argument --axis: %s is given twice, also as --%s", axis->name,
                            axis->name);
    }
    return false;
}

static bool make_grid(const gt_call *call, gt_sweep_grid *grid, gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    if (!gt_sweep_grid_begin(grid, gt_arguments_value(arguments, "threads")->text,
                             gt_arguments_value(arguments, "channels")->text, error)) {
        gt_error reason = *error; /* "threads: ..." */
        gt_fail(error, "argument --%.1000s", reason.text);
        return false;
    }
    return set_each(call, "axis", grid, gt_sweep_grid_add_axis, error) &&
           !is_given_twice(call, grid, error) &&
           set_each(call, "axis_env", grid, gt_sweep_grid_set_variable, error) &&
           set_each(call, "axis_dir", grid, gt_sweep_grid_set_folder, error) &&
           (grid->axis_count || gt_fail(error, "no axes: give --threads, --channels or --axis")) &&
           (gt_sweep_grid_points(grid) || gt_fail(error, "more than %d points in the grid", GT_POINTS_MAX));
}

/* ---- plan ---- */

static bool check_numbers(const gt_call *call, gt_error *error)
{
    static const struct {
        const char *option;
        int64_t least;
    } numbers[] = {{"nproc", 1}, {"delay", 0}, {"timeout", 0}, {"repeat", 1}, {"more", 1}, {"slots", 1}};
    for (size_t i = 0; i < GT_LENGTH(numbers); i++) {
        if (strcmp(numbers[i].option, "more") == 0 && !gt_arguments_value(&call->arguments, "more")->given)
            continue;
        int64_t number = gt_arguments_int(&call->arguments, numbers[i].option);
        if (number < numbers[i].least || number > INT32_MAX)
            return gt_fail(error, "argument --%s: must be at least %d", numbers[i].option,
                           (int)numbers[i].least);
    }
    return true;
}

static bool make_plan(const gt_call *call, const char *root, gt_run_plan *plan, gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    const gt_option_value *environment = gt_arguments_value(arguments, "env"),
                          *unset = gt_arguments_value(arguments, "unset");
    plan->root = root;
    plan->command = arguments->files;
    plan->command_count = arguments->file_count;
    plan->config = gt_arguments_value(arguments, "config")->text;
    plan->nproc = gt_arguments_int(arguments, "nproc");
    plan->rocprof = gt_arguments_flag(arguments, "rocprof");
    plan->rocprof_input = plan->rocprof ? gt_arguments_string(arguments, "rocprof_input") : NULL;
    plan->stats = gt_arguments_flag(arguments, "stats");
    plan->environment = environment->texts;
    plan->environment_count = environment->text_count;
    plan->unset = unset->texts;
    plan->unset_count = unset->text_count;
    plan->repeats = (size_t)gt_arguments_int(arguments, "repeat");
    plan->seed = (uint64_t)(gt_arguments_value(arguments, "seed")->given ? gt_arguments_int(arguments, "seed")
                                                                         : (int64_t)time(NULL));
    if (gt_arguments_value(arguments, "more")->given && !gt_arguments_value(arguments, "output_dir")->given)
        return gt_fail(error, "argument --more: needs --output_dir, the sweep to add runs to");
    if (gt_arguments_value(arguments, "more")->given && gt_arguments_value(arguments, "repeat")->given)
        return gt_fail(error, "argument --more: not allowed with --repeat");
    if (gt_arguments_int(arguments, "slots") > GT_SLOTS_MAX)
        return gt_fail(error, "argument --slots: must be at most %d", GT_SLOTS_MAX);
    const char *const numbers[] = {"repeat", "more"};
    for (size_t i = 0; i < GT_LENGTH(numbers); i++)
        if (gt_arguments_value(arguments, numbers[i])->given &&
            gt_arguments_int(arguments, numbers[i]) >= GT_REPEATS_MAX + (i == 0))
            return gt_fail(error, "argument --%s: must be at most %d", numbers[i], GT_REPEATS_MAX - (i == 1));
    return check_numbers(call, error) && make_grid(call, &plan->grid, error) &&
           (gt_run_count(plan) <= GT_POINTS_MAX || gt_fail(error, "more than %d runs", GT_POINTS_MAX)) &&
           gt_run_plan_check(plan, error);
}

/* ---- more runs ---- */

/* Picks further runs of settings. */
static bool pick_settings(gt_run_plan *plan, const gt_decision *d, const size_t *settings, size_t count,
                          size_t more, gt_error *error)
{
    const char **places = gt_alloc((count + 1) * sizeof *places);
    for (size_t i = 0; i < count; i++) { /* their folders, without those of repeats */
        const gt_sweep_config *config = &d->measures->sweep->configs[d->measures->first_config[settings[i]]];
        places[i] = config->repeat > 1 ? strchr(config->place, '/') + 1 : config->place;
    }
    bool ok = gt_run_plan_pick(plan, places, count, more, error);
    gt_free(places);
    return ok;
}

/* Runs of the settings that cannot be told apart, and a second one of the others. */
static bool pick_undecided(const gt_call *call, gt_run_plan *plan, const gt_decision *d, gt_error *error)
{
    size_t undecided[GT_UNDECIDED_MAX], count = gt_decision_undecided(d, undecided),
                                        more = (size_t)gt_arguments_int(&call->arguments, "more");
    gt_buffer text = {0};
    if (!count) gt_decision_say_verdict(d, false, &text);
    if (!count && !gt_sweep_is_quiet(call))
        printf("%sNothing to run: --more adds runs to settings that cannot be told apart.\n",
               gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    size_t *others = gt_alloc((d->measures->setting_count + 1) * sizeof *others),
           other_count = gt_decision_run_once(d, others);
    bool ok = pick_settings(plan, d, undecided, count, more, error) &&
              pick_settings(plan, d, others, other_count, 1, error);
    gt_free(others);
    return ok;
}

/* Picks the runs of --more; none if the best setting is known. */
static bool pick_more(const gt_call *call, gt_run_plan *plan, gt_error *error)
{
    gt_read_options read = {.threads = gt_threads_default()};
    gt_sweep sweep = {0};
    gt_sweep_measures measures = {0};
    gt_decision decision;
    if (!gt_run_plan_pick_unfinished(plan, error)) return false;
    if (plan->picked_count) return true;
    bool ok = gt_sweep_open(&sweep, plan->root, error);
    if (ok) gt_sweep_leave_out_failed(&sweep, false);
    if (ok) gt_sweep_leave_out_other_commands(&sweep);
    ok = ok && (sweep.count || gt_fail(error, "no run of %s ended well", plan->root)) &&
         gt_sweep_measure(&measures, &sweep, &read, NULL, error);
    if (ok) {
        gt_decide(&decision, &measures);
        ok = pick_undecided(call, plan, &decision, error);
        gt_decision_free(&decision);
    }
    gt_sweep_measures_free(&measures);
    gt_sweep_free(&sweep);
    return ok;
}

/* The disk of the sweep's folder, or of the one above in which it will be made. */
static bool has_space(const char *root, gt_error *error)
{
    char *folder = gt_strdup(root);
    while (!gt_path_is_folder(folder) && strcmp(folder, ".") != 0) {
        char *above = gt_path_folder(folder);
        gt_free(folder);
        folder = above;
    }
    bool ok = !gt_disk_was_full(folder) || gt_fail(error, "the disk of %s is full", folder);
    gt_free(folder);
    return ok;
}

/* Checks before the first run what would make every run fail. */
static bool can_start(const gt_run_plan *plan, const gt_run_cluster *cluster, gt_error *error)
{
    if (plan->rocprof_input && !gt_path_is_file(plan->rocprof_input))
        return gt_fail(error, "job file not found: %s", plan->rocprof_input);
    if (!has_space(plan->root, error)) return false;
    gt_run_point first = gt_run_point_make(plan, 0);
    const char *programs[] = {first.argv.items[0],
                              first.argv.items[first.profiler_words]}; /* maybe the same */
    bool ok = true;
    for (size_t i = 0; i < GT_LENGTH(programs) && ok && !cluster; i++) /* those of nodes need not be here */
        ok = gt_path_search(&first.arena, programs[i], getenv("PATH")) ||
             gt_fail(error, "command not found: %s", programs[i]);
    if (cluster && !cluster->generate_only)
        ok = gt_slurm_check_partition(&first.arena, gt_value_get(cluster->context, "slurm"), error);
    gt_run_point_free(&first);
    return ok;
}

/* ---- clusters ---- */

/* Keys that a sweep does not use are of no effect, which a warning says. */
static void warn_unused(const gt_value *context)
{
    static const char *const used[] = {"slurm", "distributed", "env_vars", "gpu_vendor", "guest_os"};
    for (uint32_t i = 0; i < context->count; i += 2) {
        const char *key = context->items[i].text.bytes;
        bool is_used = *key == '_';
        for (size_t k = 0; k < GT_LENGTH(used); k++) is_used = is_used || strcmp(key, used[k]) == 0;
        if (!is_used) gt_warn("'%.100s' of the context has no effect on a sweep", key);
    }
}

/* --gpus on SLURM: a number, or none. */
static bool set_gpus(gt_arena *arena, const char *text, const gt_value **context, gt_error *error)
{
    char *end = NULL;
    long number = !text ? 0 : strcmp(text, "none") == 0 ? 0 : strtol(text, &end, 10);
    if (!text) return true;
    if (end && (end == text || *end || number < 0 || number > 1024))
        return gt_fail(error, "argument --gpus: on SLURM, a number of GPUs per task and node");
    const gt_value *slurm =
        gt_settings_with(arena, gt_value_get(*context, "slurm"), "gpus_per_node", gt_value_int(number));
    *context = gt_settings_with(arena, *context, "slurm", *slurm);
    return true;
}

/* Where the sweep runs. cluster->context is NULL if that is here. */
static bool find_target(const gt_call *call, gt_arena *arena, gt_run_cluster *cluster, gt_error *error)
{
    const gt_arguments *a = &call->arguments;
    const char *target = gt_arguments_string(a, "target"),
               *file = gt_arguments_string(a, "additional_context_file"),
               *text = gt_arguments_string(a, "additional_context");
    bool is_auto = strcmp(target, "auto") == 0, is_slurm = strcmp(target, "slurm") == 0;
    *cluster = (gt_run_cluster){.generate_only = gt_arguments_flag(a, "generate_only"),
                                .no_wait = gt_arguments_flag(a, "no_wait")};
    const gt_value *context = &gt_value_missing;
    if (file || text) context = gt_context_load(arena, file, text, error);
    if (!context) return false;
    if (is_slurm || (is_auto && gt_settings_has(context, "slurm"))) {
        warn_unused(context);
        if (gt_arguments_value(a, "slots")->given) cluster->at_once = (size_t)gt_arguments_int(a, "slots");
        cluster->context = context;
        return set_gpus(arena, gt_arguments_string(a, "gpus"), &cluster->context, error);
    }
    if (context->count) gt_warn("the context has no effect without --target slurm; --env sets variables");
    if (gt_arguments_value(a, "gpus")->given && gt_arguments_int(a, "slots") <= 1)
        return gt_fail(error, "argument --gpus: needs --slots of at least 2");
    if (cluster->generate_only || cluster->no_wait)
        return gt_fail(error, "argument --%s: only on SLURM: --target slurm",
                       cluster->generate_only ? "generate_only" : "no_wait");
    return true;
}

/* Whether the GPUs can be divided among the slots. A dry run needs no GPUs, but a list must be right. */
static bool check_slots(const gt_runner_options *options, bool dry_run, gt_error *error)
{
    if (options->cluster || options->slots <= 1 || (dry_run && !options->gpus)) return true;
    gt_arena arena = {0};
    const char **gpus = gt_alloc_zero(options->slots, sizeof *gpus), *unused;
    bool ok = gt_slots_divide(options->slots, options->gpus, &arena, gpus, &unused, error);
    if (!ok) gt_error_prefix(error, options->gpus ? "argument --gpus" : "argument --slots");
    gt_free(gpus);
    gt_arena_free(&arena);
    return ok;
}

/* ---- running ---- */

extern char **environ;

/* The secrets of --env, of the context and of the environment. */
static const gt_value *find_secrets(gt_arena *arena, const gt_run_plan *plan, const gt_run_cluster *cluster)
{
    const gt_value *variables = &gt_value_missing;
    for (size_t i = 0; i < plan->environment_count; i++) {
        const char *variable = plan->environment[i];
        size_t len = strcspn(variable, "=");
        variables = gt_settings_with(arena, variables, gt_arena_bytes(arena, variable, len),
                                     gt_settings_copy_string(arena, variable + len + 1));
    }
    return gt_secrets_known(arena, cluster->context ? cluster->context : &gt_value_missing, variables,
                            (const char *const *)environ);
}

static gt_exit run(const gt_call *call, const gt_run_plan *plan, const gt_run_cluster *cluster)
{
    const gt_arguments *arguments = &call->arguments;
    gt_runner_options options = {
        .cluster = cluster->context ? cluster : NULL,
        .skip_existing = gt_arguments_flag(arguments, "skip_existing") || plan->picked,
        .no_summary = gt_arguments_flag(arguments, "no_aggregate"),
        .quiet = gt_arguments_flag(arguments, "quiet"),
        .delay_s = gt_arguments_int(arguments, "delay"),
        .timeout_s = gt_arguments_int(arguments, "timeout"),
        .slots = (size_t)gt_arguments_int(arguments, "slots"),
        .gpus = gt_arguments_string(arguments, "gpus"),
    };
    gt_runner_result result;
    gt_error error;
    bool dry_run = gt_arguments_flag(arguments, "dry_run");
    if (!check_slots(&options, dry_run, &error)) return gt_usage_error(call->program, "%s", error.text);
    if (dry_run) {
        gt_runner_print(plan, &options);
        return GT_EXIT_DONE;
    }
    if (!can_start(plan, options.cluster, &error) || !gt_runner_run(plan, &options, &result, &error))
        return gt_sweep_failed(&error);
    if (result.interrupted) return GT_EXIT_INTERRUPTED;
    bool is_failure = result.all_failed || (result.failed && gt_arguments_flag(arguments, "fail_on_error"));
    return is_failure ? GT_EXIT_FAILED : GT_EXIT_DONE;
}

/* A task of a job array, on its node. */
static gt_exit run_task(const gt_call *call)
{
    gt_error error;
    gt_run_outcome outcome;
    int64_t task = gt_arguments_int(&call->arguments, "task");
    const char *folder = gt_arguments_string(&call->arguments, "output_dir");
    if (task < 0 || !folder) return gt_usage_error(call->program, "argument --task: needs --output_dir");
    if (gt_arguments_flag(&call->arguments, "dry_run"))
        return gt_task_print(folder, (size_t)task, &error) ? GT_EXIT_DONE : gt_sweep_failed(&error);
    if (!gt_task_run(folder, (size_t)task, &outcome, &error)) return gt_sweep_failed(&error);
    return outcome.status == GT_RUN_SUCCESS ? GT_EXIT_DONE : GT_EXIT_FAILED;
}

static gt_exit write_job_files(const gt_call *call, const char *folder)
{
    gt_error error;
    if (!gt_rocprof_jobs_write(folder, &error)) return gt_sweep_failed(&error);
    for (size_t i = 0; i < GT_ROCPROF_JOBS && !gt_sweep_is_quiet(call); i++)
        printf("wrote %s/%s\n", folder, gt_rocprof_job_names[i]);
    return GT_EXIT_DONE;
}

gt_exit gt_cmd_sweep_run(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    const char *jobs = gt_arguments_string(arguments, "write_job_files"),
               *given = gt_arguments_string(arguments, "output_dir");
    if (jobs) return write_job_files(call, jobs);
    if (gt_arguments_value(arguments, "task")->given) return run_task(call);
    gt_error error;
    gt_arena arena = {0};
    gt_run_cluster cluster;
    char by_default[GT_CLOCK_TEXT];
    gt_clock_format(by_default, sizeof by_default, "experiments/sweep_%Y%m%d_%H%M%S", time(NULL));
    gt_run_plan plan = {0};
    bool is_more = gt_arguments_value(arguments, "more")->given;
    bool is_made = make_plan(call, given ? given : by_default, &plan, &error) &&
                   find_target(call, &arena, &cluster, &error);
    gt_exit status;
    if (is_made) plan.secrets = find_secrets(&arena, &plan, &cluster);
    if (!is_made)
        status = gt_usage_error(call->program, "%s", error.text);
    else if (is_more && !pick_more(call, &plan, &error))
        status = gt_sweep_failed(&error);
    else
        status = is_more && !plan.picked_count ? GT_EXIT_DONE : run(call, &plan, &cluster);
    gt_free(plan.picked);
    gt_sweep_grid_free(&plan.grid);
    gt_arena_free(&arena);
    return status;
}
