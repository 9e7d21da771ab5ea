/* What kind of work a kernel does, told from its name alone: for runs that record no operators. */
#ifndef GT_ANALYSIS_ROCPROF_KERNEL_CATEGORY_H
#define GT_ANALYSIS_ROCPROF_KERNEL_CATEGORY_H

#include "base/interner.h"

/* "GEMM", "Elementwise", ... or "Other". */
const char *gt_kernel_category(gt_str name);

#endif
