/* What decides when an op of the GPU starts?
 *
 *     HOST        its launch: the call came after the op before it on the stream had ended, or came before,
 *                 but still ran then, and the op starts later than a queued op would
 *     QUEUE       the op before it on its stream: the call came before that ended
 *     DEPENDENCY  an op of another stream: it starts late, but then something ended there
 *     FIXED       nothing is known: its launch was not recorded, and it is the first op of its stream
 *
 * The offset is the time from there to the start; that of FIXED is the start itself.
 *
 * The recorded trace does not say which op waits for which of another stream. The op that ended last before
 * the start is taken if it ended after everything else that the op had to wait for. Other ops may still
 * run then: libraries use several streams of their own side by side. */
#include "findings/schedule/build.h"

#include "base/memory.h"
#include "table/stats.h"
#include "trace/rows.h"

/* An op that starts later than this after its launch on an idle stream, or after the op before it in the
 * queue, waits for something else. */
enum { LATE_LAUNCH_NS = 100000, LATE_QUEUE_NS = 20000 };
/* The usual time from a call to its op: at least, and if no op was launched on an idle stream. */
enum { LEAST_LAUNCH_NS = 1000, DEFAULT_LAUNCH_NS = 4000 };

static void link_streams(gt_schedule *schedule)
{
    uint32_t *last = gt_alloc(schedule->stream_count * sizeof *last);
    for (uint32_t i = 0; i < schedule->stream_count; i++) last[i] = GT_NONE;
    for (size_t i = 0; i < schedule->op_count; i++) {
        gt_gpu_op *op = &schedule->ops[i];
        op->previous = last[op->stream];
        last[op->stream] = (uint32_t)i;
    }
    gt_free(last);
}

/* When everything known that the op had to wait for was over; INT64_MIN: nothing is known. */
typedef struct readiness {
    int64_t stream_ns; /* the op before it ended */
    int64_t host_ns;   /* its call was made */
} readiness;

static readiness readiness_of(const gt_schedule *schedule, const gt_gpu_op *op)
{
    return (readiness){
        .stream_ns = op->previous == GT_NONE ? INT64_MIN : schedule->ops[op->previous].end_ns,
        .host_ns = op->point == GT_NONE ? INT64_MIN : schedule->points[op->point].base_ns,
    };
}

/* The 25th percentile of the time from a call to its op on an idle stream. */
static int64_t usual_launch_ns(const gt_schedule *schedule)
{
    double *times = gt_alloc(schedule->op_count * sizeof *times);
    size_t count = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        readiness ready = readiness_of(schedule, op);
        if (op->point != GT_NONE && ready.host_ns >= ready.stream_ns)
            times[count++] = (double)(op->start_ns - ready.host_ns);
    }
    int64_t usual = count ? (int64_t)gt_select(times, count, count / 4) : DEFAULT_LAUNCH_NS;
    gt_free(times);
    if (usual > LATE_LAUNCH_NS) usual = DEFAULT_LAUNCH_NS; /* all of them wait for something */
    return usual < LEAST_LAUNCH_NS ? LEAST_LAUNCH_NS : usual;
}

/* The ops that have ended so far: the last of them, and the last of another stream than that one. */
typedef struct ended_ops {
    uint32_t *order; /* all ops by their ends */
    size_t next;     /* the first that has not ended */
    uint32_t last, other;
} ended_ops;

static ended_ops ended_new(const gt_schedule *schedule)
{
    ended_ops ended = {gt_alloc(schedule->op_count * sizeof *ended.order), 0, GT_NONE, GT_NONE};
    double *times = gt_alloc(schedule->op_count * sizeof *times);
    for (size_t i = 0; i < schedule->op_count; i++) {
        times[i] = (double)schedule->ops[i].end_ns;
        ended.order[i] = (uint32_t)i;
    }
    gt_order_rows(ended.order, schedule->op_count, times);
    gt_free(times);
    return ended;
}

