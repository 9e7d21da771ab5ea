/* Keeping a pool within its limit. */
#include "base/pages/watch.h"

#include <inttypes.h>
#include <signal.h>
#include <time.h>

enum {
    INTERVAL_NS = 2 * 1000 * 1000,
    DROP_BYTES = 4 * 1024 * 1024, /* at a time */
    MEBIBYTE = 1024 * 1024,
};

void gt_pages_watch_begin(gt_pages_watch *watch, pthread_mutex_t *lock)
{
    pthread_condattr_t attributes;
    *watch = (gt_pages_watch){.lock = lock};
    gt_spill_begin(&watch->spill, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

void gt_pages_watch_end(gt_pages_watch *watch)
{
    pthread_cond_destroy(&watch->wake);
}

void gt_pages_watch_set(gt_pages_watch *watch, const gt_pages_limits *limits)
{
    watch->limit = limits->bytes;
    watch->write = limits->reclaim;
    watch->spill.folder = limits->folder;
    watch->base = watch->base_anonymous = watch->other = 0;
    if (limits->added) gt_resident_memory(&watch->base_anonymous, &watch->base);
}

static uint64_t beyond(uint64_t bytes, uint64_t base)
{
    return bytes > base ? bytes - base : 0;
}

bool gt_pages_watch_exceeds(gt_pages_watch *watch, const gt_pages_limits *limits, const gt_pages_load *load)
{
    uint64_t limit = limits->bytes, most = load->cold ? limit / 4 : limit / 8 * 5, anonymous, all;
    uint64_t wanted = (uint64_t)load->pool + load->bytes;
    if (wanted > limit / 8 && gt_resident_memory(&anonymous, &all)) {
        uint64_t other = beyond(beyond(anonymous, watch->base_anonymous), load->pool);
        if (other > watch->other) watch->other = other;
    }
    return wanted + watch->other > most;
}

/* Where dropping begins: the rest is for what happens until the next look. */
static uint64_t high_mark(uint64_t limit)
{
    uint64_t rest = limit / 8, most = (uint64_t)128 * MEBIBYTE;
    return limit - (rest < most ? rest : most);
}

/* Drops pages until resident memory is well below the mark, but each page at most once. */
static void drop(gt_pages_watch *watch)
{
    uint64_t anonymous, all, high = watch->base + high_mark(watch->limit), left = watch->spill.size;
    uint64_t low = high - watch->limit / 8;
    if (!gt_resident_memory(&anonymous, &all) || all <= high) return;
    while (left && all > low) {
        size_t bytes = left < DROP_BYTES ? (size_t)left : DROP_BYTES;
        gt_spill_drop(&watch->spill, bytes, watch->write);
        watch->dropped += bytes;
        left -= bytes;
        if (!gt_resident_memory(&anonymous, &all)) return;
    }
}

bool gt_pages_watch_keep(gt_pages_watch *watch, const gt_pages_limits *limits, gt_error *error)
{
    uint64_t anonymous, all;
    drop(watch);
    if (!limits->promised || !gt_resident_memory(&anonymous, &all)) return true;
    uint64_t used = beyond(anonymous, watch->base_anonymous);
    if (used <= limits->bytes) return true;
    return gt_fail(error,
                   "max_memory: %" PRIu64 " MiB are too few: %" PRIu64
                   " MiB are in use that cannot go to a temporary file",
                   limits->bytes / MEBIBYTE, used / MEBIBYTE);
}

static void *watch_memory(void *argument)
{
    gt_pages_watch *watch = argument;
    pthread_mutex_lock(watch->lock);
    while (!watch->ending) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += INTERVAL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&watch->wake, watch->lock, &until);
        if (!watch->ending && watch->limit) drop(watch);
    }
    pthread_mutex_unlock(watch->lock);
    return NULL;
}

void gt_pages_watch_start(gt_pages_watch *watch)
{
    if (watch->running) return;
    sigset_t all, before; /* handlers run in threads of the program */
    sigfillset(&all);
    watch->ending = false;
    pthread_sigmask(SIG_BLOCK, &all, &before);
    watch->running = pthread_create(&watch->thread, NULL, watch_memory, watch) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gt_pages_watch_stop(gt_pages_watch *watch)
{
    pthread_mutex_lock(watch->lock);
    bool running = watch->running;
    pthread_t thread = watch->thread;
    watch->ending = true;
    watch->running = false;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(watch->lock);
    if (running) pthread_join(thread, NULL);
}
