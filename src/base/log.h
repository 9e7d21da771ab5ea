/* Messages for people, on standard error: warnings, information, and the status line at the bottom of a
 * terminal. */
#ifndef GT_BASE_LOG_H
#define GT_BASE_LOG_H

#include <stdbool.h>

/* "gputally: warning: ..." on standard error, clear of a progress line that may stand there. Safe from any
 * thread. */
void gt_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Plain information, not shown under --quiet. */
void gt_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gt_log_quiet(bool quiet); /* --quiet: no gt_info; warnings stay */

/* For work on many files at once: from `true` on, a message that was given before is only counted, and
 * `false` tells how often. */
void gt_log_once(bool once);

/* Hands every message to `handler` instead of standard error, one at a time; NULL goes back to standard
 * error. */
typedef void gt_log_handler(bool warning, const char *text);
void gt_log_to(gt_log_handler *handler);

/* The one line that stands below everything else and is drawn over; NULL takes it away. For the progress
 * line. */
void gt_log_status(const char *text);

#endif
