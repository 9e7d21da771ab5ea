/* Why was the GPU idle?
 *
 * A gap is a time of the window in which no op runs, and it ends with an op. If that op was already queued
 * when the gap began, the device itself is the cause: the op waited for another stream if the gap began with
 * the end of an op there, and otherwise started late for a reason that no trace shows. An op whose call still
 * runs is not queued yet (starts.c). If it was not queued, the host was late, and what it did during the gap
 * is the cause:
 *
 *     host   ...synchronise|    data     |cpu_op|launch K|
 *     GPU    |AAAAAA|         gap                          |K
 *     cause         |sync  |    data     |cpu_op| launch   |
 *
 * After a synchronisation the queue is empty, and every op that follows comes late, although its launch is as
 * fast as any. Therefore the schedule is run again without waiting: launch time of a gap that vanishes there
 * is the aftermath of the wait.
 *
 * All times are integers, and every part of a gap becomes exactly one piece, so the causes add up to the idle
 * time exactly. Gaps come in order of time and their host times do not overlap, so all of it is linear. */
#include "findings/idle.h"

#include "findings/replay.h"
#include "findings/schedule/sites.h"

enum { NAMED_CALL_NS = 1000000 }; /* a call longer than this is named as what happened in the gap */
enum { LATE_START_NS = 100000 };  /* an op that starts later than this after its call waits for the device */

typedef struct gap_search {
    const gt_schedule *schedule;
    gt_idle *idle;
    double *launch_gap_ns; /* by op: the gap before it if nothing waits; NULL: nothing does */
    size_t gap_capacity;
    /* Points whose call may reach into a later gap; the last one that has not ended by `ns` is at the top. */
    uint32_t *pending;
    size_t pending_count, pending_next;
    uint32_t stream;      /* of the op with whose end the present gap begins; GT_NONE: of several */
    size_t blocking_next; /* points before this one have been looked at ... */
    uint32_t blocking;    /* ... and this is the last of them that blocks; GT_NONE */
} gap_search;

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- without waits ---- */

static bool blocks(const gt_host_point *point)
{
    return point->kind == GT_API_SYNC || point->kind == GT_API_FREE || point->sync_site != GT_STR_NONE;
}

/* The gap before each op in a run in which no point waits. NULL if none waits anyway. */
static double *find_launch_gaps(const gt_schedule *schedule)
{
    gt_edit edit = {0};
    bool waits = false;
    for (size_t i = 0; i < schedule->point_count; i++) {
        const gt_host_point *point = &schedule->points[i];
        if (!blocks(point)) continue;
        gt_edit_point_add(&edit, (uint32_t)i, GT_EDIT_NO_WAIT, 0);
        waits |= point->awaited != GT_NONE;
    }
    double *gaps = NULL;
    if (waits && schedule->op_count > 0) {
        size_t count = schedule->op_count;
        gt_replay_times times = {gt_alloc(count * sizeof(double)), gt_alloc(count * sizeof(double))};
        const gt_edit *edits[] = {&edit};
        gt_replay_run(schedule, edits, 1, (gt_replay_options){.recorded = true}, &times);
        uint32_t *order = gt_alloc(count * sizeof *order);
        for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
        gt_order_rows(order, count, times.start_ns);
        gaps = gt_alloc(count * sizeof *gaps);
        double reached = times.end_ns[order[0]];
        gaps[order[0]] = INFINITY; /* unknown; only a window of one step has a gap before it */
        for (size_t i = 1; i < count; i++) {
            uint32_t op = order[i];
            gaps[op] = times.start_ns[op] > reached ? times.start_ns[op] - reached : 0;
            if (times.end_ns[op] > reached) reached = times.end_ns[op];
        }
        gt_free_all(order, times.start_ns, times.end_ns);
    }
    gt_edit_free(&edit);
    return gaps;
}

/* ---- pieces of one gap ---- */

static void add_piece(gap_search *s, int64_t start_ns, int64_t end_ns, uint8_t cause, uint32_t event)
{
    gt_idle_piece piece = {.start_ns = start_ns,
                           .end_ns = end_ns,
                           .gap = (uint32_t)s->idle->gap_count,
                           .event = event,
                           .cause = cause};
    GT_PUSH(s->idle->pieces, s->idle->piece_count, s->idle->piece_capacity, piece);
}

/* What it means that the host was inside a call. */
static uint8_t cause_of_point(const gt_host_point *point)
{
    gt_cause cause = gt_cause_of_call(point->kind);
    if (cause != GT_CAUSE_LAUNCH) return (uint8_t)cause;
    if (point->flags & GT_POINT_FIRST_USE) return GT_CAUSE_MODULE;
    if (point->flags & GT_POINT_HELD) return GT_CAUSE_WAIT;
    return point->flags & GT_POINT_BURST ? GT_CAUSE_SYNC : GT_CAUSE_LAUNCH;
}

