/* first_use: does the window contain costs that arise only when code is used for the first time?
 *
 * The edit lets these calls cost nothing: they would not be there after more warm-up. Launches that take long
 * every time are none of them (schedule/first_use.c): those belong to launch_bound. */
#include "findings/rules/rules_table.h"

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What to do. Different code may be loaded step after step: then it is unknown whether that ends. */
static char *advice_for(const gt_rule_input *input, size_t steps)
{
    bool is_frequent = steps >= 2 && 2 * steps > input->schedule->window.steps, is_amd = input->gpu->is_amd;
    if (is_frequent)
        return gt_rule_text(
            "Profile after more warm-up steps; if steps still load or compile other code then, as "
            "with shapes that keep changing, the cost is real.%s",
            is_amd ? "" : " CUDA_MODULE_LOADING=EAGER loads code at the start of the program.");
    return gt_rule_text("Profile after more warm-up steps: these costs do not repeat.%s",
                        is_amd ? "" : " CUDA_MODULE_LOADING=EAGER moves them to the start of the program.");
}

bool gt_rule_first_use(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    const gt_step_window *window = &schedule->window;
    gt_tally names = {0};
    int64_t call_ns = 0;
    size_t steps = 0; /* with such calls */
    int32_t step = -1;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!(point->flags & GT_POINT_FIRST_USE)) continue;
        gt_edit_point_add(&finding->edit, (uint32_t)p, GT_EDIT_NO_CALL, 0);
        /* A host that runs ahead may have made the call before the window begins on the GPU. */
        if (point->start_ns >= window->end_ns || point->end_ns <= window->start_ns) continue;
        call_ns += point->end_ns - later(point->start_ns, window->start_ns);
        gt_tally_add(&names, schedule->events[point->event].name, 1);
        if (point->step > step) steps++, step = point->step;
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
                         gt_rule_state_idle(input, finding, GT_CAUSE_MODULE), input->per);
        finding->advice = advice_for(input, steps);
    }
    gt_tally_free(&names);
    return any;
}
