/* Which GPU does a name mean, with which set of figures? Also reads the files in which users describe GPUs.
 */
#include "model/arch.h"

#include "os/paths.h"
#include "json/values.h"

/* ---- names ---- */

enum { KEY_MAX = 64 };

static size_t strip(char *key, size_t len, const char *word, bool at_end)
{
    size_t word_len = strlen(word);
    if (len < word_len || memcmp(at_end ? key + len - word_len : key, word, word_len) != 0) return len;
    if (!at_end) memmove(key, key + word_len, len - word_len);
    return len - word_len;
}

/* Lower-case letters and digits without vendors, brands and form factors: "rtx4090" for "NVIDIA GeForce RTX
 * 4090", "rtx_4090" and "RTX-4090"; "mi300x" for "AMD Instinct MI300X OAM". "" if it is too long. */
static void make_key(const char *name, char key[KEY_MAX])
{
    static const char *const first[] = {"nvidia", "amd",   "geforce", "radeon",
                                        "tm",     "tesla", "quadro",  "instinct"};
    static const char *const last[] = {"gpu", "graphics", "accelerator", "oam", "vf"};
    size_t len = 0, before;
    for (; *name && len < KEY_MAX - 1; name++)
        if (isalnum((unsigned char)*name)) key[len++] = (char)tolower((unsigned char)*name);
    if (*name) len = 0;
    do {
        before = len;
        for (size_t i = 0; i < GT_LENGTH(first); i++) len = strip(key, len, first[i], false);
        for (size_t i = 0; i < GT_LENGTH(last); i++) len = strip(key, len, last[i], true);
    } while (len < before);
    key[len] = 0;
}

static bool has_key(const char *name, const char *key)
{
    char own[KEY_MAX];
    make_key(name, own);
    return strcmp(own, key) == 0;
}

const gt_gpu_arch *gt_gpu_arch_match(const char *name)
{
    size_t count;
    const gt_gpu_arch *archs = gt_gpu_archs(&count);
    char key[KEY_MAX];
    make_key(name, key);
    for (size_t i = 0; *key && i < count; i++) {
        if (has_key(archs[i].name, key)) return &archs[i];
        for (const char *const *alias = archs[i].aliases; alias && *alias; alias++)
            if (has_key(*alias, key)) return &archs[i];
    }
    return NULL;
}

const gt_gpu_arch *gt_gpu_arch_find(const char *name, gt_error *error)
{
    const gt_gpu_arch *found = gt_gpu_arch_match(name);
    if (found) return found;
    size_t count;
    const gt_gpu_arch *archs = gt_gpu_archs(&count);
    gt_buffer known = {0};
    for (size_t i = 0; i < count; i++) {
        gt_buffer_add_cstr(&known, i ? ", " : "");
        gt_buffer_add_cstr(&known, archs[i].name);
    }
    gt_fail(error, "unknown GPU '%.200s'; known GPUs: %s", name, gt_buffer_str(&known).bytes);
    gt_buffer_free(&known);
    return NULL;
}

/* ---- sets of figures ---- */

static const char *const set_names[GT_PEAK_SETS] = {
    [GT_PEAKS_PEAK] = "peak", [GT_PEAKS_ACHIEVABLE] = "achievable", [GT_PEAKS_TRACELENS] = "tracelens"};

const char *gt_peak_set_name(gt_peak_set set)
{
    return set_names[set];
}

bool gt_peak_set_parse(const char *name, gt_peak_set *set)
{
    for (int i = 0; i < GT_PEAK_SETS; i++)
        if (strcmp(set_names[i], name) == 0) {
            *set = (gt_peak_set)i;
            return true;
        }
    return false;
}

bool gt_gpu_arch_use(const gt_gpu_arch *gpu, gt_peak_set set, gt_arena *arena, gt_gpu_arch *used,
                     gt_error *error)
{
    const gt_peak *own = set == GT_PEAKS_ACHIEVABLE ? gpu->achievable : gpu->tracelens;
    size_t own_count = set == GT_PEAKS_PEAK         ? 0
                       : set == GT_PEAKS_ACHIEVABLE ? gpu->achievable_count
                                                    : gpu->tracelens_count;
    if (set == GT_PEAKS_ACHIEVABLE && !own_count)
        return gt_fail(error, "no achievable rates are known for %s, only peak rates", gpu->name);
    *used = *gpu;
    used->set = own_count ? set : GT_PEAKS_PEAK;
    if (!own_count) return true;
    gt_peak *peaks = gt_arena_alloc(arena, (gpu->peaks_count + own_count) * sizeof *peaks);
    memcpy(peaks, own, own_count * sizeof *peaks);
    memcpy(peaks + own_count, gpu->peaks, gpu->peaks_count * sizeof *peaks);
    used->peaks = peaks; /* of two figures of one spec, the first counts */
    used->peaks_count = own_count;
    for (size_t i = 0; i < gpu->peaks_count; i++)
        if (isnan(gt_gpu_arch_peak(used, gpu->peaks[i].spec))) peaks[used->peaks_count++] = gpu->peaks[i];
    return true;
}

