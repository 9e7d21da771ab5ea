/* cpu_roundtrip and cpu_op: does the GPU wait for operators that run on the CPU?
 *
 * If the data of such operators comes from the GPU and goes back there, it is a round trip. The edit removes
 * the host time of the operators; in a round trip also its copies, and nothing in it waits. */
#include "base/memory.h"
#include "findings/rules/rules_table.h"

/* What all round trips of a trace copy. */
typedef struct trip_sums {
    double out_bytes, back_bytes, copy_ns;
} trip_sums;

/* Adds the removal of round trips, and what was copied in them. */
static void edit_trips(const gt_schedule *schedule, gt_edit *edit, trip_sums *sums)
{
    bool *edited = gt_alloc_zero(schedule->point_count, sizeof *edited);
    for (size_t t = 0; t < schedule->trip_count; t++) {
        gt_round_trip trip = schedule->trips[t];
        for (size_t p = trip.first; p < schedule->point_count && p <= (size_t)trip.last + 1; p++) {
            const gt_host_point *point = &schedule->points[p];
            bool is_call = point->kind == GT_API_SYNC || (p <= trip.last && point->kind == GT_API_COPY);
            if (is_call && !edited[p])
                gt_edit_point_add(edit, (uint32_t)p, GT_EDIT_NO_CALL | GT_EDIT_NO_WAIT, 0);
            edited[p] |= is_call;
            if (p != trip.first && p != trip.last) continue;
            for (size_t i = point->first_op; i < (size_t)point->first_op + point->op_count; i++) {
                uint32_t op = schedule->point_ops[i];
                gt_edit_op_add(edit, op, 0);
                *(p == trip.first ? &sums->out_bytes : &sums->back_bytes) += (double)schedule->ops[op].bytes;
                sums->copy_ns += (double)gt_op_ns(&schedule->ops[op]);
            }
        }
    }
    gt_free(edited);
}

/* The operators by their time on the CPU in the window. */
static gt_tally tally_ops(const gt_schedule *schedule)
{
    gt_tally tally = {0};
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!gt_window_has(&schedule->window, point->start_ns)) continue;
        for (size_t i = point->first_piece; i < (size_t)point->first_piece + point->piece_count; i++) {
            const gt_piece *piece = &schedule->pieces[i];
            if (piece->label != GT_CAUSE_CPU_OP || piece->event == GT_NONE) continue;
            uint32_t op = gt_op_above(schedule, piece->event);
            gt_tally_add(&tally, schedule->events[op != GT_NONE ? op : piece->event].name,
                         (double)(piece->end_ns - piece->start_ns));
        }
    }
    gt_tally_sort(&tally);
    return tally;
}

bool gt_rule_cpu_op(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    if (!gt_rule_has_label(input, GT_CAUSE_CPU_OP)) return false;
    bool is_trip = schedule->trip_count > 0;
    finding->id = is_trip ? "cpu_roundtrip" : "cpu_op";
    finding->confidence = GT_CONFIDENCE_HIGH;
    finding->title = gt_rule_text(is_trip ? "A tensor is copied to the CPU, processed there and copied back"
                                          : "Operators on the CPU hold up the GPU");
    gt_edit_remove_label(&finding->edit, schedule, GT_CAUSE_CPU_OP);
    if (is_trip) {
        double trips = (double)schedule->trip_count;
        trip_sums sums = {0};
        edit_trips(schedule, &finding->edit, &sums);
        gt_rule_evidence(finding,
                         "%s device -> host -> device in the trace: on average %.1f MB to the host and "
                         "%.1f MB back, copied in %.2f ms",
                         gt_rule_count(trips, "round trip", "round trips").text, sums.out_bytes / trips / 1e6,
                         sums.back_bytes / trips / 1e6, sums.copy_ns / trips / 1e6);
        const gt_host_point *first = &schedule->points[schedule->trips[0].first];
        finding->where = gt_rule_string(input, gt_site_of(schedule, schedule->events[first->event].parent));
    } else {
        gt_tally sites = gt_rule_idle_sites(input, GT_CAUSE_CPU_OP);
        if (sites.item_count > 0) finding->where = gt_rule_string(input, sites.items[0].text);
        gt_tally_free(&sites);
    }
    gt_tally ops = tally_ops(schedule);
    for (size_t i = 0; i < ops.item_count && i < 3; i++)
        gt_rule_evidence(finding, "%s: %.2f ms per %s on the CPU",
                         gt_interner_get(schedule->strings, ops.items[i].text).bytes,
                         gt_rule_ms(input, ops.items[i].sum), input->per);
    gt_tally_free(&ops);
    gt_rule_evidence(finding, "the GPU is idle for %.2f ms per %s meanwhile",
                     gt_rule_idle_ms(input, GT_CAUSE_CPU_OP), input->per);
    finding->advice = gt_rule_text(
        "Run the operation on the GPU tensor (without .cpu() or .numpy()); if it must stay on the "
        "CPU, do it in a worker while the GPU computes.");
    return true;
}
