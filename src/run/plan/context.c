/* The context of a run: settings with the rules of Python, contexts from files and literals, and the
 * shipped configs. */
#include "run/plan/context.h"
#include "compat/python_literal.h"
#include "compat/python_repr.h"
#include "json/reader.h"
#include "os/paths.h"
#include "output/file.h"

/* ---- settings ---- */

static bool is_json(gt_str text, gt_error *error)
{
    gt_json json;
    gt_json_begin_str(&json, text);
    if (gt_json_skip(&json) && gt_json_finish(&json)) return true;
    *error = json.error;
    return false;
}

/* Copies a string with padding after it, as the JSON reader requires. */
static gt_str padded(gt_arena *arena, gt_str text)
{
    char *copy = gt_arena_alloc(arena, text.len + GT_STREAM_PAD);
    if (text.len) memcpy(copy, text.bytes, text.len);
    memset(copy + text.len, 0, GT_STREAM_PAD);
    copy[text.len] = copy[text.len + 1] = '"';
    return (gt_str){copy, text.len};
}

static bool is_usable(const gt_value *value, gt_error *error)
{
    if (value->type == GT_VALUE_STRING && memchr(value->text.bytes, 0, value->text.len))
        return gt_fail(error, "string contains a NUL character");
    if (value->type != GT_VALUE_DICT && !gt_value_is_list(value)) return true;
    if (value->type == GT_VALUE_DICT && value->count / 2 > GT_SETTINGS_MAX_KEYS)
        return gt_fail(error, "object with more than %d keys", GT_SETTINGS_MAX_KEYS);
    for (uint32_t i = 0; i < value->count; i++)
        if (!is_usable(&value->items[i], error)) return false;
    return true;
}

const gt_value *gt_settings_parse(gt_arena *arena, gt_str text, gt_error *error)
{
    text = padded(arena, text);
    if (text.len >= 3 && memcmp(text.bytes, "\xEF\xBB\xBF", 3) == 0) text.bytes += 3, text.len -= 3;
    if (!is_json(text, error)) return NULL;
    const gt_value *value = gt_value_parse(arena, text);
    if (value->type == GT_VALUE_MISSING) return gt_fail(error, "nested more than 64 deep"), NULL;
    return is_usable(value, error) ? value : NULL;
}

static const gt_value *parse_typed(gt_arena *arena, gt_str text, gt_error *error)
{
    if (is_json(padded(arena, text), error)) return gt_settings_parse(arena, text, error);
    gt_buffer json = {0};
    const gt_value *value = NULL;
    gt_error grammar;
    if (gt_python_to_json(text, &json, error)) {
        value = gt_settings_parse(arena, gt_buffer_str(&json), &grammar);
        if (!value) gt_fail(error, "neither JSON nor a Python literal: %s", grammar.text);
    }
    gt_buffer_free(&json);
    return value;
}

const gt_value *gt_settings_read(gt_arena *arena, const char *path, gt_error *error)
{
    gt_buffer text = {0};
    const gt_value *value = NULL;
    if (gt_read_small_file(path, GT_SETTINGS_MAX_BYTES, &text, error)) {
        value = gt_settings_parse(arena, gt_buffer_str(&text), error);
        if (!value) gt_error_prefix(error, path);
    }
    gt_buffer_free(&text);
    return value;
}

/* ---- changing settings ---- */

static const gt_value *new_value(gt_arena *arena, gt_value_type type, const gt_value *items, size_t count)
{
    gt_value *value = gt_arena_alloc(arena, sizeof *value);
    *value = (gt_value){.type = type, .count = (uint32_t)count, .items = items};
    return value;
}

/* Copies the items with room for `more` further ones. */
static gt_value *copy_items(gt_arena *arena, const gt_value *of, size_t more)
{
    gt_value *items = gt_arena_alloc(arena, (of->count + more) * sizeof *items);
    if (of->count) memcpy(items, of->items, of->count * sizeof *items);
    return items;
}

static gt_value with_type(const gt_value *value, gt_value_type type)
{
    return value->type == type ? *value : (gt_value){.type = type};
}

