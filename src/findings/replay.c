/* How long would a step take if something were different?
 *
 * A run goes once over points (by base_ns) and ops (by start_ns), merged by time; a point comes before an op
 * of the same time. The host moves on from point to point, and an op starts as soon as what decides its start
 * (schedule/starts.c) allows. Because the order is that of the recorded trace, everything that an op or a
 * point refers to has been placed before it, and without changes the recorded times come out. */
#include "findings/replay.h"

/* ---- edits ---- */

void gt_edit_reserve_points(gt_edit *edit, size_t points)
{
    if (points) edit->points = gt_grow(edit->points, &edit->point_capacity, points, sizeof *edit->points);
}

void gt_edit_point_add(gt_edit *edit, uint32_t point, uint8_t flags, double before_ns)
{
    gt_edit_point entry = {.point = point, .flags = flags, .before_ns = before_ns};
    GT_PUSH(edit->points, edit->point_count, edit->point_capacity, entry);
}

void gt_edit_op_add(gt_edit *edit, uint32_t op, double dur_ns)
{
    gt_edit_op entry = {.op = op, .dur_ns = dur_ns, .gap_ns = INFINITY};
    GT_PUSH(edit->ops, edit->op_count, edit->op_capacity, entry);
}

void gt_edit_op_start_soon(gt_edit *edit, uint32_t op)
{
    gt_edit_op entry = {.op = op, .soon = true, .dur_ns = INFINITY, .gap_ns = INFINITY};
    GT_PUSH(edit->ops, edit->op_count, edit->op_capacity, entry);
}

void gt_edit_op_cut_gap(gt_edit *edit, uint32_t op, double gap_ns)
{
    gt_edit_op entry = {.op = op, .dur_ns = INFINITY, .gap_ns = gap_ns};
    GT_PUSH(edit->ops, edit->op_count, edit->op_capacity, entry);
}

void gt_edit_free(gt_edit *edit)
{
    gt_free_all(edit->points, edit->ops);
    *edit = (gt_edit){0};
}

double gt_point_label_ns(const gt_schedule *schedule, uint32_t point, gt_cause label)
{
    const gt_host_point *at = &schedule->points[point];
    int64_t sum = 0;
    for (uint32_t i = 0; i < at->piece_count; i++) {
        const gt_piece *piece = &schedule->pieces[at->first_piece + i];
        if (piece->label == label) sum += piece->end_ns - piece->start_ns;
    }
    return (double)sum;
}

void gt_edit_remove_label(gt_edit *edit, const gt_schedule *schedule, gt_cause label)
{
    for (uint32_t i = 0; i < schedule->point_count; i++) {
        if (!gt_replay_may_have(schedule, i, label)) continue;
        double ns = gt_point_label_ns(schedule, i, label);
        if (ns > 0) gt_edit_point_add(edit, i, 0, ns);
    }
}

/* ---- what all runs share ---- */

typedef struct replay_point {
    double before_ns, own_ns, keep_before, keep_own;
    uint32_t awaited;
} replay_point;

typedef struct replay_op {
    double dur_ns;    /* never negative */
    double offset_ns; /* of GT_START_HOST -infinity: then it is host_ns, and the op before it says nothing */
    double host_ns;   /* from when its launch is reached until the host lets it start */
    uint32_t point;   /* GT_NONE: unknown, or recorded after the op */
    uint32_t points;  /* how many are reached before it */
    uint32_t stream, dependency;
    bool is_judged; /* belongs to a window that no op ends */
    uint8_t begins;
} replay_op;

