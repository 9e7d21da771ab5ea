/* Stands in for libnvidia-ml.so.1 where there is no NVIDIA GPU: two GPUs with constant figures. Functions and
 * their parameters are those of NVIDIA's public API reference. Built by the tests:
 *
 *     cc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o libnvidia-ml.so.1 nvml.c
 *
 * STANDIN_NVML_FAIL names functions (separated by spaces) that return NVML_ERROR_NOT_SUPPORTED; with "init",
 * nvmlInit_v2 fails. STANDIN_NVML_CLOCKS names a file whose two numbers are the current SM and memory clocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NO_SPACE = 7, GPUS = 2 };

typedef struct gpu {
    int index;
} gpu;

static gpu gpus[GPUS] = {{0}, {1}};

static int fails(const char *name)
{
    const char *list = getenv("STANDIN_NVML_FAIL"), *at = list ? strstr(list, name) : NULL;
    return at && (at == list || at[-1] == ' ') && (!at[strlen(name)] || at[strlen(name)] == ' ');
}

static int give(const char *function, char *text, unsigned size, const char *value)
{
    if (fails(function)) return NOT_SUPPORTED;
    if (strlen(value) >= size) return NO_SPACE;
    strcpy(text, value);
    return OK;
}

static int number(const char *function, unsigned *place, unsigned value)
{
    if (fails(function)) return NOT_SUPPORTED;
    *place = value;
    return OK;
}

int nvmlInit_v2(void)
{
    return fails("init") ? 9 : OK;
}

int nvmlShutdown(void)
{
    return OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    return give("nvmlSystemGetDriverVersion", text, size, "580.159.03");
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = 13000;
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    return number("nvmlDeviceGetCount_v2", count, GPUS);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu **device)
{
    if (index >= GPUS) return INVALID;
    *device = &gpus[index];
    return OK;
}

int nvmlDeviceGetName(gpu *device, char *text, unsigned size)
{
    (void)device;
    return give("nvmlDeviceGetName", text, size, "NVIDIA H200");
}

int nvmlDeviceGetUUID(gpu *device, char *text, unsigned size)
{
    return give("nvmlDeviceGetUUID", text, size, device->index ? "GPU-1111-b" : "GPU-0000-a");
}

int nvmlDeviceGetVbiosVersion(gpu *device, char *text, unsigned size)
{
    (void)device;
    return give("nvmlDeviceGetVbiosVersion", text, size, "96.00.CF.00.01");
}

int nvmlDeviceGetMemoryInfo(gpu *device, unsigned long long *memory)
{
    memory[0] = 150754820096ull; /* total, free, used */
    memory[2] = device->index ? 0 : 37688705024ull;
    memory[1] = memory[0] - memory[2];
    return fails("nvmlDeviceGetMemoryInfo") ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetPowerUsage(gpu *device, unsigned *milliwatts)
{
    return number("nvmlDeviceGetPowerUsage", milliwatts, device->index ? 75000 : 300000);
}

int nvmlDeviceGetEnforcedPowerLimit(gpu *device, unsigned *milliwatts)
{
    (void)device;
    return number("nvmlDeviceGetEnforcedPowerLimit", milliwatts, 700000);
}

int nvmlDeviceGetTotalEnergyConsumption(gpu *device, unsigned long long *millijoules)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    *millijoules = (unsigned long long)(seconds * (device->index ? 75000 : 300000));
    return fails("nvmlDeviceGetTotalEnergyConsumption") ? NOT_SUPPORTED : OK;
}

/* Clock types: 0 graphics, 1 SM, 2 memory. */
int nvmlDeviceGetClockInfo(gpu *device, int type, unsigned *mhz)
{
    unsigned sm = 345, memory = 3201;
    const char *path = getenv("STANDIN_NVML_CLOCKS");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file && fscanf(file, "%u %u", &sm, &memory) != 2) sm = 0;
    if (file) fclose(file);
    (void)device;
    return number("nvmlDeviceGetClockInfo", mhz, type == 2 ? memory : sm);
}

int nvmlDeviceGetMaxClockInfo(gpu *device, int type, unsigned *mhz)
{
    (void)device;
    return number("nvmlDeviceGetMaxClockInfo", mhz, type == 2 ? 3201 : 1980);
}

int nvmlDeviceGetEccMode(gpu *device, int *current, int *pending)
{
    *current = *pending = !device->index;
    return fails("nvmlDeviceGetEccMode") ? NOT_SUPPORTED : OK;
}

typedef struct pci {
    char old_bus_id[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
} pci;

int nvmlDeviceGetPciInfo_v3(gpu *device, pci *info)
{
    *info = (pci){.domain = 0, .bus = device->index ? 0x43u : 0x19u, .id = 0x233510deu};
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
    return fails("nvmlDeviceGetPciInfo_v3") ? NOT_SUPPORTED : OK;
}
