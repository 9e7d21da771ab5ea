/* Which product is an AMD GPU that a trace does not name? Its architecture, compute units and memory tell.
 *
 * PyTorch on ROCm, JAX and rocprofv3 may leave the name empty, but write the other properties. Only whole
 * GPUs are in the table: a partition of one (CPX, DPX, ...) has fewer units and stays unknown. If several
 * products have the properties that are known, all of them are named, and no rates are looked up. */
#include "model/arch.h"

/* Architecture, compute units and GiB of memory: AMD GPU specifications (ROCm documentation),
 * https://rocm.docs.amd.com/en/latest/reference/gpu-specs.html. Clocks: AMD's product pages of MI350X and
 * MI355X, 2200 and 2400 MHz. Each die (GCD) of an MI250 or MI250X is a device with half of its units and
 * memory. */
static const struct {
    uint64_t major, minor, units, memory_gib, clock_mhz; /* clock 0: tells nothing */
    const char *name;
} products[] = {
    {9, 0, 120, 32, 0, "MI100"},      {9, 0, 104, 64, 0, "MI210"},      {9, 0, 104, 64, 0, "MI250 GCD"},
    {9, 0, 110, 64, 0, "MI250X GCD"}, {9, 4, 228, 128, 0, "MI300A"},    {9, 4, 304, 192, 0, "MI300X"},
    {9, 4, 304, 256, 0, "MI325X"},    {9, 5, 256, 288, 2200, "MI350X"}, {9, 5, 256, 288, 2400, "MI355X"},
};

/* Drivers keep a part of the memory for themselves; an APU's system does, too. */
static bool is_memory(uint64_t bytes, uint64_t gib)
{
    return !bytes || (bytes >> 30 <= gib && bytes >> 20 >= gib * 1024 / 100 * 85);
}

static bool is_clock(uint64_t mhz, uint64_t of_product)
{
    enum { STEP_MHZ = 100 };
    return !mhz || !of_product || (mhz + STEP_MHZ > of_product && mhz < of_product + STEP_MHZ);
}

bool gt_amd_gpu_add_name(const gt_amd_properties *gpu, gt_buffer *out)
{
    bool found = false;
    for (size_t i = 0; i < GT_LENGTH(products); i++) {
        if (gpu->major != products[i].major || gpu->minor != products[i].minor ||
            gpu->units != products[i].units || !is_memory(gpu->memory_bytes, products[i].memory_gib) ||
            !is_clock(gpu->clock_mhz, products[i].clock_mhz))
            continue;
        gt_buffer_add_cstr(out, found ? " or " : "AMD Instinct ");
        gt_buffer_add_cstr(out, products[i].name);
        found = true;
    }
    return found;
}
