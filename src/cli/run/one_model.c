/* Runs one model: finds its image, prepares its folder, executes the plan, judges the outcome, writes the
 * reports and the rows of perf.csv. */
#include "cli/run/models.h"
#include "os/own.h"
#include "os/paths.h"

/* ---- the image ---- */

/* Launchers whose script starts containers itself. */
static bool is_self_managed(const gt_value *context)
{
    const char *launcher = gt_settings_string(gt_value_get(context, "distributed"), "launcher");
    return launcher && (strcmp(launcher, "slurm_multi") == 0 || strcmp(launcher, "slurm-multi") == 0);
}

static bool find_image(const gt_models_run *run, gt_model_job *job, gt_error *error)
{
    const gt_value *info = job->info;
    const char *own = gt_model_text(info, "docker_image"), *registry = gt_model_text(info, "registry_image");
    bool is_local = gt_value_get(info, "local_image")->type == GT_VALUE_BOOL;
    bool on_compute = gt_settings_is_true(info, "built_on_compute", false);
    if (run->no_docker || is_self_managed(job->context)) return true;
    job->image = is_local || on_compute ? own : job->key;
    if (!*job->image) job->image = own;
    if (run->dry_run) return true;
    if (!run->docker)
        return gt_fail(error, "neither docker nor podman found in PATH; --no_docker runs the model on this "
                              "machine without a container");
    if (*registry) {
        gt_error reason;
        if (gt_image_pull(run->docker, registry, &reason)) {
            job->image = registry;
            return true;
        }
        gt_warn("%s; using the local image %s", reason.text, job->image);
    }
    if (gt_image_is_local(run->docker, job->image)) return true;
    if ((is_local || on_compute) && gt_image_pull(run->docker, job->image, error)) return true;
    return gt_fail(error, "Docker image '%.300s' not found. Build it first: gputally build --tags %.200s",
                   job->image, gt_model_text(job->model, "name"));
}

/* ---- settings of the model ---- */

const gt_value *gt_run_model_context(const gt_models_run *run, const gt_value *model)
{
    const gt_value *context = run->context, *distributed = gt_value_get(model, "distributed");
    if (!gt_value_is_empty(distributed) && !gt_settings_has(context, "distributed"))
        context = gt_settings_with(run->arena, context, "distributed", *distributed);
    if (gt_context_gpus_or(context, INT64_MIN) == INT64_MIN) {
        int64_t gpus = gt_settings_int(model, "n_gpus", 1);
        context = gt_settings_with(run->arena, context, "n_gpus", gt_value_int(gpus));
    }
    return context;
}

/* How many GPUs the model gets: as many as it asks for, if the machine has them. */
static size_t gpus_of(const gt_models_run *run, const gt_value *context)
{
    int64_t wanted = gt_context_gpus_or(context, 1);
    return wanted < 0 || !run->host.gpus ? run->host.gpus : (size_t)wanted;
}

static const gt_value *variables_of(const gt_models_run *run, const gt_model_job *job)
{
    gt_arena *arena = run->arena;
    const gt_value *env = gt_value_get(job->model, "env_vars"),
                   *variables = gt_settings_with_text(arena, &gt_value_missing, "MAD_MODEL_NAME",
                                                      gt_model_text(job->model, "name"));
    const char *results = gt_model_text(job->model, "multiple_results"), *build = getenv("BUILD_NUMBER"),
               *vendor = gt_settings_string(job->context, "gpu_vendor");
    const struct {
        const char *name, *value;
    } known[] = {
        {"MAD_OUTPUT_CSV", *results ? results : NULL},
        {"JENKINS_BUILD_NUMBER", build && *build ? build : "0"},
        {"MAD_GPU_VENDOR", vendor},
        {"MAD_SYSTEM_GPU_ARCHITECTURE", run->host.architecture},
        {"MAD_SYSTEM_GPU_PRODUCT_NAME", run->host.product},
        {"MAD_SYSTEM_HIP_VERSION", run->host.runtime},
        {"MAD_GUEST_OS", gt_settings_string(job->context, "guest_os")},
        {"MAD_SYSTEM_NGPUS", job->image ? NULL : gt_arena_format(arena, "%zu", run->host.gpus)},
        {"MAD_RUNTIME_NGPUS", job->image ? NULL : gt_arena_format(arena, "%zu", gpus_of(run, job->context))},
    };
    for (size_t i = 0; i < GT_LENGTH(known); i++)
        if (known[i].value)
            variables = gt_settings_with_text(arena, variables, known[i].name, known[i].value);
    return gt_settings_update(arena, variables, env);
}

