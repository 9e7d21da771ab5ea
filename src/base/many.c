/* Pieces of work at the same time; see many.h.
 *
 * A thread takes the next piece of the list, does it, and then finishes all pieces whose turn has come,
 * unless another thread is doing so. A piece that is done before its turn is finished by the thread that does
 * the piece before it.
 *
 * What a piece found is in memory until it is finished. So a thread waits while another one finishes pieces
 * more slowly than they are done: otherwise all of them would pile up. And pieces should be done nearly in
 * the order of their indexes. Only large ones come first, the largest of them at the beginning: those that
 * would make the others wait if they began last. There are few of them, however many pieces there are: at
 * most LARGE_PER_THREAD per thread. Among them, those of nearly the same size are in the order of their
 * indexes. */
#include "base/many.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/number.h"
#include "base/team.h"

#include <stdatomic.h>
#include <time.h>

typedef struct job {
    const gt_many *many;
    size_t *order; /* indexes in the order in which they begin */
    atomic_size_t next;
    atomic_size_t stop; /* the first index whose work returned false */
    gt_log_record *messages;
    pthread_mutex_t lock; /* for all below */
    bool *is_done;
    size_t done, finished; /* how many */
    bool finishing;        /* a thread is */
    size_t most_waiting;   /* pieces that are done and wait for their turn while a thread finishes others */
    pthread_cond_t changed;
} job;

/* ---- the order ---- */

enum {
    WAITING_PER_THREAD = 2,
    WAIT_NS = 10 * 1000 * 1000, /* until a failure of another thread is noticed */
    LARGE_PER_THREAD = 8,       /* a piece is large if a thread does at most so many of its size */
    SAME_SIZE_BITS = 3,         /* sizes are the same if their first so many bits are */
};

typedef struct piece {
    uint64_t size;
    uint64_t weight; /* decides the order; 0: not large */
    size_t index;
} piece;

static uint64_t rounded(uint64_t size)
{
    int bits = 64 - __builtin_clzll(size | 1);
    int dropped = bits > SAME_SIZE_BITS ? bits - SAME_SIZE_BITS : 0;
    return size >> dropped << dropped;
}

static void find_weights(piece *pieces, size_t count, size_t threads)
{
    double all = 0;
    for (size_t i = 0; i < count; i++) all += (double)pieces[i].size;
    double least = all / (double)(LARGE_PER_THREAD * threads);
    for (size_t i = 0; i < count; i++)
        if ((double)pieces[i].size > least) pieces[i].weight = rounded(pieces[i].size);
}

GT_ORDER_BY(larger_first, piece, GT_DOWN(weight) GT_UP(index))

GT_ORDER_BY(by_size, piece, GT_DOWN(size))

/* How many pieces may run at the same time because of the limit: as many of the largest as fit. */
static size_t count_at_once(const gt_many *many, piece *pieces, size_t threads)
{
    uint64_t together = 0;
    if (!many->limit || !many->count) return threads;
    qsort(pieces, many->count, sizeof *pieces, by_size);
    for (size_t i = 0; i < many->count && i < threads; i++) {
        bool fits = pieces[i].size <= many->limit && together <= many->limit - pieces[i].size;
        if (!fits && i) return i;
        together += pieces[i].size;
    }
    return threads;
}

/* Returns how many pieces may run at the same time. */
static size_t sort_pieces(const gt_many *many, size_t *order)
{
    piece *pieces = gt_alloc(many->count * sizeof *pieces);
    size_t threads = gt_team_threads();
    for (size_t i = 0; i < many->count; i++)
        pieces[i] = (piece){.size = many->sizes ? many->sizes[i] : 0, .index = i};
    size_t at_once = count_at_once(many, pieces, threads);
    if (threads > 1) find_weights(pieces, many->count, threads);
    if (many->count) qsort(pieces, many->count, sizeof *pieces, larger_first);
    for (size_t i = 0; i < many->count; i++) order[i] = pieces[i].index;
    gt_free(pieces);
    return at_once;
}

