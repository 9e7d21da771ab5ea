/* Pieces of work side by side; see many.h.
 *
 * A thread takes the next piece of the list, which is sorted by size, does it, and then finishes all pieces
 * whose turn has come, unless another thread is doing so. Nobody waits for another: a piece that is done
 * before its turn is finished by the thread that does the piece before it. */
#include "base/many.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/team.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct job {
    const gt_many *many;
    size_t *order; /* indexes in the order in which they begin */
    atomic_size_t next;
    atomic_size_t stop; /* the first index whose work returned false */
    gt_log_record *messages;
    pthread_mutex_t lock; /* for all below */
    bool *is_done;
    size_t finished;
    bool finishing; /* a thread is */
} job;

/* ---- the order ---- */

typedef struct piece {
    uint64_t size;
    size_t index;
} piece;

static int larger_first(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Returns how many pieces may run at the same time because of the limit: as many of the largest as fit. */
static size_t sort_pieces(const gt_many *many, size_t *order)
{
    piece *pieces = gt_alloc(many->count * sizeof *pieces);
    size_t at_once = gt_team_threads();
    for (size_t i = 0; i < many->count; i++) pieces[i] = (piece){many->sizes ? many->sizes[i] : 0, i};
    if (at_once > 1 && many->sizes) qsort(pieces, many->count, sizeof *pieces, larger_first);
    uint64_t together = 0;
    for (size_t i = 0; i < many->count; i++) {
        order[i] = pieces[i].index;
        if (!many->limit || i >= at_once) continue;
        bool fits = pieces[i].size <= many->limit && together <= many->limit - pieces[i].size;
        if (!fits && i) at_once = i;
        together += pieces[i].size;
    }
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

/* Finishes the pieces whose turn it is. The lock is not held meanwhile. */
static void finish_pieces(job *j, size_t done)
{
    gt_lock(&j->lock);
    j->is_done[done] = true;
    while (!j->finishing && j->finished < j->many->count && j->is_done[j->finished]) {
        size_t index = j->finished;
        j->finishing = true;
        gt_unlock(&j->lock);
        finish_piece(j, index);
        gt_lock(&j->lock);
        j->finishing = false;
        j->finished++;
    }
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

size_t gt_many_run(const gt_many *many)
{
    job j = {.many = many,
             .order = gt_alloc(many->count * sizeof *j.order),
             .messages = gt_alloc_zero(many->count, sizeof *j.messages),
             .is_done = gt_alloc_zero(many->count, sizeof *j.is_done)};
    atomic_init(&j.next, 0);
    atomic_init(&j.stop, many->count);
    size_t at_once = sort_pieces(many, j.order);
    pthread_mutex_init(&j.lock, NULL);
    if (at_once < gt_team_threads())
        gt_parallel_each(at_once, run_lane, &j);
    else
        gt_parallel_each(many->count, run_piece, &j);
    pthread_mutex_destroy(&j.lock);
    gt_free(j.is_done);
    gt_free(j.messages);
    gt_free(j.order);
    return atomic_load(&j.stop);
}
