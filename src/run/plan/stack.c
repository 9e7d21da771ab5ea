/* Tools stack in the order of the list: each is put around those before it, its pre-scripts run before
 * theirs, its post-scripts after theirs, its variables win. A command that was put around once is not put
 * around again: the library traces share one. */
#include "run/plan/stack.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { TOOLS_MAX = 64, SCRIPTS_MAX = 256 };

typedef struct builder {
    gt_arena *arena;
    gt_stack *stack;
    gt_buffer wrap;
    const char *rocprof, *rtl; /* the first tool of each family */
    gt_error *error;
} builder;

static const gt_value *joined(gt_arena *arena, const gt_value *first, const gt_value *second)
{
    for (uint32_t i = 0; gt_value_is_list(second) && i < second->count; i++)
        first = gt_settings_push(arena, first, second->items[i]);
    return first;
}

static gt_value trimmed(gt_arena *arena, const char *text)
{
    size_t len = strlen(text);
    while (len && isspace((unsigned char)text[len - 1])) len--;
    while (len && isspace((unsigned char)*text)) text++, len--;
    return (gt_value){.type = GT_VALUE_STRING, .text = {gt_arena_bytes(arena, text, len), len}};
}

/* Scripts as {"path", "args"}, both trimmed; args "" where there are none. */
static bool check_scripts(builder *b, const gt_value **scripts, const char *whose)
{
    static const gt_value empty = {.type = GT_VALUE_LIST};
    const gt_value *clean = &empty;
    if ((*scripts)->count > SCRIPTS_MAX)
        return gt_fail(b->error, "%s: more than %d scripts", whose, SCRIPTS_MAX);
    for (uint32_t i = 0; gt_value_is_list(*scripts) && i < (*scripts)->count; i++) {
        const gt_value *entry = &(*scripts)->items[i];
        const char *path = gt_settings_string(entry, "path"), *args = gt_settings_string(entry, "args");
        if (!path || (!args && gt_settings_has(entry, "args")))
            return gt_fail(b->error,
                           "%s: entry %u must be an object with path and, if any, args, both strings", whose,
                           i + 1);
        const gt_value *kept = gt_settings_with(b->arena, &gt_value_missing, "path", trimmed(b->arena, path));
        kept = gt_settings_with(b->arena, kept, "args", trimmed(b->arena, args ? args : ""));
        clean = gt_settings_push(b->arena, clean, *kept);
    }
    *scripts = clean;
    return true;
}

static bool was_added(const gt_stack *stack, const char *cmd)
{
    for (size_t i = 0; i < stack->piece_count; i++)
        if (stack->pieces[i].tool && strcmp(stack->pieces[i].cmd, cmd) == 0) return true;
    return false;
}

/* wrap = cmd + " " + wrap */
static void put_around(builder *b, const gt_tool *tool, bool own_cmd)
{
    if (was_added(b->stack, tool->cmd)) return;
    gt_buffer around = {0};
    gt_buffer_add_cstr(&around, tool->cmd);
    gt_buffer_add_cstr(&around, " ");
    gt_buffer_add(&around, b->wrap.bytes, b->wrap.len);
    gt_buffer_free(&b->wrap);
    b->wrap = around;
    b->stack->pieces[b->stack->piece_count++] =
        (gt_stack_piece){.cmd = tool->cmd, .tool = tool->name, .own_cmd = own_cmd};
}

static bool check_families(builder *b, const gt_tool *tool)
{
    if (tool->is_rocprof) {
        if (b->rocprof && strcmp(b->rocprof, tool->name) != 0 && !b->stack->warning) {
            char text[512];
            snprintf(text, sizeof text, "%.200s and %.200s both run a profiler; they may disturb each other",
                     b->rocprof, tool->name);
            b->stack->warning = gt_settings_copy_string(b->arena, text).text.bytes;
        }
        b->rocprof = tool->name;
    }
    if (tool->is_rtl) b->rtl = tool->name;
    if (b->rocprof && b->rtl)
        return gt_fail(b->error, "tools %.200s and %.200s cannot run together: both trace the same calls",
                       b->rocprof, b->rtl);
    return true;
}

static bool add_tool(builder *b, const gt_value *entry, const gt_value *more_tools)
{
    const char *name = gt_settings_string(entry, "name"), *cmd = gt_settings_string(entry, "cmd");
    const gt_value *env = gt_value_get(entry, "env_vars");
    if (!name) return gt_fail(b->error, "tools: each entry must be an object with a name (a string)");
    if (!cmd && gt_settings_has(entry, "cmd"))
        return gt_fail(b->error, "tool %.200s: cmd must be a string", name);
    if (env->type != GT_VALUE_MISSING && env->type != GT_VALUE_DICT)
        return gt_fail(b->error, "tool %.200s: env_vars must be an object", name);
    gt_tool tool;
    if (!gt_tool_find(b->arena, more_tools, name, &tool, b->error) || !check_families(b, &tool)) return false;
    bool from_file = gt_settings_has(gt_value_get(more_tools, "tools"), name);
    if (cmd) tool.cmd = cmd;
    tool.env = gt_settings_update(b->arena, tool.env, env);
    if (!check_scripts(b, &tool.pre, name) || !check_scripts(b, &tool.post, name)) return false;

    b->stack->pre = joined(b->arena, tool.pre, b->stack->pre);
    b->stack->post = joined(b->arena, b->stack->post, tool.post);
    b->stack->env = gt_settings_update(b->arena, b->stack->env, tool.env);
    put_around(b, &tool, cmd || from_file);
    return true;
}

static void outermost_first(gt_stack *stack)
{
    for (size_t i = 0; i < stack->piece_count / 2; i++) {
        gt_stack_piece piece = stack->pieces[i];
        stack->pieces[i] = stack->pieces[stack->piece_count - 1 - i];
        stack->pieces[stack->piece_count - 1 - i] = piece;
    }
}

bool gt_stack_build(gt_arena *arena, const gt_value *context, const gt_value *more_tools, gt_stack *stack,
                    gt_error *error)
{
    builder b = {.arena = arena, .stack = stack, .error = error};
    const gt_value *tools = gt_value_get(context, "tools");
    const char *own = gt_settings_string(context, "encapsulate_script");
    if (tools->count > TOOLS_MAX) return gt_fail(error, "more than %d tools", TOOLS_MAX);
    *stack = (gt_stack){.pre = gt_value_get(context, "pre_scripts"),
                        .post = gt_value_get(context, "post_scripts"),
                        .env = gt_settings_update(arena, &gt_value_missing, &gt_value_missing)};
    stack->pieces = gt_arena_alloc(arena, (tools->count + 1) * sizeof *stack->pieces);
    bool sound =
        check_scripts(&b, &stack->pre, "pre_scripts") && check_scripts(&b, &stack->post, "post_scripts");
    gt_buffer_add_cstr(&b.wrap, own ? own : "");
    if (own && *own) stack->pieces[stack->piece_count++] = (gt_stack_piece){.cmd = own, .own_cmd = true};
    for (uint32_t i = 0; sound && i < tools->count; i++) sound = add_tool(&b, &tools->items[i], more_tools);
    outermost_first(stack);
    stack->wrap = gt_arena_bytes(arena, b.wrap.bytes, b.wrap.len);
    gt_buffer_free(&b.wrap);
    return sound;
}
