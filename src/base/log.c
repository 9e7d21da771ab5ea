/* Messages of the command line: one lock keeps lines whole, and the status line is erased before a message
 * and drawn again after it. Messages of a guarded call go to that call's handler and touch none of this. */
#include "base/log.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/printing.h"
#include "base/repeats.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool be_quiet;
static gt_log_handler *handle;
static char status[512]; /* the line at the bottom; "" for none */

enum { MESSAGE_MAX = 8192 };
#define ERASE_LINE "\r\033[K"

static gt_repeats *repeats; /* warnings printed so far */

static void print_text(bool warning, const char *text)
{
    if (status[0]) gt_print_raw(stderr, ERASE_LINE, strlen(ERASE_LINE));
    if (handle)
        handle(warning, text);
    else
        fprintf(stderr, "%s%s\n", warning ? "gputally: warning: " : "gputally: ", text);
    if (status[0]) fputs(status, stderr);
}

/* Prints a warning, or passes it to the guarded call. Its file is named if the text does not do so. */
static void warn(bool loose, const char *format, va_list args)
{
    char text[MESSAGE_MAX], named[2 * MESSAGE_MAX];
    const char *about = gt_log_file();
    vsnprintf(text, sizeof text, format, args);
    bool names_file = !about || strstr(text, about);
    if (!names_file) snprintf(named, sizeof named, "%s: %s", about, text);
    const char *shown = names_file ? text : named;
    if (gt_guard_warn(shown, about, loose)) return;
    pthread_mutex_lock(&lock);
    if (gt_repeats_add(&repeats, true, shown, about, loose)) print_text(true, shown);
    pthread_mutex_unlock(&lock);
}

void gt_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(false, format, args);
    va_end(args);
}

void gt_warn_once(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *about = gt_log_about(""); /* it names its file itself */
    warn(false, format, args);
    gt_log_about(about);
    va_end(args);
}

void gt_hint(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(true, format, args);
    va_end(args);
}

static void print_repeated(void *context, bool warning, const char *text)
{
    (void)context;
    print_text(warning, text);
}

void gt_log_end_repeats(void)
{
    pthread_mutex_lock(&lock);
    gt_repeats_end(&repeats, print_repeated, NULL);
    pthread_mutex_unlock(&lock);
}

void gt_info(const char *format, ...)
{
    if (gt_guard_current()) return;
    char text[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&lock);
    if (!be_quiet && gt_repeats_add(&repeats, false, text, gt_log_file(), false)) print_text(false, text);
    pthread_mutex_unlock(&lock);
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
    if (status[0]) gt_print_raw(stderr, ERASE_LINE, strlen(ERASE_LINE));
    status[0] = 0;
    if (text) {
        snprintf(status, sizeof status, "%s", text);
        fputs(status, stderr);
    }
    fflush(stderr);
    pthread_mutex_unlock(&lock);
}
