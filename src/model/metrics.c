/* The columns made of flops, bytes and time. The order of the operations is part of the result: users compare
 * the last digits. */
#include "model/metrics.h"

#include <math.h>

gt_min_time gt_min_time_of(const gt_model_result *result, const gt_gpu_arch *arch)
{
    double gflops = result->flops / 1e9;
    return (gt_min_time){gflops * 1e9 / (gt_gpu_arch_peak(arch, result->compute_spec) * 1e12) * 1e6,
                         result->bytes / (arch->mem_bw_gbps * 1e9) * 1e6};
}

static void add_roofline(gt_metrics *m, const gt_model_result *result, double kernel_us,
                         const gt_gpu_arch *arch)
{
    gt_min_time least = gt_min_time_of(result, arch);
    if (isnan(least.compute_us) || isnan(least.memory_us) || !(m->gflops > 0)) return;
    bool by_compute = least.compute_us >= least.memory_us;
    m->bound = by_compute ? GT_BOUND_COMPUTE : GT_BOUND_MEMORY;
    m->roofline_us = by_compute ? least.compute_us : least.memory_us;
    if (kernel_us > 0) m->pct_roofline = m->roofline_us / kernel_us * 100;
}

gt_metrics gt_metrics_of(const gt_model_result *result, double kernel_us, const gt_gpu_arch *arch)
{
    const double none = (double)NAN;
    double bytes = result->bytes; /* NaN makes NaN of what is computed from it */
    bool ran = kernel_us > 0;
    gt_metrics m = {.gflops = result->flops / 1e9, .roofline_us = none, .pct_roofline = none};
    gt_metrics_add_simulation(&m, result, kernel_us, none);
    m.tflops_per_s = ran ? m.gflops / 1e3 / (kernel_us / 1e6) : none;
    m.data_moved_mb = bytes / 1048576;
    m.flops_per_byte = bytes > 0 ? m.gflops * 1e9 / bytes : none;
    m.tb_per_s = ran ? bytes / 1e12 / (kernel_us / 1e6) : none;
    if (arch) add_roofline(&m, result, kernel_us, arch);
    return m;
}

void gt_metrics_add_simulation(gt_metrics *m, const gt_model_result *result, double kernel_us,
                               double simulated_us)
{
    m->simulated_us = simulated_us > 0 ? simulated_us : (double)NAN;
    m->simulated_tflops_per_s = m->gflops / 1e3 / (m->simulated_us / 1e6);
    m->simulated_tb_per_s = result->bytes / 1e12 / (m->simulated_us / 1e6);
    m->pct_simulated = kernel_us > 0 ? m->simulated_us / kernel_us * 100 : (double)NAN;
}

const char *gt_bound_name(gt_bound bound)
{
    static const char *const names[] = {
        [GT_BOUND_UNKNOWN] = NULL, [GT_BOUND_COMPUTE] = "COMPUTE_BOUND", [GT_BOUND_MEMORY] = "MEMORY_BOUND"};
    return names[bound];
}
