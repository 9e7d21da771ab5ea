/* The variables of a launcher as lines of a job script. */
#include "run/targets/targets.h"

/* In double quotes, so that the shell of each node fills in ${NODE_RANK} and ${MASTER_ADDR}. */
static void add_quoted(gt_buffer *lines, const char *value)
{
    gt_buffer_add_cstr(lines, "\"");
    for (; *value; value++) {
        bool is_ours = *value == '$' && value[1] == '{';
        if (strchr("\"\\`$", *value) && !is_ours) gt_buffer_add_cstr(lines, "\\");
        gt_buffer_add(lines, value, 1);
    }
    gt_buffer_add_cstr(lines, "\"");
}

bool gt_distributed_export(const gt_distributed *distributed, const gt_value *settings, gt_buffer *lines,
                           gt_error *error)
{
    gt_arena arena = {0};
    const gt_value *variables = gt_launcher_variables(&arena, distributed, settings, error);
    for (uint32_t i = 0; variables && i < variables->count; i += 2) {
        const char *name = variables->items[i].text.bytes, *value = variables->items[i + 1].text.bytes;
        gt_buffer_add_cstr(lines, "export ");
        gt_buffer_add_cstr(lines, name);
        gt_buffer_add_cstr(lines, "=");
        if (strcmp(name, "MAD_MULTI_NODE_RUNNER") == 0)
            add_quoted(lines, value);
        else
            gt_shell_quote(lines, value);
        gt_buffer_add_cstr(lines, "\n");
    }
    gt_arena_free(&arena);
    return variables;
}
