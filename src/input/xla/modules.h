/* The compiled modules of a profile: which of them an op belongs to, and what it says of the op. */
#ifndef GT_INPUT_XLA_MODULES_H
#define GT_INPUT_XLA_MODULES_H

#include "input/xla/plane.h"

/* Fills the records and sources of trace->ops from the plane "/host:metadata", and trace->products from the
 * module whose name begins with `products_of`, unless that is NULL. Only modules that ops name are read; one
 * that is damaged is passed over with a warning. False where the plane itself is damaged or cannot be read.
 */
bool xplane_read_modules(xplane *metadata, xfile *file, const char *products_of, gt_jax *trace);

#endif