/* One block of memory, with the arrays after it. */
struct gt_replay_base {
    replay_op *ops;
    replay_point *points;
    uint16_t *labels;    /* by point: a bit for each label of its pieces */
    uint16_t any_labels; /* those of all points */
};
_Static_assert(GT_CAUSES <= 16, "labels must fit in 16 bits");

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void fill_op(const gt_schedule *schedule, replay_op *to, const gt_gpu_op *op, size_t points)
{
    double launch = (double)schedule->launch_ns;
    *to = (replay_op){.dur_ns = (double)gt_op_ns(op),
                      .offset_ns = (double)op->offset_ns,
                      .point = op->point < points ? op->point : GT_NONE,
                      .points = (uint32_t)points,
                      .stream = op->stream,
                      .dependency = op->dependency,
                      .begins = op->begins};
    if (op->begins == GT_START_HOST) to->offset_ns = -INFINITY;
    if (to->point == GT_NONE) return;
    double recorded = larger(0, (double)(op->start_ns - schedule->points[op->point].base_ns));
    to->host_ns = recorded < launch ? recorded : launch;
    if (op->begins == GT_START_HOST) to->host_ns = (double)op->offset_ns;
}

static uint16_t labels_of(const gt_schedule *schedule, const gt_host_point *point)
{
    unsigned labels = 0;
    for (uint32_t k = 0; k < point->piece_count; k++)
        labels |= 1u << schedule->pieces[point->first_piece + k].label;
    return (uint16_t)labels;
}

bool gt_replay_may_have(const gt_schedule *schedule, uint32_t point, gt_cause label)
{
    const gt_replay_base *base = schedule->replay;
    if (!base) return true;
    return (point == GT_NONE ? base->any_labels : base->labels[point]) >> label & 1;
}

static gt_replay_base *base_new(const gt_schedule *schedule)
{
    size_t op_bytes = schedule->op_count * sizeof(replay_op);
    size_t point_bytes = schedule->point_count * sizeof(replay_point);
    gt_replay_base *base =
        gt_alloc(sizeof *base + op_bytes + point_bytes + schedule->point_count * sizeof(uint16_t));
    size_t points = 0;
    uint32_t first = schedule->window.first_op;
    int32_t step = first < schedule->op_count ? schedule->ops[first].step : -1;
    base->ops = (replay_op *)(base + 1);
    base->points = (replay_point *)(base->ops + schedule->op_count);
    base->labels = (uint16_t *)(base->points + schedule->point_count);
    base->any_labels = 0;
    for (size_t i = 0; i < schedule->point_count; i++) {
        const gt_host_point *point = &schedule->points[i];
        base->points[i] = (replay_point){(double)point->before_ns, (double)point->own_ns, point->keep_before,
                                         point->keep_own, point->awaited};
        base->labels[i] = labels_of(schedule, point);
        base->any_labels |= base->labels[i];
    }
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        while (points < schedule->point_count && schedule->points[points].base_ns <= op->start_ns) points++;
        fill_op(schedule, &base->ops[i], op, points);
        base->ops[i].is_judged = step < 0 || op->step == step;
    }
    return base;
}

void gt_replay_prepare(gt_schedule *schedule)
{
    gt_replay_forget(schedule);
    schedule->replay = base_new(schedule);
}

void gt_replay_forget(gt_schedule *schedule)
{
    gt_free(schedule->replay);
    schedule->replay = NULL;
}

/* ---- one run ---- */

/* The changes of all edits together, by point and by op. NULL: none. */
typedef struct changes {
    double *removed_ns; /* by point */
    uint8_t *flags;     /* by point */
    double *dur_ns;     /* by op; infinite: unchanged */
    bool *soon;         /* by op */
    double *gap_ns;     /* by op; infinite: unchanged */
} changes;

typedef struct run {
    const gt_schedule *schedule;
    const gt_replay_base *base;
    gt_replay_options options;
    changes changes;
    uint32_t enter, leave;     /* the points that launch the window's first op and the one that ends it */
    double *point_ns;          /* when the host reaches each point */
    double *start_ns, *end_ns; /* of each op */
    double launch_ns;          /* the schedule's */
    double *stream_ns;         /* the latest end on each stream; -infinity: no op yet */
    double latest_ns;          /* the latest end of judged ops */
    double host_ns;            /* the host's time without waiting between `enter` and `leave` */
} run;

