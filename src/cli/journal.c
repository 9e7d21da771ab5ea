/* Lines of the form "[2025-12-09 07:09:39,123] {gputally} INFO - text"; warnings of the library become lines
 * too. */
#include "cli/journal.h"
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static bool kept, only_problems;

static void print_line(const char *level, const char *format, va_list args)
{
    struct timespec now;
    struct tm local;
    char stamp[32];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local);
    printf("[%s,%03ld] {gputally} %s - ", stamp, now.tv_nsec / 1000000, level);
    vprintf(format, args);
    putchar('\n');
}

__attribute__((format(printf, 2, 3))) static void print_at(const char *level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(level, format, args);
    va_end(args);
}

static void print_message(bool warning, const char *text)
{
    print_at(warning ? "WARNING" : "INFO", "%s", text);
}

void gt_journal_start(bool quiet)
{
    kept = true;
    only_problems = quiet;
    gt_log_to(print_message);
}

bool gt_journal_is_kept(void)
{
    return kept;
}

void gt_journal_info(const char *format, ...)
{
    if (!kept || only_problems) return;
    va_list args;
    va_start(args, format);
    print_line("INFO", format, args);
    va_end(args);
}

void gt_journal_error(const char *format, ...)
{
    if (!kept) return;
    va_list args;
    va_start(args, format);
    print_line("ERROR", format, args);
    va_end(args);
}
