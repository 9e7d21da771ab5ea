/* python_busy and host_untraced: does the GPU wait for other code of the program?
 *
 * python_busy is long stretches of the user's Python functions without any operator. host_untraced is the
 * same where the trace shows no function: without recorded stacks it is the only thing that can be said. */
#include "findings/rules/rules_table.h"

static gt_tally tally_functions(const gt_schedule *schedule)
{
    gt_tally tally = {0};
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!gt_window_has(&schedule->window, point->start_ns)) continue;
        if (!gt_replay_may_have(schedule, (uint32_t)p, GT_CAUSE_PYTHON)) continue;
        for (size_t i = point->first_piece; i < (size_t)point->first_piece + point->piece_count; i++) {
            const gt_piece *piece = &schedule->pieces[i];
            if (piece->label == GT_CAUSE_PYTHON)
                gt_tally_add(&tally, gt_site_of(schedule, piece->event),
                             (double)(piece->end_ns - piece->start_ns));
        }
    }
    gt_tally_sort(&tally);
    return tally;
}

bool gt_rule_python_busy(const gt_rule_input *input, gt_finding *finding)
{
    if (!gt_rule_has_label(input, GT_CAUSE_PYTHON)) return false;
    double idle_ms = gt_rule_idle_ms(input, GT_CAUSE_PYTHON);
    finding->id = "python_busy";
    finding->confidence = GT_CONFIDENCE_HIGH;
    finding->title = gt_rule_text("Python code between GPU operations holds up the GPU for %.2f ms per %s",
                                  idle_ms, input->per);
    gt_tally functions = tally_functions(input->schedule);
    if (functions.item_count > 0) finding->where = gt_rule_string(input, functions.items[0].text);
    for (size_t i = 0; i < functions.item_count && i < 3; i++) {
        double ms = gt_rule_ms(input, functions.items[i].sum);
        if (!gt_rule_shows(ms)) break;
        gt_rule_evidence(finding, "%s: %.2f ms per %s",
                         gt_interner_get(input->schedule->strings, functions.items[i].text).bytes, ms,
                         input->per);
    }
    gt_tally_free(&functions);
    gt_rule_evidence(finding, "the GPU is idle for %.2f ms per %s meanwhile", idle_ms, input->per);
    finding->advice =
        gt_rule_text("Move this Python code out of the loop, vectorise it, or run it in another process; it "
                     "calls no PyTorch operator.");
    gt_edit_remove_label(&finding->edit, input->schedule, GT_CAUSE_PYTHON);
    return true;
}

bool gt_rule_host_untraced(const gt_rule_input *input, gt_finding *finding)
{
    if (!gt_rule_has_label(input, GT_CAUSE_UNTRACED)) return false;
    finding->id = "host_untraced";
    gt_trace_origin origin = input->schedule->origin;
    finding->confidence = input->schedule->has_stacks ? GT_CONFIDENCE_LOW : GT_CONFIDENCE_MEDIUM;
    finding->title =
        gt_rule_text(origin == GT_BY_JAX
                         ? "The host launches late, and it is unknown why: the GPU is idle for %.2f ms per %s"
                         : "Host code that the trace does not show holds up the GPU for %.2f ms per %s",
                     gt_rule_idle_ms(input, GT_CAUSE_UNTRACED), input->per);
    gt_rule_evidence(finding,
                     origin == GT_BY_JAX
                         ? "%.2f ms per %s between launches that are at least 0.2 ms apart"
                         : "%.2f ms per %s of the launching thread without a recorded operator, call or "
                           "Python function",
                     gt_rule_host_ms(input, GT_CAUSE_UNTRACED), input->per);
    static const char *const ways[] = {
        [GT_BY_PYTORCH] = "with with_stack=True to see the Python function",
        [GT_BY_ROCPROF] =
            "with PyTorch's profiler, or with ranges marked in the program (roctx), to see more",
        [GT_BY_NSYS] =
            "with nsys profile --trace=cuda,nvtx --python-sampling=true, or with NVTX ranges, to see more",
        [GT_BY_JAX] = "after the functions are compiled, and look at the host threads in a viewer"};
    finding->advice =
        gt_rule_text("Record again %s; often it is data loading, logging or a loop in Python.", ways[origin]);
    gt_edit_remove_label(&finding->edit, input->schedule, GT_CAUSE_UNTRACED);
    return true;
}
