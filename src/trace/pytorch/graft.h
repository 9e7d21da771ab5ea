/* Putting captured graphs (capture.h) into the trace that launches them: below each launch, the ops and calls
 * of its graph, and below each call the kernel that it stands for.
 *
 *     hipGraphLaunch                 hipGraphLaunch
 *       gemm                           CaptureRoot
 *       act                ->            nn.Module: Model_0
 *                                          aten::mm
 *                                            hipLaunchKernel
 *                                              gemm
 *
 * What is put in has the time of the launch, and the process and thread of the capture. Its uids continue
 * those of the trace: event i of a graph by start has the uid base + i. Ops that are put in are visited as
 * late roots unless the launch is below an op, whose time they are. */
#pragma once

#include "trace/pytorch/capture.h"

/* What an event has to do with captures: gt_linked_view.grafted. */
typedef enum gt_graft_part {
    GT_GRAFT_NONE,
    GT_GRAFT_PASSAGE, /* a launch with the events of its graph below it, and the event that stands for the
                         graph */
    GT_GRAFT_EVENT,   /* another event of a graph */
} gt_graft_part;

/* A call of the graph and the GPU event that it launched. */
typedef struct gt_graft_pair {
    uint32_t call; /* index into graph->calls */
    uint32_t gpu;  /* row of the trace */
} gt_graft_pair;

/* Borrows everything, for the call only. */
typedef struct gt_graft {
    uint32_t launch; /* row of the trace; each launch at most once */
    const gt_linked_view *capture;
    const gt_captured_graph *graph;
    uint32_t *names; /* by string id of the capture: that of the trace; GT_STR_NONE: not looked up yet */
    const gt_graft_pair *pairs;
    size_t pair_count; /* those of all GPU events that the launch is linked to */
} gt_graft;

/* A list of changes. The trace does not change before gt_graft_finish, which makes them and frees the list.
 *
 *     gt_graft_list *list = gt_graft_begin(trace);
 *     gt_graft_add(list, &graft); ...
 *     gt_graft_finish(list); */
typedef struct gt_graft_list gt_graft_list;
gt_graft_list *gt_graft_begin(gt_pytorch_linked *trace);
void gt_graft_add(gt_graft_list *list, const gt_graft *graft);
/* Returns the number of launches. */
size_t gt_graft_finish(gt_graft_list *list);

/* The trace's string of a capture's string; adds it. */
uint32_t gt_graft_name(const gt_graft *graft, gt_interner *strings, uint32_t id);
