/* How long is a device busy? What runs side by side counts once. */
#ifndef GT_FINDINGS_SCHEDULE_BUSY_H
#define GT_FINDINGS_SCHEDULE_BUSY_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
