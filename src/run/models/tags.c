/* Which models a list of tags selects, by the rules of madengine. */
#include "run/models/models.h"

const char *gt_model_text(const gt_value *model, const char *key)
{
    const char *text = gt_settings_string(model, key);
    return text ? text : "";
}

const char *gt_model_file_name(gt_arena *arena, const gt_value *model)
{
    const char *name = gt_model_text(model, "name");
    char *kept = gt_arena_bytes(arena, name, strlen(name));
    for (char *c = kept; *c; c++)
        if (*c == '/') *c = '_';
    return kept;
}

static gt_str trimmed(const char *text, size_t len)
{
    while (len && isspace((unsigned char)*text)) text++, len--;
    while (len && isspace((unsigned char)text[len - 1])) len--;
    return (gt_str){text, len};
}

void gt_tags_add(gt_arena *arena, const char *text, gt_arg_list *tags)
{
    while (*text) {
        size_t len = strcspn(text, ",");
        gt_str tag = trimmed(text, len);
        if (tag.len) gt_arg_list_add(arena, tags, gt_arena_bytes(arena, tag.bytes, tag.len));
        text += len + (text[len] == ',');
    }
}

/* One tag, taken apart. */
typedef struct wanted {
    gt_str scope; /* "scope" of "scope/tag"; empty: any model */
    gt_str word;  /* a name, a tag or "all" */
    gt_str whole; /* a full name; with a scope, "scope/tag" */
    const char *arguments;
} wanted;

static bool is(gt_str a, const char *b, size_t len)
{
    return a.len == len && memcmp(a.bytes, b, len) == 0;
}

/* " --k v --flag" of the parts after the name in "name:k=v:flag". */
static const char *arguments_of(gt_arena *arena, const char *parts)
{
    gt_buffer text = {0};
    while (*parts) {
        size_t len = strcspn(parts, ":");
        gt_str part = trimmed(parts, len);
        if (part.len) gt_buffer_add_cstr(&text, " --");
        for (size_t i = 0; i < part.len; i++)
            gt_buffer_add(&text, part.bytes[i] == '=' ? " " : part.bytes + i, 1);
        parts += len + (parts[len] == ':');
    }
    return gt_buffer_move(&text, arena);
}

static wanted parse_tag(gt_arena *arena, const char *tag)
{
    wanted w = {.whole = {tag, strlen(tag)}, .arguments = ""};
    const char *slash = strchr(tag, '/');
    if (slash && !strchr(slash + 1, '/') && !strchr(tag, ':') && slash != tag && slash[1]) {
        w.scope = (gt_str){tag, (size_t)(slash - tag)};
        w.word = (gt_str){slash + 1, strlen(slash + 1)};
        return w;
    }
    tag += strspn(tag, ": \t");
    size_t len = strcspn(tag, ":");
    w.word = w.whole = trimmed(tag, len);
    if (tag[len] == ':') w.arguments = arguments_of(arena, tag + len + 1);
    return w;
}

/* Tags are a list, or a string with commas. */
static bool has_tag(const gt_value *tags, gt_str tag)
{
    for (uint32_t i = 0; gt_value_is_list(tags) && i < tags->count; i++)
        if (tags->items[i].type == GT_VALUE_STRING &&
            is(tag, tags->items[i].text.bytes, tags->items[i].text.len))
            return true;
    if (tags->type != GT_VALUE_STRING) return false;
    for (const char *at = tags->text.bytes; *at;) {
        size_t len = strcspn(at, ",");
        gt_str one = trimmed(at, len);
        if (one.len && is(tag, one.bytes, one.len)) return true;
        at += len + (at[len] == ',');
    }
    return false;
}

static bool matches(const gt_value *model, const wanted *w)
{
    const char *name = gt_model_text(model, "name");
    if (w->scope.len && (strncmp(name, w->scope.bytes, w->scope.len) != 0 || name[w->scope.len] != '/'))
        return false;
    return is(w->word, "all", 3) || is(w->whole, name, strlen(name)) ||
           (w->word.len && has_tag(gt_value_get(model, "tags"), w->word));
}

/* A growing list of values; gt_settings_push would copy the list for each of them. */
typedef struct value_list {
    gt_value *items;
    size_t count, capacity;
} value_list;

bool gt_tags_select(gt_arena *arena, const gt_value *models, const gt_arg_list *tags,
                    const gt_value **selected, gt_error *error)
{
    value_list list = {0};
    bool ok = true;
    for (size_t t = 0; ok && t < tags->count; t++) {
        wanted w = parse_tag(arena, tags->items[t]);
        size_t before = list.count;
        for (uint32_t i = 0; w.word.len && i < models->count; i++) {
            if (!matches(&models->items[i], &w)) continue;
            const gt_value *model = &models->items[i];
            const char *arguments = gt_arena_format(arena, "%s%s", gt_model_text(model, "args"), w.arguments);
            model = gt_settings_with(arena, model, "args", gt_settings_copy_string(arena, arguments));
            GT_PUSH(list.items, list.count, list.capacity, *model);
        }
        if (list.count == before)
            ok = gt_fail(error, "No models found corresponding to the given tag: %.500s", tags->items[t]);
    }
    gt_value *kept = gt_arena_alloc(arena, (list.count + 1) * sizeof *kept), *result;
    if (list.count) memcpy(kept, list.items, list.count * sizeof *kept);
    result = gt_arena_alloc(arena, sizeof *result);
    *result = (gt_value){.type = GT_VALUE_LIST, .count = (uint32_t)list.count, .items = kept};
    *selected = result;
    gt_free(list.items);
    return ok;
}

bool gt_models_load(gt_arena *arena, const gt_arg_list *tags, const gt_value **selected, gt_error *error)
{
    const gt_value *models, *chosen;
    gt_models_copy_folder(arena);
    if (!gt_models_find(arena, &models, error) || !gt_tags_select(arena, models, tags, &chosen, error))
        return false;
    gt_value *items = (gt_value *)chosen->items; /* made above */
    for (uint32_t i = 0; i < chosen->count; i++) {
        const gt_value *model = &items[i];
        if (!gt_models_complete(arena, &model, error)) return false;
        items[i] = *model;
    }
    *selected = chosen;
    return true;
}
