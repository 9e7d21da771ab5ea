/* Following a job until it is over, and the pod for the results until it is ready. */
#pragma once

#include "run/targets/kubernetes/kubectl.h"
#include "run/targets/kubernetes/kubernetes.h"

typedef struct gt_kube_pod {
    const char *name, *machine; /* machine: where it ran; NULL: not yet */
    int64_t index;              /* the node's number */
    bool has_started, has_ended;
    const char *failure; /* why it failed; NULL: it did not */
    gt_kube_tail *tail;  /* NULL: its output is not shown (yet) */
    struct gt_kube_pod *next;
} gt_kube_pod;

typedef struct gt_kube_outcome {
    bool succeeded;
    bool is_over; /* the job has ended or is deleted */
    bool is_lost; /* the cluster cannot be reached: nothing is known, nothing can be removed */
    bool timed_out;
    const char *reason; /* why it failed */
    gt_kube_pod *pods;  /* newest first */
} gt_kube_outcome;

/* Shows output, reasons for waiting and failures until the job is over. After a signal, or if the job cannot
 * succeed, deletes the job and waits for the end of its pods. */
void gt_kube_follow(gt_kube_session *session, const gt_kubernetes *job, gt_kube_outcome *outcome);

/* Waits until the pod for the results is ready. */
bool gt_kube_await_collector(gt_kube_session *session, const gt_kubernetes *job, gt_error *error);
