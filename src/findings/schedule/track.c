/* What does a thread of the host do over time?
 *
 * A track goes over the events of its thread in order of their start and keeps a stack of those that have not
 * ended. As long as the stack is empty, open events are not put on it: they are a stretch. */
#include "findings/schedule/track.h"

#include "base/memory.h"
#include "findings/schedule/names.h"

uint8_t gt_label_of(const gt_host_event *event)
{
    if (event->kind == GT_KIND_RUNTIME || event->kind == GT_KIND_DRIVER)
        return (uint8_t)gt_cause_of_call(event->call);
    if (event->flags & GT_HOST_DATA) return GT_CAUSE_DATA;
    return event->flags & GT_HOST_HEAVY ? GT_CAUSE_CPU_OP : GT_CAUSE_LAUNCH;
}

static bool is_open(const gt_schedule *schedule, const gt_host_event *event)
{
    return !gt_is_op_or_call(event) && !(event->flags & GT_HOST_DATA) &&
           !gt_name_has(schedule, event->name, GT_NAME_RUN_BACKWARD);
}

static void track_push(gt_track *t, const gt_schedule *schedule, uint32_t event)
{
    const gt_host_event *e = &schedule->events[event];
    gt_track_level level = {
        .end_ns = e->end_ns, .shown = event, .label = GT_LABEL_OPEN, .is_op = gt_is_op_or_call(e)};
    if (!is_open(schedule, e)) level.label = gt_label_of(e);
    if (level.is_op && t->depth > 0) {
        const gt_track_level *around = &t->levels[t->depth - 1];
        if (around->is_op && around->label == level.label) level.shown = around->shown;
    }
    GT_PUSH(t->levels, t->depth, t->capacity, level);
}

/* Goes on to the stretch before the next event that is not open, and begins that event. */
static void track_stretch(gt_track *t, const gt_schedule *schedule)
{
    const gt_host_event *events = schedule->events;
    t->inside = t->next;
    while (t->next < t->end && is_open(schedule, &events[t->next])) t->next++;
    bool is_last = t->next == t->end;
    t->is_stretch = true;
    t->label = GT_LABEL_OPEN;
    t->event = is_last ? GT_NONE : events[t->next].parent;
    t->end_ns = t->reached_ns = is_last ? INT64_MAX : events[t->next].start_ns;
    if (!is_last) track_push(t, schedule, t->next++);
}

void gt_track_advance(gt_track *t, const gt_schedule *schedule)
{
    int64_t start = t->reached_ns;
    while (t->reached_ns == start) {
        if (t->depth == 0) {
            track_stretch(t, schedule);
            continue;
        }
        while (t->depth > 0) {
            const gt_track_level *top = &t->levels[t->depth - 1];
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

void gt_track_begin(gt_track *t, const gt_schedule *schedule, const gt_host_thread *thread)
{
    *t = (gt_track){.first = thread->first,
                    .next = thread->first,
                    .end = thread->end,
                    .reached_ns = INT64_MIN,
                    .walk_next = thread->first,
                    .innermost = GT_NONE};
    gt_track_advance(t, schedule);
}

uint32_t gt_track_innermost(gt_track *t, const gt_host_event *events, uint32_t inside, int64_t ns,
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

void gt_track_free(gt_track *t)
{
    gt_free(t->levels);
}
