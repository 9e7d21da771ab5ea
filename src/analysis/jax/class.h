/* What class of work is a kernel of a JAX program? Told by words in its name and in the name of its op. */
#ifndef GT_ANALYSIS_JAX_CLASS_H
#define GT_ANALYSIS_JAX_CLASS_H

#include "base/interner.h"

typedef enum gt_jax_class {
    GT_JAX_CLASS_GEMM,
    GT_JAX_CLASS_FA_BWD,
    GT_JAX_CLASS_FA_FWD,
    GT_JAX_CLASS_FA_V3,
    GT_JAX_CLASS_CONV,
    GT_JAX_CLASS_TE,
    GT_JAX_CLASS_COMMUNICATION,
    GT_JAX_CLASS_XLA, /* none of the others */
    GT_JAX_CLASSES
} gt_jax_class;

const char *gt_jax_class_name(gt_jax_class class); /* "FA BWD", "Uncategorized Events/XLA" */

/* The class that words in one text give; GT_JAX_CLASS_XLA for none. */
gt_jax_class gt_jax_class_of_text(gt_str text);
/* Of a kernel, from the classes of both names: that of its op where there is one, unless its own name says
 * attention. */
gt_jax_class gt_jax_class_joined(gt_jax_class kernel, gt_jax_class op);
gt_jax_class gt_jax_class_of(gt_str kernel, gt_str hlo_op);

#endif
