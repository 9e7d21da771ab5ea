/* Messages of the command line: one lock keeps lines whole, and the status line is erased before a message
 * and drawn again after it. Messages of a guarded call go to that call's handler and touch none of this. */
#include "base/log.h"
#include "base/buffer.h"
#include "base/guard.h"
#include "base/printing.h"

#include <stdarg.h>

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

/* ---- giving, and keeping ---- */

typedef struct gt_log_message {
    struct gt_log_message *next;
    bool warning, loose;
    char *file; /* NULL: none */
    char text[];
} gt_log_message;

/* Gives a message, or counts it if it was given before; see gt_repeats_add. */
static void give(bool warning, const char *text, const char *file, bool loose)
{
    if (warning && gt_guard_warn(text, file, loose)) return;
    pthread_mutex_lock(&lock);
    if ((warning || !be_quiet) && gt_repeats_add(&repeats, warning, text, file, loose))
        print_text(warning, text);
    pthread_mutex_unlock(&lock);
}

/* Nothing is allocated while the lock is held. */
static void add_message(gt_log_record *record, bool warning, const char *text, const char *file, bool loose)
{
    size_t size = strlen(text) + 1;
    gt_log_message *message = gt_alloc(sizeof *message + size);
    *message = (gt_log_message){.warning = warning, .loose = loose, .file = file ? gt_strdup(file) : NULL};
    memcpy(message->text, text, size);
    pthread_mutex_lock(&lock);
    *(record->last ? &record->last->next : &record->first) = message;
    record->last = message;
    pthread_mutex_unlock(&lock);
}

/* Gives the message, or adds it to the record. */
static void give_or_keep(bool warning, const char *text, const char *file, bool loose)
{
    gt_log_record *record = gt_log_scope_current().record;
    if (record)
        add_message(record, warning, text, file, loose);
    else
        give(warning, text, file, loose);
}

static void empty(gt_log_record *record, bool replay)
{
    for (gt_log_message *message = record->first, *next; message; message = next) {
        next = message->next;
        if (replay) give_or_keep(message->warning, message->text, message->file, message->loose);
        gt_free_all(message->file, message);
    }
    *record = (gt_log_record){0};
}

void gt_log_replay(gt_log_record *record)
{
    empty(record, true);
}

void gt_log_forget(gt_log_record *record)
{
    empty(record, false);
}

/* ---- as an image: per message a byte of flags, the text and, if there is one, the file ---- */

enum { SAVED_WARNING = 1, SAVED_LOOSE = 2, SAVED_FILE = 4, SAVED_FLAGS = 7 };

void gt_log_record_save(const gt_log_record *record, gt_image *image)
{
    gt_buffer bytes = {0};
    for (const gt_log_message *message = record->first; message; message = message->next) {
        char flags = (char)((message->warning ? SAVED_WARNING : 0) | (message->loose ? SAVED_LOOSE : 0) |
                            (message->file ? SAVED_FILE : 0));
        gt_buffer_add(&bytes, &flags, 1);
        gt_buffer_add(&bytes, message->text, strlen(message->text) + 1);
        if (message->file) gt_buffer_add(&bytes, message->file, strlen(message->file) + 1);
    }
    size_t len = bytes.len;
    if (!len) gt_buffer_add(&bytes, "", 1);
    gt_image_give(image, "log", "messages", bytes.bytes, len);
}

bool gt_log_record_load(gt_log_record *record, const gt_image *image)
{
    size_t len;
    const char *at = gt_image_get(image, "log", "messages", 1, &len);
    if (!at || (len && at[len - 1])) return false;
    for (const char *end = at + len; at < end;) {
        unsigned flags = (unsigned char)*at++;
        const char *text = at, *file = NULL;
        if (flags > SAVED_FLAGS || at == end) return false;
        at += strlen(text) + 1;
        if (flags & SAVED_FILE) {
            if (at == end) return false;
            file = at;
            at += strlen(file) + 1;
        }
        add_message(record, flags & SAVED_WARNING, text, file, flags & SAVED_LOOSE);
    }
    return true;
}

