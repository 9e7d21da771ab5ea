/* gputally-helper: loads libraries of the system for the portable program, which cannot
 * (cmake/Portable.cmake).
 *
 *     gputally-helper nvml|rocm
 *     gputally-helper mpi LIBRARY...      see mpi.c
 *
 * For sensors, the program starts it and writes requests to its standard input, one per line; it answers each
 * with one line on standard output and ends with its input. The first line it writes says what the library
 * has. It ends at once, with exit code 1, if there is no library or no device.
 *
 *     (start)      COUNT NAME                     devices, name of the library
 *     power N      WATTS                          of device N; as the functions of gt_sensors, "nan" if
 * unknown memory N     PERCENT energy N     JOULES secondary N  0 or 1 clocks N     CORE MEMORY in MHz
 *     describe N   NAME<TAB>UUID<TAB>PCI<TAB>VBIOS<TAB>BYTES<TAB>WATTS<TAB>ECC<TAB>CORE<TAB>MEMORY
 *     versions     DRIVER<TAB>CUDA                strings are empty if unknown
 *
 * An unknown request is answered by an empty line. The code that talks to the libraries is that of the normal
 * program, run/sensors/libraries_loaded.c. This program is linked with the C library of the system it runs
 * on, whatever its version (start.c), because a driver's library brings that with it. */
#include "helper/mpi.h"
#include "run/sensors/sensors.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the part of base/memory.h that libraries_loaded.c uses ---- */

void *gt_arena_alloc(gt_arena *arena, size_t size)
{
    (void)arena;
    void *block = malloc(size ? size : 1);
    if (!block) _exit(1);
    return block; /* freed by the end of the process; only what describes a device is allocated */
}

char *gt_arena_bytes(gt_arena *arena, const void *bytes, size_t len)
{
    char *copy = gt_arena_alloc(arena, len + 1);
    memcpy(copy, bytes, len);
    copy[len] = 0;
    return copy;
}

char *gt_arena_format(gt_arena *arena, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return gt_arena_bytes(arena, text, strlen(text));
}

/* ---- lines ---- */

enum { LINE_MAX_LEN = 1024 };

/* Reads one line without its end; false at the end of the input. Requests are few bytes, which come one by
 * one. */
static bool read_line(char *line, size_t size)
{
    size_t len = 0;
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1) {
        if (c == '\n') {
            line[len] = 0;
            return true;
        }
        if (len + 1 < size) line[len++] = c;
    }
    return false;
}

static void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void answer(const char *format, ...)
{
    char line[LINE_MAX_LEN + 1];
    va_list list;
    va_start(list, format);
    vsnprintf(line, LINE_MAX_LEN, format, list);
    va_end(list);
    size_t len = strlen(line);
    line[len++] = '\n';
    for (size_t done = 0; done < len;) {
        ssize_t written = write(STDOUT_FILENO, line + done, len - done);
        if (written <= 0) _exit(1);
        done += (size_t)written;
    }
}

/* A string of the driver as a field: without tabs and line ends. */
static const char *field(gt_arena *arena, const char *text)
{
    char *copy = gt_arena_bytes(arena, text ? text : "", text ? strlen(text) : 0);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    return copy;
}

/* ---- requests ---- */

static void describe(gt_sensors *sensors, size_t device)
{
    gt_arena arena = {0};
    gt_gpu_entry gpu;
    sensors->describe(sensors, device, &arena, &gpu);
    answer("%.90s\t%.90s\t%.90s\t%.90s\t%.17g\t%.17g\t%d\t%.17g\t%.17g", field(&arena, gpu.name),
           field(&arena, gpu.uuid), field(&arena, gpu.pci), field(&arena, gpu.vbios), gpu.memory_bytes,
           gpu.power_limit_w, gpu.ecc, gpu.max_clocks.core_mhz, gpu.max_clocks.memory_mhz);
}

static void versions(gt_sensors *sensors)
{
    gt_arena arena = {0};
    const char *driver = NULL, *cuda = NULL;
    sensors->versions(sensors, &arena, &driver, &cuda);
    answer("%.90s\t%.90s", field(&arena, driver), field(&arena, cuda));
}

static void serve(gt_sensors *sensors, const char *request)
{
    const char *space = strchr(request, ' ');
    size_t len = space ? (size_t)(space - request) : strlen(request);
    size_t device = space ? strtoul(space + 1, NULL, 10) : 0;
    bool is_device = space && device < sensors->count;
#define IS(name) (len == sizeof(name) - 1 && memcmp(request, name, len) == 0)
    if (is_device && IS("power"))
        answer("%.17g", sensors->power_w(sensors, device));
    else if (is_device && IS("memory"))
        answer("%.17g", sensors->memory_percent(sensors, device));
    else if (is_device && IS("energy"))
        answer("%.17g", sensors->energy_j(sensors, device));
    else if (is_device && IS("secondary"))
        answer("%d", sensors->is_secondary(sensors, device));
    else if (is_device && IS("describe") && sensors->describe)
        describe(sensors, device);
    else if (IS("versions") && sensors->versions)
        versions(sensors);
    else if (is_device && IS("clocks") && sensors->clocks) {
        gt_gpu_clocks clocks = sensors->clocks(sensors, device);
        answer("%.17g %.17g", clocks.core_mhz, clocks.memory_mhz);
    } else
        answer("%s", "");
#undef IS
}

int main(int argc, char **argv)
{
    gt_arena arena = {0};
    gt_sensors sensors;
    char line[64];
    if (argc >= 2 && strcmp(argv[1], "mpi") == 0) return gt_helper_mpi(argv + 2);
    bool is_open = argc == 2 && (strcmp(argv[1], "nvml") == 0   ? gt_sensors_open_nvml(&arena, &sensors)
                                 : strcmp(argv[1], "rocm") == 0 ? gt_sensors_open_rocm(&arena, &sensors)
                                                                : false);
    if (!is_open) return 1;
    answer("%zu %s", sensors.count, sensors.name);
    while (read_line(line, sizeof line)) serve(&sensors, line);
    sensors.close(&sensors);
    return 0;
}
