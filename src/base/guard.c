/* One guard per call, one frame per part of it that can be unwound on its own: the call itself, and what each
 * of its threads does.
 *
 * A failure is unwound frame by frame. gt_raise runs the cleanups that were registered in the current frame
 * and then jumps to its beginning. A frame in a worker thread ends there; the thread that waits for the
 * workers then fails in its own frame, until the outermost one ends the call. */
#include "base/guard.h"
#include "base/repeats.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

enum { LOCKS_MAX = 4 };

typedef struct frame {
    struct gt_guard *guard;
    struct frame *outer;
    pthread_mutex_t *locks[LOCKS_MAX]; /* held, and taken in this frame */
    unsigned lock_count;
    jmp_buf begin;
} frame;

typedef struct cleanup {
    void (*run)(void *object);
    void *object;
    const frame *frame; /* that it was registered in */
} cleanup;

struct gt_guard {
    gt_guard_options options;
    const frame *root;      /* of the call itself */
    locale_t locale_before; /* of the caller's thread */
    atomic_bool failed;
    pthread_mutex_t lock; /* for all below */
    gt_error error;       /* of the first failure */
    cleanup *cleanups;    /* oldest first */
    size_t cleanup_count, cleanup_capacity;
    pthread_mutex_t warning_lock; /* held while the handler runs */
    gt_repeats *repeats;          /* warnings so far; with warning_lock */
};

static _Thread_local frame *current GT_THREAD_LOCAL;

gt_guard *gt_guard_current(void)
{
    return current ? current->guard : NULL;
}

bool gt_guard_has_failed(void)
{
    return current && atomic_load_explicit(&current->guard->failed, memory_order_relaxed);
}

/* ---- failing ---- */

/* Takes the newest cleanup of the frame off the list. */
static bool take_cleanup(frame *f, cleanup *taken)
{
    gt_guard *guard = f->guard;
    bool found = false;
    pthread_mutex_lock(&guard->lock);
    for (size_t i = guard->cleanup_count; i-- > 0 && !found;) {
        if (guard->cleanups[i].frame != f) continue;
        found = true;
        *taken = guard->cleanups[i];
        guard->cleanup_count--;
        for (; i < guard->cleanup_count; i++) guard->cleanups[i] = guard->cleanups[i + 1];
    }
    pthread_mutex_unlock(&guard->lock);
    return found;
}

/* Never returns to the failed code. Cleanups run here and not after the jump, because what they release may
 * be on the part of the stack that the jump gives up. One that fails itself is abandoned. */
static _Noreturn void unwind(void)
{
    frame *f = current;
    cleanup next = {0};
    while (f->lock_count) pthread_mutex_unlock(f->locks[--f->lock_count]);
    while (take_cleanup(f, &next)) gt_guard_attempt(f->guard, next.run, next.object);
    longjmp(f->begin, 1);
}

static _Noreturn void fail(const char *message, int exit_status)
{
    if (!current) {
        static atomic_flag ending = ATOMIC_FLAG_INIT;
        static _Thread_local bool ends_here GT_THREAD_LOCAL;
        while (!ends_here && atomic_flag_test_and_set(&ending)) pause(); /* another thread ends the program */
        ends_here = true;
        fprintf(stderr, "gputally: %s\n", message);
        exit(exit_status);
    }
    gt_guard *guard = current->guard;
    pthread_mutex_lock(&guard->lock);
    if (!atomic_load(&guard->failed)) gt_fail(&guard->error, "%s", message);
    atomic_store(&guard->failed, true);
    pthread_mutex_unlock(&guard->lock);
    unwind();
}

void gt_raise(const char *format, ...)
{
    gt_error error;
    va_list args;
    va_start(args, format);
    vsnprintf(error.text, sizeof error.text, format, args);
    va_end(args);
    fail(error.text, 1);
}

void gt_raise_out_of_memory(size_t bytes)
{
    gt_raise("out of memory: cannot allocate %zu bytes", bytes);
}

void gt_raise_internal(const char *format, ...)
{
    gt_error error;
    va_list args;
    int len = snprintf(error.text, sizeof error.text, "internal error: ");
    va_start(args, format);
    vsnprintf(error.text + len, sizeof error.text - (size_t)len, format, args);
    va_end(args);
    fail(error.text, GT_EXIT_INTERNAL);
}

void gt_guard_check(void)
{
    if (gt_guard_has_failed()) unwind();
}

/* ---- frames ---- */

static void make_current(frame *f)
{
    current = f;
    gt_heap_use(f ? f->guard->options.heap : NULL);
}

/* What a part registered and did not release belongs to the part around it. */
static void pass_cleanups_up(frame *f)
{
    gt_guard *guard = f->guard;
    const frame *heir = f->outer && f->outer->guard == guard ? f->outer : guard->root;
    pthread_mutex_lock(&guard->lock);
    for (size_t i = 0; i < guard->cleanup_count; i++)
        if (guard->cleanups[i].frame == f) guard->cleanups[i].frame = heir;
    pthread_mutex_unlock(&guard->lock);
}