/* The last op of another stream that ended before this one starts; GT_NONE. Asked in order of starts. */
static uint32_t ended_before(ended_ops *ended, const gt_schedule *schedule, const gt_gpu_op *op)
{
    const gt_gpu_op *ops = schedule->ops;
    for (; ended->next < schedule->op_count; ended->next++) {
        uint32_t candidate = ended->order[ended->next];
        if (ops[candidate].end_ns > op->start_ns + GT_CLOCK_ERROR_NS) break;
        if (&ops[candidate] >= op) continue; /* shorter than the clock's error */
        if (ended->last != GT_NONE && ops[ended->last].end_ns == ops[candidate].end_ns) continue;
        if (ended->last != GT_NONE && ops[ended->last].stream != ops[candidate].stream)
            ended->other = ended->last;
        ended->last = candidate;
    }
    if (ended->last != GT_NONE && ops[ended->last].stream != op->stream) return ended->last;
    return ended->other;
}

static void depend(gt_schedule *schedule, gt_gpu_op *op, uint32_t other)
{
    op->begins = GT_START_DEPENDENCY;
    op->offset_ns = op->start_ns - schedule->ops[other].end_ns;
    op->dependency = other;
}

/* Whether an op had to wait for its call: the call was made before free_ns, when all else that the op had to
 * wait for was over, and still ran then. A call that itself waits for ops says nothing. Of the ops of one
 * launch, such as those of a graph, only the first waits for the host. */
static bool waits_for_call(const gt_schedule *schedule, const gt_gpu_op *op, int64_t free_ns)
{
    if (op->point == GT_NONE || op->start_ns - free_ns <= GT_USUAL_GAP_NS) return false;
    const gt_host_point *point = &schedule->points[op->point];
    return point->end_ns > free_ns && point->wait_ns == 0 &&
           &schedule->ops[schedule->point_ops[point->first_op]] == op;
}

static void decide_start(gt_schedule *schedule, gt_gpu_op *op, uint32_t other)
{
    readiness ready = readiness_of(schedule, op);
    bool is_late, is_launched = ready.host_ns >= ready.stream_ns;
    op->dependency = GT_NONE;
    if (op->point == GT_NONE && op->previous == GT_NONE) {
        op->begins = GT_START_FIXED;
        op->offset_ns = op->start_ns;
        /* A stream that a library uses now and then. */
        if (other != GT_NONE && op->start_ns - schedule->ops[other].end_ns <= LATE_QUEUE_NS)
            depend(schedule, op, other);
        return;
    }
    if (is_launched) {
        op->begins = GT_START_HOST;
        op->offset_ns = op->start_ns - ready.host_ns;
        is_late = op->offset_ns > LATE_LAUNCH_NS;
    } else {
        op->begins = GT_START_QUEUE;
        op->offset_ns = op->start_ns - ready.stream_ns;
        is_late = op->offset_ns > LATE_QUEUE_NS;
    }
    int64_t free_ns = ready.stream_ns > ready.host_ns ? ready.stream_ns : ready.host_ns;
    bool has_other = other != GT_NONE && schedule->ops[other].end_ns > free_ns;
    if (has_other) free_ns = schedule->ops[other].end_ns;
    bool is_held = waits_for_call(schedule, op, free_ns);
    if (is_late && has_other && !is_held) {
        depend(schedule, op, other);
    } else if (is_held && !is_launched) {
        op->begins = GT_START_HOST;
        op->offset_ns = op->start_ns - ready.host_ns;
    }
}

void gt_build_starts(gt_schedule *schedule)
{
    link_streams(schedule);
    schedule->launch_ns = usual_launch_ns(schedule);
    ended_ops ended = ended_new(schedule);
    for (size_t i = 0; i < schedule->op_count; i++) {
        gt_gpu_op *op = &schedule->ops[i];
        decide_start(schedule, op, ended_before(&ended, schedule, op));
    }
    gt_free(ended.order);
}
