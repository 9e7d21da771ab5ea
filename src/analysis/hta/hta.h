/* The analyses of HolisticTraceAnalysis for one rank: why its GPU was idle, how full its queues were, how
 * much communication was hidden by computation, how long launches took.
 *
 *     gt_hta_events events = gt_hta_events_find(trace, &options);
 *     gt_table *sheet = gt_hta_temporal_breakdown(&events, rank);
 *
 * Every sheet has the rank in its first column, so the sheets of several ranks can be appended to each other.
 * Sheets:
 *
 *     temporal_breakdown, comm_comp_overlap, idle_time_breakdown, idle_interval_stats    breakdown.c
 *     queue_length_summary, launch_stats_summary                                        launches.c */
#pragma once

#include "table/table.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_hta_options {
    bool hta_times;          /* count as HolisticTraceAnalysis does: times with fractions are rounded to whole
                                microseconds, starts up and ends down; types come from HTA's table of names;
                                synchronizations on a stream are GPU events, and GPU events without a stream are
                                not; idle intervals begin at the end of the previous kernel, also if an earlier
                                one still runs */
    bool include_last_step;  /* false: ignore GPU events launched in the last of several profiler steps, which
                                is often incomplete */
    int64_t kernel_delay_us; /* an interval shorter than this between kernels that were launched in time is
                                kernel_wait */
    int64_t max_queue_length; /* a queue with this many entries is full */
} gt_hta_options;

gt_hta_options gt_hta_options_default(void);

typedef enum gt_hta_type {
    GT_HTA_COMPUTATION,
    GT_HTA_COMMUNICATION,
    GT_HTA_MEMORY,
    GT_HTA_OTHER
} gt_hta_type;

enum { GT_HTA_NO_STREAM = -1 };

typedef struct gt_hta_span {
    double start_us, end_us;
    double dur_us; /* as recorded, or end - start after rounding */
} gt_hta_span;

/* A GPU event. */
typedef struct gt_hta_kernel {
    gt_hta_span at;
    uint32_t row; /* of the trace */
    int64_t
        stream;   /* GT_HTA_NO_STREAM: the trace has no integer here; then the sheets per stream ignore it */
    uint8_t type; /* gt_hta_type */
    bool is_work; /* a kernel, copy or memset, not a synchronization */
    bool is_queued;  /* launched by a call that uses the stream's queue */
    bool has_launch; /* the trace has the call; then ... */
    gt_hta_span launch;
    uint32_t launch_name; /* ... this is its name */
} gt_hta_kernel;

typedef struct gt_hta_events {
    gt_interner *strings; /* the trace's */
    gt_hta_options options;
    gt_hta_kernel *kernels; /* in file order until gt_hta_events_group */
    size_t count;
    bool whole;             /* all times are whole microseconds */
    bool without_last_step; /* the trace has several profiler steps, and the last one is ignored */
    double span_us;         /* from the first start to the last end of any event */
} gt_hta_events;

/* Needs neither tree nor links: calls and GPU events are matched by the ids that they share
 * (gt_launch_calls). */
gt_hta_events gt_hta_events_find(const gt_event_view *trace, const gt_hta_options *options);
void gt_hta_events_free(gt_hta_events *events);
/* Groups the kernels: those of group g, in file order, are then kernels[begins[g]] to kernels[begins[g + 1] -
 * 1]. `group_of` is by row of the trace, and not read if there is one group; `begins` has groups + 1
 * entries. */
void gt_hta_events_group(gt_hta_events *events, const uint32_t *group_of, size_t groups, size_t *begins);

/* When kernels of a type, or of any type, ran. Merged; the caller frees it. */
enum { GT_HTA_ANY_TYPE = GT_HTA_OTHER + 1 };
gt_intervals gt_hta_running(const gt_hta_events *events, int type);

/* Adds the columns count, mean, std, min, 25%, 50%, 75%, max and returns the first; fills them in one row. */
size_t gt_hta_add_statistics(gt_table *table);
void gt_hta_set_statistics(gt_table *table, size_t first_column, size_t row, const double *values,
                           size_t count);
double gt_hta_hundredths(double value); /* rounds to 0.01 */
/* Sets a time, as an integer if the column is INT. */
void gt_hta_set_time(gt_table *table, size_t column, size_t row, double value_us);

/* Kernels that have a stream, grouped by it: those of stream i are places[ends[i - 1]] to places[ends[i] -
 * 1]. */
typedef struct gt_hta_streams {
    int64_t *numbers; /* ascending */
    size_t *ends;
    size_t count;
    uint32_t *places; /* indexes into events->kernels; per stream by start, equal starts in file order */
} gt_hta_streams;

gt_hta_streams gt_hta_streams_find(const gt_hta_events *events);
void gt_hta_streams_free(gt_hta_streams *streams);

/* The sheets. A rank without GPU events has no rows. */
gt_table *gt_hta_temporal_breakdown(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_comm_comp_overlap(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_idle_time_breakdown(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_idle_interval_stats(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_queue_length_summary(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_launch_stats_summary(const gt_hta_events *events, int64_t rank);
