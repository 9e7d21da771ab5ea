/* The events of a trace as the pftrace reports need them: when they ran, on which GPU, and what kind of work
 * they are. Also the two computations that unit tests check by themselves: overlap and exact statistics. */
#pragma once

#include "trace/events.h"

/* ---- classes of GPU work ---- */

typedef enum gt_pftrace_class {
    GT_PFTRACE_XLA, /* in the order of the rows of category_summary */
    GT_PFTRACE_AITER_FORWARD,
    GT_PFTRACE_AITER_BACKWARD,
    GT_PFTRACE_GEMM,
    GT_PFTRACE_CK_BACKWARD,
    GT_PFTRACE_CK_FORWARD,
    GT_PFTRACE_TE,
    GT_PFTRACE_MEMCPY,
    GT_PFTRACE_FILL_BUFFER,
    GT_PFTRACE_RCCL,
    GT_PFTRACE_CLASSES
} gt_pftrace_class;

/* The class of a kernel by its name; GT_PFTRACE_XLA if no other class fits. */
gt_pftrace_class gt_pftrace_class_of(gt_str name);

/* ---- agents ---- */

/* The agents in the order of their first events: the number of a GPU is its agent's index. */
typedef struct gt_pftrace_agents {
    uint32_t *names; /* string ids of JSON */
    size_t count, capacity;
    uint32_t *of_event; /* by event: index of its agent; GT_NO_AGENT: none */
} gt_pftrace_agents;
#define GT_NO_AGENT UINT32_MAX

gt_pftrace_agents gt_pftrace_find_agents(const gt_chrome *trace);
void gt_pftrace_agents_free(gt_pftrace_agents *agents);

/* ---- times ---- */

/* Start and duration of each event in nanoseconds for the activity report: begin_ns and delta_ns if the event
 * has both; otherwise ts and dur, which are microseconds if ts is below 10^10 and nanoseconds if not; 0
 * without any of them. The caller frees both arrays. */
void gt_pftrace_activity_times(const gt_chrome *trace, int64_t **begin_ns, int64_t **dur_ns);

/* Times for the report of API calls: begin_ns, end_ns and delta_ns; otherwise ts and dur, always in
 * microseconds. GT_CHROME_NONE if an event has no times. */
typedef struct gt_pftrace_call_times {
    int64_t *begin_ns, *end_ns, *dur_ns;
} gt_pftrace_call_times;
gt_pftrace_call_times gt_pftrace_find_call_times(const gt_chrome *trace);
void gt_pftrace_call_times_free(gt_pftrace_call_times *times);

/* ---- work of GPUs, API calls ---- */

/* A kernel on a GPU, or an API call. */
typedef struct gt_pftrace_event {
    int64_t begin_ns, dur_ns; /* dur_ns > 0; their sum fits an int64 */
    uint32_t name, row;       /* row: index of the event in the trace */
} gt_pftrace_event;

typedef struct gt_pftrace_list {
    gt_pftrace_event *items; /* in order of start, duration and name */
    size_t count, capacity;
} gt_pftrace_list;

typedef struct gt_pftrace_limits {
    int64_t min_tid, max_tid; /* skip events of other threads */
} gt_pftrace_limits;

/* The work of each GPU, with communication separate from computation. */
typedef struct gt_pftrace_work {
    gt_pftrace_agents agents;
    gt_pftrace_list *compute, *communication; /* by GPU */
    uint8_t *classes;                         /* by name: 1 + gt_pftrace_class; 0: not looked up */
    gt_pftrace_list xla;                      /* class XLA of all GPUs, in trace order */
    bool has_flash_attention_3;
} gt_pftrace_work;

gt_pftrace_work gt_pftrace_find_work(const gt_chrome *trace, gt_pftrace_limits limits);
void gt_pftrace_work_free(gt_pftrace_work *work);

/* All HIP API calls; the caller frees the items. */
gt_pftrace_list gt_pftrace_find_calls(const gt_chrome *trace, gt_pftrace_limits limits);

/* Drops the events that are shorter than min_ns. */
void gt_pftrace_keep_long(gt_pftrace_list *list, int64_t min_ns);

/* ---- overlap (categories.c) ---- */

/* For how long did communication run at the same time as computation, in nanoseconds? The overlaps of all
 * pairs are added up, so time in which two kernels run at the same time as one communication counts twice.
 * For each communication, the first kernel that ends after it is the last one that counts:
 *
 *     communication      [--------------]
 *     kernel 1        [-----]                    counts from the start of the communication
 *     kernel 2              [------]             counts in full
 *     kernel 3                    [--------]     counts up to the end of the communication
 *     kernel 4                      [---]        does not count, because kernel 3 starts before it
 *
 * Both lists must be in order of their starts. */
int64_t gt_pftrace_overlap(const gt_pftrace_list *compute, const gt_pftrace_list *communication);

/* ---- exact statistics (api.c) ---- */

/* Statistics of integers, computed exactly and rounded once. */
typedef struct gt_exact_statistics {
    double mean, median, std; /* std: divided by n */
    int64_t min, max;
} gt_exact_statistics;

/* Sorts the values. Without values, all statistics are 0. */
gt_exact_statistics gt_exact_measure(int64_t *values, size_t count);