/* Makes this thread use the C locale, whatever the program has set: in others, strtod and printf may have
 * another decimal point. glibc and musl give it without allocating. Returns the locale before. */
static locale_t use_c_locale(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

/* `f` is the caller's, so that no variable of this function has to survive the jump. */
static bool run_in_frame(frame *f, void (*body)(void *context), void *context)
{
    make_current(f);
    if (setjmp(f->begin) != 0) {
        make_current(current->outer); /* unwind() left it at this frame */
        return false;
    }
    body(context);
    pass_cleanups_up(f);
    make_current(f->outer);
    return true;
}

bool gt_guard_attempt(gt_guard *guard, void (*body)(void *context), void *context)
{
    if (!guard) {
        body(context);
        return true;
    }
    frame f = {.guard = guard, .outer = current};
    locale_t before = use_c_locale();
    bool whole = run_in_frame(&f, body, context);
    uselocale(before);
    return whole;
}

static void pass_warning(void *context, bool warning, const char *text)
{
    (void)warning;
    gt_guard *guard = context;
    locale_t ours = uselocale(guard->locale_before);
    guard->options.warning(guard->options.warning_context, text);
    uselocale(ours);
}

bool gt_guard_run(const gt_guard_options *options, void (*body)(void *context), void *context,
                  gt_error *error)
{
    gt_guard guard = {.options = *options};
    atomic_init(&guard.failed, false);
    pthread_mutex_init(&guard.lock, NULL);
    pthread_mutex_init(&guard.warning_lock, NULL);
    frame f = {.guard = &guard, .outer = current};
    guard.root = &f;
    guard.locale_before = use_c_locale();
    gt_log_scope log = gt_log_scope_use((gt_log_scope){0}); /* a call that fails does not restore it */
    bool whole = run_in_frame(&f, body, context);
    if (atomic_load(&guard.failed)) whole = false;
    gt_log_scope_use(log);
    gt_repeats_end(&guard.repeats, pass_warning, &guard);
    if (!whole) {
        if (error) *error = guard.error;
        if (!options->keep_heap) gt_heap_clear(options->heap);
    }
    free(guard.cleanups);
    uselocale(guard.locale_before);
    pthread_mutex_destroy(&guard.warning_lock);
    pthread_mutex_destroy(&guard.lock);
    return whole;
}

/* ---- resources ---- */

void gt_guard_add(void (*run)(void *object), void *object)
{
    if (!current) return;
    gt_guard *guard = current->guard;
    pthread_mutex_lock(&guard->lock);
    bool fits = guard->cleanup_count < guard->cleanup_capacity;
    if (!fits) {
        size_t capacity = guard->cleanup_capacity * 2 + 16;
        cleanup *grown = realloc(guard->cleanups, capacity * sizeof *grown);
        fits = grown != NULL;
        if (fits) {
            guard->cleanups = grown;
            guard->cleanup_capacity = capacity;
        }
    }
    if (fits) guard->cleanups[guard->cleanup_count++] = (cleanup){run, object, current};
    pthread_mutex_unlock(&guard->lock);
    if (fits) return;
    run(object);
    gt_raise_out_of_memory(sizeof *guard->cleanups);
}

void gt_guard_remove(const void *object)
{
    if (!current) return;
    gt_guard *guard = current->guard;
    pthread_mutex_lock(&guard->lock);
    for (size_t i = guard->cleanup_count; i-- > 0;) {
        if (guard->cleanups[i].object != object) continue;
        guard->cleanup_count--;
        for (; i < guard->cleanup_count; i++) guard->cleanups[i] = guard->cleanups[i + 1];
        break;
    }
    pthread_mutex_unlock(&guard->lock);
}

void *gt_descriptor(int descriptor)
{
    return (void *)(intptr_t)descriptor;
}

void gt_close_descriptor(void *descriptor)
{
    close((int)(intptr_t)descriptor);
}

void gt_close_file(void *file)
{
    fclose(file);
}

/* ---- locks and warnings ---- */

void gt_lock(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    if (!current) return;
    if (gt_guard_has_failed()) {
        pthread_mutex_unlock(mutex);
        unwind();
    }
    if (current->lock_count == LOCKS_MAX) {
        pthread_mutex_unlock(mutex);
        gt_raise_internal("more than %d locks held", LOCKS_MAX);
    }
    current->locks[current->lock_count++] = mutex;
}

void gt_unlock(pthread_mutex_t *mutex)
{
    if (current)
        for (unsigned i = current->lock_count; i-- > 0;)
            if (current->locks[i] == mutex) {
                current->locks[i] = current->locks[--current->lock_count];
                break;
            }
    pthread_mutex_unlock(mutex);
}

bool gt_guard_warn(const char *text, const char *file, bool loose)
{
    if (!current) return false;
    gt_guard *guard = current->guard;
    if (!guard->options.warning) return true;
    pthread_mutex_lock(&guard->warning_lock);
    if (gt_repeats_add(&guard->repeats, true, text, file, loose)) pass_warning(guard, true, text);
    pthread_mutex_unlock(&guard->warning_lock);
    return true;
}
