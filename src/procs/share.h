/* Which process works on which file? Used by process 0 of a process group, which answers the requests of all.
 *
 * The largest files are given out first, a few small ones at a time. When none is left, a file that has been
 * under way for much longer than usual is given to a second process, for example because the machine of the
 * first one has trouble with its file system; the first result counts. Requests that nothing can be given for
 * wait.
 *
 * Nothing here knows about messages, threads or the clock: times are passed in. */
#pragma once

#include "base/base.h"

enum { GT_SHARE_BATCH_MAX = 64 }; /* files that are given out at a time */

typedef struct gt_share gt_share;

/* `bytes` by file: its size. `is_done` by file: those that need no work. `threads` of all processes, also of
 * those that will come later: the first process must not get the share of the others. */
gt_share *gt_share_new(const uint64_t *bytes, const bool *is_done, size_t count, size_t threads);
void gt_share_free(gt_share *share); /* NULL does nothing */

/* How many threads of all processes work: small files are given out in smaller batches to many. */
void gt_share_set_threads(gt_share *share, size_t threads);

/* Files for this process; 0: it must wait, or all is done. */
size_t gt_share_give(gt_share *share, size_t process, double now_s, uint32_t files[GT_SHARE_BATCH_MAX]);
/* A file is done. `goes_on` is false if no file after it is needed. True if it was the first result. */
bool gt_share_done(gt_share *share, size_t process, uint32_t file, bool goes_on, double now_s);
bool gt_share_is_over(const gt_share *share);
/* Whether all files are given out. */
bool gt_share_is_empty(const gt_share *share);
size_t gt_share_done_count(const gt_share *share);

/* The file that has been under way for the longest time, and where. */
typedef struct gt_share_slow {
    uint32_t file;
    size_t process;
    double seconds;
} gt_share_slow;
/* False if none is under way. */
bool gt_share_slowest(const gt_share *share, double now_s, gt_share_slow *slow);
