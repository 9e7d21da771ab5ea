/* Which product is an AMD GPU of which only its properties are known? */
#include "findings/formats/plain.h"

#include "base/memory.h"

/* `clock_mhz` and `memory_gib` are the least; the first row that fits counts. */
static const struct {
    uint64_t major, minor, cores, clock_mhz, memory_gib;
    const char *name;
} amd_gpus[] = {
    {9, 5, 256, 2300, 0, "AMD Instinct MI355X"},
    {9, 5, 256, 0, 0, "AMD Instinct MI350X"},
    {9, 4, 304, 0, 220, "AMD Instinct MI325X"},
    {9, 4, 304, 0, 0, "AMD Instinct MI300X"},
};

const char *gt_amd_gpu_name(const gt_amd_properties *gpu)
{
    for (size_t i = 0; i < GT_LENGTH(amd_gpus); i++)
        if (gpu->major == amd_gpus[i].major && gpu->minor == amd_gpus[i].minor &&
            gpu->cores == amd_gpus[i].cores && gpu->clock_mhz >= amd_gpus[i].clock_mhz &&
            gpu->memory_bytes >> 30 >= amd_gpus[i].memory_gib)
            return amd_gpus[i].name;
    return NULL;
}
