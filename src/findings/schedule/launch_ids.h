/* Internal to src/findings: which ops a call launched, by the ids that they share. */
#ifndef GT_FINDINGS_SCHEDULE_LAUNCH_IDS_H
#define GT_FINDINGS_SCHEDULE_LAUNCH_IDS_H

#include "findings/schedule/schedule.h"
#include "trace/id_slots.h"

/* The ops of a schedule by their id, and the calls and processes that they may come from. */
typedef struct gt_launch_ids {
    const gt_event_view *trace;
    gt_id_slots slots;  /* of the ids of ops */
    uint32_t *first_op; /* by slot: where its ops begin in schedule->point_ops; one entry more than slots */
    int64_t *ids;       /* of calls, by row */
    int64_t *ranks;     /* by row; NULL if the device is of no rank */
    int64_t rank;       /* of the device */
    uint32_t *owners;   /* by slot: the process whose calls launch its ops; NULL: the trace has one process */
    uint8_t *is_used;   /* by string id: a process that launches ops; NULL: all events count */
} gt_launch_ids;

/* Fills point_ops: all ops, those with one id together, by start. */
gt_launch_ids gt_launch_ids_new(gt_schedule *schedule);
void gt_launch_ids_free(gt_launch_ids *ids);

/* Whether a host event may belong to the program that uses the device. */
static inline bool gt_launch_ids_counts(const gt_launch_ids *ids, uint32_t row)
{
    return (!ids->ranks || ids->ranks[row] == ids->rank) &&
           (!ids->is_used || ids->is_used[gt_event_process(ids->trace, row)]);
}

/* The slot of the ops that a call launched, GT_NO_SLOT if it launched none. */
static inline uint32_t gt_launch_ids_slot(const gt_launch_ids *ids, uint32_t row)
{
    if (ids->ids[row] == GT_EVENT_NONE) return GT_NO_SLOT;
    uint32_t slot = gt_id_slot(&ids->slots, ids->ids[row]);
    bool is_other =
        slot != GT_NO_SLOT && ids->owners && ids->owners[slot] != gt_event_process(ids->trace, row);
    return is_other ? GT_NO_SLOT : slot;
}

#endif
