/* What an event in the call tree has from its parent. Only src/trace uses this. */
#ifndef GT_TRACE_PYTORCH_TREE_H
#define GT_TRACE_PYTORCH_TREE_H

#include "trace/pytorch/pytorch.h"

/* Fills cpu_op_above and launch_op of a host event; its parent's are filled. */
void gt_tree_inherit(gt_pytorch *trace, uint32_t row);

#endif
