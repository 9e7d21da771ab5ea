/* `gputally run --tags` and `--manifest_file`: which models run, with which images, and where.
 *
 * Everything goes through a manifest: one that is read, one of the images that are built first, or one of a
 * single image that exists (MAD_CONTAINER_IMAGE, --docker=IMAGE). */
#include "cli/run/models.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/targets/slurm_job.h"

#include <glob.h>

typedef struct models_call {
    gt_models_run run;
    gt_plan_request request;
    gt_arg_list tags;
    const char *manifest_path; /* where the manifest is; NULL: only in memory */
    const gt_value *manifest;
    gt_build build;
    const gt_value *succeeded, *failed; /* lists of runs, for the summary */
    unsigned skipped;                   /* of those that did not fail */
    gt_error error;
} models_call;

static const char *text_of(const models_call *c, const char *name)
{
    return gt_arguments_string(&c->run.call->arguments, name);
}

static bool flag_of(const models_call *c, const char *name)
{
    return gt_arguments_flag(&c->run.call->arguments, name);
}

static gt_exit failed(const models_call *c, gt_exit status)
{
    fprintf(stderr, "gputally: %s\n", c->error.text);
    return status;
}

bool gt_run_check_deployment(const gt_value *context, gt_error *error)
{
    if (!context) return false;
    if ((gt_settings_has(context, "k8s") || gt_settings_has(context, "kubernetes")) &&
        gt_settings_has(context, "slurm"))
        return gt_fail(error,
                       "Conflicting deployment configuration: Both 'k8s' and 'slurm' fields present; remove "
                       "one of them");
    return true;
}

bool gt_run_wants_models(const gt_call *call)
{
    return gt_arguments_value(&call->arguments, "tags")->text_count ||
           gt_arguments_string(&call->arguments, "manifest_file");
}

/* ---- the manifest ---- */

/* A dry run builds nothing: the images that would be built. */
static bool plan_images(models_call *c, const gt_value *models)
{
    static const gt_value no_dict = {.type = GT_VALUE_DICT}, no_list = {.type = GT_VALUE_LIST};
    gt_arena *arena = c->run.arena;
    c->build = (gt_build){.images = &no_dict,
                          .models = &no_dict,
                          .built = &no_list,
                          .failed = &no_list,
                          .pushed = &no_list,
                          .push_failures = &no_list};
    for (uint32_t i = 0; i < models->count; i++) {
        const gt_value *model = &models->items[i];
        gt_arg_list files = {0};
        if (!gt_dockerfiles_find(arena, c->run.context, model, &files, &c->error)) return false;
        for (size_t f = 0; f < files.count; f++) {
            gt_dockerfile file;
            if (!gt_dockerfile_read(arena, files.items[f], &file, &c->error)) return false;
            const char *image = gt_image_name(arena, model, file.stem, NULL);
            const gt_value *info = gt_settings_with(arena, &gt_value_missing, "docker_image",
                                                    gt_settings_copy_string(arena, image));
            c->build.images = gt_settings_with(arena, c->build.images, image, *info);
            c->build.models = gt_settings_with(arena, c->build.models, image, *model);
        }
    }
    return true;
}

/* Images that are built here are for the GPU of this machine, if their Dockerfiles want to know it. */
static const gt_value *with_architecture(models_call *c)
{
    gt_arena *arena = c->run.arena;
    const gt_value *context = c->run.context, *arguments = gt_value_get(context, "docker_build_arg");
    const char *architecture = c->run.host.architecture;
    if (!architecture || gt_settings_has(arguments, "MAD_SYSTEM_GPU_ARCHITECTURE")) return context;
    arguments =
        gt_settings_with(arena, arguments, "MAD_SYSTEM_GPU_ARCHITECTURE", gt_value_cstr(architecture));
    return gt_settings_with(arena, context, "docker_build_arg", *arguments);
}

static bool has_build_logs(void)
{
    glob_t found;
    bool any = glob("*.build.live.log", 0, NULL, &found) == 0;
    if (any) globfree(&found);
    return any;
}

