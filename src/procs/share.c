/* Sharing out files; see share.h. */
#include "procs/share.h"

enum {
    BATCHES_PER_THREAD = 4, /* of what is left: the last batches are small */
    SLOW_S = 5,
    SLOW_FACTOR = 3,         /* a file is slow after so many seconds plus so many times the usual */
    UNKNOWN_S = 60,          /* as long as no file is done, it is unknown what is usual */
    COST_BYTES = 256 * 1024, /* of any file, however small */
};

typedef enum file_state { WAITING, GIVEN, GIVEN_TWICE, DONE } file_state;

typedef struct shared_file {
    uint64_t cost;
    file_state state;
    size_t process;      /* that got it first */
    double given_s;      /* when */
    uint64_t batch_cost; /* of all files that were given with it */
} shared_file;

struct gt_share {
    shared_file *files;
    uint32_t *order; /* the largest first */
    size_t count, next, done;
    size_t end; /* files from this index on are not needed */
    uint64_t left_cost;
    size_t threads;
    double done_cost, done_s; /* of the files that are done: how fast it goes */
};

typedef struct sized_file {
    uint64_t cost;
    uint32_t file;
} sized_file;

GT_ORDER_BY(larger_first, sized_file, GT_DOWN(cost) GT_UP(file))

static void sort_files(gt_share *share)
{
    sized_file *sized = gt_alloc(share->count * sizeof *sized);
    for (size_t i = 0; i < share->count; i++) sized[i] = (sized_file){share->files[i].cost, (uint32_t)i};
    qsort(sized, share->count, sizeof *sized, larger_first);
    for (size_t i = 0; i < share->count; i++) share->order[i] = sized[i].file;
    gt_free(sized);
}

gt_share *gt_share_new(const uint64_t *bytes, const bool *is_done, size_t count, size_t threads)
{
    gt_share *share = gt_alloc_zero(1, sizeof *share);
    share->files = gt_alloc_zero(count, sizeof *share->files);
    share->order = gt_alloc(count * sizeof *share->order);
    share->count = share->end = count;
    share->threads = threads;
    for (size_t i = 0; i < count; i++) {
        share->files[i].cost = bytes[i] + COST_BYTES;
        share->files[i].state = is_done && is_done[i] ? DONE : WAITING;
        if (share->files[i].state == DONE)
            share->done++;
        else
            share->left_cost += share->files[i].cost;
    }
    sort_files(share);
    return share;
}

void gt_share_free(gt_share *share)
{
    if (!share) return;
    gt_free_all(share->files, share->order, share);
}

void gt_share_set_threads(gt_share *share, size_t threads)
{
    share->threads = threads;
}

/* ---- giving ---- */

static bool is_needed(const gt_share *share, uint32_t file)
{
    return file < share->end;
}

static double expected_s(const gt_share *share, uint64_t cost)
{
    return share->done_cost > 0 ? (double)cost * share->done_s / share->done_cost : UNKNOWN_S;
}

static void give(gt_share *share, uint32_t file, size_t process, double now_s, uint64_t batch_cost)
{
    shared_file *f = &share->files[file];
    f->state = GIVEN;
    f->process = process;
    f->given_s = now_s;
    f->batch_cost = batch_cost;
    share->left_cost -= f->cost;
}

/* By what is known now: the first files are given out before any is done. */
static bool is_slow(const gt_share *share, const shared_file *f, double now_s)
{
    return now_s - f->given_s > SLOW_S + SLOW_FACTOR * expected_s(share, f->batch_cost);
}

/* A file that has been under way for too long; not to the process that has it. */
static size_t give_slow(gt_share *share, size_t process, double now_s, uint32_t *files)
{
    shared_file *slowest = NULL;
    for (size_t i = 0; i < share->count; i++) {
        shared_file *f = &share->files[i];
        if (f->state != GIVEN || f->process == process || !is_slow(share, f, now_s) ||
            !is_needed(share, (uint32_t)i))
            continue;
        if (!slowest || f->given_s < slowest->given_s) slowest = f;
    }
    if (!slowest) return 0;
    slowest->state = GIVEN_TWICE;
    files[0] = (uint32_t)(slowest - share->files);
    return 1;
}

size_t gt_share_give(gt_share *share, size_t process, double now_s, uint32_t files[GT_SHARE_BATCH_MAX])
{
    uint64_t most = share->left_cost / (BATCHES_PER_THREAD * (share->threads ? share->threads : 1)), cost = 0;
    size_t given = 0;
    for (; share->next < share->count && given < GT_SHARE_BATCH_MAX; share->next++) {
        uint32_t file = share->order[share->next];
        const shared_file *f = &share->files[file];
        if (f->state != WAITING || !is_needed(share, file)) continue;
        if (given && cost + f->cost > most) break;
        cost += f->cost;
        files[given++] = file;
    }
    for (size_t i = 0; i < given; i++) give(share, files[i], process, now_s, cost);
    return given ? given : give_slow(share, process, now_s, files);
}

/* ---- results ---- */

bool gt_share_done(gt_share *share, size_t process, uint32_t file, bool goes_on, double now_s)
{
    if (file >= share->count || share->files[file].state == DONE) return false;
    shared_file *f = &share->files[file];
    if (f->state == WAITING) share->left_cost -= f->cost;
    if (f->process == process && f->state != WAITING) { /* a second process began later, at an unknown time */
        share->done_cost += (double)f->cost;
        share->done_s += now_s - f->given_s;
    }
    f->state = DONE;
    share->done++;
    if (!goes_on && file < share->end) share->end = file;
    return true;
}

bool gt_share_is_over(const gt_share *share)
{
    if (share->end == share->count) return share->done == share->count;
    for (size_t i = 0; i < share->end; i++)
        if (share->files[i].state != DONE) return false;
    return true;
}

bool gt_share_is_empty(const gt_share *share)
{
    for (size_t i = share->next; i < share->count; i++)
        if (share->files[share->order[i]].state == WAITING && is_needed(share, share->order[i])) return false;
    return true;
}

size_t gt_share_done_count(const gt_share *share)
{
    return share->done;
}

bool gt_share_slowest(const gt_share *share, double now_s, gt_share_slow *slow)
{
    bool found = false;
    for (size_t i = 0; i < share->end; i++) {
        const shared_file *f = &share->files[i];
        if (f->state != GIVEN && f->state != GIVEN_TWICE) continue;
        double seconds = now_s - f->given_s;
        if (found && seconds <= slow->seconds) continue;
        *slow = (gt_share_slow){(uint32_t)i, f->process, seconds};
        found = true;
    }
    return found;
}
