/* What kind of work does a kernel of an inference engine do, told from its name alone: "GEMM-CK",
 * "PagedAttention-Reduce", "KVCache-vLLM", ... or "Uncategorized". Finer than kernel_category.h. */
#ifndef GT_ANALYSIS_PHASES_INFERENCE_CATEGORY_H
#define GT_ANALYSIS_PHASES_INFERENCE_CATEGORY_H

#include "base/interner.h"

typedef struct gt_inference_categories gt_inference_categories;
gt_inference_categories *gt_inference_categories_new(void);
void gt_inference_categories_free(gt_inference_categories *categories);

const char *gt_inference_category(gt_inference_categories *categories, gt_str kernel_name);

#endif
