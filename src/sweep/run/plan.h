/* What a sweep runs: one command for all points of a grid, its words and environment made anew for each
 * point.
 *
 * In the words of the command and in values of variables, {threads}, {channels}, the names of other axes,
 * {output_dir}, {profiler_dir}, {config} and {nproc} stand for what they are at the point; {{ is a brace. */
#ifndef GT_SWEEP_RUN_PLAN_H
#define GT_SWEEP_RUN_PLAN_H

#include "os/shell_words.h"
#include "sweep/run/grid.h"

#include <stdint.h>

typedef struct gt_run_plan {
    gt_sweep_grid grid;
    const char *root; /* the sweep's folder, as given */
    const char *const
        *command; /* words with placeholders; NULL: torchrun train.py as the reference runs it */
    size_t command_count;
    const char *config;
    int64_t nproc;
    bool rocprof, stats;
    const char *rocprof_input;      /* job file; NULL: none */
    const char *const *environment; /* "NAME=value" with placeholders */
    size_t environment_count;
    const char *const *unset; /* names of variables that the command shall not see */
    size_t unset_count;
} gt_run_plan;

/* False where a placeholder has no meaning or a variable no name. */
bool gt_run_plan_check(const gt_run_plan *plan, gt_error *error);

/* One point, ready to run. All in its arena. */
typedef struct gt_run_point {
    gt_arena arena;
    const char *folder, *profiler_folder; /* as the command sees them: below the root as given */
    const char *rocprof_folder;           /* NULL without rocprofv3 */
    gt_arg_list argv;                     /* a NULL behind the last */
    gt_arg_list variables;                /* "NAME=value" of those that the sweep sets */
    gt_arg_list environment;              /* all of it; a NULL behind the last */
} gt_run_point;

/* The plan must have been checked. */
gt_run_point gt_run_point_make(const gt_run_plan *plan, size_t point);
void gt_run_point_free(gt_run_point *point);

/* "THREADS=256, CHANNELS=28" and further axes behind; the caller frees it. */
char *gt_run_point_title(const gt_run_plan *plan, size_t point);

#endif
