/* Internal to src/findings: what one thread of the host does over time, as pieces one after the other.
 *
 * A piece is an op or a call with those of the same label inside it, a Python function or annotation that
 * says what the host does (loading of data, the call of the backward pass), or a stretch: a time in which all
 * events are open, as the labels of labels.c call them. Most events of a trace are Python functions in short
 * stretches, so a track passes over them; who needs to know walks over the stretch. */
#ifndef GT_FINDINGS_SCHEDULE_TRACK_H
#define GT_FINDINGS_SCHEDULE_TRACK_H

#include "findings/schedule/schedule.h"

enum { GT_LABEL_OPEN = GT_CAUSES }; /* a label that is to be decided */

/* An event that has begun on a track and not ended; there are none in a stretch. */
typedef struct gt_track_level {
    int64_t end_ns;
    uint32_t shown; /* what stands for it: ops and calls of one label inside each other are one */
    uint8_t label;  /* gt_cause or GT_LABEL_OPEN */
    bool is_op;     /* an op or a call */
} gt_track_level;

typedef struct gt_track {
    uint32_t first, next, end; /* its events, and those that have not been looked at */
    gt_track_level *levels;    /* outermost first */
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
} gt_track;

void gt_track_begin(gt_track *track, const gt_schedule *schedule, const gt_host_thread *thread);
/* Goes on to the next piece, unless the present one is the last. */
void gt_track_advance(gt_track *track, const gt_schedule *schedule);
/* The innermost event at a time in a stretch whose first event is `inside`; *end_ns becomes smaller if it is
 * innermost for a shorter time. Times never become smaller from call to call. */
uint32_t gt_track_innermost(gt_track *track, const gt_host_event *events, uint32_t inside, int64_t ns,
                            int64_t *end_ns);
void gt_track_free(gt_track *track);

/* The label of an event that is not open. */
uint8_t gt_label_of(const gt_host_event *event);

static inline bool gt_is_op_or_call(const gt_host_event *event)
{
    return event->kind == GT_KIND_CPU_OP || event->kind == GT_KIND_RUNTIME || event->kind == GT_KIND_DRIVER;
}

#endif
