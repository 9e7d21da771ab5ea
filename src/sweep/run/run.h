/* `sweep run`: runs a command at every point of a grid of settings, one after another, and records each
 * outcome.
 *
 * grid.c: axes, values and points. plan.c: the command, environment and folder of a point, and the shipped
 * job files for rocprofv3. more.c: more runs of some settings. runner.c: runs the points. record.c: the
 * summary and sweep.json. session.c: what they run on. */
#pragma once

#include "os/shell_words.h"
#include "sweep/layout.h"

#include <time.h>

/* ---- grid of settings ----
 *
 * Later axes vary faster. Threads and channels are the last two, so that each folder above them is a sweep
 * that other programs can read, too: ROOT/[axis...]/<T>thread/nccl_<C>channels. Either may be missing. */

enum { GT_AXES_MAX = 16, GT_AXIS_VALUES_MAX = 1000, GT_POINTS_MAX = 10000 };

typedef struct gt_sweep_axis {
    const char *name;     /* "threads" */
    const char *variable; /* environment variable with the value; NULL: none */
    const char *folder;   /* folder of a point: "%sthread" */
    const char **values;
    size_t value_count;
    bool is_given; /* by gt_sweep_grid_add_axis */
} gt_sweep_axis;

typedef struct gt_sweep_grid {
    gt_sweep_axis axes[GT_AXES_MAX];
    size_t axis_count;
    gt_arena arena; /* of all strings */
} gt_sweep_grid;

/* The grid with threads and channels; "none" instead of values leaves one of them out. Returns false if a
 * value is not an integer or is given twice. */
bool gt_sweep_grid_begin(gt_sweep_grid *grid, const char *threads, const char *channels, gt_error *error);
void gt_sweep_grid_free(gt_sweep_grid *grid);

/* "NAME=v1,v2": adds an axis outside threads, or replaces the values of threads or channels. Returns false
 * also for a name that was added before. */
bool gt_sweep_grid_add_axis(gt_sweep_grid *grid, const char *text, gt_error *error);
/* "NAME=VARIABLE" and "NAME=FORMAT" of an existing axis. */
bool gt_sweep_grid_set_variable(gt_sweep_grid *grid, const char *text, gt_error *error);
bool gt_sweep_grid_set_folder(gt_sweep_grid *grid, const char *text, gt_error *error);

/* The number of axes before threads and channels. */
size_t gt_sweep_grid_further(const gt_sweep_grid *grid);
/* Axes in the order in which texts for people name them: threads and channels, then the others. */
size_t gt_sweep_grid_named_as(const gt_sweep_grid *grid, size_t k);
/* The number of points; 0 if there are more than GT_POINTS_MAX. */
size_t gt_sweep_grid_points(const gt_sweep_grid *grid);
/* The value of an axis at a point. */
const char *gt_sweep_grid_value(const gt_sweep_grid *grid, size_t point, size_t axis);
/* The value of the axis with this name, or NULL. */
const char *gt_sweep_grid_named(const gt_sweep_grid *grid, size_t point, const char *name, size_t name_len);
/* "ROOT/256thread/nccl_28channels"; the caller frees it. */
char *gt_sweep_grid_folder(const gt_sweep_grid *grid, size_t point, const char *root);

/* ---- command of a point ----
 *
 * A point is run `repeats` times. Runs are numbered: first the first run of each point, then the second ones.
 * The folders of later repeats are in ROOT/repeat_<k>, which is a sweep of its own.
 *
 * In the arguments of the command and in values of variables, {threads}, {channels}, the names of other axes,
 * {output_dir}, {profiler_dir}, {config} and {nproc} are replaced with their values at the point; {{ is a
 * literal brace. */

typedef struct gt_picked_run {
    size_t point, repeat;
} gt_picked_run;

typedef struct gt_run_plan {
    gt_sweep_grid grid;
    const char *root; /* folder of the sweep, as given */
    const char *const
        *command; /* arguments with placeholders; NULL: torchrun train.py like the reference script */
    size_t command_count;
    const char *config;
    int64_t nproc;
    bool rocprof, stats;
    const char *rocprof_input;      /* job file; NULL: none */
    const char *const *environment; /* "NAME=value" with placeholders */
    size_t environment_count;
    const char *const *unset; /* names of variables to remove from the environment */
    size_t unset_count;
    size_t repeats; /* of each point, at least 1; if more, runs are in random order */
    uint64_t seed;  /* of that order */
    gt_picked_run
        *picked; /* the runs, if not all repeats of all points; `repeats` is then the highest number */
    size_t picked_count, picked_capacity;
    const struct gt_value *secrets; /* what is masked in everything that is shown or recorded
                                       (run/plan/secrets.h) */
} gt_run_plan;