/* Sets a key among `count` items that have room for one more pair; of duplicate keys, the last counts.
 * Returns the new number of items. */
static size_t set_item(gt_arena *arena, gt_value *items, size_t count, const char *key, gt_value value)
{
    size_t i = count;
    while (i && !gt_value_equals_cstr(&items[i - 2], key)) i -= 2;
    if (i) {
        items[i - 1] = value;
        return count;
    }
    items[count] = gt_settings_copy_string(arena, key);
    items[count + 1] = value;
    return count + 2;
}

const gt_value *gt_settings_with(gt_arena *arena, const gt_value *dict, const char *key, gt_value value)
{
    gt_value old = with_type(dict, GT_VALUE_DICT);
    gt_value *items = copy_items(arena, &old, 2);
    return new_value(arena, GT_VALUE_DICT, items, set_item(arena, items, old.count, key, value));
}

static const gt_value *overlay(gt_arena *arena, const gt_value *dict, const gt_value *over, bool deep)
{
    gt_value old = with_type(dict, GT_VALUE_DICT), by = with_type(over, GT_VALUE_DICT);
    gt_value *items = copy_items(arena, &old, by.count);
    size_t count = old.count;
    for (uint32_t i = 0; i < by.count; i += 2) {
        const char *key = by.items[i].text.bytes;
        const gt_value *value = &by.items[i + 1], *before = deep ? gt_value_get(dict, key) : value;
        if (deep && before->type == GT_VALUE_DICT && value->type == GT_VALUE_DICT)
            value = overlay(arena, before, value, true);
        count = set_item(arena, items, count, key, *value);
    }
    return new_value(arena, GT_VALUE_DICT, items, count);
}

const gt_value *gt_settings_update(gt_arena *arena, const gt_value *dict, const gt_value *over)
{
    return overlay(arena, dict, over, false);
}

const gt_value *gt_settings_merge(gt_arena *arena, const gt_value *dict, const gt_value *over)
{
    return overlay(arena, dict, over, true);
}

const gt_value *gt_settings_push(gt_arena *arena, const gt_value *list, gt_value item)
{
    gt_value old = gt_value_is_list(list) ? *list : (gt_value){.type = GT_VALUE_LIST};
    gt_value *items = copy_items(arena, &old, 1);
    items[old.count] = item;
    return new_value(arena, GT_VALUE_LIST, items, (size_t)old.count + 1);
}

gt_value gt_settings_copy_string(gt_arena *arena, const char *text)
{
    size_t len = strlen(text);
    return (gt_value){.type = GT_VALUE_STRING, .text = {gt_arena_bytes(arena, text, len), len}};
}

const gt_value *gt_settings_with_text(gt_arena *arena, const gt_value *dict, const char *key,
                                      const char *text)
{
    return gt_settings_with(arena, dict, key, gt_settings_copy_string(arena, text));
}

/* ---- querying settings ---- */

bool gt_settings_has(const gt_value *dict, const char *key)
{
    return gt_value_get(dict, key)->type != GT_VALUE_MISSING;
}

const char *gt_settings_string(const gt_value *dict, const char *key)
{
    const gt_value *value = gt_value_get(dict, key);
    return value->type == GT_VALUE_STRING ? value->text.bytes : NULL;
}

const char *gt_settings_print(gt_arena *arena, const gt_value *value)
{
    if (value->type == GT_VALUE_STRING) return value->text.bytes;
    gt_buffer buffer = {0};
    gt_python_add_value(&buffer, value);
    return gt_buffer_move(&buffer, arena);
}

bool gt_settings_is_true(const gt_value *dict, const char *key, bool otherwise)
{
    const gt_value *value = gt_value_get(dict, key);
    return value->type == GT_VALUE_MISSING ? otherwise : !gt_value_is_empty(value);
}

