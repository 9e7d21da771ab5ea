/* GPUs: a table of the vendors' figures, and a reader for users' files.
 *
 * To add a GPU, add a row to the table below, sorted by name, with a comment that names the source of its
 * figures. Then add a column to the table in docs/models.md and the name to the list in
 * tests/model/cli_cases.txt. test_known_gpus in tests/model/test_models.c checks the order of the rows and
 * that the figures are plausible for a data-centre GPU; for a smaller one, lower its limits. Nothing compares
 * docs/models.md with the table.
 *
 * Figures are without sparsity. Vector units mostly compute 16-bit numbers as 32-bit ones, so if a vendor
 * does not specify the 16-bit rate, that of fp32 is used. */
#include "model/arch.h"

#include "base/memory.h"
#include "os/paths.h"
#include "base/buffer.h"
#include "json/values.h"

#include <math.h>
#include <string.h>

#define PEAKS(...)                                                                                           \
    .peaks = (const gt_peak[]){__VA_ARGS__},                                                                 \
    .peak_count = sizeof((const gt_peak[]){__VA_ARGS__}) / sizeof(gt_peak)

static const gt_gpu_arch archs[] = {
    /* The comments name the vendor's document. "As copied" means that the document itself could not be
     * opened, only a copy of its table on another page. */
    /* NVIDIA A100 80GB SXM. Memory, TF32 (as matrix_fp32), 16-bit and int8 matrices: "NVIDIA A100 Tensor Core
     * GPU" data sheet, as quoted by NVIDIA in TensorRT-LLM (auto_parallel/cluster_info.py). The rest: table
     * in "NVIDIA A100 Tensor Core GPU Architecture" white paper (2020), as copied. */
    {.name = "A100",
     .mem_bw_gbps = 2039,
     .memory_gb = 80,
     PEAKS({"matrix_fp64", 19.5}, {"matrix_fp32", 156}, {"matrix_fp16", 312}, {"matrix_bf16", 312},
           {"matrix_int8", 624}, {"vector_fp64", 9.7}, {"vector_fp32", 19.5}, {"vector_fp16", 78},
           {"vector_bf16", 39})},
    /* NVIDIA B200 in HGX: "NVIDIA Blackwell" data sheet (2025), column HGX B200 of a single GPU, as copied.
     * Except for fp64, its matrix figures are with sparsity; they are halved here. matrix_fp32 is TF32. */
    {.name = "B200",
     .mem_bw_gbps = 7700,
     .memory_gb = 180,
     PEAKS({"matrix_fp64", 37}, {"matrix_fp32", 1100}, {"matrix_fp16", 2250}, {"matrix_bf16", 2250},
           {"matrix_fp8", 4500}, {"matrix_fp4", 9000}, {"matrix_int8", 4500}, {"vector_fp64", 37},
           {"vector_fp32", 75}, {"vector_fp16", 75}, {"vector_bf16", 75})},
    /* NVIDIA H100 SXM. Memory: "NVIDIA H100 Tensor Core GPU" data sheet, as quoted by NVIDIA in
     * TensorRT-LLM, with matrix figures rounded to 495, 989 and 1979. With decimals: "NVIDIA H100 Tensor Core
     * GPU Architecture" white paper (2022), as copied. matrix_fp32 is TF32. */
    {.name = "H100",
     .mem_bw_gbps = 3350,
     .memory_gb = 80,
     PEAKS({"matrix_fp64", 66.9}, {"matrix_fp32", 494.7}, {"matrix_fp16", 989.4}, {"matrix_bf16", 989.4},
           {"matrix_fp8", 1978.9}, {"matrix_int8", 1978.9}, {"vector_fp64", 33.5}, {"vector_fp32", 66.9},
           {"vector_fp16", 133.8}, {"vector_bf16", 133.8})},
    /* NVIDIA H200 SXM. Memory: "NVIDIA H200 Tensor Core GPU" data sheet (2023), as quoted by NVIDIA in
     * TensorRT-LLM; its 1979 and 3958 with sparsity and 67 are those of H100, which has the same units. */
    {.name = "H200",
     .mem_bw_gbps = 4800,
     .memory_gb = 141,
     PEAKS({"matrix_fp64", 66.9}, {"matrix_fp32", 494.7}, {"matrix_fp16", 989.4}, {"matrix_bf16", 989.4},
           {"matrix_fp8", 1978.9}, {"matrix_int8", 1978.9}, {"vector_fp64", 33.5}, {"vector_fp32", 66.9},
           {"vector_fp16", 133.8}, {"vector_bf16", 133.8})},
    /* AMD Instinct MI250X, the module: flops per clock and compute unit in "AMD matrix cores" (AMD lab notes,
     * 2022), times 220 units (ROCm documentation, "GPU hardware specifications", as are the 128 GB) at 1.7
     * GHz (given there for MI250, which has the same clock). This gives the 47.9, 95.7 and 383.0 of AMD's
     * data sheet, as copied. Memory: 1638.4 GB/s per die, "Finite difference method - Laplacian part 1" (AMD
     * lab notes). In a trace, each of its two dies is a device: MI250X_GCD. */
    {.name = "MI250X",
     .mem_bw_gbps = 3276.8,
     .memory_gb = 128,
     PEAKS({"matrix_fp64", 95.7}, {"matrix_fp32", 95.7}, {"matrix_fp16", 383}, {"matrix_bf16", 383},
           {"matrix_int8", 383}, {"vector_fp64", 47.9}, {"vector_fp32", 47.9}, {"vector_fp16", 47.9},
           {"vector_bf16", 47.9})},
    /* One of the two dies: half of every figure. */
    {.name = "MI250X_GCD",
     .mem_bw_gbps = 1638.4,
     .memory_gb = 64,
     PEAKS({"matrix_fp64", 47.85}, {"matrix_fp32", 47.85}, {"matrix_fp16", 191.5}, {"matrix_bf16", 191.5},
           {"matrix_int8", 191.5}, {"vector_fp64", 23.95}, {"vector_fp32", 23.95}, {"vector_fp16", 23.95},
           {"vector_bf16", 23.95})},
    /* AMD Instinct MI300X and MI325X: the figures of TraceLens, so that results are comparable: rates
     * measured for GEMMs (matrix units, 16 and 8 bits; AMD's blog "Understanding Peak, Max-Achievable &
     * Delivered FLOPs", 2025), the rest from AMD's product pages. */
    {.name = "MI300X",
     .mem_bw_gbps = 5300,
     .memory_gb = 192,
     PEAKS({"matrix_fp16", 654}, {"matrix_bf16", 708}, {"matrix_fp32", 163}, {"matrix_fp64", 81},
           {"matrix_fp8", 1273}, {"matrix_int8", 2600}, {"vector_fp16", 163}, {"vector_bf16", 163},
           {"vector_fp32", 81}, {"vector_fp64", 40})},
    {.name = "MI325X",
     .mem_bw_gbps = 6000,
     .memory_gb = 256,
     PEAKS({"matrix_fp16", 794}, {"matrix_bf16", 843}, {"matrix_fp32", 194}, {"matrix_fp64", 97},
           {"matrix_fp8", 1519}, {"matrix_int8", 3094}, {"vector_fp16", 194}, {"vector_bf16", 194},
           {"vector_fp32", 97}, {"vector_fp64", 48})},
    /* AMD Instinct MI350X and MI355X. Matrices: "Matrix Core Programming on AMD CDNA3 and CDNA4 architecture"
     * (AMD, 2025) has 78.6, 157.3, 2.5 P, 5 P and 10 P for MI355X and the formula for their decimals: cycles
     * per instruction, four matrix cores in each of 256 compute units, 2.4 GHz. MI350X: the same at 2.2 GHz.
     * Units and memory size: ROCm documentation, "AMD GPU specifications". Vectors: 256 flops (fp32)
     * and 128 (fp64) per clock and unit, from the ROCm documentation of CDNA 3. Clocks, 8 TB/s and int8 at
     * the rate of fp8: press reports of AMD's launch, because no other source could be opened. */
    {.name = "MI350X",
     .mem_bw_gbps = 8000,
     .memory_gb = 288,
     PEAKS({"matrix_fp64", 72.1}, {"matrix_fp32", 144.2}, {"matrix_fp16", 2306.9}, {"matrix_bf16", 2306.9},
           {"matrix_fp8", 4613.7}, {"matrix_fp4", 9227.5}, {"matrix_int8", 4613.7}, {"vector_fp64", 72.1},
           {"vector_fp32", 144.2}, {"vector_fp16", 144.2}, {"vector_bf16", 144.2})},
    {.name = "MI355X",
     .mem_bw_gbps = 8000,
     .memory_gb = 288,
     PEAKS({"matrix_fp64", 78.6}, {"matrix_fp32", 157.3}, {"matrix_fp16", 2516.6}, {"matrix_bf16", 2516.6},
           {"matrix_fp8", 5033.2}, {"matrix_fp4", 10066.3}, {"matrix_int8", 5033.2}, {"vector_fp64", 78.6},
           {"vector_fp32", 157.3}, {"vector_fp16", 157.3}, {"vector_bf16", 157.3})},
};

