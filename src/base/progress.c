/* The progress line: a thread wakes up a few times per second, reads the counters and draws. It is started
 * only if there is a terminal to draw on. Files may be read at the same time: the first one that begins a
 * line has it until it ends, and only its thread ends it. */
#include "base/progress.h"
#include "base/memory.h"
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define FIRST_AFTER_SECONDS 1.0
#define REDRAW_SECONDS      0.2

static bool enabled;
static bool of_all; /* the line is that of several files */
static _Atomic uint64_t done_bytes, done_events;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t stop;
    pthread_t thread;
    bool running, stopping;
    pthread_mutex_t change; /* held while a line begins or ends */
    pthread_t owner;        /* the thread that began it */
    char what[256];
    uint64_t total_bytes;
    struct timespec start;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_MUTEX_INITIALIZER};

void gt_progress_enable(bool wanted)
{
    enabled = wanted;
}

void gt_progress_add(uint64_t bytes, uint64_t events)
{
    if (!enabled) return;
    if (bytes) atomic_fetch_add_explicit(&done_bytes, bytes, memory_order_relaxed);
    if (events) atomic_fetch_add_explicit(&done_events, events, memory_order_relaxed);
}

/* "1.50 GB", "37.4 MB", "812 kB": powers of 1000, three digits. */
static void print_bytes(char *out, size_t size, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < GT_LENGTH(units)) {
        bytes /= 1000;
        unit++;
    }
    int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
    snprintf(out, size, "%.*f %s", decimals, bytes, units[unit]);
}

/* "1,234,567" */
static void print_count(char *out, size_t size, uint64_t count)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), used = 0;
    for (size_t i = 0; i < len && used + 2 < size; i++) {
        if (i && (len - i) % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
}

/* "8 s", "2 min 05 s", "1 h 02 min" */
static void print_seconds(char *out, size_t size, double seconds)
{
    unsigned long s = seconds < 1e9 ? (unsigned long)(seconds + 0.5) : 1000000000;
    if (s < 60)
        snprintf(out, size, "%lu s", s);
    else if (s < 3600)
        snprintf(out, size, "%lu min %02lu s", s / 60, s % 60);
    else
        snprintf(out, size, "%lu h %02lu min", s / 3600, s % 3600 / 60);
}

/* Cuts UTF-8 text to `width` characters. */
static void cut_to_width(char *text, size_t width)
{
    size_t columns = 0;
    for (; *text; text++) {
        bool begins_character = ((unsigned char)*text & 0xC0) != 0x80;
        if (begins_character && columns++ == width) break;
    }
    *text = 0;
}

static void append(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void append(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

void gt_progress_text(char *out, size_t size, size_t width, const char *what, uint64_t bytes,
                      uint64_t total_bytes, uint64_t events, double seconds)
{
    char figure[32];
    print_bytes(figure, sizeof figure, (double)bytes);
    snprintf(out, size, "%s: %s", what, figure);
    if (total_bytes) {
        print_bytes(figure, sizeof figure, (double)total_bytes);
        append(out, size, " of %s", figure);
    }
    if (events) {
        print_count(figure, sizeof figure, events);
        append(out, size, ", %s events", figure);
    }
    if (bytes && seconds > 0) {
        print_bytes(figure, sizeof figure, (double)bytes / seconds);
        append(out, size, ", %s/s", figure);
    }
    if (bytes && total_bytes > bytes) {
        print_seconds(figure, sizeof figure, seconds * (double)(total_bytes - bytes) / (double)bytes);
        append(out, size, ", %s left", figure);
    }
    cut_to_width(out, width);
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static size_t terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79;
}

static void *draw(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&line.lock);
    double next = FIRST_AFTER_SECONDS;
    while (!line.stopping) {
        struct timespec wake = line.start;
        long nanoseconds = wake.tv_nsec + (long)((next - (double)(long)next) * 1e9);
        wake.tv_sec += (long)next + nanoseconds / 1000000000;
        wake.tv_nsec = nanoseconds % 1000000000;
        if (pthread_cond_timedwait(&line.stop, &line.lock, &wake) == 0) continue;
        double seconds = seconds_since(&line.start);
        char text[512];
        gt_progress_text(text, sizeof text, terminal_width(), line.what, atomic_load(&done_bytes),
                         line.total_bytes, atomic_load(&done_events), seconds);
        gt_log_status(text);
        next = seconds + REDRAW_SECONDS;
    }
    gt_log_status(NULL);
    pthread_mutex_unlock(&line.lock);
    return NULL;
}

static void end_line(void)
{
    if (!line.running) return;
    pthread_mutex_lock(&line.lock);
    line.stopping = true;
    pthread_cond_signal(&line.stop);
    pthread_mutex_unlock(&line.lock);
    pthread_join(line.thread, NULL);
    pthread_cond_destroy(&line.stop);
    line.running = false;
}

static void begin_line(const char *what, uint64_t total_bytes)
{
    if (!enabled) return;
    end_line();
    atomic_store(&done_bytes, 0);
    atomic_store(&done_events, 0);
    if (!isatty(STDERR_FILENO)) return;
    snprintf(line.what, sizeof line.what, "%s", what);
    line.total_bytes = total_bytes;
    line.stopping = false;
    clock_gettime(CLOCK_MONOTONIC, &line.start);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&line.stop, &monotonic);
    pthread_condattr_destroy(&monotonic);
    line.owner = pthread_self();
    line.running = pthread_create(&line.thread, NULL, draw, NULL) == 0;
    if (!line.running) pthread_cond_destroy(&line.stop);
}

/* Whether the line is that of several files, or of another thread's file. */
static bool is_of_others(void)
{
    return of_all || (line.running && !pthread_equal(line.owner, pthread_self()));
}

void gt_progress_begin(const char *what, uint64_t total_bytes)
{
    pthread_mutex_lock(&line.change);
    if (!is_of_others()) begin_line(what, total_bytes);
    pthread_mutex_unlock(&line.change);
}

void gt_progress_end(void)
{
    pthread_mutex_lock(&line.change);
    if (!is_of_others()) end_line();
    pthread_mutex_unlock(&line.change);
}

void gt_progress_begin_all(const char *what, uint64_t total_bytes)
{
    pthread_mutex_lock(&line.change);
    begin_line(what, total_bytes);
    of_all = true;
    pthread_mutex_unlock(&line.change);
}

void gt_progress_end_all(void)
{
    pthread_mutex_lock(&line.change);
    of_all = false;
    end_line();
    pthread_mutex_unlock(&line.change);
}
