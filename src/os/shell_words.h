/* Words as a shell splits and quotes them, without running one. */
#ifndef GT_OS_SHELL_WORDS_H
#define GT_OS_SHELL_WORDS_H

#include "base/memory.h"
#include "base/buffer.h"

typedef struct gt_arg_list {
    const char **items; /* in the arena, as the words are */
    size_t count, capacity;
} gt_arg_list;

void gt_arg_list_add(gt_arena *arena, gt_arg_list *list, const char *word); /* a copy */

/* Splits a line at blanks, with quotes and backslashes taken away. False where the line means more to a shell
 * than its words ($, `, ;, &, |, <, >, parentheses, patterns, an open quote): then only a shell can tell. */
bool gt_shell_split(gt_arena *arena, const char *line, gt_arg_list *words);

/* Adds the word so that a shell reads it back as it is: plain where that is enough, else in single quotes. */
void gt_shell_quote(gt_buffer *line, const char *word);
/* Adds words with blanks between them. */
void gt_shell_join(gt_buffer *line, const char *const *words, size_t count);

#endif
