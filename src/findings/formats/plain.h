/* Internal to formats/: a trace as lists of ops and calls, from which a schedule is made. */
#pragma once

#include "findings/schedule/schedule.h"

/* Times are nanoseconds of the trace's own clock, of any size. An op and the call that launched it have the
 * same process and launch id. */
typedef struct gt_plain_op {
    int64_t start_ns, end_ns;
    int64_t bytes; /* of copies; 0: unknown */
    uint64_t process, launch;
    uint64_t stream;
    uint32_t device;   /* of `others`: any number that tells devices apart */
    uint32_t name;     /* string id */
    uint32_t category; /* string id */
    uint32_t row;
    uint32_t blocks; /* of a kernel, in x; 0: unknown. Only of servers */
    uint8_t kind;    /* gt_event_kind: KERNEL, MEMCPY or MEMSET */
    bool has_launch;
    bool communicates;
    bool is_dispatch; /* of rocprofv3 and nsys: the row is that of a dispatch */
    gt_op_origin origin;
} gt_plain_op;

typedef struct gt_plain_call {
    int64_t start_ns, end_ns;
    uint64_t process, thread, launch;
    uint32_t name; /* string id */
    uint32_t row;
    bool has_launch;
    bool is_range; /* no call: a range that the program marked */
    bool is_other; /* launched work on another device */
    bool waits;    /* synchronises, whatever its name says */
} gt_plain_call;

typedef struct gt_plain_trace {
    gt_interner *strings;
    gt_plain_op *ops; /* of one device; sorted by gt_schedule_of_plain */
    size_t op_count, op_capacity;
    gt_plain_op *others; /* of the other devices, if somebody wants them; sorted as well */
    size_t other_count, other_capacity;
    bool has_origins; /* some ops have one */
    /* Display names of the device and the stream of an op; called once per stream. NULL: none. */
    gt_stream_names (*name_stream)(const void *context, const gt_plain_op *op);
    const void *context;
    gt_plain_call *calls; /* of the processes that use it; sorted as well */
    size_t call_count, call_capacity;
    gt_trace_origin origin;
    gt_device_facts device;
    size_t device_count;
} gt_plain_trace;

gt_schedule *gt_schedule_of_plain(gt_plain_trace *trace);
void gt_plain_free(gt_plain_trace *trace);

/* Whether the trace has ranges that are named like steps of a server. */
bool gt_plain_serves(const gt_plain_trace *trace);
/* Finds these steps once the schedule has ops, host events and points. `base_ns` is the time of the trace
 * that is 0 in the schedule; after 26 days the rows count from there. */
void gt_plain_find_steps(gt_schedule *schedule, const gt_plain_trace *trace, int64_t base_ns);
