/* first_use: does the window contain costs that arise only when code is used for the first time?
 *
 * The edit lets these calls cost nothing: they would not be there after more warm-up. */
#include "findings/rules/rules_table.h"

bool gt_rule_first_use(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    gt_tally names = {0};
    int64_t call_ns = 0;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!gt_point_is_first_use(point)) continue;
        gt_edit_point_add(&finding->edit, (uint32_t)p, GT_EDIT_NO_CALL, 0);
        if (!gt_window_has(&schedule->window, point->start_ns)) continue;
        call_ns += point->end_ns - point->start_ns;
        gt_tally_add(&names, schedule->events[point->event].name, 1);
    }
    bool any = names.item_count > 0;
    if (any) {
        gt_tally_sort(&names);
        finding->id = "first_use";
        finding->confidence = GT_CONFIDENCE_HIGH;
        finding->title =
            gt_rule_text("The window contains costs of first use (loading or compiling code): %.2f ms per %s",
                         gt_rule_ms(input, (double)call_ns), input->per);
        for (size_t i = 0; i < names.item_count && i < 2; i++)
            gt_rule_evidence(finding, "%s of %s",
                             gt_rule_count((double)names.items[i].count, "call", "calls").text,
                             gt_interner_get(schedule->strings, names.items[i].text).bytes);
        gt_rule_evidence(finding, "the GPU is idle for %.2f ms per %s meanwhile",
                         gt_rule_idle_ms(input, GT_CAUSE_MODULE), input->per);
        finding->advice = gt_rule_text(
            "Profile after more warm-up steps: these costs do not repeat.%s",
            input->gpu->is_amd ? "" : " CUDA_MODULE_LOADING=EAGER moves them to the start of the program.");
    }
    gt_tally_free(&names);
    return any;
}
