/* Many pieces of work of different sizes at the same time, such as reading the traces of all ranks.
 *
 * The pieces run on the team (base/team.h), large ones first, so that a large one does not begin when all
 * others are done; the others nearly in the order of their indexes, so that little waits for its turn. A
 * thread that finds no piece left helps those that run, as far as they have loops of their own. What the
 * pieces find is put together in the order of their indexes, not in that in which they are done:
 *
 *     static bool read_rank(void *context, size_t rank) { ... }      on any thread
 *     static void keep_rank(void *context, size_t rank) { ... }      rank 0, then 1, ..., one at a time
 *     gt_many_run(&(gt_many){.count = ranks, .sizes = bytes, .work = read_rank, .finish = keep_rank, ...});
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gt_many {
    size_t count;
    const uint64_t *sizes; /* by index: the memory that it needs, or the time, in any unit; NULL: all alike */
    uint64_t
        limit; /* on the sizes of pieces that run at the same time; one runs whatever its size; 0: none */
    /* Messages of a piece (base/log.h) are printed when it is finished. False if the pieces after this one
     * are not needed any more: those that have not begun are skipped, and the messages of the others dropped.
     */
    bool (*work)(void *context, size_t index);
    /* Called in the order of the indexes, on any thread, while other pieces run; not for those after one
     * whose work returned false. NULL: nothing to do. */
    void (*finish)(void *context, size_t index);
    void *context;
} gt_many;

/* Runs all pieces, at most one per thread of the team at a time. Returns the first index whose work returned
 * false, which does not depend on the order in which they ran; count if none did. */
size_t gt_many_run(const gt_many *many);

/* How many pieces of these sizes may run at the same time: as many of the largest as fit into the limit, at
 * most one per thread of the team, at least one. */
size_t gt_many_at_once(const uint64_t *sizes, size_t count, uint64_t limit);
