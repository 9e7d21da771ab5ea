/* Finds the GPUs and reads their power and memory from sysfs, or from a file in tests. */
#include "run/sensors/sensors.h"
#include "base/log.h"
#include "base/memory.h"
#include "os/paths.h"

#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- GPUs ---- */

enum { GPUS_MAX = 256 };

static unsigned long read_hex(gt_arena *arena, const char *folder, const char *name)
{
    gt_buffer text = {0};
    gt_error ignored;
    unsigned long number = 0;
    if (gt_read_small_file(gt_path_join(arena, folder, name), 4096, &text, &ignored))
        number = strtoul(gt_buffer_str(&text).bytes, NULL, 0);
    gt_buffer_free(&text);
    return number;
}

static bool read_gpu(gt_arena *arena, const char *folder, const char *node, gt_gpu *gpu)
{
    const char *link = gt_path_join(arena, gt_path_join(arena, folder, node), "device");
    char real[PATH_MAX], name[128];
    if (!realpath(link, real)) return false;
    unsigned long vendor = read_hex(arena, real, "vendor");
    if (vendor != 0x1002 && vendor != 0x10de) return false;
    snprintf(name, sizeof name, "%s 0x%lx at %.60s", vendor == 0x1002 ? "AMD" : "NVIDIA",
             read_hex(arena, real, "device"), gt_path_name(real));
    *gpu = (gt_gpu){.name = gt_arena_bytes(arena, name, strlen(name)),
                    .device = gt_arena_bytes(arena, real, strlen(real)),
                    .render_node = atoi(node + strlen("renderD")),
                    .is_amd = vendor == 0x1002};
    return true;
}

static int by_address(const void *a, const void *b)
{
    return strcmp(gt_path_name(((const gt_gpu *)a)->device), gt_path_name(((const gt_gpu *)b)->device));
}

gt_gpu_list gt_gpus_find(gt_arena *arena)
{
    const char *sysfs = getenv("GPUTALLY_SYSFS");
    const char *folder = gt_path_join(arena, sysfs && *sysfs ? sysfs : "/sys", "class/drm");
    gt_gpu_list list = {.items = gt_arena_alloc(arena, GPUS_MAX * sizeof *list.items)};
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) && list.count < GPUS_MAX)
        if (strncmp(entry->d_name, "renderD", 7) == 0 &&
            read_gpu(arena, folder, entry->d_name, &list.items[list.count]))
            list.count++;
    if (dir) closedir(dir);
    qsort(list.items, list.count, sizeof *list.items, by_address);
    return list;
}

/* ---- sensors: files of the amdgpu driver ---- */

typedef struct sysfs_device {
    const char *power;  /* path of the power in microwatts; NULL: none */
    const char *energy; /* path of the counter in microjoules; NULL: none */
    const char *used, *total;
} sysfs_device;

static double read_number(const char *path)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    double number = NAN;
    if (file && fscanf(file, "%lf", &number) != 1) number = NAN;
    if (file) fclose(file);
    return number;
}

/* The first of these files that the driver has. */
static const char *monitor_file(gt_arena *arena, const char *device, const char *const *names, size_t count)
{
    const char *found = NULL;
    for (size_t i = 0; !found && i < count; i++) {
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
    return read_number(((sysfs_device *)sensors->state)[device].power) / 1e6;
}

static double sysfs_energy(gt_sensors *sensors, size_t device)
{
    return read_number(((sysfs_device *)sensors->state)[device].energy) / 1e6;
}

static double sysfs_memory(gt_sensors *sensors, size_t device)
{
    const sysfs_device *d = &((sysfs_device *)sensors->state)[device];
    return 100 * read_number(d->used) / read_number(d->total);
}

static bool sysfs_is_secondary(gt_sensors *sensors, size_t device)
{
    return !(sysfs_power(sensors, device) > 0);
}

static void close_nothing(gt_sensors *sensors)
{
    (void)sensors;
}

static bool open_sysfs(gt_arena *arena, gt_sensors *sensors)
{
    static const char *const power[] = {"power1_input", "power1_average"}, *const energy[] = {
                                                                               "energy1_input"};
    gt_gpu_list gpus = gt_gpus_find(arena);
    sysfs_device *devices = gt_arena_alloc(arena, (gpus.count + 1) * sizeof *devices);
    size_t count = 0;
    for (size_t i = 0; i < gpus.count; i++) {
        if (!gpus.items[i].is_amd) continue;
        const char *device = gpus.items[i].device;
        devices[count++] = (sysfs_device){monitor_file(arena, device, power, GT_LENGTH(power)),
                                          monitor_file(arena, device, energy, GT_LENGTH(energy)),
                                          gt_path_join(arena, device, "mem_info_vram_used"),
                                          gt_path_join(arena, device, "mem_info_vram_total")};
    }
    *sensors = (gt_sensors){"amdgpu",           count,        devices,      sysfs_power, sysfs_memory,
                            sysfs_is_secondary, sysfs_energy, close_nothing};
    return count;
}

/* ---- sensors: a file of rows, for tests ---- */

typedef struct fake_row {
    double t;
    size_t device;
    double watts, used, total, joules;
    bool secondary;
} fake_row;

typedef struct fake {
    fake_row *rows;
    size_t count, capacity;
    struct timespec begin;
} fake;

/* The last row of the device whose time has passed. */
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

static double fake_energy(gt_sensors *sensors, size_t device)
{
    const fake_row *row = fake_now(sensors->state, device);
    return row ? row->joules : NAN;
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
    int found = sscanf(line + at + len, ",%lf,%lf,%lf", &row->used, &row->total, &row->joules);
    if (found < 3) row->joules = NAN;
    return found >= 2;
}

static bool open_fake(gt_arena *arena, gt_sensors *sensors)
{
    const char *path = getenv("GPUTALLY_SMI_FAKE");
    gt_buffer text = {0};
    gt_error error;
    if (!path || !*path) return false;
    fake *f = gt_arena_alloc(arena, sizeof *f);
    *f = (fake){0};
    clock_gettime(CLOCK_MONOTONIC, &f->begin);
    *sensors =
        (gt_sensors){"fake", 0, f, fake_power, fake_memory, fake_is_secondary, fake_energy, fake_close};
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

/* ---- sensors: all sources ---- */

bool gt_sensors_open(gt_arena *arena, gt_sensors *sensors)
{
    static bool (*const sources[])(gt_arena *, gt_sensors *) = {open_fake, open_sysfs, gt_sensors_open_rocm,
                                                                gt_sensors_open_nvml};
    for (size_t i = 0; i < GT_LENGTH(sources); i++)
        if (sources[i](arena, sensors)) return true;
    return false;
}