/* The last point that was made by `ns` and had not returned then; GT_NONE. `ns` never becomes smaller. */
static uint32_t point_around(gap_search *s, int64_t ns)
{
    const gt_schedule *schedule = s->schedule;
    for (; s->pending_next < schedule->point_count && schedule->points[s->pending_next].start_ns <= ns;
         s->pending_next++)
        s->pending[s->pending_count++] = (uint32_t)s->pending_next;
    while (s->pending_count > 0 && schedule->points[s->pending[s->pending_count - 1]].end_ns <= ns)
        s->pending_count--;
    return s->pending_count > 0 ? s->pending[s->pending_count - 1] : GT_NONE;
}

/* The part of a call within the gap, which begins at `start_ns`. Returns what remains to be explained: the
 * time up to it. */
static int64_t add_call(gap_search *s, const gt_host_point *point, int64_t start_ns, int64_t end_ns)
{
    int64_t from = later(point->start_ns, start_ns), until = earlier(point->end_ns, end_ns);
    if (until <= from) return end_ns;
    if (until < end_ns) add_piece(s, until, end_ns, GT_CAUSE_LAUNCH, GT_NONE);
    add_piece(s, from, until, cause_of_point(point), point->event);
    return from;
}

/* The number of pieces of a point that start before `ns`. Mostly all do. */
static uint32_t pieces_before(const gt_schedule *schedule, const gt_host_point *point, int64_t ns)
{
    const gt_piece *pieces = schedule->pieces + point->first_piece;
    uint32_t count = point->piece_count;
    if (count == 0 || pieces[count - 1].start_ns < ns) return count;
    GT_BISECT(count, 0, point->piece_count, pieces[count].start_ns < ns);
    return count;
}

/* The same for the host time before a call. */
static int64_t add_host_time(gap_search *s, const gt_host_point *point, int64_t start_ns, int64_t end_ns)
{
    for (uint32_t i = pieces_before(s->schedule, point, end_ns); i-- > 0 && end_ns > start_ns;) {
        const gt_piece *piece = &s->schedule->pieces[point->first_piece + i];
        int64_t from = later(piece->start_ns, start_ns), until = earlier(piece->end_ns, end_ns);
        if (until <= from) continue;
        if (until < end_ns) add_piece(s, until, end_ns, GT_CAUSE_LAUNCH, GT_NONE);
        add_piece(s, from, until, piece->label, piece->event);
        end_ns = from;
    }
    return end_ns;
}

/* Explains [start_ns, end_ns) by what the host did before the call of point `last`, from the end on. */
static void add_host(gap_search *s, uint32_t last, int64_t start_ns, int64_t end_ns)
{
    const gt_host_point *points = s->schedule->points;
    /* The call may have been made after the gap: clocks differ. */
    size_t i = last;
    if (points[i].start_ns > end_ns) i = gt_points_before(s->schedule, (size_t)last + 1, end_ns);
    for (;;) {
        end_ns = add_host_time(s, &points[i], start_ns, end_ns);
        if (end_ns <= start_ns) return;
        if (i == 0 || points[i - 1].start_ns <= start_ns) break;
        end_ns = add_call(s, &points[--i], start_ns, end_ns);
        if (end_ns <= start_ns) return;
    }
    /* Only a call that began before the gap is left. */
    uint32_t around = point_around(s, start_ns);
    if (around != GT_NONE && around < i) end_ns = add_call(s, &points[around], start_ns, end_ns);
    if (end_ns > start_ns) add_piece(s, start_ns, end_ns, GT_CAUSE_LAUNCH, GT_NONE);
}

/* Explains a gap by the host, from its end on: the op started late after its call, the call itself, and what
 * the host did before. */
static void add_late_host(gap_search *s, const gt_gpu_op *op, int64_t start_ns, int64_t end_ns)
{
    const gt_host_point *point = &s->schedule->points[op->point];
    int64_t made = later(start_ns, point->start_ns);
    if (end_ns > made) {
        int64_t returned = later(made, point->end_ns);
        if (end_ns - returned > LATE_START_NS) {
            add_piece(s, returned, end_ns, GT_CAUSE_DEVICE_WAIT, GT_NONE);
            end_ns = returned;
        }
        if (end_ns > made) {
            bool is_long = point->end_ns - point->start_ns > NAMED_CALL_NS;
            gt_cause cause = point->flags & GT_POINT_FIRST_USE ? GT_CAUSE_MODULE
                             : point->flags & GT_POINT_HELD    ? GT_CAUSE_WAIT
                                                               : GT_CAUSE_LAUNCH;
            add_piece(s, made, end_ns, (uint8_t)cause, is_long ? point->event : GT_NONE);
        }
        end_ns = made;
    }
    if (end_ns > start_ns) add_host(s, op->point, start_ns, end_ns);
}

