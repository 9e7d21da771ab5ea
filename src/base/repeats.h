/* Messages that are printed once and counted afterwards: the same hint about eight traces is one line and a
 * count. Messages are the same if they differ only in the file that they are about; loose ones also if they
 * differ in numbers.
 *
 * Not thread-safe: the owner of a list locks it. Memory comes from malloc, because a list may belong to a
 * guarded call (base/guard.h); without memory, every message counts as new. */
#pragma once

#include <stdbool.h>

typedef struct gt_repeats gt_repeats; /* NULL is the empty list */

/* Whether the message must be printed; otherwise it is counted. `file` may be NULL; if it is "", a
 * repeated message is dropped instead of counted. */
bool gt_repeats_add(gt_repeats **list, bool warning, const char *text, const char *file, bool loose);

/* Passes on the warnings that were printed, in order, as they were printed. */
typedef void gt_repeats_printer(void *context, bool warning, const char *text);
void gt_repeats_visit(const gt_repeats *list, gt_repeats_printer *visit, void *context);

/* Prints "7 more files: ..." or "7 more times: ..." for each message that was repeated, in the order of their
 * first occurrences, and empties the list. */
void gt_repeats_end(gt_repeats **list, gt_repeats_printer *print, void *context);

/* ---- what messages are about, and when they are given ----
 *
 * Both belong to a thread and to the loops that it shares with others (base/team.h, base/threads.h). They are
 * here and not in base/log.h because guarded calls (base/guard.h) set them aside. */

/* The file that messages are about: one of several. Messages that do not name it get its name. NULL: none.
 * Returns the one before, to be restored. The string must stay valid until then. */
const char *gt_log_about(const char *file);

/* From now on keeps messages in the record (base/log.h); NULL: gives them at once. Returns the one before, to
 * be restored. */
struct gt_log_record *gt_log_keep(struct gt_log_record *record);

/* Both, and who listens (base/log.h), for those who start threads: a thread that helps another has its
 * settings meanwhile. */
typedef struct gt_log_scope {
    const char *file;
    struct gt_log_record *record;
    struct gt_log_listener *listener; /* NULL: nobody */
    bool is_private;                  /* the listener does not hear the messages */
} gt_log_scope;
gt_log_scope gt_log_scope_current(void);
gt_log_scope gt_log_scope_use(gt_log_scope scope); /* returns the one before */
