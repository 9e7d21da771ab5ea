/* Which setting of a sweep should be used, and how sure is that?
 *
 *     model.c        the usual times of settings that were run several times, some of the runs disturbed
 *     best.c         which settings cannot be told apart from the best
 *     anova.c        main effects and interactions of the axes
 *     trace.c        what is measured in one trace
 *     kept.c         the same, kept for the next time
 *     formats.c      the same for traces of rocprofv3 and JAX
 *     measure.c      the same for all runs of a sweep
 *     basis.c        which runs can be compared: all ranks, the same kind of step
 *     decision.c     from measurements to a decision
 *     sheets.c       the sheets: recommendation, effects, effect_means, overlap_slowdown, bandwidth_by_size
 *     odd_runs.c     the sheet outlier_runs: what was different in them
 *     advice.c       the answer in words
 *     json.c         the answer and the sheets for scripts
 *
 * Times are compared on a logarithmic scale: noise is a percentage of a time rather than a number of
 * microseconds, and a difference of logarithms is a ratio. */
#pragma once

#include "input/options.h"
#include "sweep/cache/cache.h"
#include "sweep/layout.h"
#include "trace/pytorch/pytorch.h"
#include "table/table_list.h"

/* A claim may be wrong in 2 % of cases. Claims about a few runs with unequal noise are wrong more often than
 * that (tests/sweep/simulate_sweeps.py), so it is smaller. */
#define GT_DECIDE_ALPHA     0.0155
#define GT_OUTSIDE_INTERVAL 0.05 /* intervals are of 95 % */

/* ---- comparisons (model.c, best.c) ---- */

typedef struct gt_number_series {
    double *items;
    size_t count, capacity;
} gt_number_series;

static inline void gt_series_add(gt_number_series *series, double value)
{
    GT_PUSH(series->items, series->count, series->capacity, value);
}

/* Measurements of one setting on a logarithmic scale. */
typedef struct gt_log_sample {
    size_t count;     /* measurements that agree */
    double mean;      /* of these; NaN: none */
    double variance;  /* of these; NaN: fewer than two */
    double freedom;   /* degrees of freedom of the variance; 0: unknown */
    size_t runs;      /* all measurements */
    double low, high; /* those beyond are outliers */
    bool is_clear;    /* most of the measurements agree */
    double typical;   /* the mean, or that of all measurements if it is not clear which are the usual ones */
} gt_log_sample;

/* All values agree. Those that are not positive and finite do not count. */
gt_log_sample gt_log_sample_of(const double *values, size_t count);
gt_log_sample gt_log_sample_of_logs(const double *logs, size_t count);
bool gt_log_sample_is_outlier(const gt_log_sample *sample, double value);

/* A value with its 95 % interval; the limits are NaN if there is none. */
typedef struct gt_estimate {
    double value, low, high;
} gt_estimate;

/* How much larger a is than b. */
typedef struct gt_ratio_test {
    gt_estimate ratio; /* of the typical values; without limits if it is not clear which those are */
    double p; /* how sure the order of the two is: 0.02 is a chance of 1 % that it is the other way round;
                 NaN: unknown, as of a single run */
} gt_ratio_test;

/* The geometric mean with Student's interval, and Welch's test, of samples without outliers. */
gt_estimate gt_log_sample_mean(const gt_log_sample *sample);
gt_ratio_test gt_compare_samples(const gt_log_sample *a, const gt_log_sample *b);

/* The runs of all settings, of which some may have been disturbed. The model fills the samples with the runs
 * that agree; `with_limits`: also the interval. */
typedef struct gt_runs_model gt_runs_model;
gt_runs_model *gt_runs_model_new(gt_log_sample *samples, const gt_number_series *values, size_t count);
void gt_runs_model_free(gt_runs_model *model); /* NULL does nothing */
gt_estimate gt_runs_mean(const gt_runs_model *model, const gt_log_sample *samples, size_t setting);
gt_ratio_test gt_runs_compare(const gt_runs_model *model, const gt_log_sample *samples, size_t a, size_t b,
                              bool with_limits);

/* Holm's correction of p-values for their number, in place; NaN stays and does not count. */
void gt_holm_correct(double *p, size_t count);

/* What is known of one setting. */
typedef struct gt_standing {
    size_t rank;           /* 1: the smallest mean; settings without measurements come last */
    gt_ratio_test to_best; /* against the setting of rank 1; of that setting itself: ratio 1, p NaN */
    double p;              /* corrected for the selection of the best and for the number of settings; NaN of
                              the best, and where there is no spread to compare with */
    bool is_candidate;     /* it cannot be told apart from the best, or it is the best */
    double runs_needed;    /* of it and of the best, to tell a difference like the measured one apart; NaN:
                              unknown, or it is told apart */
} gt_standing;

