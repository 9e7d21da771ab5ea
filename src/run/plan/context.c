/* What does a context say, and is it sound? The types of its keys are rows of a table. */
#include "run/plan/context.h"
#include "base/length.h"
#include "run/plan/configs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static bool is_of(const gt_value *value, int types)
{
    return types == 0 || (1 << value->type) & types;
}

static bool wrong_key(const char *key, const char *expected, gt_error *error)
{
    return gt_fail(error, "Invalid additional context: key %.200s must be %s.", key, expected);
}

static bool check_build_argument(const gt_value *name, const gt_value *value, gt_error *error)
{
    if (is_of(value, TEXT | NUMBER | BOOL)) return true;
    char key[256];
    snprintf(key, sizeof key, "docker_build_arg['%.200s']", name->text.bytes);
    return wrong_key(key, "a string, number, or boolean (Docker build-arg values)", error);
}

static bool check_items(const gt_value *value, const key_rule *rule, gt_error *error)
{
    uint32_t step = value->type == GT_VALUE_DICT ? 2 : 1;
    for (uint32_t i = step - 1; rule->item_types && i < value->count; i += step) {
        if (step == 2 && !check_build_argument(&value->items[i - 1], &value->items[i], error)) return false;
        if (!is_of(&value->items[i], rule->item_types)) return wrong_key(rule->key, rule->expected, error);
    }
    return true;
}

static bool check_types(const gt_value *context, gt_error *error)
{
    for (size_t i = 0; i < GT_LENGTH(rules); i++) {
        const gt_value *value = gt_value_get(context, rules[i].key);
        if (value->type == GT_VALUE_MISSING) continue;
        if (!is_of(value, rules[i].types) || (rules[i].not_empty && !value->count))
            return wrong_key(rules[i].key, rules[i].expected, error);
        if (!check_items(value, &rules[i], error)) return false;
    }
    const gt_value *path = gt_value_get(gt_value_get(context, "docker_env_vars"), "ROCM_PATH");
    return path->type == GT_VALUE_MISSING || is_of(path, TEXT | NONE) ||
           wrong_key("docker_env_vars['ROCM_PATH']", "a string (container ROCm root override)", error);
}

/* gpu_vendor and guest_os in capitals, and one of those that are known. */
static const gt_value *settle_choice(gt_arena *arena, const gt_value *context, size_t which, gt_error *error)
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

/* Docker wants texts; Python prints True. */
static const gt_value *settle_build_arguments(gt_arena *arena, const gt_value *context)
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
    const gt_value *value = gt_settings_parse_typed(arena, (gt_str){text, strlen(text)}, &reason);
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
    if (!context || !check_types(context, error)) return NULL;
    context = settle_build_arguments(arena, context);
    for (size_t i = 0; context && i < GT_LENGTH(choices); i++)
        context = settle_choice(arena, context, i, error);
    return context;
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
