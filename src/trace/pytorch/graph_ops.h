/* Ops of replayed graphs: what the kernels of a graph belong to (analysis/graphs) becomes part of the call
 * tree, so that every analysis of ops counts their time.
 *
 *     cudaGraphLaunch              cudaGraphLaunch
 *       gemm                         aten::mm
 *       splitKreduce        ->         gemm
 *       silu                           splitKreduce
 *                                    aten::silu
 *                                      silu
 *
 * The ops begin with their launch and have no duration, because the host did not run them. */
#pragma once

#include "trace/pytorch/pytorch.h"

/* An op and its GPU events: kernels[kernel_end of the op before] to kernels[kernel_end - 1] of the list. */
typedef struct gt_graph_op {
    uint32_t name;                           /* string id */
    uint32_t launch;                         /* row of the call that launched the graph */
    uint32_t source;                         /* string id: see gt_linked_view.graph_sources */
    uint32_t dims, types, strides, concrete; /* string ids; GT_STR_NONE: unknown */
    uint32_t kernel_end;
} gt_graph_op;

/* {0} is empty; the owner frees both arrays. */
typedef struct gt_graph_op_list {
    gt_graph_op *ops;
    size_t count, capacity;
    uint32_t *kernels; /* rows of GPU events */
    size_t kernel_count, kernel_capacity;
} gt_graph_op_list;

/* Adds the ops, in the order of the list. At most once per trace. GPU events that are not linked to the
 * launch of their op stay as they are. */
void gt_tree_add_graph_ops(gt_pytorch_linked *trace, const gt_graph_op_list *list);
