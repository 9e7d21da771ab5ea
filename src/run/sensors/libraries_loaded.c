/* Sensors from the management libraries of ROCm and NVIDIA, which are loaded at run time if they are
 * installed. */
#include "run/sensors/sensors.h"
#include "base/memory.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Looks up every function of a table; returns false if a required one is missing. */
typedef struct wanted_function {
    const char *name;
    void **place;
    bool optional;
} wanted_function;

static bool load(void *library, const wanted_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        *functions[i].place = dlsym(library, functions[i].name);
        if (!*functions[i].place && !functions[i].optional) return false;
    }
    return true;
}

/* ---- librocm_smi64 ---- */

typedef struct rocm {
    void *library;
    int (*init)(uint64_t);
    int (*shut_down)(void);
    int (*count)(uint32_t *);
    int (*power)(uint32_t, uint64_t *, int *);
    int (*power_average)(uint32_t, uint32_t, uint64_t *);
    int (*used)(uint32_t, int, uint64_t *);
    int (*total)(uint32_t, int, uint64_t *);
    int (*energy)(uint32_t, uint64_t *, float *, uint64_t *);
} rocm;

static double rocm_power(gt_sensors *sensors, size_t device)
{
    const rocm *r = sensors->state;
    uint64_t microwatts = 0;
    int type;
    if (r->power && r->power((uint32_t)device, &microwatts, &type) == 0) return (double)microwatts / 1e6;
    if (r->power_average && r->power_average((uint32_t)device, 0, &microwatts) == 0)
        return (double)microwatts / 1e6;
    return NAN;
}

static double rocm_memory(gt_sensors *sensors, size_t device)
{
    const rocm *r = sensors->state;
    uint64_t used, total; /* of kind 0: VRAM */
    if (r->used((uint32_t)device, 0, &used) != 0 || r->total((uint32_t)device, 0, &total) != 0 || !total)
        return NAN;
    return 100 * (double)used / (double)total;
}

static bool rocm_is_secondary(gt_sensors *sensors, size_t device)
{
    const rocm *r = sensors->state;
    uint64_t energy = 0, timestamp;
    float resolution;
    return r->energy && r->energy((uint32_t)device, &energy, &resolution, &timestamp) == 0 && energy == 0;
}

static double rocm_energy(gt_sensors *sensors, size_t device)
{
    const rocm *r = sensors->state;
    uint64_t ticks = 0, timestamp;
    float tick_microjoules = 0;
    if (!r->energy || r->energy((uint32_t)device, &ticks, &tick_microjoules, &timestamp) != 0 || !ticks ||
        !(tick_microjoules > 0))
        return NAN;
    return (double)ticks * (double)tick_microjoules / 1e6;
}

static void rocm_close(gt_sensors *sensors)
{
    rocm *r = sensors->state;
    if (r->shut_down) r->shut_down();
    dlclose(r->library);
}

