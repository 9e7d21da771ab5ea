/* recompute: forward ops that run again in the backward pass, because activation checkpointing did not keep
 * their results. The edit removes these ops, their launches and the host time of preparing them. */
#include "findings/rules/gpu_rules.h"

static bool is_recomputed(const gt_schedule *schedule, const gt_gpu_op *op)
{
    const uint8_t both = GT_HOST_RECOMPUTE | GT_HOST_BACKWARD;
    return op->point != GT_NONE && (schedule->points[op->point].flags & both) == both;
}

bool gt_rule_recompute(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    uint8_t *is_edited = gt_alloc_zero(schedule->point_count, 1);
    gt_tally names = {0};
    uint32_t first = GT_NONE; /* op in the window with a source */
    size_t found = 0, in_window = 0;
    int64_t window_ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (!is_recomputed(schedule, op)) continue;
        found++;
        gt_edit_op_add(&finding->edit, (uint32_t)i, 0);
        if (!is_edited[op->point])
            gt_edit_point_add(&finding->edit, op->point, GT_EDIT_NO_CALL,
                              gt_point_label_ns(schedule, op->point, GT_CAUSE_LAUNCH));
        is_edited[op->point] = 1;
        if (!gt_window_has(&schedule->window, op->start_ns)) continue;
        in_window++;
        window_ns += gt_op_ns(op);
        if (input->facts->op_source[i] == GT_NONE) continue;
        if (first == GT_NONE) first = gt_op_event(input, i);
        gt_tally_add(&names, schedule->events[gt_op_event(input, i)].name, (double)gt_op_ns(op));
    }
    gt_free(is_edited);
    if (found) {
        finding->id = "recompute";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_HIGH;
        finding->title = gt_rule_text("Activation checkpointing repeats %.2f ms of forward work per %s",
                                      gt_rule_ms(input, (double)window_ns), input->per);
        if (first != GT_NONE) finding->where = gt_rule_string(input, gt_site_of(schedule, first));
        gt_number_text count =
            gt_rule_count((double)in_window / (double)schedule->window.steps, "kernel", "kernels");
        gt_rule_evidence(finding, "%s per %s of forward ops that run in the backward pass", count.text,
                         input->per);
        gt_rule_evidence_sums(input, finding, &names, 3);
        finding->advice =
            gt_rule_text("Checkpoint fewer layers if memory allows, or use selective checkpointing; this "
                         "trades memory for time.");
    }
    gt_tally_free(&names);
    return found > 0;
}
