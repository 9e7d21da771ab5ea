/* The objects of a run, as YAML: names, settings, and all objects but those with pods (pods.c). Every value
 * from a context is written as a quoted JSON string, which is valid YAML too, so a value cannot change the
 * structure of the file, and a number that must be a string stays one. */
#include "json/string.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/plan/secrets.h"
#include "run/targets/kubernetes/parts.h"

#include <sys/random.h>
#include <time.h>

/* Of a ConfigMap's or Secret's data, minus some for keys. The name of the job: a pod's host name, with
 * an index of five digits, must not exceed 63 letters, nor must NAME-results. */
enum { DATA_MAX_BYTES = (1 << 20) - 8192, NAME_MAX_LETTERS = 54, ID_LETTERS = 8 };

/* Defaults under the settings of the context, as in madengine: for every job, then for one or several GPUs,
 * then for several nodes. A later object overrides an earlier one. */
static const char defaults[] = "{\"k8s\": {\"image_pull_policy\": \"Always\", "
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

/* ---- YAML ---- */

void gt_kube_put(gt_kube_writer *w, int indent, const char *key, const char *value)
{
    gt_buffer_add_spaces(w->text, (size_t)indent);
    gt_buffer_add_cstr(w->text, key);
    if (value) {
        gt_buffer_add_cstr(w->text, " ");
        gt_json_string_add(w->text, (gt_str){value, strlen(value)}, &w->scratch);
    }
    gt_buffer_add_cstr(w->text, "\n");
}

/* Whether a block of YAML keeps the text: printable ASCII, no blank at the beginning, no empty line at the
 * end. */
static bool is_plain(const char *text)
{
    size_t len = strlen(text);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c >= 0x7F || ((unsigned char)*c < ' ' && *c != '\n')) return false;
    return len && !isspace((unsigned char)text[0]) && text[len - 1] != '\n';
}

void gt_kube_put_block(gt_kube_writer *w, int indent, const char *key, const char *value)
{
    if (!is_plain(value)) {
        gt_kube_put(w, indent, key, value);
        return;
    }
    gt_kube_put(w, indent, gt_arena_format(w->plan->arena, "%s |-", key), NULL);
    for (const char *line = value; *line; line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        gt_kube_put(w, len ? indent + 2 : 0, gt_arena_bytes(w->plan->arena, line, len), NULL);
        line += len;
    }
}

void gt_kube_put_number(gt_kube_writer *w, int indent, const char *key, int64_t value)
{
    gt_kube_put(w, indent, gt_arena_format(w->plan->arena, "%s %" PRId64, key, value), NULL);
}

void gt_kube_put_json(gt_kube_writer *w, int indent, const char *key, const gt_value *value)
{
    gt_json_writer json = {0};
    gt_json_add_value(&json, value);
    for (size_t i = 0; i < json.text.len; i++) /* line breaks of the layout; those of strings are escaped */
        if (json.text.bytes[i] == '\n') json.text.bytes[i] = ' ';
    gt_kube_put(w, indent, gt_arena_format(w->plan->arena, "%s %s", key, gt_buffer_str(&json.text).bytes),
                NULL);
    gt_json_writer_free(&json);
}

const char *gt_kube_quoted_key(gt_kube_writer *w, const char *key)
{
    gt_buffer quoted = {0};
    gt_json_string_add(&quoted, (gt_str){key, strlen(key)}, &w->scratch);
    gt_buffer_add_cstr(&quoted, ":");
    const char *text = gt_arena_bytes(w->plan->arena, quoted.bytes, quoted.len);
    gt_buffer_free(&quoted);
    return text;
}

const char *gt_kube_setting(gt_kube_writer *w, const char *key)
{
    const gt_value *value = gt_value_get(w->k8s, key);
    return gt_value_is_empty(value) ? NULL : gt_settings_print(w->plan->arena, value);
}

