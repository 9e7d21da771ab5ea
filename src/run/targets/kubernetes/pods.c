/* Objects with pods: the job, whose pods run `gputally run --target local`, and the pod through which results
 * are fetched. */
#include "run/targets/kubernetes/parts.h"

/* After SIGTERM, a profiler writes its trace. */
enum { GRACE_S = 120 };

static bool is_secret(const gt_kube_writer *w, const char *name)
{
    for (size_t i = 0; i < w->secrets.count; i++)
        if (strcmp(w->secrets.items[i], name) == 0) return true;
    return false;
}

/* ---- container ---- */

static void put_resources(gt_kube_writer *w)
{
    bool is_amd = gt_value_equals_cstr(gt_value_get(w->settings, "gpu_vendor"), "AMD");
    const char *own = gt_kube_setting(w, "gpu_resource_name");
    const char *key = gt_kube_quoted_key(w, own ? own : is_amd ? "amd.com/gpu" : "nvidia.com/gpu");
    static const char *const parts[][3] = {{"requests:", "memory", "cpu"},
                                           {"limits:", "memory_limit", "cpu_limit"}};
    char gpus[32];
    snprintf(gpus, sizeof gpus, "%" PRId64, w->gpus);
    gt_kube_put(w, 8, "resources:", NULL);
    for (size_t i = 0; i < GT_LENGTH(parts); i++) {
        gt_kube_put(w, 10, parts[i][0], NULL);
        gt_kube_put(w, 12, key, gpus);
        gt_kube_put(w, 12, "memory:", gt_kube_setting(w, parts[i][1]));
        gt_kube_put(w, 12, "cpu:", gt_kube_setting(w, parts[i][2]));
    }
}

static void put_secret_variables(gt_kube_writer *w)
{
    for (size_t i = 0; i < w->secrets.count; i++) {
        gt_kube_put(w, 8, "- name:", w->secrets.items[i]);
        gt_kube_put(w, 10, "valueFrom:", NULL);
        gt_kube_put(w, 12, "secretKeyRef:", NULL);
        gt_kube_put(w, 14, "name:", gt_kube_named(w, "-secrets"));
        gt_kube_put(w, 14, "key:", w->secrets.items[i]);
    }
}

static void put_variables(gt_kube_writer *w)
{
    const gt_value *env = gt_value_get(w->settings, "env_vars");
    gt_kube_put(w, 8, "env:", NULL);
    for (uint32_t i = 0; env->type == GT_VALUE_DICT && i < env->count; i += 2) {
        const char *name = env->items[i].text.bytes;
        if (env->items[i + 1].type == GT_VALUE_NONE || is_secret(w, name)) continue;
        gt_kube_put(w, 8, "- name:", name);
        gt_kube_put(w, 10, "value:", gt_settings_print(w->plan->arena, &env->items[i + 1]));
    }
    put_secret_variables(w);
    gt_kube_put(w, 8, "- name:", "GPUTALLY_POD");
    gt_kube_put(w, 10, "valueFrom: {fieldRef: {fieldPath: metadata.name}}", NULL);
}

static void put_mount(gt_kube_writer *w, const char *name, const char *path)
{
    gt_kube_put(w, 8, "- name:", name);
    gt_kube_put(w, 10, "mountPath:", path);
}

static void put_security(gt_kube_writer *w)
{
    const gt_value *allowed = gt_value_get(w->k8s, "allow_privileged_profiling");
    bool is_given = allowed->type != GT_VALUE_MISSING && allowed->type != GT_VALUE_NONE;
    if (!gt_value_get(w->settings, "tools")->count || (is_given && gt_value_is_empty(allowed))) return;
    gt_kube_put(w, 8, "securityContext:", NULL);
    gt_kube_put(w, 10, "capabilities:", NULL);
    gt_kube_put(w, 12, "add: [\"SYS_PTRACE\"]", NULL);
    gt_kube_put(w, 10, "seccompProfile:", NULL);
    gt_kube_put(w, 12, "type:", "Unconfined");
}

static void put_container(gt_kube_writer *w)
{
    gt_kube_put(w, 6, "containers:", NULL);
    gt_kube_put(w, 6, "- name:", "gputally");
    gt_kube_put(w, 8, "image:", w->request->image);
    gt_kube_put(w, 8, "imagePullPolicy:", gt_kube_setting(w, "image_pull_policy"));
    if (gt_kube_setting(w, "workdir")) gt_kube_put(w, 8, "workingDir:", gt_kube_setting(w, "workdir"));
    gt_kube_put(w, 8, "command: [\"/bin/bash\", \"-c\"]", NULL);
    gt_kube_put(w, 8, "args:", NULL);
    gt_kube_put_block(w, 8, "-", w->script);
    put_resources(w);
    put_variables(w);
    put_security(w);
    gt_kube_put(w, 8, "volumeMounts:", NULL);
    put_mount(w, "config", "/config");
    gt_kube_put(w, 10, "readOnly: true", NULL);
    put_mount(w, "shm", "/dev/shm");
    put_mount(w, "results", "/results");
    if (gt_kube_setting(w, "data_pvc")) put_mount(w, "data", "/data");
}

