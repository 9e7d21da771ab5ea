/* Settings: the grammar is checked by the reader that can say what is wrong where, then the tree is made. */
#include "run/plan/settings.h"
#include "os/paths.h"
#include "compat/python_repr.h"
#include "json/reader.h"
#include "compat/python_literal.h"

#include <stdlib.h>
#include <string.h>

static bool is_json(gt_str text, gt_error *error)
{
    gt_json json;
    gt_json_begin_str(&json, text);
    if (gt_json_skip(&json) && gt_json_finish(&json)) return true;
    *error = json.error;
    return false;
}

/* A text with room behind it, as the JSON reader wants it. */
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
        return gt_fail(error, "a text that holds the character NUL");
    if (value->type != GT_VALUE_DICT && !gt_value_is_list(value)) return true;
    if (value->type == GT_VALUE_DICT && value->count / 2 > GT_SETTINGS_MAX_KEYS)
        return gt_fail(error, "an object of more than %d keys", GT_SETTINGS_MAX_KEYS);
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
    if (value->type == GT_VALUE_MISSING) return gt_fail(error, "more than 64 levels of nesting"), NULL;
    return is_usable(value, error) ? value : NULL;
}

const gt_value *gt_settings_parse_typed(gt_arena *arena, gt_str text, gt_error *error)
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

/* ---- changing ---- */

static const gt_value *new_value(gt_arena *arena, gt_value_type type, const gt_value *items, size_t count)
{
    gt_value *value = gt_arena_alloc(arena, sizeof *value);
    *value = (gt_value){.type = type, .count = (uint32_t)count, .items = items};
    return value;
}

/* The items with room for `more` behind them. */
static gt_value *copy_items(gt_arena *arena, const gt_value *of, size_t more)
{
    gt_value *items = gt_arena_alloc(arena, (of->count + more) * sizeof *items);
    if (of->count) memcpy(items, of->items, of->count * sizeof *items);
    return items;
}

static gt_value as(const gt_value *value, gt_value_type type)
{
    return value->type == type ? *value : (gt_value){.type = type};
}

/* Sets a key among `count` items that have room for one more pair; the last one of a name counts. Returns how
 * many items there are then. */
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
    gt_value old = as(dict, GT_VALUE_DICT);
    gt_value *items = copy_items(arena, &old, 2);
    return new_value(arena, GT_VALUE_DICT, items, set_item(arena, items, old.count, key, value));
}

static const gt_value *overlay(gt_arena *arena, const gt_value *dict, const gt_value *over, bool deep)
{
    gt_value old = as(dict, GT_VALUE_DICT), by = as(over, GT_VALUE_DICT);
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

/* ---- asking ---- */

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
    gt_value_print(&buffer, value);
    const char *text = gt_arena_bytes(arena, buffer.bytes, buffer.len);
    gt_buffer_free(&buffer);
    return text;
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
