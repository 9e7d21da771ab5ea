/* data_stall: does the GPU wait for input data?
 *
 * The edit removes the host time that the launching thread spends in data loading: a loader in other
 * processes does the same work at the same time. */
#include "findings/rules/rules_table.h"
#include "findings/schedule/names.h"

/* Whether the program's loader has workers: it then asks their queue for data. */
static bool has_workers(const gt_schedule *schedule)
{
    for (uint32_t id = 0; id < schedule->name_count; id++)
        if (gt_name_has(schedule, id, GT_NAME_DATA) &&
            gt_str_contains(gt_interner_get(schedule->strings, id), ": _try_get_data"))
            return true;
    return false;
}

bool gt_rule_data_stall(const gt_rule_input *input, gt_finding *finding)
{
    if (!gt_rule_has_label(input, GT_CAUSE_DATA)) return false;
    double idle_ms = gt_rule_state_idle(input, finding, GT_CAUSE_DATA);
    if (!gt_rule_shows(idle_ms)) return false; /* a full queue takes microseconds */
    finding->id = "data_stall";
    finding->confidence = GT_CONFIDENCE_HIGH;
    finding->title = gt_rule_text("The GPU waits %.2f ms per %s for input data", idle_ms, input->per);
    gt_tally sites = gt_rule_idle_sites(input, GT_CAUSE_DATA);
    if (sites.item_count > 0) finding->where = gt_rule_string(input, sites.items[0].text);
    gt_rule_evidence(
        finding,
        "data loading holds the launching thread for %.2f ms per %s, the GPU is idle for %.2f ms of it",
        gt_rule_host_ms(input, GT_CAUSE_DATA), input->per, idle_ms);
    for (size_t i = 0; i < sites.item_count && i < 2 && gt_rule_shows(gt_rule_ms(input, sites.items[i].sum));
         i++)
        gt_rule_evidence(finding, "%s: %.2f ms idle",
                         gt_interner_get(input->schedule->strings, sites.items[i].text).bytes,
                         gt_rule_ms(input, sites.items[i].sum));
    gt_tally_free(&sites);
    finding->advice = gt_rule_text(
        "%s", has_workers(input->schedule)
                  ? "The loader has workers that are too slow: more of them (num_workers), a larger "
                    "prefetch_factor and persistent_workers, or a cheaper __getitem__; check disk and "
                    "decoding, and "
                    "that workers have CPU cores of their own."
                  : "Load data in worker processes (DataLoader with num_workers > 0, prefetch_factor and "
                    "persistent_workers) or make __getitem__ cheaper; check disk and decoding.");
    gt_edit_remove_label(&finding->edit, input->schedule, GT_CAUSE_DATA);
    return true;
}
