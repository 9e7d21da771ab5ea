/* Runs on other machines: as a SLURM job or as a Kubernetes job. Each node starts `gputally run --target
 * local` with the options that concern it. */
#include "cli/run/run.h"
#include "os/paths.h"
#include "run/targets/kubernetes/kubernetes.h"
#include "run/targets/targets.h"

/* Whether one report of all nodes is made after the job. Traces of other profilers than rocprofv3 are
 * reported on each node, and so are those of several models. */
static bool is_reported_here(const gt_plan *plan)
{
    gt_profiler_kind kind = plan->profiler->kind;
    return plan->manifest_models <= 1 && (kind == GT_PROFILER_NONE || kind == GT_PROFILER_ROCPROFV3);
}

/* The reports that each node makes: those that --report asks for, or only a summary of its own samples. */
static const char *node_reports(const gt_call *call, const gt_plan *plan, bool all_together)
{
    const char *wanted = gt_arguments_string(&call->arguments, "report");
    return all_together && is_reported_here(plan) && strcmp(wanted, "none") != 0 ? "summary" : wanted;
}

/* The options of `gputally run` on each node. */
static void node_options(const gt_call *call, gt_plan *plan, bool all_together, gt_arg_list *words)
{
    static const char *const passed_on[] = {"timeout",       "grace",        "warmup",   "repeat",
                                            "capture_steps", "capture_time", "min_free", "profiler_args",
                                            "threads",       "max_memory"};
    const gt_arguments *a = &call->arguments;
    gt_arg_list_add(plan->arena, words, "--name");
    gt_arg_list_add(plan->arena, words, plan->name);
    gt_arg_list_add(plan->arena, words,
                    gt_arena_format(plan->arena, "--report=%s", node_reports(call, plan, all_together)));
    for (size_t i = 0; i < GT_LENGTH(passed_on); i++) {
        if (!gt_arguments_value(a, passed_on[i])->given) continue;
        gt_arg_list_add(
            plan->arena, words,
            gt_arena_format(plan->arena, "--%s=%s", passed_on[i], gt_arguments_value(a, passed_on[i])->text));
    }
    static const char *const flags[] = {"capture_region", "no_baseline", "no_sys_env_details",
                                        "sys_env_details", "strict"};
    for (size_t i = 0; i < GT_LENGTH(flags); i++)
        if (gt_arguments_flag(a, flags[i]))
            gt_arg_list_add(plan->arena, words, gt_arena_format(plan->arena, "--%s", flags[i]));
    gt_arg_list_add(plan->arena, words, "--no_progress");
}

/* Options that only make sense on a node of SLURM: the container of the command, and no time limit of our own
 * if none is given, because the job has one. */
static void add_slurm_options(const gt_call *call, gt_plan *plan, gt_arg_list *words)
{
    const gt_option_value *docker = gt_arguments_value(&call->arguments, "docker");
    if (docker->given)
        gt_arg_list_add(plan->arena, words,
                        docker->text ? gt_arena_format(plan->arena, "--docker=%s", docker->text)
                                     : "--docker");
    if (gt_arguments_flag(&call->arguments, "no_docker")) gt_arg_list_add(plan->arena, words, "--no_docker");
    if (!gt_arguments_value(&call->arguments, "timeout")->given && !gt_settings_has(plan->context, "timeout"))
        gt_arg_list_add(plan->arena, words, "--timeout=0");
}

/* Nodes of a SLURM cluster share the folder that it is in. */
static void add_tools_file(const gt_call *call, gt_plan *plan, gt_arg_list *words)
{
    const char *file = gt_arguments_string(&call->arguments, "tools_config");
    if (!file) return;
    gt_arg_list_add(plan->arena, words, "--tools_config");
    gt_arg_list_add(plan->arena, words, gt_path_absolute(plan->arena, plan->workdir, file));
}

/* The only node of a job makes its reports itself. Of several, traces that the command writes are in the
 * folder that they share; only one of them has a record if the launcher starts the processes of all. */
static gt_exit run_on_nodes(const gt_call *call, gt_plan *plan, const gt_slurm *slurm, bool several)
{
    const char *folder;
    struct timespec begin;
    clock_gettime(CLOCK_REALTIME, &begin);
    bool done = gt_slurm_run(plan, slurm, &folder);
    const char *shared = gt_settings_string(gt_value_get(plan->context, "slurm"), "shared_workspace");
    if (folder && several && is_reported_here(plan))
        gt_run_reports_of_nodes(call, plan, folder, (size_t)slurm->nodes, shared ? shared : plan->workdir,
                                begin);
    return done ? GT_EXIT_DONE : GT_EXIT_RUN;
}

