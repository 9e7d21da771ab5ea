/* build_manifest.json: which images were built for which models, and how they are to be run. The keys and
 * their order are madengine's, so that either program can run what the other has built. */
#include "run/models/models.h"
#include "output/file.h"
#include "run/plan/secrets.h"
#include "os/paths.h"

static const gt_value no_list = {.type = GT_VALUE_LIST}, no_dict = {.type = GT_VALUE_DICT};

static const gt_value *with(gt_arena *arena, const gt_value *dict, const char *key, const gt_value *value)
{
    return gt_settings_with(arena, dict, key, *value);
}

static gt_value or_else(const gt_value *value, gt_value otherwise)
{
    return value->type == GT_VALUE_MISSING ? otherwise : *value;
}

/* ---- parts ---- */

static const gt_value *copy_keys(gt_arena *arena, const gt_value *to, const gt_value *from,
                                 const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const gt_value *value = gt_value_get(from, keys[i]);
        if (value->type != GT_VALUE_MISSING) to = with(arena, to, keys[i], value);
    }
    return to;
}

static const char *const script_keys[] = {"tools", "pre_scripts", "post_scripts", "encapsulate_script"};

static const gt_value *stored_context(gt_arena *arena, const gt_value *context)
{
    static const char *const objects[] = {"docker_env_vars", "docker_mounts", "docker_build_arg"};
    static const char *const texts[] = {"gpu_vendor", "guest_os", "docker_gpus"};
    const gt_value *kept = &no_dict;
    for (size_t i = 0; i < GT_LENGTH(objects); i++)
        kept = gt_settings_with(arena, kept, objects[i], or_else(gt_value_get(context, objects[i]), no_dict));
    for (size_t i = 0; i < GT_LENGTH(texts); i++)
        kept = gt_settings_with(arena, kept, texts[i],
                                or_else(gt_value_get(context, texts[i]), gt_value_cstr("")));
    return copy_keys(arena, kept, context, script_keys, GT_LENGTH(script_keys));
}

static const char *target_of(const gt_value *context)
{
    const char *deploy = gt_settings_string(context, "deploy");
    if (deploy) return deploy;
    if (gt_settings_is_true(context, "slurm", false)) return "slurm";
    return gt_settings_is_true(context, "k8s", false) || gt_settings_is_true(context, "kubernetes", false)
               ? "k8s"
               : "local";
}

static const gt_value *without_key(gt_arena *arena, const gt_value *dict, const char *key)
{
    gt_value *items = gt_arena_alloc(arena, (dict->count + 1) * sizeof *items), *copy;
    uint32_t count = 0;
    for (uint32_t i = 0; dict->type == GT_VALUE_DICT && i < dict->count; i += 2) {
        if (gt_value_equals_cstr(&dict->items[i], key)) continue;
        items[count++] = dict->items[i];
        items[count++] = dict->items[i + 1];
    }
    copy = gt_arena_alloc(arena, sizeof *copy);
    *copy = (gt_value){.type = GT_VALUE_DICT, .count = count, .items = items};
    return copy;
}

static const gt_value *deployment(gt_arena *arena, const gt_value *context)
{
    static const char *const keys[] = {"slurm", "k8s", "kubernetes", "distributed", "vllm"};
    const gt_value *config = gt_settings_with_text(arena, &no_dict, "target", target_of(context));
    config = copy_keys(arena, config, context, keys, GT_LENGTH(keys));
    /* each process has its own MIOpen database */
    const gt_value *env = without_key(arena, gt_value_get(context, "env_vars"), "MIOPEN_USER_DB_PATH");
    config = with(arena, config, "env_vars", env);
    return gt_settings_with(arena, config, "debug",
                            gt_value_bool(gt_settings_is_true(context, "debug", false)));
}

