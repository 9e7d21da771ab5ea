/* host_sync: do synchronising calls keep the host from running ahead of the GPU?
 *
 * The edit lets these calls neither wait nor cost anything. An op that only copies a value to the host, such
 * as aten::item, vanishes as a whole, with the checks right before it that make the value, and what both run
 * on the GPU. So does a tight loop of synchronising calls, with the host time around them. Synchronisations
 * of a round trip belong to cpu_roundtrip. */
#include "findings/schedule/names.h"
#include "findings/rules/rules_table.h"

/* What a synchronisation removes with it: a stretch of host time of one thread. */
typedef struct sync_span {
    int64_t start_ns, end_ns;
} sync_span;

/* Whether an event is a launch, a copy or another call of a point that no op makes. */
static bool is_call_without_op(const gt_host_event *events, uint32_t event)
{
    if (events[event].call == GT_API_NONE) return false;
    while (event != GT_NONE && events[event].kind != GT_KIND_CPU_OP) event = events[event].parent;
    return event == GT_NONE;
}

/* The op, and the checks and views right before it, which make the value that it reads. Other work ends the
 * search: an op, or a call without one, such as the launch of a graph. */
static sync_span span_of(const gt_schedule *schedule, uint32_t op)
{
    enum { MOST_EVENTS = 64 }; /* that are looked at */
    const gt_host_event *events = schedule->events;
    sync_span span = {events[op].start_ns, events[op].end_ns};
    uint32_t first = schedule->threads ? schedule->threads[gt_schedule_thread_of(schedule, op)].first : 0;
    for (uint32_t i = op, seen = 0; i > first && seen < MOST_EVENTS; seen++) {
        const gt_host_event *event = &events[--i];
        if (is_call_without_op(events, i)) break;
        if (event->kind != GT_KIND_CPU_OP) continue;
        if (event->parent != GT_NONE && events[event->parent].kind == GT_KIND_CPU_OP) continue;
        if (!gt_name_has(schedule, event->name, GT_NAME_NO_WORK | GT_NAME_CHECK)) break;
        span.start_ns = event->start_ns;
    }
    return span;
}

/* Host time before a point that lies in the span and is ordinary launching. */
static double inside_ns(const gt_schedule *schedule, const gt_host_point *point, sync_span span)
{
    int64_t sum_ns = 0;
    for (size_t i = point->first_piece; i < (size_t)point->first_piece + point->piece_count; i++) {
        const gt_piece *piece = &schedule->pieces[i];
        int64_t begin_ns = piece->start_ns > span.start_ns ? piece->start_ns : span.start_ns;
        int64_t end_ns = piece->end_ns < span.end_ns ? piece->end_ns : span.end_ns;
        if (piece->label == GT_CAUSE_LAUNCH && end_ns > begin_ns) sum_ns += end_ns - begin_ns;
    }
    return (double)sum_ns;
}

/* What a call that vanishes runs on the GPU vanishes, too, but for copies of large tensors, which the program
 * may need. Returns its time in the window. */
static int64_t edit_ops_of(const gt_schedule *schedule, const gt_host_point *point, gt_edit *edit)
{
    enum { LARGE_BYTES = 65536 };
    int64_t sum_ns = 0;
    for (uint32_t k = 0; k < point->op_count; k++) {
        uint32_t op = schedule->point_ops[point->first_op + k];
        if (schedule->ops[op].kind == GT_KIND_MEMCPY && schedule->ops[op].bytes >= LARGE_BYTES) continue;
        gt_edit_op_add(edit, op, 0);
        gt_edit_op_cut_gap(edit, op, 0);
        if (gt_window_has(&schedule->window, schedule->ops[op].start_ns))
            sum_ns += gt_op_ns(&schedule->ops[op]);
    }
    return sum_ns;
}

/* Removes the op around a synchronising point as a whole if it only copies a value to the host. `done` is the
 * number of points that earlier ops have taken. Returns the GPU time of what vanishes. */
