/* Host and GPU of a trace as one schedule.
 *
 * The GPU executes ops, stream by stream. The host reaches points, one after the other: calls of the GPU's
 * programming interface that launch an op or wait for one. What happens between two points is host time that
 * somebody may want to remove. With the rules that say when an op can start (replay.h), the schedule can be
 * run again with changes, and the difference in step time is what a change would bring.
 *
 *     host    |--before--|launch A|--before--|launch B|..before..|synchronise: waits for B|
 *     GPU                    |AAAAAAAAAAA||BBBBBBBBBBBBBBBBBBBBBBBBBBBBBB|
 *
 * Times are integer nanoseconds since the schedule's first event, so that sums are exact. A schedule is of
 * one device, the busiest; all threads of the processes that use it are merged into one serial host.
 */
#pragma once

#include "analysis/serving/step_list.h"

#define GT_NONE UINT32_MAX /* of indexes into the arrays of a schedule */

/* ---- the host ---- */

/* What a call of the GPU's programming interface does. */
typedef enum gt_api_kind {
    GT_API_NONE, /* no point: it neither launches nor waits, or the event is no such call */
    GT_API_LAUNCH,
    GT_API_COPY,
    GT_API_SYNC,
    GT_API_FREE,
    GT_API_ALLOC,
    GT_API_MODULE, /* loads code */
    GT_API_KINDS,
    GT_API_STEP = GT_API_KINDS /* no call: the only step of the trace begins or ends here */
} gt_api_kind;

/* What a host event belongs to; children inherit these bits. */
enum {
    GT_HOST_DATA = 1,      /* loading of input data */
    GT_HOST_OPTIMIZER = 2, /* Optimizer.step */
    GT_HOST_RECOMPUTE = 4, /* forward work of activation checkpointing; only below GT_HOST_BACKWARD it is
                              a repetition */
    GT_HOST_BACKWARD = 8,
    GT_HOST_HEAVY = 16,    /* an op that computes on the CPU for a long time and launches nothing */
    GT_HOST_PROFILER = 32, /* PyTorch's profiler */
    GT_HOST_COMPILER = 64, /* torch.compile compiles */
};

/* An op, a call, a Python function or an annotation. */
typedef struct gt_host_event {
    int64_t start_ns, end_ns; /* cut where it would end after its parent */
    uint32_t name;            /* string id */
    uint32_t parent;          /* the innermost event around it on its thread; GT_NONE */
    uint32_t row;             /* in the trace; of Python functions, in the trace's frames */
    uint16_t launches;        /* calls in its subtree (itself included) that launch or copy; at most
                                 GT_LAUNCHES_MAX */
    uint8_t kind : 4;         /* gt_event_kind: CPU_OP, RUNTIME, DRIVER, PYTHON or ANNOTATION */
    uint8_t call : 4;         /* gt_api_kind of RUNTIME and DRIVER */
    uint8_t flags;            /* GT_HOST_ */
} gt_host_event;
enum { GT_LAUNCHES_MAX = UINT16_MAX };
/* There are more of these than of anything else. */
_Static_assert(sizeof(gt_host_event) == 32, "host events must stay small");

typedef struct gt_host_thread {
    uint32_t process, thread; /* string ids, as in the trace */
    uint32_t first, end;      /* its events: ordered by start, longer ones first */
    bool launches;            /* some of its events are points */
} gt_host_thread;

/* What the host did in a stretch of time before a point. These are also the causes of idle time that lie on
 * the host; the others follow. */
typedef enum gt_cause {
    GT_CAUSE_LAUNCH, /* preparing or issuing GPU work: operators and calls */
    GT_CAUSE_SYNC,
    GT_CAUSE_DATA,
    GT_CAUSE_CPU_OP,
    GT_CAUSE_PYTHON,
    GT_CAUSE_UNTRACED, /* something that the trace does not show */
    GT_CAUSE_WAIT,     /* waiting for others: a lock, a queue, a socket */
    GT_CAUSE_ALLOC,
    GT_CAUSE_MODULE,
    GT_CAUSE_COPY,
    GT_CAUSE_PROFILER,
    GT_CAUSE_DEVICE_GAP,  /* from here on never a label of host time. The normal gap between queued ops */
    GT_CAUSE_DEPENDENCY,  /* queued work waits longer: for another stream */
    GT_CAUSE_DEVICE_WAIT, /* launched, but started late: nothing of the trace was in the way */
    GT_CAUSE_COLLECTIVE,  /* waits for other ranks */
    GT_CAUSE_UNKNOWN,     /* the launch was not recorded */
    GT_CAUSES
} gt_cause;