/* ---- where pods run ---- */

static void put_place(gt_kube_writer *w, int indent)
{
    const gt_value *selector = gt_value_get(w->k8s, "node_selector");
    const gt_value *tolerations = gt_value_get(w->k8s, "tolerations");
    const gt_value *pull = gt_value_get(gt_value_get(w->k8s, "secrets"), "image_pull_secret_names");
    if (selector->type == GT_VALUE_DICT && selector->count) {
        gt_kube_put(w, indent, "nodeSelector:", NULL);
        for (uint32_t i = 0; i < selector->count; i += 2)
            gt_kube_put(w, indent + 2, gt_kube_quoted_key(w, selector->items[i].text.bytes),
                        gt_settings_print(w->plan->arena, &selector->items[i + 1]));
    }
    if (gt_value_is_list(tolerations) && tolerations->count)
        gt_kube_put_json(w, indent, "tolerations:", tolerations);
    if (!gt_value_is_list(pull) || !pull->count) return;
    gt_kube_put(w, indent, "imagePullSecrets:", NULL);
    for (uint32_t i = 0; i < pull->count; i++)
        gt_kube_put(w, indent, "- name:", gt_settings_print(w->plan->arena, &pull->items[i]));
}

static void put_claim_volume(gt_kube_writer *w, int indent, const char *name, const char *claim)
{
    gt_kube_put(w, indent, "- name:", name);
    gt_kube_put(w, indent + 2, "persistentVolumeClaim:", NULL);
    gt_kube_put(w, indent + 4, "claimName:", claim);
}

/* ---- job ---- */

/* A command that fails is not repeated unless the context asks for that: gputally ends with 1 to 4 then, and
 * bash with 126 or 127 if the image has no gputally. Pods that are evicted or lost are repeated. */
static void put_failure_policy(gt_kube_writer *w)
{
    const gt_value *own = gt_value_get(w->plan->context, "k8s");
    if (own->type == GT_VALUE_MISSING) own = gt_value_get(w->plan->context, "kubernetes");
    if (gt_settings_has(own, "backoff_limit")) return;
    gt_kube_put(w, 2, "podFailurePolicy:", NULL);
    gt_kube_put(w, 4, "rules:", NULL);
    gt_kube_put(w, 4, "- action:", "FailJob");
    gt_kube_put(w, 6, "onExitCodes:", NULL);
    gt_kube_put(w, 8, "containerName:", "gputally");
    gt_kube_put(w, 8, "operator:", "In");
    gt_kube_put(w, 8, "values: [1, 2, 3, 4, 126, 127]", NULL);
}

static void put_limits(gt_kube_writer *w)
{
    int64_t deadline_s = gt_settings_int(w->k8s, "active_deadline_seconds", 0);
    int64_t kept_s = gt_settings_int(w->k8s, "ttl_seconds_after_finished", -1);
    gt_kube_put_number(w, 2, "completions:", w->nodes);
    gt_kube_put_number(w, 2, "parallelism:", w->nodes);
    gt_kube_put(w, 2, "completionMode:", "Indexed");
    gt_kube_put_number(w, 2, "backoffLimit:", gt_settings_int(w->k8s, "backoff_limit", 3));
    if (deadline_s > 0) gt_kube_put_number(w, 2, "activeDeadlineSeconds:", deadline_s);
    if (kept_s >= 0) gt_kube_put_number(w, 2, "ttlSecondsAfterFinished:", kept_s);
    put_failure_policy(w);
}

void gt_kube_put_job(gt_kube_writer *w)
{
    gt_kube_begin(w, "batch/v1", "Job", w->job->name);
    gt_kube_put(w, 0, "spec:", NULL);
    put_limits(w);
    gt_kube_put(w, 2, "template:", NULL);
    gt_kube_put(w, 4, "metadata:", NULL);
    gt_kube_put(w, 6, "labels:", NULL);
    gt_kube_put(w, 8, "app:", "gputally");
    gt_kube_put(w, 8, "job-name:", w->job->name);
    gt_kube_put(w, 8, "gputally-run:", w->job->id);
    gt_kube_put(w, 4, "spec:", NULL);
    if (w->nodes > 1) gt_kube_put(w, 6, "subdomain:", w->job->name);
    gt_kube_put(w, 6, "restartPolicy:", "Never");
    gt_kube_put_number(w, 6, "terminationGracePeriodSeconds:", GRACE_S);
    if (gt_settings_is_true(w->k8s, "host_ipc", false)) gt_kube_put(w, 6, "hostIPC: true", NULL);
    put_place(w, 6);
    put_container(w);
    gt_kube_put(w, 6, "volumes:", NULL);
    gt_kube_put(w, 6, "- name: shm", NULL);
    gt_kube_put(w, 8, "emptyDir:", NULL);
    gt_kube_put(w, 10, "medium:", "Memory");
    gt_kube_put(w, 10, "sizeLimit:", "16Gi");
    gt_kube_put(w, 6, "- name: config", NULL);
    gt_kube_put(w, 8, "configMap:", NULL);
    gt_kube_put(w, 10, "name:", gt_kube_named(w, "-config"));
    put_claim_volume(w, 6, "results", w->job->claim);
    if (gt_kube_setting(w, "data_pvc")) put_claim_volume(w, 6, "data", gt_kube_setting(w, "data_pvc"));
}

