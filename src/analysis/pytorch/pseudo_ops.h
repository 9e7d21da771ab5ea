/* Ops of inference frameworks that a trace does not name: GEMMs of mixtures of experts, attention made of
 * several kernels. They are recognised by the ops, functions and kernels around them, and put into the call
 * tree, so that they have rows and models of their own. */
#ifndef GT_ANALYSIS_PYTORCH_PSEUDO_OPS_H
#define GT_ANALYSIS_PYTORCH_PSEUDO_OPS_H

#include "trace/pytorch/pytorch.h"

/* Needs tree and links. Ops of sglang_profiler lose the numbers behind their names. Some ops are recognised
 * by Python functions only. Returns how many ops were added. */
size_t gt_pseudo_ops_add(gt_pytorch_linked *trace);

#endif
