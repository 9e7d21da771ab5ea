/* Kubernetes: makes the YAML file with the objects of a run (targets.h lists them), line by line. gputally
 * does not submit it. Every value from a context is written as a quoted JSON string, which is valid YAML too,
 * so a value cannot change the structure of the file. */
#include "run/targets/targets.h"
#include "base/memory.h"
#include "json/string.h"
#include "os/paths.h"
#include "run/plan/context.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG_MAX_BYTES = 1000000, NAME_MAX_LETTERS = 50 };

/* Defaults under the settings of the context, as in madengine: for every job, then for one or several GPUs,
 * then for several nodes. A later object overrides an earlier one. */
static const char defaults[] = "{\"k8s\": {\"namespace\": \"default\", \"image_pull_policy\": \"Always\", "
                               "\"backoff_limit\": 3, \"results_size\": \"10Gi\"}, "
                               "\"env_vars\": {\"OMP_NUM_THREADS\": \"8\"}}";
static const char one_gpu[] =
    "{\"k8s\": {\"memory\": \"16Gi\", \"memory_limit\": \"32Gi\", \"cpu\": \"8\", \"cpu_limit\": \"16\"}}";
static const char many_gpus[] =
    "{\"k8s\": {\"memory\": \"64Gi\", \"memory_limit\": \"128Gi\", \"cpu\": \"16\", \"cpu_limit\": \"32\"}, "
    "\"env_vars\": {\"NCCL_DEBUG\": \"WARN\", \"NCCL_IB_DISABLE\": \"1\", \"NCCL_SOCKET_IFNAME\": \"eth0\", "
    "\"TORCH_NCCL_HIGH_PRIORITY\": \"1\", \"GPU_MAX_HW_QUEUES\": \"2\", \"HSA_ENABLE_SDMA\": \"0\", "
    "\"MIOPEN_FIND_MODE\": \"1\", "
    "\"MIOPEN_USER_DB_PATH\": \"/tmp/.miopen\", \"HSA_FORCE_FINE_GRAIN_PCIE\": \"1\", "
    "\"RCCL_ENABLE_HIPGRAPH\": \"0\"}}";
static const char many_nodes[] =
    "{\"k8s\": {\"host_ipc\": true}, \"env_vars\": {\"NCCL_DEBUG_SUBSYS\": \"INIT,NET\", "
    "\"TORCH_NCCL_ASYNC_ERROR_HANDLING\": \"1\", \"NCCL_TIMEOUT\": \"600\"}}";

typedef struct writer {
    const gt_plan *plan;
    const gt_value *settings, *k8s;
    const char *image, *name; /* name of the objects */
    const char *script;       /* script that a pod runs */
    int64_t nodes, gpus;
    gt_distributed distributed;
    gt_buffer *text, scratch;
} writer;

/* Adds a line: indentation, key, and the value as a quoted string, if any. */
static void put(writer *w, int indent, const char *key, const char *value)
{
    for (int i = 0; i < indent; i++) gt_buffer_add_cstr(w->text, " ");
    gt_buffer_add_cstr(w->text, key);
    if (value) {
        gt_buffer_add_cstr(w->text, " ");
        gt_json_string_add(w->text, (gt_str){value, strlen(value)}, &w->scratch);
    }
    gt_buffer_add_cstr(w->text, "\n");
}

static bool is_plain(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((iscntrl((unsigned char)*c) && *c != '\n') || (c == text && isspace((unsigned char)*c)))
            return false;
    return gt_utf8_is_valid((gt_str){text, strlen(text)});
}

/* Adds a string of several lines, as a block if YAML allows it. */
static void put_block(writer *w, int indent, const char *key, const char *value)
{
    if (!is_plain(value)) {
        put(w, indent, key, value);
        return;
    }
    put(w, indent, gt_arena_format(w->plan->arena, "%s |-", key), NULL);
    for (const char *line = value; *line; line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        put(w, len ? indent + 2 : 0, gt_arena_bytes(w->plan->arena, line, len), NULL);
        line += len;
    }
}