static void cut_gap(changes *all, const gt_schedule *schedule, const gt_edit_op *entry)
{
    if (!(entry->gap_ns < INFINITY)) return;
    if (!all->gap_ns) {
        all->gap_ns = gt_alloc(schedule->op_count * sizeof *all->gap_ns);
        for (size_t i = 0; i < schedule->op_count; i++) all->gap_ns[i] = INFINITY;
    }
    if (entry->gap_ns < all->gap_ns[entry->op]) all->gap_ns[entry->op] = entry->gap_ns;
}

static changes combine(const gt_schedule *schedule, const gt_edit *const *edits, size_t edit_count)
{
    changes all = {0};
    for (size_t e = 0; e < edit_count; e++) {
        const gt_edit *edit = edits[e];
        if (!edit) continue;
        if (edit->point_count && !all.flags) {
            all.removed_ns = gt_alloc_zero(schedule->point_count, sizeof *all.removed_ns);
            all.flags = gt_alloc_zero(schedule->point_count, sizeof *all.flags);
        }
        for (size_t i = 0; i < edit->point_count; i++) {
            const gt_edit_point *entry = &edit->points[i];
            if (entry->point >= schedule->point_count) continue;
            all.removed_ns[entry->point] += entry->before_ns;
            all.flags[entry->point] |= entry->flags;
        }
        if (edit->op_count && !all.dur_ns) {
            all.dur_ns = gt_alloc(schedule->op_count * sizeof *all.dur_ns);
            for (size_t i = 0; i < schedule->op_count; i++) all.dur_ns[i] = INFINITY;
        }
        for (size_t i = 0; i < edit->op_count; i++) {
            const gt_edit_op *entry = &edit->ops[i];
            if (entry->op >= schedule->op_count) continue;
            if (entry->dur_ns < all.dur_ns[entry->op]) all.dur_ns[entry->op] = entry->dur_ns;
            if (entry->soon && !all.soon) all.soon = gt_alloc_zero(schedule->op_count, sizeof *all.soon);
            if (entry->soon) all.soon[entry->op] = true;
            cut_gap(&all, schedule, entry);
        }
    }
    return all;
}

/* What remains of host time if the profiler cost more than estimated; some always does. */
static double keep_less(double keep, double least)
{
    double kept = 1 - 1.7 * (1 - keep);
    return kept > least ? kept : least;
}

/* What of the host's time before a point and in its call remains in this run. */
typedef struct host_times {
    double before_ns, own_ns;
} host_times;

static inline host_times times_at(const run *r, size_t i, bool edits_points)
{
    const replay_point *point = &r->base->points[i];
    host_times times = {point->before_ns, point->own_ns};
    if (edits_points) {
        times.before_ns -= r->changes.removed_ns[i];
        if (!(times.before_ns > 0)) times.before_ns = 0;
        if (r->changes.flags[i] & GT_EDIT_NO_CALL) times.own_ns = 0;
    }
    if (r->options.fast_host) {
        times.before_ns *= keep_less(point->keep_before, 0.1);
        times.own_ns *= keep_less(point->keep_own, 0.25);
    } else if (!r->options.recorded) {
        times.before_ns *= point->keep_before;
        times.own_ns *= point->keep_own;
    }
    return times;
}

/* The host between the points. */
typedef struct host_state {
    double now_ns;
    double own_ns;    /* of the point before: still to be added */
    double inside_ns; /* spent between the launches of the window's first op and of the one that ends it */
    uint32_t awaited; /* by the point before */
    bool is_inside;
} host_state;

/* Goes on to point i; `placed` ops are placed. */
static inline host_state reach_point(const run *r, host_state host, size_t i, size_t placed,
                                     bool edits_points)
{
    if (host.awaited < placed && r->end_ns[host.awaited] > host.now_ns) host.now_ns = r->end_ns[host.awaited];
    host_times times = times_at(r, i, edits_points);
    host.now_ns += host.own_ns;
    if (i == r->leave) host.is_inside = false;
    host.now_ns += times.before_ns;
    if (host.is_inside) host.inside_ns += times.before_ns;
    if (i == r->enter) host.is_inside = true;
    if (host.is_inside) host.inside_ns += times.own_ns;
    host.own_ns = times.own_ns;
    host.awaited = r->base->points[i].awaited;
    if (edits_points && r->changes.flags[i] & GT_EDIT_NO_WAIT) host.awaited = GT_NONE;
    return host;
}

