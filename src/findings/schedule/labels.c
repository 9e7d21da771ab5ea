/* What did the host do before each point?
 *
 * The host time before a point is cut wherever the innermost event of the point's thread changes. Where that
 * thread shows nothing and the point before was made by another thread, the other thread is looked at: work
 * is handed over between the forward and the backward pass.
 *
 *     thread    | DataLoader.__next__ |  train.py: step           | aten::mm              |cudaLaunchKernel
 *               |   |read()|          |        |<built-in sum>|   |       |aten::empty|   |(the point)
 *     pieces    |data|data |   data   | python |    python    | p |launch |  launch   | l |
 *
 * Ops and calls of the GPU's programming interface have a label of their own. All other pieces are open:
 * pieces next to each other form a run, and a short run is ordinary time between two ops, while a long one is
 * a cause in itself; a long call in it that waits is waiting. While another thread that launches is inside an
 * op, that op is what the host does.
 *
 * The host time before different points does not overlap and points are in order, so that every thread is
 * walked over once. */
#include "findings/schedule/build.h"

#include "findings/schedule/names.h"

/* ---- tracks ---- */

/* What does a thread of the host do over time, as pieces one after the other?
 *
 * A piece is an op or a call with those of the same label inside it, a Python function or annotation that
 * says what the host does (loading of data, the call of the backward pass), or a stretch: a time in which all
 * events are open, as they are called below. Most events of a trace are Python functions in short
 * stretches, so a track passes over them; who needs to know walks over the stretch.
 *
 * A track goes over the events of its thread in order of their start and keeps a stack of those that have not
 * ended. As long as the stack is empty, open events are not put on it: they are a stretch. */

enum { LABEL_OPEN = GT_CAUSES }; /* a label that is to be decided */

/* An event that has begun on a track and not ended; there are none in a stretch. */
typedef struct track_level {
    int64_t end_ns;
    uint32_t shown; /* what stands for it: ops and calls of one label inside each other are one */
    uint8_t label;  /* gt_cause or LABEL_OPEN */
    bool is_op;     /* an op or a call */
} track_level;

typedef struct track {
    uint32_t first, next, end; /* its events, and those that have not been looked at */
    track_level *levels;       /* outermost first */
    size_t depth, capacity;
    int64_t reached_ns;
    /* The present piece. It starts where the one before it ends, the first one at INT64_MIN; the last one, a
     * stretch, ends at INT64_MAX. */
    int64_t end_ns;
    uint32_t event; /* of a stretch: the one that its end belongs to */
    uint8_t label;
    bool is_stretch;
    uint32_t inside;               /* the first event that begins in the stretch */
    uint32_t walk_next, innermost; /* where a walk over the events of a stretch is */
} track;

static inline bool is_op_or_call(const gt_host_event *event)
{
    return event->kind == GT_KIND_CPU_OP || event->kind == GT_KIND_RUNTIME || event->kind == GT_KIND_DRIVER;
}

/* The label of an event that is not open. */
static uint8_t label_of(const gt_host_event *event)
{
    if (event->kind == GT_KIND_RUNTIME || event->kind == GT_KIND_DRIVER)
        return (uint8_t)gt_cause_of_call(event->call);
    if (event->flags & GT_HOST_DATA) return GT_CAUSE_DATA;
    return event->flags & GT_HOST_HEAVY ? GT_CAUSE_CPU_OP : GT_CAUSE_LAUNCH;
}

static bool is_open(const gt_schedule *schedule, const gt_host_event *event)
{
    return !is_op_or_call(event) && !(event->flags & GT_HOST_DATA) &&
           !gt_name_has(schedule, event->name, GT_NAME_RUN_BACKWARD);
}

static void track_push(track *t, const gt_schedule *schedule, uint32_t event)
{
    const gt_host_event *e = &schedule->events[event];
    track_level level = {.end_ns = e->end_ns, .shown = event, .label = LABEL_OPEN, .is_op = is_op_or_call(e)};
    if (!is_open(schedule, e)) level.label = label_of(e);
    if (level.is_op && t->depth > 0) {
        const track_level *around = &t->levels[t->depth - 1];
        if (around->is_op && around->label == level.label) level.shown = around->shown;
    }
    GT_PUSH(t->levels, t->depth, t->capacity, level);
}

