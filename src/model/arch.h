/* What a GPU can do at most: flops per second by units and precision, bytes per second from its memory. */
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
    double mem_bw_gbps; /* 10^9 bytes a second; NaN: not known */
    double memory_gb;   /* NaN: not known */
    const gt_peak *peaks;
    size_t peak_count;
    double freq_mhz, num_cus, l1_bw_gbps, gemm_units_per_cu; /* for simulators; 0: not known */
} gt_gpu_arch;

/* The GPUs that are known by name, in the order of their names. */
const gt_gpu_arch *gt_gpu_archs(size_t *count);
/* One of them, by its exact name; NULL and an error that names all where there is none. */
const gt_gpu_arch *gt_gpu_arch_find(const char *name, gt_error *error);

/* Reads a file of the user: a JSON object with name, mem_bw_gbps, memory_gb and max_achievable_tflops, an
 * object from specs to numbers. What is absent or no number is not known. Texts lie in the arena. */
bool gt_gpu_arch_read(const char *path, gt_arena *arena, gt_gpu_arch *arch, gt_error *error);
/* The same from a text. */
bool gt_gpu_arch_parse(gt_str json, gt_arena *arena, gt_gpu_arch *arch, gt_error *error);

/* The GPU of a name or of a file, of which at most one is given; *chosen is NULL where none is. One from a
 * file is read into *own, its texts into the arena. */
bool gt_gpu_arch_choose(const char *name, const char *path, gt_arena *arena, gt_gpu_arch *own,
                        const gt_gpu_arch **chosen, gt_error *error);

double gt_gpu_arch_peak(const gt_gpu_arch *arch, const char *spec); /* TFLOP/s; NaN: not known */

#endif
