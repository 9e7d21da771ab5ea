/* What comes along into a pod: counter lists (-i FILE) and scripts of the context that exist on this machine
 * go into the ConfigMap, and the context names them where the pod finds them. Lists that come with gputally
 * and scripts that gputally replaces need no file. And what does not come along: variables with secrets. */
#include "run/targets/kubernetes/parts.h"
#include "os/paths.h"
#include "run/plan/secrets.h"

enum { FILE_MAX_BYTES = 1 << 20, DEPTH_MAX = 2 /* tools inside tools */ };

typedef struct embedding {
    gt_arena *arena;
    const char *workdir;
    gt_kube_files *files;
    gt_error *error;
    bool failed;
    int depth;
} embedding;

const char *gt_kube_add_file(gt_arena *arena, gt_kube_files *files, const char *name, const char *text)
{
    gt_kube_file *items = gt_arena_alloc(arena, (files->count + 1) * sizeof *items);
    if (files->count) memcpy(items, files->items, files->count * sizeof *items);
    items[files->count] = (gt_kube_file){name, text};
    files->items = items;
    files->count++;
    files->bytes += strlen(name) + strlen(text);
    return gt_arena_format(arena, "/config/%s", name);
}

/* A key of a ConfigMap: letters, digits, '-', '_' and '.'. */
static const char *key_for(embedding *e, const char *path)
{
    char *key = gt_arena_format(e->arena, "file%zu_%.100s", e->files->count, gt_path_name(path));
    for (char *c = key; *c; c++)
        if (!gt_is_letter(*c) && !gt_is_digit(*c) && !strchr("-_.", *c)) *c = '_';
    return key;
}

/* The path in the pod of a file of this machine; the path itself if there is no such file. */
static const char *embed_file(embedding *e, const char *path)
{
    const char *here = gt_path_absolute(e->arena, e->workdir, path);
    if (e->failed || !*path || !gt_path_is_file(here) || !gt_path_may_open(here)) return path;
    gt_buffer text = {0};
    if (!gt_read_small_file(here, FILE_MAX_BYTES, &text, e->error)) {
        e->failed = true;
    } else if (memchr(gt_buffer_str(&text).bytes, 0, text.len)) {
        e->failed = true;
        gt_fail(e->error, "k8s: %s is not a text file", here);
    } else {
        path = gt_kube_add_file(e->arena, e->files, key_for(e, path),
                                gt_arena_bytes(e->arena, text.bytes, text.len));
    }
    gt_buffer_free(&text);
    return path;
}

/* ---- a tool's command: the value of -i ---- */

static const char *embed_command(embedding *e, const char *cmd)
{
    static const char *const options[] = {"-i", "--input"};
    gt_arg_list words = {0};
    bool changed = false;
    if (!gt_shell_split(e->arena, cmd, &words)) return cmd;
    for (size_t i = 0; i < words.count; i++)
        for (size_t k = 0; k < GT_LENGTH(options); k++) {
            size_t len = strlen(options[k]);
            bool is_next = strcmp(words.items[i], options[k]) == 0 && i + 1 < words.count;
            bool is_same = strncmp(words.items[i], options[k], len) == 0 && words.items[i][len] == '=';
            if (!is_next && !is_same) continue;
            const char *given = is_next ? words.items[i + 1] : words.items[i] + len + 1;
            const char *there = embed_file(e, given);
            if (there == given) continue;
            changed = true;
            if (is_next)
                words.items[i + 1] = there;
            else
                words.items[i] = gt_arena_format(e->arena, "%s=%s", options[k], there);
        }
    if (!changed) return cmd;
    gt_buffer line = {0};
    gt_shell_join(&line, words.items, words.count);
    cmd = gt_arena_bytes(e->arena, line.bytes, line.len);
    gt_buffer_free(&line);
    return cmd;
}

/* ---- contexts and tools files ---- */

typedef gt_value convert(embedding *e, const char *key, const gt_value *value);

/* The list or dict with each of its values converted; keys keep their order. A value that becomes MISSING is
 * dropped. */
static gt_value each(embedding *e, const gt_value *from, convert *change)
{
    size_t step = from->type == GT_VALUE_DICT ? 2 : 1, count = 0;
    gt_value *items = gt_arena_alloc(e->arena, (from->count + 1) * sizeof *items);
    for (uint32_t i = 0; i < from->count; i += (uint32_t)step) {
        const gt_value *value = &from->items[i + step - 1];
        gt_value changed = change(e, step == 2 ? from->items[i].text.bytes : NULL, value);
        if (changed.type == GT_VALUE_MISSING) continue;
        if (step == 2) items[count++] = from->items[i];
        items[count++] = changed;
    }
    return (gt_value){.type = from->type, .count = (uint32_t)count, .items = items};
}

static gt_value drop_secret(embedding *e, const char *key, const gt_value *value)
{
    (void)e;
    return key && gt_secret_is_name(key) ? gt_value_missing : *value;
}

/* A script {"path": ..., "args": ...}: its path. */
static gt_value change_path(embedding *e, const char *key, const gt_value *value)
{
    if (!key || strcmp(key, "path") != 0 || value->type != GT_VALUE_STRING) return *value;
    return gt_settings_copy_string(e->arena, embed_file(e, value->text.bytes));
}

static gt_value change_script(embedding *e, const char *key, const gt_value *value)
{
    (void)key;
    return value->type == GT_VALUE_DICT ? each(e, value, change_path) : *value;
}

static gt_value change_member(embedding *e, const char *key, const gt_value *value);

static gt_value change_tool(embedding *e, const char *key, const gt_value *value)
{
    (void)key;
    return value->type == GT_VALUE_DICT ? each(e, value, change_member) : *value;
}

/* A member of a context, of a tool, or of a tools file. */
static gt_value change_member(embedding *e, const char *key, const gt_value *value)
{
    static const char *const variables[] = {"env_vars", "docker_env_vars", "docker_build_arg"};
    static const char *const scripts[] = {"pre_scripts", "post_scripts"};
    static const char *const commands[] = {"cmd", "encapsulate_script"};
    bool is_dict = value->type == GT_VALUE_DICT, is_list = gt_value_is_list(value);
    bool is_string = value->type == GT_VALUE_STRING;
    if (is_dict && gt_is_one_of(key, variables, GT_LENGTH(variables))) return each(e, value, drop_secret);
    if (is_list && gt_is_one_of(key, scripts, GT_LENGTH(scripts))) return each(e, value, change_script);
    if (is_string && gt_is_one_of(key, commands, GT_LENGTH(commands)))
        return gt_settings_copy_string(e->arena, embed_command(e, value->text.bytes));
    if ((is_dict || is_list) && strcmp(key, "tools") == 0 && e->depth < DEPTH_MAX) {
        e->depth++;
        gt_value tools = each(e, value, change_tool);
        e->depth--;
        return tools;
    }
    return is_string ? drop_secret(e, key, value) : *value;
}

const gt_value *gt_kube_embed(gt_arena *arena, const char *workdir, const gt_value *value,
                              gt_kube_files *files, gt_error *error)
{
    embedding e = {.arena = arena, .workdir = workdir, .files = files, .error = error};
    gt_value *changed = gt_arena_alloc(arena, sizeof *changed);
    *changed = change_tool(&e, NULL, value);
    return e.failed ? NULL : changed;
}
