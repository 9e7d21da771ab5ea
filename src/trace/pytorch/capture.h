/* What was captured of CUDA and HIP graphs: a trace that was recorded while a program captured its graphs has
 * the calls and ops of each graph, but none of its kernels, which run when the graph is launched.
 *
 *     hipStreamBeginCapture      where the window of a graph begins
 *     nn.Module: Model_0
 *       aten::mm
 *         hipLaunchKernel        a call of the graph; args.kernel names its kernel (GT_EVENT_LAUNCHED)
 *     hipStreamEndCapture        where it ends */
#pragma once

#include "trace/pytorch/calls.h"

/* The time in which a graph was captured, on one thread. */
typedef struct gt_graph_window {
    uint32_t begin; /* the row of the call that began it */
    double start_us, end_us;
} gt_graph_window;

/* The windows of a trace, by start; those of one thread do not overlap. The caller frees them. */
gt_graph_window *gt_graph_windows_find(const gt_linked_view *capture, size_t *count);

/* An event of a captured graph. */
typedef struct gt_captured_event {
    uint32_t row;    /* in the capture trace; GT_NO_EVENT: the first event, which stands for the graph */
    uint32_t caller; /* index of the event that called it; GT_NO_EVENT: the first one */
    uint32_t place;  /* its place by start; that of the first one is 0 */
} gt_captured_event;

/* A call that launches a kernel, copies or sets memory. */
typedef struct gt_captured_call {
    uint32_t event; /* index */
    bool is_nested; /* below another such call, as a driver call is below the runtime call that makes it */
} gt_captured_call;

typedef struct gt_captured_graph {
    gt_captured_event *events; /* breadth-first; an event's children are in the order of the capture's tree */
    size_t count;
    gt_captured_call *calls; /* by start */
    size_t call_count;
    uint32_t *op_roots; /* indexes of the ops that are below no other op, by start */
    size_t op_root_count;
} gt_captured_graph;

/* The graph of a window: ops and Python functions that began and ended in it, whose callers did not, and all
 * below them. `with_outside` adds the calls and top-level events that the window has outside of these, which
 * TraceLens loses. `calls` is that of the capture trace. */
gt_captured_graph gt_captured_graph_read(const gt_calls *calls, const gt_graph_window *window,
                                         bool with_outside);
void gt_captured_graph_free(gt_captured_graph *graph);
