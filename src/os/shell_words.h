/* Splitting and quoting words as a shell does, without running one. */
#pragma once

#include "base/base.h"

typedef struct gt_arg_list {
    const char **items; /* in the arena, like the words */
    size_t count, capacity;
} gt_arg_list;

void gt_arg_list_add(gt_arena *arena, gt_arg_list *list, const char *word); /* a copy */

/* Splits a line at spaces and removes quotes and backslashes. False if the line means more to a shell than
 * its words ($,
 * `, ;, &, |, <, >, parentheses, patterns, an open quote): then only a shell can tell. */
bool gt_shell_split(gt_arena *arena, const char *line, gt_arg_list *words);

/* Adds the word so that a shell reads it back unchanged: plain if possible, otherwise in single quotes. */
void gt_shell_quote(gt_buffer *line, const char *word);
/* Adds words separated by spaces. */
void gt_shell_join(gt_buffer *line, const char *const *words, size_t count);
const char *gt_shell_line(gt_arena *arena, const char *const *words, size_t count); /* the same, on its own */
