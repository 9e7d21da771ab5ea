/* Teams: waiting threads, and a stack of the loops that have indexes left.
 *
 * A loop is on the stack of the thread that called it. That thread takes indexes like every other, and when
 * none is left it takes the loop off the stack and waits for the threads that still work on it. Meanwhile it
 * only helps with loops that began inside its own: what it waits for has already begun, so it always ends.
 *
 * A thread without work sleeps. Whoever has work wakes a few of those who sleep, and these wake others while
 * there is work for them: waking 15 threads, one after the other, takes longer than many loops. */
#include "base/team.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/threads.h"

#include <stdatomic.h>

enum { WOKEN_AT_ONCE = 4 }; /* threads */

typedef struct loop {
    void (*work)(void *context, size_t index);
    void *context;
    size_t count;
    atomic_size_t next;
    gt_guard *guard;    /* of the caller; NULL: none */
    gt_log_scope log;   /* of the caller */
    struct loop *outer; /* one of its indexes called this loop; NULL: none */
    struct loop *older; /* below it on the stack; this and what follows only with the team's lock */
    unsigned helpers;   /* threads other than the caller's that work on it */
    bool is_awaited;    /* its caller sleeps */
} loop;

typedef struct team {
    unsigned size; /* threads, with the one that began it */
    bool started;  /* the others were; some may have failed to start */
    pthread_t *threads;
    unsigned thread_count;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t begun; /* a loop, or the end */
    pthread_cond_t left;  /* the last helper has left a loop, or one began inside a loop that is awaited */
    loop *loops;          /* newest first */
    unsigned asleep;      /* threads without work */
    bool ending;
} team;

static _Thread_local team *current GT_THREAD_LOCAL;
static _Thread_local loop *inside GT_THREAD_LOCAL; /* the loop of the index that runs */

unsigned gt_team_threads(void)
{
    return current ? current->size : 1;
}

/* ---- working ---- */

static void take_indexes(void *argument)
{
    loop *l = argument;
    for (size_t next; !gt_guard_has_failed() && (next = atomic_fetch_add(&l->next, 1)) < l->count;)
        l->work(l->context, next);
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

/* Takes indexes of the loop. It returns even if one of them fails. */
static void work_on(loop *l)
{
    loop *before = inside;
    inside = l;
    gt_guard_attempt(l->guard, take_indexes, l);
    inside = before;
}

/* With the lock, which is free afterwards: those who wake need it. Wakes threads for this much work. */
static void unlock_and_wake(team *t, size_t work)
{
    size_t most = t->asleep < WOKEN_AT_ONCE ? t->asleep : WOKEN_AT_ONCE;
    pthread_mutex_unlock(&t->lock);
    for (size_t i = 0; i < work && i < most; i++) pthread_cond_signal(&t->begun);
}

/* With the lock, which is free for a while. Once the last helper has left it, the loop may be gone. */
static void help(team *t, loop *l)
{
    l->helpers++;
    size_t left = indexes_left(l);
    unlock_and_wake(t, left > 1 ? left - 1 : find_loop(l->older) ? 1 : 0);
    gt_log_scope log = gt_log_scope_use(l->log);
    work_on(l);
    gt_log_scope_use(log);
    pthread_mutex_lock(&t->lock);
    if (--l->helpers == 0 && l->is_awaited) pthread_cond_broadcast(&t->left);
}

static void *run_thread(void *argument)
{
    team *t = argument;
    current = t;
    pthread_mutex_lock(&t->lock);
    while (!t->ending) {
        loop *l = find_loop(t->loops);
        if (l) {
            help(t, l);
            continue;
        }
        t->asleep++;
        pthread_cond_wait(&t->begun, &t->lock);
        t->asleep--;
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

void gt_team_start(void)
{
    team *t = current;
    if (t && t->size > 1 && !t->started) start_threads(t);
}

/* ---- loops ---- */

static void push_loop(team *t, loop *l)
{
    pthread_mutex_lock(&t->lock);
    l->older = t->loops;
    t->loops = l;
    const loop *outer = l->outer;
    while (outer && !outer->is_awaited) outer = outer->outer;
    if (outer) pthread_cond_broadcast(&t->left);
    unlock_and_wake(t, l->count - 1);
}

/* With the lock, which is free for a while: helps with a loop inside this one, or waits for the last helper
 * or such a loop. */
static void help_or_wait(team *t, loop *l)
{
    loop *inner = find_inner_loop(t, l);
    if (inner) {
        help(t, inner);
        return;
    }
    l->is_awaited = true;
    pthread_cond_wait(&t->left, &t->lock);
    l->is_awaited = false;
}

/* Takes the loop off the stack and waits for its helpers. */
static void finish_loop(team *t, loop *l)
{
    pthread_mutex_lock(&t->lock);
    loop **at = &t->loops;
    while (*at != l) at = &(*at)->older;
    *at = l->older;
    while (l->helpers) help_or_wait(t, l);
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
    gt_team_start();
    loop l = {.work = work,
              .context = context,
              .count = count,
              .guard = gt_guard_current(),
              .log = gt_log_scope_current(),
              .outer = inside};
    atomic_init(&l.next, 0);
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
