/* The learned reader for x86-64 with AVX2. */
#define GT_SCAN_FOR_AVX2
#include "json/scan_target.h"
#if GT_SCAN_TARGET
#define GT_LEARNED_SET gt_learned_avx2
#include "input/json/learned_read.h"
GT_SCAN_TARGET_END
#endif
