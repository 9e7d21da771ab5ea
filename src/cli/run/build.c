/* `gputally build`: builds the images of models and writes build_manifest.json. */
#include "cli/commands/commands.h"
#include "cli/run/run.h"
#include "run/models/models.h"
#include "run/targets/slurm_job.h"

static const gt_option options[] = {
    {"tags", GT_OPTION_EACH, "TAGS", NULL,
     "build the models that these tags select (comma-separated; repeatable)"},
    {"batch_manifest", GT_OPTION_STRING, "FILE", NULL,
     "read which models to build, and into which registries, from a list in FILE"},
    {"target_archs", GT_OPTION_EACH, "NAMES", NULL,
     "build one image per GPU architecture (comma-separated; repeatable), such as gfx90a,gfx942",
     .choices = "gfx90a|gfx942|gfx950|gfx1100|gfx1101|gfx1200|gfx1201|"},
    {"use_image", GT_OPTION_STRING, "IMAGE", NULL,
     "build nothing and write a manifest for this image; auto: DOCKER_IMAGE_NAME of the model's env_vars",
     .choices = "auto|"},
    {"build_on_compute", GT_OPTION_FLAG, NULL, NULL,
     "build in a SLURM job on a compute node, and push to the registry"},
    {"registry", GT_OPTION_STRING, "HOST", NULL, "push the images to this registry"},
    {"clean_docker_cache", GT_OPTION_FLAG, NULL, NULL, "build without docker's cache"},
    {"manifest_output", GT_OPTION_STRING, "FILE", "build_manifest.json", "write the manifest to FILE"},
    {"summary_output", GT_OPTION_STRING, "FILE", NULL, "write a summary of the builds to FILE"},
    {"live_output", GT_OPTION_FLAG, NULL, NULL, "show the output of docker, which otherwise is only logged"},
    {"verbose", GT_OPTION_FLAG, NULL, NULL, "print more", .unused = "the build's log has everything"},
};
static const gt_option_group group = {"Images", options, GT_LENGTH(options)};

static const gt_option context_options[] = {
    {"additional_context_file", GT_OPTION_STRING, "FILE", NULL, "read the context (a JSON object) from FILE"},
    {"additional_context", GT_OPTION_STRING, "TEXT", NULL, "set the context as JSON or Python literal"},
};
static const gt_option_group context_group = {"Context", context_options, GT_LENGTH(context_options)};

static const gt_short_option short_options[] = {
    {'t', "tags"},
    {'a', "target_archs"},
    {'r', "registry"},
    {'c', "additional_context"},
    {'f', "additional_context_file"},
    {'m', "manifest_output"},
    {'s', "summary_output"},
    {'l', "live_output"},
    {'v', "verbose"},
    {0},
};

const gt_syntax gt_build_syntax = {
    .groups = {&group, &context_group, &gt_messages_group},
    .main_options = {"tags", "registry", "additional_context", "manifest_output"},
    .files = "",
    .output_option = "manifest_output",
    .short_options = short_options,
};

static const char *text_of(const gt_call *call, const char *name)
{
    return gt_arguments_string(&call->arguments, name);
}

/* Options that exclude each other, with the sentences of madengine. */
static bool check_options(const gt_call *call, const gt_arg_list *tags, gt_error *error)
{
    const char *context = text_of(call, "additional_context");
    bool compute = gt_arguments_flag(&call->arguments, "build_on_compute");
    if (text_of(call, "batch_manifest") && tags->count)
        return gt_fail(error, "Error: Cannot specify both --batch-manifest and --tags options");
    if (text_of(call, "additional_context_file") && context && strcmp(context, "{}") != 0)
        return gt_fail(
            error, "Error: Cannot specify both --additional-context-file and --additional-context options");
    if (text_of(call, "use_image") && text_of(call, "registry"))
        return gt_fail(error, "Error: Cannot specify both --use-image and --registry options");
    if (text_of(call, "use_image") && compute)
        return gt_fail(error, "Error: Cannot specify both --use-image and --build-on-compute options");
    if (compute && !text_of(call, "registry"))
        return gt_fail(error, "Error: --build-on-compute requires --registry option");
    return true;
}

typedef struct build_call {
    const gt_call *call;
    gt_arena *arena;
    gt_build_request request;
    gt_arg_list tags;
    const gt_value *batch; /* MISSING: none */
    const char *output;
    gt_error error;
} build_call;

static gt_exit failed(const build_call *b, gt_exit status)
{
    fprintf(stderr, "gputally: %s\n", b->error.text);
    return status;
}

/* DOCKER_IMAGE_NAME of the first model that has one. */
static const char *image_of_models(const gt_value *models)
{
    for (uint32_t i = 0; i < models->count; i++) {
        const char *image =
            gt_settings_string(gt_value_get(&models->items[i], "env_vars"), "DOCKER_IMAGE_NAME");
        if (image) return image;
    }
    return NULL;
}

