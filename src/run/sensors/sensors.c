/* Finds the GPUs and reads their power and memory from sysfs. */
#include "run/sensors/sensors.h"
#include "os/own.h"
#include "os/paths.h"

#include <glob.h>
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

const char *gt_sysfs_path(gt_arena *arena, const char *name)
{
    const char *sysfs = getenv("GPUTALLY_SYSFS");
    return gt_path_join(arena, sysfs && *sysfs ? sysfs : "/sys", name);
}

gt_gpu_list gt_gpus_find(gt_arena *arena)
{
    const char *folder = gt_sysfs_path(arena, "class/drm");
    gt_gpu_list list = {.items = gt_arena_alloc(arena, GPUS_MAX * sizeof *list.items)};
    DIR *dir = gt_opendir(folder);
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
    FILE *file = path ? gt_fopen(path, "re") : NULL;
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

static void sysfs_read(gt_sensors *sensors, gt_sensor_request request, gt_sensor_value *value)
{
    const sysfs_device *d = &((sysfs_device *)sensors->state)[request.device];
    switch (request.sensor) {
    case GT_SENSOR_POWER_W:
        value->number = read_number(d->power) / 1e6;
        break;
    case GT_SENSOR_ENERGY_J:
        value->number = read_number(d->energy) / 1e6;
        break;
    case GT_SENSOR_MEMORY_PERCENT:
        value->number = 100 * read_number(d->used) / read_number(d->total);
        break;
    case GT_SENSOR_IS_SECONDARY:
        value->number = !(read_number(d->power) > 0);
        break;
    default:
        break;
    }
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
    *sensors = (gt_sensors){count, devices, sysfs_read, close_nothing};
    return count;
}

/* ---- sensors: all sources ---- */

gt_sensor_value gt_sensors_read(gt_sensors *sensors, gt_sensor sensor, size_t device)
{
    gt_sensor_value value = {.number = NAN};
    sensors->read(sensors, (gt_sensor_request){sensor, (uint32_t)device}, &value);
    return value;
}

bool gt_sensors_open(gt_arena *arena, gt_sensors *sensors)
{
    static bool (*const sources[])(gt_arena *, gt_sensors *) = {open_sysfs, gt_sensors_open_rocm,
                                                                gt_sensors_open_nvml};
    for (size_t i = 0; i < GT_LENGTH(sources); i++)
        if (sources[i](arena, sensors)) return true;
    return false;
}
