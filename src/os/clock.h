/* Local time as text, and a clock for durations. */
#pragma once

#include "base/base.h"
#include <time.h>

enum { GT_CLOCK_TEXT = 96 };

/* "2025-01-31 12:00:00.000123" in local time, as Python's str(datetime) prints it. */
void gt_clock_print(char text[GT_CLOCK_TEXT], struct timespec at);
/* Local time in a format of strftime; empty if it does not fit. */
void gt_clock_format(char *text, size_t size, const char *format, time_t at);

/* Seconds of a monotonic clock, for durations. */
double gt_clock_now_s(void);