/* When the host lets an op start. */
static inline double host_lets(const run *r, const replay_op *op, bool is_soon, bool edits_points)
{
    if (op->point == GT_NONE) return -INFINITY;
    bool is_quick = is_soon || (edits_points && r->changes.flags[op->point] & GT_EDIT_NO_CALL);
    double host_ns = op->host_ns;
    if (is_quick) { /* the call itself takes no time; nothing to do if host_ns is at most that anyway */
        host_ns = larger(0, host_ns);
        if (!(host_ns < r->launch_ns)) host_ns = r->launch_ns;
    }
    return r->point_ns[op->point] + host_ns;
}

/* Between an op and the next one that is queued. */
static const double usual_gap_ns = 10000;

/* The start of an op on a stream that is busy until stream_ns. */
static inline double start_of(const run *r, const replay_op *op, size_t i, double stream_ns,
                              bool edits_points, bool edits_ops)
{
    if (op->begins == GT_START_FIXED) return larger(op->offset_ns, stream_ns);
    bool is_soon = edits_ops && r->changes.soon && r->changes.soon[i];
    double start = larger(stream_ns, host_lets(r, op, is_soon, edits_points));
    if (start == -INFINITY) /* nothing holds it back: as recorded */
        start = (double)r->schedule->ops[i].start_ns;
    if (is_soon) return op->begins == GT_START_HOST ? start : larger(start, stream_ns + usual_gap_ns);
    double offset = op->offset_ns;
    if (edits_ops && r->changes.gap_ns && r->changes.gap_ns[i] < offset) offset = r->changes.gap_ns[i];
    /* There is no branch for GT_START_HOST and GT_START_QUEUE, which cannot be predicted. */
    if (op->begins != GT_START_DEPENDENCY) return larger(start, stream_ns + offset);
    return larger(start, r->end_ns[op->dependency] + offset);
}

/* What changes from step to step stays in local variables: the arrays could overlap with those of a struct
 * for all that the compiler knows. There is a copy of this for runs without edits of points or of ops. */
static inline __attribute__((always_inline)) void run_with(run *r, bool edits_points, bool edits_ops)
{
    const size_t points = r->schedule->point_count, ops = r->schedule->op_count;
    size_t point = 0;
    uint32_t stream = GT_NONE; /* of the op before, and its latest end, which the array does not have yet */
    double latest_ns = -INFINITY, stream_ns = -INFINITY;
    host_state host = {.now_ns = points ? (double)r->schedule->points[0].base_ns : 0, .awaited = GT_NONE};
    for (size_t i = 0; i < ops; i++) {
        const replay_op *op = &r->base->ops[i];
        for (; point < op->points; point++) {
            host = reach_point(r, host, point, i, edits_points);
            r->point_ns[point] = host.now_ns;
        }
        if (op->stream != stream) {
            if (stream != GT_NONE) r->stream_ns[stream] = stream_ns;
            stream = op->stream;
            stream_ns = r->stream_ns[stream];
        }
        double start = start_of(r, op, i, stream_ns, edits_points, edits_ops), dur = op->dur_ns;
        if (edits_ops && r->changes.dur_ns[i] < INFINITY) dur = larger(0, r->changes.dur_ns[i]);
        double end = start + dur;
        r->end_ns[i] = end;
        r->start_ns[i] = start;
        stream_ns = end; /* no op starts before the ops of its stream have ended */
        if (op->is_judged && end > latest_ns) latest_ns = end;
    }
    for (; point < points; point++) {
        host = reach_point(r, host, point, ops, edits_points);
        r->point_ns[point] = host.now_ns;
    }
    r->latest_ns = latest_ns;
    r->host_ns = host.inside_ns;
}

