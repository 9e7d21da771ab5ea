/* The progress line: how far a long read has come, how fast it goes and when it will be done.
 *
 * It stands on standard error, only where that is a terminal, and only once the work has taken a second. One
 * piece of work is shown at a time; the counters are atomic, so any thread may add to them at any rate. */
#ifndef GT_BASE_PROGRESS_H
#define GT_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts a line; `what` is the name of the file being read. total_bytes is 0 where the size is unknown. */
void gt_progress_begin(const char *what, uint64_t total_bytes);
void gt_progress_add(uint64_t bytes, uint64_t events);
void gt_progress_end(void); /* the line goes away; nothing happens where none was begun */

void gt_progress_enable(bool enabled); /* off until a program turns it on */

/* What the line says after `seconds`, cut to `width` columns: kept apart from the clock and the terminal for
 * tests. */
void gt_progress_text(char *out, size_t size, size_t width, const char *what, uint64_t bytes,
                      uint64_t total_bytes, uint64_t events, double seconds);

#endif
