/* What the host launched: when each correlation id was last used by a call of the host. */
#ifndef GT_INPUT_XLA_LAUNCHES_H
#define GT_INPUT_XLA_LAUNCHES_H

#include "input/xla/lines.h"

typedef struct xlaunches {
    double *us_of; /* by ids below us_count; NaN for none */
    size_t us_count;
    gt_map sparse; /* of greater ids: places in sparse_us */
    double *sparse_us;
    size_t sparse_count, sparse_capacity;
} xlaunches;

/* Reads them from the plane "/host:CPU". False where it is damaged or cannot be read. */
bool xlaunches_read(xlaunches *launches, xplane *host, xfile *file);
void xlaunches_free(xlaunches *launches);

double xlaunches_find(const xlaunches *launches, uint64_t correlation); /* microseconds; NaN for none */

#endif
