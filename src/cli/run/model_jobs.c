/* Models as jobs. On SLURM, one job runs all models of the manifest: each node starts `gputally run
 * --manifest_file` in the folder of models.json, which the nodes share. On Kubernetes, each model is a job of
 * its own in its own image: its scripts come along as a script that unpacks them before the model starts, and
 * the row of perf.csv is written here when the job is over. */
#include "cli/run/models.h"
#include "os/child.h"
#include "os/paths.h"
#include "output/file.h"

enum { SCRIPTS_MAX_BYTES = 900 << 10 }; /* a ConfigMap takes 1 MiB */

gt_exit gt_run_models_on_slurm(const gt_models_run *run, const gt_value *manifest, const char *manifest_path,
                               const char *name)
{
    gt_plan plan;
    gt_error error;
    gt_plan_request request = *run->request;
    const gt_value *models = gt_value_get(manifest, "built_models");
    request.context = run->context;
    request.image = NULL;
    request.target = "slurm";
    request.name = name                ? name
                   : models->count > 1 ? gt_model_file_name(run->arena, &models->items[1])
                                       : "models";
    if (!gt_plan_make(run->arena, &request, &plan, &error)) return gt_run_context_error(&error);
    plan.manifest = gt_path_absolute(run->arena, plan.workdir, manifest_path);
    plan.manifest_models = models->count / 2;
    return gt_run_on_slurm(run->call, &plan);
}

/* ---- scripts of a model as one script ---- */

/* Writes a script that unpacks the model's scripts into run_directory. */
static const char *pack_scripts(const gt_models_run *run, const gt_model_job *job, gt_error *error)
{
    const char *scripts = gt_model_text(job->model, "scripts"), *dot = strrchr(gt_path_name(scripts), '.');
    char *folder = dot ? gt_path_folder(scripts) : gt_strdup(scripts);
    const char *line = "tar -C \"$0\" -chzf - . | base64";
    const char *argv[] = {"bash", "-c", gt_arena_format(run->arena, "set -o pipefail; %s", line), folder,
                          NULL};
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, "mkdir -p run_directory && base64 -d << 'END' | tar -C run_directory -xzf -\n");
    gt_child_setup setup = {.argv = argv, .line = gt_child_keep_line, .line_context = &text};
    gt_child_result result;
    const char *path = NULL;
    if (strcmp(folder, ".") == 0) {
        gt_fail(error,
                "%.200s: scripts in the folder of models.json itself cannot go into a pod; move them to "
                "a folder below scripts",
                scripts);
    } else if (!gt_child_run(&setup, &result, error) || result.exit_code) {
        gt_fail(error, "%.200s: cannot be packed", folder);
    } else if (text.len > SCRIPTS_MAX_BYTES) {
        gt_fail(error,
                "%.200s: %zu bytes of scripts do not fit into a pod (at most %d); put them into the image",
                folder, text.len, SCRIPTS_MAX_BYTES);
    } else {
        gt_buffer_add_cstr(&text, "END\n");
        path = gt_arena_format(run->arena, "%s/gputally_%s_scripts.sh", run->request->output_dir,
                               gt_model_file_name(run->arena, job->model));
        gt_output *output = gt_output_new();
        if (!gt_output_write_file(output, path, gt_buffer_str(&text), error) ||
            !gt_output_commit(output, error))
            path = NULL;
        gt_output_free(output);
    }
    gt_buffer_free(&text);
    gt_free(folder);
    return path;
}

/* ---- the job of a model ---- */

/* The script uses the variables of the launcher itself, so the launcher is not started around it. */
static const char *command_of(const gt_models_run *run, const gt_model_job *job, gt_error *error)
{
    gt_buffer line = {0};
    const gt_value *context = job->context, *settings = gt_value_get(context, "distributed");
    gt_distributed distributed =
        gt_distributed_of(context, gt_settings_int(settings, "nnodes", 1), gt_context_gpus_or(context, 1));
    const gt_value *variables = gt_launcher_variables(run->arena, &distributed, context, error);
    for (uint32_t i = 0; variables && i < variables->count; i += 2)
        gt_buffer_add_format(&line, "export %s=\"%s\"; ", variables->items[i].text.bytes,
                             variables->items[i + 1].text.bytes);
    gt_buffer_add_format(&line, "cd run_directory && %s", gt_model_line(run->arena, context, job->model));
    const char *text = variables ? gt_arena_bytes(run->arena, line.bytes, line.len) : NULL;
    gt_buffer_free(&line);
    return text;
}

