/* Internal to src/page: what the tables of gt_page_add_work are made from, and who makes them.
 *
 * GPU ops of all devices have one numbering: first those of the schedule (the judged device), then those of
 * the other devices. Per op there are its lane, its kernel and the call that launched it; order by lane and
 * start is an array of its own, so that nothing is copied.
 *
 *     number        0 ... schedule->op_count - 1     schedule->op_count ... op_count - 1
 *     op            schedule->ops[number]            devices.others[number - schedule->op_count]
 *
 * Rows of page_lanes, page_kernels, page_calls and page_nodes are indexes of the arrays here. */
#pragma once

#include "findings/schedule/all_devices.h"
#include "page/work.h"

/* A line of the timeline. */
typedef struct gt_page_lane {
    uint32_t group, label; /* string ids */
    int64_t device;        /* of streams: its number in the trace; -1: unknown or a thread */
    bool is_stream, judged;
    size_t events, kept;
    int64_t shorter_ns; /* -1: all events were kept */
} gt_page_lane;

/* GPU work of one name. */
typedef struct gt_page_kernel {
    uint32_t name;     /* string id */
    uint8_t kind;      /* gt_event_kind: KERNEL, MEMCPY or MEMSET */
    uint8_t category;  /* gt_category: the one with most of its time */
    bool communicates; /* a kernel of a collective */
    int64_t count, ns, min_ns, max_ns;
} gt_page_kernel;

/* A step of a call path: a row of page_nodes. */
typedef enum gt_page_node_kind {
    GT_NODE_MODULE,
    GT_NODE_FUNCTION,
    GT_NODE_ANNOTATION,
    GT_NODE_OP
} gt_page_node_kind;
typedef struct gt_page_node {
    uint32_t parent; /* GT_NONE: a root */
    uint32_t name;   /* string id */
    uint8_t kind;    /* gt_page_node_kind */
    uint8_t depth;
} gt_page_node;

/* What launched GPU work: string ids, GT_STR_NONE where nothing is known. */
typedef struct gt_page_call {
    uint32_t node; /* row of page_nodes; GT_NONE */
    uint32_t op, shapes, python, runtime;
    bool in_optimizer;
} gt_page_call;

/* GPU work by call and kernel: a row of page_sums. */
typedef struct gt_page_sum {
    uint32_t call; /* GT_NONE: unknown */
    uint32_t kernel;
    uint8_t category; /* gt_category of this work: that of its first op */
    int64_t count, ns;
    int64_t calls; /* of ops whose first GPU work is here */
} gt_page_sum;

enum { GT_PAGE_BINS = 2048, GT_PAGE_SUM_BINS = 256 };

typedef struct gt_page_work {
    const gt_findings *findings;
    const gt_schedule *schedule; /* that of the findings */
    gt_page_limits limits;
    int64_t zero_ns; /* the time of the schedule that is 0 on the page: its first event */
    int64_t end_ns;  /* the end of the last event, in time of the page */

    gt_all_devices devices;
    size_t op_count;                         /* on all devices */
    uint32_t *op_lane, *op_kernel, *op_call; /* by op; of op_call GT_NONE: nothing is known */
    uint32_t *op_sum;                        /* by op: its row of page_sums */
    uint32_t *launch_ops;                    /* by host event, of all devices: gt_launch_ops_find */
    uint8_t *op_category;                    /* by op: its gt_category */
    bool *op_begins;                         /* by op: the first GPU work of the call of its op */
    uint32_t *order;                         /* ops by lane, then by start */
    int64_t exact_start, exact_end; /* page_gpu has the ops that begin in between, in time of the page;
                                       exact_start -1: it has all */
    int64_t host_limit_ns;          /* page_host has the events that are longer; -1: it has all */

    gt_page_lane *lanes; /* streams, then threads */
    size_t lane_count;
    uint32_t *thread_lane; /* by thread of the schedule; GT_NONE: it has no lane */
    gt_page_kernel *kernels;
    size_t kernel_count;
    gt_page_node *nodes;
    size_t node_count;
    gt_page_call *calls;
    size_t call_count;
    gt_page_sum *sums;
    size_t sum_count;
} gt_page_work;

/* ---- questions ---- */

/* A time of the schedule in time of the page. */
static inline int64_t gt_page_time(const gt_page_work *w, int64_t schedule_ns)
{
    return schedule_ns - w->zero_ns;
}

