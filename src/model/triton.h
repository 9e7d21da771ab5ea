/* Kernels that torch.compile made: their names tell which ops were fused. */
#ifndef GT_MODEL_TRITON_H
#define GT_MODEL_TRITON_H

#include "model/registry.h"
#include "json/values.h"

extern const gt_model gt_triton_model;

bool gt_triton_is_kernel(gt_str name); /* by the beginning of its name */
/* Whether the arguments of such an event can be read at all; others count as ops without a model. */
bool gt_triton_is_usable(const gt_value *dims, const gt_value *types, const gt_value *concrete);

#endif
