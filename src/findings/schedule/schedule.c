/* The causes of idle time: their names, and the cause of each kind of call. build.c makes a schedule. */
#include "findings/schedule/schedule.h"

static const struct {
    const char *name, *meaning;
} causes[GT_CAUSES] = {
    [GT_CAUSE_LAUNCH] = {"launch", "the host was preparing or issuing kernels"},
    [GT_CAUSE_SYNC] = {"sync", "the host had waited for the GPU and had not caught up again"},
    [GT_CAUSE_DATA] = {"data", "the host was loading input data"},
    [GT_CAUSE_CPU_OP] = {"cpu_op", "the host was computing an operator on the CPU"},
    [GT_CAUSE_PYTHON] = {"python", "the host was running Python code between operators"},
    [GT_CAUSE_UNTRACED] = {"untraced", "the host was doing something that the trace does not show"},
    [GT_CAUSE_ALLOC] = {"alloc", "the host was allocating or freeing memory"},
    [GT_CAUSE_MODULE] = {"module", "the host was loading or compiling GPU code on its first use"},
    [GT_CAUSE_COPY] = {"copy", "the host was inside a copy call"},
    [GT_CAUSE_PROFILER] = {"profiler", "the profiler itself was working between two steps"},
    [GT_CAUSE_DEVICE_GAP] = {"device_gap", "the usual short gap between queued kernels"},
    [GT_CAUSE_DEPENDENCY] = {"dependency", "queued work was waiting for work of another stream"},
    [GT_CAUSE_DEVICE_WAIT] = {"device_wait", "work that was launched started late"},
    [GT_CAUSE_COLLECTIVE] = {"collective", "the GPU was waiting for other ranks"},
    [GT_CAUSE_UNKNOWN] = {"unknown", "the launch of the next kernel was not recorded"},
};

const char *gt_cause_name(gt_cause cause)
{
    return causes[cause].name;
}

const char *gt_cause_meaning(gt_cause cause)
{
    return causes[cause].meaning;
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
