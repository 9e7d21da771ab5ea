/* Numbers to text and back, exactly: what Python's repr prints, what strtod reads. */
#ifndef GT_BASE_NUMBER_H
#define GT_BASE_NUMBER_H

#include "base/interner.h"

#include <stddef.h>
#include <stdint.h>

enum { GT_NUMBER_MAX = 32 }; /* room that any printed number fits in */

/* The shortest digits that read back as the same double, laid out as Python's repr does: 1.0, 0.0001, 1e-05,
 * 1e+16, inf, -inf, nan. Returns the length; no NUL is written. */
size_t gt_print_double(char *out, double value);
size_t gt_print_int(char *out, int64_t value);

/* What strtod makes of a text that has no NUL behind it. */
double gt_read_double(gt_str text);

#endif
