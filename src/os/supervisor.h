/* A small process between this program and a command that it runs, so that everything the command starts can
 * be ended.
 *
 * A process group is not enough: a worker in a session of its own has left it, and a daemon that forks twice
 * is not even a descendant any more, because the kernel gives orphans to init. The supervisor is a subreaper:
 * the kernel gives it the orphans among its descendants, so that they all stay below it in the tree of
 * processes, where they are found in /proc. It also ends them when this program is gone, however that
 * happened: then the pipe of orders from here closes. Only its own death by SIGKILL leaves more than the
 * command behind; it has a process group and a name of its own so that what is sent to this program does not
 * reach it.
 *
 * Orders go down one pipe, reports come up another one; its end is the end of the supervisor. */
#pragma once

#include <signal.h>
#include "base/base.h"
#include <sys/types.h>

typedef struct gt_supervisor {
    pid_t pid;
    int orders;  /* for gt_supervisor_signal; closing it kills everything */
    int reports; /* gt_supervisor_report values, until the supervisor has ended */
} gt_supervisor;

typedef struct gt_supervisor_setup {
    /* Called in the command's process with all signals blocked; `mask` is the caller's. Never returns. */
    void (*become)(void *context, const sigset_t *mask);
    void *context;
    const int *passed_on; /* descriptors that only the command keeps; -1: none */
    size_t passed_on_count;
    bool in_slurm;           /* SIGTERM is not sent to processes that got it from SLURM */
    bool ends_rest;          /* what is left a second after a normal end is ended, too */
    const char *const *undo; /* a command that the supervisor runs if this program is gone; NULL: none */
} gt_supervisor_setup;

typedef enum gt_supervisor_event {
    GT_SUPERVISOR_ENDED = 1,
    GT_SUPERVISOR_ENDS_REST,
    GT_SUPERVISOR_LEFT
} gt_supervisor_event;

typedef struct gt_supervisor_report {
    gt_supervisor_event kind;
    int value; /* ENDED: status of the command, as of waitpid; ENDS_REST: number of processes that get
                  SIGTERM now; LEFT: number of those that are still there */
} gt_supervisor_report;

/* Starts the supervisor and with it the command, in a process group of its own. 0, or what errno would be.
 * Only one thread may do this at a time. */
int gt_supervisor_start(const gt_supervisor_setup *setup, gt_supervisor *supervisor);

/* Sends a signal to the process group of the command, or with `all` also to all its descendants outside of
 * it. From then on, the supervisor stays until all are gone: when the command itself has ended, the others
 * get SIGTERM, and after SIGKILL everything is killed until nothing is left. Processes that do not even end
 * then (in a call of a driver that hangs) are given up after ten seconds. */
void gt_supervisor_signal(const gt_supervisor *supervisor, int number, bool all);

/* Waits for the supervisor and closes the pipes. */
void gt_supervisor_finish(gt_supervisor *supervisor);
