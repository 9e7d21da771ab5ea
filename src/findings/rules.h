/* Rules: what could be better, and what it would bring.
 *
 * A rule looks at the schedule and the idle causes, and answers with an edit (replay.h), what was seen, and
 * one sentence of advice. The engine (rules/engine.c) runs the edits, ranks the findings and finds what all
 * of them together would give. To add a rule, write its function in a file of rules/, and add a row to the
 * table in rules/engine.c, a page to docs/rules/ and a fixture to tests/findings/.
 *
 * Times of findings are nanoseconds per step (per trace if it has no steps). */
#pragma once

#include "findings/gpu_facts.h"
#include "findings/idle.h"
#include "findings/replay.h"
#include "findings/schedule/sites.h"

typedef enum gt_confidence { GT_CONFIDENCE_LOW, GT_CONFIDENCE_MEDIUM, GT_CONFIDENCE_HIGH } gt_confidence;
typedef enum gt_severity { GT_SEVERITY_LOW, GT_SEVERITY_MEDIUM, GT_SEVERITY_HIGH } gt_severity;

enum { GT_EVIDENCE_MAX = 8 };

typedef struct gt_finding {
    const char *id; /* "data_stall" */
    bool is_gpu;    /* GPU time rather than host time: `kind` in JSON */
    gt_confidence confidence;
    char *title, *where; /* owned; `where` may be NULL */
    char *evidence[GT_EVIDENCE_MAX];
    size_t evidence_count;
    char *advice; /* owned */
    gt_edit edit;
    bool gain_is_given; /* by the rule; otherwise the edit gives it */
    double gain_ns;     /* per step */
    double most_ns;     /* per step: the gain is never more; 0: no such limit */
    double held_ns;     /* per step: time of the device that a host edit ends, in addition to idle time that
                           the host causes */
    bool states_idle;   /* its words say for how long the GPU is idle because of it: */
    double stated_idle_ns; /* per step */
    double saved_ns;       /* per step: GPU time that it saves; a gain of more is mostly of launches, which
                              others save as well. 0: not said */
    bool *steps;           /* owned, by used step: those that it is about; NULL: all. Then also */
    double usual_ns;       /* what the other steps take; the gain may be more than that */
    bool names_cause;      /* of these steps; otherwise a finding that lies in them may */
    bool lacks_cause;      /* it is a hint for want of one */
    bool is_mild;          /* normal in good programs: never of high severity */
    bool prevents_graphs;  /* its calls stand between most launches: launch_bound cannot be repaired before */
    const char *phase;     /* of a server: the phase of most of the gain; NULL: it is none */
    double phase_gain_ns;  /* per step of this phase */
    /* Set by the engine: */
    bool is_shown; /* its gain is large enough */
    size_t rank;   /* from 1; 0: not shown */
    gt_severity severity;
    double gain_pct; /* of the step time without the profiler's own cost */
    double score;    /* credible gain in ms: what the ranking is by */
} gt_finding;

typedef struct gt_rule_input {
    const gt_schedule *schedule;
    const gt_idle *idle;
    const gt_gpu_rates *gpu;
    const gt_gpu_facts *facts;      /* what rules about GPU time share; NULL: gt_rules_run finds them */
    const struct gt_chains *chains; /* chains.h; set by gt_rules_run */
    const char *per;                /* "step" or "trace" */
    double step_ns;                 /* recorded: the window's length per step */
    double raw_ns, model_ns;        /* replayed with and without the profiler's own cost: T_raw, T0 */
    double error_ns;                /* by which the unedited replay misses the recorded step time */
    const double *model_step_ns;    /* when the used steps begin in the run of T0; NULL: unknown */
    const gt_finding *found;        /* by the rules before this one in the table */
    size_t found_count;
    size_t turn; /* how often this rule has found something: some name several places */
} gt_rule_input;

/* Fills id, confidence, texts and edit; the finding comes zeroed. False if there is nothing to say. */
typedef bool gt_rule_function(const gt_rule_input *input, gt_finding *finding);

/* ---- helpers of rules (rules/common.c) ---- */

__attribute__((format(printf, 1, 2))) char *gt_rule_text(const char *format, ...);
__attribute__((format(printf, 2, 3))) void gt_rule_evidence(gt_finding *finding, const char *format, ...);
/* Moves the last item of the evidence up to place `at`. The terminal shows only the first ones. */
void gt_rule_evidence_up(gt_finding *finding, size_t at);
/* Whether a time is more than 0.00 ms when it is printed. */
static inline bool gt_rule_shows(double ms)
{
    return ms >= 0.005;
}
/* A number as displayed: "3", "0.5", "120", with no decimals that say nothing. With a noun in the right form:
 * "1 call", "2 calls". */