/* ---- script of a pod ---- */

/* A pod that is started again for the same node keeps the results of the one before under another name. */
static void add_folder(gt_kube_writer *w, gt_buffer *script)
{
    gt_buffer_add_format(script, "GPUTALLY_RESULTS=/results/%s/node_$NODE_RANK\n", w->job->name);
    gt_buffer_add_cstr(script, "if [ -e \"$GPUTALLY_RESULTS\" ]; then n=1; while [ -e "
                               "\"${GPUTALLY_RESULTS}_attempt_$n\" ]; do n=$((n + 1)); done; "
                               "mv \"$GPUTALLY_RESULTS\" \"${GPUTALLY_RESULTS}_attempt_$n\"; fi\n"
                               "mkdir -p \"$GPUTALLY_RESULTS\" || exit 1\n");
}

bool gt_kube_make_script(gt_kube_writer *w, gt_error *error)
{
    gt_buffer script = {0};
    gt_buffer_add_cstr(&script,
                       "export NODE_RANK=${JOB_COMPLETION_INDEX:-0} RANK=${JOB_COMPLETION_INDEX:-0}\n");
    if (w->nodes > 1)
        gt_buffer_add_format(&script, "export MASTER_ADDR=%s-0.%s", w->job->name, w->job->name);
    else
        gt_buffer_add_cstr(&script, "export MASTER_ADDR=localhost");
    gt_buffer_add_format(&script, " MASTER_PORT=%" PRId64 "\n", w->distributed.port);
    gt_buffer_add_cstr(&script, "export MAD_DEPLOYMENT_TYPE=k8s MAD_NODE_RANK=$NODE_RANK\n");
    bool ok = gt_distributed_export(&w->distributed, w->settings, &script, error);
    add_folder(w, &script);
    gt_buffer_add_cstr(&script, "exec gputally run --target local --no_docker --additional_context_file "
                                "/config/context.json --output_dir \"$GPUTALLY_RESULTS\" ");
    if (w->request->tools_file) gt_buffer_add_cstr(&script, "--tools_config /config/tools.json ");
    gt_shell_join(&script, w->request->run_options, w->request->run_option_count);
    gt_buffer_add_cstr(&script, " -- ");
    gt_buffer_add_cstr(&script, w->plan->command_line);
    w->script = gt_arena_bytes(w->plan->arena, script.bytes, script.len);
    gt_buffer_free(&script);
    return ok;
}

/* ---- pod for the results ---- */

static void put_preference(gt_kube_writer *w, const char *node)
{
    gt_kube_put(w, 2, "affinity:", NULL);
    gt_kube_put(w, 4, "nodeAffinity:", NULL);
    gt_kube_put(w, 6, "preferredDuringSchedulingIgnoredDuringExecution:", NULL);
    gt_kube_put(w, 6, "- weight: 100", NULL);
    gt_kube_put(w, 8, "preference:", NULL);
    gt_kube_put(w, 10, "matchFields:", NULL);
    gt_kube_put(w, 10, "- key:", "metadata.name");
    gt_kube_put(w, 12, "operator:", "In");
    gt_kube_put(w, 12, "values:", NULL);
    gt_kube_put(w, 12, "-", node);
}

void gt_kube_put_collector(gt_kube_writer *w, const char *node)
{
    const char *image = gt_kube_setting(w, "results_image");
    gt_kube_begin(w, "v1", "Pod", gt_kube_named(w, "-results"));
    gt_kube_put(w, 0, "spec:", NULL);
    gt_kube_put(w, 2, "restartPolicy:", "Never");
    gt_kube_put_number(w, 2, "terminationGracePeriodSeconds:", 0);
    put_place(w, 2);
    if (node) put_preference(w, node);
    gt_kube_put(w, 2, "containers:", NULL);
    gt_kube_put(w, 2, "- name:", "results");
    gt_kube_put(w, 4, "image:", image ? image : w->job->image);
    gt_kube_put(w, 4, "imagePullPolicy:", "IfNotPresent");
    gt_kube_put(w, 4, "command: [\"/bin/sh\", \"-c\", \"sleep 86400\"]", NULL);
    gt_kube_put(w, 4, "resources:", NULL);
    gt_kube_put(w, 6, "requests: {cpu: 100m, memory: 128Mi}", NULL);
    gt_kube_put(w, 6, "limits: {cpu: \"2\", memory: 1Gi}", NULL);
    gt_kube_put(w, 4, "volumeMounts:", NULL);
    gt_kube_put(w, 4, "- name:", "results");
    gt_kube_put(w, 6, "mountPath:", "/results");
    gt_kube_put(w, 2, "volumes:", NULL);
    put_claim_volume(w, 2, "results", w->job->claim);
}