static int64_t edit_op_around(const gt_schedule *schedule, size_t p, gt_edit *edit, size_t *done)
{
    int64_t sum_ns = 0;
    uint32_t op = gt_outermost_op(schedule, schedule->points[p].event);
    if (op == GT_NONE || schedule->events[op].launches > 1) return 0;
    sync_span span = span_of(schedule, op);
    size_t first = p;
    while (first > *done && schedule->points[first - 1].start_ns >= span.start_ns) first--;
    size_t end = p + 1;
    while (end < schedule->point_count && schedule->points[end].start_ns < span.end_ns) end++;
    for (size_t i = first; i < end; i++) {
        const gt_host_point *point = &schedule->points[i];
        if (point->thread != schedule->points[p].thread) continue;
        gt_edit_point_add(edit, (uint32_t)i, GT_EDIT_NO_CALL, inside_ns(schedule, point, span));
        sum_ns += edit_ops_of(schedule, point, edit);
    }
    /* What the op does after its last call comes before the next point. */
    if (end < schedule->point_count)
        gt_edit_point_add(edit, (uint32_t)end, 0, inside_ns(schedule, &schedule->points[end], span));
    *done = end;
    return sum_ns;
}

/* Returns the GPU time of what vanishes. */
static int64_t edit_points(const gt_schedule *schedule, const bool *in_trip, gt_edit *edit)
{
    size_t done = 0;
    int64_t sum_ns = 0;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        bool loops =
            point->flags & GT_POINT_BURST &&
            (point->kind == GT_API_LAUNCH || point->kind == GT_API_COPY || point->kind == GT_API_SYNC);
        bool waits = point->sync_site != GT_STR_NONE && !in_trip[p];
        uint8_t flags = (uint8_t)((waits ? GT_EDIT_NO_WAIT : 0) | (waits || loops ? GT_EDIT_NO_CALL : 0));
        if (flags) gt_edit_point_add(edit, (uint32_t)p, flags, 0);
        if (waits && p >= done) sum_ns += edit_op_around(schedule, p, edit, &done);
    }
    gt_edit_remove_label(edit, schedule, GT_CAUSE_SYNC);
    return sum_ns;
}

/* What to do about calls that are made on purpose; NULL: about reading values. */
static const char *advice_for_site(gt_str site)
{
    static const struct {
        const char *word, *advice;
    } rows[] = {
        {"barrier",
         "Remove the barrier from the loop: collectives wait for each other on the GPU anyway. If ranks must "
         "agree, do it every N steps."},
        {"synchronize",
         "Remove torch.cuda.synchronize() from the loop; measure times with torch.cuda.Event, or every N "
         "steps."},
        {"nonzero",
         "The size of nonzero, unique and boolean indexing is read by the host: use torch.where or a fixed "
         "number of rows (topk, capacity of experts)."},
    };
    for (size_t i = 0; i < GT_LENGTH(rows); i++)
        if (gt_str_contains(site, rows[i].word)) return rows[i].advice;
    return NULL;
}

static char *advice_of(const gt_schedule *schedule, const char *site)
{
    const char *special =
        site && schedule->origin == GT_BY_PYTORCH ? advice_for_site((gt_str){site, strlen(site)}) : NULL;
    if (special) return gt_rule_text("%s", special);
    static const char *const before[] = {[GT_BY_PYTORCH] = "",
                                         [GT_BY_ROCPROF] = "Find out what waits. In PyTorch: ",
                                         [GT_BY_JAX] = "",
                                         [GT_BY_NSYS] = "Find out what waits. In PyTorch: "};
    if (schedule->origin == GT_BY_JAX)
        return gt_rule_text(
            "Call block_until_ready() and read values (float(), np.asarray(), print) only every N "
            "steps: JAX computes ahead otherwise.");
    return gt_rule_text("%sRemove .item(), .cpu(), print and if on tensors from the loop, keep the value on "
                        "the GPU, or read it every N steps with a non-blocking copy.",
                        before[schedule->origin]);
}

