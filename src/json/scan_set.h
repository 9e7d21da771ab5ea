/* The instruction sets that the JSON reader is compiled for, and the choice among them.
 *
 * One binary runs on all machines of its kind. The best set that the processor has is chosen when it is
 * first asked for; results are the same with each of them. */
#pragma once

#include "base/base.h"

/* Whether the compiler can compile single files for SVE2. clang accepts its intrinsics only if the whole
 * build is for it. */
#if defined(__aarch64__) && ((!defined(__clang__) && __GNUC__ >= 10) || defined(__ARM_FEATURE_SVE2))
#define GT_SCAN_HAS_SVE2 1
#else
#define GT_SCAN_HAS_SVE2 0
#endif

/* Better ones last. */
typedef enum gt_scan_set {
    GT_SET_SCALAR, /* no vectors: the reference */
    GT_SET_SSE2,   /* all x86-64 */
    GT_SET_AVX2,   /* with BMI2 and PCLMUL: Intel since 2013, AMD since 2015 */
    GT_SET_AVX512, /* with BW, VL and VBMI2: Intel servers since 2019, AMD since 2022; older processors with
                      AVX-512 lower their clock for it */
    GT_SET_NEON,   /* all arm64 */
    GT_SET_SVE2,   /* Armv9: Neoverse N2 and V2, Grace, Graviton 4 */
    GT_SCAN_SETS
} gt_scan_set;

/* The loops of scan.h as compiled for one set, so that tests can compare them. */
typedef struct gt_scan_loops {
    const uint8_t *(*quote)(const uint8_t *p, const uint8_t *end);
    const uint8_t *(*string)(const uint8_t *p, const uint8_t *end);
    const uint8_t *(*space)(const uint8_t *p, const uint8_t *end);
    const uint8_t *(*container)(const uint8_t *p, const uint8_t *end);
    const uint8_t *(*long_containers)(const uint8_t *p, const uint8_t *end, size_t depth, bool is_in_string);
    bool (*same)(const uint8_t *p, const uint8_t *text, size_t len);
    size_t (*same_length)(const uint8_t *a, const uint8_t *b, size_t len);
} gt_scan_loops;

/* Its name in lower case, such as "avx2". */
const char *gt_scan_set_name(gt_scan_set set);
/* Whether this binary has code for it and the processor can run it. */
bool gt_scan_set_is_usable(gt_scan_set set);

/* The set to use: the best usable one, unless gt_scan_set_use named another. */
gt_scan_set gt_scan_set_chosen(void);
/* Chooses a set for the whole process, for tests and measurements. False if it is unknown or not usable. */
bool gt_scan_set_use(const char *name, gt_error *error);