/* Pieces were added from the end of the gap on. */
static void reverse_pieces(gt_idle_piece *pieces, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        gt_idle_piece piece = pieces[i];
        pieces[i] = pieces[count - 1 - i];
        pieces[count - 1 - i] = piece;
    }
}

/* What the last point that blocks and starts by `ns` makes of launch time. `ns` never becomes smaller. */
static uint8_t cause_of_wait(gap_search *s, int64_t ns)
{
    const gt_host_point *points = s->schedule->points;
    for (; s->blocking_next < s->schedule->point_count && points[s->blocking_next].start_ns <= ns;
         s->blocking_next++)
        if (blocks(&points[s->blocking_next])) s->blocking = (uint32_t)s->blocking_next;
    if (s->blocking != GT_NONE && points[s->blocking].kind == GT_API_FREE) return GT_CAUSE_ALLOC;
    return GT_CAUSE_SYNC;
}

/* Launch time beyond that of the run without waits is due to waiting: the first part of it. */
static void split_launch(gap_search *s, size_t first, double launch_gap_ns)
{
    gt_idle *idle = s->idle;
    int64_t launch = 0;
    for (size_t i = first; i < idle->piece_count; i++)
        if (idle->pieces[i].cause == GT_CAUSE_LAUNCH)
            launch += idle->pieces[i].end_ns - idle->pieces[i].start_ns;
    if (!(launch_gap_ns < (double)launch)) return;
    int64_t moved = launch - llround(launch_gap_ns);
    for (size_t i = first; i < idle->piece_count && moved > 0; i++) {
        gt_idle_piece *piece = &idle->pieces[i];
        if (piece->cause != GT_CAUSE_LAUNCH) continue;
        int64_t length = piece->end_ns - piece->start_ns;
        piece->cause = cause_of_wait(s, piece->start_ns);
        if (length > moved) { /* happens once: nothing is left to move */
            gt_idle_piece rest = *piece;
            rest.cause = GT_CAUSE_LAUNCH;
            rest.start_ns = piece->end_ns = piece->start_ns + moved;
            GT_PUSH(idle->pieces, idle->piece_count, idle->piece_capacity, rest);
            for (size_t k = idle->piece_count - 1; k > i + 1; k--) idle->pieces[k] = idle->pieces[k - 1];
            idle->pieces[i + 1] = rest;
        }
        moved -= length;
    }
}

/* ---- gaps ---- */

/* Whether the op was waiting on the device when the gap began. */
static bool was_queued(const gt_schedule *schedule, const gt_gpu_op *op, int64_t start_ns)
{
    const gt_host_point *point = &schedule->points[op->point];
    if (point->end_ns <= start_ns) return true;
    if (point->base_ns > start_ns) return false;
    if (op->begins == GT_START_QUEUE || op->begins == GT_START_DEPENDENCY) return true;
    /* Of the ops of one launch, such as those of a graph, only the first waits for the host. */
    return point->op_count > 1 && &schedule->ops[schedule->point_ops[point->first_op]] != op;
}

/* Why an op that was queued when the gap began did not start at once. */
static uint8_t cause_of_queue(const gap_search *s, const gt_gpu_op *op, int64_t gap_ns)
{
    if (op->begins != GT_START_DEPENDENCY && gap_ns <= GT_USUAL_GAP_NS) return GT_CAUSE_DEVICE_GAP;
    bool is_dependent = op->begins == GT_START_DEPENDENCY || s->stream != op->stream;
    return is_dependent ? GT_CAUSE_DEPENDENCY : GT_CAUSE_DEVICE_WAIT;
}

/* Sums up the pieces of a gap and finds its main cause. */
static void finish_gap(gap_search *s, gt_gap *gap)
{
    gt_idle *idle = s->idle;
    int64_t sums[GT_CAUSES] = {0};
    for (size_t i = gap->first_piece; i < idle->piece_count; i++) {
        const gt_idle_piece *piece = &idle->pieces[i];
        sums[piece->cause] += piece->end_ns - piece->start_ns;
        idle->cause_pieces[piece->cause]++;
    }
    for (uint8_t cause = 0; cause < GT_CAUSES; cause++) {
        idle->cause_ns[cause] += sums[cause];
        if (sums[cause] > sums[gap->cause]) gap->cause = cause;
    }
    gap->piece_count = (uint32_t)(idle->piece_count - gap->first_piece);
    idle->total_ns += gap->end_ns - gap->start_ns;
}