static gt_exit build_images(models_call *c, const gt_value *models)
{
    gt_build_request request = {.context = with_architecture(c),
                                .credentials = c->run.credentials,
                                .registry = text_of(c, "registry"),
                                .batch = &gt_value_missing,
                                .clean_cache = flag_of(c, "clean_docker_cache"),
                                .live_output = c->run.live_output};
    if (!gt_run_check_deployment(c->run.context, &c->error)) return failed(c, GT_EXIT_CONTEXT);
    if (c->run.dry_run) {
        if (!plan_images(c, models)) return failed(c, GT_EXIT_BUILD);
        c->manifest = gt_manifest_of_build(c->run.arena, c->run.context, &c->build);
        return GT_EXIT_DONE;
    }
    if (!gt_images_build(c->run.arena, &request, models, &c->build, &c->error))
        return failed(c, c->build.interrupted ? GT_EXIT_FAILED : GT_EXIT_BUILD);
    c->run.built = true;
    c->manifest_path = text_of(c, "manifest_output");
    c->manifest = gt_manifest_of_build(c->run.arena, request.context, &c->build);
    if (!gt_manifest_write(c->manifest, c->manifest_path, &c->error)) return failed(c, GT_EXIT_FAILED);
    if (!c->build.images->count) {
        gt_fail(&c->error, "All builds failed - no images available%s",
                has_build_logs() ? "; see the *.build.live.log files" : "");
        return failed(c, GT_EXIT_BUILD);
    }
    return GT_EXIT_DONE;
}

/* Skips models that are marked as deprecated, unless asked for. */
static const gt_value *without_deprecated(models_call *c, const gt_value *models)
{
    const gt_value *kept = &gt_value_missing;
    for (uint32_t i = 0; i < models->count; i++) {
        const gt_value *model = &models->items[i];
        bool deprecated = gt_settings_is_true(model, "deprecated", false);
        if (deprecated && !flag_of(c, "ignore_deprecated"))
            gt_info("%s: skipped, because it is deprecated; --ignore_deprecated runs it",
                    gt_model_text(model, "name"));
        else
            kept = gt_settings_push(c->run.arena, kept, *model);
    }
    return kept;
}

/* Sets the manifest. */
static gt_exit find_manifest(models_call *c)
{
    gt_arena *arena = c->run.arena;
    const char *given = text_of(c, "manifest_file"), *image = c->request.image;
    const gt_value *models;
    bool is_there = given && access(given, F_OK) == 0;
    if (is_there && !image) {
        c->manifest_path = given;
        c->manifest = gt_manifest_read(arena, given, &c->error);
        if (!c->manifest) return failed(c, GT_EXIT_FAILED);
        c->manifest = gt_manifest_merge(arena, c->manifest, c->run.context);
        if (!c->run.dry_run && !gt_manifest_write(c->manifest, given, &c->error))
            return failed(c, GT_EXIT_FAILED);
        return GT_EXIT_DONE;
    }
    if (!c->tags.count) {
        if (image)
            gt_fail(&c->error, "Tags required for MAD_CONTAINER_IMAGE mode");
        else if (given)
            gt_fail(&c->error, "Either --manifest-file or --tags required, and there is no file %.300s",
                    given);
        else
            gt_fail(&c->error, "Either --manifest-file or --tags required");
        return failed(c, GT_EXIT_CONTEXT);
    }
    if (given && !is_there) gt_warn("%s: no such file; building the images first", given);
    if (!gt_models_load(arena, &c->tags, &models, &c->error)) return failed(c, GT_EXIT_BUILD);
    models = without_deprecated(c, models);
    if (!image && !c->run.no_docker) return build_images(c, models);
    c->manifest = gt_manifest_of_image(arena, c->run.context, models, image);
    if (!image || c->run.dry_run) return GT_EXIT_DONE;
    c->manifest_path = text_of(c, "manifest_output");
    return gt_manifest_write(c->manifest, c->manifest_path, &c->error) ? GT_EXIT_DONE
                                                                       : failed(c, GT_EXIT_FAILED);
}

/* ---- on this machine ---- */