/* "launch", "sync", ...: the names in sheets and JSON. */
const char *gt_cause_name(gt_cause cause);

/* What it means that the host is inside a call of this kind, a gt_api_kind. */
gt_cause gt_cause_of_call(uint8_t kind);

/* A stretch of host time before a point, with one label. */
typedef struct gt_piece {
    int64_t start_ns, end_ns;
    uint32_t event; /* the innermost host event; GT_NONE */
    uint8_t label;  /* gt_cause */
} gt_piece;

/* ---- points ---- */

/* Bits of gt_host_point.flags in addition to GT_HOST_ bits, which it has from its event. */
enum {
    GT_POINT_BURST = 256,     /* in a tight loop of synchronising calls */
    GT_POINT_FIRST_USE = 512, /* takes long because code is used for the first time */
    GT_POINT_SLOW = 1024,     /* a launch that takes as long every time, without waiting */
    GT_POINT_HELD = 2048,     /* a launch that a call of a thread in the background holds up */
};

typedef struct gt_host_point {
    int64_t start_ns, end_ns;     /* of the call */
    int64_t base_ns;              /* its start in the schedule: not before the end of any earlier point */
    int64_t before_ns;            /* host time between the latest end of the earlier points and this one */
    int64_t wait_ns;              /* how long the call waited: for `awaited`, or for ops before the trace */
    int64_t own_ns;               /* the rest of the call after base_ns */
    double keep_before, keep_own; /* what remains of before_ns and own_ns without the profiler's own cost */
    uint32_t event;               /* index of its host event */
    uint32_t thread;
    uint32_t first_op, op_count;       /* the ops that it launched: point_ops[first_op ...] */
    uint32_t awaited;                  /* the op that it waited for; GT_NONE */
    uint32_t first_piece, piece_count; /* what the host did in before_ns */
    uint32_t sync_site; /* of synchronising points: the site's string id (sites.h); GT_STR_NONE for others */
    int32_t step;       /* in which it started; -1: none */
    uint8_t kind;       /* gt_api_kind, never GT_API_NONE */
    uint16_t flags;
} gt_host_point;

/* ---- the GPU ---- */

/* Starts and ends of ops on different streams are this exact. */
enum { GT_CLOCK_ERROR_NS = 500 };
/* An op that waits on the device normally starts within this time after the one before it. */
enum { GT_USUAL_GAP_NS = 10000 };

/* What decides when an op starts. */
typedef enum gt_op_start {
    GT_START_HOST,       /* its launch: the stream was idle when the call was made */
    GT_START_QUEUE,      /* the op before it on its stream */
    GT_START_DEPENDENCY, /* an op of another stream */
    GT_START_FIXED,      /* nothing is known: the recorded time */
} gt_op_start;

typedef struct gt_gpu_op {
    int64_t start_ns, end_ns;
    int64_t offset_ns;   /* after what decides when it starts; of GT_START_FIXED, start_ns */
    int64_t bytes;       /* of copies and memsets; 0: unknown */
    uint32_t name;       /* string id */
    uint32_t row;        /* in the trace */
    uint32_t stream;     /* 0 ... stream_count - 1 */
    uint32_t point;      /* that launched it; GT_NONE */
    uint32_t host_op;    /* host event: the nearest cpu_op above its launch; GT_NONE */
    uint32_t previous;   /* op of the same stream before it; GT_NONE */
    uint32_t dependency; /* of GT_START_DEPENDENCY: the op */
    int32_t step;        /* of its launch; -1: none */
    uint8_t kind;        /* gt_event_kind: KERNEL, MEMCPY or MEMSET */
    uint8_t begins;      /* gt_op_start */
    bool communicates;   /* a kernel of a collective */
    bool in_background;  /* launched by a thread that does not drive the steps: it has no point */
} gt_gpu_op;

