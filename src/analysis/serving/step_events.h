/* Which events belong to steps of a program? What the step's own thread did while it lasted, the arrows from
 * there, and what they sent to the GPU, whenever that ran. */
#ifndef GT_ANALYSIS_SERVING_STEP_EVENTS_H
#define GT_ANALYSIS_SERVING_STEP_EVENTS_H

#include "trace/events.h"

/* A step: a span of time on one thread. */
typedef struct gt_step_span {
    uint32_t process, thread, name; /* text ids */
    double start_us, end_us;
} gt_step_span;

/* Annotations whose names are those of steps (serving_steps.h), by start; the detailed ones where there are
 * any. The caller frees them. */
gt_step_span *gt_step_spans_find(const gt_plain_events *events, size_t *count);

typedef struct gt_step_finder gt_step_finder;
gt_step_finder *gt_step_finder_new(const gt_plain_events *events);
void gt_step_finder_free(gt_step_finder *finder);

/* What a row of steps has. */
typedef struct gt_step_events {
    uint32_t *events; /* in the file's order, each once; the caller frees them */
    size_t count, capacity;
    size_t gpu_events;
    double gpu_us;      /* of each step, from its first start on the GPU to its last end; added up */
    double gpu_busy_us; /* durations added up */
    bool is_integral;   /* the times were all written as integers */
} gt_step_events;
/* Events without a time, which name processes and threads, belong to any steps. */
gt_step_events gt_step_finder_find(gt_step_finder *finder, const gt_step_span *steps, size_t count);

#endif
