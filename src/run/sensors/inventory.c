/* What are the GPUs of this machine? Their facts come from the files of the amdgpu driver in sysfs and from
 * NVIDIA's library. Both know the PCI address, by which an NVIDIA GPU of sysfs is found in the library. */
#include "run/sensors/sensors.h"
#include "os/paths.h"

#include <glob.h>

typedef struct inventory_entry {
    gt_gpu_entry facts;
    const char *device; /* folder in sysfs of an AMD GPU; NULL: use the library */
    size_t nvml_index;  /* SIZE_MAX: not in the library */
} inventory_entry;

struct gt_inventory {
    inventory_entry *entries;
    size_t count;
    gt_sensors nvml;
    bool has_nvml;
    const char *driver, *cuda;
};

/* ---- amdgpu ---- */

/* The first line of a file without blanks around it; NULL if there is none. */
static const char *first_line(gt_arena *arena, const char *path)
{
    gt_buffer text = {0};
    gt_error ignored;
    const char *line = NULL;
    if (gt_read_small_file(path, 1 << 16, &text, &ignored)) {
        const char *begin = gt_buffer_str(&text).bytes;
        begin += strspn(begin, " \t");
        size_t len = strcspn(begin, "\r\n");
        while (len && (begin[len - 1] == ' ' || begin[len - 1] == '\t')) len--;
        if (len) line = gt_arena_bytes(arena, begin, len);
    }
    gt_buffer_free(&text);
    return line;
}

static const char *line_in(gt_arena *arena, const char *folder, const char *name)
{
    return first_line(arena, gt_path_join(arena, folder, name));
}

static double number_at(gt_arena *arena, const char *path)
{
    const char *line = first_line(arena, path);
    char *end = NULL;
    double number = line ? strtod(line, &end) : NAN;
    return line && end != line ? number : NAN;
}

/* Reads pp_dpm_sclk or pp_dpm_mclk, one line per level; the current one ends with '*':
 *
 *     0: 132Mhz
 *     S: 19Mhz *
 *     1: 2100Mhz
 */
static void read_levels(gt_arena *arena, const char *folder, const char *name, double *current, double *most)
{
    gt_buffer text = {0};
    gt_error ignored;
    *current = *most = NAN;
    if (gt_read_small_file(gt_path_join(arena, folder, name), 1 << 16, &text, &ignored))
        for (const char *line = gt_buffer_str(&text).bytes; *line;) {
            size_t len = strcspn(line, "\n");
            const char *colon = memchr(line, ':', len);
            double mhz;
            if (colon && sscanf(colon + 1, "%lf", &mhz) == 1) {
                if (!(mhz <= *most)) *most = mhz;
                if (memchr(colon, '*', (size_t)(line + len - colon))) *current = mhz;
            }
            line += len + (line[len] == '\n');
        }
    gt_buffer_free(&text);
}

static double amd_power_limit(gt_arena *arena, const char *device)
{
    char *pattern = gt_format("%s/hwmon/hwmon*/power1_cap", device);
    glob_t matches;
    double watts = NAN;
    if (glob(pattern, 0, NULL, &matches) == 0) {
        if (matches.gl_pathc) watts = number_at(arena, matches.gl_pathv[0]) / 1e6;
        globfree(&matches);
    }
    gt_free(pattern);
    return watts;
}

static gt_gpu_entry amd_facts(gt_arena *arena, const gt_gpu *gpu)
{
    const char *product = line_in(arena, gpu->device, "product_name");
    double ignored;
    gt_gpu_entry facts = {.vendor = "AMD",
                          .name = product ? product : gpu->name,
                          .uuid = line_in(arena, gpu->device, "unique_id"),
                          .pci = gt_path_name(gpu->device),
                          .vbios = line_in(arena, gpu->device, "vbios_version"),
                          .memory_bytes =
                              number_at(arena, gt_path_join(arena, gpu->device, "mem_info_vram_total")),
                          .power_limit_w = amd_power_limit(arena, gpu->device),
                          .ecc = -1};
    read_levels(arena, gpu->device, "pp_dpm_sclk", &ignored, &facts.max_clocks.core_mhz);
    read_levels(arena, gpu->device, "pp_dpm_mclk", &ignored, &facts.max_clocks.memory_mhz);
    return facts;
}

/* ---- NVIDIA ---- */

static double nvml_number(gt_inventory *inventory, gt_sensor sensor, size_t device)
{
    return gt_sensors_read(&inventory->nvml, sensor, device).number;
}

/* NULL: unknown. */
static const char *nvml_text(gt_inventory *inventory, gt_arena *arena, gt_sensor sensor, size_t device)
{
    gt_sensor_value value = gt_sensors_read(&inventory->nvml, sensor, device);
    return *value.text ? gt_arena_bytes(arena, value.text, strlen(value.text)) : NULL;
}

static gt_gpu_clocks nvml_clocks(gt_inventory *inventory, gt_sensor core, gt_sensor memory, size_t device)
{
    return (gt_gpu_clocks){nvml_number(inventory, core, device), nvml_number(inventory, memory, device)};
}

