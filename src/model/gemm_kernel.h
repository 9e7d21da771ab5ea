/* The name of a GEMM kernel tells how its inputs lie in memory. */
#ifndef GT_MODEL_GEMM_KERNEL_H
#define GT_MODEL_GEMM_KERNEL_H

#include "json/values.h"

/* Whether A and whether B is transposed, each as a bool or None; false where the name does not tell at all.
 */
bool gt_gemm_transpose(gt_str kernel, gt_value transpose[2]);

#endif
