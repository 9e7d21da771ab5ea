/* allocator_churn: is device memory allocated and freed all the time?
 *
 * PyTorch's allocator keeps memory, so that a program in its steady state makes none of these calls. The edit
 * lets them cost nothing and not wait. */
#include "findings/rules/rules_table.h"

static bool is_alloc(const gt_host_point *point)
{
    return point->kind == GT_API_FREE || point->kind == GT_API_ALLOC;
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
        gt_tally_add(point->kind == GT_API_FREE ? &frees : &sites,
                     gt_site_of(schedule, schedule->events[point->event].parent), 1);
    }
    if (calls > 0) {
        double steps = (double)schedule->window.steps;
        /* Who frees memory decides; the allocations follow from that. */
        gt_tally *shown = frees.item_count > 0 ? &frees : &sites;
        gt_tally_sort(&names);
        gt_tally_sort(shown);
        finding->id = "allocator_churn";
        finding->confidence = GT_CONFIDENCE_HIGH;
        finding->title = gt_rule_text("Device memory is allocated or freed %.0f times per %s",
                                      (double)in_window / steps, input->per);
        if (shown->item_count > 0) finding->where = gt_rule_string(input, shown->items[0].text);
        gt_rule_evidence(
            finding,
            "these calls take %.2f ms per %s on the host; the GPU is idle for %.2f ms because of them",
            gt_rule_ms(input, (double)call_ns), input->per, gt_rule_idle_ms(input, GT_CAUSE_ALLOC));
        for (size_t i = 0; i < names.item_count && i < 3; i++)
            gt_rule_evidence(finding, "%.0f x %s per %s", names.items[i].sum / steps,
                             gt_interner_get(schedule->strings, names.items[i].text).bytes, input->per);
        for (size_t i = 0; i < shown->item_count && i < 2; i++)
            gt_rule_evidence(finding, "%.0f x in %s", shown->items[i].sum / steps,
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
