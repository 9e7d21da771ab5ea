/* Power and memory of the GPUs of this machine, from the first source that works: the amdgpu driver's files,
 * ROCm's library, NVIDIA's library. */
#ifndef GT_RUN_SENSORS_SENSORS_H
#define GT_RUN_SENSORS_SENSORS_H

#include "base/error.h"
#include "base/memory.h"

typedef struct gt_sensors gt_sensors;

struct gt_sensors {
    const char *name; /* of the source */
    size_t count;     /* devices */
    void *state;
    double (*power_w)(gt_sensors *sensors, size_t device); /* NaN where it cannot be read */
    double (*memory_percent)(gt_sensors *sensors,
                             size_t device); /* of the device's memory in use; NaN as above */
    bool (*is_secondary)(gt_sensors *sensors, size_t device); /* a die whose power its twin reports */
    void (*close)(gt_sensors *sensors);
};

/* False where no source has a device. GPUTALLY_SMI_FAKE names a file of rows t,device,watts,used,total for
 * tests: what holds from t seconds on; watts "-" is a secondary die, "" cannot be read. */
bool gt_sensors_open(gt_arena *arena, gt_sensors *sensors);

/* One function a source; false where it has no device. */
bool gt_sensors_open_fake(gt_arena *arena, gt_sensors *sensors);
bool gt_sensors_open_sysfs(gt_arena *arena, gt_sensors *sensors);
bool gt_sensors_open_rocm(gt_arena *arena, gt_sensors *sensors);
bool gt_sensors_open_nvml(gt_arena *arena, gt_sensors *sensors);

#endif
