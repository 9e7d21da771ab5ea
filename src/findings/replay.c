/* How long would a step take if something were different?
 *
 * A run goes once over points (by base_ns) and ops (by start_ns), merged by time; a point comes before an op
 * of the same time. The host moves on from point to point, and an op starts as soon as what decides its start
 * (schedule/starts.c) allows. Because the order is that of the recorded trace, everything that an op or a
 * point refers to has been placed before it, and without changes the recorded times come out. */
#include "findings/replay.h"

#include "base/memory.h"

#include <math.h>

/* ---- edits ---- */

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
    gt_free(edit->points);
    gt_free(edit->ops);
    *edit = (gt_edit){0};
}

void gt_edit_remove_label(gt_edit *edit, const gt_schedule *schedule, gt_cause label)
{
    for (size_t i = 0; i < schedule->point_count; i++) {
        const gt_host_point *point = &schedule->points[i];
        int64_t sum = 0;
        for (uint32_t k = 0; k < point->piece_count; k++) {
            const gt_piece *piece = &schedule->pieces[point->first_piece + k];
            if (piece->label == label) sum += piece->end_ns - piece->start_ns;
        }
        if (sum > 0) gt_edit_point_add(edit, (uint32_t)i, 0, (double)sum);
    }
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
    gt_replay_options options;
    changes changes;
    double *point_ns;         /* when the host reaches each point */
    double *end_ns;           /* of each op */
    double *start_ns;         /* of each op; NULL: not asked for */
    double *stream_ns;        /* the latest end on each stream; -infinity: no op yet */
    double first_ns, last_ns; /* the starts of the window's first op and of the one that ends it */
    /* The host: */
    double now_ns;
    double own_ns;         /* of the point before: still to be added */
    uint32_t awaited;      /* by the point before */
    size_t op_done;        /* ops before this one have been placed */
    size_t point_done;     /* as well as points before this one */
    bool inside;           /* between the launches of the window's first op and of the one that ends it */
    double host_ns;        /* spent there without waiting */
    uint32_t enter, leave; /* the points of these launches */
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

static void reach_point(run *r, size_t i)
{
    const gt_host_point *point = &r->schedule->points[i];
    if (r->awaited < r->op_done && r->end_ns[r->awaited] > r->now_ns) r->now_ns = r->end_ns[r->awaited];
    r->now_ns += r->own_ns;

    double before = (double)point->before_ns, own = (double)point->own_ns;
    uint32_t awaited = point->awaited;
    if (r->changes.flags) {
        before -= r->changes.removed_ns[i];
        if (!(before > 0)) before = 0;
        if (r->changes.flags[i] & GT_EDIT_NO_CALL) own = 0;
        if (r->changes.flags[i] & GT_EDIT_NO_WAIT) awaited = GT_NONE;
    }
    if (r->options.fast_host) {
        before *= keep_less(point->keep_before, 0.1);
        own *= keep_less(point->keep_own, 0.25);
    } else if (!r->options.recorded) {
        before *= point->keep_before;
        own *= point->keep_own;
    }
    if (i == r->leave) r->inside = false;
    r->now_ns += before;
    if (r->inside) r->host_ns += before;
    if (i == r->enter) r->inside = true;
    if (r->inside) r->host_ns += own;
    r->point_ns[i] = r->now_ns;
    r->own_ns = own;
    r->awaited = awaited;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static bool starts_soon(const run *r, const gt_gpu_op *op)
{
    return r->changes.soon && r->changes.soon[op - r->schedule->ops];
}

/* When the host lets an op start. */
static double host_lets(const run *r, const gt_gpu_op *op)
{
    if (op->point >= r->point_done) return -INFINITY; /* unknown, or recorded after the op */
    double launch = (double)r->schedule->launch_ns;
    double reached = r->point_ns[op->point];
    bool is_fast = (r->changes.flags && r->changes.flags[op->point] & GT_EDIT_NO_CALL) || starts_soon(r, op);
    if (op->begins == GT_START_HOST) {
        if (!is_fast) return reached + (double)op->offset_ns;
        double offset = larger(0, (double)op->offset_ns);
        return reached + (offset < launch ? offset : launch);
    }
    double recorded = larger(0, (double)(op->start_ns - r->schedule->points[op->point].base_ns));
    return reached + (recorded < launch ? recorded : launch);
}

/* Between an op and the next one that is queued. */
static const double usual_gap_ns = 10000;

static double start_of(const run *r, const gt_gpu_op *op)
{
    double stream = r->stream_ns[op->stream];
    if (op->begins == GT_START_FIXED) return larger((double)op->offset_ns, stream);
    double host = host_lets(r, op), start = larger(stream, host);
    if (start == -INFINITY) start = (double)op->start_ns; /* nothing holds it back: as recorded */
    if (op->begins != GT_START_HOST && starts_soon(r, op)) return larger(start, stream + usual_gap_ns);
    double offset = (double)op->offset_ns;
    if (r->changes.gap_ns && r->changes.gap_ns[op - r->schedule->ops] < offset)
        offset = r->changes.gap_ns[op - r->schedule->ops];
    if (op->begins == GT_START_QUEUE) return larger(start, stream + offset);
    if (op->begins == GT_START_DEPENDENCY) return larger(start, r->end_ns[op->dependency] + offset);
    return start;
}

static void place_op(run *r, size_t i)
{
    const gt_gpu_op *op = &r->schedule->ops[i];
    double start = start_of(r, op), dur = (double)gt_op_ns(op);
    if (r->changes.dur_ns && r->changes.dur_ns[i] < INFINITY) dur = larger(0, r->changes.dur_ns[i]);
    double end = start + dur;
    r->end_ns[i] = end;
    if (r->start_ns) r->start_ns[i] = start;
    if (end > r->stream_ns[op->stream]) r->stream_ns[op->stream] = end;
    if (i == r->schedule->window.first_op) r->first_ns = start;
    if (i == r->schedule->window.end_op) r->last_ns = start;
}

/* The end of the last op in a window that no op ends. */
static double last_end(const run *r)
{
    const gt_schedule *schedule = r->schedule;
    uint32_t first = schedule->window.first_op;
    int32_t step = schedule->ops[first].step;
    double last = r->end_ns[first];
    for (size_t i = 0; i < schedule->op_count; i++)
        if ((step < 0 || schedule->ops[i].step == step) && r->end_ns[i] > last) last = r->end_ns[i];
    return last;
}

static void run_all(run *r)
{
    const gt_schedule *schedule = r->schedule;
    const gt_host_point *points = schedule->points;
    const gt_gpu_op *ops = schedule->ops;
    while (r->op_done < schedule->op_count) {
        int64_t start = ops[r->op_done].start_ns;
        for (; r->point_done < schedule->point_count && points[r->point_done].base_ns <= start;
             r->point_done++)
            reach_point(r, r->point_done);
        place_op(r, r->op_done++);
    }
    for (; r->point_done < schedule->point_count; r->point_done++) reach_point(r, r->point_done);
}

static double step_time(const run *r)
{
    const gt_step_window *window = &r->schedule->window;
    double steps = window->steps ? (double)window->steps : 1;
    if (window->end_op == GT_NONE) return (last_end(r) - r->first_ns) / steps;
    double gpu = (r->last_ns - r->first_ns) / steps;
    /* Work that was queued before the window hides a host that is too slow to keep up. */
    return r->options.gpu_alone ? gpu : larger(gpu, r->host_ns / steps);
}

double gt_replay_run(const gt_schedule *schedule, const gt_edit *const *edits, size_t edit_count,
                     gt_replay_options options, gt_replay_times *times)
{
    const gt_step_window *window = &schedule->window;
    if (schedule->op_count == 0 || window->first_op >= schedule->op_count) return 0;
    run r = {.schedule = schedule,
             .options = options,
             .changes = combine(schedule, edits, edit_count),
             .point_ns = gt_alloc(schedule->point_count * sizeof *r.point_ns),
             .stream_ns = gt_alloc(schedule->stream_count * sizeof *r.stream_ns),
             .start_ns = times ? times->start_ns : NULL,
             .end_ns = times ? times->end_ns : gt_alloc(schedule->op_count * sizeof *r.end_ns),
             .now_ns = schedule->point_count ? (double)schedule->points[0].base_ns : 0,
             .awaited = GT_NONE,
             .enter = schedule->ops[window->first_op].point,
             .leave = window->end_op == GT_NONE ? GT_NONE : schedule->ops[window->end_op].point};
    for (uint32_t i = 0; i < schedule->stream_count; i++) r.stream_ns[i] = -INFINITY;
    run_all(&r);
    double step = step_time(&r);
    gt_free(r.changes.removed_ns);
    gt_free(r.changes.flags);
    gt_free(r.changes.dur_ns);
    gt_free(r.changes.soon);
    gt_free(r.changes.gap_ns);
    gt_free(r.point_ns);
    gt_free(r.stream_ns);
    if (!times) gt_free(r.end_ns);
    return step;
}
