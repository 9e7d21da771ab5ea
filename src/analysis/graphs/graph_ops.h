/* The claims about replayed kernels as ops of the call tree. */
#pragma once

#include "analysis/graphs/graphs.h"
#include "trace/pytorch/graph_ops.h"

/* The ops of all replays. Kernels of one launch that follow each other and are of one op of the reference are
 * one op; so are a kernel and its helper. Ops have the inputs of the reference if it is of the same batch
 * size. Kernels whose op is unknown stay with the launch if that is below an op. The caller frees both
 * arrays.
 */
gt_graph_op_list gt_graphs_list_ops(const gt_graphs *graphs, const gt_linked_view *trace);
