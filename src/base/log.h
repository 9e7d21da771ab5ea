/* Messages to the user: warnings, information, and the status line at the bottom of a terminal.
 *
 * In a guarded call (base/guard.h), that is in the library, warnings go to the handler of that call and
 * information is dropped. Otherwise, that is in the command line, messages go to standard error; the settings
 * below are the command line's and apply to the whole program. */
#pragma once

#include "base/repeats.h" /* gt_log_about, gt_log_keep */

/* "gputally: warning: ..."; does not collide with a progress line. May be called from any thread. A warning
 * that was given before, also about another file, is only counted; see base/repeats.h. */
void gt_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a warning that says all the first time: repeated ones are dropped. */
void gt_warn_once(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a hint, such as how to record a better trace: also counted if only its numbers differ. */
void gt_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "gputally: ..."; not shown with --quiet. Repeated ones are counted, too. */
void gt_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- messages that are given later ----
 *
 * Of several pieces of work that run side by side: kept until it is the piece's turn, so that the same
 * messages come in the same order whatever piece is done first. gt_log_keep (base/repeats.h) says where. */

typedef struct gt_log_record { /* begins empty, as {0} */
    struct gt_log_message *first, *last;
} gt_log_record;

/* Gives the messages, each as if it came now, and empties the record. */
void gt_log_replay(gt_log_record *record);
void gt_log_forget(gt_log_record *record); /* empties the record */

struct gt_image;
/* As an image (base/image.h), for another process: adds copies of the messages. Loading adds them to a
 * record; false if the image is damaged. */
void gt_log_record_save(const gt_log_record *record, struct gt_image *image);
bool gt_log_record_load(gt_log_record *record, const struct gt_image *image);

/* ---- listening ----
 *
 * A listener receives the messages of its thread, and of the loops that this shares with others, before file
 * names are added and repeated messages are counted or dropped: to print them again another time, or to know
 * whether there are any. */

typedef enum gt_message_kind {
    GT_MESSAGE_WARNING,
    GT_MESSAGE_WARNING_ONCE,
    GT_MESSAGE_HINT,
    GT_MESSAGE_INFO
} gt_message_kind;

typedef struct gt_log_listener {
    void (*hear)(void *context, gt_message_kind kind, const char *text); /* NULL: only counts them */
    void *context;
    unsigned long count;           /* messages so far */
    struct gt_log_listener *outer; /* receives them, too; set by gt_log_listen */
} gt_log_listener;
void gt_log_listen(gt_log_listener *listener);
void gt_log_unlisten(gt_log_listener *listener);

/* Whether listeners do not receive messages of this thread: those that are about the command and not about
 * the trace. Returns what was set before. */
bool gt_log_set_private(bool is_private);
/* Prints a message that a listener received. */
void gt_log_repeat(gt_message_kind kind, const char *text);

/* ---- for the command line ---- */

void gt_log_quiet(bool quiet); /* --quiet: drop information; warnings are still shown */

/* Adds the warnings that were shown so far, each NUL-terminated: those that a page repeats. Of repeated ones,
 * the first. */
struct gt_buffer;
void gt_log_add_shown(struct gt_buffer *texts);

/* Prints how often messages were repeated, and forgets them. A guarded call does this by itself at its end.
 */
void gt_log_end_repeats(void);

/* Passes every message to `handler` instead of standard error, one at a time; NULL restores standard error.
 */
typedef void gt_log_handler(bool warning, const char *text);
void gt_log_to(gt_log_handler *handler);

/* Draws the line below all messages, which the next call replaces; NULL erases it. For the progress line. */
void gt_log_status(const char *text);
