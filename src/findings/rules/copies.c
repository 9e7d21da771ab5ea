/* pageable_copy and exposed_copy: do copies between host and device cost time?
 *
 * A copy from or to pageable memory blocks the host and is slow. With pinned memory and a stream of its own
 * the next batch is copied while the GPU computes: the edit makes these copies free. Other large copies are
 * exposed_copy. Copies of a round trip belong to cpu_roundtrip. */
#include "findings/schedule/names.h"
#include "findings/rules/rules_table.h"

static const int64_t smallest_bytes = 65536;
/* ROCm does not say whether memory was pageable: a large copy that is slower than any link is. */
static const int64_t smallest_slow_bytes = 1 << 20;
static const double slow_bytes_per_ns = 10;

/* The copies of one of the two rules. */
typedef struct host_copies {
    gt_tally names; /* in the window, as all below */
    uint32_t first; /* the first op; GT_NONE */
    double bytes, ns;
    double call_ns;      /* of the calls that made them */
    size_t count, found; /* in the window, and in the trace */
} host_copies;

static bool is_slow(const gt_rule_input *input, const gt_gpu_op *op)
{
    if (gt_name_has(input->schedule, op->name, GT_NAME_PAGEABLE)) return true;
    return input->gpu->is_amd && op->bytes >= smallest_slow_bytes &&
           (double)op->bytes < slow_bytes_per_ns * (double)gt_op_ns(op);
}

/* Finds the copies and adds them to the edit; those that are slow or those that are not. */
static host_copies find_copies(const gt_rule_input *input, bool slow, gt_edit *edit)
{
    const gt_schedule *schedule = input->schedule;
    host_copies copies = {.first = GT_NONE};
    bool *in_trip = gt_rule_points_in_trips(schedule);
    bool *seen = gt_alloc_zero(schedule->point_count, sizeof *seen); /* points of copies in the window */
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        bool is_launched = op->point != GT_NONE;
        if (op->kind != GT_KIND_MEMCPY || !gt_op_is_judged(schedule, op) || op->bytes < smallest_bytes ||
            (is_launched && in_trip[op->point]))
            continue;
        if (!gt_name_has(schedule, op->name, GT_NAME_TO_HOST | GT_NAME_FROM_HOST)) continue;
        if (is_slow(input, op) != slow) continue;
        copies.found++;
        gt_edit_op_add(edit, (uint32_t)i, 0);
        if (slow && is_launched) gt_edit_point_add(edit, op->point, GT_EDIT_NO_CALL | GT_EDIT_NO_WAIT, 0);
        if (!gt_window_has(&schedule->window, op->start_ns)) continue;
        if (copies.first == GT_NONE) copies.first = (uint32_t)i;
        copies.count++;
        copies.bytes += (double)op->bytes;
        copies.ns += (double)gt_op_ns(op);
        gt_tally_add(&copies.names, op->name, 1);
        if (!is_launched) continue;
        const gt_host_point *point = &schedule->points[op->point];
        if (!seen[op->point]) copies.call_ns += (double)(point->end_ns - point->start_ns);
        seen[op->point] = true;
    }
    gt_tally_sort(&copies.names);
    gt_free_all(seen, in_trip);
    return copies;
}

/* Bytes per ns are GB/s. */
static double rate(const host_copies *copies)
{
    return copies->ns > 0 ? copies->bytes / copies->ns : 0;
}

static char *copy_site(const gt_rule_input *input, const host_copies *copies)
{
    const gt_schedule *schedule = input->schedule;
    uint32_t point = schedule->ops[copies->first].point;
    if (point == GT_NONE) return NULL;
    return gt_rule_string(input, gt_site_of_call(schedule, schedule->points[point].event));
}

/* "HtoD (Pageable -> Device)" of "Memcpy HtoD (Pageable -> Device)" */
static const char *direction(const char *name)
{
    static const char opening[] = "Memcpy ";
    return strncmp(name, opening, strlen(opening)) == 0 ? name + strlen(opening) : name;
}

bool gt_rule_pageable_copy(const gt_rule_input *input, gt_finding *finding)
{
    double steps = (double)input->schedule->window.steps;
    host_copies copies = find_copies(input, true, &finding->edit);
    if (copies.count > 0) {
        finding->id = "pageable_copy";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_HIGH;
        finding->title =
            gt_rule_text("%.1f MB per %s are copied from or to pageable host memory at %.1f GB/s",
                         copies.bytes / steps / 1e6, input->per, rate(&copies));
        finding->where = copy_site(input, &copies);
        for (size_t i = 0; i < copies.names.item_count && i < 2; i++)
            gt_rule_evidence(
                finding, "%s x %s", gt_rule_number(copies.names.items[i].sum / steps).text,
                direction(gt_interner_get(input->schedule->strings, copies.names.items[i].text).bytes));
        gt_rule_evidence(finding,
                         "the copies take %.2f ms per %s, and their calls block the host for %.2f ms",
                         gt_rule_ms(input, copies.ns), input->per, gt_rule_ms(input, copies.call_ns));
        finding->advice = gt_rule_text(
            "Use pin_memory=True in the DataLoader (or tensor.pin_memory()) and .to(device, "
            "non_blocking=True), and copy the next batch on a side stream while the GPU computes.");
    }
    gt_tally_free(&copies.names);
    return copies.count > 0;
}

bool gt_rule_exposed_copy(const gt_rule_input *input, gt_finding *finding)
{
    static const double smallest_share = 0.01;
    const gt_step_window *window = &input->schedule->window;
    double steps = (double)window->steps;
    host_copies copies = find_copies(input, false, &finding->edit);
    bool is_found =
        copies.count > 0 && copies.ns > smallest_share * (double)(window->end_ns - window->start_ns);
    if (is_found) {
        finding->id = "exposed_copy";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_MEDIUM;
        finding->title = gt_rule_text("Copies between host and device take %.2f ms per %s",
                                      gt_rule_ms(input, copies.ns), input->per);
        finding->where = copy_site(input, &copies);
        gt_rule_evidence(finding, "%s with %.1f MB per %s, at %.1f GB/s",
                         gt_rule_count((double)copies.count / steps, "copy", "copies").text,
                         copies.bytes / steps / 1e6, input->per, rate(&copies));
        finding->advice = gt_rule_text("Copy on a side stream while the GPU computes, or move fewer bytes.");
    }
    gt_tally_free(&copies.names);
    return is_found;
}
