/* Times of day as Python's str(datetime) prints them, and a clock for durations. */
#ifndef GT_OS_CLOCK_H
#define GT_OS_CLOCK_H

#include <time.h>

enum { GT_CLOCK_TEXT = 96 };

/* "2025-01-31 12:00:00.000123", local time. */
void gt_clock_print(char text[GT_CLOCK_TEXT], struct timespec at);

/* Seconds of a clock that nobody sets: for how long something takes. */
double gt_clock_now_s(void);

#endif