static const gt_value *summary_of(gt_arena *arena, const gt_value *built, const gt_value *failed,
                                  gt_value total, const gt_value *pushed, const gt_value *failed_pushes)
{
    const gt_value *summary = with(arena, &no_dict, "successful_builds", built);
    summary = with(arena, summary, "failed_builds", failed);
    summary = gt_settings_with(arena, summary, "total_build_time", total);
    summary = with(arena, summary, "successful_pushes", pushed);
    return with(arena, summary, "failed_pushes", failed_pushes);
}

static const gt_value *credentials_of(gt_arena *arena, const gt_value *models)
{
    const gt_value *list = &no_list;
    for (uint32_t i = 0; i < models->count; i += 2) {
        const char *cred = gt_model_text(&models->items[i + 1], "cred");
        bool known = !*cred;
        for (uint32_t k = 0; k < list->count; k++)
            known = known || gt_value_equals_cstr(&list->items[k], cred);
        if (!known) list = gt_settings_push(arena, list, gt_settings_copy_string(arena, cred));
    }
    return list;
}

/* ---- manifests ---- */

const gt_value *gt_manifest_of_build(gt_arena *arena, const gt_value *context, const gt_build *build)
{
    const gt_value *manifest = with(arena, &no_dict, "built_images", build->images);
    manifest = with(arena, manifest, "built_models", build->models);
    manifest = with(arena, manifest, "context", stored_context(arena, context));
    manifest = with(arena, manifest, "credentials_required", credentials_of(arena, build->models));
    if (build->push_failures->count) manifest = with(arena, manifest, "push_failures", build->push_failures);
    gt_value total = build->total_s > 0 ? gt_value_float(build->total_s) : gt_value_int(0);
    manifest =
        with(arena, manifest, "summary",
             summary_of(arena, build->built, build->failed, total, build->pushed, build->push_failures));
    return with(arena, manifest, "deployment_config", deployment(arena, context));
}

const gt_value *gt_manifest_of_image(gt_arena *arena, const gt_value *context, const gt_value *models,
                                     const char *image)
{
    const gt_value *images = &no_dict, *kept = &no_dict;
    for (uint32_t i = 0; i < models->count; i++) {
        const gt_value *model = &models->items[i];
        const char *key = gt_arena_format(arena, "local-%s", gt_model_file_name(arena, model));
        const gt_value *info = gt_settings_with_text(arena, &no_dict, "docker_image", image ? image : "");
        info = gt_settings_with_text(arena, info, "dockerfile", "N/A (local image mode)");
        info = gt_settings_with_text(arena, info, "build_status", "SKIPPED");
        info = gt_settings_with(arena, info, "build_time", gt_value_int(0));
        info = gt_settings_with(arena, info, "local_image", gt_value_bool(true));
        info = gt_settings_with(arena, info, "registry_image", gt_value_none);
        images = with(arena, images, key, info);
        kept = with(arena, kept, key,
                    gt_settings_with_text(arena, model, "dockerfile", "N/A (local image mode)"));
    }
    const gt_value *manifest = with(arena, &no_dict, "built_images", images);
    manifest = with(arena, manifest, "built_models", kept);
    manifest = with(arena, manifest, "context", stored_context(arena, context));
    manifest = with(arena, manifest, "credentials_required", credentials_of(arena, kept));
    manifest = gt_settings_with(arena, manifest, "local_image_mode", gt_value_bool(true));
    manifest = gt_settings_with_text(arena, manifest, "local_image_name", image ? image : "");
    return with(arena, manifest, "deployment_config", deployment(arena, context));
}

/* Settings of the first model that the context does not have. */
static const gt_value *with_model_settings(gt_arena *arena, const gt_value *config, const gt_value *context,
                                           const gt_value *models)
{
    static const char *const keys[] = {"distributed", "slurm"};
    for (size_t i = 0; models->count && i < GT_LENGTH(keys); i++) {
        const gt_value *own = gt_value_get(&models->items[0], keys[i]);
        if (own->type != GT_VALUE_DICT || !own->count) continue;
        config = with(arena, config, keys[i], gt_settings_update(arena, own, gt_value_get(context, keys[i])));
        if (i == 1 && strcmp(target_of(context), "local") == 0 && !gt_settings_has(context, "deploy"))
            config = gt_settings_with_text(arena, config, "target", "slurm");
    }
    return config;
}

