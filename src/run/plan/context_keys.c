/* Names of keys in a context, and values that are wrong whatever the run. madengine accepts any key, because
 * Dockerfiles may name their own ("# CONTEXT"), and ignores those that it does not know; so a misspelt "tols"
 * means a run without tools, which is only noticed when it is over. Here a key that is nearly a known one is
 * an error; another unknown one is a warning. */
#include "compat/nearest.h"
#include "run/plan/context.h"

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

/* In `slurm`, `distributed` and `k8s`: what gputally reads, and what madengine reads or documents. */
static const char *const known_of_slurm[] = {
    "account",
    "allow_submit_without_clean_nodes",
    "auto_cleanup_nodes",
    "constraint",
    "cpus_per_task",
    "enable_node_check",
    "exclude",
    "exclusive",
    "gpu_count",
    "gpus_per_node",
    "mail_type",
    "mail_user",
    "mem",
    "modules",
    "n_gpus",
    "network_interface",
    "ngpus",
    "nodelist",
    "nodes",
    "num_gpus",
    "output_dir",
    "partition",
    "qos",
    "reservation",
    "results_dir",
    "shared_workspace",
    "time",
    "verbose_node_check",
};
static const char *const known_of_distributed[] = {
    "backend",        "enabled", "hostfile", "launcher",     "master_port",   "nnodes",
    "nproc_per_node", "port",    "primus",   "rdzv_backend", "sglang_disagg", "type",
};
static const char *const known_of_kubernetes[] = {
    "active_deadline_seconds",
    "allow_privileged_profiling",
    "backoff_limit",
    "context",
    "cpu",
    "cpu_limit",
    "cpu_request",
    "data_pvc",
    "data_storage_class",
    "data_storage_size",
    "gpu_count",
    "gpu_resource_name",
    "gpu_vendor",
    "gpus_per_node",
    "host_ipc",
    "image_pull_policy",
    "kubeconfig",
    "local_path_storage_class",
    "memory",
    "memory_limit",
    "memory_request",
    "multi_node_results_storage_class",
    "n_gpus",
    "namespace",
    "nfs_storage_class",
    "ngpus",
    "node_selector",
    "num_gpus",
    "output_dir",
    "pull_timeout",
    "recreate_shared_data_pvc",
    "results_image",
    "results_pvc",
    "results_size",
    "results_storage_size",
    "secrets",
    "service_account",
    "single_node_results_storage_class",
    "storage_class",
    "tolerations",
    "ttl_seconds_after_finished",
    "workdir",
};
static const struct {
    const char *key, *where, *const *names;
    size_t count;
} sections[] = {
    {"slurm", " in slurm", known_of_slurm, GT_LENGTH(known_of_slurm)},
    {"distributed", " in distributed", known_of_distributed, GT_LENGTH(known_of_distributed)},
    {"k8s", " in k8s", known_of_kubernetes, GT_LENGTH(known_of_kubernetes)},
    {"kubernetes", " in kubernetes", known_of_kubernetes, GT_LENGTH(known_of_kubernetes)},
};

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
    for (size_t i = 0; i < GT_LENGTH(sections); i++)
        if (!check_names(gt_value_get(context, sections[i].key), sections[i].where, sections[i].names,
                         sections[i].count, error))
            return false;
    return true;
}

/* ---- values ---- */

static const double longest_timeout_s = 1e9; /* 31 years */

static bool check_timeout(const gt_value *timeout, gt_error *error)
{
    if (timeout->type == GT_VALUE_MISSING || timeout->type == GT_VALUE_NONE) return true;
    double seconds = timeout->type == GT_VALUE_INT     ? (double)timeout->integer
                     : timeout->type == GT_VALUE_FLOAT ? timeout->number
                                                       : -2;
    return (seconds >= 0 && seconds <= longest_timeout_s) || seconds == -1 || /* as --timeout -1 */
           gt_fail(error, "Invalid additional context: key timeout must be a number of seconds between 0 "
                          "(none) and 1e9.");
}

static bool is_gpu_list(const char *list)
{
    for (const char *at = list; *at;) {
        char *end;
        at += strspn(at, " ");
        if (!isdigit((unsigned char)*at)) return false;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-' && isdigit((unsigned char)end[1])) last = strtoul(end + 1, &end, 10);
        end += strspn(end, " ");
        if ((*end && *end != ',') || last < first) return false;
        at = end + (*end == ',');
    }
    return true;
}

bool gt_context_check_values(const gt_value *context, gt_error *error)
{
    const char *gpus = gt_settings_string(context, "docker_gpus");
    if (gpus && strcmp(gpus, "all") != 0 && !is_gpu_list(gpus))
        return gt_fail(
            error, "docker_gpus: must be 'all' or comma-separated numbers and ranges (0,2-4), got '%.200s'",
            gpus);
    return check_timeout(gt_value_get(context, "timeout"), error);
}
