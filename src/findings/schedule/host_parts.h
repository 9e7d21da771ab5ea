/* Internal to src/findings/schedule: what host.c and host_thread.c share. */
#pragma once

#include "findings/schedule/build.h"
#include "trace/id_slots.h"

/* ---- which ops a call launched, by the ids that they share ---- */

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

/* ---- threads ---- */

/* A call that becomes a point. */
typedef struct gt_call_found {
    int64_t start_ns;
    uint32_t event;
    uint32_t slot;    /* of its ops; GT_NO_SLOT */
    uint32_t host_op; /* the nearest cpu_op around it; GT_NONE */
    uint32_t thread;
} gt_call_found;

/* The events of one thread: rows and frames. The frames wait at the end of the thread's events, where all
 * events will be in the end: a frame is read before anything is written to its place. Until then its parent
 * is its uid, and its end is not cut. */
typedef struct gt_thread_source {
    uint32_t *rows;
    gt_host_event *frames;
    uint32_t row_count, frame_count;
    uint32_t first_uid;            /* of its first event in the file */
    double last_start_us, last_us; /* start and duration of its last frame */
    bool is_mixed;                 /* its frames are not in order */
    gt_call_found *calls;
    size_t call_count, call_capacity;
} gt_thread_source;

typedef struct gt_host_builder {
    gt_schedule *schedule;
    const gt_event_view *trace;
    const gt_store *frames; /* NULL if Python functions are rows */
    gt_launch_ids launches;
    gt_map thread_ids;         /* from (process, thread) to the index of the thread */
    gt_thread_source *sources; /* by thread */
    size_t source_capacity, thread_capacity;
    gt_frame_block *block;                          /* of frames, the present one */
    double *frame_start_us, *frame_dur_us;          /* by frame; NULL: those of all threads are in order */
    uint32_t *row_thread;                           /* by row; GT_NONE: it does not count */
    uint32_t *row_list;                             /* what sources point to */
    uint32_t last_process, last_thread, last_index; /* of the event before, often the same */
} gt_host_builder;

/* host_thread.c: makes the events of the thread with this index, and finds its calls. The context is the
 * gt_host_builder; threads may be built side by side. */
void gt_build_thread(void *context, size_t index);

/* background.c: by thread, whether it launches work that the steps do not wait for; NULL: there is one
 * launching thread at most. The caller frees it. To be asked when all threads are built. */
bool *gt_find_background(const gt_host_builder *b);
