/* Failures that no function returns: running out of memory, and internal errors (bugs).
 *
 * Ordinary failures are passed up as gt_error. These two are different, because any call may run into them:
 * every allocation can fail. gt_raise() ends the current call instead of returning.
 *
 * - In a guarded call (every function of the public interface, see api/), the call ends with an error. All
 *   that it acquired is released: memory is tracked by a gt_heap, everything else (descriptors, threads,
 *   database handles, temporary files) by gt_guard_add. The technique is PostgreSQL's: setjmp where the call
 *   begins, longjmp where it fails.
 * - Without a guard (the command line), the message goes to standard error and the program ends.
 *
 * A guard belongs to one call and is inherited by the threads that the call starts (base/threads.h). The call
 * runs in the C locale, the handler of its warnings in that of the caller. Rules for code that may run under
 * a guard:
 *
 * - Memory comes from gt_alloc and its relatives and goes back with gt_free. Memory that libc allocated is
 *   handed over with gt_adopt.
 * - Any other resource that is held while memory is allocated is registered right after it was acquired and
 *   removed right before it is released:
 *
 *       FILE *file = fopen(path, "rbe");
 *       gt_guard_add(close_file, file);
 *       ... allocate ...
 *       gt_guard_remove(file);
 *       fclose(file);
 *
 * - A mutex that is held while memory is allocated is taken with gt_lock.
 * - Nothing that lives longer than the call may point to memory allocated in it. */
#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "base/raise.h"

#include <pthread.h>

typedef struct gt_guard gt_guard;

/* Receives the warnings of a guarded call, one at a time, on the thread that has one. */
typedef void gt_warning_handler(void *context, const char *text);

typedef struct gt_guard_options {
    gt_heap *heap;               /* owns the memory that the call allocates and does not free */
    bool keep_heap;              /* do not empty the heap if the call fails */
    gt_warning_handler *warning; /* NULL: warnings are discarded */
    void *warning_context;
} gt_guard_options;

/* Calls body(context) under a new guard. True if it returned; then memory that it did not free stays in the
 * heap. False if gt_raise ended it: the error has the message, registered resources are released and the
 * heap is empty, unless keep_heap is set. Guarded calls may be nested, for example when a warning handler
 * makes one. */
bool gt_guard_run(const gt_guard_options *options, void (*body)(void *context), void *context,
                  gt_error *error);

/* ---- resources other than memory; without a guard these do nothing ---- */

/* Registers a resource, to be released if the call fails. Cleanups run newest first, before the stack is
 * unwound, so the object may be on the stack. They must not depend on memory being available. If the
 * registration itself fails, the resource is released and the call ends. */
void gt_guard_add(void (*cleanup)(void *object), void *object);
/* Forgets the newest registration of the object. */
void gt_guard_remove(const void *object);

/* Ready-made cleanups. A descriptor is registered as gt_guard_add(gt_close_descriptor, gt_descriptor(fd)). */
void gt_close_descriptor(void *descriptor);
void gt_close_file(void *file);
void *gt_descriptor(int descriptor);

/* ---- threads ---- */

gt_guard *gt_guard_current(void); /* of this thread; NULL without one */

/* Calls body(context) on this thread as a part of the guarded call. False if gt_raise ended it: what it
 * registered is released, and the guard has failed. With guard NULL, it just calls. */
bool gt_guard_attempt(gt_guard *guard, void (*body)(void *context), void *context);
/* Whether any part of this thread's guarded call has failed; parts that see this may stop early. */
bool gt_guard_has_failed(void);
/* Ends this part of the call, too, if another part has failed. */
void gt_guard_check(void);

/* pthread_mutex_lock and unlock, for mutexes that are held while memory is allocated: if that fails, the
 * mutex is unlocked, and gt_lock in the other threads of the call ends their part, too, so that nobody sees
 * what the mutex protects half-changed. */
void gt_lock(pthread_mutex_t *mutex);
void gt_unlock(pthread_mutex_t *mutex);

/* Hands a warning to the handler of the guarded call, or counts it if it is repeated; the arguments are those
 * of gt_repeats_add. False without a guard. */
bool gt_guard_warn(const char *text, const char *file, bool loose);
