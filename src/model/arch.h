/* Peak rates of GPUs: flops per second by unit and precision, and memory bandwidth. arch.c has the table of
 * built-in GPUs; users can describe others in a JSON file. */
#ifndef GT_MODEL_ARCH_H
#define GT_MODEL_ARCH_H

#include "base/error.h"
#include "base/memory.h"
#include "base/interner.h"

typedef struct gt_peak {
    const char *spec; /* as in gt_model_result: "matrix_bf16" */
    double tflops;
} gt_peak;

typedef struct gt_gpu_arch {
    const char *name;
    double mem_bw_gbps; /* 10^9 bytes per second; NaN: unknown */
    double memory_gb;   /* NaN: unknown */
    const gt_peak *peaks;
    size_t peak_count;
    double freq_mhz, num_cus, l1_bw_gbps, gemm_units_per_cu; /* for simulators; 0: unknown */
} gt_gpu_arch;

/* The built-in GPUs, sorted by name. */
const gt_gpu_arch *gt_gpu_archs(size_t *count);
/* The built-in GPU with exactly this name. If there is none: NULL, and an error that lists all names. */
const gt_gpu_arch *gt_gpu_arch_find(const char *name, gt_error *error);

/* Reads a user's file: a JSON object with name, mem_bw_gbps, memory_gb and max_achievable_tflops, an object
 * from specs to numbers. Values that are absent or not positive numbers are unknown. Strings are allocated in
 * the arena. */
bool gt_gpu_arch_read(const char *path, gt_arena *arena, gt_gpu_arch *arch, gt_error *error);
/* The same from a string. */
bool gt_gpu_arch_parse(gt_str json, gt_arena *arena, gt_gpu_arch *arch, gt_error *error);

/* The GPU with a name or from a file; at most one of them is given, the other is NULL. A file is read into
 * *own, its strings into the arena. *chosen is NULL if neither is given. */
bool gt_gpu_arch_choose(const char *name, const char *path, gt_arena *arena, gt_gpu_arch *own,
                        const gt_gpu_arch **chosen, gt_error *error);

double gt_gpu_arch_peak(const gt_gpu_arch *arch, const char *spec); /* TFLOP/s; NaN: unknown */

#endif