typedef struct gt_best {
    gt_standing *settings; /* as many as were given, in their order; the caller frees it */
    size_t *order;         /* their indexes by rank; the caller frees it */
    size_t count;
    size_t measured;   /* settings with measurements */
    size_t candidates; /* 1: the setting of rank 1 is the best, and that is supported */
} gt_best;

/* The smallest is the best. Without a model, as of measurements that are parts of one run, there is only the
 * order. */
gt_best gt_best_find(const gt_log_sample *samples, size_t count, const gt_runs_model *model);
void gt_best_free(gt_best *best);

/* ---- ratios of medians (best.c) ---- */

/* The median with an interval that assumes no distribution: the values between which the median lies with a
 * probability of at least 95 %, or the extremes if there are fewer than six values. Sorts the values, which
 * are finite. */
gt_estimate gt_median_estimate(double *values, size_t count);
/* a / b for independent positive estimates, on a logarithmic scale. */
gt_estimate gt_ratio_of_estimates(gt_estimate a, gt_estimate b);

/* ---- effects (anova.c) ---- */

enum { GT_EFFECT_AXES_MAX = 12, GT_EFFECT_COLUMNS_MAX = 300 };

/* The measurements and the places of the settings on each axis. */
typedef struct gt_effect_design {
    const gt_log_sample *samples; /* by setting */
    size_t count;                 /* settings */
    size_t axis_count;
    const size_t *levels; /* by axis: how many values it has */
    const size_t *places; /* [setting * axis_count + axis]: the value, below levels[axis] */
} gt_effect_design;

/* One row of the analysis of variance. */
typedef struct gt_effect {
    size_t axes[2];   /* the second is SIZE_MAX of a main effect; both are of the rest and of the error */
    double squares;   /* sum of squares (type II): what the term explains beyond all terms without it */
    size_t freedom;   /* 0: the design cannot tell it apart from others */
    double f, p;      /* NaN: no error to compare with */
    double share_pct; /* of the sum of squares of all rows */
    enum { GT_EFFECT_TERM, GT_EFFECT_REST, GT_EFFECT_ERROR } kind;
} gt_effect;

typedef struct gt_effects {
    gt_effect *items; /* main effects, interactions of two axes, the rest (interactions of more axes, and of
                         settings that are missing), the error; the caller frees it */
    size_t count, capacity;
    bool is_balanced;      /* all combinations exist, with equal numbers of measurements */
    bool has_error;        /* settings were measured several times */
    bool has_interactions; /* there was room and need for terms of two axes */
} gt_effects;

/* False, with `effects` empty, if no axis varies, or the design is too large. */
bool gt_effects_find(gt_effects *effects, const gt_effect_design *design);
void gt_effects_free(gt_effects *effects);

/* ---- measurements of a trace (trace.c) ---- */

/* The calls of a GEMM kernel of one op and shape on one GPU, in microseconds. A call is `with` a collective
 * if one runs for at least half of its time, `without` if none runs for more than a hundredth of it. */
typedef struct gt_gemm_calls {
    uint32_t kernel, op, shape; /* string ids; op and shape may be GT_STR_NONE */
    gt_number_series with, without;
    size_t partial; /* calls that are neither */
} gt_gemm_calls;

typedef struct gt_trace_measures {
    gt_interner *strings; /* owned */
    bool has_steps;       /* step_ms are marked steps; otherwise the whole trace is one */
    bool is_cut_off;      /* only a part of the trace could be read */
    gt_number_series step_ms;
    gt_number_series step_exposed_ms, step_gemm_ms; /* of each entry of step_ms */
    double exposed_ms, gemm_ms; /* per step: communication without computation; time in GEMM kernels */
    double steps;               /* that the window has which was measured */
    gt_gemm_calls *gemms;       /* in the order of their first calls */
    size_t gemm_count, gemm_capacity;
    gt_table *collectives; /* see gt_collectives_of_rank; NULL: the trace is truncated */
} gt_trace_measures;

/* Who recorded the traces of a sweep. */
typedef enum gt_trace_source {
    GT_SOURCE_TORCH,
    GT_SOURCE_ROCPROF,
    GT_SOURCE_JAX,
    GT_SOURCE_ANY
} gt_trace_source;
extern const char *const gt_trace_source_names[]; /* "torch.profiler", ... */

/* NULL and an error if the trace has no GPU events. */
struct gt_schedule;
gt_trace_measures *gt_trace_measures_of_schedule(const struct gt_schedule *schedule, gt_error *error);
gt_trace_measures *gt_trace_measures_of(gt_pytorch_linked *trace, int64_t rank, gt_error *error);
/* The same for a file; also NULL if it cannot be read. Uses and keeps what the cache has; NULL: none. */
gt_trace_measures *gt_trace_measures_read(const char *path, int64_t rank, const gt_read_options *read,
                                          const gt_sweep_cache *cache, gt_error *error);