int64_t gt_settings_int(const gt_value *dict, const char *key, int64_t otherwise)
{
    const gt_value *value = gt_value_get(dict, key);
    if (value->type == GT_VALUE_INT) return value->integer;
    if (value->type != GT_VALUE_STRING) return otherwise;
    char *end;
    long long number = strtoll(value->text.bytes, &end, 10);
    return *end || end == value->text.bytes ? otherwise : number;
}

/* ---- reading a context ---- */

enum {
    TEXT = 1 << GT_VALUE_STRING,
    NONE = 1 << GT_VALUE_NONE,
    BOOL = 1 << GT_VALUE_BOOL,
    DICT = 1 << GT_VALUE_DICT
};
enum { NUMBER = 1 << GT_VALUE_INT | 1 << GT_VALUE_BIG | 1 << GT_VALUE_FLOAT };
enum { LIST = 1 << GT_VALUE_LIST | 1 << GT_VALUE_TUPLE };

typedef struct key_rule {
    const char *key;
    int types;
    const char *expected;
    int item_types; /* of an array or object; 0: any */
    bool not_empty;
} key_rule;

static const key_rule rules[] = {
    {"docker_build_arg", DICT, "an object (string values)", TEXT | NUMBER | BOOL, false},
    {"docker_env_vars", DICT, "an object", 0, false},
    {"docker_mounts", DICT, "an object", 0, false},
    {"env_vars", DICT, "an object", 0, false},
    {"tools", LIST, "an array", 0, false},
    {"pre_scripts", LIST, "an array", 0, false},
    {"post_scripts", LIST, "an array", 0, false},
    {"k8s", DICT, "an object", 0, false},
    {"slurm", DICT, "an object", 0, false},
    {"kubernetes", DICT, "an object", 0, false},
    {"distributed", DICT, "an object", 0, false},
    {"vllm", DICT, "an object", 0, false},
    {"deployment_config", DICT, "an object", 0, false},
    {"deploy", DICT | TEXT, "an object or the name of a target", 0, false},
    {"docker_gpus", TEXT, "a string", 0, false},
    {"MAD_CONTAINER_IMAGE", TEXT, "a string", 0, false},
    {"timeout", NUMBER | BOOL | NONE, "a number", 0, false},
    {"debug", BOOL | NONE, "a boolean", 0, false},
    {"gpu_vendor", TEXT, "a string", 0, false},
    {"guest_os", TEXT, "a string", 0, false},
    {"MAD_ROCM_PATH", TEXT | NONE, "a string (host ROCm root override)", 0, false},
    {"log_error_pattern_scan", BOOL | TEXT | NUMBER | NONE, "a boolean, string, number, or null", 0, false},
    {"log_error_benign_patterns", LIST, "an array of strings", TEXT, false},
    {"log_error_patterns", LIST, "a non-empty array of strings", TEXT, true},
    {"encapsulate_script", TEXT, "a string", 0, false},
    {"model_args", TEXT, "a string", 0, false},
    {"docker_cpus", TEXT, "a string", 0, false},
};

static const struct {
    const char *key, *initial, *choices[3];
    const char *supported;
} choices[] = {
    {"gpu_vendor", "AMD", {"AMD", "NVIDIA"}, "AMD, NVIDIA"},
    {"guest_os", "UBUNTU", {"UBUNTU", "CENTOS"}, "UBUNTU, CENTOS"},
};

static bool has_type(const gt_value *value, int types)
{
    return types == 0 || (1 << value->type) & types;
}

static bool invalid_key(const char *key, const char *expected, gt_error *error)
{
    return gt_fail(error, "Invalid additional context: key %.200s must be %s.", key, expected);
}

static bool check_build_argument(const gt_value *name, const gt_value *value, gt_error *error)
{
    if (has_type(value, TEXT | NUMBER | BOOL)) return true;
    char key[256];
    snprintf(key, sizeof key, "docker_build_arg['%.200s']", name->text.bytes);
    return invalid_key(key, "a string, number, or boolean (Docker build-arg values)", error);
}