static void *open_first(const char *const *names, size_t count)
{
    void *library = NULL;
    for (size_t i = 0; !library && i < count; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

bool gt_sensors_open_rocm(gt_arena *arena, gt_sensors *sensors)
{
    static const char *const names[] = {"librocm_smi64.so", "librocm_smi64.so.7", "librocm_smi64.so.1",
                                        "/opt/rocm/lib/librocm_smi64.so"};
    rocm *r = gt_arena_alloc(arena, sizeof *r);
    *r = (rocm){.library = open_first(names, GT_LENGTH(names))};
    if (!r->library) return false;
    const wanted_function functions[] = {
        {"rsmi_init", (void **)&r->init, false},
        {"rsmi_shut_down", (void **)&r->shut_down, true},
        {"rsmi_num_monitor_devices", (void **)&r->count, false},
        {"rsmi_dev_power_get", (void **)&r->power, true},
        {"rsmi_dev_power_ave_get", (void **)&r->power_average, true},
        {"rsmi_dev_memory_usage_get", (void **)&r->used, false},
        {"rsmi_dev_memory_total_get", (void **)&r->total, false},
        {"rsmi_dev_energy_count_get", (void **)&r->energy, true},
    };
    uint32_t count = 0;
    *sensors = (gt_sensors){"librocm_smi64",   0,           r,         rocm_power, rocm_memory,
                            rocm_is_secondary, rocm_energy, rocm_close};
    if (load(r->library, functions, GT_LENGTH(functions)) && r->init(0) == 0 && r->count(&count) == 0 &&
        count) {
        sensors->count = count;
        return true;
    }
    dlclose(r->library);
    return false;
}

/* ---- libnvidia-ml ---- */

typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;

typedef struct nvml_pci {
    char short_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} nvml_pci;

/* One value of nvmlDeviceGetFieldValues, with the layout of nvml.h. */
typedef struct nvml_field {
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, status;
    union {
        double real;
        unsigned number;
        unsigned long long_number;
        unsigned long long large;
    } value;
} nvml_field;

enum {
    NVML_POWER_INSTANT = 186,
    NVML_TYPE_REAL = 0,
    NVML_TYPE_UNSIGNED = 1,
    NVML_TYPE_LONG = 2,
    NVML_TYPE_LARGE = 3
};

typedef struct nvml {
    void *library;
    int (*init)(void);
    int (*shut_down)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*power)(void *, unsigned *);
    int (*memory)(void *, nvml_memory *);
    int (*fields)(void *, int, nvml_field *);
    int (*energy)(void *, unsigned long long *);
    void **devices;
    /* only for the description; NULL: this version of the library does not have it */
    int (*driver_version)(char *, unsigned);
    int (*cuda_version)(int *);
    int (*name)(void *, char *, unsigned);
    int (*uuid)(void *, char *, unsigned);
    int (*vbios)(void *, char *, unsigned);
    int (*pci)(void *, nvml_pci *);
    int (*power_limit)(void *, unsigned *);
    int (*ecc)(void *, int *, int *);
    int (*clock)(void *, int, unsigned *);
    int (*max_clock)(void *, int, unsigned *);
} nvml;

/* The power at this moment in milliwatts; NaN where the driver does not have it. */
static double nvml_power_now(const nvml *n, size_t device)
{
    nvml_field field = {.field = NVML_POWER_INSTANT};
    if (!n->fields || n->fields(n->devices[device], 1, &field) != 0 || field.status != 0) return NAN;
    switch (field.type) {
    case NVML_TYPE_REAL:
        return field.value.real;
    case NVML_TYPE_UNSIGNED:
        return field.value.number;
    case NVML_TYPE_LONG:
        return (double)field.value.long_number;
    case NVML_TYPE_LARGE:
        return (double)field.value.large;
    default:
        return NAN;
    }
}

/* nvmlDeviceGetPowerUsage is the average of the last second on GPUs since Ampere, which blurs short runs; it
 * is used where there is nothing better. */
static double nvml_power(gt_sensors *sensors, size_t device)
{
    const nvml *n = sensors->state;
    unsigned average;
    double milliwatts = nvml_power_now(n, device);
    if (!(milliwatts > 0)) {
        if (n->power(n->devices[device], &average) != 0) return NAN;
        milliwatts = average;
    }
    return round(milliwatts / 10) / 100; /* rounded to two decimals */
}

static double nvml_energy(gt_sensors *sensors, size_t device)
{
    const nvml *n = sensors->state;
    unsigned long long millijoules;
    if (!n->energy || n->energy(n->devices[device], &millijoules) != 0) return NAN;
    return (double)millijoules / 1e3;
}

static double nvml_memory_percent(gt_sensors *sensors, size_t device)
{
    const nvml *n = sensors->state;
    nvml_memory memory;
    if (n->memory(n->devices[device], &memory) != 0 || !memory.total) return NAN;
    return 100 * (double)memory.used / (double)memory.total;
}

static bool nvml_is_secondary(gt_sensors *sensors, size_t device)
{
    (void)sensors, (void)device;
    return false;
}

static void nvml_close(gt_sensors *sensors)
{
    nvml *n = sensors->state;
    n->shut_down();
    dlclose(n->library);
}

/* ---- libnvidia-ml: the description of a GPU ---- */

enum { NVML_TEXT = 96, CLOCK_SM = 1, CLOCK_MEMORY = 2 };

static const char *nvml_text(gt_arena *arena, int (*get)(void *, char *, unsigned), void *device)
{
    char text[NVML_TEXT] = "";
    if (!get || get(device, text, sizeof text) != 0) return NULL;
    text[sizeof text - 1] = 0;
    return *text ? gt_arena_bytes(arena, text, strlen(text)) : NULL;
}

static double nvml_mhz(int (*get)(void *, int, unsigned *), void *device, int type)
{
    unsigned mhz = 0;
    return get && get(device, type, &mhz) == 0 ? (double)mhz : NAN;
}

/* "00000000:19:00.0" as the kernel writes it: "0000:19:00.0". */
static const char *nvml_address(gt_arena *arena, const nvml *n, void *device)
{
    nvml_pci info = {0};
    if (!n->pci || n->pci(device, &info) != 0) return NULL;
    info.bus_id[sizeof info.bus_id - 1] = 0;
    size_t len = strlen(info.bus_id), skipped = len > 12 ? len - 12 : 0;
    for (char *c = info.bus_id; *c; c++) *c = (char)tolower((unsigned char)*c);
    return len ? gt_arena_bytes(arena, info.bus_id + skipped, len - skipped) : NULL;
}

static void nvml_describe(gt_sensors *sensors, size_t index, gt_arena *arena, gt_gpu_entry *facts)
{
    const nvml *n = sensors->state;
    void *device = n->devices[index];
    nvml_memory memory;
    unsigned milliwatts = 0;
    int ecc = -1, pending;
    *facts = (gt_gpu_entry){
        .vendor = "NVIDIA",
        .name = nvml_text(arena, n->name, device),
        .uuid = nvml_text(arena, n->uuid, device),
        .vbios = nvml_text(arena, n->vbios, device),
        .pci = nvml_address(arena, n, device),
        .memory_bytes = n->memory(device, &memory) == 0 ? (double)memory.total : NAN,
        .power_limit_w = n->power_limit && n->power_limit(device, &milliwatts) == 0 ? milliwatts / 1e3 : NAN,
        .ecc = n->ecc && n->ecc(device, &ecc, &pending) == 0 ? ecc != 0 : -1,
        .max_clocks = {nvml_mhz(n->max_clock, device, CLOCK_SM),
                       nvml_mhz(n->max_clock, device, CLOCK_MEMORY)}};
}

static gt_gpu_clocks nvml_clocks(gt_sensors *sensors, size_t device)
{
    const nvml *n = sensors->state;
    return (gt_gpu_clocks){nvml_mhz(n->clock, n->devices[device], CLOCK_SM),
                           nvml_mhz(n->clock, n->devices[device], CLOCK_MEMORY)};
}

static void nvml_versions(gt_sensors *sensors, gt_arena *arena, const char **driver, const char **cuda)
{
    const nvml *n = sensors->state;
    char text[NVML_TEXT] = "";
    int version = 0; /* 13010: 13.1 */
    *driver = *cuda = NULL;
    if (n->driver_version && n->driver_version(text, sizeof text) == 0 && *text)
        *driver = gt_arena_bytes(arena, text, strnlen(text, sizeof text));
    if (n->cuda_version && n->cuda_version(&version) == 0 && version >= 1000)
        *cuda = gt_arena_format(arena, "%d.%d", version / 1000, version % 1000 / 10);
}

static bool nvml_find_devices(gt_arena *arena, nvml *n, size_t *count)
{
    unsigned found = 0;
    if (n->count(&found) != 0 || !found) return false;
    n->devices = gt_arena_alloc(arena, found * sizeof *n->devices);
    for (unsigned i = 0; i < found; i++)
        if (n->handle(i, &n->devices[i]) != 0) return false;
    *count = found;
    return true;
}

bool gt_sensors_open_nvml(gt_arena *arena, gt_sensors *sensors)
{
    static const char *const names[] = {"libnvidia-ml.so.1"};
    nvml *n = gt_arena_alloc(arena, sizeof *n);
    *n = (nvml){.library = open_first(names, GT_LENGTH(names))};
    if (!n->library) return false;
    const wanted_function functions[] = {
        {"nvmlInit_v2", (void **)&n->init, false},
        {"nvmlShutdown", (void **)&n->shut_down, false},
        {"nvmlDeviceGetCount_v2", (void **)&n->count, false},
        {"nvmlDeviceGetHandleByIndex_v2", (void **)&n->handle, false},
        {"nvmlDeviceGetPowerUsage", (void **)&n->power, false},
        {"nvmlDeviceGetMemoryInfo", (void **)&n->memory, false},
        {"nvmlDeviceGetFieldValues", (void **)&n->fields, true},
        {"nvmlDeviceGetTotalEnergyConsumption", (void **)&n->energy, true},
        {"nvmlSystemGetDriverVersion", (void **)&n->driver_version, true},
        {"nvmlSystemGetCudaDriverVersion_v2", (void **)&n->cuda_version, true},
        {"nvmlDeviceGetName", (void **)&n->name, true},
        {"nvmlDeviceGetUUID", (void **)&n->uuid, true},
        {"nvmlDeviceGetVbiosVersion", (void **)&n->vbios, true},
        {"nvmlDeviceGetPciInfo_v3", (void **)&n->pci, true},
        {"nvmlDeviceGetEnforcedPowerLimit", (void **)&n->power_limit, true},
        {"nvmlDeviceGetEccMode", (void **)&n->ecc, true},
        {"nvmlDeviceGetClockInfo", (void **)&n->clock, true},
        {"nvmlDeviceGetMaxClockInfo", (void **)&n->max_clock, true},
    };
    *sensors = (gt_sensors){"libnvidia-ml",
                            0,
                            n,
                            nvml_power,
                            nvml_memory_percent,
                            nvml_is_secondary,
                            nvml_energy,
                            nvml_close,
                            .describe = nvml_describe,
                            .clocks = nvml_clocks,
                            .versions = nvml_versions};
    if (load(n->library, functions, GT_LENGTH(functions)) && n->init() == 0) {
        if (nvml_find_devices(arena, n, &sensors->count)) return true;
        n->shut_down();
    }
    dlclose(n->library);
    return false;
}
