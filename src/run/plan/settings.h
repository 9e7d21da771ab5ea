/* Settings as values: read from JSON or from what people type, and changed key by key.
 *
 * Values are those of model/values.h and are never changed in place: a changed dict is a new one in the arena
 * that shares its items. Settings are small (the limits are below), so dicts are searched from front to back.
 */
#ifndef GT_RUN_PLAN_SETTINGS_H
#define GT_RUN_PLAN_SETTINGS_H

#include "base/error.h"
#include "base/memory.h"
#include "json/values.h"

enum { GT_SETTINGS_MAX_BYTES = 4 << 20, GT_SETTINGS_MAX_KEYS = 4096 };

/* NULL and a sentence where the text is no JSON, nests deeper than 64 levels or has an object of more than
 * GT_SETTINGS_MAX_KEYS keys. */
const gt_value *gt_settings_parse(gt_arena *arena, gt_str json, gt_error *error);
/* The same of a text that may also be a Python literal. */
const gt_value *gt_settings_parse_typed(gt_arena *arena, gt_str text, gt_error *error);
const gt_value *gt_settings_read(gt_arena *arena, const char *path, gt_error *error);

/* The dict with the key's value replaced, or added at the end. A MISSING dict is an empty one. */
const gt_value *gt_settings_with(gt_arena *arena, const gt_value *dict, const char *key, gt_value value);
/* The dict with every key of `over` replaced or added: what Python's update does. */
const gt_value *gt_settings_update(gt_arena *arena, const gt_value *dict, const gt_value *over);
/* The same, with objects that both have merged key by key, all the way down. */
const gt_value *gt_settings_merge(gt_arena *arena, const gt_value *dict, const gt_value *over);
/* The list with one more item. A MISSING list is an empty one. */
const gt_value *gt_settings_push(gt_arena *arena, const gt_value *list, gt_value item);

bool gt_settings_has(const gt_value *dict, const char *key);
/* The text of a key; NULL where it is not there or no text. */
const char *gt_settings_string(const gt_value *dict, const char *key);
/* The value as text: a text as it is, another as Python prints it ("8", "True"). */
const char *gt_settings_print(gt_arena *arena, const gt_value *value);
gt_value gt_settings_copy_string(gt_arena *arena, const char *text);
/* What Python's true is: a key that is there and neither false, 0, null nor empty. */
bool gt_settings_is_true(const gt_value *dict, const char *key, bool otherwise);
/* An integer, also where it is written as text; `otherwise` where it is neither. */
int64_t gt_settings_int(const gt_value *dict, const char *key, int64_t otherwise);

#endif