/* ---- listening ---- */

static pthread_mutex_t hearing = PTHREAD_MUTEX_INITIALIZER; /* threads that share a loop share a listener */

void gt_log_listen(gt_log_listener *listener)
{
    gt_log_scope scope = gt_log_scope_current();
    listener->outer = scope.listener;
    scope.listener = listener;
    gt_log_scope_use(scope);
}

void gt_log_unlisten(gt_log_listener *listener)
{
    gt_log_scope scope = gt_log_scope_current();
    scope.listener = listener->outer;
    gt_log_scope_use(scope);
}

bool gt_log_set_private(bool is_private)
{
    gt_log_scope scope = gt_log_scope_current();
    bool before = scope.is_private;
    scope.is_private = is_private;
    gt_log_scope_use(scope);
    return before;
}

static void hear(gt_message_kind kind, const char *text)
{
    gt_log_scope scope = gt_log_scope_current();
    if (!scope.listener || scope.is_private) return;
    gt_lock(&hearing);
    for (gt_log_listener *listener = scope.listener; listener; listener = listener->outer) {
        listener->count++;
        if (listener->hear) listener->hear(listener->context, kind, text);
    }
    gt_unlock(&hearing);
}

void gt_log_repeat(gt_message_kind kind, const char *text)
{
    switch (kind) {
    case GT_MESSAGE_WARNING:
        gt_warn("%s", text);
        break;
    case GT_MESSAGE_WARNING_ONCE:
        gt_warn_once("%s", text);
        break;
    case GT_MESSAGE_HINT:
        gt_hint("%s", text);
        break;
    case GT_MESSAGE_INFO:
        gt_info("%s", text);
        break;
    }
}

/* ---- messages ---- */

/* Its file is named if the text does not do so. */
static void warn(gt_message_kind kind, const char *format, va_list args)
{
    char text[MESSAGE_MAX], named[2 * MESSAGE_MAX];
    const char *about = gt_log_scope_current().file;
    bool loose = kind == GT_MESSAGE_HINT;
    vsnprintf(text, sizeof text, format, args);
    hear(kind, text);
    bool names_file = !about || strstr(text, about);
    if (!names_file) snprintf(named, sizeof named, "%s: %s", about, text);
    give_or_keep(true, names_file ? text : named, about, loose);
}

void gt_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(GT_MESSAGE_WARNING, format, args);
    va_end(args);
}

void gt_warn_once(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *about = gt_log_about(""); /* it names its file itself */
    warn(GT_MESSAGE_WARNING_ONCE, format, args);
    gt_log_about(about);
    va_end(args);
}

void gt_hint(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(GT_MESSAGE_HINT, format, args);
    va_end(args);
}

/* Texts of a size that was found before: nothing is allocated while the lock is held. */
typedef struct shown_texts {
    char *bytes; /* NULL: only the size is wanted */
    size_t len, size;
} shown_texts;

static void add_shown(void *context, bool warning, const char *text)
{
    shown_texts *all = context;
    size_t len = strlen(text) + 1;
    (void)warning;
    if (all->bytes && len > all->size - all->len) return; /* given meanwhile */
    if (all->bytes) memcpy(all->bytes + all->len, text, len);
    all->len += len;
}

void gt_log_add_shown(gt_buffer *texts)
{
    shown_texts all = {0};
    pthread_mutex_lock(&lock);
    gt_repeats_visit(repeats, add_shown, &all);
    pthread_mutex_unlock(&lock);
    all = (shown_texts){.bytes = gt_alloc(all.len + 1), .size = all.len};
    pthread_mutex_lock(&lock);
    gt_repeats_visit(repeats, add_shown, &all);
    pthread_mutex_unlock(&lock);
    gt_buffer_add(texts, all.bytes, all.len);
    gt_free(all.bytes);
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
    char text[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hear(GT_MESSAGE_INFO, text);
    if (!gt_guard_current()) give_or_keep(false, text, gt_log_scope_current().file, false);
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
