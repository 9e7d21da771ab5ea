/* What a kernel's name says: which part of a model it computes, and what remains of the name without sizes
 * and data types.
 *
 * The classes are finer than the categories of analysis/categories.h, which are made from them, and know
 * names only, no ops, because nothing else is known of kernels that a graph replays. */
#pragma once

#include "base/base.h"

typedef enum gt_kernel_class {
    GT_CLASS_COPY,
    GT_CLASS_COMM,
    GT_CLASS_MOE_ROUTE,
    GT_CLASS_MOE_GEMM,
    GT_CLASS_KV_CACHE,
    GT_CLASS_ATTENTION,
    GT_CLASS_GEMM,
    GT_CLASS_CONV,
    GT_CLASS_NORM,
    GT_CLASS_QUANT,
    GT_CLASS_ROPE,
    GT_CLASS_ACTIVATION,
    GT_CLASS_SAMPLING,
    GT_CLASS_SOFTMAX,
    GT_CLASS_EMBEDDING,
    GT_CLASS_ELEMENTWISE,
    GT_CLASS_REDUCE,
    GT_CLASS_OPTIMIZER,
    GT_CLASS_OTHER,
    GT_KERNEL_CLASSES
} gt_kernel_class;

/* "copy", "comm", "moe_route", ... */
const char *gt_kernel_class_name(gt_kernel_class class);

/* Looks at each name once. Borrows the strings, to which more may be added. */
typedef struct gt_kernel_classifier gt_kernel_classifier;
gt_kernel_classifier *gt_kernel_classifier_new(const gt_interner *strings);
/* From now on these are the strings: a copy of the former ones, which others may be adding to. */
void gt_kernel_classifier_use_strings(gt_kernel_classifier *names, const gt_interner *strings);
void gt_kernel_classifier_free(gt_kernel_classifier *names);

/* Of the kernel, copy or memset with this name, a string id. */
gt_kernel_class gt_kernel_classifier_class(gt_kernel_classifier *names, uint32_t name);
/* The stem of a name: kernels that do the same for other sizes and data types have the same. That of a GEMM
 * is its library, that of a kernel of PyTorch the functor that it applies, and that of others their name up
 * to the arguments, with '#' for digits. A number per stem, from 0, in the order of the calls; and the text
 * of one. */
uint32_t gt_kernel_classifier_stem(gt_kernel_classifier *names, uint32_t name);
gt_str gt_kernel_classifier_stem_text(const gt_kernel_classifier *names, uint32_t stem);