const gt_value *gt_manifest_of_prebuilt(gt_arena *arena, const gt_value *context, const gt_value *models,
                                        const char *image)
{
    const gt_value *images = &no_dict, *kept = &no_dict, *names = &no_list;
    for (uint32_t i = 0; i < models->count; i++) {
        const gt_value *model = &models->items[i];
        const char *name = gt_model_text(model, "name");
        const gt_value *info = gt_settings_with_text(arena, &no_dict, "image_name", image);
        info = gt_settings_with_text(arena, info, "docker_image", image);
        info = gt_settings_with(arena, info, "local_image", gt_value_bool(true));
        info = gt_settings_with_text(arena, info, "dockerfile", "");
        info = gt_settings_with(arena, info, "build_time", gt_value_int(0));
        info = gt_settings_with(arena, info, "prebuilt", gt_value_bool(true));
        images = with(arena, images, name, info);
        const gt_value *env =
            gt_settings_with_text(arena, gt_value_get(model, "env_vars"), "DOCKER_IMAGE_NAME", image);
        const gt_value *entry = gt_settings_with_text(arena, model, "image", image);
        entry = gt_settings_with_text(arena, entry, "docker_image", image);
        entry = with(arena, entry, "env_vars", env);
        entry = gt_settings_with(arena, entry, "prebuilt", gt_value_bool(true));
        kept = with(arena, kept, name, entry);
        names = gt_settings_push(arena, names, gt_settings_copy_string(arena, name));
    }
    const gt_value *manifest = with(arena, &no_dict, "built_images", images);
    manifest = with(arena, manifest, "built_models", kept);
    manifest = with(arena, manifest, "context", stored_context(arena, context));
    manifest = with(arena, manifest, "credentials_required", &no_list);
    manifest = with(arena, manifest, "summary",
                    summary_of(arena, names, &no_list, gt_value_int(0), &no_list, &no_list));
    return with(arena, manifest, "deployment_config",
                with_model_settings(arena, deployment(arena, context), context, models));
}

/* ---- batches ---- */

/* An entry of the batch that is not built: its image is in a registry already. */
static const gt_value *add_batch_entry(gt_arena *arena, const gt_value *manifest, const gt_value *context,
                                       const gt_value *entry, const gt_value *model, const char *registry)
{
    const char *name = gt_model_text(entry, "model_name"), *own = gt_model_text(entry, "registry_image"),
               *place = gt_model_text(entry, "registry");
    gt_arg_list files = {0};
    gt_dockerfile file = {.stem = "unknown"};
    gt_error ignored;
    if (gt_dockerfiles_find(arena, context, model, &files, &ignored))
        gt_dockerfile_read(arena, files.items[0], &file, &ignored);
    if (!*place) place = registry ? registry : "dockerhub";
    const char *image = gt_arena_format(arena, "ci-%s_%s", gt_model_file_name(arena, model), file.stem);
    const char *target = *own ? own
                         : registry || *gt_model_text(entry, "registry")
                             ? gt_arena_format(arena, "%s/%s", place, image)
                             : "";
    const gt_value *info = gt_settings_with_text(arena, &no_dict, "docker_image", image);
    info = gt_settings_with_text(arena, info, "dockerfile", gt_model_text(model, "dockerfile"));
    info = gt_settings_with_text(arena, info, "base_docker", "");
    info = gt_settings_with_text(arena, info, "docker_sha", "");
    info = gt_settings_with(arena, info, "build_duration", gt_value_int(0));
    info = gt_settings_with_text(arena, info, "build_command",
                                 gt_arena_format(arena, "# Skipped build for %s (build_new=false)", name));
    info = gt_settings_with_text(
        arena, info, "log_file",
        gt_arena_format(arena, "%s_%s.build.skipped.log", gt_model_file_name(arena, model), file.stem));
    info = gt_settings_with_text(arena, info, "registry_image", target);
    info = gt_settings_with_text(arena, info, "registry", place);
    const gt_value *images = gt_value_get(manifest, "built_images"),
                   *models = gt_value_get(manifest, "built_models");
    manifest = with(arena, manifest, "built_images", with(arena, images, image, info));
    return with(arena, manifest, "built_models", with(arena, models, image, model));
}

