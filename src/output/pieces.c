/* Documents in pieces (gt_pieces of file.h).
 *
 * The pieces are made in rounds of a few per thread. There are two sets of slots: while the pieces of a round
 * are made in one, those of the round before are taken from the other. So nobody waits for a certain piece,
 * and memory is bounded whatever piece takes longest. */
#include "output/file.h"

#include "base/memory.h"
#include "base/team.h"

enum { PIECES_PER_THREAD = 2 };

typedef struct run {
    const gt_pieces *pieces;
    char *slots;             /* two sets */
    size_t per_round, round; /* the number of the round in which pieces are made */
} run;

static void *slot_of(const run *r, size_t index)
{
    size_t set = index / r->per_round % 2;
    return r->slots + (set * r->per_round + index % r->per_round) * r->pieces->slot_size;
}

static size_t end_of_round(const run *r, size_t round)
{
    size_t end = (round + 1) * r->per_round;
    return end < r->pieces->count ? end : r->pieces->count;
}

/* Index 0 takes the pieces of the round before, the others make one piece each. */
static void do_part(void *context, size_t part)
{
    const run *r = context;
    const gt_pieces *pieces = r->pieces;
    size_t begin = r->round * r->per_round;
    if (part > 0) {
        pieces->make(pieces->context, begin + part - 1, slot_of(r, begin + part - 1));
        return;
    }
    for (size_t i = r->round ? begin - r->per_round : begin; i < begin && i < pieces->count; i++)
        pieces->take(pieces->context, i, slot_of(r, i));
}

static void run_rounds(run *r)
{
    size_t rounds = gt_range_count(r->pieces->count, r->per_round);
    for (r->round = 0; r->round <= rounds; r->round++) {
        size_t begin = r->round * r->per_round, end = end_of_round(r, r->round);
        gt_parallel_each(1 + (end > begin ? end - begin : 0), do_part, r);
    }
}

static void run_one_by_one(const gt_pieces *pieces)
{
    void *slot = gt_alloc_zero(1, pieces->slot_size);
    for (size_t i = 0; i < pieces->count; i++) {
        gt_memory_poll();
        pieces->make(pieces->context, i, slot);
        pieces->take(pieces->context, i, slot);
    }
    pieces->end(slot);
    gt_free(slot);
}

void gt_pieces_run(const gt_pieces *pieces)
{
    size_t threads = gt_team_threads();
    if (threads == 1 || pieces->count < 2) {
        run_one_by_one(pieces);
        return;
    }
    run r = {.pieces = pieces, .per_round = threads * PIECES_PER_THREAD};
    if (r.per_round > pieces->count) r.per_round = pieces->count;
    r.slots = gt_alloc_zero(2 * r.per_round, pieces->slot_size);
    run_rounds(&r);
    for (size_t i = 0; i < 2 * r.per_round; i++) pieces->end(r.slots + i * pieces->slot_size);
    gt_free(r.slots);
}

size_t gt_rows_per_piece(size_t columns, size_t cells)
{
    size_t rows = columns < cells ? cells / (columns ? columns : 1) : 1;
    return GT_GRAIN(rows);
}
