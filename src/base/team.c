/* Teams: waiting threads, and a stack of the loops that have indexes left.
 *
 * A loop is on the stack of the thread that called it. That thread takes indexes like every other, and when
 * none is left it takes the loop off the stack and waits for the threads that still work on it. Meanwhile it
 * only helps with loops that began inside its own: what it waits for has already begun, so it always ends.
 *
 * A report is hundreds of loops that take less time than waking 15 threads, one after the other. So a thread
 * without work first watches for the next loop, and only sleeps if none comes for a while; so does the caller
 * of a loop that waits for the last helper. The time is short, because it is CPU time that others could use,
 * and 0 if there are more threads than cores. Whoever has work wakes a few of those who sleep, and these wake
 * others while there is work for them: nobody wakes all. */
#include "base/team.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/threads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum {
    WATCH_NS_PER_THREAD = 6000, /* how long to watch, by the size of the team: waking many takes longer */
    WATCH_NS_MAX = 30000,
    LOOKS_PER_TIME = 32, /* looking at the clock costs more than at a number */
    LOCK_TRIES = 64,
    WOKEN_BY_CALLER = 4, /* threads */
    WOKEN_BY_HELPER = 2,
    HUGE_PAGE = 2 * 1024 * 1024,
};

typedef struct loop {
    void (*work)(void *context, size_t index);
    void *context;
    size_t count;
    atomic_size_t next;
    atomic_uint helpers; /* threads other than the caller's that work on it; more only with the team's lock */
    gt_guard *guard;     /* of the caller; NULL: none */
    gt_log_scope log;    /* of the caller */
    struct loop *older;  /* below it on the stack */
    struct loop *outer;  /* one of its indexes called this loop; NULL: none */
    bool is_awaited;     /* its caller sleeps; with the team's lock */
} loop;

typedef struct team {
    unsigned size;          /* threads, with the one that began it */
    bool started;           /* the others were; some may have failed to start */
    atomic_long watch_ns;   /* how long a thread watches before it sleeps */
    atomic_bool is_decided; /* watch_ns: it is 0 before */
    gt_beside *threads;
    unsigned thread_count;
    GT_APART;             /* what is below changes often */
    atomic_uint news;     /* changes when a loop begins, and at the end */
    atomic_uint watching; /* threads without work that do not sleep */
    atomic_uint waiting;  /* callers that sleep until the last helper has left their loop */
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t begun; /* a loop, or the end */
    pthread_cond_t left;  /* the last helper has left a loop */
    loop *loops;          /* newest first */
    unsigned asleep;      /* threads without work that sleep */
    bool ending;
} team;

static _Thread_local team *current GT_THREAD_LOCAL;
static _Thread_local loop *inside GT_THREAD_LOCAL; /* the loop of the index that runs */

unsigned gt_team_threads(void)
{
    return current ? current->size : 1;
}

/* ---- waiting ---- */

static void relax(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb"); /* yield does nothing on most processors */
#endif
}

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* Looks at numbers until there is news, that is another number than `seen`, or the loop has no helpers. False
 * if it took too long. */
static bool watch(const team *t, unsigned seen, loop *l)
{
    long end = 0, watch_ns = atomic_load_explicit(&t->watch_ns, memory_order_relaxed);
    for (unsigned looks = 1;; looks++) {
        if (atomic_load_explicit(&t->news, memory_order_acquire) != seen) return true;
        if (l && !atomic_load_explicit(&l->helpers, memory_order_acquire)) return true;
        if (!watch_ns) return false;
        if (looks % LOOKS_PER_TIME == 0) {
            long now = now_ns();
            if (!end) end = now + watch_ns;
            if (now >= end) return false;
        }
        relax();
    }
}

/* The lock is held for less time than it takes to sleep and be woken. */
static void lock(team *t)
{
    bool tries = atomic_load_explicit(&t->watch_ns, memory_order_relaxed);
    for (unsigned i = 0; tries && i < LOCK_TRIES; i++) {
        if (pthread_mutex_trylock(&t->lock) == 0) return;
        for (unsigned pause = 0; pause <= i; pause++) relax();
    }
    pthread_mutex_lock(&t->lock);
}

/* With the lock, which is free afterwards. Wakes threads for this much work, but not for that of those who
 * watch, and not more than `most`. */
static void unlock_and_wake(team *t, size_t work, size_t most)
{
    unsigned watching = atomic_load(&t->watching), asleep = t->asleep;
    pthread_mutex_unlock(&t->lock);
    size_t wanted = work > watching ? work - watching : 0;
    for (size_t i = 0; i < wanted && i < most && i < asleep; i++) pthread_cond_signal(&t->begun);
}

/* ---- working ---- */

