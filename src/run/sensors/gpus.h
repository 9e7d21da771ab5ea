/* The GPUs of this machine, as the kernel lists them. */
#ifndef GT_RUN_SENSORS_GPUS_H
#define GT_RUN_SENSORS_GPUS_H

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gt_gpu {
    const char *name;   /* for people: "AMD 0x74a1 at 0000:0c:00.0" */
    const char *device; /* its folder in sysfs */
    int render_node;    /* N of /dev/dri/renderDN */
    bool is_amd;
} gt_gpu;

typedef struct gt_gpu_list {
    gt_gpu *items;
    size_t count;
} gt_gpu_list;

/* GPUs with a render node, in the order of their PCI addresses, which is that of ROCm. GPUTALLY_SYSFS stands
 * for /sys in tests. */
gt_gpu_list gt_gpus_find(gt_arena *arena);

#endif