enum { GT_REPEATS_MAX = 1000, GT_SLOTS_MAX = 256 };
size_t gt_run_count(const gt_run_plan *plan);
size_t gt_run_repeat(const gt_run_plan *plan, size_t run); /* from 1 */
size_t gt_run_grid_point(const gt_run_plan *plan, size_t run);
/* The runs in the order in which they are run; the caller frees the list. The order depends only on the plan.
 */
size_t *gt_run_order(const gt_run_plan *plan);

/* Of a plan of one run per point in the folder of an earlier sweep: picks the runs that never ended, if there
 * are some. Fails if there is no such sweep, or if it is of another command (more.c). */
bool gt_run_plan_pick_unfinished(gt_run_plan *plan, gt_error *error);
/* Picks `more` further runs of each setting, given by its folder without that of the repeat. */
bool gt_run_plan_pick(gt_run_plan *plan, const char *const *places, size_t count, size_t more,
                      gt_error *error);

/* Returns false if a placeholder is unknown or a variable name is invalid. */
bool gt_run_plan_check(const gt_run_plan *plan, gt_error *error);

/* What all runs of the plan have in common, as a shell line: variables of --env and --unset, the profiler and
 * the command, with the placeholders whose values differ from point to point. Values of secrets are masked.
 * Runs whose lines differ are not comparable. The caller frees it. */
char *gt_run_plan_line(const gt_run_plan *plan);

/* How many arguments of the default command start train.py: torchrun --nproc_per_node N. */
enum { GT_DEFAULT_LAUNCHER_WORDS = 3 };

/* One point, ready to run. All memory is in its arena. */
typedef struct gt_run_point {
    gt_arena arena;
    const char *place;                    /* the folder below the root */
    const char *folder, *profiler_folder; /* as passed to the command: below the root as given */
    const char *rocprof_folder;           /* NULL: without rocprofv3 */
    gt_arg_list argv;                     /* NULL-terminated */
    size_t profiler_words;                /* of argv, before the command */
    gt_arg_list variables;                /* "NAME=value" of those that the sweep sets */
    gt_arg_list environment;              /* the complete environment, NULL-terminated */
} gt_run_point;

/* The plan must have been checked. */
gt_run_point gt_run_point_make(const gt_run_plan *plan, size_t run);
void gt_run_point_free(gt_run_point *point);

/* Prints the equivalent shell command of the point: "env -u NAME A=1 command word". Secrets are masked. */
void gt_run_point_print(gt_run_point *point, const gt_arg_list *unset, const struct gt_value *secrets);

/* "THREADS=256, CHANNELS=28", then further axes and the repeat; the caller frees it. */
char *gt_run_point_title(const gt_run_plan *plan, size_t run);

/* ---- job files for rocprofv3, for `sweep run --rocprof --rocprof_input FILE` ---- */

enum { GT_ROCPROF_JOBS = 2 };
extern const char *const gt_rocprof_job_names[GT_ROCPROF_JOBS], *const gt_rocprof_job_texts[GT_ROCPROF_JOBS];

/* Writes all of them into a folder and replaces existing files. */
bool gt_rocprof_jobs_write(const char *folder, gt_error *error);

/* ---- running ----
 *
 * Each command runs in its own process group (os/child.h). SIGINT, SIGTERM, SIGHUP and SIGQUIT stop it and
 * the sweep; a command that fails or times out does not stop the sweep. The sweep's folder gets a log, a
 * summary and sweep.json. */

/* Points as tasks of a SLURM job array. */
typedef struct gt_run_cluster {
    const struct gt_value *context; /* its keys slurm, distributed and env_vars, as of `gputally run` */
    size_t at_once;                 /* tasks at once; 0: as many as SLURM starts */
    bool generate_only;             /* write the script without submitting it */
    bool no_wait;                   /* submit without waiting */
} gt_run_cluster;