static void take_indexes(void *argument)
{
    loop *l = argument;
    for (size_t next; !gt_guard_has_failed() && (next = atomic_fetch_add(&l->next, 1)) < l->count;) {
        l->work(l->context, next);
        gt_memory_poll();
    }
}

static size_t indexes_left(loop *l)
{
    size_t next = atomic_load_explicit(&l->next, memory_order_relaxed);
    return next < l->count ? l->count - next : 0;
}

bool gt_team_is_busy(void)
{
    loop *l = inside;
    while (l && indexes_left(l) < current->size) l = l->outer;
    return l;
}

bool gt_team_is_in_loop(void)
{
    return inside;
}

/* The newest loop that has an index left, of these and those below them. */
static loop *find_loop(loop *l)
{
    while (l && !indexes_left(l)) l = l->older;
    return l;
}

static bool is_inside(const loop *l, const loop *outer)
{
    while (l && l != outer) l = l->outer;
    return l;
}

/* The newest of the loops inside this one that has an index left. */
static loop *find_inner_loop(const team *t, const loop *outer)
{
    loop *l = find_loop(t->loops);
    while (l && !is_inside(l, outer)) l = find_loop(l->older);
    return l;
}

/* Takes indexes of the loop. If one fails, the thread comes back all the same. */
static void work_on(loop *l)
{
    loop *before = inside;
    inside = l;
    gt_guard_attempt(l->guard, take_indexes, l);
    inside = before;
}

/* With the lock, which is free afterwards. Once the last helper has left it, the loop may be gone. */
static void help(team *t, loop *l)
{
    atomic_fetch_add(&l->helpers, 1);
    size_t left = indexes_left(l), others = left > 1 ? left - 1 : find_loop(l->older) ? 1 : 0;
    unlock_and_wake(t, others, WOKEN_BY_HELPER);
    gt_log_scope log = gt_log_scope_use(l->log);
    work_on(l);
    gt_log_scope_use(log);
    if (atomic_fetch_sub(&l->helpers, 1) > 1 || !atomic_load(&t->waiting)) return;
    lock(t);
    pthread_cond_broadcast(&t->left);
    pthread_mutex_unlock(&t->lock);
}

/* With the lock. Sleeps until there is news. */
static void sleep_until_news(team *t, unsigned seen)
{
    t->asleep++;
    while (atomic_load(&t->news) == seen) pthread_cond_wait(&t->begun, &t->lock);
    t->asleep--;
}

/* The first of the other threads finds out whether the cores suffice, for which it reads files of the system:
 * the caller of the first loop need not wait for that. */
static void decide_watching(team *t)
{
    long watch_ns = (long)t->size * WATCH_NS_PER_THREAD;
    if (watch_ns > WATCH_NS_MAX) watch_ns = WATCH_NS_MAX;
    if (t->size <= gt_threads_default()) atomic_store_explicit(&t->watch_ns, watch_ns, memory_order_relaxed);
}

