/* What the pftrace reports see of a trace: when its events were, and what ran on which GPU. */
#ifndef GT_ANALYSIS_PFTRACE_EVENTS_H
#define GT_ANALYSIS_PFTRACE_EVENTS_H

#include "trace/events.h"

/* Kinds of GPU work, by the name of the kernel. */
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

gt_pftrace_class gt_pftrace_class_of(gt_str name);

/* Agents in the order they are first seen: a GPU's number is its place. */
typedef struct gt_pftrace_agents {
    uint32_t *names; /* JSON text ids */
    size_t count, capacity;
    uint32_t *of_event; /* by event; GT_NO_AGENT where it has none */
} gt_pftrace_agents;
#define GT_NO_AGENT UINT32_MAX

gt_pftrace_agents gt_pftrace_find_agents(const gt_chrome *trace);
void gt_pftrace_agents_free(gt_pftrace_agents *agents);

/* Beginning and duration of each event in nanoseconds: begin_ns and delta_ns, else ts and dur, which count as
 * microseconds where ts is below 10^10 and as nanoseconds otherwise. Without any: 0. The caller frees both.
 */
void gt_pftrace_activity_times(const gt_chrome *trace, int64_t **begin_ns, int64_t **dur_ns);

/* The same for the report of API calls: begin_ns, end_ns and delta_ns, else ts and dur in microseconds.
 * GT_CHROME_NONE where an event has no time. */
typedef struct gt_pftrace_call_times {
    int64_t *begin_ns, *end_ns, *dur_ns;
} gt_pftrace_call_times;
gt_pftrace_call_times gt_pftrace_find_call_times(const gt_chrome *trace);
void gt_pftrace_call_times_free(gt_pftrace_call_times *times);

/* One piece of work: a kernel on a GPU, or an API call. */
typedef struct gt_pftrace_event {
    int64_t begin_ns, dur_ns; /* dur_ns > 0; their sum fits */
    uint32_t name, row;       /* row: the event's place in the trace */
} gt_pftrace_event;

typedef struct gt_pftrace_list {
    gt_pftrace_event *items; /* by begin, duration and name */
    size_t count, capacity;
} gt_pftrace_list;

typedef struct gt_pftrace_limits {
    int64_t min_tid, max_tid;
} gt_pftrace_limits;

/* The work of each GPU: communication apart from the rest. */
typedef struct gt_pftrace_work {
    gt_pftrace_agents agents;
    gt_pftrace_list *compute, *communication; /* by GPU */
    uint8_t *classes;                         /* by name: 1 + gt_pftrace_class, 0 where not asked for */
    gt_pftrace_list xla;                      /* of all GPUs, in the trace's order */
    bool has_flash_attention_3;
} gt_pftrace_work;

gt_pftrace_work gt_pftrace_find_work(const gt_chrome *trace, gt_pftrace_limits limits);
void gt_pftrace_work_free(gt_pftrace_work *work);

/* HIP API calls; the caller frees the items. */
gt_pftrace_list gt_pftrace_find_calls(const gt_chrome *trace, gt_pftrace_limits limits);

/* Keeps the events that last at least so long. */
void gt_pftrace_keep_long(gt_pftrace_list *list, int64_t min_ns);

/* A name without its digits. */
uint32_t gt_pftrace_merged_name(gt_interner *strings, uint32_t name);

#endif
