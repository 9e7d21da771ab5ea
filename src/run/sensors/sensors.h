/* GPUs of this machine, their sensors, and a thread that samples power and memory while a command runs. */
#ifndef GT_RUN_SENSORS_SENSORS_H
#define GT_RUN_SENSORS_SENSORS_H

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- GPUs (sensors.c) ---- */

typedef struct gt_gpu {
    const char *name;   /* for messages: "AMD 0x74a1 at 0000:0c:00.0" */
    const char *device; /* its folder in sysfs */
    int render_node;    /* N of /dev/dri/renderDN */
    bool is_amd;
} gt_gpu;

typedef struct gt_gpu_list {
    gt_gpu *items;
    size_t count;
} gt_gpu_list;

/* GPUs with a render node, ordered by PCI address like ROCm. Tests set GPUTALLY_SYSFS in place of /sys. */
gt_gpu_list gt_gpus_find(gt_arena *arena);

/* ---- what is known of a GPU (inventory.c) ---- */

/* In MHz; NaN: unknown. */
typedef struct gt_gpu_clocks {
    double core_mhz, memory_mhz;
} gt_gpu_clocks;

typedef struct gt_gpu_entry {
    const char *vendor;            /* "AMD" or "NVIDIA" */
    const char *name, *uuid, *pci; /* NULL: unknown, as for all strings here */
    const char *vbios;
    double memory_bytes, power_limit_w; /* NaN: unknown */
    int ecc;                            /* 1: on, 0: off, -1: unknown */
    gt_gpu_clocks max_clocks;
} gt_gpu_entry;

typedef struct gt_inventory gt_inventory;

/* Describes the GPUs of this machine: those of gt_gpus_find in its order, then those that only NVIDIA's
 * library knows, as in some containers. The library stays open until gt_inventory_close, because opening it
 * again may take seconds. Everything is in the arena. */
gt_inventory *gt_inventory_open(gt_arena *arena);
void gt_inventory_close(gt_inventory *inventory);
size_t gt_inventory_count(const gt_inventory *inventory);
const gt_gpu_entry *gt_inventory_gpu(const gt_inventory *inventory, size_t index);
/* The clocks at this moment. */
gt_gpu_clocks gt_inventory_clocks(gt_inventory *inventory, size_t index);
/* Versions of NVIDIA's driver and of the newest CUDA that it supports ("13.0"); NULL: unknown. */
const char *gt_inventory_nvidia_driver(const gt_inventory *inventory);
const char *gt_inventory_cuda_driver(const gt_inventory *inventory);

/* Whether there is an NVIDIA GPU, also without its library. */
bool gt_gpus_have_nvidia(gt_arena *arena);

/* ---- sensors (sensors.c, libraries.c) ---- */

typedef struct gt_sensors gt_sensors;

struct gt_sensors {
    const char *name; /* of the source */
    size_t count;     /* devices */
    void *state;
    double (*power_w)(gt_sensors *sensors, size_t device); /* NaN if it cannot be read */
    double (*memory_percent)(gt_sensors *sensors,
                             size_t device);                  /* used share of the device's memory; or NaN */
    bool (*is_secondary)(gt_sensors *sensors, size_t device); /* a die whose power its twin reports */
    /* The device's own count of the energy that it has taken so far; NaN if it has none. */
    double (*energy_j)(gt_sensors *sensors, size_t device);
    void (*close)(gt_sensors *sensors);
    /* NVML only; NULL elsewhere */
    void (*describe)(gt_sensors *sensors, size_t device, gt_arena *arena, gt_gpu_entry *facts);
    gt_gpu_clocks (*clocks)(gt_sensors *sensors, size_t device);
    void (*versions)(gt_sensors *sensors, gt_arena *arena, const char **driver, const char **cuda);
};

/* Opens the first source that has a device: a library (libraries.c) or sysfs. Returns false if there is none.
 * Tests set GPUTALLY_SMI_FAKE to a file with rows t,device,watts,used,total[,joules]: the values from t
 * seconds on; watts "-" is a secondary die, "" cannot be read; joules is the state of an energy counter. */
bool gt_sensors_open(gt_arena *arena, gt_sensors *sensors);

/* The libraries; false if the library is not installed or has no device. */
bool gt_sensors_open_rocm(gt_arena *arena, gt_sensors *sensors);
bool gt_sensors_open_nvml(gt_arena *arena, gt_sensors *sensors);

/* ---- sampler (sampler.c) ---- */

/* What is sampled, how often, and into which file. */
typedef struct gt_sampler_plan {
    const char *mode;    /* "power" or "vram" */
    const char *devices; /* "all", or comma-separated numbers */
    double period_s;
    const char *file;
} gt_sampler_plan;

typedef struct gt_sampler gt_sampler;

/* Starts sampling: immediately, then every period. Warns and returns NULL if no GPU of the plan can be
 * sampled; the run continues without. The sensors must outlive the sampler. */
gt_sampler *gt_sampler_start(const gt_sampler_plan *plan, gt_sensors *sensors);

/* What the energy counter of a device has counted while a power sampler ran. */
typedef struct gt_counted_energy {
    size_t device;
    double joules; /* NaN: it has no counter */
} gt_counted_energy;

typedef struct gt_sampler_result {
    bool has_file;              /* it has been written */
    bool failed;                /* it could not be written */
    gt_counted_energy *counted; /* of a power sampler; in the arena */
    size_t count;
} gt_sampler_result;

/* Takes the last sample, ends the thread and renames the file to its final name. NULL is allowed. */
gt_sampler_result gt_sampler_stop(gt_sampler *sampler, gt_arena *arena);

#endif
