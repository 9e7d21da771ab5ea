/* The compiled modules of a profile: which of them an op belongs to, and what it says of the op. */
#ifndef GT_INPUT_XPLANE_MODULES_H
#define GT_INPUT_XPLANE_MODULES_H

#include "input/xplane_plane.h"

/* Fills the records and sources of trace->ops from the plane "/host:metadata", which is open. Only modules
 * that ops name are read; one that is damaged is passed over with a warning. */
void xplane_read_modules(xplane *metadata, gt_jax *trace);

#endif
