/* The settings of a sweep: which values of which axes each run had, where its folder and its reports are, how
 * it ended, and where its traces are. Nothing is written here.
 *
 *     SWEEP/[repeat_<k>/][NAME_<value>/...]<T>thread/nccl_<C>channels/torch_profiler/rank<R>
 *     SWEEP/tracelens_analysis/[repeat_<k>/][NAME_<value>/...]<T>thread/individual_reports/perf_<C>ch_rank<R>.xlsx
 *
 * Each axis is one folder; threads and channels are axes like any other and may be missing. sweep.json, which
 * `sweep run` writes, says which axes there are and how each run ended; without it, the names of folders do.
 * The first repeat of a setting has no folder of its own.
 *
 * A loop over all settings:
 *
 *     for (size_t i = 0; i < sweep.count; i++)
 *         for (size_t a = 0; a < sweep.axis_count; a++)
 *             printf("%s=%s\n", sweep.axes[a].name, sweep.configs[i].values[a].value);
 */
#pragma once

#include "sweep/folder_names.h"
#include "sweep/status.h"

/* ---- settings ---- */

typedef struct gt_sweep_dimension {
    const char *name;   /* "threads", "proto" */
    const char *column; /* its column in new tables: the name, or "axis_rank" for names that tables use */
    const char *
        *values; /* numbers ascending; others in the order of the grid, or byte order if it is unknown */
    size_t value_count;
    bool is_numeric; /* all values are numbers that differ and that tables show as they are written */
    bool is_whole;   /* and integers */
} gt_sweep_dimension;

typedef struct gt_sweep_value {
    const char *axis;
    const char *value; /* NULL: this setting has no such axis */
    size_t place;      /* of the value in the dimension's list; SIZE_MAX: none */
} gt_sweep_value;

/* One run: a setting, or one of its repeats. */
typedef struct gt_sweep_config {
    gt_sweep_value *values; /* of each axis of the sweep, in its order */
    int64_t repeat;         /* from 1 */
    gt_run_status status;
    int exit_code; /* of a run that ended; else 0 */
    const char *folder;
    const char *place;         /* the folder below the sweep's: "256thread/nccl_28channels" */
    const char *name;          /* of the run: "256thread_28ch", "proto_LL_256thread_28ch_repeat_2" */
    const char *setting;       /* the name without the repeat: equal for all repeats of a setting */
    const char *report_folder; /* below tracelens_analysis: "256thread", "proto_LL/256thread", "." */
    const char *report_name;   /* "28ch" in perf_28ch_rank0.xlsx, "mode_fast" in perf_mode_fast_rank0.xlsx; ""
                                  of a run that is not in a sweep: perf_rank0.xlsx, collective_all_ranks.xlsx */
    const char *command;       /* that it ran, interned, as sweep.json says; NULL: it does not */
    size_t added;              /* the how many-th gt_sweep_add was for it, from 0 */
} gt_sweep_config;

typedef struct gt_sweep {
    gt_sweep_dimension *axes; /* in the order of the folders, outermost first */
    size_t axis_count;
    gt_sweep_config *configs; /* in the order of the axes' values, later axes faster; then repeats */
    size_t count, capacity;
    size_t added;    /* by gt_sweep_add so far, including those that are left out */
    int64_t repeats; /* the highest number of a repeat */
    bool
        is_classic; /* the axes are threads and channels and nothing is repeated, as in a sweep of the scripts
                       that gputally replaces: threads are then in byte order of their folders' names */
    size_t failed;  /* configs that did not end well (gt_run_has_failed) */
    struct gt_sweep_record *record; /* sweep.json; NULL: none */
    gt_interner *strings;           /* of names of axes and values: equal ones are at one address */
    gt_map places;                  /* address of the interned place to `added` */
    gt_arena arena;                 /* of the other strings and all lists */
} gt_sweep;

/* Finds the settings whose folders exist. Fails if there are none. gt_sweep_free in any case. */
bool gt_sweep_open(gt_sweep *sweep, const char *root, gt_error *error);
void gt_sweep_free(gt_sweep *sweep);

/* Removes the runs that did not end well, with a warning that names them. With `include`, they stay, and the
 * warning says that. */
void gt_sweep_leave_out_failed(gt_sweep *sweep, bool include);

/* Removes the runs of another command than the newest that any of the runs has, with a warning that names
 * them: their times say nothing about the settings. Runs whose command is not known stay. */
void gt_sweep_leave_out_other_commands(gt_sweep *sweep);

/* The index of an axis; SIZE_MAX if the sweep has no such axis. */
size_t gt_sweep_axis_named(const gt_sweep *sweep, const char *name);

/* "ANALYSIS/256thread/individual_reports/perf_28ch_rank0.xlsx" and
 * "ANALYSIS/256thread/collective_reports/collective_28ch.xlsx"; the caller frees them. */
char *gt_sweep_rank_report(const char *analysis, const gt_sweep_config *config, int64_t rank);
char *gt_sweep_collective_report(const char *analysis, const gt_sweep_config *config);

/* ---- for those who find settings in another way, by their reports ---- */

/* A sweep without settings; reads sweep.json of the folder if there is one, and warns if it is damaged. */
void gt_sweep_begin(gt_sweep *sweep, const char *root);
/* Adds the run with this folder below the sweep's, "256thread/nccl_28channels", unless it is there already.
 * Returns its `added`. */
size_t gt_sweep_add(gt_sweep *sweep, const char *root, const char *place);
/* Sorts axes, values and settings. */
void gt_sweep_finish(gt_sweep *sweep);
/* ---- traces ---- */

typedef struct gt_sweep_trace {
    int64_t rank;
    char *path;
    size_t others; /* further files in its folder that could be the trace as well */
} gt_sweep_trace;

typedef struct gt_sweep_traces {
    gt_sweep_trace *items; /* by rank */
    size_t count, capacity;
} gt_sweep_traces;

/* The traces of torch.profiler. For each rank: the first of customer_trace*.json, *trace*.json, *.json (also
 * .gz, .zst) in its folder rank<R>, rank_<R> or rank_0<R>, then in its subfolder trace, then in any
 * subfolder; else a file next to these folders with the rank in its name. */
gt_sweep_traces gt_sweep_torch_traces(const char *config_folder);
/* The same, given the folder torch_profiler itself. */
gt_sweep_traces gt_sweep_traces_in(const char *profiler_folder);
/* The trace of one rank, found in the same way, or NULL. The caller frees it. */
char *gt_sweep_torch_trace(const char *config_folder, int64_t rank);
/* The traces of rocprofv3, one per process. Ranks follow the byte order of the paths, or the process ids. */
gt_sweep_traces gt_sweep_rocprof_traces(const char *config_folder, bool by_pid);
/* The profiles of JAX, *.xplane.pb anywhere below the folder, one per host. Of several folders with profiles,
 * as after several runs, the last one in byte order, which is the latest: their names are times. */
gt_sweep_traces gt_sweep_jax_traces(const char *config_folder);
void gt_sweep_traces_free(gt_sweep_traces *traces);