/* The display name of a stream of any device. */
typedef struct gt_stream_names {
    uint32_t device, stream; /* string ids: "GPU 0", "stream 7" */
    int64_t device_number;   /* in the trace; -1: it is no number */
} gt_stream_names;

/* What a compiler says about an op that it made, or what is known of a kernel that a graph replays: string
 * ids, GT_STR_NONE where nothing is known. */
typedef struct gt_op_origin {
    uint32_t name;   /* "fusion.12" */
    uint32_t shapes; /* of its operands, as reports print them */
    uint32_t path;   /* in the program: "jit(step)/Dense_0/dot_general" */
    bool continues;  /* the same call as the op before it */
} gt_op_origin;

/* An op of a device that is not scheduled: for those who show all devices. */
typedef struct gt_other_op {
    int64_t start_ns, end_ns; /* may be before the schedule's time 0 */
    int64_t bytes;            /* of copies and memsets; 0: unknown */
    uint32_t name;            /* string id */
    uint32_t row;             /* in the trace */
    uint32_t stream;          /* stream_count ... */
    uint32_t event;           /* the host event of the call that launched it; GT_NONE */
    uint32_t category;        /* string id of what kind of work it is; GT_STR_NONE: unknown */
    uint8_t kind;             /* gt_event_kind: KERNEL, MEMCPY or MEMSET */
    bool communicates;        /* a kernel of a collective */
    gt_op_origin origin;
} gt_other_op;

/* ---- all of it ---- */

/* A round trip: the points of a copy to the host and of the next one back, with CPU ops between. */
typedef struct gt_round_trip {
    uint32_t first, last;
} gt_round_trip;

typedef struct gt_step_times {
    int64_t start_ns, end_ns; /* on the host */
    uint32_t first_op;        /* the first op launched in it, on the main stream (steps.c); GT_NONE: none */
    uint32_t name;            /* string id; GT_STR_NONE: the step is inferred */
    uint32_t event;           /* its host event; GT_NONE: inferred */
    uint32_t listed;          /* its number in schedule->listed, if there is one */
} gt_step_times;

/* The part of the trace that is judged. With at least two steps that have GPU work it begins with the first
 * op of the first of them and ends where the last one begins. Steps without GPU work in between belong to it.
 * With one such step it has all that the step has launched, and it is as long as the step on the host if that
 * is longer (steps.c). Without steps it is all that the trace has launched. */
typedef struct gt_step_window {
    int64_t start_ns, end_ns;
    uint32_t first_op; /* the first op; it starts at start_ns, or later in a window of one step */
    uint32_t end_op;   /* the op at end_ns, the first that is not in the window; GT_NONE: the window ends with
                          its last op */
    size_t steps;      /* in the window: what times are divided by, at least 1 */
    int64_t host_start_ns, host_end_ns; /* of these steps on the host, which may run ahead of the GPU; 0:
                                           as on the GPU */
    bool is_one_step; /* there is one step with GPU work. Then there are two points where it begins and ends:
                       */
    uint32_t enter, leave;
} gt_step_window;

/* What recorded the trace: PyTorch's profiler, rocprofv3, JAX's or Nsight Systems. */
typedef enum gt_trace_origin { GT_BY_PYTORCH, GT_BY_ROCPROF, GT_BY_JAX, GT_BY_NSYS } gt_trace_origin;

/* What other traces than those of PyTorch say about the scheduled device. */
typedef struct gt_device_facts {
    uint32_t name;         /* string id; GT_STR_NONE: unknown */
    uint32_t place;        /* which one it is, "GPU 1": string id; GT_STR_NONE: unknown */
    int64_t compute_major; /* CUDA's compute capability; -1: unknown or not CUDA */
    bool is_amd;
    bool is_deduced; /* the name is that of the product with its properties; the trace does not say it */
} gt_device_facts;

typedef struct gt_replay_base gt_replay_base; /* replay.c */

