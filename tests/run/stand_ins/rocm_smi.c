/* Stands in for librocm_smi64.so where there is no AMD GPU. Functions and their parameters are those of AMD's
 * public API reference. STANDIN_SMI names a file of rows
 *
 *     t,device,watts,used,total[,joules]
 *
 * with the values from t seconds after rsmi_init on. Watts "" cannot be read; "-" is a secondary die, whose
 * energy counter stays at zero. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, NOT_SUPPORTED = 2, TEXT = 32, ROWS = 64 };

typedef struct row {
    double t, used, total, joules;
    unsigned device;
    char watts[TEXT];
} row;

static row rows[ROWS];
static int count;
static struct timespec begin;

int rsmi_init(uint64_t flags)
{
    const char *path = getenv("STANDIN_SMI");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256];
    (void)flags;
    if (!file) return NOT_SUPPORTED;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (count < ROWS && fgets(line, sizeof line, file)) {
        row *r = &rows[count];
        int at = 0;
        if (sscanf(line, "%lf,%u,%n", &r->t, &r->device, &at) != 2) continue;
        size_t len = strcspn(line + at, ",");
        snprintf(r->watts, sizeof r->watts, "%.*s", (int)len, line + at);
        count += sscanf(line + at + len, ",%lf,%lf,%lf", &r->used, &r->total, &r->joules) >= 2;
    }
    fclose(file);
    return OK;
}

int rsmi_shut_down(void)
{
    return OK;
}

int rsmi_num_monitor_devices(uint32_t *devices)
{
    *devices = 0;
    for (int i = 0; i < count; i++)
        if (rows[i].device >= *devices) *devices = rows[i].device + 1;
    return OK;
}

/* The last row of the device whose time has passed, or an empty one. */
static const row *now(uint32_t device)
{
    static const row none;
    const row *found = &none;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double passed = (double)(t.tv_sec - begin.tv_sec) + (double)(t.tv_nsec - begin.tv_nsec) * 1e-9;
    for (int i = 0; i < count; i++)
        if (rows[i].device == device && (rows[i].t <= passed || found == &none)) found = &rows[i];
    return found;
}

int rsmi_dev_power_get(uint32_t device, uint64_t *microwatts, int *type)
{
    const char *watts = now(device)->watts;
    *type = 0;
    *microwatts = (uint64_t)(atof(watts) * 1e6);
    return *microwatts ? OK : NOT_SUPPORTED;
}

int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t *bytes)
{
    (void)type;
    *bytes = (uint64_t)now(device)->used;
    return OK;
}

int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t *bytes)
{
    (void)type;
    *bytes = (uint64_t)now(device)->total;
    return OK;
}

/* In millijoules. */
int rsmi_dev_energy_count_get(uint32_t device, uint64_t *ticks, float *tick_microjoules, uint64_t *timestamp)
{
    const row *r = now(device);
    *ticks = (uint64_t)(r->joules * 1000);
    *tick_microjoules = 1000;
    *timestamp = 0;
    return *ticks || strcmp(r->watts, "-") == 0 ? OK : NOT_SUPPORTED;
}
