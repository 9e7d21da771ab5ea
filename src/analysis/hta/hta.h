/* What HolisticTraceAnalysis tells of a rank: why its GPU was idle, how full its queues were, how much
 * communication was hidden behind computation, how long launches took.
 *
 *     gt_hta_events events = gt_hta_events_find(trace, &options);
 *     gt_table *sheet = gt_hta_temporal_breakdown(&events, rank);
 *
 * Every sheet has the rank in its first column, so those of several ranks can be put below each other. */
#ifndef GT_ANALYSIS_HTA_HTA_H
#define GT_ANALYSIS_HTA_HTA_H

#include "table/table.h"
#include "trace/intervals.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_hta_options {
    bool exact_times; /* else times with fractions are cut to whole microseconds: starts up, ends down */
    bool include_last_step;   /* else work launched in the last of several profiler steps, often cut, is left
                                 out */
    int64_t kernel_delay_us;  /* a shorter gap between kernels that were launched in time is kernel_wait */
    int64_t max_queue_length; /* a queue of that many is full */
} gt_hta_options;

gt_hta_options gt_hta_options_default(void);

typedef enum gt_hta_type {
    GT_HTA_COMPUTATION,
    GT_HTA_COMMUNICATION,
    GT_HTA_MEMORY,
    GT_HTA_OTHER
} gt_hta_type;

typedef struct gt_hta_span {
    double start_us, end_us;
    double dur_us; /* as recorded, or what is left of it after rounding */
} gt_hta_span;

/* Something that ran on a stream. */
typedef struct gt_hta_kernel {
    gt_hta_span at;
    int64_t stream;
    uint8_t type;    /* gt_hta_type */
    bool is_work;    /* a kernel, copy or memset, and not a synchronisation */
    bool is_queued;  /* by a call that puts work into the stream's queue */
    bool has_launch; /* the trace has the call ... */
    gt_hta_span launch;
    uint32_t launch_name; /* ... and its name */
} gt_hta_kernel;

typedef struct gt_hta_events {
    gt_interner *strings; /* the trace's */
    gt_hta_options options;
    gt_hta_kernel *kernels; /* in file order */
    size_t count;
    bool whole;     /* all times are whole microseconds */
    double span_us; /* from the first start to the last end of any event */
} gt_hta_events;

/* The trace needs neither tree nor links: calls and GPU work belong together by their correlation ids. */
gt_hta_events gt_hta_events_find(const gt_event_view *trace, const gt_hta_options *options);
void gt_hta_events_free(gt_hta_events *events);

/* When kernels of a type ran; of any where type is GT_HTA_OTHER + 1. Merged; the caller frees it. */
enum { GT_HTA_ANY_TYPE = GT_HTA_OTHER + 1 };
gt_intervals gt_hta_running(const gt_hta_events *events, int type);

/* Adds the columns count, mean, std, min, 25%, 50%, 75%, max, and puts them into a row. */
size_t gt_hta_add_statistics(gt_table *table);
void gt_hta_set_statistics(gt_table *table, size_t first_column, size_t row, const double *values,
                           size_t count);
double gt_hta_hundredths(double value); /* rounded */
/* A time: whole where the column is INT. */
void gt_hta_set_time(gt_table *table, size_t column, size_t row, double value_us);

/* Where the kernels of one stream lie in a list by stream: those of stream i are places[ends[i - 1] ..
 * ends[i]). */
typedef struct gt_hta_streams {
    int64_t *numbers; /* ascending */
    size_t *ends;
    size_t count;
    uint32_t *places; /* in events->kernels; of a stream by start, equal ones in file order */
} gt_hta_streams;

gt_hta_streams gt_hta_streams_find(const gt_hta_events *events);
void gt_hta_streams_free(gt_hta_streams *streams);

/* The sheets. A rank that ran nothing on a GPU has no rows. */
gt_table *gt_hta_temporal_breakdown(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_comm_comp_overlap(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_idle_time_breakdown(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_idle_interval_stats(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_queue_length_summary(const gt_hta_events *events, int64_t rank);
gt_table *gt_hta_launch_stats_summary(const gt_hta_events *events, int64_t rank);

#endif
