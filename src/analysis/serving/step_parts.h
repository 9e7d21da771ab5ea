/* Internal to analysis/serving: what the files that make the list of steps share. */
#pragma once

#include "analysis/serving/step_list.h"

/* Times further from the base than 52 days count as that: so sums of two never overflow, and doubles hold all
 * times exactly. */
enum { GT_STEP_TIME_BITS = 52 };

/* A time of the trace in ns; the difference of two does not overflow. */
static inline int64_t gt_step_base_ns(double us)
{
    double ns = rint(us * 1000);
    return ns >= 0x1p61 ? INT64_C(1) << 61 : ns > -0x1p61 ? (int64_t)ns : -(INT64_C(1) << 61);
}

/* The same after base_ns. */
static inline int64_t gt_step_ns(const gt_step_list *list, double us)
{
    const int64_t most = INT64_C(1) << GT_STEP_TIME_BITS;
    int64_t after = gt_step_base_ns(us) - list->base_ns;
    return after > most ? most : after < -most ? -most : after;
}

/* The end of an event that starts at start_ns. */
static inline int64_t gt_step_end_ns(int64_t start_ns, double dur_us)
{
    const double most = (double)(INT64_C(1) << GT_STEP_TIME_BITS);
    double ns = rint(dur_us * 1000);
    return start_ns + (ns >= most ? (int64_t)most : ns > 0 ? (int64_t)ns : 0);
}

/* Where a row starts and ends. */
typedef struct gt_step_times_of {
    int64_t start_ns, end_ns;
} gt_step_times_of;

static inline gt_step_times_of gt_step_row_times(const gt_step_list *list, const gt_event_view *trace,
                                                 uint32_t row)
{
    int64_t start_ns = gt_step_ns(list, trace->start_us[row]);
    return (gt_step_times_of){start_ns, gt_step_end_ns(start_ns, trace->dur_us[row])};
}

/* step_waits.c: if the trace has steps that are not annotated, adds them to the empty list and sets the step
 * of each op. */
void gt_step_list_infer(gt_step_list *list, const gt_event_view *trace);

/* step_capture.c: sets is_capture and capture_batch. */
void gt_step_list_find_capture(gt_step_list *list, const gt_event_view *trace);