static bool check_items(const gt_value *value, const key_rule *rule, gt_error *error)
{
    uint32_t step = value->type == GT_VALUE_DICT ? 2 : 1;
    for (uint32_t i = step - 1; rule->item_types && i < value->count; i += step) {
        if (step == 2 && !check_build_argument(&value->items[i - 1], &value->items[i], error)) return false;
        if (!has_type(&value->items[i], rule->item_types))
            return invalid_key(rule->key, rule->expected, error);
    }
    return true;
}

static bool check_types(const gt_value *context, gt_error *error)
{
    for (size_t i = 0; i < GT_LENGTH(rules); i++) {
        const gt_value *value = gt_value_get(context, rules[i].key);
        if (value->type == GT_VALUE_MISSING) continue;
        if (!has_type(value, rules[i].types) || (rules[i].not_empty && !value->count))
            return invalid_key(rules[i].key, rules[i].expected, error);
        if (!check_items(value, &rules[i], error)) return false;
    }
    const gt_value *path = gt_value_get(gt_value_get(context, "docker_env_vars"), "ROCM_PATH");
    return path->type == GT_VALUE_MISSING || has_type(path, TEXT | NONE) ||
           invalid_key("docker_env_vars['ROCM_PATH']", "a string (container ROCm root override)", error);
}

/* Converts gpu_vendor and guest_os to upper case and checks that they are known. */
static const gt_value *check_known(gt_arena *arena, const gt_value *context, size_t which, gt_error *error)
{
    const char *key = choices[which].key, *text = gt_settings_string(context, key);
    gt_value capital = gt_settings_copy_string(arena, text ? text : choices[which].initial);
    for (char *c = (char *)capital.text.bytes; *c; c++) *c = (char)toupper((unsigned char)*c);
    for (size_t i = 0; choices[which].choices[i]; i++)
        if (gt_value_equals_cstr(&capital, choices[which].choices[i]))
            return gt_settings_with(arena, context, key, capital);
    gt_fail(error, "Invalid %s: %.200s\nSupported values: %s", key, text, choices[which].supported);
    return NULL;
}

/* Docker needs strings; Python prints True. */
static const gt_value *convert_build_arguments(gt_arena *arena, const gt_value *context)
{
    const gt_value *given = gt_value_get(context, "docker_build_arg");
    if (given->type != GT_VALUE_DICT || !given->count) return context;
    gt_value *items = gt_arena_alloc(arena, given->count * sizeof *items);
    for (uint32_t i = 0; i < given->count; i += 2) {
        items[i] = given->items[i];
        items[i + 1] = gt_settings_copy_string(arena, gt_settings_print(arena, &given->items[i + 1]));
    }
    gt_value texts = {.type = GT_VALUE_DICT, .count = given->count, .items = items};
    return gt_settings_with(arena, context, "docker_build_arg", texts);
}

static const gt_value *load_file(gt_arena *arena, const char *path, gt_error *error)
{
    const char *shipped = access(path, F_OK) != 0 ? gt_config_find(path) : NULL;
    gt_error reason;
    const gt_value *value = shipped ? gt_settings_parse(arena, (gt_str){shipped, strlen(shipped)}, &reason)
                                    : gt_settings_read(arena, path, &reason);
    if (!value) return gt_fail(error, "Failed to load additional context file: %.900s", reason.text), NULL;
    if (value->type == GT_VALUE_DICT) return value;
    gt_fail(error, "additional-context file must contain a JSON object at the top level.");
    return NULL;
}

static const gt_value *load_text(gt_arena *arena, const char *text, gt_error *error)
{
    gt_error reason;
    const gt_value *value = parse_typed(arena, (gt_str){text, strlen(text)}, &reason);
    if (!value) return gt_fail(error, "Invalid additional_context format: %.900s", reason.text), NULL;
    if (value->type == GT_VALUE_DICT) return value;
    gt_fail(error, "additional_context must be a JSON object at the top level, not a list or scalar.");
    return NULL;
}

