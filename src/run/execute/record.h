/* What became of a run: its outcome, and gputally_run.json, the record of it. */
#ifndef GT_RUN_EXECUTE_RECORD_H
#define GT_RUN_EXECUTE_RECORD_H

#include "run/plan/plan.h"

#include <time.h>

typedef struct gt_outcome {
    struct timespec begin, end;
    int exit_code; /* of the command; -1: it was not started */
    bool failed;   /* of whatever reason */
    bool timed_out;
    int interrupted;                  /* the signal; 0 for none */
    const char *reason;               /* why it failed, in words; NULL where the exit code says it */
    const char *performance, *metric; /* what the command printed of itself; NULL: nothing */
    gt_arg_list files;                /* what came of it, as absolute paths */
} gt_outcome;

/* Writes the plan, the outcome and the files with their sizes to a path. */
bool gt_record_write(const gt_plan *plan, const gt_outcome *outcome, const char *path, gt_error *error);

/* What a file is, by its name: "rocpd", "json", "pftrace", "csv", "log", ... */
const char *gt_record_kind(const char *path);

#endif
