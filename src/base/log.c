/* Messages of the command line: one lock keeps lines whole, and the status line is erased before a message
 * and drawn again after it. Messages of a guarded call go to that call's handler and touch none of this. */
#include "base/log.h"
#include "base/guard.h"
#include "base/memory.h"

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

/* Messages printed since gt_log_once; once the list is full, others are printed every time. */
static struct {
    bool on;
    size_t count;
    struct {
        char *text;
        bool warning;
        size_t more;
    } printed[64];
} once;

/* Whether the message was printed before. */
static bool is_known(bool warning, const char *text)
{
    for (size_t i = 0; i < once.count; i++)
        if (once.printed[i].warning == warning && strcmp(once.printed[i].text, text) == 0) {
            once.printed[i].more++;
            return true;
        }
    if (once.count < GT_LENGTH(once.printed)) {
        once.printed[once.count].text = gt_strdup(text);
        once.printed[once.count].warning = warning;
        once.printed[once.count++].more = 0;
    }
    return false;
}

static void print_text(bool warning, const char *text)
{
    if (status[0]) fputs(ERASE_LINE, stderr);
    if (handle)
        handle(warning, text);
    else
        fprintf(stderr, "%s%s\n", warning ? "gputally: warning: " : "gputally: ", text);
    if (status[0]) fputs(status, stderr);
}

static void print_line(bool warning, const char *format, va_list args)
{
    char text[MESSAGE_MAX];
    vsnprintf(text, sizeof text, format, args);
    if (!once.on || !is_known(warning, text)) print_text(warning, text);
}

void gt_log_once(bool on)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < once.count; i++) {
        char text[MESSAGE_MAX + 64];
        snprintf(text, sizeof text, "%zu more times: %s", once.printed[i].more, once.printed[i].text);
        if (once.printed[i].more) print_text(once.printed[i].warning, text);
        gt_free(once.printed[i].text);
    }
    once.count = 0;
    once.on = on;
    pthread_mutex_unlock(&lock);
}

void gt_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (gt_guard_current()) {
        char text[MESSAGE_MAX];
        vsnprintf(text, sizeof text, format, args);
        gt_guard_warn(text);
    } else {
        pthread_mutex_lock(&lock);
        print_line(true, format, args);
        pthread_mutex_unlock(&lock);
    }
    va_end(args);
}

void gt_info(const char *format, ...)
{
    if (gt_guard_current()) return;
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
