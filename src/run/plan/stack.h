/* How the tools of a context stack around a command: which is outermost, which script runs first, whose
 * variables win. */
#ifndef GT_RUN_PLAN_STACK_H
#define GT_RUN_PLAN_STACK_H

#include "run/plan/tools.h"

/* What one tool, or the context itself, puts before the command. */
typedef struct gt_stack_piece {
    const char *cmd;
    const char *tool; /* NULL: the context's encapsulate_script */
    bool own_cmd;     /* the user wrote it, in the context or in a tools file */
} gt_stack_piece;

typedef struct gt_stack {
    const char *wrap;       /* all pieces as one text, as madengine has it */
    gt_stack_piece *pieces; /* outermost first; the context's own comes last */
    size_t piece_count;
    const gt_value *pre, *post; /* lists of {"path", "args"} in the order they run */
    const gt_value *env;        /* variables of the tools, in order */
    const char *warning;        /* two tools that disturb each other; NULL for none */
} gt_stack;

/* False where a tool is unknown, an entry has the wrong shape, or tools exclude each other. */
bool gt_stack_build(gt_arena *arena, const gt_value *context, const gt_value *more_tools, gt_stack *stack,
                    gt_error *error);

#endif
