/* The tools that a context can name: what each puts before the command, into its environment, and runs before
 * and after it. */
#ifndef GT_RUN_PLAN_TOOLS_H
#define GT_RUN_PLAN_TOOLS_H

#include "run/plan/settings.h"

typedef struct gt_tool {
    const char *name;
    const char *cmd;         /* a piece of a shell line, "" for none */
    const gt_value *env;     /* dict of texts */
    const gt_value *pre;     /* list of {"path", "args"} */
    const gt_value *post;    /* the same */
    bool is_rocprof, is_rtl; /* families that cannot run together */
} gt_tool;

/* Looks a tool up: in `more` first, the value of a file in the layout of tools.json ({"tools": {name:
 * {...}}}; MISSING: none), then in the built-in table. False where neither has it or the file's entry is
 * wrong. */
bool gt_tool_find(gt_arena *arena, const gt_value *more, const char *name, gt_tool *tool, gt_error *error);

size_t gt_tool_count(void); /* of the built-in ones */
const char *gt_tool_name(size_t index);
const char *gt_tool_purpose(size_t index);

#endif