typedef struct gt_number_text {
    char text[64];
} gt_number_text;
gt_number_text gt_rule_number(double number);
gt_number_text gt_rule_count(double number, const char *one, const char *many);
/* Milliseconds per step of a time of the whole window. */
double gt_rule_ms(const gt_rule_input *input, double window_ns);
/* Idle milliseconds per step of a cause; host time in the window with a label, per step. */
double gt_rule_idle_ms(const gt_rule_input *input, gt_cause cause);
double gt_rule_host_ms(const gt_rule_input *input, gt_cause label);
/* Idle milliseconds per step of a cause that the finding's words give: the engine explains a larger gain. */
double gt_rule_state_idle(const gt_rule_input *input, gt_finding *finding, gt_cause cause);
/* Whether any host time has this label, also outside of the window: only then an edit removes something. */
bool gt_rule_has_label(const gt_rule_input *input, gt_cause label);
/* The sites of idle time with this cause, largest first; the caller frees the tally. */
gt_tally gt_rule_idle_sites(const gt_rule_input *input, gt_cause cause);
/* A copy of a string of the schedule, which the caller owns; NULL for GT_STR_NONE and for an unknown site. */
char *gt_rule_string(const gt_rule_input *input, uint32_t text);

/* By point: whether it belongs to a round trip; the synchronisation after one counts as well. The caller
 * frees it. */
bool *gt_rule_points_in_trips(const gt_schedule *schedule);

/* rules/once.c: if nearly all of the gain is in a few of many steps, says so in the title and lowers the
 * confidence. `edited_ns`: when the used steps begin in the run with the finding's edit. */
void gt_rule_judge_steps(const gt_rule_input *input, gt_finding *finding, const double *edited_ns);

/* What a finding gains in some steps beyond what it gains in the others: per step of the window. */
double gt_rule_gain_in_steps(const gt_rule_input *input, const double *edited_ns, const bool *steps);

/* rules/serving.c: finds the phase of a server's steps with most of the gain. */
void gt_rule_find_phase(const gt_rule_input *input, gt_finding *finding, const double *edited_ns);

/* ---- the engine (rules/engine.c) ---- */

typedef struct gt_finding_list {
    gt_finding *items; /* those that are shown, ranked, come first */
    size_t count, shown;
    double median_ns;    /* of the steps, if some are uneven; otherwise 0 */
    double all_fixed_ns; /* the step time if all findings but hints were repaired, small ones included */
} gt_finding_list;

/* Runs all rules. */
gt_finding_list *gt_rules_run(gt_rule_input *input);
/* Moves to a list what was found on another device of the same trace and counts there; what the list has
 * already gets a line of evidence. `has_own_host`: a process of its own launches on the device. */
void gt_finding_list_add_device(gt_finding_list *list, gt_finding_list *other, const char *device,
                                bool has_own_host);
void gt_finding_list_free(gt_finding_list *list);

/* rules/no_rule.c: if no finding matters, which kernels take the time instead; NULL otherwise. The caller
 * frees it. */
char *gt_no_rule_text(const gt_schedule *schedule, const gt_gpu_facts *facts, const gt_gpu_rates *gpu,
                      const gt_finding_list *list);

/* A gain of less than twice the error of the replay may be that error. */
static inline bool gt_gain_counts(double gain_ns, double error_ns)
{
    return gain_ns >= 2 * error_ns;
}

/* gain_ranges.c: where nine of ten measured gains lie, if such a gain is predicted. In any unit; NaN: it was
 * never measured. `step` is what it is a share of; no repair was seen to leave less than a third of the rest
 * that it should leave. `error` is that of the replay. The range of a hint, which may be wrong, begins at 0.
 */
typedef struct gt_gain_range {
    double low, expected, high;
} gt_gain_range;
gt_gain_range gt_gain_range_find(const char *id, gt_confidence confidence, double gain, double step,
                                 double error);
/* What of a predicted gain to expect: what others brought on average, and how likely it is that the finding
 * is right. */
double gt_gain_weight(const char *id, gt_confidence confidence);

/* A hint has low confidence: it stands after all others. */
static inline bool gt_finding_is_hint(const gt_finding *finding)
{
    return finding->confidence == GT_CONFIDENCE_LOW;
}
const char *gt_confidence_name(gt_confidence confidence);
const char *gt_severity_name(gt_severity severity);
