/* Samples the power or the used memory of GPUs while a command runs, on a thread of its own. */
#ifndef GT_RUN_SENSORS_SAMPLER_H
#define GT_RUN_SENSORS_SAMPLER_H

#include "run/sensors/sensors.h"

/* What is sampled, how often, and into which file. */
typedef struct gt_sampler_plan {
    const char *mode;    /* "power" or "vram" */
    const char *devices; /* "all" or numbers with commas */
    double period_s;
    const char *file;
} gt_sampler_plan;

typedef struct gt_sampler gt_sampler;

/* Starts sampling: at once, then every period. NULL where no GPU of the plan can be sampled, which has been
 * said in a warning; the run goes on without. The sensors must outlive the sampler. */
gt_sampler *gt_sampler_start(const gt_sampler_plan *plan, gt_sensors *sensors);

/* Takes the last sample, ends the thread and gives the file its name. NULL is fine. Whether there is a file.
 */
bool gt_sampler_stop(gt_sampler *sampler);

#endif
