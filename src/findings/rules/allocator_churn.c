/* allocator_churn: is device memory allocated and freed all the time?
 *
 * PyTorch's allocator keeps memory, so that a program in its steady state makes none of these calls. The edit
 * lets them cost nothing and not wait. The driver also holds back ops that are launched around such a call:
 * copies start about 1 ms late. Without the calls they start as soon as they can.
 *
 * A cache that grows once, in the first steps, is no fault: then it is first_use. */
#include "findings/rules/rules_table.h"

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_alloc(const gt_host_point *point)
{
    return point->kind == GT_API_FREE || point->kind == GT_API_ALLOC;
}

/* Ops that the driver holds back: they start late, although their call has returned and the GPU is idle,
 * during or soon after an allocation or a free. An op that waits while another one runs, on whatever stream,
 * waits for that, and only the idle time after it counts. If ops start as late away from such calls, these
 * are not the reason. Returns how long the GPU is idle in the window because of them. */
static int64_t edit_held_ops(const gt_schedule *schedule, gt_edit *edit)
{
    static const int64_t late_ns = 100000, aftermath_ns = 3000000;
    static const double usual_gap_ns = 10000; /* after the op that it waits for */
    size_t p = 0, held = 0, others = 0;
    int64_t busy_until_ns = INT64_MIN, called_until_ns = INT64_MIN; /* by what began before the op */
    int64_t idle_ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        for (; p < schedule->point_count && schedule->points[p].start_ns < op->start_ns; p++)
            if (is_alloc(&schedule->points[p]))
                called_until_ns = later(called_until_ns, schedule->points[p].end_ns);
        int64_t free_ns = busy_until_ns;
        busy_until_ns = later(busy_until_ns, op->end_ns);
        if (op->point == GT_NONE) continue;
        int64_t ready_ns = later(schedule->points[op->point].end_ns, free_ns);
        if (op->start_ns - ready_ns <= late_ns) continue;
        if (called_until_ns <= ready_ns - aftermath_ns) {
            others++;
            continue;
        }
        held++;
        if (op->begins == GT_START_DEPENDENCY)
            gt_edit_op_cut_gap(edit, (uint32_t)i, usual_gap_ns);
        else
            gt_edit_op_start_soon(edit, (uint32_t)i);
        int64_t from_ns = later(ready_ns, schedule->window.start_ns), until_ns = op->start_ns;
        if (until_ns > schedule->window.end_ns) until_ns = schedule->window.end_ns;
        if (until_ns > from_ns) idle_ns += until_ns - from_ns;
    }
    if (held > others) return idle_ns;
    edit->op_count = 0;
    return 0;
}

/* ---- cold starts ---- */

/* Allocations from this long before the window on count: the cache may have grown just before it. */
static const int64_t before_window_ns = 1000000000;
static const double nearly_all = 0.8, close_share = 0.1, few_launches = 0.3;
enum { FEWEST_STEPS = 4 };

typedef struct alloc_call {
    int64_t start_ns, ns;
} alloc_call;

GT_ORDER_BY(longest_first, alloc_call, GT_DOWN(ns) GT_UP(start_ns))

/* Launches of the trace until a time. */
static double launches_until(const gt_schedule *schedule, int64_t ns)
{
    size_t count = gt_points_before(schedule, schedule->point_count, ns), launches = 0;
    for (size_t p = 0; p < count; p++) launches += schedule->points[p].kind == GT_API_LAUNCH;
    return (double)launches;
}

/* Whether the longest calls, which take nearly all of the time, follow each other, with little time and few
 * launches between. */
static bool are_close(const gt_schedule *schedule, alloc_call *calls, size_t count, double all_ns)
{
    double window_ns = (double)(schedule->window.end_ns - schedule->window.start_ns);
    double sum_ns = 0;
    int64_t first = INT64_MAX, last = INT64_MIN;
    if (count) qsort(calls, count, sizeof *calls, longest_first);
    for (size_t i = 0; i < count && sum_ns < nearly_all * all_ns; i++) {
        sum_ns += (double)calls[i].ns;
        if (calls[i].start_ns < first) first = calls[i].start_ns;
        last = later(last, calls[i].start_ns + calls[i].ns);
    }
    double launches = launches_until(schedule, last) - launches_until(schedule, first);
    return (double)last - (double)first - sum_ns <= close_share * window_ns &&
           launches <= few_launches * launches_until(schedule, INT64_MAX);
}

/* What the first two steps have: gradients come in the first, the state of the optimizer in the second. */
static double first_ns(const gt_schedule *schedule, const double *by_step)
{
    return by_step[schedule->used_steps[0] + 1] + by_step[schedule->used_steps[1] + 1];
}

/* Whether nearly all of the time is in one step, or in the first two, or without steps at one place in time:
 * the cache of the allocator grows once and then stays. Frees in a later step are what an allocator does that
 * has no room left. */
