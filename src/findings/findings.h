/* Answers first: can the trace be believed, why is the GPU idle, what should be fixed first?
 *
 *     gt_findings *findings = gt_findings_find(&trace->events, &options);
 *     gt_findings_add_sheets(findings, &tables);
 *     gt_findings_free(findings);
 *
 * The sheets hold everything: terminal summary, JSON and Markdown are made from them (report/findings.h),
 * also when they come from an index.
 *
 * Files: schedule/ (host and GPU as one schedule), replay (the schedule with changes), overlap (communication
 * that runs alone), idle (causes of gaps), rules and rules/ (what could be better), chains and traffic
 * (kernels that could be one), uneven (steps that take longer), trust, balance, what_if, scenario
 * (the step under other conditions), gain_ranges (how often gains come true), sheets; ranks/
 * (several ranks), waterfall/ (what differs between two traces), formats/ (schedules of rocprofv3 and JAX).
 */
#pragma once

#include "findings/categories.h"
#include "findings/rules.h"
#include "findings/trust.h"

typedef struct gt_findings_options {
    const gt_gpu_arch *gpu;    /* the user's choice; NULL: the device that the trace names, if it is known */
    bool is_cut_off;           /* the file is truncated, or one of several is missing */
    const gt_account *account; /* of the trace; NULL: that of its facts, if it has any */
} gt_findings_options;

typedef struct gt_findings {
    gt_schedule *schedule;
    gt_idle *idle;
    gt_gpu_rates gpu;
    const gt_gpu_arch *arch; /* that of the options */
    gt_gpu_facts *facts;     /* NULL if there are no ops */
    gt_finding_list *list;
    char *no_rule; /* gt_no_rule_text */
    gt_trust trust;
    const char *per;                                    /* "step" or "trace" */
    double step_ns, busy_ns, idle_ns, model_ns, raw_ns; /* per step */
    double replay_error_ns, replay_error_pct;           /* of the unedited replay: it takes so much longer */
    double *model_step_ns; /* when the used steps begin in the replay that gives model_ns */
    uint32_t *launch_ops;  /* by host event: gt_launch_ops_find, of the scheduled device */
    uint8_t *categories;   /* by op: its gt_category */
} gt_findings;

/* Of a PyTorch trace. */
gt_findings *gt_findings_find(const gt_event_view *trace, const gt_findings_options *options);
/* Of a schedule made otherwise (rocprofv3, JAX), which then belongs to the findings. */
gt_findings *gt_findings_of_schedule(gt_schedule *schedule, const gt_findings_options *options);
/* Adds what is found on another device of the trace, whose schedule it frees. */
void gt_findings_add_device(gt_findings *findings, gt_schedule *device, const gt_findings_options *options);
void gt_findings_free(gt_findings *findings);

/* The scheduled device as the trace names it; "" if it does not. */
const char *gt_schedule_device_name(const gt_schedule *schedule);

/* Appends overview, findings, trust, idle_causes, idle_calls, idle_gaps, balance and what_if. */
void gt_findings_add_sheets(const gt_findings *findings, gt_table_list *tables);
/* Adds a fact to a sheet overview; `unit` is "" for none. */
void gt_overview_add_number(gt_table *overview, const char *name, double value, const char *unit);