/* ---- one piece ---- */

static void do_piece(job *j, size_t index)
{
    if (index > atomic_load(&j->stop)) return;
    gt_log_record *before = gt_log_keep(&j->messages[index]);
    bool goes_on = j->many->work(j->many->context, index);
    gt_log_keep(before);
    size_t stop = atomic_load(&j->stop);
    while (!goes_on && index < stop && !atomic_compare_exchange_weak(&j->stop, &stop, index)) continue;
}

/* Pieces before `stop` never become unwanted: it only falls, and only to pieces that were done. */
static void finish_piece(job *j, size_t index)
{
    size_t stop = atomic_load(&j->stop);
    if (index > stop) {
        gt_log_forget(&j->messages[index]);
        return;
    }
    gt_log_replay(&j->messages[index]);
    if (j->many->finish && index < stop) j->many->finish(j->many->context, index);
}

/* Until the thread that finishes pieces has caught up; the lock is held. */
static void wait_for_turn(job *j)
{
    while (j->finishing && j->done - j->finished > j->most_waiting && !gt_guard_has_failed()) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&j->changed, &j->lock, &until);
    }
}

/* Finishes the pieces whose turn it is. The lock is not held meanwhile. */
static void finish_pieces(job *j, size_t done)
{
    gt_lock(&j->lock);
    j->is_done[done] = true;
    j->done++;
    while (!j->finishing && j->finished < j->many->count && j->is_done[j->finished]) {
        size_t index = j->finished;
        j->finishing = true;
        gt_unlock(&j->lock);
        finish_piece(j, index);
        gt_lock(&j->lock);
        j->finishing = false;
        j->finished++;
        pthread_cond_broadcast(&j->changed);
    }
    wait_for_turn(j);
    gt_unlock(&j->lock);
}

static void run_piece(void *context, size_t at)
{
    job *j = context;
    do_piece(j, j->order[at]);
    finish_pieces(j, j->order[at]);
}

/* One of several loops over the same list: as many pieces run at the same time as there are lanes. */
static void run_lane(void *context, size_t lane)
{
    (void)lane;
    job *j = context;
    for (size_t at; !gt_guard_has_failed() && (at = atomic_fetch_add(&j->next, 1)) < j->many->count;)
        run_piece(j, at);
}

size_t gt_many_at_once(const uint64_t *sizes, size_t count, uint64_t limit)
{
    const gt_many many = {.count = count, .sizes = sizes, .limit = limit};
    piece *pieces = gt_alloc(count * sizeof *pieces);
    for (size_t i = 0; i < count; i++) pieces[i] = (piece){.size = sizes[i], .index = i};
    size_t at_once = count_at_once(&many, pieces, gt_team_threads());
    gt_free(pieces);
    return at_once;
}

size_t gt_many_run(const gt_many *many)
{
    job j = {.many = many,
             .order = gt_alloc(many->count * sizeof *j.order),
             .messages = gt_alloc_zero(many->count, sizeof *j.messages),
             .is_done = gt_alloc_zero(many->count, sizeof *j.is_done)};
    atomic_init(&j.next, 0);
    atomic_init(&j.stop, many->count);
    size_t at_once = sort_pieces(many, j.order);
    j.most_waiting = WAITING_PER_THREAD * gt_team_threads();
    pthread_mutex_init(&j.lock, NULL);
    pthread_cond_init(&j.changed, NULL);
    if (at_once < gt_team_threads())
        gt_parallel_each(at_once, run_lane, &j);
    else
        gt_parallel_each(many->count, run_piece, &j);
    pthread_cond_destroy(&j.changed);
    pthread_mutex_destroy(&j.lock);
    gt_free_all(j.is_done, j.messages, j.order);
    return atomic_load(&j.stop);
}