static void *run_thread(void *argument)
{
    team *t = argument;
    current = t;
    if (!atomic_exchange(&t->is_decided, true)) decide_watching(t);
    lock(t);
    while (!t->ending) {
        loop *l = find_loop(t->loops);
        if (l) {
            help(t, l);
            lock(t);
            continue;
        }
        unsigned seen = atomic_load(&t->news);
        pthread_mutex_unlock(&t->lock);
        atomic_fetch_add(&t->watching, 1);
        bool news = watch(t, seen, NULL);
        atomic_fetch_sub(&t->watching, 1);
        lock(t);
        if (!news) sleep_until_news(t, seen);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* If there are more threads than cores, the system shares all cores among them; and many threads are rather
 * moved to a core that is idle than kept off one (of 16 cores, 14.4 were busy with 64 ranks, else 14.2). */
static void start_threads(team *t)
{
    unsigned least_cores = t->size < GT_MANY_THREADS ? t->size : 0;
    t->started = true;
    t->threads = gt_alloc((t->size - 1) * sizeof *t->threads);
    while (t->thread_count < t->size - 1 &&
           gt_beside_start(&t->threads[t->thread_count], least_cores, run_thread, t) == 0)
        t->thread_count++;
}

void gt_team_start(void)
{
    team *t = current;
    if (t && t->size > 1 && !t->started) start_threads(t);
}

/* ---- loops ---- */

static void push_loop(team *t, loop *l)
{
    lock(t);
    l->older = t->loops;
    t->loops = l;
    atomic_fetch_add(&t->news, 1);
    bool is_awaited = false;
    for (const loop *outer = l->outer; outer && !is_awaited; outer = outer->outer)
        is_awaited = outer->is_awaited;
    unlock_and_wake(t, l->count - 1, WOKEN_BY_CALLER);
    if (is_awaited) pthread_cond_broadcast(&t->left);
}

/* With the lock, which is free for a while. */
static void wait_for_helpers(team *t)
{
    if (gt_beside_wait(&t->threads[0], &t->left, &t->lock)) return;
    for (unsigned i = 0; i < t->thread_count; i++) gt_beside_use_all_cores(&t->threads[i]);
}

/* With the lock, which is free for a while: helps with a loop inside this one, or waits for the last helper
 * or such a loop. */
static void pass_time(team *t, loop *l)
{
    loop *inner = find_inner_loop(t, l);
    if (inner) {
        help(t, inner);
        lock(t);
        return;
    }
    unsigned seen = atomic_load(&t->news);
    pthread_mutex_unlock(&t->lock);
    bool news = watch(t, seen, l);
    lock(t);
    if (news || atomic_load(&t->news) != seen) return;
    l->is_awaited = true;
    atomic_fetch_add(&t->waiting, 1);
    if (atomic_load(&l->helpers)) wait_for_helpers(t);
    atomic_fetch_sub(&t->waiting, 1);
    l->is_awaited = false;
}

/* Takes the loop off the stack and waits for its helpers. */
static void finish_loop(team *t, loop *l)
{
    lock(t);
    loop **at = &t->loops;
    while (*at != l) at = &(*at)->older;
    *at = l->older;
    while (atomic_load(&l->helpers)) pass_time(t, l);
    pthread_mutex_unlock(&t->lock);
}

/* The caller's thread, too, works in a frame of its own: if it fails, the others must end before what they
 * use is unwound. */
void gt_parallel_each(size_t count, void (*work)(void *context, size_t index), void *context)
{
    team *t = current;
    if (!t || t->size < 2 || count < 2) {
        for (size_t i = 0; i < count; i++) {
            work(context, i);
            gt_memory_poll();
        }
        return;
    }
    gt_team_start();
    loop l = {.work = work,
              .context = context,
              .count = count,
              .guard = gt_guard_current(),
              .log = gt_log_scope_current(),
              .outer = inside};
    atomic_init(&l.next, 0);
    atomic_init(&l.helpers, 0);
    push_loop(t, &l);
    work_on(&l);
    finish_loop(t, &l);
    gt_guard_check();
}

typedef struct ranges {
    size_t count, grain;
    void (*work)(void *context, size_t begin, size_t end);
    void *context;
} ranges;

static void do_range(void *argument, size_t index)
{
    const ranges *r = argument;
    size_t begin = index * r->grain, left = r->count - begin;
    r->work(r->context, begin, begin + (left < r->grain ? left : r->grain));
}

void gt_parallel_ranges(size_t count, size_t grain, void (*work)(void *context, size_t begin, size_t end),
                        void *context)
{
    ranges r = {count, grain, work, context};
    gt_parallel_each(gt_range_count(count, grain), do_range, &r);
}

/* ---- the first touch of fresh memory ----
 *
 * If many threads begin to write to a huge page that is not there yet, each of them clears 2 MiB, and all but
 * one throw their page away. With 16 threads that cost more than what they wrote. So one thread touches each
 * page before a block is used, several threads if there are several pages. */

typedef struct fresh_block {
    volatile char *begin;
    size_t bytes;
} fresh_block;

static void touch_page(void *context, size_t index)
{
    const fresh_block *block = context;
    size_t first = (size_t)(-(uintptr_t)block->begin % HUGE_PAGE); /* where a page begins */
    size_t at = index ? first + (index - 1) * HUGE_PAGE : 0;
    if (at < block->bytes) block->begin[at] = 0;
}

static void touch(void *begin, size_t bytes)
{
    fresh_block block = {begin, bytes};
    gt_parallel_each(bytes / HUGE_PAGE + 2, touch_page, &block);
}

/* ---- beginning and ending ---- */

static void end_team(void *argument)
{
    team *t = argument;
    current = NULL;
    pthread_mutex_lock(&t->lock);
    t->ending = true;
    atomic_fetch_add(&t->news, 1);
    pthread_cond_broadcast(&t->begun);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->thread_count; i++) gt_beside_join(&t->threads[i]);
    gt_free(t->threads);
    pthread_cond_destroy(&t->left);
    pthread_cond_destroy(&t->begun);
    pthread_mutex_destroy(&t->lock);
}

void gt_team_run(unsigned threads, void (*body)(void *context), void *context)
{
    if (current) {
        body(context);
        return;
    }
    team t = {.size = threads ? threads : gt_threads_default()};
    gt_memory_touch_with(t.size >= GT_MANY_THREADS ? touch : NULL);
    pthread_mutex_init(&t.lock, NULL);
    pthread_cond_init(&t.begun, NULL);
    pthread_cond_init(&t.left, NULL);
    current = &t;
    gt_guard_add(end_team, &t);
    body(context);
    gt_guard_remove(&t);
    end_team(&t);
}
