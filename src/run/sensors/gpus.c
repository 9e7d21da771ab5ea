/* Render nodes of /sys/class/drm, each with its PCI device behind it. */
#include "run/sensors/gpus.h"
#include "os/paths.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 256 };

static unsigned long number_in(gt_arena *arena, const char *folder, const char *name)
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
    unsigned long vendor = number_in(arena, real, "vendor");
    if (vendor != 0x1002 && vendor != 0x10de) return false;
    snprintf(name, sizeof name, "%s 0x%lx at %.60s", vendor == 0x1002 ? "AMD" : "NVIDIA",
             number_in(arena, real, "device"), gt_path_name(real));
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