typedef struct gt_runner_options {
    const gt_run_cluster *cluster; /* NULL: here */
    bool skip_existing; /* skip points that ended well and whose output is whole, and those whose folder
                           exists although sweep.json does not name them; run the others again */
    bool no_summary;
    bool quiet;                 /* write the output of the commands and of the sweep only to the logs */
    int64_t delay_s, timeout_s; /* 0: none */
    size_t slots;               /* runs at once; 0 and 1: one after another */
    const char *gpus;           /* to divide among the slots (slots.h); NULL: all */
} gt_runner_options;

typedef struct gt_runner_result {
    size_t failed;    /* points that failed or timed out */
    bool all_failed;  /* of those that were run, and there were some */
    bool interrupted; /* by a signal */
    bool left;        /* tasks of SLURM are not waited for */
} gt_runner_result;

/* The plan must have been checked. Returns false if the sweep could not be started or recorded. */
bool gt_runner_run(const gt_run_plan *plan, const gt_runner_options *options, gt_runner_result *result,
                   gt_error *error);

/* Prints the commands without running them. */
void gt_runner_print(const gt_run_plan *plan, const gt_runner_options *options);

/* ---- outcomes ---- */

typedef struct gt_run_outcome {
    gt_run_status status;
    int exit_code;
    time_t started, ended; /* of a point that was run */
    int64_t duration_s;
    double seconds;
    bool is_begun;   /* it is among those to be run now: what was recorded before is replaced */
    bool is_skipped; /* not run now */
    size_t files;    /* that a successful run has left in its folder, and their bytes */
    uint64_t bytes;
    int ended_rest; /* processes that the command had left running, and that were ended */
} gt_run_outcome;

#define GT_SWEEP_EARLIER "earlier" /* in the folder of a run: outputs of earlier runs, by number */

/* Makes the folders of a point, and sets aside what earlier runs have left in them. */
bool gt_run_make_folders(const gt_run_point *point, gt_error *error);

typedef struct gt_run_limits {
    double timeout_s; /* 0: none */
    bool silent;      /* the output goes only to the log */
    bool in_slurm;    /* see os/child.h */
} gt_run_limits;

/* Runs the command of a point whose folders exist, and fills the outcome (execute.c). Returns false if it
 * could not be started. */
bool gt_run_execute(const gt_run_point *point, const gt_run_limits *limits, gt_run_outcome *outcome,
                    gt_error *error);

/* Runs a task on a node of SLURM (task.c): `folder` is that of the submission. Returns false if there is no
 * such task, or its outcome could not be recorded. */
bool gt_task_run(const char *folder, size_t task, gt_run_outcome *outcome, gt_error *error);
/* Prints its command without running it (task_plan.c). */
bool gt_task_print(const char *folder, size_t task, gt_error *error);

/* What sweep.json is made of. */
typedef struct gt_run_history {
    const gt_run_plan *plan;
    const gt_run_outcome *outcomes;        /* of each run */
    const struct gt_sweep_record *earlier; /* sweep.json as it was before; NULL: none */
    const struct gt_machine *machine;      /* what the runs of this call run on; NULL: on other machines */
    time_t started;
} gt_run_history;

/* The summary file of the reference script: THREADS, CHANNELS, STATUS, DURATION(s), then the folders. Further
 * axes are columns before them, and the repeat is the first one. */
void gt_run_summary(const gt_run_plan *plan, const gt_run_outcome *outcomes, time_t now, gt_buffer *text);
/* sweep.json: the axes, the variables, the machine of each session (call of `sweep run`), and each run with
 * its values, folder, status, exit code, times and all its attempts so far. Runs of earlier sweeps in the
 * folder stay. */
void gt_run_json(const gt_run_history *history, gt_buffer *text);

/* The machine and the versions of what the command uses, at the beginning of a session; its end reads the
 * clocks again.
 */
typedef struct gt_run_session {
    struct gt_plan *plan; /* as `gputally run` describes a command */
    struct gt_machine *machine;
} gt_run_session;
gt_run_session gt_run_session_begin(const gt_run_plan *plan);
gt_run_session gt_run_session_of(const gt_run_point *point, bool rocprof);
void gt_run_session_end(gt_run_session *session);
void gt_run_session_free(gt_run_session *session);

/* The files below a folder, without its own analyses, and their bytes. */
void gt_run_outputs(const char *folder, size_t *files, uint64_t *bytes);
/* Whether sweep.json says that the run ended well, and nothing of its output is missing since. */
bool gt_run_is_whole(const struct gt_sweep_record *record, const gt_run_point *point);
