/* Teams: waiting threads, and a stack of the loops that have indexes left.
 *
 * A loop is on the stack of the thread that called it. That thread takes indexes like every other, and when
 * none is left it takes the loop off the stack and waits for the threads that still work on it. It helps
 * nobody else meanwhile: what it waits for has already begun, so it always ends. */
#include "base/team.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/threads.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct loop {
    void (*work)(void *context, size_t index);
    void *context;
    size_t count;
    atomic_size_t next;
    unsigned helpers;   /* threads other than the caller's that work on it; with the team's lock */
    gt_guard *guard;    /* of the caller; NULL: none */
    gt_log_scope log;   /* of the caller */
    struct loop *older; /* below it on the stack */
} loop;

typedef struct team {
    unsigned size; /* threads, with the one that began it */
    bool started;  /* the others were; some may have failed to start */
    pthread_t *threads;
    unsigned thread_count;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t begun; /* a loop, or the end */
    pthread_cond_t left;  /* the last helper has left a loop */
    loop *loops;          /* newest first */
    unsigned idle;
    bool ending;
} team;

static _Thread_local team *current GT_THREAD_LOCAL;

unsigned gt_team_threads(void)
{
    return current ? current->size : 1;
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

/* The newest loop that has an index left. */
static loop *find_loop(const team *t)
{
    loop *l = t->loops;
    while (l && atomic_load_explicit(&l->next, memory_order_relaxed) >= l->count) l = l->older;
    return l;
}

static void help(team *t, loop *l)
{
    l->helpers++;
    pthread_mutex_unlock(&t->lock);
    gt_log_scope log = gt_log_scope_use(l->log);
    gt_guard_attempt(l->guard, take_indexes, l);
    gt_log_scope_use(log);
    pthread_mutex_lock(&t->lock);
    if (--l->helpers == 0) pthread_cond_broadcast(&t->left);
}

static void *run_thread(void *argument)
{
    team *t = argument;
    current = t;
    pthread_mutex_lock(&t->lock);
    while (!t->ending) {
        loop *l = find_loop(t);
        if (l) {
            help(t, l);
            continue;
        }
        t->idle++;
        pthread_cond_wait(&t->begun, &t->lock);
        t->idle--;
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void start_threads(team *t)
{
    t->started = true;
    t->threads = gt_alloc((t->size - 1) * sizeof *t->threads);
    while (t->thread_count < t->size - 1 && gt_thread_start(&t->threads[t->thread_count], run_thread, t) == 0)
        t->thread_count++;
}

/* ---- loops ---- */

static void push_loop(team *t, loop *l)
{
    pthread_mutex_lock(&t->lock);
    l->older = t->loops;
    t->loops = l;
    if (l->count > t->idle)
        pthread_cond_broadcast(&t->begun);
    else
        for (size_t i = 1; i < l->count; i++) pthread_cond_signal(&t->begun);
    pthread_mutex_unlock(&t->lock);
}

/* Takes the loop off the stack and waits for its helpers. */
static void finish_loop(team *t, loop *l)
{
    pthread_mutex_lock(&t->lock);
    loop **at = &t->loops;
    while (*at != l) at = &(*at)->older;
    *at = l->older;
    while (l->helpers) pthread_cond_wait(&t->left, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

/* The caller's thread, too, works in a frame of its own: if it fails, the others must end before what they
 * use is unwound. */
void gt_parallel_each(size_t count, void (*work)(void *context, size_t index), void *context)
{
    team *t = current;
    if (!t || t->size < 2 || count < 2) {
        for (size_t i = 0; i < count; i++) work(context, i);
        return;
    }
    if (!t->started) start_threads(t);
    loop l = {.work = work,
              .context = context,
              .count = count,
              .guard = gt_guard_current(),
              .log = gt_log_scope_current()};
    atomic_init(&l.next, 0);
    push_loop(t, &l);
    gt_guard_attempt(l.guard, take_indexes, &l);
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

/* ---- beginning and ending ---- */

static void end_team(void *argument)
{
    team *t = argument;
    current = NULL;
    pthread_mutex_lock(&t->lock);
    t->ending = true;
    pthread_cond_broadcast(&t->begun);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->thread_count; i++) pthread_join(t->threads[i], NULL);
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
    pthread_mutex_init(&t.lock, NULL);
    pthread_cond_init(&t.begun, NULL);
    pthread_cond_init(&t.left, NULL);
    current = &t;
    gt_guard_add(end_team, &t);
    body(context);
    gt_guard_remove(&t);
    end_team(&t);
}
