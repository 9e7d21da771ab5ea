/* Sensors of GPUs from the management libraries of ROCm and NVIDIA, one process per library.
 *
 * The program (run/sensors/libraries.c) sends a gt_sensor_request to standard input and gets a
 * gt_sensor_value from standard output, which is the same socket. The first value, without a request, is the
 * number of devices. The process ends with its input. */
#include "helper/helper.h"
#include "os/library.h"
#include "run/sensors/sensors.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

/* ---- librocm_smi64 ---- */

static struct rocm {
    int (*init)(uint64_t);
    int (*shut_down)(void);
    int (*count)(uint32_t *);
    int (*power)(uint32_t, uint64_t *, int *);
    int (*power_average)(uint32_t, uint32_t, uint64_t *);
    int (*used)(uint32_t, int, uint64_t *);
    int (*total)(uint32_t, int, uint64_t *);
    int (*energy)(uint32_t, uint64_t *, float *, uint64_t *);
} rocm;

static const gt_library_function rocm_functions[] = {
    {"rsmi_init", &rocm.init, false},
    {"rsmi_shut_down", &rocm.shut_down, true},
    {"rsmi_num_monitor_devices", &rocm.count, false},
    {"rsmi_dev_power_get", &rocm.power, true},
    {"rsmi_dev_power_ave_get", &rocm.power_average, true},
    {"rsmi_dev_memory_usage_get", &rocm.used, false},
    {"rsmi_dev_memory_total_get", &rocm.total, false},
    {"rsmi_dev_energy_count_get", &rocm.energy, true},
};

static double rocm_power(uint32_t device)
{
    uint64_t microwatts = 0;
    int type;
    if (rocm.power && rocm.power(device, &microwatts, &type) == 0) return (double)microwatts / 1e6;
    if (rocm.power_average && rocm.power_average(device, 0, &microwatts) == 0)
        return (double)microwatts / 1e6;
    return NAN;
}

static double rocm_memory(uint32_t device)
{
    uint64_t used, total; /* of kind 0: VRAM */
    if (rocm.used(device, 0, &used) != 0 || rocm.total(device, 0, &total) != 0 || !total) return NAN;
    return 100 * (double)used / (double)total;
}

static double rocm_energy(uint32_t device, bool *is_zero)
{
    uint64_t ticks = 0, timestamp;
    float tick_microjoules = 0;
    bool is_known = rocm.energy && rocm.energy(device, &ticks, &tick_microjoules, &timestamp) == 0;
    *is_zero = is_known && !ticks;
    return is_known && ticks && tick_microjoules > 0 ? (double)ticks * (double)tick_microjoules / 1e6 : NAN;
}

static void rocm_read(gt_sensor_request request, gt_sensor_value *value)
{
    bool is_zero;
    switch (request.sensor) {
    case GT_SENSOR_POWER_W:
        value->number = rocm_power(request.device);
        break;
    case GT_SENSOR_MEMORY_PERCENT:
        value->number = rocm_memory(request.device);
        break;
    case GT_SENSOR_ENERGY_J:
        value->number = rocm_energy(request.device, &is_zero);
        break;
    case GT_SENSOR_IS_SECONDARY: /* a die without a counter of its own */
        rocm_energy(request.device, &is_zero);
        value->number = is_zero;
        break;
    default:
        break;
    }
}

static uint32_t rocm_open(void)
{
    static const char *const names[] = {"librocm_smi64.so", "librocm_smi64.so.7", "librocm_smi64.so.1",
                                        "/opt/rocm/lib/librocm_smi64.so"};
    void *library = NULL;
    uint32_t count = 0;
    for (size_t i = 0; !library && i < GT_LENGTH(names); i++)
        library = gt_library_open(names[i], RTLD_NOW | RTLD_LOCAL, rocm_functions, GT_LENGTH(rocm_functions));
    return library && rocm.init(0) == 0 && rocm.count(&count) == 0 ? count : 0;
}

static void rocm_close(void)
{
    if (rocm.shut_down) rocm.shut_down();
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
    NVML_TYPE_LARGE = 3,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
};

