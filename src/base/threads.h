/* How many threads to use, and running work on them. */
#ifndef GT_BASE_THREADS_H
#define GT_BASE_THREADS_H

#include <pthread.h>
#include <stddef.h>

/* pthread_create, for every thread of ours: signals that are sent to the process are blocked in it, so that
 * handlers run in the threads of the program that they belong to. */
int gt_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

enum { GT_THREADS_MAX = 1024 }; /* that a user may ask for */

/* The cores that this process may use, at least 1: limited by its affinity and by the CPU quota of its
 * control group. */
unsigned gt_threads_default(void);

/* Calls work(context, 0 .. n-1), each on its own thread (index 0 on the caller's), and returns when all are
 * done. If fewer threads can be started, the remaining indexes run one after another on the caller's thread;
 * so work must not wait for an index that may not have begun.
 *
 * The threads belong to the caller's guarded call (base/guard.h). If one of them fails, this function does
 * not return: the call ends once all threads have. A thread that waits for another must therefore notice that
 * it failed; gt_lock does. */
void gt_threads_run(unsigned n, void (*work)(void *context, unsigned index), void *context);

/* Calls work(context, 0 .. count-1), each once, started in this order on at most `threads` threads. */
void gt_threads_each(size_t count, unsigned threads, void (*work)(void *context, size_t index),
                     void *context);

#endif
