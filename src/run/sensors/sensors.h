/* GPUs of this machine, their sensors, and a thread that samples power and memory while a command runs. */
#pragma once

#include "base/memory.h"

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

/* A file of sysfs, in the folder that GPUTALLY_SYSFS names or in /sys. */
const char *gt_sysfs_path(gt_arena *arena, const char *name);
/* GPUs with a render node, ordered by PCI address like ROCm. */
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

typedef enum gt_sensor {
    GT_SENSOR_POWER_W,
    GT_SENSOR_MEMORY_PERCENT, /* used share of the device's memory */
    GT_SENSOR_ENERGY_J,       /* the device's own count of the energy that it has taken so far */
    GT_SENSOR_IS_SECONDARY,   /* 1: a die whose power another device reports */
    /* of NVML only */
    GT_SENSOR_CORE_MHZ,
    GT_SENSOR_MEMORY_MHZ,
    GT_SENSOR_MAX_CORE_MHZ,
    GT_SENSOR_MAX_MEMORY_MHZ,
    GT_SENSOR_MEMORY_BYTES,
    GT_SENSOR_POWER_LIMIT_W,
    GT_SENSOR_ECC, /* 1: on, 0: off */
    /* of NVML only, texts */
    GT_SENSOR_NAME,
    GT_SENSOR_UUID,
    GT_SENSOR_PCI,
    GT_SENSOR_VBIOS,
    GT_SENSOR_DRIVER, /* of any device */
    GT_SENSOR_CUDA,   /* of any device */
} gt_sensor;

enum { GT_SENSOR_TEXT = 96 };
typedef struct gt_sensor_value {
    double number;             /* NaN: unknown */
    char text[GT_SENSOR_TEXT]; /* "": unknown */
} gt_sensor_value;

/* What libraries.c asks of the helper that loads the library (helper/sensors.c). */
typedef struct gt_sensor_request {
    gt_sensor sensor;
    uint32_t device;
} gt_sensor_request;

typedef struct gt_sensors gt_sensors;

struct gt_sensors {
    size_t count; /* devices */
    void *state;
    /* Sets what the source knows in a value in which nothing is known. */
    void (*read)(gt_sensors *sensors, gt_sensor_request request, gt_sensor_value *value);
    void (*close)(gt_sensors *sensors);
};

gt_sensor_value gt_sensors_read(gt_sensors *sensors, gt_sensor sensor, size_t device);

/* Opens the first source that has a device: a library (libraries.c) or sysfs. Returns false if there is none.
 */
bool gt_sensors_open(gt_arena *arena, gt_sensors *sensors);

/* A library of ROCm or NVIDIA, which a helper loads (helper/helper.h): a driver that blocks or crashes does
 * not affect this process. False if the library is not installed or has no device. */
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