static void add_gap(gap_search *s, int64_t start_ns, int64_t end_ns, uint32_t op_index)
{
    const gt_schedule *schedule = s->schedule;
    gt_gap gap = {.start_ns = start_ns,
                  .end_ns = end_ns,
                  .op = op_index,
                  .first_piece = (uint32_t)s->idle->piece_count};
    const gt_gpu_op *op = op_index == GT_NONE ? NULL : &schedule->ops[op_index];
    if (!op && schedule->window.is_one_step) {
        add_host(s, schedule->window.leave, start_ns, end_ns);
        reverse_pieces(s->idle->pieces + gap.first_piece, s->idle->piece_count - gap.first_piece);
    } else if (op && op->in_background && schedule->point_count) { /* what ends the gap says nothing */
        add_host(s, (uint32_t)schedule->point_count - 1, start_ns, end_ns);
        reverse_pieces(s->idle->pieces + gap.first_piece, s->idle->piece_count - gap.first_piece);
    } else if (!op || op->point == GT_NONE) {
        /* Without a host it is unknown who was late, but the device alone needs such a gap. */
        bool is_normal = op && schedule->origin != GT_BY_PYTORCH && !schedule->point_count;
        is_normal &= end_ns - start_ns <= GT_USUAL_GAP_NS;
        add_piece(s, start_ns, end_ns, is_normal ? GT_CAUSE_DEVICE_GAP : GT_CAUSE_UNKNOWN, GT_NONE);
    } else if (was_queued(schedule, op, start_ns)) {
        add_piece(s, start_ns, end_ns, cause_of_queue(s, op, end_ns - start_ns), GT_NONE);
    } else {
        add_late_host(s, op, start_ns, end_ns);
        reverse_pieces(s->idle->pieces + gap.first_piece, s->idle->piece_count - gap.first_piece);
        if (s->launch_gap_ns) split_launch(s, gap.first_piece, s->launch_gap_ns[op_index]);
    }
    finish_gap(s, &gap);
    GT_PUSH(s->idle->gaps, s->idle->gap_count, s->gap_capacity, gap);
}

gt_idle *gt_idle_find(const gt_schedule *schedule)
{
    gt_idle *idle = gt_alloc_zero(1, sizeof *idle);
    if (schedule->op_count == 0) return idle;
    const gt_step_window *window = &schedule->window;
    gap_search s = {.schedule = schedule,
                    .idle = idle,
                    .launch_gap_ns = find_launch_gaps(schedule),
                    .pending = gt_alloc(schedule->point_count * sizeof *s.pending),
                    .stream = GT_NONE,
                    .blocking = GT_NONE};
    int64_t reached = window->start_ns;
    size_t i = 0;
    for (; i < schedule->op_count && schedule->ops[i].start_ns < window->end_ns; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (op->end_ns <= window->start_ns) continue;
        if (op->start_ns > reached) add_gap(&s, reached, op->start_ns, (uint32_t)i);
        if (op->end_ns >= reached) s.stream = op->end_ns > reached ? op->stream : GT_NONE;
        reached = later(reached, op->end_ns);
    }
    /* A window without steps may end with an op that takes no time. */
    uint32_t end_op = window->end_op;
    if (end_op == GT_NONE && i < schedule->op_count && schedule->ops[i].start_ns == window->end_ns)
        end_op = (uint32_t)i;
    if (reached < window->end_ns) add_gap(&s, reached, window->end_ns, end_op);
    gt_free_all(s.launch_gap_ns, s.pending);
    return idle;
}

void gt_idle_free(gt_idle *idle)
{
    if (!idle) return;
    gt_free_all(idle->gaps, idle->pieces, idle);
}

int64_t gt_idle_host_ns(const gt_idle *idle)
{
    int64_t sum = 0;
    for (int cause = 0; cause < GT_CAUSES; cause++) {
        if (cause == GT_CAUSE_DEVICE_GAP || cause == GT_CAUSE_DEPENDENCY || cause == GT_CAUSE_DEVICE_WAIT ||
            cause == GT_CAUSE_COLLECTIVE || cause == GT_CAUSE_UNKNOWN || cause == GT_CAUSE_PROFILER)
            continue;
        sum += idle->cause_ns[cause];
    }
    return sum;
}

int64_t gt_idle_unexplained_ns(const gt_schedule *schedule, const gt_idle *idle)
{
    int64_t sum = idle->cause_ns[GT_CAUSE_UNKNOWN];
    if (!idle->cause_ns[GT_CAUSE_UNTRACED]) return sum;
    for (size_t i = 0; i < idle->piece_count; i++) {
        const gt_idle_piece *piece = &idle->pieces[i];
        if (piece->cause == GT_CAUSE_UNTRACED && gt_range_of(schedule, piece->event) == GT_STR_NONE)
            sum += piece->end_ns - piece->start_ns;
    }
    return sum;
}
