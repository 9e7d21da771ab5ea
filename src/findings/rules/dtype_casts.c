/* dtype_casts: kernels that only convert values to another type. The edit makes them take no time. A hint:
 * most programs need most of them. */
#include "findings/rules/gpu_rules.h"

bool gt_rule_dtype_casts(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    double *times = gt_new_times(schedule), window_ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (gt_copy_change_of(input, i) != GT_CHANGE_TYPE) continue;
        times[i] = 0;
        if (gt_window_has(&schedule->window, schedule->ops[i].start_ns))
            window_ns += (double)gt_op_ns(&schedule->ops[i]);
    }
    bool found = window_ns > 0.01 * gt_window_ns(schedule);
    if (found) {
        gt_tally sites = {0};
        gt_map labels = {0};
        for (size_t i = 0; i < schedule->op_count; i++)
            if (times[i] >= 0 && gt_window_has(&schedule->window, schedule->ops[i].start_ns))
                gt_tally_add(&sites, gt_copy_label(input, i, &labels), (double)gt_op_ns(&schedule->ops[i]));
        finding->id = "dtype_casts";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_LOW;
        gt_new_times_apply(times, schedule, finding);
        finding->title = gt_rule_text("Conversions between data types take %.2f ms per %s",
                                      gt_rule_ms(input, window_ns), input->per);
        finding->where = gt_tally_first(input, &sites);
        gt_rule_evidence_sums(input, finding, &sites, 3);
        finding->advice =
            gt_rule_text("Keep tensors in one data type, or let torch.compile fuse the conversion.");
        gt_tally_free(&sites);
        gt_map_free(&labels);
    }
    gt_free(times);
    return found;
}