const gt_value *gt_context_load(gt_arena *arena, const char *path, const char *text, gt_error *error)
{
    static const gt_value empty = {.type = GT_VALUE_DICT};
    const gt_value *context = path ? load_file(arena, path, error) : &empty;
    if (context && text && text[strspn(text, " \t\r\n")]) {
        const gt_value *typed = load_text(arena, text, error);
        context = typed ? gt_settings_update(arena, context, typed) : NULL;
    }
    if (!context || !check_types(context, error) || !gt_context_check_names(context, error) ||
        !gt_context_check_values(context, error))
        return NULL;
    context = convert_build_arguments(arena, context);
    for (size_t i = 0; context && i < GT_LENGTH(choices); i++)
        context = check_known(arena, context, i, error);
    return context;
}

double gt_context_timeout_s(const gt_value *context)
{
    const gt_value *timeout = gt_value_get(context, "timeout");
    double seconds = timeout->type == GT_VALUE_INT     ? (double)timeout->integer
                     : timeout->type == GT_VALUE_FLOAT ? timeout->number
                                                       : -1;
    return seconds >= 0 ? seconds : -1; /* a number that is not one is none */
}

static int64_t gpus_of(const gt_value *object)
{
    static const char *const keys[] = {"gpus_per_node", "gpu_count", "n_gpus", "num_gpus", "ngpus"};
    for (size_t i = 0; i < GT_LENGTH(keys); i++) {
        int64_t gpus = gt_settings_int(object, keys[i], INT64_MIN);
        if (gpus != INT64_MIN) return gpus;
    }
    return INT64_MIN;
}

int64_t gt_context_gpus_or(const gt_value *context, int64_t otherwise)
{
    const gt_value *k8s = gt_value_get(context, "k8s");
    if (k8s->type == GT_VALUE_MISSING) k8s = gt_value_get(context, "kubernetes");
    const gt_value *places[] = {context, gt_value_get(context, "slurm"), k8s};
    for (size_t i = 0; i < GT_LENGTH(places); i++) {
        int64_t gpus = gpus_of(places[i]);
        if (gpus != INT64_MIN) return gpus;
    }
    return otherwise;
}

/* ---- shipped configs ---- */

#define AMD_UBUNTU "{\n  \"gpu_vendor\": \"AMD\",\n  \"guest_os\": \"UBUNTU\",\n"
#define POWER                                                                                                \
    "    {\n      \"name\": \"gpu_info_power_profiler\",\n      \"env_vars\": {\"POWER_DEVICE\": \"all\", "  \
    "\"POWER_SAMPLING_RATE\": \"0.1\"}\n    }"
#define VRAM                                                                                                 \
    "    {\n      \"name\": \"gpu_info_vram_profiler\",\n      \"env_vars\": {\"VRAM_DEVICE\": \"all\", "    \
    "\"VRAM_SAMPLING_RATE\": \"0.1\"}\n    }"
#define ONE_TOOL(name) AMD_UBUNTU "  \"tools\": [{\"name\": \"" name "\", \"env_vars\": {}}]\n}\n"

/* The two configs for several GPUs differ only in their numbers. */
#define ON_SLURM(tool_env, nodes, time, exclusive, distributed, env)                                         \
    "  \"slurm\": {\n    \"partition\": \"amd-rccl\",\n    \"nodes\": " nodes                                \
    ",\n    \"gpus_per_node\": 4,\n"                                                                         \
    "    \"time\": \"" time "\",\n    \"output_dir\": \"./slurm_results\",\n    \"exclusive\": " exclusive   \
    "\n  },\n"                                                                                               \
    "  \"distributed\": {" distributed "},\n  \"env_vars\": {" env "},\n  \"debug\": false,\n"               \
    "  \"tools\": [\n    {\"name\": \"rocprofv3_communication\", \"env_vars\": {" tool_env "}},\n" POWER     \
    ",\n" VRAM "\n  ]\n}\n"

static const char multi_node[] = AMD_UBUNTU
    "  \"_comment\": \"Communication of several nodes, with power and memory of every GPU\",\n"
    "  \"_use_case\": \"Distributed training on a SLURM cluster\",\n" ON_SLURM(
        "\"RCCL_DEBUG\": \"INFO\", \"NCCL_DEBUG\": \"INFO\"", "2", "04:00:00", "true",
        "\"launcher\": \"torchrun\", \"nnodes\": 2, \"nproc_per_node\": 4",
        "\"OMP_NUM_THREADS\": \"8\", \"NCCL_IB_DISABLE\": \"0\", \"NCCL_SOCKET_IFNAME\": \"eth0\"");