/* The sum of two durations. A trace with absurd times may have sums that do not fit; and the page computes
 * with doubles, which hold all integers up to 2^53. */
static inline int64_t gt_page_add_ns(int64_t sum, int64_t ns)
{
    const int64_t most = INT64_C(1) << 53;
    int64_t result;
    return __builtin_add_overflow(sum, ns, &result) || result > most ? most : result;
}

/* What all ops have; times are those of the schedule. */
typedef struct gt_page_op {
    int64_t start_ns, end_ns;
    int64_t bytes; /* of copies and memsets; 0: unknown */
    uint32_t name; /* string id */
    uint8_t kind;  /* gt_event_kind: KERNEL, MEMCPY or MEMSET */
    bool communicates;
} gt_page_op;

static inline gt_page_op gt_page_op_at(const gt_page_work *w, size_t op)
{
    if (op < w->schedule->op_count) {
        const gt_gpu_op *own = &w->schedule->ops[op];
        return (gt_page_op){own->start_ns, own->end_ns, own->bytes, own->name, own->kind, own->communicates};
    }
    const gt_other_op *other = &w->devices.others[op - w->schedule->op_count];
    return (gt_page_op){other->start_ns, other->end_ns, other->bytes,
                        other->name,     other->kind,   other->communicates};
}

/* How many events page_gpu has, or page_host. */
static inline size_t gt_page_kept(const gt_page_work *w, bool of_streams)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->lane_count; i++)
        if (w->lanes[i].is_stream == of_streams) kept += w->lanes[i].kept;
    return kept;
}

/* ---- the largest of many (largest.c) ---- */

/* Which of many numbers are kept if there is only place for some. */
typedef struct gt_page_largest {
    int64_t least;   /* all that are larger are kept ... */
    size_t of_least; /* ... and the first so many of these */
} gt_page_largest;
gt_page_largest gt_page_largest_find(const int64_t *values, size_t count, size_t keep);
/* Asked once for each number, in their order. */
static inline bool gt_page_largest_keeps(gt_page_largest *largest, int64_t value)
{
    if (value != largest->least) return value > largest->least;
    return largest->of_least > 0 && largest->of_least-- > 0;
}

/* ---- what is known, in this order ---- */

void gt_page_find_lanes(gt_page_work *w);   /* lanes.c: lanes, thread_lane, op_lane, order */
void gt_page_find_kernels(gt_page_work *w); /* kernels.c: kernels, op_kernel */
void gt_page_find_calls(gt_page_work *w);   /* calls.c: calls, nodes, op_call, launch_ops, op_begins */
void gt_page_find_sums(gt_page_work *w);    /* sums.c: sums, op_sum, categories */
void gt_page_find_exact(gt_page_work *w);   /* gpu.c: exact_start, exact_end, what streams keep */
void gt_page_find_host(gt_page_work *w);    /* host.c: host_limit_ns, what threads keep */

/* ---- the tables, each function in a file of its name ---- */

void gt_page_add_lanes(const gt_page_work *w, gt_table_list *tables);
void gt_page_add_gpu(const gt_page_work *w, gt_table_list *tables);
void gt_page_add_kernels(const gt_page_work *w, gt_table_list *tables);
void gt_page_add_calls(const gt_page_work *w, gt_table_list *tables); /* and page_nodes */
void gt_page_add_sums(const gt_page_work *w, gt_table_list *tables);
/* page_bins and page_bin_sums, if page_gpu does not have all. Returns the number of bins of the sums. */
size_t gt_page_add_bins(const gt_page_work *w, gt_table_list *tables);
void gt_page_add_host(const gt_page_work *w, gt_table_list *tables);

/* Returns the idle time that is left out, in ns. */
int64_t gt_page_add_idle(const gt_page_work *w, gt_table_list *tables);
/* And page_step_parts. Returns the number of steps that are left out. */
size_t gt_page_add_steps(const gt_page_work *w, gt_table_list *tables);
void gt_page_add_copies(const gt_page_work *w, gt_table_list *tables);
void gt_page_add_memory(const gt_page_work *w, gt_table_list *tables);
void gt_page_add_evidence(const gt_page_work *w, gt_table_list *tables);
void gt_page_add_peaks(const gt_page_work *w, gt_table_list *tables);
