/* A run on Kubernetes: the objects that `kubectl apply -f` takes, as one YAML file. */
#ifndef GT_RUN_TARGETS_KUBERNETES_H
#define GT_RUN_TARGETS_KUBERNETES_H

#include "run/plan/plan.h"

typedef struct gt_kubernetes {
    const char *path; /* OUTPUT_DIR/gputally_NAME.yaml */
    gt_buffer text;   /* the caller frees it */
} gt_kubernetes;

/* Makes the file: a claim for results, a ConfigMap with the context, a Service where there are several nodes,
 * and the Job whose pods start `gputally run --target local` with these words before its "--". False where a
 * setting is missing or wrong. */
bool gt_kubernetes_make(const gt_plan *plan, const char *image, const char *const *run_options,
                        size_t run_option_count, gt_kubernetes *out, gt_error *error);

#endif
