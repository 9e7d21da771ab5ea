/* Keeping a pool within its limit. */
#include "base/pages/watch.h"
#include "base/threads.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum {
    INTERVAL_NS = 1000 * 1000,
    SHORT_INTERVAL_NS = 200 * 1000,     /* near the mark */
    LONG_INTERVAL_NS = 5 * 1000 * 1000, /* outside: nothing depends on it, and polls are frequent */
    POLL_NS = 200 * 1000,
    POLL_OUTSIDE_NS = 10 * 1000,    /* a loop over mapped pages makes some 50 KB resident meanwhile */
    DROP_BYTES = 4 * 1024 * 1024,   /* at a time */
    DROPPING_PART = 8,              /* dropping, and mapping again, may take this part of the time, */
    DROPPING_NS = 40 * 1000 * 1000, /* and so much at once */
    MAPPING_COST = 2,               /* of a dropped page, in the time that dropping it takes */
    SMALL_DROP_BYTES = 1024 * 1024,
    MEBIBYTE = 1024 * 1024,
};

void gt_pages_watch_begin(gt_pages_watch *watch, pthread_mutex_t *lock)
{
    pthread_condattr_t attributes;
    *watch = (gt_pages_watch){.lock = lock, .statm = -1};
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
    watch->outside = limits->outside;
    watch->spill.folder = limits->folder;
    watch->base = watch->base_anonymous = watch->other = 0;
    if (limits->added) gt_resident_memory(&watch->base_anonymous, &watch->base);
}

static uint64_t beyond(uint64_t bytes, uint64_t base)
{
    return bytes > base ? bytes - base : 0;
}

/* A part of the limit, but for small limits no less than some MiB or another part. */
static uint64_t share(uint64_t limit, uint64_t eighths, uint64_t mebibytes, uint64_t most_eighths)
{
    uint64_t part = limit / 8 * eighths, least = mebibytes * MEBIBYTE, most = limit / 8 * most_eighths;
    if (least > most) least = most;
    return part > least ? part : least;
}

/* Blocks in memory leave this for everything else. */
static uint64_t memory_mark(uint64_t limit)
{
    return limit - share(limit, 3, 96, 5);
}

/* Where dropping begins: the rest is for what happens until the next look. Pages of the file that are in the
 * system's cache become resident again at up to 20 GB/s. */
static uint64_t high_mark(const gt_pages_watch *watch)
{
    uint64_t limit = watch->limit;
    if (watch->outside) return limit;
    uint64_t rest = share(limit, 1, 64, 3), most = (uint64_t)128 * MEBIBYTE;
    return limit - (rest < most ? rest : most);
}

bool gt_pages_watch_exceeds(gt_pages_watch *watch, const gt_pages_limits *limits, const gt_pages_load *load)
{
    uint64_t limit = limits->bytes, most = load->cold ? limit / 4 : memory_mark(limit), anonymous, all;
    uint64_t wanted = (uint64_t)load->pool + load->bytes;
    if (wanted > limit / 8 && gt_resident_memory(&anonymous, &all)) {
        uint64_t other = beyond(beyond(anonymous, watch->base_anonymous), load->pool);
        if (other > watch->other) watch->other = other;
    }
    return wanted + watch->other > most;
}

