/* The sources in their order, and the two that are files: those of the driver, and that of tests. */
#include "run/sensors/sensors.h"
#include "base/length.h"
#include "base/log.h"
#include "run/sensors/gpus.h"
#include "os/paths.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool gt_sensors_open(gt_arena *arena, gt_sensors *sensors)
{
    static bool (*const sources[])(gt_arena *, gt_sensors *) = {gt_sensors_open_fake, gt_sensors_open_sysfs,
                                                                gt_sensors_open_rocm, gt_sensors_open_nvml};
    for (size_t i = 0; i < GT_LENGTH(sources); i++)
        if (sources[i](arena, sensors)) return true;
    return false;
}

/* ---- files of the amdgpu driver ---- */

typedef struct sysfs_device {
    const char *power; /* path of its power in microwatts; NULL: none */
    const char *used, *total;
} sysfs_device;

static double number_in(const char *path)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    double number = NAN;
    if (file && fscanf(file, "%lf", &number) != 1) number = NAN;
    if (file) fclose(file);
    return number;
}

static const char *power_file(gt_arena *arena, const char *device)
{
    static const char *const names[] = {"power1_input", "power1_average"};
    const char *found = NULL;
    for (size_t i = 0; !found && i < GT_LENGTH(names); i++) {
        char *pattern = gt_format("%s/hwmon/hwmon*/%s", device, names[i]);
        glob_t matches;
        if (glob(pattern, 0, NULL, &matches) == 0) {
            if (matches.gl_pathc)
                found = gt_arena_bytes(arena, matches.gl_pathv[0], strlen(matches.gl_pathv[0]));
            globfree(&matches);
        }
        gt_free(pattern);
    }
    return found;
}

static double sysfs_power(gt_sensors *sensors, size_t device)
{
    return number_in(((sysfs_device *)sensors->state)[device].power) / 1e6;
}

static double sysfs_memory(gt_sensors *sensors, size_t device)
{
    const sysfs_device *d = &((sysfs_device *)sensors->state)[device];
    return 100 * number_in(d->used) / number_in(d->total);
}

static bool sysfs_is_secondary(gt_sensors *sensors, size_t device)
{
    return !(sysfs_power(sensors, device) > 0);
}

static void close_nothing(gt_sensors *sensors)
{
    (void)sensors;
}

bool gt_sensors_open_sysfs(gt_arena *arena, gt_sensors *sensors)
{
    gt_gpu_list gpus = gt_gpus_find(arena);
    sysfs_device *devices = gt_arena_alloc(arena, (gpus.count + 1) * sizeof *devices);
    size_t count = 0;
    for (size_t i = 0; i < gpus.count; i++) {
        if (!gpus.items[i].is_amd) continue;
        const char *device = gpus.items[i].device;
        devices[count++] =
            (sysfs_device){power_file(arena, device), gt_path_join(arena, device, "mem_info_vram_used"),
                           gt_path_join(arena, device, "mem_info_vram_total")};
    }
    *sensors =
        (gt_sensors){"amdgpu", count, devices, sysfs_power, sysfs_memory, sysfs_is_secondary, close_nothing};
    return count;
}

/* ---- a file of rows, for tests ---- */

typedef struct fake_row {
    double t;
    size_t device;
    double watts, used, total;
    bool secondary;
} fake_row;

typedef struct fake {
    fake_row *rows;
    size_t count, capacity;
    struct timespec begin;
} fake;

/* The last row of the device whose time has come. */
static const fake_row *fake_now(const fake *f, size_t device)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double t = (double)(now.tv_sec - f->begin.tv_sec) + (double)(now.tv_nsec - f->begin.tv_nsec) * 1e-9;
    const fake_row *found = NULL;
    for (size_t i = 0; i < f->count; i++)
        if (f->rows[i].device == device && (f->rows[i].t <= t || !found)) found = &f->rows[i];
    return found;
}

static double fake_power(gt_sensors *sensors, size_t device)
{
    const fake_row *row = fake_now(sensors->state, device);
    return row ? row->watts : NAN;
}

static double fake_memory(gt_sensors *sensors, size_t device)
{
    const fake_row *row = fake_now(sensors->state, device);
    return row ? 100 * row->used / row->total : NAN;
}

static bool fake_is_secondary(gt_sensors *sensors, size_t device)
{
    const fake_row *row = fake_now(sensors->state, device);
    return row && row->secondary;
}

static void fake_close(gt_sensors *sensors)
{
    fake *f = sensors->state;
    gt_free(f->rows);
}

static bool read_fake_row(const char *line, fake_row *row)
{
    char watts[64] = "";
    int at = 0;
    unsigned device;
    if (sscanf(line, "%lf,%3u,%n", &row->t, &device, &at) != 2 || !at) return false;
    size_t len = strcspn(line + at, ",\n");
    snprintf(watts, sizeof watts, "%.*s", len < 60 ? (int)len : 60, line + at);
    row->device = device;
    row->secondary = strcmp(watts, "-") == 0;
    row->watts = *watts && !row->secondary ? strtod(watts, NULL) : NAN;
    return sscanf(line + at + len, ",%lf,%lf", &row->used, &row->total) == 2;
}

bool gt_sensors_open_fake(gt_arena *arena, gt_sensors *sensors)
{
    const char *path = getenv("GPUTALLY_SMI_FAKE");
    gt_buffer text = {0};
    gt_error error;
    if (!path || !*path) return false;
    fake *f = gt_arena_alloc(arena, sizeof *f);
    *f = (fake){0};
    clock_gettime(CLOCK_MONOTONIC, &f->begin);
    *sensors = (gt_sensors){"fake", 0, f, fake_power, fake_memory, fake_is_secondary, fake_close};
    if (!gt_read_small_file(path, 1 << 22, &text, &error)) gt_warn("%s", error.text);
    for (const char *line = gt_buffer_str(&text).bytes; *line;) {
        fake_row row;
        if (read_fake_row(line, &row)) {
            GT_PUSH(f->rows, f->count, f->capacity, row);
            if (row.device >= sensors->count) sensors->count = row.device + 1;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    gt_buffer_free(&text);
    return sensors->count;
}
