/* Running a schedule again with changes.
 *
 * Without changes a run gives back the recorded times. An edit says what would be different: host time that
 * vanishes, calls that no longer wait or cost nothing, ops that take another time. The gain of an edit is the
 * step time without it minus the step time with it. So a change hidden by another bottleneck gains nothing,
 * and several edits run together are not counted twice.
 *
 * One run is linear in points and ops. Runs may happen side by side on several threads. */
#pragma once

#include "findings/schedule/schedule.h"

/* ---- edits ---- */

enum {
    GT_EDIT_NO_CALL = 1, /* the call itself takes no time */
    GT_EDIT_NO_WAIT = 2, /* the call does not wait */
};

typedef struct gt_edit_point {
    uint32_t point;
    uint8_t flags;    /* GT_EDIT_ */
    double before_ns; /* taken out of the host time before the point, not deflated */
} gt_edit_point;

typedef struct gt_edit_op {
    uint32_t op;
    bool soon;     /* it starts as soon as its launch and its stream allow */
    double dur_ns; /* its new duration; infinite: it keeps its own */
    double gap_ns; /* the longest time that it starts after the op that it waits for; infinite: as recorded */
} gt_edit_op;

/* {0} changes nothing. Entries may come in any order. Several of the same point or op, also from several
 * edits of one run, combine: host time is subtracted once for each, flags are united, and the shortest
 * duration counts. */
typedef struct gt_edit {
    gt_edit_point *points;
    size_t point_count, point_capacity;
    gt_edit_op *ops;
    size_t op_count, op_capacity;
} gt_edit;

/* Makes room for so many entries, where there may be about as many as points: growing would copy them again
 * and again. */
void gt_edit_reserve_points(gt_edit *edit, size_t points);
void gt_edit_point_add(gt_edit *edit, uint32_t point, uint8_t flags, double before_ns);
void gt_edit_op_add(gt_edit *edit, uint32_t op, double dur_ns);
void gt_edit_op_start_soon(gt_edit *edit, uint32_t op);
void gt_edit_op_cut_gap(gt_edit *edit, uint32_t op, double gap_ns);
void gt_edit_free(gt_edit *edit);

/* Host time before a point with this label. */
double gt_point_label_ns(const gt_schedule *schedule, uint32_t point, gt_cause label);
/* Adds, for every point, the removal of its pieces with this label. */
void gt_edit_remove_label(gt_edit *edit, const gt_schedule *schedule, gt_cause label);

/* ---- runs ---- */

/* Keeps in the schedule what all runs need of it, so that each of them costs a third. From then on points,
 * pieces and ops must not change, until it is forgotten; gt_schedule_free does that, too. A run of a schedule
 * that is not prepared gives the same. */
void gt_replay_prepare(gt_schedule *schedule);
void gt_replay_forget(gt_schedule *schedule);
/* Whether host time before a point may have this label, GT_NONE: before any point. False only if the schedule
 * is prepared and there is none. */
bool gt_replay_may_have(const gt_schedule *schedule, uint32_t point, gt_cause label);

typedef struct gt_replay_options {
    bool recorded;  /* keep the profiler's own cost; otherwise it is taken out of the host's time */
    bool fast_host; /* take out more: 1.7 times the estimate of the profiler's own cost, which is about the
                       largest that was measured */
    bool gpu_alone; /* the step time is what the GPU shows, even if the host could not keep up with it for
                       long */
} gt_replay_options;

/* Start and end of each op in a run, in ns: arrays of op_count, both of them or none (NULL). */
typedef struct gt_replay_times {
    double *start_ns, *end_ns;
    double gpu_ns;   /* the step time with gpu_alone */
    double *step_ns; /* when each used step begins on the GPU: an array of used_step_count; NULL: not asked */
} gt_replay_times;

/* The step time in ns with these edits (NULL entries are skipped). `times` may be NULL. */
double gt_replay_run(const gt_schedule *schedule, const gt_edit *const *edits, size_t edit_count,
                     gt_replay_options options, gt_replay_times *times);
