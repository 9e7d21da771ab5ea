/* All devices of a trace: what runs on those that are not scheduled, how people call their streams, and how
 * long a device is busy: what runs side by side counts once. */
#pragma once

#include "findings/schedule/schedule.h"

typedef struct gt_all_devices {
    const gt_other_op *others; /* by start */
    size_t other_count;
    gt_stream_names *streams; /* by stream: the schedule's stream_count ones, then those of `others` */
    size_t stream_count;
    gt_other_op *own; /* what `others` is if the schedule does not have them */
} gt_all_devices;

/* Borrows the schedule. Interns names. */
gt_all_devices gt_all_devices_find(const gt_schedule *schedule);
/* Which device is scheduled: "GPU 1"; "" if that is unknown. Interns it. */
const char *gt_schedule_place(const gt_schedule *schedule);
void gt_all_devices_free(gt_all_devices *devices);

/* The time that the spans of a device cover. {0} has none. */
typedef struct gt_busy_sum {
    uint64_t sum;
    int64_t end; /* of the covered time */
    bool has_any;
} gt_busy_sum;

/* Spans come by start. */
static inline void gt_busy_add(gt_busy_sum *busy, int64_t start, int64_t end)
{
    if (busy->has_any && start < busy->end) start = busy->end;
    if (end <= start) return;
    busy->sum += (uint64_t)end - (uint64_t)start;
    busy->end = end;
    busy->has_any = true;
}
