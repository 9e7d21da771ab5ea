/* Three buffers circulate between the unpacking thread and the reader. The reader unpacks the first block
 * itself, because it has nothing else to do at that point; so a small file needs no thread. If the reader is
 * alone, two buffers are enough: it still has the one before when it unpacks the next. */
#include "stream/readahead.h"
#include "base/guard.h"
#include "base/team.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 3, SLOTS_ALONE = 2 };

typedef struct slot {
    uint8_t *memory; /* headroom, block, pad; allocated when first needed */
    size_t len;
} slot;

struct gt_readahead {
    const gt_unpacker_kind *kind;
    gt_unpacker *unpacker;
    gt_raw_input *stored;
    gt_readahead_options options;
    size_t slot_count;
    bool alone; /* there is no thread: the reader unpacks */
    gt_beside thread;

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t changed;
    slot slots[SLOTS];
    uint64_t filled, given, released; /* blocks so far; block n is in slot n % slot_count */
    bool ended, failed, stopping;
    bool raised; /* the thread ran out of memory */
    gt_error error;
    gt_guard *guard; /* of the call that reads; NULL: none */
};

gt_readahead *gt_readahead_new(const gt_unpacker_kind *kind, gt_raw_input *stored,
                               gt_readahead_options options)
{
    gt_readahead *a = gt_alloc_zero(1, sizeof *a);
    a->kind = kind;
    a->stored = stored;
    a->options = options;
    a->slot_count = options.alone ? SLOTS_ALONE : SLOTS;
    a->alone = true;
    a->guard = gt_guard_current();
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->unpacker = kind->begin(stored); /* last: if this raises, nothing is left but memory */
    return a;
}

/* Unpacks into the next slot, which nobody else uses, and signals that it is filled. */
static void fill_slot(gt_readahead *a)
{
    slot *s = &a->slots[a->filled % a->slot_count];
    size_t len = 0;
    gt_error error;
    if (!s->memory) s->memory = gt_alloc(a->options.headroom + a->options.block + a->options.pad);
    bool filled = a->kind->fill(a->unpacker, s->memory + a->options.headroom, a->options.block, &len, &error);

    pthread_mutex_lock(&a->lock);
    if (!filled) {
        a->failed = true;
        a->error = error;
        len = 0;
    }
    s->len = len;
    a->filled += len > 0;
    a->ended = len < a->options.block;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static void unpack_ahead(void *context)
{
    gt_readahead *a = context;
    for (;;) {
        pthread_mutex_lock(&a->lock);
        while (!a->stopping && a->filled - a->released == a->slot_count)
            pthread_cond_wait(&a->changed, &a->lock);
        bool done = a->stopping || a->ended;
        pthread_mutex_unlock(&a->lock);
        if (done) return;
        fill_slot(a);
    }
}

static void *run_thread(void *context)
{
    gt_readahead *a = context;
    if (gt_guard_attempt(a->guard, unpack_ahead, a)) return NULL;
    pthread_mutex_lock(&a->lock);
    a->raised = a->ended = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

void gt_readahead_begin(gt_readahead *a)
{
    unsigned least_cores = gt_team_threads() < GT_MANY_THREADS ? 2 : 0;
    if (a->alone && !a->ended && !a->options.alone)
        a->alone = gt_beside_start(&a->thread, least_cores, run_thread, a) != 0;
}

bool gt_readahead_next(gt_readahead *a, uint8_t **block, size_t *len, gt_error *error)
{
    if (a->alone && !a->ended) fill_slot(a);
    pthread_mutex_lock(&a->lock);
    while (a->filled == a->given && !a->ended)
        if (!gt_beside_wait(&a->thread, &a->changed, &a->lock)) gt_beside_use_all_cores(&a->thread);
    slot *next = a->filled > a->given ? &a->slots[a->given++ % a->slot_count] : NULL;
    bool failed = !next && a->failed, raised = !next && a->raised;
    if (failed && error) *error = a->error;
    pthread_mutex_unlock(&a->lock);
    if (raised) gt_guard_check(); /* the call has failed */

    *block = next ? next->memory + a->options.headroom : NULL;
    *len = next ? next->len : 0;
    return !failed;
}

void gt_readahead_release(gt_readahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->released++;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

const char *gt_readahead_damage(gt_readahead *a)
{
    pthread_mutex_lock(&a->lock);
    const char *damage = a->ended ? a->kind->damage(a->unpacker) : NULL;
    pthread_mutex_unlock(&a->lock);
    return damage;
}

void gt_readahead_free(gt_readahead *a)
{
    if (!a->alone) {
        pthread_mutex_lock(&a->lock);
        a->stopping = true;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
        gt_raw_input_stop(a->stored);
        gt_beside_join(&a->thread);
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    for (int i = 0; i < SLOTS; i++) gt_free(a->slots[i].memory);
    a->kind->end(a->unpacker);
    gt_free(a);
}