const gt_config gt_configs[] = {
    {"rocprofv3_compute_bound", "is arithmetic the bottleneck? waves, VALU and SALU instructions, power",
     AMD_UBUNTU "  \"tools\": [\n    {\"name\": \"rocprofv3_compute\", \"env_vars\": {}},\n" POWER
                "\n  ]\n}\n"},
    {"rocprofv3_memory_bound", "is memory the bottleneck? caches, requests, copies, used memory",
     AMD_UBUNTU "  \"tools\": [\n    {\"name\": \"rocprofv3_memory\", \"env_vars\": {}},\n" VRAM
                "\n  ]\n}\n"},
    {"rocprofv3_lightweight", "HIP calls and kernels with the lowest overhead",
     ONE_TOOL("rocprofv3_lightweight")},
    {"rocprofv3_comprehensive", "all traces and counters, library calls, power, memory; high overhead",
     AMD_UBUNTU "  \"tools\": [\n    {\"name\": \"rocprofv3_full\", \"env_vars\": {\"RCCL_DEBUG\": \"INFO\", "
                "\"HSA_ENABLE_SDMA\": \"0\"}},\n    {\n      \"name\": \"gpu_info_power_profiler\",\n      "
                "\"env_vars\": "
                "{\"POWER_DEVICE\": \"all\", \"POWER_SAMPLING_RATE\": \"0.1\", \"POWER_DUAL_GCD\": "
                "\"false\"}\n    },\n" VRAM
                ",\n    {\"name\": \"miopen_trace\"},\n    {\"name\": \"rocblas_trace\"}\n  ]\n}\n"},
    {"rocprofv3_multi_gpu", "communication between the GPUs of one node, with power and memory",
     AMD_UBUNTU "  \"_comment\": \"Communication of several GPUs, with power and memory of each\",\n"
                "  \"_use_case\": \"Data or model parallel training on one node\",\n" ON_SLURM(
                    "\"RCCL_DEBUG\": \"INFO\"", "1", "02:00:00", "false",
                    "\"launcher\": \"torchrun\", \"nproc_per_node\": 4", "\"OMP_NUM_THREADS\": \"8\"")},
    {"rocprofv3_multi_node", "communication between nodes of a SLURM cluster", multi_node},
    {"rocprofv3_multinode", "same as the previous one, under another name", multi_node},
    {"rocm_trace_lite", "rocm-trace-lite, mode lite", ONE_TOOL("rocm_trace_lite")},
    {"rocm_trace_lite_default", "rocm-trace-lite, mode default", ONE_TOOL("rocm_trace_lite_default")},
};
const size_t gt_config_count = GT_LENGTH(gt_configs);

const char *gt_config_find(const char *path)
{
    const char *name = gt_path_name(path), *dot = strrchr(name, '.');
    size_t len = dot && strcmp(dot, ".json") == 0 ? (size_t)(dot - name) : strlen(name);
    for (size_t i = 0; i < gt_config_count; i++)
        if (strlen(gt_configs[i].name) == len && memcmp(gt_configs[i].name, name, len) == 0)
            return gt_configs[i].json;
    return NULL;
}

static bool write_config(gt_output *output, const char *folder, const gt_config *config, gt_error *error)
{
    char *path = gt_format("%s/%s.json", folder, config->name);
    bool ok = gt_output_write_file(output, path, (gt_str){config->json, strlen(config->json)}, error);
    gt_free(path);
    return ok;
}

bool gt_configs_write(const char *folder, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool ok = true;
    for (size_t i = 0; ok && i < gt_config_count; i++)
        ok = write_config(output, folder, &gt_configs[i], error);
    ok = ok && gt_output_commit(output, error);
    gt_output_free(output);
    return ok;
}
