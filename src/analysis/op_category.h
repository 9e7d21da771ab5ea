/* What kind of work does an op do? By its name where the name is known, else by its first kernel.
 *
 *     registry    the name is in op_names.inc
 *     triton      the name begins with triton
 *     record_param_comms    the name begins so
 *     elementwise, reduce, multi_tensor_apply    the first kernel is one of PyTorch's own and its name says
 * so other       everything else */
#ifndef GT_ANALYSIS_OP_CATEGORY_H
#define GT_ANALYSIS_OP_CATEGORY_H

#include "base/strings.h"

/* Families of sheets, in the order of the sheets. */
typedef enum gt_op_family {
    GT_FAMILY_NONE,
    GT_FAMILY_GEMM,
    GT_FAMILY_SDPA,
    GT_FAMILY_CONV,
    GT_FAMILY_INFERENCE_ATTENTION,
    GT_FAMILY_BINARY_ELEMENTWISE,
    GT_FAMILY_GROUPED_GEMM,
    GT_FAMILY_MOE_COMM,
    GT_FAMILY_SSM,
    GT_FAMILY_ROPE,
    GT_FAMILY_CROSS_ENTROPY,
    GT_FAMILY_UNARY_ELEMENTWISE,
    GT_FAMILY_MOE_FUSED,
    GT_FAMILY_MOE_UNFUSED,
    GT_FAMILY_MOE_AUX,
    GT_FAMILY_RMSNORM,
    GT_FAMILY_ELEMENTWISE,
    GT_FAMILY_GROUP_QUANT,
    GT_FAMILY_FUSED_ROPE,
    GT_FAMILY_CUSTOM_COLLECTIVE,
    GT_FAMILY_MHC,
    GT_FAMILY_NORMALIZATION,
    GT_FAMILY_REDUCE,
    GT_FAMILY_COUNT
} gt_op_family;

const char *
gt_op_family_name(gt_op_family family); /* as in the sheets' names: "GEMM", "MoE_comm"; NONE: "" */

typedef struct gt_op_name {
    gt_op_family family; /* NONE: the op has a category and no model */
    const char *category;
    const char *name;
} gt_op_name;

/* The registry. Names are compared exactly; NULL where there is none. Any thread may ask. */
const gt_op_name *gt_op_find(gt_text name);
const gt_op_name *gt_op_names(size_t *count);

/* The category of an op whose earliest kernel has the name `first_kernel` ("" where it launched none itself).
 */
const char *gt_op_category(gt_text name, gt_text first_kernel);

/* The same by text ids, and each name asked only once: for tables of many ops. */
typedef struct gt_op_categories gt_op_categories;
gt_op_categories *gt_op_categories_new(gt_strings *strings);
uint32_t gt_op_categories_of(gt_op_categories *categories, uint32_t name, uint32_t first_kernel);
void gt_op_categories_free(gt_op_categories *categories);

#endif