static bool write_summary(build_call *b, const gt_value *manifest)
{
    const char *path = text_of(b->call, "summary_output");
    return !path || gt_manifest_write(gt_value_get(manifest, "summary"), path, &b->error);
}

static gt_exit finish(build_call *b, const gt_value *manifest, bool all_built)
{
    if (!gt_manifest_write(manifest, b->output, &b->error) || !write_summary(b, manifest))
        return failed(b, GT_EXIT_FAILED);
    gt_info("manifest: %s", b->output);
    return all_built ? GT_EXIT_DONE : GT_EXIT_BUILD;
}

static gt_exit use_image(build_call *b, const gt_value *models, const char *image)
{
    if (strcmp(image, "auto") == 0 && !(image = image_of_models(models))) {
        gt_fail(&b->error, "No DOCKER_IMAGE_NAME found in model card env_vars");
        return failed(b, GT_EXIT_CONTEXT);
    }
    return finish(b, gt_manifest_of_prebuilt(b->arena, b->request.context, models, image), true);
}

static gt_exit build_here(build_call *b, const gt_value *models)
{
    gt_build build;
    if (!gt_images_build(b->arena, &b->request, models, &build, &b->error))
        return failed(b, build.interrupted ? GT_EXIT_FAILED : GT_EXIT_BUILD);
    const gt_value *manifest = gt_manifest_of_build(b->arena, b->request.context, &build);
    if (b->batch->type != GT_VALUE_MISSING &&
        !gt_manifest_add_batch(b->arena, &manifest, b->request.context, b->batch, b->request.registry,
                               &b->error))
        return failed(b, GT_EXIT_BUILD);
    if (build.failed->count)
        fprintf(stderr, "gputally: %u of %u images failed\n", build.failed->count,
                build.failed->count + build.built->count);
    return finish(b, manifest, !build.failed->count);
}

static gt_exit build_on_compute(build_call *b, const gt_value *models)
{
    const gt_value *manifest;
    bool is_setting;
    if (!gt_compute_build(b->arena, &b->request, models, &manifest, &is_setting, &b->error))
        return failed(b, is_setting ? GT_EXIT_CONTEXT : GT_EXIT_BUILD);
    return finish(b, manifest, true);
}

static bool read_arguments(build_call *b)
{
    const gt_call *call = b->call;
    const gt_option_value *tags = gt_arguments_value(&call->arguments, "tags"),
                          *archs = gt_arguments_value(&call->arguments, "target_archs");
    const char *batch = text_of(call, "batch_manifest");
    for (size_t i = 0; i < tags->text_count; i++) gt_tags_add(b->arena, tags->texts[i], &b->tags);
    for (size_t i = 0; i < archs->text_count; i++)
        gt_tags_add(b->arena, archs->texts[i], &b->request.architectures);
    if (!check_options(call, &b->tags, &b->error)) return false;
    b->output = text_of(call, "manifest_output");
    b->batch = b->request.batch = &gt_value_missing;
    b->request.registry = text_of(call, "registry");
    b->request.clean_cache = gt_arguments_flag(&call->arguments, "clean_docker_cache");
    b->request.live_output = gt_arguments_flag(&call->arguments, "live_output");
    if (batch) b->batch = gt_batch_read(b->arena, batch, &b->tags, &b->request.batch, &b->error);
    if (!b->batch || !gt_run_check_deployment(b->request.context = gt_context_load(
                                                  b->arena, text_of(call, "additional_context_file"),
                                                  text_of(call, "additional_context"), &b->error),
                                              &b->error))
        return false;
    gt_stack stack; /* a misspelt tool is found before images are built for it */
    if (!gt_stack_build(b->arena, b->request.context, &gt_value_missing, &stack, &b->error)) return false;
    if (gt_arguments_flag(&call->arguments, "build_on_compute") &&
        !gt_slurm_check_partition(b->arena, gt_value_get(b->request.context, "slurm"), &b->error))
        return false;
    return gt_credentials_load(b->arena, &b->request.credentials, &b->error);
}

static gt_exit build_with(const gt_call *call, gt_arena *arena)
{
    build_call b = {.call = call, .arena = arena};
    const char *image = text_of(call, "use_image");
    const gt_value *models;
    if (!read_arguments(&b)) return gt_run_context_error(&b.error);
    if (!b.tags.count && b.batch->type == GT_VALUE_MISSING) {
        gt_fail(&b.error, "No models discovered; name them with --tags");
        return failed(&b, GT_EXIT_FAILED);
    }
    if (!gt_models_load(arena, &b.tags, &models, &b.error)) return failed(&b, GT_EXIT_BUILD);
    if (image) return use_image(&b, models, image);
    return gt_arguments_flag(&call->arguments, "build_on_compute") ? build_on_compute(&b, models)
                                                                   : build_here(&b, models);
}

gt_exit gt_cmd_build(const gt_call *call)
{
    gt_arena arena = {0};
    gt_log_quiet(gt_arguments_flag(&call->arguments, "quiet"));
    gt_exit status = build_with(call, &arena);
    gt_arena_free(&arena);
    return status;
}
