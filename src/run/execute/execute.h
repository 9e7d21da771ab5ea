/* Executing a plan: run the command under its tools (execute.c), put the profiler's files where the user
 * expects them (publish.c), collect them (collect.c, convert_csv.c, found_files.c, nvidia.c), count the
 * library calls in its output (library_trace.c), and record the outcome (record.c).
 */
#pragma once

#include "run/execute/trials.h"
#include "run/plan/plan.h"

#include <time.h>

/* ---- execution (execute.c) ---- */

typedef struct gt_machine gt_machine;

/* What one GPU took while the command ran; NaN: not known. */
typedef struct gt_gpu_energy {
    const char *gpu;  /* "GPU0" */
    double sampled_j; /* integral of the samples of its power */
    double counted_j; /* by its own counter */
} gt_gpu_energy;

typedef struct gt_outcome {
    struct timespec begin, end;
    int exit_code; /* of the command; -1: not started */
    bool failed;   /* for any reason */
    bool timed_out;
    int interrupted;                  /* the signal; 0: none */
    const char *reason;               /* why it failed; NULL: see the exit code */
    const char *performance, *metric; /* as printed by the command; NULL: none */
    gt_arg_list files;                /* absolute paths of the files that the run wrote */
    gt_machine *machine;              /* what it ran on; NULL: nothing was started */
    gt_gpu_energy *energies;          /* of the GPUs whose power was sampled */
    size_t energy_count;
    double command_s;        /* how long the command ran, with all its passes */
    bool is_trial;           /* one of several repeats: reports are written to its folder, but not shown */
    double step_ms;          /* of a trial: mean step time of the command's own traces */
    size_t step_count;       /* traces that have one */
    const gt_trials *trials; /* of the whole run; NULL: not repeated */
} gt_outcome;

/* Runs the plan. Fills the outcome in any case and prints messages; files are kept even if the command fails.
 * Returns false if the run failed. */
bool gt_plan_execute(gt_plan *plan, gt_outcome *outcome);

/* Whether a signal comes because the time of a job of SLURM is over; its script (run/targets/slurm.c) says
 * from when on. */
bool gt_run_time_is_over(void);

/* The environment of the command: this program's and the plan's. In the plan's arena. */
const char *const *gt_plan_environment(const gt_plan *plan);

/* ---- containers that stay for several commands (container.c) ---- */

/* Starts the container of a plan in_session. A container of the same name that another run left behind is
 * removed; if that run still goes on, this container gets another name. */
bool gt_container_start(gt_plan *plan, gt_error *error);
/* Makes what the container wrote in these folders writable for the user of this program, because programs in
 * it run as root. */
void gt_container_give_files(const gt_plan *plan);

/* ---- the machine (machine.c) ---- */

/* Describes this machine, before the command; in the plan's arena. */
gt_machine *gt_machine_look(const gt_plan *plan);
/* Reads the clocks again, right after the command, and closes the libraries of the GPUs. */
void gt_machine_finish(gt_machine *machine);
/* Writes OUTPUT_DIR/NAME_env.csv: section, key, value. */
bool gt_machine_write(const gt_machine *machine, gt_error *error);
/* Writes the member "machine" of the run record; null if `machine` is NULL. */
void gt_machine_put(gt_json_writer *w, const gt_machine *machine);

/* ---- energy (energy.c) ---- */

/* Stores the energies of a power sampler, once it has stopped. */
void gt_energy_measure(const gt_plan *plan, const gt_sampler_plan *sampler, const gt_sampler_result *result,
                       gt_outcome *outcome);
/* Writes the member "energy" of the record: the GPUs, and a total for which the counters win; null: not
 * sampled. */
void gt_energy_write(const gt_outcome *outcome, gt_json_writer *w);
/* Adds what the counters say to power_summary, if there are any. */
void gt_energy_add_column(const gt_outcome *outcome, gt_table *summary);

/* ---- disk (disk.c) ---- */

/* Free bytes where the folder is; false if the file system does not tell. */
bool gt_disk_free_bytes(const char *folder, uint64_t *bytes);
/* Refuses a run for which less than --min_free is free, and warns if the trace may not fit. */
bool gt_disk_check(const gt_plan *plan, gt_error *error);
/* About how many bytes a profiler writes per second, for all processes of this machine; 0: not known. */
double gt_disk_bytes_per_s(const gt_plan *plan);
/* Whether files of this run may be missing or incomplete because the disk is full. */
bool gt_disk_was_full(const char *folder);

/* ---- the profiler's files (publish.c, collect.c) ---- */

/* Gives the files that the profiler wrote the names that -d and -o mean. Before the user's scripts, which may
 * read them. Files are added to the outcome. Failures are warnings. */
void gt_publish(const gt_plan *plan, gt_outcome *outcome);