typedef struct gt_schedule {
    gt_trace_origin origin; /* traces not of PyTorch have no ops of a framework and no Python functions, and
                               perhaps no host at all: point_count is 0 */
    const gt_event_view *trace; /* borrowed; NULL if the trace is not of PyTorch */
    gt_device_facts device;     /* not of PyTorch */
    uint32_t *categories;       /* by op: string id of what kind of work it is; NULL: its host_op tells */
    gt_op_origin *origins;      /* by op; NULL: nothing but its launch is known. Of PyTorch: of the ops of
                                   replayed graphs, others are empty */
    size_t other_launches;      /* calls that launched work on other devices; not of PyTorch */
    size_t unnamed_calls;       /* calls left out because the trace lacks their names; not of PyTorch */
    gt_other_op *others;        /* by start; not of PyTorch, whose trace has them (all_devices.h) */
    size_t other_count;
    gt_stream_names *streams; /* of all devices, the scheduled one's first; not of PyTorch either */
    size_t all_stream_count;
    gt_interner *strings;      /* the trace's */
    double base_us;            /* the time of the trace that is 0 here */
    int64_t limit_ns;          /* no time is greater: small enough that all durations can be added up */
    int64_t clock_ns;          /* how much later the GPU's clock is than the host's; times are corrected.
                                  If negative, those of the GPU are moved by it (clocks.c) */
    const uint64_t *name_bits; /* by string id: what a name of an event says (names.h) */
    size_t name_count;
    size_t device_count; /* that the trace has GPU events of; one of them is scheduled: */
    size_t device_place; /* 0: the busiest, 1: the one that comes next, ...; only of PyTorch */

    gt_host_event *events; /* thread by thread */
    size_t event_count;
    gt_host_thread *threads;
    size_t thread_count;

    gt_host_point *points; /* by start */
    size_t point_count;
    uint32_t *point_ops;
    size_t point_op_count;
    gt_piece *pieces;
    size_t piece_count, piece_capacity;

    gt_gpu_op *ops; /* by start, then by end */
    size_t op_count;
    uint32_t stream_count;
    int64_t launch_ns; /* the usual time from a call to the start of its op on an idle stream */

    uint32_t *background; /* long calls of threads whose launches are no points (background.c): host events */
    size_t background_count;
    bool has_background;          /* there are such threads */
    size_t process_count;         /* that launched ops */
    uint32_t main_process;        /* string id: the one that launched most; GT_STR_NONE if none did */
    const gt_step_list *listed;   /* of a server's trace: its steps; NULL: it is none */
    gt_step_list *own_listed;     /* the same if it belongs to the schedule */
    gt_pytorch_read *listed_rows; /* not of PyTorch: the rows of the list are not those of the trace, but
                                     these: ops by number, then host events; owned */
    int64_t listed_ns;            /* only then: the time of the schedule that is 0 in the list */
    bool is_capture;              /* of a graph: no kernel of it ran */
    gt_step_times *steps; /* those of the list, or else ProfilerStep annotations of the main process, by
                             start; equal ones count once */
    size_t step_count;
    uint32_t *used_steps; /* those with GPU work, each starting later on the GPU than the one before */
    size_t used_step_count;
    gt_step_window window;

    gt_round_trip *trips;
    size_t trip_count;
    size_t burst_count; /* tight loops of synchronising calls */

    double python_cost_ns, op_cost_ns; /* what recording one Python function or one op costs the host */
    double profiler_ns, host_ns;       /* of the host's time in the window: the profiler's, and all */
    size_t shape_count, cpu_op_count;  /* cpu_ops with input shapes, and all */
    bool has_stacks;                   /* the trace has Python functions */

    gt_replay_base *replay; /* what replay.c keeps, one block; NULL: not prepared */

    struct gt_sites *sites; /* the memory of sites.c; NULL until a site is asked for. gt_schedule_free calls
                               gt_sites_free */
} gt_schedule;

/* Builds the schedule of a trace that was read with its Python functions if it has any (trace->frames). The
 * result never is NULL; a trace without GPU events has no ops. */
gt_schedule *gt_schedule_new(const gt_event_view *trace);
/* The same for a trace whose steps are known; borrows the list. */
gt_schedule *gt_schedule_with_steps(const gt_event_view *trace, const gt_step_list *steps);
/* The schedules of other devices of the trace than the busiest, at most GT_OTHER_DEVICES. Returns how many;
 * none of a server. */