void gt_gpu_arch_describe(const gt_gpu_arch *arch, gt_buffer *out)
{
    static const char *const kinds[GT_PEAK_SETS] = {[GT_PEAKS_PEAK] = "peak rates",
                                                    [GT_PEAKS_ACHIEVABLE] = "achievable rates of ",
                                                    [GT_PEAKS_TRACELENS] = "rates of TraceLens"};
    gt_buffer_add_cstr(out, arch->name);
    gt_buffer_add_cstr(out, ", ");
    gt_buffer_add_cstr(out, arch->memory_source ? kinds[arch->set] : "rates of the given file");
    for (size_t i = 0; arch->set == GT_PEAKS_ACHIEVABLE && i < arch->achievable_count; i++) {
        gt_buffer_add_cstr(out, i ? ", " : "");
        gt_buffer_add_cstr(out, arch->achievable[i].spec);
    }
    if (arch->set == GT_PEAKS_ACHIEVABLE) gt_buffer_add_cstr(out, "; peak rates of the rest");
}

double gt_gpu_arch_peak(const gt_gpu_arch *arch, const char *spec)
{
    for (size_t i = 0; i < arch->peaks_count; i++)
        if (strcmp(arch->peaks[i].spec, spec) == 0) return arch->peaks[i].tflops;
    return (double)NAN;
}

/* ---- files of users ---- */

enum { MAX_FILE_BYTES = 1 << 20 };

/* A positive number; otherwise NaN. */
static double rate_of(const gt_value *value)
{
    double number = value->type == GT_VALUE_INT     ? (double)value->integer
                    : value->type == GT_VALUE_FLOAT ? value->number
                                                    : (double)NAN;
    return number > 0 && isfinite(number) ? number : (double)NAN;
}

static double rate_or_zero(const gt_value *object, const char *key)
{
    double rate = rate_of(gt_value_get(object, key));
    return isnan(rate) ? 0 : rate;
}

bool gt_gpu_arch_parse(gt_str json, gt_arena *arena, gt_gpu_arch *arch, gt_error *error)
{
    const gt_value *object = gt_value_parse(arena, json);
    if (object->type == GT_VALUE_MISSING) return gt_fail(error, "not valid JSON");
    if (object->type != GT_VALUE_DICT) return gt_fail(error, "not a JSON object that describes a GPU");
    const gt_value *name = gt_value_get(object, "name");
    const gt_value *peaks = gt_value_get(object, "max_achievable_tflops");
    *arch = (gt_gpu_arch){.name = name->type == GT_VALUE_STRING ? name->text.bytes : "",
                          .mem_bw_gbps = rate_of(gt_value_get(object, "mem_bw_gbps")),
                          .memory_gb = rate_of(gt_value_get(object, "memory_gb"))};
    arch->freq_mhz = rate_or_zero(object, "freq_mhz");
    arch->num_cus = rate_or_zero(object, "num_cus");
    arch->l1_bw_gbps = rate_or_zero(object, "l1_bw_gbps");
    arch->gemm_units_per_cu = rate_or_zero(object, "gemm_units_per_cu");
    if (peaks->type != GT_VALUE_DICT) return true;
    gt_peak *found = gt_arena_alloc(arena, peaks->count / 2 * sizeof *found);
    for (uint32_t i = peaks->count; i >= 2; i -= 2) /* backwards: of two equal names, the last counts */
        found[arch->peaks_count++] =
            (gt_peak){.spec = peaks->items[i - 2].text.bytes, .tflops = rate_of(&peaks->items[i - 1])};
    arch->peaks = found;
    return true;
}

bool gt_gpu_arch_read(const char *path, gt_arena *arena, gt_gpu_arch *arch, gt_error *error)
{
    gt_buffer text = {0};
    bool valid = gt_read_small_file(path, MAX_FILE_BYTES, &text, error);
    if (valid) {
        valid = gt_gpu_arch_parse(gt_buffer_str(&text), arena, arch, error);
        if (!valid) gt_error_prefix(error, path);
    }
    gt_buffer_free(&text);
    return valid;
}

bool gt_gpu_arch_choose(const char *name, const char *path, gt_peak_set set, gt_arena *arena,
                        gt_gpu_arch *own, const gt_gpu_arch **chosen, gt_error *error)
{
    *chosen = name || path ? own : NULL;
    if (path) return gt_gpu_arch_read(path, arena, own, error);
    if (!name) return true;
    const gt_gpu_arch *found = gt_gpu_arch_find(name, error);
    return found && gt_gpu_arch_use(found, set, arena, own, error);
}

/* ---- AMD GPUs without a name ----
 *
 * Which product is an AMD GPU that a trace does not name? Its architecture, compute units and memory tell.
 *
 * PyTorch on ROCm, JAX and rocprofv3 may leave the name empty, but write the other properties. Only whole
 * GPUs are in the table: a partition of one (CPX, DPX, ...) has fewer units and stays unknown. If several
 * products have the properties that are known, all of them are named, and no rates are looked up. */

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
