/* The length of the union of the events' times. */
#include "trace/busy.h"

gt_busy gt_busy_time(const gt_event_view *trace, const uint32_t *rows, size_t count, gt_intervals *spare)
{
    const uint8_t both = GT_INTEGRAL_START | GT_INTEGRAL_DURATION;
    uint8_t written = both;
    spare->count = 0;
    for (size_t i = 0; i < count; i++) {
        gt_intervals_add(spare, trace->start_us[rows[i]], trace->end_us[rows[i]]);
        written &= trace->integral[rows[i]];
    }
    if (count > 1) gt_intervals_merge(spare);
    return (gt_busy){gt_intervals_length(spare), written == both};
}
