/* Running kubectl: single calls, and the output of pods, which is shown while calls and pauses last. */
#pragma once

#include "os/shell_words.h"

typedef struct gt_kube_tail gt_kube_tail;

typedef struct gt_kube_session {
    gt_arena *arena;
    const gt_arg_list *kubectl; /* program and common options */
    FILE *log;                  /* gets the output of all pods too; NULL: none */
    gt_kube_tail *tails;
    int interrupted;         /* the last signal that should end the run; 0: none */
    unsigned interrupts;     /* how many arrived */
    bool handlers_installed; /* until gt_kube_close */
} gt_kube_session;

/* From now on, signals that would end this program are counted instead. One session at a time. */
bool gt_kube_open(gt_kube_session *session, gt_error *error);
void gt_kube_close(gt_kube_session *session);

typedef struct gt_kube_call {
    const char *const *words; /* after the common options; ends with NULL */
    double timeout_s;
    bool stoppable; /* a signal ends it */
    /* Arguments of `tar` on this machine, which gets its output; ends with NULL. NULL: kept in `out`. */
    const char *const *tar;
    gt_buffer out, err; /* of the program; the caller frees them */
} gt_kube_call;

/* Returns whether it ended with status 0. If not, `err` says why. */
bool gt_kube_run(gt_kube_session *session, gt_kube_call *call);
/* What it wrote to standard error, as one line, for messages. */
const char *gt_kube_reason(gt_kube_session *session, gt_kube_call *call);
void gt_kube_call_free(gt_kube_call *call);

/* Pauses; a signal ends the pause. */
void gt_kube_pause(gt_kube_session *session, double seconds);

/* Shows the output of a pod's container from its beginning, each line after the prefix (NULL: none). NULL if
 * too many are followed already. */
gt_kube_tail *gt_kube_tail_new(gt_kube_session *session, const char *pod, const char *container,
                               const char *prefix);
/* Starts it, or again after it broke off, after the last line that was shown. Does nothing while it runs. */
void gt_kube_tail_start(gt_kube_session *session, gt_kube_tail *tail);
bool gt_kube_tail_is_running(const gt_kube_tail *tail);
/* Whether it has ended without an error. */
bool gt_kube_tail_is_complete(const gt_kube_tail *tail);
/* For a pod that has ended now: what ended before may have broken off, and is not complete. */
void gt_kube_tail_reopen(gt_kube_tail *tail);