/* Goes on to the stretch before the next event that is not open, and begins that event. */
static void track_stretch(track *t, const gt_schedule *schedule)
{
    const gt_host_event *events = schedule->events;
    t->inside = t->next;
    while (t->next < t->end && is_open(schedule, &events[t->next])) t->next++;
    bool is_last = t->next == t->end;
    t->is_stretch = true;
    t->label = LABEL_OPEN;
    t->event = is_last ? GT_NONE : events[t->next].parent;
    t->end_ns = t->reached_ns = is_last ? INT64_MAX : events[t->next].start_ns;
    if (!is_last) track_push(t, schedule, t->next++);
}

/* Goes on to the next piece, unless the present one is the last. */
static void track_advance(track *t, const gt_schedule *schedule)
{
    int64_t start = t->reached_ns;
    while (t->reached_ns == start) {
        if (t->depth == 0) {
            track_stretch(t, schedule);
            continue;
        }
        while (t->depth > 0) {
            const track_level *top = &t->levels[t->depth - 1];
            int64_t begins = t->next < t->end ? schedule->events[t->next].start_ns : INT64_MAX;
            bool ends = top->end_ns <= begins;
            int64_t until = ends ? top->end_ns : begins;
            if (until > t->reached_ns) {
                if (t->reached_ns > start && t->event != top->shown) break;
                t->event = top->shown;
                t->label = top->label;
                t->is_stretch = false;
                t->reached_ns = until;
            }
            if (ends)
                t->depth--;
            else
                track_push(t, schedule, t->next++);
        }
        t->end_ns = t->reached_ns;
    }
}

static void track_begin(track *t, const gt_schedule *schedule, const gt_host_thread *thread)
{
    *t = (track){.first = thread->first,
                 .next = thread->first,
                 .end = thread->end,
                 .reached_ns = INT64_MIN,
                 .walk_next = thread->first,
                 .innermost = GT_NONE};
    track_advance(t, schedule);
}

/* The innermost event at a time in a stretch whose first event is `inside`; *end_ns becomes smaller if it is
 * innermost for a shorter time. Times never become smaller from call to call. */
static uint32_t track_innermost(track *t, const gt_host_event *events, uint32_t inside, int64_t ns,
                                int64_t *end_ns)
{
    if (inside > t->walk_next) {
        t->walk_next = inside;
        t->innermost = inside > t->first ? inside - 1 : GT_NONE;
    }
    while (t->walk_next < t->end && events[t->walk_next].start_ns <= ns) t->innermost = t->walk_next++;
    while (t->innermost != GT_NONE && events[t->innermost].end_ns <= ns)
        t->innermost = events[t->innermost].parent;
    if (t->innermost != GT_NONE && events[t->innermost].end_ns < *end_ns)
        *end_ns = events[t->innermost].end_ns;
    if (t->walk_next < t->end && events[t->walk_next].start_ns < *end_ns)
        *end_ns = events[t->walk_next].start_ns;
    return t->innermost;
}

static void track_free(track *t)
{
    gt_free(t->levels);
}

/* ---- labels ---- */

/* An open run at least this long is a cause in itself; in code of the framework it must be longer. */
enum { STRETCH_NS = 200000, FRAMEWORK_STRETCH_NS = 5000000 };
/* The profiler's own work at a step's boundary: before the first step, and after the start of each. */
enum { PROFILER_BEFORE_NS = 500000, PROFILER_AFTER_NS = 30000 };
/* It needs no more than this between two steps (0.02 to 0.4 ms were seen): what takes longer is the program.
 */
enum { PROFILER_BETWEEN_NS = 1000000 };

enum { PIECES_PER_POINT = 8 }; /* room for most; only what is used becomes memory */

/* A piece of the present point that starts where the one before it ends. */
typedef struct raw_piece {
    int64_t end_ns;
    uint32_t event;
    uint32_t thread, inside; /* of a stretch, or part of one: its track, and its first event */
    uint8_t label;           /* gt_cause or LABEL_OPEN */
    bool is_stretch;
} raw_piece;

/* A time in which a launching thread is inside an op or a call. */
typedef struct work_span {
    int64_t start_ns, end_ns;
    uint32_t thread; /* GT_NONE: several */
} work_span;