static void put_number(writer *w, int indent, const char *key, int64_t value)
{
    char line[128];
    snprintf(line, sizeof line, "%s %" PRId64, key, value);
    put(w, indent, line, NULL);
}

static const char *setting(writer *w, const char *key)
{
    const gt_value *value = gt_value_get(w->k8s, key);
    return gt_value_is_empty(value) ? NULL : gt_settings_print(w->plan->arena, value);
}

static const char *named(writer *w, const char *ending)
{
    return gt_arena_format(w->plan->arena, "%s%s", w->name, ending);
}

static void begin_object(writer *w, const char *version, const char *kind, const char *name)
{
    if (w->text->len) put(w, 0, "---", NULL);
    put(w, 0, "apiVersion:", version);
    put(w, 0, "kind:", kind);
    put(w, 0, "metadata:", NULL);
    put(w, 2, "name:", name);
    put(w, 2, "namespace:", setting(w, "namespace"));
    put(w, 2, "labels:", NULL);
    put(w, 4, "app:", "gputally");
}

/* ---- small objects ---- */

static void put_claim(writer *w)
{
    begin_object(w, "v1", "PersistentVolumeClaim", named(w, "-results"));
    put(w, 0, "spec:", NULL);
    put(w, 2, "accessModes:", NULL);
    put(w, 4, "-", w->nodes > 1 ? "ReadWriteMany" : "ReadWriteOnce");
    put(w, 2, "resources:", NULL);
    put(w, 4, "requests:", NULL);
    put(w, 6, "storage:", setting(w, "results_size"));
    if (setting(w, "storage_class")) put(w, 2, "storageClassName:", setting(w, "storage_class"));
}

static bool put_config(writer *w, gt_error *error)
{
    gt_json_writer json = {0};
    gt_json_add_value(&json, w->plan->context);
    bool fits = json.text.len <= CONFIG_MAX_BYTES;
    begin_object(w, "v1", "ConfigMap", named(w, "-config"));
    put(w, 0, "data:", NULL);
    put_block(w, 2, "context.json:", gt_buffer_str(&json.text).bytes);
    gt_json_writer_free(&json);
    return fits || gt_fail(error, "the context is too large for a ConfigMap");
}

static void put_service(writer *w)
{
    begin_object(w, "v1", "Service", w->name);
    put(w, 0, "spec:", NULL);
    put(w, 2, "clusterIP:", "None");
    put(w, 2, "selector:", NULL);
    put(w, 4, "job-name:", w->name);
    put(w, 2, "ports:", NULL);
    put(w, 2, "- name:", "master");
    put_number(w, 4, "port:", w->distributed.port);
}

/* ---- job ---- */

static void put_resources(writer *w)
{
    bool is_amd = gt_value_equals_cstr(gt_value_get(w->settings, "gpu_vendor"), "AMD");
    const char *own = setting(w, "gpu_resource_name");
    gt_buffer key = {0};
    const char *resource = own ? own : is_amd ? "amd.com/gpu" : "nvidia.com/gpu";
    gt_json_string_add(&key, (gt_str){resource, strlen(resource)}, &w->scratch);
    gt_buffer_add_cstr(&key, ":");
    static const char *const parts[][3] = {{"requests:", "memory", "cpu"},
                                           {"limits:", "memory_limit", "cpu_limit"}};
    char gpus[32];
    snprintf(gpus, sizeof gpus, "%" PRId64, w->gpus);
    put(w, 8, "resources:", NULL);
    for (size_t i = 0; i < GT_LENGTH(parts); i++) {
        put(w, 10, parts[i][0], NULL);
        put(w, 12, gt_buffer_str(&key).bytes, gpus);
        put(w, 12, "memory:", setting(w, parts[i][1]));
        put(w, 12, "cpu:", setting(w, parts[i][2]));
    }
    gt_buffer_free(&key);
}

