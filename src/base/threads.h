/* Starting threads, and how many to use. base/team.h shares work among them. */
#pragma once

#include <pthread.h>

/* pthread_create, for every thread of ours: signals that are sent to the process are blocked in it, so that
 * handlers run in the threads of the program that they belong to. */
int gt_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

enum { GT_THREADS_MAX = 1024 }; /* that a user may ask for */

/* The cores that this process may use, at least 1: limited by its affinity and by the CPU quota of its
 * control group. */
unsigned gt_threads_default(void);
/* The same number becomes at most this; 0: no limit. For the command line. */
void gt_threads_limit_default(unsigned most);
/* The cores of the machine, and of them those that the quota of the control group allows. */
unsigned gt_threads_of_machine(void);