static bool is_cold_start(const gt_schedule *schedule, bool any_frees)
{
    const gt_step_window *window = &schedule->window;
    double *by_step = gt_alloc_zero(schedule->step_count + 1, sizeof *by_step), all_ns = 0, most_ns = 0;
    alloc_call *calls = NULL;
    size_t count = 0, capacity = 0;
    int32_t most = -1; /* the step with the most */
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!is_alloc(point) || point->start_ns < window->start_ns - before_window_ns ||
            point->start_ns >= window->end_ns)
            continue;
        int64_t ns = point->end_ns - point->start_ns;
        double *step_ns = &by_step[point->step + 1]; /* 0: in none */
        *step_ns += (double)ns;
        all_ns += (double)ns;
        if (*step_ns > most_ns) {
            most_ns = *step_ns;
            most = point->step;
        }
        GT_PUSH(calls, count, capacity, ((alloc_call){point->start_ns, ns}));
    }
    bool is_cold = false;
    if (schedule->used_step_count >= FEWEST_STEPS)
        is_cold =
            (most_ns >= nearly_all * all_ns && (!any_frees || most <= (int32_t)schedule->used_steps[0])) ||
            (!any_frees && first_ns(schedule, by_step) >= nearly_all * all_ns);
    else if (schedule->used_step_count < 2)
        is_cold = are_close(schedule, calls, count, all_ns);
    gt_free_all(by_step, calls);
    return is_cold && all_ns > 0;
}

/* Whether somebody empties the cache. */
static bool empties_cache(const gt_schedule *schedule, const gt_tally *sites)
{
    for (size_t i = 0; i < sites->item_count; i++)
        if (gt_str_contains(gt_interner_get(schedule->strings, sites->items[i].text), "empty_cache"))
            return true;
    return false;
}

static void call_first_use(gt_finding *finding)
{
    char *title = finding->title;
    finding->id = "first_use";
    finding->title = gt_rule_text("The allocator gets memory for the first time inside the window: %c%s",
                                  title[0] - 'A' + 'a', title + 1);
    gt_rule_evidence(finding, "nearly all of it is at one place in time, and not by empty_cache");
    gt_rule_evidence_up(finding, 1);
    gt_free_all(title, finding->advice);
    finding->advice = gt_rule_text(
        "Profile after more warm-up steps: the cache of the allocator grows once and then stays.");
}

bool gt_rule_allocator_churn(const gt_rule_input *input, gt_finding *finding)
{
    static const double least_shown_ns = 5000; /* as 0.01 ms */
    const gt_schedule *schedule = input->schedule;
    gt_tally names = {0}, frees = {0}, sites = {0};
    size_t calls = 0, in_window = 0;
    int64_t call_ns = 0;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!is_alloc(point)) continue;
        calls++;
        gt_edit_point_add(&finding->edit, (uint32_t)p, GT_EDIT_NO_CALL | GT_EDIT_NO_WAIT, 0);
        if (!gt_window_has_call(&schedule->window, point)) continue;
        in_window++;
        call_ns += point->end_ns - point->start_ns;
        gt_tally_add(&names, schedule->events[point->event].name, 1);
        gt_tally_add(point->kind == GT_API_FREE ? &frees : &sites, gt_site_of_call(schedule, point->event),
                     1);
    }
    if (calls > 0) {
        double steps = (double)schedule->window.steps;
        finding->held_ns = (double)edit_held_ops(schedule, &finding->edit) / steps;
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
            gt_rule_ms(input, (double)call_ns), input->per,
            gt_rule_state_idle(input, finding, GT_CAUSE_ALLOC));
        finding->stated_idle_ns += finding->held_ns;
        if (finding->held_ns >= least_shown_ns)
            gt_rule_evidence(
                finding,
                "%.2f ms of other idle time per %s: work that was launched starts late during or "
                "soon after these calls",
                finding->held_ns / 1e6, input->per);
        for (size_t i = 0; i < names.item_count && i < 3; i++)
            gt_rule_evidence(finding, "%s x %s per %s", gt_rule_number(names.items[i].sum / steps).text,
                             gt_interner_get(schedule->strings, names.items[i].text).bytes, input->per);
        for (size_t i = 0; i < shown->item_count && i < 2; i++)
            gt_rule_evidence(finding, "%s x in %s", gt_rule_number(shown->items[i].sum / steps).text,
                             gt_interner_get(schedule->strings, shown->items[i].text).bytes);
        finding->advice =
            gt_rule_text("Remove torch.cuda.empty_cache() from the loop; otherwise keep shapes stable or set "
                         "PYTORCH_ALLOC_CONF=expandable_segments:True so that memory is reused.");
        if (!empties_cache(schedule, &frees) && !empties_cache(schedule, &sites) &&
            is_cold_start(schedule, frees.item_count > 0))
            call_first_use(finding);
    }
    gt_tally_free(&names);
    gt_tally_free(&frees);
    gt_tally_free(&sites);
    return calls > 0;
}