/* A time around the start of a step. */
typedef struct time_span {
    int64_t start_ns, end_ns;
    int64_t between_ns; /* from the step before to this one; 0: there is none */
} time_span;

typedef struct labels {
    gt_schedule *schedule;
    track *tracks;    /* by thread */
    uint32_t *frames; /* by event: 2 + the innermost Python function at or above it, 1: none, 0: not looked
                         at; NULL until it is needed */
    work_span *work;  /* ascending */
    size_t work_count, work_at;
    size_t step_at;  /* steps before this one start before the present point's time */
    time_span *cuts; /* around steps in the present point's time */
    size_t cut_count, cut_capacity;
    raw_piece *raw; /* of the present point */
    size_t raw_count, raw_capacity;
    gt_piece *uncut; /* a copy of the present point's pieces */
    size_t uncut_capacity;
} labels;

/* ---- events ---- */

/* The innermost Python function with a name of its own ("<built-in ..." is none) at or above an event. */
static uint32_t frame_of(labels *l, uint32_t event)
{
    const gt_host_event *events = l->schedule->events;
    if (event == GT_NONE) return GT_NONE;
    if (!l->frames) l->frames = gt_alloc_zero(l->schedule->event_count, sizeof *l->frames);
    uint32_t at = event, found = 1;
    for (; at != GT_NONE && !l->frames[at]; at = events[at].parent) {
        if (events[at].kind != GT_KIND_PYTHON || gt_name_has(l->schedule, events[at].name, GT_NAME_INTERNAL))
            continue;
        l->frames[at] = at + 2;
        break;
    }
    if (at != GT_NONE) found = l->frames[at];
    for (at = event; at != GT_NONE && !l->frames[at]; at = events[at].parent) l->frames[at] = found;
    return found == 1 ? GT_NONE : found - 2;
}

/* ---- work of other threads ---- */

/* Start and end, one after the other, of each op and call of the launching threads that is not inside
 * another. */
typedef struct work_ends {
    double *times;
    uint32_t *threads;
    size_t count, capacity, thread_capacity;
} work_ends;

static void add_work_ends(work_ends *list, const gt_schedule *schedule, uint32_t thread)
{
    int64_t until = INT64_MIN;
    for (size_t i = schedule->threads[thread].first; i < schedule->threads[thread].end; i++) {
        const gt_host_event *event = &schedule->events[i];
        if (event->start_ns < until || event->end_ns <= event->start_ns || !is_op_or_call(event)) continue;
        until = event->end_ns;
        list->times = gt_grow(list->times, &list->capacity, list->count + 2, sizeof *list->times);
        list->threads =
            gt_grow(list->threads, &list->thread_capacity, list->count + 2, sizeof *list->threads);
        for (int side = 0; side < 2; side++) {
            list->times[list->count] = (double)(side ? event->end_ns : event->start_ns);
            list->threads[list->count++] = thread;
        }
    }
}

/* Merges the work of all launching threads. Not needed with only one of them. */
static void find_work(labels *l)
{
    const gt_schedule *schedule = l->schedule;
    size_t launching = 0;
    for (size_t i = 0; i < schedule->thread_count; i++) launching += schedule->threads[i].launches;
    if (launching < 2) return;

    work_ends list = {0};
    for (size_t i = 0; i < schedule->thread_count; i++)
        if (schedule->threads[i].launches) add_work_ends(&list, schedule, (uint32_t)i);
    uint32_t *order = gt_alloc(list.count * sizeof *order);
    for (size_t i = 0; i < list.count; i++) order[i] = (uint32_t)i;
    gt_order_rows(order, list.count, list.times);
    l->work = gt_alloc(list.count * sizeof *l->work);
    /* The sum of the threads at work is the thread if only one is. Begins have even places in the list. */
    uint64_t sum = 0, active = 0;
    int64_t reached = 0;
    for (size_t i = 0; i < list.count; i++) {
        uint32_t place = order[i], thread = active == 1 ? (uint32_t)sum : GT_NONE;
        int64_t now = (int64_t)list.times[place];
        if (active > 0 && now > reached) {
            work_span *last = l->work_count ? &l->work[l->work_count - 1] : NULL;
            if (last && last->end_ns == reached && last->thread == thread)
                last->end_ns = now;
            else
                l->work[l->work_count++] = (work_span){reached, now, thread};
        }
        reached = now;
        if (place % 2 == 0)
            active++, sum += list.threads[place];
        else
            active--, sum -= list.threads[place];
    }
    gt_free_all(order, list.times, list.threads);
}