/* The options of a node that runs the models of a manifest. */
static void add_manifest_options(const gt_call *call, gt_plan *plan, gt_arg_list *words)
{
    static const char *const flags[] = {"live_output", "disable_skip_gpu_arch", "cleanup_perf"};
    static const char *const files[] = {"output", "data_config", "force_mirror_local"};
    const gt_arguments *a = &call->arguments;
    if (!plan->manifest) return;
    gt_arg_list_add(plan->arena, words, gt_arena_format(plan->arena, "--manifest_file=%s", plan->manifest));
    for (size_t i = 0; i < GT_LENGTH(flags); i++)
        if (gt_arguments_flag(a, flags[i]))
            gt_arg_list_add(plan->arena, words, gt_arena_format(plan->arena, "--%s", flags[i]));
    for (size_t i = 0; i < GT_LENGTH(files); i++)
        if (gt_arguments_value(a, files[i])->given)
            gt_arg_list_add(plan->arena, words,
                            gt_arena_format(plan->arena, "--%s=%s", files[i],
                                            gt_path_absolute(plan->arena, plan->workdir,
                                                             gt_arguments_string(a, files[i]))));
}

gt_exit gt_run_on_slurm(const gt_call *call, gt_plan *plan)
{
    gt_arg_list words = {0};
    gt_error error;
    gt_slurm slurm;
    gt_exit status = GT_EXIT_DONE;
    const char *self = gt_path_program(plan->arena);
    bool several = gt_settings_int(gt_value_get(plan->context, "slurm"), "nodes", 1) > 1;
    node_options(call, plan, several, &words);
    add_slurm_options(call, plan, &words);
    for (size_t i = 0; i < plan->warnings.count; i++) gt_warn("%s", plan->warnings.items[i]);
    add_tools_file(call, plan, &words);
    add_manifest_options(call, plan, &words);
    gt_slurm_request request = {.plan = plan,
                                .gputally = self ? self : "gputally",
                                .run_options = words.items,
                                .run_option_count = words.count};
    if (!gt_slurm_make(&request, &slurm, &error)) {
        status = gt_run_context_error(&error);
    } else if (gt_arguments_flag(&call->arguments, "dry_run")) {
        plan->slurm = &slurm;
        status = gt_run_print_plan(plan);
    } else if (!gt_slurm_write(plan, &slurm, &error)) {
        fprintf(stderr, "gputally: %s\n", error.text);
        status = GT_EXIT_FAILED;
    } else if (gt_arguments_flag(&call->arguments, "generate_only")) {
        printf("%s\n", slurm.script);
    } else {
        slurm.summary_copy = gt_arguments_string(&call->arguments, "summary_output");
        status = run_on_nodes(call, plan, &slurm, several);
    }
    gt_buffer_free(&slurm.text);
    return status;
}

/* Pods do not share a folder: traces that the command writes come along with the results. */
static gt_exit run_in_pods(const gt_call *call, gt_plan *plan, gt_kubernetes *objects)
{
    struct timespec begin = {0}; /* the folder is new, and clocks of other machines may differ */
    bool keep = gt_arguments_flag(&call->arguments, "keep_alive");
    bool done = gt_kubernetes_run(plan, objects, keep);
    if (is_reported_here(plan) && gt_path_is_folder(objects->results_dir))
        gt_run_reports_of_nodes(call, plan, objects->results_dir, (size_t)objects->nodes, NULL, begin);
    return done ? GT_EXIT_DONE : GT_EXIT_RUN;
}

gt_exit gt_run_on_kubernetes(const gt_call *call, gt_plan *plan, const char *image)
{
    gt_arg_list words = {0};
    gt_error error;
    gt_kubernetes objects;
    node_options(call, plan, true, &words);
    gt_arg_list_add(plan->arena, &words, "--copy_traces");
    gt_kubernetes_request request = {plan, image, words.items, words.count,
                                     gt_arguments_string(&call->arguments, "tools_config")};
    gt_exit status = GT_EXIT_CONTEXT;
    if (!gt_kubernetes_make(&request, &objects, &error)) {
        gt_run_context_error(&error);
    } else if (!gt_arguments_flag(&call->arguments, "generate_only")) {
        status = run_in_pods(call, plan, &objects);
    } else if (gt_kubernetes_write(&objects, &error)) {
        status = GT_EXIT_DONE;
        printf("%s\n", objects.path);
    } else {
        status = GT_EXIT_FAILED;
        fprintf(stderr, "gputally: %s\n", error.text);
    }
    gt_kubernetes_free(&objects);
    return status;
}