static void run_all(run *r)
{
    if (r->changes.flags && r->changes.dur_ns)
        run_with(r, true, true);
    else if (r->changes.flags)
        run_with(r, true, false);
    else if (r->changes.dur_ns)
        run_with(r, false, true);
    else
        run_with(r, false, false);
}

/* When the host reaches the begin or the end of the only step. Calls of other threads may move these points.
 */
static double border_time(const run *r, uint32_t point)
{
    const gt_host_point *border = &r->schedule->points[point];
    return r->point_ns[point] - (double)(border->base_ns - border->start_ns);
}

/* How long the only step takes: from where to where, schedule/steps.c explains. */
static double only_step_time(const run *r)
{
    const gt_step_window *window = &r->schedule->window;
    double start_ns = border_time(r, window->enter), end_ns = border_time(r, window->leave);
    if (r->latest_ns > end_ns) start_ns += r->latest_ns - end_ns;
    for (uint32_t i = 0; i < window->first_op; i++) start_ns = larger(start_ns, r->end_ns[i]);
    if (start_ns > r->start_ns[window->first_op]) start_ns = r->start_ns[window->first_op];
    return larger(end_ns, r->latest_ns) - start_ns;
}

/* The step time that the GPU shows; of the only step also the host, whose end nothing on the GPU shows. */
static double gpu_time(const run *r)
{
    const gt_step_window *window = &r->schedule->window;
    if (window->is_one_step) return only_step_time(r);
    double until_ns = window->end_op == GT_NONE ? r->latest_ns : r->start_ns[window->end_op];
    return (until_ns - r->start_ns[window->first_op]) / (window->steps ? (double)window->steps : 1);
}

static double step_time(const run *r)
{
    const gt_step_window *window = &r->schedule->window;
    double gpu = gpu_time(r);
    if (window->end_op == GT_NONE || r->options.gpu_alone) return gpu;
    /* Work that was queued before the window hides a host that is too slow to keep up. */
    return larger(gpu, r->host_ns / (window->steps ? (double)window->steps : 1));
}

double gt_replay_run(const gt_schedule *schedule, const gt_edit *const *edits, size_t edit_count,
                     gt_replay_options options, gt_replay_times *times)
{
    const gt_step_window *window = &schedule->window;
    if (schedule->op_count == 0 || window->first_op >= schedule->op_count) return 0;
    bool own_times = !times || !times->start_ns;
    gt_replay_base *own = schedule->replay ? NULL : base_new(schedule);
    run r = {.schedule = schedule,
             .base = own ? own : schedule->replay,
             .options = options,
             .launch_ns = (double)schedule->launch_ns,
             .changes = combine(schedule, edits, edit_count),
             .point_ns = gt_alloc(schedule->point_count * sizeof *r.point_ns),
             .stream_ns = gt_alloc(schedule->stream_count * sizeof *r.stream_ns),
             .start_ns = !own_times ? times->start_ns : gt_alloc(schedule->op_count * sizeof *r.start_ns),
             .end_ns = !own_times ? times->end_ns : gt_alloc(schedule->op_count * sizeof *r.end_ns),
             .enter = schedule->ops[window->first_op].point,
             .leave = window->end_op == GT_NONE ? GT_NONE : schedule->ops[window->end_op].point};
    for (uint32_t i = 0; i < schedule->stream_count; i++) r.stream_ns[i] = -INFINITY;
    run_all(&r);
    double step = step_time(&r);
    if (times) times->gpu_ns = gpu_time(&r);
    for (size_t i = 0; times && times->step_ns && i < schedule->used_step_count; i++)
        times->step_ns[i] = r.start_ns[schedule->steps[schedule->used_steps[i]].first_op];
    gt_free_all(r.changes.removed_ns, r.changes.flags, r.changes.dur_ns, r.changes.soon, r.changes.gap_ns,
                r.point_ns, r.stream_ns);
    if (own_times) {
        gt_free_all(r.start_ns, r.end_ns);
    }
    gt_free(own);
    return step;
}
