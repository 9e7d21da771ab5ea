/* Keeping a pool within its limit: which blocks go to the temporary file, and when pages of the file leave
 * resident memory.
 *
 * Blocks stay in memory until the process uses about five eighths of the limit (cold ones: a quarter). The
 * rest is for what never goes to the file, small blocks and stacks, and for the pages of the file that are in
 * use. Those are dropped, oldest first, when resident memory comes close to the limit. That is looked at
 * whenever a block goes to the file, and by a thread every millisecond, since filling a large block
 * takes a while. */
#ifndef GT_BASE_PAGES_WATCH_H
#define GT_BASE_PAGES_WATCH_H

#include "base/pages/spill.h"
#include "base/pages/types.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct gt_pages_watch {
    gt_spill spill;
    uint64_t limit;          /* of resident memory; 0: none */
    uint64_t other;          /* the most memory seen that is not the pool's */
    uint64_t base_anonymous; /* memory that does not count */
    uint64_t base;
    uint64_t pending;  /* bytes given out lately that may not be resident yet */
    uint64_t resident; /* when last looked */
    size_t dropped;
    bool write;            /* dropped pages */
    bool outside;          /* see gt_pages_limits */
    int64_t last_drop;     /* time in ns */
    int64_t dropping_ns;   /* time that went into it lately; if it is much, the limit is raised */
    int statm;             /* where resident memory is read while the thread runs; -1: not open */
    pthread_mutex_t *lock; /* the pool's */
    pthread_cond_t wake;
    pthread_t thread;
    bool running, ending;
    atomic_bool active;       /* there is something to look after */
    atomic_int_fast64_t next; /* time of the next look, in ns */
} gt_pages_watch;

typedef struct gt_pages_load {
    size_t pool;  /* bytes of memory that the pool has */
    size_t bytes; /* that it shall have in addition */
    bool cold;
} gt_pages_load;

void gt_pages_watch_begin(gt_pages_watch *watch, pthread_mutex_t *lock);
void gt_pages_watch_end(gt_pages_watch *watch);

/* The following are called with the lock. */

void gt_pages_watch_set(gt_pages_watch *watch, const gt_pages_limits *limits);
/* Whether the pool needs its file for this load. */
bool gt_pages_watch_exceeds(gt_pages_watch *watch, const gt_pages_limits *limits, const gt_pages_load *load);
/* Starts the thread, unless it runs. If it cannot be started, only allocations look. */
void gt_pages_watch_start(gt_pages_watch *watch);
/* Drops pages of the file if there is need, to make room for a block of this size. False if a promised limit
 * cannot be kept. */
bool gt_pages_watch_keep(gt_pages_watch *watch, const gt_pages_limits *limits, size_t bytes, gt_error *error);

/* Looks, unless somebody has just looked; without the lock. */
void gt_pages_watch_poll(gt_pages_watch *watch);
/* Ends the thread; without the lock. */
void gt_pages_watch_stop(gt_pages_watch *watch);

#endif
