/* `gputally run --tags` and `--manifest_file`: which models run (models.c), here one by one (one_model.c), or
 * as jobs (model_jobs.c). */
#pragma once

#include "cli/run/run.h"
#include "run/models/models.h"

#define GT_MODELS_RULE "================================================================================"

/* What all models of a call share. */
typedef struct gt_models_run {
    const gt_call *call;
    gt_arena *arena;
    const gt_plan_request *request; /* without what is the model's: command, image, name */
    const gt_value *context, *credentials;
    gt_host host;
    const char *docker; /* NULL: not installed */
    const char *perf_path, *data_config;
    const char *deployment; /* where they run, for perf.csv; NULL: here, or as MAD_DEPLOYMENT_TYPE says */
    const char *mirror;     /* of --force_mirror_local; NULL: none */
    size_t job_count;
    bool no_docker, dry_run, keep_alive, keep_model_dir, skip_model_run, live_output;
    bool default_timeout; /* nobody has set one */
    bool built;           /* this call built the images */
    bool files_failed;    /* perf.csv, or files of a model, could not be written */
    gt_json_writer plans; /* of --dry_run */
} gt_models_run;

/* One model with its image. */
typedef struct gt_model_job {
    const char *key; /* in the manifest */
    const gt_value *info, *model, *context;
    const char *image; /* NULL: no container */
    const char *log_name, *output_dir;
    gt_workspace space;
    gt_data data;
    gt_plan_model plan_model;
    gt_plan plan;
    gt_outcome outcome;
    gt_run_result result;
} gt_model_job;

/* Runs the model, or adds its plan to the plans; the job has the result. */
void gt_run_one_model(gt_models_run *run, gt_model_job *job);
/* Records a model that is not run because of its skip_gpu_arch. */
void gt_run_skipped_model(gt_models_run *run, gt_model_job *job);
/* The context for a model: its own settings under those of the run. */
const gt_value *gt_run_model_context(const gt_models_run *run, const gt_value *model);
/* Adds the rows of a job with a result to perf.csv. */
void gt_run_add_rows(gt_models_run *run, const gt_model_job *job);

/* ---- elsewhere (model_jobs.c) ---- */

/* Runs all models of the manifest in one SLURM job. `name` is that of the job; NULL: of the first model. */
gt_exit gt_run_models_on_slurm(const gt_models_run *run, const gt_value *manifest, const char *manifest_path,
                               const char *name);
/* Runs each model of the manifest as a Kubernetes job. */
gt_exit gt_run_models_on_kubernetes(gt_models_run *run, const gt_value *manifest);
