/* One call of `sweep run`: what those share that run its points: runner.c, one after another or in slots, and
 * cluster.c, as a job array. steps.c: which runs are skipped, and what is recorded; runner_log.c: what is
 * printed and logged. */
#pragma once

#include "json/writer.h"
#include "sweep/record.h"
#include "sweep/run/run.h"

typedef struct gt_runner {
    const gt_run_plan *plan;
    const gt_runner_options *options;
    gt_runner_result *result;
    gt_run_outcome *outcomes; /* one per run */
    size_t runs;
    size_t *order;            /* of the runs */
    gt_sweep_record *earlier; /* sweep.json as it was before; NULL: none */
    bool *is_queued;          /* of each run: a task of SLURM has it; NULL: none */
    gt_run_session session;
    size_t begun;   /* runs of this program, without skipped ones */
    size_t not_run; /* tasks that were cancelled before they started */
    size_t done;    /* those that ended, and the seconds that they took */
    double done_s;
    char *log_path, *summary_path, *record_path;
    FILE *log;
    int lock; /* descriptor of the sweep's folder; -1: none */
    bool colour;
    time_t started;
    double recorded,
        record_s;       /* when sweep.json was last written, on the monotonic clock, and how long that took */
    bool is_unrecorded; /* something is not in sweep.json yet */
} gt_runner;

/* ---- log (runner_log.c) ---- */

typedef enum gt_tone { GT_TONE_PLAIN, GT_TONE_GREEN, GT_TONE_YELLOW, GT_TONE_RED } gt_tone;
/* Prints a line on the terminal, in colour, and in the log. */
void gt_runner_put(gt_runner *r, gt_tone tone, const char *text);
/* The same with the time before it. */
void gt_runner_log(gt_runner *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gt_runner_log_plan(gt_runner *r);
/* Before a run: how many are left with it, and about how long they take. */
void gt_runner_log_begin(gt_runner *r, size_t run, const gt_run_point *point, size_t left);
/* ", about 12 min left"; "" for 0 seconds; the caller frees it. */
char *gt_runner_time_left(double seconds);
void gt_runner_log_end(gt_runner *r, size_t run, const gt_run_outcome *outcome);

/* ---- steps (steps.c) ---- */

/* Whether a run is skipped because of how it ended. Without a record, that cannot be known: then its folder
 * counts, as for the script. */
bool gt_runner_is_skipped(const gt_runner_options *options, const gt_sweep_record *earlier,
                          const gt_run_point *point);
/* Decides which runs are skipped; the others are PENDING in sweep.json from now on. *left: how many. */
bool gt_runner_choose(gt_runner *r, size_t *left, gt_error *error);
/* Writes sweep.json. If that takes long, it is left to a later call unless it is the last time. */
bool gt_runner_record(gt_runner *r, bool last, gt_error *error);
/* Writes a file that appears whole or not at all; frees the text. */
bool gt_runner_write_whole(const char *path, gt_buffer *text, gt_error *error);
/* The same with the mode 0600. */
bool gt_runner_write_private(const char *path, gt_buffer *text, gt_error *error);
/* The same for a JSON document, which gets its line break; frees the writer. */
bool gt_runner_write_json(const char *path, gt_json_writer *document, gt_error *error);