/* The context of the pods: the scripts are unpacked first, and the launcher is the model's business. */
static const gt_value *context_of_pods(const gt_models_run *run, const gt_model_job *job, const char *script)
{
    gt_arena *arena = run->arena;
    const gt_value *context = job->context, *before = gt_value_get(context, "pre_scripts"),
                   *distributed = gt_value_get(context, "distributed");
    const gt_value *first = gt_settings_with(arena, &gt_value_missing, "path", gt_value_cstr(script));
    const gt_value *scripts = gt_settings_push(arena, &gt_value_missing, *first);
    for (uint32_t i = 0; gt_value_is_list(before) && i < before->count; i++)
        scripts = gt_settings_push(arena, scripts, before->items[i]);
    const gt_value *env = gt_settings_with(arena, gt_value_get(job->model, "env_vars"), "MAD_MODEL_NAME",
                                           gt_value_cstr(gt_model_text(job->model, "name")));
    env = gt_settings_update(arena, env, gt_value_get(context, "env_vars"));
    if (distributed->type == GT_VALUE_DICT) {
        distributed = gt_settings_with(arena, distributed, "launcher", gt_value_cstr("none"));
        context = gt_settings_with(arena, context, "distributed", *distributed);
    }
    context = gt_settings_with(arena, context, "env_vars", *env);
    return gt_settings_with(arena, context, "pre_scripts", *scripts);
}

/* The figures of the newest run of this name. */
static void read_results(const gt_models_run *run, gt_model_job *job, const char *name)
{
    gt_arena *arena = run->arena;
    const char *folder = gt_arena_format(arena, "%s/k8s_results/%s", run->request->output_dir, name);
    gt_folder_list runs = gt_list_folder(folder);
    gt_error ignored;
    const gt_value *summary = runs.count
                                  ? gt_settings_read(arena,
                                                     gt_arena_format(arena, "%s/%s/results_summary.json",
                                                                     folder, runs.items[runs.count - 1]),
                                                     &ignored)
                                  : NULL;
    const gt_value *metrics = summary ? gt_value_get(summary, "metrics") : &gt_value_missing;
    if (metrics->type == GT_VALUE_DICT && metrics->count) {
        job->result.metric = metrics->items[0].text.bytes;
        job->result.performance = gt_settings_print(arena, &metrics->items[1]);
    }
    gt_folder_list_free(&runs);
}

static bool run_job(const gt_models_run *run, gt_model_job *job, gt_error *error)
{
    gt_plan plan;
    const char *registry = gt_model_text(job->info, "registry_image");
    const char *script = pack_scripts(run, job, error), *line = script ? command_of(run, job, error) : NULL;
    if (!line) return false;
    const char *command[] = {"bash", "-c", line};
    gt_plan_request request = *run->request;
    request.context = context_of_pods(run, job, script);
    request.command = command;
    request.command_count = GT_LENGTH(command);
    request.image = NULL; /* of the pods, not of this machine */
    request.target = "k8s";
    request.name = gt_model_file_name(run->arena, job->model);
    if (!gt_plan_make(run->arena, &request, &plan, error)) return false;
    job->image = *registry ? registry : gt_model_text(job->info, "docker_image");
    if (!*job->image) job->image = job->key;
    gt_exit status = gt_run_on_kubernetes(run->call, &plan, job->image);
    read_results(run, job, request.name);
    if (status != GT_EXIT_DONE) return gt_fail(error, "the job failed");
    return job->result.performance || gt_arguments_flag(&run->call->arguments, "generate_only") ||
           gt_fail(error, "no performance figure in the log ('performance: NUMBER METRIC')");
}

gt_exit gt_run_models_on_kubernetes(gt_models_run *run, const gt_value *manifest)
{
    const gt_value *images = gt_value_get(manifest, "built_images"),
                   *models = gt_value_get(manifest, "built_models");
    bool only_files = gt_arguments_flag(&run->call->arguments, "generate_only");
    gt_exit status = GT_EXIT_DONE;
    run->deployment = "kubernetes";
    for (uint32_t i = 0; i < images->count; i += 2) {
        gt_error error;
        gt_model_job job = {.key = images->items[i].text.bytes, .info = &images->items[i + 1]};
        job.model = gt_value_get(models, job.key);
        if (job.model->type != GT_VALUE_DICT) continue;
        job.context = gt_run_model_context(run, job.model);
        bool ok = run_job(run, &job, &error);
        job.result.status = ok ? "SUCCESS" : "FAILURE";
        if (!ok) fprintf(stderr, "gputally: %s: FAILURE: %s\n", gt_model_text(job.model, "name"), error.text);
        if (!ok) status = GT_EXIT_RUN;
        if (!only_files) gt_run_add_rows(run, &job);
    }
    return run->files_failed ? GT_EXIT_RUN : status;
}
