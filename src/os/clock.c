/* Local time with microseconds. */
#include "os/clock.h"

#include <stdio.h>

void gt_clock_print(char text[GT_CLOCK_TEXT], struct timespec at)
{
    struct tm local;
    size_t len = strftime(text, GT_CLOCK_TEXT - 32, "%Y-%m-%d %H:%M:%S", localtime_r(&at.tv_sec, &local));
    snprintf(text + len, 32, ".%06ld", at.tv_nsec / 1000);
}

double gt_clock_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