static struct nvml {
    int (*init)(void);
    int (*shut_down)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*power)(void *, unsigned *);
    int (*memory)(void *, nvml_memory *);
    int (*fields)(void *, int, nvml_field *);
    int (*energy)(void *, unsigned long long *);
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

static const gt_library_function nvml_functions[] = {
    {"nvmlInit_v2", &nvml.init, false},
    {"nvmlShutdown", &nvml.shut_down, false},
    {"nvmlDeviceGetCount_v2", &nvml.count, false},
    {"nvmlDeviceGetHandleByIndex_v2", &nvml.handle, false},
    {"nvmlDeviceGetPowerUsage", &nvml.power, false},
    {"nvmlDeviceGetMemoryInfo", &nvml.memory, false},
    {"nvmlDeviceGetFieldValues", &nvml.fields, true},
    {"nvmlDeviceGetTotalEnergyConsumption", &nvml.energy, true},
    {"nvmlSystemGetDriverVersion", &nvml.driver_version, true},
    {"nvmlSystemGetCudaDriverVersion_v2", &nvml.cuda_version, true},
    {"nvmlDeviceGetName", &nvml.name, true},
    {"nvmlDeviceGetUUID", &nvml.uuid, true},
    {"nvmlDeviceGetVbiosVersion", &nvml.vbios, true},
    {"nvmlDeviceGetPciInfo_v3", &nvml.pci, true},
    {"nvmlDeviceGetEnforcedPowerLimit", &nvml.power_limit, true},
    {"nvmlDeviceGetEccMode", &nvml.ecc, true},
    {"nvmlDeviceGetClockInfo", &nvml.clock, true},
    {"nvmlDeviceGetMaxClockInfo", &nvml.max_clock, true},
};

static void **nvml_devices;

