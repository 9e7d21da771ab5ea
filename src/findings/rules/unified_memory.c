/* unified_memory: do kernels read or write memory of the host?
 *
 * Tensors in unified memory come over the bus, page by page, when a kernel first needs them, and kernels that
 * use pinned memory directly do the same. PyTorch's profiler records no page faults, but such kernels move
 * large tensors at the rate of the bus instead of the memory's. */
#include "findings/rules/gpu_rules.h"

static const double most_share = 0.02;   /* of the memory's rate; more is a slow kernel */
static const double least_bytes = 8e6;   /* a short kernel may be slow for other reasons */
static const double window_share = 0.02; /* of the window, for a finding */

static bool is_claimed(const gt_rule_input *input, uint32_t op)
{
    for (size_t i = 0; i < input->found_count; i++)
        for (size_t k = 0; k < input->found[i].edit.op_count; k++)
            if (input->found[i].edit.ops[k].op == op) return true;
    return false;
}

static void describe(const gt_rule_input *input, gt_finding *finding, gt_tally *sites, double bytes,
                     double ns)
{
    finding->id = "unified_memory";
    finding->is_gpu = true;
    finding->confidence = GT_CONFIDENCE_MEDIUM;
    finding->title = gt_rule_text("Kernels move tensors at %.0f GB/s, as over the bus: %.2f ms per %s",
                                  bytes / ns, gt_rule_ms(input, ns), input->per);
    finding->where = gt_tally_first(input, sites);
    gt_rule_evidence_sums(input, finding, sites, 3);
    gt_rule_evidence(finding, "the memory of the GPU moves %.0f GB/s", input->gpu->bytes);
    finding->advice = gt_rule_text(
        "Keep these tensors in the GPU's memory: copy them once, or prefetch unified memory "
        "(cudaMemPrefetchAsync) before the kernel; if it is too large, cache the rows that are used most.");
}

bool gt_rule_unified_memory(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    const double rate = input->gpu->bytes;
    if (rate <= 0) return false;
    double *times = gt_new_times(schedule), all_bytes = 0, all_ns = 0;
    gt_tally sites = {0};
    gt_arena arena = {0};
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        double ns = (double)gt_op_ns(&schedule->ops[i]);
        if (ns < least_bytes / rate / most_share || !gt_op_is_sourced_kernel(input, i)) continue;
        if (gt_gpu_facts_shape(input->facts, i)->is_known) continue; /* matrices compute */
        double bytes = gt_kernel_peak_ns(input->facts, schedule, input->gpu, i, &arena) * rate;
        if (bytes < least_bytes || bytes / ns >= most_share * rate || is_claimed(input, i)) continue;
        times[i] = bytes / (GT_REACH_MEMORY * rate);
        if (!gt_window_has(&schedule->window, schedule->ops[i].start_ns)) continue;
        all_bytes += bytes;
        all_ns += ns;
        gt_tally_add(&sites, gt_site_of_op(schedule, gt_op_event(input, i)), ns);
    }
    bool found = all_ns > 0 && all_ns >= window_share * gt_window_ns(schedule);
    if (found) {
        gt_new_times_apply(times, schedule, finding);
        describe(input, finding, &sites, all_bytes, all_ns);
    }
    gt_tally_free(&sites);
    gt_arena_free(&arena);
    gt_free(times);
    return found;
}