/* The same for traces not of torch.profiler. */
gt_trace_measures *gt_trace_measures_read_other(const char *path, gt_trace_source source,
                                                const gt_read_options *read, gt_error *error);
void gt_trace_measures_free(gt_trace_measures *measures); /* NULL does nothing */

/* Those of a whole trace in its index, with the messages of reading it (gt_captured_messages) (kept.c). NULL:
 * none. */
gt_trace_measures *gt_trace_measures_find(const gt_sweep_cache *cache, const gt_index *index, int64_t rank,
                                          gt_buffer *messages);
void gt_trace_measures_keep(const gt_trace_measures *measures, gt_index *index, int64_t rank,
                            gt_str messages);
/* Those of an image; NULL if it cannot be one of that rank. Their strings may be those of the image. */
gt_trace_measures *gt_trace_measures_load(const gt_image *image, int64_t rank, gt_buffer *messages);

/* ---- measurements of a sweep (measure.c) ---- */

/* Numbers of ranks; each once, ascending, after gt_sweep_measures_select. */
typedef struct gt_rank_set {
    int64_t *items;
    size_t count, capacity;
} gt_rank_set;

/* What the times of a run are of. */
typedef enum gt_time_basis { GT_BASIS_TRACE, GT_BASIS_STEPS, GT_BASIS_MIXED } gt_time_basis;

/* One run. Times are means over its ranks. */
typedef struct gt_run_measures {
    size_t setting; /* in gt_sweep_measures */
    size_t ranks;   /* traces that were read */
    double step_ms; /* median over steps; NaN: no trace could be read, or the run is left out */
    gt_rank_set recorded, measured; /* ranks with a trace, with a whole one */
    int64_t world;                  /* processes, by the traces; 0: unknown */
    gt_time_basis basis;
    char *left_out; /* why the run cannot be compared with others; NULL: it can */
    double exposed_ms, gemm_ms;
    double slowdown; /* of GEMMs during collectives; NaN: unknown */
    /* Spreads within the run. By step, means over ranks: */
    gt_number_series steps, step_exposed_ms, step_gemm_ms;
    /* By rank: its median step, and the others: */
    gt_number_series per_rank, rank_exposed_ms, rank_gemm_ms, rank_slowdowns;
} gt_run_measures;

/* A GEMM kernel of one op and shape under one setting. Durations are divided by the median of the calls
 * without a collective in the same trace, so that ranks and repeats can be put together. */
typedef struct gt_overlap_row {
    size_t setting;
    uint32_t kernel, op, shape;
    gt_number_series with, without;
    gt_number_series with_us, without_us;
    size_t partial;
    double cost_ms, expected_ms; /* of calls with a collective that have a counterpart without: what they took
                                    longer, and what they would have taken; per step, mean over ranks */
} gt_overlap_row;

/* Collectives of one name and size under one setting. */
typedef struct gt_bandwidth_row {
    size_t setting;
    uint32_t collective;
    double size_mb;
    gt_number_series bus_gb_s, latency_us;
    gt_number_series run_bus_gb_s; /* medians of the runs that have such collectives */
    size_t in_earlier_runs;        /* calls that they include */
} gt_bandwidth_row;

typedef struct gt_sweep_measures {
    const gt_sweep *sweep; /* borrowed */
    gt_interner *strings;  /* owned */
    gt_run_measures *runs; /* by config of the sweep */
    size_t *first_config;  /* by setting: its first run; one entry more than settings */
    size_t setting_count;
    gt_trace_source source;
    bool has_steps;  /* the times are of marked steps; otherwise of whole traces */
    bool is_partial; /* no run has whole traces of all ranks: nothing can be said about the best */
    gt_overlap_row *overlaps;
    size_t overlap_count, overlap_capacity;
    gt_bandwidth_row *bandwidths;
    size_t bandwidth_count, bandwidth_capacity;
} gt_sweep_measures;

/* The run after the last one of a setting. */
static inline size_t gt_setting_runs_end(const gt_sweep_measures *measures, size_t setting)
{
    return measures->first_config[setting + 1];
}

/* Reads all traces of one source, several at a time, except those that the cache (NULL: none) knows.
 * GT_SOURCE_ANY: those of torch.profiler if a run has some, else of rocprofv3, else of JAX. Warns about
 * traces that cannot be read; fails if none can. Free in any case. */
bool gt_sweep_measure_source(gt_sweep_measures *measures, const gt_sweep *sweep, gt_trace_source source,
                             const gt_read_options *read, const gt_sweep_cache *cache, gt_error *error);