const char *gt_kube_named(gt_kube_writer *w, const char *ending)
{
    return gt_arena_format(w->plan->arena, "%s%s", w->job->name, ending);
}

void gt_kube_begin(gt_kube_writer *w, const char *version, const char *kind, const char *name)
{
    if (w->text->len) gt_kube_put(w, 0, "---", NULL);
    gt_kube_put(w, 0, "apiVersion:", version);
    gt_kube_put(w, 0, "kind:", kind);
    gt_kube_put(w, 0, "metadata:", NULL);
    gt_kube_put(w, 2, "name:", name);
    if (gt_kube_setting(w, "namespace")) gt_kube_put(w, 2, "namespace:", gt_kube_setting(w, "namespace"));
    gt_kube_put(w, 2, "labels:", NULL);
    gt_kube_put(w, 4, "app:", "gputally");
    gt_kube_put(w, 4, "gputally-run:", w->job->id);
}

/* ---- small objects ---- */

static void put_claim(gt_kube_writer *w)
{
    gt_kube_begin(w, "v1", "PersistentVolumeClaim", w->job->claim);
    gt_kube_put(w, 0, "spec:", NULL);
    gt_kube_put(w, 2, "accessModes:", NULL);
    gt_kube_put(w, 4, "-", w->nodes > 1 ? "ReadWriteMany" : "ReadWriteOnce");
    gt_kube_put(w, 2, "resources:", NULL);
    gt_kube_put(w, 4, "requests:", NULL);
    gt_kube_put(w, 6, "storage:", gt_kube_setting(w, "results_size"));
    if (gt_kube_setting(w, "storage_class"))
        gt_kube_put(w, 2, "storageClassName:", gt_kube_setting(w, "storage_class"));
}

static const char *json_text(gt_arena *arena, const gt_value *value)
{
    gt_json_writer json = {0};
    gt_json_add_value(&json, value);
    const char *text = gt_arena_bytes(arena, json.text.bytes, json.text.len);
    gt_json_writer_free(&json);
    return text;
}

static bool put_config(gt_kube_writer *w, gt_error *error)
{
    if (w->files.bytes > DATA_MAX_BYTES)
        return gt_fail(error,
                       "k8s: context, counter lists and scripts have %zu bytes; a ConfigMap holds 1 MiB",
                       w->files.bytes);
    gt_kube_begin(w, "v1", "ConfigMap", gt_kube_named(w, "-config"));
    gt_kube_put(w, 0, "data:", NULL);
    for (size_t i = 0; i < w->files.count; i++)
        gt_kube_put_block(w, 2, gt_kube_quoted_key(w, w->files.items[i].key), w->files.items[i].text);
    return true;
}

static bool put_secret(gt_kube_writer *w, gt_error *error)
{
    size_t bytes = 0;
    gt_kube_begin(w, "v1", "Secret", gt_kube_named(w, "-secrets"));
    gt_kube_put(w, 0, "type:", "Opaque");
    gt_kube_put(w, 0, "stringData:", NULL);
    for (size_t i = 0; i < w->secrets.count; i++) {
        const char *value = gt_settings_string(w->plan->env, w->secrets.items[i]);
        gt_kube_put(w, 2, gt_kube_quoted_key(w, w->secrets.items[i]), value);
        bytes += strlen(value);
    }
    return bytes <= DATA_MAX_BYTES ||
           gt_fail(error, "k8s: secret variables have %zu bytes; a Secret holds 1 MiB", bytes);
}

/* Pods find each other by name before all of them are ready. */
static void put_service(gt_kube_writer *w)
{
    gt_kube_begin(w, "v1", "Service", w->job->name);
    gt_kube_put(w, 0, "spec:", NULL);
    gt_kube_put(w, 2, "clusterIP:", "None");
    gt_kube_put(w, 2, "publishNotReadyAddresses: true", NULL);
    gt_kube_put(w, 2, "selector:", NULL);
    gt_kube_put(w, 4, "job-name:", w->job->name);
    gt_kube_put(w, 2, "ports:", NULL);
    gt_kube_put(w, 2, "- name:", "master");
    gt_kube_put_number(w, 4, "port:", w->distributed.port);
}