/* Other profilers do not record everything that a call may wait for: other GPUs, copies on the host. If the
 * calls hardly wait for this GPU, it may be something that no repair of them removes. */
static void judge_waits(const gt_rule_input *input, gt_finding *finding, int64_t wait_ns, int64_t call_ns)
{
    static const double least_share = 0.1;
    if (input->schedule->origin == GT_BY_PYTORCH || (double)wait_ns >= least_share * (double)call_ns) return;
    finding->confidence = GT_CONFIDENCE_LOW;
    gt_rule_evidence(finding,
                     "the calls take %.2f ms, most of it not for work of this GPU: perhaps for other GPUs or "
                     "for the host",
                     gt_rule_ms(input, (double)call_ns));
}

/* How long calls wait after which the only step launches nothing more: what would follow them is not
 * recorded. `of_device`: one of them waits for all of the device, as programs do before they stop recording.
 */
static int64_t final_wait_ns(const gt_schedule *schedule, bool *of_device)
{
    int64_t wait_ns = 0;
    *of_device = false;
    if (!schedule->window.is_one_step) return 0;
    for (size_t p = schedule->point_count; p-- > 0;) {
        const gt_host_point *point = &schedule->points[p];
        if (!gt_window_has_call(&schedule->window, point)) continue;
        bool is_sync = point->sync_site != GT_STR_NONE; /* also one that copies a result */
        if (point->op_count > 0 && !is_sync) break;
        if (!is_sync) continue;
        gt_str name = gt_interner_get(schedule->strings, schedule->events[point->event].name);
        wait_ns += point->wait_ns;
        *of_device |= gt_str_contains(name, "DeviceSynchronize");
    }
    return wait_ns;
}

/* Whether most of the waiting is at the end of the only step. Says so, because the gain is an assumption
 * then. */
static bool waits_at_the_end(const gt_rule_input *input, gt_finding *finding, int64_t wait_ns)
{
    bool of_device;
    int64_t final_ns = final_wait_ns(input->schedule, &of_device);
    if (final_ns <= 0 || (double)final_ns < 0.5 * (double)wait_ns) return false;
    finding->confidence = of_device ? GT_CONFIDENCE_LOW : GT_CONFIDENCE_MEDIUM;
    gt_rule_evidence(finding,
                     "the host waits %.2f ms in these calls, %s of it at the end of the only step: %s",
                     gt_rule_ms(input, (double)wait_ns), final_ns == wait_ns ? "all" : "most",
                     of_device ? "perhaps only because the recording ends there"
                               : "the gain assumes that the next step would begin meanwhile");
    return true;
}

/* What the calls cost. It stands first; the engine may put right after it what else the gain is. */
static void say_waits(const gt_rule_input *input, gt_finding *finding, double wait_ns, double call_ns)
{
    double wait_ms = gt_rule_ms(input, wait_ns), call_ms = gt_rule_ms(input, call_ns);
    double idle_ms = gt_rule_idle_ms(input, GT_CAUSE_SYNC);
    if (gt_rule_shows(wait_ms) && gt_rule_shows(idle_ms))
        gt_rule_evidence(
            finding,
            "the host waits %.2f ms per %s in these calls, and the GPU is idle for %.2f ms as a consequence",
            wait_ms, input->per, idle_ms);
    else if (gt_rule_shows(wait_ms))
        gt_rule_evidence(finding, "the host waits %.2f ms per %s in these calls", wait_ms, input->per);
    else if (gt_rule_shows(idle_ms))
        gt_rule_evidence(finding, "the GPU is idle for %.2f ms per %s as a consequence of these calls",
                         idle_ms, input->per);
    else if (gt_rule_shows(call_ms))
        gt_rule_evidence(finding, "these calls take %.2f ms per %s of the host's time and hardly wait",
                         call_ms, input->per);
    else
        gt_rule_evidence(finding, "these calls take less than 0.01 ms per %s of the host's time", input->per);
}

