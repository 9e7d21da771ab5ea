/* What became of the points of a sweep, for people (the summary) and for programs (sweep.json). */
#ifndef GT_SWEEP_RUN_RECORD_H
#define GT_SWEEP_RUN_RECORD_H

#include "sweep/run/plan.h"

#include <time.h>

typedef enum gt_run_status {
    GT_RUN_PENDING, /* not begun */
    GT_RUN_SUCCESS,
    GT_RUN_FAILED,
    GT_RUN_TIMEOUT,
    GT_RUN_SKIPPED,
    GT_RUN_INTERRUPTED,
} gt_run_status;
extern const char *const gt_run_status_names[];

typedef struct gt_run_outcome {
    gt_run_status status;
    int exit_code;
    time_t started, ended; /* of a point that was run */
    int64_t duration_s;
} gt_run_outcome;

/* As the reference's summary file: THREADS, CHANNELS, STATUS, DURATION(s), then the folders. Further axes are
 * columns before them. */
void gt_run_summary(const gt_run_plan *plan, const gt_run_outcome *outcomes, time_t now, gt_buffer *text);
/* The command, the variables and each point with its values, folder, status, exit code and times. */
void gt_run_json(const gt_run_plan *plan, const gt_run_outcome *outcomes, time_t started, gt_buffer *text);

enum { GT_TIME_TEXT = 64 };
void gt_print_time(char text[GT_TIME_TEXT], const char *format, time_t at); /* local time, as strftime */

#endif
