/* Actions: scripts of the user are run, those that tools are known to name are done here. */
#include "run/execute/actions.h"
#include "base/length.h"
#include "base/log.h"
#include "os/child.h"
#include "os/paths.h"
#include "run/execute/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double script_timeout_s = 600;

extern char **environ;

static bool is_replaced(const gt_value *env, const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (uint32_t i = 0; i < env->count; i += 2)
        if (env->items[i].text.len == len && memcmp(env->items[i].text.bytes, entry, len) == 0) return true;
    return false;
}

const char *const *gt_plan_environment(const gt_plan *plan)
{
    size_t count = 0, own = 0;
    while (environ[own]) own++;
    const char **list = gt_arena_alloc(plan->arena, (own + plan->env->count / 2 + 1) * sizeof *list);
    for (size_t i = 0; i < own; i++)
        if (!is_replaced(plan->env, environ[i])) list[count++] = environ[i];
    for (uint32_t i = 0; i < plan->env->count; i += 2) {
        const gt_value *pair = &plan->env->items[i];
        list[count++] = gt_arena_format(plan->arena, "%s=%s", pair[0].text.bytes, pair[1].text.bytes);
    }
    list[count] = NULL;
    return list;
}

/* bash PATH ARGS, as the context's author wrote them. */
static bool run_script(const gt_plan *plan, const gt_action *action, gt_error *error)
{
    gt_buffer line = {0};
    gt_buffer_add_cstr(&line, "bash ");
    gt_shell_quote(&line, action->path);
    gt_buffer_add_cstr(&line, " ");
    gt_buffer_add_cstr(&line, action->args);
    const char *argv[] = {"bash", "-c", gt_buffer_str(&line).bytes, NULL};
    gt_child_setup setup = {.argv = argv,
                            .environment = gt_plan_environment(plan),
                            .directory = plan->workdir,
                            .log_path = plan->log_path,
                            .log_append = true,
                            .timeout_s = script_timeout_s};
    gt_child_result result;
    bool sound = gt_child_run(&setup, &result, error);
    if (sound && result.timed_out)
        sound = gt_fail(error, "%s: ran longer than %g s", action->path, script_timeout_s);
    if (sound && result.exit_code)
        sound = gt_fail(error, "%s: ended with status %d", action->path, result.exit_code);
    gt_buffer_free(&line);
    return sound;
}

/* TheRock's ROCm comes as a Python package or a folder with a manifest of its own. */
static bool check_therock(const gt_plan *plan)
{
    const char *rocm = getenv("ROCM_PATH");
    const char *roots[] = {rocm && *rocm ? rocm : "/opt/rocm", "/opt/rocm", "/usr/local"};
    const char *found = gt_path_search(plan->arena, "rocm-sdk", getenv("PATH"));
    for (size_t i = 0; !found && i < GT_LENGTH(roots); i++) {
        const char *manifest = gt_path_join(plan->arena, roots[i], "share/therock/therock_manifest.json");
        if (access(manifest, F_OK) == 0) found = manifest;
    }
    if (found)
        gt_info("ROCm of TheRock found: %s", found);
    else
        gt_info("no ROCm of TheRock found");
    return true;
}

bool gt_action_do(const gt_plan *plan, const gt_action *action, gt_error *error)
{
    switch (action->kind) {
    case GT_ACTION_SCRIPT:
        return run_script(plan, action, error);
    case GT_ACTION_ECHO:
        puts(action->args);
        fflush(stdout);
        return true;
    case GT_ACTION_ENVIRONMENT:
        return gt_snapshot_write(plan, error);
    case GT_ACTION_THEROCK:
        return check_therock(plan);
    default:
        return true; /* stages of their own, and collecting */
    }
}