/* The power at this moment in milliwatts; NaN where the driver does not have it. */
static double nvml_power_now(void *device)
{
    nvml_field field = {.field = NVML_POWER_INSTANT};
    if (!nvml.fields || nvml.fields(device, 1, &field) != 0 || field.status != 0) return NAN;
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
static double nvml_power(void *device)
{
    unsigned average;
    double milliwatts = nvml_power_now(device);
    if (!(milliwatts > 0)) {
        if (nvml.power(device, &average) != 0) return NAN;
        milliwatts = average;
    }
    return round(milliwatts / 10) / 100; /* rounded to two decimals */
}

static double nvml_energy(void *device)
{
    unsigned long long millijoules;
    return nvml.energy && nvml.energy(device, &millijoules) == 0 ? (double)millijoules / 1e3 : NAN;
}

static double nvml_power_limit(void *device)
{
    unsigned milliwatts;
    return nvml.power_limit && nvml.power_limit(device, &milliwatts) == 0 ? milliwatts / 1e3 : NAN;
}

static double nvml_ecc(void *device)
{
    int is_on, pending;
    return nvml.ecc && nvml.ecc(device, &is_on, &pending) == 0 ? (is_on != 0) : NAN;
}

static double nvml_mhz(int (*get)(void *, int, unsigned *), void *device, int type)
{
    unsigned mhz;
    return get && get(device, type, &mhz) == 0 ? (double)mhz : NAN;
}

/* "00000000:19:00.0" as the kernel writes it: "0000:19:00.0". */
static void nvml_address(void *device, char *text)
{
    nvml_pci info = {0};
    if (!nvml.pci || nvml.pci(device, &info) != 0) return;
    info.bus_id[sizeof info.bus_id - 1] = 0;
    size_t len = strlen(info.bus_id), skipped = len > 12 ? len - 12 : 0;
    for (const char *c = info.bus_id + skipped; *c; c++) *text++ = (char)tolower((unsigned char)*c);
}

static void nvml_cuda_version(char *text)
{
    int version = 0; /* 13010: 13.1 */
    if (nvml.cuda_version && nvml.cuda_version(&version) == 0 && version >= 1000)
        snprintf(text, GT_SENSOR_TEXT, "%d.%d", version / 1000, version % 1000 / 10);
}

static double nvml_memory_of(void *device, bool is_percent)
{
    nvml_memory memory;
    if (nvml.memory(device, &memory) != 0) return NAN;
    if (!is_percent) return (double)memory.total;
    return memory.total ? 100 * (double)memory.used / (double)memory.total : NAN;
}

static void nvml_text(int (*get)(void *, char *, unsigned), void *device, char *text)
{
    if (!get || get(device, text, GT_SENSOR_TEXT) != 0) *text = 0;
}

static void nvml_read(gt_sensor_request request, gt_sensor_value *value)
{
    void *device = nvml_devices[request.device];
    switch (request.sensor) {
    case GT_SENSOR_POWER_W:
        value->number = nvml_power(device);
        break;
    case GT_SENSOR_MEMORY_PERCENT:
        value->number = nvml_memory_of(device, true);
        break;
    case GT_SENSOR_ENERGY_J:
        value->number = nvml_energy(device);
        break;
    case GT_SENSOR_CORE_MHZ:
        value->number = nvml_mhz(nvml.clock, device, NVML_CLOCK_SM);
        break;
    case GT_SENSOR_MEMORY_MHZ:
        value->number = nvml_mhz(nvml.clock, device, NVML_CLOCK_MEMORY);
        break;
    case GT_SENSOR_MAX_CORE_MHZ:
        value->number = nvml_mhz(nvml.max_clock, device, NVML_CLOCK_SM);
        break;
    case GT_SENSOR_MAX_MEMORY_MHZ:
        value->number = nvml_mhz(nvml.max_clock, device, NVML_CLOCK_MEMORY);
        break;
    case GT_SENSOR_MEMORY_BYTES:
        value->number = nvml_memory_of(device, false);
        break;
    case GT_SENSOR_POWER_LIMIT_W:
        value->number = nvml_power_limit(device);
        break;
    case GT_SENSOR_ECC:
        value->number = nvml_ecc(device);
        break;
    case GT_SENSOR_NAME:
        nvml_text(nvml.name, device, value->text);
        break;
    case GT_SENSOR_UUID:
        nvml_text(nvml.uuid, device, value->text);
        break;
    case GT_SENSOR_VBIOS:
        nvml_text(nvml.vbios, device, value->text);
        break;
    case GT_SENSOR_PCI:
        nvml_address(device, value->text);
        break;
    case GT_SENSOR_DRIVER:
        if (!nvml.driver_version || nvml.driver_version(value->text, GT_SENSOR_TEXT) != 0) *value->text = 0;
        break;
    case GT_SENSOR_CUDA:
        nvml_cuda_version(value->text);
        break;
    default:
        break;
    }
}

static uint32_t nvml_open(void)
{
    unsigned count = 0;
    if (!gt_library_open("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL, nvml_functions,
                         GT_LENGTH(nvml_functions)) ||
        nvml.init() != 0 || nvml.count(&count) != 0)
        return 0;
    nvml_devices = malloc((count + 1) * sizeof *nvml_devices);
    for (unsigned i = 0; i < count; i++)
        if (!nvml_devices || nvml.handle(i, &nvml_devices[i]) != 0) return 0;
    return count;
}

static void nvml_close(void)
{
    nvml.shut_down();
}

/* ---- requests ---- */

typedef struct source {
    uint32_t (*open)(void); /* the number of devices; 0: there is no library or no device */
    void (*read)(gt_sensor_request request, gt_sensor_value *value);
    void (*close)(void);
} source;

int gt_helper_sensors(bool is_nvml)
{
    static const source sources[] = {{rocm_open, rocm_read, rocm_close}, {nvml_open, nvml_read, nvml_close}};
    const source *library = &sources[is_nvml];
    uint32_t count = library->open();
    gt_sensor_value value = {.number = count};
    gt_sensor_request request;
    if (!count) return 1;
    while (write(STDOUT_FILENO, &value, sizeof value) == sizeof value &&
           read(STDIN_FILENO, &request, sizeof request) == sizeof request) {
        value = (gt_sensor_value){.number = NAN};
        if (request.device < count) library->read(request, &value);
        value.text[GT_SENSOR_TEXT - 1] = 0;
    }
    library->close();
    return 0;
}
