/* Why the GPU was idle: every nanosecond of the window in which no op runs has exactly one cause. */
#pragma once

#include "findings/schedule/schedule.h"

/* A part of a gap with one cause. */
typedef struct gt_idle_piece {
    int64_t start_ns, end_ns;
    uint32_t gap;   /* index into gaps */
    uint32_t event; /* the host event that caused it; GT_NONE */
    uint8_t cause;  /* gt_cause */
} gt_idle_piece;

typedef struct gt_gap {
    int64_t start_ns, end_ns;
    uint32_t op;                       /* that ends it; GT_NONE: the window does */
    uint32_t first_piece, piece_count; /* in order of time */
    uint8_t cause;                     /* the one with the largest share */
} gt_gap;

typedef struct gt_idle {
    gt_gap *gaps; /* in order of time */
    size_t gap_count;
    gt_idle_piece *pieces;
    size_t piece_count, piece_capacity;
    int64_t total_ns;
    int64_t cause_ns[GT_CAUSES]; /* adds up to total_ns exactly */
    size_t cause_pieces[GT_CAUSES];
} gt_idle;

gt_idle *gt_idle_find(const gt_schedule *schedule);
void gt_idle_free(gt_idle *idle);

/* Idle time that the host causes: all but gaps and waits on the device, unknown, and the profiler. */
int64_t gt_idle_host_ns(const gt_idle *idle);
/* Idle time of unknown cause: launches that were not recorded, and host time in which the trace shows
 * nothing, not even a range that the program marked (gt_range_of). */
int64_t gt_idle_unexplained_ns(const gt_schedule *schedule, const gt_idle *idle);