/* Whether the calls cut a step's launches into pieces of less than half: no graph can hold most of them.
 * Where steps are not known, the calls may be at their ends. */
static bool cuts_launches(const gt_schedule *schedule, const bool *in_trip)
{
    if (!schedule->step_count) return false;
    size_t launches = 0, piece = 0, longest = 0;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!gt_window_has_call(&schedule->window, point)) continue;
        bool is_launch = point->kind == GT_API_LAUNCH;
        launches += is_launch;
        piece = point->sync_site != GT_STR_NONE && !in_trip[p] ? 0 : piece + is_launch;
        if (piece > longest) longest = piece;
    }
    return 2 * longest * schedule->window.steps < launches;
}

/* The site with most calls; of equal ones, that which waits longest. */
static uint32_t main_site(const gt_tally *sites, const gt_tally *waits)
{
    uint32_t main = sites->items[0].text;
    for (size_t i = 1; i < sites->item_count && sites->items[i].sum == sites->items[0].sum; i++)
        if (gt_tally_of(waits, sites->items[i].text) > gt_tally_of(waits, main)) main = sites->items[i].text;
    return main;
}

bool gt_rule_host_sync(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    bool *in_trip = gt_rule_points_in_trips(schedule);
    gt_tally sites = {0}, waits = {0};
    size_t calls = 0, in_window = 0;
    uint32_t outside_site = GT_STR_NONE; /* if none is in the window */
    int64_t wait_ns = 0, call_ns = 0;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (point->sync_site == GT_STR_NONE || in_trip[p]) continue;
        calls++;
        outside_site = point->sync_site;
        if (!gt_window_has_call(&schedule->window, point)) continue;
        in_window++;
        wait_ns += point->wait_ns;
        call_ns += point->end_ns - point->start_ns;
        gt_tally_add(&sites, point->sync_site, 1);
        gt_tally_add(&waits, point->sync_site, (double)point->wait_ns);
    }
    if (calls > 0) {
        double steps = (double)schedule->window.steps;
        gt_tally_sort(&sites);
        finding->id = "host_sync";
        finding->confidence = GT_CONFIDENCE_HIGH;
        gt_number_text count = gt_rule_count(in_window ? (double)in_window / steps : (double)calls,
                                             "synchronising call", "synchronising calls");
        finding->title = gt_rule_text("%s %s%s %s the host from running ahead of the GPU", count.text,
                                      in_window ? "per " : "outside the window", in_window ? input->per : "",
                                      strncmp(count.text, "1 ", 2) == 0 ? "keeps" : "keep");
        finding->where = gt_rule_string(input, in_window ? main_site(&sites, &waits) : outside_site);
        if (!in_window) finding->confidence = GT_CONFIDENCE_LOW; /* nothing shows that they repeat */
        if (!waits_at_the_end(input, finding, wait_ns))
            say_waits(input, finding, (double)wait_ns, (double)call_ns);
        for (size_t i = 0; i < sites.item_count && i < 3; i++)
            gt_rule_evidence(finding, "%s x %s", gt_rule_number(sites.items[i].sum / steps).text,
                             gt_interner_get(schedule->strings, sites.items[i].text).bytes);
        if (schedule->burst_count > 0)
            gt_rule_evidence(finding, "%s of synchronising calls in the trace",
                             gt_rule_count((double)schedule->burst_count, "tight loop", "tight loops").text);
        gt_rule_state_idle(input, finding, GT_CAUSE_SYNC);
        finding->advice = advice_of(schedule, finding->where);
        judge_waits(input, finding, wait_ns, call_ns);
        finding->prevents_graphs = cuts_launches(schedule, in_trip);
        finding->held_ns = (double)edit_points(schedule, in_trip, &finding->edit) / steps;
    }
    gt_tally_free(&sites);
    gt_tally_free(&waits);
    gt_free(in_trip);
    return calls > 0;
}
