/* How fast an op ran, and how fast it could have run on this GPU. */
#ifndef GT_MODEL_METRICS_H
#define GT_MODEL_METRICS_H

#include "model/arch.h"
#include "model/model.h"

typedef enum gt_bound { GT_BOUND_UNKNOWN, GT_BOUND_COMPUTE, GT_BOUND_MEMORY } gt_bound;

/* NaN where a figure is not defined, such as a rate in no time. */
typedef struct gt_metrics {
    double gflops;
    double tflops_per_s;
    double data_moved_mb; /* in MiB, whatever the column says */
    double flops_per_byte;
    double tb_per_s;
    gt_bound bound; /* UNKNOWN: there is no roofline */
    double roofline_us;
    double pct_roofline; /* 100: as fast as the roofline allows */
    double simulated_us; /* by a simulator; NaN: there is no such time, and neither are the others: */
    double simulated_tflops_per_s, simulated_tb_per_s, pct_simulated;
} gt_metrics;

/* The least time that an op can take on a GPU: the longer of the two. NaN: not known. */
typedef struct gt_min_time {
    double compute_us, memory_us;
} gt_min_time;

gt_min_time gt_min_time_of(const gt_model_result *result, const gt_gpu_arch *arch);

/* Of a result with the outcome VALUE, whose kernels ran for kernel_us. Without an architecture (NULL) there
 * is no roofline. */
gt_metrics gt_metrics_of(const gt_model_result *result, double kernel_us, const gt_gpu_arch *arch);

/* Fills in what follows from a simulated time; NaN: nothing. */
void gt_metrics_add_simulation(gt_metrics *metrics, const gt_model_result *result, double kernel_us,
                               double simulated_us);

const char *gt_bound_name(gt_bound bound); /* "COMPUTE_BOUND", "MEMORY_BOUND"; NULL: unknown */

#endif
