/* What kind of work does the GPU do? The one table of it for traces of all formats: the sheet balance, the
 * sheets of kernels of `gputally report`, the page, charts and terminal name the same work alike.
 *
 * Sheets that TraceLens has keep its categories under its names (analysis/pytorch/op_category.h,
 * gt_kernel_category of analysis/rocprof/sheets.h, analysis/jax/kernels.h). */
#pragma once

#include "table/table_list.h"

typedef enum gt_category {
    GT_CATEGORY_GEMM,
    GT_CATEGORY_ATTENTION,
    GT_CATEGORY_CONVOLUTION,
    GT_CATEGORY_NORMALISATION,
    GT_CATEGORY_ELEMENTWISE,
    GT_CATEGORY_REDUCTION,
    GT_CATEGORY_OPTIMIZER,
    GT_CATEGORY_OTHER,
    GT_CATEGORY_COMMUNICATION,
    GT_CATEGORY_COPY,
    GT_CATEGORIES
} gt_category;

/* "GEMM", "attention", "convolution", "normalisation", "elementwise", "reduction", "optimizer", "other",
 * "communication", "copy". */
const char *gt_category_name(gt_category category);
/* The category with this name; GT_CATEGORY_OTHER if there is none. */
gt_category gt_category_named(gt_str name);
/* The category of the ops that analysis/pytorch/op_category.h or analysis/jax/kernels.h calls so;
 * GT_CATEGORY_OTHER if that says little about their kernels. */
gt_category gt_category_of_ops(gt_str op_category);

/* A kernel, copy or memset. Strings are ids, GT_STR_NONE where nothing is known. */
typedef struct gt_gpu_work {
    uint32_t name;
    uint32_t op;       /* the cpu_op or HLO op that it belongs to */
    uint32_t said;     /* the class that analysis/jax/kernels.h gives it */
    bool copies;       /* a copy or memset */
    bool communicates; /* a kernel of a collective */
    bool in_optimizer; /* launched in Optimizer.step */
} gt_gpu_work;

/* Looks at the names of equal work once. */
typedef struct gt_categories gt_categories;
gt_categories *gt_categories_new(gt_interner *strings);
gt_category gt_categories_find(gt_categories *categories, const gt_gpu_work *work);
void gt_categories_free(gt_categories *categories);

/* Adds the last column, Category, to the sheets kernel_summary of a PyTorch trace and
 * kernel_launchers_summary. Kernels of `known` (name, category, with the same strings) have it from there; of
 * others the names decide. NULL adds nothing. */
void gt_categories_add_to(const gt_table_list *tables, const gt_table *known);
