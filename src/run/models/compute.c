/* Images built by a SLURM job on a compute node and pushed to a registry, for clusters whose login nodes have
 * no docker. The job is a script in the current folder, which must be shared with the compute nodes. */
#include "run/models/models.h"
#include "os/child.h"
#include "os/paths.h"
#include "output/file.h"

static const char script_path[] = "madengine_build_job.sh";

typedef struct writer {
    gt_arena *arena;
    const gt_build_request *request;
    const gt_value *slurm;
    gt_buffer text;
    const gt_value *images, *models, *names, *pushed;
    gt_error *error;
} writer;

static void add_word(writer *w, const char *word)
{
    gt_shell_quote(&w->text, word);
    gt_buffer_add_cstr(&w->text, " ");
}

static bool add_directive(writer *w, const char *name, const char *value)
{
    for (const char *c = value; *c; c++)
        if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c) || strchr("'\"\\#", *c))
            return gt_fail(w->error, "slurm: %s: '%.200s' cannot be used in a job script", name, value);
    gt_buffer_add_format(&w->text, "#SBATCH --%s=%s\n", name, value);
    return true;
}

static bool add_start(writer *w)
{
    const char *partition = gt_settings_string(w->slurm, "partition"),
               *reservation = gt_settings_string(w->slurm, "reservation"),
               *time = gt_settings_string(w->slurm, "time");
    if (!partition || !*partition) return gt_fail(w->error, "Missing required SLURM field: partition");
    gt_buffer_add_cstr(&w->text, "#!/bin/bash\n");
    if (!add_directive(w, "job-name", "gputally-build") || !add_directive(w, "partition", partition) ||
        !add_directive(w, "nodes", "1") || !add_directive(w, "ntasks", "1") ||
        !add_directive(w, "time", time ? time : "02:00:00") ||
        (reservation && *reservation && !add_directive(w, "reservation", reservation)) ||
        !add_directive(w, "output", "madengine_build_%j.out") ||
        !add_directive(w, "error", "madengine_build_%j.err"))
        return false;
    gt_buffer_add_cstr(&w->text, "set -e\ncd ");
    gt_shell_quote(&w->text, gt_path_current(w->arena));
    gt_buffer_add_cstr(&w->text,
                       "\nDOCKER=${GPUTALLY_DOCKER:-$(command -v docker || command -v podman)}\n"
                       "if [ -n \"$MAD_DOCKERHUB_USER\" ] && [ -n \"$MAD_DOCKERHUB_PASSWORD\" ]; then\n"
                       "    printf %s \"$MAD_DOCKERHUB_PASSWORD\" | \"$DOCKER\" login ");
    size_t len = strcspn(w->request->registry, "/");
    add_word(w, gt_arena_bytes(w->arena, w->request->registry, len));
    gt_buffer_add_cstr(&w->text, "--username \"$MAD_DOCKERHUB_USER\" --password-stdin\nfi\n");
    return true;
}

/* "REGISTRY:MODEL" if the registry names a repository, otherwise "REGISTRY/MODEL:latest". */
static const char *target_of(writer *w, const char *name)
{
    const char *registry = w->request->registry;
    const char *path = strncmp(registry, "docker.io/", 10) == 0 ? registry + 10 : registry;
    return strchr(path, '/') ? gt_arena_format(w->arena, "%s:%s", registry, name)
                             : gt_arena_format(w->arena, "%s/%s:latest", registry, name);
}

static void describe(writer *w, const gt_value *model, const char *path, const char *local,
                     const char *target)
{
    gt_arena *arena = w->arena;
    const char *name = gt_model_text(model, "name");
    const gt_value *info = gt_settings_with_text(arena, &gt_value_missing, "image_name", target);
    info = gt_settings_with_text(arena, info, "docker_image", target);
    info = gt_settings_with_text(arena, info, "local_image", local);
    info = gt_settings_with_text(arena, info, "dockerfile", path);
    info = gt_settings_with(arena, info, "build_time", gt_value_int(0));
    info = gt_settings_with(arena, info, "built_on_compute", gt_value_bool(true));
    info = gt_settings_with_text(arena, info, "registry", w->request->registry);
    w->images = gt_settings_with(arena, w->images, name, *info);
    const gt_value *env =
        gt_settings_with_text(arena, gt_value_get(model, "env_vars"), "DOCKER_IMAGE_NAME", target);
    const gt_value *entry = gt_settings_with_text(arena, gt_settings_with_text(arena, model, "image", target),
                                                  "docker_image", target);
    entry = gt_settings_with(arena, entry, "slurm", *w->slurm);
    entry = gt_settings_with(arena, entry, "env_vars", *env);
    entry = gt_settings_with(arena, entry, "built_on_compute", gt_value_bool(true));
    w->models = gt_settings_with(arena, w->models, name, *entry);
    w->names = gt_settings_push(arena, w->names, gt_settings_copy_string(arena, name));
    w->pushed = gt_settings_push(arena, w->pushed, gt_settings_copy_string(arena, target));
}

