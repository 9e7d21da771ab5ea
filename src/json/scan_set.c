/* The choice of the instruction set, from what the processor and the kernel report. */
#include "json/scan_set.h"

#include <stdatomic.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

static const char *const names[GT_SCAN_SETS] = {
    [GT_SET_SCALAR] = "scalar", [GT_SET_SSE2] = "sse2", [GT_SET_AVX2] = "avx2",
    [GT_SET_AVX512] = "avx512", [GT_SET_NEON] = "neon", [GT_SET_SVE2] = "sve2",
};

const char *gt_scan_set_name(gt_scan_set set)
{
    return names[set];
}

#if defined(__x86_64__)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("pclmul");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2");
}

bool gt_scan_set_is_usable(gt_scan_set set)
{
    __builtin_cpu_init();
    return set == GT_SET_SCALAR || set == GT_SET_SSE2 || (set == GT_SET_AVX2 && has_avx2()) ||
           (set == GT_SET_AVX512 && has_avx2() && has_avx512());
}
#elif defined(__aarch64__)
enum { SVE2_BIT = 1 << 1 }; /* HWCAP2_SVE2, which old headers lack */

bool gt_scan_set_is_usable(gt_scan_set set)
{
    return set == GT_SET_SCALAR || set == GT_SET_NEON ||
           (set == GT_SET_SVE2 && GT_SCAN_HAS_SVE2 && getauxval(AT_HWCAP2) & SVE2_BIT);
}
#else
bool gt_scan_set_is_usable(gt_scan_set set)
{
    return set == GT_SET_SCALAR;
}
#endif

/* ---- the choice ---- */

static gt_scan_set best_set(void)
{
    gt_scan_set best = GT_SET_SCALAR;
    for (gt_scan_set set = GT_SET_SCALAR; set < GT_SCAN_SETS; set++)
        if (gt_scan_set_is_usable(set)) best = set;
    return best;
}

/* 1 + the chosen set; 0 before the first question. Threads that ask at the same time find the same answer. */
static atomic_uint chosen;

gt_scan_set gt_scan_set_chosen(void)
{
    unsigned set = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!set) {
        set = 1 + best_set();
        atomic_store_explicit(&chosen, set, memory_order_relaxed);
    }
    return (gt_scan_set)(set - 1);
}

static bool is_unknown(const char *name, gt_error *error)
{
    char usable[64] = "";
    for (gt_scan_set set = GT_SET_SCALAR; set < GT_SCAN_SETS; set++) {
        if (!gt_scan_set_is_usable(set)) continue;
        if (*usable) strcat(usable, ", ");
        strcat(usable, names[set]);
    }
    return gt_fail(error, "instruction set '%s' is unknown or not supported by this processor (use %s)", name,
                   usable);
}

bool gt_scan_set_use(const char *name, gt_error *error)
{
    for (gt_scan_set set = GT_SET_SCALAR; set < GT_SCAN_SETS; set++) {
        if (strcmp(name, names[set]) != 0 || !gt_scan_set_is_usable(set)) continue;
        atomic_store_explicit(&chosen, 1 + (unsigned)set, memory_order_relaxed);
        return true;
    }
    return is_unknown(name, error);
}
