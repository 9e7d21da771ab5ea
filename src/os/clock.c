/* Local time as text, with microseconds, and the monotonic clock. */
#include "os/clock.h"

void gt_clock_format(char *text, size_t size, const char *format, time_t at)
{
    struct tm local;
    *text = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (localtime_r(&at, &local) && strftime(text, size, format, &local) == 0) *text = 0;
#pragma GCC diagnostic pop
}

void gt_clock_print(char text[GT_CLOCK_TEXT], struct timespec at)
{
    char seconds[GT_CLOCK_TEXT - 32];
    gt_clock_format(seconds, sizeof seconds, "%Y-%m-%d %H:%M:%S", at.tv_sec);
    snprintf(text, GT_CLOCK_TEXT, "%s.%06ld", seconds, at.tv_nsec / 1000);
}

double gt_clock_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