/* A model's own limit counts unless the command line or the context has one. */
static double timeout_of(const gt_models_run *run, const gt_model_job *job)
{
    int64_t own = gt_settings_int(job->model, "timeout", -1);
    return own > 0 && run->default_timeout ? (double)own : run->request->timeout_s;
}

static bool plan_model(const gt_models_run *run, gt_model_job *job, const gt_data *data, gt_error *error)
{
    gt_arena *arena = run->arena;
    const char *options = gt_model_text(job->model, "additional_docker_run_options");
    gt_plan_model *model = &job->plan_model;
    const gt_value *variables = gt_data_variables(arena, data, variables_of(run, job));
    if (!gt_credentials_variables(arena, run->credentials, job->model, &variables, error)) return false;
    *model = (gt_plan_model){.name = gt_model_text(job->model, "name"),
                             .entry = job->model,
                             .line = gt_model_line(arena, job->context, job->model),
                             .folder = job->space.folder,
                             .project = gt_path_current(arena),
                             .log_name = job->log_name,
                             .variables = variables,
                             .mounts = data->mounts,
                             .setup = data->setup,
                             .live_output = run->live_output,
                             .skip = run->skip_model_run};
    if (job->image && !gt_shell_split(arena, options, &model->options))
        return gt_fail(error, "additional_docker_run_options: '%.200s' has more than plain words", options);
    gt_plan_request request = *run->request;
    request.context = job->context;
    request.command = NULL;
    request.command_count = 0;
    request.image = job->image;
    request.name = gt_model_file_name(arena, job->model);
    request.target = "local";
    request.output_dir = job->output_dir;
    request.timeout_s = timeout_of(run, job);
    request.model = model;
    return gt_plan_make(arena, &request, &job->plan, error);
}

/* ---- the row of perf.csv ---- */

static const char *launcher_of(const gt_model_job *job, const char *deployment)
{
    const char *launcher = gt_settings_string(gt_value_get(job->context, "distributed"), "launcher");
    if (!launcher || !*launcher) launcher = getenv("MAD_LAUNCHER");
    if (launcher && *launcher) return launcher;
    if (strcmp(deployment, "slurm") == 0) {
        launcher = getenv("MAD_LAUNCHER_TYPE");
        return launcher && *launcher ? launcher : "torchrun";
    }
    return strcmp(deployment, "kubernetes") == 0 || !job->image ? "native" : "docker";
}

static const char *tags_of(gt_arena *arena, const gt_value *tags)
{
    gt_buffer text = {0};
    if (tags->type == GT_VALUE_STRING) return tags->text.bytes;
    for (uint32_t i = 0; gt_value_is_list(tags) && i < tags->count; i++) {
        gt_buffer_add_cstr(&text, i ? "," : "");
        gt_buffer_add_cstr(&text, gt_settings_print(arena, &tags->items[i]));
    }
    return gt_buffer_move(&text, arena);
}

