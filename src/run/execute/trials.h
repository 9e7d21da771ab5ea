/* Repeats of a run: how far its figures vary, and what the profiler costs.
 *
 * After the warm-up, the command runs in pairs, with the profiler and without it. Which of the two comes
 * first changes from pair to pair (ABBA), so that a drift of clocks or temperatures does not look like a cost
 * of the profiler. Intervals are those of Student's t; the overhead is the mean of the logarithms of the
 * ratios of the pairs. */
#pragma once

#include "json/writer.h"
#include "table/table_list.h"

typedef enum gt_trial_kind { GT_TRIAL_WARMUP, GT_TRIAL_PROFILED, GT_TRIAL_BASELINE } gt_trial_kind;

typedef enum gt_trial_figure {
    GT_TRIAL_WALL_S, /* of one pass of the command */
    GT_TRIAL_PERFORMANCE,
    GT_TRIAL_STEP_MS,  /* of the command's own trace */
    GT_TRIAL_ENERGY_J, /* of all GPUs, for one pass */
    GT_TRIAL_FIGURES
} gt_trial_figure;

typedef struct gt_trial {
    gt_trial_kind kind;
    size_t number;                    /* from 1 within its kind */
    const char *name;                 /* "repeat_1", "baseline_1", "warmup_1" */
    const char *output_dir;           /* its folder */
    int exit_code;                    /* -1: it did not start */
    double figures[GT_TRIAL_FIGURES]; /* NaN: it has none */
} gt_trial;

typedef struct gt_trials {
    size_t warmups, repeats;
    bool has_baseline;
    const char *metric; /* of the performance; NULL: the command prints none */
    gt_trial *items;    /* in the order in which they run */
    size_t count;       /* all of them */
    size_t done;        /* those that have ended well */
    bool has_failed;    /* the one after these has failed; it has an exit code, but no figures */
} gt_trials;

/* Statistics of `count` values. Without an interval (fewer than two values), std, low and high are NaN. */
typedef struct gt_spread {
    size_t count;
    double mean, median, std, min, max;
    double low, high; /* the mean is between these with a probability of 95 % */
} gt_spread;

/* NaN values do not count. */
gt_spread gt_spread_of(const double *values, size_t count);
/* The factor of the 95 % interval for this many degrees of freedom: 97.5 % of Student's t are below it. */
double gt_student_t975(size_t freedom);

/* Plans the runs, in order: all figures are NaN. */
gt_trials gt_trials_plan(gt_arena *arena, size_t warmups, size_t repeats, bool has_baseline,
                         const char *folder);

/* The figures of the runs of a kind that have ended. */
gt_spread gt_trials_spread(const gt_trials *trials, gt_trial_kind kind, gt_trial_figure figure);
/* How much greater the figure is with the profiler, in percent; count is the number of pairs. */
gt_spread gt_trials_overhead(const gt_trials *trials, gt_trial_figure figure);
/* The profiled run whose wall time is the median, the earlier of two; NULL: there is none. */
const gt_trial *gt_trials_typical(const gt_trials *trials);

/* Writes the member "repeats" of the record; null if `trials` is NULL. */
void gt_trials_write(const gt_trials *trials, gt_json_writer *w);
/* Adds the sheets repeats (figures) and repeat_runs (one row per run). */
void gt_trials_add_tables(const gt_trials *trials, gt_table_list *tables, gt_interner *strings);
/* One sentence for the terminal; in the arena. */
const char *gt_trials_say(const gt_trials *trials, gt_arena *arena);