/* ---- pieces of one point ---- */

/* Adds a piece to those of the present point. */
static void add_raw(labels *l, raw_piece piece)
{
    raw_piece *last = l->raw_count > 0 ? &l->raw[l->raw_count - 1] : NULL;
    if (last && last->event == piece.event && last->label == piece.label && !last->is_stretch &&
        !piece.is_stretch)
        last->end_ns = piece.end_ns;
    else
        GT_PUSH(l->raw, l->raw_count, l->raw_capacity, piece);
}

/* The same for most pieces: one that is no stretch, written at once, because copying it would wait for its
 * parts. */
static inline void add_closed(labels *l, int64_t end_ns, uint32_t event, uint8_t label)
{
    raw_piece *last = l->raw_count > 0 ? &l->raw[l->raw_count - 1] : NULL;
    if (last && last->event == event && last->label == label && !last->is_stretch) {
        last->end_ns = end_ns;
        return;
    }
    l->raw = gt_grow(l->raw, &l->raw_capacity, l->raw_count + 1, sizeof *l->raw);
    raw_piece *piece = &l->raw[l->raw_count++];
    piece->end_ns = end_ns;
    piece->event = event;
    piece->thread = piece->inside = 0;
    piece->label = label;
    piece->is_stretch = false;
}

/* Adds an open piece, except where threads other than this one are at work. */
static void add_open(labels *l, uint32_t thread, int64_t start_ns, raw_piece piece)
{
    int64_t end_ns = piece.end_ns;
    raw_piece worked = {.event = piece.event, .label = GT_CAUSE_LAUNCH};
    if (piece.event != GT_NONE) worked.label = label_of(&l->schedule->events[piece.event]);
    while (l->work_at < l->work_count && l->work[l->work_at].end_ns <= start_ns) l->work_at++;
    for (size_t i = l->work_at; i < l->work_count && l->work[i].start_ns < end_ns; i++) {
        const work_span *span = &l->work[i];
        if (span->thread == thread) continue;
        piece.end_ns = span->start_ns;
        if (span->start_ns > start_ns) add_raw(l, piece);
        worked.end_ns = start_ns = span->end_ns < end_ns ? span->end_ns : end_ns;
        add_raw(l, worked);
    }
    piece.end_ns = end_ns;
    if (start_ns < end_ns) add_raw(l, piece);
}

/* Adds the pieces of the track of thread `shown` over a time. Where it shows nothing, `other` is looked at;
 * GT_NONE: none. `thread` is the one of the point. */
static void add_track(labels *l, uint32_t thread, uint32_t shown, uint32_t other, int64_t start_ns,
                      int64_t end_ns)
{
    track *t = &l->tracks[shown];
    for (int64_t until; start_ns < end_ns; start_ns = until) {
        while (t->end_ns <= start_ns) track_advance(t, l->schedule);
        until = t->end_ns < end_ns ? t->end_ns : end_ns;
        if (!t->is_stretch && t->label != LABEL_OPEN) {
            add_closed(l, until, t->event, t->label);
            continue;
        }
        raw_piece piece = {.end_ns = until, .event = t->event, .label = t->label};
        if (t->is_stretch && other != GT_NONE) {
            piece.event = track_innermost(t, l->schedule->events, t->inside, start_ns, &until);
            piece.end_ns = until;
            if (piece.event == GT_NONE) {
                add_track(l, thread, other, GT_NONE, start_ns, until);
                continue;
            }
        } else if (t->is_stretch) {
            piece.is_stretch = true;
            piece.thread = shown;
            piece.inside = t->inside;
            if (until < t->end_ns) piece.event = GT_NONE;
        }
        if (piece.label == LABEL_OPEN)
            add_open(l, thread, start_ns, piece);
        else
            add_raw(l, piece);
    }
}

static void add_piece(gt_schedule *schedule, int64_t start_ns, int64_t end_ns, uint32_t event, uint8_t label)
{
    gt_piece piece = {.start_ns = start_ns, .end_ns = end_ns, .event = event, .label = label};
    GT_PUSH(schedule->pieces, schedule->piece_count, schedule->piece_capacity, piece);
}