static inline bool gt_sweep_measure(gt_sweep_measures *measures, const gt_sweep *sweep,
                                    const gt_read_options *read, const gt_sweep_cache *cache, gt_error *error)
{
    return gt_sweep_measure_source(measures, sweep, GT_SOURCE_ANY, read, cache, error);
}
void gt_sweep_measures_free(gt_sweep_measures *measures);

/* Leaves out runs that cannot be compared with the others, with warnings (basis.c). */
void gt_sweep_measures_select(gt_sweep_measures *measures);
/* Why no run of a setting is compared; NULL: one is, or none could be measured. */
const char *gt_setting_left_out(const gt_sweep_measures *measures, size_t setting);
void gt_rank_set_add(gt_rank_set *set, int64_t rank);
/* "rank 1", "ranks 1, 3": the wanted ranks below `world` (0: all) that a set lacks; NULL: none. */
char *gt_rank_set_lacks(const gt_rank_set *set, const gt_rank_set *wanted, int64_t world);

/* ---- the decision (decision.c, sheets.c, advice.c) ---- */

/* Of what the spread of a setting is. */
typedef enum gt_spread_source {
    GT_SPREAD_REPEATS,
    GT_SPREAD_STEPS,
    GT_SPREAD_RANKS,
    GT_SPREAD_NONE
} gt_spread_source;
extern const char *const gt_spread_source_names[];

typedef struct gt_decision {
    gt_sweep_measures *measures; /* borrowed */
    gt_spread_source spread;
    gt_number_series *values; /* step times by setting; in ms */
    gt_log_sample *samples;   /* of them */
    gt_runs_model *model;     /* NULL: no setting was run twice */
    gt_best best;
    bool has_effects;
    gt_effects effects;
} gt_decision;

void gt_decide(gt_decision *decision, gt_sweep_measures *measures);
void gt_decision_free(gt_decision *decision);

/* The step time of a setting. */
gt_estimate gt_decision_step(const gt_decision *decision, size_t setting);

/* Adds all sheets; those that the sweep has nothing for have no rows. */
void gt_decision_add_sheets(const gt_decision *decision, gt_table_list *tables);

/* The index of the setting with this name, "256thread_28ch"; SIZE_MAX if there is none. */
size_t gt_decision_setting(const gt_decision *decision, const char *name);

/* The answer in a few sentences, and the lines that set the best setting in a shell. `baseline` is the
 * setting that the best is compared with, SIZE_MAX: the median one. */
void gt_decision_say(const gt_decision *decision, size_t baseline, gt_buffer *text);

/* Its parts; a sentence ends with a line end. `marked` puts the words that matter between '*', as sentences
 * of the page have them. Of a decision without measurements, only the verdict can be said. */
void gt_decision_say_verdict(const gt_decision *decision, bool marked, gt_buffer *text);
void gt_decision_say_worth(const gt_decision *decision, size_t baseline, bool marked, gt_buffer *text);
void gt_decision_say_limits(const gt_decision *decision, gt_buffer *text); /* of what was measured */
void gt_decision_say_environment(const gt_decision *decision, gt_buffer *text);
/* Runs that are far from the others of their setting, and what was different in them (odd_runs.c). */
void gt_decision_say_outliers(const gt_decision *decision, gt_buffer *text);
gt_table *gt_decision_outlier_runs(const gt_decision *decision);
/* Which settings more runs should be added to, the fastest first, at most three: those that cannot be told
 * apart from the fastest, with that one. Returns how many; 0: there is nothing to decide. */
enum { GT_UNDECIDED_MAX = 3 };
size_t gt_decision_undecided(const gt_decision *decision, size_t settings[GT_UNDECIDED_MAX]);
/* The other settings that were run once, which need a second run. There is room for all settings. */
size_t gt_decision_run_once(const gt_decision *decision, size_t *settings);
/* "threads=256 channels=28"; as a part of a marked sentence it has no '*' of its own. */
void gt_decision_say_setting(const gt_decision *decision, size_t setting, bool marked, gt_buffer *text);
/* The given setting, or the one of the middle rank for SIZE_MAX. */
size_t gt_decision_baseline(const gt_decision *decision, size_t given);

/* The environment variable of an axis: as sweep.json says, or the usual one. NULL: none. */
const char *gt_decision_variable(const gt_sweep *sweep, const char *axis, gt_arena *arena);

#define GT_DECISION_SCHEMA "gputally-sweep-decision/1"
/* The answer and all sheets as JSON (json.c). */
void gt_decision_json(const gt_decision *decision, size_t baseline, const gt_table_list *tables,
                      gt_buffer *out);
