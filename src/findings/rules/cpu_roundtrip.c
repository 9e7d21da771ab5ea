/* cpu_roundtrip and cpu_op: does the GPU wait for operators that run on the CPU?
 *
 * If the data of such operators comes from the GPU and goes back there, it is a round trip. Collectives on
 * the CPU (Gloo) are such operators, too, with advice of their own. The edit removes the host time of the
 * operators; in a round trip also its copies, and nothing in it waits. */
#include "findings/rules/rules_table.h"
#include "findings/schedule/names.h"

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
        if (!gt_window_has_point(&schedule->window, point)) continue;
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

/* What the finding is about. */
typedef enum cpu_work { ROUND_TRIPS, COLLECTIVES, OPERATORS } cpu_work;

/* Without round trips it is collectives if at least half of the time is theirs. */
static cpu_work work_of(const gt_schedule *schedule, const gt_tally *ops)
{
    double all_ns = 0, collective_ns = 0;
    if (schedule->trip_count > 0) return ROUND_TRIPS;
    for (size_t i = 0; i < ops->item_count; i++) {
        all_ns += ops->items[i].sum;
        if (gt_name_has(schedule, ops->items[i].text, GT_NAME_CPU_COLLECTIVE))
            collective_ns += ops->items[i].sum;
    }
    return collective_ns > 0 && collective_ns >= all_ns / 2 ? COLLECTIVES : OPERATORS;
}

/* Adds the removal of round trips, and says what they are. */
static void add_trips(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
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
}

bool gt_rule_cpu_op(const gt_rule_input *input, gt_finding *finding)
{
    static const struct {
        const char *id, *title, *advice;
        gt_confidence confidence;
    } texts[] = {[ROUND_TRIPS] =
                     {"cpu_roundtrip", "A tensor is copied to the CPU, processed there and copied back",
                      "Run the operation on the GPU tensor (without .cpu() or .numpy()); if it must stay on "
                      "the CPU, do it in a worker while the GPU computes.",
                      GT_CONFIDENCE_HIGH},
                 /* Part of it may be the wait for a late rank, which every collective has. */
                 [COLLECTIVES] =
                     {"cpu_op", "Collectives on the CPU hold up the GPU",
                      "Use NCCL or RCCL with tensors on the GPU; exchange metrics and call barriers less "
                      "often, or with async_op=True; if the time is spent waiting for a late rank, look at "
                      "the report of all ranks.",
                      GT_CONFIDENCE_MEDIUM},
                 [OPERATORS] = {
                     "cpu_op", "Operators on the CPU hold up the GPU",
                     "Run the operation on the GPU, or do it in a worker or for the next batch while the GPU "
                     "computes.",
                     GT_CONFIDENCE_HIGH}};
    if (!gt_rule_has_label(input, GT_CAUSE_CPU_OP)) return false;
    gt_tally ops = tally_ops(input->schedule);
    cpu_work work = work_of(input->schedule, &ops);
    finding->id = texts[work].id;
    finding->confidence = texts[work].confidence;
    finding->title = gt_rule_text("%s", texts[work].title);
    finding->advice = gt_rule_text("%s", texts[work].advice);
    gt_edit_remove_label(&finding->edit, input->schedule, GT_CAUSE_CPU_OP);
    if (work == ROUND_TRIPS) {
        add_trips(input, finding);
    } else {
        gt_tally sites = gt_rule_idle_sites(input, GT_CAUSE_CPU_OP);
        if (sites.item_count > 0) finding->where = gt_rule_string(input, sites.items[0].text);
        gt_tally_free(&sites);
    }
    for (size_t i = 0; i < ops.item_count && i < 3; i++) {
        double ms = gt_rule_ms(input, ops.items[i].sum);
        if (!gt_rule_shows(ms)) break;
        gt_rule_evidence(finding, "%s: %.2f ms per %s on the CPU",
                         gt_interner_get(input->schedule->strings, ops.items[i].text).bytes, ms, input->per);
    }
    gt_tally_free(&ops);
    gt_rule_evidence(finding, "the GPU is idle for %.2f ms per %s meanwhile",
                     gt_rule_state_idle(input, finding, GT_CAUSE_CPU_OP), input->per);
    return true;
}
