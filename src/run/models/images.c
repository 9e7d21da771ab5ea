/* Builds the images of models with docker or podman, pushes them to a registry, and finds the image of a run.
 *
 * An image that fails does not stop the others; what was built and what failed goes into the manifest. */
#include "run/models/models.h"
#include "os/child.h"
#include "os/paths.h"
#include "run/plan/secrets.h"

static const double inspect_timeout_s = 60;

/* ---- asking docker ---- */

static bool ask_docker(const char *const *argv, gt_buffer *text)
{
    return gt_child_ask((gt_child_setup){.argv = argv, .timeout_s = inspect_timeout_s}, text);
}

/* The digest of the base image in its registry; "" if it cannot be found. */
static const char *digest_of(gt_arena *arena, const char *docker, const char *image)
{
    gt_buffer text = {0};
    const char *digest = "";
    const char *argv[] = {docker, "manifest", "inspect", image, NULL};
    if (*image && *image != '-' && ask_docker(argv, &text)) {
        const char *at = strstr(text.bytes, "\"digest\""), *from = at ? strchr(at + 8, '"') : NULL;
        const char *to = from ? strchr(from + 1, '"') : NULL;
        if (to) digest = gt_arena_bytes(arena, from + 1, (size_t)(to - from - 1));
    }
    gt_buffer_free(&text);
    return digest;
}

bool gt_image_is_local(const char *docker, const char *image)
{
    gt_buffer text = {0};
    bool found = ask_docker((const char *[]){docker, "image", "inspect", image, NULL}, &text);
    gt_buffer_free(&text);
    return found;
}

bool gt_image_pull(const char *docker, const char *image, gt_error *error)
{
    const char *argv[] = {docker, "pull", image, NULL};
    gt_child_setup setup = {.argv = argv};
    gt_child_result result;
    gt_info("pulling %s", image);
    return gt_child_run(&setup, &result, error) &&
           (result.exit_code == 0 || gt_fail(error, "cannot pull %.300s", image));
}

/* ---- one image ---- */

typedef struct builder {
    gt_arena *arena;
    const gt_build_request *request;
    gt_build *build;
    const char *docker;
    const gt_value *model, *variables; /* variables: values of build arguments that only docker may see */
    gt_dockerfile file;
    const char *architecture; /* of --target_archs; NULL: none */
    const char *image;
} builder;

const char *gt_image_name(gt_arena *arena, const gt_value *model, const char *stem, const char *architecture)
{
    char *name = (char *)gt_model_file_name(arena, model); /* made there */
    for (char *c = name; *c; c++) *c = (char)tolower((unsigned char)*c);
    return gt_arena_format(arena, "ci-%s_%s%s%s", name, stem, architecture ? "_" : "",
                           architecture ? architecture : "");
}

static const char *build_folder(const gt_value *model)
{
    const char *own = gt_model_text(model, "dockercontext");
    if (*own) return own;
    return strcasestr(gt_model_text(model, "dockerfile"), "primus") ? "." : "./docker";
}

static void build_words(builder *b, gt_arg_list *words)
{
    gt_arena *arena = b->arena;
    const gt_value *arguments = gt_value_get(b->request->context, "docker_build_arg");
    const char *start[] = {b->docker, "build", b->request->clean_cache ? "--no-cache" : NULL,
                           "--network=host"};
    for (size_t i = 0; i < GT_LENGTH(start); i++)
        if (start[i]) gt_arg_list_add(arena, words, start[i]);
    if (gt_path_is_folder("docker/common")) {
        gt_arg_list_add(arena, words, "--build-context");
        gt_arg_list_add(arena, words, "tools=docker/common");
    }
    const char *names[] = {"-t", b->image, "--pull", "-f", b->file.path};
    for (size_t i = 0; i < GT_LENGTH(names); i++) gt_arg_list_add(arena, words, names[i]);
    for (uint32_t i = 0; arguments->type == GT_VALUE_DICT && i < arguments->count; i += 2) {
        const char *name = arguments->items[i].text.bytes;
        if (gt_settings_has(b->variables, name)) continue;
        gt_arg_list_add(arena, words, "--build-arg");
        gt_arg_list_add(
            arena, words,
            gt_arena_format(arena, "%s=%s", name, gt_settings_print(arena, &arguments->items[i + 1])));
    }
    for (uint32_t i = 0; i < b->variables->count; i += 2) { /* docker takes the value from its environment */
        gt_arg_list_add(arena, words, "--build-arg");
        gt_arg_list_add(arena, words, b->variables->items[i].text.bytes);
    }
    if (b->architecture) {
        gt_arg_list_add(arena, words, "--build-arg");
        gt_arg_list_add(arena, words,
                        gt_arena_format(arena, "MAD_SYSTEM_GPU_ARCHITECTURE=%s", b->architecture));
    }
    gt_arg_list_add(arena, words, build_folder(b->model));
    gt_arg_list_add(arena, words, ""); /* space for the terminating NULL */
    words->items[--words->count] = NULL;
}