bool gt_manifest_add_batch(gt_arena *arena, const gt_value **manifest, const gt_value *context,
                           const gt_value *batch, const char *registry, gt_error *error)
{
    const gt_value *models;
    if (!gt_models_find(arena, &models, error)) return false;
    for (uint32_t i = 0; i < batch->count; i++) {
        const gt_value *entry = &batch->items[i], *selected;
        gt_arg_list tag = {0};
        if (gt_settings_is_true(entry, "build_new", false)) continue;
        gt_arg_list_add(arena, &tag, gt_model_text(entry, "model_name"));
        if (!gt_tags_select(arena, models, &tag, &selected, error)) return false;
        const gt_value *model = &selected->items[0];
        if (!gt_models_complete(arena, &model, error)) return false;
        *manifest = add_batch_entry(arena, *manifest, context, entry, model, registry);
    }
    return true;
}

const gt_value *gt_batch_read(gt_arena *arena, const char *path, gt_arg_list *tags, const gt_value **by_name,
                              gt_error *error)
{
    const gt_value *batch = gt_settings_read(arena, path, error);
    if (!batch) return NULL;
    if (!gt_value_is_list(batch))
        return gt_fail(error,
                       "Error processing batch manifest: Batch manifest must be a list of model objects"),
               NULL;
    *by_name = &no_dict;
    for (uint32_t i = 0; i < batch->count; i++) {
        const char *name = gt_settings_string(&batch->items[i], "model_name");
        if (batch->items[i].type != GT_VALUE_DICT)
            return gt_fail(error, "Error processing batch manifest: Model entry %u must be a dictionary", i),
                   NULL;
        if (!name)
            return gt_fail(
                       error,
                       "Error processing batch manifest: Model entry %u missing required 'model_name' field",
                       i),
                   NULL;
        if (!gt_settings_is_true(&batch->items[i], "build_new", false)) continue;
        gt_arg_list_add(arena, tags, name);
        *by_name = with(arena, *by_name, name, &batch->items[i]);
    }
    return batch;
}

/* ---- files ---- */

const gt_value *gt_manifest_read(gt_arena *arena, const char *path, gt_error *error)
{
    static const char *const required[] = {"built_images", "built_models"};
    const gt_value *manifest = gt_settings_read(arena, path, error);
    if (!manifest) return NULL;
    for (size_t i = 0; i < GT_LENGTH(required); i++)
        if (gt_value_get(manifest, required[i])->type != GT_VALUE_DICT)
            return gt_fail(error, "%.300s: not a build manifest: no object %s", path, required[i]), NULL;
    const gt_value *models = gt_value_get(manifest, "built_models");
    for (uint32_t i = 1; i < models->count; i += 2)
        if (models->items[i].type != GT_VALUE_DICT || !*gt_model_text(&models->items[i], "name"))
            return gt_fail(error, "%.300s: model %.200s has no name", path, models->items[i - 1].text.bytes),
                   NULL;
    return manifest;
}

/* Nodes of a job read the same manifest at the same time, so one that does not change is not written. */
static bool is_same_text(const char *path, gt_str text)
{
    gt_buffer there = {0};
    gt_error ignored;
    bool same = gt_path_is_file(path) && gt_read_small_file(path, text.len + 1, &there, &ignored) &&
                there.len == text.len && memcmp(there.bytes, text.bytes, text.len) == 0;
    gt_buffer_free(&there);
    return same;
}

