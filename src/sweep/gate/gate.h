/* What changed between two sweeps of the same settings, and is that more than noise?
 *
 *     changes.c      settings of both sweeps, their measures, tests
 *     machines.c     what the sweeps ran on
 *     condition.c    conditions of --fail_if
 *     sheets.c       the sheets: sweep_settings, sweep_changes, sweep_machines, fail_if
 *     answer.c       the answer in words, as JSON and as Markdown
 *
 * Old and new are folders of sweeps that gt_sweep_measure has read. For a caller that only shows the sheets:
 *
 *     gt_sweep_changes changes;
 *     gt_sweep_changes_find(&changes, &old_measures, &new_measures);
 *     gt_sweep_changes_add_sheets(&changes, &tables);
 *     gt_sweep_changes_free(&changes); */
#pragma once

#include "analysis/compare/compare.h"
#include "sweep/decide/decide.h"

/* ---- changes (changes.c) ---- */

/* A change is more than noise if its p-value is below this: 2 % of gates may be wrong. */
#define GT_CHANGE_ALPHA 0.02

/* What is compared. All but the last are times or ratios: more is worse. */
typedef enum gt_sweep_measure_kind {
    GT_MEASURE_STEP,
    GT_MEASURE_EXPOSED,
    GT_MEASURE_GEMM,
    GT_MEASURE_SLOWDOWN,
    GT_MEASURE_BUS, /* per collective and message size */
    GT_MEASURES
} gt_sweep_measure_kind;
extern const char *const gt_sweep_measure_names[GT_MEASURES]; /* "step_ms", ... */

typedef enum gt_change_verdict {
    GT_CHANGE_WORSE,
    GT_CHANGE_BETTER,
    GT_CHANGE_UNDECIDED, /* cannot be told apart */
    GT_CHANGE_UNKNOWN,   /* it was run once in one of the sweeps: there is no noise to compare with */
    GT_CHANGE_MISSING,   /* not in the new sweep, or not measured there */
    GT_CHANGE_NEW,       /* not in the old sweep, or not measured there */
    GT_CHANGE_UNEQUAL,   /* what was measured differs in kind: other ranks, or steps and whole traces */
    GT_CHANGE_VERDICTS
} gt_change_verdict;
extern const char *const gt_change_verdict_names[GT_CHANGE_VERDICTS];

/* One measure of one setting. */
typedef struct gt_sweep_change {
    size_t setting; /* in gt_sweep_changes */
    gt_sweep_measure_kind kind;
    const char *collective; /* of GT_MEASURE_BUS; else NULL */
    double message_mb;      /* likewise; else NaN */
    const char *spread;     /* what the measurements are: "repeats", "steps", "ranks", "calls", "none" */
    gt_number_series values[2];
    gt_log_sample samples[2]; /* of reciprocals for GT_MEASURE_BUS; on a linear scale, as multiples of
                                 `scale`, if that is not 0 */
    double scale;             /* 0: the samples are logarithms. A measure that may be 0 has none */
    double old_value, new_value;
    gt_estimate change_pct;   /* infinite if the old value is 0 and the new one is not */
    double p_single, p_value; /* of this one comparison; corrected for all comparisons of this measure */
    gt_change_verdict verdict;
} gt_sweep_change;

typedef struct gt_setting_pair {
    size_t settings[2];        /* in the measures of old and new; SIZE_MAX: not there, or not measured */
    const char *name;          /* "256thread_28ch" */
    size_t step;               /* its step time in the list of changes; SIZE_MAX: none */
    gt_change_verdict verdict; /* that of the step time, or missing, new or not comparable */
    const char *reason;        /* why it is not comparable; else NULL */
} gt_setting_pair;

typedef struct gt_sweep_changes {
    const gt_sweep_measures *sweeps[2]; /* old and new; borrowed */
    gt_setting_pair *settings;          /* in the order of the old sweep, then those that are new */
    size_t setting_count, in_both;
    gt_sweep_change *changes; /* by measure, setting, collective and size */
    size_t change_count, change_capacity;
    gt_spread_source spread; /* of times */
    gt_interner *strings;    /* of sheets; owned */
} gt_sweep_changes;

void gt_sweep_changes_find(gt_sweep_changes *changes, const gt_sweep_measures *old_sweep,
                           const gt_sweep_measures *new_sweep);
void gt_sweep_changes_free(gt_sweep_changes *changes);