static const gt_value *with_text(gt_arena *arena, const gt_value *dict, const char *key, const char *text)
{
    return gt_settings_with(arena, dict, key, text ? gt_settings_copy_string(arena, text) : gt_value_none);
}

/* An entry of successful_runs or failed_runs. */
static void note_run(models_call *c, const gt_model_job *job)
{
    gt_arena *arena = c->run.arena;
    bool is_failure = strcmp(job->result.status, "FAILURE") == 0;
    const gt_value *entry = with_text(arena, &gt_value_missing, "model", gt_model_text(job->model, "name"));
    entry = with_text(arena, entry, "image", job->image ? job->image : "");
    entry = with_text(arena, entry, "status", job->result.status);
    if (is_failure) {
        entry = with_text(arena, entry, "error", job->result.reason ? job->result.reason : "");
        c->failed = gt_settings_push(arena, c->failed, *entry);
        return;
    }
    entry = with_text(arena, entry, "performance",
                      job->result.rows ? job->result.results_path : job->result.performance);
    entry = gt_settings_with(arena, entry, "duration", gt_value_float(job->outcome.command_s));
    c->succeeded = gt_settings_push(arena, c->succeeded, *entry);
    c->skipped += strcmp(job->result.status, "SKIPPED") == 0;
}

/* The models of the manifest that can run here; the others are reported. */
static size_t choose_jobs(models_call *c, gt_model_job *jobs)
{
    const gt_value *images = gt_value_get(c->manifest, "built_images"),
                   *models = gt_value_get(c->manifest, "built_models");
    size_t count = 0;
    for (uint32_t i = 0; i < images->count; i += 2) {
        gt_model_job job = {.key = images->items[i].text.bytes, .info = &images->items[i + 1]};
        job.model = gt_value_get(models, job.key);
        const char *mismatch = gt_host_mismatch(c->run.arena, &c->run.host, job.info);
        if (job.model->type != GT_VALUE_DICT) {
            gt_warn("%s: no model of this image in the manifest; skipped", job.key);
        } else if (mismatch) {
            gt_warn("%s: skipped: %s", job.key, mismatch);
        } else if (!flag_of(c, "disable_skip_gpu_arch") &&
                   gt_host_is_skipped(c->run.arena, &c->run.host, job.model)) {
            gt_run_skipped_model(&c->run, &job);
            note_run(c, &job);
        } else {
            jobs[count++] = job;
        }
    }
    return count;
}

static const gt_value *summary_of(models_call *c)
{
    static const gt_value no_list = {.type = GT_VALUE_LIST};
    gt_arena *arena = c->run.arena;
    const gt_value *succeeded = c->succeeded->count ? c->succeeded : &no_list,
                   *unsuccessful = c->failed->count ? c->failed : &no_list;
    const gt_value *runs = gt_settings_with(arena, &gt_value_missing, "successful_runs", *succeeded);
    runs = gt_settings_with(arena, runs, "failed_runs", *unsuccessful);
    runs = gt_settings_with(arena, runs, "total_runs", gt_value_int(succeeded->count + unsuccessful->count));
    if (!c->run.built) return runs;
    const gt_value *all =
        gt_settings_with(arena, &gt_value_missing, "build_phase", *gt_value_get(c->manifest, "summary"));
    all = gt_settings_with(arena, all, "run_phase", *runs);
    return gt_settings_with(arena, all, "overall_success",
                            gt_value_bool(!c->failed->count && !c->build.failed->count));
}

/* The record of a run of several models, next to the folders with the records of each; a job of a cluster
 * looks for it. One model has its own there, unless it did not begin. */
