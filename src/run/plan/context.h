/* The context of a run: a JSON object that names tools and settings, read from a file, from the command line
 * or from the shipped configs. Values live in the arena and are never changed; functions return changed
 * copies. */
#pragma once

#include "json/values.h"

/* ---- settings: values of a context ---- */

enum { GT_SETTINGS_MAX_BYTES = 4 << 20, GT_SETTINGS_MAX_KEYS = 4096 };

/* Parses JSON. Returns NULL and an error if it is invalid, nested more than 64 deep, or has an object with
 * more than GT_SETTINGS_MAX_KEYS keys. */
const gt_value *gt_settings_parse(gt_arena *arena, gt_str json, gt_error *error);
const gt_value *gt_settings_read(gt_arena *arena, const char *path, gt_error *error);

/* The dict with the value of the key replaced, or added at the end. A MISSING dict counts as empty. */
const gt_value *gt_settings_with(gt_arena *arena, const gt_value *dict, const char *key, gt_value value);
const gt_value *gt_settings_with_text(gt_arena *arena, const gt_value *dict, const char *key,
                                      const char *text); /* of which it takes a copy */
/* The dict with every key of `over` replaced or added, like Python's dict.update. */
const gt_value *gt_settings_update(gt_arena *arena, const gt_value *dict, const gt_value *over);
/* The same, but objects that both have are merged recursively. */
const gt_value *gt_settings_merge(gt_arena *arena, const gt_value *dict, const gt_value *over);
/* The list with one more item. A MISSING list counts as empty. */
const gt_value *gt_settings_push(gt_arena *arena, const gt_value *list, gt_value item);

bool gt_settings_has(const gt_value *dict, const char *key);
/* The string of a key, or NULL if it is missing or not a string. */
const char *gt_settings_string(const gt_value *dict, const char *key);
/* The value as a string: a string as it is, another value as Python prints it ("8", "True"). */
const char *gt_settings_print(gt_arena *arena, const gt_value *value);
gt_value gt_settings_copy_string(gt_arena *arena, const char *text);
/* Whether the value is true in Python: neither false, 0, null nor empty; `otherwise` if the key is missing.
 */
bool gt_settings_is_true(const gt_value *dict, const char *key, bool otherwise);
/* An integer, or a string that contains one; else `otherwise`. */
int64_t gt_settings_int(const gt_value *dict, const char *key, int64_t otherwise);

/* ---- reading a context ---- */

/* Reads the file (NULL: none), overrides its keys with those of `text` (JSON or a Python literal; NULL or
 * "{}": none), fills in gpu_vendor and guest_os, and checks the names and types of all keys; unknown keys are
 * kept, unless they are misspelt. If the file does not exist and has the name of a shipped config, that
 * config is used. Returns NULL if something is invalid; the error has one or two lines. */
const gt_value *gt_context_load(gt_arena *arena, const char *path, const char *text, gt_error *error);

/* Fails if a key is a misspelt known one, and warns of other unknown keys. Keys that begin with "_" are
 * comments. (context_keys.c) */
bool gt_context_check_names(const gt_value *context, gt_error *error);
/* Fails if a value is wrong whatever the run: a negative time limit, GPUs 9-1. (context_keys.c) */
bool gt_context_check_values(const gt_value *context, gt_error *error);

/* The time limit of the context's "timeout" in seconds: 0: none, negative: the context has none. */
double gt_context_timeout_s(const gt_value *context);

/* The number of GPUs that a run requests, -1 for all: from keys of the context or of its slurm and k8s
 * objects, else `otherwise`. */
int64_t gt_context_gpus_or(const gt_value *context, int64_t otherwise);

/* ---- shipped configs ---- */

typedef struct gt_config {
    const char *name; /* without ".json" */
    const char *purpose;
    const char *json;
} gt_config;

extern const gt_config gt_configs[];
extern const size_t gt_config_count;

/* The JSON of the config with the file name of the path, in any folder: "examples/rocprofv3_full.json" or
 * "rocprofv3_full". NULL: no such config. */
const char *gt_config_find(const char *path);

/* Writes each config as NAME.json into a folder, which is created if it is missing. */
bool gt_configs_write(const char *folder, gt_error *error);
