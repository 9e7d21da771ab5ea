/* Names of keys in a context. madengine accepts any key, because Dockerfiles may name their own ("#
 * CONTEXT"), and ignores those that it does not know; so a misspelt "tols" means a run without tools, which
 * is only noticed when it is over. Here a key that is nearly a known one is an error; another unknown one is
 * a warning. */
#include "base/log.h"
#include "compat/nearest.h"
#include "run/plan/context.h"

#include <string.h>

/* Every key that madengine or gputally reads. */
static const char *const known[] = {
    "MAD_CONTAINER_IMAGE",
    "MAD_ROCM_PATH",
    "cleanup_on_failure",
    "context",
    "ctx_test",
    "data",
    "debug",
    "deploy",
    "deployment_config",
    "distributed",
    "docker_build_arg",
    "docker_cpus",
    "docker_env_vars",
    "docker_gpus",
    "docker_mounts",
    "encapsulate_script",
    "env_vars",
    "gen_sys_env_details",
    "generate_sys_env_details",
    "gpu_count",
    "gpu_renderDs",
    "gpu_vendor",
    "gpus_per_node",
    "guest_os",
    "host_os",
    "k8s",
    "kubernetes",
    "launcher",
    "live_output",
    "log_error_benign_patterns",
    "log_error_pattern_scan",
    "log_error_patterns",
    "model_args",
    "monitor",
    "n_gpus",
    "ngpus",
    "num_gpus",
    "numa_balancing",
    "post_scripts",
    "pre_scripts",
    "rocenv_mode",
    "rocm_path",
    "session_start_row",
    "shared_data",
    "skip_perf_collection",
    "slurm",
    "timeout",
    "tools",
    "vllm",
};
static const char *const known_of_tools[] = {"name", "cmd", "env_vars", "pre_scripts", "post_scripts"};

enum { LONG_NAME = 6 }; /* characters: such a name may have two mistakes */

/* The known name that was meant; NULL: none. */
static const char *meant_by(const char *key, const char *const *names, size_t count)
{
    const char *nearest = gt_nearest(key, names, count);
    if (!nearest) return NULL;
    return gt_edit_distance(key, nearest) <= (strlen(key) < LONG_NAME ? 1 : 2) ? nearest : NULL;
}

static bool check_names(const gt_value *dict, const char *where, const char *const *names, size_t count,
                        gt_error *error)
{
    for (uint32_t i = 0; dict->type == GT_VALUE_DICT && i < dict->count; i += 2) {
        const char *key = dict->items[i].text.bytes;
        bool is_known = key[0] == '_'; /* a comment */
        for (size_t k = 0; !is_known && k < count; k++) is_known = strcmp(key, names[k]) == 0;
        if (is_known) continue;
        const char *meant = meant_by(key, names, count);
        if (meant)
            return gt_fail(error, "Invalid additional context: unknown key '%.200s'%s (did you mean '%s'?)",
                           key, where, meant);
        gt_warn("unknown key '%.200s'%s of the context: ignored", key, where);
    }
    return true;
}

bool gt_context_check_names(const gt_value *context, gt_error *error)
{
    const gt_value *tools = gt_value_get(context, "tools");
    if (!check_names(context, "", known, GT_LENGTH(known), error)) return false;
    for (uint32_t i = 0; gt_value_is_list(tools) && i < tools->count; i++)
        if (gt_settings_has(&tools->items[i], "name") && /* what is wrong with others is said elsewhere */
            !check_names(&tools->items[i], " in tools", known_of_tools, GT_LENGTH(known_of_tools), error))
            return false;
    return true;
}
