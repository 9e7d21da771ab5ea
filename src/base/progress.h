/* The progress line: how much of a file has been read, how fast, and how long the rest will take.
 *
 * It is on standard error, only if that is a terminal, and only after the work has taken a second. One file
 * is shown at a time, or one line for all; the counters are atomic, so that any thread may add to them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts a line; `what` is the name of the file being read. total_bytes is 0 if the size is unknown. */
void gt_progress_begin(const char *what, uint64_t total_bytes);
void gt_progress_add(uint64_t bytes, uint64_t events);
void gt_progress_end(void); /* removes the line; does nothing if there is none */

/* The same for a line of several files that are read at the same time: until it ends, the lines that the
 * readers of the files begin and end are not shown, and what they add counts for this one. */
void gt_progress_begin_all(const char *what, uint64_t total_bytes);
void gt_progress_end_all(void);

void gt_progress_enable(bool enabled); /* off by default */

/* The text of the line after `seconds`, cut to `width` columns: separate from the clock and the terminal, for
 * tests. */
void gt_progress_text(char *out, size_t size, size_t width, const char *what, uint64_t bytes,
                      uint64_t total_bytes, uint64_t events, double seconds);