/* Reads resident memory, and how much of what was given out has become resident. */
static bool look(gt_pages_watch *watch, uint64_t *anonymous, uint64_t *all)
{
    bool known = watch->statm < 0 ? gt_resident_memory(anonymous, all)
                                  : gt_resident_memory_read(watch->statm, anonymous, all);
    if (!known) return false;
    if (*all > watch->resident)
        watch->pending -=
            beyond(*all, watch->resident) < watch->pending ? beyond(*all, watch->resident) : watch->pending;
    watch->resident = *all;
    return true;
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Pages that are dropped again and again are needed all the time, and mapping them again could take longer
 * than all else. A few times are no harm: most steps go through the pages once, from the first to the last.
 * More is also allowed if all pages have been dropped and that was not enough. */
static void allow_more(gt_pages_watch *watch, int64_t cost_ns, bool is_enough)
{
    int64_t now = now_ns(CLOCK_MONOTONIC);
    watch->dropping_ns += cost_ns * (1 + MAPPING_COST) - (now - watch->last_drop) / DROPPING_PART;
    watch->last_drop = now;
    if (watch->dropping_ns < 0) watch->dropping_ns = 0;
    if (watch->dropping_ns < DROPPING_NS && is_enough) return;
    watch->limit += watch->limit / 16;
    watch->dropping_ns /= 2;
}

/* Drops pages until resident memory and what is pending are well below the mark, but each page at most
 * once. */
static void drop(gt_pages_watch *watch)
{
    uint64_t anonymous, all, high = watch->base + high_mark(watch), left = watch->spill.size;
    if (!look(watch, &anonymous, &all) || all + watch->pending <= high) return;
    int64_t began = now_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t low = beyond(high - watch->limit / 8, watch->pending);
    size_t step = watch->outside ? SMALL_DROP_BYTES : DROP_BYTES;
    while (left && all > low) {
        size_t bytes = left < step ? (size_t)left : step;
        gt_spill_drop(&watch->spill, bytes, watch->write);
        watch->dropped += bytes;
        left -= bytes;
        if (!look(watch, &anonymous, &all)) return;
    }
    if (watch->outside) allow_more(watch, now_ns(CLOCK_THREAD_CPUTIME_ID) - began, all <= high);
}

bool gt_pages_watch_keep(gt_pages_watch *watch, const gt_pages_limits *limits, size_t bytes, gt_error *error)
{
    uint64_t anonymous, all, most = watch->outside ? 0 : high_mark(watch) / 2;
    watch->pending = watch->pending + bytes < most ? watch->pending + bytes : most;
    drop(watch);
    if (!limits->promised || !gt_resident_memory(&anonymous, &all)) return true;
    uint64_t used = beyond(anonymous, watch->base_anonymous);
    if (used <= limits->bytes) return true;
    return gt_fail(error,
                   "max_memory: %" PRIu64 " MiB are too few: %" PRIu64
                   " MiB are in use that cannot go to a temporary file",
                   limits->bytes / MEBIBYTE, used / MEBIBYTE);
}

void gt_pages_watch_poll(gt_pages_watch *watch)
{
    if (!atomic_load_explicit(&watch->active, memory_order_relaxed)) return;
    int64_t now = now_ns(CLOCK_MONOTONIC);
    int_fast64_t next = atomic_load_explicit(&watch->next, memory_order_relaxed);
    if (now < next || !atomic_compare_exchange_strong(&watch->next, &next,
                                                      now + (watch->outside ? POLL_OUTSIDE_NS : POLL_NS)))
        return;
    if (pthread_mutex_trylock(watch->lock) != 0) return;
    drop(watch);
    pthread_mutex_unlock(watch->lock);
}

static void *watch_memory(void *argument)
{
    gt_pages_watch *watch = argument;
    pthread_mutex_lock(watch->lock);
    while (!watch->ending) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        bool near = watch->resident > high_mark(watch) / 4 * 3;
        until.tv_nsec += watch->outside ? LONG_INTERVAL_NS : near ? SHORT_INTERVAL_NS : INTERVAL_NS;
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
    atomic_store(&watch->active, true);
    watch->ending = false;
    watch->running = gt_thread_start(&watch->thread, watch_memory, watch) == 0;
    if (watch->outside && watch->statm < 0) watch->statm = gt_resident_memory_open();
}

void gt_pages_watch_stop(gt_pages_watch *watch)
{
    pthread_mutex_lock(watch->lock);
    bool running = watch->running;
    pthread_t thread = watch->thread;
    watch->ending = true;
    watch->running = false;
    atomic_store(&watch->active, false);
    watch->pending = 0;
    if (watch->statm >= 0) close(watch->statm);
    watch->statm = -1;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(watch->lock);
    if (running) pthread_join(thread, NULL);
}
