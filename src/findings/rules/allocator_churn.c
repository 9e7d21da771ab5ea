/* allocator_churn: is device memory allocated and freed all the time?
 *
 * PyTorch's allocator keeps memory, so that a program in its steady state makes none of these calls. The edit
 * lets them cost nothing and not wait. The driver also holds back ops that are launched around such a call:
 * copies start about 1 ms late. Without the calls they start as soon as they can. */
#include "findings/rules/rules_table.h"

static bool is_alloc(const gt_host_point *point)
{
    return point->kind == GT_API_FREE || point->kind == GT_API_ALLOC;
}

/* Ops that start late, although launched and with nothing before them on their stream, during or soon after
 * an allocation or a free. */
static void edit_late_ops(const gt_schedule *schedule, gt_edit *edit)
{
    static const int64_t late_ns = 100000, aftermath_ns = 3000000;
    size_t p = 0;
    bool any = false;
    int64_t last_end_ns = 0; /* of the calls that began before the op */
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        for (; p < schedule->point_count && schedule->points[p].start_ns < op->start_ns; p++) {
            if (!is_alloc(&schedule->points[p])) continue;
            if (!any || schedule->points[p].end_ns > last_end_ns) last_end_ns = schedule->points[p].end_ns;
            any = true;
        }
        if (!any || op->point == GT_NONE) continue;
        int64_t ready_ns = schedule->points[op->point].end_ns;
        if (op->previous != GT_NONE && schedule->ops[op->previous].end_ns > ready_ns)
            ready_ns = schedule->ops[op->previous].end_ns;
        if (op->start_ns - ready_ns > late_ns && last_end_ns > ready_ns - aftermath_ns)
            gt_edit_op_start_soon(edit, (uint32_t)i);
    }
}

bool gt_rule_allocator_churn(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    gt_tally names = {0}, frees = {0}, sites = {0};
    size_t calls = 0, in_window = 0;
    int64_t call_ns = 0;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!is_alloc(point)) continue;
        calls++;
        gt_edit_point_add(&finding->edit, (uint32_t)p, GT_EDIT_NO_CALL | GT_EDIT_NO_WAIT, 0);
        if (!gt_window_has(&schedule->window, point->start_ns)) continue;
        in_window++;
        call_ns += point->end_ns - point->start_ns;
        gt_tally_add(&names, schedule->events[point->event].name, 1);
        gt_tally_add(point->kind == GT_API_FREE ? &frees : &sites, gt_site_of_call(schedule, point->event),
                     1);
    }
    if (calls > 0) {
        double steps = (double)schedule->window.steps;
        edit_late_ops(schedule, &finding->edit);
        /* Who frees memory decides; the allocations follow from that. */
        gt_tally *shown = frees.item_count > 0 ? &frees : &sites;
        gt_tally_sort(&names);
        gt_tally_sort(shown);
        finding->id = "allocator_churn";
        finding->confidence = GT_CONFIDENCE_HIGH;
        finding->title =
            gt_rule_text("Device memory is allocated or freed %s per %s",
                         gt_rule_count((double)in_window / steps, "time", "times").text, input->per);
        if (shown->item_count > 0) finding->where = gt_rule_string(input, shown->items[0].text);
        gt_rule_evidence(
            finding,
            "these calls take %.2f ms per %s on the host, and the GPU is idle for %.2f ms because of them",
            gt_rule_ms(input, (double)call_ns), input->per, gt_rule_idle_ms(input, GT_CAUSE_ALLOC));
        for (size_t i = 0; i < names.item_count && i < 3; i++)
            gt_rule_evidence(finding, "%s x %s per %s", gt_rule_number(names.items[i].sum / steps).text,
                             gt_interner_get(schedule->strings, names.items[i].text).bytes, input->per);
        for (size_t i = 0; i < shown->item_count && i < 2; i++)
            gt_rule_evidence(finding, "%s x in %s", gt_rule_number(shown->items[i].sum / steps).text,
                             gt_interner_get(schedule->strings, shown->items[i].text).bytes);
        finding->advice =
            gt_rule_text("Remove torch.cuda.empty_cache() from the loop; otherwise keep shapes stable or set "
                         "PYTORCH_ALLOC_CONF=expandable_segments:True so that memory is reused.");
    }
    gt_tally_free(&names);
    gt_tally_free(&frees);
    gt_tally_free(&sites);
    return calls > 0;
}
