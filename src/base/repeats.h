/* Messages that are printed once and counted afterwards: the same hint about eight traces is one line and a
 * count. Messages are the same if they differ only in the file that they are about; loose ones also if they
 * differ in numbers.
 *
 * Not thread-safe: the owner of a list locks it. Memory comes from malloc, because a list may belong to a
 * guarded call (base/guard.h); without memory, every message counts as new. */
#ifndef GT_BASE_REPEATS_H
#define GT_BASE_REPEATS_H

#include <stdbool.h>

typedef struct gt_repeats gt_repeats; /* NULL is the empty list */

/* Whether the message must be printed; otherwise it is counted. `file` may be NULL; if it is "", a
 * repeated message is dropped instead of counted. */
bool gt_repeats_add(gt_repeats **list, bool warning, const char *text, const char *file, bool loose);

/* Prints "7 more files: ..." or "7 more times: ..." for each message that was repeated, in the order of their
 * first occurrences, and empties the list. */
typedef void gt_repeats_printer(void *context, bool warning, const char *text);
void gt_repeats_end(gt_repeats **list, gt_repeats_printer *print, void *context);

/* ---- the file ---- */

/* The file that messages of this thread, and of the threads that it starts with gt_threads_run, are about:
 * one of several. Messages that do not name it get its name. NULL: none. Returns the one before, to be
 * restored. The string must stay valid until then. */
const char *gt_log_about(const char *file);
const char *gt_log_file(void); /* the current one */

#endif