const gt_gpu_arch *gt_gpu_archs(size_t *count)
{
    *count = GT_LENGTH(archs);
    return archs;
}

const gt_gpu_arch *gt_gpu_arch_find(const char *name, gt_error *error)
{
    gt_buffer known = {0};
    for (size_t i = 0; i < GT_LENGTH(archs); i++) {
        if (strcmp(archs[i].name, name) == 0) {
            gt_buffer_free(&known);
            return &archs[i];
        }
        gt_buffer_add_cstr(&known, i ? ", " : "");
        gt_buffer_add_cstr(&known, archs[i].name);
    }
    gt_fail(error, "unknown GPU '%s'; known GPUs: %s", name, gt_buffer_str(&known).bytes);
    gt_buffer_free(&known);
    return NULL;
}

double gt_gpu_arch_peak(const gt_gpu_arch *arch, const char *spec)
{
    for (size_t i = 0; i < arch->peak_count; i++)
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
        found[arch->peak_count++] = (gt_peak){peaks->items[i - 2].text.bytes, rate_of(&peaks->items[i - 1])};
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

bool gt_gpu_arch_choose(const char *name, const char *path, gt_arena *arena, gt_gpu_arch *own,
                        const gt_gpu_arch **chosen, gt_error *error)
{
    *chosen = NULL;
    if (path) {
        *chosen = own;
        return gt_gpu_arch_read(path, arena, own, error);
    }
    if (name) *chosen = gt_gpu_arch_find(name, error);
    return !name || *chosen;
}