static bool add_model(writer *w, const gt_value *model)
{
    gt_arg_list files = {0};
    gt_dockerfile file;
    const char *name = gt_model_file_name(w->arena, model);
    const char *own = gt_model_text(model, "dockercontext");
    const gt_value *arguments = gt_value_get(w->request->context, "docker_build_arg");
    if (!gt_dockerfiles_find(w->arena, w->request->context, model, &files, w->error) ||
        !gt_dockerfile_read(w->arena, files.items[0], &file, w->error))
        return false;
    char *target = (char *)target_of(w, name); /* made there; names of repositories have no capitals */
    for (char *c = target; *c; c++) *c = (char)tolower((unsigned char)*c);
    const char *local = gt_image_name(w->arena, model, file.stem, NULL);
    gt_buffer_add_cstr(&w->text, "\"$DOCKER\" build --network=host ");
    if (w->request->clean_cache) add_word(w, "--no-cache");
    for (uint32_t i = 0; arguments->type == GT_VALUE_DICT && i < arguments->count; i += 2) {
        add_word(w, "--build-arg");
        add_word(w, gt_arena_format(w->arena, "%s=%s", arguments->items[i].text.bytes,
                                    gt_settings_print(w->arena, &arguments->items[i + 1])));
    }
    const char *words[] = {"-t", local, "--pull", "-f", file.path, *own ? own : "./docker"};
    for (size_t i = 0; i < GT_LENGTH(words); i++) add_word(w, words[i]);
    gt_buffer_add_cstr(&w->text, "\n\"$DOCKER\" tag ");
    add_word(w, local);
    add_word(w, target);
    gt_buffer_add_cstr(&w->text, "\n\"$DOCKER\" push ");
    add_word(w, target);
    gt_buffer_add_cstr(&w->text, "\n");
    describe(w, model, file.path, local, target);
    return true;
}

static bool write_script(writer *w)
{
    gt_output *output = gt_output_new();
    bool ok = gt_output_write_file(output, script_path, gt_buffer_str(&w->text), w->error) &&
              gt_output_commit(output, w->error);
    gt_output_free(output);
    return ok &&
           (chmod(script_path, 0755) == 0 || gt_fail(w->error, "%s: cannot make executable", script_path));
}

/* sbatch passes the environment on, so user and password need not be in the script. */
static bool submit(writer *w)
{
    const char *in_job[] = {"srun", "-N1", "--ntasks=1", "bash", script_path, NULL},
               *outside[] = {"sbatch", "--wait", script_path, NULL};
    const char *const *argv = getenv("SLURM_JOB_ID") ? in_job : outside;
    const gt_value *hub = gt_value_get(w->request->credentials, "dockerhub");
    const char *user = gt_settings_string(hub, "username"), *password = gt_settings_string(hub, "password");
    if (user && password) {
        setenv("MAD_DOCKERHUB_USER", user, 1);
        setenv("MAD_DOCKERHUB_PASSWORD", password, 1);
    }
    if (!gt_path_search(w->arena, argv[0], getenv("PATH")))
        return gt_fail(w->error, "%s not found in PATH; %s is written", argv[0], script_path);
    gt_info("building on a compute node: %s %s", argv[0], script_path);
    gt_child_setup setup = {.argv = argv};
    gt_child_result result;
    return gt_child_run(&setup, &result, w->error) &&
           (result.exit_code == 0 ||
            gt_fail(w->error,
                    "Build on compute node failed with exit code %d; see madengine_build_*.out and .err",
                    result.exit_code));
}

static const gt_value *manifest_of(writer *w, const gt_value *models)
{
    static const gt_value no_list = {.type = GT_VALUE_LIST};
    gt_arena *arena = w->arena;
    gt_build build = {.images = w->images,
                      .models = w->models,
                      .built = w->names,
                      .failed = &no_list,
                      .pushed = w->pushed,
                      .push_failures = &no_list};
    const gt_value *manifest = gt_manifest_of_build(arena, w->request->context, &build);
    const gt_value *config = gt_value_get(manifest, "deployment_config"),
                   *distributed = gt_value_get(&models->items[0], "distributed");
    config = gt_settings_with_text(arena, config, "target", "slurm");
    config = gt_settings_with(arena, config, "slurm", *w->slurm);
    if (distributed->type == GT_VALUE_DICT && !gt_settings_has(config, "distributed"))
        config = gt_settings_with(arena, config, "distributed", *distributed);
    return gt_settings_with(arena, manifest, "deployment_config", *config);
}

bool gt_compute_build(gt_arena *arena, const gt_build_request *request, const gt_value *models,
                      const gt_value **manifest, bool *is_setting, gt_error *error)
{
    static const gt_value no_list = {.type = GT_VALUE_LIST}, no_dict = {.type = GT_VALUE_DICT};
    writer w = {.arena = arena,
                .request = request,
                .images = &no_dict,
                .models = &no_dict,
                .names = &no_list,
                .pushed = &no_list,
                .error = error};
    w.slurm = gt_settings_update(arena, gt_value_get(&models->items[0], "slurm"),
                                 gt_value_get(request->context, "slurm"));
    bool ok = add_start(&w);
    for (uint32_t i = 0; ok && i < models->count; i++) ok = add_model(&w, &models->items[i]);
    *is_setting = !ok;
    ok = ok && write_script(&w) && submit(&w);
    gt_buffer_free(&w.text);
    if (ok) *manifest = manifest_of(&w, models);
    return ok;
}
