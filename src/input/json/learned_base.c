/* The learned reader for the base set of the machine: SSE2 or NEON. */
#define GT_LEARNED_SET gt_learned_base
#include "input/json/learned_read.h"