/* The label of a piece in a long run. */
static uint8_t label_in_run(labels *l, uint32_t event, int64_t run_ns)
{
    uint32_t frame = frame_of(l, event);
    if (frame == GT_NONE) return GT_CAUSE_UNTRACED;
    bool is_framework = gt_name_has(l->schedule, l->schedule->events[frame].name, GT_NAME_FRAMEWORK);
    return is_framework && run_ns < FRAMEWORK_STRETCH_NS ? GT_CAUSE_LAUNCH : GT_CAUSE_PYTHON;
}

/* Adds a piece of a long run: of a stretch, each of its events. */
static void add_long(labels *l, const raw_piece *piece, int64_t start_ns, int64_t run_ns)
{
    for (int64_t until; start_ns < piece->end_ns; start_ns = until) {
        uint32_t event = piece->event;
        until = piece->end_ns;
        if (piece->is_stretch)
            event = track_innermost(&l->tracks[piece->thread], l->schedule->events, piece->inside, start_ns,
                                    &until);
        bool waits = until - start_ns >= STRETCH_NS && event != GT_NONE &&
                     gt_name_has(l->schedule, l->schedule->events[event].name, GT_NAME_WAIT);
        add_piece(l->schedule, start_ns, until, event,
                  waits ? GT_CAUSE_WAIT : label_in_run(l, event, run_ns));
    }
}

/* Adds the open pieces from `first` to before `end`, which start at start_ns. A short run becomes one piece,
 * of the event that its longest piece belongs to. */
static void add_run(labels *l, size_t first, size_t end, int64_t start_ns)
{
    int64_t run_ns = l->raw[end - 1].end_ns - start_ns, longest_ns = 0, begin = start_ns;
    uint32_t longest = GT_NONE;
    for (size_t i = first; i < end; i++) {
        const raw_piece *piece = &l->raw[i];
        if (run_ns >= STRETCH_NS) {
            add_long(l, piece, begin, run_ns);
        } else if (piece->end_ns - begin > longest_ns) {
            longest_ns = piece->end_ns - begin;
            longest = piece->event;
        }
        begin = piece->end_ns;
    }
    if (run_ns < STRETCH_NS) add_piece(l->schedule, start_ns, begin, longest, GT_CAUSE_LAUNCH);
}

/* Turns the raw pieces into pieces of the schedule. */
static void close_runs(labels *l, int64_t start_ns)
{
    for (size_t i = 0; i < l->raw_count;) {
        size_t end = i;
        while (end < l->raw_count && l->raw[end].label == LABEL_OPEN) end++;
        if (end > i) {
            add_run(l, i, end, start_ns);
        } else {
            add_piece(l->schedule, start_ns, l->raw[i].end_ns, l->raw[i].event, l->raw[i].label);
            end++;
        }
        start_ns = l->raw[end - 1].end_ns;
        i = end;
    }
}

/* ---- the profiler's own time ---- */

/* The times around the starts of steps within a point's host time, ascending, none touching another. */
static void find_cuts(labels *l, int64_t start_ns, int64_t end_ns)
{
    const gt_schedule *schedule = l->schedule;
    const gt_step_times *steps = schedule->steps;
    l->cut_count = 0;
    if (schedule->listed) return; /* the profiler does nothing between a server's steps */
    while (l->step_at < schedule->step_count && steps[l->step_at].start_ns < start_ns) l->step_at++;
    for (size_t i = l->step_at; i < schedule->step_count && steps[i].start_ns <= end_ns; i++) {
        time_span cut = {i > 0 ? steps[i - 1].end_ns : steps[i].start_ns - PROFILER_BEFORE_NS,
                         steps[i].start_ns + PROFILER_AFTER_NS,
                         i > 0 ? steps[i].start_ns - steps[i - 1].end_ns : 0};
        if (cut.start_ns >= cut.end_ns) continue; /* the steps overlap */
        for (; l->cut_count > 0 && l->cuts[l->cut_count - 1].end_ns >= cut.start_ns; l->cut_count--) {
            if (l->cuts[l->cut_count - 1].start_ns < cut.start_ns)
                cut.start_ns = l->cuts[l->cut_count - 1].start_ns;
            if (l->cuts[l->cut_count - 1].between_ns > cut.between_ns)
                cut.between_ns = l->cuts[l->cut_count - 1].between_ns;
        }
        GT_PUSH(l->cuts, l->cut_count, l->cut_capacity, cut);
    }
}

