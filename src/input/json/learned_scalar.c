/* The learned reader without vectors: the reference. */
#define GT_SCAN_FOR_SCALAR
#define GT_LEARNED_SET gt_learned_scalar
#include "input/json/learned_read.h"
