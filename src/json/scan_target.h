/* Compiles a file for one instruction set, whatever the flags of the build:
 *
 *     #define GT_SCAN_FOR_AVX2
 *     #include "json/scan_target.h"
 *     #if GT_SCAN_TARGET            the compiler and the machine know the set
 *     #include ... code ...
 *     GT_SCAN_TARGET_END
 *     #endif
 *
 * Such code may run only where gt_scan_set_is_usable says so (scan_set.h). Without a definition, the set is
 * the base set of the machine. */
#pragma once

#include "json/scan_set.h"

#define GT_SCAN_TARGET 1
#define GT_SCAN_TARGET_END

#if defined(GT_SCAN_FOR_AVX512) && defined(__x86_64__)
#define GT_SCAN_FEATURES "avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi,bmi2,popcnt,pclmul"
#elif defined(GT_SCAN_FOR_AVX2) && defined(__x86_64__)
#define GT_SCAN_FEATURES "avx2,bmi,bmi2,popcnt,pclmul"
#elif defined(GT_SCAN_FOR_SVE2) && GT_SCAN_HAS_SVE2
#define GT_SCAN_FEATURES "+sve2"
#elif defined(GT_SCAN_FOR_AVX512) || defined(GT_SCAN_FOR_AVX2) || defined(GT_SCAN_FOR_SVE2)
#undef GT_SCAN_TARGET
#define GT_SCAN_TARGET 0
#endif

#if defined(GT_SCAN_FEATURES)
#define GT_SCAN_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define GT_SCAN_ATTRIBUTE(features)                                                                          \
    GT_SCAN_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
GT_SCAN_ATTRIBUTE(GT_SCAN_FEATURES)
#undef GT_SCAN_TARGET_END
#define GT_SCAN_TARGET_END GT_SCAN_PRAGMA(clang attribute pop)
#else
#define GT_SCAN_ATTRIBUTE(features) GT_SCAN_PRAGMA(GCC target(features))
GT_SCAN_ATTRIBUTE(GT_SCAN_FEATURES)
#endif
#endif
