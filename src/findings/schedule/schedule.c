/* The causes of idle time: their names, and the cause of each kind of call. build.c makes a schedule. */
#include "findings/schedule/schedule.h"

static const char *const cause_names[GT_CAUSES] = {
    [GT_CAUSE_LAUNCH] = "launch",
    [GT_CAUSE_SYNC] = "sync",
    [GT_CAUSE_DATA] = "data",
    [GT_CAUSE_CPU_OP] = "cpu_op",
    [GT_CAUSE_PYTHON] = "python",
    [GT_CAUSE_UNTRACED] = "untraced",
    [GT_CAUSE_ALLOC] = "alloc",
    [GT_CAUSE_MODULE] = "module",
    [GT_CAUSE_COPY] = "copy",
    [GT_CAUSE_PROFILER] = "profiler",
    [GT_CAUSE_DEVICE_GAP] = "device_gap",
    [GT_CAUSE_DEPENDENCY] = "dependency",
    [GT_CAUSE_DEVICE_WAIT] = "device_wait",
    [GT_CAUSE_COLLECTIVE] = "collective",
    [GT_CAUSE_UNKNOWN] = "unknown",
};

const char *gt_cause_name(gt_cause cause)
{
    return cause_names[cause];
}

gt_cause gt_cause_of_call(uint8_t kind)
{
    switch (kind) {
    case GT_API_SYNC:
        return GT_CAUSE_SYNC;
    case GT_API_FREE:
    case GT_API_ALLOC:
        return GT_CAUSE_ALLOC;
    case GT_API_MODULE:
        return GT_CAUSE_MODULE;
    case GT_API_COPY:
        return GT_CAUSE_COPY;
    default:
        return GT_CAUSE_LAUNCH;
    }
}