static void put_container(writer *w)
{
    const gt_value *env = gt_value_get(w->settings, "env_vars");
    const gt_value *allowed = gt_value_get(w->k8s, "allow_privileged_profiling");
    put(w, 6, "containers:", NULL);
    put(w, 6, "- name:", "gputally");
    put(w, 8, "image:", w->image);
    put(w, 8, "imagePullPolicy:", setting(w, "image_pull_policy"));
    if (setting(w, "workdir")) put(w, 8, "workingDir:", setting(w, "workdir"));
    put(w, 8, "command: [\"/bin/bash\", \"-c\"]", NULL);
    put(w, 8, "args:", NULL);
    put_block(w, 8, "-", w->script);
    put_resources(w);
    put(w, 8, "env:", NULL);
    for (uint32_t i = 0; env->type == GT_VALUE_DICT && i < env->count; i += 2) {
        if (env->items[i + 1].type == GT_VALUE_NONE) continue;
        put(w, 8, "- name:", env->items[i].text.bytes);
        put(w, 10, "value:", gt_settings_print(w->plan->arena, &env->items[i + 1]));
    }
    if (gt_value_get(w->settings, "tools")->count &&
        (allowed->type == GT_VALUE_MISSING || allowed->type == GT_VALUE_NONE || !gt_value_is_empty(allowed)))
        put(w, 8,
            "securityContext:\n          capabilities:\n            add: [\"SYS_PTRACE\"]\n          "
            "seccompProfile:\n"
            "            type: Unconfined",
            NULL);
    put(w, 8,
        "volumeMounts:\n        - name: config\n"
        "          mountPath: /config\n          readOnly: true\n        - name: shm\n          mountPath: "
        "/dev/shm\n"
        "        - name: results\n          mountPath: /results",
        NULL);
}

static void put_selector(writer *w)
{
    const gt_value *selector = gt_value_get(w->k8s, "node_selector");
    if (selector->type != GT_VALUE_DICT || !selector->count) return;
    put(w, 6, "nodeSelector:", NULL);
    for (uint32_t i = 0; i < selector->count; i += 2) {
        gt_buffer key = {0};
        gt_json_string_add(&key, selector->items[i].text, &w->scratch);
        gt_buffer_add_cstr(&key, ":");
        put(w, 8, gt_buffer_str(&key).bytes, gt_settings_print(w->plan->arena, &selector->items[i + 1]));
        gt_buffer_free(&key);
    }
}

static void put_job(writer *w)
{
    begin_object(w, "batch/v1", "Job", w->name);
    put(w, 0, "spec:", NULL);
    put_number(w, 2, "completions:", w->nodes);
    put_number(w, 2, "parallelism:", w->nodes);
    if (w->nodes > 1) put(w, 2, "completionMode:", "Indexed");
    put_number(w, 2, "backoffLimit:", gt_settings_int(w->k8s, "backoff_limit", 3));
    put(w, 2, "template:\n    metadata:\n      labels:", NULL);
    put(w, 8, "app:", "gputally");
    put(w, 8, "job-name:", w->name);
    put(w, 4, "spec:", NULL);
    if (w->nodes > 1) put(w, 6, "subdomain:", w->name);
    put(w, 6, "restartPolicy:", "Never");
    if (gt_settings_is_true(w->k8s, "host_ipc", false)) put(w, 6, "hostIPC: true", NULL);
    put_selector(w);
    put_container(w);
    put(w, 6,
        "volumes:\n      - name: shm\n        emptyDir:\n     "
        "     medium: Memory\n"
        "          sizeLimit: 16Gi\n      - name: config\n        configMap:",
        NULL);
    put(w, 10, "name:", named(w, "-config"));
    put(w, 6, "- name: results\n        persistentVolumeClaim:", NULL);
    put(w, 10, "claimName:", named(w, "-results"));
}

/* ---- script of a pod ---- */

