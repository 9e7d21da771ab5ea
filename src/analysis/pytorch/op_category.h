/* What kind of work does an op do? The first of these that applies:
 *
 *     the extension's category                   the extension has one for its name
 *     the category of model/model.h              its name is listed there
 *     triton, record_param_comms                 its name starts so
 *     elementwise, reduce, multi_tensor_apply    its first kernel is one of PyTorch's own with this word in
 *                                                its name
 *     other                                      everything else */
#pragma once

#include "analysis/pytorch/extension.h"

/* The category of an op whose first kernel has the name `first_kernel` ("" if it launched none itself). */
const char *gt_op_category(gt_str name, gt_str first_kernel);

/* The same for many ops, by string ids; computes each name once. */
typedef struct gt_op_categories gt_op_categories;
/* Borrows its arguments; `extension` may be NULL. */
gt_op_categories *gt_op_categories_new(gt_interner *strings, const gt_extension *extension);
uint32_t gt_op_categories_of(gt_op_categories *categories, uint32_t name, uint32_t first_kernel);
/* The same for many ops, on all threads: found[i] is the category of names[i] with first_kernels[i]. */
void gt_op_categories_of_all(gt_op_categories *categories, const uint32_t *names,
                             const uint32_t *first_kernels, size_t count, uint32_t *found);
void gt_op_categories_free(gt_op_categories *categories);
