/* Messages: one lock keeps lines whole, and the status line is taken away before a message and put back
 * after. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool be_quiet;
static gt_log_handler *handle;
static char status[512]; /* what stands at the bottom; "" where nothing does */

#define ERASE_LINE "\r\033[K"

static void print_line(bool warning, const char *format, va_list args)
{
    if (status[0]) fputs(ERASE_LINE, stderr);
    if (handle) {
        char text[1200];
        vsnprintf(text, sizeof text, format, args);
        handle(warning, text);
    } else {
        fputs(warning ? "gputally: warning: " : "gputally: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
    }
    if (status[0]) fputs(status, stderr);
}

void gt_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&lock);
    print_line(true, format, args);
    pthread_mutex_unlock(&lock);
    va_end(args);
}

void gt_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&lock);
    if (!be_quiet) print_line(false, format, args);
    pthread_mutex_unlock(&lock);
    va_end(args);
}

void gt_log_to(gt_log_handler *handler)
{
    pthread_mutex_lock(&lock);
    handle = handler;
    pthread_mutex_unlock(&lock);
}

void gt_log_quiet(bool quiet)
{
    pthread_mutex_lock(&lock);
    be_quiet = quiet;
    pthread_mutex_unlock(&lock);
}

void gt_log_status(const char *text)
{
    pthread_mutex_lock(&lock);
    if (status[0]) fputs(ERASE_LINE, stderr);
    status[0] = 0;
    if (text) {
        snprintf(status, sizeof status, "%s", text);
        fputs(status, stderr);
    }
    fflush(stderr);
    pthread_mutex_unlock(&lock);
}