static const char *joined(gt_arena *arena, const gt_arg_list *words)
{
    gt_buffer line = {0};
    gt_shell_join(&line, words->items, words->count);
    return gt_buffer_move(&line, arena);
}

static bool run_build(builder *b, const gt_arg_list *words, const char *log, double *seconds, gt_error *error)
{
    for (uint32_t i = 0; i < b->variables->count; i += 2)
        setenv(b->variables->items[i].text.bytes, b->variables->items[i + 1].text.bytes, 1);
    gt_child_setup setup = {.argv = words->items, .log_path = log, .silent = !b->request->live_output};
    gt_child_result result = {0};
    bool ok = gt_child_run(&setup, &result, error);
    for (uint32_t i = 0; i < b->variables->count; i += 2) unsetenv(b->variables->items[i].text.bytes);
    *seconds = result.seconds;
    if (ok && result.interrupted) {
        b->build->interrupted = true;
        return gt_fail(error, "interrupted");
    }
    return ok && (result.exit_code == 0 ||
                  gt_fail(error, "%.300s: the build failed with exit status %d; see %.300s", b->file.path,
                          result.exit_code, log));
}

/* Tags and pushes; a failure is recorded and does not make the build fail. */
static const gt_value *push_image(builder *b, const gt_value *info)
{
    gt_arena *arena = b->arena;
    const gt_value *entry = gt_value_get(b->request->batch, gt_model_text(b->model, "name"));
    const char *own = gt_settings_string(entry, "registry_image"), *registry = b->request->registry;
    const char *target =
        own && *own ? own : gt_registry_image(arena, b->image, registry, b->request->credentials);
    gt_error error;
    gt_child_result result = {0};
    bool ok = gt_registry_login(arena, b->docker, registry, b->request->credentials, &error);
    const char *tag[] = {b->docker, "tag", b->image, target, NULL},
               *push[] = {b->docker, "push", target, NULL};
    const char *const *steps[] = {tag, push};
    for (size_t i = strcmp(target, b->image) == 0; ok && i < GT_LENGTH(steps); i++) {
        gt_child_setup setup = {.argv = steps[i], .silent = !b->request->live_output};
        ok =
            gt_child_run(&setup, &result, &error) &&
            (result.exit_code == 0 || gt_fail(&error, "%s %s %.300s: exit status %d", gt_path_name(b->docker),
                                              steps[i][1], target, result.exit_code));
    }
    gt_build *build = b->build;
    if (ok) {
        build->pushed = gt_settings_push(arena, build->pushed, gt_settings_copy_string(arena, target));
        info = gt_settings_with_text(arena, info, "registry", registry);
        gt_info("pushed %s", target);
        return gt_settings_with_text(arena, info, "registry_image", target);
    }
    gt_warn("%s: %s", b->image, error.text);
    const gt_value *failure = gt_settings_with_text(arena, &gt_value_missing, "image", b->image);
    failure = gt_settings_with_text(arena, failure, "intended_registry_image", target);
    failure = gt_settings_with_text(arena, failure, "error", error.text);
    build->push_failures = gt_settings_push(arena, build->push_failures, *failure);
    info = gt_settings_with_text(arena, info, "registry", registry);
    return gt_settings_with_text(arena, info, "push_error", error.text);
}

static const gt_value *describe_image(builder *b, const gt_arg_list *words, const char *log, double seconds)
{
    gt_arena *arena = b->arena;
    const gt_value *arguments = gt_value_get(b->request->context, "docker_build_arg");
    const char *base = gt_settings_string(arguments, "BASE_DOCKER"),
               *architecture = gt_settings_string(arguments, "MAD_SYSTEM_GPU_ARCHITECTURE");
    if (!base) base = b->file.base;
    if (b->architecture) architecture = b->architecture;
    if (!architecture) architecture = b->file.architecture;
    const gt_value *info =
        gt_settings_with_text(arena, &gt_value_missing, "model", gt_model_text(b->model, "name"));
    info = gt_settings_with_text(arena, info, "docker_image", b->image);
    info = gt_settings_with_text(arena, info, "dockerfile", b->file.path);
    info = gt_settings_with_text(arena, info, "base_docker", base);
    info = gt_settings_with_text(arena, info, "docker_sha", digest_of(arena, b->docker, base));
    info = gt_settings_with(arena, info, "build_duration", gt_value_float(seconds));
    info = gt_settings_with_text(arena, info, "build_command", joined(arena, words));
    info = gt_settings_with_text(arena, info, "log_file", log);
    info = gt_settings_with_text(arena, info, "gpu_vendor", b->file.vendor);
    return architecture ? gt_settings_with_text(arena, info, "gpu_architecture", architecture) : info;
}