/* From the files that rocprofv3 wrote in its folder of this run (run_dir: rocprof_output/TIMESTAMP, or
 * DIR/TIMESTAMP of -d DIR), makes
 *
 *     run_dir/PID_results.db|json|pftrace              links to the results of each process
 *     run_dir/kernel_trace.csv, hip_api_trace.csv,     all processes; converted from other formats if
 *         memory_copy_trace.csv                        rocprofv3 wrote no CSV
 *     rocprof_output/rocprofv3_output_BASE.csv         the same for six kinds; counters: all passes
 *     rocprof_output/model_trace.pftrace, trace.json   the largest of this run
 *     rocprof_output/instruction_histogram.json
 *     rocprof_output/latest, DIR/latest                links to run_dir
 *
 * Legacy results.* in the work folder that are newer than the run are moved into run_dir. Files are added to
 * the outcome. Failures are warnings. */
void gt_collect(const gt_plan *plan, gt_outcome *outcome);

/* Removes results of an earlier run, by its record, that this run should have replaced but has not, with a
 * warning. Before the record of this run is written. `has_reports`: reports were to be made. (earlier.c) */
void gt_earlier_remove(const gt_plan *plan, const gt_outcome *outcome, bool has_reports);

enum { GT_HISTOGRAM_CLASSES = 6 };

/* Instruction counts by class, in the order in which the classes first appear. */
typedef struct gt_histogram {
    const char *names[GT_HISTOGRAM_CLASSES];
    __int128 sums[GT_HISTOGRAM_CLASSES];
    size_t count;
} gt_histogram;

/* Adds a table of counters, all cells strings: one column per counter, or rocprofv3's Counter_Name and
 * Counter_Value. */
void gt_histogram_add(gt_histogram *histogram, const gt_table *table);
/* Appends the histogram as JSON, one class per line. */
void gt_histogram_print(const gt_histogram *histogram, gt_buffer *text);

/* Reads the rocprofv3 output of a folder as one run and writes its tables that have rows as CSV into `to`.
 * `kernels` counts dispatches, `counters` values of counters (NULL: not read); the paths are added to
 * `written`. (convert_csv.c) */
bool gt_convert_csv(const char *folder, const char *to, size_t *kernels, size_t *counters,
                    gt_arg_list *written, gt_arena *arena, gt_error *error);

/* ---- reports of NVIDIA's profilers (nvidia.c) ---- */

/* Exports each report of nsys as a database and each of ncu as CSV, next to it. Failures are warnings. */
void gt_nvidia_export(const gt_plan *plan);
/* Whether NVIDIA's driver says in this line that only administrators may read the GPU's counters. */
bool gt_nvidia_forbids_counters(gt_str line);

/* ---- library calls (library_trace.c) ---- */

typedef struct gt_library_trace gt_library_trace;

/* `modes` are those of the plan: "rocblas_trace", "hipblaslt_trace", "tensile_trace", "miopen_trace",
 * "rccl_trace". */
gt_library_trace *gt_library_trace_new(const gt_arg_list *modes);
void gt_library_trace_free(gt_library_trace *trace);

/* Counts the line if a library printed it; returns whether it did. */
bool gt_library_trace_see(gt_library_trace *trace, gt_str line);

/* Writes the table, even if it is empty: jobid, created_date, model, library, config, calls; with CRLF. */
bool gt_library_trace_write(const gt_library_trace *trace, const char *path, const char *model,
                            gt_error *error);

/* ---- recording the outcome (record.c) ---- */

/* Finds a performance number in a line of the log, as written; strings are in the arena. */
bool gt_performance_find(gt_arena *arena, gt_str line, const char **number, const char **metric);

enum { GT_PERFORMANCES_MAX = 64 };

/* Performance numbers of several nodes by metric. */
typedef struct gt_performances {
    struct {
        const char *metric;
        double sum, most;
        size_t count;
    } items[GT_PERFORMANCES_MAX];
    size_t count;
} gt_performances;

void gt_performances_add(gt_performances *figures, gt_arena *arena, const char *metric, double value);
/* Writes {metric: value}: the sum (throughputs), the mean (times, accuracies, losses) or the maximum
 * (memory), depending on words in the name of the metric. */
void gt_performances_write(const gt_performances *figures, gt_json_writer *w, const char *key);

/* Writes the plan, the outcome and the files with their sizes as JSON. */
bool gt_record_write(const gt_plan *plan, const gt_outcome *outcome, const char *path, gt_error *error);

/* Writes OUTPUT_DIR/NAME_run_summary.xlsx with the sheets that the run has files for: power_summary,
 * vram_summary, library_calls (most calls first), repeats, repeat_runs. If there are none, writes nothing and
 * sets *path to NULL.
 */
bool gt_run_summary_write(const gt_plan *plan, const gt_outcome *outcome, const char **path, gt_error *error);