static void write_record(models_call *c, const gt_model_job *jobs)
{
    const gt_models_run *run = &c->run;
    const char *path = gt_path_join(run->arena, run->request->output_dir, "gputally_run.json");
    gt_error error;
    bool has_own = run->job_count == 1 && jobs[0].outcome.exit_code >= 0 && jobs[0].plan.record_path;
    if (run->dry_run || has_own) return;
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_json_put_cstr(&w, "name", run->job_count ? gt_model_file_name(run->arena, jobs[0].model) : "models");
    gt_json_put_cstr(&w, "status", c->failed->count ? "FAILURE" : "SUCCESS");
    gt_json_put_cstr(&w, "reason",
                     c->failed->count ? gt_settings_string(&c->failed->items[0], "error") : NULL);
    gt_json_put_open(&w, "models", '[');
    for (size_t i = 0; i < run->job_count; i++) {
        gt_json_open(&w, '{');
        gt_json_put_cstr(&w, "name", gt_model_text(jobs[i].model, "name"));
        gt_json_put_cstr(&w, "status", jobs[i].result.status);
        gt_json_put_cstr(&w, "reason", jobs[i].result.reason);
        gt_json_put_cstr(&w, "performance", jobs[i].result.performance);
        gt_json_put_cstr(&w, "metric", jobs[i].result.metric);
        gt_json_put_cstr(&w, "output_dir", jobs[i].plan.output_dir);
        gt_json_close(&w, '}');
    }
    gt_json_close(&w, ']');
    gt_json_close(&w, '}');
    gt_buffer_add_cstr(&w.text, "\n");
    gt_output *output = gt_output_new();
    if (!gt_path_make_folder(run->request->output_dir, &error) ||
        !gt_output_write_file(output, path, gt_buffer_str(&w.text), &error) ||
        !gt_output_commit(output, &error))
        gt_warn("%s", error.text);
    gt_output_free(output);
    gt_json_writer_free(&w);
}

static gt_exit finish(models_call *c)
{
    const char *path = text_of(c, "summary_output");
    if (c->run.dry_run) {
        gt_json_close(&c->run.plans, ']');
        puts(gt_buffer_str(&c->run.plans.text).bytes);
        gt_json_writer_free(&c->run.plans);
        return c->failed->count ? GT_EXIT_CONTEXT : GT_EXIT_DONE;
    }
    if (flag_of(c, "cleanup_perf")) gt_perf_remove_entries();
    if (path && !gt_manifest_write(summary_of(c), path, &c->error)) return failed(c, GT_EXIT_FAILED);
    const char *skipped = c->skipped ? gt_arena_format(c->run.arena, ", %u skipped", c->skipped) : "";
    gt_info("%u of %u models succeeded%s; table: %s", c->succeeded->count - c->skipped,
            c->succeeded->count + c->failed->count, skipped, c->run.perf_path);
    if (c->failed->count || c->run.files_failed) return GT_EXIT_RUN;
    return c->run.built && c->build.failed->count ? GT_EXIT_FAILED : GT_EXIT_DONE;
}

static gt_exit run_here(models_call *c)
{
    gt_arena *arena = c->run.arena;
    const gt_value *images = gt_value_get(c->manifest, "built_images");
    gt_model_job *jobs = gt_arena_alloc(arena, (images->count / 2 + 1) * sizeof *jobs);
    if (c->run.dry_run) gt_json_open(&c->run.plans, '[');
    c->run.job_count = choose_jobs(c, jobs);
    if (!c->run.host.gpus && c->run.job_count)
        gt_warn("no GPU found on this machine; models run without one");
    if (!c->run.job_count && !c->succeeded->count) {
        gt_fail(&c->error, "No compatible images for GPU vendor '%s' and architecture '%s'",
                c->run.host.vendor ? c->run.host.vendor : "NONE",
                c->run.host.architecture ? c->run.host.architecture : "unknown");
        gt_json_writer_free(&c->run.plans);
        return failed(c, GT_EXIT_RUN);
    }
    for (size_t i = 0; i < c->run.job_count; i++) {
        gt_run_one_model(&c->run, &jobs[i]);
        note_run(c, &jobs[i]);
        if (jobs[i].outcome.interrupted) /* the user wants to stop, not to go on with the next model */
            c->run.job_count = i + 1;
    }
    write_record(c, jobs);
    return finish(c);
}

/* ---- elsewhere ---- */

