/* Registries: credentials of credential.json, logging in, and the names of images in a registry. */
#include "run/models/models.h"
#include "os/child.h"

#include <unistd.h>

bool gt_credentials_load(gt_arena *arena, const gt_value **credentials, gt_error *error)
{
    const gt_value *loaded = &gt_value_missing;
    if (access("credential.json", F_OK) == 0) {
        loaded = gt_settings_read(arena, "credential.json", error);
        if (!loaded) return false;
        if (loaded->type != GT_VALUE_DICT)
            return gt_fail(error, "credential.json: must contain a JSON object");
    }
    const char *user = getenv("MAD_DOCKERHUB_USER"), *password = getenv("MAD_DOCKERHUB_PASSWORD"),
               *repository = getenv("MAD_DOCKERHUB_REPO");
    if (user && *user && password && *password) {
        const gt_value *hub = gt_settings_with_text(arena, &gt_value_missing, "username", user);
        hub = gt_settings_with_text(arena, hub, "password", password);
        if (repository && *repository) hub = gt_settings_with_text(arena, hub, "repository", repository);
        loaded = gt_settings_with(arena, loaded, "dockerhub", *hub);
    }
    *credentials = loaded;
    return true;
}

bool gt_credentials_variables(gt_arena *arena, const gt_value *credentials, const gt_value *model,
                              const gt_value **variables, gt_error *error)
{
    const char *cred = gt_model_text(model, "cred");
    if (!*cred || credentials->type != GT_VALUE_DICT) return true;
    const gt_value *entry = gt_value_get(credentials, cred);
    if (entry->type == GT_VALUE_MISSING)
        return gt_fail(error, "Credentials(%.200s) not found for model %.200s", cred,
                       gt_model_text(model, "name"));
    for (uint32_t i = 0; entry->type == GT_VALUE_DICT && i < entry->count; i += 2) {
        char *name = gt_arena_format(arena, "%s_%s", cred, entry->items[i].text.bytes);
        for (char *c = name + strlen(cred); *c; c++) *c = (char)toupper((unsigned char)*c);
        for (char *c = name; *c; c++) /* a variable must have a name that a shell accepts */
            if (!isalnum((unsigned char)*c)) *c = '_';
        *variables =
            gt_settings_with_text(arena, *variables, name, gt_settings_print(arena, &entry->items[i + 1]));
    }
    return true;
}

static bool is_hub(const char *registry)
{
    return strcasecmp(registry, "docker.io") == 0 || strcasecmp(registry, "dockerhub") == 0;
}

const char *gt_registry_image(gt_arena *arena, const char *image, const char *registry,
                              const gt_value *credentials)
{
    bool hub = is_hub(registry);
    const char *repository =
        gt_settings_string(gt_value_get(credentials, hub ? "dockerhub" : registry), "repository");
    if (hub) return repository ? gt_arena_format(arena, "%s:%s", repository, image) : image;
    return repository ? gt_arena_format(arena, "%s/%s:%s", registry, repository, image)
                      : gt_arena_format(arena, "%s/%s", registry, image);
}

bool gt_registry_login(gt_arena *arena, const char *docker, const char *registry, const gt_value *credentials,
                       gt_error *error)
{
    bool hub = is_hub(registry);
    const gt_value *entry = gt_value_get(credentials, hub ? "dockerhub" : registry);
    const char *user = gt_settings_string(entry, "username"),
               *password = gt_settings_string(entry, "password");
    if (credentials->type != GT_VALUE_DICT || entry->type == GT_VALUE_MISSING)
        return true; /* a registry without login, or docker has logged in before */
    if (!user || !password)
        return gt_fail(error, "credential.json: %.200s must have username and password",
                       hub ? "dockerhub" : registry);
    /* The password goes through the environment, which other users cannot see. */
    gt_buffer line = {0};
    gt_buffer_add_cstr(&line, "printf %s \"$GPUTALLY_REGISTRY_PASSWORD\" | ");
    gt_shell_quote(&line, docker);
    gt_buffer_add_cstr(&line, " login ");
    if (!hub) {
        gt_shell_quote(&line, registry);
        gt_buffer_add_cstr(&line, " ");
    }
    gt_buffer_add_cstr(&line, "--password-stdin --username ");
    gt_shell_quote(&line, user);
    const char *argv[] = {"bash", "-c", gt_buffer_move(&line, arena), NULL};
    setenv("GPUTALLY_REGISTRY_PASSWORD", password, 1);
    gt_child_setup setup = {.argv = argv, .timeout_s = 120};
    gt_child_result result;
    bool ok = gt_child_run(&setup, &result, error);
    unsetenv("GPUTALLY_REGISTRY_PASSWORD");
    return ok && (result.exit_code == 0 || gt_fail(error, "cannot log in to registry %.200s", registry));
}
