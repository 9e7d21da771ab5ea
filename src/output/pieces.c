/* Documents in pieces (gt_pieces of file.h).
 *
 * Threads make the pieces in order, each in one of a few slots. Whoever is done with a piece takes all pieces
 * whose turn has come, unless another thread is doing so; otherwise it makes the next one. So no thread waits
 * for a certain piece, and pieces are made while others are written. A piece waits only for its slot, which
 * has a piece that began long before: memory is bounded whatever piece takes longest. */
#include "output/file.h"

#include "base/guard.h"
#include "base/team.h"

#include <time.h>

enum {
    SLOTS_PER_THREAD = 2,
    WAIT_NS = 10 * 1000 * 1000, /* until a failure of another thread is noticed */
};

typedef struct slot_state {
    size_t taken; /* pieces of this slot */
    bool is_made; /* the next one, which waits to be taken */
} slot_state;

typedef struct run {
    const gt_pieces *pieces;
    char *slots;
    size_t slot_count;
    size_t step;          /* from one piece of other work to the next */
    pthread_mutex_t lock; /* for all below */
    slot_state *states;   /* by slot */
    size_t taken;         /* pieces */
    bool taking;          /* a thread is */
    unsigned waiting;     /* threads, for a slot */
    pthread_cond_t freed; /* a slot */
} run;

static void *slot_of(const run *r, size_t index)
{
    return r->slots + index % r->slot_count * r->pieces->slot_size;
}

/* Until the piece that had the slot before is taken; the lock is held. */
static void wait_for_slot(run *r, size_t index)
{
    const slot_state *slot = &r->states[index % r->slot_count];
    r->waiting++;
    while (slot->taken < index / r->slot_count && !gt_guard_has_failed()) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&r->freed, &r->lock, &until);
    }
    r->waiting--;
}

/* Takes the pieces whose turn it is. The lock is held, but not while a piece is taken. */
static void take_pieces(run *r)
{
    while (!r->taking && r->taken < r->pieces->count && r->states[r->taken % r->slot_count].is_made) {
        size_t index = r->taken;
        r->taking = true;
        gt_unlock(&r->lock);
        r->pieces->take(r->pieces->context, index, slot_of(r, index));
        gt_lock(&r->lock);
        r->taking = false;
        r->taken++;
        r->states[index % r->slot_count].is_made = false;
        r->states[index % r->slot_count].taken++;
        if (r->waiting) pthread_cond_broadcast(&r->freed);
    }
}

static void do_other(const gt_pieces *pieces, size_t index)
{
    void *slot = gt_alloc_zero(1, pieces->slot_size);
    pieces->make_other(pieces->context, index, slot);
    pieces->end(slot);
    gt_free(slot);
}

static void do_piece(run *r, size_t index)
{
    gt_lock(&r->lock);
    wait_for_slot(r, index);
    gt_unlock(&r->lock);
    gt_guard_check();
    r->pieces->make(r->pieces->context, index, slot_of(r, index));
    gt_lock(&r->lock);
    r->states[index % r->slot_count].is_made = true;
    take_pieces(r);
    gt_unlock(&r->lock);
}

/* Work of both kinds: of every `step` indexes, the last is other work, until that is done. */
static void do_index(void *context, size_t index)
{
    run *r = context;
    size_t others = r->pieces->other_count, before = (index + 1) / r->step;
    if (before > others) before = others;
    if (before && (index + 1) % r->step == 0 && (index + 1) / r->step <= others)
        do_other(r->pieces, before - 1);
    else
        do_piece(r, index - before);
}

static void run_one_by_one(const gt_pieces *pieces)
{
    for (size_t i = 0; i < pieces->other_count; i++) do_other(pieces, i);
    void *slot = gt_alloc_zero(1, pieces->slot_size);
    for (size_t i = 0; i < pieces->count; i++) {
        pieces->make(pieces->context, i, slot);
        pieces->take(pieces->context, i, slot);
    }
    pieces->end(slot);
    gt_free(slot);
}

void gt_pieces_run(const gt_pieces *pieces)
{
    size_t threads = gt_team_threads(), all = pieces->count + pieces->other_count;
    if (threads == 1 || all < 2) {
        run_one_by_one(pieces);
        return;
    }
    run r = {.pieces = pieces, .slot_count = threads * SLOTS_PER_THREAD, .step = 1};
    if (pieces->other_count) r.step = all / pieces->other_count;
    if (r.slot_count > pieces->count) r.slot_count = pieces->count;
    r.slots = gt_alloc_zero(r.slot_count, pieces->slot_size);
    r.states = gt_alloc_zero(r.slot_count, sizeof *r.states);
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.freed, NULL);
    gt_parallel_each(all, do_index, &r);
    pthread_cond_destroy(&r.freed);
    pthread_mutex_destroy(&r.lock);
    for (size_t i = 0; i < r.slot_count; i++) pieces->end(r.slots + i * pieces->slot_size);
    gt_free_all(r.slots, r.states);
}

size_t gt_rows_per_piece(size_t columns, size_t cells)
{
    size_t rows = columns < cells ? cells / (columns ? columns : 1) : 1;
    return GT_GRAIN(rows);
}