/* The name in the registry, for jobs whose nodes pull the image. */
static const gt_value *model_with_image(gt_arena *arena, const gt_value *model, const gt_value *info)
{
    const char *image = gt_settings_string(info, "registry_image");
    if (!image) return model;
    const gt_value *env =
        gt_settings_with_text(arena, gt_value_get(model, "env_vars"), "DOCKER_IMAGE_NAME", image);
    return gt_settings_with(arena, model, "env_vars", *env);
}

static bool build_image(builder *b, const char *path, gt_error *error)
{
    gt_arena *arena = b->arena;
    gt_arg_list words = {0};
    double seconds;
    b->variables = gt_settings_update(arena, &gt_value_missing, &gt_value_missing);
    if (!gt_dockerfile_read(arena, path, &b->file, error) ||
        !gt_credentials_variables(arena, b->request->credentials, b->model, &b->variables, error))
        return false;
    const gt_value *arguments = gt_value_get(b->request->context, "docker_build_arg");
    for (uint32_t i = 0; arguments->type == GT_VALUE_DICT && i < arguments->count; i += 2)
        if (gt_secret_is_name(arguments->items[i].text.bytes))
            b->variables = gt_settings_with_text(arena, b->variables, arguments->items[i].text.bytes,
                                                 gt_settings_print(arena, &arguments->items[i + 1]));
    b->image = gt_image_name(arena, b->model, b->file.stem, b->architecture);
    const char *log =
        gt_arena_format(arena, "%s_%s.build.live.log", gt_model_file_name(arena, b->model), b->file.stem);
    gt_info("building %s from %s; log: %s", b->image, path, log);
    build_words(b, &words);
    if (!run_build(b, &words, log, &seconds, error)) return false;
    const gt_value *info = describe_image(b, &words, log, seconds);
    if (b->request->registry) info = push_image(b, info);
    gt_build *build = b->build;
    build->total_s += seconds;
    build->built = gt_settings_push(arena, build->built, *info);
    build->images = gt_settings_with(arena, build->images, b->image, *info);
    build->models =
        gt_settings_with(arena, build->models, b->image, *model_with_image(arena, b->model, info));
    return true;
}

/* ---- all images ---- */

static void note_failure(builder *b, const char *reason)
{
    gt_arena *arena = b->arena;
    const gt_value *failure =
        gt_settings_with_text(arena, &gt_value_missing, "model", gt_model_text(b->model, "name"));
    if (b->architecture) failure = gt_settings_with_text(arena, failure, "architecture", b->architecture);
    failure = gt_settings_with_text(arena, failure, "error", reason);
    b->build->failed = gt_settings_push(arena, b->build->failed, *failure);
    gt_warn("%s: no image: %s", gt_model_text(b->model, "name"), reason);
}

static void build_model(builder *b, const gt_arg_list *files)
{
    gt_error error;
    for (size_t i = 0; i < files->count && !b->build->interrupted; i++)
        if (!build_image(b, files->items[i], &error)) note_failure(b, error.text);
}

bool gt_images_build(gt_arena *arena, const gt_build_request *request, const gt_value *models,
                     gt_build *build, gt_error *error)
{
    static const gt_value no_list = {.type = GT_VALUE_LIST}, no_dict = {.type = GT_VALUE_DICT};
    *build = (gt_build){.images = &no_dict,
                        .models = &no_dict,
                        .built = &no_list,
                        .failed = &no_list,
                        .pushed = &no_list,
                        .push_failures = &no_list};
    builder b = {.arena = arena, .request = request, .build = build, .docker = gt_docker_program(arena)};
    if (!b.docker)
        return gt_fail(error,
                       "neither docker nor podman found in PATH; models can also run without a container "
                       "(gputally run --no_docker)");
    bool fixed =
        gt_settings_has(gt_value_get(request->context, "docker_build_arg"), "MAD_SYSTEM_GPU_ARCHITECTURE");
    if (fixed && request->architectures.count)
        gt_warn("--target_archs: not used, because docker_build_arg has MAD_SYSTEM_GPU_ARCHITECTURE");
    for (uint32_t i = 0; i < models->count && !build->interrupted; i++) {
        gt_arg_list files = {0};
        gt_error reason;
        b.model = &models->items[i];
        b.architecture = NULL;
        if (!gt_dockerfiles_find(arena, request->context, b.model, &files, &reason))
            note_failure(&b, reason.text);
        else if (fixed || !request->architectures.count)
            build_model(&b, &files);
        else
            for (size_t a = 0; a < request->architectures.count && !build->interrupted; a++) {
                b.architecture = request->architectures.items[a];
                build_model(&b, &files);
            }
    }
    return !build->interrupted || gt_fail(error, "interrupted");
}
