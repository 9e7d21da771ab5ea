/* The learned reader for arm64 with SVE2. */
#define GT_SCAN_FOR_SVE2
#include "json/scan_target.h"
#if GT_SCAN_TARGET
#define GT_LEARNED_SET gt_learned_sve2
#include "input/json/learned_read.h"
GT_SCAN_TARGET_END
#endif