enum { GT_OTHER_DEVICES = 7 };
size_t gt_schedules_of_others(const gt_schedule *busiest, const gt_step_list *steps,
                              gt_schedule *others[GT_OTHER_DEVICES]);
void gt_schedule_free(gt_schedule *schedule);

/* The op that a kernel of a replayed graph belongs to: string id; GT_STR_NONE: unknown, or of no graph. */
static inline uint32_t gt_graph_op_of(const gt_schedule *schedule, size_t op)
{
    bool is_known = schedule->origin == GT_BY_PYTORCH && schedule->origins;
    return is_known ? schedule->origins[op].name : (uint32_t)GT_STR_NONE;
}

/* The rows of the list of steps. */
static inline const gt_event_view *gt_schedule_listed_rows(const gt_schedule *schedule)
{
    return schedule->listed_rows ? gt_pytorch_read_view(schedule->listed_rows) : schedule->trace;
}

/* The thread of a host event. */
static inline uint32_t gt_schedule_thread_of(const gt_schedule *schedule, uint32_t event)
{
    size_t next;
    GT_BISECT(next, 1, schedule->thread_count, schedule->threads[next].first <= event);
    return (uint32_t)next - 1;
}
/* Steps that are marked, but have no GPU work. */
static inline size_t gt_schedule_empty_steps(const gt_schedule *schedule)
{
    size_t count = 0;
    for (size_t i = 0; i < schedule->step_count; i++) count += schedule->steps[i].first_op == GT_NONE;
    return count;
}
/* Fetches a host event from memory. A loop over points or ops that looks at one host event of each asks this
 * way for that of the one GT_EVENTS_AHEAD after the present one, and need not wait for it. Takes GT_NONE. */
enum { GT_EVENTS_AHEAD = 16 };
static inline void gt_event_prefetch(const gt_schedule *schedule, uint32_t event)
{
    if (event != GT_NONE) __builtin_prefetch(&schedule->events[event]);
}
static inline bool gt_window_has(const gt_step_window *window, int64_t ns)
{
    return window->start_ns <= ns && ns < window->end_ns;
}
/* The time from one used step to the next, per step: there may be steps without GPU work in between. */
static inline double gt_step_time_ns(const gt_schedule *schedule, size_t used)
{
    uint32_t step = schedule->used_steps[used], next = schedule->used_steps[used + 1];
    int64_t ns = schedule->ops[schedule->steps[next].first_op].start_ns -
                 schedule->ops[schedule->steps[step].first_op].start_ns;
    return (double)ns / (double)(next - step);
}
/* How many of the first `count` points start before a time. */
static inline size_t gt_points_before(const gt_schedule *schedule, size_t count, int64_t ns)
{
    size_t low;
    GT_BISECT(low, 0, count, schedule->points[low].start_ns < ns);
    return low;
}
/* Whether the host time before a point counts: its call is in the window, or the window ends with it. */
static inline bool gt_window_has_point(const gt_step_window *window, const gt_host_point *point)
{
    return gt_window_has(window, point->start_ns) ||
           (point->kind == GT_API_STEP && point->start_ns == window->end_ns);
}
/* Whether a call is one of the steps of the window. The host may run ahead: then there are calls of more or
 * of fewer steps in the time of the window. */
static inline bool gt_window_has_call(const gt_step_window *window, const gt_host_point *point)
{
    if (!window->host_end_ns) return gt_window_has(window, point->start_ns);
    return window->host_start_ns <= point->start_ns && point->start_ns < window->host_end_ns;
}
static inline int64_t gt_op_ns(const gt_gpu_op *op)
{
    return op->end_ns - op->start_ns;
}
/* A time of the GPU as the trace has it. */
static inline int64_t gt_recorded_ns(const gt_schedule *schedule, int64_t gpu_ns)
{
    return schedule->clock_ns < 0 ? gpu_ns + schedule->clock_ns : gpu_ns;
}
/* Whether rules look at an op. In a trace of PyTorch, an op without a launch belongs to earlier work, which
 * rules/backlog.h handles; other traces may have no launches at all. */
static inline bool gt_op_is_judged(const gt_schedule *schedule, const gt_gpu_op *op)
{
    return op->point != GT_NONE || schedule->origin != GT_BY_PYTORCH;
}