static bool make_script(writer *w, const char *const *options, size_t count, gt_error *error)
{
    gt_buffer script = {0};
    gt_buffer_add_cstr(&script,
                       "export NODE_RANK=${JOB_COMPLETION_INDEX:-0} RANK=${JOB_COMPLETION_INDEX:-0}\n");
    const char *address =
        w->nodes > 1 ? gt_arena_format(w->plan->arena, "%s-0.%s", w->name, w->name) : "localhost";
    gt_buffer_add_cstr(&script,
                       gt_arena_format(w->plan->arena, "export MASTER_ADDR=%s MASTER_PORT=%" PRId64 "\n",
                                       address, w->distributed.port));
    bool ok = gt_distributed_export(&w->distributed, w->settings, &script, error);
    gt_buffer_add_cstr(
        &script,
        "exec gputally run --target local --no_docker --additional_context_file /config/context.json "
        "--output_dir \"/results/$HOSTNAME\" ");
    gt_shell_join(&script, options, count);
    gt_buffer_add_cstr(&script, " -- ");
    gt_buffer_add_cstr(&script, w->plan->command_line);
    w->script = gt_arena_bytes(w->plan->arena, script.bytes, script.len);
    gt_buffer_free(&script);
    return ok;
}

/* Names of objects: lower-case letters, digits and '-'. */
static const char *object_name(const gt_plan *plan)
{
    char *name = gt_arena_format(plan->arena, "gputally-%.*s", NAME_MAX_LETTERS - 9, plan->name);
    for (char *c = name; *c; c++) *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
    for (size_t len = strlen(name); len && name[len - 1] == '-'; len--) name[len - 1] = 0;
    return name;
}

static const gt_value *merge_defaults(gt_arena *arena, const gt_value *below, const char *json)
{
    return gt_settings_merge(arena, below, gt_value_parse(arena, (gt_str){json, strlen(json)}));
}

static const gt_value *settings_of(const gt_plan *plan, int64_t gpus, int64_t nodes)
{
    gt_arena *arena = plan->arena;
    const gt_value *settings = merge_defaults(arena, merge_defaults(arena, &gt_value_missing, defaults),
                                              gpus * nodes > 1 ? many_gpus : one_gpu);
    if (nodes > 1) settings = merge_defaults(arena, settings, many_nodes);
    settings = gt_settings_merge(arena, settings, plan->context);
    const gt_value *other = gt_value_get(plan->context, "kubernetes"); /* alternative name of the key */
    const gt_value *k8s = gt_settings_merge(arena, gt_value_get(settings, "k8s"), other);
    return gt_settings_with(arena, settings, "k8s", *k8s);
}

bool gt_kubernetes_make(const gt_plan *plan, const char *image, const char *const *run_options,
                        size_t run_option_count, gt_kubernetes *out, gt_error *error)
{
    *out = (gt_kubernetes){0};
    if (!image)
        return gt_fail(error, "an image that contains gputally is required: --docker=IMAGE or "
                              "MAD_CONTAINER_IMAGE of the context");
    int64_t nodes = gt_settings_int(gt_value_get(plan->context, "distributed"), "nnodes", 1);
    int64_t gpus = gt_context_gpus_or(plan->context, 1);
    if (nodes < 1 || nodes > 100000 || gpus < 1 || gpus > 1024)
        return gt_fail(error, "k8s: nnodes must be between 1 and 100000 and gpu_count between 1 and 1024");
    writer w = {.plan = plan,
                .image = image,
                .name = object_name(plan),
                .nodes = nodes,
                .gpus = gpus,
                .text = &out->text};
    w.settings = settings_of(plan, gpus, nodes);
    w.k8s = gt_value_get(w.settings, "k8s");
    w.distributed = gt_distributed_of(w.settings, nodes, gpus);
    if (nodes > 1 && strcmp(w.distributed.name, "deepspeed") == 0)
        return gt_fail(
            error,
            "launcher deepspeed on several nodes needs a host list, which Kubernetes does not provide");
    out->path = gt_path_join(plan->arena, plan->output_dir, gt_path_name(named(&w, ".yaml")));
    bool ok = make_script(&w, run_options, run_option_count, error);
    if (ok) {
        put_claim(&w);
        ok = put_config(&w, error);
        if (nodes > 1) put_service(&w);
        put_job(&w);
    }
    gt_buffer_free(&w.scratch);
    return ok;
}
