/* How many threads to use, and running a piece of work on that many. */
#ifndef GT_BASE_THREADS_H
#define GT_BASE_THREADS_H

#include <stddef.h>

/* Cores that this process may use: its affinity and the CPU quota of its control group count, not only what
 * the machine has. At least 1. */
unsigned gt_threads_default(void);

/* Calls work(context, 0 .. n-1), each on a thread of its own (index 0 on the caller's), and returns when all
 * are done. Where the machine gives fewer threads, the remaining indexes run one after another on the
 * caller's; so work must not wait for an index that may not have begun. */
void gt_threads_run(unsigned n, void (*work)(void *context, unsigned index), void *context);

/* Calls work(context, 0 .. count-1), each once, begun in this order by at most `threads` threads. */
void gt_threads_each(size_t count, unsigned threads, void (*work)(void *context, size_t index),
                     void *context);

#endif