/* Whether the time of a piece in a cut is the profiler's. Long stretches of Python functions are not, unless
 * they are its own, and nothing else is if the steps are too far apart. */
static bool is_of_profiler(const gt_schedule *schedule, const gt_piece *piece, const time_span *cut)
{
    if (!gt_is_host_work(piece->label)) return false;
    if (piece->event != GT_NONE && schedule->events[piece->event].flags & GT_HOST_PROFILER) return true;
    return cut->between_ns <= (piece->label == GT_CAUSE_PYTHON ? STRETCH_NS : PROFILER_BETWEEN_NS);
}

/* Gives the parts of the pieces from `first` on that lie in cuts to the profiler. */
static void cut_pieces(labels *l, size_t first)
{
    gt_schedule *schedule = l->schedule;
    size_t count = schedule->piece_count - first, cut = 0;
    l->uncut = gt_grow(l->uncut, &l->uncut_capacity, count, sizeof *l->uncut);
    memcpy(l->uncut, schedule->pieces + first, count * sizeof *l->uncut);
    schedule->piece_count = first;
    for (size_t i = 0; i < count; i++) {
        gt_piece piece = l->uncut[i];
        while (cut < l->cut_count && l->cuts[cut].end_ns <= piece.start_ns) cut++;
        for (; cut < l->cut_count && l->cuts[cut].start_ns < piece.end_ns; cut++) {
            time_span c = l->cuts[cut];
            if (!is_of_profiler(schedule, &piece, &c)) {
                if (c.end_ns > piece.end_ns) break;
                continue;
            }
            if (c.start_ns > piece.start_ns) {
                add_piece(schedule, piece.start_ns, c.start_ns, piece.event, piece.label);
                piece.start_ns = c.start_ns;
            }
            int64_t until = c.end_ns < piece.end_ns ? c.end_ns : piece.end_ns;
            add_piece(schedule, piece.start_ns, until, GT_NONE, GT_CAUSE_PROFILER);
            piece.start_ns = until;
            if (c.end_ns > piece.end_ns) break; /* it also covers what comes next */
        }
        if (piece.start_ns < piece.end_ns)
            add_piece(schedule, piece.start_ns, piece.end_ns, piece.event, piece.label);
    }
}

/* ---- all points ---- */

static void label_point(labels *l, gt_host_point *point, uint32_t previous_thread)
{
    gt_schedule *schedule = l->schedule;
    size_t first = schedule->piece_count;
    point->first_piece = (uint32_t)first;
    point->piece_count = 0;
    if (point->before_ns <= 0) return;
    int64_t start = point->start_ns - point->before_ns;
    uint32_t other = previous_thread == point->thread ? GT_NONE : previous_thread;
    l->raw_count = 0;
    add_track(l, point->thread, point->thread, other, start, point->start_ns);
    close_runs(l, start);
    find_cuts(l, start, point->start_ns);
    if (l->cut_count > 0) cut_pieces(l, first);
    point->piece_count = (uint32_t)(schedule->piece_count - first);
}

void gt_build_labels(gt_schedule *schedule)
{
    labels l = {.schedule = schedule, .tracks = gt_alloc(schedule->thread_count * sizeof *l.tracks)};
    for (size_t i = 0; i < schedule->thread_count; i++)
        track_begin(&l.tracks[i], schedule, &schedule->threads[i]);
    find_work(&l);
    schedule->piece_count = 0;
    schedule->pieces = gt_grow(schedule->pieces, &schedule->piece_capacity,
                               PIECES_PER_POINT * schedule->point_count, sizeof *schedule->pieces);
    uint32_t previous_thread = schedule->point_count ? schedule->points[0].thread : 0;
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        label_point(&l, point, previous_thread);
        if (point->end_ns >= point->base_ns - point->before_ns) previous_thread = point->thread;
    }
    for (size_t i = 0; i < schedule->thread_count; i++) track_free(&l.tracks[i]);
    gt_free_all(l.tracks, l.raw, l.frames, l.work, l.cuts, l.uncut);
    gt_build_loops(schedule);
}