static gt_gpu_entry nvml_facts(gt_inventory *inventory, gt_arena *arena, size_t device)
{
    double ecc = nvml_number(inventory, GT_SENSOR_ECC, device);
    return (gt_gpu_entry){
        .vendor = "NVIDIA",
        .name = nvml_text(inventory, arena, GT_SENSOR_NAME, device),
        .uuid = nvml_text(inventory, arena, GT_SENSOR_UUID, device),
        .pci = nvml_text(inventory, arena, GT_SENSOR_PCI, device),
        .vbios = nvml_text(inventory, arena, GT_SENSOR_VBIOS, device),
        .memory_bytes = nvml_number(inventory, GT_SENSOR_MEMORY_BYTES, device),
        .power_limit_w = nvml_number(inventory, GT_SENSOR_POWER_LIMIT_W, device),
        .ecc = isnan(ecc) ? -1 : ecc > 0,
        .max_clocks = nvml_clocks(inventory, GT_SENSOR_MAX_CORE_MHZ, GT_SENSOR_MAX_MEMORY_MHZ, device)};
}

/* ---- both ---- */

static const gt_gpu_entry unknown_gpu = {
    .memory_bytes = NAN, .power_limit_w = NAN, .ecc = -1, .max_clocks = {NAN, NAN}};

/* Takes the GPU at the PCI address from those of the library; SIZE_MAX: it is not among them. */
static size_t take_at(gt_gpu_entry *facts, bool *taken, size_t count, const char *pci)
{
    for (size_t i = 0; i < count; i++)
        if (!taken[i] && facts[i].pci && strcmp(facts[i].pci, pci) == 0) {
            taken[i] = true;
            return i;
        }
    return SIZE_MAX;
}

gt_inventory *gt_inventory_open(gt_arena *arena)
{
    gt_inventory *inventory = gt_arena_alloc(arena, sizeof *inventory);
    *inventory = (gt_inventory){0};
    inventory->has_nvml = gt_sensors_open_nvml(arena, &inventory->nvml);
    size_t known = inventory->has_nvml ? inventory->nvml.count : 0;
    gt_gpu_list gpus = gt_gpus_find(arena);
    gt_gpu_entry *facts = gt_arena_alloc(arena, (known + 1) * sizeof *facts);
    bool *taken = gt_arena_alloc(arena, (known + 1) * sizeof *taken);
    memset(taken, 0, known + 1);
    for (size_t i = 0; i < known; i++) facts[i] = nvml_facts(inventory, arena, i);
    inventory->driver = known ? nvml_text(inventory, arena, GT_SENSOR_DRIVER, 0) : NULL;
    inventory->cuda = known ? nvml_text(inventory, arena, GT_SENSOR_CUDA, 0) : NULL;
    inventory->entries = gt_arena_alloc(arena, (gpus.count + known + 1) * sizeof *inventory->entries);
    for (size_t i = 0; i < gpus.count; i++) {
        const gt_gpu *gpu = &gpus.items[i];
        inventory_entry *entry = &inventory->entries[inventory->count++];
        *entry = (inventory_entry){.nvml_index = SIZE_MAX};
        if (gpu->is_amd) {
            entry->facts = amd_facts(arena, gpu);
            entry->device = gpu->device;
            continue;
        }
        entry->nvml_index = take_at(facts, taken, known, gt_path_name(gpu->device));
        entry->facts = entry->nvml_index == SIZE_MAX ? unknown_gpu : facts[entry->nvml_index];
        entry->facts.vendor = "NVIDIA";
        entry->facts.pci = gt_path_name(gpu->device);
        if (!entry->facts.name) entry->facts.name = gpu->name;
    }
    for (size_t i = 0; i < known; i++)
        if (!taken[i])
            inventory->entries[inventory->count++] = (inventory_entry){.facts = facts[i], .nvml_index = i};
    return inventory;
}

void gt_inventory_close(gt_inventory *inventory)
{
    if (inventory->has_nvml) inventory->nvml.close(&inventory->nvml);
    inventory->has_nvml = false;
}

size_t gt_inventory_count(const gt_inventory *inventory)
{
    return inventory->count;
}

const gt_gpu_entry *gt_inventory_gpu(const gt_inventory *inventory, size_t index)
{
    return &inventory->entries[index].facts;
}

gt_gpu_clocks gt_inventory_clocks(gt_inventory *inventory, size_t index)
{
    const inventory_entry *entry = &inventory->entries[index];
    gt_gpu_clocks clocks = {NAN, NAN};
    gt_arena arena = {0};
    double ignored;
    if (entry->device) {
        read_levels(&arena, entry->device, "pp_dpm_sclk", &clocks.core_mhz, &ignored);
        read_levels(&arena, entry->device, "pp_dpm_mclk", &clocks.memory_mhz, &ignored);
    } else if (inventory->has_nvml && entry->nvml_index != SIZE_MAX) {
        clocks = nvml_clocks(inventory, GT_SENSOR_CORE_MHZ, GT_SENSOR_MEMORY_MHZ, entry->nvml_index);
    }
    gt_arena_free(&arena);
    return clocks;
}

const char *gt_inventory_nvidia_driver(const gt_inventory *inventory)
{
    return inventory->driver;
}

const char *gt_inventory_cuda_driver(const gt_inventory *inventory)
{
    return inventory->cuda;
}

bool gt_gpus_have_nvidia(gt_arena *arena)
{
    gt_gpu_list gpus = gt_gpus_find(arena);
    for (size_t i = 0; i < gpus.count; i++)
        if (!gpus.items[i].is_amd) return true;
    gt_sensors nvml;
    if (!gt_sensors_open_nvml(arena, &nvml)) return false;
    nvml.close(&nvml);
    return true;
}
