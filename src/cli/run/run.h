/* The parts of `gputally run`: options and context (run.c), models in place of a command (models.c), jobs on
 * other machines (jobs.c), reports at the end (reports.c, node_reports.c, ranks.c). */
#pragma once

#include "cli/command.h"
#include "run/execute/execute.h"

/* ---- run.c ---- */

/* Prints the one or two lines of an error in the context or the arguments. */
gt_exit gt_run_context_error(const gt_error *error);
/* Prints the plan as JSON. */
gt_exit gt_run_print_plan(const gt_plan *plan);

/* Checks that the files of a run are complete, and writes its record; false if not. */
bool gt_run_finish(const gt_plan *plan, gt_outcome *outcome);

/* ---- repeats (repeats.c) ---- */

/* Whether --repeat or --warmup asks for several runs, and whether their values are valid. */
bool gt_run_repeats_wanted(const gt_call *call);
bool gt_run_repeats_check(const gt_call *call, gt_error *error);

/* Runs the command as often as these options say. The plan is that of one run; its folder gets the record.
 * The outcome has the figures and all files. False if a run failed, which ends the series. */
bool gt_run_repeated(const gt_call *call, const gt_plan_request *request, gt_plan *plan, gt_outcome *outcome);

/* ---- models (models.c) ---- */

/* Whether models are to be run instead of a command. */
bool gt_run_wants_models(const gt_call *call);
/* Runs the models that the tags or the manifest name. The request has no command. */
gt_exit gt_run_models(const gt_call *call, gt_arena *arena, const gt_plan_request *request);
/* False if the context (NULL: it could not be read) names two kinds of cluster. */
bool gt_run_check_deployment(const gt_value *context, gt_error *error);

/* ---- jobs on other machines (jobs.c) ---- */

/* Writes the batch script, submits it and waits for the job. The nodes start this program by its absolute
 * path, which must exist on all of them. */
gt_exit gt_run_on_slurm(const gt_call *call, gt_plan *plan);

/* Submits the job with kubectl, follows it and collects its results; with --generate_only, writes the file
 * for kubectl. The image is that of the pods, not of the plan: in a pod, the command runs without docker. */
gt_exit gt_run_on_kubernetes(const gt_call *call, gt_plan *plan, const char *image);

/* ---- reports (reports.c) ---- */

/* Whether the value of --report is auto, none, or a comma-separated list of kinds of reports. */
bool gt_run_reports_check(const char *wanted, gt_error *error);

/* Writes the reports that --report asks for and adds their files to those of the outcome. A report that fails
 * gives a warning and does not change the status of the run. */
void gt_run_reports_write(const gt_call *call, const gt_plan *plan, gt_outcome *outcome);

/* The same for a job: one report of all nodes, whose results are in FOLDER/node_0 to FOLDER/node_(count-1),
 * and of traces in the folder that they share (NULL: none) that are newer than the start of the job.
 * (node_reports.c) */
void gt_run_reports_of_nodes(const gt_call *call, const gt_plan *plan, const char *folder, size_t count,
                             const char *shared, struct timespec begin);