/* How many settings have this verdict. */
size_t gt_sweep_changes_count(const gt_sweep_changes *changes, gt_change_verdict verdict);

/* The statistics alone, for changes whose values are set: samples, shared noise, p-values corrected for the
 * number of changes, verdicts. All are of one kind. Values that are not of runs, but of parts of one, have no
 * p-values. */
void gt_sweep_changes_test(gt_sweep_change *changes, size_t count, bool are_runs);

/* ---- machines (machines.c) ---- */

/* Something that is known of what one of the sweeps ran on. */
typedef struct gt_machine_fact {
    const char *name;      /* "rccl", "GPUs" */
    const char *values[2]; /* of old and new; NULL: unknown */
    bool differs;          /* both are known */
} gt_machine_fact;

typedef struct gt_machine_facts {
    gt_machine_fact *items;
    size_t count, capacity;
    gt_arena arena; /* of the strings */
} gt_machine_facts;

/* From sweep.json, and from the heads of the first trace of each sweep. */
void gt_machine_facts_find(gt_machine_facts *facts, const gt_sweep *old_sweep, const gt_sweep *new_sweep);
void gt_machine_facts_free(gt_machine_facts *facts);

/* ---- the gate (condition.c) ----
 *
 *     [SETTING.]MEASURE OP NUMBER[%] [significant]
 *
 *     step_ms > 3% significant         a setting takes at least 3 % longer, and that is more than noise
 *     256thread_28ch.bus_gb_s < -10%   whether or not it is more than noise
 *
 * MEASURE is one of gt_sweep_measure_names. SETTING may contain wildcards; without it, all settings of both
 * sweeps. OP, NUMBER and quotes are those of gt_gate. */

typedef struct gt_sweep_condition {
    gt_gate gate; /* row: the setting; column: the measure */
    gt_sweep_measure_kind kind;
    bool is_significant;
    char *text; /* without the last word; the gate borrows it */
    const char *given;
    size_t unknown;                 /* changes that it could not be evaluated for */
    size_t missing_noise;           /* those of them that only lack repeats */
    size_t missing;                 /* settings of the old sweep that the new one lacks */
    const gt_setting_pair *unequal; /* the first setting that is not comparable; NULL: none */
} gt_sweep_condition;

bool gt_sweep_condition_parse(gt_sweep_condition *condition, const char *text, gt_error *error);
void gt_sweep_condition_free(gt_sweep_condition *condition);

typedef enum gt_gate_outcome {
    GT_GATE_PASSED,
    GT_GATE_FAILED,     /* a condition is met */
    GT_GATE_UNEVALUATED /* none is met, but one could not be evaluated everywhere */
} gt_gate_outcome;
extern const char *const gt_gate_outcome_names[];

/* Evaluates all conditions. `met` gets a row per change that meets one. If the outcome is UNEVALUATED, the
 * error says why. `allow_missing`: settings that the new sweep lacks do not count. */
gt_gate_outcome gt_sweep_gate_check(gt_sweep_condition *conditions, size_t count,
                                    const gt_sweep_changes *changes, bool allow_missing, gt_table *met,
                                    gt_error *error);
gt_table *gt_sweep_gate_table(gt_interner *strings);

/* ---- sheets (sheets.c) ---- */

/* Adds sweep_settings and sweep_changes. */
void gt_sweep_changes_add_sheets(const gt_sweep_changes *changes, gt_table_list *tables);
/* Adds sweep_machines. */
void gt_machine_facts_add_sheet(const gt_machine_facts *facts, gt_interner *strings, gt_table_list *tables);

/* ---- the answer (answer.c) ---- */

typedef struct gt_sweep_answer {
    const char *names[2]; /* of the sweeps */
    const gt_sweep_changes *changes;
    const gt_machine_facts *facts;
    const gt_table_list *tables;   /* with fail_if, if there are conditions */
    const char *const *conditions; /* as given */
    size_t condition_count;
    gt_gate_outcome outcome;
    const char *problem; /* why it could not be evaluated; NULL: it could */
} gt_sweep_answer;

/* Which settings are worse, better, cannot be told apart, missing, new; how the machines differ. */
void gt_sweep_answer_say(const gt_sweep_answer *answer, gt_buffer *text);
#define GT_SWEEP_COMPARISON_SCHEMA "gputally-sweep-comparison/1"
void gt_sweep_answer_json(const gt_sweep_answer *answer, gt_buffer *text);
void gt_sweep_answer_markdown(const gt_sweep_answer *answer, gt_buffer *text);
