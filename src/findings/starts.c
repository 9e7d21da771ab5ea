/* What decides when an op of the GPU starts?
 *
 *     it starts ...                       when its call ...                                      the replay
 * adds HOST        after its launch        came after the op before it on the stream had ended    start -
 * call QUEUE       after the op before it  came before that                                       start - its
 * end DEPENDENCY  after an op of another  and the start is late, but another stream had work     start - its
 * end stream                  that ended just before FIXED       as recorded             is unknown, and it
 * is the first op of its stream       start
 *
 * The recorded trace does not say which op waits for which of another stream. The op that ended last before
 * the start is taken if it ended after everything else that the op had to wait for. */
#include "findings/build.h"

#include "base/memory.h"
#include "table/stats.h"

/* An op that starts later than this after its launch on an idle stream, or after the op before it in the
 * queue, waits for something else. */
enum { LATE_LAUNCH_NS = 100000, LATE_QUEUE_NS = 20000 };
/* Starts and ends of ops on different streams are this exact. */
enum { CLOCK_ERROR_NS = 500 };
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
    return usual < LEAST_LAUNCH_NS ? LEAST_LAUNCH_NS : usual;
}

static void decide_start(gt_schedule *schedule, gt_gpu_op *op, uint32_t ended_last)
{
    readiness ready = readiness_of(schedule, op);
    bool is_late, is_launched = ready.host_ns >= ready.stream_ns;
    op->dependency = GT_NONE;
    if (op->point == GT_NONE && op->previous == GT_NONE) {
        op->begins = GT_START_FIXED;
        op->offset_ns = op->start_ns;
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
    if (!is_late || ended_last == GT_NONE) return;
    const gt_gpu_op *other = &schedule->ops[ended_last];
    if (other->stream == op->stream || other->end_ns > op->start_ns + CLOCK_ERROR_NS) return;
    if (other->end_ns <= ready.stream_ns || other->end_ns <= ready.host_ns) return;
    op->begins = GT_START_DEPENDENCY;
    op->offset_ns = op->start_ns - other->end_ns;
    op->dependency = ended_last;
}

void gt_build_starts(gt_schedule *schedule)
{
    link_streams(schedule);
    schedule->launch_ns = usual_launch_ns(schedule);
    uint32_t ended_last =
        GT_NONE; /* of the ops so far, the one with the largest end; of equal ones the first */
    for (size_t i = 0; i < schedule->op_count; i++) {
        gt_gpu_op *op = &schedule->ops[i];
        decide_start(schedule, op, ended_last);
        if (ended_last == GT_NONE || op->end_ns > schedule->ops[ended_last].end_ns) ended_last = (uint32_t)i;
    }
}