static const char *variable_or(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static const gt_value *row_of(const gt_models_run *run, const gt_model_job *job)
{
    gt_arena *arena = run->arena;
    const gt_run_result *result = &job->result;
    const char *deployment = run->deployment ? run->deployment : variable_or("MAD_DEPLOYMENT_TYPE", "local");
    const gt_value *distributed = gt_value_get(job->context, "distributed");
    const char *nodes = "1";
    const char *per_node = gt_arena_format(arena, "%zu", gpus_of(run, job->context));
    if (strcmp(deployment, "slurm") == 0) {
        nodes = variable_or("NNODES", variable_or("SLURM_NNODES", nodes));
        per_node = variable_or("GPUS_PER_NODE", per_node);
    } else if (run->deployment) { /* the GPUs are not of this machine */
        nodes = gt_arena_format(arena, "%" PRId64, gt_settings_int(distributed, "nnodes", 1));
        per_node = gt_arena_format(arena, "%" PRId64, gt_context_gpus_or(job->context, 1));
    }
    char machine[256] = "";
    gethostname(machine, sizeof machine - 1);
    const gt_value *info = job->info, *model = job->model, *duration = gt_value_get(info, "build_duration");
    const char *texts[] = {
        gt_model_text(model, "name"),
        gt_arena_format(arena, "%lld", atoll(nodes) * atoll(per_node)),
        nodes,
        per_node,
        gt_model_text(model, "training_precision"),
        variable_or("pipeline", ""),
        gt_model_text(model, "args"),
        tags_of(arena, gt_value_get(model, "tags")),
        gt_model_text(info, "dockerfile"),
        gt_model_text(info, "base_docker"),
        gt_model_text(info, "docker_sha"),
        job->image ? job->image : "",
        job->space.commit ? job->space.commit : "",
        machine,
        deployment,
        launcher_of(job, deployment),
        run->host.architecture ? run->host.architecture : "",
        result->performance ? result->performance : "",
        result->metric ? result->metric : "",
        "",
        result->status,
        "",
        "",
        job->data.name ? job->data.name : "",
        job->data.provider ? job->data.provider : "",
        "",
        "",
        variable_or("BUILD_NUMBER", "0"),
        gt_model_text(model, "additional_docker_run_options"),
    };
    const gt_value *row = &gt_value_missing;
    for (size_t i = 0; i < gt_perf_column_count; i++)
        row = gt_settings_with_text(arena, row, gt_perf_columns[i], texts[i]);
    if (duration->type != GT_VALUE_MISSING) row = gt_settings_with(arena, row, "build_duration", *duration);
    if (job->outcome.command_s > 0)
        row = gt_settings_with(arena, row, "test_duration", gt_value_float(job->outcome.command_s));
    return row;
}

void gt_run_add_rows(gt_models_run *run, const gt_model_job *job)
{
    gt_error error;
    bool skip = gt_settings_is_true(run->context, "skip_perf_collection", false) ||
                strcmp(variable_or("MAD_COLLECT_METRICS", "true"), "false") == 0; /* the first node does it */
    if (skip || run->dry_run) return;
    if (!gt_perf_add(run->arena, run->perf_path, row_of(run, job), job->result.rows, &error)) {
        fprintf(stderr, "gputally: %s\n", error.text);
        run->files_failed = true;
    }
}

/* ---- the run ---- */

/* The build's log and the run's log in one file, if this call did both. */
static void join_logs(const gt_models_run *run, const gt_model_job *job)
{
    const char *build = gt_model_text(job->info, "log_file");
    if (!run->built || !*build || !gt_path_is_file(build)) return;
    const char *both = gt_model_log_name(run->arena, job->model, job->image, "");
    FILE *out = gt_own_fopen(both, "w");
    const char *parts[] = {build, job->log_name};
    for (size_t i = 0; out && i < GT_LENGTH(parts); i++) {
        FILE *in = gt_fopen(parts[i], "re");
        char block[65536];
        size_t count;
        if (i) fprintf(out, "\n%s\nRUN PHASE LOG\n%s\n\n", GT_MODELS_RULE, GT_MODELS_RULE);
        while (in && (count = fread(block, 1, sizeof block, in))) fwrite(block, 1, count, out);
        if (in) fclose(in);
    }
    if (!out || fclose(out) != 0) gt_warn("%s: cannot write the log of build and run", both);
}

static void finish_run(gt_models_run *run, gt_model_job *job)
{
    gt_outcome *outcome = &job->outcome;
    const char *traces = gt_workspace_keep(run->arena, &job->space, job->model, job->plan.output_dir,
                                           gt_model_file_name(run->arena, job->model));
    if (run->skip_model_run && !outcome->failed)
        job->result.status = "SKIPPED";
    else
        gt_model_judge(run->arena, job->model, outcome, job->plan.output_dir, &job->result);
    if (strcmp(job->result.status, "FAILURE") == 0 && !outcome->failed) {
        outcome->failed = true;
        outcome->reason = job->result.reason;
    }
    if (outcome->exit_code >= 0 && !run->skip_model_run) {
        const char *folder = job->plan.workdir;
        job->plan.workdir = traces; /* the model's folder does not stay */
        gt_run_reports_write(run->call, &job->plan, outcome);
        job->plan.workdir = folder;
    }
    if (!gt_run_finish(&job->plan, outcome)) run->files_failed = true; /* its files are incomplete */
    join_logs(run, job);
}

static bool run_job(gt_models_run *run, gt_model_job *job, gt_error *error)
{
    gt_arena *arena = run->arena;
    gt_data_request data = {.path = run->data_config,
                            .project = gt_path_current(arena),
                            .mirror = run->mirror,
                            .in_container = job->image};
    unlink(job->log_name); /* of a run before */
    if (!gt_workspace_open(arena, job->model, run->credentials, job->log_name, &job->space, error))
        return false;
    data.folder = job->space.folder;
    bool ok =
        gt_data_find(arena, &data, job->model, &job->data, error) && plan_model(run, job, &job->data, error);
    if (ok) {
        gt_plan_execute(&job->plan, &job->outcome);
        finish_run(run, job);
    }
    gt_workspace_close(&job->space, run->keep_alive || run->keep_model_dir);
    return ok;
}

static bool dry_run_job(gt_models_run *run, gt_model_job *job, gt_error *error)
{
    gt_arena *arena = run->arena;
    gt_data_request data = {.path = run->data_config,
                            .project = gt_path_current(arena),
                            .mirror = run->mirror,
                            .in_container = job->image};
    job->space.folder = data.folder = gt_path_absolute(arena, data.project, "run_directory");
    if (!gt_data_find(arena, &data, job->model, &job->data, error) ||
        !plan_model(run, job, &job->data, error))
        return false;
    gt_json_open(&run->plans, '{');
    gt_plan_write(&job->plan, &run->plans);
    gt_json_close(&run->plans, '}');
    return true;
}

static void say_result(const gt_model_job *job)
{
    const gt_run_result *result = &job->result;
    const char *name = gt_model_text(job->model, "name");
    if (strcmp(result->status, "FAILURE") == 0)
        fprintf(stderr, "gputally: %s: FAILURE: %s; log: %s\n", name,
                result->reason ? result->reason : "unknown", job->log_name);
    else if (result->rows)
        gt_info("%s: %s, %u results (%.1f s)", name, result->status, result->rows->count,
                job->outcome.command_s);
    else if (result->performance)
        gt_info("%s: %s, %s %s (%.1f s)", name, result->status, result->performance, result->metric,
                job->outcome.command_s);
    else
        gt_info("%s: %s", name, result->status);
}

/* One model writes where the run writes; of several, each has a folder of its own. Logs are in the current
 * folder, except those of a job's nodes, which share it. */
static void name_places(const gt_models_run *run, gt_model_job *job)
{
    gt_arena *arena = run->arena;
    const char *folder = run->request->output_dir;
    const char *log = gt_model_log_name(arena, job->model, job->image, ".run");
    int stem = (int)(strlen(log) - strlen(".run.live.log"));
    gt_error ignored; /* the log cannot be written then, which is said */
    job->output_dir =
        run->job_count == 1 ? folder : gt_arena_format(arena, "%s/model_outputs/%.*s", folder, stem, log);
    job->log_name = log;
    if (!getenv("MAD_IN_SLURM_JOB")) return;
    gt_path_make_folder(folder, &ignored);
    job->log_name = gt_path_absolute(arena, gt_path_current(arena), gt_path_join(arena, folder, log));
}

void gt_run_one_model(gt_models_run *run, gt_model_job *job)
{
    gt_arena *arena = run->arena;
    gt_error error;
    const char *name = gt_model_text(job->model, "name");
    job->context = gt_run_model_context(run, job->model);
    job->result.status = "FAILURE";
    bool ok = find_image(run, job, &error);
    name_places(run, job);
    if (ok && run->dry_run) {
        ok = dry_run_job(run, job, &error);
        job->result.status = ok ? "SUCCESS" : "FAILURE";
    } else if (ok) {
        gt_info("running %s%s%s; log: %s", name, job->image ? " in " : "", job->image ? job->image : "",
                job->log_name);
        ok = run_job(run, job, &error);
    }
    if (!ok) job->result.reason = gt_arena_format(arena, "%s", error.text);
    if (!run->dry_run || !ok) say_result(job);
    gt_run_add_rows(run, job);
}

void gt_run_skipped_model(gt_models_run *run, gt_model_job *job)
{
    job->context = run->context;
    job->result.status = "SKIPPED";
    gt_info("%s: skipped, because it excludes the GPU %s", gt_model_text(job->model, "name"),
            run->host.architecture);
    job->image = gt_model_text(job->info, "docker_image");
    gt_run_add_rows(run, job);
}
