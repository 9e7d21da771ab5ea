/* Starting threads, and how many to use. base/team.h shares work among them. */
#ifndef GT_BASE_THREADS_H
#define GT_BASE_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

/* pthread_create, for every thread of ours: signals that are sent to the process are blocked in it, so that
 * handlers run in the threads of the program that they belong to. */
int gt_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* A thread for work at the same time as the caller's. Left to the system, it may be put on the caller's core
 * and is not moved to an idle one before the next tick: seen with Linux 6.18 on a virtual machine of two
 * cores, where it began 4 ms later than it could, and again each time it was woken. So it is kept off the
 * core that the caller was on, if there is another. Where that core is idle and the others have more
 * important work to do, it would wait for long: whoever waits for it longer than GT_BESIDE_WAIT_NS lets it
 * use all cores. */
typedef struct gt_beside {
    pthread_t thread;
    void *(*run)(void *context);
    void *context;
    cpu_set_t cores;     /* all that the caller could use */
    unsigned core_count; /* 0: not known */
    atomic_int kept_off; /* the core; -1: none */
} gt_beside;

enum { GT_BESIDE_WAIT_NS = 1000000 };

/* As gt_thread_start. The thread is kept off a core only if the caller may use at least so many, and there
 * are two; 0: it is not. Its memory must not move. */
int gt_beside_start(gt_beside *thread, unsigned least_cores, void *(*run)(void *context), void *context);
void gt_beside_use_all_cores(gt_beside *thread); /* from now on */
void gt_beside_join(gt_beside *thread);
/* pthread_cond_wait, but if the thread is kept off a core, not for longer than GT_BESIDE_WAIT_NS: false
 * then. */
bool gt_beside_wait(const gt_beside *thread, pthread_cond_t *condition, pthread_mutex_t *lock);

/* Before the calling thread starts something that inherits its cores: if it is kept off one, it is not any
 * longer. */
void gt_threads_use_all_cores(void);

enum { GT_THREADS_MAX = 1024 }; /* that a user may ask for */

/* The cores that this process may use, at least 1: limited by its affinity and by the CPU quota of its
 * control group. */
unsigned gt_threads_default(void);
/* The same number becomes at most this; 0: no limit. For the command line. */
void gt_threads_limit_default(unsigned most);
/* The cores of the machine, and of them those that the quota of the control group allows. */
unsigned gt_threads_of_machine(void);

#endif