/* Whether masking secrets changes the text of the manifest. */
static bool has_secrets(const gt_value *manifest, gt_str text)
{
    gt_arena arena = {0};
    gt_json_writer w = {0};
    gt_json_add_value(&w, gt_secrets_masked(&arena, &gt_value_missing, manifest));
    gt_buffer_add_cstr(&w.text, "\n");
    bool differs = w.text.len != text.len || memcmp(w.text.bytes, text.bytes, text.len) != 0;
    gt_json_writer_free(&w);
    gt_arena_free(&arena);
    return differs;
}

bool gt_manifest_write(const gt_value *manifest, const char *path, gt_error *error)
{
    gt_json_writer w = {0};
    gt_json_add_value(&w, manifest);
    gt_buffer_add_cstr(&w.text, "\n");
    gt_str text = gt_buffer_str(&w.text);
    bool ok = is_same_text(path, text);
    if (!ok) {
        /* the values are needed at run time, so they cannot be masked; only the owner may read them */
        gt_output *output = gt_output_new();
        if (has_secrets(manifest, text)) gt_output_set_private(output);
        ok = gt_output_write_file(output, path, text, error) && gt_output_commit(output, error);
        gt_output_free(output);
    }
    gt_json_writer_free(&w);
    return ok;
}

const gt_value *gt_manifest_merge(gt_arena *arena, const gt_value *manifest, const gt_value *given)
{
    static const char *const keys[] = {"deploy",      "slurm", "k8s",      "kubernetes",
                                       "distributed", "vllm",  "env_vars", "debug"};
    const gt_value *config = copy_keys(arena, gt_value_get(manifest, "deployment_config"), given, keys,
                                       GT_LENGTH(keys)),
                   *context = copy_keys(arena, gt_value_get(manifest, "context"), given, script_keys,
                                        GT_LENGTH(script_keys));
    if (config->type == GT_VALUE_DICT) manifest = with(arena, manifest, "deployment_config", config);
    return context->type == GT_VALUE_DICT ? with(arena, manifest, "context", context) : manifest;
}

const gt_value *gt_manifest_context(gt_arena *arena, const gt_value *manifest, const gt_value *given)
{
    static const char *const of_context[] = {
        "tools", "pre_scripts", "post_scripts", "encapsulate_script", "docker_gpus", "docker_mounts"};
    static const char *const of_images[] = {"gpu_vendor", "guest_os"}; /* what the images were built for */
    static const char *const of_deployment[] = {"slurm", "k8s",      "kubernetes", "distributed",
                                                "vllm",  "env_vars", "debug"};
    const gt_value *stored = gt_value_get(manifest, "context"),
                   *config = gt_value_get(manifest, "deployment_config");
    const gt_value *below = copy_keys(arena, &no_dict, stored, of_context, GT_LENGTH(of_context));
    below = copy_keys(arena, below, config, of_deployment, GT_LENGTH(of_deployment));
    if (gt_value_is_empty(gt_value_get(below, "docker_gpus")))
        below = without_key(arena, below, "docker_gpus");
    const gt_value *env = gt_settings_update(arena, gt_value_get(stored, "docker_env_vars"),
                                             gt_value_get(given, "docker_env_vars"));
    const gt_value *context = gt_settings_update(arena, below, given);
    for (size_t i = 0; i < GT_LENGTH(of_images); i++)
        if (*gt_model_text(stored, of_images[i]))
            context = copy_keys(arena, context, stored, &of_images[i], 1);
    return env->count ? with(arena, context, "docker_env_vars", env) : context;
}

const char *gt_manifest_target(const gt_value *manifest)
{
    const char *target = gt_settings_string(gt_value_get(manifest, "deployment_config"), "target");
    return target && strcmp(target, "docker") != 0 ? target : "local";
}
