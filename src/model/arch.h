/* Peak rates of GPUs: flops per second by unit and precision, and memory bandwidth. arch.c has the table of
 * built-in GPUs; users can describe others in a JSON file. */
#pragma once

#include "base/base.h"

typedef struct gt_peak {
    const char *spec; /* as in gt_model_result: "matrix_bf16" */
    double tflops;
    const char *source; /* a document or an address; NULL in users' files */
} gt_peak;

/* Which figures of a GPU are used. */
typedef enum gt_peak_set {
    GT_PEAKS_PEAK,       /* what the vendor publishes */
    GT_PEAKS_ACHIEVABLE, /* what well-tuned programs reach, where it is known; otherwise peak */
    GT_PEAKS_TRACELENS,  /* those of TraceLens, for comparison with its reports; otherwise peak */
    GT_PEAK_SETS
} gt_peak_set;

/* "peak", "achievable", "tracelens" */
const char *gt_peak_set_name(gt_peak_set set);
bool gt_peak_set_parse(const char *name, gt_peak_set *set); /* false if it is none of these */

typedef struct gt_gpu_arch {
    const char *name;
    const char *const *aliases; /* other names, up to a NULL; NULL: none */
    double mem_bw_gbps;         /* 10^9 bytes per second; NaN: unknown */
    double memory_gb;           /* NaN: unknown */
    const char *memory_source;
    const gt_peak *peaks; /* those of `set` */
    size_t peaks_count;
    gt_peak_set set;
    const gt_peak *achievable, *tracelens; /* figures that differ from peak rates; built-in GPUs only */
    size_t achievable_count, tracelens_count;
    double freq_mhz, num_cus, l1_bw_gbps, gemm_units_per_cu; /* for simulators; 0: unknown */
} gt_gpu_arch;

/* The built-in GPUs with their peak rates, sorted by name. */
const gt_gpu_arch *gt_gpu_archs(size_t *count);
/* The built-in GPU with this name, as users type it or as drivers report it: "mi300x", "RTX_4090", "NVIDIA
 * GeForce RTX 4090". Case, blanks, punctuation, vendors and brands do not matter. NULL if there is none;
 * names of other models are never matched ("RTX 4090 D", "A10G"). */
const gt_gpu_arch *gt_gpu_arch_match(const char *name);
/* The same; if there is none, an error that lists all names. */
const gt_gpu_arch *gt_gpu_arch_find(const char *name, gt_error *error);
/* A built-in GPU with the rates of a set. Rates that the set lacks are peak rates. False if the set is
 * ACHIEVABLE and no such rate is known. */
bool gt_gpu_arch_use(const gt_gpu_arch *gpu, gt_peak_set set, gt_arena *arena, gt_gpu_arch *used,
                     gt_error *error);
/* What tells AMD's GPUs apart. Version 9.4 is that of gfx942, and 9.5 of gfx950. Unknown values are 0. */
typedef struct gt_amd_properties {
    uint64_t major, minor, units, clock_mhz, memory_bytes;
} gt_amd_properties;
/* Appends the product that has these properties, "AMD Instinct MI300X"; if several have them, all: "AMD
 * Instinct MI350X or MI355X", which is not the name of a built-in GPU. False if there is none (arch_choose.c). */
bool gt_amd_gpu_add_name(const gt_amd_properties *gpu, gt_buffer *out);
/* How displays say that a name was found so, after the name. */
#define GT_BY_PROPERTIES " (by its properties)"
/* Appends name and set: "MI300X, peak rates". */
void gt_gpu_arch_describe(const gt_gpu_arch *arch, gt_buffer *out);

/* Reads a user's file: a JSON object with name, mem_bw_gbps, memory_gb and max_achievable_tflops, an object
 * from specs to numbers. Values that are absent or not positive numbers are unknown. Strings are allocated in
 * the arena. */
bool gt_gpu_arch_read(const char *path, gt_arena *arena, gt_gpu_arch *arch, gt_error *error);
/* The same from a string. */
bool gt_gpu_arch_parse(gt_str json, gt_arena *arena, gt_gpu_arch *arch, gt_error *error);

/* The GPU with a name or from a file; at most one of them is given, the other is NULL. It is written to *own,
 * strings and rates to the arena; *chosen points to it, or is NULL if neither is given. A file has its own
 * rates, whatever the set. */
bool gt_gpu_arch_choose(const char *name, const char *path, gt_peak_set set, gt_arena *arena,
                        gt_gpu_arch *own, const gt_gpu_arch **chosen, gt_error *error);

double gt_gpu_arch_peak(const gt_gpu_arch *arch, const char *spec); /* TFLOP/s; NaN: unknown */