/* ---- names and settings ---- */

/* Time and random digits: two runs that start in the same second differ, too. */
static const char *make_id(gt_arena *arena)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = (uint32_t)getpid() * 2654435761u ^ (uint32_t)time(NULL);
    return gt_arena_format(arena, "%0*" PRIx32, ID_LETTERS, random);
}

/* Names of objects: lower-case letters, digits and '-', a letter or digit at both ends. */
static char *object_name(const gt_plan *plan)
{
    char *name =
        gt_arena_format(plan->arena, "gputally-%.*s", NAME_MAX_LETTERS - 10 - ID_LETTERS, plan->name);
    for (char *c = name; *c; c++)
        *c = gt_is_letter(*c) || gt_is_digit(*c) ? (char)tolower((unsigned char)*c) : '-';
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

/* "~/x" as in a shell: kubectl gets the path without one. */
static const char *expand_home(gt_arena *arena, const char *workdir, const char *path)
{
    const char *home = getenv("HOME");
    if (strncmp(path, "~/", 2) == 0 && home) return gt_path_join(arena, home, path + 2);
    return gt_path_absolute(arena, workdir, path);
}

static void make_kubectl(gt_kube_writer *w, gt_kubernetes *out)
{
    static const char *const options[][2] = {
        {"kubeconfig", "--kubeconfig"}, {"context", "--context"}, {"namespace", "--namespace"}};
    gt_arg_list_add(w->plan->arena, &out->kubectl, "kubectl");
    for (size_t i = 0; i < GT_LENGTH(options); i++) {
        const char *value = gt_kube_setting(w, options[i][0]);
        if (!value) continue;
        if (i == 0) value = expand_home(w->plan->arena, w->plan->workdir, value);
        gt_arg_list_add(w->plan->arena, &out->kubectl,
                        gt_arena_format(w->plan->arena, "%s=%s", options[i][1], value));
    }
    gt_arg_list_add(w->plan->arena, &out->kubectl, "--request-timeout=60s");
}

static void find_secrets(gt_kube_writer *w, const gt_value *env)
{
    for (uint32_t i = 0; env->type == GT_VALUE_DICT && i < env->count; i += 2) {
        const char *name = env->items[i].text.bytes;
        bool is_new = env->items[i + 1].type != GT_VALUE_NONE && gt_secret_is_name(name);
        for (size_t k = 0; is_new && k < w->secrets.count; k++)
            is_new = strcmp(w->secrets.items[k], name) != 0;
        if (is_new) gt_arg_list_add(w->plan->arena, &w->secrets, name);
    }
}

/* The files of the ConfigMap: the context, the tools file, and what they name. */
static bool gather_files(gt_kube_writer *w, gt_error *error)
{
    gt_arena *arena = w->plan->arena;
    const gt_value *context = gt_kube_embed(arena, w->plan->workdir, w->plan->context, &w->files, error);
    if (!context) return false;
    gt_kube_add_file(arena, &w->files, "context.json", json_text(arena, context));
    if (!w->request->tools_file) return true;
    const gt_value *tools = gt_settings_read(arena, w->request->tools_file, error);
    if (tools) tools = gt_kube_embed(arena, w->plan->workdir, tools, &w->files, error);
    if (!tools) return false;
    gt_kube_add_file(arena, &w->files, "tools.json", json_text(arena, tools));
    return true;
}

static void name_objects(gt_kube_writer *w, gt_kubernetes *out)
{
    gt_arena *arena = w->plan->arena;
    const char *base = object_name(w->plan), *claim = gt_kube_setting(w, "results_pvc");
    out->id = make_id(arena);
    out->name = gt_arena_format(arena, "%s-%s", base, out->id);
    out->claim_is_ours = !claim;
    out->claim = claim ? claim : gt_kube_named(w, "-results");
    out->path = gt_path_join(arena, w->plan->output_dir, gt_arena_format(arena, "%s.yaml", base));
    out->results_dir = gt_path_join(arena, w->plan->output_dir,
                                    gt_arena_format(arena, "k8s_results/%s/%s", w->plan->name, out->id));
    out->nodes = w->nodes;
    out->has_service = w->nodes > 1;
    out->image = w->request->image;
    out->settings = w->settings;
    out->k8s = w->k8s;
    make_kubectl(w, out);
}

static bool make_objects(gt_kube_writer *w, gt_kubernetes *out, gt_error *error)
{
    find_secrets(w, w->plan->env);
    if (!gather_files(w, error) || !gt_kube_make_script(w, error)) return false;
    if (out->claim_is_ours) put_claim(w);
    if (!put_config(w, error)) return false;
    if (w->nodes > 1) put_service(w);
    gt_kube_put_job(w);
    w->text = &out->secret;
    return !w->secrets.count || put_secret(w, error);
}

bool gt_kubernetes_make(const gt_kubernetes_request *request, gt_kubernetes *out, gt_error *error)
{
    const gt_plan *plan = request->plan;
    *out = (gt_kubernetes){0};
    if (!request->image)
        return gt_fail(error, "an image that contains gputally is required: --docker=IMAGE or "
                              "MAD_CONTAINER_IMAGE of the context");
    int64_t nodes = gt_settings_int(gt_value_get(plan->context, "distributed"), "nnodes", 1);
    int64_t gpus = gt_context_gpus_or(plan->context, 1);
    if (nodes < 1 || nodes > 99999 || gpus < 1 || gpus > 1024)
        return gt_fail(error, "k8s: nnodes must be between 1 and 99999 and gpu_count between 1 and 1024");
    gt_kube_writer w = {
        .plan = plan, .request = request, .job = out, .nodes = nodes, .gpus = gpus, .text = &out->text};
    w.settings = settings_of(plan, gpus, nodes);
    w.k8s = gt_value_get(w.settings, "k8s");
    w.distributed = gt_distributed_of(w.settings, nodes, gpus);
    if (nodes > 1 && gt_launcher_runs_once(&w.distributed))
        return gt_fail(error,
                       "launcher %s starts the processes of other nodes itself, which pods do not allow; "
                       "use torchrun or accelerate",
                       w.distributed.name);
    name_objects(&w, out);
    bool ok = make_objects(&w, out, error);
    gt_buffer_free(&w.scratch);
    return ok;
}

void gt_kube_make_collector(const gt_plan *plan, const gt_kubernetes *job, const char *node, gt_buffer *text)
{
    gt_kube_writer w = {.plan = plan, .job = job, .settings = job->settings, .k8s = job->k8s, .text = text};
    gt_kube_put_collector(&w, node);
    gt_buffer_free(&w.scratch);
}

void gt_kubernetes_free(gt_kubernetes *objects)
{
    gt_buffer_free(&objects->text);
    gt_buffer_free(&objects->secret);
}

bool gt_kubernetes_write(gt_kubernetes *objects, gt_error *error)
{
    gt_buffer text = {0};
    gt_buffer_add(&text, objects->secret.bytes, objects->secret.len);
    if (text.len) gt_buffer_add_cstr(&text, "---\n");
    gt_buffer_add(&text, objects->text.bytes, objects->text.len);
    gt_output *output = gt_output_new();
    if (objects->secret.len) gt_output_set_private(output);
    bool ok = gt_output_write_file(output, objects->path, gt_buffer_str(&text), error) &&
              gt_output_commit(output, error);
    gt_output_free(output);
    gt_buffer_free(&text);
    return ok;
}