/* Options that only make sense where the user is. */
static void warn_local_options(const models_call *c)
{
    static const char *const names[] = {"keep_model_dir", "skip_model_run"};
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (flag_of(c, names[i])) gt_warn("--%s: only of local runs; ignored", names[i]);
}

static gt_exit run_elsewhere(models_call *c, const char *target)
{
    warn_local_options(c);
    if (strcmp(target, "k8s") == 0) return gt_run_models_on_kubernetes(&c->run, c->manifest);
    if (!c->manifest_path) {
        c->manifest_path = text_of(c, "manifest_output");
        if (!c->run.dry_run && !gt_manifest_write(c->manifest, c->manifest_path, &c->error))
            return failed(c, GT_EXIT_FAILED);
    }
    return gt_run_models_on_slurm(&c->run, c->manifest, c->manifest_path, text_of(c, "name"));
}

/* ---- the call ---- */

static bool read_arguments(models_call *c)
{
    const gt_option_value *tags = gt_arguments_value(&c->run.call->arguments, "tags");
    gt_models_run *run = &c->run;
    for (size_t i = 0; i < tags->text_count; i++) gt_tags_add(run->arena, tags->texts[i], &c->tags);
    run->request = &c->request;
    run->context = c->request.context;
    run->docker = gt_docker_program(run->arena);
    run->perf_path = text_of(c, "output");
    run->data_config = text_of(c, "data_config");
    run->mirror = text_of(c, "force_mirror_local");
    run->no_docker = flag_of(c, "no_docker");
    run->dry_run = flag_of(c, "dry_run");
    run->keep_alive = flag_of(c, "keep_alive");
    run->keep_model_dir = flag_of(c, "keep_model_dir");
    run->skip_model_run = flag_of(c, "skip_model_run");
    run->live_output = flag_of(c, "live_output");
    run->default_timeout =
        gt_arguments_int(&run->call->arguments, "timeout") == -1 && !gt_settings_has(run->context, "timeout");
    run->host = gt_host_find(run->arena, run->context);
    gt_models_start_nothing(run->dry_run);
    if (run->call->arguments.file_count)
        return gt_fail(&c->error, "--tags and --manifest_file: cannot be used together with a command");
    if (gt_run_repeats_wanted(run->call))
        return gt_fail(&c->error, "--repeat and --warmup: of commands, not of models; use -- bash SCRIPT");
    if (!run->perf_path) return gt_fail(&c->error, "--output: needs a file name");
    return gt_perf_check(run->arena, run->perf_path, &c->error) &&
           gt_credentials_load(run->arena, &run->credentials, &c->error);
}

/* What can be known before images are built, which takes long. */
static bool check_first(models_call *c)
{
    gt_plan plan;
    gt_arena *arena = c->run.arena;
    if (!gt_plan_check(arena, &c->request, &plan, &c->error)) return false;
    if (c->run.dry_run || !gt_disk_check(&plan, &c->error)) return c->run.dry_run;
    return strcmp(c->request.target, "slurm") != 0 || flag_of(c, "generate_only") ||
           gt_slurm_check_partition(arena, gt_value_get(c->run.context, "slurm"), &c->error);
}

gt_exit gt_run_models(const gt_call *call, gt_arena *arena, const gt_plan_request *request)
{
    models_call c = {.run = {.call = call, .arena = arena},
                     .request = *request,
                     .succeeded = &gt_value_missing,
                     .failed = &gt_value_missing};
    if (!read_arguments(&c) || !check_first(&c)) return failed(&c, GT_EXIT_CONTEXT);
    gt_exit status = find_manifest(&c);
    if (status != GT_EXIT_DONE) return status;
    c.run.context = gt_manifest_context(arena, c.manifest, c.run.context);
    const char *target = request->target, *wanted = text_of(&c, "target");
    if (strcmp(target, "local") == 0 && (!wanted || strcmp(wanted, "auto") == 0))
        target = gt_manifest_target(c.manifest);
    bool only_plans = c.run.dry_run && strcmp(target, "k8s") == 0; /* those of the pods are the same */
    return strcmp(target, "local") == 0 || only_plans ? run_here(&c) : run_elsewhere(&c, target);
}
